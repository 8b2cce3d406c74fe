//! Frames of applications: how many, and how long they took.

use l4s_observe::FrameEvent;
use l4s_units::Duration;

use crate::Spread;
use crate::stats::spread;

/// The frames of a group after the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    pub written: u64,
    pub skipped: u64,
    /// Of those delivered.
    delays: Vec<Duration>,
}

impl Frames {
    pub fn count(&mut self, what: FrameEvent) {
        match what {
            FrameEvent::Written => self.written += 1,
            FrameEvent::Skipped => self.skipped += 1,
            FrameEvent::Delivered(delay) => self.delays.push(delay),
        }
    }

    pub fn delivered(&self) -> u64 {
        self.delays.len() as u64
    }

    /// In milliseconds; `None` where none was delivered.
    pub fn delay(&self) -> Option<Spread> {
        spread(self.delays.iter().map(|delay| delay.as_millis_f64()).collect())
    }
}
