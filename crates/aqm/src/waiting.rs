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
///
/// Example: [`Fifo`].
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

/// Finds a packet of a queue that a later one makes redundant.
///
/// ```
/// use l4s_aqm::{Packet, Qdisc, Redundancy, fifo};
/// use l4s_units::Time;
/// # use l4s_aqm::MTU;
/// # use l4s_units::{Bytes, Ecn};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
///
/// /// A reading of a sensor, which is of no use once there is a later one of the same sensor.
/// struct Reading(u32, f64);
/// # impl Packet for Reading {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { Ecn::NotEct }
/// #     fn set_ce(&mut self) {}
/// #     fn flow_hash(&self) -> u32 { self.0 }
/// # }
///
/// struct Earlier;
/// impl Redundancy<Reading> for Earlier {
///     fn find<'a>(
///         &mut self,
///         newest: &Reading,
///         _arrival: Time,
///         mut older: impl Iterator<Item = &'a Reading>,
///     ) -> Option<usize> {
///         older.position(|reading| reading.0 == newest.0)
///     }
/// }
///
/// let mut fifo = fifo::Discipline::new(fifo::Config::linux(), &mut rng);
/// for reading in [Reading(1, 20.5), Reading(2, 7.0), Reading(1, 21.0)] {
///     fifo.enqueue(reading, Time::ZERO, &mut rng, &mut ());
/// }
/// let (reading, _) = fifo.withdraw(1, &mut Earlier).unwrap();
/// assert_eq!((reading.0, reading.1), (1, 20.5));
/// assert_eq!(fifo.backlog().packets, 2);
/// ```
pub trait Redundancy<P> {
    /// The place of such a packet among the `older` ones of a queue, its head first. `newest` is at the tail of the
    /// queue since `arrival`.
    fn find<'a>(
        &mut self,
        newest: &P,
        arrival: Time,
        older: impl Iterator<Item = &'a P>,
    ) -> Option<usize>
    where
        P: 'a;
}

/// A first-in first-out queue.
///
/// ```
/// use l4s_aqm::{Backlog, Fifo, Waiting};
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
/// let Waiting { arrival, flag, .. } = queue.pop().unwrap();
/// assert_eq!((arrival, flag), (Time::ZERO, false));
/// assert!(queue.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    packets: VecDeque<Entry<P>>,
    backlog: Backlog,
}

/// A packet, and a word with its time of arrival and its flag. The word is written at once and copied at once.
#[derive(Clone, Debug)]
pub(crate) struct Entry<P> {
    packet: P,
    stamp: u64,
}

impl<P> Entry<P> {
    #[inline(always)]
    fn new(packet: P, arrival: Time, flag: bool) -> Entry<P> {
        Entry { packet, stamp: arrival.as_nanos() << 1 | u64::from(flag) }
    }

    #[inline(always)]
    fn arrival(&self) -> Time {
        Time::from_nanos(self.stamp >> 1)
    }

    #[inline(always)]
    fn flag(&self) -> bool {
        self.stamp & 1 == 1
    }
}

impl<P: Packet> Fifo<P> {
    /// An empty queue.
    pub fn new() -> Self {
        Fifo { packets: VecDeque::new(), backlog: Backlog::default() }
    }

    /// Adds a packet at the tail.
    #[inline(always)]
    pub fn push(&mut self, packet: P, arrival: Time, flag: bool) {
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        self.backlog.memory += packet.memory();
        self.packets.push_back(Entry::new(packet, arrival, flag));
    }

    /// Removes the packet at the head.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let head = self.packets.pop_front()?;
        self.removed(&head.packet);
        let (arrival, flag) = (head.arrival(), head.flag());
        Some(Waiting { packet: head.packet, arrival, flag })
    }

    /// Removes the packet that `redundancy` finds before the one at the tail.
    pub fn withdraw(&mut self, redundancy: &mut impl Redundancy<P>) -> Option<P> {
        if self.packets.len() < 2 {
            return None;
        }
        let last = self.packets.back()?;
        let older = self.packets.iter().take(self.packets.len() - 1).map(|waiting| &waiting.packet);
        let place = redundancy.find(&last.packet, last.arrival(), older)?;
        let Entry { packet, .. } = self.packets.remove(place)?;
        self.removed(&packet);
        Some(packet)
    }

    #[inline]
    fn removed(&mut self, packet: &P) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.size();
        self.backlog.memory -= packet.memory();
    }

    /// Removes all packets, the head first, with their arrivals.
    pub fn evacuate(&mut self) -> Vec<(Time, P)> {
        core::iter::from_fn(|| self.pop())
            .map(|waiting| (waiting.arrival, waiting.packet))
            .collect()
    }

    /// The packet at the head.
    #[inline]
    pub fn head(&self) -> Option<Waiting<&P>> {
        let entry = self.packets.front()?;
        Some(Waiting { packet: &entry.packet, arrival: entry.arrival(), flag: entry.flag() })
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
