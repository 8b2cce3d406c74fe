//! TCP, from its headers: handshake, options, retransmissions and round trips.
//!
//! A segment is a retransmission if any of its sequence numbers passed before. A segment that fills a gap
//! is not: it was reordered, or its first transmission was lost before the bottleneck.
//!
//! The two parts of the round trip are measured separately, from a segment to the acknowledgement that
//! covers it, one segment at a time. Any retransmission cancels the measurement, because after a loss the
//! acknowledgement is late: Karn's algorithm (RFC 6298 §3), applied to the whole stream.
//!
//! Segments without data are not acknowledged, but their time stamps are echoed (RFC 7323 §3.2). The
//! echo waits until the other end has something to send, so it is an upper bound of the round trip.

use l4s_units::Time;

use crate::Direction;
use crate::ip;
use crate::rtt::{Handshake, Part, Samples};
use crate::sequence::{Range, Sequence, before};

/// One direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    sequence: Option<Sequence>,
    /// The segment that is measured: the sequence number after it, and when it passed.
    timed: Option<(u32, Time)>,
    /// The time stamp that is measured, and when the first segment with it passed.
    stamped: Option<(u32, Time)>,
    /// The highest time stamp so far.
    stamp: Option<u32>,
    /// The maximum segment size that its sender announced.
    pub mss: Option<u16>,
    /// The part of the round trip between the bottleneck and its receiver.
    pub part: Part,
    /// Retransmitted segments of the measured time.
    pub retransmits: u64,
}

impl Stream {
    const SILENT: Stream = Stream {
        sequence: None,
        timed: None,
        stamped: None,
        stamp: None,
        mss: None,
        part: Part::NONE,
        retransmits: 0,
    };
}

/// A connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// From the server.
    pub down: Stream,
    /// From the client.
    pub up: Stream,
    /// Its first round trip, from SYN to ACK.
    pub handshake: Handshake,
}

impl Tcp {
    /// A connection without segments.
    pub const NEW: Tcp =
        Tcp { down: Stream::SILENT, up: Stream::SILENT, handshake: Handshake::Unseen };

    /// Whether segments have time stamps.
    pub fn has_stamps(&self) -> bool {
        self.down.stamp.is_some() || self.up.stamp.is_some()
    }

    /// A segment with `payload` bytes passes, which is `segments` packets on the link.
    #[inline]
    pub fn observe(
        &mut self,
        direction: Direction,
        header: &ip::Tcp<'_>,
        payload: usize,
        segments: u16,
        now: Time,
    ) {
        match header.syn() {
            true => self.begin(direction, header, now),
            false => self.handshake.proceed(direction, now),
        }
        let (own, other) = self.streams(direction);
        let stamps = header.stamps();
        if header.ack() {
            other.acknowledge(header.ack_number(), now);
        }
        if let (Some((awaited, at)), Some((_, echo))) = (other.stamped, stamps) {
            if echo == awaited {
                other.part.bound(now.since(at));
            }
            if !before(echo, awaited) {
                other.stamped = None;
            }
        }

        // SYN and FIN have a number each (RFC 9293 §3.4).
        let length = payload as u32 + u32::from(header.syn()) + u32::from(header.fin());
        if let Some((stamp, _)) = stamps {
            if own.stamp.is_none_or(|highest| before(highest, stamp)) {
                own.stamp = Some(stamp);
                if length == 0 && own.stamped.is_none() {
                    own.stamped = Some((stamp, now));
                }
            }
        }
        if length > 0 && !header.rst() {
            let repeated = own.send(header, length, now);
            if repeated > 0 {
                // The number of packets on the link that hold these bytes.
                let repeated = (repeated * u32::from(segments)).div_ceil(length);
                own.retransmits += u64::from(repeated);
            }
        }
    }

    /// A SYN passes.
    #[cold]
    fn begin(&mut self, direction: Direction, header: &ip::Tcp<'_>, now: Time) {
        match header.ack() {
            false => self.handshake.open(direction, now),
            true => self.handshake.proceed(direction, now),
        }
        let (own, _) = self.streams(direction);
        if own.sequence.is_some_and(|known| known.first() != header.seq()) {
            // A new connection between the same ports.
            *own = Stream { part: own.part, retransmits: own.retransmits, ..Stream::SILENT };
        }
        own.mss = header.mss();
    }

    /// The stream of this direction, and that of the other one.
    #[inline]
    fn streams(&mut self, direction: Direction) -> (&mut Stream, &mut Stream) {
        match direction {
            Direction::Down => (&mut self.down, &mut self.up),
            Direction::Up => (&mut self.up, &mut self.down),
        }
    }

    /// Begins the measured time.
    pub fn clear_counts(&mut self) {
        for stream in [&mut self.down, &mut self.up] {
            (stream.part.samples, stream.retransmits) = (Samples::NONE, 0);
        }
    }
}

impl Stream {
    /// The receiver acknowledges all sequence numbers before `number`.
    #[inline]
    fn acknowledge(&mut self, number: u32, now: Time) {
        if let Some(sequence) = &mut self.sequence {
            sequence.acknowledge(number);
        }
        if let Some((_, at)) = self.timed.filter(|(end, _)| !before(number, *end)) {
            self.part.add(now.since(at));
            self.timed = None;
        }
    }

    /// A segment that has `length` sequence numbers passes: how many of them had passed before.
    #[inline]
    fn send(&mut self, header: &ip::Tcp<'_>, length: u32, now: Time) -> u32 {
        let seq = header.seq();
        let segment = Range { from: seq, to: seq.wrapping_add(length) };
        let sequence = self.sequence.get_or_insert_with(|| Sequence::new(seq));
        let is_keep_alive = length == 1 && !header.syn() && !header.fin();
        if is_keep_alive && seq == sequence.next().wrapping_sub(1) {
            // RFC 9293 §3.8.4: it repeats the last byte, which was not lost.
            return 0;
        }
        let repeated = sequence.pass(segment);
        if repeated > 0 {
            self.timed = None;
        } else if self.timed.is_none() && !sequence.has_gaps() {
            self.timed = Some((segment.to, now));
        }
        repeated
    }
}
