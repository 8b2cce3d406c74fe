//! Whether this build has kernels, as `cfg(kernels)`: on Linux, with the feature of that name.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(kernels)");
    if env::var_os("CARGO_FEATURE_KERNELS").is_some()
        && env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
    {
        println!("cargo:rustc-cfg=kernels");
    }
}
