//! Nothing is allocated per packet after the longest queue was reached.

use l4s_lab::{End, FIRST_PORT, Frame, Plane};
use l4s_scenario::bundled;
use l4s_units::{Duration, Time};

/// Sends `packets` data packets and as many ACKs, 500 us apart on a link of 40 Mb/s.
fn play(plane: &mut Plane, packets: u32, now: &mut Time) {
    let mut data = Vec::with_capacity(2048);
    let port = FIRST_PORT;
    let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64);
    builder.tcp(5001, port, 0, 0).write(&mut data, &[0; 1448]).unwrap();
    let mut ack = Vec::with_capacity(64);
    let builder = etherparse::PacketBuilder::ipv4([10, 0, 1, 1], [10, 0, 0, 1], 64);
    builder.tcp(port, 5001, 0, 0).write(&mut ack, &[]).unwrap();
    let mut delivered = 0u64;
    for n in 0..packets {
        // Bursts, so that queues grow and empty.
        *now += Duration::from_micros(if n % 100 == 0 { 50_000 } else { 10 });
        for (from, packet) in [(End::Server, &data), (End::Client, &ack)] {
            let mut buffer = plane.buffer();
            let end = Frame::put(&mut buffer, packet);
            plane.receive(0, from, buffer, end, *now, &mut (), &mut |d| {
                delivered += d.bytes.len() as u64;
                true
            });
        }
    }
    assert!(delivered > 0);
}

#[test]
fn no_allocation_per_packet() {
    let plan = bundled::find("one-against-one").unwrap().plan(&[]).unwrap();
    let mut plane = Plane::new(&plan.points[0].scenario);
    let mut now = Time::ZERO;
    play(&mut plane, 2_000, &mut now);
    let few = allocation_counter::measure(|| play(&mut plane, 1_000, &mut now));
    let many = allocation_counter::measure(|| play(&mut plane, 20_000, &mut now));
    // The allocations of the test itself for its two packets.
    assert_eq!(many.count_total, few.count_total);
}
