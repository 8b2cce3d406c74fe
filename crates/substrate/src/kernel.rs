//! `--on kernel`: this machine's own TCP, in network namespaces, through our bottleneck.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use l4s_bottleneck::Download;
use l4s_lab::{Control, End, Frame, LabPlan, Live, Planner, Roles};
use l4s_model::{Group, Scenario};
use l4s_observe::Observer;
use l4s_os::OsError;
use l4s_units::{Duration, Rate, Time};

use crate::controls::Controls;
use crate::reenter::{AGENT, PROGRAM, this_program};
use crate::trial::{Codepoints, trial};
use crate::{
    Error, Identity, Lane, Lanes, Lateness, MOST_DOWNLOADS, Observe, ProgramHost, Programs, Ran,
    Substrate, Watch, to_the_end,
};

const OPTION: &str = "--on kernel";
/// Any machine carries this, so that it need not be tried.
const CERTAIN: Rate = Rate::from_mbps(200);
/// How often a rate is tried: a busy neighbour may hold up one trial, and a machine that carried the rate
/// once can. That the run itself is not held up is measured in it.
const TRIALS: usize = 3;
/// How long a live lane sleeps at most before it orders due changes.
const NAP: Duration = Duration::from_millis(20);

/// `--on kernel`: real sockets.
pub struct Kernel {
    controls: Arc<Mutex<Controls>>,
    roles: Roles,
}

impl Kernel {
    /// The substrate, with nothing loaded yet.
    ///
    /// # Errors
    /// This program cannot be started again.
    pub fn new() -> Result<Kernel, Error> {
        Ok(Kernel {
            controls: Arc::new(Mutex::new(Controls::new(OPTION))),
            roles: Roles { agent: this_program(AGENT)?, keeper: this_program(PROGRAM)? },
        })
    }

    /// The kernel's congestion control of a group.
    fn control(&self, group: &Group) -> Control {
        lock(&self.controls).of(group)
    }

    /// Plans labs, and makes the congestion controls available that they need: also for a run that
    /// changes.
    fn planner(&self) -> Planner {
        let controls = Arc::clone(&self.controls);
        Box::new(move |scenario, options| {
            let mut controls = lock(&controls);
            controls.provide(scenario).map_err(|error| OsError::Machine(error.to_string()))?;
            LabPlan::new(scenario, |group| controls.of(group), options)
        })
    }

    /// Loads every congestion control of a scenario, and checks that a lab can run it.
    fn provide(&self, scenario: &Scenario) -> Result<(), Error> {
        lock(&self.controls).provide(scenario)?;
        l4s_lab::check(scenario, |group| self.control(group)).map_err(failure)?;
        l4s_lab::check_programs(scenario).map_err(failure)
    }

    /// Refuses a rate that this machine cannot carry, which it tries out.
    fn carries(&self, rate: Rate) -> Result<(), Error> {
        let mut most = Rate::ZERO;
        for _ in 0..TRIALS {
            let mut seen = Codepoints::default();
            self.run(&trial(rate), &Programs::default(), &mut seen, &mut to_the_end)?;
            most = most.max(seen.rate());
            if most.as_bps() >= rate.as_bps() / 10 * 9 {
                return Ok(());
            }
        }
        Err(Error::Machine(format!(
            "{OPTION}: a link of {rate} is more than this machine can forward: {} Mb/s at most of {TRIALS} \
             trials, by one flow in one direction. Choose a lower `link.rate`, or `--on sim`",
            most.as_bps() / 1_000_000
        )))
    }

    /// Runs one scenario for a moment, without trying out more.
    pub(crate) fn try_out(&self, trial: &Scenario, seen: &mut Codepoints) -> Result<(), Error> {
        self.provide(trial)?;
        self.run(trial, &Programs::default(), seen, &mut to_the_end).map(drop)
    }
}

impl Identity for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn has_virtual_time(&self) -> bool {
        false
    }
}

impl Substrate for Kernel {
    fn check(&self, scenario: &Scenario) -> Result<Vec<String>, Error> {
        l4s_lab::check(scenario, |group| self.control(group)).map_err(failure)?;
        Ok(Vec::new())
    }

    fn prepare(&self, scenarios: &[&Scenario]) -> Result<Vec<String>, Error> {
        scenarios.iter().try_for_each(|scenario| self.provide(scenario))?;
        // Where the largest lab can be, so can the others.
        if let Some(largest) = scenarios.iter().max_by_key(|s| s.roster().sources()) {
            l4s_lab::rehearse(largest, |group| self.control(group), &self.roles.agent)
                .map_err(failure)?;
        }
        let rates =
            scenarios.iter().flat_map(|scenario| [scenario.fastest(), scenario.fastest_up()]);
        match rates.max() {
            Some(fastest) if fastest > CERTAIN => self.carries(fastest)?,
            _ => {}
        }
        Ok(Vec::new())
    }

    fn run(
        &self,
        scenario: &Scenario,
        programs: &Programs,
        observer: &mut dyn Observe,
        _: &mut Watch,
    ) -> Result<Ran, Error> {
        let remote = programs.remote.as_deref();
        let programs = l4s_lab::Programs::from(programs);
        let foreground = programs.foreground;
        let ran = l4s_lab::run(
            scenario,
            self.planner(),
            &self.roles,
            &programs,
            remote,
            observer.of_frames(),
        );
        let ran = ran.map_err(failure)?;
        let last = scenario.programs.len().checked_sub(1);
        let in_front =
            |ended: &&l4s_lab::Ended| Some(ended.program) == last && Some(ended.end) == foreground;
        Ok(Ran {
            time: ran.pumped.ended.since(Time::ZERO),
            code: ran.ended.iter().find(in_front).map(|ended| ended.code),
            packets: ran.forwarded,
            lateness: Some(ran.pumped.departures.into()),
            packet_time: Some(ran.pumped.cost()),
            flows: ran.flows,
            instead: ran.instead,
            unfit: ran.unfit,
            ..Ran::default()
        })
    }
}

impl<O: Observe + Send + 'static> Lanes<O> for Kernel {
    fn lane(&self, scenario: &Scenario, observer: O) -> Result<Box<dyn Lane<O>>, Error> {
        lock(&self.controls).provide(scenario)?;
        let observer = Arc::new(Mutex::new(observer));
        let reports = Box::new(Arc::clone(&observer));
        let live = Live::start(scenario, self.planner(), &self.roles.agent, reports);
        let live = live.map_err(failure)?.with_most_downloads(MOST_DOWNLOADS);
        Ok(Box::new(KernelLane { live, observer }))
    }
}

/// A lane of real sockets, in real time: it cannot be paused, nor be faster or slower.
struct KernelLane<O> {
    live: Live,
    /// The thread of the data plane reports to it.
    observer: Arc<Mutex<O>>,
}

impl<O: Observe + Send> Lane<O> for KernelLane<O> {
    fn advance(&mut self, to: Time) -> Result<(), Error> {
        loop {
            let turned_away = |download: &Download| {
                let Download { flow, group, start, .. } = *download;
                Observer::<Frame>::turned_away(&mut *lock(&self.observer), flow, group, start);
            };
            self.live.tend(turned_away).map_err(failure)?;
            let left = to.since(self.live.now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.min(NAP).as_nanos()));
        }
    }

    fn adapt(&mut self, scenario: &Scenario) -> bool {
        self.live.adapt(scenario)
    }

    fn observe(&mut self, read: &mut dyn FnMut(&mut O, Time)) {
        let now = self.live.now();
        read(&mut lock(&self.observer), now);
    }
}

/// Locks an observer or the congestion controls. After a panic of another thread they are still that.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<&Programs> for l4s_lab::Programs {
    fn from(Programs { out, foreground, internet, .. }: &Programs) -> l4s_lab::Programs {
        let foreground = foreground.map(|host| match host {
            ProgramHost::Server => End::Server,
            ProgramHost::Client => End::Client,
        });
        l4s_lab::Programs { surroundings: None, out: out.clone(), foreground, internet: *internet }
    }
}

impl From<l4s_lab::Lateness> for Lateness {
    fn from(late: l4s_lab::Lateness) -> Lateness {
        Lateness { p50: late.p50, p99: late.p99, max: late.max }
    }
}

fn failure(error: OsError) -> Error {
    Error::of(OPTION, error)
}
