//! IETF97: both answers to overload.

use l4s_measure::Summary;

use super::evidence::{drops, group, mean, queue, ratio, set};
use super::{DoesNotHold, Evidence, Holds, Statement};

/// The runs beside UDP of some kind and rate.
fn beside<'a>(e: &Evidence<'a>, traffic: &'a str) -> impl Iterator<Item = &'a Summary> {
    e.runs().filter(move |run| set(run, "traffic") == Some(traffic))
}

/// The window of a DCTCP flow over that of a Cubic flow.
fn windows(e: &Evidence<'_>, traffic: &str) -> Vec<f64> {
    e.runs()
        .filter(|run| set(run, "traffic") == Some(traffic))
        .filter_map(|run| ratio(run, "window_A_B"))
        .collect()
}

/// The queue in which the UDP packets are: mean delay.
fn delay_of_udp(e: &Evidence<'_>, traffic: &str) -> Vec<f64> {
    let of = |run: &Summary| Some(group(run, "U")?.delay_ms?.mean);
    e.runs().filter(|run| set(run, "traffic") == Some(traffic)).filter_map(of).collect()
}

pub const ALL: &[Statement] = &[
    Statement {
        figure: "overload-a",
        id: "baseline",
        source: "IETF97, No unresponsive traffic",
        says: "ten flows share the link: DCTCP's window over Cubic's",
        of: |e| windows(e, "none"),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "classic-50",
        source: "IETF97, 50 Mbps Classic",
        says: "they share fairly what Classic UDP of half the link leaves: windows",
        of: |e| windows(e, "classic 50"),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "l4s-50",
        source: "IETF97, 50 Mbps L4S",
        says: "and what L4S UDP leaves: windows",
        of: |e| windows(e, "l4s 50"),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "classic-100-drop",
        source: "IETF97, 100 Mbps Classic",
        says: "with Classic UDP of the whole link drop stays below 25 %",
        of: |e| beside(e, "classic 100").filter_map(|run| drops(run, "U")).collect(),
        unit: " %",
        within: [0.0, 25.0],
        because: "as stated",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "classic-100",
        source: "IETF97, 100 Mbps Classic",
        says: "and sharing still fair: windows",
        of: |e| windows(e, "classic 100"),
        unit: "",
        within: [0.5, 2.0],
        because: "a factor of 2",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "l4s-100-capped",
        source: "IETF97, 100 Mbps L4S",
        says: "with L4S UDP of the whole link the controlled drop of Classic packets stays below 25 %",
        of: |e| {
            let controlled = |run: &Summary| {
                let queue = queue(run, "C")?;
                let arrived = queue.packets as f64 / (1.0 - queue.drop?);
                Some(100.0 * queue.drops.aqm as f64 / arrived)
            };
            beside(e, "l4s 100").filter_map(controlled).collect()
        },
        unit: " %",
        within: [0.0, 27.0],
        because: "the cap is 1/k² = 25 %, and of few packets a share of chance",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "l4s-100-tail",
        source: "IETF97, 100 Mbps L4S",
        says: "and the rest is dropped by the full buffer: its part of all drops",
        of: |e| {
            let tail = |run: &Summary| {
                let all = run.queues.iter().map(|queue| &queue.drops);
                let limit: u64 = all.clone().map(|drops| drops.limit).sum();
                let sum: u64 = all.map(|drops| drops.limit + drops.aqm + drops.overload).sum();
                (sum > 0).then(|| 100.0 * limit as f64 / sum as f64)
            };
            beside(e, "l4s 100").filter_map(tail).collect()
        },
        unit: " %",
        within: [50.0, 100.0],
        because: "most of them",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "classic-200-drop",
        source: "IETF97, 200 Mbps Classic",
        says: "Classic UDP of twice the link loses 52 %",
        of: |e| beside(e, "classic 200").filter_map(|run| drops(run, "U")).collect(),
        unit: " %",
        within: [49.0, 55.0],
        because: "3 points: what the slides count as rate, and so the excess, is not told",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "classic-200-delay",
        source: "IETF97, 200 Mbps Classic",
        says: "and waits 69 ms",
        of: |e| delay_of_udp(e, "classic 200"),
        unit: " ms",
        within: [66.0, 72.0],
        because: "3 ms; the buffer is inferred from this number, that the next is the same is not",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "l4s-200-drop",
        source: "IETF97, 200 Mbps L4S",
        says: "L4S UDP of twice the link loses 52 % as well",
        of: |e| beside(e, "l4s 200").filter_map(|run| drops(run, "U")).collect(),
        unit: " %",
        within: [49.0, 55.0],
        because: "3 points",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "l4s-200-delay",
        source: "IETF97, 200 Mbps L4S",
        says: "and waits 69 ms as well",
        of: |e| delay_of_udp(e, "l4s 200"),
        unit: " ms",
        within: [66.0, 72.0],
        because: "3 ms",
        expected: Holds,
    },
    Statement {
        figure: "overload-a",
        id: "starved",
        source: "IETF97, Drop fairness",
        says: "where more than 25 % is to be dropped, Not-ECT flows starve: rate of all Cubic flows at 200 Mb/s",
        of: |e| {
            let both = beside(e, "classic 200").chain(beside(e, "l4s 200"));
            both.filter_map(|run| Some(group(run, "B")?.rate_bps / 1e6)).collect()
        },
        unit: " Mb/s",
        within: [0.0, 1.0],
        because: "a hundredth of the link",
        expected: Holds,
    },
    Statement {
        figure: "overload-b",
        id: "l4s-delay",
        source: "IETF97, Classic drop for all",
        says: "dropping in both queues preserves low latency: the mean wait of L4S packets",
        of: |e| e.runs().filter_map(|run| mean(run, "L")).collect(),
        unit: " ms",
        within: [0.0, 20.0],
        because: "the target is what the controller holds the longer queue to",
        expected: Holds,
    },
    Statement {
        figure: "overload-b",
        id: "classic-delay",
        source: "IETF97, Classic drop for all",
        says: "and of Classic packets",
        of: |e| e.runs().filter_map(|run| mean(run, "C")).collect(),
        unit: " ms",
        within: [0.0, 24.0],
        because: "the target of 20 ms and a fifth",
        expected: DoesNotHold(
            "L4S UDP of the whole link or more goes first, by 40 ms of head start: \
             the few Classic packets wait for it, while the controller holds the L4S queue",
        ),
    },
];
