//! The simulator, in virtual time.

use std::collections::BTreeSet;
use std::time::Instant;

use l4s_model::{Group, Scenario};
use l4s_observe::Observer;
use l4s_sim::{Outcome, Simulation};
use l4s_units::{Duration, Time};

use crate::{
    Error, Identity, Lane, Lanes, MOST_DOWNLOADS, Observe, Programs, Ran, Substrate, Watch,
};

/// The wall time between two calls of a [`Watch`], within a factor of two.
const WATCH_INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// The least virtual time between two calls of a [`Watch`].
const SHORTEST_SLICE: Duration = Duration::from_micros(1);

/// `--on sim`: the simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

impl Sim {
    /// As [`Substrate::run`], for an observer whose type is known: the compiler removes the events that it ignores.
    pub fn simulate(
        &self,
        scenario: &Scenario,
        observer: impl Observer<l4s_sim::Packet>,
        watch: &mut Watch,
    ) -> Ran {
        let end = Time::ZERO + scenario.duration;
        let mut simulation = Simulation::new(scenario, observer);
        let mut slice = Duration::from_millis(10);
        while simulation.now() < end {
            let began = Instant::now();
            simulation.advance((simulation.now() + slice).min(end));
            let took = began.elapsed();
            if watch(simulation.now()).is_break() {
                break;
            }
            if took < WATCH_INTERVAL / 2 {
                slice = slice * 2;
            } else if took > WATCH_INTERVAL * 2 {
                slice = (slice / 2).max(SHORTEST_SLICE);
            }
        }
        let time = simulation.now().since(Time::ZERO);
        let (Outcome { packets, events, .. }, _) = simulation.finish();
        Ran { time, packets, events: Some(events), ..Ran::default() }
    }
}

impl Identity for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn has_virtual_time(&self) -> bool {
        true
    }
}

impl Substrate for Sim {
    fn check(&self, scenario: &Scenario) -> Result<Vec<String>, Error> {
        if !scenario.programs.is_empty() {
            return Err(Error::Unsupported(
                "--on sim: programs are not supported: found `[[program]]`, expected none; `--on kernel`, \
                 `--on qdisc` and `--on linux` have them"
                    .to_owned(),
            ));
        }
        let writes = |place| scenario.apps.iter().any(|app| app.group == place);
        let groups = scenario.groups.iter().enumerate();
        let unlimited = groups.filter(|(place, group)| group.sndbuf.is_some() && writes(*place));
        let note = |(_, group): (usize, &Group)| {
            format!(
                "`sndbuf` of group `{}` does not limit its `[[app]]` in the simulator",
                group.name
            )
        };
        Ok(unlimited.map(note).collect())
    }

    fn prepare(&self, scenarios: &[&Scenario]) -> Result<Vec<String>, Error> {
        let mut notes = BTreeSet::new();
        for scenario in scenarios {
            notes.extend(self.check(scenario)?);
        }
        Ok(notes.into_iter().collect())
    }

    fn run(
        &self,
        scenario: &Scenario,
        _: &Programs,
        observer: &mut dyn Observe,
        watch: &mut Watch,
    ) -> Result<Ran, Error> {
        Ok(self.simulate(scenario, observer.of_packets(), watch))
    }
}

impl<O: Observe + Send + 'static> Lanes<O> for Sim {
    fn lane(&self, scenario: &Scenario, observer: O) -> Result<Box<dyn Lane<O>>, Error> {
        Ok(Box::new(Simulation::new(scenario, observer).with_most_downloads(MOST_DOWNLOADS)))
    }
}

impl<O: Observe + Send> Lane<O> for Simulation<O> {
    fn advance(&mut self, to: Time) -> Result<(), Error> {
        Simulation::advance(self, to);
        Ok(())
    }

    fn adapt(&mut self, scenario: &Scenario) -> bool {
        Simulation::adapt(self, scenario)
    }

    fn observe(&mut self, read: &mut dyn FnMut(&mut O, Time)) {
        self.tell_state();
        let now = self.now();
        read(self.observer(), now);
    }
}
