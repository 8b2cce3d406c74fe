//! The work of a session's thread: it advances the lanes and carries out commands. The clock is an
//! argument.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use l4s_substrate::Lane;
use l4s_units::{Duration, Time};
use tokio::sync::{broadcast, watch};

use super::{Ground, Standing, to_json};
use crate::budget::{Share, check_spare};
use crate::document::{Document, ENDLESS};
use crate::pace::{BUDGET, Pace, STEP};
use crate::protocol::{Command, Fault, Opening, State};
use crate::{Meter, limits};

/// The lanes of a session with their scenario.
pub(super) struct Runner<'a> {
    ground: Arc<Ground>,
    document: Document,
    lanes: Vec<Box<dyn Lane<Meter>>>,
    pace: Pace,
    /// How often the lanes began at time zero.
    run: u64,
    /// States that were sent.
    states: u64,
    /// Settings that were sent.
    changes: u64,
    /// The virtual time of the last state that was sent.
    told: Time,
    viewers: broadcast::Sender<Arc<str>>,
    standing: &'a watch::Sender<Standing>,
    /// Set when the session must end.
    ending: Arc<AtomicBool>,
    /// The memory that its lanes may come to need.
    share: Share,
}

impl<'a> Runner<'a> {
    /// A session at time zero of a clock that shows zero.
    ///
    /// # Errors
    /// Its scenario is refused.
    pub fn open(
        ground: Arc<Ground>,
        opening: &Opening,
        viewers: broadcast::Sender<Arc<str>>,
        standing: &'a watch::Sender<Standing>,
        ending: &Arc<AtomicBool>,
    ) -> Result<Runner<'a>, Fault> {
        let open = || ground.presets.open_unless(opening, ending.clone());
        let document = read(&ground, ending, open)?;
        let share = ground.budget.take(document.memory())?;
        let lanes = lanes(&ground, &document)?;
        let mut runner = Runner {
            ground,
            document,
            lanes,
            pace: Pace::new(Duration::ZERO),
            run: 1,
            states: 0,
            changes: 0,
            told: Time::ZERO,
            viewers,
            standing,
            ending: ending.clone(),
            share,
        };
        runner.tell_settings();
        Ok(runner)
    }

    /// How long it goes on without viewers.
    pub fn unwatched(&self) -> std::time::Duration {
        self.ground.unwatched
    }

    /// Runs all lanes, to the same times, to where virtual time ought to be or until the budget of
    /// the step is used up, and reports the events.
    ///
    /// # Errors
    /// A lane broke down, or the system grants no more memory.
    pub fn step(&mut self, clock: &dyn Fn() -> Duration) -> Result<(), String> {
        let virtual_time = self.ground.substrate.has_virtual_time();
        let began = clock();
        self.pace.count(began);
        while let Some(next) = self.pace.next() {
            // In real time the process locks its memory, and a probe would fill 64 MB each time.
            if virtual_time {
                check_spare()?;
            }
            for lane in &mut self.lanes {
                lane.advance(next).map_err(|error| error.to_string())?;
            }
            self.pace.reached(next);
            if clock().saturating_sub(began) >= BUDGET {
                break;
            }
        }
        if self.pace.time() > self.told {
            self.tell_state();
        }
        if self.pace.time() >= Time::ZERO + ENDLESS {
            self.restart(clock()).map_err(|fault| fault.message)?;
            self.tell_settings();
        }
        Ok(())
    }

    /// Carries out a command.
    ///
    /// # Errors
    /// It is refused, and nothing is changed.
    pub fn obey(&mut self, command: Command, now: Duration) -> Result<(), Fault> {
        match command {
            Command::Set { set, lane, .. } => {
                let next = read(&self.ground, &self.ending, || self.document.with(lane, &set))?;
                self.adapt(next, now)?;
            }
            Command::Load { point, text, set, .. } => {
                let opening = Opening::new(point, text, set)?;
                let open = || self.ground.presets.open_unless(&opening, self.ending.clone());
                let next = read(&self.ground, &self.ending, open)?;
                self.begin(next, now)?;
            }
            Command::Compare { set, .. } => {
                self.needs_own_time("do", "compare")?;
                let next =
                    read(&self.ground, &self.ending, || self.document.comparing(set.as_ref()))?;
                self.begin(next, now)?;
            }
            Command::Restart { .. } => self.restart(now)?,
            Command::Pause { paused, .. } => {
                self.needs_own_time("do", "pause")?;
                self.pace.pause(paused, now);
            }
            Command::Speed { speed, .. } => {
                self.needs_own_time("do", "go at another speed")?;
                if !limits::SPEED.contains(&speed) {
                    let (low, high) = (limits::SPEED.start(), limits::SPEED.end());
                    let message = format!("found {speed}, expected a speed from {low} to {high}");
                    return Err(Fault::new("speed", message));
                }
                self.pace.set_speed(speed, now);
            }
        }
        self.tell_settings();
        Ok(())
    }

    fn needs_own_time(&self, field: &str, what: &str) -> Result<(), Fault> {
        if self.ground.substrate.has_virtual_time() {
            return Ok(());
        }
        let on = self.ground.substrate.name();
        Err(Fault::new(
            field,
            format!("with `--on {on}` time is wall-clock time: it cannot {what}"),
        ))
    }

    /// Lets the lanes go on with another scenario where they can, or begin with it again.
    fn adapt(&mut self, next: Document, now: Duration) -> Result<(), Fault> {
        let share = self.ground.budget.take(next.memory())?;
        let became =
            (self.lanes.iter_mut().zip(next.scenarios())).all(|(l, scenario)| l.adapt(scenario));
        if became {
            (self.document, self.share) = (next, share);
            return Ok(());
        }
        drop(share);
        let begun = self.begin(next, now);
        if begun.is_err() {
            // Some lanes may have adapted.
            for (lane, scenario) in self.lanes.iter_mut().zip(self.document.scenarios()) {
                lane.adapt(scenario);
            }
        }
        begun
    }

    fn restart(&mut self, now: Duration) -> Result<(), Fault> {
        self.begin(self.document.clone(), now)
    }

    /// Begins with a scenario at time zero.
    fn begin(&mut self, next: Document, now: Duration) -> Result<(), Fault> {
        // Until the new lanes are there the old ones are, too.
        let share = self.ground.budget.take(next.memory())?;
        self.lanes = lanes(&self.ground, &next)?;
        (self.document, self.share) = (next, share);
        self.pace.restart(now);
        self.run += 1;
        self.told = Time::ZERO;
        Ok(())
    }

    fn tell_settings(&mut self) {
        self.changes += 1;
        let (paused, speed) = (self.pace.is_paused(), self.pace.speed());
        let settings = to_json(&self.document.settings(self.changes, paused, speed));
        let text = self.document.text().into();
        self.standing.send_replace(Standing::On { settings, text });
    }

    fn tell_state(&mut self) {
        let lanes = self.lanes.iter_mut().map(|lane| Meter::look(lane.as_mut())).collect();
        let time = self.pace.time();
        self.states += 1;
        let state = State {
            number: self.states,
            run: self.run,
            time_s: time.as_secs_f64(),
            span_s: time.since(self.told).as_secs_f64(),
            speed: self.pace.speed(),
            late_s: self.pace.late().as_secs_f64(),
            lanes,
        };
        self.told = time;
        if self.viewers.receiver_count() > 0 {
            // Nobody may be left by now.
            let _ = self.viewers.send(to_json(&state));
        }
    }
}

/// Reads a scenario when it is its turn.
fn read<T>(
    ground: &Ground,
    ending: &AtomicBool,
    read: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, Fault> {
    let over = || Fault::new("session", "the session is over");
    let turn = ground.readers.take(ending).ok_or_else(over)?;
    let what = read();
    drop(turn);
    if ending.load(Ordering::Relaxed) { Err(over()) } else { what }
}

fn lanes(ground: &Ground, document: &Document) -> Result<Vec<Box<dyn Lane<Meter>>>, Fault> {
    let virtual_time = ground.substrate.has_virtual_time();
    let lane = |scenario| {
        let meter = Meter::new(scenario);
        // Sockets are read once per state.
        let meter = if virtual_time { meter } else { meter.sampled_every(STEP) };
        ground.substrate.lane(scenario, meter)
    };
    let lanes = document.scenarios().map(lane).collect::<Result<_, _>>();
    lanes.map_err(|error| Fault::new("session", error.to_string()))
}
