//! Builds the BPF programs with clang, and the shared arithmetic for the host.
//!
//! Without clang the crate is built too, and reports at run time which program is missing and why. The
//! queue discipline needs a newer clang than the other programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Versions of clang that may be installed under names such as `clang-19`.
const OLDEST_NAMED: u32 = 14;
const NEWEST_NAMED: u32 = 22;
/// The oldest clang that compiles the queue discipline.
const QDISC_CLANG: u32 = 16;

const PROGRAMS: [&str; 7] = ["dctcp", "prague", "bbr3", "ect1", "tracers", "sockets", "dualpi2"];

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-changed=src/c");
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = newest_clang();
    let version = Command::new(&clang).arg("--version").output().map(|output| output.stdout);
    let version = String::from_utf8_lossy(&version.unwrap_or_default()).into_owned();
    println!("cargo:rustc-env=L4S_CLANG={}", version.lines().next().unwrap_or_default());
    let mut faults = String::new();
    for program in PROGRAMS {
        let fault = compile(&clang, program, &out).err();
        if let Some(fault) = &fault {
            println!("cargo:warning=built without {program}.bpf.c: {fault}");
            // This file never exists, so the next build tries again: clang may be installed by then.
            println!("cargo:rerun-if-changed={}", out.join("absent").display());
            fs::write(object(program, &out), []).expect("OUT_DIR is writable");
        }
        faults.push_str(&format!("(\"{program}\", {fault:?}),"));
    }
    fs::write(out.join("faults.rs"), format!("[{faults}]")).expect("OUT_DIR is writable");

    cc::Build::new().file("src/c/host.c").std("c11").warnings(true).compile("l4s_bpf_host");
}

fn object(program: &str, out: &Path) -> PathBuf {
    out.join(format!("{program}.bpf.o"))
}

/// `$CLANG`, or the newest version that Debian installs under its own name, or else `clang`.
fn newest_clang() -> String {
    // Not again for another PATH: pip builds with one of its own, and each change would compile again
    // all that depends on this crate.
    let has = |clang: &str| Command::new(clang).arg("--version").output().is_ok();
    env::var("CLANG").ok().unwrap_or_else(|| {
        let versions =
            (OLDEST_NAMED..=NEWEST_NAMED).rev().map(|version| format!("clang-{version}"));
        versions.into_iter().find(|clang| has(clang)).unwrap_or_else(|| "clang".to_owned())
    })
}

/// Compiles one program; the error is for people.
fn compile(clang: &str, program: &str, out: &Path) -> Result<(), String> {
    // References to packets are marked by an attribute that older versions ignore silently.
    if program == "dualpi2" {
        let has = Command::new(clang).args(["-dM", "-E", "-x", "c", "/dev/null"]).output();
        let has = has.map_err(|error| format!("`{clang}` cannot be run ({error})"))?;
        let macros = String::from_utf8_lossy(&has.stdout).into_owned();
        let major = macros.lines().find_map(|line| line.strip_prefix("#define __clang_major__ "));
        if major.and_then(|major| major.parse::<u32>().ok()).is_none_or(|major| major < QDISC_CLANG)
        {
            return Err(format!("`{clang}` is older than clang {QDISC_CLANG}"));
        }
    }
    let output = Command::new(clang)
        // -mcpu=v3 is Linux 5.1. -g makes the types that CO-RE needs.
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unused-function"])
        // Line numbers name files. A path of this machine would change the result of each build.
        .arg("-fdebug-compilation-dir=.")
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
