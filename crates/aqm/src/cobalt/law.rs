//! When COBALT signals: CoDel with one timer, and BLUE.

use l4s_units::{Duration, Probability, Time};
use rand_core::Rng;

use super::Config;
use crate::codel::newton_step;

/// 1/√count as Q0.32 of the first counts: one step of Newton's method is too rough between them.
/// At 0 as at 1, for the interval is also the time before the first signal (Linux).
const ROOTS: [u32; 16] = {
    let mut roots = [u32::MAX; 16];
    let mut count = 1;
    while count < roots.len() {
        let (mut root, mut steps) = (roots[count - 1], 0);
        while steps < 8 {
            root = newton_step(root, count as u32);
            steps += 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
};

/// CoDel as in Linux' CAKE. Unlike RFC 8289 §5.5 it has one timer for the first signal and
/// the others, signals at most once per packet, and decrements its count as slowly as it increments it.
#[derive(Clone, Debug)]
pub(super) struct Codel {
    interval: Duration,
    /// A delay up to this is left alone.
    floor: Duration,
    /// Signals, less those that were decremented.
    pub count: u32,
    /// 1/√count as Q0.32.
    root: u32,
    /// When the next signal is due; or, below the floor, when the count is next decremented.
    next: Time,
    /// Above the floor, or the queue just overflowed.
    dropping: bool,
    /// The packet at the head is behind the schedule.
    late: bool,
}

impl Codel {
    pub fn new(config: &Config) -> Codel {
        Codel {
            interval: config.interval,
            floor: floor(config),
            count: 0,
            // Not that of 0: in Linux too, the first signal of all does not wait an interval.
            root: 0,
            next: Time::ZERO,
            dropping: false,
            late: false,
        }
    }

    /// The same state with other settings.
    pub fn configure(&mut self, config: &Config) {
        (self.interval, self.floor) = (config.interval, floor(config));
    }

    /// Whether the packet at the head gets a signal after it waited for `sojourn`.
    #[inline]
    pub fn is_due(&mut self, sojourn: Duration, now: Time) -> bool {
        let due = self.count > 0 && now >= self.next;
        self.late = now > self.next;
        let above = sojourn > self.floor;
        if above && !self.dropping {
            self.next = now + self.gap();
        }
        self.dropping = above;
        if !above {
            self.forget(now);
            return false;
        }
        if due {
            self.count_to(self.count.saturating_add(1));
            self.late = now > self.next;
        }
        self.count = self.count.max(1);
        due
    }

    /// The outcome for that packet. A drop leaves the schedule unchanged, and the next packet gets the
    /// signals that were due earlier. After a mark the schedule continues from `now`.
    #[inline]
    pub fn settle(&mut self, refused: bool, now: Time) {
        if self.count == 0 {
            self.next = now + self.interval;
        } else if self.late && !refused && self.dropping {
            self.next = now;
        }
    }

    /// A packet had to be dropped for lack of room.
    pub fn overflow(&mut self, now: Time) {
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue was empty until now.
    pub fn idle(&mut self, now: Time) {
        self.dropping = false;
        self.forget(now);
    }

    /// Decrements the count for each due time, on the schedule of its increments.
    #[inline]
    fn forget(&mut self, now: Time) {
        while self.count > 0 && now >= self.next {
            self.count_to(self.count - 1);
        }
    }

    /// `count` changed by one.
    fn count_to(&mut self, count: u32) {
        self.count = count;
        self.root = match ROOTS.get(count as usize) {
            Some(root) => *root,
            None => newton_step(self.root, count),
        };
        self.next += self.gap();
    }

    /// interval/√count (RFC 8289 §5.4).
    fn gap(&self) -> Duration {
        let product = u128::from(self.interval.as_nanos()) * u128::from(self.root);
        Duration::from_nanos((product >> 32) as u64)
    }
}

/// The delay that is left alone: the target, or as long as four packets take.
fn floor(config: &Config) -> Duration {
    config.target.max(config.mtu_time * 4)
}

/// BLUE: a probability that rises when the queue overflows and falls when it is empty.
#[derive(Clone, Debug)]
pub(super) struct Blue {
    p: Probability,
    p_inc: u32,
    p_dec: u32,
    /// The least time between two changes.
    hold: Duration,
    changed: Option<Time>,
}

impl Blue {
    pub fn new(config: &Config) -> Blue {
        Blue {
            p: Probability::ZERO,
            p_inc: Probability::from_f64(config.p_inc).raw(),
            p_dec: Probability::from_f64(config.p_dec).raw(),
            hold: config.target,
            changed: None,
        }
    }

    /// The same state with other settings.
    pub fn configure(&mut self, config: &Config) {
        *self = Blue { p: self.p, changed: self.changed, ..Blue::new(config) };
    }

    /// The probability of `old`, and when that changed.
    pub fn inherit(&mut self, old: &Blue) {
        (self.p, self.changed) = (old.p, old.changed);
    }

    pub fn probability(&self) -> Probability {
        self.p
    }

    /// Whether it drops a packet.
    #[inline]
    pub fn hits(&self, rng: &mut impl Rng) -> bool {
        self.p != Probability::ZERO && self.p.hits(rng.next_u32())
    }

    /// A packet had to be dropped for lack of room.
    pub fn overflow(&mut self, now: Time) {
        if self.changed.is_none_or(|changed| now.since(changed) > self.hold) {
            self.p = self.p.saturating_add_raw(self.p_inc.into());
            self.changed = Some(now);
        }
    }

    /// The queue was empty from `since` to `now`: one step down as soon as may be, and one after
    /// every further hold.
    pub fn idle(&mut self, since: Time, now: Time) {
        let Some(changed) = self.changed.filter(|_| self.p != Probability::ZERO) else { return };
        let first = since.max(changed + self.hold);
        let steps = now.since(first).as_nanos().div_ceil(self.hold.as_nanos().max(1));
        if steps > 0 {
            let down = i128::from(self.p_dec) * i128::from(steps);
            self.p = self.p.saturating_add_raw(-down);
            self.changed = Some(first + self.hold * (steps - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_those_of_linux() {
        assert_eq!([ROOTS[0], ROOTS[1]], [u32::MAX; 2]);
        for (count, root) in ROOTS.iter().enumerate().skip(1) {
            // Q0.32, and each of eight steps rounds down.
            let exact = (2f64.powi(32) / (count as f64).sqrt()).min(u32::MAX.into());
            assert!((f64::from(*root) - exact).abs() < 8.0, "1/sqrt({count}): {root}, not {exact}");
        }
    }

    #[test]
    fn the_root_follows_the_count_up_and_down() {
        let mut codel = Codel::new(&Config::linux());
        for count in (1..2000).chain((0..1999).rev()) {
            codel.count_to(count);
            let (got, exact) =
                (f64::from(codel.root), 2f64.powi(32) / f64::from(count.max(1)).sqrt());
            assert!((got / exact - 1.0).abs() < 0.003, "1/sqrt({count}): {got}, not {exact}");
        }
    }

    #[test]
    fn the_count_saturates() {
        let mut codel = Codel { count: u32::MAX, root: 1 << 16, ..Codel::new(&Config::linux()) };
        assert!(codel.is_due(Duration::from_millis(6), Time::from_nanos(1)));
        assert_eq!(codel.count, u32::MAX);
    }
}
