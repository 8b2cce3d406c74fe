//! `l4s live` as a process: its address, its end, and its refusals.
#![cfg(unix)]

#[cfg(target_os = "linux")]
mod watcher;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// The longest time that a test waits for an event.
const DEADLINE: Duration = Duration::from_secs(60);

/// A server that does not outlive its test.
struct Live {
    process: Child,
    address: SocketAddr,
    /// The token that it requires, if any.
    token: String,
}

impl Live {
    fn start(listen: &str) -> Live {
        Live::try_start(&["--listen", listen]).unwrap_or_else(|said| panic!("{said}"))
    }

    /// The server, or its error message.
    fn try_start(args: &[&str]) -> Result<Live, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
        command.arg("live").args(args);
        Live::spawn(command)
    }

    fn spawn(mut command: Command) -> Result<Live, String> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("l4s starts");
        let mut url = String::new();
        let mut stdout = BufReader::new(process.stdout.take().expect("stdout"));
        stdout.read_line(&mut url).expect("its address");
        let mut stderr = process.stderr.take().expect("stderr");
        // The line of a shell starts with words that introduce the page.
        let url = url.trim().rsplit(' ').next().unwrap_or_default().trim_start_matches("http://");
        let (address, token) =
            url.split_once("/?token=").unwrap_or((url.trim_end_matches('/'), ""));
        match address.parse() {
            Ok(address) => {
                // The process must not block on its output.
                std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
                std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
                Ok(Live { process, address, token: token.to_owned() })
            }
            Err(_) => {
                let mut said = String::new();
                let _ = stderr.read_to_string(&mut said);
                let _ = process.wait();
                Err(said)
            }
        }
    }

    /// The answer to a request.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let (line, body) = request.split_once('\n').unwrap_or((request, ""));
        let (host, length) = (self.address, body.len());
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
             Authorization: Bearer {}\r\n\r\n",
            self.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
    }

    fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("it is ours") {
                return status;
            }
            assert!(start.elapsed() < DEADLINE, "it ends");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The exit code and the message of a command that does not start to serve.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_l4s"))
        .arg("live")
        .args(args)
        .output()
        .expect("l4s starts");
    assert!(stdout.is_empty());
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

#[test]
fn a_signal_ends_it_and_it_is_well() {
    for signal in ["-TERM", "-INT"] {
        let mut live = Live::start("127.0.0.1:0");
        assert!(live.ask("POST /api/sessions\n{}").starts_with("HTTP/1.1 201"));
        live.signal(signal);
        assert_eq!(live.ended().code(), Some(0), "{signal}");
        assert!(TcpStream::connect(live.address).is_err());
    }
}

#[test]
fn killed_it_starts_again_at_the_same_port() {
    let mut live = Live::start("127.0.0.1:0");
    // A connection is still open, too.
    let _open = TcpStream::connect(live.address).unwrap();
    assert!(live.ask("POST /api/sessions\n{}").starts_with("HTTP/1.1 201"));
    live.signal("-KILL");
    live.ended();
    let again = Live::start(&live.address.to_string());
    assert!(again.ask("GET /api/greeting").contains("\"scenario\":\"live\""));
}

#[test]
fn a_port_in_use_is_said_with_one_that_is_free() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let (code, said) = refused(&["video", "--listen", &address.to_string()]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains(&format!("port {} of 127.0.0.1 is in use", address.port())), "{said}");
    // There is no port above the last one.
    let free = "the next that is free: l4s live video --listen 127.0.0.1:";
    assert!(said.contains(free) || address.port() > 65_000, "{said}");
}

#[test]
fn what_it_cannot_serve_is_bad_input() {
    let input = |args: &[&str], cause: &str| {
        let (code, said) = refused(args);
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(said.contains(cause), "{args:?}: {said}");
    };
    input(&["liv"], "did you mean the bundled scenario `live`?");
    input(&["--set", "link.rat=1mbit"], "did you mean `rate`?");
    input(&["--set", "link.rate=11gbit"], "expected at most 10000000000 in a live session");
    input(&["--token", "short"], "--token: expected 16 to 128");
    input(&["--token-file", "/nowhere/token"], "--token-file /nowhere/token: No such file");
    input(&["--token-file", "/dev/null"], "--token-file /dev/null: expected 16 to 128");
    input(&["--token-file", "/dev/zero"], "--token-file /dev/zero: ");
    input(&["--token-file", "x", "--token", "y"], "cannot be used with");
    let form = "expected a numeric address or localhost, and a port: 127.0.0.1:4545, [::1]:4545";
    for address in ["nowhere", "nowhere:4600", "localhost", "localhost:", "4545", ":4601"] {
        input(&["--listen", address], form);
    }
    // It listens by this name, and the scenario is what is wrong.
    input(&["liv", "--listen", "localhost:0"], "did you mean the bundled scenario `live`?");
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_token_need_not_be_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let command = |stdin: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
        command.args(["live", "--listen", "127.0.0.1:0"]).stdin(stdin);
        command
    };
    let mut of_file = command(Stdio::null());
    of_file.arg("--token-file").arg(&file);
    let mut of_variable = command(Stdio::null());
    of_variable.env("L4S_LIVE_TOKEN", TOKEN);
    let mut of_stdin = command(std::fs::File::open(&file).unwrap().into());
    of_stdin.args(["--token-file", "-"]);
    for command in [of_file, of_variable, of_stdin] {
        let mut live = Live::spawn(command).unwrap_or_else(|said| panic!("{said}"));
        assert_eq!(live.token, TOKEN);
        assert!(live.ask("GET /api/greeting").starts_with("HTTP/1.1 200"));
        live.token = "1".repeat(32);
        assert!(live.ask("GET /api/greeting").starts_with("HTTP/1.1 401"));
    }
}

/// A scenario that needs about 40 MB for each of its hops.
fn of_hops(hops: usize) -> String {
    let hop = |n: usize| {
        let aqm = "{ kind = \"fq_codel\", flows = 65536 }";
        format!("[[hop]]\nname = \"H{n}\"\nrate = \"1gbit\"\nper = \"flow\"\naqm = {aqm}\n")
    };
    let group = "[[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n";
    "link.rate = \"10mbit\"\n".to_owned() + group + &(0..hops).map(hop).collect::<String>()
}

/// A server whose address space has this limit.
#[cfg(target_os = "linux")]
fn within(kib: u64) -> Live {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {kib} && exec \"$0\" live --listen 127.0.0.1:0");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_l4s")]);
    Live::spawn(command).unwrap_or_else(|said| panic!("{said}"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_gets_no_memory_is_refused_and_the_others_go_on() {
    let new = |live: &Live, text: &str| {
        live.ask(&format!("POST /api/sessions\n{}", serde_json::json!({ "text": text })))
    };
    let refused = |answer: &str, why: &str| {
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(why), "{answer}");
    };
    // Half of the remaining limit is for sessions.
    let live = within(500_000);
    let first = new(&live, &of_hops(1));
    assert!(first.starts_with("HTTP/1.1 201"), "{first}");
    refused(&new(&live, &of_hops(9)), "all sessions together may have");

    drop(live);

    // A limit that is set after the start. A change of the settings counts too.
    let live = Live::start("127.0.0.1:0");
    let first = new(&live, &of_hops(1));
    assert!(first.starts_with("HTTP/1.1 201"), "{first}");
    let as_limit = |more: u64| {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", live.process.id())).unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
        let pid = rustix::process::Pid::from_child(&live.process);
        let bytes = Some((size << 10) + more);
        let limit = rustix::process::Rlimit { current: bytes, maximum: bytes };
        rustix::process::prlimit(Some(pid), rustix::process::Resource::As, limit).unwrap();
    };
    as_limit(150_000_000);
    refused(&new(&live, &of_hops(3)), "the system does not grant it beside the");
    let id = first.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let mut viewer = watcher::Watcher::new(live.address, id, "", DEADLINE);
    let larger = serde_json::json!({
        "do": "set", "id": 1, "set": { "aqm": "fq_codel", "aqm.flows": "65536", "link.buffer": "200000p" }
    });
    viewer.send(&larger);
    let answer = viewer.until("it is refused", |message| message["id"] == 1);
    assert_eq!(answer["type"], "error", "{answer}");
    assert_eq!(answer["field"], "sessions", "{answer}");
    viewer.until("it goes on", |message| message["type"] == "state");

    // Without memory the session ends, but the server does not.
    as_limit(25_000_000);
    viewer.until("it ends", |message| message["type"] == "over");
    let greeting = live.ask("GET /api/greeting\n");
    assert!(greeting.starts_with("HTTP/1.1 200"), "{greeting}");
}

/// A terminal: the program's end, and the user's end.
#[cfg(target_os = "linux")]
fn terminal() -> (std::fs::File, std::fs::File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap();
    let open = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let program = rustix::fs::open(&*name, open, rustix::fs::Mode::empty()).unwrap();
    (program.into(), user.into())
}

#[cfg(target_os = "linux")]
#[test]
fn the_terminal_does_not_show_the_token_and_is_restored() {
    use rustix::termios::{LocalModes, tcgetattr};

    for signal in [None, Some("-INT"), Some("-TERM")] {
        let (program, mut user) = terminal();
        let before = tcgetattr(&program).unwrap();
        assert!(before.local_modes.contains(LocalModes::ECHO));
        let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
        command.args(["live", "--listen", "127.0.0.1:0", "--token-file", "-"]);
        command.stdin(program.try_clone().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let start = Instant::now();
        while tcgetattr(&program).unwrap().local_modes.contains(LocalModes::ECHO) {
            assert!(start.elapsed() < DEADLINE, "echo is turned off");
            std::thread::sleep(Duration::from_millis(5));
        }
        // The prompt follows; input before it is discarded.
        let mut prompt = [0; 7];
        process.stderr.as_mut().unwrap().read_exact(&mut prompt).unwrap();
        assert_eq!(&prompt, b"token: ");
        let mut url = String::new();
        if let Some(signal) = signal {
            let id = process.id().to_string();
            assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
            assert_eq!(process.wait().unwrap().code(), Some(2), "{signal}");
        } else {
            user.write_all(format!("{TOKEN}\n").as_bytes()).unwrap();
            stdout.read_line(&mut url).unwrap();
            process.kill().unwrap();
            process.wait().unwrap();
            assert!(url.ends_with(&format!("/?token={TOKEN}\n")), "{url}");
        }
        let after = tcgetattr(&program).unwrap();
        assert_eq!(after.local_modes, before.local_modes, "{signal:?}");
        let codes =
            [rustix::termios::SpecialCodeIndex::VQUIT, rustix::termios::SpecialCodeIndex::VSUSP];
        for code in codes {
            assert_eq!(after.special_codes[code], before.special_codes[code]);
        }
        // The output of the terminal, which must not show the input.
        rustix::io::ioctl_fionbio(&user, true).unwrap();
        let mut shown = Vec::new();
        let _ = user.read_to_end(&mut shown);
        assert!(!String::from_utf8_lossy(&shown).contains("0123"), "{shown:?}");
    }
}

/// An opener that records the address that it should open.
#[cfg(target_os = "linux")]
#[test]
fn the_browser_is_shown_the_page_without_its_token_on_a_command_line() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (opener, asked) = (folder.path().join("xdg-open"), folder.path().join("asked"));
    let script = format!("#!/bin/sh\necho \"$@\" > {0}.new && mv {0}.new {0}\n", asked.display());
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, PermissionsExt::from_mode(0o755)).unwrap();
    let open = |token: Option<&str>| {
        let _ = std::fs::remove_file(&asked);
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
        command.args(["live", "--listen", "127.0.0.1:0", "--open"]).env("PATH", path);
        command.env("XDG_RUNTIME_DIR", folder.path());
        if let Some(token) = token {
            command.env("L4S_LIVE_TOKEN", token);
        }
        let live = Live::spawn(command).unwrap_or_else(|said| panic!("{said}"));
        let start = Instant::now();
        while !asked.exists() {
            assert!(start.elapsed() < DEADLINE, "it opens the page");
            std::thread::sleep(Duration::from_millis(20));
        }
        (live, std::fs::read_to_string(&asked).unwrap().trim().to_owned())
    };
    let (live, address) = open(None);
    assert_eq!(address, format!("http://{}/", live.address));
    drop(live);

    let (mut live, file) = open(Some(TOKEN));
    let page = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert!(page.contains(&format!("url=http://{}/?token={TOKEN}", live.address)), "{page}");
    assert!(!file.contains(TOKEN));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    live.signal("-TERM");
    live.ended();
    assert!(!std::fs::exists(&file).unwrap(), "it is gone with the server");
}

#[cfg(target_os = "linux")]
#[test]
fn real_sockets_are_watched_and_turned_and_nothing_is_left_of_them() {
    use serde_json::json;

    let tried = Live::try_start(&["--on", "kernel", "--listen", "127.0.0.1:0"]);
    let mut live = match tried {
        Ok(live) => live,
        Err(said) => return println!("skipped: {said}"),
    };
    // A user of real sockets is root, so other users of this machine must not control them.
    assert_eq!(live.token.len(), 32);
    let token = std::mem::replace(&mut live.token, "1".repeat(32));
    assert!(live.ask("POST /api/sessions\n{}").starts_with("HTTP/1.1 401"));
    live.token = token;
    let created = live.ask("POST /api/sessions\n{}");
    let body = created.split_once("\r\n\r\n").expect("a body").1;
    let created: serde_json::Value = serde_json::from_str(body).expect(body);
    let id = created["id"].as_str().expect("an id");
    let mut watcher = watcher::Watcher::new(live.address, id, &live.token, DEADLINE);

    let rate = |state: &serde_json::Value, group: usize| {
        state["lanes"][0]["groups"][group]["rate_bps"].as_f64().unwrap_or(0.0)
    };
    watcher.until("both groups", |m| rate(m, 0) > 1e6 && rate(m, 1) > 1e6);
    watcher.send(&json!({"do": "set", "set": {"group.B.flows": "3"}, "id": 1}));
    watcher.until("an answer", |m| m["type"] == "done" && m["id"] == 1);
    let flows_of_b = |state: &serde_json::Value| {
        let flows = state["lanes"][0]["flows"].as_array().map(Vec::as_slice).unwrap_or_default();
        flows.iter().filter(|flow| flow["group"] == 1).count()
    };
    watcher.until("three flows", |m| flows_of_b(m) == 3);
    // Another congestion control: the run continues with a new flow.
    let number_of_a = |state: &serde_json::Value| {
        let flows = state["lanes"][0]["flows"].as_array().map(Vec::as_slice).unwrap_or_default();
        flows.iter().find(|flow| flow["group"] == 0).map(|flow| flow["flow"].clone())
    };
    let first = watcher.until("a flow of A", |m| number_of_a(m).is_some());
    watcher.send(&json!({"do": "set", "set": {"group.A.cc": "reno"}, "id": 2}));
    watcher.until("another flow", |m| {
        m["run"] == first["run"]
            && number_of_a(m).is_some_and(|flow| Some(flow) != number_of_a(&first))
            && rate(m, 0) > 1e6
    });
    // Prague by BPF also has a program at the device, and a map that shows its state.
    watcher.send(&json!({"do": "set", "set": {"group.A.cc": "prague"}, "id": 4}));
    let answer = watcher.until("an answer", |m| m["id"] == 4);
    if answer["type"] == "done" {
        watcher.until("the state of Prague", |m| {
            let flows = m["lanes"][0]["flows"].as_array().map(Vec::as_slice).unwrap_or_default();
            flows.iter().any(|flow| flow["group"] == 0 && flow["alpha"].is_number())
        });
    } else {
        println!("without Prague: {answer}");
    }
    watcher.send(&json!({"do": "pause", "paused": true, "id": 3}));
    watcher.until("a refusal", |m| m["type"] == "error" && m["id"] == 3);

    let agents = watcher::children(live.process.id());
    assert_eq!(agents.len(), 6, "a server and a client of two groups and a source");
    live.signal("-TERM");
    assert_eq!(live.ended().code(), Some(0));
    let left: Vec<_> = agents.iter().filter(|agent| watcher::lives(**agent)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// `l4s shell --live`: the page shows the run with the shell. It can change its link and its other flows,
/// including their congestion control. A change that would end the shell is refused.
#[cfg(target_os = "linux")]
#[test]
fn a_page_shows_a_shell_and_turns_its_link() {
    use serde_json::json;

    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: there is no python3 on this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    let server = "import socket\ns = socket.create_server((\"0.0.0.0\", 8000))\n\
                  c = s.accept()[0]\nwhile True: c.sendall(bytes(65536))\n";
    let client = "import os, socket\nc = socket.create_connection((\"server\", 8000))\n\
                  while not os.path.exists(\"done\"): c.recv(65536)\n";
    std::fs::write(folder.path().join("server.py"), server).unwrap();
    std::fs::write(folder.path().join("client.py"), client).unwrap();
    // The test reads its messages for people.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" \"$@\" 3>&1 1>&2 2>&3", env!("CARGO_BIN_EXE_l4s")]);
    command.args(["shell", "--live=127.0.0.1:0", "--out", "out"]);
    command.args(["--server", "python3 server.py", "--", "python3", "client.py"]);
    command.current_dir(folder.path());
    let mut live = match Live::spawn(command) {
        Ok(live) => live,
        Err(said) => return println!("skipped: {said}"),
    };
    let created = live.ask("POST /api/sessions\n{}");
    let body = created.split_once("\r\n\r\n").expect("a body").1;
    let created: serde_json::Value = serde_json::from_str(body).expect(body);
    let id = created["id"].as_str().expect(body);
    let mut watcher = watcher::Watcher::new(live.address, id, &live.token, DEADLINE);
    let rate = |state: &serde_json::Value| {
        state["lanes"][0]["groups"][0]["rate_bps"].as_f64().unwrap_or(0.0)
    };
    watcher.until("traffic of the shell", |m| rate(m) > 12e6);
    watcher.send(&json!({"do": "set", "set": {"link.rate": "8mbit"}, "id": 1}));
    watcher.until("an answer", |m| m["type"] == "done" && m["id"] == 1);
    watcher.until("the rate of the link", |m| rate(m) > 1e6 && rate(m) < 8.5e6);
    // Two flows beside the program; one of them is closed again.
    let open = |state: &serde_json::Value| state["lanes"][0]["flows"].as_array().map(Vec::len);
    for (flows, id) in [(2, 3), (1, 4)] {
        watcher
            .send(&json!({"do": "set", "set": {"group.shell.flows": flows.to_string()}, "id": id}));
        watcher.until("an answer", |m| m["type"] == "done" && m["id"] == id);
        watcher.until("that many flows", |m| m["type"] == "state" && open(m) == Some(flows));
    }
    watcher.send(&json!({"do": "set", "set": {"group.shell.cc": "reno"}, "id": 5}));
    watcher.until("an answer", |m| m["type"] == "done" && m["id"] == 5);
    watcher.until("its flow", |m| m["type"] == "state" && open(m) == Some(1));
    watcher.send(&json!({"do": "set", "set": {"kernel.gso": "true"}, "id": 2}));
    let refused = watcher.until("a refusal", |m| m["id"] == 2);
    assert!(refused["type"] == "error" && refused.to_string().contains("a new run"), "{refused}");
    std::fs::write(folder.path().join("done"), "").unwrap();
    assert_eq!(live.ended().code(), Some(0));
    // The change is part of the measured run: its link had both rates.
    let results = l4s_measure::Results::open(&folder.path().join("out")).unwrap();
    let summary = &results.runs()[0].summary;
    assert!(
        8e6 < summary.link.rate_bps && summary.link.rate_bps < 40e6,
        "{}",
        summary.link.rate_bps
    );
    assert_eq!(summary.groups[0].flows, 3, "those that the page added");
    let instead = summary.engine.instead.join("\n");
    assert!(instead.contains("group `shell`") && instead.contains("reno"), "{instead}");
    assert!(summary.groups[0].rate_per_flow_bps.is_some_and(|rate| rate > 0.0));
}
