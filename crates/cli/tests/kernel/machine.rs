//! The view of a lab from outside: its processes, and the resources that they could leave behind.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The program under test.
pub const L4S: &str = env!("CARGO_BIN_EXE_l4s");

/// The agents that a command has started by now.
pub fn agents_of(command: u32) -> Vec<u32> {
    processes().filter(|pid| parent(*pid) == Some(command)).collect()
}

/// All agents of the program under test, of any parent.
pub fn agents() -> Vec<u32> {
    // A folder on its path may be a link.
    let program = fs::canonicalize(L4S).expect("a program");
    let is_agent = |pid: &u32| {
        let ours = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        ours && words.ends_with(b"\0agent\0")
    };
    processes().filter(is_agent).collect()
}

/// The network namespace of a running process.
pub fn namespace(pid: u32) -> Option<String> {
    let link = fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// Every network namespace with a process.
pub fn namespaces() -> BTreeSet<String> {
    processes().filter_map(namespace).collect()
}

/// The network interfaces of this namespace.
pub fn interfaces() -> BTreeSet<String> {
    let text = fs::read_to_string("/proc/net/dev").expect("interfaces");
    text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

/// Whether the kernel has a congestion control of that name at present.
pub fn has_control(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.expect("congestion controls").split_whitespace().any(|known| known == name)
}

/// `kill -9` for all of them at once.
pub fn kill(pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let script = format!("kill -9 {} 2>/dev/null", pids.join(" "));
    // Some may have ended together with others.
    let _ = Command::new("sh").args(["-c", &script]).status().expect("a shell");
}

/// Stops a process, and continues it after `span` at the earliest.
pub fn freeze(pid: u32, span: Duration) {
    let signal = |signal| {
        let script = format!("kill -{signal} {pid} 2>/dev/null");
        let _ = Command::new("sh").args(["-c", &script]).status().expect("a shell");
    };
    signal("STOP");
    std::thread::sleep(span);
    signal("CONT");
}

/// The bytes that the network namespace of a process has sent.
pub fn sent(pid: u32) -> u64 {
    let devices = fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap_or_default();
    let others = devices.lines().filter_map(|line| line.trim().split_once(':'));
    let bytes = |(name, counts): (&str, &str)| {
        let sent = counts.split_whitespace().nth(8)?.parse::<u64>().ok()?;
        (name != "lo").then_some(sent)
    };
    others.filter_map(bytes).sum()
}

/// The exit status of a process, if it ends within that time.
pub fn ended_within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let mut status = None;
    within(time, || {
        status = child.try_wait().expect("a process");
        status.is_some()
    });
    status
}

/// Whether a condition becomes true within that time.
pub fn within(time: Duration, mut so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if so() {
            return true;
        }
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    // The name, in parentheses, may contain any character; the state and the parent follow.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
