//! The TCP client: opens every flow of its group at its time, and discards the received data.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use l4s_model::FlowId;
use l4s_os::{Clock, OsError};
use l4s_units::{Duration as Span, Time};
use mio::{Events, Token};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};

use super::device::Path;
use super::reader::Reader;
use super::{BOTH, CONTROL, FLOWS, Host, Reports, Waiting, request, socket, take_orders};
use crate::Report;
use crate::address::of_flow;
use crate::lateness::Stalls;
use crate::message::{Channel, Intervals, Opens, Order, Part, Setup};
use crate::setup::SERVER_PORT;

/// The most that is discarded by one call.
const GULP: usize = 1 << 20;
/// A bulk flow is read about this often in real time. To wake a reader for each packet takes as much of the data
/// plane's time as the packet itself. A kernel in virtual time is compared with the simulator, which reads at once: Linux
/// acknowledges pushed data when it is read (`tcp_cleanup_rbuf`), and would send 12 % fewer acknowledgements. There
/// a thread reads an endless flow.
const READ_EVERY: Span = Span::from_millis(1);
/// The most that waits to be read: half of a receive buffer as the kernel makes it (`tcp_rmem`).
const MOST_UNREAD: u64 = 64 << 10;
/// Less than some packets is not worth waiting for.
const LEAST_UNREAD: u64 = 8 << 10;
/// A flow that has brought this much saves more by a thread than the thread costs.
const DESERVES_THREAD: u64 = 1 << 20;

/// A client before its first flow.
pub(super) struct Client {
    here: IpAddr,
    server: SocketAddr,
    cc: String,
    rcvbuf: Option<u64>,
    /// When it reports its reads.
    intervals: Intervals,
    path: Path,
    /// Those to come, the next one last.
    flows: Vec<Opening>,
    /// Bytes of a frame, of every flow of an application.
    frames: BTreeMap<FlowId, u64>,
    open: BTreeMap<FlowId, Flow>,
    /// When it looks how much its threads have read: at the end of an interval.
    next_look: Time,
}

/// A flow to come.
struct Opening {
    at: Time,
    flow: FlowId,
    /// How much it will ask for; `None` without end.
    size: Option<u64>,
}

/// A flow that was opened.
struct Flow {
    socket: Arc<OwnedFd>,
    size: Option<u64>,
    /// Whether it asked.
    asked: bool,
    /// Bytes that were discarded.
    received: u64,
    /// Bytes that were discarded and not reported yet.
    unreported: u64,
    /// When something was discarded last.
    read_at: Time,
    /// Bytes of a frame, where an application writes.
    frame: Option<u64>,
    /// How often it is read; `None` for at once, where the time of a read matters.
    reading: Option<Reading>,
    /// The thread that reads it; `None` where this one does.
    reader: Option<Reader>,
}

/// Adapts how much a bulk flow has to wait for until it is read (SO_RCVLOWAT).
struct Reading {
    /// The bytes for which it waits.
    unread: u64,
    /// When it looked last, and the bytes received by then.
    looked: (Time, u64),
}

impl Reading {
    fn new(now: Time) -> Reading {
        Reading { unread: 1, looked: (now, 0) }
    }

    /// The bytes to wait for from now on, where they change by much.
    fn adapt(&mut self, received: u64, now: Time) -> Option<u64> {
        let (then, before) = self.looked;
        let passed = now.since(then);
        if passed < READ_EVERY {
            return None;
        }
        self.looked = (now, received);
        let fraction = READ_EVERY.as_secs_f64() / passed.as_secs_f64();
        let bytes = ((received - before) as f64 * fraction) as u64;
        let unread = if bytes < LEAST_UNREAD { 1 } else { bytes.min(MOST_UNREAD) };
        let changes = unread > 2 * self.unread || 2 * unread < self.unread;
        changes.then(|| {
            self.unread = unread;
            unread
        })
    }
}

impl Client {
    pub fn new(setup: &Setup) -> Result<Client, OsError> {
        let Part::TcpClient { cc, rcvbuf, flows, frames, intervals } = &setup.part else {
            return Err(OsError::Run("not a TCP client".to_owned()));
        };
        let opening = |&(flow, at, size): &_| Opening { at: Time::from_nanos(at), flow, size };
        let client = Client {
            here: setup.address,
            server: SocketAddr::new(setup.peer, SERVER_PORT),
            cc: cc.clone(),
            rcvbuf: *rcvbuf,
            intervals: *intervals,
            path: Path::new(setup)?,
            flows: flows.iter().rev().map(opening).collect(),
            frames: frames.iter().copied().collect(),
            open: BTreeMap::new(),
            next_look: Time::NEVER,
        };
        // Whether the kernel has the congestion control is better known before the run.
        socket::tcp(SocketAddr::new(client.here, 0), cc)?;
        Ok(client)
    }

    /// Opens flows and reads from them until the run is over. Says how long it did not advance, if
    /// `watched`.
    pub fn play(
        &mut self,
        control: &mut Channel,
        host: &mut Host<'_>,
        clock: Clock,
        watched: bool,
    ) -> Result<Stalls, OsError> {
        let mut waiting = Waiting::new(control, clock, watched)?;
        let mut reports = Reports::default();
        let mut events = Events::with_capacity(1024);
        // Never touched: discarded data is not copied, so that its pages need not exist.
        let mut sink = vec![0; GULP];
        let mut timer = Time::NEVER;
        // Orders that came with the order to start cause no further event.
        if take_orders(control, host, |order| self.obey(order, clock, &mut reports))? {
            return Ok(waiting.stalls());
        }
        loop {
            let next = self.next();
            if next != timer && next != Time::NEVER {
                waiting.set_timer(next)?;
            }
            timer = next;
            waiting.wait(&mut events)?;
            for event in &events {
                let Token(token) = event.token();
                let Some(flow) = token.checked_sub(FLOWS) else { continue };
                let flow = FlowId::new(flow as u32);
                let Some(state) = self.open.get_mut(&flow) else { continue };
                let broken = |error| OsError::run(format_args!("flow {flow}"), error);
                if !state.asked && event.is_writable() {
                    state.ask().map_err(broken)?;
                }
                if !state.asked || state.reader.is_some() {
                    continue;
                }
                let (frames, received) = (state.frames(), state.received);
                let is_over = state.discard(&mut sink, event.is_read_closed()).map_err(broken)?;
                let at = clock.now();
                state.adapt_reading(at).map_err(|error| OsError::run("SO_RCVLOWAT", error))?;
                if self.intervals.number(at) != self.intervals.number(state.read_at) {
                    state.report_reads(flow, &mut reports);
                }
                state.unreported += state.received - received;
                state.read_at = at;
                for _ in frames..state.frames() {
                    reports.push(Report::Delivered { flow, at });
                }
                if is_over {
                    state.report_reads(flow, &mut reports);
                    reports.push(Report::Closed { flow, at });
                    self.open.remove(&flow);
                } else if !watched && state.deserves_thread() {
                    waiting.remove(&state.socket)?;
                    state.reader = Some(Reader::start(&state.socket, state.received)?);
                    self.next_look = self.next_look.min(self.intervals.end(at));
                }
            }
            if clock.now() >= self.next_look {
                self.look(clock.now(), &mut reports)?;
            }
            // Changes at an instant hold for the flows that open then.
            self.path.change(clock.now())?;
            while self.flows.last().is_some_and(|opening| opening.at <= clock.now()) {
                let Some(Opening { flow, size, .. }) = self.flows.pop() else { break };
                let socket = self.connect(flow, clock, &mut reports)?;
                waiting.add(&socket, Token(FLOWS + flow.index()), BOTH)?;
                let frame = self.frames.get(&flow).copied();
                let reading = (watched && frame.is_none() && self.rcvbuf.is_none())
                    .then(|| Reading::new(clock.now()));
                self.open.insert(flow, Flow::new(socket, size, frame, reading));
            }
            let called = events.iter().any(|event| event.token() == CONTROL);
            let over = called
                && take_orders(control, host, |order| self.obey(order, clock, &mut reports))?;
            if over {
                for (flow, state) in &mut self.open {
                    state.finish(*flow, clock.now(), &mut sink, &mut reports);
                }
            }
            reports.tell(control)?;
            if over {
                return Ok(waiting.stalls());
            }
        }
    }

    fn obey(&mut self, order: Order, clock: Clock, reports: &mut Reports) -> Result<(), OsError> {
        match order {
            Order::Open(Opens { flow, at_ns, size, frame }) => {
                let at = Time::from_nanos(at_ns);
                let place = self.flows.partition_point(|later| later.at > at);
                self.flows.insert(place, Opening { at, flow, size });
                self.frames.extend(frame.map(|bytes| (flow, bytes)));
            }
            Order::GiveUp { flow } => {
                self.flows.retain(|opening| opening.flow != flow);
                if let Some(mut open) = self.open.remove(&flow) {
                    // It may be broken already.
                    let _ = open.stop_reader(clock.now());
                    open.report_reads(flow, reports);
                    // Its close is a reset, and nothing of it is left.
                    sockopt::set_socket_linger(&open.socket, Some(Duration::ZERO))
                        .map_err(|error| OsError::run(format_args!("flow {flow}"), error))?;
                    reports.push(Report::Closed { flow, at: clock.now() });
                }
            }
            Order::Setup(setup) => {
                if let Part::TcpClient { cc, rcvbuf, .. } = setup.part {
                    (self.cc, self.rcvbuf) = (cc, rcvbuf);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// When something is to be done without being asked.
    fn next(&self) -> Time {
        let opening = self.flows.last().map_or(Time::NEVER, |opening| opening.at);
        opening.min(self.path.next()).min(self.next_look)
    }

    /// Reports the bytes that threads have read in the interval that is over.
    fn look(&mut self, now: Time, reports: &mut Reports) -> Result<(), OsError> {
        // The last instant of that interval, as only a thread knows when it read.
        let last = Time::from_nanos(self.next_look.as_nanos() - 1);
        self.next_look = self.intervals.end(now);
        let mut over = Vec::new();
        for (&flow, state) in &mut self.open {
            let Some(reader) = &state.reader else { continue };
            if reader.is_over() {
                over.push(flow);
            } else {
                let received = reader.received()?;
                state.count(received, last);
                state.report_reads(flow, reports);
            }
        }
        for flow in over {
            let Some(mut state) = self.open.remove(&flow) else { continue };
            state
                .stop_reader(last)
                .map_err(|error| OsError::run(format_args!("flow {flow}"), error))?;
            state.report_reads(flow, reports);
            reports.push(Report::Closed { flow, at: last });
        }
        Ok(())
    }

    /// Sends a flow's SYN.
    fn connect(
        &self,
        flow: FlowId,
        clock: Clock,
        reports: &mut Reports,
    ) -> Result<OwnedFd, OsError> {
        let socket = socket::tcp(of_flow(self.here, flow), &self.cc)?;
        // Before the SYN, which announces a window.
        if let Some(bytes) = self.rcvbuf {
            socket::set_receive_buffer(&socket, bytes)?;
        }
        reports.push(Report::Opened { flow, at: clock.now() });
        match rustix::net::connect(&socket, &self.server) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(OsError::run(format_args!("flow {flow}: connecting"), error)),
        }
    }
}

impl Flow {
    fn new(
        socket: OwnedFd,
        size: Option<u64>,
        frame: Option<u64>,
        reading: Option<Reading>,
    ) -> Flow {
        let (asked, received, unreported, read_at) = (false, 0, 0, Time::ZERO);
        let (socket, reader) = (Arc::new(socket), None);
        Flow { socket, size, asked, received, unreported, read_at, frame, reading, reader }
    }

    /// Whether a thread is to read it in virtual time: it is endless, so the time of a read does not matter, and not slow.
    fn deserves_thread(&self) -> bool {
        self.size.is_none() && self.frame.is_none() && self.received >= DESERVES_THREAD
    }

    /// Its thread had read `received` bytes by `now`.
    fn count(&mut self, received: u64, now: Time) {
        if received > self.received {
            self.unreported += received - self.received;
            (self.received, self.read_at) = (received, now);
        }
    }

    /// Stops its thread, if it has one; the error that broke it before.
    fn stop_reader(&mut self, now: Time) -> rustix::io::Result<()> {
        let Some(reader) = self.reader.take() else { return Ok(()) };
        let (received, end) = reader.stop();
        self.count(received, now);
        end
    }

    /// Makes the kernel announce data later, or sooner.
    fn adapt_reading(&mut self, now: Time) -> std::io::Result<()> {
        let Some(unread) = self.reading.as_mut().and_then(|r| r.adapt(self.received, now)) else {
            return Ok(());
        };
        socket::set_low_water(&self.socket, unread)
    }

    /// Reads and reports the rest in the end.
    fn finish(&mut self, flow: FlowId, now: Time, sink: &mut [u8], reports: &mut Reports) {
        // A connection that broke in the last moment has nothing more.
        if self.reader.is_some() {
            let _ = self.stop_reader(now);
        } else {
            let received = self.received;
            let _ = self.discard(sink, true);
            if self.received > received {
                self.unreported += self.received - received;
                self.read_at = now;
            }
        }
        self.report_reads(flow, reports);
    }

    /// Reports the bytes that were read since the report before, if any.
    fn report_reads(&mut self, flow: FlowId, reports: &mut Reports) {
        let bytes = std::mem::take(&mut self.unreported);
        if bytes > 0 {
            reports.push(Report::Read { flow, at: self.read_at, bytes });
        }
    }

    /// The handshake is over: asks the server, if it came to a connection.
    fn ask(&mut self) -> rustix::io::Result<()> {
        sockopt::socket_error(&self.socket)??;
        // A new socket has room for a request.
        match rustix::net::send(&self.socket, &request::asking_for(self.size), SendFlags::NOSIGNAL)
        {
            Ok(_) => self.asked = true,
            // Not connected yet: there will be another event.
            Err(Errno::AGAIN | Errno::NOTCONN) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Discards the received data. True when the server has closed; `closed` says that it may have.
    fn discard(&mut self, sink: &mut [u8], closed: bool) -> rustix::io::Result<bool> {
        loop {
            match rustix::net::recv(&self.socket, &mut *sink, RecvFlags::TRUNC) {
                Ok((_, 0)) => return Ok(true),
                Ok((_, n)) => {
                    self.received += n as u64;
                    // Nothing is left: later data is another event.
                    if n < sink.len() && !closed {
                        return Ok(false);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// How many frames of an application have come. All of them are of the same size.
    fn frames(&self) -> u64 {
        self.frame.map_or(0, |bytes| self.received / bytes)
    }
}
