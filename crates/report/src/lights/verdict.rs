//! The verdict on a run: was the queue classified correctly? (Fallback §7.5.)
//!
//! Green is right. Amber is an L4S queue taken for Classic, at the cost of the flow itself. Red is
//! a Classic queue taken for L4S, at the cost of other flows. The end of the run counts: the last
//! score of each long flow, and of each short one that had a fair chance.

use std::iter;

use l4s_cc::classic_ecn::Verdict as Score;
use l4s_model::Scenario;
use l4s_units::Time;
use serde::{Deserialize, Serialize};

/// Round trips after which a Classic queue is known, as in figure 8 (Fallback §7.2).
const ENOUGH_ROUNDS: u32 = 50;
/// The share of short flows that is a significant minority.
const MINORITY: f64 = 0.1;
/// Fewer wrong short flows than this are an accident.
const LEAST_WRONG: usize = 2;

/// The kind of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// DualPI2: L4S packets have a queue of their own.
    L4s,
    /// One queue for all.
    Classic,
}

/// The kind of the queue from an instant on.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Since {
    /// The instant, in seconds.
    pub s: f64,
    /// Its kind.
    pub truth: Truth,
}

/// The outcome of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The queue was classified correctly.
    Right,
    /// No mark was seen, so that nothing had to be found out. Counts as right.
    Rest,
    /// An L4S queue was taken for a Classic one: safe, but slow.
    Amber,
    /// A Classic queue was taken for an L4S one: unsafe.
    Red,
}

impl Since {
    /// The kind of queue of each discipline of a run, in their order.
    pub fn all(scenario: &Scenario) -> impl DoubleEndedIterator<Item = Since> {
        let later =
            scenario.changes.iter().filter_map(|change| Some((change.time, change.aqm.as_ref()?)));
        iter::once((Time::ZERO, &scenario.aqm))
            .chain(later)
            .map(|(since, aqm)| Since { s: since.as_secs_f64(), truth: Truth::of(aqm.kind()) })
    }

    /// The kind of the last one.
    pub fn last(scenario: &Scenario) -> Since {
        Since::all(scenario).next_back().expect("there is one from the start")
    }
}

/// The verdict of a detector on one flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Heard {
    /// It is no download.
    pub long: bool,
    /// When it was opened, in seconds.
    pub start_s: f64,
    /// It was closed before the run ended.
    pub ended: bool,
    /// The last score.
    pub score: f64,
    /// Round trips that were scored.
    pub rounds: u32,
}

impl Truth {
    /// The kind of a discipline.
    pub fn of(aqm: &str) -> Truth {
        if matches!(aqm, "dualpi2" | "curvy-red") { Truth::L4s } else { Truth::Classic }
    }
}

impl Heard {
    /// Whether a flow is evidence: it was scored, and a short one also ended and did not begin
    /// before the present discipline was there.
    fn counts(&self, since_s: f64) -> bool {
        self.rounds > 0 && (self.long || self.ended && self.start_s >= since_s)
    }

    /// Whether its last score is wrong. A long flow that has not made up its mind is. A short one
    /// is only if it came to the other end, or stayed there with time enough to leave.
    fn is_wrong(&self, truth: Truth) -> bool {
        match (Score::of(self.score), truth) {
            (Score::Classic, Truth::L4s) => true,
            (Score::L4s, Truth::Classic) => self.long || self.rounds >= ENOUGH_ROUNDS,
            (Score::Transition, _) => self.long,
            (Score::L4s, Truth::L4s) | (Score::Classic, Truth::Classic) => false,
        }
    }

    /// How many short flows are evidence, and how many of them are wrong; `None` without any.
    pub(super) fn short(flows: &[Heard], truth: Truth, since_s: f64) -> Option<[usize; 2]> {
        let short = flows.iter().filter(|flow| !flow.long && flow.counts(since_s));
        let wrong = short.clone().filter(|flow| flow.is_wrong(truth)).count();
        Some(short.count()).filter(|count| *count > 0).map(|count| [count, wrong])
    }
}

/// The verdict on a run that ended in a queue that is `truth` since `since_s`; `None` without any
/// detector.
pub fn verdict(truth: Truth, since_s: f64, flows: &[Heard]) -> Option<Verdict> {
    if flows.is_empty() {
        return None;
    }
    let long: Vec<&Heard> = flows.iter().filter(|f| f.long && f.counts(since_s)).collect();
    let [short, wrong] = Heard::short(flows, truth, since_s).unwrap_or_default();
    let many = wrong >= LEAST_WRONG && wrong as f64 > MINORITY * short as f64;
    let failed = many || long.iter().any(|flow| flow.is_wrong(truth));
    Some(match truth {
        _ if long.is_empty() && short == 0 => Verdict::Rest,
        Truth::L4s if failed => Verdict::Amber,
        Truth::Classic if failed => Verdict::Red,
        _ => Verdict::Right,
    })
}

#[cfg(test)]
mod tests {
    use super::Truth::{Classic, L4s};
    use super::Verdict::{Amber, Red, Rest, Right};
    use super::*;

    fn long(score: f64) -> Heard {
        Heard { long: true, start_s: 0.0, ended: false, score, rounds: 400 }
    }

    fn short(score: f64, rounds: u32) -> Heard {
        Heard { long: false, start_s: 12.0, ended: true, score, rounds }
    }

    fn said(truth: Truth, flows: &[Heard]) -> Option<Verdict> {
        verdict(truth, 10.0, flows)
    }

    #[test]
    fn a_long_flow_has_to_be_right_in_the_end() {
        assert_eq!(said(Classic, &[long(9.0)]), Some(Right));
        assert_eq!(said(Classic, &[long(1.0)]), Some(Right));
        assert_eq!(said(Classic, &[long(0.0)]), Some(Red));
        assert_eq!(said(L4s, &[long(0.0)]), Some(Right));
        assert_eq!(said(L4s, &[long(-8.0)]), Some(Right));
        assert_eq!(said(L4s, &[long(1.0)]), Some(Amber));
    }

    #[test]
    fn a_long_flow_in_transition_is_wrong_either_way() {
        assert_eq!(said(Classic, &[long(0.5)]), Some(Red));
        assert_eq!(said(L4s, &[long(0.5)]), Some(Amber));
    }

    #[test]
    fn one_wrong_long_flow_of_nine_fails() {
        let mut flows = vec![long(9.0); 8];
        flows.push(long(-8.0));
        assert_eq!(said(Classic, &flows), Some(Red));
    }

    #[test]
    fn what_saw_no_mark_is_at_rest() {
        let resting = Heard { rounds: 0, ..long(-8.0) };
        assert_eq!(said(Classic, &[resting]), Some(Rest));
        assert_eq!(said(L4s, &[resting, short(-8.0, 0)]), Some(Rest));
        // It does not hide the verdict of another flow.
        assert_eq!(said(Classic, &[resting, long(-8.0)]), Some(Red));
        assert_eq!(said(Classic, &[resting, long(9.0)]), Some(Right));
    }

    #[test]
    fn without_a_detector_there_is_no_verdict() {
        assert_eq!(said(Classic, &[]), None);
    }

    #[test]
    fn a_short_flow_is_excused_on_a_classic_queue_until_it_had_the_time() {
        assert_eq!(said(Classic, &[short(-8.0, 49); 10]), Some(Right));
        assert_eq!(said(Classic, &[short(-8.0, 50); 10]), Some(Red));
        // On its way is not wrong.
        assert_eq!(said(Classic, &[short(0.5, 80); 10]), Some(Right));
        // On an L4S queue every scored one counts.
        assert_eq!(said(L4s, &[short(1.0, 3); 10]), Some(Amber));
        assert_eq!(said(L4s, &[short(0.5, 3); 10]), Some(Right));
    }

    #[test]
    fn a_minority_of_short_flows_is_more_than_a_tenth_and_more_than_one() {
        let of = |wrong: usize, all: usize| {
            let flows: Vec<Heard> =
                (0..all).map(|i| short(if i < wrong { 2.0 } else { -8.0 }, 5)).collect();
            said(L4s, &flows)
        };
        assert_eq!(of(1, 3), Some(Right));
        assert_eq!(of(2, 20), Some(Right));
        assert_eq!(of(2, 19), Some(Amber));
        assert_eq!(of(3, 30), Some(Right));
        assert_eq!(of(4, 30), Some(Amber));
    }

    #[test]
    fn short_flows_of_the_queue_before_or_without_an_end_are_no_evidence() {
        let before = Heard { start_s: 9.9, ..short(9.0, 60) };
        let open = Heard { ended: false, ..short(9.0, 60) };
        assert_eq!(said(L4s, &[before, before, open, open]), Some(Rest));
    }

    #[test]
    fn every_single_queue_is_a_classic_one() {
        assert_eq!(Truth::of("dualpi2"), L4s);
        assert!(["codel", "pie", "pi2", "red", "fifo"].iter().all(|aqm| Truth::of(aqm) == Classic));
    }
}
