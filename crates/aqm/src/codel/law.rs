//! The control law of CoDel, for one queue: when to signal.
//!
//! Time is counted in units of 1024 ns, as in Linux, but in 64 bits, so that it does not wrap.

use l4s_units::{Bytes, Duration, Time};

use crate::waiting::Waiting;
use crate::watch::mark;
use crate::{DropCause, MTU, MarkCause, Packet, Queue, Watch};

/// Where CoDel takes its packets from.
pub(crate) trait Source<P> {
    /// Removes the packet at the head.
    fn pop(&mut self) -> Option<Waiting<P>>;

    /// The backlog of the whole discipline after this packet.
    fn left(&self) -> Bytes;
}

/// The parameters, in units of 1024 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Law {
    target: u64,
    interval: u64,
    ecn: bool,
    ce_threshold: Option<u64>,
    /// The threshold applies to ECT(1) and CE only.
    ce_threshold_l4s: bool,
}

impl Law {
    pub fn new(target: Duration, interval: Duration, ecn: bool) -> Law {
        let (target, interval) = (units(target), units(interval));
        Law { target, interval, ecn, ce_threshold: None, ce_threshold_l4s: false }
    }

    pub fn with_ce_threshold(self, threshold: Option<Duration>, l4s_only: bool) -> Law {
        Law { ce_threshold: threshold.map(units), ce_threshold_l4s: l4s_only, ..self }
    }
}

const fn units(span: Duration) -> u64 {
    span.as_nanos() >> 10
}

/// The state of one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    /// Signals since dropping state was entered; wraps harmlessly.
    pub(super) count: u32,
    /// `count` when it was entered.
    pub(super) last_count: u32,
    /// In dropping state.
    dropping: bool,
    /// 1/√count as Q0.16.
    inv_sqrt: u16,
    /// When the delay will have been above target for an interval; `None` while it is below.
    first_above: Option<u64>,
    /// When the next signal is due.
    drop_next: u64,
    /// The time that the last packet waited.
    delay: u64,
    /// The longest packet that left.
    longest: Bytes,
}

impl Control {
    /// A run of drops at one dequeue ends here, and the schedule restarts (Linux 7.3).
    const MAX_DROPS: u32 = 256;

    /// The packet to send next, after dropping those that stand in its way (RFC 8289 §5.5).
    #[inline]
    pub fn dequeue<P: Packet>(
        &mut self,
        law: &Law,
        source: &mut impl Source<P>,
        now: Time,
        watch: &mut impl Watch<P>,
    ) -> Option<Waiting<P>> {
        let clock = now.as_nanos() >> 10;
        let mut head = source.pop();
        let persists = self.persists(law, head.as_ref(), source, clock);
        if head.is_none() || (self.dropping && !persists) {
            self.dropping = false;
        } else if self.dropping {
            self.go_on(law, &mut head, source, now, watch);
        } else if persists {
            if !self.signal(law, &mut head, now, watch) {
                head = source.pop();
                self.persists(law, head.as_ref(), source, clock);
            }
            self.enter(law, clock);
        }
        self.apply_ce_threshold(law, &mut head, now, watch);
        head
    }

    /// Whether the delay has been above target for an interval (RFC 8289 §5.6).
    #[inline]
    fn persists<P: Packet>(
        &mut self,
        law: &Law,
        head: Option<&Waiting<P>>,
        source: &impl Source<P>,
        clock: u64,
    ) -> bool {
        let Some(head) = head else {
            self.first_above = None;
            return false;
        };
        self.delay = clock.saturating_sub(head.arrival.as_nanos() >> 10);
        // One packet is no queue (RFC 8289 §4.2): the remaining one may be sent without delay. It is no longer than the
        // longest one seen (§5.6, `maxpacket`), or the MTU (Linux).
        self.longest = self.longest.max(head.packet.size());
        if self.delay < law.target || source.left() <= self.longest.max(MTU) {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(clock + law.interval);
        clock > first_above
    }

    /// Enters dropping state. Soon after the last time, it goes on at about the rate that was
    /// right then (RFC 8289 §5.5; Linux: within 16 intervals).
    fn enter(&mut self, law: &Law, clock: u64) {
        self.dropping = true;
        let given = self.count.wrapping_sub(self.last_count);
        if given > 1 && clock.saturating_sub(self.drop_next) < 16 * law.interval {
            self.count = given;
            self.newton_step();
        } else {
            self.count = 1;
            self.inv_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(law, clock);
    }

    /// In dropping state: every signal that is due, until one of them is a mark or the delay is
    /// below target.
    fn go_on<P: Packet>(
        &mut self,
        law: &Law,
        head: &mut Option<Waiting<P>>,
        source: &mut impl Source<P>,
        now: Time,
        watch: &mut impl Watch<P>,
    ) {
        let clock = now.as_nanos() >> 10;
        let mut drops = 0;
        while self.dropping && clock >= self.drop_next {
            drops += 1;
            if drops > Self::MAX_DROPS {
                self.drop_next = self.control_law(law, clock);
                return;
            }
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if self.signal(law, head, now, watch) {
                self.drop_next = self.control_law(law, self.drop_next);
                return;
            }
            *head = source.pop();
            self.dropping = self.persists(law, head.as_ref(), source, clock);
            if self.dropping {
                self.drop_next = self.control_law(law, self.drop_next);
            }
        }
    }

    /// One congestion signal: a mark where it can be one, and `true`; else a drop.
    fn signal<P: Packet>(
        &mut self,
        law: &Law,
        head: &mut Option<Waiting<P>>,
        now: Time,
        watch: &mut impl Watch<P>,
    ) -> bool {
        let Some(mut waiting) = head.take() else { return false };
        if law.ecn && mark(&mut waiting.packet, MarkCause::Classic, now, watch) {
            *head = Some(waiting);
            return true;
        }
        watch.dropped(waiting.packet, Queue::Q, DropCause::Aqm, now);
        false
    }

    /// `t` + interval/√count (RFC 8289 §5.4), and at least one unit later.
    fn control_law(&self, law: &Law, t: u64) -> u64 {
        t + ((law.interval * u64::from(self.inv_sqrt)) >> 16).max(1)
    }

    /// Follows `count`, one step of Newton's method at a time.
    ///
    /// It converges while count grows by ones. Where count was raised by a whole batch of drops
    /// it does not, and takes Linux' values, wrapped and cut as there.
    fn newton_step(&mut self) {
        self.inv_sqrt = (newton_step(u32::from(self.inv_sqrt) << 16, self.count) >> 16) as u16;
    }

    /// Marks packets that waited longer than a shallow threshold, in any state.
    #[inline]
    fn apply_ce_threshold<P: Packet>(
        &self,
        law: &Law,
        head: &mut Option<Waiting<P>>,
        now: Time,
        watch: &mut impl Watch<P>,
    ) {
        let (Some(threshold), Some(head)) = (law.ce_threshold, head) else { return };
        let selected = !law.ce_threshold_l4s || head.packet.ecn().bits() & 1 == 1;
        if self.delay > threshold && selected {
            mark(&mut head.packet, MarkCause::Step, now, watch);
        }
    }

    /// Dropped packets that the law did not ask for also say that the queue is too long.
    pub fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }
}

/// One step of Newton's method for 1/√count: x ← x·(3 − count·x²)/2 in Q0.32.
#[inline]
pub(crate) const fn newton_step(x: u32, count: u32) -> u32 {
    let x = x as u64;
    let x_squared = (x * x) >> 32;
    let twice = (3u64 << 32).wrapping_sub(count as u64 * x_squared);
    // Two bits less for now, so that the product fits.
    ((twice >> 2).wrapping_mul(x) >> (32 - 2 + 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newton_gives_the_inverse_square_root_while_count_grows_by_ones() {
        let mut control = Control { count: 1, inv_sqrt: u16::MAX, ..Control::default() };
        for count in 2..=1000u32 {
            control.count = count;
            control.newton_step();
            let (got, exact) = (f64::from(control.inv_sqrt) / 65536.0, f64::from(count).powf(-0.5));
            // The first steps still have far to go: from 1 to 0.71 one step gives 0.5.
            let tolerance = if count < 8 { 0.3 } else { 0.01 };
            assert!((got / exact - 1.0).abs() < tolerance, "1/sqrt({count}) = {exact}, not {got}");
        }
    }

    #[test]
    fn the_schedule_moves_on_even_where_the_root_is_lost() {
        let law = Law::new(Duration::from_millis(5), Duration::from_millis(100), false);
        let control = Control { inv_sqrt: 0, ..Control::default() };
        assert_eq!(control.control_law(&law, 7), 8);
    }

    #[test]
    fn a_count_raised_at_once_takes_the_values_of_linux() {
        // By hand: x = 0xffff0000, x² >> 32 = 0xfffe0001, 3·2³² − 65·0xfffe0001 wraps to
        // 2⁶⁴ − 266284826689; its quarter is 4611685951856181231 (rounded down), times x modulo
        // 2⁶⁴, cut to bits 47..=62 of the product.
        let mut control = Control { count: 65, inv_sqrt: u16::MAX, ..Control::default() };
        control.newton_step();
        let (x, count) = (0xffff_0000u128, 65u128);
        let twice = ((3u128 << 32) + (1 << 64) - count * ((x * x) >> 32)) % (1 << 64);
        let expected = (((twice >> 2) * x) % (1 << 64)) >> 31 >> 16;
        assert_eq!(control.inv_sqrt, (expected % (1 << 16)) as u16);
    }
}
