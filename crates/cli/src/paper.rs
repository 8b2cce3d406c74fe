//! `l4s paper`: runs and draws figures of the papers, with the papers' values beside the measured
//! ones.

mod kept;

use std::path::{Path, PathBuf};
use std::time::Instant;

use l4s_measure::Results;
use l4s_papers::{Evidence, FIGURES, Figure};
use l4s_report::Pictures;
use l4s_report::sheet::{Card, write_sheet};
use l4s_scenario::{Plan, nearest};
use l4s_substrate::Engine;

use crate::args::{Paper, Substrate};
use crate::failure::{Failure, unwritten};
use crate::folder::{CODE, Existing, locked};
use crate::run::{Done, Effort, Job};
use crate::table::{Align, aligned};
use crate::{forecast, parallel, print};

use kept::{Checklist, Kept};

/// Lists the figures, or makes one or all.
pub fn paper(options: &Paper) -> Result<(), Failure> {
    match &options.figure {
        _ if options.list => list(),
        None => all(options),
        Some(id) => one(find(id)?, options),
    }
}

fn list() -> Result<(), Failure> {
    let mut rows = vec![["figure", "paper", "runs", "question"].map(str::to_owned).to_vec()];
    for figure in FIGURES {
        let set: Vec<String> = figure.set.iter().map(|set| (*set).to_owned()).collect();
        let plan = Plan::open(figure.scenario, &set)?;
        let question = plan.question.unwrap_or_default();
        let runs = plan.points.len().to_string();
        rows.push(vec![figure.id.to_owned(), figure.paper.to_owned(), runs, question]);
    }
    print(&aligned(&rows, &[Align::Left, Align::Left, Align::Right]))
}

fn find(id: &str) -> Result<&'static Figure, Failure> {
    FIGURES.iter().find(|figure| figure.id == id).ok_or_else(|| {
        let names = || FIGURES.iter().map(|figure| figure.id);
        let help = match nearest(id, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "see `l4s paper --list`".to_owned(),
        };
        let known = names().collect::<Vec<_>>().join(", ");
        Failure::input_with(format!("there is no figure `{id}`, expected one of {known}"), help)
    })
}

/// Makes a figure, and says its numbers.
fn one(figure: &Figure, options: &Paper) -> Result<(), Failure> {
    let out = options.out.clone().unwrap_or_else(|| root(options).join(folder(figure, options)));
    let made = make(figure, options, &out)?;
    print(&format!("{}: {}\n\n", figure.paper, made.plan.question.as_deref().unwrap_or_default()))?;
    print(&made.kept.table())?;
    print(&made.kept.checklist.text)?;
    made.done.say(&made.plan);
    say!("report: {}", out.join("report.html").display());
    if let Some(page) = figure.page {
        say!("page: {}", out.join(page).display());
    }
    Ok(())
}

/// Number of figures that are made in parallel: one is drawn while another runs.
const AT_A_TIME: usize = 2;

/// Makes every figure, each in a folder, and the contact sheet of them.
fn all(options: &Paper) -> Result<(), Failure> {
    let root = root(options);
    let begun = Instant::now();
    announce(options)?;
    let out = |n: usize| root.join(folder(&FIGURES[n], options));
    let (mut cards, mut effort) = (Vec::new(), Effort::default());
    let work = |n: usize| make(&FIGURES[n], options, &out(n));
    let take = |n: usize, made: Made| {
        let card = card(&FIGURES[n], &made, &out(n))?;
        say!("{} of {}: {}, {}", n + 1, FIGURES.len(), card.name, card.outcome);
        effort.add(made.done.effort());
        cards.push(card);
        Ok(())
    };
    parallel::in_order(FIGURES.len(), Some(AT_A_TIME), false, work, take)?;
    let title = match options.quick {
        true => "The figures of the L4S papers, at a glance",
        false => "The figures of the L4S papers",
    };
    let (_, lock) = locked(&root)?;
    let page = write_sheet(title, CODE, &cards, &root).map_err(unwritten)?;
    drop(lock);
    let row = |card: &Card| vec![card.name.clone(), card.outcome.clone(), card.page.clone()];
    print(&aligned(&cards.iter().map(row).collect::<Vec<_>>(), &[]))?;
    say!("{}", effort.said(begun.elapsed()));
    say!("contact sheet: {}", page.display());
    Ok(())
}

/// Says how long all figures will take at most.
fn announce(options: &Paper) -> Result<(), Failure> {
    let plans = |quick| -> Result<Vec<Plan>, Failure> {
        FIGURES.iter().map(|figure| plan(figure, options, quick)).collect()
    };
    let (ours, quick) = (plans(options.quick)?, plans(true)?);
    let smaller = Some(("--quick", quick.as_slice())).filter(|_| !options.quick);
    forecast::announce(&ours, &Engine::SIM, parallel::threads(options.jobs), smaller)
}

/// The contact sheet's entry for a figure.
fn card(figure: &Figure, made: &Made, out: &Path) -> Result<Card, Failure> {
    let runs = match made.plan.points.len() {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let Checklist { holds, of, .. } = made.kept.checklist;
    let folder = out.file_name().unwrap_or_default().to_string_lossy();
    Ok(Card {
        name: figure.id.to_owned(),
        of: figure.paper.to_owned(),
        question: made.plan.question.clone().unwrap_or_default(),
        outcome: match of {
            0 => runs,
            of => format!("{runs}; {holds} of {of} statements hold"),
        },
        page: format!("{folder}/{}", figure.page.unwrap_or("report.html")),
        picture: picture(figure, out)?,
    })
}

/// The picture of a figure on the contact sheet, without its ending.
fn picture(figure: &Figure, out: &Path) -> Result<PathBuf, Failure> {
    let names =
        figure.pictures.iter().flat_map(|name| [format!("{name}-small"), (*name).to_owned()]);
    let mut places = names.map(|name| out.join("figures").join(name));
    places.find(|place| place.with_extension("svg").is_file()).ok_or_else(|| {
        let expected = figure.pictures.join(" or ");
        Failure::Run(format!("{}: there is no picture {expected}", out.display()))
    })
}

/// The default folder of figures: long and short runs apart.
fn root(options: &Paper) -> PathBuf {
    let default = if options.quick { "out/paper-quick" } else { "out/paper" };
    options.out.clone().unwrap_or_else(|| PathBuf::from(default))
}

/// A figure's folder: with settings of its own one of its own, so that they replace nothing.
fn folder(figure: &Figure, options: &Paper) -> String {
    let Paper { seed, set, .. } = options;
    match (seed, set.as_slice()) {
        (None, []) => figure.id.to_owned(),
        _ => format!(
            "{}-{}",
            figure.id,
            &l4s_scenario::fingerprint(format!("{seed:?} {set:?}").as_bytes())[..6]
        ),
    }
}

/// A figure that is made.
struct Made {
    plan: Plan,
    kept: Kept,
    done: Done,
}

/// Runs a figure's scenario as `l4s run` does and adds the figure's own parts, unless this version of
/// the code did so before. Results of older code are replaced, unless the user chose the folder.
fn make(figure: &Figure, options: &Paper, out: &Path) -> Result<Made, Failure> {
    let quick = plan(figure, options, true)?;
    let plan = plan(figure, options, options.quick)?;
    let alone = options.figure.is_some();
    let threads = parallel::threads(options.jobs);
    let done = Job {
        plan: &plan,
        called: figure.scenario,
        on: Substrate::Sim,
        jobs: Some(if alone { threads } else { threads.div_ceil(AT_A_TIME) }),
        out: Some(out),
        existing: Existing::of_named(options.out.as_deref(), options.replace),
        trace: None,
        json: false,
        pictures: if alone { Pictures::Both } else { Pictures::Sheet(figure.pictures) },
        quiet: !alone,
        leaves_out_failed: false,
        session: None,
        smaller: Some(("--quick", &quick)).filter(|_| !options.quick),
    }
    .carry_out()?;
    let kept = match Kept::of(figure, out) {
        Some(kept) => kept,
        None => {
            let results = Results::open(out).map_err(|error| Failure::Run(error.to_string()))?;
            let numbers = (figure.numbers)(&plan, &results, out)?;
            let evidence = Evidence::new(&plan, &results, out);
            let statements = l4s_papers::check(figure.id, &evidence)?;
            let checklist = Checklist::keep(&statements, out)?;
            Kept::keep(figure, numbers, checklist, out)?
        }
    };
    Ok(Made { plan, kept, done })
}

fn plan(figure: &Figure, options: &Paper, quick: bool) -> Result<Plan, Failure> {
    let quick = if quick { figure.quick } else { &[] };
    let mut set: Vec<String> =
        figure.set.iter().chain(quick).map(|set| (*set).to_owned()).collect();
    set.extend(options.set.iter().cloned());
    set.extend(options.seed.map(|seed| format!("seed={seed}")));
    Ok(Plan::open(figure.scenario, &set)?)
}
