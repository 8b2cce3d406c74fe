//! A substrate without a simulation: the seed determines its behaviour.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use l4s_live::Meter;
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::Observer;
use l4s_substrate::{Error, Identity, Lane, Lanes};
use l4s_units::Time;

/// The creation of its lane blocks until it is released.
pub const STALLS: u64 = 17;
/// Its lane panics when it runs.
pub const PANICS: u64 = 13;
/// Its lane reports a failure.
pub const BREAKS: u64 = 14;
/// There is no lane for it.
pub const NONE: u64 = 15;
/// A second of it takes longer than a second on any machine.
pub const SLOW: u64 = 16;

/// Counts the events of its lanes.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    /// The number of existing lanes.
    pub lanes: Arc<AtomicI64>,
    /// Nanoseconds of a clock that lanes advance, by two for each nanosecond of virtual time.
    pub clock: Arc<AtomicU64>,
    /// Whether it runs in real time, without a clock of its own.
    pub real: bool,
    /// The lanes that are blocked, and whether they are released.
    pub stalled: Arc<AtomicI64>,
    pub let_go: Arc<AtomicBool>,
}

struct FakeLane {
    fake: Fake,
    scenario: Scenario,
    time: Time,
    told: Time,
    meter: Meter,
}

impl Identity for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn has_virtual_time(&self) -> bool {
        !self.real
    }
}

impl Lanes<Meter> for Fake {
    fn lane(&self, scenario: &Scenario, meter: Meter) -> Result<Box<dyn Lane<Meter>>, Error> {
        if scenario.seed == NONE {
            return Err(Error::Run("there is no such lane".to_owned()));
        }
        if scenario.seed == STALLS {
            self.stalled.fetch_add(1, Ordering::SeqCst);
            while !self.let_go.load(Ordering::SeqCst) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        self.lanes.fetch_add(1, Ordering::SeqCst);
        let (fake, scenario) = (self.clone(), scenario.clone());
        Ok(Box::new(FakeLane { fake, scenario, time: Time::ZERO, told: Time::ZERO, meter }))
    }
}

impl Drop for FakeLane {
    fn drop(&mut self) {
        self.fake.lanes.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Lane<Meter> for FakeLane {
    fn advance(&mut self, to: Time) -> Result<(), Error> {
        assert!(to >= self.time, "time goes on");
        let passed = to.since(self.time);
        self.fake.clock.fetch_add(2 * passed.as_nanos(), Ordering::SeqCst);
        self.time = to;
        match self.scenario.seed {
            PANICS => panic!("the test asked for this panic"),
            BREAKS => Err(Error::Run("the fake broke down".to_owned())),
            SLOW => {
                std::thread::sleep(std::time::Duration::from_nanos(passed.as_nanos() * 3));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn adapt(&mut self, scenario: &Scenario) -> bool {
        if scenario.seed != self.scenario.seed {
            return false;
        }
        self.scenario = scenario.clone();
        Observer::<l4s_sim::Packet>::adapted(&mut self.meter, scenario, self.time);
        true
    }

    fn observe(&mut self, read: &mut dyn FnMut(&mut Meter, Time)) {
        // One download is turned away per millisecond of the time since the last reading.
        for _ in 0..self.time.since(self.told).as_micros() / 1000 {
            Observer::<l4s_sim::Packet>::turned_away(
                &mut self.meter,
                FlowId::default(),
                SourceId::default(),
                self.time,
            );
        }
        self.told = self.time;
        read(&mut self.meter, self.time);
    }
}
