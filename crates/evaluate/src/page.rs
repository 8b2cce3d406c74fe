//! The verdicts on one or more controls as a page, as a table in Markdown, and as JSON.

use std::fmt::Write;

use serde_json::json;

use crate::{Chapter, Criterion, Outcome, Suite, Verdict};

const STYLE: &str = include_str!("../assets/page.css");

/// A control with its verdicts, a column of the page. All columns have the same criteria.
#[derive(Clone, Debug)]
pub struct Column {
    /// The control.
    pub name: String,
    /// The verdicts, in the order of the chapters.
    pub verdicts: Vec<Verdict>,
    /// The folder of the runs of each chapter, by the title of the chapter, from that of the page.
    pub folders: Vec<(&'static str, String)>,
}

impl Column {
    /// How many criteria it passes, and how many apply to it.
    pub fn score(&self) -> (usize, usize) {
        let count = |outcome| self.verdicts.iter().filter(|v| v.outcome == outcome).count();
        let passed = count(Outcome::Pass);
        (passed, passed + count(Outcome::Fail))
    }
}

impl Criterion {
    /// The accepted range with its unit.
    pub fn range(&self) -> String {
        format!("{}{}", self.accepted, self.unit)
    }
}

impl Verdict {
    /// The worst value with its unit; empty without one.
    pub fn value(&self) -> String {
        self.worst.as_ref().map_or(String::new(), |worst| number(worst.value) + self.criterion.unit)
    }

    /// The condition with the worst value: its settings without those that put the control in.
    pub fn condition(&self) -> String {
        let Some(worst) = &self.worst else { return String::new() };
        let is_everywhere = |key: &str| {
            key.ends_with(".cc")
                || key.ends_with(".ecn")
                || ["aqm", "duration", "warmup"].contains(&key)
        };
        let shown =
            worst.set.iter().filter(|(key, value)| !is_everywhere(key) && *value != "tested");
        let shown = shown.map(|(_, value)| value.as_str().map_or(value.to_string(), str::to_owned));
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// The verdicts for a program. `version` and `code` are those that made the runs, on the substrate `on`.
pub fn json(
    suite: &Suite,
    columns: &[Column],
    on: &str,
    quick: bool,
    version: &str,
    code: &str,
) -> String {
    let column = |column: &Column| {
        let (passed, of) = column.score();
        let (name, verdicts) = (&column.name, &column.verdicts);
        json!({ "name": name, "passed": passed, "of": of, "verdicts": verdicts })
    };
    let evaluated: Vec<serde_json::Value> = columns.iter().map(column).collect();
    let not_run: Vec<&str> = not_run(suite, columns).map(Chapter::name).collect();
    let json = json!({
        "of": suite.of, "on": on, "quick": quick, "version": version, "code": code, "not_run": not_run,
        "evaluated": evaluated,
    });
    format!("{json:#}\n")
}

/// Three significant digits.
fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    let text = format!("{value:.0$}", (2.0 - digits).clamp(0.0, 3.0) as usize);
    // A value that rounds to 0 has no sign.
    if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
}

/// A table with a row for each criterion and a column for each control. Where it does not hold, the cell has
/// the number of conditions too. Chapters of the suite that were not run are below it.
pub fn markdown(suite: &Suite, columns: &[Column]) -> String {
    let mut page = "| criterion | section | accepted |".to_owned();
    columns.iter().for_each(|column| page += &format!(" {} |", column.name));
    page += "\n|---|---|---|";
    page += &"---|".repeat(columns.len());
    page.push('\n');
    for (n, criterion) in criteria(columns).enumerate() {
        let Criterion { id, section, .. } = criterion;
        let _ = write!(page, "| {id} | {section} | {} |", criterion.range());
        for column in columns {
            let verdict = &column.verdicts[n];
            let _ = match verdict.outcome {
                Outcome::Pass => write!(page, " {} |", verdict.value()),
                Outcome::Fail => {
                    let Verdict { failed, conditions, .. } = verdict;
                    write!(page, " **{}** in {failed} of {conditions} |", verdict.value())
                }
                _ => write!(page, " - |"),
            };
        }
        page.push('\n');
    }
    page += "| criteria that hold | | |";
    for column in columns {
        let (passed, of) = column.score();
        let _ = write!(page, " {passed} of {of} |");
    }
    page.push('\n');
    page + &part_of(suite, columns).map_or(String::new(), |part| format!("\n{part}\n"))
}

/// The chapters of a suite that have no verdict.
fn not_run<'a>(suite: &'a Suite, columns: &[Column]) -> impl Iterator<Item = &'a Chapter> {
    let is_run = |of: &&Chapter| first(columns).iter().any(|verdict| verdict.chapter == of.title);
    suite.chapters.iter().filter(move |chapter| !is_run(chapter))
}

/// Which chapters were judged and which were not run; `None` where all of them were.
fn part_of(suite: &Suite, columns: &[Column]) -> Option<String> {
    let others: Vec<&str> = not_run(suite, columns).map(Chapter::name).collect();
    let judged: Vec<&str> = suite.names().filter(|name| !others.contains(name)).collect();
    let [judged, not_run] = [&judged, &others].map(|names| names.join(", "));
    (!others.is_empty())
        .then(|| format!("Chapters that were judged: {judged}. Not run: {not_run}."))
}

/// The criteria of all columns.
fn criteria(columns: &[Column]) -> impl Iterator<Item = &'static Criterion> {
    first(columns).iter().map(|verdict| verdict.criterion)
}

/// The verdicts that stand for the criteria of all columns.
fn first(columns: &[Column]) -> &[Verdict] {
    columns.first().map_or(&[], |column| &column.verdicts)
}

/// The page. `code` is the version of the code that made the runs; `how` is the command.
pub fn html(suite: &Suite, columns: &[Column], code: &str, how: &str) -> String {
    let mut body = String::new();
    let mut chapter = "";
    for (n, Verdict { criterion, chapter: of, .. }) in first(columns).iter().enumerate() {
        if *of != chapter {
            chapter = of;
            let _ = write!(body, "{}", heading(chapter, columns));
        }
        let Criterion { id, section, asks, measure, because, .. } = criterion;
        let _ = write!(
            body,
            "<tr><th scope=\"row\"><details id=\"{id}\"><summary>{}</summary><p>{}: {}. Accepted: {}, \
             as {}.</p><p>{}</p></details></th>",
            text(asks),
            text(section),
            text(measure),
            text(&criterion.range()),
            text(because),
            columns.iter().map(|column| worst(column, n)).collect::<String>(),
        );
        for column in columns {
            let verdict = &column.verdicts[n];
            let (class, sign) = match verdict.outcome {
                Outcome::Pass => ("pass", "✓"),
                Outcome::Fail => ("fail", "✗"),
                Outcome::NotApplicable | Outcome::NotMeasured => ("none", "–"),
            };
            let name = verdict.outcome.name();
            let _ = write!(
                body,
                "<td class=\"{class}\"><span aria-hidden=\"true\">{sign}</span> \
                 <span class=\"word\">{name}</span> {}</td>",
                text(&verdict.value()),
            );
        }
        body += "</tr>\n";
    }
    let names: Vec<String> = columns.iter().map(|column| text(&column.name)).collect();
    let heads: String = (columns.iter())
        .map(|column| {
            let (passed, of) = column.score();
            format!("<th scope=\"col\">{}<small>{passed} of {of}</small></th>", text(&column.name))
        })
        .collect();
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="l4s {code}">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Evaluation of {title}</title>
<style>
{STYLE}</style>
</head>
<body>
<h1>Evaluation of {title}</h1>
<p>{by} The number is the worst condition of each criterion, as the mean over seeds. The documents give no thresholds: the
accepted ranges are those of l4s. A question opens to its measure, its range with the reason, and the command that repeats
the worst run.</p>
<p><code>{how}</code></p>
{part}<div class="wide"><table>
<thead><tr><th scope="col">criterion</th>{heads}</tr></thead>
<tbody>
{body}</tbody>
</table></div>
</body>
</html>
"#,
        by = suite.by,
        part = part_of(suite, columns).map_or(String::new(), |part| format!("<p>{part}</p>\n")),
        title = names.join(", "),
        code = text(code),
        how = text(how),
    )
}

/// The row above a chapter, with the reports of its runs.
fn heading(chapter: &str, columns: &[Column]) -> String {
    let report = |column: &Column| {
        let found = column.folders.iter().find(|(title, _)| *title == chapter);
        found.map_or("<td></td>".to_owned(), |(_, folder)| {
            format!("<td><a href=\"{}/report.html\">runs</a></td>", text(folder))
        })
    };
    let reports: String = columns.iter().map(report).collect();
    format!("<tr class=\"chapter\"><th scope=\"rowgroup\">{}</th>{reports}</tr>\n", text(chapter))
}

/// The worst condition of a control, and the command that repeats it.
fn worst(column: &Column, n: usize) -> String {
    let verdict = &column.verdicts[n];
    let name = text(&column.name);
    match (&verdict.worst, &verdict.why) {
        (Some(worst), why) => format!(
            "<b>{name}</b>: {} in {}; {} of {} conditions out of the range.<br><code>{}</code><br>{}",
            text(&verdict.value()),
            text(&verdict.condition()),
            verdict.failed,
            verdict.conditions,
            text(&worst.command),
            why.as_ref().map_or(String::new(), |why| text(why) + "<br>"),
        ),
        (None, Some(why)) => format!("<b>{name}</b>: not measured: {}<br>", text(why)),
        (None, None) => format!("<b>{name}</b>: not applicable<br>"),
    }
}

/// Text for HTML.
fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
