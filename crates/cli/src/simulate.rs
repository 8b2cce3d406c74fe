//! One run in the simulator, measured.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::{Duration, Instant};

use l4s_measure::{EngineSummary, Observer, Origin, PacketTrace, Recorder, RunRecord, Snap};
use l4s_scenario::{Point, Scenario};
use l4s_sim::{Outcome, Packet};
use serde_json::Value;

use crate::failure::Failure;

/// The version of results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What was measured; nothing in it depends on this machine.
    pub record: RunRecord,
    /// How long it took; `None` when it was done before this process.
    pub wall: Option<Duration>,
}

/// Runs a point. Without `tables` only its summary is kept. `trace` is where every packet at the
/// bottleneck is written down.
pub fn simulate(
    point: &Point,
    command: &str,
    tables: bool,
    trace: Option<&Path>,
) -> Result<Finished, Failure> {
    let set = point.set.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    let origin = Origin {
        on: "sim".to_owned(),
        version: VERSION.to_owned(),
        set: set.collect(),
        command: command.to_owned(),
    };
    let scenario = &point.scenario;
    let mut recorder = Recorder::new(scenario, origin);
    if !tables {
        recorder = recorder.without_series();
    }
    let start = Instant::now();
    let outcome = match trace {
        None => l4s_sim::run(scenario, &mut recorder),
        Some(path) => traced(scenario, &mut recorder, path)
            .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))?,
    };
    let engine = EngineSummary {
        wall_s: None,
        virtual_s: scenario.duration.as_secs_f64(),
        packets: outcome.packets,
        events: Some(outcome.events),
        lateness_us: None,
    };
    Ok(Finished { record: recorder.finish(engine), wall: Some(start.elapsed()) })
}

/// Runs a scenario with a trace in `path`, which appears when it is complete.
fn traced(
    scenario: &Scenario,
    observer: impl Observer<Packet>,
    path: &Path,
) -> io::Result<Outcome> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".l4s-{name}.part"));
    let trace = PacketTrace::new(BufWriter::new(File::create(&part)?), Snap::Headers)?;
    let mut both = (observer, trace);
    let outcome = l4s_sim::run(scenario, &mut both);
    let file = both.1.finish()?.into_inner().map_err(|error| error.into_error())?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    Ok(outcome)
}

/// The command that repeats just this run. `scenario` is what the user called it.
pub fn command(scenario: &str, point: &Point) -> String {
    let mut command = format!("l4s run {}", quoted(scenario));
    for (key, value) in &point.pins {
        command += &format!(" --set {}", quoted(&format!("{key}={value}")));
    }
    command + &format!(" --seed {}", point.scenario.seed)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_back() {
        assert_eq!(quoted("link.rate=40mbit"), "link.rate=40mbit");
        assert_eq!(quoted("group.*.rtt=5ms"), "'group.*.rtt=5ms'");
        assert_eq!(quoted("case=it's"), r"'case=it'\''s'");
    }
}
