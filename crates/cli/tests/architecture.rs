//! The dependency graph agrees with docs/explanation/architecture.md: its table, its figure and its limits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The names of the workspace's own crates begin with this.
const OURS: &str = "l4s-";

struct Graph {
    /// The name of each package.
    names: BTreeMap<String, String>,
    /// Its normal dependencies, without those of tests and build scripts.
    uses: BTreeMap<String, Vec<String>>,
}

impl Graph {
    /// The graph for Linux, from the packages that Cargo has locally.
    fn read() -> Graph {
        let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--locked", "--offline"])
            .args(["--filter-platform", &platform])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = |value: &Value| value.as_array().unwrap().clone();
        let names = list(&metadata["packages"])
            .iter()
            .map(|p| (text(&p["id"]), text(&p["name"])))
            .collect();
        let normal =
            |dep: &Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let uses = list(&metadata["resolve"]["nodes"]).into_iter().map(|node| {
            let deps = list(&node["deps"]);
            (
                text(&node["id"]),
                deps.iter().filter(|dep| normal(dep)).map(|dep| text(&dep["pkg"])).collect(),
            )
        });
        Graph { names, uses: uses.collect() }
    }

    fn id(&self, name: &str) -> &String {
        self.names.iter().find(|(_, known)| *known == name).unwrap_or_else(|| panic!("no {name}")).0
    }

    /// The crates of the workspace that a crate uses, by their short names.
    fn ours(&self, package: &str) -> BTreeSet<String> {
        let used = self.uses[self.id(package)].iter().map(|id| &self.names[id]);
        used.filter_map(|name| name.strip_prefix(OURS)).map(str::to_owned).collect()
    }
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/explanation/architecture.md")).unwrap()
}

/// The package of a crate, by its name on the page.
fn package(short: &str) -> String {
    if short == "cli" { "l4s".to_owned() } else { format!("{OURS}{short}") }
}

/// The table: each crate with the crates that it uses.
fn table(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (_, rest) =
        page.split_once("| crate | owns | uses | must not know |\n|---|---|---|---|\n").unwrap();
    let rows = rest.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let uses = cells[3].split_whitespace().map(str::to_owned).collect();
        (cells[1].trim_matches('`').to_owned(), uses)
    })
    .collect()
}

#[test]
fn the_table_has_every_crate_with_exactly_what_it_uses() {
    let (graph, table) = (Graph::read(), table(&page()));
    let mut crates: BTreeSet<String> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    crates.insert("python".to_owned());
    assert_eq!(crates, table.keys().cloned().collect());
    for (name, uses) in table {
        assert_eq!(uses, graph.ours(&package(&name)), "{name}");
    }
}

#[test]
fn in_the_figure_every_crate_uses_only_crates_of_the_lines_above() {
    let page = page();
    let figure = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let mut above = BTreeSet::new();
    let table = table(&page);
    for line in figure.lines() {
        let crates: BTreeSet<String> = line.split_whitespace().map(str::to_owned).collect();
        for name in &crates {
            let missing: Vec<_> = table[name].difference(&above).collect();
            assert!(missing.is_empty(), "{name} uses {missing:?}, not above it");
        }
        above.extend(crates);
    }
    assert_eq!(above, table.into_keys().collect());
}

/// The packages from which a crate is built, itself included, with only its own features.
fn packages(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--edges=normal", "--prefix=none", "--locked", "--offline"])
        .args(["--package", package])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn simulator_and_host_keep_to_their_number_of_packages() {
    let page = page();
    assert!(page.contains("`sim` is at most 20 packages and `host` at most 40"));
    for (name, most) in [("sim", 20), ("host", 40)] {
        let packages = packages(&package(name)).len();
        assert!(packages <= most, "{name}: {packages} packages");
    }
}

/// Without the feature `kernels` a substrate needs neither clang nor BPF.
#[test]
fn python_is_built_of_the_simulator_alone() {
    assert!(page().contains("`python` has of `substrate` the simulator alone"));
    let packages = packages("l4s-python");
    let has = |name: &str| packages.iter().any(|package| package.starts_with(&format!("{name} ")));
    assert!(has("l4s-substrate") && has("l4s-sim"), "{packages:?}");
    for name in ["l4s-bpf", "l4s-lab", "l4s-linux", "l4s-os", "libbpf-rs"] {
        assert!(!has(name), "{name}");
    }
}
