//! Work on many cores, results in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use crate::failure::Failure;

/// How many threads that is: as many as there are cores, unless `jobs` says.
pub fn threads(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// After this many consecutive failures the cause is not a single run.
const IN_A_ROW: usize = 3;

/// Does `work` for 0 to `count` on `jobs` threads, and hands each result to `take` on this
/// thread, in order. A run that fails does not keep the others from being done: the first failure is
/// returned at the end. Other errors, three failed runs in a row, or an error in `take` stop
/// the rest; runs that have started are finished. Where failed runs are `left_out` only the first three stop it.
pub fn in_order<T: Send>(
    count: usize,
    jobs: Option<usize>,
    left_out: bool,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        // Each that has no work looks for some, and takes time from the others.
        .num_threads(threads(jobs).min(count).max(1))
        .build()
        .map_err(|error| Failure::Run(format!("cannot start threads: {error}")))?;
    let (sender, receiver) = mpsc::channel();
    let stop = AtomicBool::new(false);
    let (work, stop) = (&work, &stop);
    // The workers run beside this thread, which receives their results until the last has ended.
    std::thread::scope(|threads| {
        threads.spawn(move || {
            pool.scope_fifo(|scope| {
                for number in 0..count {
                    let sender = sender.clone();
                    scope.spawn_fifo(move |_| {
                        if !stop.load(Ordering::Relaxed) {
                            // A receiver that is gone has seen a failure.
                            let _ = sender.send((number, work(number)));
                        }
                    });
                }
                drop(sender);
            });
        });
        let mut early = BTreeMap::new();
        let mut next = 0;
        let mut failed = None;
        let (mut in_a_row, mut taken) = (0, 0);
        for (number, result) in receiver {
            early.insert(number, result);
            while let Some(result) = early.remove(&next) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let is_single = matches!(result, Err(Failure::Run(_)));
                match result.and_then(|value| take(next, value)) {
                    Ok(()) => (in_a_row, taken) = (0, taken + 1),
                    Err(failure) => {
                        in_a_row += 1;
                        failed.get_or_insert(failure);
                        let is_any = in_a_row == IN_A_ROW && !(left_out && taken > 0);
                        stop.store(!is_single || is_any, Ordering::Relaxed);
                    }
                }
                next += 1;
            }
        }
        failed.map_or(Ok(()), Err)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_first() {
        let work = |n: usize| {
            std::thread::sleep(std::time::Duration::from_millis(((7 * n) % 5) as u64));
            Ok(n)
        };
        let mut seen = Vec::new();
        let take = |number, value| {
            assert_eq!(number, value);
            seen.push(value);
            Ok(())
        };
        in_order(40, Some(4), false, work, take).unwrap();
        assert_eq!(seen, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn there_are_no_more_threads_than_runs() {
        let work = |_| Ok(rayon::current_num_threads());
        let take = |_, threads| {
            assert_eq!(threads, 2);
            Ok(())
        };
        in_order(2, Some(1000), false, work, take).unwrap();
    }

    /// Works on a thousand of which some fail; the failure, and how many were taken.
    fn fail(fails: impl Fn(usize) -> bool + Sync, failure: fn(String) -> Failure) -> (String, u32) {
        failed(false, fails, failure)
    }

    fn failed(
        left_out: bool,
        fails: impl Fn(usize) -> bool + Sync,
        failure: fn(String) -> Failure,
    ) -> (String, u32) {
        let work = |n: usize| if fails(n) { Err(failure(n.to_string())) } else { Ok(()) };
        let mut seen = 0;
        let take = |_, ()| {
            seen += 1;
            Ok(())
        };
        let failure = in_order(1000, Some(2), left_out, work, take).unwrap_err();
        (failure.to_string(), seen)
    }

    #[test]
    fn a_run_that_fails_does_not_stop_the_rest() {
        assert_eq!(fail(|n| n == 3, Failure::Run), ("3".to_owned(), 999));
        assert_eq!(fail(|n| n % 10 < 2, Failure::Run), ("0".to_owned(), 800));
    }

    #[test]
    fn what_fails_three_times_in_a_row_or_for_another_reason_stops_the_rest() {
        assert_eq!(fail(|n| n >= 5, Failure::Run), ("5".to_owned(), 5));
        assert_eq!(fail(|n| n == 3, Failure::Substrate), ("3".to_owned(), 3));
    }

    #[test]
    fn failed_runs_that_are_left_out_stop_the_rest_only_if_none_succeeded() {
        let failed = |fails: fn(usize) -> bool| failed(true, fails, Failure::Run);
        assert_eq!(failed(|n| (5..905).contains(&n)), ("5".to_owned(), 100));
        assert_eq!(failed(|n| n < 900), ("0".to_owned(), 0));
    }
}
