//! Prague with tracers (`fallback = "active"`) compared with Prague without (`"passive"`), in situations in
//! which passive detection is wrong.

use l4s_aqm::Queue;
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Contents, FlowState, FrameEvent, Header, Observer, Tcp, Traced};
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_units::{Duration, Time};

/// IP length of the middle and the rear of a set: 98 B and 64 B of header; one less for a rear that is a
/// copy.
const TRACER_IP: [u64; 2] = [161, 162];

/// The results of a Prague flow beside a Cubic flow with Classic ECN.
#[derive(Default, Debug)]
struct Seen {
    /// The score each 10 ms.
    scores: Vec<f64>,
    /// Middles and rears that left the queue.
    tracers: u32,
}

impl Observer<Packet> for Seen {
    fn departed(&mut self, packet: &Packet, _: Queue, _: Duration, _: Time) {
        self.tracers += u32::from(TRACER_IP.contains(&packet.ip_length().get()));
    }
    fn sample_flow(&mut self, state: FlowState, _: Time) {
        self.scores.extend(state.classic_ecn.map(|report| report.score));
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
}

impl Seen {
    fn last(&self) -> f64 {
        self.scores[self.scores.len() - 1]
    }

    fn most(&self) -> f64 {
        self.scores.iter().copied().fold(f64::MIN, f64::max)
    }

    fn mean(&self) -> f64 {
        self.scores.iter().sum::<f64>() / self.scores.len() as f64
    }
}

/// 30 s on 40 Mb/s with 10 ms.
fn text(aqm: &str, profile: &str, fallback: &str) -> String {
    format!(
        "duration = \"30s\"\nlink.rate = \"40mbit\"\naqm = \"{aqm}\"\n\
         [[group]]\nname = \"P\"\nrtt = \"10ms\"\n\
         cc = {{ kind = \"prague\", profile = \"{profile}\", fallback = \"{fallback}\" }}\n\
         [[group]]\nname = \"C\"\nrtt = \"10ms\"\ncc = \"cubic\"\necn = \"classic\"\n"
    )
}

fn run(aqm: &str, fallback: &str, v0: Option<Duration>, set: &[&str]) -> Seen {
    run_profile("paper", aqm, fallback, v0, set)
}

fn run_profile(
    profile: &str,
    aqm: &str,
    fallback: &str,
    v0: Option<Duration>,
    set: &[&str],
) -> Seen {
    let mut seen = Seen::default();
    run_into(&text(aqm, profile, fallback), v0, set, &mut seen);
    println!(
        "{profile} {aqm} {fallback} {v0:?} {set:?}: last {:.2}, mean {:.2}, most {:.2}; {} tracers",
        seen.last(),
        seen.mean(),
        seen.most(),
        seen.tracers
    );
    seen
}

/// `v0` replaces V0 of the rules of Prague's detector.
fn run_into(text: &str, v0: Option<Duration>, set: &[&str], seen: &mut impl Observer<Packet>) {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let plan = Plan::parse("tracers.toml", text, &set).unwrap_or_else(|e| panic!("{e}"));
    let mut scenario = plan.points[0].scenario.clone();
    for group in &mut scenario.groups {
        if let (l4s_cc::Config::Prague(prague), Some(v0)) = (&mut group.cc, v0) {
            prague.detector.v0 = v0;
        }
    }
    l4s_sim::run(&scenario, seen);
}

/// A low reference: the variability of a dual queue is then like that of a Classic queue.
const LOW: Option<Duration> = Some(Duration::from_micros(60));

#[test]
fn tracers_hold_back_a_score_that_errs_on_a_dual_queue() {
    assert!(run("dualpi2", "passive", LOW, &[]).last() > 7.0);
    let active = run("dualpi2", "active", LOW, &[]);
    // The transition is from 0 to 1. Between two sets the score continues to rise.
    let into = active.scores.iter().filter(|score| **score > 0.0).count();
    assert!(into * 100 < active.scores.len(), "{into} of {}", active.scores.len());
    assert!(active.most() < 1.0 && active.mean() < -2.0 && active.last() < -1.0);
}

#[test]
fn tracers_change_nothing_in_a_single_queue_and_are_given_up() {
    for (v0, set) in [(LOW, &[][..]), (None, &[]), (None, &["link.aggregation=4ms"])] {
        let [passive, active] = ["passive", "active"].map(|how| run("codel", how, v0, set));
        assert!(passive.last() > 7.0 && active.last() > 7.0);
        // Four sets, with two packets each.
        assert_eq!((passive.tracers, active.tracers), (0, 8));
    }
}

#[test]
fn nothing_is_asked_where_the_score_is_sure() {
    for set in [&[][..], &["link.aggregation=1ms"]] {
        let active = run("dualpi2", "active", None, set);
        assert!(
            active.tracers == 0 && active.most() < -5.0,
            "{} {}",
            active.tracers,
            active.most()
        );
    }
}

/// The findings of a stock kernel's Prague with copies, and its error without tracers.
#[test]
fn copies_tell_the_queues_of_a_link_that_sends_in_bursts() {
    let found = |aqm, fallback| run_profile("best-linux", aqm, fallback, None, BURSTS);
    assert!(found("dualpi2", "passive").last() > 7.0);
    let active = found("dualpi2", "active");
    assert!(active.last() < -7.0 && active.tracers >= 8);
    let single = found("codel", "active");
    assert!(single.last() > 7.0 && single.tracers >= 8);
}

/// The data that the flow of an application carried through the queue, to the byte.
#[derive(Default, Debug)]
struct Carried {
    /// The bytes of a frame.
    frame: u64,
    /// Ranges of sequence numbers without a gap; the first one starts at 1.
    stretches: Vec<(u64, u64)>,
    /// Frames written, delivered and skipped, and frames that counted as delivered after a part of the next one
    /// had left the queue.
    written: usize,
    delivered: usize,
    skipped: usize,
    late: usize,
    /// The starts of middles and rears, in the order in which they left the queue. A middle starts a byte
    /// before its rear.
    tracers: Vec<u64>,
    /// The score each 10 ms.
    scores: Vec<f64>,
}

/// The application's group, which has no other flows.
const APP: SourceId = SourceId::new(0);

impl Carried {
    fn carry(&mut self, from: u64, to: u64) {
        let first = self.stretches.partition_point(|stretch| stretch.1 < from);
        let end = self.stretches.partition_point(|stretch| stretch.0 <= to);
        let joined = self.stretches[first..end]
            .iter()
            .fold((from, to), |joined, stretch| (joined.0.min(stretch.0), joined.1.max(stretch.1)));
        self.stretches.splice(first..end, [joined]);
    }

    /// The number of sets whose rear is before their middle, and the number of the others.
    fn sets(&self) -> (usize, usize) {
        let begins = |at: u64| self.tracers.iter().position(|tracer| *tracer == at);
        let pairs = self.tracers.iter().enumerate();
        let pairs = pairs.filter_map(|(middle, at)| Some((middle, begins(at + 1)?)));
        let (overtaken, in_order): (Vec<_>, Vec<_>) = pairs.partition(|pair| pair.1 < pair.0);
        (overtaken.len(), in_order.len())
    }

    fn last(&self) -> f64 {
        self.scores[self.scores.len() - 1]
    }
}

impl Observer<Packet> for Carried {
    fn departed(&mut self, packet: &Packet, _: Queue, _: Duration, _: Time) {
        let Contents::Headers(_, Header::Tcp(Tcp { seq, payload, syn: false, .. })) =
            packet.contents()
        else {
            return;
        };
        if packet.group() == APP {
            self.carry(seq, seq + u64::from(payload));
            self.tracers.extend(TRACER_IP.contains(&packet.ip_length().get()).then_some(seq));
        }
    }
    fn sample_flow(&mut self, state: FlowState, _: Time) {
        let report = state.classic_ecn.filter(|_| state.group == APP);
        self.scores.extend(report.map(|report| report.score));
    }
    fn frame(&mut self, _: FlowId, _: SourceId, what: FrameEvent, now: Time) {
        match what {
            FrameEvent::Written => self.written += 1,
            FrameEvent::Skipped => self.skipped += 1,
            FrameEvent::Delivered(_) => {
                self.delivered += 1;
                let (from, to) = self.stretches[0];
                let end = from + self.delivered as u64 * self.frame;
                assert!(to >= end, "frame {} at {now:?}", self.delivered);
                self.late += usize::from(self.stretches[self.stretches.len() - 1].1 > end);
            }
        }
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
}

/// A Prague application of `mbps` Mb/s beside a Cubic flow with Classic ECN, 25 Mb/s and 10 ms. It stops
/// early enough for everything to arrive.
fn run_app(mbps: u64, aqm: &str, profile: &str, v0: Option<Duration>, set: &[&str]) -> Carried {
    let text = format!(
        "duration = \"60s\"\nlink.rate = \"25mbit\"\naqm = \"{aqm}\"\n\
         [[group]]\nname = \"P\"\nflows = 0\nrtt = \"10ms\"\n\
         cc = {{ kind = \"prague\", profile = \"{profile}\", fallback = \"active\" }}\n\
         [[group]]\nname = \"C\"\nrtt = \"10ms\"\ncc = \"cubic\"\necn = \"classic\"\n\
         [[app]]\ngroup = \"P\"\nrate = \"{mbps}mbit\"\nfps = 30\nstop = \"58s\"\n"
    );
    let frame = (mbps * 1_000_000 + 120) / 240;
    let mut seen = Carried { frame, ..Carried::default() };
    run_into(&text, v0, set, &mut seen);
    println!(
        "{mbps} Mb/s, {aqm} {profile} {v0:?} {set:?}: last {:.2}, {:?}",
        seen.last(),
        seen.sets()
    );
    // All frames arrived, each one whole, and no other byte.
    assert!(seen.written > 1000);
    assert_eq!(seen.delivered, seen.written);
    assert_eq!(seen.stretches, [(1, 1 + seen.written as u64 * seen.frame)]);
    seen
}

const BURSTS: &[&str] = &["link.aggregation=4ms"];

#[test]
fn an_application_asks_a_dual_queue_that_sends_in_bursts() {
    for profile in ["best", "best-linux"] {
        let seen = run_app(2, "dualpi2", profile, None, BURSTS);
        let (overtaken, in_order) = seen.sets();
        assert!(overtaken >= 8 && overtaken > 4 * in_order, "{overtaken} {in_order}");
        assert!(seen.last() <= 0.0);
    }
}

/// `CoDel` beside one Cubic flow marks none of 2 Mb/s, so that no set is sent there.
#[test]
fn an_application_asks_a_single_queue_in_vain() {
    for profile in ["best", "best-linux"] {
        for (mbps, aqm) in [(10, "codel"), (2, "pie"), (2, "pi2")] {
            let seen = run_app(mbps, aqm, profile, None, BURSTS);
            let (overtaken, in_order) = seen.sets();
            assert!(overtaken == 0 && in_order >= 8, "{overtaken} {in_order}");
            assert!(seen.last() > 7.0);
        }
    }
}

/// Without aggregates a packet arrives when it leaves the queue. So no frame may count as delivered later
/// or earlier than that.
#[test]
fn a_frame_is_delivered_with_its_last_byte_whatever_sets_are_in_it() {
    let seen = run_app(2, "dualpi2", "paper", LOW, &[]);
    assert!(seen.sets().0 >= 8, "{:?}", seen.sets());
    assert_eq!(seen.late, 0);
}

/// There are too many Cubic flows to leave 2 Mb/s.
#[test]
fn who_adapts_skips_frames_and_sends_sets_in_the_others() {
    let set = [BURSTS[0], "app.P.adapt=true", "group.C.flows=20"];
    let seen = run_app(2, "dualpi2", "paper", None, &set);
    assert!(seen.sets().0 >= 8 && seen.skipped > 100, "{:?}, {}", seen.sets(), seen.skipped);
}

/// Aggregates of 4 ms vary the RTT by more in each round trip than a set takes from the score. The score
/// enters the transition despite four sets that all indicate L4S, and then no more sets are sent. The
/// test pins this behaviour; it is not a requirement.
#[test]
fn a_link_that_aggregates_looks_classic_to_who_only_looks() {
    let set = &["link.aggregation=4ms"];
    let passive = run("dualpi2", "passive", None, set);
    assert!(passive.last() > 7.0 && passive.tracers == 0);
    assert!(run("dualpi2", "active", None, set).tracers >= 8);
}
