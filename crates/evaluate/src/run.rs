//! The runs of a chapter, as criteria see them.

use l4s_measure::{
    DelaySummary, FlowRow, GroupSummary, QueueSummary, RunRecord, Scope, SeriesRow, Summary,
};
use l4s_model::{Buffer, Scenario};
use l4s_scenario::Point;
use l4s_units::{Ecn, Rate};

/// A run with its results.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The run.
    pub point: Point,
    /// Its numbers.
    pub summary: Summary,
    /// Its time series.
    pub series: Vec<SeriesRow>,
    /// Its flows.
    pub flows: Vec<FlowRow>,
    /// The command that repeats it.
    pub command: String,
}

impl Judged {
    /// The run with everything that was measured of it.
    pub fn new(point: Point, record: RunRecord) -> Judged {
        let RunRecord { summary, series, flows, command, .. } = record;
        let mut judged = Judged { point, summary, series: Vec::new(), flows, command };
        judged.keep_series(series);
        judged
    }

    /// Keeps the rows of groups: criteria do not look at others, which are most.
    pub fn keep_series(&mut self, rows: impl IntoIterator<Item = SeriesRow>) {
        self.series = rows.into_iter().filter(|row| row.scope == Scope::Group).collect();
    }
}

/// All runs of a chapter.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a>(pub &'a [Judged]);

impl<'a> Runs<'a> {
    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Run<'a>> {
        self.0.iter().map(move |judged| Run { all: self, judged })
    }
}

/// One run among those of its chapter.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    all: Runs<'a>,
    judged: &'a Judged,
}

impl<'a> Run<'a> {
    /// The run with its results.
    pub fn judged(self) -> &'a Judged {
        self.judged
    }

    /// The scenario.
    pub fn scenario(self) -> &'a Scenario {
        &self.judged.point.scenario
    }

    /// The numbers.
    pub fn summary(self) -> &'a Summary {
        &self.judged.summary
    }

    /// The setting of an axis of the sweep, which there has to be.
    pub fn set(self, axis: &str) -> &'a str {
        let found = self.judged.point.set.iter().find(|(key, _)| key == axis);
        debug_assert!(found.is_some(), "{axis} is no axis of {}", self.judged.summary.scenario);
        found.map_or("", |(_, value)| value)
    }

    /// The run itself, if an axis has one of these settings.
    pub fn only(self, axis: &str, one_of: &[&str]) -> Option<Run<'a>> {
        one_of.contains(&self.set(axis)).then_some(self)
    }

    /// The run with the same seed, another setting of one axis, and all other settings alike.
    pub fn with(self, axis: &str, setting: &str) -> Option<Run<'a>> {
        let is_it = |other: &Run<'a>| {
            let (mine, theirs) = (&self.judged.point, &other.judged.point);
            mine.scenario.seed == theirs.scenario.seed
                && other.set(axis) == setting
                && mine.set.iter().all(|(key, _)| key == axis || self.set(key) == other.set(key))
        };
        self.all.iter().find(is_it)
    }

    /// The numbers of a group or UDP source.
    pub fn group(self, name: &str) -> Option<&'a GroupSummary> {
        self.judged.summary.groups.iter().find(|group| group.name == name)
    }

    /// The numbers of a queue.
    pub fn queue(self, name: &str) -> Option<&'a QueueSummary> {
        self.judged.summary.queues.iter().find(|queue| queue.name == name)
    }

    /// Whether programs stand for the flows of a group.
    pub fn is_of_program(self, name: &str) -> bool {
        let scenario = self.scenario();
        scenario.programs.iter().any(|program| scenario.groups[program.group].name == name)
    }

    /// Whether the data of a group has ECT(1): by its settings, or of a program by its packets.
    pub fn sends_ect1(self, name: &str) -> bool {
        if self.is_of_program(name) {
            let mut flows = self.judged.flows.iter().filter(|flow| flow.group == name);
            return flows.any(|flow| flow.ect1.is_some_and(|packets| packets > 0));
        }
        let mut groups = self.scenario().groups.iter();
        groups.any(|group| group.name == name && group.codepoint() == Some(Ecn::Ect1))
    }

    /// The rate of a group in bit/s; `None` where it sends nothing by its settings.
    pub fn rate(self, name: &str) -> Option<f64> {
        let sends = |group: &&GroupSummary| group.flows > 0 || group.packets > 0;
        self.group(name).filter(sends).map(|group| group.rate_bps)
    }

    /// Whether a group or UDP source sends by its settings, and next to nothing of it comes through after the warm-up.
    pub fn is_starved(self, name: &str) -> bool {
        let scenario = self.scenario();
        let span = scenario.duration.as_secs_f64() - scenario.warmup.as_secs_f64();
        self.group(name).is_some_and(|group| self.starves(group, group.packets, span))
    }

    /// Whether these packets in `span_s` seconds are next to nothing for a group that sends: fewer than one per second and flow.
    /// A flow of TCP with so few lives by its retransmission timeouts, of 1 s and more (RFC 6298 §2.4).
    fn starves(self, group: &GroupSummary, packets: u64, span_s: f64) -> bool {
        // A program may send as little as it likes.
        if self.is_of_program(&group.name) {
            return packets == 0;
        }
        let mut udp = self.scenario().udp.iter();
        let rests = udp.any(|source| source.name == group.name && source.rate == Rate::ZERO);
        let frames = group.app.as_ref().map_or(0, |app| app.written + app.skipped);
        let sends = group.flows + group.downloads.unwrap_or(0) + frames > 0 && !rests;
        sends && (packets as f64) < span_s * group.flows.max(1) as f64
    }

    /// The mean queueing delay of a group in milliseconds; without end if it is starved.
    pub fn delay(self, name: &str) -> Option<f64> {
        self.delay_of(name, |delay| delay.mean)
    }

    /// A measure of the queueing delay of a group or UDP source, in milliseconds; without end if it is starved.
    pub fn delay_of(self, name: &str, of: fn(&DelaySummary) -> f64) -> Option<f64> {
        let delay = self.group(name)?.delay_ms.as_ref().map(of);
        if self.is_starved(name) { Some(f64::INFINITY) } else { delay }
    }

    /// A measure of the delay in a queue, in milliseconds; without end if the group that sends to it is starved.
    pub fn delay_in(self, queue: &str, from: &str, of: fn(&DelaySummary) -> f64) -> Option<f64> {
        let delay = self.queue(queue)?.delay_ms.as_ref().map(of);
        if self.is_starved(from) { Some(f64::INFINITY) } else { delay }
    }

    /// The mean over intervals of a group's queueing delay, in milliseconds, from `from_s` to `to_s` seconds after the start;
    /// without end if it is starved then.
    pub fn delay_over_time(self, name: &str, from_s: f64, to_s: f64) -> Option<f64> {
        let rows = self.over_time(name, from_s, to_s);
        if self.starves(self.group(name)?, forwarded(&rows), to_s - from_s) {
            return Some(f64::INFINITY);
        }
        mean(rows.into_iter().filter_map(|row| row.delay_mean_ms))
    }

    /// The dropped packets of a group, of those that arrived; all of them if it is starved.
    pub fn drop(self, name: &str) -> Option<f64> {
        let drop = self.group(name)?.drop;
        if self.is_starved(name) { Some(1.0) } else { drop }
    }

    /// The same from `from_s` to `to_s` seconds after the start.
    pub fn drop_over_time(self, name: &str, from_s: f64, to_s: f64) -> Option<f64> {
        let rows = self.over_time(name, from_s, to_s);
        let packets = forwarded(&rows);
        if self.starves(self.group(name)?, packets, to_s - from_s) {
            return Some(1.0);
        }
        let dropped: u64 = rows.into_iter().filter_map(|row| row.drops).sum();
        Some(dropped as f64 / (packets + dropped) as f64)
    }

    /// The rate of a group over that of another one; without end if the other is starved.
    pub fn rate_over(self, name: &str, other: &str) -> Option<f64> {
        let rates = self.rate(name)? / self.rate(other)?;
        Some(if self.is_starved(other) { f64::INFINITY } else { rates })
    }

    /// The base round trip of a group in milliseconds.
    pub fn rtt(self, name: &str) -> Option<f64> {
        let group = self.scenario().groups.iter().find(|group| group.name == name)?;
        Some(group.rtt.as_millis_f64())
    }

    /// The buffer of the link in bandwidth-delay products of a group.
    pub fn buffer_bdp(self, name: &str) -> Option<f64> {
        match self.scenario().link.buffer {
            Buffer::Time(time) => Some(time.as_millis_f64() / self.rtt(name)?),
            _ => None,
        }
    }

    /// The bandwidth-delay product of a group in packets of 1514 B.
    pub fn bdp_packets(self, name: &str) -> Option<f64> {
        let bits = self.scenario().link.rate.as_bps() as f64 * self.rtt(name)? / 1e3;
        Some(bits / (8.0 * 1514.0))
    }

    /// Rates of the flows of a group in bit/s, in the order of their numbers.
    pub fn flow_rates(self, name: &str) -> Vec<f64> {
        let flows =
            self.judged.flows.iter().filter(|flow| flow.group == name && flow.size.is_none());
        flows.filter_map(|flow| flow.rate_bps).collect()
    }

    /// Mean completion time of the downloads of a group that began after the warm-up, in milliseconds. It is the time that all
    /// of them were open, over the number that were over at the end of the run: without end if none was.
    ///
    /// So a download that hangs makes the mean longer, and one that began just before the end does not make it shorter. It is the
    /// estimate of greatest likelihood where completion times are exponential: B. Epstein, M. Sobel, "Life Testing", 1953.
    pub fn completion(self, name: &str) -> Option<f64> {
        let scenario = self.scenario();
        let (warmup, end) = (scenario.warmup.as_secs_f64(), scenario.duration.as_secs_f64());
        let begun =
            |flow: &&FlowRow| flow.group == name && flow.size.is_some() && flow.start_s >= warmup;
        let (mut open_ms, mut over) = (0.0, 0_u32);
        for flow in self.judged.flows.iter().filter(begun) {
            open_ms += flow.completion_ms.unwrap_or(1e3 * (end - flow.start_s));
            over += u32::from(flow.completion_ms.is_some());
        }
        (open_ms > 0.0).then(|| open_ms / f64::from(over))
    }

    /// The samples of a group over time, from `from_s` to `to_s` seconds after the start.
    pub fn over_time(self, name: &str, from_s: f64, to_s: f64) -> Vec<&'a SeriesRow> {
        let group = |row: &&SeriesRow| row.scope == Scope::Group && row.name == name;
        let then = |row: &&SeriesRow| row.time_s > from_s && row.time_s <= to_s;
        self.judged.series.iter().filter(group).filter(then).collect()
    }
}

/// Packets forwarded in these intervals.
fn forwarded(rows: &[&SeriesRow]) -> u64 {
    rows.iter().filter_map(|row| row.packets).sum()
}

/// The mean; `None` of nothing.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
