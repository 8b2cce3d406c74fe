//! The result folder of `--out`: claimed for one plan, filled run by run, assembled at the end.
//!
//! ```text
//! DIR/l4s.json        which plan and version it belongs to, and the files that l4s wrote into it
//! DIR/runs/0000000    a finished run each, until the tables are written
//! DIR/trace*.pcapng   every packet of each run, where it was asked for
//! DIR/programs/       the output of the user's programs
//! DIR/scenario.toml   the text of the scenario, without --set
//! DIR/scenarios.json  the scenario of each run, resolved, for the report
//! DIR/link-*         a copy of each file with a trace that links follow
//! DIR/*.parquet       the tables, runs.parquet last
//! DIR/report.html     the report, and figures/
//! ```
//!
//! Every file appears whole or not at all. If the process stops early, finished runs are intact and
//! `--resume` completes the others. One process at a time writes into a folder. Files that
//! l4s did not write there are neither replaced nor removed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use l4s_measure::files::{Dir, Durable, Lock};
use l4s_measure::inventory::{INVENTORY, Inventory, Place, write_listed};
use l4s_measure::{Cause, ResultError, ResultWriter, Results, Run, RunRecord, TABLES};
use l4s_report::SCENARIOS;
use l4s_scenario::{Fingerprint, Plan, Point, copies, has_name, record};
use l4s_units::printable;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::{Failure, taken};
use crate::measured::VERSION;
use crate::program_files::program_files;

const RUNS: &str = "runs";
/// The folder that the programs of a scenario write to: all in it are results.
pub const PROGRAMS: &str = "programs";
/// The table that is there when all are.
pub const TABLE: &str = TABLES[TABLES.len() - 1];
/// Number of runs that are read ahead of the tables.
const AHEAD: usize = 8;
/// The fingerprint of every source file of l4s, from `build.rs`.
pub const CODE: &str = env!("L4S_CODE");
/// The file in a result folder that holds the scenario as run.
pub const SCENARIO: &str = "scenario.toml";

/// The help where a session finds results in its folder.
const SESSION_AGAIN: &str = "--replace replaces them; or choose a new folder; nothing was changed";

/// The plan, version and settings that a result folder belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of l4s.
    pub version: String,
    /// The fingerprint of its code: runs of two codes do not mix in a folder.
    #[serde(default)]
    pub code: String,
    /// The substrate.
    pub on: String,
    /// The name of the scenario.
    pub scenario: String,
    /// How many runs.
    pub runs: usize,
    /// Whether packets are traced.
    pub trace: bool,
    /// Whether programs of the user write to a folder of their own.
    #[serde(default)]
    pub programs: bool,
    /// A fingerprint of every run.
    pub plan: String,
    /// The fingerprint of each file that a command of a program names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub program_files: BTreeMap<String, String>,
}

/// A result folder that belongs to this process's plan, and that no other process writes into.
#[derive(Debug)]
pub struct Folder {
    dir: Dir,
    _lock: Lock,
    manifest: Manifest,
    /// Older results, which make room for these: their folder, once these are complete.
    aside: Option<PathBuf>,
    /// Whether the report is of earlier results.
    is_anew: bool,
}

impl Manifest {
    /// Of a plan, whose runs `commands` repeat.
    pub fn new(plan: &Plan, on: &str, commands: &[String], trace: bool) -> Manifest {
        let mut plan_text = Fingerprint::default();
        let _ = plan_text.write_str(&plan.text);
        for (point, command) in plan.points.iter().zip(commands) {
            // Assertions about results leave them the same.
            let Point { set, pins, scenario, asserts: _ } = point;
            let _ = write!(plan_text, "\n{command}\n{:?}", (set, pins, scenario));
        }
        Manifest {
            version: VERSION.to_owned(),
            code: CODE.to_owned(),
            on: on.to_owned(),
            scenario: plan.name.clone(),
            runs: plan.points.len(),
            trace,
            programs: plan.points.iter().any(|point| !point.scenario.programs.is_empty()),
            plan: plan_text.to_string(),
            program_files: program_files(plan.points.iter().map(|point| &point.scenario)),
        }
    }

    /// Whether the only difference may be that the other has more runs.
    pub fn has_fewer_runs_than(&self, other: &Manifest) -> bool {
        let Manifest { runs, plan, .. } = other.clone();
        self.runs < runs && Manifest { runs, plan, ..self.clone() } == *other
    }
}

/// The treatment of results that are in the folder already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// Keep them and fail.
    Refuse,
    /// The same, for a session, which no other one completes.
    RefuseSession,
    /// Those of this plan are completed.
    Resume,
    /// Those of this plan are completed; others make room once this plan's are complete.
    Renew,
    /// All make room once this plan's are complete.
    Replace,
}

impl Existing {
    fn refuses(self) -> bool {
        matches!(self, Existing::Refuse | Existing::RefuseSession)
    }

    /// For a command that goes on where it was stopped, if its folder was named. The folder that it has otherwise
    /// is its own.
    pub fn of_named(out: Option<&Path>, replace: bool) -> Existing {
        match (out, replace) {
            (_, true) => Existing::Replace,
            (None, _) => Existing::Renew,
            (Some(_), _) => Existing::Resume,
        }
    }
}

impl Folder {
    /// Takes a folder for `manifest`: a new or empty one, or its own as `existing` says.
    pub fn claim(path: &Path, manifest: &Manifest, existing: Existing) -> Result<Folder, Failure> {
        // A folder that belongs to others is not changed: not even a lock is written there.
        match Dir::open(path).and_then(|dir| dir.names()) {
            Ok(names) => refuse_other(path, &names)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::input(format!("{}: {error}", path.display()))),
        }
        let (dir, lock) = locked(path)?;
        // Files that others wrote in the meantime.
        let names = dir.names().map_err(at(path))?;
        refuse_other(path, &names)?;
        let mut folder = Folder {
            dir,
            _lock: lock,
            manifest: manifest.clone(),
            aside: (!existing.refuses()).then(|| aside(path)),
            is_anew: false,
        };
        folder.tidy_up()?;
        if names.is_empty() {
            folder.list().write(&folder.dir).map_err(failed)?;
            folder.dir.subfolder(RUNS).map_err(at(&path.join(RUNS)))?;
            return Ok(folder);
        }
        let shown = path.display();
        let other = |what: String, help| {
            Failure::input_with(format!("{shown} already holds something else: {what}"), help)
        };
        let list =
            Inventory::read(&folder.dir).map_err(|error| Failure::input(error.to_string()))?;
        let list = list.unwrap_or_default();
        let owner = serde_json::from_value::<Manifest>(Value::Object(list.owner.clone()));
        match owner {
            Ok(owner)
                if existing == Existing::Replace
                    || (existing == Existing::Renew && owner != *manifest) =>
            {
                folder.make_room(&list, &owner)?;
                // With its lock, which the same process could not take again.
                drop(folder);
                Folder::claim(path, manifest, existing)
            }
            Ok(owner) if owner == *manifest && existing.refuses() => Err(Failure::input_with(
                format!("{shown} already holds this plan's results"),
                match existing {
                    Existing::RefuseSession => SESSION_AGAIN,
                    _ => {
                        "--resume completes them, --replace does all again; or choose a new folder"
                    }
                },
            )),
            Ok(owner) if owner == *manifest => {
                folder.complete(&list)?;
                Ok(folder)
            }
            Ok(owner) => {
                let may_grow = existing == Existing::Refuse && owner.has_fewer_runs_than(manifest);
                let help = match existing {
                    Existing::RefuseSession => SESSION_AGAIN,
                    _ if may_grow => "--resume adds runs to these; or choose a new folder",
                    _ => {
                        "--replace puts this plan's results in their place; or choose a new folder"
                    }
                };
                Err(other(difference(&owner, manifest), help))
            }
            Err(_) => Err(other(
                format!("{INVENTORY} was not written by `l4s run`"),
                "choose a new folder; nothing was changed",
            )),
        }
    }

    /// Checks the existing results of this plan. Tables that were changed since are made again, from
    /// runs that are repeated.
    fn complete(&mut self, list: &Inventory) -> Result<(), Failure> {
        if self.is_finished() {
            let results = TABLES.into_iter().chain([SCENARIO, SCENARIOS]);
            let damaged = list.damaged(&self.dir, results).map_err(failed)?;
            let Some(first) = damaged.first() else { return Ok(()) };
            say!(
                "note: {} was changed since l4s wrote it: all runs are repeated",
                self.path().join(first).display()
            );
            let mut list = list.clone();
            for name in damaged.into_iter().chain([TABLE]) {
                list.files.get_or_insert_default().insert(name.to_owned(), None);
            }
            list.write(&self.dir).map_err(failed)?;
            self.dir.remove_file(TABLE).map_err(at(&self.path().join(TABLE)))?;
            self.is_anew = true;
        }
        self.dir.subfolder(RUNS).map(|_| ()).map_err(at(&self.path().join(RUNS)))
    }

    /// Whether every run is in the tables.
    pub fn is_finished(&self) -> bool {
        self.has(TABLE)
    }

    /// Whether the report is written.
    pub fn has_report(&self) -> bool {
        !self.is_anew && self.has("report.html")
    }

    fn has(&self, name: &str) -> bool {
        let list = Inventory::read(&self.dir).ok().flatten();
        list.is_some_and(|list| list.is_complete(&self.dir, name))
    }

    /// Begins the trace of the packets of a run; `alone` when it is the only one.
    pub fn trace(&self, number: usize, alone: bool) -> Result<Durable, Failure> {
        let name = match alone {
            true => "trace.pcapng".to_owned(),
            false => format!("trace-{number:07}.pcapng"),
        };
        self.dir.begin(&name).map_err(at(&self.path().join(name)))
    }

    /// Keeps a run.
    pub fn keep(&self, number: usize, record: &RunRecord) -> Result<(), Failure> {
        record.save(&self.runs()?, &part(number), &self.owner(number)).map_err(failed)
    }

    /// A run that is done; `None` for one that is not, or whose file is damaged.
    pub fn done(&self, number: usize) -> Result<Option<RunRecord>, Failure> {
        let runs = self.runs()?;
        let name = part(number);
        if !runs.has_file(&name).map_err(at(&runs.path().join(&name)))? {
            return Ok(None);
        }
        match RunRecord::load(&runs, &name, &self.owner(number)) {
            Err(error) if matches!(error.cause, Cause::Damaged(_)) => {
                say!("note: {error}; this run is done again");
                Ok(None)
            }
            record => record.map(Some).map_err(failed),
        }
    }

    /// A run that is done.
    fn load(&self, number: usize) -> Result<RunRecord, Failure> {
        RunRecord::load(&self.runs()?, &part(number), &self.owner(number)).map_err(failed)
    }

    fn runs(&self) -> Result<Dir, Failure> {
        self.dir.subfolder(RUNS).map_err(at(&self.path().join(RUNS)))
    }

    /// Whose the file of a run is.
    fn owner(&self, number: usize) -> String {
        let Manifest { plan, code, .. } = &self.manifest;
        format!("run {number} of plan {plan} by code {code}")
    }

    /// A list of nothing yet.
    fn list(&self) -> Inventory {
        let owner = match serde_json::to_value(&self.manifest) {
            Ok(Value::Object(owner)) => owner,
            _ => unreachable!("a manifest is a JSON object"),
        };
        Inventory { owner, files: Some([].into()) }
    }

    /// Writes the tables of all runs and the scenario, in the order of the plan.
    pub fn assemble(&self, plan: &Plan) -> Result<(), Failure> {
        write_listed(&self.dir, SCENARIO, as_run(plan).as_bytes()).map_err(taken)?;
        let scenarios = plan.points.iter().map(|point| &point.scenario);
        let copies = copies(scenarios.clone()).map_err(|error| Failure::Run(error.to_string()))?;
        for (name, bytes) in copies {
            write_listed(&self.dir, &name, &bytes).map_err(taken)?;
        }
        let scenarios: Result<Vec<_>, _> = scenarios.map(record).collect();
        let scenarios = scenarios
            .and_then(|scenarios| serde_json::to_vec(&scenarios))
            .map_err(|error| Failure::Run(format!("{SCENARIOS}: {error}")))?;
        write_listed(&self.dir, SCENARIOS, &scenarios).map_err(taken)?;
        let mut writer = ResultWriter::create(self.path()).map_err(taken)?;
        // The next few are read while one is written.
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        std::thread::scope(|threads| {
            threads.spawn(move || {
                // A receiver that is gone has seen a failure.
                (0..plan.points.len()).all(|number| sender.send(self.load(number)).is_ok())
            });
            receiver.into_iter().try_for_each(|record| writer.add(&record?).map_err(failed))
        })?;
        writer.finish().map_err(taken)
    }

    /// Writes a further file.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        write_listed(&self.dir, name, bytes).map_err(taken)
    }

    /// Removes temporary files, and files that these results replace.
    pub fn tidy(&self) -> Result<(), Failure> {
        if let Some(runs) = self.dir.existing(RUNS).map_err(at(&self.path().join(RUNS)))? {
            for name in runs.names().map_err(at(runs.path()))? {
                if is_part_of(&self.manifest, &name) {
                    runs.remove_file(&name).map_err(at(&runs.path().join(&name)))?;
                }
            }
            match runs.names().map_err(at(runs.path()))?.first() {
                None => self.dir.remove_folder(RUNS).map_err(at(runs.path()))?,
                Some(name) => {
                    let theirs = runs.path().join(name);
                    say!("note: {} stays: l4s did not write it", theirs.display());
                }
            }
        }
        if let Some(aside) = self.aside.as_ref().filter(|aside| aside.is_dir()) {
            if let Err(failure) = remove_results(aside) {
                say!("note: older results stay in {}: {failure}", aside.display());
            }
        }
        Ok(())
    }

    /// Removes files that were being written when their process ended.
    fn tidy_up(&self) -> Result<(), Failure> {
        self.dir.sweep().map_err(at(self.path()))?;
        for name in [RUNS, "figures"].into_iter().filter(|name| self.dir.is_folder(name)) {
            let swept = self.dir.existing(name).and_then(|dir| match dir {
                Some(dir) if name == RUNS => dir.sweep(),
                dir => dir.map_or(Ok(()), |dir| dir.sweep_figures()),
            });
            swept.map_err(at(&self.path().join(name)))?;
        }
        Ok(())
    }

    /// Puts complete results of another plan or code aside, until these are complete; incomplete
    /// ones are of no use.
    fn make_room(&self, list: &Inventory, owner: &Manifest) -> Result<(), Failure> {
        check_all_ours(&self.dir, list, owner)?;
        if fs::symlink_metadata(self.path()).is_ok_and(|found| found.is_symlink()) {
            return Err(Failure::input_with(
                format!("{} is a link to a folder with other results", self.path().display()),
                "name the folder itself to replace them; nothing was changed",
            ));
        }
        if !self.is_finished() {
            return remove_all(&self.dir, list, owner);
        }
        let aside = aside(self.path());
        if aside.is_dir() {
            remove_results(&aside)?;
        }
        fs::rename(self.path(), &aside).map_err(at(&aside))
    }

    /// The runs of a finished folder.
    pub fn results(&self) -> Result<Vec<Run>, Failure> {
        Ok(Results::open(self.path()).map_err(failed)?.runs().to_vec())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// A folder, made where it is missing, that no other process writes into while the lock is there.
pub fn locked(path: &Path) -> Result<(Dir, Lock), Failure> {
    let dir = Dir::create(path).map_err(at(path))?;
    match dir.lock().map_err(at(path))? {
        Ok(lock) => Ok((dir, lock)),
        Err(holder) => Err(Failure::input_with(
            format!("{} is in use: {holder} writes into it", path.display()),
            "wait until it has ended; or choose another folder",
        )),
    }
}

/// Refuses a folder that holds things and no list of l4s.
fn refuse_other(path: &Path, names: &[String]) -> Result<(), Failure> {
    match names.first() {
        Some(first) if !names.iter().any(|name| name == INVENTORY) => Err(Failure::input_with(
            format!(
                "{} already holds something else, such as {}",
                path.display(),
                printable(first)
            ),
            "choose a new folder; nothing was changed",
        )),
        _ => Ok(()),
    }
}

/// Refuses a folder with results, whose own report another would replace.
pub fn refuse_results(dir: &Dir) -> Result<(), Failure> {
    let list = Inventory::read(dir).map_err(failed)?.unwrap_or_default();
    if list.owner.is_empty() && !dir.has_file(TABLE).map_err(at(dir.path()))? {
        return Ok(());
    }
    Err(Failure::input_with(
        format!("{} holds other results, and their report", dir.path().display()),
        "choose a new or empty folder with --out, or one that holds such a report alone; nothing was changed",
    ))
}

/// Where older results wait until new ones are complete.
pub fn aside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".l4s-{name}.old"))
}

/// Refuses to remove results beside which there is anything that l4s did not write, or that was
/// changed since.
fn check_all_ours(dir: &Dir, list: &Inventory, owner: &Manifest) -> Result<(), Failure> {
    let shown = dir.path().display();
    if list.files.is_none() {
        return Err(Failure::input_with(
            format!(
                "{shown} holds results of an earlier version of l4s, which kept no list of the files \
                 that it wrote"
            ),
            "move the folder away, or remove it; nothing was changed",
        ));
    }
    let is_theirs = |name: &str| {
        name == RUNS || (owner.trace && is_trace(name)) || (owner.programs && name == PROGRAMS)
    };
    let mut foreign = list.foreign(dir, is_theirs).map_err(failed)?;
    match dir.existing(RUNS) {
        Ok(runs) => {
            let names = runs.map_or(Ok(Vec::new()), |runs| runs.names()).map_err(at(dir.path()))?;
            let others = names.into_iter().filter(|name| !is_part_of(owner, name));
            foreign.extend(others.map(|name| (format!("{RUNS}/{name}"), Place::Theirs)));
        }
        Err(_) => foreign.push((RUNS.to_owned(), Place::Theirs)),
    }
    let Some((name, place)) = foreign.first() else { return Ok(()) };
    let why = match place {
        Place::Changed => "which was changed since l4s wrote it",
        _ => "which l4s did not write",
    };
    Err(Failure::input_with(
        format!("{shown} holds other results, to be replaced, and {name}, {why}"),
        "move that away, or choose another folder with --out; nothing was changed",
    ))
}

/// Removes results, and the folder with them.
fn remove_results(path: &Path) -> Result<(), Failure> {
    let (dir, lock) = locked(path)?;
    let list = Inventory::read(&dir).map_err(failed)?.unwrap_or_default();
    let owner: Manifest = serde_json::from_value(Value::Object(list.owner.clone()))
        .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))?;
    check_all_ours(&dir, &list, &owner)?;
    remove_all(&dir, &list, &owner)?;
    drop(lock);
    fs::remove_dir(path).map_err(at(path))
}

/// Removes all of the results in a folder that [`check_all_ours`] has passed.
fn remove_all(dir: &Dir, list: &Inventory, owner: &Manifest) -> Result<(), Failure> {
    if owner.programs && dir.is_folder(PROGRAMS) {
        let path = dir.path().join(PROGRAMS);
        fs::remove_dir_all(&path).map_err(at(&path))?;
    }
    if let Some(runs) = dir.existing(RUNS).map_err(at(dir.path()))? {
        for name in runs.names().map_err(at(runs.path()))? {
            runs.remove_file(&name).map_err(at(&runs.path().join(&name)))?;
        }
        dir.remove_folder(RUNS).map_err(at(runs.path()))?;
    }
    for name in dir.names().map_err(at(dir.path()))?.iter().filter(|name| is_trace(name)) {
        dir.remove_file(name).map_err(at(&dir.path().join(name)))?;
    }
    list.remove(dir).map_err(failed)
}

/// The file of a run.
fn part(number: usize) -> String {
    format!("{number:07}")
}

/// Whether it is the name of a file of a run.
fn is_part_of(owner: &Manifest, name: &str) -> bool {
    name.len() == 7 && name.parse::<usize>().is_ok_and(|number| number < owner.runs)
}

/// Whether it is the name of a trace.
fn is_trace(name: &str) -> bool {
    name.starts_with("trace") && name.ends_with(".pcapng")
}

/// The scenario as a file that gives the same plan: its text, with its name if it has none.
fn as_run(plan: &Plan) -> String {
    match has_name(&plan.text) {
        true => plan.text.clone(),
        false => format!("name = {}\n{}", serde_json::Value::from(plan.name.as_str()), plan.text),
    }
}

/// The first thing that is not the same.
fn difference(there: &Manifest, here: &Manifest) -> String {
    let fields = [
        ("version", &there.version, &here.version),
        ("code", &there.code, &here.code),
        ("substrate", &there.on, &here.on),
        ("scenario", &there.scenario, &here.scenario),
    ];
    match fields.iter().find(|(_, there, here)| there != here) {
        Some((what, there, here)) => format!("{what} {}, not {here}", printable(there)),
        None if there.runs != here.runs => format!("{} runs, not {}", there.runs, here.runs),
        None if there.trace != here.trace => {
            "the same scenario, with --trace or without".to_owned()
        }
        None if there.plan != here.plan => "the same scenario with other settings".to_owned(),
        None => {
            let [there, here] = [there, here].map(|manifest| &manifest.program_files);
            let mut names = there.keys().chain(here.keys());
            let changed = names.find(|name| there.get(*name) != here.get(*name));
            let changed = printable(changed.map_or("", String::as_str));
            format!("runs of a program whose file {changed} was changed since")
        }
    }
}

pub fn failed(error: ResultError) -> Failure {
    Failure::Run(error.to_string())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    let path = path.to_owned();
    move |error| Failure::Run(format!("{}: {error}", path.display()))
}
