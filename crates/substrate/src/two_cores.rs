//! When a simulation takes a second core.

use l4s_model::Scenario;
use l4s_observe::Observer;
use l4s_units::Bytes;

use crate::{Ran, Sim};

/// The least work that is worth a second core.
struct Work {
    /// The least data that the bottleneck can forward while one half of the run is ahead of the other. With less, the halves
    /// wait for each other.
    ahead: Bytes,
    /// The fewest long flows, where no queues are behind the bottleneck. With fewer, a packet is little work beside handing it
    /// over.
    flows: usize,
}

/// Where both cores share a cache.
const NEAR: Work = Work { ahead: Bytes::new(100_000), flows: 20 };
/// Where they do not.
const APART: Work = Work { ahead: Bytes::new(2_000_000), flows: 2000 };

impl Work {
    fn is_in(&self, scenario: &Scenario, ahead: Bytes) -> bool {
        let is_heavy = scenario.has_queues_behind() || scenario.long_flows() >= self.flows;
        ahead >= self.ahead && is_heavy
    }
}

impl Sim {
    /// As [`Sim::simulate`], to the end and on two cores. `None`, without a run, where the second one does not make it faster.
    /// Nor is there one without the feature `two-cores`.
    pub fn simulate_on_two_cores(
        &self,
        scenario: &Scenario,
        observer: &mut dyn Observer<l4s_sim::Packet>,
    ) -> Option<Ran> {
        let ahead = scenario.link.rate.bytes_in(l4s_sim::lookahead(scenario)?);
        let pays =
            APART.is_in(scenario, ahead) || NEAR.is_in(scenario, ahead) && pair::shares_a_cache();
        let l4s_sim::Outcome { packets, events, .. } =
            pays.then(|| pair::run(scenario, observer)).flatten()?;
        let time = scenario.duration;
        Some(Ran { time, packets, events: Some(events), ..Ran::default() })
    }
}

#[cfg(feature = "two-cores")]
mod pair {
    use std::hint;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Between cores that share a cache a word took 40 to 65 ns, between others of the same processor 180 to 200 ns (AMD EPYC,
    /// Zen 5).
    const SHARED: Duration = Duration::from_nanos(100);
    /// Words of a round, half of them in each direction.
    const WORDS: u32 = 200;
    const ROUNDS: u32 = 10;
    /// A look takes some tens of nanoseconds. After this number of looks the other core is not free.
    const LOOKS: u32 = 20_000;

    /// The observer may be any, so that this is compiled once: the second core has time for calls.
    pub fn run(
        scenario: &Scenario,
        mut observer: &mut dyn Observer<l4s_sim::Packet>,
    ) -> Option<l4s_sim::Outcome> {
        l4s_sim::run_on_two_cores(scenario, &mut observer)
    }

    /// Whether a word comes from one core to the other through a cache of both. That differs from core to core, and from hour
    /// to hour where they are virtual.
    pub fn shares_a_cache() -> bool {
        let word = AtomicU32::new(0);
        // Waits for a number, and gives the next one.
        let answer = |number: u32| {
            let came = (0..LOOKS).any(|_| {
                hint::spin_loop();
                word.load(Ordering::Acquire) == number
            });
            word.store(number + 1, Ordering::Release);
            came
        };
        let round = |round: u32| {
            let (began, from) = (Instant::now(), round * WORDS + 1);
            let is_answered = (from..from + WORDS).step_by(2).all(answer);
            is_answered.then(|| began.elapsed() / WORDS)
        };
        thread::scope(|threads| {
            threads.spawn(|| (0..ROUNDS * WORDS).step_by(2).all(answer));
            (0..ROUNDS).map_while(round).min().is_some_and(|word| word < SHARED)
        })
    }
}

#[cfg(not(feature = "two-cores"))]
mod pair {
    use super::*;

    pub fn run(_: &Scenario, _: &mut dyn Observer<l4s_sim::Packet>) -> Option<l4s_sim::Outcome> {
        None
    }

    pub fn shares_a_cache() -> bool {
        false
    }
}
