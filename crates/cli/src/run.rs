//! `l4s run`: every run of a plan, on all cores, kept as it finishes.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use l4s_measure::{RunRecord, Summary};
use l4s_report::Pictures;
use l4s_scenario::{Plan, Point};
use l4s_substrate::Engine;

use crate::args::{Run, Substrate, Trace};
use crate::asserts::{self, Judgement};
use crate::failure::Failure;
use crate::folder::{Existing, Folder, Manifest, PROGRAMS};
use crate::grow::grown;
use crate::measured::{self, Finished, Keep, Session};
use crate::table::terminal_width;
use crate::{forecast, headline, notes, parallel, print, report};

/// A table of more rows is for files.
const MOST_ROWS: usize = 400;

/// Runs a scenario.
pub fn run(options: &Run) -> Result<(), Failure> {
    if options.vm {
        return in_vm(options);
    }
    let mut set = options.set.clone();
    set.extend(options.seed.map(|seed| format!("seed={seed}")));
    let plan = Plan::open(&options.scenario, &set)?.assert(&options.assert)?;
    let plan = plan
        .repeat(options.seeds)
        .map_err(|why| Failure::input(format!("--seeds {}: {why}", options.seeds)))?;
    if let Some(address) = &options.cluster {
        return Err(crate::cluster::hand_over(options, address, &set));
    }
    let done = Job {
        plan: &plan,
        called: &options.scenario,
        on: options.on,
        jobs: options.jobs,
        out: options.out.as_deref(),
        existing: match (options.resume, options.replace) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Replace,
            _ => Existing::Refuse,
        },
        trace: options.trace,
        json: options.json,
        pictures: Pictures::Both,
        smaller: None,
        quiet: false,
        leaves_out_failed: false,
        session: None,
    }
    .carry_out()?;
    done.show()?;
    done.say(&plan);
    done.judge(&plan)
}

/// Has the command run in a virtual machine.
fn in_vm(options: &Run) -> Result<(), Failure> {
    if options.on != Substrate::Qdisc {
        return Err(Failure::input(format!(
            "--vm: found --on {}, expected --on qdisc: a virtual machine is there for its kernel",
            options.on.name()
        )));
    }
    #[cfg(kernels)]
    return crate::vm::run_in_vm(options);
    #[cfg(not(kernels))]
    Err(Failure::left_out("--vm"))
}

/// The runs of a plan, and the results to keep.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The runs.
    pub plan: &'a Plan,
    /// The user's name of the scenario.
    pub called: &'a str,
    /// The substrate.
    pub on: Substrate,
    /// Runs at a time.
    pub jobs: Option<usize>,
    /// The result folder.
    pub out: Option<&'a Path>,
    /// The treatment of results that are in it.
    pub existing: Existing,
    /// Every packet is kept too.
    pub trace: Option<Trace>,
    /// Summaries are printed as runs finish.
    pub json: bool,
    /// The formats of figures.
    pub pictures: Pictures,
    /// The settings that make the plan smaller, and the smaller plan.
    pub smaller: Option<(&'a str, &'a Plan)>,
    /// Whether it is one of several, and leaves it to others to say how they get on.
    pub quiet: bool,
    /// Whether runs that fail are left out: others are kept, with neither tables nor report.
    pub leaves_out_failed: bool,
    /// The additional parts of a session.
    pub session: Option<Session<'a>>,
}

/// A job that is done.
pub struct Done {
    /// Where the results are.
    pub folder: Option<Folder>,
    /// The exit code of the program in the foreground.
    pub code: Option<u8>,
    /// The first failure of runs that are left out; or why the files of a session, which is over, were not written.
    pub failed: Option<Failure>,
    tally: Tally,
    commands: Vec<String>,
}

impl Job<'_> {
    /// Does every run that is not done, and writes tables and report into the folder.
    pub fn carry_out(self) -> Result<Done, Failure> {
        let plan = self.plan;
        let engine = measured::prepare(self.on, plan, self.called)?;
        let mut advice = plan.points.iter().filter_map(|p| l4s_scenario::advice(&p.scenario));
        if let Some(advice) = advice.next().filter(|_| !self.quiet) {
            say!("note: {advice}");
        }
        if self.session.is_none() {
            measured::announce(&engine, plan);
        }
        let commands: Vec<String> =
            plan.points.iter().map(|p| p.command(self.called, self.on.name())).collect();
        let jobs = measured::jobs(&engine, self.jobs);
        let cores = parallel::threads(jobs);
        let at_a_time = cores.min(plan.points.len());
        if self.session.is_none() {
            forecast::check_memory(plan, at_a_time, self.out.is_some())?;
        }
        let folder = match self.out {
            Some(path) => {
                let manifest = Manifest::new(plan, self.on.name(), &commands, self.trace.is_some());
                let grown = match self.existing {
                    Existing::Resume => grown(path, &manifest, plan, &commands)?,
                    _ => None,
                };
                match grown {
                    None => Some(Folder::claim(path, &manifest, self.existing)?),
                    grown => grown,
                }
            }
            None => None,
        };
        let mut tally = Tally::new(plan, self.json, self.quiet);
        let (mut code, mut failed) = (None, None);
        match &folder {
            Some(folder) if folder.is_finished() => {
                for (number, run) in folder.results()?.into_iter().enumerate() {
                    tally.take(number, &plan.points[number], run.summary, None, None)?;
                }
            }
            _ => {
                if self.on == Substrate::Sim && !self.quiet {
                    let smaller = self.smaller.map(|(what, plan)| (what, slice::from_ref(plan)));
                    forecast::announce(slice::from_ref(plan), &engine, at_a_time, smaller)?;
                }
                let work = |number| self.work(&engine, &commands, folder.as_ref(), number, cores);
                let mut unwritten = None;
                let take = |number, finished: Finished| {
                    code = finished.code;
                    unwritten = finished.unwritten;
                    let Finished { record, wall, cores, early, flows, .. } = finished;
                    tally.flows = flows;
                    let wall = wall.map(|wall| (wall, cores));
                    tally.take(number, &plan.points[number], record.summary, wall, early)
                };
                let left_out = self.leaves_out_failed;
                match parallel::in_order(plan.points.len(), jobs, left_out, work, take) {
                    Err(failure @ Failure::Run(_)) if left_out => failed = Some(failure),
                    done => done.map_err(|failure| self.resumable(failure))?,
                }
                failed = failed.or(unwritten);
                tally.wall = tally.start.elapsed();
            }
        }
        if let (Some(folder), None) = (&folder, &failed) {
            match self.write(folder) {
                Err(failure) if self.session.is_some() => failed = Some(failure),
                written => written?,
            }
        }
        tally.progress.finish_and_clear();
        Ok(Done { folder, code, failed, tally, commands })
    }

    /// Writes tables and report of finished runs.
    fn write(&self, folder: &Folder) -> Result<(), Failure> {
        if !folder.is_finished() {
            folder.assemble(self.plan).map_err(|failure| self.resumable(failure))?;
        }
        if !folder.has_report() {
            report_of(folder, self.pictures)?;
        }
        folder.tidy()
    }

    /// Says that finished runs are safe. A session is over with its command.
    fn resumable(&self, failure: Failure) -> Failure {
        let again = match self.existing {
            Existing::RefuseSession => return failure,
            Existing::Refuse => "the same command with --resume",
            Existing::Resume | Existing::Renew => "the same command",
            Existing::Replace if self.session.is_some() => return failure,
            Existing::Replace => "the same command without --replace (`l4s run` with --resume)",
        };
        match failure {
            Failure::Run(message) if self.out.is_some() => Failure::Run(format!(
                "{message}\nfinished runs are intact: {again} does the others"
            )),
            failure => failure,
        }
    }

    /// Where the programs of a run put their output, in a folder of results.
    fn programs(&self, folder: &Folder, number: usize) -> PathBuf {
        let all = folder.path().join(PROGRAMS);
        match self.plan.points.len() {
            1 => all,
            _ => all.join(format!("{:07}", number + 1)),
        }
    }

    /// One run, or its summary where it was done before.
    fn work(
        &self,
        engine: &Engine,
        commands: &[String],
        folder: Option<&Folder>,
        number: usize,
        cores: usize,
    ) -> Result<Finished, Failure> {
        let points = &self.plan.points;
        if let Some(record) = folder.map_or(Ok(None), |folder| folder.done(number))? {
            let early = notes::ended_early(&points[number].scenario, &record.flows);
            return Ok(Finished {
                record: summary_only(record),
                wall: None,
                cores: 0,
                early,
                code: None,
                flows: String::new(),
                unwritten: None,
            });
        }
        let trace = |(folder, how): (&Folder, Trace)| {
            folder.trace(number, points.len() == 1).map(|file| (file, how))
        };
        let keep = Keep {
            tables: folder.is_some(),
            sampling: match self.session {
                Some(_) => Some(measured::SESSION_SAMPLING),
                None => measured::sampling(self.plan, &points[number].scenario),
            },
            trace: folder.zip(self.trace).map(trace).transpose()?,
            programs: folder.map(|folder| self.programs(folder, number)),
            session: self.session,
            second_core: cores >= 2 * points.len(),
        };
        let mut finished = measured::run(engine, &points[number], &commands[number], keep)?;
        if points.len() == 1 {
            finished.flows = headline::flows(&finished.record.flows) + &finished.flows;
        }
        if let Some(folder) = folder {
            match folder.keep(number, &finished.record) {
                Err(failure) if self.session.is_some() => {
                    finished.unwritten.get_or_insert(failure);
                }
                kept => kept?,
            }
        }
        Ok(Finished { record: summary_only(finished.record), ..finished })
    }
}

impl Done {
    /// Prints the numbers of all runs to stderr: stdout is for a program.
    pub fn tell(&self) {
        let width = terminal_width(std::io::stderr());
        say!("{}", headline::table(&self.tally.summaries, width).trim_end());
    }

    /// Prints the numbers of all runs, unless they were printed as they finished.
    fn show(&self) -> Result<(), Failure> {
        let summaries = &self.tally.summaries;
        if self.tally.json {
            return Ok(());
        }
        let shown = summaries.len().min(MOST_ROWS);
        print(&headline::table(&summaries[..shown], terminal_width(std::io::stdout())))?;
        if shown < summaries.len() {
            say!("… and {} more runs", summaries.len() - shown);
        }
        match headline::left_out(&summaries[..shown]) {
            0 => {}
            more => say!("… and {more} more groups: --json or --out has them"),
        }
        Ok(())
    }

    /// The runs that this process did.
    pub fn effort(&self) -> Effort {
        self.tally.effort
    }

    /// Prints the cost, the notes, and the place of the results.
    pub fn say(&self, plan: &Plan) {
        if !self.tally.flows.is_empty() {
            say!("{}", self.tally.flows.trim_end());
        }
        say!("{}", self.tally.cost(plan));
        for (number, reason) in &self.tally.unfit {
            say!("run {number} is unfit: {reason}");
        }
        // Other notes were printed before the runs.
        for note in &self.tally.of_programs {
            say!("note: {note}");
        }
        if let Some((number, early)) = &self.tally.early {
            let run = if plan.points.len() > 1 { format!("run {number}: ") } else { String::new() };
            say!("note: {run}{early}");
        }
        if let Some(note) = notes::not_random(plan, &self.tally.digests) {
            say!("note: {note}");
        }
        if let [_, .., last] = self.commands.as_slice() {
            say!("to repeat a row, for example the last: {last}");
        }
        if let (Some(folder), None) = (&self.folder, &self.failed) {
            say!("results in {}", folder.path().display());
        }
    }
}

impl Done {
    /// Writes down which assertions hold, and says so.
    ///
    /// # Errors
    /// One of them failed.
    pub fn judge(&self, plan: &Plan) -> Result<(), Failure> {
        let judgement = &self.tally.judgement;
        if let (Some(folder), Some(json)) = (&self.folder, judgement.json(plan)) {
            folder.write(asserts::FILE, json.as_bytes())?;
        }
        if let Some(all_hold) = judgement.verdict(plan)? {
            say!("{all_hold}");
        }
        Ok(())
    }
}

/// Draws the report of finished results. Those that are too many for a page are results all the same.
fn report_of(folder: &Folder, pictures: Pictures) -> Result<(), Failure> {
    match report::within(folder.path(), pictures) {
        Err(Failure::Input { message, .. }) if message.contains(l4s_report::TOO_LARGE) => {
            say!("note: there is no report: {message}");
            Ok(())
        }
        done => done,
    }
}

/// Drops all of a run that a sweep does not keep in memory.
fn summary_only(record: RunRecord) -> RunRecord {
    RunRecord { series: Vec::new(), delays: Vec::new(), flows: Vec::new(), ..record }
}

/// Time and packets of the runs that this process did.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Effort {
    runs: usize,
    virtual_s: f64,
    packets: u64,
    events: u64,
    /// Time on a core.
    cores: Duration,
}

impl Effort {
    /// Adds those of others.
    pub fn add(&mut self, other: Effort) {
        self.runs += other.runs;
        self.virtual_s += other.virtual_s;
        self.packets += other.packets;
        self.events += other.events;
        self.cores += other.cores;
    }

    /// In words, of runs in virtual time that were done within `wall`.
    pub fn said(&self, wall: Duration) -> String {
        if self.runs == 0 {
            return "every run was done before".to_owned();
        }
        let (wall, cores) = (wall.as_secs_f64(), self.cores.as_secs_f64());
        let events = match self.events {
            0 => String::new(),
            events => format!(" and {:.2} million events/s", events as f64 / cores.max(1e-9) / 1e6),
        };
        format!(
            "{:.1} s of virtual time in {wall:.2} s ({:.1}:1), {:.3} million packets/s{events} per \
             core",
            self.virtual_s,
            self.virtual_s / wall.max(1e-9),
            self.packets as f64 / cores.max(1e-9) / 1e6,
        )
    }
}

/// Messages about the runs, during them and at the end.
struct Tally {
    has_programs: bool,
    /// Summaries are printed as they come.
    json: bool,
    start: Instant,
    /// How long the runs took, without tables and report.
    wall: Duration,
    progress: ProgressBar,
    summaries: Vec<Summary>,
    effort: Effort,
    /// Of runs in real time, the highest 99th percentile of lateness in microseconds, and the most
    /// that a packet cost the data plane, in nanoseconds.
    lateness_us: Option<f64>,
    packet_ns: Option<f64>,
    /// Runs that the machine did not keep up with: number and reason.
    unfit: Vec<(usize, String)>,
    /// The flows of programs, in words.
    flows: String,
    /// Differences from the scenario that programs met.
    of_programs: BTreeSet<String>,
    /// The first run with flows that ended too early to be counted, and these flows.
    early: Option<(usize, String)>,
    judgement: Judgement,
    /// Whether there are runs that differ only in their seed, and the common part of all runs.
    repeats: bool,
    digests: Vec<String>,
}

impl Tally {
    fn new(plan: &Plan, json: bool, quiet: bool) -> Tally {
        let shown = !quiet && plan.points.len() > 1 && std::io::stderr().is_terminal();
        let progress =
            if shown { ProgressBar::new(plan.points.len() as u64) } else { ProgressBar::hidden() };
        let template = "{bar:40} {pos}/{len} runs  {elapsed} gone, {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            progress.set_style(style);
        }
        progress.tick();
        Tally {
            has_programs: plan.points.iter().any(|point| !point.scenario.programs.is_empty()),
            json,
            start: Instant::now(),
            wall: Duration::ZERO,
            progress,
            summaries: Vec::new(),
            effort: Effort::default(),
            lateness_us: None,
            packet_ns: None,
            unfit: Vec::new(),
            flows: String::new(),
            of_programs: BTreeSet::new(),
            early: None,
            judgement: Judgement::default(),
            repeats: plan.points.windows(2).any(|pair| pair[0].pins == pair[1].pins),
            digests: Vec::new(),
        }
    }

    /// Run `number`, the next one. `wall` is how long it took, on how many cores; `None` when it was done before.
    fn take(
        &mut self,
        number: usize,
        point: &Point,
        mut summary: Summary,
        wall: Option<(Duration, u32)>,
        early: Option<String>,
    ) -> Result<(), Failure> {
        self.progress.inc(1);
        if self.repeats {
            self.digests.push(notes::digest(&summary));
        }
        self.early = self.early.take().or(early.map(|early| (number + 1, early)));
        if let Some((wall, cores)) = wall {
            let engine = &summary.engine;
            self.effort.add(Effort {
                runs: 1,
                virtual_s: engine.virtual_s,
                packets: engine.packets,
                events: engine.events.unwrap_or_default(),
                cores: wall * cores,
            });
        }
        let late = summary.engine.lateness_us.map(|lateness| lateness.p99);
        self.lateness_us = self.lateness_us.into_iter().chain(late).reduce(f64::max);
        self.packet_ns =
            self.packet_ns.into_iter().chain(summary.engine.packet_ns).reduce(f64::max);
        if self.has_programs {
            self.of_programs.extend(summary.engine.instead.iter().cloned());
        }
        self.unfit.extend(summary.engine.unfit.clone().map(|reason| (number + 1, reason)));
        summary.engine.wall_s = wall.map(|(wall, _)| wall.as_secs_f64());
        self.judgement.take(number, point, &summary);
        if self.json {
            let line = serde_json::to_string(&summary)
                .map_err(|error| Failure::Run(format!("a summary: {error}")))?;
            self.progress.suspend(|| print(&format!("{line}\n")))?;
        } else {
            self.summaries.push(summary);
        }
        Ok(())
    }

    /// The number of seeds, and the cost.
    fn cost(&self, plan: &Plan) -> String {
        let seeds = plan.points.iter().map(|point| point.scenario.seed);
        let seeds = match (seeds.clone().min(), seeds.max()) {
            (Some(low), Some(high)) if low < high => format!("seeds {low} to {high}"),
            (low, _) => format!("seed {}", low.unwrap_or_default()),
        };
        let Effort { runs, virtual_s, packets, .. } = self.effort;
        let done = match plan.points.len() - runs {
            done if done > 0 && runs > 0 => format!("; {done} runs were done before"),
            _ => String::new(),
        };
        let cost = match self.lateness_us {
            Some(lateness) if runs > 0 => {
                let cost = self
                    .packet_ns
                    .map(|ns| format!(", {:.1} us of data plane per packet", ns / 1e3));
                format!(
                    "{virtual_s:.1} s in real time, {:.2} million packets; departures at most \
                     {lateness:.0} us late at p99{}",
                    packets as f64 / 1e6,
                    cost.unwrap_or_default(),
                )
            }
            _ => self.effort.said(self.wall),
        };
        format!("{seeds}; {cost}{done}")
    }
}
