//! `l4s paper`: figures of the papers, run and drawn anew, with what the papers say of them
//! beside what is measured.

mod beside;
mod catalog;
mod lights;
mod statement;

use std::path::PathBuf;

use l4s_measure::Results;
use l4s_scenario::nearest;

use crate::args::{Paper, Substrate};
use crate::failure::Failure;
use crate::run::Job;
use crate::table::{Align, aligned};
use crate::{pick, print};

use catalog::{ALL, Figure};
use statement::Evidence;

/// Lists the figures, or makes one.
pub fn paper(options: &Paper) -> Result<(), Failure> {
    match &options.figure {
        None => list(),
        Some(id) => make(find(id)?, options),
    }
}

fn list() -> Result<(), Failure> {
    let mut rows = vec![["figure", "paper", "runs", "question"].map(str::to_owned).to_vec()];
    for figure in ALL {
        let set: Vec<String> = figure.set.iter().map(|set| (*set).to_owned()).collect();
        let plan = pick::plan(figure.scenario, &set)?;
        let question = plan.question.unwrap_or_default();
        let runs = plan.points.len().to_string();
        rows.push(vec![figure.id.to_owned(), figure.paper.to_owned(), runs, question]);
    }
    print(&aligned(&rows, &[Align::Left, Align::Left, Align::Right]))
}

fn find(id: &str) -> Result<&'static Figure, Failure> {
    ALL.iter().find(|figure| figure.id == id).ok_or_else(|| {
        let names = || ALL.iter().map(|figure| figure.id);
        let help = match nearest(id, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`l4s paper` lists them".to_owned(),
        };
        let known = names().collect::<Vec<_>>().join(", ");
        Failure::input_with(format!("there is no figure `{id}`, expected one of {known}"), help)
    })
}

/// Runs a figure's scenario as `l4s run` does, and adds what only the figure has.
fn make(figure: &Figure, options: &Paper) -> Result<(), Failure> {
    let mut set: Vec<String> = figure.set.iter().map(|set| (*set).to_owned()).collect();
    if options.quick {
        set.extend(figure.quick.iter().map(|set| (*set).to_owned()));
    }
    set.extend(options.set.iter().cloned());
    set.extend(options.seed.map(|seed| format!("seed={seed}")));
    let plan = pick::plan(figure.scenario, &set)?;
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from("out/paper").join(figure.id));
    let done = Job {
        plan: &plan,
        called: figure.scenario,
        on: Substrate::Sim,
        jobs: options.jobs,
        out: Some(&out),
        resume: options.resume,
        trace: None,
        json: false,
    }
    .carry_out()?;
    let results = Results::open(&out).map_err(|error| Failure::Run(error.to_string()))?;
    let numbers = (figure.numbers)(&plan, &results, &out)?;
    print(&format!("{}: {}\n\n", figure.paper, plan.question.as_deref().unwrap_or_default()))?;
    print(&beside::table(&numbers))?;
    print(&statement::checked(figure.id, &Evidence::new(&plan, &results, &out), &out)?)?;
    done.say(&plan);
    eprintln!("report: {}", out.join("report.html").display());
    if let Some(page) = figure.page {
        eprintln!("page: {}", out.join(page).display());
    }
    Ok(())
}
