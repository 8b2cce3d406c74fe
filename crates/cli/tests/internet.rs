//! `l4s shell --internet`: from a client through the bottleneck to the network of the machine.
//!
//! The machine is a network namespace, and so is the network outside, which has a server for HTTP
//! and DNS. If this machine does not allow that, a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

mod tree;

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use l4s_measure::Results;
use tempfile::TempDir;
use tree::{descendants, kill, within};

/// The server outside. No route of the machine contains this address.
const SERVER: &str = "192.0.2.80";

/// The server outside: HTTP on port 80 with `big`, 4 MB. DNS, where every name has its address. On port 9000
/// it answers each datagram by two. They report the ECN field of the datagram, and have ECT(1) and CE.
const OUTSIDE: &str = r#"
import http.server, socket, struct, threading, sys

class Http(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = bytes(4_000_000) if self.path == "/big" else b"outside\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass

def names():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("192.0.2.80", 53))
    while True:
        query, who = s.recvfrom(512)
        end = query.index(0, 12) + 5
        is_a = query[end - 4:end - 2] == b"\0\1"
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton("192.0.2.80") if is_a else b""
        s.sendto(query[:2] + b"\x81\x80\0\1" + struct.pack("!H", is_a) + b"\0\0\0\0" + query[12:end] + answer, who)

def ecn():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("192.0.2.80", 9000))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    while True:
        _, ancillary, _, who = s.recvmsg(99, 99)
        for tos in (1, 3):
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
            s.sendto(bytes([48 + ancillary[0][2][0]]), who)

for serve in (names, ecn): threading.Thread(target=serve, daemon=True).start()
server = http.server.ThreadingHTTPServer(("192.0.2.80", 80), Http)
server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
threading.Thread(target=server.serve_forever, daemon=True).start()
print("up", flush=True)
sys.stdin.read()
"#;

/// Sends ECT(1) and CE. Prints the codepoint that the server received, and those of its answers.
const ECN: &str = r#"
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
s.settimeout(20)
for tos in (1, 3):
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    s.sendto(b"x", ("192.0.2.80", 9000))
    for _ in range(2):
        data, ancillary, _, _ = s.recvmsg(99, 99)
        print(data.decode(), ancillary[0][2][0])
"#;

/// A machine with a network. Both end with this value, or with the process of the test.
struct World {
    machine: Child,
    outside: Child,
    folder: TempDir,
}

impl World {
    /// `None` with a message if this machine does not allow it.
    fn new() -> Option<World> {
        let skipped = |why: &str| {
            println!("skipped: {why}");
            None
        };
        for (tool, option) in [("python3", "-V"), ("curl", "-V"), ("ip", "-V"), ("nsenter", "-V")] {
            if Command::new(tool).arg(option).output().is_err() {
                return skipped(&format!("there is no {tool} on this machine"));
            }
        }
        if !Command::new("unshare").args(["-n", "true"]).output().unwrap().status.success() {
            return skipped("this user may not make namespaces");
        }
        // The process ends when its standard input is closed.
        let hold = || {
            let mut command = Command::new("unshare");
            command.args(["-n", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null());
            let child = command.spawn().expect("unshare starts");
            let space = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
            let own = space("self");
            within("a namespace", || space(&child.id().to_string()) != own);
            child
        };
        let folder = tempfile::tempdir().expect("a folder");
        let (machine, outside) = (hold(), hold());
        let world = World { machine, outside, folder };
        let (inner, outer) = (world.machine.id(), world.outside.id());
        let script = format!(
            "set -e; ip link set lo up; sysctl -qw net.ipv4.ip_forward=0\n\
             ip link add uplink mtu 1400 type veth peer name out netns {outer}\n\
             ip addr add 203.0.113.2/24 dev uplink; ip link set uplink up\n\
             nsenter -n -t {outer} sh -ec 'ip link set lo up; ip addr add {SERVER}/32 dev lo; \
             ip addr add 203.0.113.1/24 dev out; ip link set out mtu 1400 up; \
             sysctl -qw net.ipv4.tcp_ecn=1'\n\
             ip route add default via 203.0.113.1"
        );
        let made = at(inner, "sh").args(["-c", &script]).output().unwrap();
        if !made.status.success() {
            return skipped(&format!("a machine and a network: {}", stderr(&made).trim()));
        }
        within("addresses of IPv6", || !world.state().contains("tentative"));
        Some(world)
    }

    /// The same, with the server outside.
    fn with_server() -> Option<(World, Child)> {
        let world = World::new()?;
        let mut command = at(world.outside.id(), "python3");
        command.args(["-c", OUTSIDE]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut up = [0; 3];
        std::io::Read::read_exact(server.stdout.as_mut().unwrap(), &mut up).expect("it is up");
        Some((world, server))
    }

    /// A command on that machine.
    fn command(&self, program: &str) -> Command {
        let mut command = at(self.machine.id(), program);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// `l4s shell` on that machine.
    fn shell(&self, more: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_l4s"));
        command.arg("shell").args(more);
        command
    }

    fn sh(&self, script: &str) -> Output {
        self.command("sh").args(["-c", script]).output().unwrap()
    }

    /// All of its network state that could change: interfaces, addresses, routes, rules, settings, and
    /// firewall. Congestion controls belong to the kernel: other tests load some.
    fn state(&self) -> String {
        let script = "ip -d addr; ip route show table all; ip rule; \
                      sysctl -a --pattern '^net' 2>/dev/null | grep -v 'nf_conntrack_count\\|_congestion_control'; \
                      ! command -v nft >/dev/null || nft list ruleset; \
                      cat /proc/net/ip_tables_names 2>/dev/null";
        String::from_utf8(self.sh(script).stdout).unwrap()
    }

    /// Waits until its network is in the same state as before.
    fn is_again(&self, before: &str) {
        let mut now = String::new();
        let same = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            within("the same state", || {
                now = self.state();
                now == before
            });
        }));
        if same.is_err() {
            let other = |of: &str, than: &str| {
                let known: Vec<&str> = than.lines().collect();
                of.lines().filter(|line| !known.contains(line)).collect::<Vec<_>>().join("\n")
            };
            panic!("new:\n{}\nmissing:\n{}", other(&now, before), other(before, &now));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for child in [&mut self.machine, &mut self.outside] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A command in the network namespace of a process.
fn at(process: u32, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["-n", "-t", &process.to_string(), "--", program]);
    command
}

/// Whether this machine cannot run it, with a message. An error that a test provokes does not count.
fn is_impossible(output: &Output) -> bool {
    let impossible = output.status.code() == Some(3);
    if impossible {
        println!("skipped: {}", stderr(output).trim());
    }
    impossible
}

#[test]
fn what_comes_from_the_network_passes_the_bottleneck_and_nothing_is_changed() {
    let Some((world, _server)) = World::with_server() else { return };
    let before = world.state();
    assert!(before.contains("net.ipv4.ip_forward = 0"));
    let url = format!("http://{SERVER}/big");
    let fetch = ["curl", "-sS", "-m", "60", "-o", "big", &url];
    let options = ["--internet", "--set", "link.rate=10mbit", "--set", "group.shell.ecn=classic"];
    let more = ["--out", "out", "--"];
    let ran = world.shell(&[&options[..], &more, &fetch].concat()).output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert_eq!(fs::metadata(world.folder.path().join("big")).unwrap().len(), 4_000_000);
    world.is_again(&before);

    let results = Results::open(&world.folder.path().join("out")).unwrap();
    let (_, flows) = results.flows().unwrap().next().unwrap().unwrap();
    let [flow] = &flows[..] else { panic!("{flows:?}") };
    assert_eq!(flow.server.as_deref(), Some("192.0.2.80:80"));
    assert!(flow.client.as_ref().is_some_and(|client| client.starts_with("198.19.255.1:")));
    // Cubic from outside fills the queue, and gets only marks as signals.
    assert!(flow.ect0.unwrap() > 2800 && flow.marks.unwrap() > 0, "{flow:?}");
    assert_eq!((flow.ect1, flow.drops), (Some(0), Some(0)));
    assert!(flow.delay_mean_ms.unwrap() > 2.0 && flow.bytes > 4_000_000, "{flow:?}");
    // 4 MB take 3.2 s at 10 Mb/s.
    let seconds = flow.end_s.unwrap() - flow.start_s;
    assert!(seconds > 3.0, "{flow:?}");
}

#[test]
fn the_ecn_field_passes_unchanged_in_both_directions() {
    let Some((world, _server)) = World::with_server() else { return };
    let ran = world.shell(&["--internet", "--", "python3", "-c", ECN]).output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(said, "1 1\n1 3\n3 1\n3 3\n", "{}", stderr(&ran));
}

#[test]
fn names_are_asked_of_a_server_that_the_client_reaches() {
    let Some((world, _server)) = World::with_server() else { return };
    // The same setup as with systemd-resolved.
    let script = format!(
        "mount -t tmpfs none /run && mkdir -p /run/systemd/resolve && cd /run/systemd/resolve && \
         touch io.systemd.Resolve && echo nameserver {SERVER} >resolv.conf && \
         echo nameserver 127.0.0.53 >stub-resolv.conf && \
         mount --bind stub-resolv.conf /etc/resolv.conf && \
         exec {} shell --internet -- sh -c 'curl -sS http://some.example/; ls -l io.systemd.Resolve'",
        env!("CARGO_BIN_EXE_l4s")
    );
    let ran = world.command("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    let said = String::from_utf8_lossy(&ran.stdout);
    let (page, socket) = said.split_once('\n').unwrap_or_default();
    assert_eq!(page, "outside", "{}", stderr(&ran));
    // systemd-resolved itself is not used, as that would bypass the bottleneck.
    assert!(socket.starts_with('c'), "{socket}");
}

#[test]
fn there_is_no_other_way_out() {
    let Some((world, _server)) = World::with_server() else { return };
    let url = format!("http://{SERVER}/");
    let before = world.state();
    for host in ["client", "server"] {
        let ran = world.shell(&["--at", host, "--", "curl", "-sS", "-m", "10", &url]).output();
        let ran = ran.unwrap();
        if is_impossible(&ran) {
            return;
        }
        // No packet is sent: there is no route.
        assert_eq!(ran.status.code(), Some(7), "{}", stderr(&ran));
    }
    // The server's host is on the path, but has no route of its own, by either address.
    let server = format!(
        "for a in '' '--interface l4s-net'; do curl -s -m 2 $a {url} >/dev/null && echo out >>out; done; \
         exec python3 -m http.server 8000"
    );
    let client = ["sh", "-c", "curl -s http://server:8000/ >/dev/null && ! test -e out"];
    let mut ran = world.shell(&[&["--internet", "--server", &server, "--"], &client[..]].concat());
    let ran = ran.output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    world.is_again(&before);
}

#[test]
fn addresses_of_the_machine_are_left_alone() {
    let Some((world, _server)) = World::with_server() else { return };
    // A machine that forwards for containers, with a VPN.
    world.sh("sysctl -qw net.ipv4.ip_forward=1; ip route add 0.0.0.0/1 via 203.0.113.1; \
         ip route add 10.0.7.0/24 via 203.0.113.1; ip addr add 198.19.255.0/31 dev lo; \
         ip route add 10.1.128.0/17 via 203.0.113.1 table 7; ip rule add lookup 7");
    let before = world.state();
    assert!(before.contains("0.0.0.0/1 via") && before.contains("10.1.128.0/17 via"));
    let url = format!("http://{SERVER}/");
    let script =
        format!("echo $CLIENT; ip -o route get {SERVER} | grep -o 'src [0-9.]*'; curl -s {url}");
    let ran = world.shell(&["--internet", "--", "sh", "-c", &script]).output().unwrap();
    if is_impossible(&ran) {
        return;
    }
    // 10.0 and 10.1 are in use, and so is the first address of the path.
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(said, "10.2.1.1\nsrc 198.19.255.3\noutside\n", "{}", stderr(&ran));
    world.is_again(&before);
    world.sh("ip route add 10.0.0.0/8 via 203.0.113.1");
    let ran = world.shell(&["--internet", "--", "true"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(3));
    assert!(stderr(&ran).contains("uses all of these networks itself"), "{}", stderr(&ran));
}

#[test]
fn two_at_once_and_one_in_another_have_each_a_way() {
    let Some((world, _server)) = World::with_server() else { return };
    let before = world.state();
    let (l4s, url) = (env!("CARGO_BIN_EXE_l4s"), format!("http://{SERVER}/"));
    let nested = format!("'{l4s}' shell --internet -- curl -sS {url}");
    let start = || {
        let mut command = world.shell(&["--internet", "--", "sh", "-c", &nested]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for ran in [start(), start()].map(|child| child.wait_with_output().unwrap()) {
        if is_impossible(&ran) {
            return;
        }
        assert_eq!(ran.stdout, b"outside\n", "{}", stderr(&ran));
    }
    world.is_again(&before);
}

#[test]
fn what_it_cannot_do_is_said_before_anything_starts() {
    let Some(world) = World::new() else { return };
    let up = world.folder.path().join("up");
    let touch = ["--", "touch", "up"];
    let refused = |mut command: Command, code: i32, words: &str| {
        let ran = command.output().unwrap();
        let said = stderr(&ran);
        assert_eq!(ran.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!up.exists());
    };
    let shell = |more: &[&str]| world.shell(&[&["--internet"], more, &touch].concat());
    refused(shell(&["--at", "server"]), 2, "expected --at client");
    refused(shell(&["--set", "kernel.ip=6"]), 2, "expected 4");
    // All rights of root except one.
    let mut command = world.command("setpriv");
    command.args(["--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]);
    command.arg(env!("CARGO_BIN_EXE_l4s")).args(["shell", "--internet"]).args(touch);
    refused(command, 3, "run as root");
    // A firewall like Docker's.
    let chain = "add table ip f; add chain ip f FORWARD { type filter hook forward priority 0; policy drop; }";
    let mut firewall = world.command("nft");
    match firewall.arg(chain).output() {
        Ok(made) if made.status.success() => {
            refused(shell(&[]), 3, "this machine's firewall drops packets forwarded from l4s-net0");
        }
        _ => println!("skipped: there is no nft on this machine"),
    }
    world.sh("ip route del default");
    refused(shell(&[]), 3, "no default route");
}

#[test]
fn nothing_is_left_whatever_is_killed() {
    let Some(world) = World::new() else { return };
    let before = world.state();
    let up = world.folder.path().join("up");
    for victim in 0.. {
        let _ = fs::remove_file(&up);
        let script = "touch up; exec sleep 1000";
        let mut command = world.shell(&["--internet", "--", "sh", "-c", script]);
        let mut command = command.stderr(Stdio::piped()).spawn().unwrap();
        within("it runs, or cannot", || up.exists() || command.try_wait().unwrap().is_some());
        if !up.exists() {
            return assert!(is_impossible(&command.wait_with_output().unwrap()));
        }
        let during = world.state();
        assert!(during.contains("l4s-net0") && during.contains("net.ipv4.ip_forward = 0"));
        // nsenter became l4s. Then the server's and the client's agent, keeper, init, program.
        let mut all = vec![command.id()];
        all.extend(descendants(command.id()));
        assert_eq!(all.len(), 6, "{all:?}");
        let last = victim == all.len();
        let victims = if last { all.clone() } else { vec![all[victim]] };
        victims.iter().for_each(|process| kill(*process));
        let ran = command.wait_with_output().unwrap();
        assert_ne!(ran.status.code(), Some(0), "{victim}: {}", stderr(&ran));
        within("all are gone", || !all.iter().any(|process| tree::is_alive(*process)));
        world.is_again(&before);
        if last {
            break;
        }
    }
}
