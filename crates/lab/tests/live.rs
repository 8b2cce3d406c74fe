//! Real TCP that continues while the scenario changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as Wall, Instant};

use l4s_aqm::Packet as _;
use l4s_aqm::Queue;
use l4s_lab::{AgentCommand, Control, Frame, LabOptions, LabPlan, Live};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{FlowState, FrameEvent, Observer, Traced};
use l4s_os::OsError;
use l4s_scenario::Plan;
use l4s_units::{Bytes, Duration, Time};

const BASE: &str = r#"
duration = "60s"
link = { rate = "20mbit" }
aqm = { kind = "dualpi2" }
[[group]]
name = "A"
cc = "cubic"
rtt = "10ms"
[[group]]
name = "B"
cc = "reno"
rtt = "10ms"
[[web]]
group = "B"
rate = "0/s"
size = "10kb"
[[app]]
group = "A"
rate = "0bit"
[[udp]]
name = "U"
rate = "0bit"
"#;

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    Plan::parse("t.toml", BASE, &set).expect("a scenario").points[0].scenario.clone()
}

/// A plan with the kernel's own congestion controls.
fn plan(scenario: &Scenario, options: &LabOptions) -> Result<LabPlan, OsError> {
    LabPlan::new(scenario, |group| Control::from(group.cc.kind().to_owned()), options)
}

/// The observations since the last reading.
#[derive(Clone, Default, Debug)]
struct Seen {
    packets: BTreeMap<u16, u64>,
    /// The bytes that clients read, by group.
    read: BTreeMap<u16, u64>,
    queues: BTreeSet<&'static str>,
    ect0: u64,
    ect1: u64,
    flows: BTreeSet<(u16, u32, bool)>,
    sizes: Vec<Option<Bytes>>,
    closed: u64,
    turned_away: u64,
    /// Open flows with a size, now and at most; kept from one reading to the next.
    under_way: i64,
    most_under_way: i64,
    frames: u64,
    adapted: u64,
    shortest: Option<Duration>,
}

#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Seen>>);

impl Watcher {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("nobody panics with it")
    }
}

impl Observer<Frame> for Watcher {
    fn departed(&mut self, packet: &Frame, queue: Queue, _: Duration, _: Time) {
        let mut seen = self.seen();
        *seen.packets.entry(packet.group().get()).or_default() += 1;
        seen.queues.insert(queue.name());
        seen.ect0 += u64::from(packet.ecn() == l4s_units::Ecn::Ect0);
        seen.ect1 += u64::from(packet.ecn() == l4s_units::Ecn::Ect1);
    }
    fn opened(&mut self, _: FlowId, _: SourceId, size: Option<Bytes>, _: Time) {
        let mut seen = self.seen();
        seen.sizes.push(size);
        seen.under_way += i64::from(size.is_some());
        seen.most_under_way = seen.most_under_way.max(seen.under_way);
    }
    fn delivered(&mut self, _: FlowId, group: SourceId, bytes: u64, _: Time) {
        *self.seen().read.entry(group.get()).or_default() += bytes;
    }
    fn closed(&mut self, _: FlowId, _: Time) {
        let mut seen = self.seen();
        seen.closed += 1;
        seen.under_way -= 1;
    }
    fn frame(&mut self, _: FlowId, _: SourceId, what: FrameEvent, _: Time) {
        self.seen().frames += u64::from(matches!(what, FrameEvent::Delivered(_)));
    }
    fn round_trip(&mut self, _: FlowId, rtt: Duration, _: Time) {
        let mut seen = self.seen();
        seen.shortest = Some(seen.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
    }
    fn sample_link(&mut self, _: l4s_observe::LinkState, _: Time) {
        self.seen().flows.clear();
    }
    fn sample_flow(&mut self, state: FlowState, _: Time) {
        self.seen().flows.insert((state.group.get(), state.flow.get(), state.is_app));
    }
    fn adapted(&mut self, _: &Scenario, _: Time) {
        self.seen().adapted += 1;
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(50))
    }
}

/// One run at a time: real time requires an idle machine.
struct Run {
    live: Live,
    watcher: Watcher,
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Run {
    fn start(set: &[&str]) -> Option<Run> {
        let program = env!("CARGO_BIN_EXE_l4s-lab-agent").into();
        let agent = AgentCommand { program, args: Vec::new() };
        let watcher = Watcher::default();
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        match Live::start(&scenario(set), Box::new(plan), &agent, Box::new(watcher.clone())) {
            Ok(live) => Some(Run { live, watcher, _alone: alone }),
            Err(OsError::Machine(why)) => {
                println!("skipped: {why}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn becomes(&mut self, set: &[&str]) {
        assert!(self.live.adapt(&scenario(set)), "{set:?}");
    }

    /// Continues until half a second has `enough`, for a minute at most, as the machine may also run
    /// other programs.
    fn until(&mut self, what: &str, enough: impl Fn(&Seen) -> bool) -> Seen {
        let began = Instant::now();
        loop {
            {
                let mut seen = self.watcher.seen();
                let Seen { under_way, most_under_way, .. } = *seen;
                *seen = Seen { under_way, most_under_way, ..Seen::default() };
            }
            for _ in 0..25 {
                let watcher = &self.watcher;
                let turned_away = |_: &_| watcher.seen().turned_away += 1;
                self.live.tend(turned_away).expect("it goes on");
                std::thread::sleep(Wall::from_millis(20));
            }
            let seen = self.watcher.seen().clone();
            if enough(&seen) {
                return seen;
            }
            assert!(began.elapsed() < Wall::from_secs(60), "{what}: {seen:?}");
        }
    }
}

fn of(seen: &Seen, group: u16, app: bool) -> usize {
    seen.flows.iter().filter(|flow| flow.0 == group && flow.2 == app).count()
}

#[test]
fn flows_come_and_go_and_so_does_everything_else() {
    let Some(mut run) = Run::start(&[]) else { return };
    let packets = |seen: &Seen, group: u16| seen.packets.get(&group).copied().unwrap_or(0);
    let read = |seen: &Seen, group: u16| seen.read.get(&group).copied().unwrap_or(0);
    let first = run.until("two flows", |seen| {
        [0, 1].iter().all(|&group| packets(seen, group) > 100 && read(seen, group) > 100_000)
    });
    assert_eq!(packets(&first, 2), 0, "the source is off");

    run.becomes(&["group.B.flows=3"]);
    run.until("two more", |seen| of(seen, 1, false) == 3 && of(seen, 0, false) == 1);
    run.becomes(&["group.B.flows=0"]);
    let gone = run.until("none", |seen| of(seen, 1, false) == 0 && packets(seen, 0) > 200);
    // Packets in flight may still have arrived.
    assert!(packets(&gone, 1) < packets(&gone, 0), "{gone:?}");

    let all = [
        "group.B.flows=0",
        "web.B.rate=50/s",
        "app.A.rate=1mbit",
        "udp.U.rate=2mbit",
        "udp.U.ecn=ect1",
    ];
    run.becomes(&all);
    let busy = run.until("downloads, frames and datagrams", |seen| {
        seen.closed > 10
            && read(seen, 1) > 100_000
            && seen.frames > 8
            && packets(seen, 2) > 40
            && of(seen, 0, true) == 1
    });
    assert!(busy.ect1 > 20, "{busy:?}");
    assert!(busy.sizes.iter().filter(|size| **size == Some(Bytes::new(10_000))).count() > 10);

    run.becomes(&["group.B.flows=0"]);
    run.until("silence but for the flow of A", |seen| {
        of(seen, 0, true) == 0
            && packets(seen, 0) > 200
            && packets(seen, 2) == 0
            && seen.frames == 0
    });
}

/// 20 downloads per second of 1 MB at 20 Mb/s or less: each takes 0.4 s at least.
#[test]
fn no_more_downloads_are_under_way_than_there_may_be() {
    let Some(mut run) = Run::start(&["group.B.flows=0"]) else { return };
    run.live = run.live.with_most_downloads(3);
    run.becomes(&["group.B.flows=0", "web.B.rate=20/s", "web.B.size=1mb"]);
    let seen =
        run.until("some that are turned away", |seen| seen.turned_away > 3 && seen.closed > 0);
    assert_eq!(seen.most_under_way, 3);
}

#[test]
fn the_link_its_discipline_and_paths_change() {
    let Some(mut run) = Run::start(&[]) else { return };
    run.until("the Classic queue", |seen| seen.queues.contains("C"));
    run.becomes(&["aqm=pie", "link.rate=10mbit", "group.*.rtt=40ms"]);
    run.until("a single queue and a longer path", |seen| {
        seen.queues.contains("Q")
            && !seen.queues.contains("C")
            && seen.shortest.is_some_and(|rtt| rtt >= Duration::from_millis(40))
    });
    assert!(!run.live.adapt(&scenario(&["seed=7"])));
}

/// ECN needs two sysctls, marks of RFC 3168 exist only with it, and the application's flow changes too.
#[test]
fn congestion_control_and_ecn_change() {
    let Some(mut run) = Run::start(&["group.B.flows=0", "app.A.rate=1mbit"]) else { return };
    let first = run.until("a flow and an application", |seen| {
        of(seen, 0, false) == 1 && of(seen, 0, true) == 1 && seen.frames > 4
    });
    assert_eq!((first.ect0, first.closed), (0, 0), "{first:?}");
    let mut old = first.flows;
    for (cc, ecn) in [("reno", "classic"), ("cubic", "off"), ("reno", "classic")] {
        let cc = format!("group.A.cc={cc}");
        let ecn = format!("group.A.ecn={ecn}");
        run.becomes(&["group.B.flows=0", "app.A.rate=1mbit", &cc, &ecn]);
        let seen = run.until("both again", |seen| {
            of(seen, 0, false) == 1
                && of(seen, 0, true) == 1
                && seen.frames > 4
                && seen.flows.is_disjoint(&old)
                && (seen.ect0 > 100) == (ecn.ends_with("classic"))
        });
        assert_eq!(seen.packets.len(), 1, "{seen:?}");
        old = seen.flows;
    }
}

#[test]
fn nothing_is_left_when_it_is_dropped() {
    let Some(mut run) = Run::start(&[]) else { return };
    run.until("packets", |seen| !seen.packets.is_empty());
    let agents = run.live.agents().to_vec();
    let lives = |pid: u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(agents.len() == 6 && agents.iter().all(|agent| lives(agent.pid)));
    drop(run);
    assert!(!agents.iter().any(|agent| lives(agent.pid)), "{agents:?}");
}
