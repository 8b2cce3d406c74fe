//! Every kind of wrong input, with its exact message: the place, the value found, the accepted ones, the remedy.

use l4s_trace::{Format, Kind, MAX_BYTES, MAX_ENTRIES, Problem, Step, Trace, TraceError};
use l4s_units::{Duration, Probability, Rate};

const FORMATS: &str =
    "a mahimahi trace (whole milliseconds, one a line), CSV with a header, and JSON of netem-trace";

fn error(bytes: impl AsRef<[u8]>) -> TraceError {
    Trace::read(bytes.as_ref()).unwrap_err()
}

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, message: &str) {
    assert_eq!(error(bytes).to_string(), message);
}

/// The same of a CSV with times in seconds and rates in Mb/s.
#[track_caller]
fn row(rows: &str, message: &str) {
    refused(format!("time_s,rate_mbps\n{rows}\n"), message);
}

#[test]
fn nothing_and_white_space() {
    refused("", &format!("the trace is empty; accepted are {FORMATS}"));
    refused("\u{feff}", &format!("the trace is empty; accepted are {FORMATS}"));
    refused(" \n\t\r\n", &format!("there is only white space; accepted are {FORMATS}"));
    let error = Trace::from_opportunities([]).unwrap_err();
    assert_eq!(error.to_string(), format!("the trace is empty; accepted are {FORMATS}"));
    let error = Trace::from_steps([], Duration::from_secs(1)).unwrap_err();
    assert_eq!(error.problem, Problem::Empty);
}

#[test]
fn bytes_that_are_no_text() {
    refused(
        b"1\n2\n\xff\n",
        &format!("line 3: the byte 0xff is no text in UTF-8; accepted are {FORMATS}"),
    );
    refused(
        b"\x7fELF\x02",
        &format!("line 1: the byte 0x7f is no text in UTF-8; accepted are {FORMATS}"),
    );
    refused(
        b"1\n2\x00\n",
        &format!("line 2: the byte 0x00 is no text in UTF-8; accepted are {FORMATS}"),
    );
    refused(
        b"1\n\x1b[31m2\n",
        &format!("line 2: the byte 0x1b is no text in UTF-8; accepted are {FORMATS}"),
    );
    refused(b"\x1f\x8b\x08\0", "this is gzip data; unpack it first");
    refused(b"\xfd7zXZ\0\0", "this is xz data; unpack it first");
    refused(b"\x28\xb5\x2f\xfd\0", "this is zstd data; unpack it first");
    refused(b"BZh91AY", "this is bzip2 data; unpack it first");
    refused(b"PK\x03\x04", "this is zip data; unpack it first");
}

#[test]
fn utf_16_is_named() {
    let text =
        "the text is in UTF-16 or UTF-32; save it as UTF-8 (such as `iconv -f utf-16 -t utf-8`)";
    let little: Vec<u8> = "1\n2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = "1\n2\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    refused(&little, text);
    refused(&big, text);
    refused([&b"\xff\xfe"[..], &little].concat(), text);
    refused([&b"\xfe\xff"[..], &big].concat(), text);
    // UTF-32, either way.
    refused(b"\0\0\xfe\xff\0\0\0\x31", text);
    refused(b"\xff\xfe\0\0\x31\0\0\0", text);
}

#[test]
fn crlf_and_byte_order_marks_are_accepted() {
    let plain = Trace::read(b"1\n2\n").unwrap();
    for bytes in
        [&b"1\r\n2\r\n"[..], b"\xef\xbb\xbf1\n2\n", b"1\n2", b" 1\n+2\n", b"\xef\xbb\xbf1\r\n2"]
    {
        assert_eq!(Trace::read(bytes).as_ref(), Ok(&plain), "{bytes:?}");
    }
    let plain = Trace::read(b"time_s,rate_bps\n0,5\n1,\n").unwrap();
    for text in [
        "time_s,rate_bps\r\n0,5\r\n1,\r\n",
        "\u{feff}time_s,rate_bps\n0,5\n1,",
        "\"time_s\" , \"rate_bps\"\n\"0\",\"5\"\n1,\n",
        "TIME_S,Rate_bps\n0,5\n1,\n",
        "rate_bps,time_ms\n5,1000\n,2000\n",
    ] {
        assert_eq!(Trace::read(text.as_bytes()).as_ref(), Ok(&plain), "{text}");
    }
    let json = "\u{feff}{\"StaticBwConfig\":{\"bw\":\"5bps\"}}\r\n";
    assert_eq!(Trace::read(json.as_bytes()).as_ref(), Ok(&plain));
}

#[test]
fn mahimahi_times() {
    let whole = "a whole number of milliseconds, one a line, as mahimahi has them";
    refused(
        "3\n1\n",
        "line 2: the time 1 ms is before 3 ms of the entry before it; times increase",
    );
    refused(
        "0\n0\n",
        "line 2: the trace ends at time 0; its last time must be later, because it repeats from there",
    );
    refused(
        "1\n\n2\n",
        "line 2: the line is empty; each line has one number, and only the end of the file has none",
    );
    refused(
        "1\n2\n\n",
        "line 3: the line is empty; each line has one number, and only the end of the file has none",
    );
    refused("1\nfive\n", &format!("line 2: `five` is not {whole}"));
    refused("-5\n", &format!("line 1: `-5` is not {whole}; it is negative"));
    refused(
        "nan\n",
        &format!("line 1: `nan` is not {whole}; NaN has no value; leave such rows out"),
    );
    refused("1\ninf\n", &format!("line 2: `inf` is not {whole}; it is infinite"));
    refused("1\n2.5\n", &format!("line 2: `2.5` is not {whole}; the nearest is 3"));
    refused("1\n1e3\n", &format!("line 2: `1e3` is not {whole}; the nearest is 1000"));
    refused(
        "18446744073709551616\n",
        &format!("line 1: `18446744073709551616` is not {whole}; it is too large"),
    );
    refused(
        "0.0 4.03\n0.5 3.1\n",
        &format!(
            "line 1: `0.0 4.03` is not {whole}; for times and rates write CSV with a header such as `time_s,rate_mbps`"
        ),
    );
    refused(
        "1\n4294967296\n",
        "line 2: the time 4294967296 ms is above the limit of 4294967.295s (49 days); times count from the start of the trace",
    );
    // 83,112 packets in a millisecond are 1.000004 Tb/s.
    let fast = "1\n".repeat(83_112);
    refused(&fast, "line 83112: the rate 1000003584000bit is above the limit of 1 Tb/s");
    assert!(Trace::read("1\n".repeat(83_111).as_bytes()).is_ok());
}

#[test]
fn a_long_line_of_a_file_is_cut_in_a_message_and_steers_no_terminal() {
    let message = error(format!("1\n{}\n", "x".repeat(1_000))).to_string();
    assert!(message.contains(&format!("`{}…` is not", "x".repeat(40))), "{message}");
    let message = error("1\n\u{202e}5\n").to_string();
    assert!(message.contains("`\\u202E5` is not"), "{message}");
}

#[test]
fn headers_of_csv() {
    let columns = "accepted are `time_s` or `time_ms`, `rate_bps`, `rate_kbps` or `rate_mbps`, `delay_ms` and `loss`";
    refused(
        "0,5\n1,6\n",
        "line 1: the first line is `0,5`; it must be a header such as `time_s,rate_mbps`",
    );
    refused(
        "time_s;rate_mbps\n0;5\n",
        "line 1: the columns of the header are separated by semicolons; accepted are commas",
    );
    refused(
        "time_s\trate_mbps\n0\t5\n",
        "line 1: the columns of the header are separated by tabs; accepted are commas",
    );
    refused(
        "time_s,rate_mbit\n0,5\n",
        &format!("line 1: `rate_mbit` is no column; {columns}; did you mean `rate_mbps`?"),
    );
    refused(
        "time_s,rate_mpbs\n0,5\n",
        &format!("line 1: `rate_mpbs` is no column; {columns}; did you mean `rate_mbps`?"),
    );
    refused(
        "seconds,rate_mbps\n0,5\n",
        &format!("line 1: `seconds` is no column; {columns}; did you mean `time_s`?"),
    );
    refused(
        "time_s,bandwidth_kbps\n0,5\n",
        &format!("line 1: `bandwidth_kbps` is no column; {columns}; did you mean `rate_kbps`?"),
    );
    for (name, help) in [
        ("time_msec", "did you mean `time_ms`?"),
        ("time_us", "convert it to `time_s` or `time_ms`"),
        ("time_min", "convert it to `time_s` or `time_ms`"),
        ("delay_us", "convert it to `delay_ms`"),
        ("delay_s", "convert it to `delay_ms`"),
        ("loss_percent", "convert it to `loss`"),
        ("rate_gbps", "convert it to `rate_bps` or `rate_kbps` or `rate_mbps`"),
        // Bytes, which are no bits.
        ("rate_MBps", "it is in bytes; multiply by 8 for `rate_mbps`"),
        ("rate_kBps", "it is in bytes; multiply by 8 for `rate_kbps`"),
        ("rate_Bps", "it is in bytes; multiply by 8 for `rate_bps`"),
        ("MBps", "it is in bytes; multiply by 8 for `rate_mbps`"),
        ("rate_GBps", "it is in bytes; convert it to bits"),
        ("bandwidth_MB/s", "it is in bytes; multiply by 8 for `rate_mbps`"),
    ] {
        refused(
            format!("{name},rate_mbps\n0,5\n"),
            &format!("line 1: `{name}` is no column; {columns}; {help}"),
        );
    }
    refused(
        "time_s,rate_bps,rtt_ms\n0,5,6\n",
        &format!("line 1: `rtt_ms` is no column; {columns}"),
    );
    // All of it in capitals is no difference.
    assert!(Trace::read(b"TIME_S,RATE_MBPS\n0,5\n").is_ok());
    refused(
        "time_s,rate_mbps,colour\n0,5,x\n",
        &format!("line 1: `colour` is no column; {columns}"),
    );
    refused(
        "time_s,time_ms,rate_bps\n0,0,5\n",
        "line 1: `time_ms` and `time_s` are both columns of the time; one is accepted",
    );
    refused(
        "time_s,rate_bps,rate_bps\n0,5,5\n",
        "line 1: `rate_bps` and `rate_bps` are both columns of the rate; one is accepted",
    );
    refused(
        "time_s,loss\n0,0\n",
        "line 1: there is no column of the rate; accepted are `rate_bps`, `rate_kbps` and `rate_mbps`",
    );
    refused(
        "rate_bps,loss\n0,0\n",
        "line 1: there is no column of the time; accepted are `time_s` and `time_ms`",
    );
    refused(
        "time_s,rate_bps\n",
        "line 1: there is a header and no row with a rate; at least one is accepted",
    );
    refused(
        "time_s,rate_bps\n5,\n",
        "line 2: there is a header and no row with a rate; at least one is accepted",
    );
}

#[test]
fn comments() {
    for (text, line) in [
        ("# a comment\ntime_s,rate_mbps\n0,5\n", 1),
        ("# time_s,rate_mbps\n0,5\n", 1),
        ("time_s,rate_mbps\n# from here on\n0,5\n", 2),
        ("#ms\n1\n", 1),
        ("1\n # two\n2\n", 2),
    ] {
        refused(text, &format!("line {line}: the line begins with `#`; comments are not accepted"));
    }
}

#[test]
fn rows_of_csv() {
    let time = "a time from 0 on";
    let rate = "a rate from 0 to 1 Tb/s";
    row("0,5\n1", "line 3: the line has 1 fields and the header has 2");
    row("0,5,6", "line 2: the line has 3 fields and the header has 2");
    row(
        "0,5\n\n1,6",
        "line 3: the line is empty; each line has one number, and only the end of the file has none",
    );
    row("x,5", &format!("line 2, column `time_s`: `x` is not {time}"));
    row("0,5\n-1,6", &format!("line 3, column `time_s`: `-1` is not {time}; it is negative"));
    row(
        "0,5\nnan,6",
        &format!(
            "line 3, column `time_s`: `nan` is not {time}; NaN has no value; leave such rows out"
        ),
    );
    row("0,-5", &format!("line 2, column `rate_mbps`: `-5` is not {rate}; it is negative"));
    row(
        "0,NaN",
        &format!(
            "line 2, column `rate_mbps`: `NaN` is not {rate}; NaN has no value; leave such rows out"
        ),
    );
    row("0,inf", &format!("line 2, column `rate_mbps`: `inf` is not {rate}; it is infinite"));
    row("0,1e99", &format!("line 2, column `rate_mbps`: `1e99` is not {rate}; it is too large"));
    row(
        "0,1000000.1",
        "line 2, column `rate_mbps`: the rate 1000000.1mbit is above the limit of 1 Tb/s; is the column `rate_kbps`?",
    );
    row(
        "0,5\n2,6\n1,7",
        "line 4, column `time_s`: the time 1s is before 2s of the entry before it; times increase",
    );
    row(
        "5,5\n4,6",
        "line 3, column `time_s`: the time 4s is before 5s of the entry before it; times increase",
    );
    row(
        "0,5\n1,6\n1,7",
        "line 4, column `time_s`: the time 1s is there twice; each step begins later than the one before it",
    );
    row(
        "0,5\n1,\n2,6",
        "line 4: a row follows the one without a rate, which is the end of the trace",
    );
    row(
        "0,0\n1,0\n2,",
        "line 4: every rate is 0, so that nothing ever passes; at least one must be above 0",
    );
    row(
        "0,5\n0,",
        "line 3: the trace ends at time 0; its last time must be later, because it repeats from there",
    );
    row(
        "0,5\n1,6\n1,",
        "line 4: the time 1s is before 1s of the entry before it; times increase; the trace ends after its last step begins",
    );
    row(
        "0,5\n4294968,6",
        "line 3, column `time_s`: the time 4294968s is above the limit of 4294967.295s (49 days); times count from the start of the trace",
    );
    refused(
        "time_s,rate_bps\n0,1000000000001\n",
        "line 2, column `rate_bps`: the rate 1000000000.001kbit is above the limit of 1 Tb/s",
    );
}

#[test]
fn delay_and_loss_of_csv() {
    let table = |rows: &str| format!("time_s,rate_mbps,delay_ms,loss\n{rows}\n");
    let loss = "a loss from 0 to 1";
    refused(
        table("0,5,,0"),
        "line 2, column `delay_ms`: `` is not a delay from 0 to 4000 ms; the field is empty",
    );
    refused(
        table("0,5,4001,0"),
        "line 2, column `delay_ms`: the one-way delay 4.001s is above the limit of 4s",
    );
    refused(
        table("0,5,20,1.5"),
        &format!("line 2, column `loss`: `1.5` is not {loss}; if it is per cent, write 0.015"),
    );
    refused(
        table("0,5,20,-0.1"),
        &format!("line 2, column `loss`: `-0.1` is not {loss}; it is negative"),
    );
    refused(table("0,5,20,200"), &format!("line 2, column `loss`: `200` is not {loss}"));
    refused(
        table("0,5,20,nan"),
        &format!(
            "line 2, column `loss`: `nan` is not {loss}; NaN has no value; leave such rows out"
        ),
    );
}

#[test]
fn json_of_netem_trace() {
    let accepted = "accepted are `StaticBwConfig`, `TraceBwConfig`, `RepeatedBwPatternConfig`";
    refused("{", "line 1, column `1`: EOF while parsing an object");
    refused("{}", &format!("line 1, column `2`: an empty object is no trace; {accepted}"));
    refused(
        "[1,2]",
        "line 1: invalid type: sequence, expected a trace of netem-trace, such as {\"StaticBwConfig\":{…}}",
    );
    refused(
        r#"{"NormalizedBwConfig":{}}"#,
        &format!(
            "line 1, column `21`: `NormalizedBwConfig` is a formula and no data; write its values as `TraceBwConfig`; {accepted}"
        ),
    );
    refused(
        r#"{"SawtoothBwConfig":{}}"#,
        &format!(
            "line 1, column `19`: `SawtoothBwConfig` is a formula and no data; write its values as `TraceBwConfig`; {accepted}"
        ),
    );
    refused(
        r#"{"StaticDelayConfig":{}}"#,
        &format!("line 1, column `20`: `StaticDelayConfig` is no trace of bandwidth; {accepted}"),
    );
    refused(
        r#"{"StaticBw":{}}"#,
        &format!(
            "line 1, column `11`: `StaticBw` is no trace of netem-trace; {accepted}; did you mean `StaticBwConfig`?"
        ),
    );
    refused(
        r#"{"StaticBwConfig":{},"TraceBwConfig":{}}"#,
        "line 1, column `36`: `TraceBwConfig` follows `StaticBwConfig` in one object; each trace is an object of its own",
    );
    refused(
        r#"{"StaticBwConfig":{"bv":1}}"#,
        "line 1, column `23`: unknown field `bv`, expected `bw` or `duration`",
    );
    refused(
        "{\"StaticBwConfig\":\n{\"bw\":\"12Mpbs\"}}",
        "line 2, column `14`: invalid value: string \"12Mpbs\", expected a rate such as {\"gbps\":0,\"bps\":12000000} or \"12Mbps\"",
    );
    refused(
        r#"{"StaticBwConfig":{"bw":12}}"#,
        "line 1, column `26`: invalid type: integer `12`, expected a rate such as {\"gbps\":0,\"bps\":12000000} or \"12Mbps\"",
    );
    refused(
        r#"{"StaticBwConfig":{"bw":{"gbps":-1,"bps":0}}}"#,
        "line 1, column `34`: invalid value: integer `-1`, expected u64",
    );
    refused(
        r#"{"StaticBwConfig":{"bw":"2Tbps"}}"#,
        "line 1, column `32`: the rate 2000gbit is above the limit of 1 Tb/s",
    );
    refused(
        r#"{"StaticBwConfig":{"bw":"0bps"}}"#,
        "every rate is 0, so that nothing ever passes; at least one must be above 0",
    );
    refused(
        r#"{"StaticBwConfig":{"duration":"0s"}}"#,
        &format!("the trace is empty; accepted are {FORMATS}"),
    );
    refused(
        r#"{"RepeatedBwPatternConfig":{"pattern":[],"count":0}}"#,
        &format!("the trace is empty; accepted are {FORMATS}"),
    );
    let forever = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{}}],"count":0}}"#;
    refused(
        format!(
            r#"{{"RepeatedBwPatternConfig":{{"pattern":[{forever},{{"StaticBwConfig":{{}}}}],"count":2}}}}"#
        ),
        "a `RepeatedBwPatternConfig` with a count of 0 never ends, so only the outermost may have that",
    );
    let often =
        r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{}}],"count":20000001}}"#;
    refused(
        format!(
            r#"{{"RepeatedBwPatternConfig":{{"pattern":[{often},{{"StaticBwConfig":{{}}}}],"count":2}}}}"#
        ),
        "there are more than 20000000 entries, which is the limit; use a smaller `count`, or longer steps",
    );
}

#[test]
fn a_pattern_that_does_nothing_is_not_played_often() {
    let nothing = r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"duration":"0s"}}],"count":18446744073709551615}}"#;
    let json = format!(
        r#"{{"RepeatedBwPatternConfig":{{"pattern":[{nothing},{{"StaticBwConfig":{{}}}}],"count":3}}}}"#
    );
    assert_eq!(Trace::read(json.as_bytes()).unwrap().entries(), 1);
    // Brackets without an end do not exhaust the stack.
    let deep = "{\"RepeatedBwPatternConfig\":{\"pattern\":[".repeat(100_000);
    assert!(error(deep).to_string().contains("recursion limit exceeded"));
}

#[test]
fn limits_of_size() {
    let large = vec![b'1'; MAX_BYTES + 1];
    refused(&large, "100000001 bytes are too many; at most 100000000 are read");
    let many = "1\n".repeat(83_000) + &"2\n".repeat(MAX_ENTRIES + 1 - 83_000);
    refused(
        &many,
        "line 20000001: there are more than 20000000 entries, which is the limit; cut the trace into parts, or convert it to rates",
    );
    let steps =
        (0..=MAX_ENTRIES as u64).map(|n| Step::new(Duration::from_nanos(n), Rate::from_mbps(1)));
    let error = Trace::from_steps(steps, Duration::from_secs(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are more than 20000000 entries, which is the limit; cut the trace into parts, or use longer steps",
    );
}

#[test]
fn values_of_steps() {
    let second = Duration::from_secs(1);
    let of = |steps: &[Step], period| {
        Trace::from_steps(steps.iter().copied(), period).unwrap_err().to_string()
    };
    let first = Step::new(Duration::ZERO, Rate::from_mbps(1));
    assert_eq!(
        of(&[Step { at: second, ..first }], second * 2),
        "the first step begins at 1s; it must begin at 0s"
    );
    let delayed = Step { delay: Some(Duration::ZERO), at: second, ..first };
    let some =
        "some steps have a delay and others have none; either all steps have one or none has";
    let undelayed = Step { at: second, ..first };
    assert_eq!(of(&[Step { at: Duration::ZERO, ..delayed }, undelayed], second * 2), some);
    // The other way round.
    assert_eq!(of(&[first, delayed], second * 2), some);
    let lossy = Step { loss: Some(Probability::ZERO), ..first };
    assert!(of(&[lossy, undelayed], second * 2).starts_with("some steps have a loss"));
    assert!(
        of(&[first], Duration::from_secs(50 * 86_400))
            .starts_with("the time 4320000s is above the limit")
    );
    assert!(of(&[first], Duration::ZERO).starts_with("the trace ends at time 0"));
}

#[test]
fn a_format_that_cannot_express_a_trace_says_so() {
    let opportunities = Trace::from_opportunities([1, 2]).unwrap();
    let steps = Trace::read(b"time_s,rate_bps\n0,5\n").unwrap();
    assert_eq!((opportunities.kind(), steps.kind()), (Kind::Opportunities, Kind::Steps));
    let message = |trace: &Trace, format| trace.write(format).unwrap_err().to_string();
    assert_eq!(
        message(&steps, Format::Mahimahi),
        "mahimahi's format has opportunities, and this trace has rates; convert it first",
    );
    assert_eq!(
        message(&opportunities, Format::Csv),
        "CSV has rates, and this trace has opportunities; convert it first",
    );
    assert_eq!(
        message(&opportunities, Format::Json),
        "the JSON of netem-trace has rates, and this trace has opportunities; convert it first",
    );
    let delayed = Trace::read(b"time_s,rate_bps,delay_ms\n0,5,20\n").unwrap();
    assert_eq!(
        message(&delayed, Format::Json),
        "the JSON of netem-trace has rates alone, and this trace has a delay or a loss; CSV has both",
    );
}

#[test]
fn conversions_that_are_out_of_range() {
    let trace = Trace::from_opportunities([1, 50_000_000]).unwrap();
    let message = |interval| trace.to_steps(interval).unwrap_err().to_string();
    let whole = "accepted is a whole number of milliseconds above 0";
    assert_eq!(message(Duration::ZERO), format!("the interval is 0s; {whole}"));
    assert_eq!(message(Duration::from_micros(1_500)), format!("the interval is 1.5ms; {whole}"));
    assert!(message(Duration::from_millis(1)).ends_with("use a longer interval"));
    let fast = Trace::read(b"time_s,rate_mbps\n0,1000000\n1,\n").unwrap();
    // 83 million opportunities.
    assert!(fast.to_opportunities().unwrap_err().to_string().ends_with("cut the trace into parts"));
    // All opportunities of 2 s in one millisecond are 2 Tb/s there, and are no rate.
    let burst = Trace::from_opportunities(std::iter::repeat_n(1, 160_000).chain([2_000])).unwrap();
    let error = burst.to_steps(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(error.problem, Problem::TooFast { .. }), "{error}");
}
