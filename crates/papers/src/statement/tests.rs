use std::collections::BTreeSet;

use l4s_scenario::Plan;

use super::*;
use crate::FIGURES;

#[test]
fn each_is_about_a_figure_and_has_a_name_of_its_own() {
    let mut names = BTreeSet::new();
    for Statement { figure, id, within: [low, high], .. } in statements().unwrap() {
        assert!(FIGURES.iter().any(|known| known.id == figure), "{figure}");
        assert!(names.insert((figure, id)), "{figure} {id} twice");
        assert!(low <= high, "{figure} {id}");
    }
}

/// A selection that no run of the figure satisfies would always be "not measured".
#[test]
fn each_selects_runs_that_its_figure_has() {
    for Statement { figure, id, of, and, .. } in statements().unwrap() {
        let known = FIGURES.iter().find(|known| known.id == figure).unwrap();
        let set: Vec<String> = known.set.iter().map(|set| (*set).to_owned()).collect();
        let plan = Plan::open(known.scenario, &set).unwrap();
        let samples = [of].into_iter().chain(and);
        for sample in samples.flat_map(|sample| [Some(sample), sample.over.as_deref()]).flatten() {
            for selection in [&sample.runs, &sample.other] {
                let found = plan.points.iter().any(|point| {
                    selection.iter().all(|(key, accepted)| {
                        let set = point.set.iter().find(|(set, _)| set == key);
                        set.is_some_and(|(_, value)| crate::evidence::is_one_of(value, accepted))
                    })
                });
                assert!(found, "{figure} {id}: {selection:?}");
            }
        }
    }
}

const GOOD: &str = r#"
[[statement]]
figure = "dctth-4"
id = "x"
source = "DCttH §4.3"
says = "so"
of = { value = "link_utilization" }
within = [0, inf]
because = "as stated"
"#;

#[test]
fn an_error_has_file_and_line() {
    assert_eq!(parse("statements/x.toml", GOOD).unwrap().len(), 1);
    for (good, bad, messages) in [
        (
            "link_utilization",
            "link_utilisation",
            [
                "line 7, column ",
                "unknown quantity `link_utilisation`, did you mean `link_utilization`?",
            ],
        ),
        ("says", "said", ["line 6, column ", "unknown field `said`"]),
        ("id = \"x\"\n", "", ["line 2, column ", "missing field `id`"]),
        ("[0, inf]", "[0, inf", ["line 9, column ", "missing comma"]),
        ("[0, inf]", "[0, 'high']", ["line 8, column ", "expected f64"]),
    ] {
        let error = parse("statements/x.toml", &GOOD.replacen(good, bad, 1)).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("statements/x.toml: "), "{error}");
        assert!(messages.iter().all(|message| error.contains(message)), "{bad}: {error}");
    }
}

#[test]
fn the_range_is_said_in_words() {
    let accepted = |within: [f64; 2]| {
        let mut all = parse("statements/x.toml", GOOD).unwrap();
        (all[0].within, all[0].unit) = (within, " ms".to_owned());
        all[0].accepted()
    };
    assert_eq!(accepted([2.0, f64::INFINITY]), "at least 2 ms");
    assert_eq!(accepted([9.0, 9.0]), "9 ms");
    assert_eq!(accepted([0.0, 0.5]), "at most 0.5 ms");
    assert_eq!(accepted([0.5, 2.0]), "0.5 to 2 ms");
}
