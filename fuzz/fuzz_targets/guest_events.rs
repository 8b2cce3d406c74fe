//! Whatever a guest writes down, this side does not panic, reads no record twice, and loses no
//! packet that it counted.
#![no_main]

use std::sync::LazyLock;

use l4s_lab::Frame;
use l4s_linux::{Event, Follower};
use l4s_model::{Direction, Scenario};
use l4s_observe::Observer;
use l4s_scenario::Plan;
use libfuzzer_sys::fuzz_target;

static SCENARIO: LazyLock<Scenario> = LazyLock::new(|| {
    let text = "duration = \"1s\"\nlink.rate = \"10mbit\"\nuplink.rate = \"2mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"1ms\"\nflows = 3\n\
                [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
    let plan = Plan::parse("fuzz", text, &[]).expect("a scenario");
    plan.points[0].scenario.clone()
});

struct Nobody;

impl Observer<Frame> for Nobody {}

fuzz_target!(|bytes: &[u8]| {
    let mut follower = Follower::new(&SCENARIO);
    let mut rest = bytes;
    while let Ok(Some((event, length))) = Event::read(rest) {
        assert!(length > 4 && length <= rest.len());
        rest = &rest[length..];
        match event {
            Event::Arrived(from, packet) => follower.arrived(from, packet, &mut Nobody),
            Event::Departed(link, packet) => follower.departed(link, packet, &mut Nobody),
            Event::Answered(packet) => follower.answered(packet, &mut Nobody),
            _ => {}
        }
    }
    for link in [Direction::Down, Direction::Up] {
        let counts = follower.counts(link);
        assert!(counts.arrived >= counts.departed + counts.dropped, "{link:?}: {counts:?}");
    }
});
