//! The dictionary of columns is complete, and docs/reference/results.md agrees with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use l4s_measure::{Column, DelayRow, FlowRow, Row, SeriesRow, dictionary};
use serde_json::json;

/// The markers of the columns on the page.
const BEGIN: &str =
    "<!-- columns: from the code, UPDATE_DOCS=1 cargo test -p l4s-measure --test dictionary -->";
const END: &str = "<!-- end of columns -->";

#[test]
fn every_column_says_what_it_means() {
    for column in dictionary() {
        assert!(!column.meaning.is_empty(), "{}.{}", column.table, column.name);
        // If the name of a column contains a unit, the unit is the declared one.
        for (ending, unit) in [("_ms", "ms"), ("_us", "us"), ("_bps", "bit/s"), ("_s", "s")] {
            if column.name.ends_with(ending) && !column.name.ends_with("bytes") {
                assert_eq!(column.unit, unit, "{}.{}", column.table, column.name);
            }
        }
    }
}

#[test]
fn names_are_those_of_the_files() {
    fn check<R: Row>() {
        let table = R::FILE.trim_end_matches(".parquet");
        let told: Vec<_> =
            dictionary().into_iter().filter(|c| c.table == table && c.name != "run").collect();
        let fields = R::fields();
        assert_eq!(told.len(), fields.len());
        for (column, field) in told.iter().zip(&fields) {
            assert_eq!(&column.name, field.name());
            assert_eq!(column.kind, field.data_type().to_string());
            let Column { unit, over, meaning, .. } = column;
            let said = json!({ "unit": unit, "interval": over.name(), "meaning": meaning });
            assert_eq!(field.metadata().len(), 1, "the order of several is that of a hash map");
            assert_eq!(field.metadata()["l4s"], said.to_string());
        }
    }
    check::<SeriesRow>();
    check::<DelayRow>();
    check::<FlowRow>();
}

#[test]
fn the_page_has_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/results.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for columns");
    let (_, after) = rest.split_once(END).expect("and its end");
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", pages(&dictionary()));
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    assert!(page == wanted || env::var_os("UPDATE_DOCS").is_some(), "run it with UPDATE_DOCS=1");
}

/// The tables of the page. Columns that are the same for several things of a kind share a row.
fn pages(columns: &[Column]) -> String {
    let mut tables: BTreeMap<usize, (&str, String)> = BTreeMap::new();
    for column in columns {
        let place = ["runs", "series", "delays", "flows"].iter().position(|t| *t == column.table);
        let (_, text) = tables.entry(place.unwrap()).or_insert((&column.table, String::new()));
        let Column { name, kind, unit, over, meaning, .. } = column;
        let _ = writeln!(text, "| `{name}` | {kind} | {unit} | {} | {meaning} |", over.name());
    }
    let mut page = String::new();
    for (name, text) in tables.values() {
        let _ = write!(page, "\n### `{name}.parquet`\n\n");
        page += "| column | type | unit | of which time | meaning |\n|---|---|---|---|---|\n";
        page += text;
    }
    page
}
