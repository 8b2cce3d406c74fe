//! Starlink: a rate for each second, which jumps every 15 s.
//!
//! A scheduler assigns satellites to dishes every 15 s, for all dishes at once. A trace begins with such a
//! reconfiguration. Sources:
//!
//! - H. B. Tanveer and others: "Making Sense of Constellations: Methodologies for Understanding Starlink's
//!   Scheduling Algorithms", CoNEXT Companion 2023, <https://doi.org/10.1145/3624354.3630586>.
//! - N. Mohan and others: "A Multifaceted Look at Starlink Performance", WWW 2024,
//!   <https://arxiv.org/abs/2310.09242>, abstract.
//!
//! The rates are those of B. Hu and others: "LEO Satellite vs. Cellular Networks: Exploring the Potential for
//! Synergistic Integration", CoNEXT Companion 2023, <https://doi.org/10.1145/3624354.3630588>. The file is
//! `3-Thrpt-Comp/UDP/Downlink/mob_all.csv` of github.com/Starlink-Project/Satellite-vs-Cellular. It has 29,516
//! seconds of UDP downloads with the Mobility plan, in a car, in 45 runs of at least 30 consecutive seconds:
//!
//! - The mean is 127.7 Mb/s, and the coefficient of variation 0.706.
//! - From one second to the next the rate changes by 40.2 Mb/s (root mean square). From second 11 to 12, 26 to 27, 41
//!   to 42 and 56 to 57 of a minute it changes by 63.5 Mb/s: there the reconfigurations are.
//! - The autocorrelation is 0.746 at 5 s and 0.591 at 15 s.
//!
//! The model is the sum of a value that is constant between reconfigurations and one that changes every second.
//! Both are Gaussian with a memory, and the sum is cut off at 0. The model has 11 % of the seconds without
//! capacity. The data have 16 %, as buildings and trees hide satellites from a car for longer. The data have a
//! value per second, and neither delay nor loss, and so has the model.

use l4s_units::Duration;

use super::even;
use crate::Step;
use crate::random::Stream;

/// The seconds from one reconfiguration to the next.
const INTERVAL: u64 = 15;

/// Mean and standard deviation in Mb/s of the Gaussian value, so that after the cut at 0 it has those of the data.
/// With x = mean/deviation, the first moment after the cut is mean·Φ(x) + deviation·φ(x). The second one is
/// (mean² + deviation²)·Φ(x) + mean·deviation·φ(x).
const MEAN: f64 = 122.5;
const DEVIATION: f64 = 99.3;

/// The data's changes from second to second follow from a correlation of the Gaussian value of 0.905 between
/// reconfigurations, and of 0.761 over one. Its correlation at 5 s is 0.755. Let B be the part of the variance between
/// reconfigurations, b its correlation over one, and f that of the rest from second to second. Then
/// B + (1 − B) f = 0.905 and B b + (1 − B) f = 0.761. Of the pairs at 5 s two thirds are between reconfigurations, so
/// B (2 + b)/3 + (1 − B) f⁵ = 0.755. The solution is:
const BETWEEN: f64 = 0.794;
const BETWEEN_KEPT: f64 = 0.818;
const WITHIN_KEPT: f64 = 0.541;

/// The rates of a trace.
pub(super) fn steps(mut stream: Stream, length: Duration) -> impl Iterator<Item = Step> {
    let mut between = stream.normal();
    let mut within = stream.normal();
    even(Duration::from_secs(1), length, move |second| {
        if second > 0 {
            within = WITHIN_KEPT * within + fresh(WITHIN_KEPT) * stream.normal();
            if second % INTERVAL == 0 {
                between = BETWEEN_KEPT * between + fresh(BETWEEN_KEPT) * stream.normal();
            }
        }
        let deviation = BETWEEN.sqrt() * between + (1.0 - BETWEEN).sqrt() * within;
        (MEAN + DEVIATION * deviation).max(0.0)
    })
}

/// The part of a new value in a process of variance 1 that keeps this part of the old one.
fn fresh(kept: f64) -> f64 {
    (1.0 - kept * kept).sqrt()
}
