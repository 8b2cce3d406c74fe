//! Qdisc, section 5 and figure 3. Its other statements are those of DCttH, and stand there.

use super::evidence::{base_ms, flows, mbps, mean, ratio};
use super::{ANY, Evidence, Holds, Statement};

/// The mean delay of L4S packets at two ranges of rates: the least of the lower, the most of the
/// higher.
fn slow_over_fast(e: &Evidence<'_>) -> Vec<f64> {
    let of = |slow: bool| {
        let runs = e.case("dualpi2").filter(move |run| (mbps(run) < 40.0) == slow);
        runs.filter_map(|run| mean(run, "L"))
    };
    let slow = of(true).reduce(f64::min);
    slow.zip(of(false).reduce(f64::max)).map(|(slow, fast)| slow / fast).into_iter().collect()
}

pub const ALL: &[Statement] = &[
    Statement {
        figure: "dctth-9",
        id: "slow-links",
        source: "Qdisc §5",
        says: "L4S delay is slightly higher at low rates, for the floor of 2 packets: least at 4 and 12 Mb/s over most above",
        of: slow_over_fast,
        unit: "",
        within: [1.0, ANY],
        because: "higher at all",
        expected: Holds,
    },
    Statement {
        figure: "dctth-9",
        id: "windows",
        source: "Qdisc §5",
        says: "DualPI2 keeps windows rather well balanced under heavy web traffic: up to 50 ms",
        of: |e| {
            let near = e.case("dualpi2").filter(|run| base_ms(run).is_some_and(|rtt| rtt < 100.0));
            near.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [0.33, 3.0],
        because: "rather well is a factor of 3; at 100 ms it is 0.31 to 0.42 from 40 Mb/s on, where DCTCP grows by a \
                  packet per round trip from what the first mark left it",
        expected: Holds,
    },
    Statement {
        figure: "slides-flows",
        id: "pie-windows",
        source: "Qdisc §5",
        says: "with PIE DCTCP has a clear advantage over Cubic: windows, of 17 flows at most",
        of: |e| {
            let few = e.case("pie").filter(|run| flows(run) < 18);
            few.filter_map(|run| ratio(run, "window_A_B")).collect()
        },
        unit: "",
        within: [2.0, ANY],
        because: "twice at least; more flows go above 10 % for moments, from where on PIE drops DCTCP's packets too: \
                  1.83 for ten of each",
        expected: Holds,
    },
];
