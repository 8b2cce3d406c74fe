use std::path::Path;

use l4s_measure::{ResultError, Results, RunRecord, Scope as Row, SeriesRow, write_results};
use l4s_scenario::Plan;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const SCENARIO: &str = r#"
    link.rate = "40mbit"
    at = [{ time = "4s", group.A.rtt = "20ms" }]
    group = [{ name = "A", cc = "prague", rtt = "10ms" }, { name = "B", cc = "cubic", rtt = "10ms" }]
    [sweep]
    "group.*.rtt" = ["5ms", "10ms", "100ms"]
    case = [{ label = "dualpi2 x" }, { label = "pie x" }]
"#;

/// The settings of a run, and its mean delay in milliseconds. The score of its detector is that
/// delay from 1 s on, and twice that from 5 s on.
fn run((set, delay_ms): (serde_json::Map<String, Value>, f64)) -> RunRecord {
    let delay = json!({ "mean": delay_ms, "p1": 0, "p25": 0, "p50": 0, "p75": 0, "p99": 9, "p999": 9, "max": 9 });
    let spread = |mean: f64| json!({ "p1": 0, "mean": mean, "p99": 2.0 * mean });
    let bin = |from: u64, to: u64, flows: u64, mean: f64| json!({ "group": "A", "bin_bytes": [from, to], "flows": flows, "time_ms": spread(mean), "efficiency": spread(mean) });
    let none = json!({ "step": 0, "coupled": 0, "classic": 0, "overload": 0, "aqm": 0, "limit": 0, "memory": 0 });
    let summary = json!({
        "scenario": "test", "on": "sim", "seed": 1, "version": "0", "set": set,
        "link": { "rate_bps": 40e6, "utilization": 0.5 },
        "queues": [{ "name": "L", "packets": 8, "delay_ms": delay, "marks": none, "drops": none }],
        "groups": [],
        "completion": [bin(1000, 3000, 200, 1.0), bin(3000, 9000, 50, 4.0), bin(243_000, 729_000, 7, 16.0)],
        "engine": { "virtual_s": 10.0, "packets": 8 },
    });
    let score = |time_s: f64, classic_ecn: f64| SeriesRow {
        scope: Row::Flow,
        name: "A.0".into(),
        time_s,
        classic_ecn: Some(classic_ecn),
        ..SeriesRow::default()
    };
    RunRecord {
        summary: serde_json::from_value(summary).unwrap(),
        command: String::new(),
        series: vec![score(0.5, 0.0), score(1.0, delay_ms), score(5.0, 2.0 * delay_ms)],
        delays: Vec::new(),
        flows: Vec::new(),
    }
}

/// The values of a sample over six runs, with these delays.
fn values_of(delays: [f64; 6], sample: &str) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::parse("test.toml", SCENARIO, &[]).unwrap();
    let set = plan.points.iter().map(|point| {
        point.set.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
    });
    let records = set.zip(delays).map(run).map(Ok::<_, ResultError>);
    write_results(folder.path(), records).unwrap();
    let results = Results::open(folder.path()).unwrap();
    let sample: Sample = toml::from_str(sample).unwrap();
    sample.values(&Evidence::new(&plan, &results, Path::new(folder.path())))
}

/// First with DualPI2, then with PIE, by RTT.
const DELAYS: [f64; 6] = [1.0, 2.0, 8.0, 4.0, 16.0, 16.0];

fn values(sample: &str) -> Vec<f64> {
    values_of(DELAYS, sample)
}

const L: &str = "value = \"queue_L_delay_mean_ms\"\n";

#[test]
fn runs_are_selected_by_their_settings() {
    assert_eq!(values(L), DELAYS);
    let of = |runs: &str| values(&format!("{L}runs = {{ {runs} }}"));
    assert_eq!(of("case = 'pie*'"), [4.0, 16.0, 16.0]);
    assert_eq!(of("case = 'pie'"), [0.0; 0]);
    assert_eq!(of("case = 'pie*', 'group.*.rtt' = '5ms|100ms'"), [4.0, 16.0]);
    assert_eq!(of("queue = 'L'"), [0.0; 0]);
}

#[test]
fn runs_are_selected_by_conditions() {
    let when = |when: &str| values(&format!("{L}when = [{when}]"));
    assert_eq!(when("'set_group.*.rtt < 10'"), [1.0, 4.0], "times are in milliseconds");
    assert_eq!(when("'link_rate_bps / 1e6 * set_group.*.rtt == 4000'"), [8.0, 16.0]);
    assert_eq!(when("'queue_L_delay_mean_ms > 2', 'queue_L_delay_mean_ms <= 8'"), [8.0, 4.0]);
    assert_eq!(when("'queue_Q_mark >= 0'"), [0.0; 0], "there is no such queue");
    assert_eq!(when("'set_case == set_case'"), DELAYS);
    assert_eq!(when("'set_case == set_group.*.rtt'"), [0.0; 0]);
    assert_eq!(when("'set_none == set_neither'"), [0.0; 0]);
}

#[test]
fn a_run_is_compared_with_another_of_the_same_conditions() {
    let pairs = |rest: &str| {
        values(&format!("value = 'queue_L_delay_mean_ms / other(queue_L_delay_mean_ms)'\n{rest}"))
    };
    let dualpi2 = "runs = { case = 'dualpi2*' }\n";
    assert_eq!(pairs(&format!("{dualpi2}other = {{ case = 'pie*' }}")), [0.25, 0.125, 0.5]);
    let far = "runs = { case = 'dualpi2*', 'group.*.rtt' = '100ms' }\n";
    assert_eq!(pairs(&format!("{far}other = {{ 'group.*.rtt' = '5ms' }}")), [8.0]);
    assert_eq!(pairs(&format!("{far}other = {{ 'group.*.rtt' = '6ms' }}")), [0.0; 0]);
    assert_eq!(pairs(dualpi2), [0.0; 0], "without `other` there is no other run");
}

#[test]
fn one_value_is_taken_or_another_one_at_its_place() {
    let take = |rest: &str| values(&format!("{L}{rest}"));
    assert_eq!(take("take = 'min'"), [1.0]);
    assert_eq!(take("take = 'max'"), [16.0]);
    assert_eq!(take("take = 'median'"), [8.0]);
    assert_eq!(take("take = 'min'\nat = 'set_group.*.rtt'"), [5.0]);
    assert_eq!(take("take = 'min'\nruns = { case = 'none' }"), [0.0; 0]);
    let over = "take = 'max'\n[over]\nvalue = 'queue_L_delay_mean_ms'\ntake = 'min'";
    assert_eq!(take(over), [16.0]);
}

#[test]
fn sizes_are_selected_by_bytes_and_by_flows() {
    let of = |value: &str| {
        values(&format!("value = '{value}'\nruns = {{ case = 'pie*', 'group.*.rtt' = '5ms' }}"))
    };
    assert_eq!(of("completion(A, efficiency_mean, 0, 9e3, 1)"), [1.0, 4.0]);
    assert_eq!(of("completion(A, efficiency_mean, 243e3, inf, 1)"), [16.0]);
    assert_eq!(of("completion(A, time_p99_ms, 0, inf, 100)"), [2.0]);
    assert_eq!(of("completion(B, time_p99_ms, 0, inf, 1)"), [0.0; 0]);
    assert_eq!(of("average(completion(A, efficiency_mean, 0, inf, 1))"), [7.0]);
    assert_eq!(of("average(completion(B, efficiency_mean, 0, inf, 1))"), [0.0; 0]);
}

#[test]
fn a_run_has_a_course_over_time() {
    // The score is 0 at 0.5 s, 4 at 1 s, 8 at 5 s; the scenario changes at 4 s.
    let of = |value: &str| {
        values(&format!("value = '{value}'\nruns = {{ case = 'pie*', 'group.*.rtt' = '5ms' }}"))
    };
    assert_eq!(of("first(classic_ecn, 0, inf)"), [0.0]);
    assert_eq!(of("last(classic_ecn, 0, change)"), [4.0]);
    assert_eq!(of("last(classic_ecn, 0, 5)"), [8.0], "the end counts");
    assert_eq!(of("most(classic_ecn, change, inf)"), [8.0]);
    assert_eq!(of("least(classic_ecn, 0.5, inf)"), [4.0], "the start does not");
    assert_eq!(of("rise(classic_ecn, 1, 0.5)"), [0.5]);
    assert_eq!(of("rise(classic_ecn, 4.5, change)"), [1.0]);
    assert_eq!(of("rise(classic_ecn, 9, 0)"), [0.0; 0]);
    assert_eq!(of("fall(classic_ecn, 0, 0)"), [0.5]);
    assert_eq!(of("most(fbk_mdev_ms, 0, inf)"), [0.0; 0], "there is none");
    assert_eq!(of("rate_ratio(0, inf)"), [0.0; 0], "B has no rate");
}

#[test]
fn a_share_of_nothing_is_nothing() {
    let of = |value: &str| values(&format!("value = '{value}'\ntake = 'max'"));
    assert_eq!(of("share(1, 4)"), [25.0]);
    assert_eq!(of("share(0, 0)"), [0.0; 0]);
    assert_eq!(of("abs(1 - 4)"), [3.0]);
}

#[test]
fn a_key_that_does_not_exist_is_refused() {
    let error = toml::from_str::<Sample>("value = '1'\nwhere = '2'").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("unknown field `where`"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Products before sums, and both from left to right.
    #[test]
    fn arithmetic_is_as_usual(n in prop::array::uniform5(1u32..1000)) {
        let [a, b, c, d, e] = n.map(f64::from);
        let text = format!("{a} - {b} * {c} / {d} + ({e} - {a}) * {b}");
        prop_assert_eq!(
            values(&format!("value = '{text}'\ntake = 'min'")),
            [a - b * c / d + (e - a) * b]
        );
    }

    #[test]
    fn what_is_taken_is_an_order_statistic(delays in prop::array::uniform6(0.0..100.0f64)) {
        let mut sorted = delays;
        sorted.sort_by(f64::total_cmp);
        for (take, expected) in [("min", sorted[0]), ("median", sorted[3]), ("max", sorted[5])] {
            prop_assert_eq!(values_of(delays, &format!("{L}take = '{take}'")), [expected]);
        }
    }
}
