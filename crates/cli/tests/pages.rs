//! The pages of docs that scripts make are current.

use std::path::Path;
use std::process::Command;

fn check(script: &str, argument: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("scripts").join(script)).arg(argument).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_citation_in_the_code_is_in_the_table_of_traceability() {
    check("traceability.sh", "--check");
}

#[test]
fn every_figure_in_the_pages_exists() {
    check("figures.sh", "--files");
}
