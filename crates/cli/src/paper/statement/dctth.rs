//! DCttH, sections 4.3 to 4.6: figures 4 to 10.

use super::evidence::{
    average, base_ms, drops, group, large, load, mbps, mean, p99, ratio, rtt_ms, set, short,
};
use super::{ANY, DoesNotHold, Evidence, Holds, Statement};
use l4s_measure::Summary;

/// From the medium link rates up.
fn from_40(run: &&Summary) -> bool {
    mbps(run) >= 40.0
}

/// Link rate times round trip in kilobits.
fn bdp(run: &Summary) -> f64 {
    mbps(run) * base_ms(run).unwrap_or_default()
}

/// The run of a case with these round trips, in milliseconds.
fn at<'a>(e: &Evidence<'a>, case: &'a str, a: f64, b: f64) -> Option<&'a Summary> {
    let rtts = [Some(a), Some(b)];
    e.case(case).find(|run| [rtt_ms(run, "group.A.rtt"), rtt_ms(run, "group.B.rtt")] == rtts)
}

/// A number of DualPI2 at 5-100 over the same with another round trip of the Classic flow.
fn far_over(e: &Evidence<'_>, near: f64, of: fn(&Summary) -> Option<f64>) -> Vec<f64> {
    let of = |b| at(e, "dualpi2", 5.0, b).and_then(of);
    of(100.0).zip(of(near)).map(|(far, near)| far / near).into_iter().collect()
}

/// A ratio between the flows with these round trips.
fn ratio_at(e: &Evidence<'_>, case: &'static str, a: f64, b: f64, name: &str) -> Vec<f64> {
    at(e, case, a, b).and_then(|run| ratio(run, name)).into_iter().collect()
}

/// The runs of DualPI2 with UDP of a kind.
fn udp<'a>(e: &Evidence<'a>, ecn: &'a str) -> impl Iterator<Item = &'a Summary> {
    e.case("dualpi2").filter(move |run| set(run, "udp.U.ecn") == Some(ecn))
}

/// How long large downloads take with DualPI2, over the same with another.
fn slower(e: &Evidence<'_>, than: &str) -> Vec<f64> {
    let of = |run| average(&large(run, "A"));
    let pairs = e.pairs("dualpi2", than);
    pairs.iter().filter_map(|(one, other)| Some(of(one)? / of(other)?)).collect()
}

/// What the UDP traffic leaves to the flows that respond, in Mb/s.
fn left(run: &Summary) -> Option<f64> {
    Some((group(run, "A")?.rate_bps + group(run, "B")?.rate_bps) / 1e6)
}

pub const ALL: &[Statement] = &[
    Statement {
        figure: "dctth-4",
        id: "l4s-mean",
        source: "DCttH §4.3",
        says: "at medium and high rates L4S packets wait less than a millisecond on average",
        of: |e| e.case("dualpi2").filter(from_40).filter_map(|run| mean(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 1.0],
        because: "as stated, from 40 Mb/s",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "l4s-p99",
        source: "DCttH §4.3",
        says: "the 99th percentile of that wait is about 2 to 3 ms",
        of: |e| e.case("dualpi2").filter(from_40).filter_map(|run| p99(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 3.0],
        because: "no more than stated; less is what it is for",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "l4s-below-pie",
        source: "DCttH §4.3, Qdisc §5",
        says: "L4S packets wait far less than with PIE: mean over mean",
        of: |e| {
            let pairs = e.pairs("dualpi2", "pie");
            pairs.iter().filter_map(|(l, q)| Some(mean(l, "L")? / mean(q, "Q")?)).collect()
        },
        unit: "",
        within: [0.0, 0.5],
        because: "half at most, in all 25 conditions",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "l4s-below-fq-codel",
        source: "DCttH §4.3, Qdisc §5",
        says: "and less than with FQ-CoDel: mean over mean",
        of: |e| {
            let pairs = e.pairs("dualpi2", "fq_codel");
            pairs.iter().filter_map(|(l, q)| Some(mean(l, "L")? / mean(q, "Q")?)).collect()
        },
        unit: "",
        within: [0.0, 0.8],
        because: "a fifth less at least: at 100 ms FQ-CoDel's queues are often empty",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "l4s-serialization",
        source: "DCttH §4.3",
        says: "at 4 and 12 Mb/s L4S packets wait longer, as a packet takes 3 and 1 ms: mean wait in such times",
        of: |e| {
            let slow = e.case("dualpi2").filter(|run| mbps(run) < 40.0);
            slow.filter_map(|run| Some(mean(run, "L")? / (12.112 / mbps(run)))).collect()
        },
        unit: " packets",
        within: [0.5, 2.0],
        because: "the floor of the marker is 2 packets",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "classic-as-pie",
        source: "DCttH §4.3",
        says: "Classic packets wait about as long as with PIE: mean over mean",
        of: |e| {
            let pairs = e.pairs("dualpi2", "pie");
            pairs.iter().filter_map(|(c, q)| Some(mean(c, "C")? / mean(q, "Q")?)).collect()
        },
        unit: "",
        within: [0.67, 1.5],
        because: "half as much again either way",
        expected: DoesNotHold(
            "up to 40 Mb/s and 20 ms they do; with more in flight DCTCP fills the link while Cubic recovers, and \
             the Classic queue is empty for longer (1.7 ms of 9.8 at 200 Mb/s and 100 ms), as with Linux 7.3; \
             at 4 Mb/s and 5 ms it is longer, 27 ms",
        ),
    },
    Statement {
        figure: "dctth-4",
        id: "targets",
        source: "DCttH §4.3",
        says: "every AQM about holds its target: mean delay of DualPI2's Classic queue, PIE, FQ-CoDel over 15, 15, 5 ms",
        of: |e| {
            let usual = |run: &&Summary| from_40(run) && base_ms(run) <= Some(10.0);
            let over = |case, queue, target: f64| {
                e.case(case).filter(usual).filter_map(move |run| Some(mean(run, queue)? / target))
            };
            over("dualpi2", "C", 15.0)
                .chain(over("pie", "Q", 15.0))
                .chain(over("fq_codel", "Q", 5.0))
                .collect()
        },
        unit: "",
        within: [0.67, 1.5],
        because: "from 40 Mb/s and up to 10 ms: the paper excepts low rates and long round trips",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "drop-at-low-rates",
        source: "DCttH §4.3",
        says: "low rates drive drop to about 10 %: the most of Cubic's with any AQM",
        of: |e| {
            let slow = e.runs().filter(|run| mbps(run) < 12.0);
            slow.filter_map(|run| drops(run, "B")).reduce(f64::max).into_iter().collect()
        },
        unit: " %",
        within: [5.0, 20.0],
        because: "within a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "windows",
        source: "DCttH §4.3, Qdisc §5",
        says: "DualPI2 gives DCTCP and Cubic nearly the same window",
        of: |e| {
            let usual = e.case("dualpi2").filter(|run| bdp(run) <= 1_500.0);
            usual.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2, up to 1.5 Mb in flight; for more the paper says otherwise",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "windows-at-large-bdp",
        source: "DCttH §4.3",
        says: "at large products of rate and RTT DCTCP has the larger window",
        of: |e| {
            let large = e.case("dualpi2").filter(|run| (4_000.0..12_001.0).contains(&bdp(run)));
            large.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [1.0, ANY],
        because: "from 4 Mb in flight",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "underused-at-large-bdp",
        source: "DCttH §4.3",
        says: "there the link is not fully used: utilization at 200 Mb/s and 100 ms",
        of: |e| {
            let largest = e.runs().filter(|run| bdp(run) >= 20_000.0);
            largest.map(|run| 100.0 * run.link.utilization).collect()
        },
        unit: " %",
        within: [80.0, 99.0],
        because: "less than where it is full, and no collapse",
        expected: DoesNotHold(
            "with DualPI2 97.8 % and with FQ-CoDel 94.3 %; with PIE a few losses decide: 99.2 % with seeds 1 and 2, \
             97.6 % with seed 3",
        ),
    },
    Statement {
        figure: "dctth-4",
        id: "stronger-signals",
        source: "DCttH §4.3",
        says: "less in flight needs a stronger signal: Cubic's drop with DualPI2 over that with PIE",
        of: |e| {
            let pairs = e.pairs("dualpi2", "pie");
            let usual = pairs.iter().filter(|(run, _)| bdp(run) <= 1_500.0);
            usual.filter_map(|(d, p)| Some(drops(d, "B")? / drops(p, "B")?)).collect()
        },
        unit: "",
        within: [1.0, ANY],
        because: "more than with PIE, up to 1.5 Mb in flight",
        expected: Holds,
    },
    Statement {
        figure: "dctth-4",
        id: "l4s-drop",
        source: "DCttH §4.3",
        says: "at 4 Mb/s and 5 ms overload sets in now and then, and drops a few L4S packets",
        of: |e| {
            let slowest = e.case("dualpi2").filter(|run| bdp(run) <= 20.0);
            slowest.filter_map(|run| drops(run, "A")).collect()
        },
        unit: " %",
        within: [0.0001, 5.0],
        because: "some, and a small part",
        expected: DoesNotHold(
            "p' is 0.36 on average there, as the Classic drop of 13 % says, and does not come to 0.5, from which \
             L4S packets are dropped",
        ),
    },
    Statement {
        figure: "dctth-5",
        id: "windows",
        source: "DCttH §4.3",
        says: "windows are well balanced with any number of flows",
        of: |e| {
            let many = e.case("dualpi2").filter(|run| flows(run, "B") >= 4);
            many.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [0.67, 1.5],
        because: "half as much again either way, with 4 Classic flows or more: of few the paper says otherwise",
        expected: Holds,
    },
    Statement {
        figure: "dctth-5",
        id: "few-classic",
        source: "DCttH §4.3",
        says: "with very few Classic flows among many L4S ones, the L4S window is smaller",
        of: |e| {
            let few = e.case("dualpi2").filter(|run| flows(run, "B") == 1 && flows(run, "A") >= 5);
            few.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [0.0, 0.9],
        because: "a tenth less at least, 1 against 5 to 10",
        expected: Holds,
    },
    Statement {
        figure: "dctth-6",
        id: "l4s-mean",
        source: "DCttH §4.4",
        says: "L4S packets hardly wait, whatever the round trips",
        of: |e| e.case("dualpi2").filter_map(|run| mean(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 1.0],
        because: "as in figure 4",
        expected: Holds,
    },
    Statement {
        figure: "dctth-6",
        id: "classic-longer",
        source: "DCttH §4.4",
        says: "a long Classic and a short L4S round trip lengthen the Classic queue: mean at 5-100 over that at 5-5",
        of: |e| far_over(e, 5.0, |run| mean(run, "C")),
        unit: "",
        within: [1.0, ANY],
        because: "longer at all",
        expected: DoesNotHold(
            "its bursts are longer, the 99th percentile is 31 ms instead of 27, but between them it is empty: \
             10 ms on average instead of 15",
        ),
    },
    Statement {
        figure: "dctth-6",
        id: "l4s-p99",
        source: "DCttH §4.4",
        says: "which L4S packets pay for: their 99th percentile at 5-100 over that at 5-5",
        of: |e| far_over(e, 5.0, |run| p99(run, "L")),
        unit: "",
        within: [1.0, ANY],
        because: "longer at all",
        expected: Holds,
    },
    Statement {
        figure: "dctth-6",
        id: "window-5-100",
        source: "DCttH §4.4",
        says: "and the L4S window is smaller at 5-100",
        of: |e| ratio_at(e, "dualpi2", 5.0, 100.0, "window_A_B"),
        unit: "",
        within: [0.0, 0.9],
        because: "a tenth less at least",
        expected: Holds,
    },
    Statement {
        figure: "dctth-6",
        id: "pie-5-100",
        source: "DCttH §4.4",
        says: "with PIE rates are about 6 to 1 at 5-100, as its queue softens the 20 to 1 of the round trips",
        of: |e| ratio_at(e, "pie", 5.0, 100.0, "rate_A_B"),
        unit: "",
        within: [4.8, 7.5],
        because: "a quarter either way",
        expected: DoesNotHold(
            "windows are not equal: Cubic grows with time and not with round trips, and so the longer one has half \
             as much more (0.68); 5.75 times that is 3.9",
        ),
    },
    Statement {
        figure: "dctth-6",
        id: "dualpi2-5-50",
        source: "DCttH §4.4",
        says: "with DualPI2 rates near 10 to 1 already at 5-50",
        of: |e| ratio_at(e, "dualpi2", 5.0, 50.0, "rate_A_B"),
        unit: "",
        within: [5.0, 12.0],
        because: "10 is the ratio of the round trips, which is approached",
        expected: Holds,
    },
    Statement {
        figure: "dctth-6",
        id: "reversal",
        source: "DCttH §4.4",
        says: "at 5-100 they are nearer to each other again: rate ratio at 5-100 over that at 5-50",
        of: |e| far_over(e, 50.0, |run| ratio(run, "rate_A_B")),
        unit: "",
        within: [0.0, 1.0],
        because: "as stated",
        expected: DoesNotHold(
            "the L4S queue varies no more at 5-100 than at 5-50 (99th percentile 1.36 ms in both), so that DCTCP \
             keeps its 34 Mb/s while Cubic falls from 5.3 to 3.5",
        ),
    },
    Statement {
        figure: "dctth-6",
        id: "fq-codel-rates",
        source: "DCttH §4.4",
        says: "FQ-CoDel enforces equal rates",
        of: |e| e.case("fq_codel").filter_map(|run| ratio(run, "rate_A_B")).collect(),
        unit: "",
        within: [0.67, 1.5],
        because: "half as much again either way: at 100 ms Cubic cannot always take its share",
        expected: Holds,
    },
    Statement {
        figure: "dctth-6",
        id: "fq-codel-windows",
        source: "DCttH §4.4",
        says: "and so unequal windows: ratio at 5-100",
        of: |e| ratio_at(e, "fq_codel", 5.0, 100.0, "window_A_B"),
        unit: "",
        within: [0.0, 0.33],
        because: "a third at most; (5 + 5) over (100 + 5) ms is a tenth",
        expected: Holds,
    },
    Statement {
        figure: "dctth-7",
        id: "l4s-short",
        source: "DCttH §4.5",
        says: "short L4S downloads take close to the ideal time, at high load: mean of a size over it",
        of: |e| e.case("dualpi2").flat_map(|run| short(run, "A")).collect(),
        unit: "",
        within: [0.9, 1.5],
        because: "half as much again, up to 9 KB",
        expected: Holds,
    },
    Statement {
        figure: "dctth-7",
        id: "classic-syn",
        source: "DCttH §4.5",
        says: "Classic downloads wait about 1 s for a lost SYN: longest 99th percentile of a size",
        of: |e| {
            let all = e.case("dualpi2").flat_map(|run| &run.completion);
            let classic = all.filter(|bin| bin.group == "B").map(|bin| bin.time_ms.p99);
            classic.reduce(f64::max).into_iter().collect()
        },
        unit: " ms",
        within: [900.0, ANY],
        because: "the time-out of a SYN, within a tenth: it is a percentile",
        expected: Holds,
    },
    Statement {
        figure: "dctth-7-low",
        id: "l4s-short",
        source: "DCttH §4.5",
        says: "short L4S downloads take close to the ideal time, at low load: mean of a size over it",
        of: |e| e.case("dualpi2").flat_map(|run| short(run, "A")).collect(),
        unit: "",
        within: [0.9, 1.5],
        because: "half as much again, up to 9 KB",
        expected: Holds,
    },
    Statement {
        figure: "dctth-8",
        id: "short",
        source: "DCttH §4.5",
        says: "short downloads take nearly the ideal time with DualPI2 (L4S) and FQ-CoDel",
        of: |e| {
            let both = e.case("dualpi2").chain(e.case("fq_codel"));
            both.flat_map(|run| short(run, "A")).collect()
        },
        unit: "",
        within: [0.9, 1.5],
        because: "half as much again, up to 9 KB",
        expected: Holds,
    },
    Statement {
        figure: "dctth-8",
        id: "large-than-pie",
        source: "DCttH §4.5",
        says: "large ones take longer with DualPI2 than with PIE",
        of: |e| slower(e, "pie"),
        unit: "",
        within: [1.0, ANY],
        because: "longer at all, from 243 KB",
        expected: Holds,
    },
    Statement {
        figure: "dctth-8",
        id: "large-than-fq-codel",
        source: "DCttH §4.5",
        says: "and longer than with FQ-CoDel",
        of: |e| slower(e, "fq_codel"),
        unit: "",
        within: [1.0, ANY],
        because: "longer at all, from 243 KB",
        expected: Holds,
    },
    Statement {
        figure: "dctth-9",
        id: "l4s-mean",
        source: "DCttH §4.5",
        says: "L4S delay stays extremely low under heavy web traffic",
        of: |e| e.case("dualpi2").filter(from_40).filter_map(|run| mean(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 1.0],
        because: "as without it, from 40 Mb/s",
        expected: Holds,
    },
    Statement {
        figure: "dctth-9",
        id: "mean-below-fq-codel",
        source: "DCttH §4.5",
        says: "its mean is better than FQ-CoDel's: one over the other",
        of: |e| {
            let pairs = e.pairs("dualpi2", "fq_codel");
            pairs.iter().filter_map(|(l, q)| Some(mean(l, "L")? / mean(q, "Q")?)).collect()
        },
        unit: "",
        within: [0.0, 1.0],
        because: "as stated, in all 25 conditions",
        expected: Holds,
    },
    Statement {
        figure: "dctth-9",
        id: "spread-below-fq-codel",
        source: "DCttH §4.5",
        says: "its variance is better too: 99th percentile over 99th percentile",
        of: |e| {
            let pairs = e.pairs("dualpi2", "fq_codel");
            pairs.iter().filter_map(|(l, q)| Some(p99(l, "L")? / p99(q, "Q")?)).collect()
        },
        unit: "",
        within: [0.0, 1.0],
        because: "as stated, in all 25 conditions; the figure shows percentiles",
        expected: Holds,
    },
    Statement {
        figure: "dctth-9",
        id: "utilization-above-fq-codel",
        source: "DCttH §4.5",
        says: "utilization is better than FQ-CoDel's: difference in points",
        of: |e| {
            let of = |run: &Summary| 100.0 * run.link.utilization;
            e.pairs("dualpi2", "fq_codel").iter().map(|(d, q)| of(d) - of(q)).collect()
        },
        unit: "",
        within: [-1.0, ANY],
        because: "a point is what seeds differ by",
        expected: DoesNotHold(
            "it is less at 4 and 12 Mb/s and at 50 and 100 ms: DCTCP leaves slow start at the first mark and then \
             adds a packet per round trip, which is what the paper has for the reason of its longer downloads",
        ),
    },
    Statement {
        figure: "dctth-9",
        id: "utilization-near-pie",
        source: "DCttH §4.5",
        says: "and only a little worse than PIE's: difference in points",
        of: |e| {
            let of = |run: &Summary| 100.0 * run.link.utilization;
            e.pairs("dualpi2", "pie").iter().map(|(d, q)| of(d) - of(q)).collect()
        },
        unit: "",
        within: [-5.0, ANY],
        because: "little is 5 points",
        expected: DoesNotHold("it is much less at 50 and 100 ms, for the same reason"),
    },
    Statement {
        figure: "dctth-9-low",
        id: "l4s-mean",
        source: "DCttH §4.5",
        says: "L4S delay stays extremely low under light web traffic",
        of: |e| e.case("dualpi2").filter(from_40).filter_map(|run| mean(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 1.0],
        because: "as without it, from 40 Mb/s",
        expected: Holds,
    },
    Statement {
        figure: "dctth-9-low",
        id: "spread-below-fq-codel",
        source: "DCttH §4.5",
        says: "its variance is better than FQ-CoDel's: 99th percentile over 99th percentile",
        of: |e| {
            let pairs = e.pairs("dualpi2", "fq_codel");
            pairs.iter().filter_map(|(l, q)| Some(p99(l, "L")? / p99(q, "Q")?)).collect()
        },
        unit: "",
        within: [0.0, 1.0],
        because: "as stated, in all 25 conditions",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "l4s-mean-not-ect",
        source: "DCttH §4.6",
        says: "L4S packets wait less than about 2 ms on average with Not-ECT UDP of any rate",
        of: |e| udp(e, "not-ect").filter_map(|run| mean(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 2.0],
        because: "as stated",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "l4s-mean-l4s",
        source: "DCttH §4.6",
        says: "and with L4S UDP up to 140 %",
        of: |e| {
            let both = udp(e, "ect0").chain(udp(e, "ect1"));
            both.filter(|run| load(run) <= Some(140.0)).filter_map(|run| mean(run, "L")).collect()
        },
        unit: " ms",
        within: [0.0, 2.0],
        because: "as stated",
        expected: DoesNotHold(
            "2.2 ms at 100 % and 5.7 ms at 140 %: UDP of 100 % with Ethernet on top is more than the link \
             carries, so that the L4S queue begins to be held by drop alone",
        ),
    },
    Statement {
        figure: "dctth-10",
        id: "l4s-to-target",
        source: "DCttH §4.6",
        says: "at 200 % of L4S UDP the L4S queue has moved to the Classic target of 15 ms",
        of: |e| {
            let both = udp(e, "ect0").chain(udp(e, "ect1"));
            both.filter(|run| load(run) == Some(200.0)).filter_map(|run| mean(run, "L")).collect()
        },
        unit: " ms",
        within: [12.0, 18.0],
        because: "a fifth either way",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "windows-not-ect",
        source: "DCttH §4.6",
        says: "windows of DCTCP and Cubic balance up to 100 % of Not-ECT UDP",
        of: |e| {
            let within = udp(e, "not-ect").filter(|run| load(run) <= Some(100.0));
            within.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "windows-l4s",
        source: "DCttH §4.6",
        says: "and up to 100 % of L4S UDP",
        of: |e| {
            let both = udp(e, "ect0").chain(udp(e, "ect1"));
            let within = both.filter(|run| load(run) <= Some(100.0));
            within.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: DoesNotHold(
            "2.1 at 100 %, which is overload (see above): Classic packets also wait for the L4S queue",
        ),
    },
    Statement {
        figure: "dctth-10",
        id: "rates-above",
        source: "DCttH §4.6",
        says: "above 100 % time-outs rule, and make rates about equal",
        of: |e| {
            let above = e.case("dualpi2").filter(|run| load(run) > Some(100.0));
            above.filter_map(|run| ratio(run, "rate_A_B")).collect()
        },
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: DoesNotHold(
            "with Not-ECT UDP they do; with L4S UDP the few Classic packets wait behind it, and DCTCP has 2.3 \
             (140 %) and 3.9 times (200 %) the rate of Cubic",
        ),
    },
    Statement {
        figure: "dctth-10",
        id: "classic-target",
        source: "DCttH §4.6",
        says: "drop holds the Classic queue at its target of 15 ms with Not-ECT UDP",
        of: |e| udp(e, "not-ect").filter_map(|run| mean(run, "C")).collect(),
        unit: " ms",
        within: [12.0, 18.0],
        because: "a fifth either way",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "ecn-unaffected",
        source: "DCttH §4.6",
        says: "L4S UDP loses nothing as long as marks suffice: its drop at 50 and 70 %",
        of: |e| {
            let both = udp(e, "ect0").chain(udp(e, "ect1"));
            both.filter(|run| load(run) <= Some(70.0)).filter_map(|run| drops(run, "U")).collect()
        },
        unit: " %",
        within: [0.0, 0.1],
        because: "as good as nothing",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "left-over",
        source: "DCttH §4.6",
        says: "what UDP leaves to the others differs most between L4S and Not-ECT UDP near 100 %: where",
        of: |e| {
            let differs = |run: &Summary| {
                let same = |other: &&Summary| load(other) == load(run);
                Some((left(run)? - left(udp(e, "not-ect").find(same)?)?).abs())
            };
            let all = udp(e, "ect0").filter_map(|run| Some((load(run)?, differs(run)?)));
            let most = all.reduce(|most, next| if next.1 > most.1 { next } else { most });
            most.map(|(load, _)| load).into_iter().collect()
        },
        unit: " %",
        within: [100.0, 100.0],
        because: "of the five rates",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "little-left",
        source: "DCttH §4.6",
        says: "well above 100 % it leaves them very little",
        of: |e| {
            let above = e.case("dualpi2").filter(|run| load(run) > Some(100.0));
            above.filter_map(left).collect()
        },
        unit: " Mb/s",
        within: [0.0, 10.0],
        because: "a tenth of the link",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "as-pie",
        source: "DCttH §4.6",
        says: "it is the same with one queue: rate of UDP with DualPI2 over that with PIE",
        of: |e| {
            let of = |run| Some(group(run, "U")?.rate_bps);
            let pairs = e.pairs("dualpi2", "pie");
            pairs.iter().filter_map(|(d, p)| Some(of(d)? / of(p)?)).collect()
        },
        unit: "",
        within: [0.9, 1.1],
        because: "a tenth either way",
        expected: Holds,
    },
    Statement {
        figure: "dctth-10",
        id: "fq-codel-drop",
        source: "DCttH §4.6",
        says: "FQ-CoDel drops about 80 % of UDP of 50 %, so that all flows have the same rate",
        of: |e| {
            let half = e.case("fq_codel").filter(|run| load(run) == Some(50.0));
            half.filter_map(|run| drops(run, "U")).collect()
        },
        unit: " %",
        within: [75.0, 85.0],
        because: "1 - 9.1 / 50 is 82 %",
        expected: Holds,
    },
];

/// How many long flows a group has.
fn flows(run: &Summary, name: &str) -> u64 {
    group(run, name).map_or(0, |group| group.flows)
}
