//! Refusals of a scenario, word by word: place, found value, accepted values and the remedy.

use l4s_scenario::Plan;

/// A valid scenario, in which each test makes one thing wrong.
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

/// The message for `GOOD` with `wrong` in the place of `right`, and with these `--set`.
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

/// A message with the kinds of queue disciplines in the place of `{kinds}`.
fn with_kinds(message: &str) -> String {
    let all = l4s_scenario::disciplines();
    let kinds: Vec<_> = all.iter().map(|described| format!("`{}`", described.kind)).collect();
    let (last, most) = kinds.split_last().expect("there are several");
    message.replace("{kinds}", &format!("{} or {last}", most.join(", ")))
}

/// Declares tests: a name, the right text, the wrong text in its place, and the message.
macro_rules! refuses {
    ($($name:ident: $right:literal => $wrong:literal, $message:literal;)+) => {
        $(#[test]
        fn $name() {
            assert_eq!(refused($right, $wrong, &[]), with_kinds($message));
        })+
    };
}

refuses! {
    an_unknown_key: "rate   = " => "rat   = ",
        "s.toml:6:1: `link.rat`: unknown key, expected `rate`, `trace`, `trace_offset`, \
         `trace_scale`, `buffer`, `burst`, `ack_loss`, `aggregation`, `wifi` or `cell`; \
         did you mean `rate`?";
    a_key_of_another_table: "\"40mbit\"" => "\"40mbit\"\nrtt = \"10ms\"",
        "s.toml:7:1: `link.rtt`: unknown key, expected `rate`, `trace`, `trace_offset`, \
         `trace_scale`, `buffer`, `burst`, `ack_loss`, `aggregation`, `wifi` or `cell`; \
         `rtt` is a key of `[[group]]`";
    a_key_of_the_top: "\"40mbit\"" => "\"40mbit\"\nduration = \"10s\"",
        "s.toml:7:1: `link.duration`: unknown key, expected `rate`, `trace`, `trace_offset`, \
         `trace_scale`, `buffer`, `burst`, `ack_loss`, `aggregation`, `wifi` or `cell`; \
         `duration` is a key of the top of a scenario";
    an_airtime_of_seconds: "\"40mbit\"" => "\"40mbit\"\naggregation = \"1s\"",
        "s.toml:7:15: `link.aggregation`: found \"1s\", expected a time such as \"10ms\", from 0s \
         to 100ms";
    an_airtime_in_bytes: "\"40mbit\"" => "\"40mbit\"\naggregation = \"64kb\"",
        "s.toml:7:15: `link.aggregation`: found \"64kb\", expected a time: a number with ns, us, ms, \
         s or min, such as \"10ms\", from 0s to 100ms";
    a_misspelt_airtime: "\"40mbit\"" => "\"40mbit\"\nagregation = \"2ms\"",
        "s.toml:7:1: `link.agregation`: unknown key, expected `rate`, `trace`, `trace_offset`, \
         `trace_scale`, `buffer`, `burst`, `ack_loss`, `aggregation`, `wifi` or `cell`; did you mean `aggregation`?";
    an_unknown_table: "[aqm]" => "[amq]",
        "s.toml:9:2: `amq`: unknown key, expected `name`, `question`, `duration`, `warmup`, \
         `seed`, `host_jitter`, `link`, `aqm`, `uplink`, `group`, `web`, `app`, `program`, `udp`, `hop`, \
         `path`, `at`, `assert`, `kernel` or `sweep`; did you mean `aqm`?";
    an_ip_that_is_not: "[aqm]" => "[kernel]\nip = 5\n[aqm]",
        "s.toml:10:6: `kernel.ip`: found 5, expected 4 or 6";
    a_discipline_of_nobody: "[aqm]" => "[kernel]\nqdisc = \"bfp\"\n[aqm]",
        "s.toml:10:9: `kernel.qdisc`: found \"bfp\", expected one of \"linux\", \"bpf\"; did you mean \"bpf\"?";
    a_misspelt_unit: "40mbit" => "40mbits",
        "s.toml:6:10: `link.rate`: found \"40mbits\", expected a rate: a number with bit, kbit, \
         mbit or gbit, such as \"40mbit\", from 1kbit to 1000gbit; did you mean \"40mbit\"?";
    a_wrong_unit: "target  = \"15ms\"" => "target  = \"15mbit\"",
        "s.toml:12:11: `aqm.target`: found \"15mbit\", expected a time such as \"15ms\", from 0s \
         to 4s";
    a_missing_unit: "\"40mbit\"" => "40",
        "s.toml:6:10: `link.rate`: found 40, expected a rate such as \"40mbit\", from 1kbit to \
         1000gbit; a number needs its unit";
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
        "s.toml:10:11: `aqm.kind`: found \"dualpi\", expected one of {kinds}; did you mean \
         \"dualpi2\"?";
    an_aqm_with_an_underscore: "\"dualpi2\"" => "\"curvy_red\"",
        "s.toml:10:11: `aqm.kind`: found \"curvy_red\", expected one of {kinds}; did you mean \
         \"curvy-red\"?";
    a_slope_beyond_the_arithmetic:
        "\"dualpi2\"\nprofile = \"dctth\"\ntarget  = \"15ms\"" => "\"curvy-red\"\ns_l = 21",
        "s.toml:11:7: `aqm.s_l`: found 21, expected a whole number from 0 to 20";
    slopes_that_favour_l4s:
        "\"dualpi2\"\nprofile = \"dctth\"\ntarget  = \"15ms\"" => "\"curvy-red\"\ns_c = 3",
        "s.toml:9:1: `aqm.s_l`: 2 is less than `s_c`, which is 3: expected 3 to 20, or the \
         coupling factor 2^(s_l - s_c) would be below 1";
    an_l_queue_without_any_signal: "target  = \"15ms\"" => "k = 0\nl_aqm = \"none\"",
        "s.toml:12:1: `aqm.k`: with `l_aqm = \"none\"` the L queue would get no signal at all: \
         expected 1 to 255, or `l_aqm = \"step\"` or \"ramp\"";
    one_queue_without_a_signal_for_l4s: "target  = \"15ms\"" => "k = 0\ndualq = \"none\"",
        "s.toml:12:1: `aqm.k`: with `marking = \"l4s\"` packets outside the L queue would get no \
         signal at all: expected 1 to 255, or `marking = \"classic\"`";
    a_modems_rate_without_a_modem:
        "\"dualpi2\"\nprofile = \"dctth\"\ntarget  = \"15ms\"" => "\"pie\"\nmsr = 40",
        "s.toml:11:1: `aqm.msr`: it has an effect only with `variant = \"docsis\"`";
    an_unknown_profile: "\"dctth\"" => "\"dctht\"",
        "s.toml:11:11: `aqm.profile`: found \"dctht\", expected a profile of dualpi2: `dctth`, \
         `linux2019`, `linux`, `rfc9332` or `best`; did you mean \"dctth\"?";
    an_unknown_setting: "target  =" => "taget  =",
        "s.toml:12:1: `aqm.taget`: unknown setting of dualpi2, expected `max_rtt`, `typical_rtt`, \
         `target`, `tupdate`, `alpha`, `beta`, `gains`, `k`, `l_aqm`, `step_thresh`, `ramp`, \
         `l_wait`, `min_qlen_step`, `floor_at`, `scheduler`, `t_shift`, `t_speed`, `classic_protection`, \
         `dualq`, `marking`, `classic_ecn`, `overload`, `l_drop`, `drop_at`, `randomness`, \
         `min_backlog`, `limit`, `memlimit`, `kind` or `profile`; did you mean `target`?";
    an_unknown_word: "target  = \"15ms\"" => "scheduler = \"wr\"",
        "s.toml:12:13: `aqm.scheduler`: found \"wr\", expected one of \"tsfifo\", \"wrr\", \
         \"strict\"; did you mean \"wrr\"?";
    an_unknown_congestion_control: "\"cubic\"" => "\"qubic\"",
        "s.toml:22:8: `group.cc`: found \"qubic\", expected one of `reno`, `cubic`, \
         `dctcp`, `prague`, `bbr` or `bbr3`; did you mean \"cubic\"?";
    settings_that_contradict: "target  = \"15ms\"" => "l_aqm = \"ramp\"\nstep_thresh = \"1ms\"",
        "s.toml:13:1: `aqm.step_thresh` contradicts `l_aqm = ramp`; keep one of the two";
    a_setting_without_effect: "target  = \"15ms\"" => "scheduler = \"wrr\"\nt_speed = 1",
        "s.toml:13:1: `aqm.t_speed` has no effect beside the other settings; tsfifo: time runs \
         2^t_speed times as fast for L packets";
    a_marker_without_its_queue: "target  = \"15ms\"" => "step_thresh = \"2ms\"\ndualq = \"none\"",
        "s.toml:13:1: `aqm.dualq` contradicts `step_thresh = 2ms`; keep one of the two";
    settings_in_conflict: "target  = \"15ms\"" => "dualq = \"dc\"",
        "s.toml:9:1: `aqm.marking`: ECT(0) would wait in the L queue but be marked as Classic: \
         with `dualq = \"dc\"` use `marking = \"dc\"`";
    a_marker_that_would_mark_nothing: "target  = \"15ms\"" => "marking = \"classic\"",
        "s.toml:12:1: `aqm.marking`: the L queue's own marker marks scalably: with \
         `marking = \"classic\"` use `l_aqm = \"none\"` or `dualq = \"none\"`";
    a_number_of_the_detector: "\"cubic\"" => "{ kind = \"prague\", profile = \"paper\", v0 = \"1ms\" }",
        "s.toml:22:46: `group.cc.v0` is no longer a setting of prague; `detector` chooses the rules \
         with their numbers: see `l4s cc prague`";
    an_earlier_exit_of_slow_start: "\"cubic\"" => "{ kind = \"prague\", slow_start_exit = \"third\" }",
        "s.toml:22:27: `group.cc.slow_start_exit` is no longer a setting of prague; `slow_start`: \
         \"halve\", \"gentle\", or \"quick\" for \"third\"";
    rules_of_no_detector: "\"cubic\"" => "{ kind = \"prague\", detector = \"best\" }",
        "s.toml:22:27: `group.cc.detector` has no effect beside the other settings; the rules that \
         detect a Classic queue: the paper's (also with its filter of re-routes), those of Prague 0.6 for Linux, \
         or the best by measurement";
    a_window_of_nothing: "\"cubic\"" => "{ kind = \"prague\", profile = \"best\", min_window = 0 }",
        "s.toml:22:58: `group.cc.min_window`: found 0, expected a number from 0.0625 to 2";
    dctcp_without_ecn: "flows = 1" => "ecn = \"off\"",
        "s.toml:17:7: `group.ecn`: dctcp cannot do without ECN; leave `ecn` out, or choose \
         another `cc`";
    three_bits_of_accecn_without_accecn: "flows = 1" => "accecn = \"ace\"",
        "s.toml:17:10: `group.accecn`: dctcp over this ECN has no AccECN; leave `accecn` out; \
         prague over ECT(1) has it, and all with `peer = \"accecn\"`";
    a_kind_of_accecn_that_is_none: "flows = 1" => "accecn = \"both\"",
        "s.toml:17:10: `group.accecn`: found \"both\", expected one of \"option\", \"ace\"";
    a_segment_shorter_than_any: "flows = 1" => "mss = 535",
        "s.toml:17:7: `group.mss`: found 535, expected a whole number from 536 to 8948";
    a_segment_with_a_unit: "flows = 1" => "mss = \"1448b\"",
        "s.toml:17:7: `group.mss`: found \"1448b\", expected a whole number from 536 to 8948";
    a_receive_buffer_of_nothing: "flows = 1" => "rcvbuf = \"4095b\"",
        "s.toml:17:10: `group.rcvbuf`: found \"4095b\", expected \"auto\" or a size such as \"1514b\", \
         from 4.096kb to 1073741.823kb";
    a_send_buffer_of_nothing: "flows = 1" => "sndbuf = \"4095b\"",
        "s.toml:17:10: `group.sndbuf`: found \"4095b\", expected \"auto\" or a size such as \"1514b\", \
         from 4.096kb to 1073741.823kb";
    a_receive_buffer_of_three_segments: "flows = 1" => "mss = 8948\nrcvbuf = \"35791b\"",
        "s.toml:18:10: `group.rcvbuf`: found 35791b, expected 35792b or more: four segments of 8948 B \
         (`mss`)";
    a_receive_buffer_without_a_unit: "flows = 1" => "rcvbuf = 65536",
        "s.toml:17:10: `group.rcvbuf`: found 65536, expected \"auto\" or a size such as \"1514b\", from \
         4.096kb to 1073741.823kb; a number needs its unit";
    three_bits_of_accecn_for_a_peer_without: "flows = 1" => "peer = \"none\"\naccecn = \"ace\"",
        "s.toml:18:10: `group.accecn`: dctcp over this ECN has no AccECN; leave `accecn` out; \
         prague over ECT(1) has it, and all with `peer = \"accecn\"`";
    an_endpoint_of_another_name: "flows = 1" => "endpoint = \"quick\"",
        "s.toml:17:12: `group.endpoint`: found \"quick\", expected one of \"linux-tcp\", \"quic\"; did you mean \"quic\"?";
    a_receive_window_of_quic: "flows = 1" => "endpoint = \"quic\"\nrcvbuf = \"64kb\"",
        "s.toml:18:10: `group.rcvbuf`: no receive window of TCP with `endpoint = \"quic\"`; leave it out: \
         flow control of QUIC limits no sender here; or set `endpoint = \"linux-tcp\"`";
    a_send_buffer_of_quic: "flows = 1" => "endpoint = \"quic\"\nsndbuf = \"64kb\"",
        "s.toml:18:10: `group.sndbuf`: no send buffer of TCP with `endpoint = \"quic\"`; leave it out: \
         flow control of QUIC limits no sender here; or set `endpoint = \"linux-tcp\"`";
    three_bits_of_accecn_in_quic: "flows = 1" => "endpoint = \"quic\"\naccecn = \"ace\"",
        "s.toml:18:10: `group.accecn`: no AccECN with `endpoint = \"quic\"`; leave `accecn` out: ACK frames \
         count marks exactly (RFC 9000 section 13.4.1)";
    a_peer_of_tcp_for_quic: "flows = 1" => "endpoint = \"quic\"\npeer = \"rfc3168\"",
        "s.toml:18:8: `group.peer`: no \"rfc3168\" with `endpoint = \"quic\"`; \"auto\" has clients that \
         count marks in ACK frames, and \"none\" clients that report no ECN";
    nagle_in_quic: "name = \"B\"\ncc   = \"cubic\"\nrtt  = \"10ms\"" =>
        "name = \"B\"\ncc = \"cubic\"\nrtt = \"10ms\"\nendpoint = \"quic\"\n[[app]]\ngroup = \"B\"\nrate = \"1mbit\"\nhold = \"nagle\"",
        "s.toml:28:8: `app.hold`: a QUIC stack holds nothing back; leave `hold` out, or set \
         `endpoint = \"linux-tcp\"` in its group";
    tracers_in_quic: "cc    = \"dctcp\"\nflows = 1" =>
        "cc = { kind = \"prague\", fallback = \"active\" }\nendpoint = \"quic\"",
        "s.toml:16:6: `group.cc`: no tracers (`fallback = \"active\"`) with `endpoint = \"quic\"`; \
         `fallback = \"passive\"`, or `endpoint = \"linux-tcp\"`: tracers are read from D-SACK";
    a_peer_that_is_none: "flows = 1" => "peer = \"nonce\"",
        "s.toml:17:8: `group.peer`: found \"nonce\", expected one of \"auto\", \"accecn\", \
         \"rfc3168\", \"none\"; did you mean \"none\"?";
    acknowledgements_that_are_all_lost: "40mbit\"" => "40mbit\"\nack_loss = 1.0",
        "s.toml:7:12: `link.ack_loss`: found 1.0, expected a chance such as 0.01, from 0 to 0.9";
    acknowledgements_lost_in_percent: "40mbit\"" => "40mbit\"\nack_loss = \"1%\"",
        "s.toml:7:12: `link.ack_loss`: found \"1%\", expected a chance such as 0.01, from 0 to 0.9";
    a_buffer_smaller_than_a_packet: "40000p" => "1500b",
        "s.toml:7:10: `link.buffer`: found \"1500b\", expected room for a packet of 1514b";
    a_buffer_in_time_smaller_than_a_packet: "40000p" => "300us",
        "s.toml:7:10: `link.buffer`: found \"300us\", expected room for a packet of 1514b: \
         at 40mbit it has 1500b";
    a_limit_smaller_than_a_packet:
        "\"dualpi2\"\nprofile = \"dctth\"\ntarget  = \"15ms\"" => "\"red\"\nlimit = \"1513b\"",
        "s.toml:11:9: `aqm.limit`: found \"1513b\", expected room for a packet of 1514b";
    a_buffer_of_no_packet: "40000p" => "0p",
        "s.toml:7:10: `link.buffer`: found \"0p\", expected packets such as \"100p\", a size such \
         as \"150kb\", or a time such as \"50ms\", room for one packet at least";
    absurdly_many_flows: "flows = 1" => "flows = 1000001",
        "s.toml:17:9: `group.flows`: found 1000001, expected a whole number from 0 to 1000000";
    a_negative_number_of_flows: "flows = 1" => "flows = -1",
        "s.toml:17:9: `group.flows`: found -1, expected a whole number from 0 to 1000000";
    too_many_flows_together: "\"B\"" => "\"B\"\nflows = 1000000",
        "s.toml:22:9: `group.flows`: more than 1000000 flows in all groups";
    a_start_for_some_flows_only: "flows = 1" => "flows = 3\nstart = [\"0s\", \"1s\"]",
        "s.toml:18:9: `group.start`: found 2 times, expected one for each of 3 flows";
    a_start_after_the_end: "flows = 1" => "start = \"60s\"",
        "s.toml:17:9: `group.start`: 60s is not before the end of the run at 60s";
    two_of_one_name: "\"B\"" => "\"A\"",
        "s.toml:21:8: two groups or UDP sources are called `A`; give each its own name";
    a_name_with_a_control_character: "\"B\"" => "\"B\\u0007\"",
        "s.toml:21:8: `group.name`: found \"B\\u0007\", expected a name of 1 to 64 characters \
         without `.`, `*`, `=`, control characters or outer blanks";
    what_is_not_toml: "duration = \"60s\"" => "duration = 60s",
        "s.toml:2:12: not TOML: string values must be quoted, expected literal string";
    a_key_twice: "warmup   = \"15s\"" => "duration = \"15s\"",
        "s.toml:3:1: not TOML: duplicate key";
    an_empty_sweep_list: "[aqm]" => "[sweep]\n\"link.rate\" = []\n[aqm]",
        "s.toml:10:15: `sweep.link.rate`: the list is empty, expected at least one value";
    a_value_twice: "[aqm]" => "[sweep]\nlink.rate = [\"4mbit\", \"9mbit\", \"4mbit\"]\n[aqm]",
        "s.toml:10:32: `sweep.link.rate`: \"4mbit\" is there twice";
    an_axis_that_a_later_one_replaces:
        "[aqm]" => "[sweep]\n\"group.A.rtt\" = [\"4ms\", \"5ms\"]\n\"group.*.rtt\" = [\"8ms\", \"9ms\"]\n[aqm]",
        "s.toml:10:1: `group.A.rtt` has no effect here: `sweep.group.*.rtt` sets it in every run, \
         and comes later; put the more general key first, or leave one of them out";
    a_case_that_a_later_axis_replaces:
        "[aqm]" => "[sweep]\nlink.rate = [\"4mbit\", \"9mbit\"]\n[[sweep.case]]\nlabel = \"x\"\n\
                    link.rate = \"2mbit\"\n[[sweep.case]]\nlabel = \"y\"\n[aqm]",
        "s.toml:13:6: `link.rate` has no effect here: `sweep.link.rate` sets it in every run, \
         and comes later; leave one of them out";
    a_sweep_without_a_list: "[aqm]" => "[sweep]\n\"link.rate\" = \"4mbit\"\n[aqm]",
        "s.toml:10:15: `sweep.link.rate`: found \"4mbit\", expected a list of values; \
         write [\"4mbit\"]";
    a_sweep_over_no_key: "[aqm]" => "[sweep]\n\"lnik.rate\" = [\"4mbit\"]\n[aqm]",
        "s.toml:10:1: `lnik.rate`: no such key to set; did you mean `link.rate`?";
    a_sweep_over_no_group: "[aqm]" => "[sweep]\n\"group.C.rtt\" = [\"4ms\"]\n[aqm]",
        "s.toml:10:1: `group.C.rtt`: no group `C`, expected `A` or `B`";
    a_swept_value_that_does_not_fit: "[aqm]" => "[sweep]\nlink.rate = [\"4mbit\", \"40\"]\n[aqm]",
        "s.toml:10:23: `link.rate`: found \"40\", expected a rate: a number with bit, kbit, mbit \
         or gbit, such as \"40mbit\", from 1kbit to 1000gbit (in the run with link.rate=40); a number needs its unit";
    two_cases_of_one_name: "[aqm]" =>
        "[[sweep.case]]\nlabel = \"x\"\n[[sweep.case]]\nlabel = \"x\"\n[aqm]",
        "s.toml:12:9: `sweep.case`: two cases are called `x`";
}

/// As above, for the content of a `[[web]]` or `[[at]]`, from line 9 on.
macro_rules! refuses_more {
    ($($name:ident: $more:literal, $message:literal;)+) => {
        $(#[test]
        fn $name() {
            assert_eq!(refused("[aqm]", concat!($more, "\n[aqm]"), &[]), with_kinds($message));
        })+
    };
}

refuses_more! {
    downloads_of_no_group: "[[web]]\nrate = \"1/s\"",
        "s.toml:9:1: `web.group` is missing: the group whose server, client, cc, ecn and rtt the \
         downloads have";
    downloads_of_an_unknown_group: "[[web]]\ngroup = \"a\"\nrate = \"1/s\"",
        "s.toml:10:9: `web.group`: there is no group `a`, expected `A` or `B`; did you mean `A`?";
    downloads_without_a_rate: "[[web]]\ngroup = \"A\"",
        "s.toml:9:1: `web.rate` is missing: how many begin per second, on average and \
         independently, such as \"100/s\"";
    a_rate_of_downloads_in_bits: "[[web]]\ngroup = \"A\"\nrate = \"1mbit\"",
        "s.toml:11:8: `web.rate`: found \"1mbit\", expected a number of times per second, such as \
         \"100/s\" or \"0.5/s\", from 0/s to 1000000/s";
    a_rate_without_a_unit: "[[web]]\ngroup = \"A\"\nrate = 100",
        "s.toml:11:8: `web.rate`: found 100, expected a number of times per second such as \
         \"100/s\", from 0/s to 1000000/s; a number needs its unit";
    a_rate_of_a_misspelt_unit: "[[web]]\ngroup = \"A\"\nrate = \"100s\"",
        "s.toml:11:8: `web.rate`: found \"100s\", expected a number of times per second, such as \
         \"100/s\" or \"0.5/s\", from 0/s to 1000000/s; did you mean \"100/s\"?";
    more_downloads_than_rows: "[[web]]\ngroup = \"A\"\nrate = \"20000/s\"",
        "s.toml:11:8: `web.rate`: about 1200000 downloads in the run, expected at most 1000000 in \
         all `[[web]]`";
    an_unknown_key_of_downloads: "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\nsiez = \"1kb\"",
        "s.toml:12:1: `web.siez`: unknown key, expected `group`, `rate`, `size`, `start` or \
         `stop`; did you mean `size`?";
    a_size_that_is_none: "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\nsize = \"10\"",
        "s.toml:12:8: `web.size`: found \"10\", expected a size: a number with b, kb, mb, gb or \
         kib, mib, gib, such as \"1514b\", from 1b to 1000000gb; a number needs its unit";
    a_misspelt_pareto: "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\n\
                        size = { parteo = 0.9, min = \"1kb\", max = \"1mb\" }",
        "s.toml:12:8: `web.size`: found a table, expected a size such as \"10kb\", or { pareto = \
         0.9, min = \"1kb\", max = \"1mb\" } with an exponent from 0.01 to 100, and `min` not \
         above `max`; did you mean `pareto`?";
    a_pareto_without_a_bound: "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\n\
                               size = { pareto = 0.9, min = \"1kb\" }",
        "s.toml:12:8: `web.size`: found a table, expected a size such as \"10kb\", or { pareto = \
         0.9, min = \"1kb\", max = \"1mb\" } with an exponent from 0.01 to 100, and `min` not \
         above `max`";
    bounds_the_wrong_way_round: "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\n\
                                 size = { pareto = 1, min = \"1mb\", max = \"1kb\" }",
        "s.toml:12:8: `web.size`: found a table, expected a size such as \"10kb\", or { pareto = \
         0.9, min = \"1kb\", max = \"1mb\" } with an exponent from 0.01 to 100, and `min` not \
         above `max`";
    downloads_after_the_end: "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\nstart = \"60s\"",
        "s.toml:12:9: `web.start`: 60s is not before the end of the run at 60s";
    downloads_that_stop_before_they_start:
        "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\nstart = \"6s\"\nstop = \"5s\"",
        "s.toml:13:8: `web.stop`: 5s is not after the start at 6s";
    an_upload_without_an_uplink:
        "[[group]]\nname = \"U\"\ndirection = \"up\"\ncc = \"reno\"\nrtt = \"1ms\"",
        "s.toml:11:13: `group.direction`: nothing sends up where there is no `[uplink]`; add\n  [uplink]\n  \
         rate = \"10mbit\"";
    an_unknown_direction: "[[udp]]\nname = \"U\"\ndirection = \"upp\"\nrate = \"1mbit\"",
        "s.toml:11:13: `udp.direction`: found \"upp\", expected one of \"down\", \"up\", \"both\"; did you mean \"up\"?";
    both_directions_without_an_uplink: "[[udp]]\nname = \"U\"\ndirection = \"both\"\nrate = \"1mbit\"",
        "s.toml:11:13: `udp.direction`: nothing sends up where there is no `[uplink]`; add\n  [uplink]\n  \
         rate = \"10mbit\"";
    the_name_of_another_half:
        "[uplink]\nrate = \"1mbit\"\n[[group]]\nname = \"U up\"\ncc = \"reno\"\nrtt = \"1ms\"\n\
         [[udp]]\nname = \"U\"\ndirection = \"both\"\nrate = \"1mbit\"",
        "s.toml:16:8: two groups or UDP sources are called `U up`; give each its own name";
    a_fault_in_both_directions:
        "[uplink]\nrate = \"1mbit\"\n[[group]]\nname = \"U\"\ndirection = \"both\"\ncc = \"reni\"\nrtt = \"1ms\"",
        "s.toml:14:6: `group.cc`: found \"reni\", expected one of `reno`, `cubic`, `dctcp`, `prague`, `bbr` or `bbr3`; did \
         you mean \"reno\"?";
    an_uplink_without_a_rate: "[uplink]\nbuffer = \"10p\"",
        "s.toml:9:1: `uplink.rate` is missing: bits per second, 14 B of Ethernet per packet included, \
         such as \"40mbit\"; or `trace`, or a table `wifi` or `cell`";
    an_uplink_that_loses_acknowledgements: "[uplink]\nrate = \"1mbit\"\nack_loss = 0.1",
        "s.toml:11:1: `uplink.ack_loss`: unknown key, expected `rate`, `trace`, `trace_offset`, \
         `trace_scale`, `buffer`, `burst`, `aggregation`, `ack_filter`, `wifi`, `cell` or `aqm`; \
         `ack_loss` is a key of `[link]`";
    a_filter_of_no_kind: "[uplink]\nrate = \"1mbit\"\nack_filter = \"agressive\"",
        "s.toml:11:14: `uplink.ack_filter`: found \"agressive\", expected one of \"off\", \"on\", \"aggressive\"; did \
         you mean \"aggressive\"?";
    a_filter_that_is_true: "[uplink]\nrate = \"1mbit\"\nack_filter = true",
        "s.toml:11:14: `uplink.ack_filter`: found true, expected one of \"off\", \"on\", \"aggressive\"; did \
         you mean \"on\"?";
    a_filter_of_the_way_down: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\nack_filter = \"on\"",
        "s.toml:12:1: `hop.ack_filter`: unknown key, expected `name`, `place`, `rate`, `buffer`, `burst`, `groups`, \
         `per`, `wifi`, `cell` or `aqm`; `ack_filter` is a key of `[uplink]`";
    a_filter_that_changes:
        "[uplink]\nrate = \"1mbit\"\n[[at]]\ntime = \"1s\"\nuplink.ack_filter = \"on\"",
        "s.toml:13:8: `at.uplink.ack_filter`: unknown key, expected `rate` or `aqm`; `ack_filter` is a key of \
         `[uplink]`";
    a_rate_beside_wifi: "[uplink]\nrate = \"1mbit\"\nwifi.mcs = 3",
        "s.toml:11:1: `uplink.wifi`: the link has a `rate` already; leave out one of them";
    a_trace_beside_wifi: "[uplink]\nwifi.mcs = 3\ntrace = \"lte-1\"",
        "s.toml:10:1: `uplink.wifi`: the link has a `trace` already; leave out one of them";
    aggregation_beside_wifi: "[uplink]\nwifi.mcs = 3\naggregation = \"2ms\"",
        "s.toml:11:1: `uplink.aggregation`: found \"2ms\" beside `wifi`, expected \"0s\": a radio has \
         frames of its own";
    a_burst_beside_wifi: "[uplink]\nburst = \"3kb\"\nwifi.mcs = 3",
        "s.toml:10:1: `uplink.burst`: found \"3kb\" beside `wifi`, expected \"0b\": a radio has \
         frames of its own";
    wifi_that_is_no_table: "[uplink]\nwifi = \"ac\"",
        "s.toml:10:8: `uplink.wifi`: found \"ac\", expected one table `[uplink.wifi]`";
    an_unknown_key_of_wifi: "[uplink.wifi]\nstream = 2",
        "s.toml:10:1: `uplink.wifi.stream`: unknown key, expected `standard`, `width`, `streams`, `mcs`, \
         `guard`, `airtime`, `stations` or `loss`; did you mean `streams`?";
    an_unknown_standard: "[uplink.wifi]\nstandard = \"ag\"",
        "s.toml:10:12: `uplink.wifi.standard`: found \"ag\", expected one of \"n\", \"ac\", \"ax\"; did \
         you mean \"ac\"?";
    a_width_that_no_standard_has: "[uplink.wifi]\nwidth = 60",
        "s.toml:10:9: `uplink.wifi.width`: found 60, expected one of 20, 40, 80, 160";
    a_width_that_the_standard_has_not: "[uplink.wifi]\nstandard = \"n\"\nwidth = 80",
        "s.toml:11:9: `uplink.wifi.width`: found 80 with 802.11n, expected one of 20, 40";
    a_guard_that_the_standard_has_not: "[uplink.wifi]\nguard = \"400ns\"",
        "s.toml:10:9: `uplink.wifi.guard`: found \"400ns\" with 802.11ax, expected one of \"800ns\", \
         \"1.6us\", \"3.2us\"";
    an_mcs_that_the_standard_has_not: "[uplink.wifi]\nstandard = \"n\"\nmcs = 9",
        "s.toml:11:7: `uplink.wifi.mcs`: found 9 with 802.11n, expected 0 to 7 of each stream: MCS 9 is \
         `streams = 2, mcs = 1`";
    an_mcs_that_counts_streams: "[uplink.wifi]\nstandard = \"n\"\nmcs = 15",
        "s.toml:11:7: `uplink.wifi.mcs`: found 15 with 802.11n, expected 0 to 7 of each stream: MCS 15 is \
         `streams = 2, mcs = 7`";
    an_mcs_of_no_standard: "[uplink.wifi]\nmcs = 32",
        "s.toml:10:7: `uplink.wifi.mcs`: found 32, expected a whole number from 0 to 7 with n, 9 with ac, \
         11 with ax";
    an_mcs_that_the_width_has_not: "[uplink.wifi]\nstandard = \"ac\"\nwidth = 20\nmcs = 9",
        "s.toml:12:7: `uplink.wifi.mcs`: found 9 with 802.11ac, expected another MCS: it has none such \
         with 2 streams at 20 MHz";
    more_loss_than_wifi_has: "[uplink.wifi]\nloss = 0.6",
        "s.toml:10:8: `uplink.wifi.loss`: found 0.6, expected a chance such as 0.01, from 0 to 0.5";
    a_frame_that_is_too_long: "[uplink.wifi]\nairtime = \"6ms\"",
        "s.toml:10:11: `uplink.wifi.airtime`: found \"6ms\", expected a time such as \"10ms\", from 200us \
         to 5.484ms";
    a_change_of_the_rate_of_a_radio:
        "[uplink]\ncell.mcs = 3\n[[at]]\ntime = \"1s\"\nuplink.rate = \"1mbit\"",
        "s.toml:13:15: `at.uplink.rate`: the link is `uplink.cell`, which has a rate of its own; leave out \
         one of them";
    wifi_beside_a_cell: "[uplink]\nwifi.mcs = 3\ncell.mcs = 3",
        "s.toml:11:1: `uplink.cell`: the link has a `wifi` already; leave out one of them";
    an_unknown_key_of_a_cell: "[uplink.cell]\nlayer = 2",
        "s.toml:10:1: `uplink.cell.layer`: unknown key, expected `bandwidth`, `spacing`, `mcs`, `layers`, \
         `pattern`, `loss` or `request`; did you mean `layers`?";
    a_bandwidth_without_blocks: "[uplink.cell]\nbandwidth = 100\nspacing = 15",
        "s.toml:10:13: `uplink.cell.bandwidth`: there are no 100 MHz with 15 kHz, expected a bandwidth of \
         5, 10, 15, 20, 25, 30, 40, 50 MHz";
    a_spacing_of_millimetre_waves: "[uplink.cell]\nspacing = 120",
        "s.toml:10:11: `uplink.cell.spacing`: found 120, expected one of 15, 30, 60";
    a_pattern_of_other_letters: "[uplink.cell]\npattern = \"DDX\"",
        "s.toml:10:11: `uplink.cell.pattern`: found \"DDX\", expected up to 40 of D, S and U such as \
         \"DDDSU\", or \"fdd\"";
    a_pattern_without_uplink: "[uplink.cell]\npattern = \"DDS\"",
        "s.toml:10:11: `uplink.cell.pattern`: found \"DDS\", expected a slot of the uplink: U";
    a_pattern_without_downlink: "[[hop]]\nname = \"h\"\ncell.pattern = \"U\"",
        "s.toml:11:16: `hop.cell.pattern`: found \"U\", expected a slot of the downlink: D";
    a_rate_of_a_hop_beside_wifi: "[[hop]]\nname = \"h\"\nrate = \"1mbit\"\nwifi.mcs = 3",
        "s.toml:11:1: `hop.rate`: the link has a `wifi` already; leave out one of them";
    an_uplink_with_less_room_than_a_packet: "[uplink]\nrate = \"1mbit\"\nbuffer = \"1kb\"",
        "s.toml:11:10: `uplink.buffer`: found \"1kb\", expected room for a packet of 1514b";
    an_unknown_discipline_of_the_uplink: "[uplink]\nrate = \"1mbit\"\naqm = \"fifa\"",
        "s.toml:11:7: `uplink.aqm`: found \"fifa\", expected one of {kinds}; did you mean \"fifo\"?";
    a_path_down_of_datagrams_that_go_up:
        "[uplink]\nrate = \"1mbit\"\n[[udp]]\nname = \"U\"\ndirection = \"up\"\nrate = \"1mbit\"\n\
         [[path]]\nname = \"p\"\ngroups = [\"U\"]\nloss = 0.1",
        "s.toml:17:10: `path.groups`: the UDP source `U` sends up only; direction = \"up\", or name \
         others";
    a_hop_with_the_name_of_the_uplink: "[[hop]]\nname = \"uplink\"\nrate = \"1mbit\"",
        "s.toml:10:8: `hop.name`: `uplink` is the name of the way up in results; choose another name";
    a_program_in_a_group_that_sends_up:
        "[uplink]\nrate = \"1mbit\"\n[[group]]\nname = \"U\"\ndirection = \"up\"\ncc = \"reno\"\n\
         rtt = \"1ms\"\n[[program]]\nname = \"p\"\ngroup = \"U\"\nclient = \"true\"",
        "s.toml:18:9: `program.group`: group `U` sends up, expected one that sends down; a program in \
         it may send both ways";
    a_hop_without_a_name: "[[hop]]\nrate = \"1mbit\"",
        "s.toml:9:1: `hop.name` is missing: the link's name in results";
    a_hop_without_a_rate: "[[hop]]\nname = \"H\"",
        "s.toml:9:1: `hop.rate` is missing: bits per second, 14 B of Ethernet per packet included, \
         such as \"120mbit\"";
    one_table_of_a_hop: "[hop]\nname = \"H\"\nrate = \"1mbit\"",
        "s.toml:9:1: `hop`: found one table, expected a list of tables; write `[[hop]]`";
    a_hop_beside_the_bottleneck: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\nplace = \"behnd\"",
        "s.toml:12:9: `hop.place`: found \"behnd\", expected one of \"before\", \"behind\"; did you \
         mean \"behind\"?";
    a_hop_for_each_packet: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\nper = \"packet\"",
        "s.toml:12:7: `hop.per`: found \"packet\", expected one of \"all\", \"group\", \"flow\"";
    a_hop_of_an_unknown_group: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\ngroups = [\"A\", \"b\"]",
        "s.toml:12:16: `hop.groups`: there is no group or UDP source `b`, expected `A` or `B`; did \
         you mean `B`?";
    a_hop_that_nobody_passes: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\ngroups = []",
        "s.toml:12:10: `hop.groups`: found [], expected a list of names of groups or UDP \
         sources, such as [\"A\"]";
    a_hop_of_one_name: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\ngroups = \"A\"",
        "s.toml:12:10: `hop.groups`: found \"A\", expected a list of names of groups or UDP \
         sources, such as [\"A\"]";
    a_path_without_a_name: "[[path]]\nloss = 0.1",
        "s.toml:9:1: `path.name` is missing: the name of the stretch in results, and of its random \
         streams";
    a_perfect_path: "[[path]]\nname = \"P\"\nplace = \"before\"",
        "s.toml:9:1: `path`: nothing is imperfect; add `loss`, `jitter`, `reorder`, `duplicate`, \
         `corrupt`, `ecn`, `accecn` or `dscp`";
    a_misspelt_imperfection: "[[path]]\nname = \"P\"\nlos = 0.1",
        "s.toml:11:1: `path.los`: unknown key, expected `name`, `direction`, `place`, `groups`, \
         `loss`, `jitter`, `reorder`, `duplicate`, `corrupt`, `ecn`, `accecn` or `dscp`; did you mean `loss`?";
    a_path_that_loses_everything: "[[path]]\nname = \"P\"\nloss = 1.0",
        "s.toml:11:8: `path.loss`: found 1.0, expected a chance such as 0.01, from 0 to below 1, \
         bursts such as { to_bad = 0.001, to_good = 0.1, in_bad = 1.0, in_good = 0.0 }, or numbers of \
         packets such as [10, 11]";
    a_loss_that_is_no_number: "[[path]]\nname = \"P\"\nduplicate = nan",
        "s.toml:11:13: `path.duplicate`: found nan, expected a chance such as 0.01, from 0 to below 1";
    a_negative_chance: "[[path]]\nname = \"P\"\ncorrupt = -0.1",
        "s.toml:11:11: `path.corrupt`: found -0.1, expected a chance such as 0.01, from 0 to below 1";
    bursts_without_an_end: "[[path]]\nname = \"P\"\nloss = { to_bad = 0.1, to_good = 0 }",
        "s.toml:11:8: `path.loss`: found a table, expected a chance such as 0.01, from 0 to below 1, \
         bursts such as { to_bad = 0.001, to_good = 0.1, in_bad = 1.0, in_good = 0.0 }, or numbers of \
         packets such as [10, 11]; `to_good` is a chance above 0, up to 1";
    misspelt_bursts: "[[path]]\nname = \"P\"\nloss = { to_bad = 0.1, to_god = 0.1 }",
        "s.toml:11:8: `path.loss`: found a table, expected a chance such as 0.01, from 0 to below 1, \
         bursts such as { to_bad = 0.001, to_good = 0.1, in_bad = 1.0, in_good = 0.0 }, or numbers of \
         packets such as [10, 11]; did you mean `to_good`?";
    the_loss_of_packet_zero: "[[path]]\nname = \"P\"\nloss = [0, 1]",
        "s.toml:11:8: `path.loss`: found [0, 1], expected a chance such as 0.01, from 0 to below 1, \
         bursts such as { to_bad = 0.001, to_good = 0.1, in_bad = 1.0, in_good = 0.0 }, or numbers of \
         packets such as [10, 11]; the first packet has number 1";
    a_negative_jitter: "[[path]]\nname = \"P\"\njitter = \"-1ms\"",
        "s.toml:11:10: `path.jitter`: found \"-1ms\", expected a time from 0s to 2s, such as \"2ms\", or \
         { mean = \"1ms\", distribution = \"exponential\" }";
    a_jitter_of_a_misspelt_distribution:
        "[[path]]\nname = \"P\"\njitter = { mean = \"1ms\", distribution = \"exponental\" }",
        "s.toml:11:10: `path.jitter`: found a table, expected a time from 0s to 2s, such as \"2ms\", or \
         { mean = \"1ms\", distribution = \"exponential\" }; did you mean \"exponential\"?";
    a_normal_jitter_without_a_deviation:
        "[[path]]\nname = \"P\"\njitter = { mean = \"1ms\", distribution = \"normal\" }",
        "s.toml:11:10: `path.jitter`: found a table, expected a time from 0s to 2s, such as \"2ms\", or \
         { mean = \"1ms\", distribution = \"exponential\" }; \"normal\" needs the standard deviation, \
         such as deviation = \"1ms\"";
    a_reordering_without_a_time: "[[path]]\nname = \"P\"\nreorder = { chance = 0.1 }",
        "s.toml:11:11: `path.reorder`: found a table, expected { chance = 0.01, by = \"5ms\" }, a \
         chance from 0 to below 1 and a time up to 1s";
    a_misspelt_bleach: "[[path]]\nname = \"P\"\necn = \"blech\"",
        "s.toml:11:7: `path.ecn`: found \"blech\", expected one of \"pass\", \"bleach\", \
         \"ect1-to-ect0\", \"ect0-to-ect1\", \"ce-to-ect0\", \"ce-to-ect1\", \"ect-to-ce\"; did you mean \
         \"bleach\"?";
    a_path_of_an_unknown_group: "[[path]]\nname = \"P\"\nloss = 0.1\ngroups = [\"A\", \"b\"]",
        "s.toml:12:16: `path.groups`: there is no group or UDP source `b`, expected `A` or `B`; did \
         you mean `B`?";
    two_paths_of_one_name:
        "[[path]]\nname = \"P\"\nloss = 0.1\n[[path]]\nname = \"P\"\nloss = 0.1",
        "s.toml:13:8: two `[[path]]` are called `P`; give each its own name";
    a_path_up_of_datagrams_that_go_down: "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\n\
                                 [[path]]\nname = \"P\"\nloss = 0.1\ndirection = \"up\"\ngroups = [\"U\"]",
        "s.toml:16:10: `path.groups`: the UDP source `U` sends down only; direction = \"down\", or name \
         others";
    an_unknown_discipline_of_a_hop: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\naqm = \"codle\"",
        "s.toml:12:7: `hop.aqm`: found \"codle\", expected one of {kinds}; \
         did you mean \"codel\"?";
    a_hop_with_less_room_than_a_packet:
        "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\nbuffer = \"1kb\"",
        "s.toml:12:10: `hop.buffer`: found \"1kb\", expected room for a packet of 1514b";
    a_hop_that_aggregates: "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\naggregation = \"1ms\"",
        "s.toml:12:1: `hop.aggregation`: unknown key, expected `name`, `place`, `rate`, `buffer`, \
         `burst`, `groups`, `per`, `wifi`, `cell` or `aqm`; `aggregation` is a key of `[link]` and `[uplink]`";
    two_hops_of_one_name:
        "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\n[[hop]]\nname = \"H\"\nrate = \"1mbit\"",
        "s.toml:13:8: two `[[hop]]` are called `H`; give each its own name";
    a_link_for_each_download: "[[web]]\ngroup = \"B\"\nrate = \"1/s\"\n\
                               [[hop]]\nname = \"H\"\nrate = \"1mbit\"\nper = \"flow\"",
        "s.toml:15:7: `hop.per`: found \"flow\", but group `B` has a `[[web]]`, whose downloads \
         have no link of their own; per = \"group\", or name the other `groups`";
    an_app_of_no_group: "[[app]]\nrate = \"1mbit\"",
        "s.toml:9:1: `app.group` is missing: the group whose server, client, cc, ecn and rtt its \
         flows have";
    an_app_of_an_unknown_group: "[[app]]\ngroup = \"C\"\nrate = \"1mbit\"",
        "s.toml:10:9: `app.group`: there is no group `C`, expected `A` or `B`";
    an_app_without_a_rate: "[[app]]\ngroup = \"A\"",
        "s.toml:9:1: `app.rate` is missing: the mean rate that it writes into each flow, such as \
         \"4mbit\"";
    an_unknown_key_of_an_app: "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nfsp = 30",
        "s.toml:12:1: `app.fsp`: unknown key, expected `group`, `rate`, `fps`, `flows`, `adapt`, `hold`, \
         `start` or `stop`; did you mean `fps`?";
    a_program_of_an_unknown_group: "[[program]]\nname = \"P\"\ngroup = \"C\"\nclient = \"true\"",
        "s.toml:11:9: `program.group`: there is no group `C`, expected `A` or `B`";
    a_program_without_a_command: "[[program]]\nname = \"P\"\ngroup = \"A\"",
        "s.toml:9:1: `program.client` is missing: a command, or `server`";
    a_command_that_is_none: "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = [\"a\", 1]",
        "s.toml:12:10: `program.client`: found [\"a\", 1], expected a command line such as \
         \"iperf3 -s\", or a list of words such as [\"iperf3\", \"-s\"]";
    a_name_that_is_no_folder: "[[program]]\nname = \"a/b\"\ngroup = \"A\"\nclient = \"true\"",
        "s.toml:10:8: `program.name`: found \"a/b\", expected a name of 1 to 64 characters without \
         `/`, `.`, `*`, `=`, control characters or outer blanks";
    two_programs_of_one_name: "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"true\"\n\
                               [[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"true\"",
        "s.toml:14:8: two programs are called `P`; give each its own name";
    two_programs_in_the_place_of_a_flow:
        "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"x\"\ninstead_of_flows = true\n\
         [[program]]\nname = \"Q\"\ngroup = \"A\"\nclient = \"x\"\ninstead_of_flows = true",
        "s.toml:14:1: `program.instead_of_flows`: another program has the place of the flows of `A`";
    a_start_beside_those_of_flows:
        "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"x\"\ninstead_of_flows = true\nstart = \"1s\"",
        "s.toml:14:9: `program.start`: the starts are those of the group's flows; leave out one of them";
    a_place_of_flows_that_is_none:
        "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"x\"\ninstead_of_flows = 3",
        "s.toml:13:20: `program.instead_of_flows`: found 3, expected true or false";
    readiness_of_nothing: "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"true\"\nready = \"1s\"",
        "s.toml:13:9: `program.ready`: there is no `server` that could be ready";
    readiness_by_a_misspelt_word: "[[program]]\nname = \"P\"\ngroup = \"A\"\nserver = \"x\"\nready = \"tpc:80\"",
        "s.toml:13:9: `program.ready`: found \"tpc:80\", expected port, tcp:PORT, udp:PORT, \
         line:TEXT, file:PATH, or a time such as \"1s\"; did you mean \"tcp:80\"?";
    an_environment_of_numbers: "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"x\"\nenv = { A = 1 }",
        "s.toml:13:7: `program.env`: found a table, expected a table of texts such as { RUST_LOG \
         = \"info\" }";
    a_signal_that_there_is_not: "[[program]]\nname = \"P\"\ngroup = \"A\"\nclient = \"x\"\nstop = \"temr\"",
        "s.toml:13:8: `program.stop`: found \"temr\", expected one of \"term\", \"int\", \"hup\", \
         \"quit\", \"kill\"; did you mean \"term\"?";
    half_a_frame_per_second: "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nfps = 0.5",
        "s.toml:12:7: `app.fps`: found 0.5, expected a whole number from 1 to 10000";
    frames_of_no_byte: "[[app]]\ngroup = \"A\"\nrate = \"1kbit\"\nfps = 1000",
        "s.toml:12:7: `app.fps`: 1kbit in 1000 frames per second leave none a byte";
    more_frames_than_memory: "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nfps = 5000\nflows = 100",
        "s.toml:12:7: `app.fps`: about 30000000 frames in the run, expected at most 10000000 in \
         all `[[app]]`";
    too_many_flows_of_an_app: "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nfps = 1\nflows = 1000000\nstart = \"55s\"",
        "s.toml:13:9: `app.flows`: more than 1000000 flows in all groups and `[[app]]`";
    an_app_that_adapts_maybe: "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nadapt = 1",
        "s.toml:12:9: `app.adapt`: found 1, expected true or false";
    an_app_after_the_end: "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nstart = \"60s\"",
        "s.toml:12:9: `app.start`: 60s is not before the end of the run at 60s";
    an_app_that_stops_before_it_starts:
        "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nstart = \"6s\"\nstop = \"5s\"",
        "s.toml:13:8: `app.stop`: 5s is not after the start at 6s";
    one_table_of_an_app: "[app]\ngroup = \"A\"\nrate = \"1mbit\"",
        "s.toml:9:1: `app`: found one table, expected a list of tables; write `[[app]]`";
    a_sweep_over_an_app_that_is_not:
        "[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\n[sweep]\n\"app.B.fps\" = [1]",
        "s.toml:13:1: `app.B.fps`: no `[[app]]` of group `B`, expected `A`";
    one_table_of_downloads: "[web]\ngroup = \"A\"\nrate = \"1/s\"",
        "s.toml:9:1: `web`: found one table, expected a list of tables; write `[[web]]`";
    a_sweep_over_downloads_that_are_not:
        "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\n[sweep]\n\"web.B.rate\" = [\"1/s\"]",
        "s.toml:13:1: `web.B.rate`: no `[[web]]` of group `B`, expected `A`";

    a_change_at_no_time: "[[at]]\naqm = \"pie\"",
        "s.toml:9:1: `at.time` is missing: when it changes, such as \"10s\"";
    a_change_after_the_end: "[[at]]\ntime = \"60s\"\naqm = \"pie\"",
        "s.toml:10:8: `at.time`: 60s is not before the end of the run at 60s";
    a_change_at_the_start: "[[at]]\ntime = \"0s\"\naqm = \"pie\"",
        "s.toml:10:8: `at.time`: found \"0s\", expected a time such as \"10ms\", from 1ns to \
         86400s";
    a_change_of_nothing: "[[at]]\ntime = \"10s\"",
        "s.toml:9:1: `at`: nothing changes; add `aqm`, `link.rate`, `uplink.rate`, `uplink.aqm`, \
         `group.NAME.rtt`, `path.NAME.loss` or `path.NAME.jitter`";
    a_change_of_what_cannot: "[[at]]\ntime = \"10s\"\nlink.buffer = \"10p\"",
        "s.toml:11:6: `at.link.buffer` cannot change in mid-run, expected `rate`";
    a_change_of_an_uplink_that_is_not: "[[at]]\ntime = \"10s\"\nuplink.rate = \"10mbit\"",
        "s.toml:11:1: `at.uplink`: there is no `[uplink]`; add\n  [uplink]\n  rate = \"10mbit\"";
    a_change_of_what_cannot_on_the_way_up:
        "[uplink]\nrate = \"1mbit\"\n[[at]]\ntime = \"10s\"\nuplink.buffer = \"10p\"",
        "s.toml:13:8: `at.uplink.buffer` cannot change in mid-run, expected `rate` or `aqm`";
    a_change_of_the_rate_of_an_uplink_with_a_trace:
        "[uplink]\ntrace = \"lte-1\"\n[[at]]\ntime = \"10s\"\nuplink.rate = \"10mbit\"",
        "s.toml:13:15: `at.uplink.rate`: the link follows `uplink.trace`, which has rates of its own; \
         leave out one of them, or write the change into the trace";
    a_change_to_an_unknown_aqm_of_the_uplink:
        "[uplink]\nrate = \"1mbit\"\n[[at]]\ntime = \"10s\"\nuplink.aqm = \"codl\"",
        "s.toml:13:14: `at.uplink.aqm`: found \"codl\", expected one of {kinds}; \
         did you mean \"codel\"?";
    a_change_of_no_path: "[[at]]\ntime = \"10s\"\npath.far.loss = 0.1",
        "s.toml:11:6: `at.path.far`: there is no `[[path]]` `far`";
    a_change_of_an_unknown_path:
        "[[path]]\nname = \"far\"\nloss = 0\n[[at]]\ntime = \"10s\"\npath.fra.loss = 0.1",
        "s.toml:14:6: `at.path.fra`: there is no `[[path]]` `fra`, expected `far`; \
         did you mean `far`?";
    a_change_of_what_cannot_on_a_path:
        "[[path]]\nname = \"far\"\nloss = 0\n[[at]]\ntime = \"10s\"\npath.far.corrupt = 0.1",
        "s.toml:14:10: `at.path.far.corrupt` cannot change in mid-run, expected `loss` or `jitter`";
    a_change_to_a_loss_that_is_none:
        "[[path]]\nname = \"far\"\nloss = 0\n[[at]]\ntime = \"10s\"\npath.far.jitter = \"3s\"",
        "s.toml:14:19: `at.path.far.jitter`: found \"3s\", expected a time from 0s to 2s, such as \
         \"2ms\", or { mean = \"1ms\", distribution = \"exponential\" }";
    a_change_of_an_unknown_key: "[[at]]\ntime = \"10s\"\nlink.rat = \"10mbit\"",
        "s.toml:11:6: `at.link.rat`: unknown key, expected `rate`; did you mean `rate`?";
    a_change_of_an_unknown_table: "[[at]]\ntime = \"10s\"\nlnik.rate = \"10mbit\"",
        "s.toml:11:1: `at.lnik`: unknown key, expected `time`, `aqm`, `link`, `uplink`, `group` or `path`; \
         did you mean `link`?";
    a_change_to_no_rate: "[[at]]\ntime = \"10s\"\nlink.rate = \"0bit\"",
        "s.toml:11:13: `at.link.rate`: found \"0bit\", expected a rate such as \"40mbit\", from \
         1kbit to 1000gbit";
    a_change_of_an_unknown_group: "[[at]]\ntime = \"10s\"\ngroup.C.rtt = \"10ms\"",
        "s.toml:11:7: `at.group.C`: there is no group `C`, expected `A` or `B`";
    a_change_of_a_groups_control: "[[at]]\ntime = \"10s\"\ngroup.A.flows = 2",
        "s.toml:11:9: `at.group.A.flows` cannot change in mid-run, expected `rtt`";
    a_change_to_no_rtt: "[[at]]\ntime = \"10s\"\ngroup.A.rtt = \"10\"",
        "s.toml:11:15: `at.group.A.rtt`: found \"10\", expected a time: a number with ns, us, ms, \
         s or min, such as \"10ms\", from 1us to 60s; a number needs its unit";
    a_change_to_an_unknown_aqm: "[[at]]\ntime = \"10s\"\naqm = \"codl\"",
        "s.toml:11:7: `at.aqm`: found \"codl\", expected one of {kinds}; \
         did you mean \"codel\"?";
    a_change_to_an_aqm_without_a_kind: "[[at]]\ntime = \"10s\"\naqm = { target = \"5ms\" }",
        "s.toml:11:7: `at.aqm.kind` is missing: {kinds}";
    a_change_to_a_setting_that_is_not:
        "[[at]]\ntime = \"10s\"\naqm = { kind = \"fifo\", limt = \"5p\" }",
        "s.toml:11:24: `at.aqm.limt`: unknown setting of fifo, expected `limit`, `memlimit`, \
         `kind` or `profile`; did you mean `limit`?";
    two_changes_of_one_thing: "[[at]]\ntime = \"10s\"\naqm = \"pie\"\n\
                               [[at]]\ntime = \"10s\"\naqm = \"codel\"",
        "s.toml:12:1: `at`: another `[[at]]` changes `aqm` at 10s too; keep one of the two";
    a_sweep_over_a_change_that_is_not:
        "[[at]]\ntime = \"10s\"\naqm = \"pie\"\n[sweep]\n\"at.2.time\" = [\"1s\"]",
        "s.toml:13:1: `at.2.time`: no `[[at]]` of number 2, expected 1 to 1 or *";
}

#[test]
fn more_changes_than_anybody_needs() {
    let group = |n| format!("[[group]]\nname = \"{n}\"\ncc = \"reno\"\nrtt = \"10ms\"\n");
    let at = |n| format!("[[at]]\ntime = \"{}ms\"\ngroup.\"*\".rtt = \"5ms\"\n", n + 1);
    let groups: String = (0..998).map(group).collect();
    let text = format!("{GOOD}{groups}{}", (0..1001).map(at).collect::<String>());
    // 1000 groups. This is the 1001st `[[at]]`, three lines each, after 23 lines and four for each further group.
    let expected = "s.toml:7016:1: `at`: more than 1000000 changes, each group counted";
    assert_eq!(refused_text(&text, &[]), expected);
}

#[test]
fn what_refers_to_a_wrong_group_is_not_wrong_too() {
    let more = "[[web]]\ngroup = \"A\"\nrate = \"1/s\"\n\
                [[at]]\ntime = \"1s\"\ngroup.A.rtt = \"1ms\"\n[aqm]";
    let text = GOOD.replacen("[aqm]", more, 1).replacen("flows = 1", "flows = \"1\"", 1);
    let expected =
        "s.toml:23:9: `group.flows`: found \"1\", expected a whole number from 0 to 1000000";
    assert_eq!(refused_text(&text, &[]), expected);
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

/// The only fault of a text.
fn one_fault(text: &str, expected: &str) {
    let found = refused_text(text, &[]);
    assert!(found.starts_with(expected) && found.lines().count() == 1, "{found}");
}

#[test]
fn what_follows_from_a_fault_is_none() {
    let link = "link.rate = \"40mbit\"\n";
    let group = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
    let udp = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
    // The only source is wrong, or its table is misspelt. There is no message that nothing sends.
    one_fault(&format!("{link}{udp}pakcet = \"100b\""), "s.toml:5:1: `udp.pakcet`: unknown key");
    one_fault(&format!("{link}{udp}stop = \"0s\""), "s.toml:5:8: `udp.stop`: 0s is not after");
    let off = group.replace("reno\"", "reno\"\nflows = 0");
    let web = "[[web]]\ngroup = \"A\"\nrate = \"1\"";
    one_fault(&format!("{link}{off}{web}"), "s.toml:9:8: `web.rate`: found \"1\"");
    one_fault(
        &format!("{link}{}", group.replace("group", "gruop")),
        "s.toml:2:3: `gruop`: unknown",
    );
    // A misspelt key is not reported as missing too.
    one_fault(&format!("[lnik]\n{}{group}", &link[5..]), "s.toml:1:2: `lnik`: unknown key");
    one_fault(
        &format!("{link}{}", group.replace("rtt", "rrt")),
        "s.toml:5:1: `group.rrt`: unknown",
    );
    // With an invalid duration nothing is reported as too late.
    let late = "start = \"100s\"\n[[at]]\ntime = \"100s\"\naqm = \"pie\"\n";
    one_fault(
        &format!("duration = \"120\"\nwarmup = \"70s\"\n{link}{group}{late}"),
        "s.toml:1:12: `duration`: found \"120\"",
    );
    // Settings that depend on a refused one.
    one_fault(
        &format!("aqm.l_aqm = \"rmap\"\naqm.ramp = [\"1ms\", \"2ms\"]\n{link}{group}"),
        "s.toml:1:13: `aqm.l_aqm`: found \"rmap\"",
    );
    // A skip for a list that is refused.
    let sweep = "[sweep]\n\"group.A.rtt\" = []\n[[sweep.skip]]\ngroup.A.rtt = \"1ms\"";
    one_fault(
        &format!("{link}{group}{sweep}"),
        "s.toml:7:17: `sweep.group.A.rtt`: the list is empty",
    );
}

#[test]
fn nothing_that_steers_a_terminal_is_in_a_fault() {
    let hostile = "\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\r\n\t";
    let toml = r"\u001B[31m\u009B2J\u007F\u202E\r\n\t";
    let keys = ["KEY", "link.KEY", "aqm.KEY", "sweep.KEY", "group.A.rtt"];
    let texts = keys.map(|key| key.replace("KEY", &format!("\"{toml}\"")));
    let texts = texts.iter().map(|key| format!("{key} = \"{toml}\"\n")).chain([
        format!("link.rate = \"{toml}\"\nlink.buffer = \"{toml}\""),
        format!(
            "aqm = \"{toml}\"\n[[group]]\nname = \"{toml}\"\ncc = \"{toml}\"\nstart = [\"{toml}\"]"
        ),
        format!(
            "{GOOD}[[web]]\ngroup = \"{toml}\"\nrate = \"{toml}\"\n[[at]]\ngroup.\"{toml}\".rtt = 1"
        ),
        format!(
            "{GOOD}[[hop]]\nname = \"{toml}\"\ngroups = [\"{toml}\"]\n[[udp]]\necn = \"{toml}\""
        ),
        format!("{GOOD}[[sweep.case]]\nlabel = \"{toml}\"\n\"group.*.rtt\" = \"{toml}\""),
        format!("{GOOD}[sweep]\n\"group.A.rtt\" = [\"{toml}\", \"1ms\"]\nx = \"{toml}\""),
        format!("a = 1 # {hostile}\n= \"{hostile}"),
    ]);
    for text in texts {
        for set in [vec![], vec![format!("{hostile}={hostile}"), hostile.to_owned()]] {
            let name = format!("{hostile}.toml");
            let Err(faults) = Plan::parse(&name, &text, &set) else { panic!("{text}") };
            let steers = |text: &str| text.chars().any(|c| l4s_units::steers(c) && c != '\n');
            assert!(!steers(&faults.report()), "{:?}", faults.report());
            for fault in &faults.0 {
                let words = [&fault.message, &fault.source_name].into_iter();
                for words in words.chain(&fault.note) {
                    assert!(!words.chars().any(l4s_units::steers), "{words:?}");
                }
                assert!(!fault.help.as_deref().is_some_and(steers), "{:?}", fault.help);
            }
        }
    }
}

#[test]
fn an_empty_list_of_groups() {
    let message = refused_text("group = []\nlink.rate = \"4mbit\"", &[]);
    assert!(message.starts_with("s.toml:1:9: nothing sends: expected at least one"), "{message}");
}

#[test]
fn groups_without_any_flow() {
    let text = GOOD.replacen("flows = 1", "flows = 0", 1).replacen("\"B\"", "\"B\"\nflows = 0", 1);
    let expected = "s.toml:14:1: nothing sends: every `flows` is 0 and there is no `[[web]]`, \
                    `[[app]]`, `[[program]]` or `[[udp]]`";
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
        "--set:1:1: `link.rat`: unknown key, expected `rate`, `trace`, `trace_offset`, \
         `trace_scale`, `buffer`, `burst`, `ack_loss`, `aggregation`, `wifi` or `cell`; \
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

/// An MSDU has 2304 B, 8 of them LLC and SNAP: 2296 B of IP, and a segment of 52 less.
#[test]
fn packets_that_are_too_long_for_wifi_are_refused() {
    let over = |list: &str, size: &str, path: &str, most: u64| {
        format!(
            "`{list}`: found {size} over `{path}.wifi`, expected at most {most}: 802.11 carries packets of \
             2296 B of IP"
        )
    };
    let message = |text: &str, set: &[&str]| {
        let message = refused_text(text, set);
        message.split_once("`").map(|(_, message)| format!("`{message}")).unwrap()
    };
    let wifi = GOOD.replace("rate   = \"40mbit\"", "wifi.mcs = 3");
    assert_eq!(message(&wifi, &["group.A.mss=2245"]), over("group.mss", "2245", "link", 2244));
    let udp = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\npacket = \"2297b\"\n";
    let found = message(&format!("{wifi}{udp}"), &[]);
    assert_eq!(found, over("udp.packet", "\"2297b\"", "link", 2296));
    let hop = format!("{GOOD}[[hop]]\nname = \"h\"\ngroups = [\"A\"]\nwifi.mcs = 3\n");
    assert_eq!(message(&hop, &["group.A.mss=8948"]), over("group.mss", "8948", "hop", 2244));
    let up = format!("{GOOD}[uplink]\nwifi.mcs = 3\n");
    let set = ["group.B.mss=3000", "group.B.direction=up"];
    assert_eq!(message(&up, &set), over("group.mss", "3000", "uplink", 2244));
    // Those that fit, and those that go another way.
    for (text, set) in
        [(&wifi, "group.A.mss=2244"), (&hop, "group.B.mss=8948"), (&up, "group.B.mss=8948")]
    {
        assert!(Plan::parse("s.toml", text, &[set.to_owned()]).is_ok(), "{set}");
    }
}

#[test]
fn a_path_that_is_not_there_cannot_be_set() {
    let path = "[[path]]\nname = \"wifi\"\nloss = 0.1\n";
    assert_eq!(
        refused_text(&format!("{GOOD}{path}"), &["path.wify.loss=0.2"]),
        "--set:1:1: `path.wify.loss`: no path `wify`, expected `wifi`; did you mean `wifi`?"
    );
    assert_eq!(
        refused_text(GOOD, &["path.wifi.loss=0.2"]),
        "--set:1:1: `path.wifi.loss`: there is no path"
    );
    let faults = refused_text(&format!("{GOOD}{path}"), &["path.wifi.los=0.2"]);
    assert!(faults.contains("`path.los`: unknown key"), "{faults}");
}

#[test]
fn a_hop_that_is_not_there_cannot_be_set() {
    let hop = "[[hop]]\nname = \"access\"\nrate = \"1mbit\"\n";
    assert_eq!(
        refused_text(&format!("{GOOD}{hop}"), &["hop.acess.rate=1mbit"]),
        "--set:1:1: `hop.acess.rate`: no hop `acess`, expected `access`; did you mean `access`?"
    );
    assert_eq!(
        refused_text(GOOD, &["hop.access.rate=1mbit"]),
        "--set:1:1: `hop.access.rate`: there is no hop"
    );
}

#[test]
fn more_links_than_anybody_has() {
    let hops: String = (0..11)
        .map(|n| format!("[[hop]]\nname = \"{n}\"\nrate = \"1mbit\"\nper = \"flow\"\n"))
        .collect();
    // 10,000 flows of A and one of B.
    let found = refused_text(&format!("{GOOD}{hops}"), &["group.A.flows=10000"]);
    assert_eq!(found, "s.toml:24:1: `hop`: 110011 links in all, expected at most 100000");
}
