//! The numbers of many runs as a table for people.

use std::collections::HashSet;

use l4s_measure::{GroupSummary, HopSummary, QueueSummary, Summary};

use crate::table::{Align, aligned};

/// The most groups in the table: of more, the first.
const GROUPS: usize = 32;

/// How many groups the table leaves out.
pub fn left_out(summaries: &[Summary]) -> usize {
    names(summaries, |s| s.groups.iter().map(|g| g.name.clone()).collect())
        .len()
        .saturating_sub(GROUPS)
}

/// A row per run: what was set, utilization, delay of each queue, the same of each hop, rate, marks
/// and drops of each group, where much of the rate is no progress its goodput, and where it has
/// applications the delay of their frames.
pub fn table(summaries: &[Summary]) -> String {
    let keys = names(summaries, |s| s.set.keys().cloned().collect());
    let queues = names(summaries, |s| s.queues.iter().map(|q| q.name.clone()).collect());
    let hops = names(summaries, |s| s.hops.iter().map(|h| h.name.clone()).collect());
    let queues_of = |hop: &str| names(summaries, |s| queue_names(hop_called(s, hop)));
    let hops: Vec<_> = hops.into_iter().map(|hop| (queues_of(&hop), hop)).collect();
    let mut groups = names(summaries, |s| s.groups.iter().map(|g| g.name.clone()).collect());
    groups.truncate(GROUPS);
    let with_app: HashSet<&str> = (summaries.iter().flat_map(|summary| &summary.groups))
        .filter(|group| group.app.is_some())
        .map(|group| group.name.as_str())
        .collect();
    let has_app = |name: &String| with_app.contains(name.as_str());
    let behind: HashSet<&str> = (summaries.iter().flat_map(|summary| &summary.groups))
        .filter(|group| is_far_below_its_rate(group))
        .map(|group| group.name.as_str())
        .collect();
    let lags = |name: &String| behind.contains(name.as_str());
    let seeds = summaries.windows(2).any(|pair| pair[0].seed != pair[1].seed);

    let mut head: Vec<String> = keys.clone();
    head.extend(seeds.then(|| "seed".to_owned()));
    let words = head.len();
    head.push("util %".to_owned());
    for queue in &queues {
        head.extend([format!("{queue} mean ms"), "p99 ms".to_owned()]);
    }
    for (queues, hop) in &hops {
        head.push(format!("{hop} util %"));
        for queue in queues {
            head.extend([format!("{hop} {queue} mean ms"), "p99 ms".to_owned()]);
        }
    }
    for group in &groups {
        head.push(format!("{group} Mb/s"));
        head.extend(lags(group).then(|| "goodput".to_owned()));
        head.extend(["mark %".to_owned(), "drop %".to_owned()]);
        if has_app(group) {
            head.extend(["frame mean ms".to_owned(), "p99 ms".to_owned()]);
        }
    }
    let mut aligns = vec![Align::Left; words];
    aligns.resize(head.len(), Align::Right);

    let row = |summary: &Summary| {
        let mut row: Vec<String> = keys.iter().map(|key| text(summary.set.get(key))).collect();
        row.extend(seeds.then(|| summary.seed.to_string()));
        row.push(format!("{:.1}", summary.link.utilization * 100.0));
        queues.iter().for_each(|name| row.extend(delay(&summary.queues, name)));
        for (queues, hop) in &hops {
            let hop = hop_called(summary, hop);
            let used = hop.and_then(|hop| hop.utilization);
            row.push(used.map_or("-".to_owned(), |used| format!("{:.1}", used * 100.0)));
            let of = hop.map_or(&[][..], |hop| &hop.queues);
            queues.iter().for_each(|name| row.extend(delay(of, name)));
        }
        for name in &groups {
            let group = summary.groups.iter().find(|group| group.name == *name);
            let of = |value: fn(&GroupSummary) -> Option<f64>| number(group.and_then(value));
            row.push(of(|g| Some(g.rate_bps / 1e6)));
            row.extend(lags(name).then(|| of(|g| g.goodput_bps.map(|bps| bps / 1e6))));
            row.push(of(|g| g.mark.map(|p| p * 100.0)));
            row.push(of(|g| g.drop.map(|p| p * 100.0)));
            if has_app(name) {
                let frames = |g: &GroupSummary| g.app.as_ref()?.delay_ms;
                let delay = group.and_then(frames);
                row.extend([number(delay.map(|d| d.mean)), number(delay.map(|d| d.p99))]);
            }
        }
        row
    };
    let rows: Vec<_> = [head].into_iter().chain(summaries.iter().map(row)).collect();
    aligned(&rows, &aligns)
}

/// Whether much of what a group sent was sent before, or waits for something that is missing. Headers
/// alone are some 4 % of full packets.
fn is_far_below_its_rate(group: &GroupSummary) -> bool {
    group.goodput_bps.is_some_and(|goodput| goodput < 0.8 * group.rate_bps)
}

fn hop_called<'a>(summary: &'a Summary, name: &str) -> Option<&'a HopSummary> {
    summary.hops.iter().find(|hop| hop.name == name)
}

fn queue_names(hop: Option<&HopSummary>) -> Vec<String> {
    hop.iter().flat_map(|hop| &hop.queues).map(|queue| queue.name.clone()).collect()
}

/// Mean and 99th percentile of the delay of the queue of that name.
fn delay(queues: &[QueueSummary], name: &str) -> [String; 2] {
    let queue = queues.iter().find(|queue| queue.name == name);
    let delay = queue.and_then(|queue| queue.delay_ms);
    [number(delay.map(|d| d.mean)), number(delay.map(|d| d.p99))]
}

/// Every name that some summary has, in the order of first appearance.
fn names(summaries: &[Summary], of: impl Fn(&Summary) -> Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    summaries.iter().flat_map(of).filter(|name| seen.insert(name.clone())).collect()
}

fn text(value: Option<&serde_json::Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Three significant digits or so; a dash for what was not measured.
fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(x) if x.abs() >= 100.0 => format!("{x:.0}"),
        Some(x) if x.abs() >= 10.0 => format!("{x:.1}"),
        Some(x) if x.abs() >= 0.1 => format!("{x:.2}"),
        Some(x) => format!("{x:.4}"),
    }
}
