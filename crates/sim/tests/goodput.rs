//! Goodput: every byte once, and only what is in order.

use std::collections::BTreeMap;

use l4s_measure::{EngineSummary, Origin, Recorder};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Observer, Traced};
use l4s_scenario::Plan;
use l4s_units::Time;
use proptest::prelude::*;

/// Bytes that each flow's client passed on, and the flows that closed.
#[derive(Default)]
struct Passed {
    bytes: BTreeMap<u32, u64>,
    closed: Vec<u32>,
}

impl<P: Traced> Observer<P> for Passed {
    fn delivered(&mut self, flow: FlowId, group: SourceId, bytes: u64, _: Time) {
        assert_eq!(group.get(), 0);
        *self.bytes.entry(flow.get()).or_default() += bytes;
    }
    fn closed(&mut self, flow: FlowId, _: Time) {
        self.closed.push(flow.get());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is dropped, late or sent twice, tracers and short segments included.
    #[test]
    fn a_download_passes_on_its_size(
        size in 1_u64..600_000,
        buffer in 3_u64..60,
        kbit in 500_u64..20_000,
        cc in 0..3_usize,
    ) {
        let cc = [
            "\"cubic\"",
            "\"dctcp\"",
            "{ kind = \"prague\", fallback = \"active\" }",
        ][cc];
        let text = format!(
            "duration = \"60s\"\nlink = {{ rate = \"{kbit}kbit\", buffer = \"{buffer}p\" }}\n\
             aqm = {{ kind = \"fifo\" }}\n[[group]]\nname = \"A\"\ncc = {cc}\nrtt = \"15ms\"\n\
             flows = 3\nsize = \"{size}b\"\n"
        );
        let plan = Plan::parse("goodput.toml", &text, &[]).unwrap();
        let mut passed = Passed::default();
        l4s_sim::run(&plan.points[0].scenario, &mut passed);
        prop_assert_eq!(passed.closed.len(), 3, "all are over");
        for flow in passed.closed {
            prop_assert_eq!(passed.bytes[&flow], size, "flow {}", flow);
        }
    }
}

/// A link without loss: all but the headers, 52 of 1500 B. Of UDP nobody tells.
#[test]
fn the_goodput_of_a_full_link_is_its_payload() {
    let text = "duration = \"20s\"\nwarmup = \"10s\"\nlink.rate = \"10mbit\"\n\
                aqm = { kind = \"fifo\", limit = \"1000p\" }\n[[group]]\nname = \"A\"\n\
                cc = \"reno\"\nrtt = \"20ms\"\n[[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
    let plan = Plan::parse("goodput.toml", text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    let summary = recorder.finish(EngineSummary::default()).summary;
    let [a, u] = summary.groups.as_slice() else { panic!("two") };
    let share = a.goodput_bps.unwrap() / a.rate_bps;
    assert!((share * 1500.0 / 1448.0 - 1.0).abs() < 0.002, "{share}");
    assert_eq!(u.goodput_bps, None);
}
