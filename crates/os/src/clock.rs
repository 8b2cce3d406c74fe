//! The time of a run, the same in every process of the machine.

use l4s_units::{Duration, Time};

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
    now_ns(libc::CLOCK_MONOTONIC)
}

/// A clock of this machine, in nanoseconds.
///
/// By the C library, as rustix expects more of the kernel's shared object (vDSO) than user-mode
/// Linux has.
#[inline]
#[allow(unsafe_code)]
pub fn now_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec`, which lives here.
    let done = unsafe { libc::clock_gettime(clock, &mut now) };
    debug_assert_eq!(done, 0, "every Linux has this clock");
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
