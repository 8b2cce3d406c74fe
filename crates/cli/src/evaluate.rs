//! `l4s evaluate` and `l4s evaluate-aqm`: the evaluation of congestion controls by RFC 9743, and that of
//! queue disciplines by RFC 7928, as one command each.

use std::path::{Path, PathBuf};
use std::time::Instant;

use l4s_evaluate::{Chapter, Column, Criterion, Judged, Outcome, Runs, Suite, Verdict};
use l4s_measure::Results;
use l4s_measure::inventory::Writing;
use l4s_report::Pictures;
use l4s_scenario::{Plan, fingerprint, nearest, shell_word};
use l4s_substrate::Engine;

use crate::args::{Evaluate, Substrate};
use crate::failure::{Failure, taken};
use crate::folder::{CODE, Existing, locked};
use crate::run::{Effort, Job};
use crate::table::{Align, aligned};
use crate::{forecast, parallel, print};

/// The files of an evaluation, beside the folders of its controls.
const PAGE: &str = "index.html";
const TABLE: &str = "evaluation.md";
const JSON: &str = "evaluation.json";

/// Lists the criteria of a suite, or judges its subjects by them: controls, or disciplines.
pub fn evaluate(
    command: &'static str,
    suite: &'static Suite,
    options: &Evaluate,
) -> Result<(), Failure> {
    if options.list {
        return list(suite);
    }
    let chapters = chosen(suite, &options.only)?;
    let entrants = options.subjects.iter().map(|text| Entrant::read(text, &chapters, options));
    let entrants = entrants.collect::<Result<Vec<Entrant>, Failure>>()?;
    let begun = Instant::now();
    announce(&entrants, options)?;
    let root = root(command, options);
    let mut effort = Effort::default();
    let mut columns = Vec::new();
    for entrant in &entrants {
        columns.push(entrant.column(options, &root, &mut effort)?);
    }
    let (dir, lock) = locked(&root)?;
    let (on, version) = (options.on.name(), crate::measured::VERSION);
    let json = l4s_evaluate::json(suite, &columns, on, options.quick, version, CODE);
    let html = l4s_evaluate::html(suite, &columns, CODE, &same(command, options));
    let writing = Writing::begin(&dir, [PAGE, TABLE, JSON]).map_err(taken)?;
    for (name, text) in
        [(TABLE, l4s_evaluate::markdown(&columns)), (JSON, json.clone()), (PAGE, html)]
    {
        writing.file(name, text.as_bytes()).map_err(taken)?;
    }
    writing.finish().map_err(taken)?;
    drop(lock);
    print(&if options.json { json } else { table(&columns) })?;
    say!("{}", effort.said(begun.elapsed()));
    for column in &columns {
        let (passed, of) = column.score();
        say!("{}: {passed} of {of} criteria hold", column.name);
    }
    say!("page: {}", root.join(PAGE).display());
    Ok(())
}

/// The chapters with these names; all of them without any.
fn chosen(suite: &'static Suite, only: &[String]) -> Result<Vec<&'static Chapter>, Failure> {
    if only.is_empty() {
        return Ok(suite.chapters.iter().collect());
    }
    let find = |name: &String| {
        suite.chapters.iter().find(|chapter| chapter.name() == name).ok_or_else(|| {
            let names: Vec<&str> = suite.names().collect();
            let help = nearest(name, names.iter().copied());
            let help = help.map(|near| format!("did you mean `{near}`?"));
            let known = names.join(", ");
            let message = format!("--only: found `{name}`, expected one of {known}");
            Failure::Input { message, help }
        })
    };
    only.iter().map(find).collect()
}

fn list(suite: &Suite) -> Result<(), Failure> {
    let mut rows = vec![cells(["chapter", "criterion", "section", "accepted", "question"])];
    for chapter in suite.chapters {
        for criterion in chapter.criteria {
            let Criterion { id, section, asks, .. } = criterion;
            rows.push(cells([chapter.name(), id, section, &criterion.range(), asks]));
        }
    }
    print(&aligned(&rows, &[]))
}

/// A control or a discipline to evaluate, with the plan of each chapter.
struct Entrant {
    /// The user's text.
    name: String,
    plans: Vec<(&'static Chapter, Plan)>,
}

impl Entrant {
    /// Reads `KIND`, `KIND:PROFILE` or a table such as `{ kind = "cubic", abe = true }`.
    fn read(
        text: &str,
        chapters: &[&'static Chapter],
        options: &Evaluate,
    ) -> Result<Entrant, Failure> {
        let plan = |chapter: &&'static Chapter| {
            let mut plan = chapter.plan(Some(text), options.quick)?;
            // A kernel's runs take long, so that a first look is at one seed.
            if options.quick && options.on != Substrate::Sim {
                let first = plan.points[0].scenario.seed;
                plan.points.retain(|point| point.scenario.seed == first);
            }
            Ok((*chapter, plan))
        };
        let plans = chapters.iter().map(plan).collect::<Result<_, Failure>>()?;
        Ok(Entrant { name: text.to_owned(), plans })
    }

    /// The folder of its runs, in that of the evaluation.
    fn folder(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match self.name.chars().all(is_plain) {
            true => self.name.clone(),
            false => {
                let plain: Vec<&str> =
                    self.name.split(|c| !is_plain(c)).filter(|word| !word.is_empty()).collect();
                format!("{}-{}", plain.join("-"), &fingerprint(self.name.as_bytes())[..6])
            }
        }
    }

    /// Runs every chapter and judges it.
    fn column(
        &self,
        options: &Evaluate,
        root: &Path,
        effort: &mut Effort,
    ) -> Result<Column, Failure> {
        let mut column =
            Column { name: self.name.clone(), verdicts: Vec::new(), folders: Vec::new() };
        for (number, (chapter, plan)) in (1..).zip(&self.plans) {
            let folder = format!("{}/{}", self.folder(), chapter.scenario);
            let verdicts = match chapter_of(chapter, plan, options, &root.join(&folder)) {
                Ok((runs, spent)) => {
                    effort.add(spent);
                    column.folders.push((chapter.title, folder));
                    l4s_evaluate::judge(chapter, Ok(Runs(&runs)))
                }
                // The substrate cannot make these runs, but perhaps others.
                Err(Failure::Input { message, .. }) if options.on != Substrate::Sim => {
                    l4s_evaluate::judge(chapter, Err(&message))
                }
                Err(failure) => return Err(failure),
            };
            let of = self.plans.len();
            let (name, title, said) = (&self.name, chapter.title, outcome(&verdicts));
            say!("{name}: {number} of {of}: {title}: {} runs, {said}", plan.points.len());
            column.verdicts.extend(verdicts);
        }
        Ok(column)
    }
}

/// The outcome of a chapter, in words.
fn outcome(verdicts: &[Verdict]) -> String {
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    match (count(Outcome::Pass), count(Outcome::Fail)) {
        (0, 0) => verdicts.first().map_or("", |verdict| verdict.outcome.name()).to_owned(),
        (passed, failed) => format!("{passed} of {} criteria hold", passed + failed),
    }
}

/// Runs a chapter, unless this code did so before, and reads its results.
fn chapter_of(
    chapter: &Chapter,
    plan: &Plan,
    options: &Evaluate,
    out: &Path,
) -> Result<(Vec<Judged>, Effort), Failure> {
    let done = Job {
        plan,
        called: chapter.scenario,
        on: options.on,
        jobs: options.jobs,
        out: Some(out),
        existing: match options.out.is_none() || options.replace {
            true => Existing::Renew,
            false => Existing::Resume,
        },
        trace: None,
        json: false,
        pictures: Pictures::Sheet(&[]),
        smaller: None,
        quiet: true,
        session: None,
    }
    .carry_out()?;
    Ok((judged(plan, out)?, done.effort()))
}

/// The results of a folder.
fn judged(plan: &Plan, folder: &Path) -> Result<Vec<Judged>, Failure> {
    let read = || {
        let results = Results::open(folder)?;
        let judged = |(point, run): (_, &l4s_measure::Run)| Judged {
            point: Clone::clone(point),
            summary: run.summary.clone(),
            series: Vec::new(),
            flows: Vec::new(),
            command: run.command.clone(),
        };
        let mut all: Vec<Judged> = plan.points.iter().zip(results.runs()).map(judged).collect();
        for rows in results.series()? {
            let (run, rows) = rows?;
            all[run as usize].keep_series(rows);
        }
        for rows in results.flows()? {
            let (run, rows) = rows?;
            all[run as usize].flows = rows;
        }
        Ok(all)
    };
    read().map_err(|error: l4s_measure::ResultError| Failure::Run(error.to_string()))
}

/// Says how long it will take at most.
fn announce(entrants: &[Entrant], options: &Evaluate) -> Result<(), Failure> {
    let plans = entrants.iter().flat_map(|entrant| &entrant.plans);
    let plans: Vec<Plan> = plans.map(|(_, plan)| plan.clone()).collect();
    match options.on {
        Substrate::Sim => {
            forecast::announce(&plans, &Engine::SIM, parallel::threads(options.jobs), None)
        }
        on => {
            let runs = plans.iter().flat_map(|plan| &plan.points);
            let time: f64 = runs.map(|point| point.scenario.duration.as_secs_f64()).sum();
            let real = if on == Substrate::Linux { "virtual" } else { "real" };
            say!("{:.0} min of {real} time", time / 60.0);
            Ok(())
        }
    }
}

fn root(command: &str, options: &Evaluate) -> PathBuf {
    let quick = if options.quick { "-quick" } else { "" };
    options.out.clone().unwrap_or_else(|| PathBuf::from(format!("out/{command}{quick}")))
}

/// The command that makes the same page.
fn same(command: &str, options: &Evaluate) -> String {
    let mut command = format!("l4s {command}");
    for subject in &options.subjects {
        command += &format!(" {}", shell_word(subject));
    }
    for chapter in &options.only {
        command += &format!(" --only {chapter}");
    }
    if options.on != Substrate::Sim {
        command += &format!(" --on {}", options.on.name());
    }
    command + if options.quick { " --quick" } else { "" }
}

/// The verdicts for a person: of one control with the worst condition, of several side by side.
fn table(columns: &[Column]) -> String {
    let [column] = columns else { return side_by_side(columns) };
    let mut rows = vec![cells(["verdict", "criterion", "section", "worst", "accepted", "where"])];
    for verdict in &column.verdicts {
        let Criterion { id, section, .. } = verdict.criterion;
        let (value, range) = (verdict.value(), verdict.criterion.range());
        let condition = verdict.why.clone().unwrap_or_else(|| verdict.condition());
        let name = verdict.outcome.name();
        rows.push(cells([name, id, section, &value, &range, &condition]));
    }
    let (left, right) = (Align::Left, Align::Right);
    aligned(&rows, &[left, left, left, right, left, left])
}

fn side_by_side(columns: &[Column]) -> String {
    let Some(first) = columns.first() else { return String::new() };
    let mut rows = vec![cells(["criterion", "section", "accepted"])];
    rows[0].extend(columns.iter().map(|column| column.name.clone()));
    for (n, Verdict { criterion, .. }) in first.verdicts.iter().enumerate() {
        let mut row = cells([criterion.id, criterion.section, &criterion.range()]);
        row.extend(columns.iter().map(|column| {
            let verdict = &column.verdicts[n];
            match verdict.outcome {
                Outcome::Pass => verdict.value(),
                Outcome::Fail => format!("{} FAIL", verdict.value()),
                _ => "-".to_owned(),
            }
        }));
        rows.push(row);
    }
    aligned(&rows, &[])
}

fn cells<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}
