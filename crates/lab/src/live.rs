//! A run without an end, whose scenario may change while it goes on: for live viewers.
//!
//! The lab is built for the groups and sources of the scenario, without any flows. Every flow is
//! ordered: the long ones when it starts, downloads shortly before each begins, and flows of later
//! changes then. Bottleneck and paths change in the data plane.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use l4s_bottleneck::{Download, Downloads};
use l4s_model::{Change, Ip, Link, Scenario};
use l4s_observe::Observer;
use l4s_os::{Clock, OsError};
use l4s_units::{Duration, Rate, Time};

use crate::dynamic::DynamicFlows;
use crate::ledger::Newcomers;
use crate::pump::Turn;
use crate::{
    AgentCommand, AgentInfo, Frame, Lab, LabOptions, Ledger, Plane, Planner, Settings, pump,
};

/// Between the order to start and the start.
const HEAD_START: Duration = Duration::from_millis(100);
/// How long before it begins a download is ordered.
const AHEAD: Duration = Duration::from_millis(200);
/// How many flows there may be in all: two hours of two hundred downloads a second have as many.
const ROOM: u32 = 1_500_000;
/// The fastest link for sockets and devices, for any scenario at first.
const FASTEST: Rate = Rate::from_mbps(1_000);
const LONGEST: Duration = Duration::from_millis(100);

/// Real TCP that goes on until it is dropped, and leaves nothing behind.
pub struct Live {
    scenario: Scenario,
    lab: Lab,
    clock: Clock,
    /// To the pump.
    turns: Arc<Mutex<Vec<Turn>>>,
    flows: DynamicFlows,
    downloads: Downloads,
    /// The most downloads under way at a time.
    most_downloads: usize,
    stop: Arc<AtomicBool>,
    /// Why it ended by itself.
    failure: Arc<Mutex<Option<OsError>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Live {
    /// Builds the lab of `scenario` and starts it; `observer` receives every event, on a thread of
    /// its own. `planner` plans the lab of a scenario, also when the run changes, and makes the congestion
    /// controls available that it needs; `agent` starts a server or a client.
    pub fn start(
        scenario: &Scenario,
        planner: Planner,
        agent: &AgentCommand,
        mut observer: Box<dyn Observer<Frame> + Send>,
    ) -> Result<Live, OsError> {
        let options = options(scenario, observer.sampling_interval());
        let replan = Box::new(move |scenario: &Scenario| planner(&widest(scenario), &options));
        let mut lab = Lab::build(&replan(scenario)?, agent)?;
        let (ports, told) = (lab.take_ports(), lab.take_reports());
        let (tell, reports) = mpsc::channel();
        let turns = Arc::new(Mutex::new(Vec::new()));
        let newcomers = Newcomers::default();
        let empty = without_flows(scenario);
        let mut plane = Plane::new(&empty).expecting(ROOM);
        let mut ledger = Ledger::new(&empty, reports).with(Arc::clone(&newcomers));
        let (stop, failure) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let clock = Clock::starting_in(HEAD_START);
        lab.start(clock);

        let fail = |failure: &Arc<Mutex<Option<OsError>>>| {
            let (failure, stop) = (Arc::clone(failure), Arc::clone(&stop));
            move |error| {
                let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
        };
        let failed = fail(&failure);
        let hear = move || {
            for word in told {
                match word {
                    // The ledger ends with the pump.
                    Ok(report) => drop(tell.send(report)),
                    Err(error) => failed(error),
                }
            }
        };
        let (failed, stopped, turned) = (fail(&failure), Arc::clone(&stop), Arc::clone(&turns));
        let carry = move || {
            let settings = Settings::new(clock, Time::NEVER, &stopped);
            let settings = Settings { turns: Some(&turned), ..settings };
            if let Err(error) = pump(&ports, &mut plane, settings, &mut ledger, &mut *observer) {
                failed(OsError::Run(error.to_string()));
            }
        };
        let threads = [thread("l4s-reports", hear)?, thread("l4s-pump", carry)?].into();
        // UDP sources have the first numbers.
        let first = empty.roster().downloads().start;
        let (numbers, orders) = (first..first + ROOM, lab.order_sender());
        let flows = DynamicFlows::new(&empty, numbers, orders, newcomers, replan);
        let mut live = Live {
            lab,
            clock,
            turns,
            flows,
            downloads: Downloads::new(scenario),
            most_downloads: usize::MAX,
            stop,
            failure,
            threads,
            scenario: empty,
        };
        live.flows.update(&live.scenario, scenario, clock.now())?;
        live.scenario = scenario.clone();
        Ok(live)
    }

    /// Limits the downloads that are under way at a time.
    pub fn with_most_downloads(mut self, most: usize) -> Live {
        self.most_downloads = most;
        self
    }

    /// Servers and clients, in the order of groups and sources.
    pub fn agents(&self) -> &[AgentInfo] {
        self.lab.agents()
    }

    /// The time of the run.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Orders flows that begin soon. To be called every tenth of a second, or more often. Downloads
    /// beyond the limit are not ordered: `turned_away` receives each of them.
    ///
    /// # Errors
    /// An agent, a device or the machine gave up, and with it the run.
    pub fn tend(&mut self, mut turned_away: impl FnMut(&Download)) -> Result<(), OsError> {
        if let Some(error) = &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(error.clone());
        }
        if self.flows.is_exhausted() {
            return Err(OsError::Run("the run is over: it has no more ports".to_owned()));
        }
        let soon = self.now() + AHEAD;
        while self.downloads.next_start() <= soon {
            let Some(download) = self.downloads.next() else { break };
            if self.flows.downloads() >= self.most_downloads {
                turned_away(&download);
            } else {
                let Download { group, size, start, .. } = download;
                self.flows.open(group.index(), start, Some(size), None);
            }
        }
        Ok(())
    }

    /// Changes to another scenario from now on, and returns whether it could: it must be
    /// [`adaptable`](Scenario::adaptable), and this machine must have its congestion controls.
    pub fn adapt(&mut self, scenario: &Scenario) -> bool {
        let now = self.now();
        if !self.scenario.adaptable(scenario)
            || self.flows.update(&self.scenario, scenario, now).is_err()
        {
            return false;
        }
        let change = Change::between(&self.scenario, scenario, now);
        let turn = Turn { change, scenario: scenario.clone() };
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).push(turn);
        for (entry, (old, new)) in self.scenario.web.iter().zip(&scenario.web).enumerate() {
            if new != old {
                self.downloads.adapt(entry, new, now + AHEAD);
            }
        }
        self.scenario = scenario.clone();
        true
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.lab.stop();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported by itself.
            let _ = thread.join();
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OsError> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map_err(|error| OsError::machine("a thread", error))
}

/// The groups and sources of a scenario without any flow.
fn without_flows(scenario: &Scenario) -> Scenario {
    let mut empty = Scenario { web: Vec::new(), apps: Vec::new(), ..scenario.clone() };
    empty.groups.iter_mut().for_each(|group| group.starts.clear());
    empty
}

/// A scenario without flows, whose lab has room for any that this one may become.
fn widest(scenario: &Scenario) -> Scenario {
    let mut widest = without_flows(scenario);
    widest.link = Link { rate: widest.link.rate.max(FASTEST), ..widest.link };
    for group in &mut widest.groups {
        group.rtt = group.rtt.max(LONGEST);
    }
    widest
}

fn options(scenario: &Scenario, sampling: Option<Duration>) -> LabOptions {
    LabOptions {
        ipv6: scenario.kernel.ip == Ip::V6,
        room: ROOM,
        sample_every: sampling.unwrap_or(LabOptions::default().sample_every),
        ..LabOptions::default()
    }
}
