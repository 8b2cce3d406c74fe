//! `l4s live` as a process: its address, its end, and what it refuses.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// What is waited for comes within this, or never.
const DEADLINE: Duration = Duration::from_secs(60);

/// A server that does not outlive its test.
struct Live {
    process: Child,
    address: SocketAddr,
}

impl Live {
    fn start(listen: &str) -> Live {
        let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
        command.args(["live", "--listen", listen]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("l4s starts");
        let mut url = String::new();
        let stdout = process.stdout.take().expect("stdout");
        BufReader::new(stdout).read_line(&mut url).expect("its address");
        let address = url.trim().trim_start_matches("http://").trim_end_matches('/');
        let address = address.parse().unwrap_or_else(|_| panic!("{url}"));
        Live { process, address }
    }

    /// The answer to a request.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let (line, body) = request.split_once('\n').unwrap_or((request, ""));
        let (host, length) = (self.address, body.len());
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
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

/// What a command says that does not begin to serve.
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
    // A connection that is open, too.
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
    // Above the last port there is none.
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
    input(&["--listen", "nowhere"], "--listen");
}
