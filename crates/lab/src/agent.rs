//! A server or a client: a process in a network namespace of its own.
//!
//! Nothing that an agent makes outlives it, and no agent outlives the command that started it.
//! Its namespace has no name; its device is a file that only the command keeps. When the command
//! ends for any reason, the kernel closes the control socket, whose end the agent reads, and
//! kills the agent (PR_SET_PDEATHSIG). So there is nothing to undo: `kill -9` of any process, or of all,
//! leaves the machine unchanged.
//!
//! Its life: read its setup from the control socket, which is its standard input. Then enter a
//! namespace, make the device and hand it over; play its part from the command's word to start
//! until the word to stop.

mod client;
mod device;
mod reader;
mod request;
mod server;
mod socket;
mod udp;
mod writer;

use std::any::Any;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use l4s_os::netlink::Netlink;
use l4s_units::Time;
use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};
use netlink_packet_route::link::LinkAttribute;
use rustix::thread::UnshareFlags;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

pub(crate) use device::NAME as LAB_DEVICE;

use crate::lateness::{Stalls, Watchdog};
use crate::message::{Channel, Next, OnDevice, Order, Part, Row, Setup, Word};
use crate::{PragueSample, Report, setup};
use l4s_os::{Clock, OsError, keep_off_spare_core, namespace};

/// The functions of the program that an agent is a part of.
pub trait Hooks {
    /// Turns ECT(0) into ECT(1) in all packets that leave interface `index` of this process's
    /// network namespace, for as long as the returned value lives.
    fn ect1(&self, index: u32) -> Result<Box<dyn Any>, String>;

    /// The same for the congestion control `cc` only, with the sets of tracers that its connections
    /// want, which show it in a map of BPF, by its number.
    fn tracers(&self, index: u32, cc: &str, map: u32) -> Result<Box<dyn Any>, String>;

    /// Reads the state that sockets with Prague export in a map of BPF, by its number.
    fn sockets(&self, map: u32) -> Result<Box<dyn ReadSocket>, String>;
}

/// Reads the state that a socket exports.
pub trait ReadSocket {
    /// `None` where it shows nothing, or nothing yet.
    fn read(&self, socket: BorrowedFd<'_>) -> Result<Option<PragueSample>, String>;
}

/// The life of an agent: the main function of a program that is started as
/// [`AgentCommand`](crate::AgentCommand) says.
pub fn main(hooks: &dyn Hooks) -> ExitCode {
    let stdin = std::io::stdin();
    if rustix::net::sockopt::socket_type(&stdin).is_err() {
        eprintln!("error: this is a part of a lab, which starts it with a socket to talk to");
        return ExitCode::from(2);
    }
    let Ok(socket) = stdin.as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut control = Channel::new(socket);
    match live(&mut control, hooks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let told = control.send(&Word::Failed(error.clone().into()), None);
            if told.is_err() {
                eprintln!("error: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn live(control: &mut Channel, hooks: &dyn Hooks) -> Result<(), OsError> {
    let parent = rustix::process::getppid();
    let Some(setup) = listen::<Setup>(control)? else { return Ok(()) };
    namespace::allow_files(setup.files, setup.more_files)?;
    namespace::enter(UnshareFlags::NEWNET)?;
    if !namespace::die_with(parent) {
        return Ok(());
    }
    keep_off_spare_core();
    namespace::quieten_ipv6(setup.address.is_ipv6())?;
    Host::configure(&setup)?;
    let device = device::open(&setup)?;
    let index = device.index;
    let mut host = Host { hooks, index, _program: Host::program(&setup, hooks, index)? };
    let mut player = Player::prepare(&setup, hooks)?;
    let settings = Host::settings(&setup)?;
    tell(control, &Word::Ready { settings }, device.file.as_ref())?;
    drop(device);

    let mut stalls = Stalls::default();
    if let Some(Order::Go { origin_ns }) = listen(control)? {
        let clock = Clock::from_origin_ns(origin_ns);
        stalls = player.play(control, &mut host, clock, setup.watched)?;
    }
    // Data that sockets still have to send is not for a router whose run is over.
    if setup.cable.is_some() {
        Netlink::open()?.take_down(index)?;
    }
    // Sockets stay open until everybody has finished: a close now would look like the end of a
    // flow to the peer. The command may be gone; then nobody receives the message.
    let _ = control.send(&Word::Done { stalls }, None);
    while listen::<Order>(control)?.is_some() {}
    Ok(())
}

/// An agent's namespace and device.
struct Host<'a> {
    hooks: &'a dyn Hooks,
    /// The number of the device's interface.
    index: u32,
    /// The program at the device, which goes with this.
    _program: Option<Box<dyn Any>>,
}

impl Host<'_> {
    /// Sets the namespace.
    fn configure(setup: &Setup) -> Result<(), OsError> {
        for (path, value) in &setup.sysctls {
            namespace::set(path, value).map_err(|error| {
                let accecn = path == namespace::TCP_ECN && value == namespace::ACCECN;
                if accecn { error.of("`peer = \"accecn\"`") } else { error }
            })?;
        }
        if let Some(control) = &setup.default_control {
            // One that is restricted here (`tcp_allowed_congestion_control`) is no default of a
            // namespace: the one in its place is reported in the end.
            let _ = namespace::set(setup::DEFAULT_CONTROL, control);
        }
        Ok(())
    }

    /// Attaches the program at the device, if there is to be one.
    fn program(
        setup: &Setup,
        hooks: &dyn Hooks,
        index: u32,
    ) -> Result<Option<Box<dyn Any>>, OsError> {
        let (what, attached) = match &setup.device {
            OnDevice::Nothing => return Ok(None),
            OnDevice::Ect1 => ("ECT(1) instead of ECT(0)", hooks.ect1(index)),
            OnDevice::Tracers { cc, map } => ("tracers", hooks.tracers(index, cc, *map)),
        };
        let failed = |why| OsError::Machine(format!("{what} in its packets: {why}"));
        attached.map(Some).map_err(failed)
    }

    /// The settings of the namespace, read back.
    fn settings(setup: &Setup) -> Result<Vec<(String, String)>, OsError> {
        let paths = setup.sysctls.iter().map(|(path, _)| path.as_str());
        let paths = paths.chain(setup.default_control.iter().map(|_| setup::DEFAULT_CONTROL));
        paths.map(|path| Ok((path.to_owned(), namespace::get(path)?))).collect()
    }

    /// Changes all of it in mid-run.
    fn adapt(&mut self, setup: &Setup) -> Result<(), OsError> {
        Host::configure(setup)?;
        // The old one goes first: two at a time would both change packets.
        self._program = None;
        self._program = Host::program(setup, self.hooks, self.index)?;
        Netlink::open()?.bring_up(self.index, vec![LinkAttribute::Mtu(setup.mtu)])
    }
}

/// A part that is ready to be played.
enum Player {
    TcpServer(server::Server),
    TcpClient(client::Client),
    UdpServer(udp::Source),
    UdpClient(udp::Sink),
}

impl Player {
    fn prepare(setup: &Setup, hooks: &dyn Hooks) -> Result<Player, OsError> {
        Ok(match &setup.part {
            Part::TcpServer { cc, pacing, shows, .. } => {
                let shows = socket::Prague::new(*shows, hooks)?;
                Player::TcpServer(server::Server::new(setup, cc, *pacing, shows)?)
            }
            Part::TcpClient { .. } => Player::TcpClient(client::Client::new(setup)?),
            Part::UdpServer { .. } => Player::UdpServer(udp::Source::new(setup)?),
            Part::UdpClient { port } => Player::UdpClient(udp::Sink::new(setup, *port)?),
        })
    }

    /// Returns when the run is over, with the time for which it did not run, if it is to be `watched`.
    fn play(
        &mut self,
        control: &mut Channel,
        host: &mut Host<'_>,
        clock: Clock,
        watched: bool,
    ) -> Result<Stalls, OsError> {
        match self {
            Player::TcpServer(server) => server.play(control, host, clock, watched),
            Player::TcpClient(client) => client.play(control, host, clock, watched),
            Player::UdpServer(source) => source.play(control, host, clock, watched),
            // It does nothing.
            Player::UdpClient(sink) => sink.play(control).map(|()| Stalls::default()),
        }
    }
}

/// The command's next message; `None` if it is gone.
fn listen<T: serde::de::DeserializeOwned>(control: &mut Channel) -> Result<Option<T>, OsError> {
    match control.next(true).map_err(|error| OsError::run("the control socket", error))? {
        Next::Message(message) => Ok(Some(message)),
        Next::Nothing | Next::Closed => Ok(None),
    }
}

/// Takes the command's orders so far; true when the run is over. `take` is for those to the player; of a
/// setup it has the part of the player, which is applied after that of the host.
fn take_orders(
    control: &mut Channel,
    host: &mut Host<'_>,
    mut take: impl FnMut(Order) -> Result<(), OsError>,
) -> Result<bool, OsError> {
    loop {
        match control.next(false).map_err(|error| OsError::run("the control socket", error))? {
            Next::Message(Order::Stop) | Next::Closed => return Ok(true),
            Next::Message(Order::Setup(setup)) => {
                host.adapt(&setup)?;
                let settings = Host::settings(&setup)?;
                take(Order::Setup(setup))?;
                tell(control, &Word::Ready { settings }, None)?;
            }
            Next::Message(order) => take(order)?,
            Next::Nothing => return Ok(false),
        }
    }
}

/// Sends a message to the command.
fn tell(control: &Channel, word: &Word, file: Option<&OwnedFd>) -> Result<(), OsError> {
    control
        .send(word, file.map(AsFd::as_fd))
        .map_err(|error| OsError::run("the control socket", error))
}

/// Events since the last report to the command.
#[derive(Default)]
struct Reports(Vec<Row>);

impl Reports {
    fn push(&mut self, report: Report) {
        self.0.push(report.into());
    }

    fn tell(&mut self, control: &Channel) -> Result<(), OsError> {
        if self.0.is_empty() {
            return Ok(());
        }
        tell(control, &Word::Reports(std::mem::take(&mut self.0)), None)
    }
}

/// The events that a TCP agent waits for: the command, a time, sockets.
struct Waiting {
    poll: Poll,
    timer: OwnedFd,
    clock: Clock,
    /// Sees whether it does not advance, where it can.
    watchdog: Option<Watchdog>,
}

const CONTROL: Token = Token(0);
const TIMER: Token = Token(1);
const LISTENER: Token = Token(2);
/// The token of flow 0.
const FLOWS: usize = 3;
/// A connection can be read, or written to.
const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

impl Waiting {
    fn new(control: &Channel, clock: Clock, watched: bool) -> Result<Waiting, OsError> {
        let failed = |error| OsError::machine("epoll", error);
        let poll = Poll::new().map_err(failed)?;
        // It is never read: that it goes off is the message.
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
            .map_err(|error| OsError::machine("a timer", error))?;
        let watchdog = watched.then(|| Watchdog::new(clock.now()));
        let waiting = Waiting { poll, timer, clock, watchdog };
        waiting.add(&control.as_fd(), CONTROL, Interest::READABLE)?;
        waiting.add(&waiting.timer, TIMER, Interest::READABLE)?;
        Ok(waiting)
    }

    fn add(&self, file: &impl AsRawFd, token: Token, interest: Interest) -> Result<(), OsError> {
        self.poll
            .registry()
            .register(&mut SourceFd(&file.as_raw_fd()), token, interest)
            .map_err(|error| OsError::machine("epoll", error))
    }

    /// Repeats the event of a connection if it is still ready. An event by itself follows a change only.
    fn ask_again(&self, connection: &impl AsRawFd, token: Token) -> Result<(), OsError> {
        self.poll
            .registry()
            .reregister(&mut SourceFd(&connection.as_raw_fd()), token, BOTH)
            .map_err(|error| OsError::machine("epoll", error))
    }

    fn remove(&self, file: &impl AsRawFd) -> Result<(), OsError> {
        self.poll
            .registry()
            .deregister(&mut SourceFd(&file.as_raw_fd()))
            .map_err(|error| OsError::machine("epoll", error))
    }

    /// Sets the timer, in place of an earlier time. A time that is over counts.
    fn set_timer(&self, at: Time) -> Result<(), OsError> {
        let ns = self.clock.origin_ns().saturating_add(at.as_nanos()).max(1);
        let value =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)
            .map_err(|error| OsError::machine("a timer", error))?;
        Ok(())
    }

    /// Waits for the next events.
    fn wait(&mut self, events: &mut mio::Events) -> Result<(), OsError> {
        // Not before the run begins: until then its clock reads zero, as at its first instant.
        let before =
            self.clock.origin_ns().saturating_sub(Clock::from_origin_ns(0).now().as_nanos());
        let most = core::time::Duration::from_nanos(before + Watchdog::PERIOD.as_nanos());
        let most = self.watchdog.is_some().then_some(most);
        match self.poll.poll(events, most) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                return Err(OsError::machine("epoll", error));
            }
            _ => {}
        }
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.look(self.clock.now(), Watchdog::PERIOD);
        }
        Ok(())
    }

    /// How long it did not advance.
    fn stalls(&self) -> Stalls {
        self.watchdog.as_ref().map(Watchdog::stalls).unwrap_or_default()
    }
}
