//! The laws of the control.

use l4s_cc::bbr3::Mode;

use super::watched::*;
use crate::common::{group, mbps, scenario, summary_of};

/// At 1 Gb/s nothing limits the first round trips but startup: the delivery rate doubles in each.
#[test]
fn startup_doubles_its_rate_in_each_round_trip() {
    let mut run = Run::bulk(&["link.rate=1gbit", "group.A.rtt=50ms", "link.buffer=10000p"]);
    run.until_it_leaves(Mode::Startup);
    let mut rates: Vec<f64> = Vec::new();
    let steps = run.steps();
    for round in 1..=6 {
        let last =
            steps.iter().rfind(|step| step.model.round_count == round).expect("a round trip");
        rates.push(last.model.max_bw.as_bps() as f64 / 1e6);
    }
    println!("{rates:.1?}");
    for pair in rates[1..].windows(2) {
        let growth = pair[1] / pair[0];
        assert!((1.7..2.5).contains(&growth), "{growth} in {rates:?}");
    }
    let mean = (rates[5] / rates[1]).powf(0.25);
    assert!((1.9..2.2).contains(&mean), "{mean}");
}

/// A buffer of a tenth of a product cannot hold startup's.
#[test]
fn losses_end_startup_and_bound_the_flight() {
    let mut run = Run::bulk(&["link.rate=200mbit", "link.buffer=33p"]);
    let left = run.until_it_leaves(Mode::Startup);
    let bound = left.model.inflight_longterm.expect("a bound");
    println!("bound {bound}, product {}, count {}", left.model.bdp, left.model.full_bw_count);
    assert!(bound >= left.model.bdp);
    assert!(bound <= 2 * left.model.bdp);
}

#[test]
fn the_phases_follow_each_other() {
    let mut run = Run::bulk(&[]);
    run.go_on(SECOND * 30);
    let modes: Vec<Mode> = phases(&run.steps()).iter().map(|step| step.mode).collect();
    assert_eq!(modes[..2], [Mode::Startup, Mode::Drain]);
    assert!(begins_cycle(modes[2]), "{:?}", modes[2]);
    for pair in modes[2..].windows(2) {
        let expected: &[Mode] = match pair[0] {
            DOWN => &[CRUISE, REFILL],
            CRUISE => &[REFILL],
            REFILL => &[UP],
            UP => &[DOWN],
            // The flight is small already.
            _ => &[CRUISE],
        };
        assert!(expected.contains(&pair[1]) || pair[1] == Mode::ProbeRtt, "{pair:?}");
    }
    let probes = modes.iter().filter(|mode| **mode == UP).count();
    // 63 round trips of 20 ms are 1.3 s, and a probe takes four or five more.
    println!("{probes} probes in 30 s");
    assert!((12..=24).contains(&probes), "{probes}");
}

/// Every five seconds, for 200 ms and a round trip, with half a product in flight. Without the jitter of
/// hosts no RTT is lower by chance, which would put it off.
#[test]
fn the_round_trip_is_measured_every_five_seconds_with_half_a_window() {
    let mut run = Run::bulk(&["host_jitter=false"]);
    run.go_on(SECOND * 41);
    let steps = run.steps();
    let probes: Vec<Step> =
        phases(&steps).into_iter().filter(|step| step.mode == Mode::ProbeRtt).collect();
    assert_eq!(probes.len(), 7, "in 41 s");
    for pair in probes.windows(2) {
        // From the end of one, which takes 200 ms and two or three round trips, to the begin of the next.
        let apart = pair[1].at.since(pair[0].at).as_secs_f64();
        assert!((5.2..5.4).contains(&apart), "{apart} s");
    }
    let probing: Vec<&Step> = steps.iter().filter(|step| step.mode == Mode::ProbeRtt).collect();
    let most = probing.iter().map(|step| step.cwnd * 2).max().expect("steps");
    assert!(probing.iter().all(|step| step.cwnd * 2 <= step.model.bdp + 2), "{most}");
    let summary = summary_of(&scenario(ALONE, &[]));
    let delay = summary.queues[0].delay_ms.expect("delays");
    println!("{:.3} of the link, {delay:?}", summary.link.utilization);
    assert!(summary.link.utilization > 0.96, "{}", summary.link.utilization);
    assert!(delay.mean < 0.2 * RTT.as_secs_f64() * 1e3, "{delay:?}");
    assert_eq!(group(&summary, "A").drop, Some(0.0));
}

/// The reason for BBR: Cubic takes each loss of one in a hundred for congestion.
#[test]
fn random_losses_of_a_hundredth_do_not_slow_it_down() {
    let lossy = |cc: &str| {
        let cc = format!("group.A.cc={cc}");
        summary_of(&scenario(ALONE, &["path.far.loss=0.01", &cc])).link.utilization
    };
    let (bbr, cubic) = (lossy("bbr3"), lossy("cubic"));
    println!("{bbr:.2} of the link, Cubic {cubic:.2}");
    assert!(bbr > 0.8, "{bbr}");
    assert!(cubic < 0.4, "{cubic}");
}

/// A buffer of 4 ms at a round trip of 20 ms: version 1 overflows it with every cycle.
#[test]
fn a_shallow_buffer_loses_far_less_than_with_version_1() {
    for buffer in ["4ms", "10ms"] {
        let lost = |cc: &str| {
            let two = format!("{ALONE}\n[[group]]\nname = \"B\"\ncc = \"{cc}\"\nrtt = \"20ms\"\n");
            let set = [&*format!("group.A.cc={cc}"), &*format!("link.buffer={buffer}")];
            let summary = summary_of(&scenario(&two, &set));
            let drop = |name: &str| group(&summary, name).drop.expect("packets");
            ((drop("A") + drop("B")) / 2.0, summary.link.utilization)
        };
        let (new, old) = (lost("bbr3"), lost("bbr"));
        println!(
            "{buffer}: {:.3} % at {:.3}, version 1 {:.3} % at {:.3}",
            new.0 * 100.0,
            new.1,
            old.0 * 100.0,
            old.1
        );
        assert!(new.0 * 4.0 < old.0, "{new:?} {old:?}");
        assert!(new.0 < 0.02, "{new:?}");
        assert!(new.1 > 0.9, "{new:?}");
    }
}

/// Version 1 leaves Cubic a sixth where the buffer is as long as a round trip or shorter. Where it is longer,
/// a window of two products is a smaller part of it, and either version has a fair part.
#[test]
fn cubic_and_reno_have_a_quarter_at_least_beside_it() {
    for other in ["cubic", "reno"] {
        for buffer in ["10ms", "20ms", "80ms"] {
            let share = |cc: &str| {
                let beside =
                    format!("{ALONE}\n[[group]]\nname = \"B\"\ncc = \"{other}\"\nrtt = \"20ms\"\n");
                let cc = format!("group.A.cc={cc}");
                let set = [&*format!("link.buffer={buffer}"), "duration=80s", "warmup=20s", &*cc];
                let summary = summary_of(&scenario(&beside, &set));
                mbps(&summary, "B") / (mbps(&summary, "A") + mbps(&summary, "B"))
            };
            let (new, old) = (share("bbr3"), share("bbr"));
            println!("{other} has {new:.2} of {buffer}, beside version 1 {old:.2}");
            assert!((0.25..0.67).contains(&new), "{new}");
            assert!(buffer == "80ms" || new > old * 1.5, "{new} {old}");
        }
    }
}

#[test]
fn flows_share_a_link() {
    let two = format!("{ALONE}\n[[group]]\nname = \"B\"\ncc = \"bbr3\"\nrtt = \"20ms\"\n");
    let summary = summary_of(&scenario(&two, &["duration=80s", "warmup=20s"]));
    let ratio = mbps(&summary, "A") / mbps(&summary, "B");
    println!("{ratio:.2}");
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}
