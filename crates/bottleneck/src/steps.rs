//! A link whose rate follows a trace: the token bucket of [`Shaper`](crate::Shaper), which fills at the
//! rates of the trace. While the rate is 0 no packet leaves, even if the bucket is full.

use l4s_units::{Bytes, Rate, Time};

/// 10⁻⁹ bits of a byte: the unit in which a rate per second and nanoseconds multiply without a fraction.
const BYTE: u128 = 8_000_000_000;

/// A token bucket that fills at the rates of a trace.
#[derive(Debug)]
pub(crate) struct Steps {
    trace: l4s_trace::Steps,
    bucket: Bytes,
    /// When the debt is paid and the rate is above 0.
    free_at: Time,
    /// The content of the bucket at that time, in 10⁻⁹ bits: the capacity of the rest of the nanosecond
    /// in which the debt was paid, or the savings of an idle time.
    saved: u128,
}

impl Steps {
    /// A bucket of `burst` that begins to fill.
    pub fn new(trace: l4s_trace::Steps, burst: Bytes) -> Steps {
        let mut steps = Steps { trace, bucket: burst, free_at: Time::ZERO, saved: 0 };
        steps.pass(Time::ZERO);
        steps
    }

    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// A link that is idle and has no capacity at `now` is free when it has.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        let mut at = self.free_at.max(now);
        let mut segment = self.trace.at(at);
        if segment.rate != Rate::ZERO {
            return;
        }
        while segment.rate == Rate::ZERO && segment.until != Time::NEVER {
            at = segment.until;
            segment = self.trace.at(at);
        }
        self.idle_until(at);
    }

    /// The bucket fills from the time on when the link was free.
    fn idle_until(&mut self, time: Time) {
        let idle = self.trace.bytes_between(self.free_at, time);
        let full = u128::from(self.bucket.get()) * BYTE;
        self.saved = (self.saved + u128::from(idle.get()) * BYTE).min(full);
        self.free_at = time;
    }

    /// As [`Pacer::charge`](crate::pacer::Pacer::charge).
    #[inline]
    pub fn charge(&mut self, size: Bytes, now: Time) {
        if self.free_at < now {
            self.idle_until(now);
        }
        let size = u128::from(size.get()) * BYTE;
        if size <= self.saved {
            self.saved -= size;
        } else {
            self.pay(size - self.saved);
            self.pass(self.free_at);
        }
    }

    /// Transmits a debt, in 10⁻⁹ bits, from the time on when the link is free.
    fn pay(&mut self, mut debt: u128) {
        loop {
            let segment = self.trace.at(self.free_at);
            let rate = u128::from(segment.rate.as_bps());
            let span = u128::from(segment.until.since(self.free_at).as_nanos());
            if rate * span >= debt {
                // At most `span`, so that it fits.
                let took = debt.div_ceil(rate);
                self.free_at = Time::from_nanos(self.free_at.as_nanos() + took as u64);
                self.saved = took * rate - debt;
                return;
            }
            debt -= rate * span;
            self.free_at = segment.until;
            if segment.until == Time::NEVER {
                self.saved = 0;
                return;
            }
        }
    }

    /// As [`Pacer::owed`](crate::pacer::Pacer::owed).
    pub fn owed(&self, now: Time) -> Bytes {
        self.trace.clone().bytes_between(now, self.free_at)
    }
}
