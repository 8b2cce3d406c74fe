//! A program, such as a QUIC stack, in the place of the tested control.
//!
//! Each flow of a tested group is an instance of the program on hosts of its own: a group, for the scenario.
//! Criteria see the instances as the flows of one group again. They see no more of a program than its packets.

use l4s_measure::{DelaySummary, FlowRow, GroupSummary};
use l4s_scenario::{Faults, OwnProgram, Plan, bundled, files};

use crate::criterion::SEEDS;
use crate::{Chapter, Judged, Runs, Subject, Verdict};

/// Criteria that cannot be measured of a program, and the reasons.
const UNSEEN: &[(&[&str], &str)] = &[
    (
        &["spurious", "loss-in-time"],
        "packets of a program do not show which of them were sent again",
    ),
    (&["app-delay"], "the frames are those of l4s, and a program sends its own data"),
    (&["short-own", "short-on-long"], "the short flows are downloads of l4s"),
    (&["accurate-feedback"], "the client is the program's own"),
];

impl Chapter {
    /// The runs of the chapter with a program in the place of the tested flows. `file` is the name of the
    /// plan's text, from which the runs are repeated.
    ///
    /// # Errors
    /// The scenario does not take the program.
    pub fn plan_with(&self, program: &OwnProgram, file: &str, quick: bool) -> Result<Plan, Faults> {
        let scenario = bundled::find(self.scenario).expect("a chapter has a bundled scenario");
        let name = |number: usize, group: &str| match number {
            0 => program.name.clone(),
            _ => format!("{}-{group}", program.name),
        };
        let tested = self.tested().iter().enumerate();
        let programs =
            tested.map(|(number, group)| program.instead_of(group, &name(number, group)));
        let programs: String = programs.collect();
        let text = scenario.text.to_owned() + &programs;
        let plan = Plan::parse_with(file, &text, &self.set(quick), &files(""))?;
        Ok(plan.repeated(SEEDS).expect("a chapter has some hundred runs"))
    }

    /// Judges a program by each criterion, as far as packets show it: by its runs, or by the reason why there are
    /// none. `failed` has in words which runs are not among them.
    pub fn judge_program(
        &self,
        runs: Result<Runs<'_>, &str>,
        failed: Option<&str>,
    ) -> Vec<Verdict> {
        let judge = |criterion: &'static crate::Criterion| match unseen(criterion.id) {
            Some(why) => criterion.judge(self, Err(why)),
            None => criterion.judge(self, runs).without(failed),
        };
        self.criteria.iter().map(judge).collect()
    }

    /// Whether any criterion can be measured of a program.
    pub fn sees_programs(&self) -> bool {
        self.criteria.iter().any(|criterion| unseen(criterion.id).is_none())
    }

    /// The groups with the tested control.
    pub fn tested(&self) -> &'static [&'static str] {
        match self.subject {
            Subject::Control(groups) => groups,
            Subject::Discipline => &[],
        }
    }
}

fn unseen(id: &str) -> Option<&'static str> {
    UNSEEN.iter().find(|(ids, _)| ids.contains(&id)).map(|(_, why)| *why)
}

impl Judged {
    /// The run of a program, with the instances of each of these groups as its flows.
    pub fn with_instances_of(mut self, groups: &[&str]) -> Judged {
        for group in groups {
            self.gather(group);
        }
        self
    }

    fn gather(&mut self, group: &str) {
        let number = |name: &str| name.strip_prefix(group)?.strip_prefix(' ')?.parse::<u32>().ok();
        let is_mine = |name: &str| name == group || number(name).is_some();
        let mine = self.summary.groups.iter().filter(|summary| is_mine(&summary.name));
        let mine: Vec<GroupSummary> = mine.cloned().collect();
        let runs = |index: usize| self.point.scenario.groups[index].name == group;
        if !self.point.scenario.programs.iter().any(|program| runs(program.group)) {
            return;
        }
        let flows = mine.iter().map(|instance| FlowRow {
            group: group.to_owned(),
            rate_bps: Some(instance.rate_bps),
            ect1: Some(self.ect1(&instance.name)),
            ..FlowRow::default()
        });
        let flows: Vec<FlowRow> = flows.collect();
        self.flows.retain(|flow| !is_mine(&flow.group));
        self.flows.extend(flows);
        self.summary.groups.retain(|summary| number(&summary.name).is_none());
        let first = self.summary.groups.iter_mut().find(|summary| summary.name == group);
        if let Some(first) = first {
            *first = together(&mine, first);
        }
    }

    /// Packets of a group that arrived as ECT(1).
    fn ect1(&self, group: &str) -> u64 {
        let flows = self.flows.iter().filter(|flow| flow.group == group);
        flows.filter_map(|flow| flow.ect1).sum()
    }
}

/// The numbers of all instances together; of the delays' distribution the mean alone is exact, and percentiles are the
/// highest of any instance.
fn together(instances: &[GroupSummary], first: &GroupSummary) -> GroupSummary {
    let packets: u64 = instances.iter().map(|instance| instance.packets).sum();
    let sum = |of: fn(&GroupSummary) -> f64| instances.iter().map(of).sum::<f64>();
    let forwarded = packets as f64;
    // The fraction `drop` is of those that arrived.
    let arrived = sum(|i| i.packets as f64 / (1.0 - i.drop.unwrap_or(0.0)).max(1e-9));
    let delays = || instances.iter().filter_map(|i| Some((i.packets as f64, i.delay_ms?)));
    let weight: f64 = delays().map(|(packets, _)| packets).sum();
    let mean = delays().map(|(packets, delay)| packets * delay.mean).sum::<f64>() / weight;
    let longest = delays().map(|(_, delay)| delay).reduce(|a, b| DelaySummary {
        mean,
        p1: a.p1.max(b.p1),
        p25: a.p25.max(b.p25),
        p50: a.p50.max(b.p50),
        p75: a.p75.max(b.p75),
        p99: a.p99.max(b.p99),
        p999: a.p999.max(b.p999),
        max: a.max.max(b.max),
    });
    GroupSummary {
        flows: instances.len() as u64,
        rate_bps: sum(|i| i.rate_bps),
        packets,
        mark: (packets > 0).then(|| sum(|i| i.packets as f64 * i.mark.unwrap_or(0.0)) / forwarded),
        drop: (arrived > 0.0).then(|| 1.0 - forwarded / arrived),
        delay_ms: longest,
        ..first.clone()
    }
}

#[cfg(test)]
mod tests {
    use l4s_measure::{EngineSummary, Origin, Recorder};

    use super::*;
    use crate::CONTROLS;

    #[test]
    fn instances_are_the_flows_of_one_group() {
        let text = "[[program]]\nname = \"mine\"\nclient = \"true\"\n";
        let program = OwnProgram::parse("mine.toml", text).unwrap();
        let chapter = CONTROLS.chapters.iter().find(|chapter| chapter.name() == "itself").unwrap();
        let plan = chapter.plan_with(&program, "itself.toml", true).unwrap();
        let first = plan.points.into_iter().next().unwrap();
        let scenario = first.scenario.clone();
        let names: Vec<&str> = scenario.programs.iter().map(|program| &*program.name).collect();
        assert_eq!(names, ["mine", "mine-2", "mine-3", "mine-4"]);
        let record = Recorder::new(&scenario, Origin::default()).finish(EngineSummary::default());
        let mut judged = Judged::new(first, record);
        for (group, packets) in judged.summary.groups.iter_mut().zip([10, 0, 10, 20, 40]) {
            // "far", the second, has none.
            (group.packets, group.rate_bps) = (packets, packets as f64);
            group.drop = (packets > 0).then_some(0.5);
        }
        let judged = judged.with_instances_of(chapter.tested());
        let runs = [judged];
        let run = Runs(&runs).iter().next().unwrap();
        let tested = run.group("tested").unwrap();
        assert_eq!((tested.flows, tested.packets, tested.rate_bps), (4, 80, 80.0));
        assert_eq!(tested.drop, Some(0.5));
        assert_eq!(run.flow_rates("tested"), [10.0, 10.0, 20.0, 40.0]);
        assert_eq!(run.summary().groups.len(), 2);
        assert!(run.is_of_program("tested") && !run.is_of_program("far"));
        assert!(!run.sends_ect1("tested"));
    }

    #[test]
    fn whatever_is_unseen_is_a_criterion() {
        let all = || CONTROLS.chapters.iter().flat_map(|chapter| chapter.criteria);
        for id in UNSEEN.iter().flat_map(|(ids, _)| *ids) {
            assert!(all().any(|criterion| criterion.id == *id), "{id}");
        }
    }
}
