//! `l4s trace` from the user's view: statistics, pictures, conversion, models, and every kind of bad input.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use l4s_trace::{BUNDLED, Bundled, MAX_BYTES, Model, Trace, make};
use l4s_units::{Bytes, Duration, Time};
use tempfile::TempDir;

/// What a file may be, as messages say it.
const FORMATS: &str =
    "a mahimahi trace (whole milliseconds, one a line), CSV with a header, and JSON of netem-trace";

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder).arg("trace").args(args);
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("l4s prints text")
}

/// Stdout and stderr of a successful command.
fn said(folder: &Path, args: &[&str]) -> (String, String) {
    let output = command(folder, args).output().expect("l4s starts");
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    (text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

/// Stdout of a successful command that has nothing to remark.
fn done(folder: &Path, args: &[&str]) -> String {
    let (stdout, stderr) = said(folder, args);
    assert_eq!(stderr, "", "{args:?}");
    stdout
}

/// Stderr of a command that refuses its input, and prints nothing to stdout.
#[track_caller]
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = command(folder, args).output().expect("l4s starts");
    assert_eq!((text(&output.stdout), output.status.code()), ("", Some(2)), "{args:?}");
    text(&output.stderr).to_owned()
}

/// A command that reads `input`.
fn fed(args: &[&str], input: &[u8]) -> Output {
    let mut command = command(Path::new("."), args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("l4s starts");
    process.stdin.take().unwrap().write_all(input).unwrap();
    process.wait_with_output().unwrap()
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// 10 and 30 Mb/s in turn for a second each, ten times; a delay of 20 and 40 ms.
fn square() -> Vec<u8> {
    let row = |n: u32| format!("{n},{},{}\n", 10 + n % 2 * 20, 20 + n % 2 * 20);
    let rows: String = (0..20).map(row).collect();
    format!("time_s,rate_mbps,delay_ms\n{rows}20,,\n").into_bytes()
}

#[test]
fn a_summary_has_the_statistics_of_the_trace() {
    let folder = folder(&[("square.csv", &square())]);
    // Mean 20, standard deviation 10. Nine of ten windows of 100 ms have the rate of the one before: of 200 there
    // are 199 pairs, of which 19 differ, so that the products are 180 - 19 of 200.
    let expected = "\
square.csv: CSV
length         20s
rate steps     20
mean rate      20.00 Mb/s
longest gap    none
one-way delay  20ms to 40ms

                     p1     p5    p25    p50    p75    p95    p99  variation
Mb/s over 100 ms  10.00  10.00  10.00  10.00  30.00  30.00  30.00      0.500
Mb/s over 1 s     10.00  10.00  10.00  10.00  30.00  30.00  30.00      0.500

lag              100ms  200ms  500ms      1s     2s      5s
autocorrelation  0.805  0.610  0.025  -0.950  0.900  -0.750
";
    assert_eq!(done(folder.path(), &["square.csv"]), expected);
    assert_eq!(done(folder.path(), &["show", "square.csv"]), expected);
    let two = done(folder.path(), &["square.csv", "./square.csv"]);
    assert_eq!(two, format!("{expected}\n{}", expected.replacen("square", "./square", 1)));
}

#[test]
fn opportunities_have_gaps_and_a_constant_rate_has_no_autocorrelation() {
    let folder =
        folder(&[("m", b"1\n2\n2\n7\n"), ("c.json", b"{\"StaticBwConfig\":{\"bw\":\"5Mbps\"}}")]);
    let shown = done(folder.path(), &["m"]);
    assert!(shown.starts_with("m: a mahimahi trace\nlength                   7ms\n"), "{shown}");
    assert!(shown.contains("\nopportunities of 1504 B  4\n"), "{shown}");
    assert!(shown.contains("\nlongest gap              5ms\n"), "{shown}");
    // Gaps of 1, 1 (from the end to the start) and 5 ms.
    let gaps = shown.lines().find(|line| line.starts_with("gap in ms")).unwrap_or(&shown);
    let gaps: Vec<&str> = gaps.split_whitespace().skip(3).collect();
    assert_eq!(gaps, ["1", "1", "1", "1", "5", "5", "5"], "{shown}");
    let shown = done(folder.path(), &["c.json"]);
    assert!(shown.starts_with("c.json: JSON of netem-trace\n"), "{shown}");
    assert!(shown.contains("5.000") && !shown.contains("autocorrelation"), "{shown}");
}

#[test]
fn json_has_a_line_for_each_trace_and_units_in_its_names() {
    let folder = folder(&[("square.csv", &square()), ("m", b"1\n2\n2\n7\n")]);
    let lines = done(folder.path(), &["--json", "square.csv", "m", "cable-1"]);
    let all: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all.len(), 3);
    let square = &all[0];
    assert_eq!(square["name"], "square.csv");
    assert_eq!((&square["kind"], &square["format"]), (&"steps".into(), &"csv".into()));
    assert_eq!((&square["length_s"], &square["mean_bps"]), (&20.0.into(), &20_000_000.into()));
    assert_eq!(square["rate_1s"]["windows"], 20);
    assert_eq!(square["rate_100ms"]["bps"]["p75"], 30_000_000);
    assert_eq!(square["autocorrelation"][3]["lag_s"], 1.0);
    let value = square["autocorrelation"][3]["value"].as_f64().unwrap();
    assert!((value + 0.95).abs() < 1e-9, "{value}");
    assert_eq!(square["delay_ms"], serde_json::json!({ "min": 20.0, "max": 40.0 }));
    assert!(square.get("gap_ms").is_none() && square.get("loss").is_none());
    let mahimahi = &all[1];
    assert_eq!(mahimahi["kind"], "opportunities");
    assert_eq!(
        (&mahimahi["longest_gap_s"], &mahimahi["gap_ms"]["p95"]),
        (&0.005.into(), &5.0.into())
    );
    assert_eq!((&all[2]["format"], &all[2]["name"]), (&serde_json::Value::Null, &"cable-1".into()));
}

#[test]
fn a_name_is_a_bundled_trace_and_a_path_is_a_file() {
    let folder = folder(&[("lte-1", b"1\n2\n")]);
    let bundled = done(folder.path(), &["lte-1"]);
    assert!(
        bundled.starts_with("lte-1: bundled, model lte with seed 1: down to a phone"),
        "{bundled}"
    );
    assert!(bundled.contains("length       120s\n"), "{bundled}");
    let file = done(folder.path(), &["./lte-1"]);
    assert!(file.starts_with("./lte-1: a mahimahi trace\n"), "{file}");
}

#[test]
fn standard_input_is_a_file_too() {
    let output = fed(&["-", "--json"], b"1\n2\n");
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&line["name"], &line["entries"]), (&"stdin".into(), &2.into()));
    let output = fed(&["convert", "-", "--to", "mahimahi"], b"1\n1\n4\n");
    assert_eq!(text(&output.stdout), "1\n1\n4\n");
    let output = fed(&["-"], b"3\n1\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: stdin:2: the time 1 ms is before 3 ms"));
}

#[test]
fn a_pipe_gets_no_picture_unless_it_is_asked_for() {
    let folder = folder(&[("square.csv", &square())]);
    let plain = done(folder.path(), &["square.csv"]);
    let ascii = done(folder.path(), &["square.csv", "--picture", "ascii"]);
    let picture = ascii.strip_prefix(&plain).expect("the same statistics, then the picture");
    assert!(picture.is_ascii(), "{picture}");
    // 72 columns less two digits of the label, a space and the axis are 68 of 20 s/68.
    let lines: Vec<&str> = picture.lines().collect();
    assert_eq!(lines[1], "Mb/s, mean over 294.118ms each");
    assert_eq!(lines.iter().map(|line| line.len()).max(), Some(72), "{picture}");
    assert!(lines[2].starts_with("30 +") && lines[6].starts_with("15 +"), "{picture}");
    assert_eq!(lines[11].split_whitespace().collect::<Vec<_>>(), ["0s", "5s", "10s", "15s", "20s"]);
    // At 10 Mb/s 2.7 of 8 rows are filled, so that the lowest row is full and the highest has gaps.
    assert_eq!(lines[9], format!("   |{}", "#".repeat(68)), "{picture}");
    assert!(lines[2].contains("### "), "{picture}");
    let unicode = done(folder.path(), &["square.csv", "--picture", "unicode"]);
    assert!(unicode.contains('█') && unicode.contains("15 ┤"), "{unicode}");
    assert_eq!(done(folder.path(), &["square.csv", "--picture", "none"]), plain);
    assert!(
        refused(folder.path(), &["square.csv", "--picture", "ascii", "--json"]).contains("--json")
    );
}

/// The output at a terminal with this number of columns.
#[cfg(target_os = "linux")]
fn at_terminal(columns: u16, locale: &str) -> String {
    use std::io::Read;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&user, size).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap();
    let open = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let program = rustix::fs::open(&*name, open, rustix::fs::Mode::empty()).unwrap();
    let mut command = command(Path::new("."), &["lte-1"]);
    command.env("LC_ALL", locale).stdout(program).stderr(Stdio::inherit());
    let mut process = command.spawn().unwrap();
    // The terminal's last writer is the process.
    drop(command);
    let (mut shown, mut user) = (Vec::new(), std::fs::File::from(user));
    let mut some = [0; 4096];
    // EIO is the end: nobody has the terminal open.
    while let Ok(read @ 1..) = user.read(&mut some) {
        shown.extend_from_slice(&some[..read]);
    }
    assert!(process.wait().unwrap().success());
    text(&shown).replace("\r\n", "\n")
}

#[cfg(target_os = "linux")]
#[test]
fn at_a_terminal_the_picture_is_as_wide_as_it_and_of_its_characters() {
    let widest = |shown: &str| shown.lines().map(|line| line.chars().count()).max().unwrap();
    let unicode = at_terminal(133, "C.UTF-8");
    assert!(unicode.contains('┼') && widest(&unicode) == 133, "{unicode}");
    let ascii = at_terminal(100, "C");
    assert!(ascii.is_ascii() && ascii.contains("+--") && widest(&ascii) == 100, "{ascii}");
    let narrow = at_terminal(39, "C.UTF-8");
    assert!(narrow.contains("mean rate") && !narrow.contains('┼'), "{narrow}");
}

#[test]
fn opportunities_become_rates_with_a_note() {
    let folder = folder(&[("m", b"1\n2\n2\n4\n")]);
    // 3 · 12,032 b in the first 2 ms, and one of them in the next.
    let (csv, notes) = said(folder.path(), &["convert", "m", "--to", "csv", "--interval", "2ms"]);
    assert_eq!(csv, "time_s,rate_bps\n0,18048000\n0.002,6016000\n0.004,\n");
    assert_eq!(
        notes,
        "note: 4 opportunities became 2 rates of 2ms each: bursts and gaps within 2ms are averaged\n\
         note: a packet takes 14 B of Ethernet from a rate, and 4 B of TUN from opportunities: 0.7 % fewer \
         packets of 1500 B pass, and 8.8 % fewer of 100 B\n"
    );
    let (json, notes) = said(folder.path(), &["convert", "m", "--to", "json"]);
    assert!(json.starts_with("{\"RepeatedBwPatternConfig\""), "{json}");
    assert!(notes.contains("became 1 rate of 100ms each"), "{notes}");
    assert!(notes.contains("(--interval sets another time)"), "{notes}");
    let why = refused(folder.path(), &["convert", "m", "--to", "csv", "--interval", "1500us"]);
    assert_eq!(
        why,
        "error: --interval 1.5ms: the interval is 1.5ms; accepted is a whole number of milliseconds \
         above 0\n"
    );
}

#[test]
fn rates_become_opportunities_and_the_rounding_is_said() {
    // 20 s of 20 Mb/s are 50 MB: 33,244.68 opportunities of 1504 B, so 33,245, which have 480 B more.
    let folder = folder(&[("square.csv", &square())]);
    let (lines, notes) = said(folder.path(), &["convert", "square.csv", "--to", "mahimahi"]);
    assert_eq!((lines.lines().count(), lines.lines().last()), (33_245, Some("20000")));
    assert_eq!(
        notes,
        "note: the one-way delay is left out: this format has none, and CSV has\n\
         note: 20 rates became 33245 opportunities of 1504 B, each at a whole millisecond\n\
         note: a packet takes 14 B of Ethernet from a rate, and 4 B of TUN from opportunities: 0.7 % more \
         packets of 1500 B pass, and 9.6 % more of 100 B\n\
         note: rounding: of 50000000 B, 480 B more pass in it\n"
    );
    let (json, notes) = said(folder.path(), &["convert", "square.csv", "--to", "json"]);
    assert_eq!(notes.lines().count(), 1, "{notes}");
    assert!(notes.starts_with("note: the one-way delay is left out"), "{notes}");
    let trace = Trace::read(json.as_bytes()).unwrap();
    let all = |trace: &Trace| trace.bytes_between(Time::ZERO, Time::ZERO + trace.period());
    assert_eq!((trace.entries(), all(&trace)), (20, Bytes::new(50_000_000)));
}

#[test]
fn a_format_that_can_say_everything_loses_nothing() {
    let folder = folder(&[("square.csv", &square()), ("m", b"\xef\xbb\xbf1\r\n2\r\n")]);
    let csv = done(folder.path(), &["convert", "square.csv", "--to", "csv"]);
    assert_eq!(Trace::read(csv.as_bytes()), Trace::read(&square()));
    assert_eq!(done(folder.path(), &["convert", "m", "--to", "mahimahi"]), "1\n2\n");
    for (name, to, found) in [
        ("m", "mahimahi", "keeps the steps"),
        ("square.csv", "csv", "keeps the steps"),
        ("square.csv", "mahimahi", "has opportunities"),
    ] {
        let why = refused(folder.path(), &["convert", name, "--to", to, "--interval", "10ms"]);
        assert!(why.starts_with("error: --interval 10ms: found a conversion that"), "{why}");
        assert!(why.contains(found), "{why}");
    }
}

#[test]
fn a_file_is_written_whole_and_never_over_another_one() {
    let folder = folder(&[("square.csv", &square()), ("mine", b"years of work")]);
    let path = folder.path();
    let convert = ["convert", "square.csv", "--to", "csv", "--out"];
    let why = refused(path, &[&convert[..], &["mine"]].concat());
    assert_eq!(
        why,
        "error: mine exists already\n  help: choose another file, or add --replace; nothing was \
         changed\n"
    );
    assert_eq!(fs::read(path.join("mine")).unwrap(), b"years of work");
    assert_eq!(done(path, &[&convert[..], &["new"]].concat()), "");
    assert_eq!(done(path, &[&convert[..], &["mine", "--replace"]].concat()), "");
    let [new, mine] = ["new", "mine"].map(|name| fs::read(path.join(name)).unwrap());
    assert!(new == mine && Trace::read(&new) == Trace::read(&square()));
    // Its own input, and standard output by another name.
    assert_eq!(done(path, &["convert", "new", "--to", "csv", "-o", "new", "--replace"]), "");
    assert_eq!(fs::read(path.join("new")).unwrap(), new);
    assert_eq!(done(path, &["convert", "new", "--to", "csv", "-o", "-"]).as_bytes(), new);
    for (out, why) in [
        (".", "found a folder"),
        ("none/file", "No such file or directory"),
        ("square.csv/file", "Not a directory"),
        ("sub/", "found a folder"),
    ] {
        let said = refused(path, &[&convert[..], &[out]].concat());
        assert!(said.starts_with(&format!("error: {out}: ")) && said.contains(why), "{said}");
    }
    std::os::unix::fs::symlink("mine", path.join("link")).unwrap();
    let said = refused(path, &[&convert[..], &["link", "--replace"]].concat());
    assert_eq!(said, "error: link: found a symbolic link, expected a file\n");
    assert_eq!(names(path), ["link", "mine", "new", "square.csv"]);
    assert!(refused(path, &["convert", "new", "--to", "csv", "--replace"]).contains("--out"));
}

#[test]
fn a_model_makes_the_trace_of_its_seed_and_length() {
    let folder = folder(&[]);
    for model in Model::ALL {
        let csv = done(folder.path(), &["make", model.name(), "--seed", "7", "--length", "3s"]);
        let expected = make(model, 7, Duration::from_secs(3)).unwrap();
        assert_eq!(Trace::read(csv.as_bytes()), Ok(expected), "{}", model.name());
    }
    // The default is that of the bundled ones.
    let csv = done(folder.path(), &["make", "starlink"]);
    assert_eq!(Trace::read(csv.as_bytes()), Ok(Bundled::find("starlink-1").unwrap().trace()));
    let args = ["make", "lte", "--length", "10s", "--to", "mahimahi", "--out", "lte"];
    let (stdout, notes) = said(folder.path(), &args);
    assert!(stdout.is_empty() && notes.starts_with("note: 100 rates became "), "{notes}");
    let shown = done(folder.path(), &["lte"]);
    assert!(shown.starts_with("lte: a mahimahi trace\n"), "{shown}");
}

#[test]
fn a_model_or_length_that_is_none_is_refused() {
    let folder = folder(&[]);
    let why = refused(folder.path(), &["make", "starlnk"]);
    assert!(why.contains("possible values: lte, 5g, wifi, starlink, cable"), "{why}");
    assert!(why.contains("a similar value exists: 'starlink'"), "{why}");
    let why = refused(folder.path(), &["make", "lte", "--length", "2m"]);
    assert!(why.contains("--length") && why.contains("minutes are `min`"), "{why}");
    let why = refused(folder.path(), &["make", "lte", "--length", "0s"]);
    assert_eq!(
        why,
        "error: l4s trace make lte: the length is 0s; accepted is above 0 and at most 49 days\n"
    );
    let why = refused(folder.path(), &["make", "cable", "--length", "1441min"]);
    assert!(why.contains("more than 20000000 entries"), "{why}");
    assert!(refused(folder.path(), &["make", "lte", "--seed", "x"]).contains("--seed"));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn the_list_has_every_model_with_its_source_and_every_bundled_trace() {
    let list = done(Path::new("."), &["list"]);
    for model in Model::ALL {
        let line = list.lines().find(|line| line.starts_with(model.name())).unwrap();
        assert!(line.ends_with(model.about()), "{line}");
    }
    for bundled in BUNDLED {
        let is_row = |line: &&str| line.split_whitespace().next() == Some(bundled.name);
        let line = list.lines().find(is_row).expect(bundled.name);
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[1..4], [bundled.model.name(), &bundled.seed.to_string(), "120s"]);
        let mean = bundled.trace().mean_rate().as_bps() as f64 / 1e6;
        let shown: f64 = cells[4].parse().unwrap();
        assert!((shown / mean - 1.0).abs() < 1e-3, "{line}");
    }
}

/// Every kind of wrong file: its bytes, and the message after its name.
#[test]
fn a_wrong_file_is_refused_with_its_line_and_what_is_accepted() {
    let whole = "a whole number of milliseconds, one a line, as mahimahi has them";
    let cases: [(&[u8], String); 13] = [
        (b"", format!(": the trace is empty; accepted are {FORMATS}")),
        (b"\r\n", format!(": there is only white space; accepted are {FORMATS}")),
        (b"3\n1\n", ":2: the time 1 ms is before 3 ms of the entry before it; times increase".into()),
        (
            b"0\n0\n",
            ":2: the trace ends at time 0; its last time must be later, because it repeats from there"
                .into(),
        ),
        (
            b"time_s,rate_mbps\n0,0\n1,0\n",
            ":3: every rate is 0, so that nothing ever passes; at least one must be above 0".into(),
        ),
        (b"1\n\xff\n", format!(":2: the byte 0xff is no text in UTF-8; accepted are {FORMATS}")),
        (b"\x1f\x8b\x08\0", ": this is gzip data; unpack it first".into()),
        (b"\xff\xfe1\0", ": the text is in UTF-16 or UTF-32; save it as UTF-8 (such as `iconv -f utf-16 -t utf-8`)".into()),
        (b"1\n-5\n", format!(":2: `-5` is not {whole}; it is negative")),
        (b"nan\n", format!(":1: `nan` is not {whole}; NaN has no value; leave such rows out")),
        (b"1\r\n\r\n2\r\n", ":2: the line is empty; each line has one number, and only the end of the file has none".into()),
        (b"time_s,rate_mbps\n0,5\n1,1e9\n", ":3: column `rate_mbps`: the rate ".into()),
        (b"{\"StaticBwConfig\":\n{\"bw\":\"5 parsecs\"}}", ":2:".into()),
    ];
    for (bytes, message) in cases {
        let folder = folder(&[("t", bytes)]);
        for args in [&["t"][..], &["--json", "t"], &["convert", "t", "--to", "csv", "-o", "out"]] {
            let said = refused(folder.path(), args);
            let expected = format!("error: t{message}");
            assert!(said.starts_with(&expected), "{said}\nexpected {expected}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        assert_eq!(names(folder.path()), ["t"], "nothing is written");
    }
}

#[test]
fn crlf_and_a_byte_order_mark_are_no_fault() {
    let folder = folder(&[
        ("plain", b"time_s,rate_mbps\n0,5\n1,\n"),
        ("windows", b"\xef\xbb\xbftime_s,rate_mbps\r\n0,5\r\n1,\r\n"),
    ]);
    let [plain, windows] = ["plain", "windows"].map(|name| done(folder.path(), &[name]));
    assert_eq!(windows, plain.replacen("plain", "windows", 1));
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = folder(&[]);
    // It has no blocks on the disk.
    let file = fs::File::create(folder.path().join("large")).unwrap();
    file.set_len(1 << 40).unwrap();
    let why = refused(folder.path(), &["large"]);
    assert_eq!(
        why,
        format!("error: large: {} bytes are too many; at most {MAX_BYTES} are read\n", 1u64 << 40)
    );
    // A stream without an end is read as far as that.
    let why = refused(folder.path(), &["/dev/zero"]);
    assert!(why.ends_with(&format!("bytes are too many; at most {MAX_BYTES} are read\n")), "{why}");
}

#[test]
fn a_file_that_is_missing_gets_the_nearest_name() {
    let folder = folder(&[]);
    let why = |name: &str| refused(folder.path(), &[name]);
    assert_eq!(
        why("starlnk-1"),
        "error: starlnk-1: cannot read this trace: No such file or directory (os error 2)\n  \
         help: did you mean the bundled trace `starlink-1`?\n"
    );
    assert!(why("lte").ends_with(
        "help: `l4s trace make lte` makes a trace of this model; `lte-1` is a bundled one\n"
    ));
    assert!(why("lsit").ends_with("help: did you mean `l4s trace list`?\n"));
    let all: Vec<_> = BUNDLED.iter().map(|bundled| bundled.name).collect();
    assert!(why("nothing like it").ends_with(&format!("bundled traces are {}\n", all.join(", "))));
    assert_eq!(why("."), "error: .: cannot read this trace: found a folder, expected a file\n");
    // One that cannot be read leaves nothing of the others.
    assert!(refused(folder.path(), &["lte-1", "missing"]).starts_with("error: missing: "));
    assert!(refused(folder.path(), &[]).contains("Usage: l4s trace"));
    let why = refused(folder.path(), &["lte-1", "--to", "csv", "-o", "my file"]);
    assert!(why.ends_with("help: l4s trace convert lte-1 --to csv -o 'my file'\n"), "{why}");
}

#[test]
fn names_and_lines_of_others_do_not_steer_the_terminal() {
    let hostile = "t\u{1b}[31m\u{202e}";
    let folder =
        folder(&[(hostile, b"time_s,\xe2\x80\xae\xc2\x9b2J\n"), ("ok\u{1b}]0;x\u{7}", b"1\n2\n")]);
    let steers = |c: char| l4s_units::steers(c) && c != '\n';
    for args in [&[hostile][..], &["make", hostile], &["convert", hostile, "--to", hostile]] {
        let said = refused(folder.path(), args);
        assert!(!said.contains(steers), "{said:?}");
    }
    let shown = done(folder.path(), &["ok\u{1b}]0;x\u{7}"]);
    assert!(shown.starts_with("ok\\u001B]0;x\\u0007: ") && !shown.contains(steers), "{shown:?}");
}
