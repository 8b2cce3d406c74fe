//! Fallback: figures 1 and 7 to 12, the 500 situations of section 7.5, and the core of appendix D.

use l4s_measure::Summary;
use l4s_report::lights::Tally;

use super::course::{Course, END};
use super::evidence::{group, ratio, set};
use super::{ANY, DoesNotHold, Evidence, Holds, Statement};

/// Rates of Prague over Cubic, with the detector in this mode.
fn rates(e: &Evidence<'_>, fallback: &str) -> Vec<f64> {
    let mode = |run: &&Summary| set(run, "group.A.cc.fallback") == Some(fallback);
    e.runs().filter(mode).filter_map(|run| ratio(run, "rate_A_B")).collect()
}

/// A number of the only course.
fn only(e: &Evidence<'_>, of: impl Fn(&Course) -> Option<f64>) -> Vec<f64> {
    e.courses().first().and_then(of).into_iter().collect()
}

/// When a flow of figure 9 joins the others, in seconds.
const JOINS: f64 = 10.0;
/// And when it has settled.
const SETTLED: f64 = JOINS + 2.0;

/// A number of the course of figure 12 with that setting of the filter.
fn filter(e: &Evidence<'_>, on: bool, of: impl Fn(&Course) -> Option<f64>) -> Vec<f64> {
    let is = |course: &&Course| {
        let set = |(key, value): &(String, String)| {
            key.ends_with("detector") && value == "paper-filtered"
        };
        course.set.iter().any(set) == on
    };
    e.courses().iter().filter(is).filter_map(of).collect()
}

/// The highest mean deviation after the step over the highest before it.
fn growth(course: &Course) -> Option<f64> {
    let most = |from, to| course.most(from, to, |row| row.fbk_mdev_ms);
    let change = course.change_s;
    Some(most(change, END)? / most(change / 2.0, change)?)
}

/// What was counted under a schedule of AQMs.
fn tally(e: &Evidence<'_>, schedule: &str, of: fn(&Tally) -> Option<f64>) -> Vec<f64> {
    let Some(lights) = e.lights() else { return Vec::new() };
    let names = lights.schedules.iter().zip(&lights.tallies);
    let ours = names.filter(|(known, _)| known.name == schedule);
    ours.filter_map(|(_, tally)| of(tally)).collect()
}

/// A part of situations, in percent.
fn share(part: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| 100.0 * part as f64 / of as f64)
}

/// Those taken for Classic though they are L4S.
fn amber(tally: &Tally) -> Option<f64> {
    share(tally.all.amber, tally.all.sum())
}

/// Those taken for L4S though they are Classic.
fn red(tally: &Tally) -> Option<f64> {
    share(tally.all.red, tally.all.sum())
}

/// Those, of the situations with Cubic flows, which could suffer.
fn red_with_cubic(tally: &Tally) -> Option<f64> {
    share(tally.with_cubic.red, tally.with_cubic.sum())
}

pub const ALL: &[Statement] = &[
    Statement {
        figure: "fallback-1",
        id: "imbalance",
        source: "Fallback §1",
        says: "in a shared Classic queue a scalable flow has 4 to 16 times the rate of a Classic one",
        of: |e| e.runs().filter_map(|run| ratio(run, "rate_A_B")).collect(),
        unit: "",
        within: [4.0, 16.0],
        because: "as stated",
        expected: DoesNotHold(
            "what its windows of 2/p and 1.68/√p make of marks is 3 at 4 Mb/s and 25 at 200; \
             and Linux' average of marks is zero below 1/64, which is as if there were fewer",
        ),
    },
    Statement {
        figure: "fallback-1",
        id: "always-more",
        source: "Fallback §1",
        says: "it has more in every condition",
        of: |e| e.runs().filter_map(|run| ratio(run, "rate_A_B")).collect(),
        unit: "",
        within: [1.5, ANY],
        because: "half as much again at least",
        expected: Holds,
    },
    Statement {
        figure: "fallback-7",
        id: "off",
        source: "Fallback §7.2",
        says: "without the detector it is like figure 1, up to 16 times",
        of: |e| rates(e, "off"),
        unit: "",
        within: [1.5, 16.0],
        because: "16 is the end of figure 1",
        expected: DoesNotHold(
            "up to 60 times where much is in flight and CoDel marks little: Prague takes 2/p there, \
             Cubic the power 3/4 of 1/p at most",
        ),
    },
    Statement {
        figure: "fallback-7",
        id: "passive",
        source: "Fallback §7.2",
        says: "with it Prague and Cubic have about the same rate in every condition",
        of: |e| rates(e, "passive"),
        unit: "",
        within: [0.4, 2.5],
        because: "a factor of 2.5: the axis of the figure has decades",
        expected: Holds,
    },
    Statement {
        figure: "fallback-8",
        id: "leaves-floor",
        source: "Fallback §7.2",
        says: "the score leaves its floor after 0.5 s",
        of: |e| only(e, |c| c.first().and_then(|low| c.after(0.0, |score| score > low + 0.01))),
        unit: " s",
        within: [0.25, 1.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "fallback-8",
        id: "classic",
        source: "Fallback §7.2",
        says: "it is Classic, 1, after 1 s",
        of: |e| only(e, |c| c.after(0.0, |score| score >= 1.0)),
        unit: " s",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "fallback-8",
        id: "highest-after",
        source: "Fallback §7.2",
        says: "and as high as it gets after 1.5 s",
        of: |e| only(e, |c| c.highest().and_then(|most| c.after(0.0, |score| score >= most))),
        unit: " s",
        within: [0.75, 3.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "fallback-8",
        id: "highest",
        source: "Fallback §7.2",
        says: "which is 9",
        of: |e| only(e, Course::highest),
        unit: "",
        within: [9.0, 9.0],
        because: "as stated",
        expected: DoesNotHold(
            "the pseudocode of Fallback §4.2 holds the score at 8, and so does this",
        ),
    },
    Statement {
        figure: "fallback-8",
        id: "rates",
        source: "Fallback §7.2",
        says: "from then on Prague and Cubic have about the same rate",
        of: |e| only(e, |c| c.ratio(2.0, END)),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "fallback-9",
        id: "classic",
        source: "Fallback §7.3",
        says: "a flow that joins a standing queue is Classic after 0.75 s",
        of: |e| only(e, |c| c.after(JOINS, |score| score >= 1.0)),
        unit: " s",
        within: [0.4, 1.5],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "fallback-9",
        id: "stays",
        source: "Fallback §7.3",
        says: "and stays so: the last score",
        of: |e| only(e, |c| c.last(END)),
        unit: "",
        within: [1.0, ANY],
        because: "Classic begins at 1",
        expected: Holds,
    },
    Statement {
        figure: "fallback-9",
        id: "rates",
        source: "Fallback §7.3",
        says: "its rate is about 1.75 times that of the others",
        of: |e| only(e, |c| c.ratio(SETTLED, END)),
        unit: "",
        within: [1.17, 2.63],
        because: "half as much again either way",
        expected: Holds,
    },
    Statement {
        figure: "fallback-9",
        id: "depth",
        source: "Fallback §7.3",
        says: "it takes the queue for shorter than it is, but not for less than the 2 ms that count",
        of: |e| only(e, |c| c.least(SETTLED, END, |row| row.fbk_depth_ms)),
        unit: " ms",
        within: [2.0, ANY],
        because: "D0 is 2 ms",
        expected: Holds,
    },
    Statement {
        figure: "fallback-9",
        id: "deviation",
        source: "Fallback §7.3",
        says: "and its RTT varies by more than the 0.75 ms that count",
        of: |e| only(e, |c| c.least(SETTLED, END, |row| row.fbk_mdev_ms)),
        unit: " ms",
        within: [0.75, ANY],
        because: "V0 is 0.75 ms",
        expected: Holds,
    },
    Statement {
        figure: "fallback-10",
        id: "before",
        source: "Fallback §7.4",
        says: "CoDel is known for a Classic queue soon after the start",
        of: |e| only(e, |c| c.after(0.0, |score| score >= 1.0)),
        unit: " s",
        within: [0.0, 2.0],
        because: "soon is 2 s",
        expected: Holds,
    },
    Statement {
        figure: "fallback-10",
        id: "after",
        source: "Fallback §7.4",
        says: "and DualPI2 for an L4S one soon after the change",
        of: |e| only(e, |c| c.after(c.change_s, |score| score <= 0.0)),
        unit: " s",
        within: [0.0, 2.0],
        because: "soon is 2 s",
        expected: Holds,
    },
    Statement {
        figure: "fallback-10",
        id: "rates",
        source: "Fallback §7.4",
        says: "the rate of the Prague flow does not show the change: over Cubic's, after over before",
        of: |e| only(e, across),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "fallback-10",
        id: "depth",
        source: "Fallback §7.4",
        says: "the depth that it sees is above 2 ms in CoDel and goes below in DualPI2: the least there",
        of: |e| only(e, |c| c.least(c.change_s, END, |row| row.fbk_depth_ms)),
        unit: " ms",
        within: [0.0, 2.0],
        because: "D0 is 2 ms",
        expected: Holds,
    },
    Statement {
        figure: "fallback-10",
        id: "short",
        source: "Fallback §7.4",
        says: "short flows hardly ever get to another score before they end: those that do",
        of: short,
        unit: " %",
        within: [0.0, 10.0],
        because: "rarely is a tenth",
        expected: Holds,
    },
    Statement {
        figure: "fallback-11",
        id: "before",
        source: "Fallback §7.4",
        says: "DualPI2 is known for an L4S queue: the last score in it",
        of: |e| only(e, |c| c.last(c.change_s)),
        unit: "",
        within: [-8.0, 0.0],
        because: "L4S is 0 and less",
        expected: Holds,
    },
    Statement {
        figure: "fallback-11",
        id: "after",
        source: "Fallback §7.4",
        says: "and CoDel for a Classic one soon after the change",
        of: |e| only(e, |c| c.after(c.change_s, |score| score >= 1.0)),
        unit: " s",
        within: [0.0, 2.0],
        because: "soon is 2 s",
        expected: Holds,
    },
    Statement {
        figure: "fallback-11",
        id: "rates",
        source: "Fallback §7.4",
        says: "the rate of the Prague flow does not show the change: over Cubic's, after over before",
        of: |e| only(e, across),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "fallback-11",
        id: "short",
        source: "Fallback §7.4",
        says: "short flows hardly ever get to another score before they end: those that do",
        of: short,
        unit: " %",
        within: [0.0, 10.0],
        because: "rarely is a tenth",
        expected: Holds,
    },
    Statement {
        figure: "fallback-12",
        id: "unfiltered",
        source: "Fallback appendix C",
        says: "a longer path makes the mean deviation grow: most after it over most before",
        of: |e| filter(e, false, growth),
        unit: "",
        within: [3.0, ANY],
        because: "several times",
        expected: Holds,
    },
    Statement {
        figure: "fallback-12",
        id: "filtered",
        source: "Fallback appendix C",
        says: "with the second average it hardly does",
        of: |e| filter(e, true, growth),
        unit: "",
        within: [0.0, 1.5],
        because: "half as much again",
        expected: Holds,
    },
    Statement {
        figure: "fallback-12",
        id: "score",
        source: "Fallback §4.1",
        says: "so that a re-route does not make an L4S queue a Classic one: the highest score",
        of: |e| filter(e, true, Course::highest),
        unit: "",
        within: [-8.0, 0.0],
        because: "L4S is 0 and less",
        expected: DoesNotHold(
            "the second average mends the deviation, but the lowest RTT is still that of the shorter \
             path, and the difference looks like the depth of a queue",
        ),
    },
    Statement {
        figure: "fallback-500",
        id: "codel",
        source: "Fallback §7.5",
        says: "CoDel is known for a Classic queue in 497 of 500 situations: share that is not",
        of: |e| tally(e, "codel", red),
        unit: " %",
        within: [0.0, 1.6],
        because: "0.6 % and a point",
        expected: DoesNotHold(
            "at 4 Mb/s nine and ten flows fill the queue, and in a simulator without jitter a full \
             queue does not vary",
        ),
    },
    Statement {
        figure: "fallback-500",
        id: "codel-safe",
        source: "Fallback §7.5",
        says: "never where a Cubic flow could suffer: share of those that are",
        of: |e| tally(e, "codel", red_with_cubic),
        unit: " %",
        within: [0.0, 0.0],
        because: "as stated",
        expected: DoesNotHold(
            "those of nine and ten flows at 4 Mb/s, where every window is at its least",
        ),
    },
    Statement {
        figure: "fallback-500",
        id: "dualpi2-safe",
        source: "Fallback §7.5",
        says: "nothing is unsafe in DualPI2: share that is",
        of: |e| tally(e, "dualpi2", red),
        unit: " %",
        within: [0.0, 0.0],
        because: "as stated",
        expected: Holds,
    },
    Statement {
        figure: "fallback-500",
        id: "dualpi2",
        source: "Fallback §7.5",
        says: "28 % of the situations there are taken for Classic",
        of: |e| tally(e, "dualpi2", amber),
        unit: " %",
        within: [18.0, 38.0],
        because: "10 points",
        expected: Holds,
    },
    Statement {
        figure: "fallback-500",
        id: "dualpi2-slow",
        source: "Fallback §7.5",
        says: "of these 127 of 139, or 91 %, are at 4 and 12 Mb/s, where packets take so long",
        of: |e| {
            let of = |tally: &Tally| {
                let slow: usize = tally.by_rate.iter().take(2).map(|counts| counts.amber).sum();
                share(slow, tally.all.amber)
            };
            tally(e, "dualpi2", of)
        },
        unit: " %",
        within: [81.0, 100.0],
        because: "10 points",
        expected: Holds,
    },
    Statement {
        figure: "fallback-500",
        id: "codel-dualpi2",
        source: "Fallback §7.5",
        says: "from CoDel to DualPI2 it is much as in DualPI2: share taken for Classic",
        of: |e| tally(e, "codel-dualpi2", amber),
        unit: " %",
        within: [18.0, 38.0],
        because: "as there",
        expected: Holds,
    },
    Statement {
        figure: "fallback-500",
        id: "codel-dualpi2-safe",
        source: "Fallback §7.5",
        says: "and a couple are taken for L4S before it, none of them where a Cubic flow could suffer",
        of: |e| tally(e, "codel-dualpi2", red_with_cubic),
        unit: " %",
        within: [0.0, 0.0],
        because: "as stated",
        expected: Holds,
    },
    Statement {
        figure: "fallback-500",
        id: "dualpi2-codel-safe",
        source: "Fallback §7.5",
        says: "from DualPI2 to CoDel there is one in which a Cubic flow could suffer: 1:1 at 200 Mb/s and 100 ms: share of them",
        of: |e| tally(e, "dualpi2-codel", red_with_cubic),
        unit: " %",
        within: [0.0, 0.3],
        because: "one of 400",
        expected: DoesNotHold(
            "15 at seed 1, most at 100 ms from 40 Mb/s on: averages over as many as 65,000 \
             acknowledgements are not there within the 10 s that are left",
        ),
    },
    Statement {
        figure: "core",
        id: "design",
        source: "Fallback appendix D",
        says: "2.5 % of customers at a time need 25 of the 40 Gb/s: utilization",
        of: |e| active(e, "204").map(|run| 100.0 * run.link.utilization).collect(),
        unit: " %",
        within: [60.0, 64.0],
        because: "25/40, rounded, and 2 points",
        expected: Holds,
    },
    Statement {
        figure: "core",
        id: "share",
        source: "Fallback appendix D",
        says: "with 5 % at a time the core is the bottleneck, and each uses 81 % of the access link",
        of: |e| active(e, "409").filter_map(used).collect(),
        unit: " %",
        within: [80.0, 82.5],
        because: "40 Gb/s over 410 times 120 Mb/s, and a point",
        expected: Holds,
    },
    Statement {
        figure: "core",
        id: "limit",
        source: "Fallback appendix D",
        says: "then one L4S flow gets at most 1.23 times the rate of the others",
        of: |e| active(e, "409").filter_map(|run| ratio(run, "rate_A_B")).collect(),
        unit: "",
        within: [0.0, 1.25],
        because: "as stated, and 2 % for the few seconds",
        expected: Holds,
    },
];

/// The runs with so many customers beside the one with L4S.
fn active<'a>(e: &Evidence<'a>, customers: &'a str) -> impl Iterator<Item = &'a Summary> {
    e.runs().filter(move |run| set(run, "group.B.flows") == Some(customers))
}

/// What a Classic customer uses of an access link of 120 Mb/s, in percent: packets of 1500 B of IP
/// are 1514 B there.
fn used(run: &Summary) -> Option<f64> {
    let rate = group(run, "B")?.rate_per_flow_bps?;
    Some(100.0 * rate * (1514.0 / 1500.0) / 120e6)
}

/// Rate over Cubic's after the change, over that before.
fn across(course: &Course) -> Option<f64> {
    let change = course.change_s;
    Some(course.ratio(change + 1.0, END)? / course.ratio(change / 2.0, change)?)
}

/// Short Prague flows whose last score is that of a Classic queue, in percent.
fn short(e: &Evidence<'_>) -> Vec<f64> {
    let verdicts = |run: &Summary| {
        let downloads = run.groups.iter().find_map(|group| group.prague.as_ref()?.downloads)?;
        let moved = downloads.classic + downloads.transition;
        let all = moved + downloads.l4s + downloads.at_rest;
        (all > 0).then(|| 100.0 * moved as f64 / all as f64)
    };
    e.runs().filter_map(verdicts).collect()
}
