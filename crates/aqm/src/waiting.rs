//! A first-in first-out queue that stamps arrivals; every discipline is made of these.

use std::collections::VecDeque;

use l4s_units::{Bytes, Duration, Time};

use crate::{Departure, Packet, Queue};

/// The backlog in a queue.
///
/// Example: [`Fifo`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Their length on the link.
    pub bytes: Bytes,
    /// The memory that they occupy.
    pub memory: Bytes,
}

/// A packet with its time of arrival and a bit that the discipline froze at arrival.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// When it arrived.
    pub arrival: Time,
    /// A decision that belongs to arrival, such as whether the step may apply.
    pub flag: bool,
}

impl<P> Waiting<P> {
    /// Leaves the only queue of a discipline.
    #[inline]
    pub(crate) fn depart(self, now: Time) -> Departure<P> {
        Departure { packet: self.packet, queue: Queue::Q, sojourn: now.since(self.arrival) }
    }
}

/// A first-in first-out queue.
///
/// ```
/// use l4s_aqm::{Backlog, Fifo};
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Duration, Ecn, Time};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
///
/// let mut queue = Fifo::new();
/// queue.push(Datagram(Ecn::NotEct), Time::ZERO, false);
/// assert_eq!(queue.backlog(), Backlog { packets: 1, bytes: MTU, memory: MTU });
/// let now = Time::ZERO + Duration::from_millis(3);
/// assert_eq!(queue.head_sojourn(now), Duration::from_millis(3));
/// assert_eq!(queue.pop().unwrap().arrival, Time::ZERO);
/// assert!(queue.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    backlog: Backlog,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue.
    pub fn new() -> Self {
        Fifo { packets: VecDeque::new(), backlog: Backlog::default() }
    }

    /// Adds a packet at the tail.
    #[inline]
    pub fn push(&mut self, packet: P, arrival: Time, flag: bool) {
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        self.backlog.memory += packet.memory();
        self.packets.push_back(Waiting { packet, arrival, flag });
    }

    /// Removes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let head = self.packets.pop_front()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= head.packet.size();
        self.backlog.memory -= head.packet.memory();
        Some(head)
    }

    /// Removes all packets, the head first, with their arrivals.
    pub fn evacuate(&mut self) -> Vec<(Time, P)> {
        core::iter::from_fn(|| self.pop())
            .map(|waiting| (waiting.arrival, waiting.packet))
            .collect()
    }

    /// The packet at the head.
    #[inline]
    pub fn head(&self) -> Option<&Waiting<P>> {
        self.packets.front()
    }

    /// How long the head has waited; zero for an empty queue.
    #[inline]
    pub fn head_sojourn(&self, now: Time) -> Duration {
        self.head().map_or(Duration::ZERO, |head| now.since(head.arrival))
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The backlog.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl<P: Packet> Default for Fifo<P> {
    fn default() -> Self {
        Fifo::new()
    }
}

impl core::ops::Add for Backlog {
    type Output = Backlog;
    #[inline]
    fn add(self, other: Backlog) -> Backlog {
        Backlog {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
            memory: self.memory + other.memory,
        }
    }
}
