//! A run on two cores: servers on one; clients, and the path to them, on the other.
//!
//! ```text
//!  first half               second half
//!  servers ──▶ hops before ─▶ bottleneck ─▶ hops behind ─▶ clients
//!     ▲                                                       │
//!     └──────────────────── delay: the RTT ───────────────────┘
//! ```
//!
//! Queues behind the bottleneck have much of the work. Where there are some, the path up to the bottleneck belongs to the first
//! half.
//!
//! A client's message arrives at its server a base RTT later. So the first half may be so far ahead of the
//! second: it is the lookahead of a conservative parallel simulation. The first half advances in slices, and
//! writes its events to a log. The second half replays the log among its own events, in the order that they have on one core
//! ([`Turn`]), and reports all of them to the observer. So the results are the same bytes.
//!
//! Why the order is that of one core: there, the next event is always the first of those that are due in either
//! half. The first half depends on the second by messages alone, and receives them before their time. So its own events
//! are in the same order without the second half, which takes the first of both each time.

use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, RecvError, TryRecvError};
use std::{hint, mem, thread};

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_bottleneck::Straddling;
use l4s_cc::classic_ecn::Report;
use l4s_model::{Direction, FlowId, Scenario};
use l4s_observe::{FlowState, HopEvent, LinkState, Observer, Wants};
use l4s_units::{Duration, Time};

use super::{Engine, Event, Outcome, Part, Turn};
use crate::message::Return;
use crate::packet::Packet;

/// Slices of a lookahead. More let the halves differ less in how far they are; fewer cost fewer switches.
const SLICES: usize = 8;

/// How often a half looks for the next slice before it sleeps: for some 0.2 ms.
const LOOKS: usize = 5000;

/// The first half, with or without the bottleneck.
struct Servers<const BOTTLENECK: bool>;

impl<const BOTTLENECK: bool> Part<Log> for Servers<BOTTLENECK> {
    const SERVERS: bool = true;
    const BOTTLENECK: bool = BOTTLENECK;
    const CLIENTS: bool = false;

    #[inline(always)]
    fn begins(log: &mut Log, turn: Turn) {
        log.turn = Some(turn);
    }

    #[inline(always)]
    fn sent(log: &mut Log, packet: &Packet) {
        log.push(What::Sent(*packet));
    }

    fn finished(log: &mut Log, slot: u32) {
        log.push(What::Finished(slot));
    }
}

/// The second half, with the bottleneck where the first is without.
struct Clients<const BOTTLENECK: bool>;

impl<O, const BOTTLENECK: bool> Part<O> for Clients<BOTTLENECK> {
    const SERVERS: bool = false;
    const BOTTLENECK: bool = BOTTLENECK;
    const CLIENTS: bool = true;
}

/// An event of the first half, or more of one.
#[derive(Debug)]
struct Record {
    /// The turn of the event that begins with it; `None` if it is of the same event as the record before.
    turn: Option<Turn>,
    what: What,
}

/// A line of the cache: the log goes from core to core.
const _: () = assert!(size_of::<Record>() <= 64);

/// A call of [`Observer`], unless something else is said.
#[derive(Debug)]
enum What {
    /// A packet leaves its server. It goes on to the second half.
    Sent(Packet),
    Arrived(Packet),
    Marked(Packet, Queue, MarkCause),
    /// It goes on to the second half, too.
    Departed(Packet, Queue, Duration),
    Dropped(Packet, Queue, DropCause),
    /// The usual [`Observer::at_hop`].
    LeftHop(u16, Packet, Queue, Duration),
    /// Any.
    AtHop(Box<(u16, Packet, Queue, HopEvent)>),
    /// All of the long flow at this place is acknowledged.
    Finished(u32),
    Detected(FlowId, Box<Report>),
    RoundTrip(FlowId, Duration),
    Retransmitted(FlowId),
    Link(LinkState),
    Flow(Box<FlowState>),
}

/// The observer of the first half.
struct Log {
    records: Vec<Record>,
    /// Of the present event, if it has no record.
    turn: Option<Turn>,
    sampling: Option<Duration>,
    wants: Wants,
}

impl Log {
    #[inline]
    fn push(&mut self, what: What) {
        self.records.push(Record { turn: self.turn.take(), what });
    }
}

impl Observer<Packet> for Log {
    #[inline]
    fn arrived(&mut self, packet: &Packet, _: Time) {
        if self.wants.arrivals {
            self.push(What::Arrived(*packet));
        }
    }

    #[inline]
    fn marked(&mut self, packet: &Packet, queue: Queue, cause: MarkCause, _: Time) {
        self.push(What::Marked(*packet, queue, cause));
    }

    #[inline]
    fn departed(&mut self, packet: &Packet, queue: Queue, sojourn: Duration, _: Time) {
        self.push(What::Departed(*packet, queue, sojourn));
    }

    fn dropped(&mut self, packet: &Packet, queue: Queue, cause: DropCause, _: Time) {
        self.push(What::Dropped(*packet, queue, cause));
    }

    fn at_hop(&mut self, hop: u16, packet: &Packet, queue: Queue, what: HopEvent, _: Time) {
        self.push(match what {
            HopEvent::Departed(sojourn) => What::LeftHop(hop, *packet, queue, sojourn),
            _ => What::AtHop(Box::new((hop, *packet, queue, what))),
        });
    }

    fn detected(&mut self, flow: FlowId, report: Report, _: Time) {
        self.push(What::Detected(flow, Box::new(report)));
    }

    #[inline]
    fn round_trip(&mut self, flow: FlowId, rtt: Duration, _: Time) {
        self.push(What::RoundTrip(flow, rtt));
    }

    fn retransmitted(&mut self, flow: FlowId, _: Time) {
        self.push(What::Retransmitted(flow));
    }

    fn sample_link(&mut self, state: LinkState, _: Time) {
        self.push(What::Link(state));
    }

    fn sample_flow(&mut self, state: FlowState, _: Time) {
        self.push(What::Flow(Box::new(state)));
    }

    fn sampling_interval(&self) -> Option<Duration> {
        self.sampling
    }

    fn wants(&self) -> Wants {
        self.wants
    }
}

/// A slice of time, on its way between the halves: forth with records, and back with messages. Its memory is used again.
#[derive(Default)]
struct Slice {
    records: Vec<Record>,
    /// Messages that set out in it, each with its group.
    messages: Vec<(usize, Return)>,
}

/// How long a client's packet takes to its server at least: so far the servers of a run may be ahead. `None` where servers
/// and clients have more in common than packets: `[[app]]`, `[[web]]`, `[[path]]`, an uplink, and groups that send up.
///
/// Example: [`run_on_two_cores`].
pub fn lookahead(scenario: &Scenario) -> Option<Duration> {
    let Scenario { groups, apps, web, paths, uplink, changes, .. } = scenario;
    let goes_up = |source| scenario.direction_of(source) == Direction::Up;
    let is_one = !apps.is_empty()
        || !web.is_empty()
        || !paths.is_empty()
        || uplink.is_some()
        || (0..scenario.roster().sources()).any(goes_up);
    if is_one {
        return None;
    }
    let changed = changes.iter().flat_map(|change| change.rtts.iter().map(|(_, rtt)| *rtt));
    let rtts = groups.iter().map(|group| group.rtt).chain(changed);
    rtts.min().filter(|rtt| !(*rtt / SLICES as u64).is_zero())
}

/// Whether the cut is behind the bottleneck, as queues behind it have much of the work. A link that carries several packets at a
/// time delivers them later than it reports them, so it is in one half with the clients.
fn is_behind(scenario: &Scenario) -> bool {
    let link = &scenario.link;
    let carries = link.trace.is_some() || link.radio.is_some() || !link.aggregation.is_zero();
    !carries && scenario.has_queues_behind()
}

/// As [`run`](crate::run), on two cores: `observer` receives the same events in the same order. `None`, without a run, where
/// there is no [`lookahead`], or `observer` implements [`Observer::answered`].
///
/// ```
/// use l4s_model::{Group, Link, Scenario};
/// use l4s_units::{Duration, Rate};
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(12));
/// let mut scenario = Scenario::new("Reno", Duration::from_secs(2), link, aqm);
/// let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
/// scenario.groups.push(Group::new("A", reno, Duration::from_millis(10)));
///
/// assert_eq!(l4s_sim::lookahead(&scenario), Some(Duration::from_millis(10)));
/// let outcome = l4s_sim::run_on_two_cores(&scenario, &mut ()).unwrap();
/// assert_eq!(outcome, l4s_sim::run(&scenario, &mut ()));
/// ```
pub fn run_on_two_cores<O: Observer<Packet>>(
    scenario: &Scenario,
    observer: &mut O,
) -> Option<Outcome> {
    let lookahead = lookahead(scenario).filter(|_| !observer.wants().answers)?;
    Some(match is_behind(scenario) {
        true => run_halves::<_, Servers<true>, Clients<false>>(scenario, observer, lookahead),
        false => run_halves::<_, Servers<false>, Clients<true>>(scenario, observer, lookahead),
    })
}

fn run_halves<O, S, C>(scenario: &Scenario, observer: O, lookahead: Duration) -> Outcome
where
    O: Observer<Packet>,
    S: Part<Log> + Send,
    C: Part<O>,
{
    let end = Time::ZERO + scenario.duration;
    let slice = lookahead / SLICES as u64;
    // The first slice is time zero alone. The others begin after the end of the one before. So messages of a slice arrive a
    // lookahead later, in a slice that the first half has not begun.
    let ends = || (0..).map(move |n: u64| (Time::ZERO + slice * n).min(end));
    let count = 1 + scenario.duration.as_nanos().div_ceil(slice.as_nanos()) as usize;
    let (sampling, wants) = (observer.sampling_interval(), observer.wants());
    let log = Log { records: Vec::new(), turn: None, sampling, wants };
    let mut servers: Engine<Log, S> = Engine::new(scenario, log);
    let mut clients: Engine<O, C> = Engine::new(scenario, observer);
    let (forth, to_clients) = mpsc::channel::<Slice>();
    let (back, to_servers) = mpsc::channel::<Slice>();
    // Both ends of each channel are in the closures, so that one half ends if the other panics.
    let (servers, clients) = thread::scope(move |threads| {
        let first = threads.spawn(move || {
            for (number, until) in ends().take(count).enumerate() {
                let mut slice = Slice::default();
                if number >= SLICES {
                    let Ok(received) = receive(&to_servers) else { break };
                    slice = received;
                }
                servers.take(&mut slice.messages);
                servers.advance(until);
                mem::swap(&mut servers.observer.records, &mut slice.records);
                if forth.send(slice).is_err() {
                    break;
                }
            }
            servers
        });
        for until in ends().take(count) {
            let Ok(mut slice) = receive(&to_clients) else { break };
            clients.follow(&slice.records, until);
            slice.records.clear();
            clients.give(&mut slice.messages);
            // The messages of the last slices arrive after the end.
            let _ = back.send(slice);
        }
        (first.join().unwrap_or_else(|panic| resume_unwind(panic)), clients)
    });
    finish(servers, clients, end)
}

/// The next slice. To sleep and wake up takes longer than most slices, so before that it looks again and again.
fn receive(from: &Receiver<Slice>) -> Result<Slice, RecvError> {
    for _ in 0..LOOKS {
        match from.try_recv() {
            Ok(slice) => return Ok(slice),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => hint::spin_loop(),
        }
    }
    from.recv()
}

impl<S: Part<Log>> Engine<Log, S> {
    /// Messages set out to servers.
    fn take(&mut self, messages: &mut Vec<(usize, Return)>) {
        for (group, message) in messages.drain(..) {
            let line = &mut self.lines[group];
            line.put(message);
            self.schedule.update(Event::Line(group), line.next());
        }
    }
}

impl<O: Observer<Packet>, C: Part<O>> Engine<O, C> {
    /// Replays the first half up to `until`, among the events of this one.
    fn follow(&mut self, records: &[Record], until: Time) {
        let mut now = Time::ZERO;
        for Record { turn, what } in records {
            if let Some(turn) = *turn {
                self.advance_before(turn);
                now = turn.time;
            }
            self.replay(what, now);
        }
        self.advance(until);
    }

    /// Runs up to an event of the first half.
    fn advance_before(&mut self, turn: Turn) {
        loop {
            let (time, event) = self.schedule.next();
            let source = self.schedule.number(event);
            // Both halves have timers. To one that comes up and is not due nothing happens.
            let timer = match event {
                Event::Timers if time == turn.time => self.timers.due(time).unwrap_or(0),
                _ => 0,
            };
            if Turn::new(time, source, timer) > turn {
                return;
            }
            self.happen(event, time);
        }
    }

    fn replay(&mut self, what: &What, now: Time) {
        let observer = &mut self.observer;
        match what {
            What::Sent(packet) => self.send(*packet, now),
            What::Arrived(packet) => observer.arrived(packet, now),
            What::Marked(packet, queue, cause) => observer.marked(packet, *queue, *cause, now),
            What::Departed(packet, queue, sojourn) => {
                observer.departed(packet, *queue, *sojourn, now);
                self.arrive(packet, now);
            }
            What::Dropped(packet, queue, cause) => observer.dropped(packet, *queue, *cause, now),
            What::LeftHop(hop, packet, queue, sojourn) => {
                observer.at_hop(*hop, packet, *queue, HopEvent::Departed(*sojourn), now);
            }
            What::AtHop(event) => {
                let (hop, packet, queue, what) = &**event;
                observer.at_hop(*hop, packet, *queue, *what, now);
            }
            What::Finished(slot) => self.connections.finish(*slot),
            What::Detected(flow, report) => observer.detected(*flow, **report, now),
            What::RoundTrip(flow, rtt) => observer.round_trip(*flow, *rtt, now),
            What::Retransmitted(flow) => observer.retransmitted(*flow, now),
            What::Link(state) => observer.sample_link(*state, now),
            What::Flow(state) => observer.sample_flow(**state, now),
        }
    }

    /// Takes the messages that set out, in the order of each group.
    fn give(&mut self, messages: &mut Vec<(usize, Return)>) {
        for (group, line) in self.lines.iter_mut().enumerate() {
            messages.extend(line.take().map(|message| (group, message)));
        }
    }
}

/// As [`Engine::finish`], of both.
fn finish<O: Observer<Packet>, S: Part<Log>, C: Part<O>>(
    mut servers: Engine<Log, S>,
    mut clients: Engine<O, C>,
    end: Time,
) -> Outcome {
    servers.detect(end);
    for Record { what, .. } in mem::take(&mut servers.observer.records) {
        clients.replay(&what, end);
    }
    let bottleneck = if S::BOTTLENECK { &mut servers.bottleneck } else { &mut clients.bottleneck };
    let Straddling { before, after } = bottleneck.straddling(end);
    clients.observer.straddled(None, before, after);
    for number in 0..clients.hops.links() {
        let hop = clients.hops.link(number).hop;
        let is_first = S::BOTTLENECK && !clients.hops.is_behind(hop.into());
        let hops = if is_first { &mut servers.hops } else { &mut clients.hops };
        let Straddling { before, after } = hops.link(number).queue.straddling(end);
        clients.observer.straddled(Some(hop), before, after);
    }
    let [one, other] = [servers.outcome, clients.outcome];
    Outcome { events: one.events + other.events, packets: one.packets + other.packets }
}
