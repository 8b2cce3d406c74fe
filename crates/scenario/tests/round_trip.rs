//! Any accepted scenario is printed as text that is accepted and gives the same run.

mod any;

use any::Dice;
use l4s_model::Scenario;
use l4s_scenario::{Plan, Spelled, show};
use l4s_units::Duration;
use proptest::prelude::*;

/// A link and a flow.
const BASE: &str =
    "link.rate = \"40mbit\"\n[[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"1ms\"\n";

/// Prints and reads again; `false` for a text that is refused.
fn comes_back(text: &str, set: &[String]) -> bool {
    let Ok(plan) = Plan::parse("any.toml", text, set) else { return false };
    for point in &plan.points {
        let shown = show(point, plan.question.as_deref());
        let again = Plan::parse("again.toml", &shown, &[]);
        let again = again.unwrap_or_else(|e| panic!("{e}\nis shown of\n{text}\n{shown}"));
        assert_eq!(again.points[0].scenario, point.scenario, "\n{text}\n{shown}");
        assert_eq!(again.points[0].asserts, point.asserts, "\n{text}\n{shown}");
        assert_eq!(again.question, plan.question);
        // Other processes receive it as JSON.
        let sent = serde_json::to_string(&point.scenario).unwrap();
        let received: Scenario = serde_json::from_str(&sent).unwrap();
        assert_eq!(received, point.scenario, "\n{text}\n{sent}");
        // Printing it again gives the same text.
        assert_eq!(show(&again.points[0], again.question.as_deref()), shown);
        assert_eq!(Spelled::new(point, plan.question.as_deref()).text(), shown);
    }
    true
}

#[test]
fn most_random_scenarios_are_accepted() {
    let accepted = |seed: &u64| Plan::parse("any.toml", &Dice(*seed).scenario(), &[]).is_ok();
    let n = (0..200).filter(accepted).count();
    assert!(n > 80, "{n} of 200: too few to show anything");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_accepted_is_shown_as_the_same_run(seed: u64) {
        comes_back(&Dice(seed).scenario(), &[]);
    }

    /// `max_rtt` from 6 us to 10 s, `typical_rtt` from 1 us to 4 s, in either arithmetic.
    #[test]
    fn whatever_dualpi2_derives_from_two_rtts_can_be_set(seed: u64) {
        let mut dice = Dice(seed);
        let max = Duration::from_nanos(dice.between(6_000, 10_000_000_000));
        let longest = max.min(Duration::from_secs(4)).as_nanos();
        let typical = Duration::from_nanos(dice.between(1_000, longest));
        let profile = *dice.pick(&["dctth", "linux", "rfc9332"]);
        for rtts in [
            format!("aqm.max_rtt = \"{max}\""),
            format!("aqm.typical_rtt = \"{typical}\""),
            format!("aqm.max_rtt = \"{max}\"\naqm.typical_rtt = \"{typical}\""),
        ] {
            let text = format!("aqm.profile = \"{profile}\"\n{rtts}\n{BASE}");
            match Plan::parse("any.toml", &text, &[]) {
                Ok(_) => prop_assert!(comes_back(&text, &[])),
                // Linux truncates a gain to 1/256 Hz, which may be zero.
                Err(faults) => prop_assert!(faults.to_string().contains("resolution"), "{faults}"),
            }
        }
    }
}
