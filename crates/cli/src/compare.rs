//! `l4s compare`: differences between the same runs of two result folders, beyond the noise of seeds.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use l4s_measure::{GroupSummary, QueueSummary, Results, Run, Summary};
use l4s_report::{Differences, ReportError};
use l4s_units::printable;
use serde::Serialize;
use serde_json::{Value, json};

use crate::chance::{self, RARE, mean};
use crate::failure::{Failure, unwritten};
use crate::table::{Align, aligned};
use crate::{headline, print, print_aside, report};

/// Without several seeds on both sides, differences below this are not shown.
const SMALL: f64 = 0.05;

/// The runs of one condition, one per seed.
struct Condition {
    label: String,
    runs: Vec<Summary>,
}

/// A quantity of a condition, with its value in each run of a side.
#[derive(Serialize)]
struct Measurement {
    /// The condition.
    run: String,
    what: String,
    before: Vec<f64>,
    after: Vec<f64>,
    /// Whether the sides differ by more than chance; with one seed on a side, by more than 5 %.
    differs: bool,
}

/// Prints the differences between two result folders, or all measurements as `json`; draws both into `out`.
pub fn compare(before: &Path, after: &Path, out: Option<&Path>, json: bool) -> Result<(), Failure> {
    let [old, new] = [opened(before)?, opened(after)?];
    let apart = apart(old.runs(), new.runs());
    let (old, new) = (conditions(old.runs(), &apart), conditions(new.runs(), &apart));
    let by_label: HashMap<&str, &Condition> =
        new.iter().map(|new| (new.label.as_str(), new)).collect();
    let pair = |old| {
        let Condition { label, .. }: &Condition = old;
        Some((old, *by_label.get(label.as_str())?))
    };
    let pairs: Vec<(&Condition, &Condition)> = old.iter().filter_map(pair).collect();
    if pairs.is_empty() {
        return Err(Failure::input_with(
            format!("{} and {} have no run in common", before.display(), after.display()),
            "compare results of the same scenario with the same settings",
        ));
    }
    let noisy = pairs.iter().any(|(old, new)| old.runs.len() < 2 || new.runs.len() < 2);
    let mut compared: Vec<Measurement> = vec![];
    for (old, new) in &pairs {
        let mut others: HashMap<String, Vec<f64>> = measurements(&new.runs).into_iter().collect();
        for (what, before) in measurements(&old.runs) {
            let Some(after) = others.remove(&what) else { continue };
            let (run, differs) = (old.label.clone(), differ(&before, &after));
            compared.push(Measurement { run, what, before, after, differs });
        }
    }
    let rows = compared.iter().filter(|one| one.differs).map(Measurement::row);
    let rows: Vec<_> = rows.map(Vec::from).collect();
    let [was, is] = names(&old, &new, &apart);
    let [run, what, change] = ["run", "what", "change"].map(str::to_owned);
    let head = vec![run, what, was, is, change];
    let rule = if noisy {
        "more than 5 %, because there is one seed only (run both with --seeds 5)".to_owned()
    } else {
        format!(
            "more than chance does in {} % of cases (Welch's t-test over the seeds)",
            RARE * 100.0
        )
    };
    let mut notes = vec![format!(
        "{} of {} measurements in {} conditions differ by {rule}",
        rows.len(),
        compared.len(),
        pairs.len()
    )];
    for side in [&old, &new] {
        for Condition { label, runs } in side {
            let Summary { on, engine, .. } = &runs[0];
            if !engine.instead.is_empty() {
                notes.push(format!("on {on}, {label}: {} instead", engine.instead.join(", ")));
            }
        }
    }
    let [one, other] = [&old, &new].map(|side| side.first().map(|first| &first.runs[0]));
    if let Some((one, other)) = one.zip(other).filter(|(one, other)| one.code != other.code) {
        let by = |run: &Summary| format!("{} (code {})", run.version, run.code);
        notes.push(format!("made by l4s {} and {}", by(one), by(other)));
    }
    let alone = old.len() + new.len() - 2 * pairs.len();
    if alone > 0 {
        notes.push(format!("{alone} conditions are in one of the folders only"));
    }
    let differences = Differences { head, rows, notes };
    if json {
        print(&lines(&compared))?;
        print_aside(&below(&differences.notes));
    } else {
        print(&text(&differences))?;
    }
    if let Some(out) = out {
        let folders = [before.to_owned(), after.to_owned()];
        let page = format!("{}\n", report::beside(&folders, out, Some(differences))?.display());
        if json { print_aside(&page) } else { print(&page)? }
    }
    Ok(())
}

/// A line of JSON for each measurement.
fn lines(measurements: &[Measurement]) -> String {
    measurements.iter().map(|one| json!(one).to_string() + "\n").collect()
}

/// The table, if it has rows, and the lines below it.
fn text(Differences { head, rows, notes }: &Differences) -> String {
    let mut text = String::new();
    if !rows.is_empty() {
        let lines: Vec<_> = [head].into_iter().chain(rows).cloned().collect();
        let right = Align::Right;
        text += &aligned(&lines, &[Align::Left, Align::Left, right, right, right]);
    }
    text + &below(notes)
}

/// Notes, a line each.
fn below(notes: &[String]) -> String {
    notes.iter().map(|note| printable(note) + "\n").collect()
}

fn opened(folder: &Path) -> Result<Results, Failure> {
    Results::open(folder).map_err(|error| unwritten(ReportError::Read(error)))
}

/// The settings that are the difference of the sides: with one value on each, and not the same one on both.
fn apart(old: &[Run], new: &[Run]) -> BTreeSet<String> {
    let of = |side: &[Run], key: &String| -> HashSet<Option<String>> {
        side.iter().map(|run| run.summary.set.get(key).map(Value::to_string)).collect()
    };
    let keys = old.iter().chain(new).flat_map(|run| run.summary.set.keys());
    let differs = |key: &&String| {
        let [old, new] = [of(old, key), of(new, key)];
        old.len() == 1 && new.len() == 1 && old != new
    };
    keys.filter(differs).cloned().collect()
}

/// Labels for the two sides: the settings that are their difference, or else their substrates, where these differ.
fn names(old: &[Condition], new: &[Condition], apart: &BTreeSet<String>) -> [String; 2] {
    let first = |side: &[Condition]| side.first().map(|first| first.runs[0].clone());
    let [Some(old), Some(new)] = [first(old), first(new)] else { return Default::default() };
    let [was, is] = [&old, &new].map(|run| label(run, |key| apart.contains(key)));
    let or = |label: String, or: &str| if label.is_empty() { or.to_owned() } else { label };
    match old.on == new.on {
        true => [or(was, "before"), or(is, "after")],
        false => [or(was, &old.on), or(is, &new.on)],
    }
}

/// The runs of a folder, grouped by their settings except the seed and those that are the difference of the folders.
/// A run that is there twice is one.
fn conditions(runs: &[Run], apart: &BTreeSet<String>) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for Run { summary, .. } in runs {
        let label = label(summary, |key| !apart.contains(key));
        let label = if label.is_empty() { summary.scenario.clone() } else { label };
        let place = *places.entry(label.clone()).or_insert(conditions.len());
        if place == conditions.len() {
            conditions.push(Condition { label, runs: Vec::new() });
        }
        if seen.insert((place, summary.seed)) {
            conditions[place].runs.push(summary.clone());
        }
    }
    conditions
}

/// The settings of a run that are `wanted`.
fn label(run: &Summary, wanted: impl Fn(&str) -> bool) -> String {
    let set = run.set.iter().filter(|(key, _)| wanted(key));
    set.map(|(key, value)| format!("{key}={}", headline::text(Some(value))))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The quantities that people compare, with the value in each run that has it. A group may have the name of a queue.
fn measurements(runs: &[Summary]) -> Vec<(String, Vec<f64>)> {
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |name: String, value: Option<f64>| {
        let Some(value) = value else { return };
        let place = *places.entry(name.clone()).or_insert(all.len());
        if place == all.len() {
            all.push((name, Vec::new()));
        }
        all[place].1.push(value);
    };
    for run in runs {
        add("utilization".to_owned(), Some(run.link.utilization));
        run.queues
            .iter()
            .for_each(|queue| of_queue(&format!("queue {}", queue.name), queue, &mut add));
        for hop in &run.hops {
            let name = format!("hop {}", hop.name);
            add(format!("{name} utilization"), hop.utilization);
            for queue in &hop.queues {
                of_queue(&format!("{name} queue {}", queue.name), queue, &mut add);
            }
        }
        for path in run.paths.iter().filter(|path| path.packets > 0) {
            for (effect, count) in headline::EFFECTS {
                let share = count(path) as f64 / path.packets as f64;
                add(format!("path {} {effect}", path.name), Some(share));
            }
        }
        run.groups.iter().for_each(|group| of_group(run, group, &mut add));
    }
    all
}

fn of_queue(name: &str, queue: &QueueSummary, add: &mut impl FnMut(String, Option<f64>)) {
    add(format!("{name} delay mean ms"), queue.delay_ms.map(|d| d.mean));
    add(format!("{name} delay p99 ms"), queue.delay_ms.map(|d| d.p99));
    add(format!("{name} mark"), queue.mark);
    add(format!("{name} drop"), queue.drop);
}

fn of_group(run: &Summary, group: &GroupSummary, add: &mut impl FnMut(String, Option<f64>)) {
    let name = format!("group {}", group.name);
    add(format!("{name} rate Mb/s"), Some(group.rate_bps / 1e6));
    add(format!("{name} goodput Mb/s"), group.goodput_bps.map(|bps| bps / 1e6));
    if group.is_mostly_small() {
        add(format!("{name} small delay mean ms"), group.small_delay_ms.map(|d| d.mean));
        add(format!("{name} small delay p99 ms"), group.small_delay_ms.map(|d| d.p99));
    }
    add(format!("{name} RTT ms"), group.rtt_ms);
    add(format!("{name} window"), group.window_pkts);
    add(format!("{name} mark"), group.mark);
    add(format!("{name} drop"), group.drop);
    add(format!("{name} retransmits"), Some(group.retransmits as f64));
    if let Some(app) = &group.app {
        add(format!("{name} frame delay mean ms"), app.delay_ms.map(|d| d.mean));
        add(format!("{name} frame delay p99 ms"), app.delay_ms.map(|d| d.p99));
        add(format!("{name} frames skipped"), Some(app.skipped as f64));
    }
    let (completed, mean) = headline::completed(run, &group.name);
    let has_ends = completed > 0 || group.downloads.is_some();
    add(format!("{name} completed"), has_ends.then_some(completed as f64));
    add(format!("{name} completion mean ms"), mean);
}

/// Whether the means of two sides differ by more than chance.
fn differ(before: &[f64], after: &[f64]) -> bool {
    let (was, is) = (mean(before), mean(after));
    let relative = (is - was) / was.abs().max(is.abs()).max(f64::MIN_POSITIVE);
    match chance::probability(before, after) {
        Some(probability) => probability < RARE && relative.abs() > 1e-9,
        None => relative.abs() > SMALL,
    }
}

impl Measurement {
    /// Its row in the table, with the means and their change.
    fn row(&self) -> [String; 5] {
        let (was, is) = (mean(&self.before), mean(&self.after));
        let change = match was {
            0.0 => "new".to_owned(),
            _ => format!("{:+.1} %", (is - was) / was.abs() * 100.0),
        };
        [self.run.clone(), self.what.clone(), format!("{was:.4}"), format!("{is:.4}"), change]
    }
}

#[cfg(test)]
mod tests {
    use l4s_measure::{EngineSummary, Origin, Recorder};
    use l4s_model::Scenario;
    use l4s_units::Duration;

    use super::*;

    fn summary_of(scenario: &Scenario) -> Summary {
        let mut recorder = Recorder::new(scenario, Origin::default());
        l4s_sim::run(scenario, &mut recorder);
        recorder.finish(EngineSummary::default()).summary
    }

    /// Of two seconds of a bundled scenario.
    fn short() -> Summary {
        let scenario = l4s_scenario::bundled::find("one-against-one").unwrap();
        let mut scenario = scenario.plan(&[]).unwrap().points.remove(0).scenario;
        (scenario.duration, scenario.warmup) = (Duration::from_secs(2), Duration::from_secs(1));
        summary_of(&scenario)
    }

    #[test]
    fn a_group_named_as_a_queue_has_quantities_of_its_own() {
        let mut run = short();
        run.queues.retain(|queue| queue.name == "C");
        run.groups.truncate(1);
        run.groups[0].name = "C".to_owned();
        (run.queues[0].drop, run.groups[0].drop) = (Some(0.1), Some(0.2));
        let mut drops = measurements(&[run]);
        drops.retain(|(name, _)| name.ends_with("drop"));
        let of = |scope: &str, drop| (format!("{scope} C drop"), vec![drop]);
        assert_eq!(drops, [of("queue", 0.1), of("group", 0.2)]);
    }

    /// Two bottlenecks, an uplink, losses on the way, downloads, and an application.
    #[test]
    fn all_parts_of_a_run_are_compared() {
        let text = r#"
            duration = "3s"
            warmup = "1s"
            link.rate = "20mbit"
            uplink.rate = "2mbit"
            [[hop]]
            name = "access"
            rate = "10mbit"
            groups = ["W"]
            [[path]]
            name = "wifi"
            loss = 0.01
            [[group]]
            name = "W"
            cc = "cubic"
            rtt = "10ms"
            flows = 0
            [[web]]
            group = "W"
            rate = "20/s"
            size = "3kb"
            [[group]]
            name = "V"
            cc = "cubic"
            rtt = "10ms"
            flows = 0
            [[app]]
            group = "V"
            rate = "1mbit"
            fps = 50
        "#;
        let plan = l4s_scenario::Plan::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let run = summary_of(&plan.points[0].scenario);
        let all: Vec<String> = measurements(&[run]).into_iter().map(|(name, _)| name).collect();
        for name in [
            "hop access utilization",
            "hop access queue C delay p99 ms",
            "hop uplink queue C drop",
            "path wifi lost",
            "group W RTT ms",
            "group W retransmits",
            "group W completed",
            "group W completion mean ms",
            "group V frame delay mean ms",
            "group V frames skipped",
        ] {
            assert!(all.iter().any(|one| one == name), "{name}: {all:?}");
        }
    }

    #[test]
    fn a_run_that_is_there_twice_is_one() {
        let summary = short();
        let of =
            |seed| Run { summary: Summary { seed, ..summary.clone() }, command: String::new() };
        let found = conditions(&[of(1), of(1), of(2)], &BTreeSet::new());
        assert_eq!(found.iter().map(|one| one.runs.len()).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn noise_is_no_difference_and_a_shift_is() {
        let (a, b) = ([1.0, 1.1, 0.9, 1.05], [1.02, 0.95, 1.08, 1.0]);
        assert!(!differ(&a, &b));
        let shifted = a.map(|x| x * 2.0);
        assert!(differ(&a, &shifted));
        let (run, what) = ("x=1".to_owned(), "utilization".to_owned());
        let (before, after) = (a.to_vec(), shifted.to_vec());
        let row = Measurement { run, what, before, after, differs: true }.row();
        assert_eq!(row, ["x=1", "utilization", "1.0125", "2.0250", "+100.0 %"]);
        // 4.2 standard errors: of two seeds a side chance makes such a difference in 5 % of cases.
        assert!(!differ(&[1.0, 1.1], &[1.3, 1.4]));
        assert!(!differ(&[1.0], &[1.04]), "one seed: below 5 %");
        assert!(differ(&[1.0], &[1.06]));
    }
}
