//! A lane of real Linux TCP.

use std::sync::{Arc, Mutex, PoisonError};

use l4s_lab::{AgentCommand, Control, Live};
use l4s_model::{Group, Scenario};
use l4s_os::OsError;
use l4s_units::{Duration, Time};

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
    ) -> Result<KernelLane, OsError> {
        let meter = Arc::new(Mutex::new(Meter::new(scenario).sampled_every(LOOK)));
        let live = Live::start(scenario, cc, agent, Arc::clone(&meter))?;
        Ok(KernelLane { live, meter })
    }
}

impl Lane for KernelLane {
    fn advance(&mut self, to: Time) -> Result<(), String> {
        loop {
            self.live.tend().map_err(|error| error.to_string())?;
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
        self.meter.lock().unwrap_or_else(PoisonError::into_inner).take(now)
    }
}
