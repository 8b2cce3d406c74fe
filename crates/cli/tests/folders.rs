//! Result folders: their owner, their writer, and the treatment of damaged files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder).args(args);
    command
}

fn l4s(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("l4s starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Stderr of a successful command.
fn done(folder: &Path, args: &[&str]) -> String {
    let output = l4s(folder, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    stderr(&output)
}

/// Stderr of a command that is refused, and changes nothing.
fn refused(folder: &Path, args: &[&str]) -> String {
    let before = contents(folder);
    let output = l4s(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    assert!(contents(folder) == before, "{args:?} changed something");
    stderr(&output)
}

/// Every file in a folder, with its bytes; for a link, its target.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            let name = path.strip_prefix(folder).expect("inside").display().to_string();
            match kind {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => all.push((name, fs::read(&path).expect("a file"))),
                kind => all.push((name, format!("{kind:?}").into_bytes())),
            }
        }
    }
    all.sort();
    all
}

/// Two short runs; the second takes some time.
const SHORT: &str = r#"
name     = "short"
duration = "1s"
[link]
rate = "4mbit"
[[group]]
name = "A"
cc   = "cubic"
rtt  = "10ms"
[sweep]
"duration" = ["1s", "60s"]
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::write(folder.path().join("s.toml"), SHORT).unwrap();
    folder
}

const RUN: [&str; 4] = ["run", "s.toml", "--out", "r"];
const RESUME: [&str; 5] = ["run", "s.toml", "--out", "r", "--resume"];
const REPLACE: [&str; 7] = ["run", "s.toml", "--out", "r", "--replace", "--seed", "2"];

/// Waits until a condition is true.
fn until(mut so: impl FnMut() -> bool) {
    while !so() {
        sleep(Duration::from_millis(1));
    }
}

/// Starts a command and kills it when `so` is true. Returns whether it was killed before it ended.
fn killed(folder: &Path, args: &[&str], mut so: impl FnMut() -> bool) -> bool {
    let mut child =
        command(folder, args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut ended = false;
    until(|| {
        ended = child.try_wait().unwrap().is_some();
        ended || so()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    !ended
}

/// A folder in which only the first run is done.
fn interrupted() -> (TempDir, PathBuf) {
    loop {
        let folder = folder();
        let first = folder.path().join("r/runs/0000000");
        let so = || first.is_file();
        if killed(folder.path(), &[&RUN[..], &["--jobs", "1"]].concat(), so)
            && !folder.path().join("r/runs/0000001").exists()
            && first.is_file()
        {
            return (folder, first);
        }
    }
}

/// The files of an uninterrupted command.
fn whole() -> &'static [(String, Vec<u8>)] {
    static WHOLE: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let folder = folder();
        done(folder.path(), &RUN);
        contents(folder.path())
    })
}

/// A folder with just these files.
fn finished() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (name, bytes) in whole() {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

#[test]
fn a_sweep_that_is_killed_at_any_moment_ends_with_the_bytes_of_another() {
    let whole = whole();
    let rounds = std::env::var("L4S_KILL_ROUNDS").map_or(2, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let folder = folder();
        let r = folder.path().join("r");
        // Killed when its folder is there, after a first run, with tables, with figures.
        let marks = [
            "figures",
            "runs/0000000",
            "l4s.json",
            "series.parquet",
            "runs.parquet",
            "report.html",
        ];
        let mark = r.join(marks[round % marks.len()]);
        killed(folder.path(), &RUN, || mark.exists());
        killed(folder.path(), &RESUME, || {
            sleep(Duration::from_millis(20 * round as u64));
            true
        });
        done(folder.path(), &RESUME);
        let names =
            |all: &[(String, Vec<u8>)]| all.iter().map(|one| one.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&contents(folder.path())), names(whole), "round {round}");
        assert!(contents(folder.path()) == whole, "round {round}");
    }
}

#[test]
fn results_are_replaced_only_where_l4s_wrote_all_of_them() {
    let folder = finished();
    let here = folder.path();
    let theirs = [
        ("chapter.tex", "which l4s did not write"),
        ("figures/mine.svg", "which l4s did not write"),
        ("report.html", "which was changed since l4s wrote it"),
        ("runs/notes", "which l4s did not write"),
        (".hidden", "which l4s did not write"),
    ];
    for (name, why) in theirs {
        let path = here.join("r").join(name);
        let before = fs::read(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "years of work").unwrap();
        let said = refused(here, &REPLACE);
        assert!(
            said.contains(&format!("r holds other results, to be replaced, and {name}, {why}")),
            "{said}"
        );
        match before {
            Some(before) => fs::write(&path, before).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let _ = fs::remove_dir(here.join("r/runs"));
    }
    // A link to such a folder is refused, too.
    symlink(here.join("r"), here.join("link")).unwrap();
    let by_link = ["run", "s.toml", "--out", "link", "--replace", "--seed", "2"];
    assert!(refused(here, &by_link).contains("link is a link to a folder with other results"));
    fs::remove_file(here.join("link")).unwrap();
    // A folder of an earlier version has no list of its files.
    let list = fs::read_to_string(here.join("r/l4s.json")).unwrap();
    let old = list.split(",\n  \"files\"").next().unwrap().to_owned() + "\n}\n";
    fs::write(here.join("r/l4s.json"), old).unwrap();
    assert!(refused(here, &REPLACE).contains("an earlier version of l4s, which kept no list"));
    fs::write(here.join("r/l4s.json"), list).unwrap();

    done(here, &REPLACE);
    let (mut found, other) = (contents(here), self::folder());
    found.retain(|(name, _)| name != "s.toml");
    done(other.path(), &["run", "s.toml", "--out", "r", "--seed", "2"]);
    let mut expected = contents(other.path());
    expected.retain(|(name, _)| name != "s.toml");
    assert!(found == expected, "nothing of what was replaced is left");
}

/// `--replace` makes the runs of the same plan again, too. After a stop, `--resume` completes the new ones and removes the
/// old ones.
#[test]
fn replaced_results_are_made_again() {
    let folder = finished();
    let here = folder.path();
    let replace = [&RUN[..], &["--replace"]].concat();
    let said = done(here, &replace);
    assert!(said.contains("s of virtual time in") && !said.contains("done before"), "{said}");
    assert!(done(here, &RESUME).contains("every run was done before"));
    let first = here.join("r/runs/0000000");
    if killed(here, &[&replace[..], &["--jobs", "1"]].concat(), || first.is_file()) {
        assert!(here.join(".l4s-r.old").is_dir());
        done(here, &RESUME);
    }
    assert!(!here.join(".l4s-r.old").exists());
    assert!(contents(here) == whole());
}

/// A finished folder has the same bytes as if all runs had been asked for at first.
#[test]
fn seeds_and_values_are_added_to_a_finished_folder() {
    let folder = folder();
    let here = folder.path();
    let scenario = |durations: &str| SHORT.replace("\"1s\", \"60s\"", durations);
    let more = ["--seeds", "2"];
    fs::write(here.join("s.toml"), scenario("\"1s\", \"3s\", \"2s\"")).unwrap();
    done(here, &[&RUN[..], &more].concat());
    let all = contents(&here.join("r"));
    fs::remove_dir_all(here.join("r")).unwrap();

    fs::write(here.join("s.toml"), scenario("\"1s\", \"2s\"")).unwrap();
    done(here, &RUN);
    let words = refused(here, &[&RUN[..], &more].concat());
    assert!(words.contains("2 runs, not 4") && words.contains("--resume adds runs"), "{words}");
    let words = done(here, &[&RESUME[..], &more].concat());
    assert!(words.contains("note: the 2 runs of r are kept"), "{words}");
    fs::write(here.join("s.toml"), scenario("\"1s\", \"3s\", \"2s\"")).unwrap();
    let words = done(here, &[&RESUME[..], &more].concat());
    assert!(words.contains("note: the 4 runs of r are kept"), "{words}");
    assert!(contents(&here.join("r")) == all);
    assert!(!here.join(".l4s-r.old").exists());

    // Runs of something else are not those of this plan, nor are more runs than it has.
    fs::write(here.join("s.toml"), scenario("\"1s\", \"3s\"")).unwrap();
    assert!(refused(here, &[&RESUME[..], &more].concat()).contains("6 runs, not 4"));
    let other = scenario("\"1s\", \"3s\", \"2s\"").replace("10ms", "11ms");
    fs::write(here.join("s.toml"), other).unwrap();
    assert!(refused(here, &[&RESUME[..], &["--seeds", "3"]].concat()).contains("6 runs, not 9"));
    let words = refused(here, &RUN);
    assert!(words.contains("6 runs, not 3") && words.contains("--replace puts"), "{words}");
    done(here, &[&RUN[..], &["--replace"]].concat());
}

#[test]
fn reports_replace_only_reports() {
    let folder = finished();
    let here = folder.path();
    done(here, &["report", "r"]);
    fs::create_dir(here.join("thesis")).unwrap();
    fs::write(here.join("thesis/report.html"), "mine").unwrap();
    let report = ["report", "r", "--out", "thesis"];
    assert!(
        refused(here, &report).contains("thesis/report.html: it is there already, and l4s did not")
    );
    assert!(
        refused(here, &["compare", "r", "r", "--out", "thesis"]).contains("l4s did not write it")
    );
    fs::remove_file(here.join("thesis/report.html")).unwrap();
    fs::create_dir(here.join("thesis/figures")).unwrap();
    fs::write(here.join("thesis/figures/headline.svg"), "mine").unwrap();
    assert!(refused(here, &report).contains("figures/headline.svg: it is there already"));
    fs::rename(here.join("thesis/figures/headline.svg"), here.join("thesis/figures/my.svg"))
        .unwrap();
    done(here, &report);
    done(here, &report);
    assert_eq!(fs::read_to_string(here.join("thesis/figures/my.svg")).unwrap(), "mine");
    // A figure that the user has edited.
    fs::write(here.join("thesis/figures/headline.svg"), "retouched").unwrap();
    assert!(refused(here, &report).contains("headline.svg: it was changed since l4s wrote it"));
}

#[test]
fn a_folder_with_results_keeps_the_report_of_these() {
    let folder = finished();
    let here = folder.path();
    done(here, &["run", "s.toml", "--out", "other", "--seed", "2"]);
    for arguments in [
        &["report", "r", "--out", "other"][..],
        &["report", "r", "other", "--out", "other"],
        &["compare", "other", "r", "--out", "other"],
    ] {
        let said = refused(here, arguments);
        assert!(said.contains("other holds other results, and their report"), "{said}");
        assert!(said.contains("a new or empty folder"), "{said}");
    }
    done(here, &["report", "r", "--out", "./r"]);
    // A folder that such a command wrote.
    done(here, &["compare", "r", "other", "--out", "both"]);
    done(here, &["report", "r", "--out", "both"]);
}

#[test]
fn the_page_of_a_comparison_has_the_table_that_is_printed() {
    let folder = finished();
    let here = folder.path();
    done(here, &["run", "s.toml", "--out", "other", "--seed", "2"]);
    let output = l4s(here, &["compare", "r", "other", "--out", "both"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let page = fs::read_to_string(here.join("both/report.html")).unwrap();
    let mut lines = said.lines().collect::<Vec<_>>();
    assert_eq!(lines.pop(), Some("both/report.html"));
    let rows = lines.iter().position(|line| line.contains(" measurements in ")).unwrap();
    assert!(rows > 1, "{said}");
    for row in &lines[..rows] {
        let cells: Vec<&str> =
            row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells.len(), 5, "{row}");
        assert!(page.contains(&serde_json::to_string(&cells).unwrap()), "{row}");
    }
    for note in &lines[rows..] {
        assert!(page.contains(note), "{note}");
    }
}

#[test]
fn a_link_leads_nowhere() {
    for name in ["runs", "figures"] {
        let (folder, _) = interrupted();
        let away = tempfile::tempdir().unwrap();
        let place = folder.path().join("r").join(name);
        if place.is_dir() {
            fs::rename(&place, folder.path().join("elsewhere")).unwrap();
        }
        symlink(away.path(), &place).unwrap();
        let output = l4s(folder.path(), &RESUME);
        assert_ne!(output.status.code(), Some(0));
        let said = stderr(&output);
        assert!(said.contains("found a symbolic link, expected a folder"), "{said}");
        assert!(said.contains(&format!("r/{name}")), "{said}");
        assert_eq!(fs::read_dir(away.path()).unwrap().count(), 0, "{name}");
    }
    // A link in the place of a file leads nowhere either, under a name of ours or of an earlier version.
    let folder = finished();
    let root = folder.path().join("root");
    fs::write(&root, "of root").unwrap();
    let page = folder.path().join("r/report.html");
    fs::remove_file(&page).unwrap();
    for link in [page.clone(), folder.path().join("r/.l4s-report.html.part")] {
        symlink(&root, &link).unwrap();
    }
    let output = l4s(folder.path(), &["report", "r"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("report.html: found a symbolic link, expected a file"));
    assert_eq!(fs::read_to_string(&root).unwrap(), "of root");
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let fifo = |path: &Path| {
        let _ = fs::remove_file(path);
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let folder = finished();
    let place = |name: &str| folder.path().join("r").join(name);
    for name in [
        "flows.parquet",
        "delays.parquet",
        "series.parquet",
        "scenario.toml",
        "scenarios.json",
        "runs.parquet",
        "l4s.json",
    ] {
        let bytes = fs::read(place(name)).unwrap();
        fifo(&place(name));
        let output = l4s(folder.path(), &["report", "r"]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains(&format!("r/{name}: found a FIFO, expected a file")), "{said}");
        fs::remove_file(place(name)).unwrap();
        fs::write(place(name), bytes).unwrap();
    }
    let (folder, first) = interrupted();
    fifo(&first);
    let output = l4s(folder.path(), &RESUME);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("runs/0000000: found a FIFO, expected a file"));
}

#[test]
fn one_process_at_a_time_writes_into_a_folder() {
    let folder = folder();
    let here = folder.path();
    let lock = here.join("r/.l4s-lock");
    let long = ["run", "s.toml", "--out", "r", "--set", "duration=86400s"];
    let mut child: Child = command(here, &long).stderr(Stdio::null()).spawn().unwrap();
    let holder = format!("process {}", child.id());
    until(|| {
        assert_eq!(child.try_wait().unwrap(), None, "it is to run for long");
        let has_lock = fs::read_to_string(&lock).is_ok_and(|text| text.trim() == holder);
        has_lock && here.join("r/l4s.json").exists()
    });
    let resumed = [&long[..], &["--resume"]].concat();
    for args in [&RUN[..], &RESUME[..], &REPLACE[..], &resumed] {
        let said = stderr(&l4s(here, args));
        let expected = format!("error: r is in use: {holder} writes into it");
        assert!(said.starts_with(&expected), "{said}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The file that it left is no lock, and does not block others.
    assert!(lock.exists());
    done(here, &REPLACE);
    assert!(!lock.exists());
}

#[test]
fn two_that_begin_at_once_do_not_mix() {
    for round in 0..2 {
        let folder = folder();
        let seeds = [1, 2].map(|seed| {
            let seed = seed.to_string();
            let args = [&RUN[..], &["--seed", &seed, "--set", "duration=1s"]].concat();
            command(folder.path(), &args)
                .stderr(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        });
        let outputs = seeds.map(|child| child.wait_with_output().unwrap());
        let won: Vec<usize> = (0..2).filter(|i| outputs[*i].status.success()).collect();
        assert_eq!(won.len(), 1, "round {round}: {:?}", outputs.each_ref().map(stderr));
        let lost = &outputs[1 - won[0]];
        assert_eq!(lost.status.code(), Some(2), "{}", stderr(lost));
        // The folder equals the winner's, to the byte.
        let seed = (won[0] + 1).to_string();
        let other = self::folder();
        done(other.path(), &[&RUN[..], &["--seed", &seed, "--set", "duration=1s"]].concat());
        assert!(contents(folder.path()) == contents(other.path()), "round {round}");
    }
}

#[test]
fn a_damaged_run_is_named_and_done_again() {
    type Damage = fn(&Path);
    let damages: [(Damage, &[&str]); 2] = [
        // A digit of a number in the first run; the first run in the place of the second.
        (
            |path| {
                fs::copy(path, path.with_file_name("0000001")).unwrap();
                let text = fs::read_to_string(path).unwrap();
                let at = text.find("\"utilization\":0.").unwrap() + 16;
                let digit = if &text[at..=at] == "7" { "8" } else { "7" };
                fs::write(path, format!("{}{digit}{}", &text[..at], &text[at + 1..])).unwrap();
            },
            &["0000000", "0000001"],
        ),
        // The end is missing.
        (|path| fs::write(path, &fs::read(path).unwrap()[..1000]).unwrap(), &["0000000"]),
    ];
    for (damage, which) in damages {
        let (folder, first) = interrupted();
        damage(&first);
        let said = done(folder.path(), &RESUME);
        for part in which {
            assert!(said.contains(&format!("note: r/runs/{part}: damaged")), "{said}");
        }
        assert_eq!(said.matches("this run is done again").count(), which.len(), "{said}");
        assert!(contents(folder.path()) == whole(), "{which:?}");
    }
}

#[test]
fn a_damaged_table_is_named_and_made_again() {
    let folder = finished();
    for name in [
        "runs.parquet",
        "series.parquet",
        "delays.parquet",
        "flows.parquet",
        "scenario.toml",
        "scenarios.json",
    ] {
        let path = folder.path().join("r").join(name);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[whole.len() / 2] ^= 1;
        fs::write(&path, bytes).unwrap();
        for args in [&["report", "r"][..], &["compare", "r", "r", "--out", "c"]] {
            let output = l4s(folder.path(), args);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(&format!("{name}: damaged: its checksum is")), "{said}");
            assert!(said.contains("--resume, does its runs again"), "{said}");
        }
        if name != "delays.parquet" {
            fs::write(&path, whole).unwrap();
            continue;
        }
        let said = done(folder.path(), &RESUME);
        assert!(said.contains(&format!("note: r/{name} was changed since l4s wrote it")), "{said}");
        assert!(contents(folder.path()) == self::whole(), "{name}");
    }
}
