//! Links that are radios, with TCP over them.

use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
use l4s_scenario::Plan;

fn summary(text: &str, set: &[&str]) -> Summary {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let plan = Plan::parse("t.toml", text, &set).unwrap_or_else(|e| panic!("{e}"));
    let scenario = &plan.points[0].scenario;
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default()).summary
}

const GROUP: &str = "[[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n";

/// A flow behind a long FIFO.
fn filled(link: &str) -> String {
    format!(
        "duration = \"20s\"\nwarmup = \"5s\"\naqm = \"fifo\"\n{link}\nbuffer = \"500p\"\n{GROUP}"
    )
}

#[test]
fn a_queue_that_never_runs_empty_uses_the_rate_of_the_radio() {
    for radio in [
        "wifi = { standard = \"n\", mcs = 3 }",
        "wifi = { standard = \"ac\", width = 20, mcs = 5, stations = 1 }",
        "wifi = { standard = \"ax\", width = 20, streams = 1, mcs = 2, airtime = \"1ms\", loss = 0.05 }",
        "cell = { layers = 1, loss = 0.0 }",
        "cell = { layers = 1, loss = 0.2, pattern = \"fdd\", spacing = 15 }",
    ] {
        let used = summary(&filled(&format!("[link]\n{radio}")), &[]).link.utilization;
        assert!((0.98..=1.0).contains(&used), "{radio}: {used}");
    }
}

/// Every MPDU that was given up is retransmitted by TCP, and counts as a drop of the radio.
#[test]
fn packets_that_wifi_gave_up_are_drops() {
    let text = filled("[link]\nwifi = { standard = \"n\", width = 20, streams = 1, loss = 0.4 }");
    let queue = &summary(&text, &[]).queues[0];
    // 0.4⁷ of the packets.
    let share = queue.drops.radio.unwrap_or(0) as f64 / queue.packets as f64;
    assert!((0.0004..0.004).contains(&share), "{share}");
    // They were forwarded, too.
    let of_others = queue.drops.aqm + queue.drops.limit;
    let dropped = queue.drops.radio.unwrap_or(0) + of_others;
    assert_eq!(queue.drop, Some(dropped as f64 / (queue.packets + of_others) as f64));
    let text = filled("[link]\nwifi = { standard = \"n\", width = 20, streams = 1, loss = 0.05 }");
    assert_eq!(summary(&text, &[]).queues[0].drops.radio, None);
}

#[test]
fn an_uplink_and_a_hop_may_be_radios() {
    let text = format!(
        "duration = \"10s\"\nwarmup = \"2s\"\nlink.rate = \"100mbit\"\naqm = \"dualpi2\"\n\
         uplink.cell = {{ bandwidth = 10, layers = 1 }}\n\
         [[group]]\nname = \"U\"\ncc = \"prague\"\nrtt = \"10ms\"\ndirection = \"up\"\n{GROUP}\
         [[hop]]\nname = \"home\"\nplace = \"behind\"\ngroups = [\"A\"]\n\
         wifi = {{ standard = \"ac\", width = 20, streams = 1, mcs = 5 }}\n"
    );
    let found = summary(&text, &[]);
    let used: Vec<f64> = found.hops.iter().map(|hop| hop.utilization.unwrap()).collect();
    // The uplink has 7 Mb/s. Prague sees its packets wait for grants, and uses a part of it.
    assert_eq!(found.hops.len(), 2);
    assert!(used.iter().all(|used| (0.3..=1.0).contains(used)), "{used:?}");
    assert!(found.groups.iter().all(|group| group.rate_bps > 1e6), "{:?}", found.groups);
}

#[test]
fn a_seed_repeats() {
    for radio in ["wifi = { stations = 2, loss = 0.1 }", "cell = { loss = 0.2 }"] {
        let text = filled(&format!("[link]\n{radio}")).replace("20s", "6s");
        let [one, two, other] = ["1", "1", "2"].map(|seed| {
            let found = summary(&text, &[&format!("seed={seed}")]);
            (found.link.utilization, found.queues, found.groups)
        });
        assert_eq!(one, two);
        assert_ne!(one, other);
    }
}
