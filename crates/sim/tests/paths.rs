//! Imperfect stretches of the way.

use l4s_aqm::Queue;
use l4s_measure::{PathSummary, Summary};
use l4s_model::{FlowId, PathEvent, Scenario, SourceId};
use l4s_observe::{Observer, Traced};
use l4s_sim::Packet;
use l4s_units::{Duration, Ecn, Time};
use proptest::prelude::*;

use crate::common::{scenario, summary_of};

fn summary(text: &str, set: &[&str]) -> Summary {
    summary_of(&scenario(text, set))
}

/// Prague and Cubic; no warm-up, so that every packet counts.
const TWO: &str = r#"
duration = "10s"
warmup = "0s"
link.rate = "40mbit"
[[group]]
name = "A"
cc = "prague"
rtt = "10ms"
[[group]]
name = "B"
cc = "cubic"
ecn = "classic"
rtt = "10ms"
"#;

fn with(path: &str) -> String {
    format!("{TWO}[[path]]\nname = \"P\"\n{path}")
}

/// What happened on each path, at the bottleneck, and to flows.
#[derive(Default, PartialEq, Debug)]
struct Ledger {
    /// By path and event.
    paths: [[u64; 6]; 4],
    arrived: u64,
    left: u64,
    dropped: u64,
    /// Codepoints of packets that arrived at the bottleneck.
    codepoints: [u64; 4],
    delivered: [u64; 2],
    closed: Vec<FlowId>,
    digest: u64,
}

impl Ledger {
    fn of(scenario: &Scenario) -> Ledger {
        let mut ledger = Ledger::default();
        l4s_sim::run(scenario, &mut ledger);
        ledger
    }

    fn fold(&mut self, what: u64, now: Time) {
        self.digest = (self.digest.rotate_left(5) ^ what ^ now.as_nanos())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn count(&self, path: usize, what: PathEvent) -> u64 {
        self.paths[path][what as usize]
    }

    /// Packets that came out of a path, or will.
    fn out(&self, path: usize) -> u64 {
        let of = |what| self.count(path, what);
        of(PathEvent::Arrived) + of(PathEvent::Duplicated) - of(PathEvent::Lost)
    }
}

impl Observer<Packet> for Ledger {
    fn at_path(&mut self, path: u16, source: SourceId, what: PathEvent, now: Time) {
        self.paths[usize::from(path)][what as usize] += 1;
        self.fold(u64::from(path) << 8 | u64::from(source.get()), now);
    }
    fn arrived(&mut self, packet: &Packet, now: Time) {
        self.arrived += 1;
        self.codepoints[usize::from(l4s_aqm::Packet::ecn(packet).bits())] += 1;
        self.fold(u64::from(packet.flow().get()), now);
    }
    fn departed(&mut self, _: &Packet, _: Queue, sojourn: Duration, now: Time) {
        self.left += 1;
        self.fold(sojourn.as_nanos(), now);
    }
    fn dropped(&mut self, _: &Packet, _: Queue, _: l4s_aqm::DropCause, _: Time) {
        self.dropped += 1;
    }
    fn delivered(&mut self, _: FlowId, group: SourceId, bytes: u64, _: Time) {
        self.delivered[group.index()] += bytes;
    }
    fn closed(&mut self, flow: FlowId, _: Time) {
        self.closed.push(flow);
    }
}

#[test]
fn a_path_with_nothing_set_is_none() {
    let perfect = scenario(TWO, &[]);
    let mut digest = Ledger::of(&perfect);
    for path in ["loss = 0.0\n", "loss = 0.0\nplace = \"before\"", "loss = 0.0\ndirection = \"up\""]
    {
        let found = Ledger::of(&scenario(&with(path), &[]));
        assert!(found.count(0, PathEvent::Arrived) > 10_000);
        assert_eq!((found.arrived, found.left), (digest.arrived, digest.left), "{path}");
        assert_eq!(found.delivered, digest.delivered);
        digest.paths = found.paths;
    }
}

/// Behind the bottleneck a loss is what it is on any path: goodput is less than the rate of the
/// bottleneck, and the difference was sent again.
#[test]
fn losses_are_counted_and_repaired() {
    let found = summary(&with("loss = 0.01"), &["group.A.flows=0"]);
    let [PathSummary { packets, lost, name, .. }] = &found.paths[..] else { panic!() };
    // 200 losses of 20,000 have a deviation of 14.
    let share = *lost as f64 / *packets as f64;
    assert!(name == "P" && (share - 0.01).abs() < 0.003, "{lost} of {packets}");
    let cubic = &found.groups[1];
    assert!(cubic.retransmits >= *lost && cubic.retransmits < lost + lost / 5 + 5);
    assert_eq!(cubic.drop, Some(0.0), "no drop of the bottleneck");
    let expected = cubic.rate_bps * (1448.0 / 1500.0) * 0.99;
    assert!((cubic.goodput_bps.unwrap() / expected - 1.0).abs() < 0.01);
}

#[test]
fn the_listed_packets_are_lost_and_only_those() {
    // The SYN-ACKs are the first two packets of the direction.
    let set = ["group.*.size=100kb"];
    let found = Ledger::of(&scenario(&with("loss = [30, 31, 32, 33]"), &set));
    assert_eq!(found.count(0, PathEvent::Lost), 4);
    assert_eq!(found.delivered, [100_000, 100_000]);
    assert_eq!(found.closed.len(), 2);
}

#[test]
fn a_corrupted_packet_takes_its_time_on_the_link_and_is_not_delivered() {
    let found = summary(&with("place = \"before\"\ncorrupt = 0.05\n"), &["group.A.flows=0"]);
    let [path] = &found.paths[..] else { panic!() };
    assert!(path.corrupted > 100 && path.lost == 0, "{path:?}");
    let cubic = &found.groups[1];
    // They pass the bottleneck, where the group's rate counts them.
    let expected = cubic.rate_bps * (1448.0 / 1500.0) * 0.95;
    assert!((cubic.goodput_bps.unwrap() / expected - 1.0).abs() < 0.02);
    assert!(cubic.retransmits >= path.corrupted);
}

#[test]
fn a_lost_handshake_costs_a_second_and_no_flow() {
    // The first packet of the direction is the SYN, the second one the other SYN.
    for path in ["direction = \"up\"\nloss = [1, 2, 3, 4]", "loss = [1, 2]"] {
        let found = Ledger::of(&scenario(&with(path), &["group.*.size=20kb"]));
        assert_eq!(found.delivered, [20_000, 20_000], "{path}");
        assert_eq!(found.closed.len(), 2, "{path}");
    }
}

/// RFC 9768 §3.2.2.3: Prague finds that the path bleaches, and goes on without ECN. So do others.
#[test]
fn who_is_bleached_finds_out_and_falls_back() {
    let found = Ledger::of(&scenario(&with("ecn = \"bleach\"\n"), &["group.B.flows=0"]));
    assert!(found.count(0, PathEvent::Mangled) > 0);
    let ect1 = found.codepoints[usize::from(Ecn::Ect1.bits())];
    let not_ect = found.codepoints[usize::from(Ecn::NotEct.bits())];
    assert!(not_ect > 1000 && ect1 < 100, "{:?}", found.codepoints);
}

#[test]
fn l4s_traffic_becomes_classic_before_the_bottleneck() {
    let path = "place = \"before\"\necn = \"ect1-to-ect0\"\n";
    let found = summary(&with(path), &["group.B.flows=0"]);
    let [l, c] = &found.queues[..] else { panic!() };
    assert!(c.packets > 1000 && l.packets < 10, "{} {}", l.packets, c.packets);
    assert!(found.paths[0].mangled >= c.packets);
}

/// Without the option the sender counts by the ACE field, and still sees the marks.
#[test]
fn marks_survive_without_the_option() {
    let alone = ["group.B.flows=0", "warmup=2s"];
    let strip = "direction = \"up\"\naccecn = \"strip\"\n";
    let (plain, stripped) = (summary(TWO, &alone), summary(&with(strip), &alone));
    let delay = |found: &Summary| found.queues[0].delay_ms.unwrap().p99;
    assert!(stripped.paths[0].mangled > 1000);
    assert!(delay(&stripped) < 1.5 * delay(&plain), "{} {}", delay(&stripped), delay(&plain));
    // With a cleared ACE field it sees none, finds that out, and is Not-ECT in the Classic queue.
    let cleared = summary(&with("direction = \"up\"\naccecn = \"clear-ace\"\n"), &alone);
    let [l, c] = &cleared.queues[..] else { panic!() };
    assert!(l.packets < 100 && c.packets > 10_000, "{} {}", l.packets, c.packets);
}

/// One more imperfection changes no choice of the others, and neither does another path.
#[test]
fn each_path_has_its_own_chances() {
    let one = with("loss = 0.2\ngroups = [\"B\"]\n");
    // The first losses, before the flows themselves differ.
    let firsts = |text: &str| {
        #[derive(Default)]
        struct Firsts(Vec<(bool, u64)>, u64);
        impl Observer<Packet> for Firsts {
            fn at_path(&mut self, path: u16, _: SourceId, what: PathEvent, _: Time) {
                if path == 0 && what == PathEvent::Arrived {
                    self.1 += 1;
                }
                if path == 0 && what == PathEvent::Lost {
                    self.0.push((true, self.1));
                }
            }
        }
        let mut firsts = Firsts::default();
        l4s_sim::run(&scenario(text, &[]), &mut firsts);
        firsts.0.truncate(20);
        firsts.0
    };
    let expected = firsts(&one);
    assert_eq!(expected.len(), 20);
    assert_eq!(firsts(&format!("{one}duplicate = 0.1\njitter = \"1ms\"\n")), expected);
    let other = "[[path]]\nname = \"Q\"\nloss = 0.1\nplace = \"before\"\ngroups = [\"A\"]\n";
    assert_eq!(firsts(&format!("{one}{other}")), expected);
    assert_ne!(firsts(&one.replace("\"P\"", "\"R\"")), expected);
}

#[test]
fn a_udp_source_passes_too() {
    let udp = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\necn = \"ect1\"\npacket = \"500b\"\n\
               stop = \"9s\"\n";
    let path = "[[path]]\nname = \"P\"\nplace = \"before\"\nloss = 0.5\necn = \"bleach\"\ngroups = [\"U\"]\n";
    let found = summary(&format!("{TWO}{udp}{path}"), &[]);
    // 1 Mb/s are 250 packets per second.
    assert!((2200..2300).contains(&found.paths[0].packets), "{}", found.paths[0].packets);
    // The Classic queue, in which they are then, drops a few.
    let passed = found.paths[0].packets - found.paths[0].lost;
    assert_eq!(found.paths[0].mangled, passed);
    assert!((0..5).contains(&(passed - found.groups[2].packets)));
}

fn stretch(name: &str, direction: &str, place: &str, chance: f64) -> String {
    format!(
        "[[path]]\nname = \"{name}\"\ndirection = \"{direction}\"\nplace = \"{place}\"\n\
         loss = {{ to_bad = {chance:?}, to_good = 0.5, in_bad = 0.5, in_good = {:?} }}\n\
         jitter = {{ mean = \"2ms\", distribution = \"exponential\", reordering = true }}\n\
         reorder = {{ chance = {chance:?}, by = \"9ms\" }}\nduplicate = {chance:?}\ncorrupt = {chance:?}\n",
        chance / 2.0
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// With every imperfection at once packets are conserved, flows complete, and a seed repeats.
    #[test]
    fn tcp_survives_everything_at_once(
        seed in 0u64..100_000,
        chance in 0.0..0.04f64,
        cc in prop::sample::select(vec!["prague", "cubic", "dctcp", "reno"]),
        ecn in prop::sample::select(vec!["pass", "bleach", "ect1-to-ect0", "ce-to-ect1", "ect-to-ce"]),
        accecn in prop::sample::select(vec!["pass", "strip", "clear-ace"]),
        peer in prop::sample::select(vec!["auto", "rfc3168"]),
    ) {
        let mangling = format!("ecn = \"{ecn}\"\naccecn = \"{accecn}\"\n");
        let text = [
            TWO.to_owned(),
            stretch("before", "down", "before", chance),
            mangling.clone(),
            stretch("behind", "down", "behind", chance),
            stretch("up", "up", "before", chance),
            mangling,
            stretch("further", "up", "behind", chance),
        ].concat();
        let seed = format!("seed={seed}");
        let cc = format!("group.A.cc={cc}");
        let peer = format!("group.A.peer={peer}");
        // Timeouts double up to two minutes: a flow whose retransmissions are lost again and again takes that long.
        let set = [&*seed, &*cc, &*peer, "duration=7200s", "group.*.size=300kb", "group.A.flows=3"];
        let scenario = scenario(&text, &set);
        let found = Ledger::of(&scenario);
        // Everybody is long done: nothing is on the way.
        prop_assert_eq!(found.arrived, found.out(0));
        prop_assert_eq!(found.left + found.dropped, found.arrived);
        prop_assert_eq!(found.count(1, PathEvent::Arrived), found.left);
        prop_assert_eq!(found.count(3, PathEvent::Arrived), found.out(2));
        prop_assert_eq!(found.delivered, [900_000, 300_000]);
        let mut closed = found.closed.clone();
        closed.sort_unstable();
        closed.dedup();
        prop_assert_eq!(closed.len(), 4);
        prop_assert_eq!(Ledger::of(&scenario), found);
    }
}

/// Packets that came to the path and were lost there, and the spread of times between arrivals at it and at the
/// host, by second.
#[derive(Default)]
struct Losses {
    came: Vec<u64>,
    lost: Vec<u64>,
}

impl Observer<Packet> for Losses {
    fn at_path(&mut self, _: u16, _: SourceId, what: PathEvent, now: Time) {
        let counts = match what {
            PathEvent::Arrived => &mut self.came,
            PathEvent::Lost => &mut self.lost,
            _ => return,
        };
        let second = now.as_secs_f64() as usize;
        counts.resize(counts.len().max(second + 1), 0);
        counts[second] += 1;
    }
}

/// 10,000 datagrams a second: the deviation of the losses is below 50.
#[test]
fn a_change_of_loss_takes_effect_at_its_time() {
    let text = "duration = \"6s\"\nwarmup = \"0s\"\nlink.rate = \"100mbit\"\n\
                [[udp]]\nname = \"U\"\nrate = \"8mbit\"\npacket = \"100b\"\n\
                [[path]]\nname = \"P\"\nloss = 0\n\
                [[at]]\ntime = \"2s\"\npath.P.loss = 0.1\n\
                [[at]]\ntime = \"3s\"\npath.P.loss = [1, 2, 4]\n\
                [[at]]\ntime = \"4s\"\npath.P.loss = { to_bad = 0.5, to_good = 0.5 }\n\
                [[at]]\ntime = \"5s\"\npath.P.loss = 0\n";
    let scenario = scenario(text, &[]);
    let mut seen = Losses::default();
    l4s_sim::run(&scenario, &mut seen);
    assert!(seen.came.iter().all(|came| (9_990..=10_010).contains(came)), "{:?}", seen.came);
    for (second, expected) in [0.0, 0.0, 1000.0, 3.0, 5000.0, 0.0].into_iter().enumerate() {
        let lost = seen.lost.get(second).copied().unwrap_or(0) as f64;
        let most = if expected > 10.0 { 250.0 } else { 0.0 };
        assert!((lost - expected).abs() <= most, "second {second}: {lost}, not {expected}");
    }
}

/// The mean round trip grows by the mean of the jitter, 10 ms of uniform up to 20.
#[test]
fn a_change_of_jitter_takes_effect_at_its_time() {
    let text = "duration = \"20s\"\nwarmup = \"0s\"\nlink.rate = \"10mbit\"\naqm = \"fifo\"\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"50ms\"\nrcvbuf = \"16kb\"\n\
                [[path]]\nname = \"P\"\njitter = \"0s\"\n";
    let rtt = |text: &str| {
        let found = summary_of(&scenario(text, &["warmup=10s"]));
        found.groups[0].rtt_ms.unwrap()
    };
    let before = rtt(text);
    let later = rtt(&format!("{text}[[at]]\ntime = \"10s\"\npath.P.jitter = \"20ms\"\n"));
    // In order a packet waits for the longest before it, so that more than the mean is added.
    assert!((10.0..21.0).contains(&(later - before)), "{before} and {later} ms");
    let none = format!(
        "{text}[[at]]\ntime = \"1s\"\npath.P.jitter = \"20ms\"\n\
                        [[at]]\ntime = \"9s\"\npath.P.jitter = \"0s\"\n"
    );
    assert!((rtt(&none) - before).abs() < 0.2, "{} and {before} ms", rtt(&none));
}

/// A live change is that of an `[[at]]`, and the same commands at the same times give the same run.
#[test]
fn a_path_that_is_changed_from_outside_is_that_of_an_at() {
    let base = with("loss = 0.001\njitter = \"1ms\"\n");
    let at = "[[at]]\ntime = \"5s\"\npath.P.loss = 0.02\npath.P.jitter = \"3ms\"\n";
    let (first, second) =
        (scenario(&base, &[]), scenario(&base, &["path.P.loss=0.02", "path.P.jitter=3ms"]));
    let turned = || {
        let mut run = l4s_sim::Simulation::new(&first, Ledger::default());
        run.advance(Time::ZERO + Duration::from_secs(5));
        assert!(run.adapt(&second));
        run.advance(Time::ZERO + Duration::from_secs(10));
        run.finish().1
    };
    assert_eq!(turned(), turned());
    assert_eq!(turned(), Ledger::of(&scenario(&format!("{base}{at}"), &[])));
    assert_ne!(turned(), Ledger::of(&first));
}
