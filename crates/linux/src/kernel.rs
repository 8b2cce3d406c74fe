//! Where the kernel is.

use std::path::PathBuf;

/// The version that `make linux` builds.
pub const VERSION: &str = include_str!("../../../linux/version").trim_ascii();

/// The sources of that kernel; empty where this was built without a shell to find out.
const SOURCES: &str = env!("L4S_LINUX_SOURCES");

/// A kernel that was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The program.
    pub path: PathBuf,
}

impl Kernel {
    /// The kernel that `make linux` built, or that the environment names (`L4S_LINUX`). The error
    /// says where it was looked for and how to get it.
    pub fn find() -> Result<Kernel, String> {
        let named = std::env::var_os("L4S_LINUX").map(PathBuf::from);
        let path = match named {
            Some(path) => path,
            None => cache()
                .ok_or("neither HOME nor XDG_CACHE_HOME says where `make linux` puts the kernel")?
                .join(format!("l4s/linux-{VERSION}/linux")),
        };
        if !path.is_file() {
            return Err(format!(
                "no kernel at {}: `make linux` builds it in a clone of l4s {} (some minutes, once)",
                path.display(),
                env!("CARGO_PKG_VERSION")
            ));
        }
        // Our Prague in it would misread the settings of another version.
        let sources = std::fs::read_to_string(path.with_file_name("made-of")).unwrap_or_default();
        if !SOURCES.is_empty() && !sources.is_empty() && sources.trim() != SOURCES {
            return Err(format!(
                "the kernel at {} was built by another version of l4s: `make linux` builds it again",
                path.display()
            ));
        }
        Ok(Kernel { path })
    }
}

pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))
}
