//! What a statement is measured from: the runs of a figure, and where it needs them their courses
//! over time or their traffic lights.

use std::cell::OnceCell;
use std::path::Path;

use l4s_measure::{DelaySummary, GroupSummary, QueueSummary, Results, Summary};
use l4s_report::lights::{Lights, read_lights};
use l4s_scenario::Plan;
use l4s_units::{Duration, Rate};
use serde_json::Value;

use super::course::Course;

/// The runs of a figure.
pub struct Evidence<'a> {
    plan: &'a Plan,
    results: &'a Results,
    folder: &'a Path,
    courses: OnceCell<Vec<Course>>,
    lights: OnceCell<Option<Lights>>,
}

impl<'a> Evidence<'a> {
    /// What is in a result folder.
    pub fn new(plan: &'a Plan, results: &'a Results, folder: &'a Path) -> Evidence<'a> {
        Evidence { plan, results, folder, courses: OnceCell::new(), lights: OnceCell::new() }
    }

    /// All runs.
    pub fn runs(&self) -> impl Iterator<Item = &'a Summary> {
        self.results.summaries()
    }

    /// The runs of the cases that begin so.
    pub fn case(&self, name: &str) -> impl Iterator<Item = &'a Summary> {
        self.runs().filter(move |run| set(run, "case").is_some_and(|case| case.starts_with(name)))
    }

    /// The runs of one case, each with that of the other under the same conditions.
    pub fn pairs(&self, one: &str, other: &str) -> Vec<(&'a Summary, &'a Summary)> {
        let conditions = |run: &'a Summary| run.set.iter().filter(|(key, _)| *key != "case");
        let same = |a, b| conditions(a).eq(conditions(b));
        let others: Vec<_> = self.case(other).collect();
        self.case(one).filter_map(|a| Some((a, *others.iter().find(|b| same(a, b))?))).collect()
    }

    /// The courses of the runs over time; none where their tables cannot be read.
    pub fn courses(&self) -> &[Course] {
        self.courses.get_or_init(|| Course::all(self.plan, self.results).unwrap_or_default())
    }

    /// Their traffic lights; none where those cannot be read.
    pub fn lights(&self) -> Option<&Lights> {
        let read = || read_lights(self.plan, self.folder, Vec::new()).ok();
        self.lights.get_or_init(read).as_ref()
    }
}

/// What the sweep or the figure set.
pub fn set<'a>(run: &'a Summary, key: &str) -> Option<&'a str> {
    run.set.get(key)?.as_str()
}

/// The link rate in Mb/s.
pub fn mbps(run: &Summary) -> f64 {
    run.link.rate_bps / 1e6
}

/// A round trip that was set, in milliseconds.
pub fn rtt_ms(run: &Summary, key: &str) -> Option<f64> {
    let rtt: Duration = set(run, key)?.parse().ok()?;
    Some(rtt.as_millis_f64())
}

/// The round trip of all groups, in milliseconds.
pub fn base_ms(run: &Summary) -> Option<f64> {
    rtt_ms(run, "group.*.rtt")
}

/// A queue, where the discipline has it.
pub fn queue<'a>(run: &'a Summary, name: &str) -> Option<&'a QueueSummary> {
    run.queues.iter().find(|queue| queue.name == name)
}

/// The delays of a queue, where packets came through.
pub fn delay(run: &Summary, name: &str) -> Option<DelaySummary> {
    queue(run, name)?.delay_ms
}

/// The mean delay of a queue.
pub fn mean(run: &Summary, name: &str) -> Option<f64> {
    Some(delay(run, name)?.mean)
}

/// The 99th percentile of it.
pub fn p99(run: &Summary, name: &str) -> Option<f64> {
    Some(delay(run, name)?.p99)
}

/// A group, or an unresponsive source.
pub fn group<'a>(run: &'a Summary, name: &str) -> Option<&'a GroupSummary> {
    run.groups.iter().find(|group| group.name == name)
}

/// The share of the packets of a group that was dropped, in percent.
pub fn drops(run: &Summary, name: &str) -> Option<f64> {
    Some(100.0 * group(run, name)?.drop?)
}

/// A ratio between groups, such as `window_A_B`.
pub fn ratio(run: &Summary, name: &str) -> Option<f64> {
    run.ratios.get(name).and_then(Value::as_f64)
}

/// The rate of the unresponsive source that was set, in percent of the link.
pub fn load(run: &Summary) -> Option<f64> {
    let rate: Rate = set(run, "udp.U.rate")?.parse().ok()?;
    Some(100.0 * rate.as_bps() as f64 / run.link.rate_bps)
}

/// Downloads of a group that fit into the first window: mean completion over the ideal time, by size
/// (bins up to 9 KB).
pub fn short(run: &Summary, group: &str) -> Vec<f64> {
    efficiency(run, group, |[_, to]| to <= 9_000)
}

/// The same of downloads that depend on how soon a flow finds its share: from 243 KB to 1 MB.
pub fn large(run: &Summary, group: &str) -> Vec<f64> {
    efficiency(run, group, |[from, _]| from >= 243_000)
}

fn efficiency(run: &Summary, group: &str, bins: fn([u64; 2]) -> bool) -> Vec<f64> {
    let ours = run.completion.iter().filter(|bin| bin.group == group && bins(bin.bin_bytes));
    ours.map(|bin| bin.efficiency.mean).collect()
}

/// The mean of numbers; nothing of none.
pub fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How many long flows there are.
pub fn flows(run: &Summary) -> u64 {
    run.groups.iter().map(|group| group.flows).sum()
}
