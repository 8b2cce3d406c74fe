//! The requirements on senders of ECT(1) (RFC 9331 §4).

use super::{PERCENT, TESTED, sent_again};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-l4s",
    title: "L4S",
    subject: Subject::Control(&[TESTED, "far"]),
    quick: &["duration=50s", "warmup=20s"],
    criteria: &[ECT1, FEEDBACK, LOW_DELAY, SCALES, CLASSIC, CLASSIC_ECN, RTTS, NARROW, REORDERING],
};

const ECT1: Criterion = Criterion {
    id: "ect1",
    section: "RFC 9331 §4.1",
    asks: "Do all its data packets have ECT(1)?",
    measure: "packets in the L queue, of all packets of the run",
    unit: " %",
    accepted: Accepted::AtLeast(99.0),
    because: "all but the few of the handshake",
    of: |run| l_packets(case(run, &["40 Mb/s"])?, 0.0),
};

const FEEDBACK: Criterion = Criterion {
    id: "accurate-feedback",
    section: "RFC 9331 §4.2",
    asks: "Does it send no ECT(1) to a client that cannot count marks?",
    measure: "packets in the L queue, of all packets of the run",
    unit: " %",
    accepted: Accepted::AtMost(0.0),
    because: "without accurate feedback it must not use ECT(1)",
    of: |run| l_packets(case(run, &["client without AccECN"])?, PERCENT),
};

const LOW_DELAY: Criterion = Criterion {
    id: "low-delay",
    section: "RFC 9331 §4.3",
    asks: "Does it keep its queue as short as the L4S service is for?",
    measure: "99th percentile of the delay in the L queue, alone",
    unit: " ms",
    accepted: Accepted::AtMost(2.0),
    because: "twice the step of 1 ms at which DualPI2 marks",
    of: |run| case(run, &["40 Mb/s", "200 Mb/s"])?.delay_in("L", TESTED, |delay| delay.p99),
};

const SCALES: Criterion = Criterion {
    id: "scalable",
    section: "RFC 9331 §4.3",
    asks: "Are there as many marks per round trip at five times the rate?",
    measure: "marks per round trip at 200 Mb/s, over those at 40 Mb/s",
    unit: "",
    accepted: Accepted::AtLeast(0.5),
    because: "the number is constant for a scalable control; Reno has a fifth",
    of: |run| {
        let run = case(run, &["200 Mb/s"])?;
        let slow = run.with("case", "40 Mb/s")?;
        if run.is_starved(TESTED) || slow.is_starved(TESTED) {
            return Some(0.0);
        }
        Some(marks_per_rtt(run)? / marks_per_rtt(slow)?)
    },
};

const CLASSIC: Criterion = Criterion {
    id: "coexists",
    section: "RFC 9331 §4.3",
    asks: "Does it share a DualPI2 with Cubic?",
    measure: "the higher rate of the two over the lower one",
    unit: "",
    accepted: Accepted::AtMost(2.0),
    because: "the coupling makes windows alike, and the RTTs differ by the queue of 15 ms",
    of: |run| imbalance(case(run, &["beside Cubic"])?),
};

const CLASSIC_ECN: Criterion = Criterion {
    id: "classic-ecn",
    section: "RFC 9331 §4.3",
    asks: "Does it leave a Cubic with ECN its share in a CoDel that marks both?",
    measure: "its rate over that of Cubic",
    unit: "",
    accepted: Accepted::AtMost(2.0),
    because: "a control that takes marks of RFC 3168 for those of L4S has some ten times as much",
    of: |run| case(run, &["Classic ECN"])?.rate_over(TESTED, "cubic"),
};

const RTTS: Criterion = Criterion {
    id: "round-trips-l4s",
    section: "RFC 9331 §4.3",
    asks: "Does its rate depend on the RTT no more than that of Cubic in a Classic queue?",
    measure: "rate at 5 ms over that at 50 ms",
    unit: "",
    accepted: Accepted::AtMost(3.25),
    because: "65 over 20: round trips with a Classic queue of 15 ms",
    of: |run| case(run, &["5 and 50 ms"])?.rate_over(TESTED, "far"),
};

const NARROW: Criterion = Criterion {
    id: "small-windows",
    section: "RFC 9331 §4.3",
    asks: "Do 20 flows at 4 Mb/s and 5 ms keep the queue short?",
    measure: "mean delay in the L queue",
    unit: " ms",
    accepted: Accepted::AtMost(15.0),
    because: "the target of the Classic queue; two packets of each flow in flight would be 120 ms",
    of: |run| case(run, &["20 flows at 4 Mb/s"])?.delay_in("L", TESTED, |delay| delay.mean),
};

const REORDERING: Criterion = Criterion {
    id: "loss-in-time",
    section: "RFC 9331 §4.3",
    asks: "Does it detect loss in units of time, so that reordering of a fifth of an RTT is no loss?",
    measure: "segments sent again, of the packets forwarded",
    unit: " %",
    accepted: Accepted::AtMost(0.1),
    because: "a tenth of the packets that are held back",
    of: |run| {
        let run = case(run, &["1 % held back by 4 ms"])?;
        sent_again(run, TESTED)
    },
};

/// The run, if it is one of these cases and the tested flows send ECT(1).
fn case<'a>(run: Run<'a>, cases: &[&str]) -> Option<Run<'a>> {
    run.only("case", cases).filter(|run| run.sends_ect1(TESTED))
}

/// Packets in the L queue in percent of all; `starved` if next to nothing comes through.
fn l_packets(run: Run<'_>, starved: f64) -> Option<f64> {
    let all: u64 = run.summary().queues.iter().map(|queue| queue.packets).sum();
    let share = PERCENT * run.queue("L")?.packets as f64 / all as f64;
    Some(if run.is_starved(TESTED) { starved } else { share })
}

/// Marks of the flow in one of its round trips.
fn marks_per_rtt(run: Run<'_>) -> Option<f64> {
    let group = run.group(TESTED)?;
    Some(group.mark? * group.window_pkts.or_else(|| packets_per_rtt(run))?)
}

/// Packets of the flow in a base round trip and its queueing delay: of a program nothing more is known.
fn packets_per_rtt(run: Run<'_>) -> Option<f64> {
    let scenario = run.scenario();
    let time = scenario.duration.as_millis_f64() - scenario.warmup.as_millis_f64();
    let rtt = run.rtt(TESTED)? + run.delay(TESTED)?;
    Some(run.group(TESTED)?.packets as f64 / time * rtt)
}

/// The higher of the two rates over the lower one.
fn imbalance(run: Run<'_>) -> Option<f64> {
    Some(run.rate_over(TESTED, "cubic")?.max(run.rate_over("cubic", TESTED)?))
}
