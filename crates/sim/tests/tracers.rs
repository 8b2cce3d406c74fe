//! Prague that asks the bottleneck (`fallback = "active"`) beside Prague that only looks
//! (`"passive"`), where looking errs.

use l4s_aqm::Queue;
use l4s_measure::{FlowState, FrameEvent, Observer, Traced};
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_units::{Duration, Time};

/// IP length of the middle and the rear of a set: 98 B and 52 B of header.
const TRACER_IP: u64 = 150;

/// What became of a Prague flow beside a Cubic flow with Classic ECN.
#[derive(Default, Debug)]
struct Seen {
    /// The score each 10 ms.
    scores: Vec<f64>,
    /// Middles and rears that left the queue.
    tracers: u32,
    /// Frames of an application that arrived.
    delivered: u32,
}

impl Observer<Packet> for Seen {
    fn departed(&mut self, packet: &Packet, _: Queue, _: Duration, _: Time) {
        self.tracers += u32::from(packet.ip_length().get() == TRACER_IP);
    }
    fn sample_flow(&mut self, state: FlowState, _: Time) {
        self.scores.extend(state.classic_ecn.map(|report| report.score));
    }
    fn frame(&mut self, _: u32, _: u16, what: FrameEvent, _: Time) {
        self.delivered += u32::from(matches!(what, FrameEvent::Delivered(_)));
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
}

impl Seen {
    fn last(&self) -> f64 {
        self.scores[self.scores.len() - 1]
    }

    fn most(&self) -> f64 {
        self.scores.iter().copied().fold(f64::MIN, f64::max)
    }

    fn mean(&self) -> f64 {
        self.scores.iter().sum::<f64>() / self.scores.len() as f64
    }
}

/// 30 s on 40 Mb/s with 10 ms. `more` are settings of Prague.
fn text(aqm: &str, fallback: &str, more: &str) -> String {
    format!(
        "duration = \"30s\"\nlink.rate = \"40mbit\"\naqm = \"{aqm}\"\n\
         [[group]]\nname = \"P\"\nrtt = \"10ms\"\n\
         cc = {{ kind = \"prague\", profile = \"paper\", fallback = \"{fallback}\"{more} }}\n\
         [[group]]\nname = \"C\"\nrtt = \"10ms\"\ncc = \"cubic\"\necn = \"classic\"\n"
    )
}

fn run(aqm: &str, fallback: &str, more: &str, set: &[&str]) -> Seen {
    let seen = run_text(&text(aqm, fallback, more), set);
    println!(
        "{aqm} {fallback}{more} {set:?}: last {:.2}, mean {:.2}, most {:.2}; {} tracers",
        seen.last(),
        seen.mean(),
        seen.most(),
        seen.tracers
    );
    seen
}

fn run_text(text: &str, set: &[&str]) -> Seen {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let plan = Plan::parse("tracers.toml", text, &set).unwrap_or_else(|e| panic!("{e}"));
    let mut seen = Seen::default();
    l4s_sim::run(&plan.points[0].scenario, &mut seen);
    seen
}

/// A reference so low that what variability a dual queue has looks like a Classic queue's.
const LOW: &str = ", v0 = \"60us\"";

#[test]
fn tracers_hold_back_a_score_that_errs_on_a_dual_queue() {
    assert!(run("dualpi2", "passive", LOW, &[]).last() > 7.0);
    let active = run("dualpi2", "active", LOW, &[]);
    // The transition is from 0 to 1. Between two sets the score goes on rising.
    let into = active.scores.iter().filter(|score| **score > 0.0).count();
    assert!(into * 100 < active.scores.len(), "{into} of {}", active.scores.len());
    assert!(active.most() < 1.0 && active.mean() < -2.0 && active.last() < -1.0);
}

#[test]
fn tracers_change_nothing_in_a_single_queue_and_are_given_up() {
    for (more, set) in [(LOW, &[][..]), ("", &[]), ("", &["link.aggregation=4ms"])] {
        let [passive, active] = ["passive", "active"].map(|how| run("codel", how, more, set));
        assert!(passive.last() > 7.0 && active.last() > 7.0);
        // Four sets, two packets of each.
        assert_eq!((passive.tracers, active.tracers), (0, 8));
    }
}

#[test]
fn nothing_is_asked_where_the_score_is_sure() {
    for set in [&[][..], &["link.aggregation=1ms"]] {
        let active = run("dualpi2", "active", "", set);
        assert!(active.tracers == 0 && active.most() < -7.9);
    }
}

/// A frame is over with the last of the segments that its bytes take, so none may be cut otherwise.
#[test]
fn no_set_is_cut_out_of_what_an_application_wrote() {
    let app = "[[app]]\ngroup = \"P\"\nrate = \"20mbit\"\nfps = 60\n";
    let [passive, active] = ["passive", "active"].map(|how| {
        let text = text("dualpi2", how, LOW).replace("name = \"P\"", "name = \"P\"\nflows = 0");
        run_text(&(text + app), &[])
    });
    assert!(passive.scores == active.scores && active.most() > 7.0 && active.tracers == 0);
    assert!(active.delivered > 1000 && active.delivered == passive.delivered);
}

/// Aggregates of 4 ms make the round trip vary by more in each round trip than a set takes from
/// the score: it is driven into the transition past four sets that all say L4S, and then they are
/// given up. Only what goes in is held fast here, not that this is as it should be.
#[test]
fn a_link_that_aggregates_looks_classic_to_who_only_looks() {
    let set = &["link.aggregation=4ms"];
    let passive = run("dualpi2", "passive", "", set);
    assert!(passive.last() > 7.0 && passive.tracers == 0);
    assert!(run("dualpi2", "active", "", set).tracers >= 8);
}
