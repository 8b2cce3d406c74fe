//! Assertions about the summaries of runs: which of them failed, for people and as a file.

use std::collections::HashMap;

use l4s_measure::{Quantities, Summary, Unmet};
use l4s_scenario::{Assert, Plan, Point};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The file in a result folder that has every assertion with the runs in which it failed.
pub const FILE: &str = "assertions.json";
/// The runs that are printed of an assertion that failed in many.
const MOST_RUNS: usize = 10;

/// The outcome of all assertions: those that failed, in the order of the runs.
#[derive(Debug, Default)]
pub struct Judgement(Vec<Failed>);

#[derive(Debug)]
struct Failed {
    run: usize,
    /// The place among the assertions of the run.
    assert: usize,
    unmet: Unmet,
}

/// An assertion with the runs that it is about.
struct Judged<'a> {
    assert: &'a Assert,
    runs: usize,
    failed: Vec<&'a Failed>,
}

impl Judgement {
    /// Evaluates the assertions about run `run` of a plan.
    pub fn take(&mut self, run: usize, point: &Point, summary: &Summary) {
        if point.asserts.is_empty() {
            return;
        }
        let quantities = Quantities::of(summary);
        let unmet = |(number, assert): (usize, &Assert)| {
            let unmet = assert.that.unmet(&quantities)?;
            Some(Failed { run, assert: number, unmet })
        };
        self.0.extend(point.asserts.iter().enumerate().filter_map(unmet));
    }

    /// Every assertion of a plan, in the order of the runs. Those with the same text are one.
    fn judged<'a>(&'a self, plan: &'a Plan) -> Vec<Judged<'a>> {
        let (mut all, mut places) = (Vec::<Judged<'_>>::new(), HashMap::new());
        let mut failed = self.0.iter().peekable();
        for (run, point) in plan.points.iter().enumerate() {
            for (number, assert) in point.asserts.iter().enumerate() {
                let place = *places.entry((assert.that.text(), &assert.why)).or_insert(all.len());
                if place == all.len() {
                    all.push(Judged { assert, runs: 0, failed: Vec::new() });
                }
                all[place].runs += 1;
                let is_it = |failed: &&Failed| (failed.run, failed.assert) == (run, number);
                all[place].failed.extend(failed.next_if(is_it));
            }
        }
        all
    }

    /// That all assertions hold, in words; `None` where there are none.
    ///
    /// # Errors
    /// Some assertions failed. The error names them, their runs, and the expected and measured values.
    pub fn verdict(&self, plan: &Plan) -> Result<Option<String>, Failure> {
        let judged = self.judged(plan);
        let (all, many) = (judged.len(), plan.points.len() > 1);
        let failed: Vec<_> =
            judged.into_iter().filter(|judged| !judged.failed.is_empty()).collect();
        if failed.is_empty() {
            let holds = if all == 1 { "assertion holds" } else { "assertions hold" };
            let about = plan.points.iter().filter(|point| !point.asserts.is_empty()).count();
            let runs = match plan.points.len() {
                1 => String::new(),
                runs if runs == about => format!(" in {runs} runs"),
                runs => format!(" in {about} of {runs} runs"),
            };
            return Ok((all > 0).then(|| format!("{all} {holds}{runs}")));
        }
        let mut text = format!("{} of {all} assertions failed", failed.len());
        for Judged { assert, failed, .. } in failed {
            let why = assert.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            text += &format!("\n  {}{why}", assert.that.text());
            for Failed { run, unmet, .. } in failed.iter().take(MOST_RUNS) {
                let run = if many { called(*run, &plan.points[*run]) } else { String::new() };
                text += &format!("\n    {run}{unmet}");
            }
            if failed.len() > MOST_RUNS {
                text += &format!("\n    and in {} more runs", failed.len() - MOST_RUNS);
            }
        }
        Err(Failure::Run(text))
    }

    /// The content of [`FILE`]; `None` where there are no assertions.
    pub fn json(&self, plan: &Plan) -> Option<String> {
        let failed = |failed: &&Failed| {
            let Unmet { expected, found } = &failed.unmet;
            json!({ "run": failed.run, "expected": expected, "found": found })
        };
        let judged = |Judged { assert, runs, failed: all }: Judged<'_>| {
            let all: Vec<_> = all.iter().map(failed).collect();
            json!({ "that": assert.that.text(), "why": assert.why, "runs": runs, "failed": all })
        };
        let all: Vec<Value> = self.judged(plan).into_iter().map(judged).collect();
        (!all.is_empty()).then(|| format!("{:#}\n", Value::from(all)))
    }
}

/// `run 3 (link.rate=4mbit, seed 1): `.
fn called(run: usize, point: &Point) -> String {
    let set = point.set.iter().map(|(key, value)| format!("{key}={value}, ")).collect::<String>();
    format!("run {} ({set}seed {}): ", run + 1, point.scenario.seed)
}
