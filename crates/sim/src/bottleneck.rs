//! The bottleneck: a queue discipline behind a shaper.
//!
//! The shaper is a token bucket, as `htb` is, because that is what the papers' testbeds and the
//! reference kernel measurements have. A packet leaves when the bucket is not in debt and is
//! then charged for; with a bucket of one full packet, two may leave together after idling.
//! What lies behind is fast: a packet arrives at its client when its transmission starts.

use l4s_aqm::{Aqm, Backlog, DropCause, MarkCause, Packet as _, Qdisc, Queue, Signal, Watch};
use l4s_measure::Observer;
use l4s_units::{Bytes, Duration, Rate, Time};

use crate::packet::Packet;
use crate::random::{Stream, stream};

/// The bottleneck link and its queue.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    aqm: Aqm<Packet>,
    rng: Stream,
    shaper: Shaper,
}

impl Bottleneck {
    pub fn new(link: &l4s_scenario::Link, aqm: &l4s_aqm::Config, seed: u64) -> Self {
        Bottleneck {
            aqm: Aqm::new(aqm, &mut stream(seed, "aqm setup")),
            rng: stream(seed, "aqm"),
            shaper: Shaper::new(link.rate, link.burst),
        }
    }

    /// A packet arrives.
    #[inline]
    pub fn enqueue(&mut self, packet: Packet, now: Time, observer: &mut impl Observer<Packet>) {
        observer.arrived(&packet, now);
        self.aqm.enqueue(packet, now, &mut self.rng, &mut Told(observer));
    }

    /// The packet whose transmission starts now, if the link is free and one waits.
    #[inline]
    pub fn transmit(&mut self, now: Time, observer: &mut impl Observer<Packet>) -> Option<Packet> {
        if now < self.shaper.free_at {
            return None;
        }
        let departure = self.aqm.dequeue(now, &mut self.rng, &mut Told(observer))?;
        self.shaper.charge(departure.packet.size(), now);
        observer.departed(&departure.packet, departure.queue, departure.sojourn, now);
        Some(departure.packet)
    }

    /// When [`Bottleneck::transmit`] may have a packet next.
    #[inline]
    pub fn next_transmission(&self) -> Time {
        if self.aqm.backlog().packets == 0 { Time::NEVER } else { self.shaper.free_at }
    }

    pub fn next_tick(&self) -> Time {
        self.aqm.next_tick().unwrap_or(Time::NEVER)
    }

    pub fn tick(&mut self, now: Time) {
        self.aqm.tick(now);
    }

    pub fn backlog(&self) -> Backlog {
        self.aqm.backlog()
    }

    pub fn signal(&self) -> Option<Signal> {
        self.aqm.signal()
    }
}

/// A token bucket.
#[derive(Debug)]
struct Shaper {
    rate: Rate,
    /// The bucket, as time at the rate.
    burst: Duration,
    /// When the debt is paid.
    free_at: Time,
    /// The last size and its time at the rate: most packets are alike.
    last: (Bytes, Duration),
}

impl Shaper {
    fn new(rate: Rate, burst: Bytes) -> Self {
        Shaper { rate, burst: rate.time_of(burst), free_at: Time::ZERO, last: Default::default() }
    }

    #[inline]
    fn charge(&mut self, size: Bytes, now: Time) {
        if self.last.0 != size {
            self.last = (size, self.rate.time_of(size));
        }
        self.free_at = self.free_at.max(now.saturating_sub(self.burst)) + self.last.1;
    }
}

/// Passes on what a discipline tells.
struct Told<'a, O>(&'a mut O);

impl<O: Observer<Packet>> Watch<Packet> for Told<'_, O> {
    #[inline]
    fn marked(&mut self, packet: &Packet, queue: Queue, cause: MarkCause, now: Time) {
        self.0.marked(packet, queue, cause, now);
    }

    #[inline]
    fn dropped(&mut self, packet: Packet, queue: Queue, cause: DropCause, now: Time) {
        self.0.dropped(&packet, queue, cause, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_idling_two_packets_leave_together_and_then_one_per_transmission_time() {
        let packet = Bytes::new(1514);
        let mut shaper = Shaper::new(Rate::from_mbps(4), packet);
        let now = Time::from_nanos(1_000_000_000);
        shaper.charge(packet, now);
        assert!(shaper.free_at <= now, "the bucket held one packet");
        shaper.charge(packet, now);
        // 1514 B · 8 / 4 Mb/s.
        assert_eq!(shaper.free_at, now + Duration::from_micros(3028));
        shaper.charge(packet, shaper.free_at);
        assert_eq!(shaper.free_at, now + Duration::from_micros(6056));
    }
}
