//! The traffic lights with made-up results: verdicts from tables, counts, the page, the picture.

use std::fs;
use std::path::Path;

use l4s_measure::{FlowRow, ResultWriter, RunRecord, Scope, SeriesRow};
use l4s_report::Data;
use l4s_report::lights::{Lights, Said, Truth, Verdict, lights_page, read_lights, write_lights};
use l4s_scenario::Plan;

/// Two schedules, two mixes of traffic, one condition.
const SCENARIO: &str = r#"
duration = "20s"
link.rate = "4mbit"
[[group]]
name = "A"
cc   = "prague"
rtt  = "10ms"
[[group]]
name = "B"
cc   = "cubic"
rtt  = "10ms"
[[sweep.schedule]]
label = "dualpi2"
aqm   = "dualpi2"
[[sweep.schedule]]
label = "dualpi2-codel"
aqm   = "dualpi2"
at    = [{ time = "10s", aqm = { kind = "codel", ecn = true } }]
[sweep]
traffic = [
    { label = "1:0", group.A.flows = 1, group.B.flows = 0 },
    { label = "L:1", group.A.flows = 0, web = [{ group = "A", rate = "0.25/mbit" }] },
]
"link.rate"   = ["4mbit"]
"group.*.rtt" = ["10ms"]
"#;

fn plan() -> Plan {
    Plan::parse("lights.toml", SCENARIO, &[]).unwrap()
}

fn sample() -> Lights {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lights.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A flow of group A with a detector.
fn flow(number: u32, start_s: f64, end_s: Option<f64>, score: f64, rounds: u32) -> FlowRow {
    FlowRow {
        group: "A".to_owned(),
        flow: number,
        start_s,
        end_s,
        classic_ecn: Some(score),
        classic_ecn_rounds: Some(rounds),
        ..FlowRow::default()
    }
}

/// The flows of a run, and samples of a score as time and value.
type Made = (Vec<FlowRow>, Vec<(f64, f64)>);

/// A result folder with these made-up results for each run of the plan.
fn results(folder: &Path, runs: [Made; 4]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/demo.json");
    let data: Data = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut writer = ResultWriter::create(folder).unwrap();
    for (point, (flows, scores)) in plan().points.iter().zip(runs) {
        let mut summary = data.folders[0].runs[0].summary.clone();
        let set = point.set.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
        summary.set = set.collect();
        let series = scores.into_iter().map(|(time_s, score)| SeriesRow {
            time_s,
            scope: Scope::Flow,
            name: "A.0".to_owned(),
            classic_ecn: Some(score),
            ..SeriesRow::default()
        });
        let command = "l4s run lights.toml".to_owned();
        let series = series.collect();
        writer.add(&RunRecord { summary, command, series, delays: Vec::new(), flows }).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn squares_are_judged_by_the_queue_that_was_there_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let samples = vec![(10.0, -8.0), (20.0, 9.0)];
    // In the second mix group A has no long flow, and B has one: downloads begin at flow 1.
    let late = |score, rounds| (1..=3).map(|n| flow(n, 11.0, Some(15.0), score, rounds)).collect();
    results(
        folder.path(),
        [
            (vec![flow(0, 0.0, None, 9.0, 300)], samples.clone()),
            (late(-8.0, 80), Vec::new()),
            (vec![flow(0, 0.0, None, 9.0, 300)], samples),
            (late(-8.0, 80), Vec::new()),
        ],
    );
    let lights = read_lights(&plan(), folder.path(), Said::all()).unwrap();
    let verdicts: Vec<_> = lights.squares.iter().map(|square| square.verdict).collect();
    let expected = [Verdict::Amber, Verdict::Right, Verdict::Right, Verdict::Red];
    assert_eq!(verdicts, expected.map(Some));
    assert_eq!(lights.schedules[1].truth, Truth::Classic);
    assert_eq!(lights.schedules[1].since_s, 10.0);
    assert_eq!(lights.squares[3].at, [1, 1, 0, 0]);
    assert_eq!(lights.squares[3].short, Some([3, 3]));
    assert_eq!(lights.squares[3].ends, [[15.0, -8.0]; 3]);
    assert_eq!(lights.squares[0].score, Some(9.0));
    assert_eq!(lights.squares[0].mean[19], Some(-8.0));
    assert_eq!((lights.times.len(), lights.times[39]), (40, 20.0));

    let [first, second] = lights.tallies.as_slice() else { panic!("two schedules") };
    assert_eq!((first.all.right, first.all.amber, first.without_cubic.amber), (1, 1, 1));
    assert_eq!((second.all.red, second.with_cubic.red, second.by_rate[0].red), (1, 1, 1));
}

#[test]
fn results_without_detectors_have_squares_without_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    results(folder.path(), [(); 4].map(|()| (Vec::new(), Vec::new())));
    let lights = read_lights(&plan(), folder.path(), Said::all()).unwrap();
    assert!(lights.squares.iter().all(|square| square.verdict.is_none()));
    assert_eq!(lights.tallies[0].all.unknown, 2);
}

#[test]
fn another_scenario_has_no_squares() {
    let folder = tempfile::tempdir().unwrap();
    results(folder.path(), [(); 4].map(|()| (Vec::new(), Vec::new())));
    let other = "link.rate = \"4mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"";
    let plan = Plan::parse("other.toml", other, &[]).unwrap();
    assert!(read_lights(&plan, folder.path(), Vec::new()).is_err());
}

#[test]
fn the_page_loads_nothing_and_the_picture_is_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    let page = write_lights(&sample(), folder.path()).unwrap();
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(html, lights_page(&sample()).unwrap(), "the same every time");
    let outside = html.split("<script>").next().unwrap();
    for tag in ["<link", "<img", "<iframe", "<script src", "@import", "@font-face", "url("] {
        assert!(!outside.contains(tag), "{tag}");
    }
    assert!(html.contains("default-src 'none'") && html.contains("L4s.mountLights();"));
    for name in ["fallback-500", "fallback-500-dark"] {
        let svg = fs::read_to_string(folder.path().join(format!("figures/{name}.svg"))).unwrap();
        assert!(roxmltree::Document::parse(&svg).is_ok());
        assert!(folder.path().join(format!("figures/{name}.png")).is_file());
    }
}

#[test]
fn the_papers_counts_are_of_500() {
    for Said { schedule, counts, amber_by_rate: amber, .. } in Said::all() {
        if let Some([right, wrong, red]) = counts {
            assert_eq!(right + wrong + red, 500, "{schedule}");
            assert!(amber.is_none_or(|by_rate| by_rate.iter().sum::<usize>() == wrong));
        }
    }
}
