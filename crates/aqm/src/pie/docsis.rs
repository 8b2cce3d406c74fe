//! DOCSIS-PIE: the differences of cable modems (RFC 8034 §4 and Appendix A).

use l4s_units::{Bytes, Rate};
use rand_core::Rng;

use super::{Config, Control, ONE, Protection, Variant, ticks};
use crate::Backlog;

/// The unit of packet sizes, in bytes (RFC 8034 §A.1.2 `MEAN_PKTSIZE`).
const MEAN_SIZE: u64 = 1024;

/// The smallest packet, in bytes (RFC 8034 §A.1.2 `MIN_PKTSIZE`).
const MIN_SIZE: u64 = 64;

/// The most that a packet is dropped with, and the least that accumulates between two drops
/// (RFC 8034 §A.1.2 `PROB_LOW`).
const LOW: u64 = ONE / 100 * 85;

/// The accumulated probability that makes a drop certain (RFC 8034 §A.1.2 `PROB_HIGH`).
const HIGH: u64 = LOW * 10;

/// The quiet time after which bursts get a third of the buffer again, in ticks (RFC 8034 §A.1.2
/// `BURST_RESET_TIMEOUT`).
const BURST_RESET: u64 = ticks(1_000_000_000);

/// How much the AQM does (RFC 8034 §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Activity {
    /// Nothing, while the buffer is less than a third full.
    Inactive,
    /// A single drop, which begins a burst allowance.
    Quiescent,
    /// All of it, after the burst allowance.
    Active,
}

/// The state and the constants that only DOCSIS-PIE has.
#[derive(Clone, Debug)]
pub(super) struct Docsis {
    pub activity: Activity,
    /// For how long it has been quiet while quiescent, in ticks.
    pub quiet: u64,

    pub protection: Protection,
    /// The queueing delay is the backlog over this rate.
    pub msr: Option<Rate>,
    /// The backlog that ends inactivity: a number of packets, or of bytes.
    active_at: (u64, Bytes),
    /// In ticks.
    decay_below: u64,
    tupdate: u64,
    /// The probability never exceeds this, in 2⁻⁵⁶: at most 13.6, below 2⁶⁰.
    highest: u64,
}

impl Docsis {
    pub fn new(config: &Config) -> Docsis {
        let (bytes, packets) = (config.limit.bytes.get(), config.limit.packets);
        let third = (packets.div_ceil(3), Bytes::new(bytes.div_ceil(3)));
        let protection = match config.variant {
            Variant::Docsis => config.protection,
            _ => Protection::Burst,
        };
        let activity = match protection {
            Protection::Burst => Activity::Active,
            Protection::States => Activity::Inactive,
        };
        Docsis {
            activity,
            quiet: 0,
            protection,
            msr: config.msr.filter(|_| config.variant == Variant::Docsis),
            active_at: config.active_at.map_or(third, |bytes| (u64::MAX, bytes)),
            decay_below: ticks(config.decay_below.as_nanos()),
            tupdate: ticks(config.tupdate.as_nanos()),
            // At this the smallest packet is dropped 85 times in a hundred, as larger ones are
            // long before.
            highest: if config.bytemode { LOW * (MEAN_SIZE / MIN_SIZE) } else { ONE },
        }
    }

    /// Whether the backlog ends inactivity.
    fn wakes(&self, backlog: Backlog) -> bool {
        backlog.packets as u64 >= self.active_at.0 || backlog.bytes >= self.active_at.1
    }
}

impl Control {
    /// Whether an arriving packet of `size` bytes is dropped; `backlog` is without it
    /// (RFC 8034 §A.3).
    #[inline]
    pub(super) fn hits_docsis(&mut self, backlog: Backlog, size: u64, rng: &mut impl Rng) -> bool {
        if self.burst > 0 {
            return false;
        }
        if self.p == 0 {
            self.accumulated = 0;
        }
        if self.docsis.activity == Activity::Inactive {
            if !self.docsis.wakes(backlog) {
                return false;
            }
            self.docsis.activity = Activity::Quiescent;
        }
        let p = self.scaled(size);
        // Unlike in RFC 8033, also while the queue is short.
        self.accumulated = self.accumulated.saturating_add(p);
        let short = self.q_prev < self.target / 2 && self.p < ONE / 5;
        if short || backlog.bytes.get() <= 2 * MEAN_SIZE || self.accumulated < LOW {
            return false;
        }
        if self.accumulated < HIGH && rng.next_u64() >> 8 > p {
            return false;
        }
        self.accumulated = 0;
        if self.docsis.activity == Activity::Quiescent {
            self.docsis.activity = Activity::Active;
            self.burst = self.max_burst;
        }
        true
    }

    /// The probability of a packet of `size` bytes (RFC 8034 §4.6), in 2⁻⁵⁶.
    #[inline]
    pub(super) fn scaled(&self, size: u64) -> u64 {
        if !self.bytemode {
            return self.p;
        }
        // At most 2⁶⁰ / 2¹⁰ times the size: where that exceeds 64 bits it exceeds the limit too.
        (self.p / MEAN_SIZE).saturating_mul(size).min(LOW)
    }

    /// The update of the probability and of the activity (RFC 8034 §A.2).
    pub(super) fn update_docsis(&mut self) {
        const TWO_PERCENT: i128 = (ONE / 50) as i128;
        let (q, q_prev) = (self.q, self.q_prev);
        if self.burst > 0 {
            self.p = 0;
            self.burst = self.burst.saturating_sub(self.docsis.tupdate);
        } else {
            let ahead = |gain: u64, a: u64, b: u64| {
                i128::from(gain).saturating_mul(i128::from(a) - i128::from(b))
            };
            let (alpha, beta) = self.gains;
            let untuned = ahead(alpha, q, self.target).saturating_add(ahead(beta, q, q_prev));
            let mut delta = self.tuned_docsis(untuned);
            if self.p >= ONE / 10 {
                delta = delta.min(TWO_PERCENT);
            }
            let mut p = i128::from(self.p).saturating_add(delta);
            if q < self.docsis.decay_below && q_prev < self.docsis.decay_below {
                p -= p / 50;
            } else if q > self.rise_above {
                p = p.saturating_add(TWO_PERCENT);
            }
            self.p = p.clamp(0, i128::from(self.docsis.highest)) as u64;
        }
        let half = self.target / 2;
        let quiet = q < half && q_prev < half && self.p == 0 && self.burst == 0;
        self.update_activity(quiet);
        self.q_prev = q;
    }

    fn update_activity(&mut self, quiet: bool) {
        match (self.docsis.protection, self.docsis.activity) {
            // RFC 8033 §4.4: a new burst is allowed once there was no congestion for two updates.
            (Protection::Burst, _) => {
                if quiet {
                    self.burst = self.max_burst;
                    self.accumulated = 0;
                }
            }
            (_, Activity::Active) if quiet => {
                self.docsis.activity = Activity::Quiescent;
                self.docsis.quiet = 0;
            }
            (_, Activity::Quiescent) if quiet => {
                self.docsis.quiet += self.docsis.tupdate;
                if self.docsis.quiet > BURST_RESET {
                    self.docsis.quiet = 0;
                    self.docsis.activity = Activity::Inactive;
                }
            }
            _ => self.docsis.quiet = 0,
        }
    }

    /// A change of the probability, scaled by the probability (RFC 8034 §4.4): the steps of RFC 8033 up
    /// to 10 %, then 2, 8 and 32 times. A packet of average size may have a probability above 1.
    fn tuned_docsis(&self, delta: i128) -> i128 {
        const STEPS: [(u64, i128); 6] = [
            (ONE / 1_000_000, 2048),
            (ONE / 100_000, 512),
            (ONE / 10_000, 128),
            (ONE / 1000, 32),
            (ONE / 100, 8),
            (ONE / 10, 2),
        ];
        if let Some((_, divisor)) = STEPS.iter().find(|(below, _)| self.p < *below) {
            return delta / divisor;
        }
        let factor = if self.p < ONE {
            2
        } else if self.p < 10 * ONE {
            8
        } else {
            32
        };
        delta.saturating_mul(factor)
    }
}
