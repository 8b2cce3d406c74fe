//! The rate of the link and round-trip times over the course of a run.

use l4s_units::{Duration, Rate, Time};

use crate::{Change, Group, Link, Scenario};

impl Scenario {
    /// Every discipline of the bottleneck, the first one first.
    pub fn aqms(&self) -> impl Iterator<Item = &l4s_aqm::Config> {
        let later = self.changes.iter().filter_map(|change| change.aqm.as_ref());
        core::iter::once(&self.aqm).chain(later)
    }

    /// Every discipline of the uplink, the first one first; none where there is no uplink.
    pub fn uplink_aqms(&self) -> impl Iterator<Item = &l4s_aqm::Config> {
        let later = self.changes.iter().filter_map(|change| change.uplink_aqm.as_ref());
        self.uplink.iter().map(|uplink| &uplink.aqm).chain(later)
    }

    /// The highest rate that the link has in the run, by itself or by a change.
    pub fn fastest(&self) -> Rate {
        let later = self.changes.iter().filter_map(|change| change.rate);
        later.fold(self.link.fastest(), Rate::max)
    }

    /// The same of the uplink; zero where there is none.
    pub fn fastest_up(&self) -> Rate {
        let Some(uplink) = &self.uplink else { return Rate::ZERO };
        let later = self.changes.iter().filter_map(|change| change.uplink_rate);
        later.fold(uplink.link.fastest(), Rate::max)
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
        let start = self.uplink.iter().map(|uplink| (Time::ZERO, uplink.link.rate));
        let up = |change: &Change| Some((change.time, change.uplink_rate?));
        let uplink_rates = start.chain(self.changes.iter().filter_map(up)).collect();
        let start = |group: &Group| vec![(Time::ZERO, group.rtt)];
        let mut rtts: Vec<Vec<_>> = self.groups.iter().map(start).collect();
        for change in &self.changes {
            change.rtts.iter().for_each(|(group, rtt)| rtts[*group].push((change.time, *rtt)));
        }
        Course { rates, uplink_rates, rtts }
    }

    /// The mean rate of the link after the warm-up, in bits per second. With a trace it is the capacity that
    /// this has in that time, which may be 0.
    pub fn mean_rate_bps(&self) -> f64 {
        self.mean(&self.link, |change| change.rate)
    }

    /// The same of the uplink, if there is one.
    pub fn mean_uplink_bps(&self) -> Option<f64> {
        Some(self.mean(&self.uplink.as_ref()?.link, |change| change.uplink_rate))
    }

    /// The mean rate after the warm-up of a link to which these changes apply.
    fn mean(&self, link: &Link, rate: impl Fn(&Change) -> Option<Rate>) -> f64 {
        let changes =
            || self.changes.iter().filter_map(|change| Some((change.time, rate(change)?)));
        if link.trace.is_some() || changes().next().is_none() {
            return self.mean_of_link(link);
        }
        let (from, to) = (Time::ZERO + self.warmup, Time::ZERO + self.duration);
        // A run that ended early has changes beyond its end.
        let ends = changes().map(|(at, _)| at.max(from).min(to)).chain([to]);
        let rates = [link.rate].into_iter().chain(changes().map(|(_, rate)| rate));
        let mut began = from;
        let mut bits = 0.0;
        for (rate, end) in rates.zip(ends) {
            bits += rate.as_bps() as f64 * end.since(began).as_secs_f64();
            began = end;
        }
        bits / to.since(from).as_secs_f64()
    }

    /// The mean rate after the warm-up of a link that no change touches, in bits per second.
    fn mean_of_link(&self, link: &Link) -> f64 {
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
    /// Empty without an uplink.
    uplink_rates: Vec<(Time, Rate)>,
    rtts: Vec<Vec<(Time, Duration)>>,
}

impl Course {
    /// The rate of the link at an instant.
    pub fn rate_at(&self, time: Time) -> Rate {
        at(&self.rates, time)
    }

    /// The rate of the uplink at an instant; `None` without an uplink.
    pub fn uplink_rate_at(&self, time: Time) -> Option<Rate> {
        (!self.uplink_rates.is_empty()).then(|| at(&self.uplink_rates, time))
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
