//! The events that a substrate reports during a run.

use core::ops::BitOr;

use l4s_aqm::{Backlog, DropCause, MarkCause, Queue, Signal};
use l4s_cc::classic_ecn::Report;
use l4s_model::{FlowId, PathEvent, Scenario, SourceId};
use l4s_units::{Bytes, Duration, Probability, Time};

use crate::{OnWire, Traced};

/// A flow's sender at an instant.
///
/// ```
/// use l4s_observe::{FlowState, Observer, SocketState, Traced};
/// use l4s_units::Time;
///
/// /// The largest window, and how many segments real sockets sent again.
/// #[derive(Default)]
/// struct Senders { window: u32, retransmits: u64 }
///
/// impl<P: Traced> Observer<P> for Senders {
///     fn sample_flow(&mut self, state: FlowState, _: Time) {
///         self.window = self.window.max(state.cwnd);
///         // The simulator has no sockets, and reports each segment by `Observer::retransmitted`.
///         if let Some(SocketState { retransmits, .. }) = state.socket {
///             self.retransmits += retransmits;
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowState {
    /// The flow.
    pub flow: FlowId,
    /// Its group.
    pub group: SourceId,
    /// An application writes into it.
    pub is_app: bool,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow-start threshold in packets; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The congestion control's own marking estimate (DCTCP's alpha), where it has one.
    pub alpha: Option<f64>,
    /// The report of its detector of Classic ECN, if it has one.
    pub classic_ecn: Option<Report>,
    /// Further state of the sender's socket, if there is one.
    pub socket: Option<SocketState>,
}

/// A real socket's own counters (TCP_INFO), since the connection was set up.
///
/// Example: [`FlowState`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SocketState {
    /// Segments delivered.
    pub delivered: u64,
    /// Those of them whose acknowledgement reported CE.
    pub delivered_ce: u64,
    /// Segments sent again.
    pub retransmits: u64,
}

/// The outcome of a frame that an application has to write.
///
/// ```
/// use l4s_model::{FlowId, SourceId};
/// use l4s_observe::{FrameEvent, Observer, Traced};
/// use l4s_units::{Duration, Time};
///
/// /// Frames that took longer than 100 ms or were left out: a call that stutters.
/// #[derive(Default)]
/// struct Late(u64);
///
/// impl<P: Traced> Observer<P> for Late {
///     fn frame(&mut self, _: FlowId, _: SourceId, what: FrameEvent, _: Time) {
///         self.0 += u64::from(match what {
///             FrameEvent::Delivered(took) => took > Duration::from_millis(100),
///             FrameEvent::Skipped => true,
///             FrameEvent::Written => false,
///         });
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameEvent {
    /// It was written into the socket.
    Written,
    /// It was left out, as earlier ones wait in the socket still.
    Skipped,
    /// Its last byte arrived, and all before it: so long after it was written.
    Delivered(Duration),
}

/// The outcome of a packet at a further link.
///
/// ```
/// use l4s_aqm::Queue;
/// use l4s_observe::{HopEvent, Observer, Traced};
/// use l4s_units::Time;
///
/// /// Packets that the first `[[hop]]` dropped.
/// #[derive(Default)]
/// struct Lost(u64);
///
/// impl<P: Traced> Observer<P> for Lost {
///     fn at_hop(&mut self, hop: u16, _: &P, _: Queue, what: HopEvent, _: Time) {
///         self.0 += u64::from(hop == 0 && matches!(what, HopEvent::Dropped(_)));
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HopEvent {
    /// It was just marked.
    Marked(MarkCause),
    /// Its transmission starts, so long after it arrived.
    Departed(Duration),
    /// It was dropped.
    Dropped(DropCause),
}

/// The bottleneck at an instant.
///
/// ```
/// use l4s_observe::{LinkState, Observer, Traced};
/// use l4s_units::{Duration, Time};
///
/// /// The longest queue, looked at every 10 ms.
/// #[derive(Default)]
/// struct Longest(u32);
///
/// impl<P: Traced> Observer<P> for Longest {
///     fn sample_link(&mut self, state: LinkState, _: Time) {
///         self.0 = self.0.max(state.packets);
///     }
///     fn sampling_interval(&self) -> Option<Duration> {
///         Some(Duration::from_millis(10))
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkState {
    /// Packets that wait.
    pub packets: u32,
    /// Bytes that wait.
    pub bytes: Bytes,
    /// Bytes, with Ethernet headers, that left and whose transmission is not over; zero where
    /// that is not known.
    pub owed: Bytes,
    /// Base probability p', where the discipline has one.
    pub base: Option<Probability>,
}

impl LinkState {
    /// The state of a link from the backlog of its queues, its debt, and the signal of its discipline.
    pub fn new(backlog: Backlog, owed: Bytes, signal: Option<Signal>) -> LinkState {
        let Backlog { packets, bytes, .. } = backlog;
        let base = signal.map(|signal| signal.base);
        LinkState { packets: packets as u32, bytes, owed, base }
    }
}

/// Whether an observer implements events that take long to report.
///
/// Example: [`OnWire`](crate::OnWire).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wants {
    /// [`Observer::arrived`]: a run on two cores hands each packet over once more.
    pub arrivals: bool,
    /// [`Observer::sample_flow`] of simulated flows: there may be thousands.
    pub flows: bool,
    /// [`Observer::answered`]: a kernel's packets from clients are captured.
    pub answers: bool,
}

impl Wants {
    /// None of them.
    pub const NOTHING: Wants = Wants { arrivals: false, flows: false, answers: false };
}

impl Default for Wants {
    /// Those of an observer that does not say: all but [`Wants::answers`].
    fn default() -> Wants {
        Wants { arrivals: true, flows: true, answers: false }
    }
}

impl BitOr for Wants {
    type Output = Wants;

    /// Those of either.
    fn bitor(self, other: Wants) -> Wants {
        Wants {
            arrivals: self.arrivals || other.arrivals,
            flows: self.flows || other.flows,
            answers: self.answers || other.answers,
        }
    }
}

/// Observes a run. Every method may be called before the end of the warm-up, whose time the observer
/// knows. Times never run backwards, except that reports of sockets may come a little late.
///
/// ```
/// use l4s_aqm::Queue;
/// use l4s_observe::{Observer, Traced};
/// use l4s_units::{Duration, Time};
///
/// /// Packets that left after the warm-up, and those of them that were queued for more than 1 ms.
/// struct Late { from: Time, all: u64, late: u64 }
///
/// impl<P: Traced> Observer<P> for Late {
///     fn departed(&mut self, _: &P, _: Queue, sojourn: Duration, now: Time) {
///         if now >= self.from {
///             self.all += 1;
///             self.late += u64::from(sojourn > Duration::from_millis(1));
///         }
///     }
/// }
///
/// # use l4s_model::{FlowId, SourceId};
/// # use l4s_observe::{Contents, Header};
/// # use l4s_units::{Bytes, Ecn};
/// # struct Packet;
/// # impl l4s_aqm::Packet for Packet {
/// #     fn size(&self) -> Bytes { Bytes::new(1514) }
/// #     fn ecn(&self) -> Ecn { Ecn::Ect1 }
/// #     fn set_ce(&mut self) {}
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// # impl Traced for Packet {
/// #     fn flow(&self) -> FlowId { FlowId::new(0) }
/// #     fn group(&self) -> SourceId { SourceId::new(0) }
/// #     fn ip_length(&self) -> Bytes { Bytes::new(1500) }
/// #     fn arrived_ce(&self) -> bool { false }
/// #     fn contents(&self) -> Contents<'_> {
/// #         Contents::Headers(Ecn::Ect1, Header::Udp { payload: 1472, number: 0 })
/// #     }
/// # }
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// let mut late = Late { from: at(1000), all: 0, late: 0 };
/// // A substrate calls it for every packet.
/// for (now, sojourn) in [(999, 5), (1000, 0), (1001, 3)] {
///     late.departed(&Packet, Queue::L, Duration::from_millis(sojourn), at(now));
/// }
/// assert_eq!((late.all, late.late), (2, 1));
/// ```
#[allow(unused_variables, reason = "an observer ignores the events that it does not implement")]
pub trait Observer<P: Traced> {
    /// A packet arrived at the bottleneck.
    fn arrived(&mut self, packet: &P, now: Time) {}
    /// It was just marked, between arrival and departure.
    fn marked(&mut self, packet: &P, queue: Queue, cause: MarkCause, now: Time) {}
    /// Its transmission starts, after `sojourn` in `queue`.
    fn departed(&mut self, packet: &P, queue: Queue, sojourn: Duration, now: Time) {}
    /// It was dropped.
    fn dropped(&mut self, packet: &P, queue: Queue, cause: DropCause, now: Time) {}
    /// A packet from a client arrived at its server. Its form on the wire is computed only if it
    /// is used.
    fn answered(&mut self, packet: &dyn OnWire, now: Time) {}
    /// Something became of a packet at a link of this hop, counted from 0 in the order of the
    /// scenario.
    fn at_hop(&mut self, hop: u16, packet: &P, queue: Queue, what: HopEvent, now: Time) {}
    /// Something happened to a packet of a source on an imperfect stretch, counted from 0 in the order of
    /// the `[[path]]` of the scenario.
    fn at_path(&mut self, path: u16, source: SourceId, what: PathEvent, now: Time) {}
    /// The run is over. `before` are the bytes that left a link (of a hop, or the bottleneck) during the
    /// warm-up and were transmitted after it; `after` those that left it and would be transmitted
    /// after the end of the run.
    fn straddled(&mut self, hop: Option<u16>, before: Bytes, after: Bytes) {}
    /// A flow's client opens the connection, to fetch `size` (`None`: without end).
    fn opened(&mut self, flow: FlowId, group: SourceId, size: Option<Bytes>, now: Time) {}
    /// A flow's client saw the server's close.
    fn closed(&mut self, flow: FlowId, now: Time) {}
    /// A download's client waited too long for something to come, and closed.
    fn gave_up(&mut self, flow: FlowId, now: Time) {}
    /// A download did not begin, as there were as many as there may be.
    fn turned_away(&mut self, flow: FlowId, group: SourceId, now: Time) {}
    /// The last report of a flow's detector of Classic ECN: when the connection closed, or at
    /// the end of the run.
    fn detected(&mut self, flow: FlowId, report: Report, now: Time) {}
    /// A flow's sender measured a round trip.
    fn round_trip(&mut self, flow: FlowId, rtt: Duration, now: Time) {}
    /// A flow's client passed `bytes` on to the application, in order. Real sockets report all
    /// reads of a sampling interval at once, with the time of the last one.
    fn delivered(&mut self, flow: FlowId, group: SourceId, bytes: u64, now: Time) {}
    /// A flow's sender sent a segment again.
    fn retransmitted(&mut self, flow: FlowId, now: Time) {}
    /// Something became of a frame of an application's flow.
    fn frame(&mut self, flow: FlowId, group: SourceId, what: FrameEvent, now: Time) {}
    /// Every [`Observer::sampling_interval`]: the bottleneck, and then each open flow. Downloads
    /// are not sampled: their windows are not their group's.
    fn sample_link(&mut self, state: LinkState, now: Time) {}
    /// Beside each [`Observer::sample_link`] and before it: the uplink, if there is one.
    fn sample_uplink(&mut self, state: LinkState, now: Time) {}
    /// See [`Observer::sample_link`].
    fn sample_flow(&mut self, state: FlowState, now: Time) {}
    /// The run became another scenario, of as many groups and sources ([`Scenario::adaptable`]).
    fn adapted(&mut self, scenario: &Scenario, now: Time) {}
    /// How often to sample; `None` for never.
    fn sampling_interval(&self) -> Option<Duration> {
        None
    }
    /// Which of the events that take long to report it implements. It may receive the others as well.
    fn wants(&self) -> Wants {
        Wants::default()
    }
}
