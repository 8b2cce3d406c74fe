//! The memory of a run is estimated in advance, and the estimate is never too low.

use l4s_model::Scenario;
use l4s_scenario::{Plan, bundled, disciplines};
use l4s_sim::Simulation;
use l4s_sim::cost::Cost;
use l4s_units::{Duration, Time};
use proptest::prelude::*;

/// The most bytes that a run has allocated at a time.
fn measured(scenario: &Scenario) -> u64 {
    let info = allocation_counter::measure(|| {
        l4s_sim::run(scenario, &mut ());
    });
    info.bytes_max
}

fn counted(scenario: &Scenario) -> u64 {
    Cost::of(scenario, None).bytes()
}

fn scenario(text: &str) -> Scenario {
    match Plan::parse("t.toml", text, &[]) {
        Ok(plan) => plan.points.into_iter().next().unwrap().scenario,
        Err(faults) => panic!("{faults}\n{text}"),
    }
}

fn discipline() -> impl Strategy<Value = String> {
    let all = disciplines().into_iter().map(|described| described.kind);
    let plain: Vec<_> = all.filter(|kind| *kind != "fq_codel").collect();
    prop_oneof![
        prop::sample::select(plain).prop_map(|kind| format!("aqm = \"{kind}\"")),
        (1u32..=65_536)
            .prop_map(|flows| format!("aqm = {{ kind = \"fq_codel\", flows = {flows} }}")),
    ]
}

fn buffer() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        (50u32..50_000).prop_map(|packets| format!("buffer = \"{packets}p\"\n")),
        (20u32..20_000).prop_map(|kb| format!("buffer = \"{kb}kb\"\n")),
        (100u32..1000).prop_map(|ms| format!("buffer = \"{ms}ms\"\n")),
    ]
}

fn group() -> impl Strategy<Value = String> {
    let cc = prop::sample::select(vec!["reno", "cubic", "dctcp", "prague", "bbr", "bbr3"]);
    let size = prop_oneof![
        Just(String::new()),
        (1u32..3000).prop_map(|kb| format!("size = \"{kb}kb\"\n")),
    ];
    (cc, 1u32..40, 1u32..300, size).prop_map(|(cc, flows, rtt, size)| {
        format!("cc = \"{cc}\"\nflows = {flows}\nrtt = \"{rtt}ms\"\n{size}")
    })
}

prop_compose! {
    /// A scenario with every kind of table.
    fn any_scenario()(
        (ms, rate, discipline_, buffer_) in (200u32..3000, 1u32..300, discipline(), buffer()),
        burst in prop_oneof![Just(String::new()), (1u32..2000).prop_map(|kb| format!("burst = \"{kb}kb\"\n"))],
        air in prop_oneof![Just(String::new()), (1u32..50).prop_map(|ms| format!("aggregation = \"{ms}ms\"\n"))],
        groups in prop::collection::vec(group(), 1..4),
        web in prop::option::of((1u32..2000, 1u32..200)),
        app in prop::option::of((1u32..50_000, 1u32..500, 1u32..8)),
        udp in prop::option::of((1u32..200, 64u32..1500)),
        hops in prop::collection::vec((1u32..400, discipline(), buffer(), any::<bool>(), 0usize..3), 0..3),
        paths in prop::collection::vec((0u32..300, 0u32..20, any::<[bool; 3]>()), 0..3),
        later in prop::option::of((discipline(), 1u32..600)),
    ) -> String {
        let mut text = format!("duration = \"{ms}ms\"\nwarmup = \"0s\"\n{discipline_}\n[link]\nrate = \"{rate}mbit\"\n{buffer_}{burst}{air}");
        for (n, group) in groups.iter().enumerate() {
            text += &format!("[[group]]\nname = \"G{n}\"\n{group}");
        }
        if let Some((rate, kb)) = web {
            text += &format!("[[web]]\ngroup = \"G0\"\nrate = \"{rate}/s\"\nsize = \"{kb}kb\"\n");
        }
        if let Some((kbit, fps, flows)) = app {
            text += &format!("[[app]]\ngroup = \"G0\"\nrate = \"{kbit}kbit\"\nfps = {fps}\nflows = {flows}\n");
        }
        if let Some((mbit, size)) = udp {
            text += &format!("[[udp]]\nname = \"U\"\nrate = \"{mbit}mbit\"\npacket = \"{size}b\"\n");
        }
        for (n, (jitter, duplicate, [up, behind, reordering])) in paths.iter().enumerate() {
            let (direction, place) = (["down", "up"][usize::from(*up)], ["before", "behind"][usize::from(*behind)]);
            text += &format!(
                "[[path]]\nname = \"P{n}\"\ndirection = \"{direction}\"\nplace = \"{place}\"\n\
                 duplicate = 0.{duplicate:02}\njitter = {{ mean = \"{jitter}ms\", distribution = \"exponential\", \
                 reordering = {reordering} }}\n"
            );
        }
        for (n, (rate, discipline, buffer, behind, per)) in hops.iter().enumerate() {
            let per = ["all", "group", if web.is_some() { "group" } else { "flow" }][*per];
            let place = if *behind { "behind" } else { "before" };
            text += &format!("[[hop]]\nname = \"H{n}\"\nplace = \"{place}\"\nper = \"{per}\"\nrate = \"{rate}mbit\"\n{buffer}{discipline}\n");
        }
        if let Some((discipline, rate)) = later {
            text += &format!("[[at]]\ntime = \"150ms\"\nlink.rate = \"{rate}mbit\"\n{discipline}\n");
        }
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn a_run_takes_no_more_than_was_counted(text in any_scenario()) {
        let scenario = scenario(&text);
        let (counted, measured) = (counted(&scenario), measured(&scenario));
        prop_assert!(measured <= counted, "{measured} B, counted {counted} B\n{text}");
    }
}

#[test]
fn bundled_scenarios_count_as_what_they_are() {
    for bundled in bundled::ALL {
        let plan = bundled.plan(&[]).unwrap();
        let scenario = &plan.points[0].scenario;
        let cost = Cost::of(scenario, None);
        assert!(cost.bytes() < 500_000_000, "{}: {}", bundled.name, cost.largest().unwrap());
    }
}

#[test]
fn a_count_is_said_as_arithmetic_and_cannot_overflow() {
    let mut text = "link.rate = \"10mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 100\nrtt = \"10ms\"\n".to_owned();
    for n in 0..100 {
        text += &format!(
            "[[hop]]\nname = \"H{n}\"\nrate = \"1gbit\"\nper = \"flow\"\naqm = {{ kind = \"fq_codel\", flows = 65536 }}\n"
        );
    }
    let cost = Cost::of(&scenario(&text), None);
    let said = cost.largest().unwrap().to_string();
    assert!(said.starts_with("100 hops × 100 links × 65,536 queues × "), "{said}");
    assert!(said.ends_with(" GB") && cost.bytes() > 20_000_000_000, "{said}");

    let huge = "duration = \"86400s\"\nlink = { rate = \"1tbit\", buffer = \"100000000p\", burst = \"100mb\" }\n\
        [[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 100000\nrtt = \"60s\"\n";
    assert!(Cost::of(&scenario(huge), None).bytes() > 1_000_000_000);
}

/// Only the limits bound the estimate of a run without an end.
#[test]
fn a_run_without_an_end_takes_no_more_than_its_buffers() {
    let live = bundled::find("live").unwrap().plan(&[]).unwrap();
    let first = &live.points[0].scenario;
    let endless = Scenario { duration: Duration::from_secs(1_000_000), ..first.clone() };
    let counted = Cost::of(&endless, Some(2000)).bytes();
    let info = allocation_counter::measure(|| {
        let mut run: Simulation<()> = Simulation::new(&endless, ());
        run.advance(Time::ZERO + Duration::from_secs(20));
        let _ = run.finish();
    });
    assert!(info.bytes_max <= counted && counted < 100_000_000, "{} of {counted}", info.bytes_max);
}
