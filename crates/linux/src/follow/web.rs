//! Downloads, and disciplines that take each other's place.

use super::*;
use l4s_scenario::Plan;
use l4s_units::Duration;

/// A link with downloads, whose discipline changes at 5 s.
fn follower() -> (Follower, u32) {
    let text = "duration = \"10s\"\nlink.rate = \"40mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[web]]\ngroup = \"B\"\nrate = \"10000/s\"\n\
                [[at]]\ntime = \"5s\"\naqm = \"codel\"\n";
    let scenario = &Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario;
    (Follower::new(scenario), scenario.roster().downloads().start.get())
}

/// The headers of a segment without payload to flow `flow` of pair `pair`, as ECT(1).
fn segment(pair: u8, flow: u32, number: u16) -> Vec<u8> {
    let [host, port] = [flow / 55_536 + 1, flow % 55_536 + 10_000];
    let mut bytes = vec![0x45, 1, 0, 40];
    bytes.extend(number.to_be_bytes());
    bytes.extend([0, 0, 64, 6, 0, 0, 10, pair, 0, 1, 10, pair, host as u8, 1]);
    bytes.extend(5001u16.to_be_bytes());
    bytes.extend((port as u16).to_be_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

#[derive(Debug, PartialEq)]
enum Event {
    Departed(u32, u16, Queue, Duration),
    Dropped(u32, Queue, Time),
}

#[derive(Default)]
struct Log(Vec<Event>);

impl Observer<Frame> for Log {
    fn departed(&mut self, packet: &Frame, queue: Queue, sojourn: Duration, _: Time) {
        self.0.push(Event::Departed(packet.flow().get(), packet.group().get(), queue, sojourn));
    }
    fn dropped(&mut self, packet: &Frame, queue: Queue, _: DropCause, now: Time) {
        self.0.push(Event::Dropped(packet.flow().get(), queue, now));
    }
}

#[test]
fn a_packet_is_of_the_download_that_its_address_and_port_tell() {
    let (mut follower, first) = follower();
    let mut log = Log::default();
    // Beyond the ports of one address.
    for flow in [first, first + 80_000] {
        let bytes = segment(1, flow, 1);
        follower.arrived(End::Server, Passed { at: at(1), pair: 1, bytes: &bytes }, &mut log);
        follower.departed(Direction::Down, Passed { at: at(4), pair: 0, bytes: &bytes }, &mut log);
    }
    let us = Duration::from_micros;
    let expected = [first, first + 80_000].map(|flow| Event::Departed(flow, 1, Queue::L, us(3)));
    assert_eq!(log.0, expected);
    assert!(follower.link.waiting.is_empty(), "nothing is kept of them");
    assert_eq!(follower.counts(Direction::Down).stray, 0);
}

#[test]
fn what_waits_is_dropped_with_its_discipline() {
    let (mut follower, first) = follower();
    let mut log = Log::default();
    let segments = [segment(0, 0, 1), segment(1, first, 1), segment(0, 0, 2)];
    let pair = [0, 1, 0];
    let began = at(5_000_000);
    for (n, bytes) in segments.iter().enumerate().take(2) {
        follower.arrived(
            End::Server,
            Passed { at: at(10 + n as u64), pair: pair[n], bytes },
            &mut log,
        );
    }
    // In the moment that it takes: before, or after? It will leave.
    follower.arrived(End::Server, Passed { at: began, pair: 0, bytes: &segments[2] }, &mut log);
    follower.replaced(Direction::Down, began, &mut log);
    assert_eq!(log.0, [Event::Dropped(0, Queue::L, began), Event::Dropped(first, Queue::L, began)]);
    log.0.clear();
    follower.departed(
        Direction::Down,
        Passed { at: at(5_000_007), pair: 0, bytes: &segments[2] },
        &mut log,
    );
    assert_eq!(log.0, [Event::Departed(0, 0, Queue::Q, Duration::from_micros(7))]);
    assert_eq!(
        (follower.counts(Direction::Down).dropped, follower.counts(Direction::Down).left_over()),
        (2, 0)
    );
    assert_eq!(follower.counts(Direction::Down).unknown, 0);
}
