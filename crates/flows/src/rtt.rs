//! Round-trip times, measured between the two ends.

use l4s_units::{Duration, Time};

use crate::Direction;

/// Durations: their count, sum, minimum and maximum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Samples {
    count: u64,
    sum: Duration,
    min: Duration,
    max: Duration,
}

impl Samples {
    /// None yet.
    pub const NONE: Samples =
        Samples { count: 0, sum: Duration::ZERO, min: Duration::MAX, max: Duration::ZERO };

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: Duration) {
        self.count += 1;
        self.sum += sample;
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
    }

    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shortest; `None` without samples.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.min)
    }

    /// The mean; `None` without samples.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum / self.count)
    }

    /// The longest; `None` without samples.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }
}

/// A part of the round trip: between the bottleneck and the client, with the queue, or between the
/// bottleneck and the server. RFC 9312 §3.8.2 calls it a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Samples of the measured time.
    pub samples: Samples,
    /// The minimum of the whole run.
    pub floor: Option<Duration>,
}

impl Part {
    /// No samples yet.
    pub const NONE: Part = Part { samples: Samples::NONE, floor: None };

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: Duration) {
        self.samples.add(sample);
        self.bound(sample);
    }

    /// Adds a sample that may contain idle time of an end: an upper bound of the minimum.
    #[inline]
    pub fn bound(&mut self, sample: Duration) {
        self.floor = Some(self.floor.map_or(sample, |floor| floor.min(sample)));
    }
}

/// The whole round trip: the samples of the part that has more of them, which is that to the receiver of
/// the data, each plus the minimum of the other part. `None` where that is not known.
pub fn whole(client: &Part, server: &Part) -> Option<Samples> {
    let is_upload = client.samples.count < server.samples.count;
    let (often, rarely) = if is_upload { (server, client) } else { (client, server) };
    let (samples, rest) = (often.samples, rarely.floor?);
    (samples.count > 0).then(|| Samples {
        count: samples.count,
        sum: samples.sum + rest * samples.count,
        min: samples.min + rest,
        max: samples.max + rest,
    })
}

/// The first round trip of a conversation: the opening packet, the answer to it, and the next packet
/// of the end that opened it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Handshake {
    /// The opening packet was not seen.
    #[default]
    Unseen,
    /// Direction and time of the opening packet.
    Opened(Direction, Time),
    /// The same, after the answer.
    Answered(Direction, Time),
    /// The duration.
    Done(Duration),
}

impl Handshake {
    /// An opening packet passes. The last one before the answer counts.
    #[inline]
    pub fn open(&mut self, direction: Direction, now: Time) {
        *self = Handshake::Opened(direction, now);
    }

    /// Another packet passes.
    #[inline]
    pub fn proceed(&mut self, direction: Direction, now: Time) {
        match *self {
            Handshake::Opened(by, at) if by != direction => *self = Handshake::Answered(by, at),
            Handshake::Answered(by, at) if by == direction => {
                *self = Handshake::Done(now.since(at));
            }
            _ => {}
        }
    }

    /// The duration; `None` if not all of it was seen.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Handshake::Done(duration) => Some(duration),
            _ => None,
        }
    }
}
