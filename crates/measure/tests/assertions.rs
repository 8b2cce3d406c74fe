//! Assertions: accepted texts, the numbers that they compare, and the messages of those that fail.

mod support;

use l4s_aqm::{Config, Queue};
use l4s_measure::{
    Assertion, CompletionSummary, Lateness, Misread, PragueSummary, Quantities, ScoreSummary,
    Spread, Summary, Verdicts,
};
use l4s_model::{Group, Hop, Link, Per, Scenario, Side};
use l4s_units::Rate;
use proptest::prelude::*;
use serde_json::Value;
use support::*;

/// A: 500 packets of 1500 B in the measured second, 6 Mb/s, with 1 ms of delay in queue L. B: 250 packets with
/// 20 ms in queue C. There is no other traffic.
fn summary() -> Summary {
    let mut r = recorder(&scenario());
    for i in 0..500 {
        forward(&mut r, packet(0, 0), Queue::L, 1.0, at(1000 + i));
    }
    for i in 0..250 {
        forward(&mut r, packet(1, 1), Queue::C, 20.0, at(1100 + i));
    }
    r.finish(engine()).summary
}

/// The reason why an assertion about [`summary`] fails; `None` if it holds.
fn unmet(text: &str) -> Option<String> {
    let assertion =
        Assertion::read(text, &scenario()).unwrap_or_else(|why| panic!("{text}: {why:?}"));
    assertion.unmet(&Quantities::of(&summary())).map(|unmet| unmet.to_string())
}

fn misread(text: &str, scenario: &Scenario) -> Misread {
    Assertion::read(text, scenario).expect_err(text)
}

#[test]
fn assertions_that_hold() {
    for text in [
        "queues.L.delay_ms.p99 < 2",
        "queues.L.delay_ms.p99<2",
        " groups.A.rate_bps == 6e6 ",
        "groups.A.rate_bps / groups.B.rate_bps >= 2",
        "groups.A.rate_bps <= 0.5 * link.rate_bps",
        "0.4 < groups.B.rate_bps / groups.A.rate_bps < 0.6",
        "-1 < +.5e-1 * groups.A.packets",
        "groups.A.packets != groups.B.packets",
        "groups.A.packets > groups.B.packets > groups.U.packets == 0",
        "\"queues\" . 'C'. delay_ms .mean > 19",
    ] {
        assert_eq!(unmet(text), None, "{text}");
    }
}

#[test]
fn one_that_fails_says_what_was_expected_and_what_was_found() {
    for (text, why) in [
        ("groups.A.rate_bps < 2e6", "expected < 2000000, found 6000000"),
        ("2e6 > groups.A.rate_bps", "expected < 2000000, found 6000000"),
        ("groups.B.rate_bps == groups.A.rate_bps", "expected == 6000000, found 3000000"),
        (
            "groups.B.rate_bps / groups.A.rate_bps > 0.8",
            "expected > 0.8, found 0.5 (groups.B.rate_bps 3000000, groups.A.rate_bps 6000000)",
        ),
        (
            "groups.A.rate_bps <= 0.25 * link.rate_bps",
            "expected <= 3000000 (link.rate_bps 12000000), found 6000000",
        ),
        ("100 <= groups.B.packets <= 200", "expected <= 200, found 250"),
        ("300 <= groups.B.packets <= 400", "expected >= 300, found 250"),
        ("groups.A.packets != 500", "expected != 500, found 500"),
    ] {
        assert_eq!(unmet(text).as_deref(), Some(why), "{text}");
    }
}

/// Neither `<` nor `>=` nor `!=` is true for an absent number.
#[test]
fn a_path_without_a_value_fails_whatever_the_comparison() {
    let why = "no value of `groups.U.delay_ms.p99` (Queueing delay of its packets of 200 B or more, of all where it sends up; absent \
               without any)";
    for sign in ["<", ">=", "!="] {
        let text = format!("groups.U.delay_ms.p99 {sign} 2");
        assert_eq!(unmet(&text), Some(format!("expected {sign} 2, found {why}")));
    }
    let bound = unmet("queues.L.delay_ms.p99 < groups.U.delay_ms.p99").unwrap();
    assert_eq!(bound, format!("expected < groups.U.delay_ms.p99, found {why}"));
    assert_eq!(
        unmet("engine.qdisc.drops == 0").unwrap(),
        "expected == 0, found no value of `engine.qdisc.drops` (The counters of the kernel's own \
         queue discipline since the start, where there is one)"
    );
}

/// 6e6 / 0 is infinite, which is above every bound; 0 / 0 is not equal to any.
#[test]
fn a_division_by_zero_fails() {
    assert_eq!(
        unmet("groups.A.rate_bps / groups.U.rate_bps > 0.8").unwrap(),
        "expected > 0.8, found no finite value of `groups.A.rate_bps / groups.U.rate_bps` \
         (groups.A.rate_bps 6000000, groups.U.rate_bps 0)"
    );
    assert!(unmet("groups.U.packets / groups.U.packets != 1").is_some());
    assert!(unmet("groups.A.packets * 1e200 * 1e200 > 1").is_some());
}

#[test]
fn an_error_has_its_place_and_the_names_that_are_accepted_there() {
    let with_hop = {
        let aqm = Config::Fifo(Default::default());
        let link = Link::new(Rate::from_mbps(100));
        let (name, sources) = ("access net".to_owned(), vec![0, 1, 2]);
        let hop = Hop { name, side: Side::Before, per: Per::All, sources, link, aqm };
        let names = ["A", "B b", "it's"];
        let group = |name: &&str| Group::new(name, l4s_cc::Config::default(), ms(10));
        Scenario { hops: vec![hop], groups: names.iter().map(group).collect(), ..scenario() }
    };
    // The text, its wrong part, the message, and the first of the names.
    for (text, wrong, message, known) in [
        ("queue.L.mark < 1", "queue", "there is no `queue` in the summary", "seed"),
        ("queues.Q.mark < 1", "Q", "there is no `Q` in `queues`", "L, C"),
        (
            "queues.L.delay.p99 < 1",
            "delay",
            "there is no `delay` in `queues.L`",
            "packets, delay_ms",
        ),
        ("1 < groups.B.mark", "B", "there is no `B` in `groups`", "A, \"B b\", \"it's\", U"),
        ("hops.x.links < 1", "x", "there is no `x` in `hops`", "\"access net\""),
        (
            "hops.\"access net\".queues.L.mark < 1",
            "L",
            "there is no `L` in `hops.\"access net\".queues`",
            "Q",
        ),
        (
            "ratios.rate_B_A < 1",
            "rate_B_A",
            "there is no `rate_B_A` in `ratios`",
            "\"window_A_B b\"",
        ),
        (
            "completion.A.0_1.flows > 1",
            "0_1",
            "there is no `0_1` in `completion.A`",
            "0_1000, 1000_3000",
        ),
        (
            "groups.\"B b\".delay_ms < 2",
            "groups.\"B b\".delay_ms",
            "`groups.\"B b\".delay_ms` is not one number, but has several in it",
            "mean, p1",
        ),
        ("groups.A.cc == 1", "groups.A.cc", "`groups.A.cc` is a text, expected a number", ""),
        ("set.x == 1", "x", "`set` has no numbers", ""),
        ("link.rate_bps.x > 1", "x", "`link.rate_bps` is a number, without a `x`", ""),
        (
            "queues.L.mark",
            "",
            "expected a comparison (`<`, `<=`, `>`, `>=`, `==`, `!=`), `*` or `/` at the end",
            "",
        ),
        (
            "queues.L.mark = 1",
            "=",
            "found `=`, expected a comparison (`<`, `<=`, `>`, `>=`, `==`, `!=`), `*` or `/`",
            "",
        ),
        (
            "queues.L.mark < 1 2",
            "2",
            "found `2`, expected a comparison (`<`, `<=`, `>`, `>=`, `==`, `!=`), `*` or `/`",
            "",
        ),
        (
            "queues.L.delay_ms.p99 < 2ms",
            "2ms",
            "`2ms` is not a number: expected one without a unit, such as 0.5 or 4e6",
            "",
        ),
        (
            "queues.L.mark < 1e999",
            "1e999",
            "`1e999` is not a number: expected one without a unit, such as 0.5 or 4e6",
            "",
        ),
        (
            "queues.L.mark < ",
            "",
            "expected a number or a path, such as `queues.L.delay_ms.p99` at the end",
            "",
        ),
        ("queues..mark < 1", ".mark", "found `.mark`, expected a name", ""),
        ("queues. \u{fffd}", "\u{fffd}", "found `\u{fffd}`, expected a name", ""),
        ("groups.\"A.mark < 1", "\"A.mark < 1", "a name without its second quote", ""),
        (
            "1 < 2",
            "1 < 2",
            "numbers alone: expected a path of the summary, such as `link.utilization`",
            "",
        ),
        ("", "", "expected a number or a path, such as `queues.L.delay_ms.p99` at the end", ""),
    ] {
        let found = misread(text, &with_hop);
        assert_eq!((&text[found.at], found.message.as_str()), (wrong, message), "{text}");
        assert!(found.known.join(", ").starts_with(known), "{text}: {:?}", found.known);
        assert_eq!(found.known.is_empty(), known.is_empty(), "{text}: {:?}", found.known);
    }
}

/// The paths of all numbers in a JSON value.
fn numbers(value: &Value, path: &str, found: &mut Vec<(String, f64)>) {
    let behind = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.\"{name}\""),
    };
    match value {
        Value::Number(number) => found.push((path.to_owned(), number.as_f64().unwrap())),
        Value::Object(members) if members.contains_key("bin_bytes") => {
            let name = |key: &str| members[key].as_str().unwrap();
            let bin = [0, 1].map(|edge| members["bin_bytes"][edge].to_string()).join("_");
            let path = format!("{path}.\"{}\".{bin}", name("group"));
            for (key, value) in members.iter().filter(|(key, _)| *key != "bin_bytes") {
                numbers(value, &format!("{path}.{key}"), found);
            }
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| numbers(value, &behind(key), found));
        }
        Value::Array(items) if path == "completion" => {
            items.iter().for_each(|item| numbers(item, path, found));
        }
        Value::Array(items) => items.iter().for_each(|item| {
            let name = item["name"].as_str().unwrap_or("unnamed");
            numbers(item, &behind(name), found);
        }),
        _ => {}
    }
}

#[test]
fn every_number_of_a_summary_has_a_path() {
    let mut summary = summary();
    let spread = Spread { p1: 1.0, mean: 2.0, p99: 3.0 };
    let group = &mut summary.groups[0];
    group.cwnd_pkts = Some(20.0);
    group.small_delay_ms = Some(spread);
    let classic_ecn = Some(ScoreSummary { r#final: -0.5, max: 0.25 });
    let flows = Verdicts { l4s: 1, ..Verdicts::default() };
    group.prague =
        Some(PragueSummary { classic_ecn, verdict: None, flows, downloads: Some(flows) });
    let bins = [[0, 1000], [729_000, 1_000_000], [729_000_000_000_000, u64::MAX]];
    summary.completion.extend(bins.map(|bin_bytes| {
        let group = "B".to_owned();
        CompletionSummary { group, bin_bytes, flows: 3, time_ms: spread, efficiency: spread }
    }));
    summary.engine.lateness_us = Some(Lateness { p50: 1.0, p99: 2.0, max: 3.0 });
    summary.engine.qdisc.insert("drops".to_owned(), 4);
    let mut found = Vec::new();
    numbers(&serde_json::to_value(&summary).unwrap(), "", &mut found);
    // Settings are texts; only those of the tests contain numbers.
    found.retain(|(path, _)| !path.starts_with("set."));
    assert!(found.len() > 120, "{}", found.len());
    let quantities = Quantities::of(&summary);
    for (path, value) in found {
        let text = format!("{path} == {value:?}");
        let assertion =
            Assertion::read(&text, &scenario()).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert_eq!(assertion.unmet(&quantities), None, "{text}");
        let other = Assertion::read(&format!("{path} == {:?}", value + 1.0), &scenario()).unwrap();
        // For the largest numbers, the next one is the same number.
        assert_eq!(other.unmet(&quantities).is_none(), value + 1.0 == value, "{text}");
    }
}

proptest! {
    /// A range of bytes that can be underlined by a caret.
    #[test]
    fn any_text_is_read_or_refused_at_a_place_in_it(
        text in "([a-zA-Z_0-9.]|queues|groups|L|delay_ms|[ */<>=!'\"é+-]){0,12}",
    ) {
        match Assertion::read(&text, &scenario()) {
            Ok(assertion) => prop_assert_eq!(assertion.text(), text),
            Err(Misread { at, message, .. }) => {
                prop_assert!(text.get(at).is_some() && !message.is_empty());
            }
        }
    }
}
