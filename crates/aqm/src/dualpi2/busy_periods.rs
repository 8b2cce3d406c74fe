//! The part of a packet's wait that is caused by the link, and not by the queue.
//!
//! ```text
//! taken   ▏▏▏▏▏▏              ▏▏▏▏▏▏▏▏             a link that takes packets in turns
//!              └── pause ─────┘
//! packet        arrives ······▏goes                it waits for the link, independent of the queue
//! packet  arrives ············|····▏goes           its wait beyond the pause is queue
//! ```
//!
//! On a link that sends in bursts every packet waits for the next burst. Marks for that delay slow
//! down senders without a queue. At a low rate, the transmission of one packet is such a pause.

use l4s_units::{Duration, Time};

/// Packets taken within this time of each other are of one turn: on a link whose packets follow
/// each other faster there are no pauses that matter beside a threshold of a millisecond.
const TURN: Duration = Duration::from_micros(50);

/// The turns of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusyPeriods {
    /// When the present one began, and the one before ended.
    began: Time,
    ended: Time,
    /// When a packet was taken last.
    last: Time,
}

impl BusyPeriods {
    /// A packet is taken.
    #[inline]
    pub fn take(&mut self, now: Time) {
        if now.since(self.last) > TURN {
            self.ended = self.last;
            self.began = now;
        }
        self.last = now;
    }

    /// How long a packet that arrived then and goes now waited, without the last pause.
    #[inline]
    pub fn wait(&self, arrival: Time, now: Time) -> Duration {
        self.ended.since(arrival) + now.since(self.began.max(arrival))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn the_last_pause_is_the_links_and_everything_before_the_queues() {
        let mut periods = BusyPeriods::default();
        for us in [1000, 1000, 1010, 5000] {
            periods.take(at(us));
        }
        // The pause is from 1010 to 5000.
        for (arrival, wait) in [(5000, 0), (3000, 0), (1010, 0), (900, 110), (0, 1010)] {
            assert_eq!(
                periods.wait(at(arrival), at(5000)),
                Duration::from_micros(wait),
                "{arrival}"
            );
        }
        // Later in the same turn.
        periods.take(at(5040));
        for (arrival, wait) in [(5040, 0), (5010, 30), (3000, 40), (900, 150)] {
            assert_eq!(
                periods.wait(at(arrival), at(5040)),
                Duration::from_micros(wait),
                "{arrival}"
            );
        }
    }

    #[test]
    fn a_fast_link_has_no_pauses() {
        let mut periods = BusyPeriods::default();
        for us in (1000..9000).step_by(12) {
            periods.take(at(us));
        }
        assert_eq!(periods.wait(at(7000), at(8992)), Duration::from_micros(1992));
    }
}
