//! A scenario from beginning to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use l4s_bottleneck::Straddling;
use l4s_model::{Group, Ip, Scenario};
use l4s_observe::Observer;
use l4s_os::{Clock, OsError};
use l4s_units::{Duration, Time};

use crate::{
    AgentCommand, Control, Counters, End, Frame, Lab, LabOptions, LabPlan, Ledger, Plane, Pumped,
    Settings, pump,
};

/// Between the order to start and the start: every agent has heard of it by then.
pub const HEAD_START: Duration = Duration::from_millis(100);

/// How a run went.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// What the data plane did, and how late it was.
    pub pumped: Pumped,
    /// Packets that the bottleneck forwarded.
    pub forwarded: u64,
    /// Per pair, what came from its server and from its client.
    pub counters: Vec<[Counters; 2]>,
    /// Why the run should not be trusted.
    pub unfit: Option<String>,
}

/// Whether a scenario can run in a lab at all, whatever the machine.
pub fn check(scenario: &Scenario, cc: impl Fn(&Group) -> Control) -> Result<(), OsError> {
    LabPlan::new(scenario, cc, &options(scenario, None)).map(drop)
}

/// Whether this machine can hold the lab of `scenario`: builds it, and lets it go.
pub fn rehearse(
    scenario: &Scenario,
    cc: impl Fn(&Group) -> Control,
    agent: &AgentCommand,
) -> Result<(), OsError> {
    Lab::build(&LabPlan::new(scenario, cc, &options(scenario, None))?, agent).map(drop)
}

/// Runs `scenario` and tells `observer` everything that happens. `cc` is what the kernel calls a
/// group's congestion control; `agent` starts a server or a client.
///
/// It runs on the calling thread, which is pinned to a core in the meantime.
pub fn run(
    scenario: &Scenario,
    cc: impl Fn(&Group) -> Control,
    agent: &AgentCommand,
    observer: &mut impl Observer<Frame>,
) -> Result<Ran, OsError> {
    let options = options(scenario, observer.sampling_interval());
    let mut lab = Lab::build(&LabPlan::new(scenario, cc, &options)?, agent)?;
    let (ports, told) = (lab.take_ports(), lab.take_reports());
    let mut plane = Plane::new(scenario);
    let (tell, reports) = mpsc::channel();
    let mut ledger = Ledger::new(scenario, reports);
    let stop = AtomicBool::new(false);
    let clock = Clock::starting_in(HEAD_START);
    lab.start(clock);
    let settings = Settings::new(clock, Time::ZERO + scenario.duration, &stop);
    let (pumped, failed) = std::thread::scope(|scope| {
        let stop = &stop;
        let heard = scope.spawn(move || {
            for word in told {
                match word {
                    // The ledger lives longer than this.
                    Ok(report) => drop(tell.send(report)),
                    Err(error) => {
                        stop.store(true, Ordering::Relaxed);
                        return Some(error);
                    }
                }
            }
            None
        });
        let pumped = pump(&ports, &mut plane, settings, &mut ledger, observer);
        // Ends what is heard, too.
        lab.stop();
        (pumped, heard.join())
    });
    // An agent's own words say more than that its device is gone.
    if let Ok(Some(error)) = failed {
        return Err(error);
    }
    let pumped = pumped.map_err(|error| OsError::Run(error.to_string()))?;
    // What agents said last.
    ledger.pass_on(observer);
    ledger.conclude(Time::ZERO + scenario.duration, observer);
    let Straddling { before, after } = plane.straddling(pumped.ended);
    observer.straddled(None, before, after);
    let counters: Vec<_> = (0..plane.pairs())
        .map(|pair| [End::Server, End::Client].map(|end| plane.counters(pair, end)))
        .collect();
    let late = || pumped.unfit(shortest_rtt(scenario));
    let stalled = pumped.stalled().or_else(|| lab.unfit(scenario.duration));
    Ok(Ran {
        forwarded: counters.iter().map(|[server, _]| server.forwarded).sum(),
        unfit: stalled
            .or_else(|| slow_source(scenario, |pair| counters[pair][0].received))
            .or_else(late),
        pumped,
        counters,
    })
}

/// The shortest path of a run, by which lateness is judged.
pub fn shortest_rtt(scenario: &Scenario) -> Duration {
    let rtts = scenario.changes.iter().flat_map(|change| &change.rtts).map(|(_, rtt)| *rtt);
    let shortest = scenario.groups.iter().map(|group| group.rtt).chain(rtts).min();
    shortest.unwrap_or(Duration::MAX)
}

/// Why a run says little whose UDP sources could not keep their rate. `received` says how many
/// packets came from the server of a pair.
pub fn slow_source(scenario: &Scenario, received: impl Fn(usize) -> u64) -> Option<String> {
    let roster = scenario.roster();
    let sources = (0..).map(|place| roster.udp(place).index()).zip(&scenario.udp);
    sources.into_iter().find_map(|(pair, source)| {
        let received = received(pair);
        let end = Time::ZERO + scenario.duration;
        let active = source.stop.map_or(end, |stop| stop.min(end)).since(source.start);
        let due = source.rate.bytes_in(active).get() / source.packet.get();
        // Chance moves the last two past the end (`Datagrams`).
        (received + 2 < due / 20 * 19).then(|| {
            format!(
                "UDP source `{}` sent {} of {due} packets: this machine is too slow for its rate \
                 in packets of {} bytes",
                source.name,
                received,
                source.packet.get()
            )
        })
    })
}

fn options(scenario: &Scenario, sampling: Option<Duration>) -> LabOptions {
    let default = LabOptions::default();
    LabOptions {
        ipv6: scenario.kernel.ip == Ip::V6,
        gso: scenario.kernel.gso,
        sample_every: sampling.unwrap_or(default.sample_every),
        ..default
    }
}
