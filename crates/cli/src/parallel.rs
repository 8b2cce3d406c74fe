//! Work on many cores, results in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use crate::failure::Failure;

/// How many threads that is: as many as there are cores, unless `jobs` says.
pub fn threads(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Does `work` for 0 to `count` on `jobs` threads, and hands each result to `take` on this
/// thread, in order. Stops early at the first failure of either; what is under way is finished.
pub fn in_order<T: Send>(
    count: usize,
    jobs: Option<usize>,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0))
        .build()
        .map_err(|error| Failure::Run(format!("cannot start threads: {error}")))?;
    let (sender, receiver) = mpsc::channel();
    let stop = AtomicBool::new(false);
    let (work, stop) = (&work, &stop);
    // The workers run beside this thread, which takes what they send until the last has gone.
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
        for (number, result) in receiver {
            early.insert(number, result);
            while failed.is_none()
                && let Some(result) = early.remove(&next)
            {
                if let Err(failure) = result.and_then(|value| take(next, value)) {
                    failed = Some(failure);
                    stop.store(true, Ordering::Relaxed);
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
        in_order(40, Some(4), work, take).unwrap();
        assert_eq!(seen, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_stops_the_rest() {
        let work = |n| if n == 3 { Err(Failure::Run("three".to_owned())) } else { Ok(()) };
        let mut seen = 0;
        let take = |_, ()| {
            seen += 1;
            Ok(())
        };
        let failure = in_order(1000, Some(2), work, take).unwrap_err();
        assert_eq!((failure.to_string().as_str(), seen), ("three", 3));
    }
}
