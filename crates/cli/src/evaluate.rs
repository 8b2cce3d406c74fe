//! `l4s evaluate` and `l4s evaluate-aqm`: the evaluation of congestion controls by RFC 9743, and that of
//! queue disciplines by RFC 7928, as one command each.

use std::path::{Path, PathBuf};
use std::time::Instant;

use l4s_evaluate::{Chapter, Column, Criterion, Judged, Outcome, Runs, Suite, Verdict};
use l4s_measure::Results;
use l4s_measure::inventory::Writing;
use l4s_report::Pictures;
use l4s_scenario::{OwnProgram, Plan, fingerprint, nearest, shell_word};
use l4s_substrate::Engine;

use crate::args::{Evaluate, Substrate};
use crate::failure::{Failure, taken};
use crate::folder::{CODE, Existing, Folder, locked};
use crate::run::{Effort, Job};
use crate::table::{Align, aligned};
use crate::{catalog, forecast, parallel, print};

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
    let root = root(command, options);
    let read = |text: &String| Entrant::read(text, &chapters, options, &root);
    let entrants = options.subjects.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let begun = Instant::now();
    announce(&entrants, options)?;
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
        [(TABLE, l4s_evaluate::markdown(suite, &columns)), (JSON, json.clone()), (PAGE, html)]
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

/// A control, a discipline or a program to evaluate.
struct Entrant {
    /// The user's text, or the name of a program.
    name: String,
    is_program: bool,
    /// The folder of its runs, in that of the evaluation.
    folder: String,
    parts: Vec<Part>,
}

/// A chapter with its runs.
struct Part {
    chapter: &'static Chapter,
    plan: Plan,
    /// The scenario, as `l4s run` takes it: its name, or the file to which the text of the plan is written.
    scenario: String,
}

impl Entrant {
    /// Reads `KIND`, `KIND:PROFILE`, a table such as `{ kind = "cubic", abe = true }`, one of them with `+ECN`, or
    /// the file of a program.
    fn read(
        text: &str,
        chapters: &[&'static Chapter],
        options: &Evaluate,
        root: &Path,
    ) -> Result<Entrant, Failure> {
        let is_of_controls = chapters.iter().any(|chapter| !chapter.tested().is_empty());
        let is_program = is_of_controls && text.ends_with(".toml");
        let program = is_program.then(|| program(text, options)).transpose()?;
        // The scenario has a place for each mistake in a table, but the user wrote no scenario.
        if !is_program && !text.contains('{') {
            let cc = text.split_once('+').filter(|_| is_of_controls).map(|(cc, _)| cc);
            catalog::check(cc.unwrap_or(text), is_of_controls)?;
        }
        let name = program.as_ref().map_or(text, |program| &program.name).to_owned();
        let folder = folder(&name);
        let part = |chapter: &&'static Chapter| {
            let (scenario, mut plan) = match &program {
                Some(program) => {
                    let file = root.join(&folder).join(format!("{}.toml", chapter.scenario));
                    let file = file.to_string_lossy().into_owned();
                    let plan = chapter.plan_with(program, &file, options.quick)?;
                    (file, plan)
                }
                None => (chapter.scenario.to_owned(), chapter.plan(Some(text), options.quick)?),
            };
            // A kernel's runs take long, so that a first look is at one seed.
            if options.quick && options.on != Substrate::Sim {
                let first = plan.points[0].scenario.seed;
                plan.points.retain(|point| point.scenario.seed == first);
            }
            Ok(Part { chapter, plan, scenario })
        };
        let parts = chapters.iter().map(part).collect::<Result<_, Failure>>()?;
        Ok(Entrant { name, is_program, folder, parts })
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
        // A program may fail under some conditions. One that never ran is at fault itself.
        let (mut at_fault, mut ran_any) = (None, false);
        for (number, part) in (1..).zip(&self.parts) {
            let Part { chapter, plan, .. } = part;
            let folder = format!("{}/{}", self.folder, chapter.scenario);
            let runs = match self.is_program && !chapter.sees_programs() {
                true => Ok(Ran::default()),
                false => part.run(self.is_program, options, &root.join(&folder)),
            };
            let mut failed = None;
            let runs = match runs {
                Ok(Ran { runs, spent, failed: first }) => {
                    effort.add(spent);
                    match (first, runs.len()) {
                        (None, 0) => {}
                        (None, _) => column.folders.push((chapter.title, folder)),
                        (Some(first), done) => {
                            failed = Some(left_out(plan.points.len() - done, plan, &first));
                            at_fault.get_or_insert(first);
                        }
                    }
                    ran_any |= !runs.is_empty();
                    Ok(runs)
                }
                // The substrate cannot make these runs, but perhaps others.
                Err(Failure::Input { message, .. }) if options.on != Substrate::Sim => Err(message),
                Err(failure) => return Err(failure),
            };
            let runs = runs.as_deref().map(Runs).map_err(String::as_str);
            let verdicts = match self.is_program {
                true => chapter.judge_program(runs, failed.as_deref()),
                false => l4s_evaluate::judge(chapter, runs),
            };
            let of = self.parts.len();
            let (name, title, said) = (&self.name, chapter.title, outcome(&verdicts));
            say!("{name}: {number} of {of}: {title}: {} runs, {said}", plan.points.len());
            if let Some(failed) = failed {
                say!("note: {failed}");
            }
            column.verdicts.extend(verdicts);
        }
        match at_fault {
            Some(failure) if !ran_any => Err(failure),
            _ => Ok(column),
        }
    }
}

/// The file of a program, for a substrate that runs programs.
fn program(file: &str, options: &Evaluate) -> Result<OwnProgram, Failure> {
    let program = OwnProgram::open(file)?;
    if options.on == Substrate::Sim {
        return Err(Failure::input_with(
            format!(
                "{file}: found --on sim, expected --on linux, --on qdisc or --on kernel: it runs no programs"
            ),
            "--on linux has virtual time, so that its runs repeat",
        ));
    }
    Ok(program)
}

/// The folder of the runs of an entrant.
fn folder(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain: Vec<&str> = name.split(|c| !is_plain(c)).filter(|word| !word.is_empty()).collect();
    format!("{}-{}", plain.join("-"), &fingerprint(name.as_bytes())[..6])
}

/// The outcome of a chapter, in words.
fn outcome(verdicts: &[Verdict]) -> String {
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    match (count(Outcome::Pass), count(Outcome::Fail)) {
        (0, 0) => verdicts.first().map_or("", |verdict| verdict.outcome.name()).to_owned(),
        (passed, failed) => format!("{passed} of {} criteria hold", passed + failed),
    }
}

/// Runs that failed, in words.
fn left_out(failed: usize, plan: &Plan, first: &Failure) -> String {
    format!("{failed} of {} runs failed, and are left out; the first: {first}", plan.points.len())
}

impl Part {
    /// Runs the chapter, unless this code did so before, and reads its results. A program may fail in some of them.
    fn run(&self, of_program: bool, options: &Evaluate, out: &Path) -> Result<Ran, Failure> {
        let Part { chapter, plan, scenario } = self;
        if of_program {
            self.write()?;
        }
        let done = Job {
            plan,
            called: scenario,
            on: options.on,
            jobs: options.jobs,
            out: Some(out),
            existing: Existing::of_named(options.out.as_deref(), options.replace),
            trace: None,
            json: false,
            pictures: Pictures::Sheet(&[]),
            smaller: None,
            quiet: true,
            leaves_out_failed: of_program,
            session: None,
        }
        .carry_out()?;
        let spent = done.effort();
        let (mut runs, failed) = match (done.failed, &done.folder) {
            (Some(failed), Some(folder)) => (kept(plan, folder)?, Some(failed)),
            _ => (judged(plan, out)?, None),
        };
        if of_program {
            let gathered = |run: Judged| run.with_instances_of(chapter.tested());
            runs = runs.into_iter().map(gathered).collect();
        }
        Ok(Ran { runs, spent, failed })
    }

    /// Writes the text of the plan into its file, for those who repeat a run.
    fn write(&self) -> Result<(), Failure> {
        let file = Path::new(&self.scenario);
        let write = || {
            std::fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
            std::fs::write(file, &self.plan.text)
        };
        write().map_err(|error| Failure::Run(format!("{}: {error}", file.display())))
    }
}

/// The runs of a chapter.
#[derive(Default)]
struct Ran {
    runs: Vec<Judged>,
    spent: Effort,
    /// The first failure of those that are left out.
    failed: Option<Failure>,
}

/// The runs of a folder in which others failed.
fn kept(plan: &Plan, folder: &Folder) -> Result<Vec<Judged>, Failure> {
    let mut all = Vec::new();
    for (number, point) in plan.points.iter().enumerate() {
        all.extend(folder.done(number)?.map(|record| Judged::new(point.clone(), record)));
    }
    Ok(all)
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
    let parts = entrants.iter().flat_map(|entrant| &entrant.parts);
    let plans: Vec<Plan> = parts.map(|part| part.plan.clone()).collect();
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
        // A failed run is shown with its program's output.
        let why = verdict.why.iter().flat_map(|why| why.lines().next()).map(str::to_owned);
        let condition = Some(verdict.condition()).filter(|condition| !condition.is_empty());
        let condition = condition.into_iter().chain(why).collect::<Vec<_>>().join("; ");
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
