//! Slides: the matrices of throughput, queue delay and completion times.

use l4s_measure::Summary;

use super::evidence::{average, drops, flows, group, large, mean, p99, ratio, set, short};
use super::{ANY, DoesNotHold, Evidence, Holds, Statement};

/// Rate of a DCTCP flow over that of a Cubic flow, wherever there are both.
fn rates(e: &Evidence<'_>, case: &str) -> Vec<f64> {
    e.case(case).filter_map(|run| ratio(run, "rate_A_B")).collect()
}

/// The middle of numbers.
fn median(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().into_iter().collect()
}

/// Whether a group has a long flow.
fn long(run: &Summary, name: &str) -> bool {
    group(run, name).is_some_and(|group| group.flows > 0)
}

/// The runs in which both clients do the same.
fn alike<'a>(e: &Evidence<'a>, case: &'a str) -> impl Iterator<Item = &'a Summary> {
    e.case(case).filter(|run| set(run, "A") == set(run, "B"))
}

pub const ALL: &[Statement] = &[
    Statement {
        figure: "slides-flows",
        id: "dualq-equal",
        source: "Slides, Throughput",
        says: "the coupled dual queue gives DCTCP and Cubic equal throughput: with Curvy RED",
        of: |e| rates(e, "curvy-red"),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: DoesNotHold(
            "windows are the same (0.6 to 0.9), but Cubic's packets wait in a queue and DCTCP's do not: from a base \
             of 7 ms its round trip is 5 to 15 times as long",
        ),
    },
    Statement {
        figure: "slides-flows",
        id: "dualpi2-equal",
        source: "Slides, Throughput",
        says: "the same with DualPI2, which is later than the slides",
        of: |e| rates(e, "dualpi2"),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: DoesNotHold("windows are the same (0.65 to 0.96), round trips are 8 and 22 ms"),
    },
    Statement {
        figure: "slides-flows",
        id: "fq-codel-equal",
        source: "Slides, Throughput",
        says: "FQ-CoDel gives equal throughput",
        of: |e| median(rates(e, "fq_codel")),
        unit: "",
        within: [0.8, 1.25],
        because: "a quarter either way, median: the slides except flows that share a queue by accident",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "red-unequal",
        source: "Slides, Backup",
        says: "with RED Cubic has about 40 times less than DCTCP",
        of: |e| median(rates(e, "red")),
        unit: "",
        within: [20.0, 80.0],
        because: "a factor of 2, median",
        expected: DoesNotHold(
            "2/p over 1.68/√p is 1.2/√p, which is 40 for marks of 0.1 %, and 10 for the 1 % and more that such \
             flows need at 40 Mb/s",
        ),
    },
    Statement {
        figure: "slides-flows",
        id: "pie-unequal",
        source: "Slides, Backup",
        says: "with PIE Cubic has about 40 times less than DCTCP",
        of: |e| median(rates(e, "pie")),
        unit: "",
        within: [20.0, 80.0],
        because: "a factor of 2, median",
        expected: DoesNotHold(
            "1.2/√p is 5 for the 5 % of marks that such flows need; 40 takes 0.1 %, or a DCTCP that takes no \
             notice of drops, as that of Linux 3.18 unless patched (DCttH §4.1)",
        ),
    },
    Statement {
        figure: "slides-flows",
        id: "dualq-l4s",
        source: "Slides, Qsize",
        says: "DCTCP packets hardly wait in the dual queue, with any number of flows: with Curvy RED",
        of: |e| e.case("curvy-red").filter_map(|run| p99(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 5.0],
        because: "99th percentile: a twentieth of the axis of 100 ms",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "dualpi2-l4s",
        source: "Slides, Qsize",
        says: "the same with DualPI2",
        of: |e| e.case("dualpi2").filter_map(|run| p99(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 5.0],
        because: "99th percentile: a twentieth of the axis of 100 ms",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "classic-by-classic",
        source: "Slides, Qsize",
        says: "the Classic queue is what its AQM makes it: DualPI2's mean with 2 Classic flows or more over its target of 15 ms",
        of: |e| {
            let many = e.case("dualpi2").filter(|run| group(run, "B").is_some_and(|b| b.flows > 1));
            many.filter_map(|run| Some(mean(run, "C")? / 15.0)).collect()
        },
        unit: "",
        within: [0.67, 1.5],
        because: "half as much again either way",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "fq-codel-target",
        source: "Slides, Qsize",
        says: "FQ-CoDel cannot keep its target of 5 ms: mean with 10 flows or more",
        of: |e| {
            let many = e.case("fq_codel").filter(|run| flows(run) >= 10);
            many.filter_map(|run| mean(run, "Q")).collect()
        },
        unit: " ms",
        within: [5.0, ANY],
        because: "more than its target",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "better-than-fq-codel",
        source: "Slides, Conclusions",
        says: "the dual queue is as good as FQ-CoDel or better: mean wait of a DCTCP packet with Curvy RED over that with FQ-CoDel",
        of: |e| {
            let of = |run| Some(group(run, "A")?.delay_ms?.mean);
            let pairs = e.pairs("curvy-red", "fq_codel");
            pairs.iter().filter_map(|(d, q)| Some(of(d)? / of(q)?)).collect()
        },
        unit: "",
        within: [0.0, 1.0],
        because: "as stated",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "pie-target",
        source: "Slides, Backup",
        says: "PIE keeps its target of 20 ms",
        of: |e| e.case("pie").filter_map(|run| mean(run, "Q")).collect(),
        unit: " ms",
        within: [16.0, 24.0],
        because: "a fifth either way",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "pie-drops-above-10",
        source: "Slides, Backup",
        says: "PIE drops DCTCP packets only above 10 %: their drop over that of Cubic's",
        of: |e| {
            let of = |run| Some(drops(run, "A")? / drops(run, "B")?);
            e.case("pie").filter_map(of).collect()
        },
        unit: "",
        within: [0.0, 0.9],
        because: "Cubic's has what is below 10 % too",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "dualq-short",
        source: "Slides, Completion times",
        says: "DCTCP downloads have consistently low latency in the dual queue: short ones, over the ideal time",
        of: |e| e.case("dualq").flat_map(|run| short(run, "A")).collect(),
        unit: "",
        within: [0.9, 1.5],
        because: "half as much again, up to 9 KB; what the shaper's bucket holds takes a little less",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "dualq-large",
        source: "Slides, Completion times",
        says: "but large ones get less throughput, as DCTCP leaves slow start too early: their time over that of Cubic's",
        of: |e| {
            let of = |run, name| average(&large(run, name));
            let busy = alike(e, "dualq").filter(|run| long(run, "A"));
            busy.filter_map(|run| Some(of(run, "A")? / of(run, "B")?)).collect()
        },
        unit: "",
        within: [1.0, ANY],
        because: "longer at all, from 243 KB beside a long flow of each kind, where both clients do the same",
        expected: DoesNotHold(
            "their round trip has no queue in it, which at 40 Mb/s and 7 ms is worth more: 0.66 times Cubic's; at \
             120 Mb/s it is as the slides say (dctth-9)",
        ),
    },
    Statement {
        figure: "slides-completion",
        id: "pie-ecn",
        source: "Slides, Completion times",
        says: "with PIE ECN spares downloads the longest waits: 99th percentile of a size with ECN over that without",
        of: |e| {
            let of = |run: &Summary, name: &str| {
                // Fewer have no 99th percentile.
                let ours =
                    run.completion.iter().filter(|bin| bin.group == name && bin.flows >= 100);
                let times: Vec<f64> = ours.map(|bin| bin.time_ms.p99).collect();
                average(&times)
            };
            let busy = alike(e, "pie").filter(|run| long(run, "A"));
            busy.filter_map(|run| Some(of(run, "A")? / of(run, "B")?)).collect()
        },
        unit: "",
        within: [0.0, 1.0],
        because: "as stated, beside a long flow of each kind, where both clients do the same; mean over sizes of \
                  100 downloads or more",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "pie-syn",
        source: "Slides, Completion times",
        says: "a SYN has no ECN, so that even then some take a second: longest 99th percentile of a size",
        of: |e| {
            let all = e.case("pie").flat_map(|run| &run.completion);
            let ecn = all.filter(|bin| bin.group == "A").map(|bin| bin.time_ms.p99);
            ecn.reduce(f64::max).into_iter().collect()
        },
        unit: " ms",
        within: [1_000.0, ANY],
        because: "the time-out of a SYN",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "pie-burst",
        source: "Slides, Completion times",
        says: "beside long flows PIE's burst allowance is of no use: short downloads, over the ideal time",
        of: |e| {
            let busy = e.case("pie").filter(|run| long(run, "A") && long(run, "B"));
            busy.filter_map(|run| average(&short(run, "A"))).collect()
        },
        unit: "",
        within: [1.5, ANY],
        because: "half as much again at least, up to 9 KB",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "fq-codel-short",
        source: "Slides, Completion times",
        says: "FQ-CoDel schedules downloads almost perfectly: short ones of either kind, over the ideal time",
        of: |e| {
            let both = |run| [short(run, "A"), short(run, "B")].concat();
            e.case("fq_codel").flat_map(both).collect()
        },
        unit: "",
        within: [0.9, 1.5],
        because: "half as much again, up to 9 KB; what the shaper's bucket holds takes a little less",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "pie-delay",
        source: "Slides, Qsize",
        says: "PIE's queue is about 20 ms where there are long flows",
        of: |e| {
            let busy = e.case("pie").filter(|run| long(run, "A") || long(run, "B"));
            busy.filter_map(|run| mean(run, "Q")).collect()
        },
        unit: " ms",
        within: [13.3, 30.0],
        because: "half as much again either way: downloads come in bursts",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "pie-ecn-delay",
        source: "Slides, Qsize",
        says: "ECN packets wait slightly longer in it: mean over that of the others",
        of: |e| {
            let of = |run, name| Some(group(run, name)?.delay_ms?.mean);
            let busy = alike(e, "pie").filter(|run| long(run, "A"));
            busy.filter_map(|run| Some(of(run, "A")? / of(run, "B")?)).collect()
        },
        unit: "",
        within: [1.0, 1.25],
        because: "slightly is a quarter, beside a long flow of each kind, where both clients do the same",
        expected: DoesNotHold(
            "both stand in one queue and wait alike, within 4 %: whether a packet is dropped on arrival depends on \
             the last update, not on the queue that it finds",
        ),
    },
    Statement {
        figure: "slides-completion",
        id: "dualq-delay",
        source: "Slides, Qsize",
        says: "DCTCP's queue is extremely small, and slow start does not overshoot: mean",
        of: |e| e.case("dualq").filter_map(|run| mean(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 2.0],
        because: "a few packets: one takes 0.3 ms",
        expected: Holds,
    },
    Statement {
        figure: "slides-completion",
        id: "fq-codel-delay",
        source: "Slides, Qsize",
        says: "with FQ-CoDel DCTCP's queue, which it makes itself, is larger than that: mean over mean beside a long DCTCP flow",
        of: |e| {
            let of = |run| Some(group(run, "A")?.delay_ms?.mean);
            let pairs = e.pairs("fq_codel", "dualq");
            let busy = pairs.iter().filter(|(run, _)| long(run, "A"));
            busy.filter_map(|(q, d)| Some(of(q)? / of(d)?)).collect()
        },
        unit: "",
        within: [1.0, ANY],
        because: "larger at all",
        expected: Holds,
    },
];
