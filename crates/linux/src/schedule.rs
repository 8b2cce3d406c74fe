//! When packets should have left, and how much later they did: lateness in real time.
//!
//! The kernel's shaper has a bucket of time (`htb`, net/sched/sch_htb.c). Packets may leave as
//! long as it is not overdrawn; each takes its time on the link out of it; time fills it again,
//! up to the burst. So a packet was due when it came, or when the bucket was no longer overdrawn,
//! if that was later. If it left later, timers, softirqs and other work of this
//! machine caused the delay. Like the kernel, this counts from the times at which packets did leave,
//! so that rounding does not add up.

use l4s_lab::{Lateness, Meter};
use l4s_model::{Change, Link, Scenario};
use l4s_units::{Bytes, Duration, Rate, Time};

/// The schedule of a link.
#[derive(Debug)]
pub(crate) struct Schedule {
    rate: Rate,
    /// When it becomes which, the next one last.
    changes: Vec<(Time, Rate)>,
    /// How much the bucket holds.
    burst: Duration,
    /// The contents of the bucket when the last packet had left, in nanoseconds.
    tokens: i64,
    /// When that was.
    left: Time,
    /// The end of the run.
    end: Time,
    late: Meter,
}

impl Schedule {
    /// The schedule of a scenario's bottleneck.
    pub fn of_link(scenario: &Scenario) -> Schedule {
        Schedule::new(scenario, &scenario.link, |change| change.rate)
    }

    /// That of its uplink, if it has one.
    pub fn of_uplink(scenario: &Scenario) -> Option<Schedule> {
        let link = &scenario.uplink.as_ref()?.link;
        Some(Schedule::new(scenario, link, |change| change.uplink_rate))
    }

    fn new(scenario: &Scenario, link: &Link, rate: impl Fn(&Change) -> Option<Rate>) -> Schedule {
        let changes = scenario.changes.iter().rev();
        let changes = changes.filter_map(|change| Some((change.time, rate(change)?)));
        let burst = link.rate.time_of(link.burst);
        Schedule {
            rate: link.rate,
            changes: changes.collect(),
            burst,
            tokens: burst.as_nanos() as i64,
            left: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            late: Meter::new(),
        }
    }

    /// A packet that had arrived at `arrived` left at `now`.
    pub fn departed(&mut self, arrived: Time, now: Time, size: Bytes) {
        if now > self.end {
            return;
        }
        while let Some(&(at, rate)) = self.changes.last() {
            if at > now {
                break;
            }
            self.changes.pop();
            self.rate = rate;
        }
        let overdrawn = Duration::from_nanos(self.tokens.min(0).unsigned_abs());
        let due = arrived.max(self.left + overdrawn);
        self.late.record(now.since(due));
        let filled = self.tokens + now.since(self.left).as_nanos() as i64;
        // One that left early shows that there was enough in it.
        let filled = filled.clamp(0, self.burst.as_nanos() as i64);
        self.tokens = filled - self.rate.time_of(size).as_nanos() as i64;
        self.left = now;
    }

    /// How late packets were.
    pub fn lateness(&self) -> Lateness {
        self.late.lateness()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_scenario::Plan;

    const MTU: Bytes = Bytes::new(1500);

    fn us(us: u64) -> Time {
        Time::from_nanos(1000 * us)
    }

    /// 12 Mb/s: a packet takes a millisecond, and the bucket holds two.
    fn schedule(more: &str) -> Schedule {
        let text = format!(
            "duration = \"1s\"\nlink = {{ rate = \"12mbit\", burst = \"3000b\" }}\naqm = \"fifo\"\n\
             {more}\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n"
        );
        let plan = Plan::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        Schedule::of_link(&plan.points[0].scenario)
    }

    fn max(schedule: &Schedule) -> u64 {
        schedule.lateness().max.as_micros()
    }

    #[test]
    fn a_burst_leaves_at_once_and_then_each_packet_in_its_time() {
        let mut schedule = schedule("");
        // Two for the burst, one on credit, and the next when that is paid.
        for at in [0, 0, 0, 1000, 2000] {
            schedule.departed(us(0), us(at), MTU);
        }
        assert_eq!(max(&schedule), 0);
        schedule.departed(us(0), us(3050), MTU);
        assert!((49..=51).contains(&max(&schedule)), "{}", max(&schedule));
        // The late packet's time is made up for.
        schedule.departed(us(0), us(4000), MTU);
        schedule.departed(us(0), us(5000), MTU);
        assert!(max(&schedule) <= 51);
    }

    #[test]
    fn an_idle_link_is_late_from_the_arrival_on() {
        let mut schedule = schedule("");
        schedule.departed(us(9000), us(9007), MTU);
        assert_eq!(max(&schedule), 7);
    }

    #[test]
    fn a_link_that_becomes_slower_makes_nobody_late() {
        let mut schedule = schedule("[[at]]\ntime = \"2ms\"\nlink.rate = \"6mbit\"");
        for at in [0, 0, 0, 1000, 2000, 4000, 6000] {
            schedule.departed(us(0), us(at), MTU);
        }
        assert_eq!(max(&schedule), 0);
        // Packets after the end are not counted.
        schedule.departed(us(0), us(2_000_000), MTU);
        assert_eq!(max(&schedule), 0);
    }
}
