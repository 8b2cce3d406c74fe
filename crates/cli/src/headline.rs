//! The numbers of many runs as a table for people.

use std::cmp::Reverse;
use std::collections::HashSet;

use l4s_measure::{FlowRow, GroupSummary, HopSummary, PathSummary, QueueSummary, Spread, Summary};

use crate::table::{Align, aligned, in_blocks};

/// The most groups in the table: of more, the first.
const GROUPS: usize = 32;

/// The most flows of programs in their table.
const FLOWS: usize = 10;

/// A delay that only some groups show.
struct GroupDelay {
    /// Its name in the heading.
    what: &'static str,
    /// Whether a group shows it.
    shows: fn(&GroupSummary) -> bool,
    /// Its value, where the group has one.
    delay: fn(&GroupSummary) -> Option<Spread>,
}

/// Delays of the packets of a UDP source, which can have a queue of its own; of small packets; and of frames.
const DELAYS: [GroupDelay; 3] = [
    GroupDelay {
        what: "delay",
        shows: |group| group.cc == "udp" && !group.is_mostly_small(),
        delay: |group| group.delay_ms.map(|d| Spread { p1: d.p1, mean: d.mean, p99: d.p99 }),
    },
    GroupDelay {
        what: "small",
        shows: GroupSummary::is_mostly_small,
        delay: |group| group.small_delay_ms,
    },
    GroupDelay {
        what: "frame",
        shows: |group| group.app.is_some(),
        delay: |group| group.app.as_ref()?.delay_ms,
    },
];

/// An effect of an imperfect stretch on packets, and how many it had.
pub type Effect = (&'static str, fn(&PathSummary) -> u64);

/// Effects on packets. Only those that some run had are shown.
pub const EFFECTS: [Effect; 5] = [
    ("lost", |path| path.lost),
    ("corrupted", |path| path.corrupted),
    ("duplicated", |path| path.duplicated),
    ("held back", |path| path.held_back),
    ("mangled", |path| path.mangled),
];

/// How many groups the table leaves out.
pub fn left_out(summaries: &[Summary]) -> usize {
    names(summaries, |s| s.groups.iter().map(|g| g.name.clone()).collect())
        .len()
        .saturating_sub(GROUPS)
}

/// A row per run. Columns: settings, utilization, delay of each queue (and of each hop, with its drops where it has any), effects of each
/// imperfect stretch, rate, marks and drops of each group. Goodput is shown where it is much less than the rate,
/// the delay of packets for UDP sources and where most are small, and the delay of frames for applications. Downloads and flows
/// with a size have their number and mean time. Wider than `width` it is in blocks; the columns of a link or of a group are in one of them.
pub fn table(summaries: &[Summary], width: Option<usize>) -> String {
    let keys = names(summaries, |s| s.set.keys().cloned().collect());
    let queues = names(summaries, |s| s.queues.iter().map(|q| q.name.clone()).collect());
    let hops = names(summaries, |s| s.hops.iter().map(|h| h.name.clone()).collect());
    let queues_of = |hop: &str| -> Vec<(String, bool)> {
        let dropped = |name: &str| {
            let of_runs = summaries.iter().filter_map(|s| queue_called(hop_called(s, hop)?, name));
            of_runs.into_iter().any(|queue| queue.drop > Some(0.0))
        };
        let queues = names(summaries, |s| queue_names(hop_called(s, hop)));
        queues.into_iter().map(|name| (name.clone(), dropped(&name))).collect()
    };
    let hops: Vec<_> = hops.into_iter().map(|hop| (queues_of(&hop), hop)).collect();
    let paths = names(summaries, |s| s.paths.iter().map(|path| path.name.clone()).collect());
    let mut effects: Vec<(&str, Effect)> = Vec::new();
    for path in &paths {
        let of_runs = || summaries.iter().filter_map(|summary| path_called(summary, path));
        let had = EFFECTS.into_iter().filter(|(_, count)| of_runs().any(|path| count(path) > 0));
        effects.extend(had.map(|effect| (path.as_str(), effect)));
    }
    let mut groups = names(summaries, |s| s.groups.iter().map(|g| g.name.clone()).collect());
    groups.truncate(GROUPS);
    let lagging = groups_where(summaries, GroupSummary::goodput_lags);
    let delays = DELAYS.map(|of| (of.what, groups_where(summaries, of.shows), of.delay));
    let completing: HashSet<&str> = summaries
        .iter()
        .flat_map(|summary| &summary.completion)
        .map(|bin| bin.group.as_str())
        .collect();
    let seeds = summaries.windows(2).any(|pair| pair[0].seed != pair[1].seed);

    let mut head: Vec<String> = keys.clone();
    head.extend(seeds.then(|| "seed".to_owned()));
    let words = head.len();
    let mut starts = vec![words];
    head.push("util %".to_owned());
    for queue in &queues {
        head.extend([format!("{queue} mean ms"), "p99 ms".to_owned()]);
    }
    for (queues, hop) in &hops {
        starts.push(head.len());
        head.push(format!("{hop} util %"));
        for (queue, dropped) in queues {
            head.extend([format!("{hop} {queue} mean ms"), "p99 ms".to_owned()]);
            head.extend(dropped.then(|| "drop %".to_owned()));
        }
    }
    starts.extend((!effects.is_empty()).then_some(head.len()));
    head.extend(effects.iter().map(|(path, (effect, _))| format!("{path} {effect} %")));
    for group in &groups {
        starts.push(head.len());
        head.push(format!("{group} Mb/s"));
        let name = group.as_str();
        head.extend(lagging.contains(name).then(|| "goodput".to_owned()));
        head.extend(["mark %".to_owned(), "drop %".to_owned()]);
        for (what, shown, _) in &delays {
            if shown.contains(name) {
                head.extend([format!("{what} mean ms"), "p99 ms".to_owned()]);
            }
        }
        if completing.contains(name) {
            head.extend(["completed".to_owned(), "mean ms".to_owned()]);
        }
    }
    let mut aligns = vec![Align::Left; words];
    aligns.resize(head.len(), Align::Right);
    let ends = starts[1..].iter().copied().chain([head.len()]);
    let sections: Vec<_> = starts.iter().copied().zip(ends).map(|(from, to)| from..to).collect();

    let row = |summary: &Summary| {
        let mut row: Vec<String> = keys.iter().map(|key| text(summary.set.get(key))).collect();
        row.extend(seeds.then(|| summary.seed.to_string()));
        row.push(format!("{:.1}", summary.link.utilization * 100.0));
        for name in &queues {
            row.extend(delay(summary.queues.iter().find(|queue| queue.name == *name)));
        }
        for (queues, hop) in &hops {
            let hop = hop_called(summary, hop);
            let used = hop.and_then(|hop| hop.utilization);
            row.push(used.map_or("-".to_owned(), |used| format!("{:.1}", used * 100.0)));
            for (name, dropped) in queues {
                let queue = hop.and_then(|hop| queue_called(hop, name));
                row.extend(delay(queue));
                row.extend(dropped.then(|| number(queue.and_then(|q| q.drop).map(|p| p * 100.0))));
            }
        }
        for (name, (_, count)) in &effects {
            let path = path_called(summary, name).filter(|path| path.packets > 0);
            row.push(number(path.map(|path| 100.0 * count(path) as f64 / path.packets as f64)));
        }
        for name in &groups {
            let group = summary.groups.iter().find(|group| group.name == *name);
            let of = |value: fn(&GroupSummary) -> Option<f64>| number(group.and_then(value));
            row.push(of(|g| Some(g.rate_bps / 1e6)));
            let lags = lagging.contains(name.as_str());
            row.extend(lags.then(|| of(|g| g.goodput_bps.map(|bps| bps / 1e6))));
            row.push(of(|g| g.mark.map(|p| p * 100.0)));
            row.push(of(|g| g.drop.map(|p| p * 100.0)));
            for (_, shown, delay) in &delays {
                if shown.contains(name.as_str()) {
                    let delay = group.and_then(delay);
                    row.extend([number(delay.map(|d| d.mean)), number(delay.map(|d| d.p99))]);
                }
            }
            if completing.contains(name.as_str()) {
                let (count, mean) = completed(summary, name);
                row.extend([count.to_string(), number(mean)]);
            }
        }
        row
    };
    let rows: Vec<_> = [head].into_iter().chain(summaries.iter().map(row)).collect();
    in_blocks(&rows, &aligns, &sections, width)
}

/// The flows of programs that carried most bytes, as read from packet headers; empty without any.
pub fn flows(rows: &[FlowRow]) -> String {
    let mut rows: Vec<&FlowRow> = rows.iter().filter(|row| row.protocol.is_some()).collect();
    rows.sort_by_key(|row| (Reverse(row.bytes), row.flow));
    let more = rows.len().saturating_sub(FLOWS);
    rows.truncate(FLOWS);
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "flow",
        "client",
        "server",
        "Mb/s",
        "delay mean ms",
        "p99 ms",
        "RTT ms",
        "ECT(0)",
        "ECT(1)",
        "Not-ECT",
        "marks",
        "drops",
        "retransmits",
    ];
    let word = |text: &Option<String>| text.clone().unwrap_or_default();
    let count = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    let row = |row: &&FlowRow| {
        let mut cells = vec![word(&row.protocol), word(&row.client), word(&row.server)];
        cells.push(number(row.rate_bps.map(|bps| bps / 1e6)));
        cells.extend([row.delay_mean_ms, row.delay_p99_ms, row.rtt_mean_ms].map(number));
        cells.extend([row.ect0, row.ect1, row.not_ect, row.marks, row.drops].map(count));
        let is_tcp = row.protocol.as_deref() == Some("TCP");
        cells.push(count(is_tcp.then_some(row.retransmits)));
        cells
    };
    let all: Vec<Vec<String>> =
        [head.map(str::to_owned).into()].into_iter().chain(rows.iter().map(row)).collect();
    let mut aligns = vec![Align::Left; 3];
    aligns.resize(head.len(), Align::Right);
    let rest = if more > 0 {
        format!("… and {more} more flows: flows.parquet of --out\n")
    } else {
        String::new()
    };
    aligned(&all, &aligns) + &rest
}

/// The names of the groups for which this holds in some summary.
fn groups_where(summaries: &[Summary], holds: impl Fn(&GroupSummary) -> bool) -> HashSet<&str> {
    let groups = summaries.iter().flat_map(|summary| &summary.groups);
    groups.filter(|group| holds(group)).map(|group| group.name.as_str()).collect()
}

/// How many downloads and sized flows of a group were completed, and in how many milliseconds on average.
pub fn completed(summary: &Summary, group: &str) -> (u64, Option<f64>) {
    let bins = summary.completion.iter().filter(|bin| bin.group == group);
    let (count, all_ms) = bins.fold((0, 0.0), |(count, all_ms), bin| {
        (count + bin.flows, all_ms + bin.flows as f64 * bin.time_ms.mean)
    });
    (count, (count > 0).then(|| all_ms / count as f64))
}

fn path_called<'a>(summary: &'a Summary, name: &str) -> Option<&'a PathSummary> {
    summary.paths.iter().find(|path| path.name == name)
}

fn hop_called<'a>(summary: &'a Summary, name: &str) -> Option<&'a HopSummary> {
    summary.hops.iter().find(|hop| hop.name == name)
}

fn queue_names(hop: Option<&HopSummary>) -> Vec<String> {
    hop.iter().flat_map(|hop| &hop.queues).map(|queue| queue.name.clone()).collect()
}

/// Mean and 99th percentile of the delay of the queue of that name.
fn queue_called<'a>(hop: &'a HopSummary, name: &str) -> Option<&'a QueueSummary> {
    hop.queues.iter().find(|queue| queue.name == name)
}

fn delay(queue: Option<&QueueSummary>) -> [String; 2] {
    let delay = queue.and_then(|queue| queue.delay_ms);
    [number(delay.map(|d| d.mean)), number(delay.map(|d| d.p99))]
}

/// Every name that some summary has, in the order of first appearance.
fn names(summaries: &[Summary], of: impl Fn(&Summary) -> Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    summaries.iter().flat_map(of).filter(|name| seen.insert(name.clone())).collect()
}

/// The value of a setting, without the quotes of a text.
pub fn text(value: Option<&serde_json::Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// About three significant digits; a dash for a missing value.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A run of a group A with these members, and of a group B whose goodput is its payload.
    fn run(a: Value) -> Summary {
        let Value::Object(more) = a else { panic!("an object") };
        let usual = json!({
            "name": "B", "cc": "cubic", "flows": 1, "rate_bps": 10e6, "goodput_bps": 9.65e6,
            "packets": 100, "small_packets": 50, "retransmits": 0,
        });
        let mut a = usual.clone();
        a["name"] = "A".into();
        a.as_object_mut().unwrap().extend(more);
        let summary = json!({
            "scenario": "s", "on": "sim", "seed": 1, "version": "", "set": {}, "queues": [],
            "link": { "rate_bps": 20e6, "utilization": 1.0 }, "groups": [a, usual],
            "engine": { "virtual_s": 1.0, "packets": 0 },
        });
        serde_json::from_value(summary).unwrap()
    }

    /// The lines of the table, with a space between words.
    fn lines(runs: &[Summary]) -> Vec<String> {
        let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        table(runs, None).lines().map(line).collect()
    }

    #[test]
    fn downloads_have_their_number_and_mean_time_over_all_sizes() {
        let bin = |group: &str, flows: u64, mean: f64| {
            let spread = |mean| json!({ "p1": 0.0, "mean": mean, "p99": 9.0 });
            json!({
                "group": group, "bin_bytes": [1000, 3000], "flows": flows,
                "time_ms": spread(mean), "efficiency": spread(1.0),
            })
        };
        let mut web = run(json!({}));
        let bins = json!([bin("A", 30, 10.0), bin("A", 10, 30.0), bin("B", 1, 50.0)]);
        web.completion = serde_json::from_value(bins).unwrap();
        let head =
            "util % A Mb/s mark % drop % completed mean ms B Mb/s mark % drop % completed mean ms";
        let lines = lines(&[web, run(json!({}))]);
        assert_eq!(lines[0], head);
        assert_eq!(lines[1], "100.0 10.0 - - 40 15.0 10.0 - - 1 50.0");
        assert_eq!(lines[2], "100.0 10.0 - - 0 - 10.0 - - 0 -");
    }

    #[test]
    fn a_hop_has_its_drops_where_some_run_has_any() {
        let hop = |drop: f64| {
            let queue = json!({
                "name": "Q", "packets": 90, "drop": drop,
                "marks": { "step": 0, "coupled": 0, "classic": 0 },
                "drops": { "overload": 0, "aqm": 0, "limit": 0, "memory": 0 },
            });
            let hop = json!({ "name": "P", "links": 1, "utilization": 0.5, "queues": [queue] });
            Summary { hops: vec![serde_json::from_value(hop).unwrap()], ..run(json!({})) }
        };
        let head = |drops: &str| {
            format!(
                "util % P util % P Q mean ms p99 ms {drops}A Mb/s mark % drop % B Mb/s mark % drop %"
            )
        };
        assert_eq!(lines(&[hop(0.0)])[0], head(""));
        let some = lines(&[hop(0.0), hop(0.1)]);
        assert_eq!(some[0], head("drop % "));
        assert_eq!(some[1], "100.0 50.0 - - 0 10.0 - - 10.0 - -");
        assert_eq!(some[2], "100.0 50.0 - - 10.0 10.0 - - 10.0 - -");
    }

    #[test]
    fn a_stretch_has_a_column_for_each_effect_of_some_run() {
        let mut runs = [run(json!({})), run(json!({}))];
        let far = json!({
            "name": "far", "packets": 200, "lost": 0, "corrupted": 0, "duplicated": 0,
            "held_back": 1, "mangled": 0,
        });
        let mut lossy = far.clone();
        lossy["lost"] = 3.into();
        runs[0].paths = vec![serde_json::from_value(far).unwrap()];
        runs[1].paths = vec![serde_json::from_value(lossy).unwrap()];
        let [head, first, second] = &lines(&runs)[..] else { panic!() };
        assert!(head.starts_with("util % far lost % far held back % A Mb/s"), "{head}");
        assert!(first.starts_with("100.0 0 0.50 "), "{first}");
        assert!(second.starts_with("100.0 1.50 0.50 "), "{second}");
    }

    #[test]
    fn goodput_is_shown_for_groups_that_send_much_again() {
        let usual = "util % A Mb/s mark % drop % B Mb/s mark % drop %";
        for goodput in [json!(8.5e6), Value::Null] {
            assert_eq!(lines(&[run(json!({ "goodput_bps": goodput }))])[0], usual);
        }
        // One run of several is enough.
        let lines = lines(&[run(json!({})), run(json!({ "goodput_bps": 8.4e6 }))]);
        assert_eq!(lines[0], usual.replace("A Mb/s", "A Mb/s goodput"));
        assert_eq!(lines[1..], ["100.0 10.0 9.65 - - 10.0 - -", "100.0 10.0 8.40 - - 10.0 - -"]);
    }

    /// FQ-CoDel has a queue per flow, and the numbers of all as one.
    #[test]
    fn udp_sources_have_a_delay_of_their_own() {
        let delay = json!({
            "mean": 0.15, "p1": 0.0, "p25": 0.0, "p50": 0.0, "p75": 0.0, "p99": 0.3, "p999": 0.3,
            "max": 0.3,
        });
        let of = |cc: &str| lines(&[run(json!({ "cc": cc, "delay_ms": delay }))]);
        assert!(!of("cubic")[0].contains("delay"));
        let head = "util % A Mb/s mark % drop % delay mean ms p99 ms B Mb/s mark % drop %";
        assert_eq!(of("udp"), [head, "100.0 10.0 - - 0.15 0.30 10.0 - -"]);
    }

    #[test]
    fn small_packets_have_a_delay_where_they_are_most() {
        let delay = json!({ "p1": 0.0, "mean": 1.5, "p99": 7.0 });
        let of = |small: u64| run(json!({ "small_packets": small, "small_delay_ms": delay }));
        assert!(!lines(&[of(50)])[0].contains("small"));
        let most = lines(&[of(51)]);
        let head = "util % A Mb/s mark % drop % small mean ms p99 ms B Mb/s mark % drop %";
        assert_eq!(most, [head, "100.0 10.0 - - 1.50 7.00 10.0 - -"]);
    }
}
