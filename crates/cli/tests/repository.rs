//! The files around the code agree with it: versions, make targets of workflows, links of the front pages.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The value of the first line `KEY VALUE`, without quotes and a comma.
fn value(text: &str, key: &str) -> String {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(key));
    line.unwrap_or_else(|| panic!("no `{key}`")).trim().trim_matches([',', '"']).to_owned()
}

#[test]
fn every_file_has_the_same_version() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(value(&read("CITATION.cff"), "version:"), version);
    assert_eq!(value(&read("web/package.json"), "\"version\":"), version);
    // File names of packages: `l4s_0.2.0_amd64.deb`, `l4s-0.2.0-…`.
    let guide = read("docs/guides/install.md");
    let names = guide.split("l4s").skip(1).filter_map(|rest| rest.strip_prefix(['-', '_']));
    let versions = names.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let versions: Vec<_> =
        versions.map(|rest| rest.split(['-', '_']).next().unwrap_or(rest)).collect();
    assert!(versions.len() >= 4, "{versions:?}");
    assert!(versions.iter().all(|one| *one == version), "docs/guides/install.md: {versions:?}");
    let changelog = read("CHANGELOG.md");
    let released = changelog.lines().filter(|line| line.starts_with("## [")).nth(1);
    let released = released.expect("a released version");
    let date = value(&read("CITATION.cff"), "date-released:");
    assert_eq!(released, format!("## [{version}] - {date}"));
}

/// Keep a Changelog: each version has only these headings.
#[test]
fn the_changelog_has_the_headings_of_its_form() {
    for line in read("CHANGELOG.md").lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            let known = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
            assert!(known.contains(&heading), "{heading}");
        }
    }
}

/// Every `make TARGET` in a workflow, .ci/run, README or CONTRIBUTING exists.
#[test]
fn every_make_target_that_is_named_exists() {
    let makefile = read("Makefile");
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#', '.']))
        .filter_map(|line| line.split_once(':'))
        .filter(|(_, rest)| !rest.starts_with('='))
        .map(|(target, _)| target)
        .collect();
    let mut seen = 0;
    let workflows = [".github/workflows/ci.yml", ".github/workflows/release.yml"];
    for file in workflows.iter().chain(&[".ci/run", "README.md", "CONTRIBUTING.md"]) {
        let text = read(file);
        for line in text.lines() {
            // It is code, not the verb.
            let code = line.contains('`')
                || line.trim_start().starts_with("make")
                || line.contains("run: ");
            let Some((_, rest)) = line.split_once("make ").filter(|_| code) else { continue };
            let target: String = rest
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
                .collect();
            if target.is_empty() {
                continue;
            }
            assert!(targets.contains(target.as_str()), "{file}: `make {target}`");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

/// README calls docs/index.md all pages; it leads to those of docs/results by their own index.
#[test]
fn every_page_is_in_an_index() {
    let mut pages = 0;
    for folder in ["tutorials", "guides", "reference", "explanation", "results"] {
        let (index, before) = match folder {
            "results" => ("docs/results/index.md", String::new()),
            _ => ("docs/index.md", format!("{folder}/")),
        };
        let text = read(index);
        for entry in read_dir(root().join("docs").join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") && name != "index.md" {
                assert!(text.contains(&format!("({before}{name}")), "{index}: no {before}{name}");
                pages += 1;
            }
        }
    }
    assert!(pages > 80, "{pages}");
}
