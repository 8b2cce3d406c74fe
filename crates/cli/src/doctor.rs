//! `l4s doctor`: what this machine can do, what is missing, and how to get it.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::print;

/// Prints what this machine can do.
pub fn doctor() -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    let mut text = format!("simulate (--on sim)     yes, {cores} run{plural} at a time\n");
    let tools: [(&str, &[&str], &str); 2] = [
        ("read traces", &["tshark", "wireshark"], "apt-get install tshark"),
        ("show reports", &["chromium", "google-chrome", "firefox", "xdg-open"], "any web browser"),
    ];
    for (what, names, install) in tools {
        text += &match names.iter().find_map(|name| Some((name, find(name)?))) {
            Some((_, path)) => format!("{what:22}  yes, {}\n", path.display()),
            None => format!("{what:22}  not found: {install}\n"),
        };
    }
    for name in ["kernel", "linux", "qdisc"] {
        text += &format!("{:22}  not in this version\n", format!("real TCP (--on {name})"));
    }
    print(&text)
}

/// The program of that name in `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}
