//! The changes to which a live run can switch.

use l4s_model::{Change, Loss, Scenario};
use l4s_scenario::Plan;
use l4s_units::Time;

const BASE: &str = "duration = \"10s\"\nlink.rate = \"40mbit\"\n\
    [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n\
    [[web]]\ngroup = \"A\"\nrate = \"1/s\"\n\
    [[app]]\ngroup = \"A\"\nrate = \"1mbit\"\n\
    [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";

fn with(more: &str, set: &str) -> Scenario {
    let set: Vec<String> = set.split_whitespace().map(str::to_owned).collect();
    let text = format!("{BASE}{more}");
    Plan::parse("t.toml", &text, &set).unwrap().points[0].scenario.clone()
}

#[test]
fn traffic_link_and_discipline_may_change_and_what_the_engine_knows_beforehand_may_not() {
    for set in [
        "link.rate=10mbit link.buffer=50ms aqm=pie duration=20s warmup=1s name=x",
        "group.A.cc=cubic group.A.ecn=classic group.A.flows=7 group.A.rtt=20ms group.A.size=1mb",
        "web.A.rate=9/s web.A.size=10kb app.A.rate=2mbit app.A.fps=10 app.A.adapt=true",
        "udp.U.rate=2mbit udp.U.ecn=ect1 udp.U.packet=100b",
    ] {
        assert!(with("", "").adaptable(&with("", set)), "{set}");
    }
    for set in [
        "seed=2",
        "link.burst=0b",
        "link.ack_loss=0.1",
        "app.A.flows=2",
        "group.A.name=B",
        "udp.U.start=1s",
    ] {
        let text = BASE.replace("\"A\"", if set.ends_with("=B") { "\"B\"" } else { "\"A\"" });
        let sets: Vec<String> = if set.ends_with("=B") { vec![] } else { vec![set.to_owned()] };
        let new = Plan::parse("t.toml", &text, &sets).unwrap().points[0].scenario.clone();
        assert!(!with("", "").adaptable(&new), "{set}");
    }
    let one_less = Plan::parse("t.toml", BASE.split("[[udp]]").next().unwrap(), &[]).unwrap();
    assert!(!with("", "").adaptable(&one_less.points[0].scenario));
}

#[test]
fn behind_further_links_only_the_bottleneck_and_paths_change() {
    let hop = "[[hop]]\nname = \"H\"\nrate = \"100mbit\"\n";
    let may = |set| with(hop, "").adaptable(&with(hop, set));
    assert!(may("link.rate=10mbit aqm=pie group.A.rtt=20ms"));
    assert!(!may("group.A.flows=2") && !may("hop.H.rate=50mbit") && !may("udp.U.rate=2mbit"));
}

#[test]
fn an_uplink_changes_as_the_bottleneck_and_cannot_come_or_go() {
    let uplink = "[uplink]\nrate = \"5mbit\"\n";
    let may = |set| with(uplink, "").adaptable(&with(uplink, set));
    assert!(may("uplink.rate=10mbit uplink.buffer=50ms uplink.aqm=fifo group.A.flows=2"));
    for set in ["uplink.burst=0b", "uplink.aggregation=1ms", "group.A.direction=up"] {
        assert!(!may(set), "{set}");
    }
    assert!(
        !with("", "").adaptable(&with(uplink, "")) && !with(uplink, "").adaptable(&with("", ""))
    );
    let (old, new) = (with(uplink, ""), with(uplink, "uplink.rate=10mbit"));
    let change = Change::between(&old, &new, Time::ZERO);
    assert_eq!(change, Change { uplink_rate: Some(new.fastest_up()), ..Change::at(Time::ZERO) });
}

#[test]
fn stretches_change_their_loss_and_jitter() {
    let path = "[[path]]\nname = \"far\"\nloss = 0.01\n[[hop]]\nname = \"H\"\nrate = \"100mbit\"\n";
    let (old, new) = (with(path, ""), with(path, "path.far.loss=0.1 path.far.jitter=2ms"));
    assert!(old.adaptable(&new));
    let [(0, change)] = &Change::between(&old, &new, Time::ZERO).paths[..] else { panic!("one") };
    assert_eq!(change.loss, Some(Loss::Independent(0.1)));
    assert_eq!(change.jitter, Some(new.paths[0].jitter));
    assert!(Change::between(&new, &new, Time::ZERO).paths.is_empty());
    for set in ["path.far.corrupt=0.1", "path.far.place=before", "path.far.name=near"] {
        assert!(!old.adaptable(&with(path, set)), "{set}");
    }
    assert!(!with("", "").adaptable(&with("[[path]]\nname = \"far\"\nloss = 0\n", "")));
}

#[test]
fn connections_stay_open_where_only_their_round_trip_and_number_change() {
    let keeps = |set| with("", "").groups[0].keeps_connections(&with("", set).groups[0]);
    assert!(keeps("group.A.flows=7 group.A.rtt=20ms link.rate=10mbit"));
    for set in
        ["group.A.cc=cubic", "group.A.size=1mb", "group.A.ecn=classic", "group.A.sndbuf=64kb"]
    {
        assert!(!keeps(set), "{set}");
    }
}
