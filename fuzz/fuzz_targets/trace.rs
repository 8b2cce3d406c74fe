//! Whatever stands in a trace file, it is read or refused. What is read is written and reads back as the
//! same, is played from any offset at any mean, and is converted or refused.
//!
//! `cargo +nightly fuzz run trace -- -max_total_time=60`.

#![no_main]

use l4s_trace::{Format, Kind, MAX_PERIOD, MAX_RATE, Play, Playback, Trace};
use l4s_units::{Bytes, Duration, Rate, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, u64, &[u8])| {
    let (offset, mean, bytes) = input;
    let trace = match Trace::read(bytes) {
        Ok(trace) => trace,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let format = if trace.kind() == Kind::Steps { Format::Csv } else { Format::Mahimahi };
    let written = trace.write(format).expect("each form has a format");
    assert_eq!(Trace::read(&written).as_ref(), Ok(&trace));
    if let Ok(json) = trace.write(Format::Json) {
        assert_eq!(Trace::read(&json).as_ref(), Ok(&trace));
    }

    let play = Play {
        offset: Duration::from_nanos(offset % (MAX_PERIOD.as_nanos() + 1)),
        mean: (mean > 0).then(|| Rate::from_bps(1 + mean % MAX_RATE.as_bps())),
    };
    let mut link = trace.play(&play).expect("both are in range");
    let (mut now, mut sum) = (Time::ZERO, 0u128);
    for _ in 0..100 {
        match &mut link {
            Playback::Opportunities(link) => {
                let (at, bytes) = link.next(now);
                assert!(at >= now && bytes > Bytes::ZERO);
                assert_eq!(link.next(at), (at, bytes));
                sum += u128::from(bytes.get());
                now = at + Duration::from_nanos(1);
            }
            Playback::Steps(link) => {
                let segment = link.at(now);
                assert!(segment.until > now);
                if segment.until == Time::NEVER {
                    break;
                }
                now = segment.until;
            }
        }
    }
    if trace.kind() == Kind::Opportunities {
        // All but those at time 0, which is before the first instant that counts.
        let all = link.bytes_between(Time::ZERO, now);
        let Playback::Opportunities(again) = &mut link else { unreachable!() };
        let (first, bytes) = again.next(Time::ZERO);
        let at_zero = if first == Time::ZERO { bytes.get() } else { 0 };
        let found = u128::from(all.get()) + u128::from(at_zero);
        // The sum of bytes ends with 64 bits.
        assert!(found == sum || all.get() == u64::MAX, "{found} for {sum}");
    }

    // Both take time with the length of the trace, and with its bytes.
    let few = Bytes::new(10_000_000);
    if trace.period() <= Duration::from_secs(3600)
        && trace.mean_rate().bytes_in(trace.period()) < few
    {
        let statistics = trace.statistics();
        assert!(statistics.tenth.percentiles.is_sorted());
        assert!(statistics.longest_gap <= trace.period());
        if let Ok(opportunities) = trace.to_opportunities() {
            assert_eq!(opportunities.kind(), Kind::Opportunities);
            let _ = opportunities.to_steps(Duration::from_millis(100));
        }
    }
});
