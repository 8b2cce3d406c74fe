//! A scenario from beginning to end.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use l4s_model::{Change, FlowId, Group, Ip, Scenario};
use l4s_observe::Observer;
use l4s_os::{Clock, OsError};
use l4s_units::{Duration, Time};

use crate::dynamic::DynamicFlows;
use crate::internet::Internet;
use crate::ledger::Newcomers;
use crate::message::Setup;
use crate::owner::Owner;
use crate::program::{Supervision, hosts, shortened, unheeded};
use crate::setup::DEFAULT_CONTROL;
use crate::{
    AgentCommand, AgentInfo, Control, Counters, End, Ended, Frame, Lab, LabOptions, LabPlan,
    Ledger, Plane, Planner, Programs, Pumped, Roles, Settings, Turn, pump,
};

/// Between the order to start and the start: every agent has received it by then.
pub const HEAD_START: Duration = Duration::from_millis(100);

/// How many flows a [`Remote`] may add to a run. Each has a port of its own, below those that Linux gives to
/// the connections of programs (`ip_local_port_range`, 32768 and above).
const MORE_FLOWS: u32 = 20_000;

/// Lets another thread read the clock of a run, and change its bottleneck and flows.
#[derive(Debug)]
pub struct Remote {
    running: OnceLock<Running>,
    /// The scenario at present.
    scenario: Mutex<Scenario>,
    turns: Mutex<Vec<Turn>>,
    /// The groups whose settings are no longer those of the first scenario, for people.
    others: Mutex<Vec<String>>,
}

/// The run of a [`Remote`], once it has begun.
#[derive(Debug)]
struct Running {
    clock: Clock,
    flows: Mutex<DynamicFlows>,
}

impl Remote {
    /// For a run of this scenario.
    pub fn new(scenario: &Scenario) -> Remote {
        Remote {
            running: OnceLock::new(),
            scenario: Mutex::new(scenario.clone()),
            turns: Mutex::default(),
            others: Mutex::default(),
        }
    }

    /// The time of the run; `None` before it begins.
    pub fn now(&self) -> Option<Time> {
        self.running.get().map(|running| running.clock.now())
    }

    /// Changes the run to `new` now. A setting that is the same in both keeps its present value, also
    /// where an `[[at]]` changed it.
    ///
    /// # Errors
    /// Nothing changed, for one of these reasons. The run has not begun. The scenarios are not
    /// [`adaptable`](Scenario::adaptable), or differ in the downloads of a `[[web]]`. More than 20,000 flows
    /// were added to the run. This machine lacks a congestion control.
    pub fn adapt(&self, new: &Scenario) -> Result<(), OsError> {
        let mut present = lock(&self.scenario);
        let Some(running) = self.running.get() else {
            return Err(OsError::Run("the run has not begun yet".to_owned()));
        };
        if !present.adaptable(new) || present.web != new.web {
            return Err(OsError::Unsupported(
                "this needs a new run, which would end the shell: expected a change of the link, of the \
                 queue discipline, of a group, an application or a UDP source"
                    .to_owned(),
            ));
        }
        let mut flows = lock(&running.flows);
        if flows.is_exhausted() {
            return Err(OsError::Unsupported(format!(
                "{MORE_FLOWS} flows were added to this run, and no more have a port"
            )));
        }
        let now = running.clock.now();
        flows.update(&present, new, now)?;
        let turn = Turn { change: Change::between(&present, new, now), scenario: new.clone() };
        lock(&self.turns).push(turn);
        let groups = present.groups.iter().zip(&new.groups);
        let others = groups.filter(|(old, new)| !old.keeps_connections(new)).map(|(_, group)| {
            let (name, cc, at) = (&group.name, group.cc.kind(), now.since(Time::ZERO));
            format!("the flows of group `{name}` were opened again after {at}, with {cc}")
        });
        lock(&self.others).extend(others);
        *present = new.clone();
        Ok(())
    }

    /// Whether the UDP sources are those of `scenario`.
    fn has_udp_of(&self, scenario: &Scenario) -> bool {
        lock(&self.scenario).udp == scenario.udp
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a run went.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// The result of the data plane, and its lateness.
    pub pumped: Pumped,
    /// Packets that the bottleneck forwarded.
    pub forwarded: u64,
    /// Per pair, the packets from its server and from its client.
    pub counters: Vec<[Counters; 2]>,
    /// How each program ended.
    pub ended: Vec<Ended>,
    /// The flows of programs, with their numbers in the run.
    pub flows: Vec<(FlowId, l4s_flows::Row)>,
    /// Differences from the scenario, for people.
    pub instead: Vec<String>,
    /// Why the run should not be trusted.
    pub unfit: Option<String>,
}

/// Whether a scenario can run in a lab at all, on any machine.
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

/// Runs `scenario` and reports every event to `observer`. `planner` plans the lab of a scenario, and makes
/// the congestion controls available that it needs; `roles` starts the parts of the lab; `programs` is
/// for those of the scenario; `remote` lets another thread follow and change the run.
///
/// It runs on the calling thread, which is pinned to a core in the meantime.
pub fn run(
    scenario: &Scenario,
    planner: Planner,
    roles: &Roles,
    programs: &Programs,
    remote: Option<&Remote>,
    observer: &mut dyn Observer<Frame>,
) -> Result<Ran, OsError> {
    let group = scenario.programs.last().map(|program| program.group);
    let group = group.filter(|_| programs.internet);
    let claim = |group| Internet::claim(scenario.roster().sources(), group);
    // Dropped after the lab.
    let mut internet = group.map(claim).transpose()?;
    let options = LabOptions {
        internet: group,
        first_network: internet.as_ref().map_or(0, |internet| internet.first_network),
        room: if remote.is_some() { MORE_FLOWS } else { 0 },
        ..options(scenario, observer.sampling_interval())
    };
    let plan = planner(scenario, &options)?;
    let mut lab = Lab::build(&plan, &roles.agent)?;
    if let Some((internet, group)) = internet.as_mut().zip(group) {
        internet.open(hosts(&plan, &lab)[group])?;
    }
    let (ports, told) = (lab.take_ports(), lab.take_reports());
    let mut plane = Plane::new(scenario).expecting(options.room);
    let (tell, reports) = mpsc::channel();
    let newcomers = Newcomers::default();
    let mut ledger = Ledger::new(scenario, reports).with(newcomers.clone());
    let stop = AtomicBool::new(false);
    let (ran, failed) = std::thread::scope(|scope| {
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
        let served = (&roles.keeper, Some(programs));
        let run = || -> Result<_, OsError> {
            let programs =
                Supervision::start(scope, scenario, (&plan, &lab), served, stop, || Ok(()))?;
            let clock = Clock::starting_in(HEAD_START);
            lab.start(clock);
            programs.begin(clock);
            if let Some(remote) = remote {
                let first = Owner::next_flow(scenario);
                let numbers = first..first + MORE_FLOWS;
                let replan = Box::new(move |scenario: &Scenario| planner(scenario, &options));
                let orders = lab.order_sender();
                let flows = DynamicFlows::new(scenario, numbers, orders, newcomers, replan);
                let _ = remote.running.set(Running { clock, flows: Mutex::new(flows) });
            }
            let turns = remote.map(|remote| &remote.turns);
            let end = Time::ZERO + scenario.duration;
            let settings = Settings { turns, ..Settings::new(clock, end, stop) };
            let pumped = pump(&ports, &mut plane, settings, &mut ledger, observer);
            let ended = programs.end()?;
            Ok((pumped.map_err(|error| OsError::Run(error.to_string()))?, ended))
        };
        let ran = run();
        // It ends the reports, too.
        lab.stop();
        (ran, heard.join().ok().flatten())
    });
    // An agent's own words say more than that its device is gone.
    if let Some(error) = failed {
        return Err(error);
    }
    let (pumped, ended) = ran?;
    // The agents' last reports.
    ledger.pass_on(observer);
    ledger.conclude(pumped.ended, observer);
    plane.end(pumped.ended, observer);
    let counters: Vec<_> = (0..plane.pairs())
        .map(|pair| [End::Server, End::Client].map(|end| plane.counters(pair, end)))
        .collect();
    let late = || pumped.unfit(shortest_rtt(scenario));
    let stalled = pumped.stalled().or_else(|| lab.unfit(pumped.ended.since(Time::ZERO)));
    let flows: Vec<_> = plane.recognised().collect();
    let has_tcp = flows.iter().any(|(_, row)| row.protocol == "TCP");
    Ok(Ran {
        forwarded: counters.iter().map(|[server, _]| server.forwarded).sum(),
        unfit: stalled
            .or_else(|| {
                let unchanged = remote.is_none_or(|remote| remote.has_udp_of(scenario));
                unchanged.then(|| {
                    slow_source(scenario, pumped.ended, |pair| counters[pair][0].received)
                })?
            })
            .or_else(late),
        instead: [
            other_default(&defaults(&plan, &lab)).filter(|_| has_tcp).into_iter().collect(),
            shortened(scenario, programs),
            unheeded(scenario, &ended),
            remote.map(|remote| lock(&remote.others).clone()).unwrap_or_default(),
        ]
        .concat(),
        pumped,
        counters,
        ended,
        flows,
    })
}

/// The default congestion control of each host with programs: the requested one and the present one.
fn defaults<'a>(plan: &'a LabPlan, lab: &'a Lab) -> Vec<(&'a str, &'a str)> {
    let setups = plan.pairs.iter().flat_map(|pair| [&pair.server, &pair.client]);
    let of = |(setup, agent): (&'a Setup, &'a AgentInfo)| {
        let asked = setup.default_control.as_deref()?;
        let (_, found) = agent.settings.iter().find(|(path, _)| path == DEFAULT_CONTROL)?;
        Some((asked, found.as_str()))
    };
    setups.zip(lab.agents()).filter_map(of).collect()
}

/// A note where hosts have another default congestion control than requested: one for all of them, because the
/// first namespace decides it.
fn other_default(defaults: &[(&str, &str)]) -> Option<String> {
    let others = || defaults.iter().filter(|(asked, found)| asked != found);
    let asked: BTreeSet<_> = others().map(|(asked, _)| format!("`{asked}`")).collect();
    let (_, found) = others().next()?;
    let asked = asked.into_iter().collect::<Vec<_>>().join(" or ");
    Some(format!(
        "TCP of programs that choose no congestion control has `{found}`, not {asked}: no namespace may \
         default to that here (sysctl net.ipv4.tcp_allowed_congestion_control)"
    ))
}

/// The shortest path of a run, the reference of lateness.
pub fn shortest_rtt(scenario: &Scenario) -> Duration {
    let rtts = scenario.changes.iter().flat_map(|change| &change.rtts).map(|(_, rtt)| *rtt);
    let shortest = scenario.groups.iter().map(|group| group.rtt).chain(rtts).min();
    shortest.unwrap_or(Duration::MAX)
}

/// Why a run that ended at `end`, before its duration where it was stopped, says little: its UDP
/// sources could not keep their rate. `received` says how many packets came from the server of a
/// pair.
pub fn slow_source(
    scenario: &Scenario,
    end: Time,
    received: impl Fn(usize) -> u64,
) -> Option<String> {
    let roster = scenario.roster();
    let sources = (0..).map(|place| roster.udp(place).index()).zip(&scenario.udp);
    sources.into_iter().find_map(|(pair, source)| {
        let received = received(pair);
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
        sample_every: sampling.unwrap_or(default.sample_every),
        ..default
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_scenario::Plan;

    #[test]
    fn other_defaults_are_one_note() {
        assert_eq!(other_default(&[("cubic", "cubic"), ("prague", "prague")]), None);
        let note =
            other_default(&[("prague", "bbr"), ("cubic", "bbr"), ("cubic", "bbr"), ("bbr", "bbr")]);
        let note = note.unwrap();
        assert!(note.contains("has `bbr`, not `cubic` or `prague`: no namespace"), "{note}");
    }

    #[test]
    fn a_source_is_held_to_its_rate_until_the_run_was_stopped() {
        let text =
            "duration = \"60s\"\nlink.rate = \"40mbit\"\n[[udp]]\nname = \"U\"\nrate = \"12mbit\"";
        let plan = Plan::parse("s.toml", text, &[]).unwrap();
        let scenario = &plan.points[0].scenario;
        // 12 Mb/s are 1000 packets of 1500 B per second.
        let stopped = Time::ZERO + Duration::from_secs(3);
        assert_eq!(slow_source(scenario, stopped, |_| 2990), None);
        let why = slow_source(scenario, stopped, |_| 1000).unwrap();
        assert!(why.contains("sent 1000 of 3000 packets"), "{why}");
    }
}
