//! The departures that `departures.h` finds, beside those of a sender that keeps one for each segment.

use std::collections::VecDeque;

use crate::Random;

const RECORDS: usize = 256;
const MSS: u32 = 1448;

/// `struct departures`.
#[repr(C)]
struct Departures {
    records: [[u32; 4]; RECORDS],
    count: u32,
}

/// `struct departure`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Departure {
    lost: u32,
    in_flight: u32,
}

// SAFETY: host.c defines these with the same arguments. They access only the memory that the references
// are to, and any bits are a valid state.
#[allow(unsafe_code)]
unsafe extern "C" {
    safe fn l4s_departures_add(
        d: &mut Departures,
        delivered: u32,
        lost: u32,
        flight: u32,
        nxt: u32,
    );
    safe fn l4s_departures_end(d: &mut Departures, in_flight: u32, nxt: u32);
    safe fn l4s_departures_find(
        d: &mut Departures,
        delivered: u32,
        end: u32,
        again: u32,
        mss: u32,
        found: &mut Departure,
    );
}

/// A segment in flight.
struct Segment {
    delivered: u32,
    end: u32,
    departure: Departure,
}

/// The largest relative difference of the flight, and the largest difference of the losses, over some round trips
/// of a window that doubles and halves.
fn differences(seed: u64, most: u32) -> (f64, u32) {
    let mut random = Random(seed);
    let mut kept = Departures { records: [[0; 4]; RECORDS], count: 0 };
    // Both totals and the sequence number wrap on the way.
    let (mut delivered, mut nxt) = (u32::MAX - 5000, u32::MAX - 5_000_000);
    let (mut lost, mut cwnd) = (0_u32, 10);
    let mut sent = VecDeque::new();
    let (mut flight, mut losses) = (0.0_f64, 0);
    l4s_departures_add(&mut kept, delivered, lost, 0, nxt);
    for _ in 0..100_000 {
        while (sent.len() as u32) < cwnd {
            nxt = nxt.wrapping_add(MSS);
            let departure = Departure { lost, in_flight: sent.len() as u32 + 1 };
            sent.push_back(Segment { delivered, end: nxt, departure });
        }
        l4s_departures_end(&mut kept, sent.len() as u32, nxt);
        // An acknowledgement of some segments; a lost one is not delivered.
        let mut newest = sent.pop_front().unwrap();
        for _ in 0..random.below(3) {
            let Some(next) = sent.pop_front() else { break };
            delivered = delivered.wrapping_add(1);
            newest = next;
        }
        delivered = delivered.wrapping_add(1);
        let mut found = Departure::default();
        l4s_departures_find(&mut kept, newest.delivered, newest.end, 0, MSS, &mut found);
        let exact = newest.departure;
        flight = flight
            .max(f64::from(found.in_flight.abs_diff(exact.in_flight)) / f64::from(exact.in_flight));
        losses = losses.max(found.lost.abs_diff(exact.lost));
        if random.one_in(50) && sent.pop_front().is_some() {
            lost += 1;
        }
        cwnd =
            if random.one_in(u64::from(4 * cwnd)) { cwnd / 2 } else { (cwnd + 1).min(most) }.max(4);
        l4s_departures_add(&mut kept, delivered, lost, sent.len() as u32, nxt);
    }
    (flight, losses)
}

/// Each acknowledgement has a record of its own up to a flight of 128 segments.
#[test]
fn the_departures_of_small_flights_are_exact() {
    for seed in 0..10 {
        assert_eq!(differences(seed, 127), (0.0, 0), "seed {seed}");
    }
}

/// A record stands for a 128th of the flight, and so do three segments acknowledged at once.
#[test]
fn the_departures_of_large_flights_are_known_to_two_percent() {
    for seed in 0..10 {
        let (flight, losses) = differences(seed, 20_000);
        println!("{flight}, {losses}");
        assert!(flight < 0.02, "seed {seed}: {flight}");
        // 160 segments, of which one in a hundred is lost.
        assert!(losses < 20, "seed {seed}: {losses}");
    }
}
