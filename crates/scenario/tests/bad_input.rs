//! What a scenario is refused for: place, finding, accepted values and the way out, word by word.

use l4s_scenario::Plan;

/// A scenario that is right, for one thing at a time to be wrong in it.
const GOOD: &str = r#"
duration = "60s"
warmup   = "15s"

[link]
rate   = "40mbit"
buffer = "40000p"

[aqm]
kind    = "dualpi2"
profile = "dctth"
target  = "15ms"

[[group]]
name  = "A"
cc    = "dctcp"
flows = 1
rtt   = "10ms"

[[group]]
name = "B"
cc   = "cubic"
rtt  = "10ms"
"#;

/// The message for `GOOD` with `wrong` in place of `right`, and with these `--set`.
fn refused(right: &str, wrong: &str, set: &[&str]) -> String {
    assert_eq!(GOOD.matches(right).count(), 1, "{right} must stand once");
    refused_text(&GOOD.replacen(right, wrong, 1), set)
}

fn refused_text(text: &str, set: &[&str]) -> String {
    let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
    let faults = Plan::parse("s.toml", text, &set).expect_err("is refused");
    let line = |fault: &l4s_scenario::Fault| {
        let help = fault.help.iter().map(|help| format!("; {help}"));
        let note = fault.note.iter().map(|note| format!(" ({note})"));
        format!("{fault}{}{}", note.collect::<String>(), help.collect::<String>())
    };
    faults.0.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Declares tests: a name, what is right, what is wrong instead, and the message.
macro_rules! refuses {
    ($($name:ident: $right:literal => $wrong:literal, $message:literal;)+) => {
        $(#[test]
        fn $name() {
            assert_eq!(refused($right, $wrong, &[]), $message);
        })+
    };
}

refuses! {
    an_unknown_key: "rate   = " => "rat   = ",
        "s.toml:5:1: `link.rate` is missing: bits per second, 14 B of Ethernet per packet \
         included, such as \"40mbit\"\n\
         s.toml:6:1: `link.rat`: unknown key, expected `rate`, `buffer` or `burst`; \
         did you mean `rate`?";
    an_unknown_table: "[aqm]" => "[amq]",
        "s.toml:9:2: `amq`: unknown key, expected `name`, `question`, `duration`, `warmup`, \
         `seed`, `link`, `aqm`, `group`, `udp`, `kernel` or `sweep`; did you mean `aqm`?";
    an_ip_that_is_not: "[aqm]" => "[kernel]\nip = 5\n[aqm]",
        "s.toml:10:6: `kernel.ip`: found 5, expected 4 or 6";
    a_misspelt_unit: "40mbit" => "40mbits",
        "s.toml:6:10: `link.rate`: found \"40mbits\", expected a rate: a number with bit, kbit, \
         mbit or gbit, such as \"40mbit\", from 1kbit to 1000gbit; did you mean \"40mbit\"?";
    a_wrong_unit: "target  = \"15ms\"" => "target  = \"15mbit\"",
        "s.toml:12:11: `aqm.target`: found \"15mbit\", expected a time such as \"15ms\", from 0s \
         to 4s";
    a_missing_unit: "\"40mbit\"" => "40",
        "s.toml:6:10: `link.rate`: found 40, expected a rate such as \"40mbit\", from 1kbit to \
         1000gbit";
    a_negative_rate: "40mbit" => "-40mbit",
        "s.toml:6:10: `link.rate`: found \"-40mbit\", expected a rate: a number with bit, kbit, \
         mbit or gbit, such as \"40mbit\", from 1kbit to 1000gbit";
    a_zero_rate: "40mbit" => "0bit",
        "s.toml:6:10: `link.rate`: found \"0bit\", expected a rate such as \"40mbit\", from 1kbit \
         to 1000gbit";
    a_zero_rtt: "flows = 1\nrtt   = \"10ms\"" => "rtt   = \"0ms\"",
        "s.toml:17:9: `group.rtt`: found \"0ms\", expected a time such as \"10ms\", from 1us to \
         60s";
    a_warmup_of_the_whole_run: "warmup   = \"15s\"" => "warmup   = \"60s\"",
        "s.toml:3:12: `warmup`: 60s leave nothing of the duration of 60s to measure; a warmup \
         shorter than the duration; without `warmup` it is a quarter of it";
    a_run_of_more_than_a_day: "duration = \"60s\"" => "duration = \"1441min\"",
        "s.toml:2:12: `duration`: found \"1441min\", expected a time such as \"10ms\", from 1ms \
         to 86400s";
    an_unknown_aqm: "\"dualpi2\"" => "\"dualpi\"",
        "s.toml:10:11: `aqm.kind`: found \"dualpi\", expected one of `dualpi2`, `pi2`, `pie`, \
         `codel`, `fq_codel`, `red` or `fifo`; did you mean \"dualpi2\"?";
    an_unknown_profile: "\"dctth\"" => "\"dctht\"",
        "s.toml:11:11: `aqm.profile`: found \"dctht\", expected a profile of dualpi2: `dctth`, \
         `linux2019`, `linux` or `rfc9332`; did you mean \"dctth\"?";
    an_unknown_setting: "target  =" => "taget  =",
        "s.toml:12:1: `aqm.taget`: unknown setting of dualpi2, expected `max_rtt`, `typical_rtt`, \
         `target`, `tupdate`, `alpha`, `beta`, `gains`, `k`, `l_aqm`, `step_thresh`, `ramp`, \
         `min_qlen_step`, `floor_at`, `scheduler`, `t_shift`, `t_speed`, `classic_protection`, \
         `dualq`, `marking`, `classic_ecn`, `overload`, `l_drop`, `drop_at`, `randomness`, \
         `min_backlog`, `limit`, `memlimit`, `kind` or `profile`; did you mean `target`?";
    an_unknown_word: "target  = \"15ms\"" => "scheduler = \"wr\"",
        "s.toml:12:13: `aqm.scheduler`: found \"wr\", expected one of \"tsfifo\", \"wrr\", \
         \"strict\"; did you mean \"wrr\"?";
    an_unknown_congestion_control: "\"cubic\"" => "\"qubic\"",
        "s.toml:22:8: `group.cc`: found \"qubic\", expected one of `reno`, `cubic`, \
         `dctcp` or `prague`; did you mean \"cubic\"?";
    settings_that_contradict: "target  = \"15ms\"" => "l_aqm = \"ramp\"\nstep_thresh = \"1ms\"",
        "s.toml:13:1: `aqm.step_thresh` contradicts `l_aqm = ramp`; keep one of the two";
    a_setting_without_effect: "target  = \"15ms\"" => "scheduler = \"wrr\"\nt_speed = 1",
        "s.toml:13:1: `aqm.t_speed` has no effect beside the other settings; tsfifo: time runs \
         2^t_speed times as fast for L packets";
    settings_in_conflict: "target  = \"15ms\"" => "dualq = \"dc\"",
        "s.toml:9:1: `aqm.marking`: ECT(0) would wait in the L queue but be marked as Classic: \
         with `dualq = \"dc\"` use `marking = \"dc\"`";
    dctcp_without_ecn: "flows = 1" => "ecn = \"off\"",
        "s.toml:17:7: `group.ecn`: dctcp cannot do without ECN; leave `ecn` out, or choose \
         another `cc`";
    a_buffer_smaller_than_a_packet: "40000p" => "1500b",
        "s.toml:7:10: `link.buffer`: found \"1500b\", expected room for a packet of 1514b";
    a_buffer_in_time_smaller_than_a_packet: "40000p" => "300us",
        "s.toml:7:10: `link.buffer`: found \"300us\", expected room for a packet of 1514b";
    a_buffer_of_no_packet: "40000p" => "0p",
        "s.toml:7:10: `link.buffer`: found \"0p\", expected packets such as \"100p\", a size such \
         as \"150kb\", or a time such as \"50ms\", room for one packet at least";
    absurdly_many_flows: "flows = 1" => "flows = 100001",
        "s.toml:17:9: `group.flows`: found 100001, expected a whole number from 0 to 100000";
    a_negative_number_of_flows: "flows = 1" => "flows = -1",
        "s.toml:17:9: `group.flows`: found -1, expected a whole number from 0 to 100000";
    too_many_flows_together: "\"B\"" => "\"B\"\nflows = 100000",
        "s.toml:22:9: `group.flows`: more than 100000 flows in all groups";
    a_start_for_some_flows_only: "flows = 1" => "flows = 3\nstart = [\"0s\", \"1s\"]",
        "s.toml:18:9: `group.start`: found 2 times, expected one for each of 3 flows";
    a_start_after_the_end: "flows = 1" => "start = \"60s\"",
        "s.toml:17:9: `group.start`: 60s is not before the end of the run at 60s";
    two_of_one_name: "\"B\"" => "\"A\"",
        "s.toml:21:8: two groups or UDP sources are called `A`; give each its own name";
    a_name_with_a_control_character: "\"B\"" => "\"B\\u0007\"",
        "s.toml:21:8: `group.name`: found \"B\\u0007\", expected a name of 1 to 64 characters \
         without `.`, `*`, `=`, control characters or outer blanks";
    what_comes_later: "[aqm]" => "[[web]]\n[aqm]",
        "s.toml:9:3: `web` comes with a later version of l4s; this is 0.1.0";
    what_is_not_toml: "duration = \"60s\"" => "duration = 60s",
        "s.toml:2:12: not TOML: string values must be quoted, expected literal string";
    a_key_twice: "warmup   = \"15s\"" => "duration = \"15s\"",
        "s.toml:3:1: not TOML: duplicate key";
    an_empty_sweep_list: "[aqm]" => "[sweep]\n\"link.rate\" = []\n[aqm]",
        "s.toml:10:15: `sweep.link.rate`: the list is empty, expected at least one value";
    a_sweep_without_a_list: "[aqm]" => "[sweep]\n\"link.rate\" = \"4mbit\"\n[aqm]",
        "s.toml:10:15: `sweep.link.rate`: found \"4mbit\", expected a list of values; \
         write [\"4mbit\"]";
    a_sweep_over_no_key: "[aqm]" => "[sweep]\n\"lnik.rate\" = [\"4mbit\"]\n[aqm]",
        "s.toml:10:1: `lnik.rate`: no such key to set; did you mean `link.rate`?";
    a_sweep_over_no_group: "[aqm]" => "[sweep]\n\"group.C.rtt\" = [\"4ms\"]\n[aqm]",
        "s.toml:10:1: `group.C.rtt`: no group `C`, expected `A` or `B`";
    a_swept_value_that_does_not_fit: "[aqm]" => "[sweep]\nlink.rate = [\"4mbit\", \"40\"]\n[aqm]",
        "s.toml:10:23: `link.rate`: found \"40\", expected a rate: a number with bit, kbit, mbit \
         or gbit, such as \"40mbit\", from 1kbit to 1000gbit (in the run with link.rate=40)";
    two_cases_of_one_name: "[aqm]" =>
        "[[sweep.case]]\nlabel = \"x\"\n[[sweep.case]]\nlabel = \"x\"\n[aqm]",
        "s.toml:12:9: `sweep.case`: two cases are called `x`";
}

#[test]
fn an_empty_scenario() {
    assert_eq!(
        refused_text("", &[]),
        "s.toml:1:1: `link` is missing: the bottleneck; add\n  [link]\n  rate = \"40mbit\"\n\
         s.toml:1:1: nothing sends: expected at least one `[[group]]` or `[[udp]]`; add\n  \
         [[group]]\n  name = \"A\"\n  cc   = \"cubic\"\n  rtt  = \"10ms\""
    );
}

#[test]
fn one_table_where_a_list_belongs() {
    let text = "link.rate = \"4mbit\"\n[group]\nname = \"A\"\nrtt = \"1ms\"\ncc = \"reno\"";
    let message = refused_text(text, &[]);
    let expected = "s.toml:2:1: `group`: found one table, expected a list of tables; \
                    write `[[group]]`";
    assert_eq!(message, expected);
}

#[test]
fn an_empty_list_of_groups() {
    let message = refused_text("group = []\nlink.rate = \"4mbit\"", &[]);
    assert!(message.starts_with("s.toml:1:9: nothing sends: expected at least one"), "{message}");
}

#[test]
fn groups_without_any_flow() {
    let text = GOOD.replacen("flows = 1", "flows = 0", 1).replacen("\"B\"", "\"B\"\nflows = 0", 1);
    let expected = "s.toml:14:1: nothing sends: every `flows` is 0 and there is no `[[udp]]`";
    assert_eq!(refused_text(&text, &[]), expected);
}

#[test]
fn several_faults_in_the_order_of_the_text() {
    let text = GOOD.replace("\"40mbit\"", "\"fast\"").replace("\"dctth\"", "\"x\"");
    let lines: Vec<_> = refused_text(&text, &[]).lines().map(|l| l[..10].to_owned()).collect();
    assert_eq!(lines, ["s.toml:6:1", "s.toml:11:"]);
}

#[test]
fn more_runs_than_anybody_waits_for() {
    let ten = r#"["1s","2s","3s","4s","5s","6s","7s","8s","9s","10s"]"#;
    let key = |i: usize| format!("\"k{i}\" = {ten}\n");
    let text = format!("{GOOD}\n[sweep]\n{}", (0..6).map(key).collect::<String>());
    let expected = "s.toml:1:1: `sweep`: 10 × 10 × 10 × 10 × 10 × 10 runs, expected at most 100000";
    assert_eq!(refused_text(&text, &[]), expected);
}

#[test]
fn a_set_points_at_its_own_text() {
    let set = |set: &str| refused("[aqm]", "[aqm]", &[set]);
    assert_eq!(
        set("link.rate=40mbits"),
        "--set:1:11: `link.rate`: found \"40mbits\", expected a rate: a number with bit, kbit, \
         mbit or gbit, such as \"40mbit\", from 1kbit to 1000gbit; did you mean \"40mbit\"?"
    );
    assert_eq!(
        set("link.rat=40mbit"),
        "--set:1:1: `link.rat`: unknown key, expected `rate`, `buffer` or `burst`; \
         did you mean `rate`?"
    );
    assert_eq!(set("40mbit"), "--set:1:1: expected KEY=VALUE, such as link.rate=40mbit");
    assert_eq!(set("case=x"), "--set:1:1: `case`: this scenario has no cases");
    assert_eq!(
        set("duration=10s"),
        "s.toml:3:12: `warmup`: 15s leave nothing of the duration of 10s to measure; a warmup \
         shorter than the duration; without `warmup` it is a quarter of it"
    );
}
