//! The time of a run, the same in every process of the machine.

use l4s_units::{Duration, Time};
use rustix::time::{ClockId, clock_gettime};

/// Counts from an instant of the machine's monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Clock {
        Clock::starting_in(Duration::ZERO)
    }

    /// A clock that reads zero after `wait`, and until then as well.
    pub fn starting_in(wait: Duration) -> Clock {
        Clock { origin_ns: monotonic_ns() + wait.as_nanos() }
    }

    /// The clock that [`Clock::origin_ns`] describes, in another process.
    pub fn from_origin_ns(origin_ns: u64) -> Clock {
        Clock { origin_ns }
    }

    /// The instant of CLOCK_MONOTONIC at which it reads zero.
    pub fn origin_ns(self) -> u64 {
        self.origin_ns
    }

    /// Now.
    #[inline]
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic_ns().saturating_sub(self.origin_ns))
    }
}

#[inline]
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
