//! Links that follow a trace: bundled ones, files, and who may read those.

use std::fs;
use std::path::Path;

use l4s_model::Buffer;
use l4s_scenario::{Files, Plan, Template, copies, record, show, with_copy};
use l4s_units::{Bytes, Duration, Rate};
use serde_json::Value;

const GROUP: &str = "[[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n";

/// A folder of this test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// The scenario with these lines in `[link]`, as a file.
    fn scenario(&self, link: &str) -> String {
        self.write("s.toml", format!("[link]\n{link}\n{GROUP}"))
    }

    fn open(&self, link: &str) -> Result<Plan, String> {
        Plan::open(&self.scenario(link), &[]).map_err(|refused| refused.report())
    }

    /// The message about a trace with these contents.
    fn refused(&self, contents: impl AsRef<[u8]>) -> String {
        self.write("t.csv", contents);
        let report = self.open("trace = \"t.csv\"").unwrap_err();
        let first = report.lines().next().unwrap_or_default();
        first.replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn parse(link: &str, set: &[&str]) -> Result<Plan, String> {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let plan = Plan::parse("s.toml", &format!("[link]\n{link}\n{GROUP}"), &set);
    plan.map_err(|faults| {
        let line = |fault: &l4s_scenario::Fault| match &fault.help {
            Some(help) => format!("{fault}; {help}"),
            None => fault.to_string(),
        };
        faults.0.iter().map(line).collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn a_bundled_trace_is_played_with_offset_and_scale() {
    let plan = parse("trace = \"lte-1\"\ntrace_offset = \"10s\"\ntrace_scale = \"20mbit\"", &[]);
    let link = &plan.unwrap().points[0].scenario.link;
    let capacity = link.trace.as_ref().unwrap();
    assert_eq!(link.rate, Rate::from_mbps(20));
    assert_eq!(capacity.play().offset, Duration::from_secs(10));
    assert_eq!(capacity.file(), "lte-1");
    assert_eq!(*capacity.trace(), l4s_trace::Bundled::find("lte-1").unwrap().trace());
}

#[test]
fn a_buffer_of_a_time_is_of_the_mean_rate() {
    let plan = parse("trace = \"lte-1\"\ntrace_scale = \"8mbit\"\nbuffer = \"100ms\"", &[]);
    // 100 ms at 8 Mb/s.
    let limit = plan.unwrap().points[0].scenario.aqm.limit();
    assert_eq!(limit.bytes, Bytes::new(100_000));
}

#[test]
fn rate_and_trace_exclude_each_other() {
    assert_eq!(
        parse("rate = \"4mbit\"\ntrace = \"lte-1\"", &[]).unwrap_err(),
        "s.toml:3:1: `link.trace`: the link has a `rate` already; leave out one of them; \
         `trace_scale` gives a trace another mean rate"
    );
    assert_eq!(
        parse("rate = \"4mbit\"", &["link.rate=5mbit", "link.trace=lte-1"]).unwrap_err(),
        "--set:1:1: `link.trace`: the link has a `rate` already; leave out one of them; \
         `trace_scale` gives a trace another mean rate"
    );
    assert_eq!(
        parse("buffer = \"9p\"", &[]).unwrap_err(),
        "s.toml:1:1: `link.rate` is missing: bits per second, 14 B of Ethernet per packet included, \
         such as \"40mbit\"; or `trace`, or a table `wifi` or `cell`"
    );
}

/// A measured link can be tried with any scenario, and a rate in the place of a trace or a radio.
#[test]
fn a_setting_replaces_another_kind_of_capacity() {
    let link = |text: &str, set: &[&str]| parse(text, set).unwrap().points[0].scenario.link.clone();
    let traced = link("rate = \"4mbit\"\nbuffer = \"9p\"", &["link.trace=lte-1"]);
    assert_eq!(traced.trace.unwrap().file(), "lte-1");
    assert_eq!(traced.buffer, Buffer::Packets(9));
    // Keys of a trace go with it.
    let text = "trace = \"lte-1\"\ntrace_offset = \"1s\"\ntrace_scale = \"9mbit\"";
    let rated = link(text, &["link.rate=4mbit"]);
    assert_eq!((rated.rate, rated.trace), (Rate::from_mbps(4), None));
    let other = link(text, &["link.trace=5g-1"]).trace.unwrap();
    assert_eq!((other.file(), other.play().offset), ("5g-1", Duration::from_secs(1)));
    assert!(link("wifi.mcs = 3", &["link.rate=4mbit"]).radio.is_none());
    assert!(link("wifi.mcs = 3", &["link.trace=lte-1"]).radio.is_none());
    assert!(link("rate = \"4mbit\"", &["link.cell.mcs=9"]).radio.is_some());
    // A sweep says more than the text, too, and two axes exclude each other.
    let swept = "rate = \"4mbit\"\n[sweep]\nlink.trace = [\"lte-1\", \"5g-1\"]";
    assert_eq!(parse(swept, &[]).unwrap().points.len(), 2);
    assert!(parse(swept, &["link.rate=9mbit"]).unwrap_err().contains("already"));
}

#[test]
fn the_keys_of_a_trace_need_one() {
    for key in ["trace_offset = \"1s\"", "trace_scale = \"1mbit\""] {
        let name = key.split(' ').next().unwrap();
        assert_eq!(
            parse(&format!("rate = \"4mbit\"\n{key}"), &[]).unwrap_err(),
            format!("s.toml:3:1: `link.{name}` has no effect without `trace`")
        );
    }
}

#[test]
fn offset_and_scale_have_limits() {
    let refused = |key: &str| parse(&format!("trace = \"lte-1\"\n{key}"), &[]).unwrap_err();
    let offset =
        "`link.trace_offset`: found \"72000min\", expected a time such as \"10ms\", from 0s to";
    assert!(refused("trace_offset = \"72000min\"").contains(offset));
    for scale in ["0bit", "-1mbit", "nan", "2000gbit"] {
        let message = refused(&format!("trace_scale = \"{scale}\""));
        assert!(message.contains("`link.trace_scale`: found"), "{message}");
        assert!(message.contains("from 1kbit to 1000gbit"), "{message}");
    }
}

#[test]
fn a_trace_neither_aggregates_nor_changes_its_rate() {
    assert_eq!(
        parse("trace = \"lte-1\"\naggregation = \"2ms\"", &[]).unwrap_err(),
        "s.toml:3:1: `link.aggregation`: found \"2ms\" beside `trace`, expected \"0s\": a trace has \
         pauses of its own"
    );
    assert!(parse("trace = \"lte-1\"\naggregation = \"0s\"", &[]).is_ok());
    let at = "[[at]]\ntime = \"9s\"\nlink.rate = \"1mbit\"";
    assert_eq!(
        parse(&format!("trace = \"lte-1\"\n{at}"), &[]).unwrap_err(),
        "s.toml:5:13: `at.link.rate`: the link follows `link.trace`, which has rates of its own; \
         leave out one of them, or write the change into the trace"
    );
}

#[test]
fn only_the_bottleneck_follows_a_trace() {
    let hop = "[[hop]]\nname = \"h\"\ntrace = \"lte-1\"";
    assert_eq!(
        parse(&format!("rate = \"1mbit\"\n{hop}"), &[]).unwrap_err(),
        "s.toml:5:1: `hop.trace`: only the bottleneck and the uplink follow a trace; give it a `rate` here, or let \
         `link.trace` be the varying link"
    );
}

#[test]
fn a_name_of_nothing_gets_the_nearest_bundled_one() {
    let message = parse("trace = \"lte-3\"", &[]).unwrap_err();
    let expected = "s.toml:2:9: `link.trace`: found \"lte-3\", expected a bundled trace: `lte-1`, ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.ends_with("did you mean `lte-1`?"), "{message}");
    let message = parse("trace = 3", &[]).unwrap_err();
    assert!(message.contains("found 3, expected a bundled trace (`lte-1`, "), "{message}");
    assert!(parse("trace = \"\"", &[]).is_err());

    let report = Folder::new().open("trace = \"wify-1\"").unwrap_err();
    assert!(report.contains("wify-1: cannot read this trace: No such file"), "{report}");
    assert!(report.contains("help: did you mean `wifi-1`?"), "{report}");
}

/// Every way into a plan that others' texts take.
#[test]
fn a_text_without_files_reads_none() {
    let folder = Folder::new();
    let file = folder.write("secret.csv", "time_s,rate_mbps\n0,nonsense\n");
    let text = format!("link.trace = \"{file}\"\n{GROUP}");
    let swept = format!("link.trace = \"lte-1\"\nsweep.\"link.trace\" = [\"{file}\"]\n{GROUP}");
    let set = vec![format!("link.trace={file}")];
    let base = format!("link.trace = \"lte-1\"\n{GROUP}");
    let whole = vec![format!("link={{ trace = \"{file}\" }}"), format!("link.trace=\"{file}\"")];
    let budget = l4s_scenario::Budget::default();
    let refusals = [
        Plan::parse("s", &text, &[]),
        Plan::parse("s", &swept, &[]),
        Plan::first("s", &text, &[]),
        Plan::parse("s", &base, &set),
        Plan::parse("s", &base, &whole),
        Plan::parse_within("s", &base, &set, &budget),
        Template::parse("s", &text).unwrap().first(&[]),
        Template::parse("s", &base).unwrap().first(&set),
    ];
    for refusal in refusals {
        let message = refusal.unwrap_err().to_string();
        assert!(!message.contains("nonsense") && !message.contains("line 2"), "{message}");
        assert!(
            message.contains("expected a bundled trace") || message.contains("no such key"),
            "{message}"
        );
    }
    // A missing file is not told from one that is there.
    let of = |name: &str| {
        Plan::parse("s", &format!("link.trace = \"{name}\"\n{GROUP}"), &[]).unwrap_err().to_string()
    };
    let there = of("/etc/passwd").replace("/etc/passwd", "");
    assert_eq!(there, of("/etc/nobody").replace("/etc/nobody", ""));
}

/// As on a live page: the operator's text may name files, the settings of viewers may not.
#[test]
fn settings_have_rights_of_their_own() {
    let folder = Folder::new();
    folder.write("t.csv", "time_s,rate_mbps\n0,5\n1,\n");
    let file = folder.scenario("trace = \"t.csv\"");
    let text = fs::read_to_string(&file).unwrap();
    let files = Files::of(&file);
    let template = Template::parse(&file, &text).unwrap().with_files(files.clone());
    let budget = l4s_scenario::Budget::default();
    assert!(template.first_within(&[], &budget).is_ok());
    let set = l4s_scenario::Override::new(&format!("link.trace={}", folder.path("t.csv")));
    assert!(template.first_within(std::slice::from_ref(&set), &budget).is_err());
    let set = set.with_files(files.of_user());
    assert!(template.first_within(&[set], &budget).is_ok());
}

#[test]
fn files_are_relative_to_the_text_and_those_of_a_setting_to_the_current_folder() {
    let folder = Folder::new();
    folder.write("t.csv", "time_s,rate_mbps\n0,5\n1,\n");
    let plan = folder.open("trace = \"t.csv\"").unwrap();
    let link = &plan.points[0].scenario.link;
    assert_eq!(link.rate, Rate::from_mbps(5));
    // By the path that reaches it from the current folder.
    assert_eq!(link.trace.as_ref().unwrap().file(), folder.path("t.csv"));

    let set = ["link.trace=t.csv".to_owned()];
    let refused = Plan::open(&folder.scenario("trace = \"lte-1\""), &set).unwrap_err().report();
    assert!(refused.contains("--set:1:12: `link.trace`: t.csv: cannot read"), "{refused}");
    let set = [format!("link.trace={}", folder.path("t.csv"))];
    let plan = Plan::open(&folder.scenario("trace = \"lte-1\""), &set).unwrap();
    assert_eq!(plan.points[0].scenario.link.rate, Rate::from_mbps(5));
}

#[test]
fn relative_paths_begin_in_the_folder_that_they_are_given() {
    let folder = Folder::new();
    folder.write("t.csv", "time_s,rate_mbps\n0,5\n1,\n");
    let text = format!("link.trace = \"t.csv\"\n{GROUP}");
    let files = Files::of("mine.toml").within(folder.path(""));
    for set in [&[][..], &["link.trace=t.csv".to_owned()]] {
        let plan = Plan::parse_with("mine.toml", &text, set, &files).unwrap();
        assert_eq!(plan.points[0].scenario.link.trace.as_ref().unwrap().file(), "t.csv");
        let refused = Plan::parse_with("mine.toml", &text, set, &Files::of("mine.toml"));
        assert!(refused.unwrap_err().to_string().contains("`link.trace`: t.csv: cannot read"));
    }
}

#[test]
fn a_file_in_a_sweep_is_read_once_and_its_pin_finds_it() {
    let folder = Folder::new();
    folder.write("t.csv", "time_s,rate_mbps\n0,5\n1,15\n2,\n");
    let text = format!(
        "link.trace = \"lte-1\"\n{GROUP}[sweep]\n\"link.trace\" = [\"t.csv\", \"wifi-1\"]\nseed = [{}]\n",
        (0..500).map(|seed| seed.to_string()).collect::<Vec<_>>().join(", ")
    );
    let file = folder.write("s.toml", &text);
    let files = Files::of(&file);
    let plan = Plan::parse_with(&file, &text, &[], &files).unwrap();
    assert_eq!(plan.points.len(), 1000);
    // The file is gone, and the traces of the reader are not.
    fs::remove_file(folder.path("t.csv")).unwrap();
    assert!(Plan::parse_with(&file, &text, &[], &files).is_ok());
    assert!(Plan::open(&file, &[]).is_err());

    folder.write("t.csv", "time_s,rate_mbps\n0,5\n1,15\n2,\n");
    let pins: Vec<_> =
        plan.points[0].pins.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(pins, ["link.trace=t.csv"]);
    let again = Plan::open(&file, &pins).unwrap();
    assert_eq!(again.points.len(), 500);
    assert_eq!(again.points[0], plan.points[0]);
}

#[test]
fn what_is_shown_of_a_trace_reads_back() {
    let folder = Folder::new();
    folder.write("t.trace", "1\n1\n3\n");
    for keys in ["", "trace_offset = \"2ms\"\ntrace_scale = \"9mbit\"", "buffer = \"1s\""] {
        let plan = folder.open(&format!("trace = \"t.trace\"\n{keys}")).unwrap();
        let shown = show(&plan.points[0], None);
        let again = Plan::parse_with("again.toml", &shown, &[], &Files::of("")).unwrap();
        assert_eq!(again.points[0].scenario, plan.points[0].scenario, "{shown}");
    }
}

#[test]
fn a_wrong_file_is_told_with_its_line() {
    let folder = Folder::new();
    let at = "error: s.toml:2:9: `link.trace`: t.csv: ";
    let csv = |rows: &str| format!("time_s,rate_mbps\n{rows}\n");
    for (contents, message) in [
        (String::new(), "the trace is empty"),
        (" \n\n".to_owned(), "there is only white space"),
        ("5\n3\n".to_owned(), "line 2: the time 3 ms is before 5 ms"),
        ("0\n0\n".to_owned(), "line 2: the trace ends at time 0"),
        (csv("0,0\n1,0"), "line 3: every rate is 0"),
        (
            csv("0,5\n1,-5"),
            "line 3, column `rate_mbps`: `-5` is not a rate from 0 to 1 Tb/s; it is negative",
        ),
        (csv("0,5\n1,nan"), "line 3, column `rate_mbps`: `nan` is not a rate from 0 to 1 Tb/s"),
        (csv("0,5\n1,1e9"), "line 3, column `rate_mbps`: "),
        ("1\r\n5\r\n4\r\n".to_owned(), "line 3: the time 4 ms is before 5 ms"),
        ("\u{feff}5\n3\n".to_owned(), "line 2: the time 3 ms is before 5 ms"),
        ("abc\n".to_owned(), "line 1: `abc` is not "),
    ] {
        let found = folder.refused(&contents);
        assert!(found.starts_with(&format!("{at}{message}")), "{contents:?}: {found}");
    }
    let found = folder.refused(b"\x7fELF\x02\x01\x01\x00");
    assert!(found.starts_with(&format!("{at}line 1: the byte 0x7f is no text")), "{found}");
    let found = folder.refused(b"\x1f\x8b\x08\x00");
    assert!(found.starts_with(&format!("{at}this is gzip data; unpack it first")), "{found}");
    // CRLF and a byte order mark as such are right.
    folder.write("t.csv", "\u{feff}time_s,rate_mbps\r\n0,5\r\n1,\r\n");
    assert!(folder.open("trace = \"t.csv\"").is_ok());
}

/// One opportunity in eleven days: 1504 B · 8 / 10⁶ s = 0.012 b/s.
#[test]
fn a_mean_rate_of_nearly_nothing_needs_a_scale() {
    let folder = Folder::new();
    folder.write("t.trace", "1000000000\n");
    let report = folder.open("trace = \"t.trace\"").unwrap_err();
    assert!(report.contains("has a mean rate of 0bit, expected 1kbit or more"), "{report}");
    assert!(folder.open("trace = \"t.trace\"\ntrace_scale = \"1mbit\"").is_ok());
}

#[test]
#[cfg(unix)]
fn what_is_no_file_is_refused_at_once() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).unwrap();
    let report = folder.open("trace = \"folder\"").unwrap_err();
    assert!(report.contains("it is a folder, expected a file with a trace"), "{report}");

    // Nobody writes into the pipe: opening it would wait for ever.
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let report = folder.open("trace = \"pipe\"").unwrap_err();
    assert!(report.contains("it is no regular file"), "{report}");
    assert!(folder.open("trace = \"/dev/zero\"").unwrap_err().contains("it is no regular file"));

    // Of holes alone.
    let large = fs::File::create(folder.path("large")).unwrap();
    large.set_len(100_000_001).unwrap();
    let report = folder.open("trace = \"large\"").unwrap_err();
    assert!(report.contains("100000001 bytes, expected at most 100000000"), "{report}");
}

#[test]
fn results_have_a_copy_of_a_file_and_the_digest() {
    let folder = Folder::new();
    folder.write("t.csv", "time_ms,rate_kbps\n0,5000\n1000,15000\n2000,\n");
    let plan = folder.open("trace = \"t.csv\"").unwrap();
    let (point, scenario) = (&plan.points[0], &plan.points[0].scenario);
    let capacity = scenario.link.trace.as_ref().unwrap();
    let made = copies([scenario, scenario]).unwrap();
    assert_eq!(made.len(), 1);
    let (name, bytes) = made.first_key_value().unwrap();
    assert_eq!(*name, format!("link-{}.csv", capacity.digest()));
    assert_eq!(l4s_trace::Trace::read(bytes).unwrap(), *capacity.trace());

    let json = record(scenario).unwrap();
    assert_eq!(json["link"]["follows"]["copy"], Value::from(name.as_str()));
    assert_eq!(json["link"]["follows"]["digest"], Value::from(capacity.digest()));
    let read: l4s_model::Scenario = serde_json::from_value(json).unwrap();
    assert_eq!(read.link.rate, scenario.link.rate);

    // The text beside the copy is the same run.
    let elsewhere = Folder::new();
    elsewhere.write(name, bytes);
    let shown = elsewhere.write("scenario.toml", show(&with_copy(point), None));
    let again = Plan::open(&shown, &[]).unwrap();
    let other = again.points[0].scenario.link.trace.as_ref().unwrap();
    assert_eq!(other.digest(), capacity.digest());

    // A bundled trace is made again from its name.
    let bundled = parse("trace = \"5g-1\"", &[]).unwrap();
    assert!(copies([&bundled.points[0].scenario]).unwrap().is_empty());
    assert!(Path::new(&folder.path("t.csv")).exists());
}

#[test]
fn the_uplink_follows_a_trace_and_results_have_its_copy() {
    let folder = Folder::new();
    folder.write("up.csv", "time_ms,rate_kbps\n0,5000\n1000,15000\n2000,\n");
    let text = "link.rate = \"40mbit\"\nuplink = { trace = \"up.csv\", buffer = \"100ms\" }\n\
                [[group]]\nname = \"A\"\ndirection = \"up\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
    let plan = Plan::open(&folder.write("up.toml", text), &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let uplink = &scenario.uplink.as_ref().unwrap().link;
    assert_eq!(uplink.rate, Rate::from_mbps(10));
    assert_eq!(uplink.buffer, Buffer::Time(Duration::from_millis(100)));
    let made = copies([scenario]).unwrap();
    let (name, _) = made.first_key_value().unwrap();
    let json = record(scenario).unwrap();
    assert_eq!(json["uplink"]["link"]["follows"]["copy"], Value::from(name.as_str()));
    assert!(json["uplink"]["link"]["trace"].is_null());
    // A rate takes its place, as at the bottleneck.
    let rated = Plan::open(&folder.path("up.toml"), &["uplink.rate=1mbit".to_owned()]).unwrap();
    let link = &rated.points[0].scenario.uplink.as_ref().unwrap().link;
    assert_eq!((link.rate, &link.trace), (Rate::from_mbps(1), &None));
}
