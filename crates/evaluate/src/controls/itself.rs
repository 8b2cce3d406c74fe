//! Several flows of one control (RFC 9743 §5.1.3 and §5.1.4).

use super::{PERCENT, TESTED};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-itself",
    title: "several flows of its own",
    subject: Subject::Control(&[TESTED, "far"]),
    quick: &["duration=80s", "warmup=50s"],
    criteria: &[FAIRNESS, LATE, RTTS, LOSS],
};

const ALIKE: &[&str] = &["4 flows", "10 flows"];

const FAIRNESS: Criterion = Criterion {
    id: "fairness",
    section: "RFC 9743 §5.1.4",
    asks: "Do flows of the same round trip share equally?",
    measure: "Jain's index of the rates of 4 and of 10 flows",
    unit: "",
    accepted: Accepted::AtLeast(0.9),
    because: "it is 0.89 where one of four flows has twice the rate of each other",
    of: |run| {
        let run = run.only("flows", ALIKE)?;
        if run.is_starved(TESTED) { Some(0.0) } else { jain(&run.flow_rates(TESTED)) }
    },
};

const LATE: Criterion = Criterion {
    id: "late-comer",
    section: "RFC 9743 §5.1.4",
    asks: "Does a flow that begins 30 s later get its share?",
    measure: "its rate over that of the first flow",
    unit: "",
    accepted: Accepted::AtLeast(0.5),
    because: "half of the other's rate, from 20 to 40 s after its start",
    of: |run| {
        let run = run.only("flows", &["a late second"])?;
        match run.flow_rates(TESTED)[..] {
            [..] if run.is_starved(TESTED) => Some(0.0),
            [first, second] => Some(second / first),
            _ => None,
        }
    },
};

const RTTS: Criterion = Criterion {
    id: "round-trips",
    section: "RFC 9743 §5.1.4",
    asks: "Does a flow of 100 ms get a share beside one of 10 ms?",
    measure: "rate of the near flow over that of the far one, with an AQM",
    unit: "",
    accepted: Accepted::AtMost(10.0),
    because: "where losses are random Reno's rate is inverse to the round trip, and the ratio of these is 10",
    of: |run| {
        let run = run.only("flows", &["10 and 100 ms"])?.only("queue", &["PIE", "DualPI2"])?;
        run.rate_over(TESTED, "far")
    },
};

const LOSS: Criterion = Criterion {
    id: "loss-of-many",
    section: "RFC 9743 §5.1.3",
    asks: "Do several flows cause few losses in FIFOs of 0.5 and 1 BDP?",
    measure: "packets dropped, with 4 flows",
    unit: " %",
    accepted: Accepted::AtMost(2.0),
    because: "Reno's window of a quarter BDP is 16 packets, and its loss 1.5 / W² = 0.6 %; three times that",
    of: |run| {
        let run = run.only("flows", &["4 flows"])?;
        let run: Run<'_> = run.only("queue", &["FIFO of 0.5 BDP", "FIFO of 1 BDP"])?;
        Some(PERCENT * run.drop(TESTED)?)
    },
};

/// Jain's index of fairness: 1 where all rates are equal, 1/n where one of n has all.
fn jain(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(a, b), rate| (a + rate, b + rate * rate));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0, 0.0]), None);
        // As the criterion says.
        assert!((jain(&[2.0, 1.0, 1.0, 1.0]).unwrap() - 0.893).abs() < 0.001);
    }
}
