//! The runs of a plan, and that a printed scenario is read back unchanged.

use l4s_model::{
    AccEcnMangling, App, Buffer, Change, Direction, Distribution, EcnMangling, EcnMode, Hold,
    Jitter, Loss, Path, PathChange, Per, Radio, Reorder, Side, Sizes, Web,
};
use l4s_scenario::{Plan, bundled, show};
use l4s_units::{Bytes, Duration, Ecn, Frequency, Rate, Time};
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

/// Each flow is an instance on hosts of its own: a group that has the settings, paths and changes of the first.
#[test]
fn programs_take_the_place_of_flows() {
    let more = "[[program]]\nname = \"P\"\ngroup = \"A\"\ninstead_of_flows = true\nclient = \"x\"\n\
                [[at]]\ntime = \"5s\"\ngroup.A.rtt = \"50ms\"\n\
                [[path]]\nname = \"far\"\nloss = 0.1\ngroups = [\"A\", \"U\"]\n\
                [sweep]\n\"group.A.flows\" = [0, 1, 3]\n";
    let plan = plan(more, &["group.A.start={ every = \"1s\" }", "group.A.rtt=7ms"]);
    let groups = [&["A", "B"][..], &["A", "B"], &["A", "B", "A 2", "A 3"]];
    let programs = [&[][..], &[("P", 0, 0)], &[("P", 0, 0), ("P-2", 2, 1), ("P-3", 3, 2)]];
    for ((point, groups), programs) in plan.points.iter().zip(groups).zip(programs) {
        let scenario = &point.scenario;
        let names: Vec<&str> = scenario.groups.iter().map(|group| &*group.name).collect();
        assert_eq!(names, groups);
        let found = scenario.programs.iter().map(|program| {
            let start = program.start.since(Time::ZERO).as_secs_f64() as u64;
            (&*program.name, program.group, start)
        });
        assert_eq!(found.collect::<Vec<_>>(), programs);
        for group in scenario.groups.iter().filter(|group| group.name.starts_with('A')) {
            assert_eq!((group.starts.len(), group.rtt), (0, Duration::from_millis(7)));
        }
        let of_programs: Vec<usize> = programs.iter().map(|(_, group, _)| *group).collect();
        let changed: Vec<usize> = scenario.changes[0].rtts.iter().map(|(at, _)| *at).collect();
        if let [_, _, ..] = programs {
            assert_eq!(changed, of_programs);
            // `U` is behind all groups.
            assert_eq!(scenario.paths[0].sources, [0, 2, 3, 4]);
        }
        // The record of the run has each of them.
        let again = Plan::parse("again", &show(point, None), &[]).unwrap();
        assert_eq!(again.points[0].scenario, *scenario);
    }
    assert_eq!(plan.points.len(), 3);
}

/// Groups and UDP sources in both directions are two of each, and one setting is for both.
#[test]
fn both_directions_are_two_sources() {
    let more = "[uplink]\nrate = \"5mbit\"\n[[at]]\ntime = \"5s\"\ngroup.\"*\".rtt = \"50ms\"\n\
                [[at]]\ntime = \"6s\"\ngroup.\"A up\".rtt = \"20ms\"\n\
                [sweep]\n\"group.A.cc\" = [\"prague\", \"cubic\"]\n\
                [[path]]\nname = \"far\"\nloss = 0.1\ngroups = [\"A up\", \"U\"]\n";
    let set = ["group.A.direction=both", "udp.U.direction=both", "group.A.flows=7"];
    let plan = plan(more, &set);
    for (point, cc) in plan.points.iter().zip(["prague", "cubic"]) {
        let scenario = &point.scenario;
        let names: Vec<_> = scenario.source_names().collect();
        assert_eq!(names, ["A", "B", "A up", "U", "U up"]);
        let up = [0, 1, 2, 3, 4].map(|source| scenario.direction_of(source) == Direction::Up);
        assert_eq!(up, [false, false, true, false, true]);
        let [a, _, a_up] = &scenario.groups[..] else { panic!("three groups") };
        assert_eq!((a.cc.kind(), a_up.cc.kind()), (cc, cc));
        assert_eq!((a.starts.len(), a_up.starts.len()), (7, 7));
        assert_eq!(scenario.udp[0].rate, scenario.udp[1].rate);
        // Each has its name from there on.
        assert_eq!(scenario.paths[0].sources, [2, 3]);
        let rtts: Vec<Vec<usize>> = scenario
            .changes
            .iter()
            .map(|at| at.rtts.iter().map(|(group, _)| *group).collect())
            .collect();
        assert_eq!(rtts, [vec![0, 1, 2], vec![2]]);
        // The record of the run has them as two.
        let again = Plan::parse("again", &show(point, None), &[]).unwrap();
        assert_eq!(again.points[0].scenario, *scenario);
    }
    assert_eq!(plan.points.len(), 2);
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
    // By default: the profile's limit, 10000 packets in twice their memory.
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
fn the_buffer_leaves_the_memory_of_fq_codel_alone() {
    let limit = |set: &[&str]| {
        let set = [&["aqm.kind=fq_codel", "aqm.profile=linux"][..], set].concat();
        plan("", &set).points[0].scenario.aqm.limit()
    };
    let memory = Some(Bytes::new(32 << 20));
    for set in ["link.buffer=100p", "aqm.limit=100p"] {
        assert_eq!(limit(&[set]), l4s_aqm::Limit { memory, ..l4s_aqm::Limit::packets(100) });
    }
    let bytes = l4s_aqm::Limit::bytes(Bytes::new(500_000));
    assert_eq!(limit(&["link.buffer=100ms"]), l4s_aqm::Limit { memory, ..bytes });
}

#[test]
fn the_buffer_is_as_long_below_a_red_that_is_set_for_its_link() {
    let red = ["aqm.kind=red", "aqm.profile=scaled"];
    for (rate, bytes_per_ms) in [("4mbit", 500), ("40mbit", 5000), ("400mbit", 50_000)] {
        let rate = format!("link.rate={rate}");
        let limit = |set: &[&str]| {
            let set = [&red[..], &[rate.as_str()], set].concat();
            let scenario = plan("", &set).points[0].scenario.clone();
            (scenario.aqm.limit(), scenario.link.buffer)
        };
        let of = |ms: u64| l4s_aqm::Limit::bytes(Bytes::new(ms * bytes_per_ms));
        assert_eq!(limit(&["link.buffer=100ms"]).0, of(100));
        // 1.6 MB at 40 Mb/s, where nobody says another: 320 ms.
        assert_eq!(limit(&[]), (of(320), Buffer::Bytes(of(320).bytes)));
        let own = l4s_aqm::Limit::bytes(Bytes::new(50_000));
        assert_eq!(limit(&["link.buffer=100ms", "aqm.limit=50kb"]).0, own);
    }
    // No more than a buffer may have.
    let fast = ["aqm.kind=red", "aqm.profile=scaled", "aqm.bandwidth=0.001", "link.rate=100gbit"];
    assert_eq!(plan("", &fast).points[0].scenario.aqm.limit().bytes.get(), 1_000_000_000_000);
}

#[test]
fn settings_of_so_many_full_frames_follow_the_largest_one() {
    use l4s_aqm::Config;
    let aqm = |set: &[&str]| {
        let set = [&["group.A.mss=8948"][..], set].concat();
        plan("", &set).points[0].scenario.aqm.clone()
    };
    // 9000 B and Ethernet: 9014 B.
    let dualpi2 = |set: &[&str]| {
        let set = [&["aqm.profile=linux"][..], set].concat();
        let Config::DualPi2(config) = aqm(&set) else { panic!("dualpi2") };
        (config.limit.memory.map(Bytes::get), config.min_backlog.get())
    };
    assert_eq!(dualpi2(&[]), (Some(10_000 * 2 * 9014), 18_028));
    assert_eq!(dualpi2(&["link.buffer=100p"]).0, Some(100 * 18_028));
    assert_eq!(dualpi2(&["aqm.limit=100p"]).0, Some(100 * 18_028));
    let own = ["aqm.memlimit=2mb", "aqm.min_backlog=3028b"];
    assert_eq!(dualpi2(&own), (Some(2_000_000), 3028));
    assert_eq!(dualpi2(&["link.buffer=100ms"]).0, None);
    let cobalt = aqm(&["aqm.kind=cobalt"]).limit().memory;
    assert_eq!(cobalt.map(Bytes::get), Some(10_240 * 9014));
    let Config::Pi2(pi2) = aqm(&["aqm.kind=pi2"]) else { panic!("pi2") };
    assert_eq!(pi2.min_backlog.get(), 18_028);
    let Config::FqCodel(fq) = aqm(&["aqm.kind=fq_codel"]) else { panic!("fq_codel") };
    assert_eq!(fq.quantum, 9014);
    // Datagrams count, and no frame is below that of Ethernet.
    let quantum = |set: &str| match &plan("", &["aqm.kind=fq_codel", set]).points[0].scenario.aqm {
        Config::FqCodel(config) => config.quantum,
        _ => panic!("fq_codel"),
    };
    assert_eq!(quantum("udp.U.packet=2000b"), 2014);
    assert_eq!(quantum("udp.U.packet=200b"), 1514);
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

/// Two axes of cases beside each other.
const NAMED: &str = r#"
[sweep]
schedule = [
    { label = "fifo", aqm = "fifo" },
    { label = "fifo to codel", aqm = "fifo", at = [{ time = "5s", aqm = "codel" }] },
]
"link.rate" = ["4mbit", "40mbit"]
[[sweep.traffic]]
label = "1:0"
"group.*.flows" = 1
[[sweep.traffic]]
label = "1:L"
web = [{ group = "B", rate = "0.25/mbit" }]
"#;

#[test]
fn cases_of_other_names_are_axes_of_their_own() {
    let all = plan(NAMED, &[]);
    assert_eq!(all.points.len(), 8);
    assert_eq!(set_of(&all)[1], "schedule=fifo link.rate=4mbit traffic=1:L");
    assert_eq!(set_of(&all)[6], "schedule=fifo to codel link.rate=40mbit traffic=1:0");
    assert_eq!(all.points[6].scenario.changes.len(), 1);
    let pinned = plan(NAMED, &["schedule=fifo to codel", "traffic=1:L"]);
    assert_eq!(pinned.points[..], [all.points[5].clone(), all.points[7].clone()]);
}

#[test]
fn downloads_in_proportion_to_the_link_are_as_many_as_its_rate_asks_for() {
    let rates: Vec<Frequency> = (plan(NAMED, &["schedule=fifo", "traffic=1:L"]).points.iter())
        .map(|point| point.scenario.web[0].rate)
        .collect();
    assert_eq!(rates, [1, 10].map(Frequency::per_second));
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
fn the_first_run_of_a_sweep_can_be_had_alone() {
    let all = plan(CASES, &[]);
    let text = format!("{BASE}{CASES}");
    let first = |set: &[String]| Plan::first("base.toml", &text, set);
    assert_eq!(first(&[]).unwrap().points, all.points[..1]);
    let pins = |point: &l4s_scenario::Point| -> Vec<String> {
        point.pins.iter().map(|(key, value)| format!("{key}={value}")).collect()
    };
    for point in &all.points {
        assert_eq!(first(&pins(point)).unwrap().points, std::slice::from_ref(point));
    }
    // A fault in another run only is not detected.
    let wrong = text.replace("\"40mbit\"]", "\"40mbut\"]");
    assert!(Plan::parse("t.toml", &wrong, &[]).is_err());
    assert!(Plan::first("t.toml", &wrong, &[]).is_ok());
    assert!(Plan::first("t.toml", &wrong, &["link.rate=4mbut".to_owned()]).is_err());
}

#[test]
fn a_rate_of_zero_is_off() {
    let off = "[[app]]\ngroup = \"A\"\nrate = \"0bit\"\nfps = 60";
    let plan = plan(off, &["udp.U.rate=0bit"]);
    let scenario = &plan.points[0].scenario;
    assert_eq!(
        (scenario.apps[0].rate, scenario.udp[0].rate),
        (Rate::from_bps(0), Rate::from_bps(0))
    );
    let shown = show(&plan.points[0], None);
    assert_eq!(Plan::parse("t.toml", &shown, &[]).unwrap().points[0].scenario, *scenario);
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

/// Downloads of both groups, and changes that are not in order of time.
const MORE: &str = r#"
[[web]]
group = "A"
rate  = "0.5/s"
[[web]]
group = "B"
rate  = "100/s"
size  = "10kb"
start = "5s"
stop  = "50s"
[[at]]
time = "20s"
link.rate = "20mbit"
group."*".rtt = "20ms"
group.B.rtt = "50ms"
[[at]]
time = "10s"
aqm = { kind = "codel", ecn = false }
[[hop]]
name = "core"
rate = "100mbit"
[[hop]]
name = "access"
place = "behind"
rate = "20mbit"
buffer = "50ms"
burst = "3000b"
aqm = { kind = "pie", target = "5ms" }
groups = ["U", "A"]
per = "group"
"#;

#[test]
fn hops_are_read() {
    let scenario = &plan(MORE, &[]).points[0].scenario;
    let [core, access] = &scenario.hops[..] else { panic!("two hops") };
    assert_eq!((core.side, core.per, &core.sources[..]), (Side::Before, Per::All, &[0, 1, 2][..]));
    assert_eq!(core.aqm, l4s_aqm::Config::default());
    assert_eq!((core.link.buffer, core.link.burst.get()), (Buffer::Packets(40_000), 1514));
    assert_eq!((access.side, access.per), (Side::Behind, Per::Group));
    // Sources are in the order of groups and sources, for any order of the list.
    assert_eq!((access.name.as_str(), &access.sources[..]), ("access", &[0, 2][..]));
    assert_eq!((access.link.rate, access.link.burst.get()), (Rate::from_mbps(20), 3000));
    let l4s_aqm::Config::Pie(pie) = &access.aqm else { panic!("pie") };
    assert_eq!(pie.target, Duration::from_millis(5));
    // 50 ms at 20 Mb/s are 125 kB.
    assert_eq!(pie.limit, l4s_aqm::Limit::bytes(Bytes::new(125_000)));
    // Three of the four flows and U belong to B.
    assert_eq!([core, access].map(|hop| scenario.roster().links_of(hop)), [1, 2]);
    let flows = plan(MORE, &["web=[]", "hop.*.per=flow"]);
    let scenario = &flows.points[0].scenario;
    assert_eq!([0, 1].map(|hop| scenario.roster().links_of(&scenario.hops[hop])), [5, 2]);
}

#[test]
fn a_hop_has_room_for_what_passes_it() {
    let more = "[[udp]]\nname = \"V\"\nrate = \"1mbit\"\npacket = \"9000b\"\n\
                [[hop]]\nname = \"H\"\nrate = \"1mbit\"\nbuffer = \"2kb\"\n";
    plan(&format!("{more}groups = [\"A\", \"U\"]"), &[]);
    let faults = Plan::parse("t.toml", &format!("{BASE}{more}"), &[]).unwrap_err();
    assert!(faults.0[0].to_string().contains("room for a packet of 9014b"), "{faults}");
}

#[test]
fn a_sweep_reaches_hops_by_name() {
    let sweep = "[sweep]\nhop.access.rate = [\"10mbit\", \"30mbit\"]\n\
                 [[sweep.case]]\nlabel = \"as it is\"\n\
                 [[sweep.case]]\nlabel = \"codel\"\nhop.core.aqm = { kind = \"codel\" }";
    let plan = plan(&format!("{MORE}{sweep}"), &["hop.access.aqm.target=7ms"]);
    let of = |i: usize| &plan.points[i].scenario.hops;
    assert_eq!([0, 1].map(|i| of(i)[1].link.rate), [10, 30].map(Rate::from_mbps));
    assert_eq!([0, 2].map(|i| of(i)[0].aqm.kind()), ["dualpi2", "codel"]);
    let l4s_aqm::Config::Pie(pie) = &of(3)[1].aqm else { panic!("pie") };
    assert_eq!(pie.target, Duration::from_millis(7));
    assert_eq!(set_of(&plan)[2], "case=codel hop.access.rate=10mbit hop.access.aqm.target=7ms");
}

#[test]
fn paths_are_read() {
    let paths = "[[path]]\nname = \"wifi\"\nloss = { to_bad = 0.001, to_good = 1 }\njitter = \"2ms\"\n\
                 groups = [\"U\", \"A\"]\n\
                 [[path]]\nname = \"up\"\ndirection = \"up\"\nplace = \"before\"\nloss = [9, 2, 9]\n\
                 jitter = { mean = \"1ms\", distribution = \"normal\", deviation = \"300us\" }\n\
                 reorder = { chance = 0.5, by = \"5ms\" }\nduplicate = 0.25\ncorrupt = 0\n\
                 ecn = \"bleach\"\naccecn = \"strip\"\n";
    let plan = plan(paths, &[]);
    let [wifi, up] = &plan.points[0].scenario.paths[..] else { panic!("two paths") };
    let loss = Loss::GilbertElliott { to_bad: 0.001, to_good: 1.0, in_bad: 1.0, in_good: 0.0 };
    let jitter = Jitter::uniform(Duration::from_millis(2));
    let expected = Path { loss, jitter, ..Path::new("wifi", Direction::Down, vec![0, 2]) };
    assert_eq!(*wifi, expected);
    let distribution = Distribution::Normal(Duration::from_micros(300));
    let expected = Path {
        side: Side::Before,
        loss: Loss::Packets(vec![2, 9]),
        jitter: Jitter { mean: Duration::from_millis(1), distribution, reordering: false },
        reorder: Reorder { chance: 0.5, by: Duration::from_millis(5) },
        duplicate: 0.25,
        ecn: EcnMangling::Bleach,
        accecn: AccEcnMangling::Strip,
        // UDP sources do not send up.
        ..Path::new("up", Direction::Up, vec![0, 1])
    };
    assert_eq!(*up, expected);
}

#[test]
fn a_sweep_reaches_paths_by_name() {
    let sweep = "[[path]]\nname = \"wifi\"\nloss = 0.0\n\
                 [sweep]\npath.wifi.duplicate = [0.0, 0.5]\n\
                 [[sweep.case]]\nlabel = \"bursts\"\n\
                 path.wifi.loss = { to_bad = 0.01, to_good = 0.1 }\n\
                 [[sweep.case]]\nlabel = \"some\"\npath.wifi.loss = [1, 2]";
    let plan = plan(sweep, &["path.*.jitter=3ms"]);
    let of = |i: usize| &plan.points[i].scenario.paths[0];
    assert!(matches!(of(0).loss, Loss::GilbertElliott { in_bad: 1.0, .. }));
    assert_eq!((&of(3).loss, of(3).duplicate), (&Loss::Packets(vec![1, 2]), 0.5));
    assert_eq!(of(0).jitter, Jitter::uniform(Duration::from_millis(3)));
    assert_eq!(set_of(&plan)[2], "case=some path.wifi.duplicate=0.0 path.*.jitter=3ms");
}

#[test]
fn downloads_and_changes_are_read() {
    let scenario = &plan(MORE, &[]).points[0].scenario;
    let at = |s| Time::ZERO + Duration::from_secs(s);
    let pareto = Sizes::Pareto { shape: 0.9, min: Bytes::new(1000), max: Bytes::new(1_000_000) };
    let often = Web {
        group: 1,
        rate: Frequency::per_second(100),
        size: Sizes::Fixed(Bytes::new(10_000)),
        start: at(5),
        stop: Some(at(50)),
    };
    let rate = Frequency::from_micros(500_000);
    let seldom = Web { group: 0, rate, size: pareto, start: Time::ZERO, stop: None };
    assert_eq!(scenario.web, [seldom, often]);
    let codel = l4s_aqm::codel::Config { ecn: false, ..Default::default() };
    let earlier = Change { aqm: Some(l4s_aqm::Config::Codel(codel)), ..Change::at(at(10)) };
    let rtts = vec![(0, Duration::from_millis(20)), (1, Duration::from_millis(50))];
    let later = Change { rate: Some(Rate::from_mbps(20)), rtts, ..Change::at(at(20)) };
    assert_eq!(scenario.changes, [earlier, later]);
    // One and three long flows, and a UDP source.
    assert_eq!(scenario.roster().downloads().start.get(), 5);
}

#[test]
fn an_aqm_that_comes_later_has_the_buffer_of_the_link_too() {
    let limit = |set: &[&str]| {
        let scenario = plan(MORE, set).points[0].scenario.clone();
        let Some(l4s_aqm::Config::Codel(config)) = &scenario.changes[0].aqm else { panic!() };
        config.limit
    };
    assert_eq!(limit(&["link.buffer=77p"]), l4s_aqm::Limit::packets(77));
    assert_eq!(limit(&["link.buffer=77p", "at.2.aqm.limit=5p"]), l4s_aqm::Limit::packets(5));
    // 1 s at the initial rate of the link.
    let second = l4s_aqm::Limit::bytes(Bytes::new(5_000_000));
    assert_eq!(limit(&["link.buffer=1s", "at.1.link.rate=1gbit"]), second);
}

#[test]
fn the_uplink_changes_as_the_bottleneck_does() {
    let text = "[uplink]\nrate = \"10mbit\"\nbuffer = \"77p\"\n\
                [[at]]\ntime = \"9s\"\nuplink.rate = \"2mbit\"\n\
                uplink.aqm = { kind = \"codel\", ecn = false }\n\
                [[at]]\ntime = \"5s\"\nuplink.aqm = \"fifo\"\n";
    let set = ["at.1.uplink.rate=3mbit", "at.2.uplink.aqm=pie"];
    let scenario = &plan(text, &set).points[0].scenario;
    let at = |s| Time::ZERO + Duration::from_secs(s);
    let [earlier, later] = &scenario.changes[..] else { panic!("two changes") };
    // Its limit is the buffer of the uplink.
    let limit = l4s_aqm::Limit::packets(77);
    let codel = l4s_aqm::codel::Config { ecn: false, limit, ..Default::default() };
    let uplink_aqm = Some(l4s_aqm::Config::Codel(codel));
    let uplink_rate = Some(Rate::from_mbps(3));
    assert_eq!(*later, Change { uplink_aqm, uplink_rate, ..Change::at(at(9)) });
    assert_eq!((earlier.time, &earlier.aqm, earlier.uplink_rate), (at(5), &None, None));
    let kinds: Vec<_> = scenario.uplink_aqms().map(|aqm| aqm.kind()).collect();
    assert_eq!(kinds, ["dualpi2", "pie", "codel"]);
    assert_eq!(scenario.aqms().count(), 1);
}

#[test]
fn paths_change_by_their_name() {
    let text = "[[path]]\nname = \"far\"\nloss = 0\n[[path]]\nname = \"up\"\ndirection = \"up\"\nloss = 0\n\
                [[at]]\ntime = \"9s\"\npath.up.loss = [3]\npath.\"*\" = { loss = 0.1, jitter = \"2ms\" }\n";
    let set = ["at.1.path.far.loss={ to_bad = 0.1, to_good = 0.5 }"];
    let change = &plan(text, &set).points[0].scenario.changes[0];
    let jitter = Some(Jitter::uniform(Duration::from_millis(2)));
    let bursts = Loss::GilbertElliott { to_bad: 0.1, to_good: 0.5, in_bad: 1.0, in_good: 0.0 };
    let far = PathChange { loss: Some(bursts), jitter };
    let up = PathChange { loss: Some(Loss::Packets(vec![3])), jitter };
    assert_eq!(change.paths, [(0, far), (1, up)]);
}

#[test]
fn downloads_go_by_their_group_and_changes_by_their_number() {
    let sweep = "[sweep]\n\"web.*.rate\" = [\"1/s\", \"2/s\"]\n\"at.2.aqm\" = [\"pie\", \"fifo\"]";
    let swept = plan(&format!("{MORE}{sweep}"), &["at.1.group.A.rtt=7ms", "at.*.time=3s"]);
    assert_eq!(set_of(&swept)[1], "web.*.rate=1/s at.2.aqm=fifo at.1.group.A.rtt=7ms at.*.time=3s");
    let scenario = &swept.points[1].scenario;
    assert!(scenario.web.iter().all(|web| web.rate == Frequency::per_second(1)));
    assert!(scenario.changes.iter().all(|c| c.time == Time::ZERO + Duration::from_secs(3)));
    let aqms: Vec<_> = scenario.aqms().map(|aqm| aqm.kind()).collect();
    assert_eq!(aqms, ["dualpi2", "fifo"]);
    assert_eq!(scenario.rtt_at(0, Time::NEVER), Duration::from_millis(7));
}

#[test]
fn a_case_may_have_downloads_and_changes_of_its_own() {
    let cases = "[[sweep.case]]\nlabel = \"none\"\nat = []\nweb = []\n\
                 [[sweep.case]]\nlabel = \"one\"\nat = [{ time = \"5s\", aqm = \"pie\" }]\n\
                 web.A.size = { pareto = 2.0, min = \"1kb\", max = \"2kb\" }";
    let plan = plan(&format!("{MORE}{cases}"), &[]);
    let [none, one] = plan.points.as_slice() else { panic!("two runs") };
    assert!(none.scenario.web.is_empty() && none.scenario.changes.is_empty());
    assert_eq!(one.scenario.changes.len(), 1);
    let (min, max) = (Bytes::new(1000), Bytes::new(2000));
    assert_eq!(one.scenario.web[0].size, Sizes::Pareto { shape: 2.0, min, max });
}

/// Video in both groups, in one of them from two cameras.
const VIDEO: &str = r#"
[[app]]
group = "B"
rate  = "4mbit"
[[app]]
group = "A"
rate  = "1mbit"
fps   = 50
hold  = "nagle"
flows = 2
adapt = true
start = "1s"
stop  = "20s"
"#;

#[test]
fn applications_are_read_and_have_numbers_before_downloads() {
    let scenario = &plan(&format!("{VIDEO}{MORE}"), &[]).points[0].scenario;
    let at = |s| Time::ZERO + Duration::from_secs(s);
    let rate = Rate::from_mbps;
    let plain = App {
        group: 1,
        rate: rate(4),
        fps: 30,
        flows: 1,
        adapt: false,
        hold: Hold::None,
        start: at(0),
        stop: None,
    };
    let (start, stop) = (at(1), Some(at(20)));
    let hold = Hold::Nagle;
    let adapting =
        App { group: 0, rate: rate(1), fps: 50, flows: 2, adapt: true, hold, start, stop };
    // 4 Mb/s / 30 / 8 = 16,666.7 B; 1 Mb/s / 50 / 8 = 2500 B.
    assert_eq!([&plain, &adapting].map(App::frame), [16_667, 2500].map(Bytes::new));
    // Two cameras with 50 frames per second: the second starts 10 ms later.
    assert_eq!(adapting.opens(1), at(1) + Duration::from_millis(10));
    // Thirty frames are a second, for any rounding of a single frame.
    assert_eq!(plain.frames(30), Duration::from_secs(1));
    assert_eq!(scenario.apps, [plain, adapting]);
    // One and three long flows, a UDP source, and then three applications.
    let apps = scenario.roster().apps();
    assert_eq!((apps.start.get(), apps.end.get()), (5, 8));
}

#[test]
fn applications_go_by_their_group_and_a_case_may_have_its_own() {
    let cases = "[sweep]\n\"app.*.fps\" = [25, 60]\n\
                 [[sweep.case]]\nlabel = \"none\"\napp = []\nweb = []\n\
                 [[sweep.case]]\nlabel = \"two\"\napp.A.rate = \"2mbit\"";
    let plan = plan(&format!("{VIDEO}{cases}"), &["app.B.adapt=true", "case=two"]);
    let apps: Vec<_> = plan.points.iter().map(|point| &point.scenario.apps).collect();
    assert_eq!(apps.iter().map(|apps| apps[0].fps).collect::<Vec<_>>(), [25, 60]);
    assert!(apps.iter().all(|apps| apps[0].adapt && apps[1].rate == Rate::from_mbps(2)));
}

#[test]
fn a_link_that_aggregates_saves_no_airtime_unless_it_is_to() {
    let link = |set: &[&str]| {
        let link = plan("", set).points[0].scenario.link.clone();
        (link.aggregation.as_micros(), link.burst.get())
    };
    assert_eq!(link(&[]), (0, 1514));
    assert_eq!(link(&["link.aggregation=2ms"]), (2000, 0));
    assert_eq!(link(&["link.aggregation=0s"]), (0, 1514));
    assert_eq!(link(&["link.aggregation=2ms", "link.burst=3000b"]), (2000, 3000));
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
    let more = plan(&format!("{MORE}{CASES}"), &["link.buffer=100ms"]);
    bundled.chain([plan(CASES, &[]), plan(NAMED, &[]), odd, more]).collect()
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
            let later = format!(
                "at=[{{ time = \"9s\", aqm = {{ kind = \"{kind}\", profile = \"{profile}\" }} }}]"
            );
            for buffer in ["link.rate=40mbit", "link.buffer=100p", "link.buffer=1mb"] {
                same(&[&set, buffer]);
                same(&[&set, buffer, limit]);
                // After a discipline that counts its limit in packets, and one in bytes.
                same(&[&later, buffer, "aqm={ kind = \"fifo\", profile = \"linux\" }"]);
                same(&[&later, buffer, "aqm=red"]);
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
    assert_eq!(runs("dctth-all"), 9000);
    assert_eq!(runs("dctth-9"), 100);
    assert_eq!(runs("dctth-10"), 45);
    // Slides: 120 combinations of flows and 24 of load; IETF97: seven loads, two answers.
    assert_eq!(runs("slides-flows"), 600);
    assert_eq!(runs("slides-completion"), 72);
    assert_eq!(runs("overload"), 14);
    assert_eq!(runs("linux-7.3-grid"), 25);
    // The presets of the live page.
    assert_eq!(runs("live"), 7);
    // Fallback §7.2: 5 rates by 5 RTTs; §7.5: those by 20 mixes of traffic and 4 schedules of AQMs.
    assert_eq!(runs("fallback-1"), 25);
    assert_eq!(runs("fallback-7"), 50);
    assert_eq!(runs("fallback-500"), 2000);
    assert_eq!(runs("fallback-wide"), 2880);
    assert_eq!(runs("fallback-alone"), 180);
    // Profiles and parts of Prague in five situations, and in three kinds of traffic.
    assert_eq!(runs("prague-parts"), 110);
    assert_eq!(runs("prague-start"), 48);
    assert_eq!(runs("prague-rtts"), 22);
    assert_eq!(runs("prague-narrow"), 24);
    // Nine detectors in three queues; 17 settings of Reno, Cubic and DCTCP in three queues.
    assert_eq!(runs("prague-detector"), 27);
    assert_eq!(runs("tcp-parts"), 51);
    // Three controls by three kinds of client.
    assert_eq!(runs("peers"), 9);
    assert_eq!(runs("phase"), 2);
    // A perfect path and seventeen others.
    assert_eq!(runs("imperfect-path"), 18);
    // Three numbers of stations, and three losses, by four steps.
    assert_eq!(runs("wifi"), 12);
    assert_eq!(runs("cell"), 12);
    // Seven rates by two AQMs. Five loads by three AQMs (Fallback appendix D). Eight sizes of a campus by
    // three AQMs by two detectors. Two rates by four RTTs by three bursts by two sets of constants.
    assert_eq!(runs("two-bottlenecks"), 14);
    assert_eq!(runs("core"), 15);
    assert_eq!(runs("campus"), 48);
    assert_eq!(runs("data-centre"), 72);
    // Six rates by three RTTs by two kinds of link by four numbers of flows by five profiles.
    assert_eq!(runs("dualpi2-profiles"), 720);
    for bundled in bundled::ALL {
        let plan = bundled.plan(&[]).unwrap();
        assert_eq!(plan.name, bundled.name);
        assert!(plan.question.is_some(), "{} answers a question", bundled.name);
    }
}

/// Lines that often form nearly a scenario in a random order.
fn a_line() -> impl Strategy<Value = String> {
    let lines = [BASE, MORE, CASES].into_iter().flat_map(str::lines);
    let lines: Vec<String> = lines.map(str::to_owned).collect();
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
    fn a_base_with_one_byte_changed_is_read_or_refused(
        at in 0..BASE.len() + MORE.len(), byte: u8,
    ) {
        let mut text = format!("{BASE}{MORE}{CASES}").into_bytes();
        text[at] = byte;
        let _ = Plan::parse("any.toml", &String::from_utf8_lossy(&text), &[]);
    }
}

#[test]
fn a_setting_of_a_radio_is_one_of_the_table_of_its_link() {
    let text = "duration = \"10s\"\nlink.wifi.mcs = 3\n\
                [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[hop]]\nname = \"h\"\ncell.layers = 1\n\
                [sweep]\n\"link.wifi.stations\" = [0, 2]\n";
    let set = ["hop.h.cell.mcs=5", "uplink.cell.layers=3"].map(str::to_owned);
    let plan = Plan::parse("s", text, &set).unwrap_or_else(|faults| panic!("{faults}"));
    let stations = plan.points.iter().map(|point| match &point.scenario.link.radio {
        Some(Radio::Wifi(wifi)) => (wifi.mcs, wifi.stations),
        other => panic!("{other:?}"),
    });
    assert_eq!(stations.collect::<Vec<_>>(), [(3, 0), (3, 2)]);
    let scenario = &plan.points[0].scenario;
    let layers = [&scenario.hops[0].link, &scenario.uplink.as_ref().unwrap().link].map(|link| {
        match &link.radio {
            Some(Radio::Cell(cell)) => (cell.layers, cell.mcs, cell.direction),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(layers, [(1, 5, Direction::Down), (3, 19, Direction::Up)]);
}
