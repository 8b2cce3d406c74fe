//! The part of a processor that a thread takes, as the kernel counts it.

use l4s_units::Duration;

/// The counts of one thread since its start.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Processor time of the thread itself.
    pub user: Duration,
    /// Processor time of the kernel for it.
    pub system: Duration,
    /// How often it lost its core while it had work.
    pub preemptions: u64,
}

impl Usage {
    /// Those of the calling thread.
    #[allow(unsafe_code)]
    pub fn of_thread() -> Usage {
        // SAFETY: `rusage` consists of integers, for which zero bytes are a value.
        let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
        // SAFETY: the call writes one `rusage`, and the pointer is to one.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        let span = |t: libc::timeval| {
            Duration::from_micros(t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64)
        };
        Usage {
            user: span(usage.ru_utime),
            system: span(usage.ru_stime),
            preemptions: usage.ru_nivcsw as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_time_of_the_thread_and_not_of_the_kernel() {
        let before = Usage::of_thread();
        loop {
            let now = Usage::of_thread();
            assert!(now.system >= before.system && now.preemptions >= before.preemptions);
            (0..100_000_u64).for_each(|n| _ = std::hint::black_box(n));
            if now.user > before.user + Duration::from_millis(20) {
                break;
            }
        }
    }
}
