//! Starts, watches and ends the programs of a run, on a thread of its own.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use l4s_model::{Command, Expect, Program, Ready, Scenario, Signal};
use l4s_os::{Clock, OsError};
use l4s_units::Time;
use rustix::pipe::{PipeFlags, pipe_with};

use super::inside::Spec;
use super::signals::Held;
use super::terminal::{self, Lent};
use super::{Ended, Host, Programs, Surroundings, name_of, output, who};
use crate::AgentCommand;
use crate::address::End;
use crate::internet::resolv_conf;
use crate::setup::SERVER_PORT;

/// A server that is not ready by then will not be.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// From the signal that asks a program to end to SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How often programs are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How long the foreground may outlive a program that failed: its own end may be on its way, for which a server
/// failed that lost its client.
const FRONT_WITHIN: Duration = Duration::from_millis(500);
/// The number of lines of a program's output that an error repeats.
const LINES: usize = 10;
/// The end of an output in which these lines are.
const TAIL: u64 = 4096;

/// A program that was started.
struct Running {
    number: usize,
    end: End,
    keeper: Child,
    /// The control pipe that ends it, by a message or by its close.
    control: OwnedFd,
    ended: Option<(u8, Time)>,
    /// The signal that asks it to end.
    stop: Signal,
    /// The signal that asked it to end, where SIGKILL had to follow.
    unheeded: Option<Signal>,
}

/// The programs of a run. Those that still run when it is dropped are killed.
pub(super) struct Supervisor<'a> {
    scenario: &'a Scenario,
    keeper: &'a AgentCommand,
    programs: &'a Programs,
    /// Per group, the hosts of server and client.
    hosts: Vec<[Host; 2]>,
    running: Vec<Running>,
    /// The first that failed, by its place in `running`, and when.
    failed: Option<(usize, Instant)>,
    /// Signals to this process, where a program is in the foreground.
    signals: Option<Held>,
    /// Whether one of them ends the foreground.
    is_ending: bool,
    /// The terminal of the foreground. It is dropped after the programs.
    lent: Option<Lent>,
}

impl<'a> Supervisor<'a> {
    /// Starts nothing yet. `hosts` are those of server and client, per group.
    pub fn new(
        scenario: &'a Scenario,
        keeper: &'a AgentCommand,
        programs: &'a Programs,
        hosts: Vec<[Host; 2]>,
    ) -> Supervisor<'a> {
        Supervisor {
            scenario,
            keeper,
            programs,
            hosts,
            running: Vec::new(),
            failed: None,
            signals: programs.foreground.and_then(|_| Held::new()),
            is_ending: false,
            lent: None,
        }
    }

    /// Starts every server, and waits until all are ready.
    pub fn serve(&mut self, over: &AtomicBool) -> Result<(), OsError> {
        let scenario = self.scenario;
        let servers = scenario.programs.iter().enumerate();
        let servers: Vec<_> = servers.filter(|(_, program)| program.server.is_some()).collect();
        for (number, _) in &servers {
            self.start(*number, End::Server)?;
        }
        let deadline = Instant::now() + READY_WITHIN;
        let began = Instant::now();
        for (number, program) in servers {
            while !self.is_ready(number, program, began.elapsed()) {
                self.look(Time::ZERO)?;
                self.obey()?;
                if over.load(Ordering::Relaxed) || self.is_done() {
                    return Ok(());
                }
                if Instant::now() >= deadline {
                    let tail = self.tail(number, End::Server);
                    return Err(OsError::Run(format!(
                        "the server of program `{}` is not ready after {} s{tail}",
                        program.name,
                        READY_WITHIN.as_secs()
                    )));
                }
                std::thread::sleep(LOOK);
            }
        }
        self.look(Time::ZERO)
    }

    /// Starts clients when they are due, and watches all programs until `over` is set. Sets `stop`
    /// where the run should end before its time.
    pub fn watch(
        &mut self,
        clock: Clock,
        over: &AtomicBool,
        stop: &AtomicBool,
    ) -> Result<Vec<Ended>, OsError> {
        let done = self.watch_until(clock, over, stop);
        stop.store(true, Ordering::Relaxed);
        let ended = self.end()?;
        done.map(|()| ended)
    }

    fn watch_until(
        &mut self,
        clock: Clock,
        over: &AtomicBool,
        stop: &AtomicBool,
    ) -> Result<(), OsError> {
        let programs = &self.scenario.programs;
        let mut due: Vec<(Time, usize)> =
            programs.iter().map(|program| program.start).zip(0..).collect();
        due.retain(|(_, number)| programs[*number].client.is_some());
        while !over.load(Ordering::Relaxed) {
            let now = clock.now();
            let is_due = |(start, _): &(Time, usize)| *start <= now && now > Time::ZERO;
            let (starting, later): (Vec<_>, Vec<_>) = due.into_iter().partition(is_due);
            due = later;
            for (_, number) in starting {
                self.start(number, End::Client)?;
            }
            self.look(now)?;
            self.obey()?;
            if self.is_done() {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(LOOK);
        }
        self.judge()?;
        self.hung()
    }

    /// Takes notice of signals to this process.
    fn obey(&mut self) -> Result<(), OsError> {
        while let Some(signal) = self.signals.as_ref().and_then(Held::next) {
            let front = self.running.iter().position(|r| self.is_in_front(r.number, r.end));
            let Some(front) = front else {
                let why = format!("stopped by {} before the command began", name_of(signal));
                return Err(OsError::Run(why));
            };
            // The terminal sends the other two to the program itself.
            if matches!(signal, Signal::Term | Signal::Hup) {
                self.running[front].stop = signal;
                self.is_ending = true;
            }
        }
        Ok(())
    }

    /// Whether the foreground ended, or is to end.
    fn is_done(&self) -> bool {
        self.is_ending || self.in_front().is_some_and(|running| running.ended.is_some())
    }

    /// Whether the host of a group reaches the network of this machine.
    fn is_online(&self, group: usize, end: End) -> bool {
        let online = self.scenario.programs.last().map(|program| program.group);
        self.programs.internet && end == End::Client && online == Some(group)
    }

    /// The program that has the terminal, once it was started.
    fn in_front(&self) -> Option<&Running> {
        self.running.iter().find(|running| self.is_in_front(running.number, running.end))
    }

    /// Whether it has the terminal.
    fn is_in_front(&self, number: usize, end: End) -> bool {
        let last = self.scenario.programs.len() - 1;
        number == last && self.programs.foreground == Some(end)
    }

    fn command(&self, number: usize, end: End) -> Option<&'a Command> {
        let program = &self.scenario.programs[number];
        match end {
            End::Server => program.server.as_ref(),
            End::Client => program.client.as_ref(),
        }
    }

    fn folder(&self, number: usize) -> PathBuf {
        self.programs.out.join(&self.scenario.programs[number].name)
    }

    fn start(&mut self, number: usize, end: End) -> Result<(), OsError> {
        let program = &self.scenario.programs[number];
        let who = who(program, end);
        let failed = |error: std::io::Error| OsError::machine(&who, error);
        let Some(command) = self.command(number, end) else { return Ok(()) };
        let folder = self.folder(number);
        fs::create_dir_all(&folder).map_err(failed)?;
        let in_front = self.is_in_front(number, end);
        let takes_terminal = in_front && terminal::is_ours();
        let [server, client] = self.hosts[program.group];
        // The other end stays open in nobody else.
        let (theirs, control) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| OsError::machine(&who, error))?;
        let group = &self.scenario.groups[program.group].name;
        let spec = Spec {
            namespace_of: if end == End::Server { server.process } else { client.process },
            control: theirs.as_raw_fd(),
            hosts: hosts_file(group, server.address, client.address),
            words: words(command),
            leads: !in_front || takes_terminal,
            in_front,
            lingers: end == End::Server && !in_front,
            name_servers: self.is_online(program.group, end).then(resolv_conf),
        };
        let spec = serde_json::to_string(&spec)
            .map_err(|error| OsError::Run(format!("{who}: {error}")))?;
        let mut process = std::process::Command::new(&self.keeper.program);
        process.args(&self.keeper.args).arg(spec);
        if let Some(Surroundings { folder, variables }) = &self.programs.surroundings {
            process.current_dir(folder).env_clear().envs(variables.iter().map(|(n, v)| (n, v)));
        }
        let out = fs::canonicalize(&folder).map_err(failed)?;
        for (name, address) in [("SERVER", server.address), ("CLIENT", client.address)] {
            process.env(name, address.to_string()).env(format!("L4S_{name}"), address.to_string());
        }
        process.env("OUT", &out).env("SEED", self.scenario.seed.to_string());
        process.env("L4S_GROUP", group).envs(program.env.iter().cloned());
        if !in_front {
            let file = |stream| File::create(output(&folder, end, stream)).map_err(failed);
            process.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
        }
        // Two processes inherit it, one of which needs it.
        rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty())
            .map_err(|error| OsError::machine(&who, error))?;
        if takes_terminal {
            self.lent = Some(Lent);
        }
        let keeper = process.spawn().map_err(failed)?;
        let (ended, stop, unheeded) = (None, program.stop.unwrap_or_default(), None);
        self.running.push(Running { number, end, keeper, control, ended, stop, unheeded });
        Ok(())
    }

    /// Notices programs that ended by themselves; an error for those that should not have, or failed.
    fn look(&mut self, now: Time) -> Result<(), OsError> {
        for (place, running) in self.running.iter_mut().enumerate() {
            if running.ended.is_some() {
                continue;
            }
            let status = running.keeper.try_wait();
            let Some(status) = status.map_err(|error| OsError::run("a program", error))? else {
                continue;
            };
            running.ended = Some((code(status), now));
            if !running.succeeded(&self.scenario.programs[running.number]) {
                self.failed.get_or_insert((place, Instant::now()));
            }
        }
        let Some((_, since)) = self.failed else { return Ok(()) };
        let in_front = self.in_front();
        let may_end = in_front.is_some_and(|running| running.ended.is_none());
        if may_end && since.elapsed() < FRONT_WITHIN { Ok(()) } else { self.judge() }
    }

    /// An error for the program that failed first. One that failed when the foreground ended as it should is
    /// none, and the foreground has an exit code of its own.
    fn judge(&self) -> Result<(), OsError> {
        let Some((place, _)) = self.failed else { return Ok(()) };
        let Running { number, end, ended, .. } = &self.running[place];
        let program = &self.scenario.programs[*number];
        let Some((code, at)) = *ended else { return Ok(()) };
        let succeeded =
            |running: &Running| running.succeeded(&self.scenario.programs[running.number]);
        if self.is_in_front(*number, *end) || self.in_front().is_some_and(succeeded) {
            return Ok(());
        }
        let (who, when) = (who(program, *end), at.since(Time::ZERO).as_secs_f64());
        let tail = self.tail(*number, *end);
        Err(OsError::Run(format!(
            "{who} ended with {} after {when:.3} s, expected {}{tail}",
            ending(code),
            match program.expect {
                Expect::Code(code) => ending(code),
                Expect::Running => "that it runs until the end of the run".to_owned(),
            }
        )))
    }

    /// An error for a client that was to end by itself, and still runs.
    fn hung(&self) -> Result<(), OsError> {
        let runs = |running: &&Running| {
            let Program { stop, expect, .. } = &self.scenario.programs[running.number];
            running.ended.is_none()
                && running.end == End::Client
                && !self.is_in_front(running.number, running.end)
                && stop.is_none()
                && *expect != Expect::Running
        };
        let Some(Running { number, end, .. }) = self.running.iter().find(runs) else {
            return Ok(());
        };
        let tail = self.tail(*number, *end);
        Err(OsError::Run(format!(
            "{} still ran at the end of the run: a longer `duration`, or `stop = \"term\"` if that \
             should end it{tail}",
            who(&self.scenario.programs[*number], *end)
        )))
    }

    /// Ends running programs: by the signal that is configured, and then by SIGKILL.
    fn end(&mut self) -> Result<Vec<Ended>, OsError> {
        for running in self.running.iter().filter(|running| running.ended.is_none()) {
            running.signal(running.stop);
        }
        let deadline = Instant::now() + GRACE;
        let mut killed = false;
        let mut all = Vec::new();
        let is_over =
            |running: &mut Running| running.keeper.try_wait().is_ok_and(|status| status.is_some());
        while !self.running.iter_mut().all(is_over) {
            if Instant::now() >= deadline && !killed {
                for running in &mut self.running {
                    if !is_over(running) {
                        running.unheeded = Some(running.stop);
                        running.signal(Signal::Kill);
                    }
                }
                killed = true;
            }
            std::thread::sleep(LOOK);
        }
        for running in &mut self.running {
            let status = running.keeper.wait().map_err(|error| OsError::run("a program", error))?;
            all.push(Ended {
                program: running.number,
                end: running.end,
                code: code(status),
                at: running.ended.map(|(_, at)| at),
                unheeded: running.unheeded,
            });
        }
        self.running.clear();
        Ok(all)
    }

    fn is_ready(&self, number: usize, program: &Program, since: Duration) -> bool {
        let agent = self.hosts[program.group][0].process;
        match &program.ready {
            Ready::After(time) => since.as_nanos() >= u128::from(time.as_nanos()),
            Ready::Port => {
                is_bound(agent, "tcp", |port| port != SERVER_PORT)
                    || is_bound(agent, "udp", |_| true)
            }
            Ready::Tcp(port) => is_bound(agent, "tcp", |bound| bound == *port),
            Ready::Udp(port) => is_bound(agent, "udp", |bound| bound == *port),
            Ready::File(path) => Path::new(path).exists(),
            Ready::Line(text) => {
                let folder = self.folder(number);
                let contains = |stream| {
                    let bytes = fs::read(output(&folder, End::Server, stream)).unwrap_or_default();
                    String::from_utf8_lossy(&bytes).lines().any(|line| line.contains(text))
                };
                contains("out") || contains("err")
            }
        }
    }

    /// The last lines of a program's output, for an error.
    fn tail(&self, number: usize, end: End) -> String {
        if self.is_in_front(number, end) {
            return String::new();
        }
        let folder = self.folder(number);
        let files = ["err", "out"].map(|stream| output(&folder, end, stream));
        let said = files.iter().map(|file| (file, last_lines(file)));
        match said.into_iter().find(|(_, lines)| !lines.is_empty()) {
            Some((file, lines)) => {
                format!("; the end of {}:\n{}", file.display(), lines.join("\n"))
            }
            None => format!("; it printed nothing ({})", folder.display()),
        }
    }
}

impl Running {
    /// Whether it ended by itself as it should.
    fn succeeded(&self, program: &Program) -> bool {
        let Some((code, _)) = self.ended else { return false };
        match program.expect {
            Expect::Code(expected) => code == expected,
            // A server may leave its work to others.
            Expect::Running => self.end == End::Server && code == 0,
        }
    }

    fn signal(&self, signal: Signal) {
        // It may have ended.
        let _ = rustix::io::write(&self.control, &[number_of(signal)]);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
        let _ = self.keeper.wait();
    }
}

/// An exit code in words.
fn ending(code: u8) -> String {
    match code {
        127 => "exit code 127 (command not found)".to_owned(),
        129..=192 => format!("signal {}", code - 128),
        _ => format!("exit code {code}"),
    }
}

fn code(status: ExitStatus) -> u8 {
    let signal = || 128 + status.signal().unwrap_or_default();
    status.code().unwrap_or_else(signal) as u8
}

fn number_of(signal: Signal) -> u8 {
    use rustix::process::Signal as Of;
    let signal = match signal {
        Signal::Term => Of::TERM,
        Signal::Int => Of::INT,
        Signal::Hup => Of::HUP,
        Signal::Quit => Of::QUIT,
        Signal::Kill => Of::KILL,
    };
    signal.as_raw() as u8
}

fn words(command: &Command) -> Vec<String> {
    match command {
        Command::Line(line) => ["/bin/sh", "-c", line].map(str::to_owned).into(),
        Command::Words(words) => words.clone(),
    }
}

fn hosts_file(group: &str, server: IpAddr, client: IpAddr) -> String {
    // A name of a group may have characters that no name of a host has.
    let suffix = group.chars().all(|c| c.is_ascii_alphanumeric() || c == '-').then_some(group);
    let line = |address: IpAddr, name: &str| match suffix {
        Some(group) => format!("{address} {name} {name}.{group}\n"),
        None => format!("{address} {name}\n"),
    };
    line(server, "server") + &line(client, "client")
}

/// The last lines of a file.
fn last_lines(path: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[lines.len().saturating_sub(LINES)..].to_vec()
}

/// Whether something in the network namespace of a process listens on such a TCP port, or is bound
/// to such a UDP port, as listed in /proc/net, so that nothing is sent.
fn is_bound(process: u32, protocol: &str, is_meant: impl Fn(u16) -> bool) -> bool {
    /// The state of a TCP socket that listens.
    const LISTEN: &str = "0A";
    ["", "6"].into_iter().any(|version| {
        let path = format!("/proc/{process}/net/{protocol}{version}");
        let table = fs::read_to_string(path).unwrap_or_default();
        table.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let (Some(local), _, Some(state)) = (fields.next(), fields.next(), fields.next())
            else {
                return false;
            };
            let bound = local.rsplit(':').next().and_then(|hex| u16::from_str_radix(hex, 16).ok());
            bound.is_some_and(&is_meant) && (protocol == "udp" || state == LISTEN)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_listens_is_found_and_one_that_does_not_is_none() {
        let process = std::process::id();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = std::net::UdpSocket::bind("[::1]:0")
            .or_else(|_| std::net::UdpSocket::bind("127.0.0.1:0"));
        let (tcp_port, udp_port) =
            (tcp.local_addr().unwrap().port(), udp.as_ref().unwrap().local_addr().unwrap().port());
        let is_bound = |protocol, port| is_bound(process, protocol, |bound| bound == port);
        assert!(is_bound("tcp", tcp_port) && is_bound("udp", udp_port));
        assert!(!is_bound("udp", tcp_port) || tcp_port == udp_port);
        // A connection has the port, too, and does not listen.
        let client = std::net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        assert!(!is_bound("tcp", client.local_addr().unwrap().port()));
        drop(tcp);
        assert!(!is_bound("tcp", tcp_port));
    }

    #[test]
    fn an_error_has_the_last_lines_only() {
        let path = std::env::temp_dir().join(format!("l4s-tail-{}", std::process::id()));
        let lines: Vec<String> = (0..5000).map(|n| format!("line {n}")).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        let last = last_lines(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(last, lines[5000 - LINES..]);
        assert_eq!(last_lines(&path), [""; 0]);
    }

    #[test]
    fn hosts_have_names() {
        let (server, client) = ("10.0.0.1".parse().unwrap(), "10.0.1.1".parse().unwrap());
        let text = hosts_file("A", server, client);
        assert_eq!(text, "10.0.0.1 server server.A\n10.0.1.1 client client.A\n");
        assert_eq!(hosts_file("a b", server, client), "10.0.0.1 server\n10.0.1.1 client\n");
    }
}
