//! The maximum backlog of a discipline: the limits that every one of them has.

use l4s_units::Bytes;
use l4s_units::param::{Kind, Param, Value};
use serde::{Deserialize, Serialize};

use crate::{Backlog, DropCause, MTU, Packet};

/// The most that may wait, in all queues together.
///
/// ```
/// use l4s_aqm::{Backlog, DropCause, Limit, MTU};
///
/// // `limit 100` of `tc` for DualPI2: memory of 200 full packets.
/// let limit = Limit::linux(100);
/// let small = Backlog { packets: 101, bytes: MTU, memory: MTU };
/// assert_eq!(limit.exceeded_by(small), Some(DropCause::Limit));
/// let large = Backlog { packets: 99, memory: MTU + limit.memory.unwrap(), ..small };
/// assert_eq!(limit.exceeded_by(large), Some(DropCause::Memory));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limit {
    /// In packets.
    pub packets: u64,
    /// In bytes on the link.
    pub bytes: Bytes,
    /// In memory that packets occupy; `None` for no limit.
    pub memory: Option<Bytes>,
}

impl Limit {
    /// This number of packets of any size.
    pub const fn packets(packets: u64) -> Limit {
        Limit { packets, bytes: Bytes::new(u64::MAX), memory: None }
    }

    /// This number of bytes.
    pub const fn bytes(bytes: Bytes) -> Limit {
        Limit { packets: u64::MAX, bytes, memory: None }
    }

    /// This number of packets, in at most the memory of twice as many full ones (`sch_dualpi2`).
    pub const fn linux(packets: u64) -> Limit {
        let memory = Some(Bytes::new(packets.saturating_mul(2 * MTU.get())));
        Limit { memory, ..Limit::packets(packets) }
    }

    /// Why `packet` may not join `backlog`; `None` when it may.
    #[inline]
    pub fn refuses(&self, backlog: Backlog, packet: &impl Packet) -> Option<DropCause> {
        if backlog.packets as u64 >= self.packets || backlog.bytes + packet.size() > self.bytes {
            return Some(DropCause::Limit);
        }
        match self.memory {
            Some(memory) if backlog.memory + packet.memory() > memory => Some(DropCause::Memory),
            _ => None,
        }
    }

    /// Which limit `backlog` is above; `None` when it is within all of them.
    #[inline]
    pub fn exceeded_by(&self, backlog: Backlog) -> Option<DropCause> {
        if self.memory.is_some_and(|memory| backlog.memory > memory) {
            return Some(DropCause::Memory);
        }
        let above = backlog.packets as u64 > self.packets || backlog.bytes > self.bytes;
        above.then_some(DropCause::Limit)
    }

    /// The limit in packets; `None` where it is in bytes.
    pub fn packets_value(&self) -> Option<Value> {
        (self.packets < u64::MAX).then_some(Value::Packets(self.packets))
    }

    /// The limit in bytes; `None` where it is in packets.
    pub fn bytes_value(&self) -> Option<Value> {
        (self.bytes.get() < u64::MAX).then_some(Value::Bytes(self.bytes))
    }

    /// The setting `limit`, for a configuration that reads and sets it so.
    pub const fn packets_param<C>(
        get: fn(&C) -> Option<Value>,
        set: fn(&mut C, Value),
    ) -> Param<C> {
        let kind = Kind::Packets { min: 1, max: 100_000_000 };
        Param::new("limit", "packets that may wait, in all queues together", kind, get, set)
    }

    /// The setting `memlimit`, likewise.
    pub const fn memory_param<C>(get: fn(&C) -> Option<Value>, set: fn(&mut C, Value)) -> Param<C> {
        let kind = Kind::Bytes { min: MTU, max: Bytes::new(1_000_000_000_000) };
        Param::new("memlimit", "memory that waiting packets may occupy", kind, get, set)
    }

    /// Sets the limit in packets. A limit of memory follows it, as in `sch_dualpi2`.
    pub fn set_packets(&mut self, packets: u64) {
        let linux = Limit::linux(packets);
        *self = if self.memory.is_some() { linux } else { Limit::packets(packets) };
    }
}

/// The memory that a discipline takes.
///
/// ```
/// use l4s_aqm::{Config, Footprint, fq_codel};
///
/// // Packets of 100 B in FQ-CoDel: its queues share one list.
/// let config = Config::FqCodel(fq_codel::Config::linux());
/// let Footprint { queues, queue, lists, packet } = config.footprint::<[u8; 100]>();
/// assert_eq!((queues, lists), (1024, 1));
/// assert!(packet > 100);
/// // Its queues alone take less than 128 KiB.
/// assert!(queues * queue < 128 << 10);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// Its queues.
    pub queues: u64,
    /// Bytes that it allocates for each of them when it begins.
    pub queue: u64,
    /// How many of its lists may each have held all that may wait.
    pub lists: u64,
    /// Bytes of a packet that waits.
    pub packet: u64,
}
