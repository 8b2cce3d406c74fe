//! One flow beside one of another control (RFC 9743 §5.2).
//!
//! Harm is the loss of a flow by another one, as a fraction of its rate alone. A new control should
//! do no more of it to a flow than one of that flow's own kind does (R. Ware, M. Mukerjee, S. Seshan,
//! J. Sherry: Beyond Jain's Fairness Index, HotNets 2019).

use super::{PERCENT, TESTED};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-others",
    title: "beside other controls",
    subject: Subject::Control(&[TESTED]),
    quick: &["link.rate=40mbit", "duration=60s", "warmup=20s"],
    criteria: &[RENO, CUBIC, BBR, PRAGUE, STARVES, STARVED, DELAY, LOSS, VOICE],
};

/// The group beside the tested one.
const OTHER: &str = "other";

/// The harm to one control, as a criterion.
const fn harm_to(
    id: &'static str,
    asks: &'static str,
    of: fn(Run<'_>) -> Option<f64>,
) -> Criterion {
    Criterion {
        id,
        section: "RFC 9743 §5.2.1",
        asks,
        measure: "rate lost beside it, over the rate alone, less that beside its own kind",
        unit: " %",
        accepted: Accepted::AtMost(20.0),
        because: "none more than its own kind would be ideal; 20 % are a share of 70 : 30",
        of,
    }
}

const RENO: Criterion =
    harm_to("harm-to-reno", "Does Reno lose little more by it than by another Reno?", |run| {
        harm(run, "reno")
    });

const CUBIC: Criterion =
    harm_to("harm-to-cubic", "Does Cubic lose little more by it than by another Cubic?", |run| {
        harm(run, "cubic")
    });

const BBR: Criterion =
    harm_to("harm-to-bbr", "Does BBR lose little more by it than by another BBR?", |run| {
        harm(run, "bbr")
    });

const PRAGUE: Criterion = harm_to(
    "harm-to-prague",
    "Does Prague lose little more by it than by another Prague?",
    |run| harm(run, "prague"),
);

const STARVES: Criterion = Criterion {
    id: "starves",
    section: "RFC 9743 §5.2",
    asks: "Does the other flow always keep a part of its share?",
    measure: "rate of the other flow over half of the link",
    unit: "",
    accepted: Accepted::AtLeast(0.1),
    because: "a tenth of the fair share is starvation by any measure",
    of: |run| Some(run.only("beside", &["tested"])?.rate(OTHER)? / half(run)),
};

const STARVED: Criterion = Criterion {
    id: "is-starved",
    section: "RFC 9743 §5.2",
    asks: "Does it always get a part of its share itself?",
    measure: "its rate over half of the link",
    unit: "",
    accepted: Accepted::AtLeast(0.1),
    because: "a tenth of the fair share is starvation by any measure",
    of: |run| Some(run.only("beside", &["tested"])?.rate(TESTED)? / half(run)),
};

const DELAY: Criterion = Criterion {
    id: "harm-of-delay",
    section: "RFC 9743 §5.2",
    asks: "Does the other flow wait little longer than beside its own kind?",
    measure: "mean queueing delay of the other flow, beyond that beside its own kind",
    unit: " ms",
    accepted: Accepted::AtMost(10.0),
    because: "half of the base RTT of 20 ms",
    of: |run| beyond(run, |run| run.delay(OTHER)),
};

const LOSS: Criterion = Criterion {
    id: "harm-of-loss",
    section: "RFC 9743 §5.2",
    asks: "Does the other flow lose few more packets than beside its own kind?",
    measure: "packets of the other flow that are dropped, beyond those beside its own kind",
    unit: " %",
    accepted: Accepted::AtMost(1.0),
    because: "1 % of loss lowers Reno's window to 12 packets, or 7 Mb/s at 20 ms",
    of: |run| beyond(run, |run| Some(PERCENT * run.drop(OTHER)?)),
};

const VOICE: Criterion = Criterion {
    id: "voice",
    section: "RFC 9743 §5.2.2",
    asks: "Does a voice call wait little longer beside it and Cubic than beside two of Cubic?",
    measure: "99th percentile of the queueing delay of the call, beyond that beside two of Cubic",
    unit: " ms",
    accepted: Accepted::AtMost(10.0),
    because: "a tenth of the 100 ms that an ITU-T G.114 conversation has for everything",
    of: |run| {
        let run = run.only("other", &["cubic"])?;
        beyond(run, |run| run.delay_of("voice", |delay| delay.p99))
    },
};

/// The rate that `other` loses beside the tested flow, less that beside its own kind, in percent of the
/// rate that it has alone.
fn harm(run: Run<'_>, other: &str) -> Option<f64> {
    let run = run.only("beside", &["tested"])?.only("other", &[other])?;
    let rate = |beside| run.with("beside", beside)?.rate(OTHER);
    Some(PERCENT * (rate("same")? - rate("tested")?) / rate("nobody")?)
}

/// A measure beside the tested flow, less the same beside one of the other's kind; `None` where that has no end.
fn beyond(run: Run<'_>, of: impl Fn(Run<'_>) -> Option<f64>) -> Option<f64> {
    let run = run.only("beside", &["tested"])?;
    let same = of(run.with("beside", "same")?).filter(|same| same.is_finite())?;
    Some(of(run)? - same)
}

/// Half of the link in bit/s.
fn half(run: Run<'_>) -> f64 {
    run.scenario().link.rate.as_bps() as f64 / 2.0
}
