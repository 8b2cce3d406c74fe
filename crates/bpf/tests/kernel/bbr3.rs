//! BBR, version 3, through the bottleneck of `peer.rs`: CoDel without ECN, 20 Mb/s and 20 ms.

use super::Loaded;
use super::peer::{Ends, PRAGUE, Seen, had_time, with_control};

/// The segments of a product of bandwidth and RTT: 50 KB, in packets of 1500 B.
const PRODUCT: f64 = 2_500_000.0 * 0.02 / 1500.0;

/// The window fell to half a product, in which the RTT is measured. The RTT of a busy machine is longer by some
/// milliseconds.
fn has_measured_the_rtt(seen: &Seen) -> bool {
    let mut after = seen.falls.iter().map(|(part, before)| (1.0 - part) * f64::from(*before));
    after.any(|window| (4.0..0.75 * PRODUCT).contains(&window))
}

/// Without a model the window would fill the 100 packets of the buffer, which are 60 ms.
#[test]
fn bbr3_fills_the_link_loses_little_and_measures_the_rtt() {
    let ends = Ends { ecn: ["0", "0"], before: PRAGUE, after: None, peer: "reno" };
    let seen = with_control("bbr3_", Loaded::bbr3, &ends, None, has_measured_the_rtt);
    let Some(seen) = seen else { return };
    assert!(has_measured_the_rtt(&seen), "{:?}", seen.falls);
    assert_eq!(seen.codepoints[1..], [0; 3]);
    // CoDel drops 0.2 % of its packets, and 2 % are the most that it accepts.
    assert!(seen.dropped * 50 < seen.codepoints[0], "{} of {}", seen.dropped, seen.codepoints[0]);
    if had_time(&seen) {
        assert!(seen.utilization > 0.85, "{}", seen.utilization);
        assert!(seen.mean < 10.0, "{}", seen.mean);
    }
}
