//! Programs of the user with a kernel as the router: in virtual time (`--on linux`) and in real time
//! (`--on qdisc`).
//!
//! Without a kernel (`make linux`) a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

mod real;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use l4s_measure::{FlowRow, Results};
use l4s_scenario::Plan;
use real::{done, folder, stderr};
use tempfile::TempDir;

const GROUP: &str = "[[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n";

fn scenario(duration: &str, programs: &str) -> TempDir {
    folder(&format!(
        "duration = \"{duration}\"\nwarmup = \"0s\"\nlink.rate = \"20mbit\"\naqm = \"fifo\"\n{GROUP}{programs}"
    ))
}

fn run(on: &str, folder: &TempDir) -> Output {
    let more = ["--out", "out", "--json", "--replace"];
    let _ = fs::remove_dir_all(folder.path().join("out"));
    real::l4s_on(on, folder.path(), &more).output().expect("l4s starts")
}

fn output(folder: &TempDir, file: &str) -> String {
    let path = folder.path().join("out/programs").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn flows(folder: &TempDir) -> Vec<FlowRow> {
    let results = Results::open(&folder.path().join("out")).unwrap();
    results.flows().unwrap().next().unwrap().unwrap().1
}

/// Two megabytes from a server to a client, in Python.
fn transfer(folder: &TempDir) {
    let server = "import socket\ns = socket.create_server((\"0.0.0.0\", 8000))\n\
                  while True:\n    c = s.accept()[0]\n    c.sendall(bytes(2000000))\n    c.close()\n";
    let client = "import os, random, socket, time\n\
                  c = socket.create_connection((\"server\", 8000))\nn = 0\n\
                  while d := c.recv(65536): n += len(d)\n\
                  print(n)\n\
                  print(time.time_ns(), time.monotonic_ns(), os.getpid(), os.urandom(8).hex())\n\
                  print(random.random(), hash(\"x\"), id(c), c.getsockname())\n";
    fs::write(folder.path().join("server.py"), server).unwrap();
    fs::write(folder.path().join("client.py"), client).unwrap();
}

const TRANSFER: &str = "[[program]]\nname = \"x\"\ngroup = \"A\"\nserver = [\"python3\", \"server.py\"]\n\
                        client = [\"python3\", \"client.py\"]\nready = \"tcp:8000\"\n";

fn has_python() -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        println!("skipped: there is no python3 on this machine");
    }
    has
}

/// The seed determines clocks, process numbers, random numbers, hash seeds, addresses in memory, ports and
/// every measured number.
#[test]
fn a_run_of_programs_in_virtual_time_repeats() {
    if !has_python() {
        return;
    }
    let folder = scenario("3s", TRANSFER);
    transfer(&folder);
    let mut before = None;
    for _ in 0..2 {
        let ran = run("linux", &folder);
        let Some(mut summaries) = done(&ran) else { return };
        let said = output(&folder, "x/client.out");
        assert!(said.starts_with("2000000\n"), "{said}");
        let rows = flows(&folder);
        let [flow] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((flow.group.as_str(), flow.protocol.as_deref()), ("A", Some("TCP")));
        assert!(flow.bytes > 2_000_000 && flow.rtt_mean_ms.unwrap() >= 10.0, "{flow:?}");
        summaries[0].engine.wall_s = None;
        let now = (said, rows, summaries);
        assert_eq!(*before.get_or_insert_with(|| now.clone()), now);
    }
    // Another seed gives other numbers.
    let scenario = fs::read_to_string(folder.path().join("s.toml")).unwrap();
    fs::write(folder.path().join("s.toml"), format!("seed = 2\n{scenario}")).unwrap();
    let Some(_) = done(&run("linux", &folder)) else { return };
    let said = output(&folder, "x/client.out");
    let (_, rows, _) = before.unwrap();
    assert!(said.starts_with("2000000\n") && flows(&folder) != rows, "{said}");
}

/// A program can read the machine's files. It can write only into its output folder.
#[test]
fn a_program_in_virtual_time_leaves_its_output_and_nothing_else() {
    let mark = format!("l4s-mark-{}", std::process::id());
    let client = format!(
        "cat s.toml | head -1; echo x > /tmp/{mark}; echo y > here; cat /tmp/{mark} here; \
         echo z > $OUT/z; ip route 2>/dev/null; ls /proc | grep -c \"^[0-9]\"; echo late >&2"
    );
    let programs = format!("[[program]]\nname = \"a b\"\ngroup = \"A\"\nclient = '{client}'\n");
    let folder = scenario("500ms", &programs);
    let Some(_) = done(&run("linux", &folder)) else { return };
    let said = output(&folder, "a b/client.out");
    assert!(said.starts_with("duration = \"500ms\"\nx\ny\n"), "{said}");
    assert!(!said.contains("default"), "a way out: {said}");
    assert_eq!(output(&folder, "a b/client.err"), "late\n");
    assert_eq!(output(&folder, "a b/z"), "z\n");
    assert!(!folder.path().join("here").exists());
    assert!(!Path::new("/tmp").join(mark).exists());
}

#[test]
fn a_program_that_fails_beside_a_kernel_is_a_failed_run_with_its_last_lines() {
    let programs = "[[program]]\nname = \"x\"\ngroup = \"A\"\nclient = 'echo why; exit 3'\n";
    let folder = scenario("10s", programs);
    for on in ["linux", "qdisc"] {
        let ran = run(on, &folder);
        let words = stderr(&ran);
        if ran.status.code() == Some(3) {
            println!("skipped: {words}");
            continue;
        }
        assert_eq!(ran.status.code(), Some(1), "{words}");
        assert!(words.contains("ended with exit code 3 after"), "{words}");
        assert!(words.contains("programs/x/client.out:\nwhy"), "{words}");
    }
}

#[test]
fn programs_have_a_discipline_of_the_machines_kernel() {
    if !has_python() {
        return;
    }
    let folder = scenario("5s", TRANSFER);
    transfer(&folder);
    let Some(summaries) = done(&run("qdisc", &folder)) else { return };
    assert!(output(&folder, "x/client.out").starts_with("2000000\n"));
    let rows = flows(&folder);
    assert!(rows.len() == 1 && rows[0].bytes > 2_000_000, "{rows:?}");
    assert!(summaries[0].groups[0].packets >= 2_000_000 / 1448);
}

/// A sender of QUIC passes several datagrams down as one (UDP_SEGMENT). They pass the bottleneck one by one.
#[test]
fn datagrams_that_a_program_hands_down_together_are_packets_of_their_own() {
    if !has_python() {
        return;
    }
    let server = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                  s.bind((\"0.0.0.0\", 8000))\nwhile True:\n    _, to = s.recvfrom(2048)\n\
                  \x20   s.setsockopt(socket.IPPROTO_UDP, 103, 1200)\n    s.sendto(bytes(12000), to)\n";
    let client = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                  s.sendto(b\"x\", (\"server\", 8000))\n\
                  print([len(s.recv(2048)) for _ in range(10)])\n";
    let programs = "[[program]]\nname = \"x\"\ngroup = \"A\"\nserver = [\"python3\", \"server.py\"]\n\
                    client = [\"python3\", \"client.py\"]\nready = \"udp:8000\"\n";
    let folder = scenario("1s", programs);
    fs::write(folder.path().join("server.py"), server).unwrap();
    fs::write(folder.path().join("client.py"), client).unwrap();
    let Some(summaries) = done(&run("linux", &folder)) else { return };
    assert_eq!(output(&folder, "x/client.out"), format!("{:?}\n", [1200; 10]));
    assert_eq!(summaries[0].engine.unfit, None);
    assert_eq!(summaries[0].groups[0].packets, 10);
}

/// A router on the way down sets the DSCP of a program's packets to 0. Those on the way up, and every ECN field, stay.
#[test]
fn a_path_washes_the_dscp_of_a_program_and_leaves_its_ecn() {
    if !has_python() {
        return;
    }
    // Expedited forwarding, and ECT(1). Each prints the former TOS byte that it received.
    let common = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                  s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xb9)\n\
                  s.setsockopt(socket.IPPROTO_IP, 13, 1)  # IP_RECVTOS\n\
                  def receive():\n    data, more, _, sender = s.recvmsg(2048, 64)\n\
                  \x20   return data, more[0][2][0], sender\n";
    let server = "s.bind((\"0.0.0.0\", 8000))\nwhile True:\n    _, tos, to = receive()\n\
                  \x20   s.sendto(hex(tos).encode(), to)\n";
    let client = "s.sendto(b\"x\", (\"server\", 8000))\ndata, tos, _ = receive()\n\
                  print(data.decode(), hex(tos))\n";
    let programs = "[[program]]\nname = \"x\"\ngroup = \"A\"\nserver = [\"python3\", \"server.py\"]\n\
                    client = [\"python3\", \"client.py\"]\nready = \"udp:8000\"\n\
                    [[path]]\nname = \"isp\"\ndscp = \"wash\"\n";
    // In real time a busy machine needs some seconds to start Python.
    for (on, duration) in [("kernel", "8s"), ("linux", "1s")] {
        let folder = scenario(duration, programs);
        fs::write(folder.path().join("server.py"), format!("{common}{server}")).unwrap();
        fs::write(folder.path().join("client.py"), format!("{common}{client}")).unwrap();
        let Some(summaries) = done(&run(on, &folder)) else { continue };
        assert_eq!(output(&folder, "x/client.out"), "0xb9 0x1\n", "{on}");
        let path = &summaries[0].paths[0];
        assert_eq!((path.packets, path.mangled), (1, 1), "{on}");
    }
}

/// Fifty instances on a narrow link, and one on paths that lose packets. A ping in every half second is a 25th of a packet in
/// a round trip of 20 ms, whatever is lost. The written command makes the run again.
#[test]
fn a_program_is_evaluated_as_a_congestion_control_is() {
    if Command::new("ping").arg("-V").output().is_err() {
        return println!("skipped: there is no ping on this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = "[[program]]\nname = \"ping\"\nclient = \"ping -q -i 0.5 server\"\n";
    fs::write(folder.path().join("ping.toml"), program).unwrap();
    let chapters = ["--only", "overload", "--only", "app"];
    let ran = evaluate(&folder, "ping.toml", &chapters);
    if ran.status.code() == Some(3) {
        return println!("skipped: {}", stderr(&ran));
    }
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let json: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let evaluated = &json["evaluated"][0];
    let verdicts = evaluated["verdicts"].as_array().unwrap();
    let verdict = |id: &str| verdicts.iter().find(|verdict| verdict["id"] == id).unwrap();
    let (collapse, backoff) = (verdict("collapse"), verdict("full-backoff"));
    assert_eq!((&evaluated["name"], &json["on"]), (&"ping".into(), &"linux".into()));
    assert_eq!(
        (collapse["outcome"].as_str(), &collapse["worst"]["value"]),
        (Some("pass"), &0.0.into())
    );
    let packets = backoff["worst"]["value"].as_f64().unwrap();
    assert!((packets - 0.04).abs() < 0.004, "{backoff}");
    let app = verdict("app-delay");
    assert_eq!(app["outcome"], "not-measured");
    assert!(app["why"].as_str().unwrap().contains("a program sends its own data"), "{app}");
    let command = backoff["worst"]["command"].as_str().unwrap();
    let file = "out/ping/evaluate-overload.toml";
    assert!(
        command.starts_with(&format!("l4s run {file} --on linux --set 'overload=loss")),
        "{command}"
    );
    let plan = Plan::open(folder.path().join(file).to_str().unwrap(), &[]).unwrap();
    assert_eq!(plan.points[0].scenario.programs.len(), 50);
}

/// The last of the fifty instances on a narrow link ends at once, as if its work were done.
#[test]
fn a_program_that_fails_in_one_run_is_judged_by_the_others() {
    if Command::new("ping").arg("-V").output().is_err() {
        return println!("skipped: there is no ping on this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    let client = "case $L4S_GROUP in *' 50') echo enough; exit;; esac; exec ping -q -i 0.5 server";
    let program = format!("[[program]]\nname = \"ping\"\nclient = \"{client}\"\n");
    fs::write(folder.path().join("ping.toml"), program).unwrap();
    let ran = evaluate(&folder, "ping.toml", &["--only", "overload"]);
    if ran.status.code() == Some(3) {
        return println!("skipped: {}", stderr(&ran));
    }
    let words = stderr(&ran);
    assert_eq!(ran.status.code(), Some(0), "{words}");
    let json: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let verdicts = json["evaluated"][0]["verdicts"].as_array().unwrap();
    let verdict = |id: &str| verdicts.iter().find(|verdict| verdict["id"] == id).unwrap();
    let outcome = |id: &str| verdict(id)["outcome"].as_str().unwrap().to_owned();
    assert_eq!(outcome("collapse"), "not-measured");
    assert_eq!(outcome("full-backoff"), "pass");
    for id in ["collapse", "full-backoff"] {
        let why = verdict(id)["why"].as_str().unwrap();
        assert!(why.contains("1 of ") && why.contains("runs failed"), "{why}");
        assert!(why.contains("until the end of the run") && why.contains("enough"), "{why}");
    }
    assert!(words.contains("note: 1 of "), "{words}");
    let page = fs::read_to_string(folder.path().join("out/index.html")).unwrap();
    assert!(page.contains("runs failed, and are left out"), "{page}");
}

#[test]
fn a_program_that_cannot_start_is_not_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let program = "[[program]]\nname = \"x\"\nserver = \"echo why; exit 3\"\nclient = \"true\"\nready = \"udp:1\"\n";
    fs::write(folder.path().join("x.toml"), program).unwrap();
    let ran = evaluate(&folder, "x.toml", &["--only", "alone"]);
    let words = stderr(&ran);
    if ran.status.code() == Some(3) {
        return println!("skipped: {words}");
    }
    assert_eq!(ran.status.code(), Some(1), "{words}");
    assert!(words.contains("the server of program `x` ended with exit code 3"), "{words}");
    assert!(words.contains("x/server.out:\nwhy"), "{words}");
    // The simulator has no programs, and a file has no others than one.
    let on_sim = l4s(folder.path(), &["evaluate", "x.toml"]).output().unwrap();
    assert_eq!(on_sim.status.code(), Some(2));
    assert!(stderr(&on_sim).contains("found --on sim, expected --on linux"), "{}", stderr(&on_sim));
    fs::write(
        folder.path().join("x.toml"),
        "[[program]]\nname = \"x\"\ngroup = \"A\"\ncleint = \"x\"\n",
    )
    .unwrap();
    let wrong = evaluate(&folder, "x.toml", &[]);
    assert_eq!(wrong.status.code(), Some(2));
    let words = stderr(&wrong);
    assert!(words.contains("x.toml:3:1: `program.group`: the evaluation sets it"), "{words}");
    assert!(words.contains("did you mean `client`?"), "{words}");
}

fn evaluate(folder: &TempDir, program: &str, more: &[&str]) -> Output {
    let words = ["evaluate", program, "--on", "linux", "--quick", "--json", "--out", "out"];
    let mut command = l4s(folder.path(), &words);
    command.args(more).output().expect("l4s starts")
}

fn l4s(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder).args(words);
    command
}
