//! A core for each guest.
//!
//! A guest's kernel and its processes take turns and never run at once. On one core a turn is a
//! switch of context; across two it is a wake-up of the other core, which takes several times as
//! long.

use std::sync::{Mutex, PoisonError};

use rustix::thread::{CpuSet, sched_getaffinity};

/// How many guests run on each core that this process may use.
#[derive(Debug, Default)]
pub(crate) struct Cores(Mutex<Vec<(usize, usize)>>);

/// A core, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Core<'a> {
    cores: &'a Cores,
    /// Its number.
    pub number: usize,
}

impl Cores {
    /// The core with the fewest guests; `None` where the machine reports none.
    pub fn take(&self) -> Option<Core<'_>> {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if guests.is_empty() {
            let allowed = sched_getaffinity(None).ok()?;
            let numbers = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number));
            *guests = numbers.map(|number| (number, 0)).collect();
        }
        let (number, count) = guests.iter_mut().min_by_key(|(_, count)| *count)?;
        *count += 1;
        Some(Core { cores: self, number: *number })
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        let mut guests = self.cores.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, count) in guests.iter_mut().filter(|(number, _)| *number == self.number) {
            *count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guest_gets_the_core_with_the_fewest() {
        let cores = Cores(Mutex::new(vec![(2, 0), (5, 0)]));
        let first = cores.take().unwrap();
        let second = cores.take().unwrap();
        assert_eq!((first.number, second.number), (2, 5));
        let third = cores.take().unwrap();
        assert_eq!(third.number, 2);
        drop(second);
        assert_eq!(cores.take().unwrap().number, 5);
    }
}
