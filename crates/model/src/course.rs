//! The rate of the link and round-trip times over the course of a run.

use l4s_units::{Duration, Rate, Time};

use crate::{Change, Group, Link, Scenario};

impl Scenario {
    /// Every discipline of the bottleneck, the first one first.
    pub fn aqms(&self) -> impl Iterator<Item = &l4s_aqm::Config> {
        let later = self.changes.iter().filter_map(|change| change.aqm.as_ref());
        core::iter::once(&self.aqm).chain(later)
    }

    /// The rate of the link at an instant; with a trace, its mean rate.
    pub fn rate_at(&self, time: Time) -> Rate {
        self.course().rate_at(time)
    }

    /// The base round trip of a group, by its place, at an instant.
    pub fn rtt_at(&self, group: usize, time: Time) -> Duration {
        self.course().rtt_at(group, time)
    }

    /// Rates and round trips over time, for who asks often.
    pub fn course(&self) -> Course {
        let rates = self.changes.iter().filter_map(|change| Some((change.time, change.rate?)));
        let start = [(Time::ZERO, self.link.rate)];
        let rates = start.into_iter().chain(rates).collect();
        let start = |group: &Group| vec![(Time::ZERO, group.rtt)];
        let mut rtts: Vec<Vec<_>> = self.groups.iter().map(start).collect();
        for change in &self.changes {
            change.rtts.iter().for_each(|(group, rtt)| rtts[*group].push((change.time, *rtt)));
        }
        Course { rates, rtts }
    }

    /// The mean rate of the link after the warm-up, in bits per second. With a trace it is the capacity that
    /// this has in that time, which may be 0.
    pub fn mean_rate_bps(&self) -> f64 {
        if self.link.trace.is_some() {
            return self.mean_of_link(&self.link);
        }
        let (from, to) = (Time::ZERO + self.warmup, Time::ZERO + self.duration);
        // A run that ended early has changes beyond its end.
        let at = |change: &Change| change.time.max(from).min(to);
        let changes = self.changes.iter().filter(|change| change.rate.is_some());
        let ends = changes.clone().map(at).chain([to]);
        let rates = [self.link.rate].into_iter().chain(changes.clone().filter_map(|c| c.rate));
        let mut began = from;
        let mut bits = 0.0;
        for (rate, end) in rates.zip(ends) {
            bits += rate.as_bps() as f64 * end.since(began).as_secs_f64();
            began = end;
        }
        match changes.count() {
            0 => self.link.rate.as_bps() as f64,
            _ => bits / to.since(from).as_secs_f64(),
        }
    }

    /// The mean rate after the warm-up of a link that no change touches, in bits per second.
    pub fn mean_of_link(&self, link: &Link) -> f64 {
        let Some(capacity) = &link.trace else { return link.rate.as_bps() as f64 };
        let (from, to) = (Time::ZERO + self.warmup, Time::ZERO + self.duration);
        let bytes = capacity.bytes_between(from, to);
        bytes.get() as f64 * 8.0 / to.since(from).as_secs_f64()
    }
}

/// The rate of the link and the round trips of groups over time.
///
/// Example: [`Change`].
#[derive(Clone, Debug)]
pub struct Course {
    /// From when on, the first one from the start; and of each group likewise.
    rates: Vec<(Time, Rate)>,
    rtts: Vec<Vec<(Time, Duration)>>,
}

impl Course {
    /// The rate of the link at an instant.
    pub fn rate_at(&self, time: Time) -> Rate {
        at(&self.rates, time)
    }

    /// The base round trip of a group, by its place, at an instant.
    pub fn rtt_at(&self, group: usize, time: Time) -> Duration {
        at(&self.rtts[group], time)
    }
}

/// The value at an instant. The first of `values` holds from the start.
fn at<T: Copy>(values: &[(Time, T)], time: Time) -> T {
    let later = values.partition_point(|(from, _)| *from <= time);
    values[later.saturating_sub(1)].1
}
