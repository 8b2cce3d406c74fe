//! From result folders to the data of a report: which runs get curves, the traffic of each group, and
//! the label of each folder.

use std::collections::{BTreeMap, BTreeSet};

use l4s_measure::{DelayRow, FlowRow, RunRecord, Scope, SeriesRow, Summary, theoretical_time};
use l4s_model::{EcnMode, Group, Scenario};
use l4s_scenario::Plan;
use l4s_units::Bytes;

use crate::lights::Since;
use crate::thin;
use crate::{
    Curves, Data, DelaySeries, DetectorSeries, Downloads, Folder, ProgramDelay, ProgramFlows,
    RateSeries, Run, Sketch, Traffic,
};

/// Maximum number of runs of a folder with curves.
const CURVES: usize = 16;
/// Maximum number of lines of rates in a run; with more flows, groups have one each.
const RATES: usize = 20;
/// Maximum number of groups of a run that are shown.
const GROUPS: usize = thin::LINES;
/// Maximum number of downloads in a folder, shared out among runs with curves and their groups.
const DOWNLOADS: usize = 16_000;

/// A result folder, read.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// Its label.
    pub label: String,
    /// The scenario as run, for people.
    pub text: String,
    /// The scenario of each run; `None` for a folder of an older version, which has no
    /// [`SCENARIOS`](crate::SCENARIOS), or others.
    pub scenarios: Option<Vec<Scenario>>,
    /// Its runs in order. Those that the report does not show need no tables.
    pub runs: Vec<RunRecord>,
    /// A few points of runs by their place, where the sweep asks for them.
    pub sketches: BTreeMap<usize, Vec<Sketch>>,
    /// The flows of programs of runs by their place, where there are any.
    pub programs: BTreeMap<usize, ProgramFlows>,
}

/// The data of a report on `sources`, drawn by this version of l4s.
pub fn gather(version: &str, sources: &[Source]) -> Data {
    let folders = sources.iter().map(folder).collect();
    Data { version: version.to_owned(), folders, differences: None }
}

fn folder(source: &Source) -> Folder {
    let read;
    let scenarios: Vec<Option<&Scenario>> = match &source.scenarios {
        Some(scenarios) => scenarios.iter().map(Some).collect(),
        None => {
            read = scenarios_of_text(source);
            read.iter().map(Option::as_ref).collect()
        }
    };
    let summaries: Vec<&Summary> = source.runs.iter().map(|run| &run.summary).collect();
    let chosen = chosen(&summaries);
    let first = summaries.first();
    let groups = summaries.iter().map(|summary| summary.groups.len()).max().unwrap_or(0);
    let part = match groups > GROUPS {
        true => format!(" (the first {GROUPS} of {groups} groups)"),
        false => String::new(),
    };
    Folder {
        label: source.label.clone(),
        scenario: first.map(|s| s.scenario.clone() + &part).unwrap_or_default(),
        on: first.map(|s| s.on.clone()).unwrap_or_default(),
        version: first.map(|s| s.version.clone()).unwrap_or_default(),
        text: source.text.clone(),
        runs: (source.runs.iter().enumerate())
            .map(|(i, record)| {
                let scenario = scenarios.get(i).copied().flatten();
                let mut run = run(i, record, scenario);
                if chosen.contains(&i) && !(record.delays.is_empty() && record.series.is_empty()) {
                    run.curves = Some(curves(record, scenario, DOWNLOADS / chosen.len()));
                }
                run.sketch = source.sketches.get(&i).cloned().unwrap_or_default();
                run.programs = source.programs.get(&i).cloned();
                run
            })
            .collect(),
    }
}

/// Which runs get curves: all of a small result; of a big one, conditions spread over the sweep,
/// each with all of its cases, so that disciplines can be compared. One seed of each comes first;
/// further seeds follow for all or for none.
pub fn chosen(runs: &[&Summary]) -> Vec<usize> {
    // The runs of each case of each condition, which differ in their seed.
    let mut conditions: Vec<Vec<Vec<usize>>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut cases: BTreeMap<String, usize> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        let place = *places.entry(condition(run)).or_insert(conditions.len());
        if place == conditions.len() {
            conditions.push(Vec::new());
        }
        let members = &mut conditions[place];
        let case = *cases.entry(settings(run, |key| key != "seed")).or_insert(members.len());
        if case == members.len() {
            members.push(Vec::new());
        }
        members[case].push(i);
    }
    let widest = conditions.iter().map(Vec::len).max().unwrap_or(1);
    let take = (CURVES / widest).clamp(1, conditions.len().max(1));
    let taken: Vec<&Vec<usize>> = (0..take)
        .filter_map(|k| conditions.get((2 * k + 1) * conditions.len() / (2 * take)))
        .flatten()
        .collect();
    let seeds = taken.iter().map(|case| case.len()).max().unwrap_or(0);
    let rounds = (CURVES / taken.len().max(1)).clamp(1, seeds.max(1));
    let mut chosen: Vec<usize> = (0..rounds)
        .flat_map(|seed| taken.iter().filter_map(move |case| case.get(seed).copied()))
        .take(CURVES)
        .collect();
    chosen.sort_unstable();
    chosen
}

/// The settings of a run's sweep, without its traffic.
fn condition(run: &Summary) -> String {
    let who = |key: &str| {
        key == "case"
            || key.starts_with("aqm")
            || key.starts_with("group.") && {
                let last = key.rsplit('.').next().unwrap_or(key);
                last == "cc" || last == "ecn"
            }
    };
    settings(run, |key| !who(key))
}

/// The settings of a run's sweep with such keys.
fn settings(run: &Summary, wanted: impl Fn(&str) -> bool) -> String {
    let set: Vec<String> = (run.set.iter())
        .filter(|(key, _)| wanted(key))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    set.join(" ")
}

/// The settings of each point of the plan: a later setting hides an earlier one of the same key, as in
/// the summary.
type Points<'a> = BTreeMap<BTreeMap<String, String>, &'a Scenario>;

/// The scenario of each run, read from the scenario's text.
fn scenarios_of_text(source: &Source) -> Vec<Option<Scenario>> {
    let plan = Plan::parse(&source.label, &source.text, &[]).ok();
    let points = plan.as_ref().map(points).unwrap_or_default();
    let runs = source.runs.iter();
    runs.map(|run| scenario(&source.text, &points, &run.summary)).collect()
}

fn points(plan: &Plan) -> Points<'_> {
    let points = plan.points.iter();
    points.map(|point| (point.set.iter().cloned().collect(), &point.scenario)).collect()
}

/// The scenario that a run ran: the point of the plan that set the same.
fn scenario(text: &str, points: &Points<'_>, run: &Summary) -> Option<Scenario> {
    let plain = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let set: BTreeMap<String, String> =
        run.set.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
    if let Some(scenario) = points.get(&set) {
        return Some((*scenario).clone());
    }
    // Set on the command line: not in the file.
    let settings = run.set.iter().map(|(key, value)| format!("{key}={}", plain(value)));
    let plan = Plan::parse("the scenario", text, &settings.collect::<Vec<_>>()).ok()?;
    plan.points.into_iter().next().map(|point| point.scenario)
}

/// A run without its curves.
fn run(i: usize, record: &RunRecord, scenario: Option<&Scenario>) -> Run {
    let summary = shown(&record.summary);
    let set = |key: &str| summary.set.get(key).and_then(|value| value.as_str());
    let aqm = match scenario {
        Some(scenario) => scenario.aqm.kind(),
        None => set("aqm.kind").or(set("aqm")).unwrap_or("unknown"),
    }
    .to_owned();
    let groups = scenario.map(|scenario| scenario.groups.as_slice()).unwrap_or_default();
    let groups = &groups[..groups.len().min(GROUPS)];
    let ecn: BTreeMap<&str, EcnMode> =
        groups.iter().map(|group| (group.name.as_str(), group.ecn)).collect();
    let programs: BTreeSet<&str> = scenario.map(of_programs_alone).unwrap_or_default();
    let traffic = |name: &str, cc: &str| match programs.contains(name) {
        true => Traffic::Program,
        false => traffic(cc, ecn.get(name).copied().unwrap_or(EcnMode::Auto)),
    };
    Run {
        number: i + 1,
        aqm,
        traffic: (summary.groups.iter())
            .map(|group| (group.name.clone(), traffic(&group.name, &group.cc)))
            .collect(),
        base_rtt_ms: (groups.iter())
            .map(|group| (group.name.clone(), group.rtt.as_millis_f64()))
            .collect(),
        command: record.command.clone(),
        summary,
        curves: None,
        sketch: Vec::new(),
        programs: None,
    }
}

/// The names of the groups that run programs.
fn with_programs(scenario: &Scenario) -> BTreeSet<&str> {
    let group = |place: usize| scenario.groups.get(place).map(|group| group.name.as_str());
    scenario.programs.iter().filter_map(|program| group(program.group)).collect()
}

/// The names of the groups that run programs and nothing else.
fn of_programs_alone(scenario: &Scenario) -> BTreeSet<&str> {
    let mut names = with_programs(scenario);
    let others = (scenario.web.iter().map(|web| web.group))
        .chain(scenario.apps.iter().map(|app| app.group))
        .chain(
            (0..scenario.groups.len()).filter(|place| !scenario.groups[*place].starts.is_empty()),
        );
    for group in others.filter_map(|place| scenario.groups.get(place)) {
        names.remove(group.name.as_str());
    }
    names
}

/// A summary with as many groups as a report shows.
fn shown(summary: &Summary) -> Summary {
    let mut shown = summary.clone();
    if shown.groups.len() > GROUPS {
        shown.groups.truncate(GROUPS);
        let names: BTreeSet<&str> = shown.groups.iter().map(|group| group.name.as_str()).collect();
        shown.completion.retain(|bin| names.contains(bin.group.as_str()));
    }
    shown
}

/// How senders of this congestion control answer, with the ECN that the scenario asks for.
fn traffic(cc: &str, ecn: EcnMode) -> Traffic {
    match (cc, ecn) {
        ("udp", _) => Traffic::Udp,
        ("dctcp" | "prague", _) | (_, EcnMode::L4s) => Traffic::L4s,
        (_, EcnMode::Classic) => Traffic::ClassicEcn,
        (_, EcnMode::Off | EcnMode::Auto) => Traffic::Classic,
    }
}

/// Distributions and series, and at most this number of downloads.
fn curves(record: &RunRecord, scenario: Option<&Scenario>, most: usize) -> Curves {
    let queues = record.summary.queues.iter().take(thin::LINES).map(|queue| queue.name.as_str());
    let flows = lines(&record.series, Scope::Flow);
    let groups = lines(&record.series, Scope::Group);
    let programs = scenario.map(with_programs).unwrap_or_default();
    let of_programs = groups.iter().filter(|(name, _)| programs.contains(name));
    let rates = if flows.is_empty() || flows.len() > RATES {
        groups.clone()
    } else {
        flows.into_iter().chain(of_programs.clone().cloned()).collect()
    };
    let program_delay = of_programs.map(|(name, rows)| {
        let points = rows.iter().map(|row| (row.time_s, row.delay_mean_ms));
        let (s, mean_ms) = thin::series(&points.collect::<Vec<_>>());
        ProgramDelay { group: (*name).to_owned(), s, mean_ms }
    });
    let most = most / record.summary.groups.len().clamp(1, GROUPS);
    let detector: Vec<_> = (lines(&record.series, Scope::Flow).iter())
        .filter(|(_, rows)| rows.iter().any(|row| row.classic_ecn.is_some()))
        .take(RATES)
        .filter_map(|(name, rows)| detector(name, rows))
        .collect();
    let unresponsive = record.summary.groups.iter().any(|group| group.cc == "udp");
    Curves {
        warmup_s: scenario.map_or(0.0, |scenario| scenario.warmup.as_secs_f64()),
        cdf: (queues.clone())
            .filter_map(|queue| {
                let of = |row: &&DelayRow| row.scope == Scope::Queue && row.name == queue;
                let mut rows: Vec<&DelayRow> = record.delays.iter().filter(of).collect();
                rows.sort_by(|a, b| a.low_ms.total_cmp(&b.low_ms));
                (!rows.is_empty()).then(|| thin::cdf(queue, &rows))
            })
            .collect(),
        delay: (lines(&record.series, Scope::Queue).iter())
            .filter(|(name, _)| queues.clone().any(|queue| queue == *name))
            .map(|(name, rows)| {
                let points = rows.iter().map(|row| (row.time_s, row.delay_mean_ms));
                let (s, mean_ms) = thin::series(&points.collect::<Vec<_>>());
                DelaySeries { queue: (*name).to_owned(), s, mean_ms }
            })
            .collect(),
        rate: rate_series(&record.summary, &rates),
        output: if unresponsive { rate_series(&record.summary, &groups) } else { Vec::new() },
        program_delay: program_delay.collect(),
        truth: scenario.filter(|_| !detector.is_empty()).map(truth).unwrap_or_default(),
        detector,
        downloads: (scenario.iter())
            .flat_map(|scenario| {
                (0..scenario.groups.len().min(GROUPS)).map(move |group| (*scenario, group))
            })
            .filter_map(|(scenario, group)| downloads(scenario, group, &record.flows, most))
            .collect(),
    }
}

/// The kind of queue of each discipline. One queue per flow is neither: no flow shares Prague's queue.
fn truth(scenario: &Scenario) -> Vec<Since> {
    let per_flow = scenario.aqms().any(|aqm| aqm.kind() == "fq_codel");
    Since::all(scenario).filter(|_| !per_flow).collect()
}

/// Downloads of a group, by its place: at most so many, evenly.
fn downloads(
    scenario: &Scenario,
    group: usize,
    flows: &[FlowRow],
    most: usize,
) -> Option<Downloads> {
    let Group { name, rtt, mss, .. } = &scenario.groups[group];
    let warmup_s = scenario.warmup.as_secs_f64();
    let done: Vec<(u64, f64)> = (flows.iter())
        .filter(|flow| flow.group == *name && flow.end_s >= Some(warmup_s))
        .filter_map(|flow| Some((flow.size?, thin::round(flow.completion_ms?))))
        .collect();
    let ideal = |size: u64| {
        let time = theoretical_time(Bytes::new(size), *mss, *rtt, scenario.link.rate);
        (size, thin::round(time.as_millis_f64()))
    };
    let sizes = || done.iter().map(|(size, _)| *size);
    let (least, largest) = (sizes().min()?, sizes().max()?);
    let steps = (0..48).map(|i| (least.max(1) as f64 * 1.25_f64.powi(i)) as u64);
    let every = done.len().div_ceil(most.max(1));
    let (bytes, ms) = done.iter().step_by(every).copied().unzip();
    Some(Downloads {
        group: name.clone(),
        every,
        bytes,
        ms,
        ideal: steps.take_while(|size| *size < largest).chain([largest]).map(ideal).collect(),
    })
}

fn rate_series(summary: &Summary, lines: &[(&str, Vec<&SeriesRow>)]) -> Vec<RateSeries> {
    let line = |(name, rows): &(&str, Vec<&SeriesRow>)| {
        let mbps = |of: fn(&SeriesRow) -> Option<f64>| {
            let points = rows.iter().map(|row| (row.time_s, of(row).map(|bps| bps / 1e6)));
            thin::series(&points.collect::<Vec<_>>())
        };
        let (group, flow) = flow_name(name);
        let lags = summary.groups.iter().any(|of| of.name == group && of.goodput_lags());
        let goodput_mbps = if lags { mbps(|row| row.goodput_bps).1 } else { Vec::new() };
        let (s, mbps) = mbps(|row| row.rate_bps);
        RateSeries { group: group.to_owned(), flow, s, mbps, goodput_mbps }
    };
    lines.iter().map(line).collect()
}

/// The inputs and the verdict of a flow's detector.
fn detector(name: &str, rows: &[&SeriesRow]) -> Option<DetectorSeries> {
    let (group, Some(flow)) = flow_name(name) else { return None };
    let series = |of: fn(&SeriesRow) -> Option<f64>| {
        thin::series(&rows.iter().map(|row| (row.time_s, of(row))).collect::<Vec<_>>())
    };
    let (s, score) = series(|row| row.classic_ecn);
    let (_, depth_ms) = series(|row| row.fbk_depth_ms);
    let (_, mdev_ms) = series(|row| row.fbk_mdev_ms);
    Some(DetectorSeries { group: group.to_owned(), flow, s, score, depth_ms, mdev_ms })
}

/// Rows of one scope by name, in order of appearance.
pub(crate) fn lines(series: &[SeriesRow], scope: Scope) -> Vec<(&str, Vec<&SeriesRow>)> {
    let mut lines: Vec<(&str, Vec<&SeriesRow>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for row in series.iter().filter(|row| row.scope == scope) {
        let place = *places.entry(&row.name).or_insert_with(|| {
            lines.push((&row.name, Vec::new()));
            lines.len() - 1
        });
        lines[place].1.push(row);
    }
    lines
}

/// `A.3` is flow 3 of group A; without a number it is the whole group.
pub(crate) fn flow_name(name: &str) -> (&str, Option<u32>) {
    match name.rsplit_once('.').map(|(group, flow)| (group, flow.parse())) {
        Some((group, Ok(flow))) => (group, Some(flow)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_know_their_group() {
        assert_eq!(flow_name("A.3"), ("A", Some(3)));
        assert_eq!(flow_name("left.right"), ("left.right", None));
        assert_eq!(flow_name("A"), ("A", None));
    }

    #[test]
    fn dctcp_is_scalable_whichever_codepoint_it_sends() {
        assert_eq!(traffic("dctcp", EcnMode::Auto), Traffic::L4s);
        assert_eq!(traffic("cubic", EcnMode::Classic), Traffic::ClassicEcn);
        assert_eq!(traffic("cubic", EcnMode::Auto), Traffic::Classic);
        assert_eq!(traffic("udp", EcnMode::Auto), Traffic::Udp);
    }

    fn summaries() -> Vec<Summary> {
        let json = include_str!("../tests/data/sweep.json");
        let data: Data = serde_json::from_str(json).unwrap();
        data.folders[0].runs.iter().map(|run| run.summary.clone()).collect()
    }

    #[test]
    fn goodput_is_drawn_where_it_is_far_below_the_rate() {
        let mut summary = summaries().remove(0);
        let row = SeriesRow {
            rate_bps: Some(2e6),
            goodput_bps: Some(1e6),
            scope: Scope::Group,
            name: "A".to_owned(),
            ..SeriesRow::default()
        };
        for (share, shown) in [(0.84, vec![Some(1.0)]), (0.86, vec![])] {
            let group = summary.groups.iter_mut().find(|group| group.name == "A").unwrap();
            group.goodput_bps = Some(share * group.rate_bps);
            let line = rate_series(&summary, &[("A", vec![&row])]).remove(0);
            assert_eq!((line.mbps, line.goodput_mbps), (vec![Some(2.0)], shown));
        }
    }

    #[test]
    fn curves_go_to_whole_conditions_spread_over_the_sweep() {
        let summaries = summaries();
        let chosen = chosen(&summaries.iter().collect::<Vec<_>>());
        // 75 runs, three disciplines over 25 conditions: five conditions of three.
        assert_eq!(chosen.len(), 15);
        for i in &chosen {
            assert!(chosen.contains(&((i + 25) % 75)), "run {i} has no counterpart");
        }
    }

    /// `--seeds 20` of three disciplines at one condition.
    #[test]
    fn each_case_has_curves_before_a_further_seed_of_one() {
        let mut seeds = Vec::new();
        for case in [0, 25, 50] {
            for seed in 1..=20 {
                seeds.push(Summary { seed, ..summaries()[case].clone() });
            }
        }
        let chosen = chosen(&seeds.iter().collect::<Vec<_>>());
        // Five seeds of each: 15 of the 16 runs that have curves.
        let of = |case: usize| chosen.iter().filter(|i| **i / 20 == case).count();
        assert_eq!([0, 1, 2].map(of), [5, 5, 5]);
    }

    #[test]
    fn a_small_result_is_drawn_whole() {
        let summaries = summaries();
        let few: Vec<&Summary> = summaries.iter().take(9).collect();
        assert_eq!(chosen(&few), (0..9).collect::<Vec<_>>());
    }
}
