//! Builds the BPF programs with clang, and the shared arithmetic for the host.
//!
//! Without clang the crate builds all the same, and says at run time what is missing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const PROGRAMS: [&str; 4] = ["dctcp", "prague", "ect1", "sockets"];

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-changed=src/c");
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let fault = PROGRAMS.iter().find_map(|program| compile(program, &out).err());
    if let Some(fault) = &fault {
        println!("cargo:warning=built without BPF programs: {fault}");
        // A file that never is: the next build tries again, since clang may be there by then.
        println!("cargo:rerun-if-changed={}", out.join("absent").display());
        for program in PROGRAMS {
            fs::write(object(program, &out), []).expect("OUT_DIR is writable");
        }
    }
    fs::write(out.join("fault.rs"), format!("{fault:?}")).expect("OUT_DIR is writable");

    cc::Build::new().file("src/c/host.c").std("c11").warnings(true).compile("l4s_bpf_host");
}

fn object(program: &str, out: &Path) -> PathBuf {
    out.join(format!("{program}.bpf.o"))
}

/// Compiles one program; the error is for people.
fn compile(program: &str, out: &Path) -> Result<(), String> {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let output = Command::new(&clang)
        // -mcpu=v3 is Linux 5.1. -g makes the types that CO-RE needs.
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused-function"])
        .arg("-c")
        .arg(format!("src/bpf/{program}.bpf.c"))
        .arg("-o")
        .arg(object(program, out))
        .output();
    match output {
        Err(error) => Err(format!("`{clang}` cannot be run ({error})")),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().find(|line| line.contains("error")).unwrap_or("no error");
            Err(format!("`{clang}` could not compile {program}.bpf.c ({first})"))
        }
        Ok(_) => Ok(()),
    }
}
