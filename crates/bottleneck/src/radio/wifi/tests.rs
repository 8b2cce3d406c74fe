//! The laws of a WiFi link.

use l4s_aqm::DropCause;
use l4s_model::{Link, Radio, Standard, Wifi};
use l4s_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use crate::radio::testing::Run;

fn link(wifi: &Wifi) -> Link {
    Link::over(Radio::Wifi(wifi.clone()))
}

/// The rate in bits per second, with Ethernet, of packets of 1500 bytes of IP through a queue that is never empty.
fn saturated(wifi: &Wifi, seconds: u64) -> f64 {
    Run::new(&link(wifi), 1).saturated(Duration::from_secs(seconds))
}

fn is_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found} {expected}");
}

const US: Duration = Duration::from_micros(1);

/// Rates of the standard's tables in Mb/s, to one decimal: 802.11n and ac with short guard intervals, ax with 800 ns.
#[test]
fn phy_rates_are_those_of_the_standard() {
    for (standard, width, streams, mcs, mbps) in [
        (Standard::N, 20, 1, 7, 72.2),
        (Standard::N, 40, 4, 7, 600.0),
        (Standard::Ac, 20, 1, 8, 86.7),
        (Standard::Ac, 80, 1, 9, 433.3),
        (Standard::Ac, 160, 4, 9, 3466.7),
        (Standard::Ax, 20, 1, 0, 8.6),
        (Standard::Ax, 80, 1, 11, 600.5),
        (Standard::Ax, 160, 2, 11, 2402.0),
    ] {
        let wifi = Wifi { width, streams, mcs, ..Wifi::new(standard) };
        let found = wifi.phy_rate().as_bps() as f64 / 1e6;
        assert!((found - mbps).abs() < 0.1, "{found} {mbps}");
    }
}

/// By hand, for 802.11ac at 80 MHz, two streams, MCS 7 and 400 ns: 234 · 6 · 2 · 5/6 = 2340 bits in 3.6 us. An MPDU of 1500 bytes is
/// 1558 with its delimiter, and 1560 with padding. 64 of them with 22 bits more are 342 symbols: 1231.2 us. The
/// preamble takes 44 us, and SIFS and block acknowledgement 48 us.
#[test]
fn an_exchange_takes_the_time_that_its_symbols_take() {
    let wifi = Wifi { width: 80, streams: 2, mcs: 7, ..Wifi::new(Standard::Ac) };
    assert_eq!(wifi.symbol_bits(), 2_340);
    assert_eq!(wifi.most_packets(Bytes::new(1514)), 64);
    let psdu = Bytes::new(64 * 1560);
    assert_eq!(wifi.exchange(psdu), Duration::from_nanos(44_000 + 1_231_200 + 48_000));
    // And 43 us of AIFS and 67.5 us of backoff.
    let seconds = (44.0 + 1_231.2 + 48.0 + 43.0 + 67.5) / 1e6;
    let expected = 64.0 * 1514.0 * 8.0 / seconds;
    is_near(wifi.rate().as_bps() as f64, expected, 1e-6);
    is_near(saturated(&wifi, 20), expected, 0.002);
}

#[test]
fn a_saturated_link_carries_what_the_formula_says() {
    for standard in [Standard::N, Standard::Ac, Standard::Ax] {
        for (width, streams, mcs) in [(20, 1, 0), (40, 2, 4), (40, 4, 7)] {
            let wifi = Wifi { width, streams, mcs, ..Wifi::new(standard) };
            is_near(saturated(&wifi, 20), wifi.rate().as_bps() as f64, 0.01);
        }
    }
}

/// Eight MPDUs in a PPDU, each with up to seven transmissions: fewer than the window of 64, so that none waits for a lost one.
#[test]
fn loss_takes_its_share_of_a_saturated_link() {
    let wifi = Wifi { airtime: US * 780, mcs: 7, streams: 1, ..Wifi::new(Standard::N) };
    assert_eq!(wifi.most_packets(Bytes::new(1514)), 8);
    let whole = wifi.rate().as_bps() as f64;
    for loss in [0.0, 0.05, 0.1, 0.2] {
        let wifi = Wifi { loss, ..wifi.clone() };
        is_near(wifi.rate().as_bps() as f64, whole * (1.0 - loss), 1e-6);
        is_near(saturated(&wifi, 60), whole * (1.0 - loss), 0.01);
    }
}

/// The window of the block acknowledgement stays at the oldest MPDU that was lost, which shortens PPDUs of as many MPDUs as
/// it has, or of most of them.
#[test]
fn the_rate_has_the_shorter_ppdus_after_a_loss() {
    use Standard::{Ac, Ax, N};
    for (standard, width, streams, mcs, stations, loss) in [
        (N, 40, 2, 7, 0, 0.1),
        (Ac, 80, 2, 7, 0, 0.05),
        (Ax, 80, 2, 7, 0, 0.02),
        (Ax, 80, 2, 4, 0, 0.1),
        (Ax, 160, 4, 11, 0, 0.1),
        (Ac, 80, 2, 7, 4, 0.1),
        (Ax, 80, 2, 7, 4, 0.1),
        (Ax, 160, 4, 11, 1, 0.02),
    ] {
        let wifi = Wifi { width, streams, mcs, stations, loss, ..Wifi::new(standard) };
        let rate = wifi.rate().as_bps() as f64;
        // Whose turn it is needs a longer mean.
        let (seconds, tolerance) = if stations == 0 { (10, 0.01) } else { (100, 0.03) };
        is_near(saturated(&wifi, seconds), rate, tolerance);
        // Full PPDUs would carry more.
        let full = Wifi { loss: 0.0, ..wifi }.rate().as_bps() as f64 * (1.0 - loss);
        assert!(rate < 0.99 * full, "{rate} {full}");
    }
}

#[test]
fn equal_stations_have_equal_shares() {
    for stations in [1, 2, 4, 9] {
        let wifi = Wifi { stations, ..Wifi::new(Standard::Ac) };
        is_near(saturated(&wifi, 120), wifi.rate().as_bps() as f64, 0.03);
        // Of the whole channel, less the time of collisions.
        let whole = Wifi::new(Standard::Ac).rate().as_bps() as f64;
        let share = wifi.rate().as_bps() as f64 / whole * (stations + 1) as f64;
        assert!((0.6..1.05).contains(&share), "{stations}: {share}");
    }
}

#[test]
fn an_aggregate_grows_with_the_backlog() {
    let mut run = Run::new(&link(&Wifi::new(Standard::Ac)), 1);
    run.send(Time::ZERO, 1514);
    for n in 0..40 {
        run.send(Time::ZERO + US * (n + 1), 1514);
    }
    run.advance(Time::ZERO + US * 100_000);
    // The first goes alone on an idle channel, and those that came meanwhile together.
    assert_eq!(run.bursts().iter().map(|burst| burst.1).collect::<Vec<_>>(), [1, 40]);
    // 1560 bytes are 6 symbols: 44 us and 21.6 us.
    assert_eq!(run.landed[0].0, Time::ZERO + Duration::from_nanos(65_600));
}

#[test]
fn a_packet_longer_than_any_ppdu_goes_alone() {
    let wifi =
        Wifi { airtime: Wifi::SHORTEST, mcs: 0, width: 20, streams: 1, ..Wifi::new(Standard::N) };
    let mut run = Run::new(&link(&wifi), 1);
    (0..3).for_each(|_| run.send(Time::ZERO, 1514));
    run.advance(Time::ZERO + US * 100_000);
    assert_eq!(run.bursts().iter().map(|burst| burst.1).collect::<Vec<_>>(), [1, 1, 1]);
}

/// ½⁷ of the MPDUs fail seven times.
#[test]
fn an_mpdu_that_fails_seven_times_is_a_drop() {
    let wifi = Wifi { loss: 0.5, ..Wifi::new(Standard::Ac) };
    let mut run = Run::new(&link(&wifi), 1);
    run.saturated(Duration::from_secs(40));
    let lost = run.lost() as f64;
    let all = lost + run.landed.len() as f64;
    is_near(lost / all, 1.0 / 128.0, 0.05);
    assert!(run.drops.iter().all(|(_, cause)| *cause == DropCause::Radio));
}

proptest! {
    /// For any arrivals, packets are conserved and in order, and none lands before its bits are on the air.
    #[test]
    fn packets_arrive_in_order_or_are_lost(
        standard in prop::sample::select(vec![Standard::N, Standard::Ac, Standard::Ax]),
        mcs in 0u64..8, streams in 1u64..5, stations in 0u64..4, loss in 0.0..0.5f64, seed: u64,
        airtime in 200u64..5_484,
        arrivals in prop::collection::vec((0u64..3000, 60u64..3000), 1..300),
    ) {
        let wifi = Wifi { mcs, streams, stations, loss, airtime: US * airtime, ..Wifi::new(standard) };
        prop_assume!(wifi.has_rate());
        let mut run = Run::new(&link(&wifi), seed);
        let mut now = Time::ZERO;
        for (gap, size) in &arrivals {
            now += US * *gap;
            run.send(now, *size);
        }
        run.advance(Time::from_nanos(u64::MAX - 1));
        prop_assert_eq!(run.bottleneck.owed(now), Bytes::ZERO);
        let landed: Vec<u64> = run.landed.iter().map(|landed| landed.1).collect();
        prop_assert!(landed.is_sorted());
        let mut all: Vec<u64> = landed.into_iter().chain(run.drops.iter().map(|drop| drop.0)).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..arrivals.len() as u64).collect::<Vec<_>>());
        for (at, number, size) in &run.landed {
            let left = run.left[*number as usize];
            prop_assert_eq!(left.1, *number);
            prop_assert!(at.since(left.0) >= wifi.ppdu(Wifi::subframe(Bytes::new(*size))));
        }
        for burst in run.bursts() {
            prop_assert!(burst.1 <= wifi.window() as u64);
        }
    }

    #[test]
    fn without_loss_and_other_stations_every_ppdu_is_within_its_limits(
        arrivals in prop::collection::vec((0u64..300, 60u64..1514), 1..300), airtime in 200u64..5_484,
    ) {
        let wifi = Wifi { airtime: US * airtime, mcs: 2, ..Wifi::new(Standard::N) };
        let mut run = Run::new(&link(&wifi), 1);
        let mut now = Time::ZERO;
        for (gap, size) in &arrivals {
            now += US * *gap;
            run.send(now, *size);
        }
        run.advance(Time::from_nanos(u64::MAX - 1));
        prop_assert_eq!(run.landed.len(), arrivals.len());
        let mut taken = run.landed.iter();
        for (_, packets, _) in run.bursts() {
            let sizes = taken.by_ref().take(packets as usize).map(|(_, _, size)| Bytes::new(*size));
            let psdu = sizes.map(Wifi::subframe).fold(Bytes::ZERO, |sum, size| sum + size);
            prop_assert!(packets == 1 || wifi.fits(psdu));
        }
    }
}
