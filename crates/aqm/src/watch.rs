//! Events of packets that a discipline reports, and counters of them.

use l4s_units::Time;

use crate::Packet;

/// Which queue of the discipline.
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
}

/// Receives the events of a discipline, other than forwarding.
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
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    marks: [[u64; 3]; 3],
    drops: [[u64; 4]; 3],
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
