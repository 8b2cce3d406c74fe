//! A substrate that does nothing: what it is asked to do depends on the seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use l4s_live::protocol::{LaneState, LinkState, QueueState};
use l4s_live::{Lane, Substrate};
use l4s_model::Scenario;
use l4s_units::Time;

/// Its lane is not there before it is let go.
pub const STALLS: u64 = 17;
/// Its lane panics when it runs.
pub const PANICS: u64 = 13;
/// Its lane reports that it broke down.
pub const BREAKS: u64 = 14;
/// There is no such lane.
pub const NONE: u64 = 15;
/// A second of it takes so long that no machine is fast enough.
pub const SLOW: u64 = 16;

/// Counts what its lanes do.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    /// Lanes that live.
    pub lanes: Arc<AtomicI64>,
    /// Nanoseconds of a clock that lanes push on, two of it for each of virtual time.
    pub clock: Arc<AtomicU64>,
    /// It has no time of its own.
    pub real: bool,
    /// Lanes that stall, and whether they are let go.
    pub stalled: Arc<AtomicI64>,
    pub let_go: Arc<AtomicBool>,
}

struct FakeLane {
    fake: Fake,
    scenario: Scenario,
    time: Time,
    told: Time,
}

impl Substrate for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn bends_time(&self) -> bool {
        !self.real
    }

    fn lane(&self, scenario: &Scenario) -> Result<Box<dyn Lane>, String> {
        if scenario.seed == NONE {
            return Err("there is no such lane".to_owned());
        }
        if scenario.seed == STALLS {
            self.stalled.fetch_add(1, Ordering::SeqCst);
            while !self.let_go.load(Ordering::SeqCst) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        self.lanes.fetch_add(1, Ordering::SeqCst);
        let (fake, scenario) = (self.clone(), scenario.clone());
        Ok(Box::new(FakeLane { fake, scenario, time: Time::ZERO, told: Time::ZERO }))
    }
}

impl Drop for FakeLane {
    fn drop(&mut self) {
        self.fake.lanes.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Lane for FakeLane {
    fn advance(&mut self, to: Time) -> Result<(), String> {
        assert!(to >= self.time, "time goes on");
        let passed = to.since(self.time);
        self.fake.clock.fetch_add(2 * passed.as_nanos(), Ordering::SeqCst);
        self.time = to;
        match self.scenario.seed {
            PANICS => panic!("as it was told to"),
            BREAKS => Err("the fake broke down".to_owned()),
            SLOW => {
                std::thread::sleep(std::time::Duration::from_nanos(passed.as_nanos() * 3));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn become_like(&mut self, scenario: &Scenario) -> bool {
        if scenario.seed != self.scenario.seed {
            return false;
        }
        self.scenario = scenario.clone();
        true
    }

    fn take(&mut self) -> LaneState {
        let span = self.time.since(self.told);
        self.told = self.time;
        LaneState {
            link: LinkState {
                rate_bps: self.scenario.link.rate.as_bps() as f64,
                ..Default::default()
            },
            // As many packets as it was asked for microseconds.
            queues: vec![QueueState { name: "Q", packets: span.as_micros(), ..Default::default() }],
            ..Default::default()
        }
    }
}
