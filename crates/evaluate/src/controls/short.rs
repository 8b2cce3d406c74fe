//! Short flows beside a long one (RFC 9743 §5.1.5 and §5.2.3).

use super::TESTED;
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-short",
    title: "short and long flows",
    subject: Subject::Control(&[TESTED]),
    quick: &["duration=45s"],
    criteria: &[BESIDE, OWN, LONG],
};

const BESIDE: Criterion = Criterion {
    id: "short-beside",
    section: "RFC 9743 §5.2.3",
    asks: "Do short flows of Cubic take little longer beside its long flow than beside one of Cubic?",
    measure: "mean completion time, over that beside a long flow of Cubic",
    unit: "",
    accepted: Accepted::AtMost(1.25),
    because: "a quarter longer is seen by a user; less is in the variation of seeds",
    of: |run| ratio(run, "long: tested", "long: cubic", |run| run.completion("other")),
};

const OWN: Criterion = Criterion {
    id: "short-own",
    section: "RFC 9743 §5.1.5",
    asks: "Do its own short flows take little longer than those of Cubic?",
    measure: "mean completion time beside a long flow of Cubic, over that of Cubic's short flows",
    unit: "",
    accepted: Accepted::AtMost(1.25),
    because: "a quarter longer is seen by a user; less is in the variation of seeds",
    of: |run| {
        ratio(run, "short: tested", "short: cubic", |run| {
            run.completion(TESTED).or_else(|| run.completion("cubic"))
        })
    },
};

const LONG: Criterion = Criterion {
    id: "short-on-long",
    section: "RFC 9743 §5.2.3",
    asks: "Does a long flow of Cubic lose little more by its short flows than by those of Cubic?",
    measure: "rate of the long flow, over that beside short flows of Cubic",
    unit: "",
    accepted: Accepted::AtLeast(0.8),
    because: "a fifth of the rate",
    of: |run| ratio(run, "short: tested", "short: cubic", |run| run.rate("other")),
};

/// A measure of the run with the tested control over the same of the run with Cubic.
fn ratio(
    run: Run<'_>,
    tested: &str,
    cubic: &str,
    of: impl Fn(Run<'_>) -> Option<f64>,
) -> Option<f64> {
    let run = run.only("flows", &[tested])?;
    Some(of(run)? / of(run.with("flows", cubic)?)?)
}
