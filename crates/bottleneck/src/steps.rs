//! A link whose rate follows a trace: the token bucket of [`Shaper`](crate::Shaper), which fills at the
//! rates of the trace. While the rate is 0 no packet leaves, even if the bucket is full.

use l4s_trace::Segment;
use l4s_units::{Bytes, Rate, Time};

/// 10⁻⁹ bits of a byte: the unit in which a rate per second and nanoseconds multiply without a fraction.
const BYTE: u64 = 8_000_000_000;

/// A token bucket that fills at the rates of a trace.
#[derive(Debug)]
pub(crate) struct Steps {
    trace: l4s_trace::Steps,
    /// The step in force at `free_at`: most packets ask for no other.
    step: Segment,
    /// The size of the bucket, in 10⁻⁹ bits.
    bucket: u128,
    /// When the debt is paid and the rate is above 0; `now` while the link is idle.
    free_at: Time,
    /// The content of the bucket at that time, in 10⁻⁹ bits: the capacity of the rest of the nanosecond
    /// in which the debt was paid, or the savings of an idle time.
    saved: u128,
}

impl Steps {
    /// A bucket of `burst` that begins to fill.
    pub fn new(mut trace: l4s_trace::Steps, burst: Bytes) -> Steps {
        let step = trace.at(Time::ZERO);
        let mut steps = Steps { trace, step, bucket: bits(burst), free_at: Time::ZERO, saved: 0 };
        steps.wait_for_a_rate();
        steps
    }

    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// The bucket fills until `now`. A link that is idle and has no capacity then is free when it has.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        if self.free_at < now {
            self.fill_until(now);
            self.wait_for_a_rate();
        }
    }

    /// As [`Pacer::charge`](crate::pacer::Pacer::charge).
    #[inline]
    pub fn charge(&mut self, size: Bytes, now: Time) {
        self.pass(now);
        let size = bits(size);
        if size <= self.saved {
            self.saved -= size;
        } else {
            self.pay(size - self.saved);
            self.wait_for_a_rate();
        }
    }

    /// Saves the capacity of an idle time. A full bucket needs no further steps.
    #[inline]
    fn fill_until(&mut self, now: Time) {
        while self.free_at < now && self.saved < self.bucket {
            let end = self.step.until.min(now);
            self.saved += self.capacity_until(end);
            self.advance(end);
        }
        self.saved = self.saved.min(self.bucket);
        self.advance(now);
    }

    /// Transmits a debt, in 10⁻⁹ bits, from the time on when the link is free.
    #[inline]
    fn pay(&mut self, mut debt: u128) {
        loop {
            let capacity = self.capacity_until(self.step.until);
            if capacity >= debt {
                let rate = self.step.rate.as_bps();
                let took = divide(debt, rate);
                self.saved = u128::from(took) * u128::from(rate) - debt;
                self.advance(Time::from_nanos(self.free_at.as_nanos() + took));
                return;
            }
            debt -= capacity;
            self.advance(self.step.until);
            if self.free_at == Time::NEVER {
                self.saved = 0;
                return;
            }
        }
    }

    #[inline]
    fn wait_for_a_rate(&mut self) {
        while self.step.rate == Rate::ZERO && self.free_at != Time::NEVER {
            self.advance(self.step.until);
        }
    }

    /// The capacity from `free_at` on, until a time within the present step, in 10⁻⁹ bits.
    #[inline]
    fn capacity_until(&self, end: Time) -> u128 {
        u128::from(self.step.rate.as_bps()) * u128::from(end.since(self.free_at).as_nanos())
    }

    #[inline]
    fn advance(&mut self, at: Time) {
        self.free_at = at;
        if at >= self.step.until {
            self.step = self.trace.at(at);
        }
    }

    /// As [`Pacer::owed`](crate::pacer::Pacer::owed).
    pub fn owed(&self, now: Time) -> Bytes {
        self.trace.clone().bytes_between(now, self.free_at)
    }
}

fn bits(size: Bytes) -> u128 {
    u128::from(size.get()) * u128::from(BYTE)
}

/// The nanoseconds that a debt takes at a rate, if its step is long enough. A debt of up to 2 GB, so each
/// packet, takes one division of 64 bits.
#[inline]
fn divide(debt: u128, rate: u64) -> u64 {
    match u64::try_from(debt) {
        Ok(debt) => debt.div_ceil(rate),
        Err(_) => debt.div_ceil(u128::from(rate)) as u64,
    }
}
