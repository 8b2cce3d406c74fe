//! The fingerprint of the sources of the kernel of `--on linux`, as `linux/build.sh` has it.

use std::process::Command;

fn main() {
    for source in ["linux", "crates/bpf/src/c"] {
        println!("cargo:rerun-if-changed=../../{source}");
    }
    let output = Command::new("sh").args(["../../linux/build.sh", "--print"]).output();
    let print = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let print = String::from_utf8(print.unwrap_or_default()).unwrap_or_default();
    println!("cargo:rustc-env=L4S_LINUX_SOURCES={}", print.trim());
}
