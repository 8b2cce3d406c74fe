//! The TCP server: answers every client with the requested number of bytes, or with the writes of an
//! application.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::RangeFrom;
use std::os::fd::OwnedFd;

use l4s_model::{FlowId, Hold};
use l4s_os::{Clock, OsError};
use l4s_units::{Duration, Time};
use mio::{Events, Interest, Token};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketFlags, sockopt};

use super::request::Request;
use super::writer::Writer;
use super::{BOTH, CONTROL, FLOWS, Hooks, Host, LISTENER, Reports, Waiting, socket, take_orders};
use crate::Report;
use crate::address::flow_of;
use crate::lateness::Stalls;
use crate::message::{Channel, Order, Part, Setup};
use crate::setup::SERVER_PORT;

/// The data that is sent, repeatedly.
static CONTENT: [u8; 256 << 10] = [0; 256 << 10];
/// The most that a connection sends before the others have their turn, and orders and samples. A network that
/// takes data as fast as it is sent would never let it end.
const TURN: u64 = 1 << 20;

/// A listening server.
pub(super) struct Server {
    listener: OwnedFd,
    /// The congestion controls that the listener has had, the present one last.
    controls: Vec<String>,
    /// Whether connections may have Reno instead.
    leaves: bool,
    pacing: bool,
    sndbuf: Option<u64>,
    prague: socket::Prague,
    sample_every: Duration,
    downloads: RangeFrom<FlowId>,
    /// Those of flows that have no connection yet.
    writers: BTreeMap<FlowId, Writer>,
    connections: BTreeMap<FlowId, Connection>,
    /// When frames are due, and of which flow.
    due: BTreeSet<(Time, FlowId)>,
}

/// A client's connection.
struct Connection {
    socket: OwnedFd,
    flow: FlowId,
    request: Request,
    sent: u64,
    /// Whether the end was signalled to the client.
    finished: bool,
    /// The application behind it.
    writer: Option<Writer>,
}

/// How a connection's turn ended.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// It waits for its client or the network.
    Waits,
    /// It has sent [`TURN`] bytes, and could go on.
    GoesOn,
    /// Both sides have closed.
    Closed,
}

impl Server {
    pub fn new(
        setup: &Setup,
        cc: &str,
        pacing: bool,
        prague: socket::Prague,
    ) -> Result<Server, OsError> {
        let Part::TcpServer { leaves, sndbuf, sample_every_ns, downloads, apps, .. } = &setup.part
        else {
            return Err(OsError::Run("not a TCP server".to_owned()));
        };
        // A connection inherits the congestion control of its listener, which also decides about
        // the negotiation of ECN.
        let listener = socket::tcp(SocketAddr::new(setup.address, SERVER_PORT), cc)?;
        // A buffer that this user may not have is better known before the run.
        if let Some(bytes) = sndbuf {
            socket::set_send_buffer(socket::tcp(SocketAddr::new(setup.address, 0), cc)?, *bytes)?;
        }
        rustix::net::listen(&listener, 65_535)
            .map_err(|error| OsError::machine("listening", error))?;
        Ok(Server {
            listener,
            controls: vec![cc.to_owned()],
            leaves: *leaves,
            pacing,
            sndbuf: *sndbuf,
            prague,
            sample_every: Duration::from_nanos(*sample_every_ns),
            downloads: downloads.clone(),
            writers: apps.iter().map(|writes| (writes.flow, Writer::new(writes))).collect(),
            connections: BTreeMap::new(),
            due: BTreeSet::new(),
        })
    }

    /// Serves until the run is over. Says how long it did not advance, if `watched`.
    pub fn play(
        &mut self,
        control: &mut Channel,
        host: &mut Host<'_>,
        clock: Clock,
        watched: bool,
    ) -> Result<Stalls, OsError> {
        let mut waiting = Waiting::new(control, clock, watched)?;
        waiting.add(&self.listener, LISTENER, Interest::READABLE)?;
        let mut reports = Reports::default();
        let mut events = Events::with_capacity(1024);
        let mut next_sample = Time::ZERO + self.sample_every;
        let mut timer = Time::NEVER;
        // Orders that came with the order to start cause no further event.
        let hooks = host.hooks;
        let mut over = take_orders(control, host, |order| self.obey(order, hooks))?;
        loop {
            let next = self.due.first().map_or(next_sample, |(due, _)| next_sample.min(*due));
            if next != timer {
                waiting.set_timer(next)?;
            }
            timer = next;
            waiting.wait(&mut events)?;
            // First, so that the writes into a flow are known before the flow comes.
            let called = events.iter().any(|event| event.token() == CONTROL);
            over |= called && take_orders(control, host, |order| self.obey(order, hooks))?;
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(&waiting)?,
                    Token(token) if token >= FLOWS => {
                        let flow = FlowId::new((token - FLOWS) as u32);
                        let Some(connection) = self.connections.get_mut(&flow) else { continue };
                        match connection.advance()? {
                            Turn::Closed => {
                                reports.push(connection.sample(
                                    clock,
                                    self.pacing,
                                    &self.prague,
                                )?);
                                self.connections.remove(&flow);
                                continue;
                            }
                            Turn::GoesOn => {
                                waiting.ask_again(&connection.socket, event.token())?;
                            }
                            Turn::Waits => {}
                        }
                        if let Some(due) = connection.begins(clock.now()) {
                            self.due.insert((due, flow));
                        }
                    }
                    _ => {}
                }
            }
            self.write_frames(clock, &mut reports)?;
            let now = clock.now();
            if over || now >= next_sample {
                // A download is looked at when it is over, or the run is.
                let looked_at = |(flow, connection): &(&FlowId, &Connection)| {
                    over || !self.downloads.contains(flow) || connection.lasts()
                };
                for (_, connection) in self.connections.iter().filter(looked_at) {
                    reports.push(connection.sample(clock, self.pacing, &self.prague)?);
                }
                // Late by more than an interval, it leaves out the missed samples.
                let every = self.sample_every.as_nanos();
                next_sample = Time::from_nanos((now.as_nanos() / every + 1) * every);
            }
            reports.tell(control)?;
            if over {
                return Ok(waiting.stalls());
            }
        }
    }

    fn obey(&mut self, order: Order, hooks: &dyn Hooks) -> Result<(), OsError> {
        match order {
            Order::Write(writes) => {
                self.writers.insert(writes.flow, Writer::new(&writes));
            }
            Order::Setup(setup) => {
                if let Part::TcpServer { cc, pacing, shows, sndbuf, .. } = setup.part {
                    socket::set_control(&self.listener, &cc)?;
                    self.controls.retain(|known| *known != cc);
                    self.controls.push(cc);
                    // A download's handshake may have begun with the ECN of the old setup.
                    self.leaves = true;
                    (self.pacing, self.sndbuf) = (pacing, sndbuf);
                    self.prague = socket::Prague::new(shows, hooks)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes every connection that waits.
    fn accept(&mut self, waiting: &Waiting) -> Result<(), OsError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(OsError::run("accepting a connection", error)),
            };
            // Gone again already?
            let Ok(Some(client)) = rustix::net::getpeername(&socket) else { continue };
            let flow = SocketAddr::try_from(client).ok().and_then(|c| flow_of(c.ip(), c.port()));
            let Some(flow) = flow else { continue };
            self.check(&socket)?;
            if self.pacing {
                socket::pace(&socket)?;
            }
            if let Some(bytes) = self.sndbuf {
                socket::set_send_buffer(&socket, bytes)?;
            }
            let writer = self.writers.remove(&flow);
            match writer.as_ref().map(|writer| writer.hold) {
                Some(Hold::None) => sockopt::set_tcp_nodelay(&socket, true)
                    .map_err(|error| OsError::machine("TCP_NODELAY", error))?,
                Some(Hold::Cork) => sockopt::set_tcp_cork(&socket, true)
                    .map_err(|error| OsError::machine("TCP_CORK", error))?,
                Some(Hold::Nagle) | None => {}
            }
            waiting.add(&socket, Token(FLOWS + flow.index()), BOTH)?;
            let request = Request::new();
            let connection = Connection { socket, flow, request, sent: 0, finished: false, writer };
            self.connections.insert(flow, connection);
        }
    }
}

impl Server {
    /// Writes every frame that is due, or skips it.
    fn write_frames(&mut self, clock: Clock, reports: &mut Reports) -> Result<(), OsError> {
        while let Some((at, flow)) = self.due.first().copied() {
            if at > clock.now() {
                break;
            }
            self.due.pop_first();
            // A client may have closed.
            let Some(connection) = self.connections.get_mut(&flow) else { continue };
            let next = connection.write_frame(clock, reports)?;
            if next != Time::NEVER {
                self.due.insert((next, flow));
            }
        }
        Ok(())
    }

    /// A route or a program of the machine (BPF at a cgroup) may choose another congestion control.
    fn check(&self, socket: &OwnedFd) -> Result<(), OsError> {
        let cc = sockopt::tcp_congestion(socket)
            .map_err(|error| OsError::run("a connection's congestion control", error))?;
        // The kernel's own DCTCP and TCP Prague go on as `dctcp-reno` and `prague-reno`.
        if self.controls.contains(&cc) || (self.leaves && cc.ends_with("reno")) {
            return Ok(());
        }
        let asked = self.controls.last().map_or("", String::as_str);
        Err(OsError::Machine(format!("a connection got `{cc}`, where `{asked}` was asked for")))
    }
}

impl Connection {
    /// Reads and sends without waiting, in one turn.
    fn advance(&mut self) -> Result<Turn, OsError> {
        if self.read()? {
            return Ok(Turn::Closed);
        }
        if self.writer.is_some() {
            self.send_frames()?;
        } else if let Some(size) = self.request.size() {
            return self.write(size);
        }
        Ok(Turn::Waits)
    }

    /// Whether it is without end, or of an application.
    fn lasts(&self) -> bool {
        self.writer.is_some() || self.request.size() == Some(None)
    }

    /// When an application that begins now writes first: its client has asked, and had not before.
    /// `None` for all others, and for one that writes nothing.
    fn begins(&mut self, now: Time) -> Option<Time> {
        let asked = self.request.size().is_some();
        let writer = self.writer.as_mut().filter(|_| asked)?;
        let first = writer.begin(now).then(|| writer.next())?;
        (first != Time::NEVER).then_some(first)
    }

    /// Writes the frame that is due, or skips it; gives the time of the next one.
    fn write_frame(&mut self, clock: Clock, reports: &mut Reports) -> Result<Time, OsError> {
        let (flow, Some(writer)) = (self.flow, &mut self.writer) else { return Ok(Time::NEVER) };
        let sent = self.sent.saturating_sub(socket::unsent(&self.socket)?.into());
        let (at, is_written, next) = (clock.now(), writer.take(sent), writer.next());
        if is_written {
            reports.push(Report::Written { flow, at });
            self.send_frames()?;
        } else {
            reports.push(Report::Skipped { flow, at });
        }
        Ok(next)
    }

    /// Sends as much of the application's writes as the socket takes.
    fn send_frames(&mut self) -> Result<(), OsError> {
        while let Some(left) = self.writer.as_ref().and_then(|writer| writer.left(self.sent)) {
            let most = left.min(CONTENT.len() as u64);
            // A long frame is one write still: TCP waits for the rest of it.
            let flags = if most == left { SendFlags::empty() } else { SendFlags::MORE };
            if !self.send(most, flags)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the received data; true when the client has closed.
    fn read(&mut self) -> Result<bool, OsError> {
        let mut buffer = [0; 1024];
        loop {
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, 0)) => return Ok(true),
                Ok((_, n)) => self.request.take(&buffer[..n]),
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                // The client gave it up.
                Err(Errno::CONNRESET) => return Ok(true),
                Err(error) => return Err(self.broken(error)),
            }
        }
    }

    /// Sends as much of `size` as the socket takes in a turn, and signals the end to the client.
    fn write(&mut self, size: Option<u64>) -> Result<Turn, OsError> {
        let end = self.sent + TURN;
        while !self.finished {
            if self.sent >= end {
                return Ok(Turn::GoesOn);
            }
            let left = size.map_or(u64::MAX, |size| size - self.sent);
            if left == 0 {
                self.finished = true;
                rustix::net::shutdown(&self.socket, Shutdown::Write)
                    .map_err(|error| self.broken(error))?;
                break;
            }
            let most = left.min(CONTENT.len() as u64);
            // The close follows the last bytes. A FIN goes with them where TCP may wait for
            // it; in a segment of its own it would wait for a round trip if the window were full.
            let flags = if most == left { SendFlags::MORE } else { SendFlags::empty() };
            if !self.send(most, flags)? {
                break;
            }
        }
        Ok(Turn::Waits)
    }

    /// Sends up to `most` bytes, which [`CONTENT`] has; false where the socket takes no more for
    /// now.
    fn send(&mut self, most: u64, flags: SendFlags) -> Result<bool, OsError> {
        let flags = SendFlags::NOSIGNAL | flags;
        match rustix::net::send(&self.socket, &CONTENT[..most as usize], flags) {
            Ok(n) => self.sent += n as u64,
            // Reading shows that the client gave it up.
            Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(self.broken(error)),
        }
        Ok(true)
    }

    fn sample(
        &self,
        clock: Clock,
        paced: bool,
        prague: &socket::Prague,
    ) -> Result<Report, OsError> {
        let mut sample = socket::sample(&self.socket, paced)?;
        sample.prague = prague.read(&self.socket)?;
        Ok(Report::Sample { flow: self.flow, at: clock.now(), sample })
    }

    fn broken(&self, error: Errno) -> OsError {
        OsError::run(format_args!("flow {}", self.flow), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Instant;

    /// However fast its client reads.
    #[test]
    fn a_connection_lets_others_have_their_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let reader = thread::spawn(move || std::io::copy(&mut client, &mut std::io::sink()));
        let socket = listener.accept().unwrap().0;
        socket.set_nonblocking(true).unwrap();
        let (flow, request) = (FlowId::new(0), Request::new());
        let socket = socket.into();
        let mut connection =
            Connection { socket, flow, request, sent: 0, finished: false, writer: None };

        let (began, mut turns) = (Instant::now(), 0);
        while turns < 3 {
            assert!(began.elapsed().as_secs() < 20, "{turns} turns");
            let before = connection.sent;
            let turn = connection.write(None).unwrap();
            let sent = connection.sent - before;
            assert!(sent < TURN + CONTENT.len() as u64, "{sent} B");
            assert_eq!(turn == Turn::GoesOn, sent >= TURN, "{sent} B");
            turns += u32::from(turn == Turn::GoesOn);
        }
        drop(connection);
        assert!(reader.join().unwrap().unwrap() >= 3 * TURN);
    }
}
