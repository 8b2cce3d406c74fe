//! The requirements of the documents that l4s follows. The files of `conformance` are complete and name
//! code and tests that exist, and docs/reference/conformance.md is made from them.
//!
//! `UPDATE_DOCS=1 cargo test -p l4s --test conformance` writes the page again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

const PAGE: &str = "docs/reference/conformance.md";
const REFERENCES: &str = "docs/reference/references.md";

/// The requirements of one document, as in `conformance/rfc9332.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    /// Its key in citations of the code: `RFC 9332`.
    key: String,
    title: String,
    /// The text in which the key words were counted.
    counted_in: String,
    /// The parts that l4s follows, and those that it leaves out, as text for the page.
    scope: Option<String>,
    /// Every section, with its key words in the order of the text (`scripts/keywords.py`).
    sections: BTreeMap<String, String>,
    #[serde(rename = "requirement")]
    requirements: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    section: String,
    /// Its key words, or `rule` where it has none.
    level: String,
    says: String,
    /// `path#symbol`.
    #[serde(default)]
    code: Vec<String>,
    /// `path#test`.
    #[serde(default)]
    tests: Vec<String>,
    /// For a requirement that is met in part: the part that is not met.
    partly: Option<String>,
    not_met: Option<String>,
    not_applicable: Option<String>,
    /// The text only talks about a requirement.
    remark: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Met,
    Partly,
    NotMet,
    NotApplicable,
    Remark,
}

impl Requirement {
    fn status(&self) -> Status {
        match (&self.partly, &self.not_met, &self.not_applicable, &self.remark) {
            (None, None, None, None) => Status::Met,
            (Some(_), None, None, None) => Status::Partly,
            (None, Some(_), None, None) => Status::NotMet,
            (None, None, Some(_), None) => Status::NotApplicable,
            (None, None, None, Some(_)) => Status::Remark,
            _ => panic!("{}: more than one of partly, not_met, not_applicable, remark", self.says),
        }
    }

    fn reason(&self) -> Option<&str> {
        [&self.partly, &self.not_met, &self.not_applicable, &self.remark]
            .into_iter()
            .find_map(|reason| reason.as_deref())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The documents, in the order of their files' names.
fn documents() -> Vec<Document> {
    let folder = root().join("conformance");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let parse = |path: &PathBuf| {
        toml::from_str(&fs::read_to_string(path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().filter(|path| path.extension().is_some_and(|e| e == "toml")).map(parse).collect()
}

/// Whether `line` defines `symbol`: an item, a field, a variant or a function of C.
fn defines(line: &str, symbol: &str, c: bool) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(symbol).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + symbol.len()..]);
        if before.ends_with(is_word) || after.starts_with(is_word) {
            return false;
        }
        let kinds = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "#define"];
        let item = before.split_whitespace().next_back().is_some_and(|word| kinds.contains(&word));
        let vis = before.trim_start().trim_start_matches("pub").trim_start_matches("(super)");
        let member = vis.trim().is_empty()
            && [":", ",", "(", " {", " ="].iter().any(|mark| after.starts_with(mark));
        let function = c && !line.starts_with(char::is_whitespace) && after.starts_with('(');
        item || member || function
    })
}

/// The error in a place in the code, if any.
fn misplaced(place: &str) -> Option<String> {
    let Some((path, symbol)) = place.split_once('#') else {
        return (!root().join(place).exists()).then(|| format!("{place} does not exist"));
    };
    let text = match fs::read_to_string(root().join(path)) {
        Ok(text) => text,
        Err(error) => return Some(format!("{path}: {error}")),
    };
    let c = path.ends_with(".c") || path.ends_with(".h");
    let found = text.lines().any(|line| defines(line, symbol, c));
    (!found).then(|| format!("{path} does not define {symbol}"))
}

/// The error in a test, if any.
fn missing_test(test: &str) -> Option<String> {
    let Some((path, name)) = test.split_once('#') else {
        return Some(format!("{test}: expected path#test"));
    };
    let text = match fs::read_to_string(root().join(path)) {
        Ok(text) => text,
        Err(error) => return Some(format!("{path}: {error}")),
    };
    let head = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().collect();
    let is_head =
        |line: &&str| line.trim_start().trim_start_matches("pub(super) ").starts_with(&head);
    let found = lines.iter().position(is_head).is_some_and(|at| {
        // Attributes may follow #[test].
        let attributes = lines[..at].iter().rev().take_while(|line| line.trim().starts_with("#["));
        attributes.into_iter().any(|line| line.trim() == "#[test]")
    });
    (!found).then(|| format!("{path} has no test {name}"))
}

/// The sections of `key` that `text` cites, as `RFC 9332 §2.5`.
fn cited_sections(text: &str, key: &str) -> Vec<String> {
    let mark = format!("{key} §");
    let section = |at: usize| {
        let rest = text[at + mark.len()..].trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
        rest[..end].trim_end_matches('.').to_owned()
    };
    text.match_indices(&mark).map(|(at, _)| section(at)).collect()
}

/// Every source file of the crates, with its text.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|e| e.to_str()) {
                _ if path.is_dir() && !path.ends_with("target") => walk(&path, files),
                Some("rs" | "c" | "h") => files.push(path),
                _ => {}
            }
        }
    }
    let mut files = Vec::new();
    walk(&root().join("crates"), &mut files);
    let name = |path: &Path| path.strip_prefix(root()).unwrap().display().to_string();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn each_keyword_of_a_document_is_a_requirement_here() {
    for document in documents() {
        let key = &document.key;
        let mut levels: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for requirement in document.requirements.iter().filter(|r| r.level != "rule") {
            levels.entry(&requirement.section).or_default().push(&requirement.level);
        }
        for (section, keywords) in &document.sections {
            let listed = levels.remove(section.as_str()).unwrap_or_default().join(", ");
            assert_eq!(&listed, keywords, "{key} §{section}: listed, and in the text");
        }
        assert!(levels.is_empty(), "{key} has no section {:?}", levels.keys());
    }
}

#[test]
fn each_requirement_names_code_and_tests_that_exist_or_a_reason() {
    let mut faults = Vec::new();
    for document in documents() {
        for r in &document.requirements {
            let mut fault = |what: String| {
                faults.push(format!("{} §{}: {}: {what}", document.key, r.section, r.says));
            };
            if !document.sections.contains_key(&r.section) {
                fault("no such section".to_owned());
            }
            let (has_code, has_tests) = (!r.code.is_empty(), !r.tests.is_empty());
            match r.status() {
                Status::Met if !has_code || !has_tests => fault("no code or no test".to_owned()),
                Status::Partly if !has_code => fault("no code".to_owned()),
                Status::NotMet | Status::NotApplicable | Status::Remark if has_code => {
                    fault("code for what is not done".to_owned());
                }
                _ => {}
            }
            r.code.iter().filter_map(|place| misplaced(place)).for_each(&mut fault);
            r.tests.iter().filter_map(|test| missing_test(test)).for_each(&mut fault);
            // Code that meets a requirement cites the document.
            let files: Vec<_> = r.code.iter().filter_map(|place| place.split_once('#')).collect();
            if !files.is_empty()
                && !files.iter().any(|(path, _)| read(path).contains(&document.key))
            {
                fault(format!("none of its files cites {}", document.key));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_citation_in_the_code_is_of_a_section_that_exists() {
    let documents = documents();
    let mut faults = Vec::new();
    for (path, text) in sources() {
        for document in &documents {
            for section in cited_sections(&text, &document.key) {
                if !document.sections.contains_key(&section) {
                    faults.push(format!("{path}: {} has no section {section}", document.key));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A link to a section of a document.
fn link(key: &str, section: &str) -> String {
    let kind = if section.starts_with(char::is_numeric) { "section" } else { "appendix" };
    let name = key.replace("RFC ", "rfc");
    format!("[§{section}](https://datatracker.ietf.org/doc/html/{name}#{kind}-{section})")
}

/// `path#symbol`s as the cell of a table: one line per file, with its symbols.
fn places(places: &[String]) -> String {
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    for place in places {
        let (path, symbol) = place.split_once('#').unwrap_or((place, ""));
        if files.last().is_none_or(|(last, _)| *last != path) {
            files.push((path, Vec::new()));
        }
        if let (false, Some((_, symbols))) = (symbol.is_empty(), files.last_mut()) {
            symbols.push(format!("`{symbol}`"));
        }
    }
    let line = |(path, symbols): &(&str, Vec<String>)| match symbols.is_empty() {
        true => format!("`{path}`"),
        false => format!("`{path}`: {}", symbols.join(", ")),
    };
    files.iter().map(line).collect::<Vec<_>>().join("<br>")
}

fn page(documents: &[Document]) -> String {
    let mut page = read(PAGE);
    let mark =
        "<!-- from conformance/*.toml: UPDATE_DOCS=1 cargo test -p l4s --test conformance -->\n";
    let at = page.find(mark).expect("the page has the mark below which it is generated");
    page.truncate(at + mark.len());
    page.push_str(
        "\n| document | met | partly | not met | not applicable |\n|---|---|---|---|---|\n",
    );
    let count = |document: &Document, status| {
        document.requirements.iter().filter(|r| r.status() == status).count()
    };
    let statuses = [Status::Met, Status::Partly, Status::NotMet, Status::NotApplicable];
    let mut totals = [0; 4];
    for document in documents {
        let counts = statuses.map(|status| count(document, status));
        totals = std::array::from_fn(|i| totals[i] + counts[i]);
        let [met, partly, not_met, not_applicable] = counts;
        let (key, title) = (&document.key, &document.title);
        let anchor = key.to_lowercase().replace(' ', "-");
        writeln!(
            page,
            "| [{key}](#{anchor}), {title} | {met} | {partly} | {not_met} | {not_applicable} |"
        )
        .unwrap();
    }
    let [met, partly, not_met, not_applicable] = totals;
    writeln!(page, "| all | {met} | {partly} | {not_met} | {not_applicable} |").unwrap();
    for document in documents {
        let key = &document.key;
        writeln!(page, "\n## {key}\n\n{}.", document.title).unwrap();
        if let Some(scope) = &document.scope {
            writeln!(page, "{scope}").unwrap();
        }
        writeln!(page, "Key words counted in {}.", document.counted_in).unwrap();
        page.push_str(
            "\n| section | level | requirement | code | tests |\n|---|---|---|---|---|\n",
        );
        for r in document.requirements.iter().filter(|r| r.status() != Status::Remark) {
            let verdict = match r.status() {
                Status::Met | Status::Remark => "",
                Status::Partly => "**Partly:** ",
                Status::NotMet => "**Not met:** ",
                Status::NotApplicable => "*Not applicable:* ",
            };
            let reason = r.reason().map(|reason| format!("<br>{verdict}{reason}"));
            writeln!(
                page,
                "| {} | {} | {}{} | {} | {} |",
                link(key, &r.section),
                r.level,
                r.says,
                reason.unwrap_or_default(),
                places(&r.code),
                places(&r.tests)
            )
            .unwrap();
        }
    }
    page
}

#[test]
fn the_page_is_the_data() {
    let wanted = page(&documents());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(PAGE), &wanted).unwrap();
    }
    assert!(read(PAGE) == wanted, "{PAGE} is not current: run `make docs`");
}

/// The rows of a table whose first cell is a link: its text, and the second cell.
fn linked_rows(page: &str) -> BTreeMap<String, String> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| [")?.split(" | ");
        let (key, _) = cells.next()?.split_once("](https://")?;
        Some((key.to_owned(), cells.next()?.to_owned()))
    };
    page.lines().filter_map(row).collect()
}

/// The RFCs and drafts that `text` names.
fn named_documents(text: &str) -> BTreeSet<String> {
    let rfc = |at: usize| {
        let digits = text[at + 4..].split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        (digits.len() >= 3).then(|| format!("RFC {digits}"))
    };
    let draft = |at: usize| {
        let end = |c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-';
        let name = text[at..].split(end).next().unwrap_or_default().trim_end_matches('-');
        (name.matches('-').count() >= 3).then(|| name.to_owned())
    };
    let rfcs = text.match_indices("RFC ").filter_map(|(at, _)| rfc(at));
    rfcs.chain(text.match_indices("draft-").filter_map(|(at, _)| draft(at))).collect()
}

#[test]
fn the_references_are_the_documents_that_are_named_somewhere() {
    let listed: BTreeSet<String> = linked_rows(&read(REFERENCES)).into_keys().collect();
    let mut named: BTreeSet<String> =
        sources().iter().flat_map(|(_, text)| named_documents(text)).collect();
    let mut pages = vec![root().join("docs")];
    while let Some(path) = pages.pop() {
        if path.is_dir() {
            pages.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "md") && !path.ends_with("references.md") {
            let text = fs::read_to_string(path).unwrap();
            // This page names drafts only as the text in which key words were counted.
            let text = text.lines().filter(|line| !line.starts_with("Key words counted in"));
            named.extend(named_documents(&text.collect::<Vec<_>>().join("\n")));
        }
    }
    let missing: Vec<_> = named.difference(&listed).collect();
    let unused: Vec<_> = listed.difference(&named).collect();
    assert!(missing.is_empty(), "not in the references: {missing:?}");
    assert!(unused.is_empty(), "in the references, and named nowhere: {unused:?}");
}

#[test]
fn documents_have_the_titles_of_the_references() {
    let titles = linked_rows(&read(REFERENCES));
    for document in documents() {
        assert_eq!(titles.get(&document.key), Some(&document.title), "{}", document.key);
    }
}
