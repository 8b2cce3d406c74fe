//! Whatever stands in a scenario file or behind `--set`, it is read or refused; what is read is
//! shown, and what is shown reads back as the same.
//!
//! `cargo +nightly fuzz run scenario_parser -- -max_total_time=60`, with `scenarios/` as seeds.

#![no_main]

use l4s_scenario::{Plan, show};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // What stands behind the last NUL is a `--set`.
    let (text, set) = text.rsplit_once('\0').unwrap_or((&text, ""));
    let set: Vec<String> = if set.is_empty() { vec![] } else { vec![set.to_owned()] };
    match Plan::parse("fuzz.toml", text, &set) {
        Ok(plan) => {
            let point = &plan.points[0];
            let shown = show(point, plan.question.as_deref());
            let again = Plan::parse("again.toml", &shown, &[]).expect("what is shown reads back");
            assert_eq!(again.points[0].scenario, point.scenario);
            assert_eq!(again.points[0].asserts, point.asserts);
        }
        Err(faults) => assert!(!faults.0.is_empty()),
    }
});
