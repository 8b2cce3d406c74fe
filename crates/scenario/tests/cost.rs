//! The cost of reading a scenario and of making a plan: it is proportional to the plan, within a budget,
//! and the work ends when it is cancelled. The tests count steps and use no clock.

use std::cell::Cell;

use l4s_scenario::{Budget, Plan, Template};
use proptest::prelude::*;

const BASE: &str =
    "link.rate = \"40mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";

/// A sweep over RTT and target, 1 ms to `n` ms each, less `skips` of its runs.
fn sweep(n: usize, skips: usize) -> String {
    let list = (1..=n).map(|ms| format!("\"{ms}ms\"")).collect::<Vec<_>>().join(", ");
    let skip = |i: usize| {
        let (rtt, target) = (i % n + 1, i / n + 1);
        format!("[[sweep.skip]]\ngroup.A.rtt = \"{rtt}ms\"\naqm.target = \"{target}ms\"\n")
    };
    let skips: String = (0..skips).map(skip).collect();
    format!("{BASE}[sweep]\n\"group.A.rtt\" = [{list}]\n\"aqm.target\" = [{list}]\n{skips}")
}

/// The smallest sufficient budget, to one part in 64.
fn steps(text: &str) -> u64 {
    let suffices = |steps: u64| {
        let budget = Budget { steps, ..Budget::default() };
        Plan::parse_within("t.toml", text, &[], &budget).is_ok()
    };
    let (mut low, mut high) = (0, 1);
    while !suffices(high) {
        (low, high) = (high, high * 2);
    }
    while high - low > high / 64 + 1 {
        let middle = low + (high - low) / 2;
        if suffices(middle) { high = middle } else { low = middle }
    }
    high
}

#[test]
fn the_steps_of_a_plan_follow_its_runs_and_skips() {
    let (few, many) = (steps(&sweep(16, 100)), steps(&sweep(32, 400)));
    // Four times the runs and skips.
    assert!((3 * few..5 * few).contains(&many), "{few} and {many}");
    let (few, many) = (steps(&sweep(32, 0)), steps(&sweep(32, 800)));
    // 800 of the 1024 runs are skipped; each skip is compared a few times.
    assert!(many < few + 10 * 800, "{few} and {many}");
}

#[test]
fn a_budget_that_does_not_suffice_says_so() {
    let budget = Budget { steps: 100, ..Budget::default() };
    let refused = |text: &str| Plan::parse_within("t.toml", text, &[], &budget).unwrap_err();
    assert_eq!(
        refused(&sweep(16, 0)).to_string(),
        "t.toml:1:1: `sweep`: 256 runs of 7 values each, expected at most 100 in all"
    );
    let case =
        "[[sweep.case]]\nat = [".to_owned() + &"{ time = \"1s\", aqm = \"pie\" }, ".repeat(99);
    assert_eq!(
        refused(&format!("{BASE}{case}]")).to_string(),
        "t.toml:1:1: `sweep`: more than 100 values and `[[sweep.skip]]` in all runs together"
    );
    assert!(Plan::parse_within("t.toml", BASE, &[], &budget).is_ok());
}

#[test]
fn a_plan_that_nobody_waits_for_ends() {
    let template = Template::parse("t.toml", &sweep(100, 0)).unwrap();
    let asked = Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 20
    };
    let budget = Budget { cancelled: &cancelled, ..Budget::default() };
    let faults = template.plan_within(&[], &budget).unwrap_err();
    assert_eq!(faults.to_string(), "t.toml:1:1: reading it was cancelled");
    assert_eq!(asked.get(), 21, "not one run more");
    // Also if all runs are skipped.
    let template = Template::parse("t.toml", &sweep(30, 900)).unwrap();
    asked.set(0);
    let budget = Budget { cancelled: &cancelled, ..Budget::default() };
    assert!(template.plan_within(&[], &budget).unwrap_err().to_string().contains("cancelled"));
    assert_eq!(asked.get(), 21);
}

#[test]
fn the_plan_of_a_sweep_with_thousands_of_skips_is_the_one_without_them_less_these() {
    let plan = Plan::parse("t.toml", &sweep(64, 1000), &[]).unwrap();
    assert_eq!(plan.points.len(), 64 * 64 - 1000);
    // The rest begins with the target of 16 ms: 1000 skips are 15 rows of 64, and 40.
    let first = plan.points.iter().filter(|p| p.set[0].1 == "1ms").count();
    let last = plan.points.iter().filter(|p| p.set[0].1 == "64ms").count();
    assert_eq!((first, last), (64 - 16, 64 - 15));
}

#[test]
fn texts_that_would_take_gigabytes_are_refused_by_their_length() {
    for (text, expected) in [
        ("=\n".repeat(2_000_000), "2000000 of the signs `=`, `,`, `[` and `{`"),
        (format!("a = [{}]", "1,".repeat(2_000_000)), "expected at most 1000000"),
        ("[[a]]\n".repeat(600_000), "expected at most 1000000"),
        ("\n".repeat(7_000_000), "7000000 words, blanks and signs, expected at most 6000000"),
        ("a ".repeat(4_000_000), "expected at most 6000000"),
        ("a.".repeat(4_000_000), "expected at most 6000000"),
        ("#".repeat((16 << 20) + 1), "16777217 bytes, expected at most 16777216"),
    ] {
        let faults = Plan::parse("t.toml", &text, &[]).unwrap_err();
        assert!(faults.0.len() == 1 && faults.to_string().contains(expected), "{faults}");
    }
}

#[test]
fn of_a_hundred_thousand_faults_the_first_thirty_are_kept() {
    let keys: String = (0..100_000).map(|n| format!("key{n} = 1\n")).collect();
    let faults = Plan::parse("t.toml", &format!("{BASE}{keys}"), &[]).unwrap_err();
    let lines: Vec<_> = faults.0.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, (6..36).collect::<Vec<_>>());
    let equals = "= 1\n".repeat(100_000);
    assert_eq!(Plan::parse("t.toml", &equals, &[]).unwrap_err().0.len(), 1);
    let few = "= 1\n".repeat(100);
    assert_eq!(Plan::parse("t.toml", &few, &[]).unwrap_err().0.len(), 30);
}

#[test]
fn a_line_of_a_megabyte_is_not_repeated_with_its_faults() {
    let text = format!("{BASE}xs = [{}1]", "1, ".repeat(330_000));
    let faults = Plan::parse("t.toml", &text, &[]).unwrap_err();
    assert!(faults.report().len() < 1000, "{}", faults.report().len());
    let text = format!("\"{}\" = 1", "x".repeat(1_000_000));
    assert!(Plan::parse("t.toml", &text, &[]).is_err());
}

#[test]
fn messages_are_short_however_long_keys_and_sweeps_are() {
    let base = "link.rate = \"10mbit\"\n[[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n";
    let key = format!("{base}\"{}\" = 1\n", "k".repeat(1_000_000));
    let axes: String = (0..100_000).map(|n| format!("\"x{n}\" = [1, 2]\n")).collect();
    let values = "1,".repeat(200_000);
    for text in
        [key, format!("{base}[sweep]\n{axes}"), format!("{base}[sweep]\nseed = [{values}]\n")]
    {
        let said = Plan::parse("t", &text, &[]).unwrap_err().report();
        assert!(said.len() < 10_000, "{} B", said.len());
    }
}

#[test]
fn seeds_of_many_groups_are_refused_before_they_take_gigabytes() {
    let groups: String = (0..190)
        .map(|n| format!("[[group]]\nname = \"{n}\"\ncc = \"reno\"\nrtt = \"10ms\"\n"))
        .collect();
    let plan = Plan::parse("t.toml", &format!("link.rate = \"40mbit\"\n{groups}"), &[]).unwrap();
    let refused = plan.clone().repeat(100_000).unwrap_err();
    assert!(refused.ends_with("settings of all runs, expected at most 2147483648"), "{refused}");
    assert_eq!(plan.clone().repeat(100_001).unwrap_err(), "100001 runs, expected at most 100000");
    assert_eq!(plan.repeat(100).map(|plan| plan.points.len()), Ok(100));
}

#[test]
fn a_hundred_thousand_changes_are_read() {
    let n = 100_000;
    let at = |i: usize| format!("[[at]]\ntime = \"{}us\"\nlink.rate = \"10mbit\"\n", n - i);
    let text = format!("{BASE}{}", (0..n).map(at).collect::<String>());
    let plan = Plan::parse("t.toml", &text, &[]).unwrap();
    let changes = &plan.points[0].scenario.changes;
    assert_eq!(changes.len(), n);
    assert!(changes.is_sorted_by_key(|change| change.time));
}

proptest! {
    /// Skips of any keys leave the runs of the definition: those that match no skip.
    #[test]
    fn skips_leave_what_they_say(
        sizes in prop::collection::vec(1usize..4, 1..5),
        skips in prop::collection::vec(prop::collection::vec(prop::option::of(0usize..4), 4), 0..12),
    ) {
        let keys = ["group.A.rtt", "aqm.target", "duration", "link.buffer"];
        let value = |n: usize| format!("\"{}ms\"", 50 + n);
        let mut text = format!("warmup = \"0s\"\n{BASE}[sweep]\n");
        for (key, size) in keys.iter().zip(&sizes) {
            let values: Vec<_> = (0..*size).map(value).collect();
            text += &format!("\"{key}\" = [{}]\n", values.join(", "));
        }
        let of = |skip: &[Option<usize>]| -> Vec<(usize, usize)> {
            let pairs = skip.iter().take(sizes.len()).enumerate();
            pairs.filter_map(|(axis, n)| n.map(|n| (axis, n))).collect()
        };
        let skips: Vec<_> = skips.iter().map(|s| of(s)).filter(|s| !s.is_empty()).collect();
        for skip in &skips {
            let pairs = skip.iter().map(|(axis, n)| format!("\"{}\" = {}\n", keys[*axis], value(*n)));
            text += &format!("[[sweep.skip]]\n{}", pairs.collect::<String>());
        }
        let mut left = Vec::new();
        for number in 0..sizes.iter().product() {
            let mut rest = number;
            let mut steps = vec![0; sizes.len()];
            for axis in (0..sizes.len()).rev() {
                (steps[axis], rest) = (rest % sizes[axis], rest / sizes[axis]);
            }
            if !skips.iter().any(|skip| skip.iter().all(|(axis, n)| steps[*axis] == *n)) {
                left.push(steps.iter().map(|n| value(*n).replace('"', "")).collect::<Vec<_>>());
            }
        }
        match Plan::parse("t.toml", &text, &[]) {
            Ok(plan) => {
                let set = plan.points.iter().map(|p| p.set.iter().map(|(_, v)| v.clone()).collect::<Vec<_>>());
                prop_assert_eq!(set.collect::<Vec<_>>(), left);
            }
            Err(faults) => prop_assert!(left.is_empty(), "{}", faults),
        }
    }
}
