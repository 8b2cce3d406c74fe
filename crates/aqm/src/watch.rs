//! Events of packets that a discipline reports, and counters of them.

use l4s_units::Time;

use crate::Packet;

/// Which queue of the discipline.
///
/// Example: [`Counters`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Queue {
    /// The low-latency queue of a dual queue.
    L,
    /// The Classic queue of a dual queue.
    C,
    /// The only queue, or all flow queues together.
    Q,
}

impl Queue {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Queue; 3] = [Queue::L, Queue::C, Queue::Q];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Queue::L => "L",
            Queue::C => "C",
            Queue::Q => "Q",
        }
    }
}

/// Why a packet was marked CE.
///
/// Example: [`Watch`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum MarkCause {
    /// The native L4S AQM: the packet's own queue was above its threshold (step, ramp,
    /// `ce_threshold`).
    Step,
    /// Coupled from the Classic queue: k·p'.
    Coupled,
    /// A Classic signal, in place of a drop.
    Classic,
}

/// Why a packet was dropped.
///
/// Example: [`Counters`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// Overload: marking could signal no more.
    Overload,
    /// The AQM's signal to a packet that cannot be marked.
    Aqm,
    /// The limit in packets or bytes of queue.
    Limit,
    /// The limit of memory.
    Memory,
    /// No discipline: the link lost the packet after it had left its queue. A radio gave it up, or the trace
    /// that the link follows has loss.
    Radio,
    /// No discipline and no signal: a filter took out an acknowledgement that a later one in the queue replaces.
    AckFilter,
}

impl DropCause {
    /// How many there are.
    pub const COUNT: usize = DropCause::AckFilter as usize + 1;
}

/// Receives the events of a discipline, other than forwarding.
///
/// ```
/// use l4s_aqm::{DropCause, MarkCause, Queue, Watch};
/// use l4s_units::Time;
///
/// /// When the step of the L queue first marked a packet.
/// #[derive(Default)]
/// struct FirstStep(Option<Time>);
///
/// impl<P> Watch<P> for FirstStep {
///     fn marked(&mut self, _: &P, queue: Queue, cause: MarkCause, now: Time) {
///         if (queue, cause) == (Queue::L, MarkCause::Step) {
///             self.0.get_or_insert(now);
///         }
///     }
///
///     fn dropped(&mut self, _: P, _: Queue, _: DropCause, _: Time) {}
/// }
///
/// let (mut first, packet) = (FirstStep::default(), "a packet");
/// first.marked(&packet, Queue::L, MarkCause::Coupled, Time::from_nanos(1));
/// first.marked(&packet, Queue::L, MarkCause::Step, Time::from_nanos(2));
/// assert_eq!(first.0, Some(Time::from_nanos(2)));
/// ```
pub trait Watch<P> {
    /// `packet` was just marked CE. Called once per packet.
    fn marked(&mut self, packet: &P, queue: Queue, cause: MarkCause, now: Time);

    /// `packet` is gone.
    fn dropped(&mut self, packet: P, queue: Queue, cause: DropCause, now: Time);
}

/// Marks a packet of the only queue; reports a packet once, even if it is marked again.
/// `false` when the packet cannot carry one.
#[inline]
pub(crate) fn mark<P: Packet>(
    packet: &mut P,
    cause: MarkCause,
    now: Time,
    watch: &mut impl Watch<P>,
) -> bool {
    let ecn = packet.ecn();
    if ecn.is_capable() && !ecn.is_ce() {
        packet.set_ce();
        watch.marked(packet, Queue::Q, cause, now);
    }
    ecn.is_capable()
}

/// Listens to nothing.
impl<P> Watch<P> for () {
    #[inline]
    fn marked(&mut self, _: &P, _: Queue, _: MarkCause, _: Time) {}
    #[inline]
    fn dropped(&mut self, _: P, _: Queue, _: DropCause, _: Time) {}
}

/// Marks and drops by queue and cause.
///
/// ```
/// use l4s_aqm::{Counters, DropCause, Limit, Qdisc, Queue, fifo};
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Ecn, Time};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
///
/// let mut counters = Counters::default();
/// let mut fifo = fifo::Discipline::new(fifo::Config { limit: Limit::packets(2) }, &mut rng);
/// for _ in 0..5 {
///     fifo.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut counters);
/// }
/// assert_eq!(counters.drops(Queue::Q, DropCause::Limit), 3);
/// assert_eq!(counters.dropped(Queue::Q), 3);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    marks: [[u64; 3]; 3],
    drops: [[u64; DropCause::COUNT]; 3],
}

impl Counters {
    /// Packets of `queue` marked for `cause`.
    pub fn marks(&self, queue: Queue, cause: MarkCause) -> u64 {
        self.marks[queue as usize][cause as usize]
    }

    /// Packets of `queue` dropped for `cause`.
    pub fn drops(&self, queue: Queue, cause: DropCause) -> u64 {
        self.drops[queue as usize][cause as usize]
    }

    /// Packets of `queue` marked for any cause.
    pub fn marked(&self, queue: Queue) -> u64 {
        self.marks[queue as usize].iter().sum()
    }

    /// Packets of `queue` dropped for any cause.
    pub fn dropped(&self, queue: Queue) -> u64 {
        self.drops[queue as usize].iter().sum()
    }
}

impl<P> Watch<P> for Counters {
    #[inline]
    fn marked(&mut self, _: &P, queue: Queue, cause: MarkCause, _: Time) {
        self.marks[queue as usize][cause as usize] += 1;
    }

    #[inline]
    fn dropped(&mut self, _: P, queue: Queue, cause: DropCause, _: Time) {
        self.drops[queue as usize][cause as usize] += 1;
    }
}
