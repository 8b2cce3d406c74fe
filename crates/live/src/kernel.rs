//! A lane of real Linux TCP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use l4s_lab::{AgentCommand, Control, LabError, Live};
use l4s_scenario::{Group, Scenario};
use l4s_units::{Duration, Time};

use crate::limits::DOWNLOADS_AT_A_TIME;
use crate::protocol::LaneState;
use crate::{Lane, Meter};

/// How often sockets are looked at: once per state.
const LOOK: Duration = Duration::from_millis(50);
/// How long it sleeps at most before it orders what is due.
const NAP: Duration = Duration::from_millis(20);

/// A lane of real sockets, in real time: it cannot be paused, nor be faster or slower.
pub struct KernelLane {
    live: Live,
    /// With which the thread of the data plane counts.
    meter: Arc<Mutex<Meter>>,
}

impl KernelLane {
    /// A lab of `scenario`, whose clock starts now. See [`Live::start`].
    ///
    /// # Errors
    /// The machine cannot do it, or not this scenario.
    pub fn start(
        scenario: &Scenario,
        cc: impl Fn(&Group) -> Control,
        agent: &AgentCommand,
    ) -> Result<KernelLane, LabError> {
        let meter = Arc::new(Mutex::new(Meter::new(scenario).sampled_every(LOOK)));
        let live = Live::start(scenario, cc, agent, Arc::clone(&meter))?;
        Ok(KernelLane { live: live.with_most_downloads(DOWNLOADS_AT_A_TIME), meter })
    }
}

impl Lane for KernelLane {
    fn advance(&mut self, to: Time) -> Result<(), String> {
        loop {
            let meter = &self.meter;
            self.live.tend(|_, _| lock(meter).turn_away()).map_err(|error| error.to_string())?;
            let left = to.since(self.live.now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.min(NAP).as_nanos()));
        }
    }

    fn become_like(&mut self, scenario: &Scenario) -> bool {
        self.live.adapt(scenario)
    }

    fn take(&mut self) -> LaneState {
        let now = self.live.now();
        lock(&self.meter).take(now)
    }
}

/// A panic of the other thread leaves counts that are as good as any.
fn lock(meter: &Mutex<Meter>) -> MutexGuard<'_, Meter> {
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}
