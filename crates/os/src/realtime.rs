//! A thread that is to be on time: on a core of its own, before everybody else, in memory that is
//! not paged out. Each of it as far as this user may.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use l4s_units::{Duration, Time};
use rustix::mm::MlockAllFlags;
use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};

/// The nice value where real-time priority is not available.
const NICE: i32 = -20;
/// The lowest real-time priority: above all that has none, below the kernel's own threads.
const PRIORITY: libc::c_int = 1;

/// The granted permissions. Undone when dropped, so far as they matter to others.
#[derive(Debug)]
pub struct Realtime {
    /// The core that the thread is on.
    pub core: Option<usize>,
    /// Whether it has real-time priority (SCHED_FIFO).
    pub fifo: bool,
    /// Whether its memory stays where it is.
    pub locked: bool,
    before: Option<CpuSet>,
    _awake: Option<Awake>,
}

impl Realtime {
    /// Makes this thread so.
    pub fn enter() -> Realtime {
        let before = rustix::thread::sched_getaffinity(None).ok();
        let core = spare_core().filter(|core| {
            let mut only = CpuSet::new();
            only.set(*core);
            rustix::thread::sched_setaffinity(None, &only).is_ok()
        });
        let fifo = set_policy(libc::SCHED_FIFO, PRIORITY);
        if !fifo {
            // In Linux this is of the thread, not of the process; without permission it stays.
            let _ = rustix::process::setpriority_process(None, NICE);
        }
        let locked = rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).is_ok();
        // Timers of threads without real-time priority may come 50 us late by default.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let _awake = core.and_then(|_| Awake::keep());
        Realtime { core, fifo, locked, before, _awake }
    }
}

impl Drop for Realtime {
    fn drop(&mut self) {
        if self.fifo {
            set_policy(libc::SCHED_OTHER, 0);
        } else {
            let _ = rustix::process::setpriority_process(None, 0);
        }
        if self.locked {
            let _ = rustix::mm::munlockall();
        }
        if let Some(before) = &self.before {
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

/// Keeps the core that it was started on from sleeping, in time that no other process uses.
///
/// A core without work sleeps, and a virtual one is then taken away by its host: a timer comes
/// hundreds of microseconds late, and the fewer packets, the later.
#[derive(Debug)]
struct Awake {
    enough: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Awake {
    /// On the only core that the calling thread may use. `None` where no thread can be started.
    fn keep() -> Option<Awake> {
        let enough = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&enough);
        let busy = move || {
            // Below every other process: even below one with the highest nice value.
            if set_policy(libc::SCHED_IDLE, 0) {
                // Without a pause instruction, at which a host may take the core away as well.
                while !asked.load(Ordering::Relaxed) {}
            }
        };
        let thread = std::thread::Builder::new().name("l4s-awake".to_owned()).spawn(busy).ok()?;
        Some(Awake { enough, thread: Some(thread) })
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It cannot panic.
            let _ = thread.join();
        }
    }
}

/// Sees to it that a thread with real-time priority leaves some time to others.
///
/// Linux keeps 5 % of every second for threads without it, and takes them in one piece of 50 ms if
/// it must. So a thread that looks again and again all the time is stopped for 50 ms each second,
/// and one that rests more than that of its own accord, and often, never is.
#[derive(Debug)]
pub struct Rest {
    /// Nanoseconds owed to others; negative when they had more than their share.
    owed: i64,
    /// When it was last looked at, and the processor time of the thread then.
    looked: (Time, Duration),
}

/// The action of a pump until something is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// Any: it may spin.
    Free,
    /// Wait rather than look again and again.
    Wait,
    /// Rest now for this long, even with work to do.
    Rest(Duration),
}

impl Rest {
    /// One part in this number is for others: more than the kernel's 5 %, as not all of a rest can be
    /// used.
    const SHARE: u64 = 8;
    /// From here on waiting where possible was not enough; and the time that others had in advance
    /// counts up to this. The kernel's period is a whole second.
    const PATIENCE: i64 = 2_000_000;
    /// Short for a queue, which waits in the meantime: a virtual core takes another 20 us to wake. It also takes 20 us
    /// to set the timer, so that a much shorter rest would hardly be one.
    const PIECE: Duration = Duration::from_micros(30);
    /// How often it looks: asking for processor time is a system call.
    const INTERVAL: Duration = Duration::from_micros(500);

    /// Nothing is owed at the time of `now`, when the thread had used `used`.
    pub fn new(now: Time, used: Duration) -> Rest {
        Rest { owed: 0, looked: (now, used) }
    }

    /// The action at `now`. `used` says how much processor time the thread has used.
    #[inline]
    pub fn advice(&mut self, now: Time, used: impl FnOnce() -> Duration) -> Advice {
        let passed = now.since(self.looked.0);
        if passed >= Rest::INTERVAL || self.owed > Rest::PATIENCE {
            let used = used();
            let rested = passed.saturating_sub(used.saturating_sub(self.looked.1));
            let owed = self.owed + (passed / Rest::SHARE).as_nanos() as i64;
            self.owed = (owed - rested.as_nanos() as i64).max(-Rest::PATIENCE);
            self.looked = (now, used);
        }
        match self.owed {
            ..=0 => Advice::Free,
            1..=Rest::PATIENCE => Advice::Wait,
            _ => Advice::Rest(Rest::PIECE),
        }
    }
}

/// Processor time that this thread has used.
pub fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_nanos(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64)
}

/// The core for the data plane: the last one that this process may use, if it may use several.
/// Agents keep off it.
pub fn spare_core() -> Option<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).ok()?;
    let cores = || (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    if cores().count() > 1 { cores().next_back() } else { None }
}

/// Leaves the data plane's core to it: this thread runs on the others from now on.
pub fn keep_off_spare_core() {
    let (Some(spare), Ok(mut allowed)) = (spare_core(), rustix::thread::sched_getaffinity(None))
    else {
        return;
    };
    allowed.unset(spare);
    // Without it the run is only less punctual, and the run itself reports that.
    let _ = rustix::thread::sched_setaffinity(None, &allowed);
}

/// Sets the scheduling policy of this thread; children do not inherit it.
#[allow(unsafe_code)]
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: `sched_param` consists of integers, for which zero bytes are a value.
    let mut param: libc::sched_param = unsafe { core::mem::zeroed() };
    param.sched_priority = priority;
    // SAFETY: the call reads one `sched_param` from the pointer, which is valid for as long as it
    // takes, and writes no memory. Thread 0 is the calling one.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &param) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works for `work` at a time, waits for `wait` where it may, and rests where it must. How
    /// much of ten seconds it rested.
    fn rested(work: Duration, wait: Duration) -> f64 {
        let (mut now, mut used) = (Time::ZERO, Duration::ZERO);
        let mut rest = Rest::new(now, used);
        let end = Time::from_nanos(10_000_000_000);
        while now < end {
            let pause = match rest.advice(now, || used) {
                Advice::Rest(pause) => pause,
                Advice::Wait => wait,
                Advice::Free => Duration::ZERO,
            };
            now += work + pause;
            used += work;
        }
        1.0 - used.as_secs_f64() / now.since(Time::ZERO).as_secs_f64()
    }

    #[test]
    fn who_never_waits_is_made_to_rest_for_more_than_the_kernel_takes() {
        let rested = rested(Duration::from_micros(10), Duration::ZERO);
        assert!((0.12..0.13).contains(&rested), "{rested}");
    }

    #[test]
    fn who_can_wait_waits_for_its_share_and_no_more() {
        let rested = rested(Duration::from_micros(10), Duration::from_micros(10));
        assert!((0.12..0.13).contains(&rested), "{rested}");
    }
}
