//! Virtual time at the pace of the wall clock.

use l4s_units::{Duration, Time};

/// How often lanes are run and states sent, on the wall clock.
pub(crate) const STEP: Duration = Duration::from_millis(50);
/// Maximum share of a step that lanes may take. The rest is for others, where the machine is too slow.
pub(crate) const BUDGET: Duration = Duration::from_millis(40);
/// Maximum delay that is caught up with; beyond it virtual time slows down.
const MOST_OWED: Duration = Duration::from_millis(200);
/// The virtual time after which the clock is looked at.
const SLICE: Duration = Duration::from_millis(1);

/// Where virtual time ought to be. The wall clock is an argument: a span since any fixed instant,
/// which never goes back.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    speed: f64,
    paused: bool,
    /// Where the lanes are.
    at: Time,
    /// The virtual time that should have passed and did not, in nanoseconds.
    owed_ns: f64,
    /// When that was counted last.
    counted: Duration,
}

impl Pace {
    pub fn new(now: Duration) -> Pace {
        Pace { speed: 1.0, paused: false, at: Time::ZERO, owed_ns: 0.0, counted: now }
    }

    pub fn speed(&self) -> f64 {
        self.speed
    }

    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Where the lanes are.
    pub fn time(&self) -> Time {
        self.at
    }

    /// How far virtual time lies behind its schedule: at most the delay that is caught up with.
    pub fn late(&self) -> Duration {
        Duration::from_nanos(self.owed_ns as u64)
    }

    /// From time zero, with nothing owed.
    pub fn restart(&mut self, now: Duration) {
        *self = Pace { speed: self.speed, paused: self.paused, ..Pace::new(now) };
    }

    /// Stops or resumes. The time in between is not caught up with.
    pub fn pause(&mut self, paused: bool, now: Duration) {
        self.count(now);
        self.paused = paused;
    }

    /// Virtual seconds per second from now on.
    pub fn set_speed(&mut self, speed: f64, now: Duration) {
        self.count(now);
        self.speed = speed;
        self.owed_ns = self.owed_ns.min(self.most_owed());
    }

    /// Counts the virtual time that should have passed by now.
    pub fn count(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.counted);
        self.counted = self.counted.max(now);
        if !self.paused {
            let owed = self.owed_ns + passed.as_nanos() as f64 * self.speed;
            self.owed_ns = owed.min(self.most_owed());
        }
    }

    fn most_owed(&self) -> f64 {
        MOST_OWED.as_nanos() as f64 * self.speed
    }

    /// The time to run the lanes to next; `None` where nothing is owed, or all does not advance.
    pub fn next(&self) -> Option<Time> {
        let slice = self.late().min(SLICE);
        (!self.paused && !slice.is_zero()).then(|| self.at + slice)
    }

    /// The lanes were run to this time.
    pub fn reached(&mut self, time: Time) {
        self.owed_ns = (self.owed_ns - time.since(self.at).as_nanos() as f64).max(0.0);
        self.at = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Steps on a machine that runs this much virtual time per second of the wall clock, with a
    /// wall clock of its own; where virtual time is after each.
    fn steps(pace: &mut Pace, machine: f64, steps: u64, now: &mut Duration) -> Vec<u64> {
        let mut reached = Vec::new();
        for _ in 0..steps {
            let due = *now + STEP;
            pace.count(*now);
            let began = *now;
            while let Some(next) = pace.next().filter(|_| now.saturating_sub(began) < BUDGET) {
                let slice = next.since(pace.time()).as_nanos() as f64;
                *now += Duration::from_nanos((slice / machine) as u64);
                pace.reached(next);
            }
            *now = due.max(*now);
            reached.push(pace.time().as_nanos() / 1_000_000);
        }
        reached
    }

    #[test]
    fn virtual_time_keeps_up_on_a_fast_machine_at_any_speed() {
        for (speed, expected) in [(1.0, 5000.0), (10.0, 50_000.0), (0.01, 50.0)] {
            let mut now = ms(700);
            let mut pace = Pace::new(now);
            pace.set_speed(speed, now);
            now += STEP;
            let last = *steps(&mut pace, 100.0, 100, &mut now).last().unwrap();
            assert!((last as f64 - expected).abs() <= expected * 0.001 + 1.0, "{speed}: {last}");
            assert!(pace.late().is_zero());
        }
    }

    #[test]
    fn on_a_slow_machine_virtual_time_slows_down_and_the_debt_is_bounded() {
        let mut now = ms(0);
        let mut pace = Pace::new(now);
        // Half as fast as the wall clock: 40 ms of each 50 make 20.
        let reached = steps(&mut pace, 0.5, 200, &mut now);
        assert_eq!(reached[199] - reached[99], 100 * 20);
        assert!(pace.late() <= MOST_OWED && pace.late() > ms(100), "{:?}", pace.late());
        // When it is fast again the most that was owed is caught up with, and no more.
        let before = pace.time();
        let last = steps(&mut pace, 100.0, 20, &mut now).pop().unwrap();
        let gone = last - before.as_nanos() / 1_000_000;
        assert!((1000..=1200).contains(&gone), "{gone}");
        assert!(pace.late().is_zero());
    }

    #[test]
    fn a_hiccup_is_caught_up_with_and_a_long_stop_is_not() {
        let mut pace = Pace::new(ms(0));
        pace.count(ms(150));
        assert_eq!(pace.late(), ms(150));
        pace.count(ms(3_600_000));
        assert_eq!(pace.late(), MOST_OWED);
    }

    #[test]
    fn nothing_passes_while_it_is_paused() {
        let mut pace = Pace::new(ms(0));
        pace.pause(true, ms(0));
        pace.count(ms(100));
        assert_eq!(pace.next(), None);
        pace.pause(false, ms(5000));
        assert_eq!(pace.next(), None);
        pace.count(ms(5001));
        assert_eq!(pace.next(), Some(Time::ZERO + ms(1)));
    }

    #[test]
    fn a_clock_that_goes_back_costs_nothing() {
        let mut pace = Pace::new(ms(100));
        pace.count(ms(50));
        pace.count(ms(100));
        assert!(pace.late().is_zero());
        pace.count(ms(101));
        assert_eq!(pace.late(), ms(1));
    }
}
