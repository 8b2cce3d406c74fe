//! Completion times of sized flows, by size.
//!
//! # The theoretical time
//! The best that any transport without 0-RTT could do for an item of `s` bytes at base round trip
//! `R` and link rate `C`, with no queue and no slow start:
//!
//! ```text
//! 0        the client sends its SYN
//! R        the SYN-ACK is there; the client sends ACK and request
//! 2R       the first byte of the answer would be there, if it took no time to send
//! 2R + T   the last byte is there and with it the FIN: the client sees the close
//! ```
//!
//! `T` = (s + 66 B · ceil(s / M)) · 8 / C is the time that the link takes to send the item in
//! full segments. `M` is the payload (`mss`, 1448 B unless set). Each segment has 14 B of Ethernet,
//! 20 B of IPv4, 20 B of TCP and 12 B of timestamps; the AccECN option is a cost of the transport.
//! An empty item still takes the segment with the FIN. The SYN-ACK's own time on the link (some 70
//! B) is left out, with any options. A shaper whose bucket filled while idle sends its burst at
//! once, so behind one an item of a few packets may take a little less.
//!
//! Where `[[at]]` changes `R` or `C`, those hold that the connection was opened with. Where the link follows a trace,
//! `T` is the time that it takes from `2R` on.

use l4s_model::{Direction, Scenario};
use l4s_units::{Bytes, Duration, Rate, Time};

use crate::flows::Flows;
use crate::stats::spread;
use crate::{CompletionSummary, Spread};

const SEGMENT_HEADERS: u64 = 14 + 20 + 20 + 12;

/// The best completion time of an item at a base round trip and a link rate, in segments of at most
/// `mss` bytes of payload. It is two round trips, and the bytes on the wire at full rate.
pub fn theoretical_time(size: Bytes, mss: Bytes, rtt: Duration, rate: Rate) -> Duration {
    rtt * 2 + rate.time_of(on_the_wire(size, mss))
}

/// The bytes of an item with the headers of its segments.
fn on_the_wire(size: Bytes, mss: Bytes) -> Bytes {
    let segments = size.get().div_ceil(mss.get()).max(1);
    size + Bytes::new(segments * SEGMENT_HEADERS)
}

/// The bins of sizes, half open: from 0, 1, 3, 9, 27, 81, 243, 729 KB, 1 MB, and so on for each
/// factor of
/// 1000.
pub(crate) fn bins() -> impl Iterator<Item = [u64; 2]> {
    let scales = [1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000u64];
    let edges =
        || scales.into_iter().flat_map(|scale| [1, 3, 9, 27, 81, 243, 729].map(|n| scale * n));
    [0].into_iter().chain(edges()).zip(edges().chain([u64::MAX])).map(|(low, high)| [low, high])
}

/// The bin of a size.
fn bin(size: Bytes) -> [u64; 2] {
    let mut all = bins();
    all.find(|[_, high]| size.get() < *high).unwrap_or([0, u64::MAX])
}

/// Completion of the flows that closed after the warm-up, by group and then by size.
pub(crate) fn completions(scenario: &Scenario, flows: &Flows) -> Vec<CompletionSummary> {
    let warmup_end = Time::ZERO + scenario.warmup;
    // (group, bin, completion time in ms, efficiency)
    let mut done = Vec::new();
    let (course, mut playback) = (scenario.course(), scenario.link.playback());
    for (_, flow) in flows.iter() {
        let group = flow.group.index();
        let (true, Some(size), Some(opened)) =
            (group < scenario.groups.len(), flow.size, flow.opened)
        else {
            continue;
        };
        let Some(time) = flow.completion().filter(|_| flow.closed >= Some(warmup_end)) else {
            continue;
        };
        let is_up = scenario.direction_of(group) == Direction::Up;
        let up = course.uplink_rate_at(opened).filter(|_| is_up);
        let (mss, rtt) = (scenario.groups[group].mss, course.rtt_at(group, opened));
        let best = match (up, &mut playback) {
            (None, Some(link)) => rtt * 2 + link.time_of(on_the_wire(size, mss), opened + rtt * 2),
            _ => theoretical_time(size, mss, rtt, up.unwrap_or_else(|| course.rate_at(opened))),
        };
        let efficiency = time.as_nanos() as f64 / best.as_nanos() as f64;
        done.push((flow.group, bin(size), time.as_millis_f64(), efficiency));
    }
    done.sort_by_key(|(group, bin, _, _)| (*group, *bin));
    done.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|same| CompletionSummary {
            group: scenario.groups[same[0].0.index()].name.clone(),
            bin_bytes: same[0].1,
            flows: same.len() as u64,
            time_ms: some_spread(same.iter().map(|flow| flow.2)),
            efficiency: some_spread(same.iter().map(|flow| flow.3)),
        })
        .collect()
}

fn some_spread(values: impl Iterator<Item = f64>) -> Spread {
    spread(values.collect()).expect("a bin exists because of a flow")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theoretical_time_is_two_round_trips_and_the_bytes_on_the_wire() {
        // 10,000 B take ceil(10,000 / 1448) = 7 segments: 10,000 + 7 · 66 = 10,462 B on the wire,
        // 83,696 bit / 40 Mb/s = 2.0924 ms. With 2 · 10 ms: 22.0924 ms.
        let time = |size, mss| {
            let (rtt, rate) = (Duration::from_millis(10), Rate::from_mbps(40));
            theoretical_time(Bytes::new(size), Bytes::new(mss), rtt, rate)
        };
        assert_eq!(time(10_000, 1448), Duration::from_nanos(22_092_400));
        // In segments of 8948 B two: 10,132 B.
        assert_eq!(time(10_000, 8948), Duration::from_nanos(22_026_400));
        // 1000 B in one segment, 1066 B, 213.2 µs; 1,000,000 B in ceil(690.6) = 691 segments,
        // 1,045,606 B, 209.1212 ms.
        let found = [1_000, 1_000_000].map(|size| time(size, 1448));
        assert_eq!(found, [20_213_200, 229_121_200].map(Duration::from_nanos));
        // An empty item: one segment of 66 B, 13.2 µs.
        assert_eq!(time(0, 1448), Duration::from_nanos(20_013_200));
    }

    #[test]
    fn bins_are_half_open_and_leave_no_gap() {
        let bins = [
            (0, [0, 1_000]),
            (999, [0, 1_000]),
            (1_000, [1_000, 3_000]),
            (728_999, [243_000, 729_000]),
            (729_000, [729_000, 1_000_000]),
            (1_000_000, [1_000_000, 3_000_000]),
            (5_000_000_000, [3_000_000_000, 9_000_000_000]),
        ];
        for (size, expected) in bins {
            assert_eq!(bin(Bytes::new(size)), expected, "{size}");
        }
    }
}
