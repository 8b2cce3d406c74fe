//! A run with this process's kernel as the router: builds the network of a scenario, runs it, and
//! writes down the events.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};

use l4s_aqm::Config;
use l4s_lab::{
    AgentCommand, Control, Frame, HEAD_START, Lab, LabOptions, LabPlan, Programs, Roles,
    Supervision, shortest_rtt, unheeded,
};
use l4s_model::{Change, Direction, Group, Ip, Link, Scenario};
use l4s_observe::Observer;
use l4s_os::{Clock, OsError};
use l4s_units::{Duration, Time};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use crate::detour::Detoured;
use crate::event::{Counters, Ending, Event};
use crate::qdisc::{DROPPED, REPLACED};
use crate::record::{Log, Recording};
use crate::router::{self, Router};
use crate::ways::Ways;
use crate::{JIFFY, SAMPLE_EVERY};

/// How long queue disciplines are there before the run: Linux' PIE updates its probability for the first
/// time half a second after it was set up.
const SETTLED: Duration = Duration::from_millis(600);

/// The machine's clock may be set by this much during a run: less than lateness may be.
const CLOCK_SET: Duration = Duration::from_micros(50);

/// Whose kernel is the router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A guest's, in virtual time.
    Guest,
    /// This machine's, in real time.
    Host,
}

impl Place {
    /// The time between two ticks of its kernel.
    pub fn jiffy(self) -> Duration {
        match self {
            Place::Guest => JIFFY,
            Place::Host => l4s_os::jiffy(),
        }
    }

    /// How often packets are fetched: soon enough that they take little memory, and that they find
    /// room where this user may have little of it for a socket.
    fn look_every(self) -> Duration {
        match self {
            Place::Guest => Duration::from_millis(10),
            Place::Host => Duration::from_millis(5),
        }
    }

    /// How long after its stamp a packet may come to be read, or queued. In real time a softirq is
    /// between the two, which the kernel may put off until a thread of its own (ksoftirqd) has its turn.
    pub fn settle(self) -> Duration {
        match self {
            Place::Guest => Duration::ZERO,
            Place::Host => Duration::from_millis(100),
        }
    }

    /// The agents of a scenario.
    pub fn plan<C: Into<Control>>(
        self,
        scenario: &Scenario,
        control: impl Fn(&Group) -> C,
        netem: bool,
    ) -> Result<LabPlan, OsError> {
        let options = LabOptions {
            ipv6: scenario.kernel.ip == Ip::V6,
            cables: true,
            netem,
            built: self == Place::Guest,
            sample_every: SAMPLE_EVERY,
            ..LabOptions::default()
        };
        LabPlan::new(scenario, control, &options)
    }
}

/// The job of the process whose kernel is the router.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The scenario.
    pub scenario: Scenario,
    /// Whether packets from clients are recorded, too.
    pub answers: bool,
    /// The command's options for programs of the user.
    pub programs: Option<Programs>,
}

impl Job {
    /// For an observer of the run. The flows of programs are recognized by both directions.
    pub fn new(scenario: &Scenario, programs: Programs, observer: &dyn Observer<Frame>) -> Job {
        let has_programs = !scenario.programs.is_empty();
        Job {
            scenario: scenario.clone(),
            answers: has_programs || observer.wants().answers,
            programs: has_programs.then_some(programs),
        }
    }
}

/// Agents and the router between them.
pub(crate) fn build<C: Into<Control>>(
    job: &Job,
    control: impl Fn(&Group) -> C,
    agent: &AgentCommand,
    place: Place,
) -> Result<(LabPlan, Lab, Router), OsError> {
    let scenario = &job.scenario;
    router::prepare(scenario.kernel.ip == Ip::V6)?;
    let netem = place == Place::Guest || router::has_netem()?;
    let mut plan = place.plan(scenario, control, netem)?;
    // Queues and stretches on the way up come before the base RTT.
    let delays = if Ways::has_more(scenario) { plan.take_delays() } else { Vec::new() };
    let lab = Lab::build(&plan, agent)?;
    let router = Router::new(&plan, job, place, netem, &delays)?;
    Ok((plan, lab, router))
}

/// Runs a scenario in this process's network namespace.
pub(crate) fn drive<C: Into<Control>>(
    job: &Job,
    control: impl Fn(&Group) -> C,
    roles: &Roles,
    place: Place,
    log: &mut Log,
) -> Result<(), OsError> {
    let scenario = &job.scenario;
    let (plan, mut lab, mut router) = build(job, control, &roles.agent, place)?;
    let reports = lab.take_reports();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let served = (&roles.keeper, job.programs.as_ref());
        let programs =
            Supervision::start(scope, scenario, (&plan, &lab), served, &stop, || log.waiting())?;
        let clock = Clock::starting_in(HEAD_START.max(SETTLED));
        lab.start(clock);
        router.start(clock)?;
        programs.begin(clock);
        // A sleep ends when it is to end, not with the next timer of another within 50 us.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
            .map_err(|error| OsError::Run(format!("precise timers: {error}")))?;
        let mut recording = Recording::new(clock, place.settle(), log);
        let end = Time::ZERO + scenario.duration;
        let mut changes = Changes::new(scenario);
        let mut next_sample = Time::ZERO + SAMPLE_EVERY;
        let mut next_look = Time::ZERO;
        loop {
            while changes.next().min(router.next_delay()) <= next_look {
                let (change, delay) = (changes.next(), router.next_delay());
                sleep_until(clock, change.min(delay))?;
                if change <= delay {
                    changes.make(&mut router, &mut recording, clock)?;
                } else {
                    router.change_delay()?;
                }
            }
            sleep_until(clock, next_look)?;
            let now = clock.now();
            recording.hear(&reports, now)?;
            let samples = next_look >= next_sample;
            if samples {
                let ((link, _), uplink) = router.states()?;
                let uplink = uplink.map(|(state, _)| state);
                recording.keep(now, Event::Queue(next_sample, link, uplink));
                next_sample += SAMPLE_EVERY;
            }
            recording.catch_up(&mut router, now)?;
            if samples && job.programs.is_some() && place == Place::Guest {
                // The follower sees that time goes on.
                recording.log.finish()?;
            }
            // Nothing but a failed program stops a run before its end.
            if next_look >= end || stop.load(Ordering::Relaxed) {
                break;
            }
            next_look = (next_look + place.look_every()).min(end);
        }
        let unheeded = unheeded(scenario, &programs.end()?);
        if place == Place::Host {
            lab.stop();
            router.run_dry(scenario)?;
        }
        let ((_, counters), uplink) = recording.finish(&mut router)?;
        let counters = changes.counters(Direction::Down, counters, &mut router)?;
        let uplink = uplink.map(|(_, counters)| counters);
        let up = |counters| changes.counters(Direction::Up, counters, &mut router);
        let uplink = uplink.map(up).transpose()?;
        lab.stop();
        recording.hear(&reports, Time::NEVER)?;
        // Packets that passed since are in no count.
        recording.others(Time::NEVER)?;
        let detoured = router.end_detour()?;
        let unfit = unfit(scenario, &lab, &detoured, &recording);
        let Detoured { passages, of_servers, .. } = detoured;
        let ending = Ending { counters, uplink, passages, of_servers, unheeded, unfit };
        recording.log.write(&Event::Done(ending))
    })
}

/// Why the run says little, as far as it can be seen from here.
fn unfit(
    scenario: &Scenario,
    lab: &Lab,
    detoured: &Detoured,
    recording: &Recording<'_>,
) -> Option<String> {
    let set = recording.clock_was_set();
    if set > CLOCK_SET {
        return Some(format!("the machine's clock was set by {set} during the run"));
    }
    let late = detoured.times.and_then(|(late, stalls)| {
        stalls.unfit(scenario.duration).or_else(|| late.unfit(shortest_rtt(scenario)))
    });
    // Of imperfect stretches, or of the way back.
    let late = late.map(|why| format!("in the router's own part of the way: {why}"));
    let refused = detoured.passages.refused;
    let lost = (refused > 0).then(|| {
        format!("the kernel had no room for {refused} packets behind imperfect stretches")
    });
    lab.unfit(scenario.duration).or(late).or(lost)
}

/// The changes of the links in mid-run. Cables with a delay are changed by their ends.
struct Changes {
    link: Link,
    uplink: Option<Link>,
    /// The next one last.
    to_come: Vec<Change>,
    /// The links whose discipline was replaced.
    replaced: Vec<Direction>,
}

impl Changes {
    fn new(scenario: &Scenario) -> Changes {
        let to_come = scenario.changes.iter().rev().cloned().collect();
        let uplink = scenario.uplink.as_ref().map(|uplink| uplink.link.clone());
        Changes { link: scenario.link.clone(), uplink, to_come, replaced: Vec::new() }
    }

    fn next(&self) -> Time {
        self.to_come.last().map_or(Time::NEVER, |change| change.time)
    }

    /// Makes the next one, at its time.
    fn make(
        &mut self,
        router: &mut Router,
        recording: &mut Recording<'_>,
        clock: Clock,
    ) -> Result<(), OsError> {
        let Some(change) = self.to_come.pop() else { return Ok(()) };
        let Change { rate, aqm, uplink_rate, uplink_aqm, .. } = change;
        if let Some(rate) = rate {
            self.link.rate = rate;
            router.link.set_link(&self.link)?;
        }
        if let Some(aqm) = aqm {
            self.replace(Direction::Down, &aqm, router, recording, clock)?;
        }
        if let (Some(rate), Some(link), Some(uplink)) =
            (uplink_rate, &mut self.uplink, &mut router.uplink)
        {
            link.rate = rate;
            uplink.set_link(link)?;
        }
        if let Some(aqm) = uplink_aqm {
            self.replace(Direction::Up, &aqm, router, recording, clock)?;
        }
        Ok(())
    }

    fn replace(
        &mut self,
        direction: Direction,
        aqm: &Config,
        router: &mut Router,
        recording: &mut Recording<'_>,
        clock: Clock,
    ) -> Result<(), OsError> {
        let Some(link) = router.link_of(direction) else { return Ok(()) };
        let began = clock.now();
        link.replace_aqm(aqm)?;
        recording.replaced(direction, began, clock.now());
        self.replaced.push(direction);
        Ok(())
    }

    /// The counters of the queue disciplines of a link; `counters` are those of the last one.
    fn counters(
        &self,
        direction: Direction,
        mut counters: Counters,
        router: &mut Router,
    ) -> Result<Counters, OsError> {
        let replaced = self.replaced.contains(&direction);
        if let Some(link) = router.link_of(direction).filter(|_| replaced) {
            let own = counters.get(DROPPED).copied().unwrap_or(0);
            let all = link.dropped()?;
            counters.insert(REPLACED.to_owned(), all.saturating_sub(own));
            counters.insert(DROPPED.to_owned(), all);
        }
        Ok(counters)
    }
}

fn sleep_until(clock: Clock, at: Time) -> Result<(), OsError> {
    let ns = clock.origin_ns() + at.as_nanos();
    let until = rustix::time::Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    };
    loop {
        match rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &until) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(OsError::Run(format!("waiting: {error}"))),
        }
    }
}
