//! A thread that is to be on time: on a core of its own, before everybody else, in memory that is
//! not paged out. Each of it as far as this user may.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use l4s_units::{Duration, Time};
use rustix::mm::MlockAllFlags;
use rustix::thread::CpuSet;

use crate::Usage;

/// The nice value where real-time priority is not available, or given up for a while.
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
    turns: Turns,
    company: Company,
    _awake: Option<Awake>,
}

impl Realtime {
    /// Makes this thread so. The time is `now`.
    pub fn enter(now: Time) -> Realtime {
        let before = rustix::thread::sched_getaffinity(None).ok();
        let core = spare_core().filter(|core| {
            let mut only = CpuSet::new();
            only.set(*core);
            rustix::thread::sched_setaffinity(None, &only).is_ok()
        });
        // In Linux this is of the thread, not of the process; without permission it stays. On the only
        // core the agents need their share whenever this thread goes without real-time priority.
        if core.is_some() {
            let _ = rustix::process::setpriority_process(None, NICE);
        }
        let fifo = set_policy(libc::SCHED_FIFO, PRIORITY);
        let locked = rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).is_ok();
        // Timers of threads without real-time priority may come 50 us late by default.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let _awake = core.and_then(|_| Awake::keep());
        let (turns, company) = (Turns::new(now), Company::new(now, preemptions()));
        Realtime { core, fifo, locked, before, turns, company, _awake }
    }

    /// For how long before something is due the thread should look again and again rather than wait: a
    /// virtual core wakes up to 75 us late. On a core that it shares it would keep others from theirs: agents, or
    /// the data plane of a second lab.
    pub fn spin(&self) -> Duration {
        let alone = self.core.is_some() && !self.company.is_here;
        Duration::from_micros(if alone { 100 } else { 20 })
    }

    /// Gives up real-time priority for 0.5 ms after each 3.5 ms, and takes it back. A thread that does not
    /// wait calls it at least once per millisecond: Linux would stop it for 50 ms of every second otherwise.
    #[inline]
    pub fn take_turns(&mut self, now: Time) {
        match self.turns.change(now).filter(|_| self.fifo) {
            Some(true) => set_policy(libc::SCHED_FIFO, PRIORITY),
            Some(false) => set_policy(libc::SCHED_OTHER, 0),
            None => return,
        };
        self.company.look(now, preemptions);
    }
}

impl Drop for Realtime {
    fn drop(&mut self) {
        if self.fifo {
            set_policy(libc::SCHED_OTHER, 0);
        }
        let _ = rustix::process::setpriority_process(None, 0);
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

/// When the thread has real-time priority, and when it goes without.
///
/// Linux keeps 5 % of every second for threads that have none (`sched_rt_runtime_us`, and the server
/// of the fair class since 6.8), and takes them in one piece of 50 ms if it must. A thread that goes
/// without it for more than that of its own accord, and often, is never stopped. To sleep instead
/// costs more: on a virtual machine a timer is 25 to 45 us of processor time, however short it is.
#[derive(Debug)]
struct Turns {
    high: bool,
    /// When it became so, and for how long it is to be.
    since: Time,
    span: Duration,
}

impl Turns {
    /// How long it has real-time priority at a time.
    const HIGH: Duration = Duration::from_micros(3500);
    /// It goes without it for this part of the time that it had it: for one eighth of all time.
    const SHARE: u64 = 7;

    fn new(now: Time) -> Turns {
        Turns { high: true, since: now, span: Turns::HIGH }
    }

    /// Whether it is to have real-time priority from `now` on, where that changes.
    #[inline]
    fn change(&mut self, now: Time) -> Option<bool> {
        let passed = now.since(self.since);
        if passed < self.span {
            return None;
        }
        let span = if self.high { passed / Turns::SHARE } else { Turns::HIGH };
        *self = Turns { high: !self.high, since: now, span };
        Some(self.high)
    }
}

/// Whether another thread often takes the core: one with real-time priority, while this one goes without.
#[derive(Debug)]
struct Company {
    is_here: bool,
    /// When it was last looked at, and how often this thread had lost the core then.
    looked: (Time, u64),
}

impl Company {
    const INTERVAL: Duration = Duration::from_millis(200);
    /// Times in an interval above which somebody comes, and above which nobody leaves. A thread alone loses its core
    /// once or twice, and one of two data planes 108 times (measured at 200 and 50 Mb/s).
    const COMES: u64 = 20;
    const LEAVES: u64 = 4;

    fn new(now: Time, switches: u64) -> Company {
        Company { is_here: false, looked: (now, switches) }
    }

    fn look(&mut self, now: Time, switches: impl FnOnce() -> u64) {
        if now.since(self.looked.0) < Company::INTERVAL {
            return;
        }
        let switches = switches();
        let limit = if self.is_here { Company::LEAVES } else { Company::COMES };
        self.is_here = switches - self.looked.1 > limit;
        self.looked = (now, switches);
    }
}

fn preemptions() -> u64 {
    Usage::of_thread().preemptions
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

    /// The part of ten seconds without real-time priority, of a thread that looks every `interval`.
    fn part_without(interval: Duration) -> f64 {
        let (mut now, mut high, mut without) = (Time::ZERO, true, Duration::ZERO);
        let mut turns = Turns::new(now);
        while now < Time::from_nanos(10_000_000_000) {
            high = turns.change(now).unwrap_or(high);
            now += interval;
            without += if high { Duration::ZERO } else { interval };
        }
        without.as_secs_f64() / now.since(Time::ZERO).as_secs_f64()
    }

    #[test]
    fn for_an_eighth_of_the_time_others_come_first() {
        for interval in [1, 60, 400, 3_000, 10_000] {
            let part = part_without(Duration::from_micros(interval));
            assert!(part > 0.12, "{interval} us: {part}");
        }
        let part = part_without(Duration::from_micros(1));
        assert!(part < 0.13, "{part}");
    }

    #[test]
    fn company_is_noticed_when_it_comes_and_when_it_leaves() {
        let mut company = Company::new(Time::ZERO, 0);
        let mut total = 0;
        let mut interval = 0;
        let mut after = |switches: u64| {
            (total, interval) = (total + switches, interval + 1);
            let now = Time::ZERO + Company::INTERVAL * interval;
            company.look(now, || total);
            company.look(now, || unreachable!("not before its time"));
            company.is_here
        };
        let expected = [false, false, true, true, true, false, false];
        assert_eq!([2, 20, 108, 12, 5, 4, 12].map(&mut after), expected);
    }
}
