//! A congestion control of one's own, without a change to l4s: docs/guides/python-algorithms.md walks
//! through it beside the same in Python.
//!
//! `cargo run --release -p l4s-sim --example own_control` prints the run in whole numbers.

use std::sync::Arc;
use std::time::Instant;

use l4s_cc::{Ack, Congestion, Connection, Reducing, WantedEcn, Window, WindowRule, foreign, reno};
use l4s_measure::{EngineSummary, Origin, Recorder, golden};
use l4s_scenario::Plan;

/// For each mark of the last round trip half a segment less: in equilibrium a window of two over
/// the probability of marks, whatever the rate (DCttH §2.1).
#[derive(Debug)]
struct Scalable {
    reno: reno::Rule,
    /// The round trip is over when this segment is acknowledged.
    round_end: u64,
    /// Marks in this round trip, and in the one before.
    marks: u32,
    last: u32,
}

impl WindowRule for Scalable {
    fn observe(&mut self, _: &mut Window, ack: &Ack) {
        if ack.una >= self.round_end {
            self.round_end = ack.nxt;
            self.last = self.marks;
            self.marks = 0;
        }
        self.marks += ack.delivered_ce;
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.grow(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
        match congestion {
            Congestion::Ecn => window.cwnd.saturating_sub(self.last.max(self.marks) / 2).max(2),
            _ => self.reno.ssthresh(window, congestion),
        }
    }
}

fn main() {
    let start = Instant::now();
    let (text, packets) = run();
    let per_packet = start.elapsed().as_nanos() / u128::from(packets);
    eprintln!("{packets} packets, {per_packet} ns each");
    print!("{text}");
}

/// The run in whole numbers, and how many packets it forwarded.
pub fn run() -> (String, u64) {
    let text = include_str!("own_control.toml");
    let plan = Plan::parse("own_control.toml", text, &[]).expect("a scenario");
    let mut scenario = plan.points[0].scenario.clone();
    let make = |connection: &Connection| -> Box<dyn foreign::Control> {
        let reno = reno::Rule::new(&reno::Config::default());
        let rule = Scalable { reno, round_end: 0, marks: 0, last: 0 };
        let paces = true;
        Box::new(Reducing::new(rule, paces, connection))
    };
    scenario.groups[0].cc = l4s_cc::Config::Foreign(foreign::Config {
        name: "scalable".into(),
        wants: WantedEcn::L4s,
        make: Arc::new(make),
    });
    let origin = Origin { on: "sim".to_owned(), ..Origin::default() };
    let mut recorder = Recorder::new(&scenario, origin);
    let packets = l4s_sim::run(&scenario, &mut recorder).packets;
    (golden([&recorder.finish(EngineSummary::default()).summary]), packets)
}
