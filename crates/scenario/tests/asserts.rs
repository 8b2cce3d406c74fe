//! Assertions of a scenario and of the command line: their sources, and the reasons for which they are
//! refused.

use l4s_scenario::{Faults, Plan, Template, show};

const BASE: &str = r#"
link.rate = "40mbit"
[[group]]
name = "Prague"
cc   = "prague"
rtt  = "10ms"
[[group]]
name = "B b"
cc   = "cubic"
rtt  = "10ms"
"#;

fn parse(more: &str, set: &[&str]) -> Result<Plan, Faults> {
    let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
    Plan::parse("s.toml", &format!("{BASE}{more}"), &set)
}

/// The faults, each with its line and a caret below it.
fn refused(done: Result<Plan, Faults>) -> String {
    done.expect_err("is refused").report()
}

/// The assertions of each run.
fn asserts(plan: &Plan) -> Vec<Vec<&str>> {
    plan.points.iter().map(|p| p.asserts.iter().map(|a| a.that.text()).collect()).collect()
}

#[test]
fn every_run_of_a_sweep_has_those_of_the_file() {
    let text = "[[assert]]\nthat = \"queues.L.mark < 1\"\nwhy = \"it is a ratio\"\n\
                [[assert]]\nthat = 'groups.\"B b\".drop == 0'\n\
                [sweep]\nlink.rate = [\"4mbit\", \"40mbit\"]\n";
    let plan = parse(text, &[]).unwrap();
    let both = vec!["queues.L.mark < 1", "groups.\"B b\".drop == 0"];
    assert_eq!(asserts(&plan), [both.clone(), both]);
    let why: Vec<_> = plan.points[0].asserts.iter().map(|assert| assert.why.as_deref()).collect();
    assert_eq!(why, [Some("it is a ratio"), None]);
}

#[test]
fn a_case_and_a_set_have_their_own() {
    let text = "[[assert]]\nthat = \"link.utilization > 0.9\"\n\
                [[sweep.case]]\nlabel = \"pie\"\naqm = \"pie\"\n\
                assert = [{ that = \"queues.Q.delay_ms.mean < 20\" }]\n\
                [[sweep.case]]\nlabel = \"dualpi2\"\naqm = \"dualpi2\"\n";
    let own = ["queues.Q.delay_ms.mean < 20"];
    assert_eq!(asserts(&parse(text, &[]).unwrap()), [own, ["link.utilization > 0.9"]]);
    let other = "[[assert]]\nthat = \"link.utilization > 0.9\"\n";
    assert_eq!(asserts(&parse(other, &["assert=[]"]).unwrap()), [[""; 0]]);
    let set = "assert=[{ that = \"seed == 1\" }]";
    assert_eq!(asserts(&parse(other, &[set]).unwrap()), [["seed == 1"]]);
}

#[test]
fn those_of_the_command_line_are_added() {
    let text = "[[assert]]\nthat = \"seed > 0\"\n[sweep]\nlink.rate = [\"4mbit\", \"40mbit\"]\n";
    let plan = parse(text, &[]).unwrap().assert(&["queues.C.mark < 1".to_owned()]).unwrap();
    assert_eq!(asserts(&plan), [["seed > 0", "queues.C.mark < 1"]; 2]);
}

#[test]
fn they_are_shown_and_read_back() {
    let text = "[[assert]]\nthat = 'groups.\"B b\".drop == 0'\nwhy = \"a \\\"b\\\"\"\n";
    let plan = parse(text, &[]).unwrap();
    let shown = show(&plan.points[0], None);
    let again = Plan::parse("again.toml", &shown, &[]).unwrap();
    assert_eq!(again.points[0].asserts, plan.points[0].asserts);
    assert_eq!(plan.points[0].asserts.len(), 1);
}

#[test]
fn a_name_that_is_not_there_is_underlined_with_the_nearest_one() {
    assert_eq!(
        refused(parse("[[assert]]\nthat = \"groups.Prage.rate_bps > 1e6\"\n", &[])),
        r#"error: s.toml:12:16: `assert.that`: there is no `Prage` in `groups`, expected `Prague` or `"B b"`
   |
12 | that = "groups.Prage.rate_bps > 1e6"
   |                ^^^^^
   = help: did you mean `Prague`?
"#
    );
    let plan = parse("", &[]).unwrap();
    assert_eq!(
        refused(plan.assert(&["seed > 0".to_owned(), "1 < queues.L.delay_ms.p9".to_owned()])),
        r#"error: --assert:1:23: there is no `p9` in `queues.L.delay_ms`, expected `mean`, `p1`, `p25`, `p50`, `p75`, `p99`, `p999` or `max`
  |
1 | 1 < queues.L.delay_ms.p9
  |                       ^^
  = help: did you mean `p99`?
"#
    );
}

#[test]
fn a_queue_that_one_run_of_a_sweep_does_not_have_names_the_run() {
    let sweep = "[sweep]\naqm = [\"dualpi2\", \"pie\"]\n";
    let found = refused(parse(&format!("[[assert]]\nthat = 'queues.L.mark < 1'\n{sweep}"), &[]));
    assert_eq!(
        found,
        "error: s.toml:12:16: `assert.that`: there is no `L` in `queues`, expected `Q`\n   \
         |\n12 | that = 'queues.L.mark < 1'\n   |                ^\n   \
         = in the run with aqm=pie\n"
    );
    let plan = parse(sweep, &[]).unwrap();
    let found = refused(plan.assert(&["queues.Q.mark < 1".to_owned()]));
    assert!(found.starts_with("error: --assert:1:8: there is no `Q` in `queues`"), "{found}");
    assert!(found.ends_with("= in the run with aqm=dualpi2\n"), "{found}");
}

#[test]
fn other_bad_input() {
    for (text, place, message) in [
        ("[[assert]]\n", "11:1", "`assert.that` is missing: a condition on the summary"),
        (
            "[[assert]]\ntat = 'seed > 0'\n",
            "12:1",
            "`assert.tat`: unknown key, expected `that` or `why`",
        ),
        ("[[assert]]\nthat = 1\n", "12:8", "`assert.that`: found 1, expected a text of 1 to 300"),
        (
            "[assert]\nthat = 'seed > 0'\n",
            "11:1",
            "`assert`: found one table, expected a list of tables",
        ),
        ("[[assert]]\nthat = ''\n", "12:8", "`assert.that`: found \"\", expected a text of 1 to"),
        (
            "[[assert]]\nthat = 'seed 0'\n",
            "12:14",
            "`assert.that`: found `0`, expected a comparison",
        ),
        ("[[assert]]\nthat = 'seed >'\n", "12:15", "`assert.that`: expected a number or a path"),
        // With escapes or three quotes the whole text is underlined.
        ("[[assert]]\nthat = \"se\\u0065d 0\"\n", "12:8", "`assert.that`: found `0`"),
        ("[[assert]]\nthat = '''seed 0'''\n", "12:8", "`assert.that`: found `0`"),
    ] {
        let found = parse(text, &[]).expect_err(text).to_string();
        let expected = format!("s.toml:{place}: {message}");
        assert!(found.starts_with(&expected), "{found}\nis not\n{expected}");
    }
    let long = format!("seed > {}", "0".repeat(300));
    let found = parse(&format!("[[assert]]\nthat = '{long}'\n"), &[]).unwrap_err();
    assert!(found.0[0].message.contains("expected a text of 1 to 300 characters"), "{found}");
}

#[test]
fn a_template_can_do_without() {
    let text = format!(
        "{BASE}[[assert]]\nthat = \"queues.L.mark < 1\"\n[[sweep.case]]\n\
         assert = [{{ that = \"queues.L.drop == 0\" }}]\n"
    );
    let pie = ["aqm=pie".to_owned()];
    let template = Template::parse("s.toml", &text).unwrap();
    assert!(template.first(&pie).is_err());
    let plan = template.without_asserts().first(&pie).unwrap();
    assert_eq!(asserts(&plan), [[""; 0]]);
}
