//! docs/results/papers.md has every statement with its verdict, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use l4s_papers::{Statement, statements};

fn workspace(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_example_on_the_page_is_a_statement() {
    let page = workspace("docs/results/papers.md");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    assert!(workspace("crates/papers/statements/dctth.toml").contains(example), "{example}");
}

#[test]
fn the_page_has_all_statements_with_their_verdicts_and_no_other() {
    let page = workspace("docs/results/papers.md");
    let rows = |figure: &str| -> Vec<String> {
        let (_, rest) = page.split_once(&format!("<!-- {figure} -->\n")).expect(figure);
        let (section, _) = rest.split_once("<!-- end -->").expect(figure);
        let rows = section.lines().filter(|line| line.ends_with('|'));
        rows.skip(2).map(str::to_owned).collect()
    };
    let all = statements().unwrap();
    for figure in all.iter().map(|statement| &statement.figure).collect::<BTreeSet<_>>() {
        let rows = rows(figure);
        let ours: Vec<_> = all.iter().filter(|statement| statement.figure == *figure).collect();
        assert_eq!(rows.len(), ours.len(), "{figure}: scripts/statements.sh {figure}");
        for (row, Statement { id, says, source, because, does_not_hold, .. }) in
            rows.iter().zip(ours)
        {
            let (verdict, why) = match does_not_hold {
                None => ("holds", String::new()),
                Some(why) => ("does not hold", format!(": {why}")),
            };
            let begin = format!("| {id} | {says} ({source}){why} | ");
            assert!(row.starts_with(&begin), "{row}\n{begin}");
            assert!(row.ends_with(&format!(": {because} | {verdict} |")), "{row}");
        }
    }
}
