//! What a plan unfolds into, and that showing and reading agree.

use l4s_scenario::{Buffer, EcnMode, Plan, bundled, show};
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};
use proptest::prelude::*;

const BASE: &str = r#"
[link]
rate = "40mbit"
[[group]]
name = "A"
cc   = "dctcp"
rtt  = "10ms"
[[group]]
name = "B"
cc   = { kind = "cubic", abe = true }
rtt  = "10ms"
flows = 3
start = { every = "1s" }
size = "1mb"
[[udp]]
name = "U"
rate = "5mbit"
ecn  = "ect1"
stop = "20s"
"#;

fn plan(more: &str, set: &[&str]) -> Plan {
    let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
    Plan::parse("base.toml", &format!("{BASE}{more}"), &set).unwrap_or_else(|e| panic!("{e}"))
}

fn set_of(plan: &Plan) -> Vec<String> {
    let pairs = |set: &[(String, String)]| {
        set.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    plan.points.iter().map(|point| pairs(&point.set)).collect()
}

#[test]
fn what_is_not_written_has_its_default() {
    let scenario = &plan("", &[]).points[0].scenario;
    assert_eq!(scenario.name, "base");
    assert_eq!(scenario.duration, Duration::from_secs(60));
    assert_eq!(scenario.warmup, Duration::from_secs(15));
    assert_eq!(scenario.seed, 1);
    assert_eq!(scenario.link.rate, Rate::from_mbps(40));
    assert_eq!(scenario.link.buffer, Buffer::Packets(40_000));
    assert_eq!(scenario.link.burst, Bytes::new(1514));
    assert_eq!(scenario.aqm, l4s_aqm::Config::default());
    let [a, b] = scenario.groups.as_slice() else { panic!("two groups") };
    assert_eq!((a.ecn, a.size, a.starts.as_slice()), (EcnMode::Auto, None, &[Time::ZERO][..]));
    assert_eq!(a.cc, l4s_cc::Config::Dctcp(Default::default()));
    assert_eq!(
        b.cc,
        l4s_cc::Config::Cubic(l4s_cc::cubic::Config { abe: true, ..Default::default() })
    );
    assert_eq!(b.starts, [0, 1, 2].map(|s| Time::ZERO + Duration::from_secs(s)));
    assert_eq!(b.size, Some(Bytes::new(1_000_000)));
    let udp = &scenario.udp[0];
    assert_eq!((udp.ecn, udp.packet), (Ecn::Ect1, Bytes::new(1500)));
    assert_eq!((udp.start, udp.stop), (Time::ZERO, Some(Time::ZERO + Duration::from_secs(20))));
}

#[test]
fn the_buffer_is_the_limit_unless_the_discipline_sets_its_own() {
    let limit = |set: &[&str]| {
        let scenario = plan("", set).points[0].scenario.clone();
        let l4s_aqm::Config::DualPi2(config) = scenario.aqm else { panic!("dualpi2") };
        (config.limit, scenario.link.buffer)
    };
    // Nothing said: the profile's limit, 10000 packets in twice their memory.
    let linux = (l4s_aqm::Limit::linux(10_000), Buffer::Packets(10_000));
    assert_eq!(limit(&["aqm.profile=linux"]), linux);
    let mut wider = l4s_aqm::Limit::linux(10_000);
    wider.set_packets(20_000);
    let packets = (wider, Buffer::Packets(20_000));
    assert_eq!(limit(&["aqm.profile=linux", "link.buffer=20000p"]), packets);
    let own = limit(&["aqm.profile=linux", "link.buffer=9p", "aqm.limit=20000p"]).0;
    assert_eq!(own, wider);
    assert_eq!(limit(&["link.buffer=30kb"]).0, l4s_aqm::Limit::bytes(Bytes::new(30_000)));
    // 100 ms at 40 Mb/s are 500 kB.
    let half_a_megabyte = l4s_aqm::Limit::bytes(Bytes::new(500_000));
    let time = (half_a_megabyte, Buffer::Time(Duration::from_millis(100)));
    assert_eq!(limit(&["link.buffer=100ms"]), time);
}

#[test]
fn a_sweep_is_a_product_with_the_first_key_slowest() {
    let plan = plan(
        "[sweep]\nlink.rate = [\"4mbit\", \"40mbit\"]\n\"group.*.rtt\" = [\"5ms\", \"7ms\"]",
        &[],
    );
    assert_eq!(
        set_of(&plan),
        [
            "link.rate=4mbit group.*.rtt=5ms",
            "link.rate=4mbit group.*.rtt=7ms",
            "link.rate=40mbit group.*.rtt=5ms",
            "link.rate=40mbit group.*.rtt=7ms",
        ]
    );
    let last = &plan.points[3].scenario;
    assert!(last.groups.iter().all(|group| group.rtt == Duration::from_millis(7)));
}

const CASES: &str = r#"
[sweep]
"link.rate" = ["4mbit", "40mbit"]
[[sweep.case]]
label = "one"
aqm = { kind = "dualpi2", profile = "linux" }
group.A.cc.shift_g = 5
[[sweep.case]]
label = "two"
aqm = "fifo"
"group.*.cc" = { kind = "cubic", abe = true }
"#;

#[test]
fn cases_combine_with_the_product() {
    let plan = plan(CASES, &[]);
    assert_eq!(
        set_of(&plan),
        [
            "case=one link.rate=4mbit",
            "case=one link.rate=40mbit",
            "case=two link.rate=4mbit",
            "case=two link.rate=40mbit",
        ]
    );
    let kinds = |i: usize| {
        let scenario = &plan.points[i].scenario;
        (scenario.aqm.kind(), scenario.groups[0].cc.kind())
    };
    assert_eq!(kinds(0), ("dualpi2", "dctcp"));
    assert_eq!(kinds(3), ("fifo", "cubic"));
    let l4s_cc::Config::Dctcp(dctcp) = plan.points[0].scenario.groups[0].cc else { panic!() };
    assert_eq!(dctcp.shift_g, 5);
}

#[test]
fn the_command_line_pins_what_is_swept_and_comes_last_otherwise() {
    let pinned = plan(CASES, &["link.rate=12mbit", "duration=5s"]);
    assert_eq!(
        set_of(&pinned),
        ["case=one link.rate=12mbit duration=5s", "case=two link.rate=12mbit duration=5s"]
    );
    assert_eq!(
        set_of(&plan(CASES, &["case=two", "aqm=pie"]))[0],
        "case=two link.rate=4mbit aqm=pie"
    );
    assert_eq!(plan(CASES, &["case=two", "aqm=pie"]).points[0].scenario.aqm.kind(), "pie");
    let wildcard = "[sweep]\n\"group.A.rtt\" = [\"5ms\", \"7ms\"]";
    assert_eq!(set_of(&plan(wildcard, &["group.*.rtt=1ms"])), ["group.*.rtt=1ms"]);
}

#[test]
fn what_is_skipped_is_left_out() {
    let skip = "[sweep]\nudp.U.rate = [\"1mbit\", \"2mbit\"]\ngroup.A.flows = [0, 1]\n\
                [[sweep.skip]]\nudp.U.rate = \"1mbit\"\ngroup.A.flows = 0";
    assert_eq!(
        set_of(&plan(skip, &[])),
        [
            "udp.U.rate=1mbit group.A.flows=1",
            "udp.U.rate=2mbit group.A.flows=0",
            "udp.U.rate=2mbit group.A.flows=1",
        ]
    );
}

#[test]
fn the_seed_is_not_among_what_was_set() {
    let plan = plan("", &["seed=7"]).repeated(3).unwrap();
    let seeds: Vec<_> = plan.points.iter().map(|point| point.scenario.seed).collect();
    assert_eq!(seeds, [7, 8, 9]);
    assert!(plan.points.iter().all(|point| point.set.is_empty()));
    assert!(plan.clone().repeated(0).is_none());
    assert!(plan.repeated(1 << 40).is_none());
}

/// Every run of every bundled scenario, and of the cases above.
fn all_plans() -> Vec<Plan> {
    let bundled = bundled::ALL.iter().map(|b| b.plan(&[]).unwrap_or_else(|e| panic!("{e}")));
    let odd = plan(CASES, &["link.buffer=100ms", "group.B.start=[\"3s\", \"1s\", \"2s\"]"]);
    bundled.chain([plan(CASES, &[]), odd]).collect()
}

#[test]
fn what_is_shown_reads_back_as_the_same_scenario() {
    for plan in all_plans() {
        for point in &plan.points {
            let text = show(point, plan.question.as_deref());
            let again =
                Plan::parse("again.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(again.points[0].scenario, point.scenario, "\n{text}");
            assert_eq!(again.question, plan.question);
        }
    }
}

#[test]
fn so_does_every_profile_of_every_kind() {
    let same = |set: &[&str]| {
        let point = plan("", set).points.remove(0);
        let again = Plan::parse("base.toml", &show(&point, None), &[]);
        let again = again.unwrap_or_else(|e| panic!("{set:?}: {e}"));
        assert_eq!(again.points[0].scenario, point.scenario, "{set:?}");
    };
    for aqm in l4s_scenario::disciplines() {
        // RED counts its limit in bytes.
        let limit = if aqm.kind == "red" { "aqm.limit=7kb" } else { "aqm.limit=7p" };
        for profile in &aqm.profiles {
            let (kind, profile) = (aqm.kind, profile.name);
            let set = format!("aqm={{ kind = \"{kind}\", profile = \"{profile}\" }}");
            for buffer in ["link.rate=40mbit", "link.buffer=100p", "link.buffer=1mb"] {
                same(&[&set, buffer]);
                same(&[&set, buffer, limit]);
            }
        }
    }
    for cc in l4s_scenario::controls() {
        for profile in &cc.profiles {
            let value = format!("{{ kind = \"{}\", profile = \"{}\" }}", cc.kind, profile.name);
            same(&[&format!("group.*.cc={value}")]);
        }
    }
}

#[test]
fn the_pins_of_a_run_select_just_that_run() {
    for plan in all_plans() {
        for point in &plan.points {
            let set: Vec<_> =
                point.pins.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let again = Plan::parse(&format!("{}.toml", plan.name), &plan.text, &set).unwrap();
            assert_eq!(again.points.len(), 1);
            assert_eq!(again.points[0], *point);
        }
    }
}

#[test]
fn bundled_scenarios_have_the_runs_of_their_papers() {
    let runs = |name: &str| bundled::find(name).unwrap().plan(&[]).unwrap().points.len();
    assert_eq!(runs("one-against-one"), 3);
    // DCttH §4.1: 5 rates by 5 RTTs, and 120 combinations of flows; three AQMs each.
    assert_eq!(runs("dctth-4"), 75);
    assert_eq!(runs("dctth-5"), 360);
    assert_eq!(runs("dctth-6"), 75);
    assert_eq!(runs("linux-7.3-grid"), 25);
    for bundled in bundled::ALL {
        let plan = bundled.plan(&[]).unwrap();
        assert_eq!(plan.name, bundled.name);
        assert!(plan.question.is_some(), "{} answers a question", bundled.name);
    }
}

/// Lines that, thrown together, often make nearly a scenario.
fn a_line() -> impl Strategy<Value = String> {
    let lines: Vec<String> = BASE.lines().chain(CASES.lines()).map(str::to_owned).collect();
    prop_oneof![
        8 => prop::sample::select(lines),
        1 => "\\PC{0,20}",
        1 => "[a-z_.\"*]{1,12} = [-a-z0-9\"{}.]{1,12}",
    ]
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(lines in prop::collection::vec(a_line(), 0..40), set in "\\PC{0,30}") {
        let text = lines.join("\n");
        if let Err(faults) = Plan::parse("any.toml", &text, &[set]) {
            prop_assert!(!faults.0.is_empty());
            for fault in &faults.0 {
                prop_assert!(fault.line >= 1 && fault.column >= 1 && fault.width >= 1);
            }
        }
    }

    #[test]
    fn a_base_with_one_byte_changed_is_read_or_refused(at in 0..BASE.len(), byte: u8) {
        let mut text = format!("{BASE}{CASES}").into_bytes();
        text[at] = byte;
        let _ = Plan::parse("any.toml", &String::from_utf8_lossy(&text), &[]);
    }
}
