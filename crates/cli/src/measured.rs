//! One run on a substrate, measured.

use std::collections::HashMap;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use l4s_measure::files::Durable;
use l4s_measure::{
    EngineSummary, FlowRow, Lateness, Origin, PacketTrace, Recorder, RunRecord, Snap,
};
use l4s_model::{FlowId, Scenario};
use l4s_scenario::{Plan, Point};
use l4s_substrate::{Engine, Observe, ProgramHost, Programs, Ran, to_the_end};
use serde_json::{Map, Value};

use crate::args::{Substrate, Trace};
use crate::check::Checks;
use crate::failure::Failure;
use crate::figures::{Figures, Show};
use crate::folder::{CODE, PROGRAMS};
use crate::notes;
use crate::scratch::Scratch;
use crate::shell::page::Page;
use crate::unsupported;

/// The version of results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// The results; in the simulator they are independent of this machine.
    pub record: RunRecord,
    /// How long it took; `None` when it was done before this process.
    pub wall: Option<Duration>,
    /// On how many cores.
    pub cores: u32,
    /// Flows that ended too early to be counted.
    pub early: Option<String>,
    /// The exit code of the program in the foreground.
    pub code: Option<u8>,
    /// The flows of its programs, in words; at first only their check.
    pub flows: String,
    /// Why a file of a session was not written: its numbers are to be seen all the same.
    pub unwritten: Option<Failure>,
}

/// Results to keep of a run in addition to its summary.
#[derive(Default)]
pub struct Keep<'a> {
    /// Time series, histograms and flows.
    pub tables: bool,
    /// Time between samples of the series; the recorder's own unless set. Of a simulation only.
    pub sampling: Option<l4s_units::Duration>,
    /// Every packet at the bottleneck, in this file.
    pub trace: Option<(Durable, Trace)>,
    /// Where its programs put their output; a folder that goes with the run unless set.
    pub programs: Option<PathBuf>,
    /// The additional parts of a session.
    pub session: Option<Session<'a>>,
    /// Whether a second core is free for it.
    pub second_core: bool,
}

/// A run with somebody at the terminal.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// The host on which the last program has the terminal.
    pub foreground: ProgramHost,
    /// Whether the client of its group reaches the network of this machine.
    pub internet: bool,
    /// Where the present figures are shown while it runs.
    pub figures: Show,
    /// The page that shows it.
    pub page: Option<&'a Page>,
    /// Whether the senders of its programs' flows are checked.
    pub check: bool,
}

/// Sweeps of more runs keep fewer samples per series: their purpose is the comparison of runs.
const MANY_RUNS: usize = 500;
/// Time between samples of a session, whose length is unknown in advance.
pub const SESSION_SAMPLING: l4s_units::Duration = l4s_units::Duration::from_millis(100);
/// How many samples those are.
const FEW_SAMPLES: u64 = 40;

/// Time between samples of a run of a plan with many runs; `None` where the recorder chooses it.
pub fn sampling(plan: &Plan, scenario: &Scenario) -> Option<l4s_units::Duration> {
    (plan.points.len() > MANY_RUNS).then(|| scenario.duration / FEW_SAMPLES)
}

/// The substrate `on`, prepared for every run of a plan. `called` is the user's name of the scenario.
pub fn prepare(on: Substrate, plan: &Plan, called: &str) -> Result<Engine, Failure> {
    let engine = Engine::named(on.name())?;
    let scenarios: Vec<&Scenario> = plan.points.iter().map(|point| &point.scenario).collect();
    let prepared = engine.on().prepare(&scenarios);
    for note in prepared.map_err(|error| unsupported::refused(error, &engine, plan, called))? {
        say!("note: {note}");
    }
    Ok(engine)
}

/// The name of a substrate.
pub fn name(engine: &Engine) -> &'static str {
    engine.on().name()
}

/// How many runs at a time, where the user asked for `asked`: a run in real time needs the machine
/// for itself.
pub fn jobs(engine: &Engine, asked: Option<usize>) -> Option<usize> {
    if engine.on().has_virtual_time() { asked } else { Some(1) }
}

/// Says how long a plan will take, where that is known.
pub fn announce(engine: &Engine, plan: &Plan) {
    if !engine.on().has_virtual_time() {
        let seconds: f64 = plan.points.iter().map(|p| p.scenario.duration.as_secs_f64()).sum();
        say!("in real time: {seconds:.0} s");
    }
}

/// Runs a point and measures it.
pub fn run(
    engine: &Engine,
    point: &Point,
    command: &str,
    keep: Keep<'_>,
) -> Result<Finished, Failure> {
    let origin = Origin {
        on: name(engine).to_owned(),
        version: VERSION.to_owned(),
        code: CODE.to_owned(),
        set: settings(point),
        command: command.to_owned(),
    };
    let scenario = &point.scenario;
    let mut recorder = Recorder::new(scenario, origin);
    // A simulated flow's state is for the tables; a socket's is in the summary too.
    let simulated = matches!(engine, Engine::Sim(_));
    if !keep.tables && simulated {
        recorder = recorder.without_series();
    }
    if let Some(interval) = keep.sampling.filter(|_| simulated || keep.session.is_some()) {
        recorder = recorder.sampled_every(interval);
    }
    let programs = (keep.programs, keep.session);
    let start = Instant::now();
    let mut cores = 1;
    let mut unwritten = None;
    let (recorder, checks, mut ran) = match keep.session {
        None => {
            let (recorder, ran) = match (engine, keep.trace) {
                // The usual run is the fastest.
                (Engine::Sim(sim), None) => {
                    let on_two = match keep.second_core {
                        true => sim.simulate_on_two_cores(scenario, &mut recorder),
                        false => None,
                    };
                    cores += u32::from(on_two.is_some());
                    let ran = on_two.unwrap_or_else(|| {
                        l4s_simulate::simulate(scenario, &mut recorder, &mut to_the_end)
                    });
                    (recorder, ran)
                }
                (_, trace) => {
                    let (recorder, ran, traced) =
                        traced(engine, scenario, recorder, trace, programs)?;
                    traced?;
                    (recorder, ran)
                }
            };
            (recorder, None, ran)
        }
        Some(session) => {
            let figures = Figures::on_terminal(session.figures);
            let checks = session.check.then(|| Checks::new(scenario));
            let page = session.page.map(Page::seat);
            let observer = (recorder, (figures, (checks, page)));
            let ((recorder, (_, (checks, _))), ran, traced) =
                traced(engine, scenario, observer, keep.trace, programs)?;
            unwritten = traced.err();
            (recorder, checks, ran)
        }
    };
    let (code, recorder) = (ran.code, recorder.ended(ran.time));
    let recognised = std::mem::take(&mut ran.flows);
    let flows =
        checks.map(|checks| checks.report(&recognised, ran.unfit.is_some())).unwrap_or_default();
    let mut record = recorder.finish(cost(ran));
    add_recognised(&mut record.flows, recognised);
    let early = notes::ended_early(scenario, &record.flows);
    Ok(Finished { record, wall: Some(start.elapsed()), cores, early, code, flows, unwritten })
}

/// Adds fields from packet headers to the rows of programs' flows.
fn add_recognised(rows: &mut [FlowRow], recognised: Vec<(FlowId, l4s_flows::Row)>) {
    let mut of: HashMap<u32, l4s_flows::Row> =
        recognised.into_iter().map(|(flow, row)| (flow.get(), row)).collect();
    for row in rows {
        let Some(found) = of.remove(&row.flow) else { continue };
        let end = |address: &str, port: Option<u32>| match port {
            Some(port) if address.contains(':') => format!("[{address}]:{port}"),
            Some(port) => format!("{address}:{port}"),
            None => address.to_owned(),
        };
        row.end_s = Some(found.end_s);
        row.retransmits = found.retransmits.unwrap_or_default();
        row.client = Some(end(&found.client, found.client_port));
        row.server = Some(end(&found.server, found.server_port));
        row.protocol = Some(found.protocol);
        row.not_ect = Some(found.down_not_ect);
        row.ect0 = Some(found.down_ect0);
        row.ect1 = Some(found.down_ect1);
        row.marks = Some(found.marks);
        row.drops = Some(found.drops);
        row.delay_mean_ms = found.delay_mean_ms;
        row.delay_p99_ms = found.delay_p99_ms;
        row.handshake_ms = found.handshake_ms;
        row.rtt_mean_ms = found.rtt_mean_ms;
    }
}

/// The settings of a run, in the form of its summary.
pub fn settings(point: &Point) -> Map<String, Value> {
    point.set.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

/// Runs a scenario, with its programs where it has some.
fn run_observed(
    engine: &Engine,
    scenario: &Scenario,
    observer: &mut dyn Observe,
    (out, session): (Option<PathBuf>, Option<Session<'_>>),
) -> Result<Ran, Failure> {
    let mut programs = Programs::default();
    // Gone with the run.
    let mut scratch = None;
    if !scenario.programs.is_empty() {
        let failed = |error: io::Error| Failure::Run(format!("a temporary folder: {error}"));
        programs.out = match out {
            Some(out) => out,
            None => scratch.insert(Scratch::new().map_err(failed)?).path().to_owned(),
        };
    }
    if let Some(session) = session {
        programs.foreground = Some(session.foreground);
        programs.internet = session.internet;
        if let Some(page) = session.page {
            page.control(&mut programs);
        }
    }
    let ran = engine.on().run(scenario, &programs, observer, &mut to_the_end);
    ran.map_err(|error| match (error.into(), &scratch) {
        (Failure::Run(why), Some(scratch)) => Failure::Run(without_outputs(why, scratch.path())),
        (failure, _) => failure,
    })
}

/// Why a run failed, where the outputs of its programs are gone with it.
fn without_outputs(mut why: String, scratch: &Path) -> String {
    let folder = scratch.display().to_string();
    if why.contains(&folder) {
        why = why.replace(&folder, &format!("DIR/{PROGRAMS}"));
        why += "\n  = help: `--out DIR` keeps the outputs of programs";
    }
    why
}

/// The cost of a run, in the form of the summary.
fn cost(ran: Ran) -> EngineSummary {
    let us = |time: l4s_units::Duration| time.as_nanos() as f64 / 1e3;
    EngineSummary {
        wall_s: None,
        virtual_s: ran.time.as_secs_f64(),
        packets: ran.packets,
        events: ran.events,
        lateness_us: ran.lateness.map(|late| Lateness {
            p50: us(late.p50),
            p99: us(late.p99),
            max: us(late.max),
        }),
        packet_ns: ran.packet_time.map(|time| time.as_nanos() as f64),
        qdisc: ran.counters,
        instead: ran.instead,
        unfit: ran.unfit,
    }
}

/// Runs a scenario, with a trace in a file, where it is to have one, that appears when it is complete. The last
/// result is that of the trace.
fn traced<O: Observe>(
    engine: &Engine,
    scenario: &Scenario,
    mut observer: O,
    trace: Option<(Durable, Trace)>,
    programs: (Option<PathBuf>, Option<Session<'_>>),
) -> Result<(O, Ran, Result<(), Failure>), Failure> {
    let Some((file, trace)) = trace else {
        let ran = run_observed(engine, scenario, &mut observer, programs)?;
        return Ok((observer, ran, Ok(())));
    };
    let path = file.path();
    let failed = |error: io::Error| Failure::Run(format!("{}: {error}", path.display()));
    let snap = match trace {
        Trace::Pcapng => Snap::Headers,
        Trace::PcapngFull => Snap::Packet,
    };
    let trace = PacketTrace::new(BufWriter::new(file), snap).map_err(failed)?.of(scenario);
    let mut both = (observer, trace);
    let ran = run_observed(engine, scenario, &mut both, programs)?;
    let finish = |trace: PacketTrace<BufWriter<Durable>>| {
        trace.finish()?.into_inner().map_err(|error| error.into_error())?.finish()
    };
    let (observer, trace) = both;
    Ok((observer, ran, finish(trace).map_err(failed)))
}
