//! All packages in l4s are from crates.io and have permissive licences, and docs/reference/dependencies.md has
//! every direct dependency with its reason. The tests work offline, with the packages that Cargo has locally.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that require only attribution. A crate must offer at least one of them.
const PERMISSIVE: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "0BSD",
    "BSL-1.0",
    "NCSA",
];

fn metadata() -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The packages for Linux, which Cargo has locally after a build.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", &platform])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether permissive licences alone can satisfy an SPDX expression. `AND` binds tighter than `OR`; older
/// crates write `/` for `OR`.
fn permissive(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let inner = expression.strip_prefix('(').and_then(|e| e.strip_suffix(')'));
    if let Some(inner) = inner.filter(|inner| !inner.contains('(')) {
        return permissive(inner);
    }
    if let Some((left, right)) = split_outside(&expression, " OR ") {
        return permissive(left.trim()) || permissive(right.trim());
    }
    if let Some((left, right)) = split_outside(&expression, " AND ") {
        return permissive(left.trim()) && permissive(right.trim());
    }
    PERMISSIVE.contains(&expression.trim())
}

/// Splits at the first `separator` outside of parentheses.
fn split_outside<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && text[at..].starts_with(separator) => {
                return Some((&text[..at], &text[at + separator.len()..]));
            }
            _ => {}
        }
    }
    None
}

#[test]
fn licence_expressions_are_understood() {
    assert!(permissive("MIT OR Apache-2.0"));
    assert!(permissive("(MIT OR GPL-3.0-only) AND Unicode-3.0"));
    assert!(permissive("MIT/Apache-2.0"));
    assert!(!permissive("GPL-2.0-only"));
    assert!(!permissive("MIT AND GPL-2.0-only"));
}

#[test]
fn everything_comes_from_crates_io_under_a_permissive_licence() {
    let mut bad = Vec::new();
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if let Some(source) = package["source"].as_str() {
            if !source.starts_with("registry+https://github.com/rust-lang/crates.io-index") {
                bad.push(format!("{name}: from {source}"));
            }
        }
        let licence = package["license"].as_str().unwrap_or("none");
        if !permissive(licence) {
            bad.push(format!("{name}: licence {licence}"));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn every_direct_dependency_has_a_reason() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/dependencies.md");
    let page = std::fs::read_to_string(page).unwrap();
    for package in metadata()["packages"].as_array().unwrap() {
        if !package["source"].is_null() {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            let ours = name == "l4s" || name.starts_with("l4s-");
            assert!(
                ours || page.contains(&format!("`{name}`")),
                "docs/reference/dependencies.md: {name}"
            );
        }
    }
}
