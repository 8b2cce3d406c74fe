//! The fingerprint of the code: results belong to a plan only if the same code made them,
//! independent of the version number. Also whether this build has real TCP, as `cfg(kernels)`: on Linux, with the feature
//! `full`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

#[path = "../scenario/src/fingerprint.rs"]
mod fingerprint;

fn main() -> io::Result<()> {
    // For the command line, which is one of the crates, and for the Python package beside them.
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).canonicalize()?;
    let root = own.ancestors().find(|folder| folder.join("crates").is_dir()).unwrap_or(&own);
    // The same for both of them, whose results are the same.
    let mut packages = vec![root.join("python")];
    for entry in fs::read_dir(root.join("crates"))? {
        packages.push(entry?.path());
    }
    let mut files = Vec::new();
    for package in packages {
        for part in ["src", "assets", "statements", "Cargo.toml"] {
            collect(&package.join(part), &mut files)?;
        }
    }
    // By name, not in the order of the disk; and by content, not by time.
    files.sort();
    files.dedup();
    let mut text = Vec::new();
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        text.extend(file.strip_prefix(root).unwrap_or(file).to_string_lossy().bytes());
        text.extend(fs::read(file)?);
    }
    println!("cargo:rustc-env=L4S_CODE={}", fingerprint::fingerprint(&text));
    println!("cargo:rustc-check-cfg=cfg(kernels)");
    if env::var_os("CARGO_FEATURE_FULL").is_some()
        && env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
    {
        println!("cargo:rustc-cfg=kernels");
    }
    for variable in ["TARGET", "PROFILE"] {
        println!("cargo:rustc-env=L4S_{variable}={}", env::var(variable).unwrap_or_default());
    }
    let rustc = Command::new(env::var("RUSTC").unwrap_or_default()).arg("--version").output()?;
    println!("cargo:rustc-env=L4S_RUSTC={}", String::from_utf8_lossy(&rustc.stdout).trim());
    Ok(())
}

/// Every file in it, or itself; nothing where it is not.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        println!("cargo:rerun-if-changed={}", path.display());
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
    Ok(())
}
