//! Playing allocates nothing, and a clone shares its memory.

use l4s_trace::{Play, Playback, Step, Trace};
use l4s_units::{Duration, Rate, Time};

/// A million queries.
fn play(link: &mut Playback) -> u64 {
    let (mut now, mut sum) = (Time::ZERO, 0);
    for _ in 0..1_000_000 {
        match link {
            Playback::Opportunities(link) => {
                let (at, bytes) = link.next(now);
                now = at + Duration::from_nanos(1);
                sum += bytes.get();
            }
            Playback::Steps(link) => {
                let segment = link.at(now);
                now = segment.until;
                sum += segment.rate.as_bps();
            }
        }
    }
    sum
}

#[test]
fn a_million_queries_allocate_nothing() {
    let opportunities = Trace::from_opportunities((1..1_000).map(|n| n * n)).unwrap();
    let steps = (0..1_000).map(|n| Step::new(Duration::from_millis(n * n), Rate::from_mbps(n)));
    let steps = Trace::from_steps(steps, Duration::from_secs(1_000)).unwrap();
    for trace in [opportunities, steps] {
        for mean in [None, Some(Rate::from_mbps(1))] {
            let info = allocation_counter::measure(|| {
                let mut link = trace.play(&Play { mean, ..Play::default() }).unwrap();
                assert!(play(&mut link) > 0);
                let _ = trace.clone();
            });
            assert_eq!(info.count_total, 0, "{:?} at {mean:?}", trace.kind());
        }
    }
}
