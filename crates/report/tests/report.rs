//! Reports of made-up results: their contents, forbidden contents, and that they are the same
//! every time.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use l4s_measure::{
    CompletionSummary, DelayRow, FlowRow, ResultWriter, RunRecord, Scope, SeriesRow, Spread,
};
use l4s_report::{
    Data, Mode, Painter, Pictures, ReportError, Studio, page, read, write_data, write_report,
};

fn sample(name: &str) -> Data {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Addresses that are only names, and are not fetched.
const NAMES: [&str; 2] = ["http://www.w3.org/", "https://www.w3.org/"];

#[test]
fn the_page_loads_nothing() {
    let html = page(&sample("demo.json")).unwrap();
    for tag in ["<link", "<img", "<iframe", "<script src", "@import", "@font-face", "url("] {
        let outside_script = html.split("<script>").next().unwrap();
        assert!(!outside_script.contains(tag), "{tag}");
    }
    // Licences in the script may contain web sites; its code may not.
    let script = html.split("<script>").nth(1).unwrap();
    for scheme in ["http://", "https://", "//cdn"] {
        for (at, _) in script.match_indices(scheme) {
            let rest = &script[at..];
            assert!(NAMES.iter().any(|name| rest.starts_with(name)), "{}", &rest[..40]);
        }
    }
    for call in ["fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon", "import("] {
        assert!(!script.contains(call), "{call}");
    }
    // The browser is instructed to refuse all requests.
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn the_page_is_small_and_the_same_every_time() {
    let data = sample("demo.json");
    let html = page(&data).unwrap();
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert_eq!(html, page(&data).unwrap());
}

#[test]
fn every_figure_is_well_formed_and_the_same_in_another_engine() {
    for name in ["demo.json", "sweep.json"] {
        let data = sample(name);
        let (one, other) = (Studio::open(&data).unwrap(), Studio::open(&data).unwrap());
        for figure in one.names() {
            let svg = one.svg(figure, Mode::Light, 1200, 0).unwrap();
            let tree = roxmltree::Document::parse(&svg).unwrap();
            assert_eq!(tree.root_element().tag_name().name(), "svg");
            // Figures are requested in another order.
            other.svg(figure, Mode::Dark, 600, 0).unwrap();
            assert_eq!(svg, other.svg(figure, Mode::Light, 1200, 0).unwrap(), "{figure}");
        }
    }
}

#[test]
fn figures_fit_the_data() {
    let demo: Vec<String> =
        Studio::open(&sample("demo.json")).unwrap().names().map(str::to_owned).collect();
    assert_eq!(demo[..4], ["headline", "delay-cdf", "delay-tail", "delay-time"]);
    let sweep = Studio::open(&sample("sweep.json")).unwrap();
    assert!(sweep.names().all(|name| name.contains("-conditions")));
}

#[test]
fn the_picture_has_text_curves_and_a_background() {
    let studio = Studio::open(&sample("demo.json")).unwrap();
    let painter = Painter::new();
    for (mode, paper) in [(Mode::Light, [255, 255, 255, 255]), (Mode::Dark, [16, 22, 29, 255])] {
        let svg = studio.svg("headline", mode, 1200, 600).unwrap();
        let picture = painter.paint(&svg, 1.0).unwrap();
        assert_eq!(picture.size(), (1200, 600));
        let pixel = |x: usize, y: usize| &picture.rgba()[4 * (1200 * y + x)..][..4];
        assert_eq!(pixel(0, 0), paper);
        // The title: ink in its line, within the margins.
        let inked = |xs: Range<usize>, ys: Range<usize>| -> usize {
            ys.map(|y| xs.clone().filter(|&x| pixel(x, y) != paper).count()).sum()
        };
        assert!(inked(24..700, 24..56) > 1000);
        // Colours of curves, and the greys between. A blank or broken picture has few.
        let colours: BTreeSet<&[u8]> = picture.rgba().chunks(4).collect();
        assert!(colours.len() > 200, "{} colours", colours.len());
        // The margin is empty.
        assert_eq!(inked(0..8, 0..600), 0);
        assert_eq!(inked(1192..1200, 0..600), 0);
    }
}

#[test]
fn a_png_starts_as_a_png() {
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="10" height="5"/>"#;
    let picture = Painter::new().paint(svg, 2.0).unwrap();
    assert_eq!(picture.size(), (20, 10));
    assert_eq!(picture.png().unwrap()[..8], *b"\x89PNG\r\n\x1a\n");
}

#[test]
fn an_unknown_figure_is_an_error_that_names_it() {
    let studio = Studio::open(&sample("demo.json")).unwrap();
    let error = studio.svg("headlin", Mode::Light, 1200, 600).unwrap_err();
    assert!(error.to_string().contains("no figure \"headlin\""), "{error}");
}

/// A result folder in the format of l4s-measure, from the made-up summaries.
fn results(folder: &Path, data: &Data) {
    let mut writer = ResultWriter::create(folder).unwrap();
    for run in &data.folders[0].runs {
        let mut record = RunRecord {
            summary: run.summary.clone(),
            command: run.command.clone(),
            series: Vec::new(),
            delays: Vec::new(),
            flows: Vec::new(),
        };
        for i in 0..100 {
            let low_ms = f64::from(i) / 10.0;
            for group in &run.summary.groups {
                let (scope, name, count) = (Scope::Group, group.name.clone(), 1);
                let high_ms = low_ms + 0.1;
                record.delays.push(DelayRow { scope, name: name.clone(), low_ms, high_ms, count });
                let rate_bps = Some(4e7);
                let row =
                    SeriesRow { time_s: low_ms, scope, name, rate_bps, ..SeriesRow::default() };
                record.series.push(row);
            }
            for (group, flow) in [("A", 2 * i), ("B", 2 * i + 1)] {
                record.flows.push(FlowRow {
                    group: group.to_owned(),
                    flow,
                    start_s: low_ms,
                    end_s: Some(low_ms + 1.0),
                    size: (i > 0).then_some(10_000 * u64::from(i)),
                    completion_ms: Some(1000.0),
                    ..FlowRow::default()
                });
            }
            for queue in &run.summary.queues {
                let (scope, name) = (Scope::Queue, queue.name.clone());
                let (time_s, delay_mean_ms) = (low_ms, Some(1.0));
                let name_again = name.clone();
                record.delays.push(DelayRow {
                    scope,
                    name,
                    low_ms,
                    high_ms: low_ms + 0.1,
                    count: 1,
                });
                let row = SeriesRow {
                    time_s,
                    scope,
                    name: name_again,
                    delay_mean_ms,
                    ..SeriesRow::default()
                };
                record.series.push(row);
            }
            for flow in ["A.0", "B.1"] {
                let (scope, name) = (Scope::Flow, flow.to_owned());
                let rate_bps = Some(2e7);
                record.series.push(SeriesRow {
                    time_s: low_ms,
                    scope,
                    name,
                    rate_bps,
                    ..SeriesRow::default()
                });
            }
        }
        writer.add(&record).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_result_folder_becomes_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one"), dir.path().join("other"));
    results(&one, &sample("demo.json"));
    results(&other, &sample("demo.json"));
    let scenario = "name = \"demo\"\nlink.rate = \"40mbit\"\n[[group]]\nname = \"A\"\ncc = \"dctcp\"\nrtt = \"10ms\"\n";
    fs::write(one.join("scenario.toml"), scenario).unwrap();

    let data = read(&[&one, &other]).unwrap();
    assert_eq!(data.folders.iter().map(|f| f.label.as_str()).collect::<Vec<_>>(), ["one", "other"]);
    assert_eq!(data.folders[0].text, scenario);
    let run = &data.folders[0].runs[0];
    let curves = run.curves.as_ref().unwrap();
    assert_eq!(curves.cdf.iter().map(|cdf| cdf.queue.as_str()).collect::<Vec<_>>(), ["L", "C"]);
    assert_eq!(curves.rate[1].group, "B");
    assert_eq!(curves.rate[1].mbps[0], Some(20.0));

    let out = dir.path().join("report");
    let written = write_report(&[&one, &other], &out, Pictures::Both).unwrap();
    assert!(fs::read_to_string(&written.page).unwrap().contains("\"label\":\"other\""));
    assert!(written.figures.iter().all(|path| path.exists()));
    // There are no other files.
    let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<_> = names.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(names, ["figures", "l4s.json", "report.html"].map(str::to_owned).into());
    let figures = fs::read_dir(out.join("figures")).unwrap().count();
    assert_eq!(figures, written.figures.len());
}

/// The scenario of each run is in the folder, and its text is for people. If both exist, the report does
/// not read the text.
#[test]
fn the_scenarios_of_runs_are_not_read_from_their_text() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    results(folder, &sample("demo.json"));
    let runs = read(&[folder]).unwrap().folders[0].runs.len();
    let text = |rtt: &str| {
        format!(
            "link.rate = \"40mbit\"\n[[group]]\nname = \"A\"\ncc = \"cubic\"\necn = \"classic\"\n\
             rtt = \"{rtt}\"\n"
        )
    };
    let plan = l4s_scenario::Plan::parse("t.toml", &text("37ms"), &[]).unwrap();
    let scenarios = vec![&plan.points[0].scenario; runs];
    let rtts = || -> Vec<Option<f64>> {
        let data = read(&[folder]).unwrap();
        data.folders[0].runs.iter().map(|run| run.base_rtt_ms.get("A").copied()).collect()
    };
    fs::write(folder.join("scenarios.json"), serde_json::to_vec(&scenarios).unwrap()).unwrap();
    assert_eq!(rtts(), vec![Some(37.0); runs]);
    fs::write(folder.join("scenario.toml"), text("11ms")).unwrap();
    assert_eq!(rtts(), vec![Some(37.0); runs]);
    // A folder of a version with another model still has its text.
    fs::write(folder.join("scenarios.json"), "[{}]").unwrap();
    assert_eq!(rtts(), vec![Some(11.0); runs]);
    fs::remove_file(folder.join("scenarios.json")).unwrap();
    assert_eq!(rtts(), vec![Some(11.0); runs]);
}

/// The report's data for a folder with these runs.
fn read_back(data: &Data) -> Data {
    let dir = tempfile::tempdir().unwrap();
    results(dir.path(), data);
    let scenario = r#"
        link.rate = "40mbit"
        duration = "20s"
        [[group]]
        name = "A"
        cc = "dctcp"
        rtt = "10ms"
        [[group]]
        name = "B"
        cc = "cubic"
        rtt = "20ms"
        [[udp]]
        name = "U"
        rate = "50mbit"
    "#;
    fs::write(dir.path().join("scenario.toml"), scenario).unwrap();
    read(&[dir.path()]).unwrap()
}

/// The names of the figures of a folder with these runs.
fn figures_of(data: &Data) -> BTreeSet<String> {
    Studio::open(&read_back(data)).unwrap().names().map(str::to_owned).collect()
}

#[test]
fn a_sweep_over_numbers_of_flows_has_mixes_and_matrices() {
    let mut data = sample("sweep.json");
    data.folders[0].runs.truncate(9);
    for (i, run) in data.folders[0].runs.iter_mut().enumerate() {
        let set = &mut run.summary.set;
        set.remove("link.rate");
        set.remove("group.*.rtt");
        set.insert("group.A.flows".to_owned(), (i / 3 + 1).to_string().into());
        set.insert("group.B.flows".to_owned(), (i % 3 + 1).to_string().into());
    }
    let read = read_back(&data);
    let run = &read.folders[0].runs[0];
    assert_eq!(run.sketch.iter().map(|of| of.group.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    // 100 samples in 25 parts, each of 20 Mb/s: ten times an equal share of 4 Mb/s between two.
    assert_eq!(run.sketch[0].share, [[Some(1000); 25]]);
    assert_eq!(run.sketch[0].delay_ms.len(), 20);

    let figures = figures_of(&data);
    for name in ["mix-dualpi2", "rate-matrix-dualpi2", "delay-matrix-dualpi2"] {
        assert!(figures.contains(name), "{name} of {figures:?}");
    }
    let others = figures_of(&sample("sweep.json"));
    let own = |name: &&String| name.starts_with("mix-") || name.contains("-matrix-");
    assert_eq!(others.iter().find(own), None);
}

#[test]
fn downloads_have_figures_beside_their_theoretical_time() {
    let mut data = sample("demo.json");
    assert!(!figures_of(&data).contains("efficiency"));
    let spread = Spread { p1: 1.0, mean: 2.0, p99: 3.0 };
    data.folders[0].runs[0].summary.completion.push(CompletionSummary {
        group: "A".to_owned(),
        bin_bytes: [9_000, 27_000],
        flows: 1,
        time_ms: spread,
        efficiency: spread,
    });
    let figures = figures_of(&data);
    assert!(figures.contains("efficiency") && figures.contains("completion"), "{figures:?}");

    let read = read_back(&data);
    let downloads = &read.folders[0].runs[0].curves.as_ref().unwrap().downloads;
    let of_a = &downloads[0];
    // Of 99 with a size, those that closed in the warm-up, the first 5 s, do not count: 40 of the 100
    // began before 4 s.
    assert_eq!((of_a.every, of_a.bytes.len(), of_a.bytes[0]), (1, 60, 400_000));
    // 400,000 B are 277 segments: 418,282 B on the wire, 83.66 ms at 40 Mb/s, and 2 · 10 ms.
    assert_eq!(of_a.ideal[0], (400_000, 103.7));
    assert_eq!(downloads[1].ideal[0].1, 123.7);
}

#[test]
fn unresponsive_traffic_has_figures_of_what_it_leaves() {
    let mut data = sample("demo.json");
    assert!(figures_of(&data).is_disjoint(&["overload", "output-time"].map(str::to_owned).into()));
    let run = data.folders[0].runs.remove(0);
    let rates = ["50mbit", "100mbit"].map(|rate| {
        let mut run = run.clone();
        let mut source = run.summary.groups[0].clone();
        (source.name, source.cc) = ("U".to_owned(), "udp".to_owned());
        run.summary.groups.push(source);
        run.summary.set.insert("udp.U.rate".to_owned(), rate.into());
        run
    });
    data.folders[0].runs = rates.into();
    let figures = figures_of(&data);
    assert!(figures.contains("overload") && figures.contains("output-time"), "{figures:?}");
    let read = read_back(&data);
    let output = &read.folders[0].runs[0].curves.as_ref().unwrap().output;
    assert_eq!(output.iter().map(|of| of.group.as_str()).collect::<Vec<_>>(), ["A", "B", "U"]);
}

#[test]
fn for_a_contact_sheet_there_is_svg_alone_and_one_small() {
    let dir = tempfile::tempdir().unwrap();
    let sheet = Pictures::Sheet(&["headline", "delay-conditions"]);
    let written = write_data(&sample("sweep.json"), dir.path(), sheet).unwrap();
    assert!(written.figures.iter().all(|figure| figure.extension().unwrap() == "svg"));
    // A sweep has no headline.
    let small = dir.path().join("figures/delay-conditions-small-dark.svg");
    assert!(!fs::read_to_string(small).unwrap().contains(r#"width="1200""#));
    let files = fs::read_dir(dir.path().join("figures")).unwrap().count();
    assert_eq!(files, written.figures.len() + 2);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("taken");
    fs::write(&file, "something else").unwrap();
    let error = write_data(&sample("sweep.json"), &file, Pictures::Sheet(&[])).unwrap_err();
    assert!(matches!(error, ReportError::List(_)), "{error}");
    assert!(error.to_string().contains("taken"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "something else");
}

#[test]
fn a_folder_without_results_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = write_report(&[dir.path()], dir.path(), Pictures::Sheet(&[])).unwrap_err();
    assert!(error.to_string().contains("runs.parquet"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A file of a few MB may hold any number of runs, as they compress well.
#[test]
fn a_page_that_nobody_could_open_is_refused() {
    let mut data = sample("demo.json");
    let mut run = data.folders[0].runs.remove(0);
    run.curves = None;
    let bytes = serde_json::to_string(&run).unwrap().len();
    data.folders[0].runs = vec![run; (32 << 20) / bytes + 1];
    let dir = tempfile::tempdir().unwrap();
    let error = write_data(&data, dir.path(), Pictures::Both).unwrap_err();
    assert!(matches!(error, ReportError::TooLarge(_)), "{error}");
    assert!(error.to_string().contains("more than 32 MB"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is written");
}

/// For any number of rows of a run, the report keeps only those that it draws.
#[test]
fn a_run_of_very_many_rows_is_thinned_as_it_is_read() {
    let mut run = sample("demo.json").folders[0].runs[0].clone();
    let mut others = run.summary.groups[0].clone();
    for i in 0..1000 {
        others.name = format!("G{i}");
        run.summary.groups.push(others.clone());
    }
    let mut record = RunRecord {
        summary: run.summary,
        command: run.command,
        series: Vec::new(),
        delays: Vec::new(),
        flows: Vec::new(),
    };
    let sample = |name: String, i: u32| SeriesRow {
        time_s: f64::from(i),
        scope: Scope::Group,
        name,
        rate_bps: Some(f64::from(i) * 1e6),
        ..SeriesRow::default()
    };
    record.series.extend((0..30_000).map(|i| sample("A".to_owned(), i)));
    record.series.extend((0..1000).map(|i| sample(format!("G{i}"), 1)));
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ResultWriter::create(dir.path()).unwrap();
    writer.add(&record).unwrap();
    writer.finish().unwrap();
    let data = read(&[dir.path()]).unwrap();
    let folder = &data.folders[0];
    assert!(folder.scenario.ends_with(" (the first 64 of 1002 groups)"), "{}", folder.scenario);
    assert_eq!(folder.runs[0].summary.groups.len(), 64);
    let rate = &folder.runs[0].curves.as_ref().unwrap().rate;
    assert_eq!(rate.len(), 64);
    // Of a hundred neighbours, 0 to 99: the mean, and the time of the last one.
    assert_eq!((rate[0].s.len(), rate[0].s[0], rate[0].mbps[0]), (300, 99.0, Some(49.5)));
}
