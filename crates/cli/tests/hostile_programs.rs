//! Programs that print without end, processes that are killed, secrets in the environment, odd paths.
//!
//! If the machine does not allow namespaces, a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

mod real;
mod tree;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use real::{done, folder, l4s_on, stderr};
use tempfile::TempDir;
use tree::{descendants, is_alive, kill, within};

/// A scenario with one group that has only these programs.
fn scenario(duration: &str, programs: &str) -> TempDir {
    folder(&format!(
        "duration = \"{duration}\"\nwarmup = \"0s\"\nlink.rate = \"20mbit\"\naqm = \"fifo\"\n\
         [[group]]\nname = \"qzjxkvwp\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n{programs}"
    ))
}

/// The peak memory of a process, in bytes.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

#[test]
fn a_gigabyte_of_output_takes_neither_disk_nor_memory() {
    let folder = scenario(
        "300ms",
        "[[program]]\nname = \"x\"\ngroup = \"qzjxkvwp\"\nready = \"file:printed\"\n\
         server = \"echo first; head -c 1000000000 /dev/zero; echo; echo last; echo aside >&2; \
         touch printed; exec sleep 1000\"\n",
    );
    let mut command = l4s_on("kernel", folder.path(), &["--out", "out"]);
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let printed = folder.path().join("printed");
    let mut most = 0;
    within("it is printed, or cannot be", || {
        let all = [vec![command.id()], descendants(command.id())].concat();
        most = all.into_iter().map(peak).fold(most, u64::max);
        printed.exists() || command.try_wait().unwrap().is_some()
    });
    let ran = command.wait_with_output().unwrap();
    if ran.status.code() == Some(3) {
        return println!("skipped: {}", stderr(&ran).trim());
    }
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    println!("at most {} MB in a process", most / 1_000_000);
    // All memory of a process is locked, some 60 to 110 MB in a test build.
    assert!(most > 1_000_000 && most < 300_000_000, "{most} B");

    let path = folder.path().join("out/programs/x/server.out");
    let kept = fs::read(&path).unwrap();
    // 16 MiB and 64 KiB, and a line.
    assert!(kept.len() < (16 << 20) + (64 << 10) + 200, "{} B", kept.len());
    assert!(kept.starts_with(b"first\n\0") && kept.ends_with(b"\0\nlast\n"));
    let text = String::from_utf8_lossy(&kept);
    let line = text.lines().find(|line| line.contains("left out")).expect("it is said");
    let left_out = 1_000_000_000 + "first\n\nlast\n".len() - (16 << 20) - (64 << 10);
    assert!(line.contains(&format!("l4s left out {left_out} bytes here")), "{line}");
    assert!(stderr(&ran).contains("printed more than is kept"), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("server.out") && !stderr(&ran).contains("server.err"));
    let aside = fs::read_to_string(path.with_extension("err")).unwrap();
    assert_eq!(aside, "aside\n");
}

/// The names of the files in a folder.
fn names(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    names.sort();
    names
}

/// Each process of a run is killed once, and all at once; in many rounds under `make kills`.
#[test]
fn nothing_is_left_whatever_is_killed() {
    let rounds = std::env::var("L4S_KILL_ROUNDS").map_or(10, |rounds| rounds.parse().unwrap());
    let folder = scenario(
        "1000s",
        "[[program]]\nname = \"x\"\ngroup = \"qzjxkvwp\"\nready = \"file:server\"\n\
         server = \"touch server; exec sleep 1000\"\nclient = \"touch client; exec sleep 1000\"\n",
    );
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let up = ["server", "client"].map(|name| folder.path().join(name));
    let interfaces = names("/sys/class/net");
    let start = |more: &[&str]| {
        let mut command = l4s_on("kernel", folder.path(), more);
        command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("l4s starts")
    };
    for round in 0..rounds {
        up.iter().for_each(|path| drop(fs::remove_file(path)));
        let mut command = start(&[]);
        let are_up = || up.iter().all(|path| path.exists());
        within("programs run, or cannot", || are_up() || command.try_wait().unwrap().is_some());
        if !are_up() {
            let ran = command.wait_with_output().unwrap();
            assert_eq!(ran.status.code(), Some(3), "{}", stderr(&ran));
            return println!("skipped: {}", stderr(&ran).trim());
        }
        // l4s, two agents, and for each program its keeper, its init and the program.
        let mut all = Vec::new();
        within("nine processes", || {
            all = [vec![command.id()], descendants(command.id())].concat();
            all.len() == 9
        });
        let turn = round % (all.len() + 1);
        let victims = if turn < all.len() { &all[turn..=turn] } else { &all[..] };
        victims.iter().for_each(|process| kill(*process));
        let ran = command.wait_with_output().unwrap();
        assert_ne!(ran.status.code(), Some(0), "{turn}: {}", stderr(&ran));
        within("all processes are gone", || !all.iter().any(|process| is_alive(*process)));
    }
    // A run that ends normally removes the files that the killed ones left.
    let ran = start(&["--set", "duration=100ms", "--set", "program.x.stop=term"]);
    let ran = ran.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert_eq!(names(&temporary), [""; 0].map(PathBuf::from));
    // The devices of a namespace are removed with it, some time after its last process.
    within("interfaces are gone", || names("/sys/class/net") == interfaces);
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    names(folder)
        .into_iter()
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

#[test]
fn results_have_no_variable_of_the_environment_but_those_of_the_scenario() {
    /// No four letters of it appear anywhere else, so that compression does not change it.
    const SECRET: &str = "Yw7Qh3Zk9Xv5Ju1P";
    const SHOWN: &str = "Nf8Rb2Lc6Tg4Md0S";
    let programs = format!(
        "[[program]]\nname = \"x\"\ngroup = \"qzjxkvwp\"\nenv = {{ SHOWN = \"{SHOWN}\" }}\n\
         client = 'test \"$SECRET\" = {}; ping -c 1 server; true'\n",
        // The program has the variable. The scenario does not.
        "\"$(printenv SECRET)\""
    );
    let folder = scenario("500ms", &programs);
    let mut command = l4s_on("kernel", folder.path(), &["--out", "out", "--trace", "pcapng"]);
    let ran = command.arg("--json").env("SECRET", SECRET).output().unwrap();
    if done(&ran).is_none() {
        return;
    }
    let all = files(&folder.path().join("out"));
    let having = |value: &str| -> Vec<&str> {
        let contains = |path: &&PathBuf| {
            let bytes = fs::read(path).unwrap();
            bytes.windows(value.len()).any(|window| window == value.as_bytes())
        };
        all.iter()
            .filter(contains)
            .map(|path| path.file_name().unwrap().to_str().unwrap())
            .collect()
    };
    assert_eq!(having(SECRET), [""; 0]);
    assert!(!String::from_utf8_lossy(&ran.stdout).contains(SECRET));
    // The search does find values: variables of the scenario are a part of it, and names of groups are in
    // tables.
    assert!(having(SHOWN).contains(&"scenarios.json"), "{:?}", having(SHOWN));
    assert!(having("qzjxkvwp").iter().any(|name| name.ends_with(".parquet")));
    let traces = all.iter().filter(|path| path.extension().is_some_and(|kind| kind == "pcapng"));
    assert_eq!(traces.count(), 1, "{all:?}");
}

#[test]
fn a_program_may_be_in_a_folder_with_spaces_and_umlauts() {
    let folder = scenario("1s", "");
    let place = folder.path().join("mein Ordner/größe 名");
    fs::create_dir_all(&place).unwrap();
    let program = place.join("my prog.sh");
    fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"; cat \"$OUT/../../wörd s\"\n")
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = fs::read_to_string(folder.path().join("s.toml")).unwrap();
    let more = "[[program]]\nname = \"a b\"\ngroup = \"qzjxkvwp\"\n\
                client = [\"mein Ordner/größe 名/my prog.sh\", \"\", \"ä  b\", \"$HOME\"]\n\
                [[program]]\nname = \"line\"\ngroup = \"qzjxkvwp\"\n\
                client = \"'mein Ordner/größe 名/my prog.sh' 'c d'\"\n";
    fs::write(folder.path().join("s.toml"), text + more).unwrap();
    let out = "aus gabe/ö";
    fs::create_dir(folder.path().join("aus gabe")).unwrap();
    // The programs read `wörd s` in the output folder, beside its folder `programs`.
    let ran = {
        let mut command = l4s_on("kernel", folder.path(), &["--out", out, "--json"]);
        command.output().unwrap()
    };
    // The file does not exist yet: `cat` fails, and its message is shown.
    if ran.status.code() == Some(3) {
        return println!("skipped: {}", stderr(&ran).trim());
    }
    assert_eq!(ran.status.code(), Some(1));
    assert!(stderr(&ran).contains("wörd s"), "{}", stderr(&ran));
    fs::write(folder.path().join(out).join("wörd s"), "found").unwrap();
    let mut command = l4s_on("kernel", folder.path(), &["--out", out, "--json", "--resume"]);
    let ran = command.output().unwrap();
    assert!(done(&ran).is_some());
    let said = |name: &str| {
        fs::read_to_string(folder.path().join(out).join("programs").join(name).join("client.out"))
            .unwrap()
    };
    let program = "mein Ordner/größe 名/my prog.sh";
    assert_eq!(said("a b"), format!("{program}||ä  b|$HOME|found"));
    assert_eq!(said("line"), format!("{program}|c d|found"));
}

/// The last process of a command that runs in the background, as daemons do.
#[test]
fn a_server_that_daemonises_goes_on_until_the_run_ends() {
    let seconds = 7_000_000 + u64::from(std::process::id());
    let folder = scenario(
        "1s",
        &format!(
            "[[program]]\nname = \"x\"\ngroup = \"qzjxkvwp\"\nready = \"file:up\"\n\
             server = \"(setsid sh -c 'touch up; exec sleep {seconds}' </dev/null >/dev/null 2>&1 &); exit 0\"\n\
             [[program]]\nname = \"y\"\ngroup = \"qzjxkvwp\"\nstart = \"500ms\"\n\
             client = \"echo up\"\n"
        ),
    );
    let sleeps = || {
        let line = format!("sleep\0{seconds}\0").into_bytes();
        names("/proc").iter().any(|path| fs::read(path.join("cmdline")).is_ok_and(|is| is == line))
    };
    let mut command = l4s_on("kernel", folder.path(), &["--out", "out", "--json"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let client = folder.path().join("out/programs/y/client.out");
    let said = || fs::read(&client).is_ok_and(|text| text == b"up\n");
    let mut command = command;
    within("the client ran", || said() || command.try_wait().unwrap().is_some());
    let slept = sleeps();
    let ran = command.wait_with_output().unwrap();
    if done(&ran).is_none() {
        return;
    }
    assert!(slept, "the daemon was there in mid-run");
    within("it is gone", || !sleeps());
}
