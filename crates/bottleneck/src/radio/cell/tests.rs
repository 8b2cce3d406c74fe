//! The laws of a cellular link.

use l4s_model::{Cell, Direction, Link, Radio, Slot};
use l4s_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use crate::radio::testing::Run;

const US: Duration = Duration::from_micros(1);

fn link(cell: &Cell) -> Link {
    Link::over(Radio::Cell(cell.clone()))
}

fn fdd(loss: f64) -> Cell {
    Cell { pattern: vec![], loss, ..Cell::new(Direction::Down) }
}

fn at(us: u64) -> Time {
    Time::ZERO + US * us
}

fn is_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found} {expected}");
}

/// 100 MHz with 30 kHz are 273 blocks of 12 subcarriers and 28,000 symbols per second. With four layers and 256-QAM at 948/1024
/// 4 · 8 · 0.92578125 · 273 · 12 · 28000 · 0.86 = 2337 Mb/s, the known rate of 3GPP TS 38.306 §4.1.2.
#[test]
fn the_peak_rate_is_that_of_the_terminal_capabilities() {
    let cell = Cell { bandwidth: 100, mcs: 27, layers: 4, ..fdd(0.0) };
    is_near(cell.peak().as_bps() as f64, 2_337e6, 1e-3);
    let cell = Cell { direction: Direction::Up, ..cell };
    is_near(cell.peak().as_bps() as f64, 2_337e6 * 0.92 / 0.86, 1e-3);
}

/// Each block has 9422 bytes, and 8 of them are the header of another part. A packet of 1500 bytes has 10 of headers.
#[test]
fn a_saturated_link_carries_its_blocks_less_those_that_fail() {
    let whole = 2_000.0 * (9_422.0 - 8.0) / 1_510.0 * 1_514.0 * 8.0;
    for loss in [0.0, 0.1, 0.3] {
        let cell = fdd(loss);
        is_near(cell.rate().as_bps() as f64, whole * (1.0 - loss), 1e-6);
        let found = Run::new(&link(&cell), 1).saturated(Duration::from_secs(30));
        is_near(found, whole * (1.0 - loss), 0.01);
    }
    for (pattern, direction) in
        [("DDDSU", Direction::Down), ("DDDSU", Direction::Up), ("DSUU", Direction::Down)]
    {
        let slot = |letter| match letter {
            'D' => Slot::Down,
            'S' => Slot::Special,
            _ => Slot::Up,
        };
        let cell = Cell { pattern: pattern.chars().map(slot).collect(), ..Cell::new(direction) };
        let found = Run::new(&link(&cell), 1).saturated(Duration::from_secs(30));
        is_near(found, cell.rate().as_bps() as f64, 0.01);
    }
}

#[test]
fn a_packet_waits_for_its_slot_and_arrives_at_its_end() {
    let mut run = Run::new(&link(&fdd(0.0)), 1);
    run.send(at(700), 1514);
    run.advance(at(100_000));
    assert_eq!(run.left, [(at(1000), 0, US * 300)]);
    assert_eq!(run.landed, [(at(1500), 0, 1514)]);
    // The third slot of DSU has no downlink: the packet waits for the fourth.
    let pattern = vec![Slot::Down, Slot::Special, Slot::Up];
    let mut run = Run::new(&link(&Cell { pattern, ..fdd(0.0) }), 1);
    run.send(at(700), 1514);
    run.advance(at(100_000));
    assert_eq!(run.landed, [(at(2000), 0, 1514)]);
}

/// 5 MHz at MCS 0: blocks of 73 bytes. A packet of 186 bytes of IP is 63 and 65 and 58 of them in three slots.
#[test]
fn a_packet_that_is_larger_than_a_block_is_cut() {
    let cell = Cell { bandwidth: 5, spacing: 15, mcs: 0, layers: 1, ..fdd(0.0) };
    let block = cell.blocks()[0].get();
    let mut run = Run::new(&link(&cell), 1);
    // A packet that fits into one, and one with a byte more.
    run.send(at(0), block - 10 + 14);
    run.advance(at(900_000));
    run.send(at(1_000_000), block - 10 + 14 + 1);
    run.advance(at(2_000_000));
    let ends: Vec<Time> = run.landed.iter().map(|landed| landed.0).collect();
    assert_eq!(ends, [at(1000), at(1_002_000)]);
}

/// A delay of one packet alone is of a slot, and of 8 ms more for each transmission that failed. After four that is 35 and 8 ms.
#[test]
fn a_block_that_fails_is_sent_again_8_ms_later() {
    let mut run = Run::new(&link(&fdd(0.5)), 1);
    let (gap, packets) = (200_000, 4_000);
    for n in 0..packets {
        run.send(at(n * gap), 1514);
    }
    run.advance(at(packets * gap + 1_000_000));
    let mut counts = [0_u64; 5];
    for (time, number, _) in &run.landed {
        let took = time.since(at(number * gap)).as_micros();
        let again = [500, 8_500, 16_500, 24_500].iter().position(|us| *us == took);
        // Once more after 43 ms.
        assert!(again.is_some() || (took - 500) % 43_000 % 8_000 == 0, "{took}");
        counts[again.unwrap_or(4)] += 1;
    }
    for (count, share) in counts.into_iter().zip([0.5, 0.25, 0.125, 0.0625, 0.0625]) {
        let expected = packets as f64 * share;
        assert!((count as f64 - expected).abs() < 4.0 * expected.sqrt(), "{counts:?}");
    }
}

/// A terminal that has sent nothing asks at its next turn, which comes every 10 ms, and sends 8 ms later.
#[test]
fn an_uplink_asks_for_a_grant_when_its_buffer_was_empty() {
    let cell = Cell { direction: Direction::Up, pattern: vec![], loss: 0.0, ..fdd(0.0) };
    let mut waits = 0.0;
    for seed in 0..400 {
        let mut run = Run::new(&link(&cell), seed);
        run.send(at(23_000), 1514);
        // While it has something to send it need not ask.
        run.send(at(23_100), 1514);
        run.advance(at(70_000));
        run.send(at(73_000), 1514);
        run.advance(at(120_000));
        let landed: Vec<Time> = run.landed.iter().map(|landed| landed.0).collect();
        assert_eq!(landed, [landed[0], landed[0], landed[0] + US * 50_000]);
        waits += landed[0].since(at(23_000)).as_secs_f64() / 400.0;
    }
    // The next turn is 0 to 10 ms away, with the same chance. 8 ms later it waits 0.25 ms on average for its slot of 0.5 ms.
    // The standard error is 10 ms/√(12 · 400) = 0.14 ms.
    assert!((waits - 0.01375).abs() < 0.0005, "{waits}");
}

proptest! {
    /// For any arrivals, packets arrive in order and none is lost, and none before a slot began and ended after it came.
    #[test]
    fn packets_arrive_in_order_and_all(
        column in 0usize..3, place in 0usize..8, mcs in 0u64..28, layers in 1u64..5, loss in 0.0..0.5f64, seed: u64,
        pattern in prop::sample::select(vec!["", "DDDSU", "DSU", "DDDDDDDSUU", "DU"]), goes_up: bool,
        arrivals in prop::collection::vec((0u64..3000, 60u64..9000), 1..200),
    ) {
        let spacing = Cell::SPACINGS[column];
        let bandwidth = Cell::bandwidths(spacing).nth(place).unwrap();
        let direction = if goes_up { Direction::Up } else { Direction::Down };
        let slot = |letter| match letter {
            'D' => Slot::Down,
            'S' => Slot::Special,
            _ => Slot::Up,
        };
        let pattern = pattern.chars().map(slot).collect();
        let cell = Cell { spacing, bandwidth, mcs, layers, loss, pattern, ..Cell::new(direction) };
        let mut run = Run::new(&link(&cell), seed);
        let (mut now, mut came) = (Time::ZERO, vec![]);
        for (gap, size) in &arrivals {
            now += US * *gap;
            came.push(now);
            run.send(now, *size);
        }
        run.advance(Time::from_nanos(u64::MAX - 1));
        prop_assert_eq!(run.bottleneck.owed(now), Bytes::ZERO);
        prop_assert!(run.drops.is_empty());
        let numbers: Vec<u64> = run.landed.iter().map(|landed| landed.1).collect();
        prop_assert_eq!(numbers, (0..arrivals.len() as u64).collect::<Vec<_>>());
        for (at, number, _) in &run.landed {
            let (left, ..) = run.left[*number as usize];
            prop_assert!(left >= came[*number as usize]);
            prop_assert!(left.since(Time::ZERO).as_nanos() % cell.slot().as_nanos() == 0);
            prop_assert!(at.since(left) >= cell.slot());
        }
    }
}
