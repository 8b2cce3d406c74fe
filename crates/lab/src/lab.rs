//! A lab, from the side of the command: the agents, their devices, and their reports.
//!
//! One thread spawns, polls and reaps the agents. The kernel kills an
//! agent when the thread that started it ends, so that thread must be one that lives as long as
//! the lab.

use l4s_os::{Clock, OsError, namespace};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::process::{Pid, PidfdFlags};

use crate::Report;
use crate::address::End;
use crate::lateness::Stalls;
use crate::message::{Channel, Next, Order, Setup, Word};
use crate::pump::{Device, Port};
use crate::setup::LabPlan;

/// How long agents may take to be ready: the first, and each after the one before it.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How often they are started again where one is not ready in time.
const ATTEMPTS: u32 = 2;
/// How long they may take to say their last.
const DONE_WITHIN: Duration = Duration::from_secs(2);
/// How long an agent that closed its socket may take to end.
const ENDED_WITHIN: Duration = Duration::from_millis(500);
/// The kept part of an agent's stderr: its end.
const STDERR_TAIL: usize = 2000;

/// How to start an agent: a program that then calls [`crate::agent::main`].
#[derive(Clone, Debug)]
pub struct AgentCommand {
    /// The program, such as this one.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// The commands that start the processes of a run.
#[derive(Clone, Debug)]
pub struct Roles {
    /// A server or client.
    pub agent: AgentCommand,
    /// The keeper of a program of the user: a program that then calls [`crate::program_main`].
    pub keeper: AgentCommand,
}

/// An agent that runs.
#[derive(Clone, Debug)]
pub struct AgentInfo {
    /// Such as "the server of group `A`".
    pub who: String,
    /// Its process.
    pub pid: u32,
    /// The settings of its namespace that matter to TCP: path below /proc/sys, value.
    pub settings: Vec<(String, String)>,
}

/// Servers and clients that are ready for a run, or in it. They go with it.
#[derive(Debug)]
pub struct Lab {
    ports: Vec<Port>,
    agents: Vec<AgentInfo>,
    reports: Option<Receiver<Result<Report, OsError>>>,
    orders: OrderSender,
    /// The thread that keeps the agents.
    keeper: Option<JoinHandle<Vec<Option<Stalls>>>>,
    /// How long each agent did not run, once the run is over; `None` for one that did not report
    /// so in time.
    stalls: Vec<Option<Stalls>>,
}

/// Sends orders to the agents of a lab, from any thread.
#[derive(Clone, Debug)]
pub(crate) struct OrderSender {
    sender: Sender<To>,
    waker: Arc<Waker>,
}

impl OrderSender {
    /// Sends an order to the server or the client of a pair, by its place. An order that comes after the end
    /// of the lab has no effect.
    pub fn send(&self, pair: usize, end: End, order: Order) {
        self.pass((Some(2 * pair + usize::from(end == End::Client)), order));
    }

    /// A thread that ended has no agents any more.
    fn pass(&self, order: To) {
        let _ = self.sender.send(order);
        let _ = self.waker.wake();
    }
}

impl Lab {
    /// Starts the agents of a plan and waits until all are ready. If one of them is not in time, all
    /// are started once more.
    pub fn build(plan: &LabPlan, agent: &AgentCommand) -> Result<Lab, OsError> {
        Lab::build_within(plan, agent, READY_WITHIN)
    }

    fn build_within(
        plan: &LabPlan,
        agent: &AgentCommand,
        within: Duration,
    ) -> Result<Lab, OsError> {
        // Of each agent a control socket, its stderr, its device and its process.
        let mine = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let others = mine.current.map_or(0, |limit| limit.min(256));
        namespace::allow_files(others + 8 * plan.pairs.len() as u64, 0)?;

        let poll = Poll::new().map_err(|error| OsError::machine("epoll", error))?;
        let waker = Waker::new(poll.registry(), WAKER);
        let waker = Arc::new(waker.map_err(|error| OsError::machine("eventfd", error))?);
        let (sender, ordered) = mpsc::channel();
        let orders = OrderSender { sender, waker };
        let (told, reports) = mpsc::channel();
        let (ready, built) = mpsc::channel();
        let names = plan.pairs.iter().map(|pair| pair.name.clone());
        let setups = plan.pairs.iter().flat_map(|pair| [&pair.server, &pair.client]);
        let setups = setups.cloned().collect();
        let agent = agent.clone();
        let keep = move || keep(poll, setups, (&agent, within), &ready, &ordered, &told);
        let thread = std::thread::Builder::new()
            .name("l4s-agents".to_owned())
            .spawn(keep)
            .map_err(|error| OsError::machine("a thread", error))?;
        let (ports, agents, stalls) = (Vec::new(), Vec::new(), Vec::new());
        let (reports, keeper) = (Some(reports), Some(thread));
        let mut lab = Lab { ports, agents, reports, orders, keeper, stalls };
        let gone = || Err(OsError::Run("the thread that keeps the agents ended".to_owned()));
        let (agents, devices) = built.recv().unwrap_or_else(|_| gone())?;
        lab.agents = agents;
        let mut devices = devices.into_iter();
        for name in names {
            let (Some(server), Some(client)) = (devices.next(), devices.next()) else { break };
            lab.ports.push(Port { name, server, client });
        }
        Ok(lab)
    }

    /// The devices: of the groups, then of the UDP sources, in the scenario's order. Once only.
    pub fn take_ports(&mut self) -> Vec<Port> {
        std::mem::take(&mut self.ports)
    }

    /// Servers and clients in the order of the ports.
    pub fn agents(&self) -> &[AgentInfo] {
        &self.agents
    }

    /// Starts the run: its clock reads zero when this one does.
    pub fn start(&self, clock: Clock) {
        self.orders.pass((None, Order::Go { origin_ns: clock.origin_ns() }));
    }

    /// The agents' reports, until all have ended. An error, which names the agent, ends the run
    /// and is the last item. Once only; afterwards there is nothing.
    pub fn take_reports(&mut self) -> Receiver<Result<Report, OsError>> {
        self.reports.take().unwrap_or_else(|| mpsc::channel().1)
    }

    /// Ends the run: agents say their last, which is still reported, and are gone when this
    /// returns. Dropping the lab does the same.
    pub fn stop(&mut self) {
        self.orders.pass((None, Order::Stop));
        if let Some(keeper) = self.keeper.take() {
            // A panic of the thread was reported by itself.
            self.stalls = keeper.join().unwrap_or_default();
        }
    }

    /// Why a run of `span` says little, by the agent that did not advance for longest; `None` when
    /// all are fine, or before [`Lab::stop`].
    pub fn unfit(&self, span: l4s_units::Duration) -> Option<String> {
        let longest = |stalls: Option<Stalls>| {
            stalls.map_or(l4s_units::Duration::MAX, |stalls| stalls.longest)
        };
        let agents = self.agents.iter().zip(&self.stalls);
        let (AgentInfo { who, .. }, stalls) = agents.max_by_key(|(_, stalls)| longest(**stalls))?;
        let why = match stalls {
            Some(stalls) => stalls.unfit(span)?,
            None => format!(
                "it did not answer within {} s of the end of the run, as if it were stopped",
                DONE_WITHIN.as_secs()
            ),
        };
        Some(format!("{who}: {why}"))
    }

    /// For orders from other threads.
    pub(crate) fn order_sender(&self) -> OrderSender {
        self.orders.clone()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop();
    }
}

const WAKER: Token = Token(usize::MAX);

/// An order, and the number of the agent that it is for; `None` for all of them.
type To = (Option<usize>, Order);

/// The result that [`Lab::build`] waits for.
type Built = Result<(Vec<AgentInfo>, Vec<Device>), OsError>;

/// The life of the keeping thread.
fn keep(
    poll: Poll,
    setups: Vec<Setup>,
    (command, within): (&AgentCommand, Duration),
    ready: &Sender<Built>,
    ordered: &Receiver<To>,
    told: &Sender<Result<Report, OsError>>,
) -> Vec<Option<Stalls>> {
    // Agents that are dropped are killed and waited for, on every path.
    let mut agents = Agents { poll, events: Events::with_capacity(256), all: Vec::new() };
    let built = agents.build_patiently(&setups, command, within);
    let failed = built.is_err();
    if ready.send(built).is_err() || failed {
        return Vec::new();
    }
    if let Err(error) = agents.run(ordered, told) {
        let _ = told.send(Err(error));
    }
    agents.all.iter().map(|agent| agent.stalls).collect()
}

/// All agents of a lab.
struct Agents {
    poll: Poll,
    events: Events,
    all: Vec<Agent>,
}

/// A child process.
struct Agent {
    who: String,
    child: Child,
    control: Channel,
    stderr: ChildStderr,
    stderr_tail: VecDeque<u8>,
    /// Whether it said its last.
    done: bool,
    /// The stalls that it reported then.
    stalls: Option<Stalls>,
}

/// How an attempt to start every agent ended.
enum Attempt {
    /// All are ready.
    Ready(Vec<AgentInfo>, Vec<Device>),
    /// This one was not ready in time.
    Late(String),
}

impl Agents {
    /// As [`Agents::build`], and once more where one is not ready in time.
    fn build_patiently(
        &mut self,
        setups: &[Setup],
        command: &AgentCommand,
        within: Duration,
    ) -> Built {
        let mut late = String::new();
        for _ in 0..ATTEMPTS {
            match self.build(setups, command, within)? {
                Attempt::Ready(infos, devices) => return Ok((infos, devices)),
                Attempt::Late(who) => late = who,
            }
            // Those of this attempt are killed, and their reports are not waited for.
            for agent in self.all.drain(..) {
                for fd in [agent.control_fd(), agent.stderr.as_raw_fd()] {
                    let _ = self.poll.registry().deregister(&mut SourceFd(&fd));
                }
            }
        }
        Err(OsError::Run(format!(
            "{late} is not ready after {within:?}, and was not at the first attempt. This machine is \
             too busy to start {} servers and clients, or something blocks them: see `uptime` and \
             `dmesg`. End other programs, or use fewer groups",
            setups.len()
        )))
    }

    /// Starts every agent, and waits for all to be ready.
    fn build(
        &mut self,
        setups: &[Setup],
        command: &AgentCommand,
        within: Duration,
    ) -> Result<Attempt, OsError> {
        let mut deadline = Instant::now() + within;
        let mut infos = Vec::with_capacity(setups.len());
        for (number, setup) in setups.iter().enumerate() {
            let agent = Agent::start(setup, command, deadline)
                .map_err(|error| OsError::machine(&setup.who, error))?;
            for (half, fd) in [agent.control_fd(), agent.stderr.as_raw_fd()].iter().enumerate() {
                let token = Token(2 * number + half);
                let registry = self.poll.registry();
                registry
                    .register(&mut SourceFd(fd), token, Interest::READABLE)
                    .map_err(|error| OsError::machine("epoll", error))?;
            }
            let (who, pid) = (agent.who.clone(), agent.child.id());
            infos.push(AgentInfo { who, pid, settings: Vec::new() });
            self.all.push(agent);
        }

        let mut devices: Vec<Option<Device>> = setups.iter().map(|_| None).collect();
        let mut ready = vec![false; setups.len()];
        while let Some(missing) = ready.iter().position(|ready| !ready) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Attempt::Late(infos[missing].who.clone()));
            }
            self.hear(Some(left), |number, agent, word| {
                let Word::Ready { settings } = word else { return Ok(()) };
                deadline = Instant::now() + within;
                infos[number].settings = settings;
                ready[number] = true;
                if setups[number].cable.is_some() {
                    return Ok(());
                }
                let device = agent.control.take_file();
                let device = device.ok_or_else(|| {
                    OsError::Run(format!("{} is ready, without its device", agent.who))
                })?;
                // Not yet waited for, so the number is still its own.
                let process = Pid::from_child(&agent.child);
                let process = rustix::process::pidfd_open(process, PidfdFlags::empty())
                    .map_err(|error| OsError::machine(&agent.who, error))?;
                devices[number] = Some(Device { tun: device.into(), agent: Some(process) });
                Ok(())
            })?;
        }
        Ok(Attempt::Ready(infos, devices.into_iter().flatten().collect()))
    }

    /// Passes reports on, until the run is over.
    fn run(
        &mut self,
        ordered: &Receiver<To>,
        told: &Sender<Result<Report, OsError>>,
    ) -> Result<(), OsError> {
        let mut over = None;
        let mut orders: VecDeque<To> = VecDeque::new();
        // The agent with a new setup that is not ready again. Until then orders wait: a flow is opened
        // after both of its ends are as they should be.
        let mut awaited = None;
        loop {
            orders.extend(ordered.try_iter());
            let stops = orders.iter().any(|(_, order)| *order == Order::Stop);
            while awaited.is_none() || stops {
                let Some((whom, order)) = orders.pop_front() else { break };
                match order {
                    Order::Setup(_) => awaited = whom,
                    Order::Stop => over = Some(Instant::now() + DONE_WITHIN),
                    _ => {}
                }
                for (_, agent) in self
                    .all
                    .iter()
                    .enumerate()
                    .filter(|(number, _)| whom.is_none_or(|n| n == *number))
                {
                    // One that is gone is noticed below.
                    let _ = agent.control.send(&order, None);
                }
            }
            let left = over.map(|end: Instant| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) || self.all.iter().all(|agent| agent.done) {
                return Ok(());
            }
            let heard = self.hear(left, |number, agent, word| {
                match word {
                    Word::Reports(rows) => {
                        for row in rows {
                            // Nobody may want to know.
                            let _ = told.send(Ok(row.into()));
                        }
                    }
                    Word::Done { stalls } => {
                        (agent.done, agent.stalls) = (true, Some(stalls));
                    }
                    Word::Ready { .. } => {
                        awaited.take_if(|awaited| *awaited == number);
                    }
                    Word::Failed(_) => {}
                }
                Ok(())
            });
            if over.is_none() {
                heard?;
            }
        }
    }

    /// Waits for agents to say something, and passes it to `take`. An agent that fails or is gone
    /// is an error, and is done.
    fn hear(
        &mut self,
        within: Option<Duration>,
        mut take: impl FnMut(usize, &mut Agent, Word) -> Result<(), OsError>,
    ) -> Result<(), OsError> {
        match self.poll.poll(&mut self.events, within) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                return Err(OsError::machine("epoll", error));
            }
            _ => {}
        }
        let mut first_error = Ok(());
        for event in self.events.iter().filter(|event| event.token() != WAKER) {
            let (number, is_stderr) = (event.token().0 / 2, event.token().0 % 2 == 1);
            let agent = &mut self.all[number];
            if is_stderr {
                agent.read_stderr();
                continue;
            }
            let heard = agent.hear(|agent, word| take(number, agent, word));
            agent.done |= heard.is_err();
            first_error = first_error.and(heard);
        }
        first_error
    }
}

impl Agent {
    fn start(setup: &Setup, command: &AgentCommand, deadline: Instant) -> std::io::Result<Agent> {
        let (control, theirs) = Channel::pair()?;
        let left = deadline.saturating_duration_since(Instant::now());
        rustix::net::sockopt::set_socket_timeout(
            &control,
            rustix::net::sockopt::Timeout::Send,
            Some(left.max(Duration::from_millis(1))),
        )?;
        let mut child = Command::new(&command.program)
            .args(&command.args)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A Ctrl-C at the terminal is for the command, which then ends the run in order.
            .process_group(0)
            .spawn()?;
        let stderr = child.stderr.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let agent = Agent {
            who: setup.who.clone(),
            child,
            control,
            stderr,
            stderr_tail: VecDeque::new(),
            done: false,
            stalls: None,
        };
        rustix::io::ioctl_fionbio(&agent.stderr, true)?;
        // The end of a program that failed at once is noticed with the first read, with its stderr.
        let _ = agent.control.send(setup, None);
        Ok(agent)
    }

    fn control_fd(&self) -> i32 {
        use std::os::fd::AsFd;
        self.control.as_fd().as_raw_fd()
    }

    /// Takes all that it said by now.
    fn hear(
        &mut self,
        mut take: impl FnMut(&mut Agent, Word) -> Result<(), OsError>,
    ) -> Result<(), OsError> {
        loop {
            match self.control.next(false) {
                Ok(Next::Message(Word::Failed(fault))) => {
                    return Err(OsError::from(fault).of(&self.who));
                }
                Ok(Next::Message(word)) => take(self, word)?,
                Ok(Next::Nothing) => return Ok(()),
                Ok(Next::Closed) => return Err(self.exit_report()),
                Err(error) => {
                    let what = format!("a message of {}", self.who);
                    return Err(OsError::run(what, error));
                }
            }
        }
    }

    /// Keeps the end of its stderr.
    fn read_stderr(&mut self) {
        let mut buffer = [0; 1024];
        while let Ok(n @ 1..) = self.stderr.read(&mut buffer) {
            self.stderr_tail.extend(&buffer[..n]);
            let excess = self.stderr_tail.len().saturating_sub(STDERR_TAIL);
            self.stderr_tail.drain(..excess);
        }
    }

    /// How it ended, before it was to.
    fn exit_report(&mut self) -> OsError {
        let deadline = Instant::now() + ENDED_WITHIN;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => break None,
            }
        };
        self.read_stderr();
        let words = String::from_utf8_lossy(self.stderr_tail.make_contiguous()).trim().to_owned();
        let words =
            if words.is_empty() { words } else { format!("; the end of its stderr: {words}") };
        let how = status.map_or("closed its socket".to_owned(), ending);
        OsError::Run(format!("{} {how} before the run was over{words}", self.who))
    }
}

/// An ended process, in words.
fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        // All of them before the first is waited for, so that they end side by side.
        for agent in &mut self.all {
            let _ = agent.child.kill();
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LabOptions;
    use l4s_scenario::Plan;

    /// A program that never reports ready is started twice; then the error gives the remedy. The test
    /// needs no rights, as nothing is created before that.
    #[test]
    fn who_is_not_ready_is_started_once_more() {
        let text = "duration = \"1s\"\nlink.rate = \"4mbit\"\n\
                    [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
        let plan = Plan::parse("s", text, &[]).unwrap();
        let scenario = &plan.points[0].scenario;
        let plan = LabPlan::new(scenario, |_| String::new(), &LabOptions::default()).unwrap();
        let file = std::env::temp_dir().join(format!("l4s-agents-{}", std::process::id()));
        let script = format!("echo x >> '{}'; exec sleep 1000", file.display());
        let args = ["-c".into(), script.into()].into();
        let agent = AgentCommand { program: "/bin/sh".into(), args };
        // Long enough for a shell to write a line on a busy machine: it is asked again until it is.
        let started = || std::fs::read_to_string(&file).unwrap_or_default().lines().count();
        let mut within = Duration::from_millis(100);
        let error = loop {
            let _ = std::fs::remove_file(&file);
            let error = Lab::build_within(&plan, &agent, within).unwrap_err().to_string();
            if started() == 4 || within > Duration::from_secs(20) {
                break error;
            }
            within *= 2;
        };
        assert_eq!(started(), 4, "two agents, twice");
        std::fs::remove_file(&file).unwrap();
        assert!(error.starts_with("the server of UDP source `U` is not ready after"), "{error}");
        assert!(error.contains("use fewer groups"), "{error}");
    }
}
