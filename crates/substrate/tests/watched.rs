//! A run of the simulator with a watch.

use std::ops::ControlFlow;

use l4s_aqm::Queue;
use l4s_model::{Group, Hop, Link, Per, Scenario, Side};
use l4s_observe::{Observer, Traced};
use l4s_substrate::{Programs, Ran, Sim, Substrate, to_the_end};
use l4s_units::{Bytes, Duration, Rate, Time};

/// The time at which each packet left the bottleneck, and its delay; and the number of ends of the run.
#[derive(PartialEq, Debug, Default)]
struct Departures {
    packets: Vec<(Time, Duration)>,
    ends: usize,
}

impl<P: Traced> Observer<P> for Departures {
    fn departed(&mut self, _: &P, _: Queue, sojourn: Duration, now: Time) {
        self.packets.push((now, sojourn));
    }

    fn straddled(&mut self, _: Option<u16>, _: Bytes, _: Bytes) {
        self.ends += 1;
    }
}

/// Two flows of Reno for 3 s.
fn scenario() -> Scenario {
    let fifo = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
    let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
    let groups = ["A", "B"].map(|name| Group::new(name, reno.clone(), Duration::from_millis(9)));
    let (duration, link) = (Duration::from_secs(3), Link::new(Rate::from_mbps(8)));
    Scenario { groups: groups.into(), ..Scenario::new("two", duration, link, fifo) }
}

#[test]
fn a_watched_run_reports_its_progress_and_has_the_same_events() {
    let (mut alone, mut watched) = (Departures::default(), Departures::default());
    let ran = Sim.run(&scenario(), &Programs::default(), &mut alone, &mut to_the_end).unwrap();
    let mut times = Vec::new();
    let watched_ran = Sim.run(&scenario(), &Programs::default(), &mut watched, &mut |now| {
        times.push(now);
        // A slow watch does not slow the run down: the number of calls is the same.
        std::thread::sleep(std::time::Duration::from_millis(50));
        ControlFlow::Continue(())
    });
    assert_eq!(watched_ran.unwrap(), ran);
    assert_eq!(watched, alone);
    assert_eq!((alone.ends, ran.time), (1, Duration::from_secs(3)));
    assert!(times.len() > 1 && times.is_sorted_by(|a, b| a < b), "{times:?}");
    assert_eq!(times.last(), Some(&(Time::ZERO + ran.time)));
}

#[test]
fn a_large_run_with_many_flows_or_a_queue_behind_the_bottleneck_takes_a_second_core() {
    let mut large = scenario();
    let sides = |side| {
        let link = Link::new(Rate::from_mbps(900));
        let (aqm, name) = (large.aqm.clone(), "access".into());
        Hop { name, side, link, aqm, sources: vec![0, 1], per: Per::All }
    };
    let (behind, before) = (sides(Side::Behind), sides(Side::Before));
    large.link = Link::new(Rate::from_mbps(3000));
    large.duration = Duration::from_millis(300);
    let on_two = |scenario: &Scenario| {
        let mut observer = Departures::default();
        Sim.simulate_on_two_cores(scenario, &mut observer).map(|ran| (ran, observer))
    };
    let is_that_of_one = |scenario: &Scenario, (ran, two): (Ran, Departures)| {
        let mut one = Departures::default();
        assert_eq!(Sim.simulate(scenario, &mut one, &mut to_the_end), ran);
        assert!(one == two && one.packets.len() > 1000, "{}", one.packets.len());
    };
    // At first there are few flows and no queue behind the bottleneck, in the end that is slow.
    large.hops = vec![before];
    assert_eq!(on_two(&large), None);
    large.hops.push(behind);
    is_that_of_one(&large, on_two(&large).unwrap());
    large.hops.clear();
    large.groups[0].starts = vec![Time::ZERO; 2000];
    is_that_of_one(&large, on_two(&large).unwrap());
    // Whether this has a second core depends on how far the cores are from each other.
    large.groups[0].starts.truncate(100);
    if let Some(two) = on_two(&large) {
        is_that_of_one(&large, two);
    }
    large.link = Link::new(Rate::from_mbps(80));
    assert_eq!(on_two(&large), None);
}

#[test]
fn a_watch_ends_a_run_at_its_present_time() {
    let (mut whole, mut ended) = (Departures::default(), Departures::default());
    let all = Sim.run(&scenario(), &Programs::default(), &mut whole, &mut to_the_end).unwrap();
    let mut last = Time::ZERO;
    let ran = Sim.run(&scenario(), &Programs::default(), &mut ended, &mut |now| {
        last = now;
        match now < Time::ZERO + Duration::from_millis(100) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    let ran = ran.unwrap();
    assert_eq!(Time::ZERO + ran.time, last);
    assert!(ran.time < all.time && 0 < ran.packets && ran.packets < all.packets, "{ran:?}");
    assert_eq!(ended.packets, whole.packets[..ended.packets.len()]);
    assert_eq!(ended.ends, 1);
}
