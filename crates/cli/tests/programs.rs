//! Programs of the user behind the bottleneck: `[[program]]` and `l4s shell`, with real processes in
//! real namespaces.
//!
//! If the machine does not allow it, a test prints `skipped: ` and the reason. The tests need only a POSIX
//! shell and the programs of every Linux. They wait for conditions, and no test depends on
//! speed.
#![cfg(target_os = "linux")]

mod real;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use l4s_measure::Results;
use real::{done, folder, stderr};
use rustix::pty::OpenptFlags;
use tempfile::TempDir;

/// A scenario with one group that has only these programs.
fn scenario(duration: &str, programs: &str) -> TempDir {
    folder(&format!(
        "duration = \"{duration}\"\nwarmup = \"0s\"\nlink.rate = \"20mbit\"\naqm = \"fifo\"\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n{programs}"
    ))
}

/// `l4s run s.toml --on kernel`, with results in `out`.
fn run(folder: &TempDir, more: &[&str]) -> Output {
    let mut command = real::l4s_on("kernel", folder.path(), &["--out", "out", "--json"]);
    command.args(more).output().expect("l4s starts")
}

/// `l4s shell`, with more arguments.
fn shell(more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.arg("shell").args(more).stdin(Stdio::null()).output().expect("l4s starts")
}

/// Whether this machine cannot run it, with a message.
fn is_impossible(output: &Output) -> bool {
    let impossible = output.status.code() == Some(3);
    if impossible {
        println!("skipped: {}", stderr(output).trim());
    }
    impossible
}

/// A word that is in no other process's command line.
fn mark(what: &str) -> String {
    format!("31{}{}", std::process::id(), what.bytes().map(u32::from).sum::<u32>())
}

/// The number of processes that sleep for this time.
fn sleepers(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let line = |path: &Path| fs::read(path.join("cmdline")).unwrap_or_default();
    processes.filter(|entry| line(&entry.path()) == format!("sleep\0{mark}\0").into_bytes()).count()
}

/// Waits for a condition, longer than a busy machine needs.
fn within(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A file that a program wrote, by its name.
fn output(folder: &TempDir, file: &str) -> String {
    let path = folder.path().join("out/programs").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_program_has_its_hosts_address_names_and_folder() {
    let programs = "[[program]]\nname = \"héllo wörld\"\ngroup = \"A\"\nenv = { WORD = \"x y\" }\n\
                    client = 'echo \"$WORD $SERVER $CLIENT $SEED\"; grep server /etc/hosts; pwd -P; \
                    echo \"$OUT\"; cat /proc/net/dev | grep -c l4s0; echo late >&2'\n";
    let folder = scenario("500ms", programs);
    let ran = run(&folder, &["--seed", "7"]);
    let Some(summaries) = done(&ran) else { return };
    assert!(summaries[0].engine.virtual_s > 0.0);
    let out = output(&folder, "héllo wörld/client.out");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "x y 10.0.0.1 10.0.1.1 7");
    assert_eq!(lines[1], "10.0.0.1 server server.A");
    let here = fs::canonicalize(folder.path()).unwrap();
    assert_eq!(lines[2], here.to_str().unwrap());
    assert_eq!(lines[3], here.join("out/programs/héllo wörld").to_str().unwrap());
    assert_eq!(lines[4], "1");
    assert_eq!(output(&folder, "héllo wörld/client.err"), "late\n");
    assert_eq!(fs::read_to_string("/etc/hosts").unwrap().matches("server.A").count(), 0);
}

/// Bytes of a server pass the bottleneck to its client, and are counted there.
#[test]
fn what_programs_send_is_measured() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: there is no python3 on this machine");
    }
    let server = "import socket\ns = socket.create_server((\"0.0.0.0\", 8000))\n\
                  while True:\n    c = s.accept()[0]\n    c.sendall(bytes(2000000))\n    c.close()\n";
    let client = "import os, socket\nc = socket.create_connection((\"server\", 8000))\nn = 0\n\
                  while d := c.recv(65536): n += len(d)\nprint(n)\n";
    let programs = "[[program]]\nname = \"x\"\ngroup = \"A\"\nserver = [\"python3\", \"server.py\"]\n\
                    client = [\"python3\", \"client.py\"]\nready = \"tcp:8000\"\n";
    let folder = scenario("10s", programs);
    fs::write(folder.path().join("server.py"), server).unwrap();
    fs::write(folder.path().join("client.py"), client).unwrap();
    let ran = run(&folder, &[]);
    let Some(summaries) = done(&ran) else { return };
    assert_eq!(output(&folder, "x/client.out"), "2000000\n");
    // 2 MB and headers in 10 s; at least 1.6 Mb/s.
    let group = &summaries[0].groups[0];
    assert!(group.rate_bps > 1.6e6 && group.packets >= 2_000_000 / 1448, "{group:?}");
    assert_eq!(group.goodput_bps, None);
    // The table of flows has its one flow.
    let results = Results::open(&folder.path().join("out")).unwrap();
    let (_, flows) = results.flows().unwrap().next().unwrap().unwrap();
    let [flow] = &flows[..] else { panic!("{flows:?}") };
    assert_eq!((flow.group.as_str(), flow.protocol.as_deref()), ("A", Some("TCP")));
    assert_eq!(flow.server.as_deref(), Some("10.0.0.1:8000"));
    assert!(flow.client.as_ref().is_some_and(|client| client.starts_with("10.0.1.1:")));
    // Every packet of the server is Not-ECT or ECT(0), by the settings of the machine, and its queueing
    // delay is the group's.
    let packets = flow.not_ect.unwrap() + flow.ect0.unwrap() + flow.ect1.unwrap();
    assert!(packets >= group.packets && flow.bytes > 2_000_000, "{flow:?}");
    let rtt = flow.rtt_mean_ms.expect("TCP has round trips");
    assert!(rtt >= 10.0 && flow.handshake_ms.unwrap() >= 10.0, "{flow:?}");
}

#[test]
fn a_program_that_fails_is_a_failed_run_with_its_last_lines() {
    let cases = [
        ("client = \"echo one; echo two >&2; exit 3\"", "ended with exit code 3", "two"),
        (
            "client = \"exec no-such-program-there\"",
            "exit code 127 (command not found)",
            "not found",
        ),
        ("client = \"kill -9 $$\"", "ended with signal 9", "it printed nothing"),
        ("server = \"exit 1\"", "the server of program `x` ended with exit code 1", "nothing"),
        ("expect = 4\nclient = \"exit 0\"", "exit code 0", "expected exit code 4"),
        ("expect = \"running\"\nclient = \"exit 0\"", "exit code 0", "until the end of the run"),
    ];
    for (program, how, said) in cases {
        let other = mark("fails");
        let beside = format!("server = \"exec sleep {other}\"");
        let folder = scenario(
            "20s",
            &format!(
                "[[program]]\nname = \"x\"\ngroup = \"A\"\n{program}\n\
                 [[program]]\nname = \"y\"\ngroup = \"A\"\n{beside}\n"
            ),
        );
        let ran = run(&folder, &[]);
        if is_impossible(&ran) {
            return;
        }
        let words = stderr(&ran);
        assert_eq!(ran.status.code(), Some(1), "{program}: {words}");
        assert!(words.contains(how) && words.contains(said), "{program}: {words}");
        let after = words.split_once(" after ").and_then(|(_, after)| after.split_once(" s, "));
        let decimals = after.and_then(|(seconds, _)| seconds.split_once('.'));
        assert!(decimals.is_some_and(|(_, decimals)| decimals.len() == 3), "{program}: {words}");
        within("the others are ended", || sleepers(&other) == 0);
    }
}

/// Nobody can look into files that are gone.
#[test]
fn the_outputs_of_a_failed_run_are_named_where_they_are_kept() {
    let folder =
        scenario("20s", "[[program]]\nname = \"x\"\ngroup = \"A\"\nclient = \"ls nowhere\"\n");
    let ran = real::l4s_on("kernel", folder.path(), &[]).output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    let words = stderr(&ran);
    assert!(words.contains("; the end of DIR/programs/x/client.err:\n"), "{words}");
    assert!(words.contains("= help: `--out DIR` keeps the outputs"), "{words}");
    let words = stderr(&run(&folder, &[]));
    assert!(words.contains("; the end of out/programs/x/client.err:\n"), "{words}");
    assert!(!words.contains("help: `--out"), "{words}");
}

#[test]
fn a_client_that_does_not_end_is_an_error_unless_the_run_ends_it() {
    let hangs = mark("hangs");
    let program = |more: &str| {
        format!("[[program]]\nname = \"x\"\ngroup = \"A\"\n{more}client = \"exec sleep {hangs}\"\n")
    };
    let ran = run(&scenario("300ms", &program("")), &[]);
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(1));
    assert!(stderr(&ran).contains("still ran at the end of the run"), "{}", stderr(&ran));
    for more in ["stop = \"int\"\n", "expect = \"running\"\n"] {
        let ran = run(&scenario("300ms", &program(more)), &[]);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        assert!(!stderr(&ran).contains("still ran"), "{}", stderr(&ran));
        assert_eq!(sleepers(&hangs), 0);
    }
    // In the background of a script the signal is ignored, and programs inherit that.
    let mut command = Command::new("env");
    command.args(["--ignore-signal=INT", L4S, "run", "s.toml", "--on", "kernel"]);
    let folder = scenario("300ms", &program("stop = \"int\"\n"));
    let ran = command.current_dir(folder.path()).output().expect("env starts");
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(!stderr(&ran).contains("still ran"), "{}", stderr(&ran));
}

/// One runs in the background, one has its own session, one ignores signals.
#[test]
fn nothing_that_a_program_starts_outlives_the_run() {
    let left = mark("left");
    let server = format!(
        "sleep {left} & setsid sleep {left} & (setsid sh -c \\\"trap '' TERM HUP INT; sleep {left}\\\" &) ; \
         trap '' TERM; echo up; while :; do sleep 1; done"
    );
    let folder = scenario(
        "500ms",
        &format!(
            "[[program]]\nname = \"x\"\ngroup = \"A\"\nready = \"line:up\"\nserver = \"{server}\"\n"
        ),
    );
    let ran = run(&folder, &[]);
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert_eq!(output(&folder, "x/server.out"), "up\n");
    let note = "note: the server of program `x` still ran 2 s after SIGTERM, and was killed";
    assert!(stderr(&ran).contains(note), "{}", stderr(&ran));
    within("all are gone", || sleepers(&left) == 0);
}

#[test]
fn nothing_outlives_a_command_that_is_killed() {
    let left = mark("killed");
    let folder = scenario(
        "600s",
        &format!(
            "[[program]]\nname = \"x\"\ngroup = \"A\"\n\
             server = \"setsid sleep {left} & exec sleep {left}\"\n\
             client = \"exec sleep {left}\"\n"
        ),
    );
    let mut command = real::l4s_on("kernel", folder.path(), &[]);
    let mut command = command.stderr(Stdio::piped()).spawn().expect("l4s starts");
    let mut started = false;
    within("three processes, or an error", || {
        started = sleepers(&left) == 3;
        started || command.try_wait().unwrap().is_some()
    });
    if !started {
        return assert!(is_impossible(&command.wait_with_output().unwrap()));
    }
    command.kill().unwrap();
    command.wait().unwrap();
    within("all are gone", || sleepers(&left) == 0);
}

#[test]
fn a_shell_has_the_exit_code_of_its_command_and_no_way_out() {
    let ran = shell(&["--", "sh", "-c", "echo $SERVER $L4S_CLIENT; exit 7"]);
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(7), "{}", stderr(&ran));
    assert_eq!(ran.stdout, b"10.0.0.1 10.0.1.1\n");
    // Every route leads to the other host.
    let ran = shell(&["--", "sh", "-c", "cut -f 1,2 /proc/net/route | tail -n +2"]);
    assert_eq!(ran.stdout, b"l4s0\t0000000A\n", "{}", stderr(&ran));
    let ran = shell(&[
        "--at",
        "server",
        "--set",
        "group.shell.rtt=5ms",
        "--",
        "sh",
        "-c",
        "echo $L4S_GROUP",
    ]);
    assert_eq!((ran.status.code(), ran.stdout), (Some(0), b"shell\n".to_vec()));
}

/// Ctrl-C goes to the command; when it ends, there are results.
#[test]
fn an_interrupt_is_for_the_command() {
    let folder = scenario("60s", "");
    let up = folder.path().join("up");
    let script =
        format!("trap 'exit 5' INT; touch '{}'; while :; do sleep 0.05; done", up.display());
    // In the background of a script the signal is ignored, and a shell cannot trap an ignored one.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_l4s")]);
    command.current_dir(folder.path()).args(["shell", "--out", "out", "--", "sh", "-c", &script]);
    command.process_group(0).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut command = command.spawn().expect("l4s starts");
    within("the command runs, or cannot", || up.exists() || command.try_wait().unwrap().is_some());
    send("-INT", &format!("-{}", command.id()));
    let ran = command.wait_with_output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(5), "{}", stderr(&ran));
    assert!(folder.path().join("out/report.html").exists());
}

/// Few programs change the mask of signals that they inherit; shells do.
#[test]
fn a_program_gets_every_signal() {
    let mask = "SigBlk:\t0000000000000000\n";
    let ran = shell(&["--", "grep", "SigBlk", "/proc/self/status"]);
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(String::from_utf8_lossy(&ran.stdout), mask);
    let program = "[[program]]\nname = \"x\"\ngroup = \"A\"\n\
                   client = [\"grep\", \"SigBlk\", \"/proc/self/status\"]\n";
    let folder = scenario("500ms", program);
    assert!(done(&run(&folder, &[])).is_some());
    assert_eq!(output(&folder, "x/client.out"), mask);
    // In the background of a script the signal is ignored.
    let sleeps = mark("interrupted");
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_l4s"), "shell", "--", "sleep"]);
    command.arg(&sleeps).process_group(0).stdin(Stdio::null());
    let mut command = command.spawn().expect("l4s starts");
    within("the command runs", || sleepers(&sleeps) == 1);
    send("-INT", &format!("-{}", command.id()));
    // 128 and SIGINT.
    assert_eq!(command.wait().unwrap().code(), Some(130));
}

/// `l4s shell`, with more arguments, in a folder, and below `env` with this option.
fn shell_in(folder: &TempDir, env: &str, more: &[&str]) -> Child {
    let mut command = Command::new("env");
    command.args([env, env!("CARGO_BIN_EXE_l4s"), "shell"]).args(more);
    command.current_dir(folder.path()).stdin(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("l4s starts")
}

/// Sends a signal to a process, or with `-` before its number to its group.
fn send(signal: &str, process: &str) {
    let _ = Command::new("kill").args([signal, "--", process]).status();
}

#[test]
fn an_interrupt_ends_the_wait_for_a_server() {
    let folder = scenario("60s", "");
    let server = "touch up; exec sleep 600";
    let mut command =
        shell_in(&folder, "--default-signal=INT", &["--server", server, "--", "true"]);
    let up = folder.path().join("up");
    within("the server runs, or cannot", || up.exists() || command.try_wait().unwrap().is_some());
    send("-INT", &command.id().to_string());
    let ran = command.wait_with_output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let said = "error: stopped by SIGINT before the command began\n";
    assert!(stderr(&ran).ends_with(said), "{}", stderr(&ran));
}

#[test]
fn a_signal_that_ends_a_shell_ends_its_command_and_there_are_results() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        let folder = scenario("60s", "");
        let command = ["--out", "out", "--", "sh", "-c", "touch up; exec sleep 600"];
        let mut command = shell_in(&folder, "--default-signal=HUP", &command);
        let up = folder.path().join("up");
        within("it runs, or cannot", || up.exists() || command.try_wait().unwrap().is_some());
        send(signal, &command.id().to_string());
        let ran = command.wait_with_output().unwrap();
        if is_impossible(&ran) {
            return;
        }
        assert_eq!(ran.status.code(), Some(code), "{}", stderr(&ran));
        assert!(stderr(&ran).contains("\nresults in out"), "{}", stderr(&ran));
        assert!(folder.path().join("out/report.html").exists());
    }
}

/// A command with a terminal, which is its standard input and output.
struct Terminal {
    keyboard: File,
    command: Child,
}

impl Terminal {
    fn of(folder: &TempDir, variables: &[(&str, &str)], words: &[&str]) -> Terminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let keyboard = rustix::pty::openpt(flags).unwrap();
        rustix::pty::unlockpt(&keyboard).unwrap();
        let name = rustix::pty::ptsname(&keyboard, Vec::new()).unwrap();
        let end = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP", "setsid", "--ctty"]);
        command.args(words).envs(variables.iter().copied());
        command.current_dir(folder.path()).stdin(end()).stdout(end()).stderr(end());
        let command = command.spawn().expect("env starts");
        Terminal { keyboard: File::from(keyboard), command }
    }

    /// The exit code, and all that was printed and typed.
    fn end(mut self) -> (Option<i32>, String) {
        let mut bytes = Vec::new();
        // It ends with an error where nobody has the other end open any more.
        let _ = self.keyboard.read_to_end(&mut bytes);
        let code = self.command.wait().unwrap().code();
        (code, String::from_utf8_lossy(&bytes).into_owned())
    }
}

const L4S: &str = env!("CARGO_BIN_EXE_l4s");

/// Such as dash, which finds the process group in front, and restores it when it ends.
#[test]
fn an_interactive_shell_has_the_terminal_and_its_own_exit_code() {
    if is_impossible(&shell(&["--", "true"])) {
        return;
    }
    let folder = scenario("60s", "");
    let mut terminal = Terminal::of(&folder, &[("SHELL", "/bin/sh")], &[L4S, "shell"]);
    terminal.keyboard.write_all(b"exit 7\n").unwrap();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(7), "{screen}");
    assert!(!screen.contains("process group"), "{screen}");
}

#[test]
fn the_terminal_of_a_command_is_given_back() {
    if is_impossible(&shell(&["--", "true"])) {
        return;
    }
    let folder = scenario("60s", "");
    // A command that stops itself at the terminal goes on, as nobody could continue it.
    let script = format!(
        "'{L4S}' shell -- sh -c 'kill -TSTP 0; exit 7'; code=$?; read word; echo $code $word."
    );
    let mut terminal = Terminal::of(&folder, &[], &["sh", "-c", &script]);
    terminal.keyboard.write_all(b"word\n").unwrap();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("7 word."), "{screen}");
}

#[test]
fn a_terminal_that_closes_leaves_the_results() {
    if is_impossible(&shell(&["--", "true"])) {
        return;
    }
    let folder = scenario("60s", "");
    let command = [L4S, "shell", "--out", "out", "--", "sh", "-c", "touch up; exec sleep 600"];
    let Terminal { keyboard, mut command } = Terminal::of(&folder, &[], &command);
    let up = folder.path().join("up");
    within("it runs", || up.exists() || command.try_wait().unwrap().is_some());
    drop(keyboard);
    assert_eq!(command.wait().unwrap().code(), Some(129));
    assert!(folder.path().join("out/report.html").exists());
}

/// As below `nohup`.
#[test]
fn a_signal_that_is_ignored_ends_nothing() {
    let folder = scenario("60s", "");
    let script = "touch up; while ! [ -e on ]; do sleep 0.05; done; exit 4";
    let mut command = shell_in(&folder, "--ignore-signal=HUP", &["--", "sh", "-c", script]);
    let up = folder.path().join("up");
    within("it runs, or cannot", || up.exists() || command.try_wait().unwrap().is_some());
    send("-HUP", &command.id().to_string());
    fs::write(folder.path().join("on"), "").unwrap();
    let ran = command.wait_with_output().unwrap();
    if !is_impossible(&ran) {
        assert_eq!(ran.status.code(), Some(4), "{}", stderr(&ran));
    }
}

/// No other session completes it.
#[test]
fn a_session_that_finds_results_may_replace_them() {
    let folder = scenario("60s", "");
    let run = |command: &[&str]| {
        let command = [&["--out", "out"], command].concat();
        shell_in(&folder, "--default-signal=INT", &command).wait_with_output().unwrap()
    };
    let ran = run(&["--", "true"]);
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    for command in [&["--", "true"][..], &["--", "true", "1"], &["--set", "seed=2", "--", "true"]] {
        let ran = run(command);
        assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
        let help = "help: --replace replaces them; or choose a new folder; nothing was changed\n";
        assert!(stderr(&ran).ends_with(help), "{}", stderr(&ran));
        let ran = run(&[&["--replace"], command].concat());
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    }
}

/// As on a full disk.
#[test]
fn numbers_of_a_session_are_printed_where_its_files_cannot_be_written() {
    let folder = scenario("60s", "");
    let command = ["--out", "out", "--", "sh", "-c", "rm -r out/runs; touch out/runs"];
    let ran = shell_in(&folder, "--default-signal=INT", &command).wait_with_output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    let said = stderr(&ran);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("shell Mb/s") && said.contains("\nerror: out/runs"), "{said}");
    assert!(!said.contains("--resume") && !said.contains("results in"), "{said}");
}

#[test]
fn a_shell_judges_what_its_command_sent() {
    let judged = |assertion: &str| shell(&["--assert", assertion, "--", "true"]);
    let ran = judged("groups.shell.packets == 0");
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let ran = judged("groups.shell.packets > 0");
    assert_eq!(ran.status.code(), Some(1));
    assert!(stderr(&ran).contains("groups.shell.packets"), "{}", stderr(&ran));
    assert_eq!(judged("groups.shel.packets > 0").status.code(), Some(2));
}

/// A sender of 200 packets without marks: its codepoint is known, its response to CE is not. The client's
/// packets are counted, too. The exit code is that of the command.
#[test]
fn a_check_says_which_codepoint_a_sender_has_and_keeps_the_exit_code() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: there is no python3 on this machine");
    }
    let send = |to: &str, port: u16, tos: u8| {
        format!(
            "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, {tos})\n\
             for n in range(200):\n    s.sendto(bytes(1000), (\"{to}\", {port}))\n    time.sleep(0.002)\n"
        )
    };
    let checked = |at: &str, python: &str| {
        let python = format!("{python}\nraise SystemExit(3)");
        shell(&["--check", "--at", at, "--", "python3", "-c", &python])
    };
    let ran = checked("server", &send("client", 9, 1));
    if is_impossible(&ran) {
        return;
    }
    let said = stderr(&ran);
    assert_eq!(ran.status.code(), Some(3), "{said}");
    let flow = "check: UDP from 10.0.0.1 port ";
    assert!(said.contains(flow) && said.contains(" to 10.0.1.1 port 9, 200 packets\n"), "{said}");
    assert!(said.contains("codepoints: ECT(1) on 100 %: the L4S identifier"), "{said}");
    assert!(said.contains("the response to CE was not seen"), "{said}");
    let said = stderr(&checked("client", &send("server", 9, 2)));
    assert!(said.contains("codepoints: ECT(0) on 100 %: Classic ECN"), "{said}");
    assert!(said.contains("marks: not enough data: the client's packets"), "{said}");
    let said = stderr(&shell(&["--check", "--", "true"]));
    assert!(said.contains("check: no flow had 100 packets"), "{said}");
}

#[test]
fn a_shell_may_be_in_a_shell_and_beside_another() {
    let l4s = env!("CARGO_BIN_EXE_l4s");
    let nested = format!("'{l4s}' shell -- sh -c 'echo inner $SERVER' 2>/dev/null; echo outer");
    let both = || {
        std::thread::spawn({
            let nested = nested.clone();
            move || shell(&["--", "sh", "-c", &nested])
        })
    };
    let (one, other) = (both(), both());
    for ran in [one, other].map(|thread| thread.join().unwrap()) {
        if is_impossible(&ran) {
            return;
        }
        assert_eq!(ran.stdout, b"inner 10.0.0.1\nouter\n", "{}", stderr(&ran));
    }
}

/// The output of programs is a result, and is replaced with the others.
#[test]
fn results_of_programs_are_replaced() {
    let programs = "[[program]]\nname = \"x\"\ngroup = \"A\"\nclient = 'echo $SEED > $OUT/$SEED'\n";
    let folder = scenario("500ms", programs);
    let Some(_) = done(&run(&folder, &["--seed", "1"])) else { return };
    assert_eq!(output(&folder, "x/1"), "1\n");
    let Some(_) = done(&run(&folder, &["--seed", "2", "--replace"])) else { return };
    assert_eq!(output(&folder, "x/2"), "2\n");
    assert!(!folder.path().join("out/programs/x/1").exists());
    // Files that do not belong to a run are kept.
    fs::write(folder.path().join("out/thesis.tex"), "years").unwrap();
    let ran = run(&folder, &["--seed", "3", "--replace"]);
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(output(&folder, "x/2"), "2\n");
}

/// The scenario is the same, and the script another one: results of both do not mix.
#[test]
fn a_program_that_was_edited_is_another_one() {
    let programs = "[[program]]\nname = \"x\"\ngroup = \"A\"\nclient = 'sh ./x.sh --log=y'\n";
    let folder = scenario("500ms", programs);
    fs::write(folder.path().join("x.sh"), "echo one").unwrap();
    let Some(_) = done(&run(&folder, &[])) else { return };
    let Some(_) = done(&run(&folder, &["--resume"])) else { return };
    fs::write(folder.path().join("x.sh"), "echo two").unwrap();
    let ran = run(&folder, &["--resume"]);
    assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
    let expected = "runs of a program whose file ./x.sh was changed since";
    assert!(stderr(&ran).contains(expected), "{}", stderr(&ran));
    let Some(_) = done(&run(&folder, &["--replace"])) else { return };
    assert_eq!(output(&folder, "x/client.out"), "two\n");
}

#[test]
fn a_program_in_the_place_of_the_scenario_is_answered_with_its_command() {
    for (words, help) in [
        (&["env", "-c", "a b"][..], "l4s shell -- env -c 'a b'"),
        (&["env"], "l4s shell -- env"),
        (&["env", "--", "-c", "--", "x"], "l4s shell -- env -c -- x"),
        (
            &["--set", "seed=2", "--live", "--check", "env", "x"],
            "l4s shell --set seed=2 --live --check -- env x",
        ),
    ] {
        let ran = shell(words);
        assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
        assert!(
            stderr(&ran).ends_with(&format!("help: to run it: `{help}`\n")),
            "{}",
            stderr(&ran)
        );
    }
    // A scenario is none, nor is a word that no program has.
    assert!(stderr(&shell(&["video", "x"])).contains("unexpected argument 'x'"));
    assert!(stderr(&shell(&["no-such-program-there"])).contains("cannot read this scenario"));
}

#[test]
fn a_page_whose_port_is_in_use_is_answered_with_one_that_is_free() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let said = stderr(&shell(&[&format!("--live={address}"), "--", "true"]));
    // There is no port above the last one.
    let free = "is in use; the next that is free: --live=127.0.0.1:";
    assert!(said.contains(free) || address.port() > 65_000, "{said}");
}

#[test]
fn bad_input_is_refused_before_anything_starts() {
    let ran = shell(&["--", "no-such-program-there"]);
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(2));
    assert!(stderr(&ran).contains("found no executable `no-such-program-there`"));
    for server in ["no-such-program-there -s", "./no-such-program-there > $OUT/x"] {
        let ran = shell(&["--server", server, "--", "true"]);
        assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
        let word = server.split(' ').next().unwrap();
        let said = format!("the server of program `server1`: found no executable `{word}`");
        assert!(stderr(&ran).contains(&said), "{}", stderr(&ran));
    }
    let ran = shell(&["one-against-one", "--", "true"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(stderr(&ran).contains("runs, expected one"), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("choose one, such as --set "), "{}", stderr(&ran));
    // The simulator refuses, and names the substrates to use.
    let folder = scenario("1s", "[[program]]\nname = \"x\"\ngroup = \"A\"\nclient = \"true\"\n");
    let ran = real::l4s_on("sim", folder.path(), &[]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let use_these = "`--on kernel`, `--on qdisc` and `--on linux` have them";
    assert!(stderr(&ran).contains(use_these), "{}", stderr(&ran));
}
