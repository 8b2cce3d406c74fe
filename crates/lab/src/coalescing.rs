//! Packets that leave at the same time, joined for their device.
//!
//! A write of one packet costs the kernel nearly as much as one of forty: the receiving TCP runs in it. So packets of a
//! connection that are due at the same look at the clock are written as one, as a network card with receive offload
//! hands them up. That is so where they came at once, or the data plane was late. On time it joins nothing.

use l4s_flows::ip::{Cut, IpPacket, Joined, Version};
use l4s_os::Offload;
use l4s_units::Time;

use crate::address::End;
use crate::plane::Delivery;

/// Connections that have packets waiting at a time (Linux has 8 of each hash, `MAX_GRO_SKBS`).
const MOST: usize = 8;

/// Packets of one connection that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    place: Option<(usize, End)>,
    joined: Joined,
    /// When each of those that were queued was due.
    pub due: Vec<Time>,
    /// How many there are.
    pub packets: u64,
}

impl Waiting {
    /// The pair and the end that gets them.
    pub fn place(&self) -> Option<(usize, End)> {
        self.place
    }

    /// The bytes, and how they are to be cut.
    pub fn finish(&mut self) -> (&[u8], Offload) {
        let (bytes, cut) = self.joined.finish();
        let offload = cut.map_or(Offload::SOUND, |Cut { version, transport, headers, size }| {
            Offload::tcp(version == Version::V6, transport, headers, size)
        });
        (bytes, offload)
    }

    fn count(&mut self, delivery: &Delivery<'_>) {
        self.packets += 1;
        if delivery.waited {
            self.due.push(delivery.due);
        }
    }
}

/// All that wait.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    waiting: Vec<Waiting>,
    /// Those that were written, for their memory.
    free: Vec<Waiting>,
}

impl Coalescer {
    /// Takes a packet if others may follow it; otherwise it is to be written now. `write` is for packets that must be
    /// written before it.
    pub fn take(&mut self, delivery: &Delivery<'_>, mut write: impl FnMut(&mut Waiting)) -> bool {
        let (header, bytes) = delivery.bytes.split_at(Offload::LENGTH);
        let Ok(packet) = IpPacket::new_checked(bytes) else { return false };
        let place = Some((delivery.pair, delivery.to));
        let sound = Offload::of(header).is_sound();
        let of_its = |w: &Waiting| w.place == place && w.joined.is_of_connection(&packet);
        if let Some(at) = self.waiting.iter().position(of_its) {
            let earlier = &mut self.waiting[at];
            let joined = sound && earlier.joined.push(&packet);
            if joined {
                earlier.count(delivery);
            }
            if !joined || earlier.joined.is_full() {
                self.release(at, &mut write);
            }
            if joined {
                return true;
            }
        }
        if !sound {
            return false;
        }
        let mut next = self.free.pop().unwrap_or_default();
        let begun = next.joined.begin(&packet) && !next.joined.is_full();
        if begun {
            (next.place, next.packets) = (place, 0);
            next.due.clear();
            next.count(delivery);
            if self.waiting.len() == MOST {
                self.release(0, &mut write);
            }
            self.waiting.push(next);
        } else {
            self.free.push(next);
        }
        begun
    }

    /// Has all that wait written, in the order of their first packets.
    #[inline]
    pub fn flush(&mut self, mut write: impl FnMut(&mut Waiting)) {
        for mut waiting in self.waiting.drain(..) {
            write(&mut waiting);
            self.free.push(waiting);
        }
    }

    fn release(&mut self, at: usize, write: &mut impl FnMut(&mut Waiting)) {
        let mut waiting = self.waiting.remove(at);
        write(&mut waiting);
        self.free.push(waiting);
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    /// A packet of a connection with 100 bytes from this one on.
    fn packet(port: u16, sequence: u32, sound: bool) -> Vec<u8> {
        let header = if sound { Offload::SOUND } else { Offload::default() };
        let mut bytes = header.to_bytes().to_vec();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64);
        builder.tcp(443, port, sequence, 1000).ack(1).write(&mut bytes, &[7; 100]).unwrap();
        bytes
    }

    /// The lengths that are written when these packets are delivered, in order, and 0 for each written alone.
    fn written(packets: &[Vec<u8>]) -> Vec<usize> {
        let (mut coalescer, mut lengths) = (Coalescer::default(), Vec::new());
        let mut due = 0;
        for bytes in packets {
            let delivery =
                Delivery { pair: 0, to: End::Client, due: Time::ZERO, waited: true, bytes };
            let waits = coalescer.take(&delivery, |waiting| {
                due += waiting.due.len();
                lengths.push(waiting.finish().0.len());
            });
            if !waits {
                due += 1;
                lengths.push(0);
            }
        }
        coalescer.flush(|waiting| {
            assert_eq!(waiting.packets as usize, waiting.due.len());
            due += waiting.due.len();
            lengths.push(waiting.finish().0.len());
        });
        assert_eq!(due, packets.len(), "each is written once");
        lengths
    }

    #[test]
    fn connections_are_joined_apart() {
        let packets = [(1, 0), (2, 0), (1, 100), (2, 100), (2, 200)];
        let packets = packets.map(|(port, sequence)| packet(port, sequence, true));
        assert_eq!(written(&packets), [40 + 200, 40 + 300]);
    }

    #[test]
    fn what_does_not_follow_comes_behind_what_waits() {
        let packets = [(0, true), (100, true), (300, true), (400, false), (500, true)];
        let packets = packets.map(|(sequence, sound)| packet(1, sequence, sound));
        // The fourth may have a wrong checksum, which its receiver is to find.
        assert_eq!(written(&packets), [40 + 200, 40 + 100, 0, 40 + 100]);
    }

    #[test]
    fn more_connections_than_room_push_out_the_oldest() {
        let packets: Vec<_> = (1..=10).map(|port| packet(port, 0, true)).collect();
        assert_eq!(written(&packets), [140; 10]);
    }
}
