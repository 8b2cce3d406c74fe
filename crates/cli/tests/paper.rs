//! `l4s paper` from the user's view.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn l4s(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder).args(args).output().expect("l4s starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("l4s prints text")
}

#[test]
fn it_lists_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let list = l4s(folder.path(), &["paper", "--list"]);
    assert!(list.status.success());
    let list = text(&list.stdout);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(list.lines().next().unwrap()), ["figure", "paper", "runs", "question"]);
    let row = |id: &str| list.lines().find(|line| line.starts_with(&format!("{id} "))).expect(id);
    assert!(
        words(row("fallback-500")).starts_with(&words("fallback-500 Fallback §7.5 2000 In which"))
    );
    assert!(row("dctth-4").contains("DCttH figure 4"));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is written");
}

#[test]
fn an_unknown_figure_is_refused_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let output = l4s(folder.path(), &["paper", "fallback-50"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.starts_with("error: there is no figure `fallback-50`, expected one of dctth-4")
    );
    assert!(message.ends_with("help: did you mean `fallback-500`?\n"), "{message}");
    assert_eq!(l4s(folder.path(), &["paper", "--jobs", "0"]).status.code(), Some(2));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

/// The only folder in `root`.
fn only(root: &Path) -> std::path::PathBuf {
    let mut entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let only = entries.next().unwrap();
    assert_eq!(entries.next(), None);
    only
}

const QUICK: [&str; 5] = ["paper", "fallback-8", "--quick", "--seed", "7"];

#[test]
fn a_figure_leaves_a_result_folder_and_says_its_numbers_beside_the_papers() {
    let folder = tempfile::tempdir().unwrap();
    let first = l4s(folder.path(), &QUICK);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let out = only(&folder.path().join("out/paper-quick"));
    let name = out.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("fallback-8-"), "other settings, another folder: {name}");
    for file in ["l4s.json", "runs.parquet", "series.parquet", "flows.parquet", "report.html"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let said = text(&first.stdout);
    assert!(said.starts_with("Fallback figure 8: How soon"), "{said}");
    let row = said.lines().find(|line| line.contains("it is Classic, 1, after 1 s")).unwrap();
    assert!(row.starts_with("holds "), "{row}");
    let page = fs::read_to_string(out.join("statements.md")).unwrap();
    assert!(page.contains("| classic | it is Classic, 1, after 1 s (Fallback §7.2) | "), "{page}");
    assert!(text(&first.stderr).contains("seed 7"));
}

#[test]
fn what_was_made_once_is_not_made_again_unless_it_would_be_different() {
    let folder = tempfile::tempdir().unwrap();
    let first = l4s(folder.path(), &QUICK);
    let out = only(&folder.path().join("out/paper-quick"));
    let made = |out: &Path| {
        ["runs.parquet", "figure.json"]
            .map(|file| fs::metadata(out.join(file)).unwrap().modified().unwrap())
    };
    let before = made(&out);
    let again = l4s(folder.path(), &QUICK);
    assert_eq!(text(&again.stdout), text(&first.stdout));
    assert!(text(&again.stderr).contains("every run was done before"));
    assert_eq!(made(&out), before);

    // The results of another figure are not used for this one.
    let kept = out.join("figure.json");
    let theirs = fs::read_to_string(&kept).unwrap().replace("fallback-8", "fallback-9");
    fs::write(&kept, theirs.replace("it is Classic", "it is not")).unwrap();
    // The list of an interrupted run of its own.
    let list = fs::read_to_string(out.join("l4s.json")).unwrap();
    let sum = list.lines().find(|line| line.contains("figure.json")).unwrap();
    fs::write(out.join("l4s.json"), list.replace(sum, "    \"figure.json\": null,")).unwrap();
    assert_eq!(text(&l4s(folder.path(), &QUICK).stdout), text(&first.stdout));

    // Results of other code are replaced, and are removed when the new ones are complete.
    let manifest = out.join("l4s.json");
    let ours = fs::read_to_string(&manifest).unwrap();
    let code = ours.lines().find(|line| line.contains("\"code\"")).unwrap();
    let theirs = ours.replace(code, "  \"code\": \"another\",");
    fs::write(&manifest, &theirs).unwrap();
    // But not if the folder has files of others.
    for name in ["chapter.tex", "figures/mine.svg"] {
        fs::write(out.join(name), "a year of work").unwrap();
        let refused = l4s(folder.path(), &QUICK);
        assert_eq!(refused.status.code(), Some(2));
        let said = text(&refused.stderr);
        assert!(said.contains(&format!("and {name}, which l4s did not write")), "{said}");
        assert_eq!(fs::read_to_string(out.join(name)).unwrap(), "a year of work");
        assert_eq!(fs::read_to_string(&manifest).unwrap(), theirs);
        fs::remove_file(out.join(name)).unwrap();
    }
    let anew = l4s(folder.path(), &QUICK);
    assert_eq!(text(&anew.stdout), text(&first.stdout));
    assert!(!text(&anew.stderr).contains("was done before"));
    assert_eq!(only(&folder.path().join("out/paper-quick")), out);
    assert_eq!(fs::read_to_string(&manifest).unwrap(), ours);
}

#[test]
fn a_folder_of_the_users_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("mine");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("thesis.tex"), "all of it").unwrap();
    let output = l4s(folder.path(), &[&QUICK[..], &["--out", "mine"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("already holds something else, such as thesis.tex"));
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
}

/// Checks that short runs confirm a paper's statements on a figure in the way that is recorded. The runs are
/// short enough for a test.
fn as_recorded(figure: &str, set: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let set = set.iter().flat_map(|set| ["--set", set]);
    let args: Vec<&str> = ["paper", figure, "--quick"].into_iter().chain(set).collect();
    let output = l4s(folder.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("\nholds "), "{said}");
    for line in said.lines() {
        assert!(!line.contains("not as recorded"), "{figure}: {line}");
    }
}

// `scripts/statements.sh` checks Fallback §7.5, whose statements are on hundreds of situations. It also checks
// low loads, which have fewer statements than high ones, and the core, with thirty million packets.

#[test]
fn dctth_is_found_as_recorded() {
    as_recorded("dctth-4", &["group.*.rtt=5ms"]);
    as_recorded("dctth-5", &["group.A.flows=8", "duration=20s", "warmup=8s"]);
    as_recorded("dctth-6", &["group.A.rtt=5ms"]);
    as_recorded("dctth-7", &[]);
    as_recorded("dctth-8", &["group.*.rtt=10ms"]);
    as_recorded("dctth-9", &["group.*.rtt=50ms"]);
    // UDP above the rate slowly raises the L4S queue to its target, and at the rate DCTCP and Cubic take
    // more than a minute to come within a factor of 2.
    as_recorded("dctth-10", &["case=dualpi2 dctcp:cubic", "duration=150s", "warmup=100s"]);
    // CoDel takes a minute to reach a drop probability of 80 %.
    let long = ["duration=120s", "warmup=80s"];
    as_recorded(
        "dctth-10",
        &[["case=fq_codel ecn-cubic:cubic", "udp.U.rate=50mbit"], long].concat(),
    );
}

#[test]
fn the_slides_are_found_as_recorded() {
    as_recorded("slides-flows", &["duration=25s", "warmup=10s"]);
    as_recorded("slides-completion", &["A=1", "duration=60s"]);
    as_recorded("overload-a", &[]);
    as_recorded("overload-b", &[]);
}

#[test]
fn fallback_is_found_as_recorded() {
    as_recorded("fallback-1", &["group.*.rtt=50ms"]);
    as_recorded("fallback-7", &["group.*.rtt=50ms"]);
    as_recorded("fallback-8", &["duration=30s"]);
    for figure in ["fallback-9", "fallback-10", "fallback-11", "fallback-12"] {
        as_recorded(figure, &[]);
    }
}
