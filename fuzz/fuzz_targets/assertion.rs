//! Whatever stands behind `--assert`, it is read or refused at a place in it; what is read can be evaluated, and
//! reads back from the scenario that shows it.
//!
//! `cargo +nightly fuzz run assertion -- -max_total_time=60`.

#![no_main]

use std::sync::LazyLock;

use l4s_measure::{EngineSummary, Origin, Quantities, Recorder};
use l4s_scenario::{Plan, show};
use libfuzzer_sys::fuzz_target;

static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let text = "link.rate = \"4mbit\"\n[[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"B b\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
                [[udp]]\nname = \"\\\"\"\nrate = \"1mbit\"\n[[hop]]\nname = \"h\"\nrate = \"9mbit\"\n";
    Plan::parse("fuzz.toml", text, &[]).expect("it is right")
});

/// Of a run without packets: much has no value.
static QUANTITIES: LazyLock<Quantities> = LazyLock::new(|| {
    let recorder = Recorder::new(&PLAN.points[0].scenario, Origin::default());
    Quantities::of(&recorder.finish(EngineSummary::default()).summary)
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes).into_owned();
    match PLAN.clone().assert(&[text.clone()]) {
        Ok(plan) => {
            let asserts = &plan.points[0].asserts;
            assert_eq!(asserts[0].that.text(), text);
            let unmet = asserts[0].that.unmet(&QUANTITIES);
            assert!(
                unmet.is_none_or(|unmet| !unmet.expected.is_empty() && !unmet.found.is_empty())
            );
            // A scenario has shorter ones, on one line.
            if text.chars().count() <= 300 && !text.chars().any(char::is_control) {
                let shown = show(&plan.points[0], None);
                let again =
                    Plan::parse("again.toml", &shown, &[]).expect("what is shown reads back");
                assert_eq!(again.points[0].asserts, *asserts);
            }
        }
        Err(faults) => {
            let fault = &faults.0[0];
            let line = text.split('\n').nth(fault.line - 1).expect("it is in the text");
            assert!(fault.column <= line.chars().count() + 1 && !fault.message.is_empty());
        }
    }
});
