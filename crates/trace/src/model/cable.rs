//! Cable: the way up from a modem of DOCSIS 3.1, with a grant in every MAP interval.
//!
//! The head end (CMTS) sends a MAP for each interval, with the time at which each modem may send. A modem
//! that always has data has a grant in each interval, which on average has the bytes of its plan. In it, it sends at
//! the rate of the whole channel.
//!
//! Constants and rules are those of CableLabs' DOCSIS model for ns-3 (github.com/cablelabs/docsis-ns3, commit
//! 02aa242): the defaults of its channel (`doc/source/system-configuration.rst`, "Upstream System & Model
//! Parameters"), and the plan of its residential scenario (`experiments/residential/residential-documentation.md`).
//! The place of a grant is uniform in its interval (`SchedulerRandomVariable` of its scheduler). Its
//! congestion is off there by default, and here. Left out are the time from a request to its grant, which is no
//! matter of capacity, and the rounding of a grant to minislots of 400 kHz.

use l4s_units::{Duration, Rate};

use crate::Step;
use crate::random::Stream;

/// `NumUsSc` subcarriers with `UsSpectralEfficiency` 10 b/s/Hz: bits of a symbol, whose useful time is one over
/// `UsScSpacing`, 50 kHz.
const SYMBOL_BITS: u64 = 1_880 * 10;

/// Symbol and cyclic prefix in nanoseconds: 20 µs, and `UsCpLen` 256 samples of 102.4 MHz.
const SYMBOL: u64 = 20_000 + 2_500;

/// `SymbolsPerFrame`.
const FRAME: u64 = 6 * SYMBOL;

/// `MapInterval` 2 ms, to the nearest whole number of frames: 15 of 135 µs.
const MAP: u64 = (2_000_000 + FRAME / 2) / FRAME * FRAME;

/// `upstreamMsr`, the maximum sustained traffic rate of the plan.
const PLAN: Rate = Rate::from_mbps(50);

/// The rate of the whole channel.
const CHANNEL: Rate = Rate::from_bps(SYMBOL_BITS * 1_000_000_000 / SYMBOL);

/// The time of a grant at that rate, in nanoseconds, rounded down.
const GRANT: u64 = MAP * PLAN.as_bps() / CHANNEL.as_bps();

/// The rates of a trace: that of the channel in each grant, and 0 between them.
pub(super) fn steps(mut stream: Stream, length: Duration) -> impl Iterator<Item = Step> {
    let (end, at) = (length.as_nanos(), Duration::from_nanos);
    let grants = (0..end.div_ceil(MAP)).flat_map(move |map| {
        // After the start of the interval, so that no grant begins where the one before it ends.
        let start = map * MAP + 1 + stream.below(MAP - GRANT);
        [Step::new(at(start), CHANNEL), Step::new(at(start + GRANT), Rate::ZERO)]
    });
    let grants = grants.take_while(move |step| step.at.as_nanos() < end);
    core::iter::once(Step::new(Duration::ZERO, Rate::ZERO)).chain(grants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_those_of_the_channel() {
        // 18,800 b in 22.5 µs are 835.6 Mb/s; 2 ms are 14.8 frames of 135 µs; and 50 Mb/s are
        // 6 % of the channel.
        assert_eq!(CHANNEL, Rate::from_bps(835_555_555));
        assert_eq!((FRAME, MAP), (135_000, 2_025_000));
        assert_eq!(GRANT, 121_176);
    }
}
