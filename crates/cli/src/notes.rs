//! Notes about results that look correct but may mislead.

use std::collections::BTreeMap;

use l4s_measure::{FlowRow, Summary};
use l4s_model::{FlowId, FlowKind, Scenario};
use l4s_scenario::{Fingerprint, Plan};
use l4s_units::{Duration, Time};

/// Flows that ended within the warm-up: no statistic counts them, so the rate is 0 and none completed.
pub fn ended_early(scenario: &Scenario, flows: &[FlowRow]) -> Option<String> {
    let warmup = scenario.warmup;
    let mut early: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    let roster = scenario.roster();
    // A group is defined by its long flows, not by downloads or applications.
    for row in flows.iter().filter(|row| roster.kind(FlowId::new(row.flow)) == FlowKind::Long) {
        if let Some(end) = row.end_s.filter(|end| *end < warmup.as_secs_f64()) {
            let (count, last) = early.entry(&row.group).or_default();
            (*count, *last) = (*count + 1, last.max(end));
        }
    }
    let groups = scenario.groups.iter().filter_map(|group| {
        let (count, last) = early.get(group.name.as_str())?;
        let all = group.starts.len();
        let last = seconds(*last);
        Some(format!("group `{}`: {count} of {all} flows had ended by {last}", group.name))
    });
    let within =
        |stop: Option<Time>| stop.map(|stop| stop.since(Time::ZERO)).filter(|stop| *stop <= warmup);
    let name = |group: usize| &scenario.groups[group].name;
    let udp = scenario.udp.iter().filter_map(|udp| {
        within(udp.stop).map(|stop| format!("UDP source `{}` stopped at {stop}", udp.name))
    });
    let apps = scenario.apps.iter().filter_map(|app| {
        within(app.stop).map(|stop| format!("`[[app]]` of `{}` stopped at {stop}", name(app.group)))
    });
    let web = scenario.web.iter().filter_map(|web| {
        within(web.stop).map(|stop| format!("`[[web]]` of `{}` stopped at {stop}", name(web.group)))
    });
    // Only the flows of programs have a protocol that was read from their packets.
    let programs = scenario.groups.iter().filter_map(|group| {
        let rows = flows.iter().filter(|row| row.group == group.name && row.protocol.is_some());
        let last = rows.filter_map(|row| row.end_s).reduce(f64::max)?;
        let is_early = last < warmup.as_secs_f64();
        is_early.then(|| {
            format!("flows of programs of `{}` had ended by {}", group.name, seconds(last))
        })
    });
    let all: Vec<_> = groups.chain(udp).chain(apps).chain(web).chain(programs).collect();
    let mut shown: Vec<_> = all.iter().take(3).cloned().collect();
    if all.len() > 3 {
        shown.push(format!("and {} others", all.len() - 3));
    }
    (!all.is_empty()).then(|| {
        let shown = shown.join("; ");
        format!("{shown}: before the end of the warm-up at {warmup}, so nothing of it is counted")
    })
}

/// To the millisecond.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e3).round() as u64 * 1_000_000)
}

/// The part that runs have in common if they differ only in their seed.
pub fn digest(summary: &Summary) -> String {
    use std::fmt::Write;
    let mut digest = Fingerprint::default();
    // Nothing can go wrong: it is no file.
    let _ = write!(digest, "{:?}", Summary { seed: 0, ..summary.clone() });
    digest.to_string()
}

/// Whether seeds make no difference. `digests` are those of the runs of `plan`.
pub fn not_random(plan: &Plan, digests: &[String]) -> Option<String> {
    let runs: Vec<_> = plan.points.iter().zip(digests).collect();
    let conditions = runs.chunk_by(|(a, _), (b, _)| a.pins == b.pins);
    let repeated: Vec<_> = conditions.filter(|runs| runs.len() > 1).collect();
    let same = |runs: &&&[_]| {
        let runs: &[(&l4s_scenario::Point, &String)] = runs;
        runs.windows(2).all(|pair| pair[0].1 == pair[1].1)
    };
    match (repeated.iter().filter(same).count(), repeated.len()) {
        (0, _) => None,
        (some, all) if some < all => Some(format!(
            "in {some} of {all} conditions nothing is random: every seed gives the same result"
        )),
        _ => Some("nothing in this is random: every seed gives the same result".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_end_in_the_warm_up_are_noted() {
        let text = "duration = \"4s\"\nwarmup = \"2s\"\nlink.rate = \"20mbit\"\n[[group]]\nname = \"A\"\n\
                    cc = \"cubic\"\nrtt = \"10ms\"\nflows = 0\n[[program]]\nname = \"x\"\ngroup = \"A\"\n\
                    client = \"curl server\"\n";
        let scenario = Plan::open(text, &[]).unwrap().points.remove(0).scenario;
        let flow = |end_s| FlowRow {
            group: "A".to_owned(),
            protocol: Some("TCP".to_owned()),
            end_s: Some(end_s),
            ..FlowRow::default()
        };
        let note = ended_early(&scenario, &[flow(0.5), flow(1.2346)]).unwrap();
        assert!(note.starts_with("flows of programs of `A` had ended by 1.235s: before"), "{note}");
        assert_eq!(ended_early(&scenario, &[flow(0.5), flow(3.0)]), None);
        assert_eq!(ended_early(&scenario, &[]), None);
    }
}
