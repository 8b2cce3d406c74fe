//! Resources that all sessions share: memory, and turns to read a scenario.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use l4s_sim::cost::size;

use crate::protocol::Fault;

/// The field of a fault where it is others that have too much.
pub(crate) const OTHERS: &str = "sessions";

/// The memory of all sessions together.
#[derive(Debug)]
pub(crate) struct Budget {
    most: u64,
    taken: Mutex<u64>,
}

/// A reserved part of a [`Budget`], returned on drop.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub fn new(most: u64) -> Arc<Budget> {
        Arc::new(Budget { most, taken: Mutex::new(0) })
    }

    /// Reserves this many bytes.
    ///
    /// The total of all shares is also allocated and freed at once. The reason is that the memory
    /// that the system grants may have shrunk since the budget was set (by a limit of the process,
    /// or other processes without overcommit). Memory that sessions have allocated already counts a
    /// second time, so the check is on the safe side.
    ///
    /// # Errors
    /// Other sessions hold too much of the budget, or the system does not grant the memory.
    pub fn take(self: &Arc<Budget>, bytes: u64) -> Result<Share, Fault> {
        let mut taken = lock(&self.taken);
        let (needs, most, others) = (size(bytes), size(self.most), size(*taken));
        let refuse = |why: String| {
            let help = match *taken {
                0 => "smaller buffers, or fewer queues, hops or flows, need less",
                _ => "other sessions end soon after their last viewer went",
            };
            let message = format!("needs {needs} of memory: {why}");
            Err(Fault { help: Some(help.to_owned()), ..Fault::new(OTHERS, message) })
        };
        if bytes > self.most - *taken {
            return refuse(format!(
                "all sessions together may have {most}, of which {others} are taken"
            ));
        }
        if !is_granted(*taken + bytes) {
            return refuse(format!(
                "the system does not grant it beside the {others} of other sessions"
            ));
        }
        *taken += bytes;
        Ok(Share { budget: self.clone(), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *lock(&self.budget.taken) -= self.bytes;
    }
}

/// A fair semaphore for work that takes a processor for a while: it grants a limited number of permits
/// at a time, in the order of the requests.
#[derive(Debug)]
pub(crate) struct Semaphore {
    line: Mutex<Line>,
    moved: Condvar,
}

/// Who waits.
#[derive(Debug, Default)]
struct Line {
    free: usize,
    /// Numbers of those that wait, the first one first.
    waiting: VecDeque<u64>,
    next: u64,
}

/// A permit, which is returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a>(&'a Semaphore);

impl Semaphore {
    pub fn new(at_a_time: usize) -> Semaphore {
        let line = Line { free: at_a_time, ..Line::default() };
        Semaphore { line: Mutex::new(line), moved: Condvar::new() }
    }

    /// Waits for a permit; `None` once `ending` is set.
    pub fn take(&self, ending: &AtomicBool) -> Option<Permit<'_>> {
        const LOOK: Duration = Duration::from_millis(20);
        let mut line = lock(&self.line);
        let own = line.next;
        line.next += 1;
        line.waiting.push_back(own);
        loop {
            let ends = ending.load(Ordering::Relaxed);
            if !ends && (line.free == 0 || line.waiting.front() != Some(&own)) {
                let waited = self.moved.wait_timeout(line, LOOK);
                line = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            line.waiting.retain(|waiting| *waiting != own);
            line.free -= usize::from(!ends);
            self.moved.notify_all();
            return (!ends).then(|| Permit(self));
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        lock(&self.0.line).free += 1;
        self.0.moved.notify_all();
    }
}

/// Memory that a session takes within a step, at most: below that it ends before an allocation fails,
/// which would end the process. An allocator serves a request of this size from the system each time.
const SPARE: u64 = 64 << 20;

/// Asks the system for the memory of a session's next step.
///
/// # Errors
/// The system does not grant it, in words.
pub(crate) fn check_spare() -> Result<(), String> {
    match is_granted(SPARE) {
        true => Ok(()),
        false => Err("the system grants this process no more memory: the session ends".to_owned()),
    }
}

/// Whether the system grants this process that many more bytes. Pages that are never written cost
/// nothing.
fn is_granted(bytes: u64) -> bool {
    usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
}

/// Nothing that holds one of these can leave it half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_budget_and_are_given_back() {
        let budget = Budget::new(1_000_000_000);
        let first = budget.take(600_000_000).unwrap();
        let refused = budget.take(500_000_000).unwrap_err();
        let expected = "needs 500 MB of memory: all sessions together may have 1.0 GB, of which \
                        600 MB are taken";
        assert_eq!(refused.message, expected);
        assert!(budget.take(u64::MAX).is_err());
        let second = budget.take(400_000_000).unwrap();
        drop(first);
        drop(second);
        assert!(budget.take(1_000_000_000).is_ok());
    }

    #[test]
    fn a_share_that_the_system_does_not_grant_is_refused_and_not_counted() {
        let budget = Budget::new(u64::MAX);
        let _first = budget.take(300_000_000).unwrap();
        // 2^60 B are more than the address space of a process.
        let refused = budget.take(1 << 60).unwrap_err();
        assert_eq!(refused.field, OTHERS);
        let expected = "does not grant it beside the 300 MB of other sessions";
        assert!(refused.message.ends_with(expected), "{}", refused.message);
        assert_eq!(*lock(&budget.taken), 300_000_000);
    }

    #[test]
    fn who_asks_first_is_first() {
        let turns = Semaphore::new(1);
        let going_on = AtomicBool::new(false);
        let order = Mutex::new(Vec::new());
        let first = turns.take(&going_on).unwrap();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (turns, going_on, order) = (&turns, &going_on, &order);
                scope.spawn(move || {
                    let _turn = turns.take(going_on).unwrap();
                    lock(order).push(n);
                });
                while lock(&turns.line).waiting.len() <= n {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*lock(&order), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn turns_are_few_and_who_is_told_to_end_waits_for_none() {
        let turns = Semaphore::new(1);
        let (going_on, ending) = (AtomicBool::new(false), AtomicBool::new(true));
        let first = turns.take(&going_on).unwrap();
        assert!(turns.take(&ending).is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.take(&going_on).is_some());
            drop(first);
            assert!(waiting.join().unwrap());
        });
        assert!(turns.take(&going_on).is_some());
    }
}
