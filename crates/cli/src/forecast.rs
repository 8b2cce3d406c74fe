//! An estimate of the time and memory of a plan, printed before it starts.
//!
//! Time is mostly proportional to packets: the first moments of a few runs give the cost of a packet on
//! this machine. Memory is the memory of a run ([`Cost`]) and of its records, from measurements with
//! many flows and many downloads. Both estimates are meant to be too high.

use l4s_measure::series_rows;
use l4s_model::Scenario;
use l4s_scenario::{Plan, Point};
use l4s_sim::cost::{Cost, size};
use l4s_substrate::Engine;
use l4s_units::{Duration, Time};

use crate::failure::Failure;
use crate::measured::{self, Keep};
use crate::memory;

/// Plans of fewer packets finish before anyone has read an estimate.
const MANY_PACKETS: f64 = 50e6;
/// Number of runs that measure the cost of a packet, and packets per such run.
const SAMPLES: usize = 5;
const SAMPLE_PACKETS: f64 = 50e3;
/// No run is shorter.
const LEAST_SAMPLE: Duration = Duration::from_millis(1);
/// Seconds from which a smaller plan is proposed.
const LONG: f64 = 3600.0;
/// Bytes of a full packet on the link.
const PACKET: f64 = 1514.0;

/// Bytes of the process, with the memory to draw the report; and of each parallel run, most of
/// it the time series.
const PROCESS: f64 = 60e6;
const RUN: f64 = 12e6;
/// Bytes of the rows of a long flow.
const FLOW: f64 = 1e3;
/// Bytes of a row of the time series, in memory and while the tables are written (660 were measured).
const ROW: f64 = 700.0;
/// Bytes of a download that is over, in its row and while the table is written (660 were measured).
const DOWNLOAD: f64 = 700.0;

/// Prints the estimate, unless the plan is short; for long plans also the estimate for `smaller`.
pub fn announce(
    plans: &[Plan],
    engine: &Engine,
    jobs: usize,
    smaller: Option<(&str, &[Plan])>,
) -> Result<(), Failure> {
    let most = all_packets(plans);
    if most < MANY_PACKETS {
        return Ok(());
    }
    let per_packet = seconds_per_packet(plans, engine)? / jobs as f64;
    let wall = most * per_packet;
    let (billions, time) = (most / 1e9, time(wall));
    say!("at most {billions:.2} billion packets: about {time} for {jobs} runs at a time");
    if wall > LONG {
        let (what, wall) = match smaller {
            Some((what, plans)) => (what, all_packets(plans) * per_packet),
            None => ("a tenth of the duration", wall / 10.0),
        };
        say!("note: with {what} about {}", self::time(wall));
    }
    Ok(())
}

/// For people.
fn time(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        120.0..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Refuses a plan that this machine has no room for; `tables` says whether time series are kept.
pub fn check_memory(plan: &Plan, jobs: usize, tables: bool) -> Result<(), Failure> {
    let Some(free) = memory::free() else { return Ok(()) };
    let rows = |point: &Point| match tables {
        true => series_rows(&point.scenario, measured::sampling(plan, &point.scenario)),
        false => 0,
    };
    let all = |point: &Point| memory(&point.scenario) + ROW * rows(point) as f64;
    let needed = plan.points.iter().map(|point| (all(point), point));
    let Some((most, point)) = needed.max_by(|a, b| a.0.total_cmp(&b.0)) else { return Ok(()) };
    let series = ROW * rows(point) as f64;
    let cost = Cost::of(&point.scenario, None);
    let why = match cost.largest().filter(|term| term.bytes() as f64 > most / 2.0) {
        Some(term) => Some(term.to_string()),
        None if series > most / 2.0 => {
            let (rows, series) = (rows(point), size(series as u64));
            Some(format!("{rows} rows of the time series × {ROW} B = {series}, none without --out"))
        }
        None => None,
    };
    room(most, jobs, free, why.as_deref()).map_err(Failure::Substrate)
}

/// Whether `jobs` parallel runs of `largest` bytes each fit into `free`; `why` names the largest part
/// of a run.
fn room(largest: f64, jobs: usize, free: f64, why: Option<&str>) -> Result<(), String> {
    let needed = |jobs: usize| PROCESS + largest * jobs as f64;
    if needed(jobs) <= free {
        return Ok(());
    }
    let gb = |bytes: f64| size(bytes as u64);
    let help = match ((free - PROCESS) / largest).max(0.0) as usize {
        0 => "one run alone does not fit: smaller buffers, or fewer queues, hops, flows or downloads do"
            .to_owned(),
        fit => format!("--jobs {fit} takes {}", gb(needed(fit))),
    };
    let runs =
        if jobs == 1 { "a run needs".to_owned() } else { format!("{jobs} runs at a time need") };
    let why = why.map_or(String::new(), |why| format!(" ({why})"));
    Err(format!(
        "not enough memory: {runs} {}{why}, this machine has {}\n  help: {help}",
        gb(needed(jobs)),
        gb(free)
    ))
}

/// In all runs.
fn all_packets(plans: &[Plan]) -> f64 {
    plans.iter().flat_map(|plan| &plan.points).map(|point| packets(&point.scenario)).sum()
}

/// The most packets that can pass.
fn packets(scenario: &Scenario) -> f64 {
    let whole = Scenario { warmup: Duration::ZERO, ..scenario.clone() };
    whole.mean_rate_bps() * scenario.duration.as_secs_f64() / 8.0 / PACKET
}

/// Seconds per packet on a core, from the first moments of some runs.
fn seconds_per_packet(plans: &[Plan], engine: &Engine) -> Result<f64, Failure> {
    let points: Vec<&Point> = plans.iter().flat_map(|plan| &plan.points).collect();
    let (mut wall, mut seen) = (0.0, 0.0);
    for n in 0..SAMPLES {
        let point = points[n * (points.len() - 1) / (SAMPLES - 1)];
        let whole = point.scenario.duration;
        let mut share = SAMPLE_PACKETS / packets(&point.scenario);
        // Flows that start late or far away leave the first moments empty.
        loop {
            let nanos = (whole.as_nanos() as f64 * share.min(1.0)) as u64;
            let first = beginning(point, Duration::from_nanos(nanos).max(LEAST_SAMPLE));
            let finished =
                measured::run(engine, &first, "", Keep { tables: true, ..Keep::default() })?;
            let passed = finished.record.summary.engine.packets as f64;
            if passed >= SAMPLE_PACKETS / 2.0 || share >= 1.0 {
                wall += finished.wall.unwrap_or_default().as_secs_f64();
                seen += passed;
                break;
            }
            share *= 2.0;
        }
    }
    Ok(wall / seen.max(1.0))
}

/// A run that ends after `duration`.
fn beginning(point: &Point, duration: Duration) -> Point {
    let mut point = point.clone();
    point.scenario.duration = duration;
    point.scenario.warmup = Duration::ZERO;
    point.scenario.changes.retain(|change| change.time < Time::ZERO + duration);
    point
}

/// The bytes of one run while it runs.
fn memory(scenario: &Scenario) -> f64 {
    let seconds = scenario.duration.as_secs_f64();
    let flows = scenario.roster().flows() as f64;
    let downloads: f64 =
        scenario.web.iter().map(|web| web.rate.as_per_second_f64() * seconds).sum();
    let run = Cost::of(scenario, None).bytes() as f64;
    RUN + run + FLOW * flows + DOWNLOAD * downloads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(set: &str) -> Plan {
        let text = "duration = \"10s\"\nlink.rate = \"1514mbit\"\n\
                    [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
        Plan::parse("t", text, &set.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .unwrap()
    }

    #[test]
    fn packets_are_those_of_a_full_link() {
        assert_eq!(packets(&plan("").points[0].scenario), 1.25e6);
    }

    #[test]
    fn a_run_of_many_flows_takes_their_memory() {
        let few = memory(&plan("").points[0].scenario);
        let many = memory(&plan("group.A.flows=100000").points[0].scenario);
        // Its two ends, its timers and its rows: 1.9 kB were measured.
        let each = (many - few) / 99_999.0;
        assert!((1900.0..10_000.0).contains(&each), "{each} B a flow");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_does() {
        assert_eq!(room(1e9, 2, 3e9, None), Ok(()));
        let help = "not enough memory: 4 runs at a time need 4.1 GB, this machine has 3.0 GB\n  \
                    help: --jobs 2 takes 2.1 GB";
        assert_eq!(room(1e9, 4, 3e9, None).unwrap_err(), help);
        let one = room(40e9, 1, 24e9, Some("100 hops × 400 MB = 40 GB")).unwrap_err();
        let said = "not enough memory: a run needs 40 GB (100 hops × 400 MB = 40 GB), this machine has \
                    24 GB\n  help: one run alone does not fit";
        assert!(one.starts_with(said), "{one}");
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        assert_eq!([59.6, 1000.0, 9000.0].map(time), ["60 s", "17 min", "2.5 h"]);
    }
}
