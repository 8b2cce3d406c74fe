//! The result folder of `--out`: claimed for one plan, filled run by run, assembled at the end.
//!
//! ```text
//! DIR/l4s.json        which plan and version it belongs to
//! DIR/runs/0000000    a finished run each, until the tables are written
//! DIR/trace*.pcapng   every packet of each run, where it was asked for
//! DIR/scenario.toml   the scenario as run
//! DIR/*.parquet       the tables, runs.parquet last
//! DIR/report.html     the report, and figures/
//! ```
//!
//! Every file appears whole or not at all, so that whatever stops the process, finished runs are
//! intact and `--resume` goes on with the others.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use l4s_measure::{ResultError, ResultWriter, Results, Run, RunRecord};
use l4s_scenario::{Fingerprint, Plan};
use l4s_units::printable;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::measured::VERSION;

const MANIFEST: &str = "l4s.json";
const RUNS: &str = "runs";
const TABLE: &str = "runs.parquet";
/// So many runs are read ahead of the tables.
const AHEAD: usize = 8;
/// The fingerprint of every source file of l4s, from `build.rs`.
pub const CODE: &str = env!("L4S_CODE");
/// The file in a result folder that holds the scenario as run.
pub const SCENARIO: &str = "scenario.toml";

/// What a result folder belongs to.
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
    /// A fingerprint of every run.
    pub plan: String,
}

/// A result folder that belongs to this process's plan.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether older results make room for these.
    renews: bool,
}

impl Manifest {
    /// Of a plan, whose runs `commands` repeat.
    pub fn new(plan: &Plan, on: &str, commands: &[String], trace: bool) -> Manifest {
        let mut plan_text = Fingerprint::default();
        let _ = plan_text.write_str(&plan.text);
        for (point, command) in plan.points.iter().zip(commands) {
            let _ = write!(plan_text, "\n{command}\n{point:?}");
        }
        Manifest {
            version: VERSION.to_owned(),
            code: CODE.to_owned(),
            on: on.to_owned(),
            scenario: plan.name.clone(),
            runs: plan.points.len(),
            trace,
            plan: plan_text.to_string(),
        }
    }
}

/// What becomes of results that are in the folder already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// They stay, and the folder is not to be had.
    Refuse,
    /// Those of this plan are completed.
    Resume,
    /// Those of this plan are completed; others make room once this plan's are complete.
    Renew,
}

impl Folder {
    /// Takes a folder for `manifest`: a new or empty one, or its own as `existing` says.
    pub fn claim(path: &Path, manifest: &Manifest, existing: Existing) -> Result<Folder, Failure> {
        let shown = path.display();
        let renews = existing == Existing::Renew;
        let folder = Folder { path: path.to_owned(), renews };
        let names = match entries(path) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Failure::input(format!("{shown}: {error}"))),
        };
        if names.is_empty() {
            let written = fs::create_dir_all(path)
                .and_then(|()| write_whole(&folder.path.join(MANIFEST), &pretty(manifest)))
                .and_then(|()| fs::create_dir_all(folder.path.join(RUNS)));
            return written.map(|()| folder).map_err(|e| Failure::Run(format!("{shown}: {e}")));
        }
        if !names.iter().any(|name| name == MANIFEST) {
            return Err(Failure::input_with(
                format!("{shown} already holds something else, such as {}", printable(&names[0])),
                "choose a new folder; nothing was changed",
            ));
        }
        let text = fs::read_to_string(path.join(MANIFEST));
        let owner: Option<Manifest> = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        match owner {
            Some(owner) if owner == *manifest && existing != Existing::Refuse => {
                if !folder.is_finished() {
                    fs::create_dir_all(folder.path.join(RUNS))
                        .map_err(|error| Failure::Run(format!("{shown}: {error}")))?;
                }
                Ok(folder)
            }
            Some(owner) if owner == *manifest => Err(Failure::input_with(
                format!("{shown} already holds this plan's results"),
                "--resume completes them; or choose a new folder",
            )),
            Some(_) if renews => {
                folder.make_room().map_err(|e| Failure::Run(format!("{shown}: {e}")))?;
                Folder::claim(path, manifest, existing)
            }
            Some(owner) => Err(Failure::input_with(
                format!("{shown} already holds something else: {}", difference(&owner, manifest)),
                "choose a new folder; nothing was changed",
            )),
            None => Err(Failure::input_with(
                format!("{shown} already holds something else: {MANIFEST} is not what l4s writes"),
                "choose a new folder; nothing was changed",
            )),
        }
    }

    /// Whether every run is in the tables.
    pub fn is_finished(&self) -> bool {
        self.path.join(TABLE).is_file()
    }

    /// Whether a run is done.
    pub fn has(&self, number: usize) -> bool {
        self.part(number).is_file()
    }

    /// Whether the report is written.
    pub fn has_report(&self) -> bool {
        self.path.join("report.html").is_file()
    }

    /// Where the packets of a run are traced; `alone` when it is the only one.
    pub fn trace(&self, number: usize, alone: bool) -> PathBuf {
        match alone {
            true => self.path.join("trace.pcapng"),
            false => self.path.join(format!("trace-{number:07}.pcapng")),
        }
    }

    /// Keeps a run.
    pub fn keep(&self, number: usize, record: &RunRecord) -> Result<(), Failure> {
        record.save(&self.part(number)).map_err(failed)
    }

    /// A run that is done.
    pub fn load(&self, number: usize) -> Result<RunRecord, Failure> {
        RunRecord::load(&self.part(number)).map_err(failed)
    }

    /// Writes the tables of all runs and the scenario, in the order of the plan.
    pub fn assemble(&self, plan: &Plan) -> Result<(), Failure> {
        let path = self.path.join(SCENARIO);
        write_whole(&path, as_run(plan).as_bytes())
            .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))?;
        let mut writer = ResultWriter::create(&self.path).map_err(failed)?;
        // The next few are read while one is written.
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        std::thread::scope(|threads| {
            threads.spawn(move || {
                // A receiver that is gone has seen a failure.
                (0..plan.points.len()).all(|number| sender.send(self.load(number)).is_ok())
            });
            receiver.into_iter().try_for_each(|record| writer.add(&record?).map_err(failed))
        })?;
        writer.finish().map_err(failed)
    }

    /// Removes what only served to get here, and what these results replace.
    pub fn tidy(&self) -> Result<(), Failure> {
        let remove = |path: &Path| match path.is_dir() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let left = entries.filter(|entry| {
            entry.file_name() == RUNS || is_leftover(&entry.file_name().to_string_lossy())
        });
        let replaced = Some(self.aside()).filter(|aside| self.renews && aside.is_dir());
        for path in left.map(|entry| entry.path()).chain(replaced) {
            remove(&path).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Puts complete results aside, until new ones are complete; incomplete ones are of no use.
    fn make_room(&self) -> io::Result<()> {
        if !self.is_finished() {
            return fs::remove_dir_all(&self.path);
        }
        let aside = self.aside();
        if aside.is_dir() {
            fs::remove_dir_all(&aside)?;
        }
        fs::rename(&self.path, aside)
    }

    /// Where they wait.
    fn aside(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".l4s-{name}.old"))
    }

    /// The runs of a finished folder.
    pub fn results(&self) -> Result<Vec<Run>, Failure> {
        Ok(Results::open(&self.path).map_err(failed)?.runs().to_vec())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn part(&self, number: usize) -> PathBuf {
        self.path.join(RUNS).join(format!("{number:07}"))
    }
}

/// The scenario as a file that gives the same plan: its text, with its name if it has none.
fn as_run(plan: &Plan) -> String {
    match Plan::parse("unnamed", &plan.text, &[]) {
        Ok(again) if again.name != plan.name => {
            format!("name = {}\n{}", serde_json::Value::from(plan.name.as_str()), plan.text)
        }
        _ => plan.text.clone(),
    }
}

/// What is in a folder, leftovers of a killed process aside; sorted.
fn entries(path: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.retain(|name| !is_leftover(name));
    names.sort();
    Ok(names)
}

/// A file that was being written when its process ended.
fn is_leftover(name: &str) -> bool {
    name.starts_with(".l4s-") && name.ends_with(".part")
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
        None => "the same scenario with other settings".to_owned(),
    }
}

fn pretty(manifest: &Manifest) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(manifest).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Writes a whole file, or nothing.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".l4s-{name}.part"));
    let mut file = File::create(&part)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

fn failed(error: ResultError) -> Failure {
    Failure::Run(error.to_string())
}
