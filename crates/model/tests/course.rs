//! Rates and round-trip times over the course of a run.

use l4s_scenario::Plan;
use l4s_units::{Duration, Rate, Time};

#[test]
fn what_changes_holds_from_its_time_on() {
    let text = "duration = \"10s\"\nwarmup = \"2s\"\nlink.rate = \"40mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[at]]\ntime = \"6s\"\nlink.rate = \"20mbit\"\ngroup.A.rtt = \"50ms\"\n\
                [[at]]\ntime = \"1s\"\nlink.rate = \"10mbit\"\naqm = \"codel\"";
    let scenario = &Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario;
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let rates = [0, 999, 1000, 5999, 6000].map(|ms| scenario.rate_at(at(ms)));
    assert_eq!(rates, [40, 40, 10, 10, 20].map(Rate::from_mbps));
    let rtts = [5999, 6000].map(|ms| scenario.rtt_at(0, at(ms)));
    assert_eq!(rtts, [10, 50].map(Duration::from_millis));
    assert_eq!(scenario.aqms().map(|aqm| aqm.kind()).collect::<Vec<_>>(), ["dualpi2", "codel"]);
    // 4 s of 10 Mb/s and 4 s of 20 Mb/s; the warm-up does not count.
    assert_eq!(scenario.mean_rate_bps(), 15e6);
}

/// A session of unknown length has changes beyond its end.
#[test]
fn changes_after_the_end_have_no_part_in_the_mean_rate() {
    let text = "duration = \"10s\"\nwarmup = \"0s\"\nlink.rate = \"10mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[at]]\ntime = \"4s\"\nlink.rate = \"20mbit\"\n[[at]]\ntime = \"8s\"\nlink.rate = \"90mbit\"";
    let mut scenario =
        l4s_scenario::Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario.clone();
    // (4 · 10 + 4 · 20 + 2 · 90) / 10.
    assert_eq!(scenario.mean_rate_bps(), 30e6);
    scenario.duration = l4s_units::Duration::from_secs(5);
    // (4 · 10 + 20) / 5.
    assert_eq!(scenario.mean_rate_bps(), 12e6);
}

#[test]
fn the_uplink_has_rates_of_its_own() {
    let text = "duration = \"10s\"\nwarmup = \"0s\"\nlink.rate = \"40mbit\"\nuplink.rate = \"8mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"up\"\ndirection = \"up\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[at]]\ntime = \"5s\"\nuplink.rate = \"2mbit\"";
    let scenario = &Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario;
    let course = scenario.course();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let rates = [0, 4999, 5000].map(|ms| course.uplink_rate_at(at(ms)));
    assert_eq!(rates, [8, 8, 2].map(|mbps| Some(Rate::from_mbps(mbps))));
    assert_eq!(course.rate_at(at(5000)), Rate::from_mbps(40));
    // 5 s each of 8 and 2 Mb/s.
    assert_eq!((scenario.mean_uplink_bps(), scenario.mean_rate_bps()), (Some(5e6), 40e6));
    assert_eq!((scenario.mean_rate_of(0), scenario.mean_rate_of(1)), (40e6, 5e6));
    assert_eq!(
        (scenario.fastest(), scenario.fastest_up()),
        (Rate::from_mbps(40), Rate::from_mbps(8))
    );
}
