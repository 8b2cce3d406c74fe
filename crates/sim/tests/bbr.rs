//! BBR through whole bottlenecks: the phases of its model, alone and beside others.

use std::sync::{Arc, Mutex};

use l4s_cc::bbr::{self, Mode};
use l4s_cc::foreign::{self, Control};
use l4s_cc::{
    Ack, Congestion, CongestionControl, Connection, Decision, Pause, RateSample, Recovery,
    WantedEcn,
};
use l4s_measure::Summary;
use l4s_model::Scenario;
use l4s_units::{Duration, Rate, Time};

use crate::common::{group, mbps, scenario, summary_of};

const RTT: Duration = Duration::from_millis(20);
/// Between the clock ticks at which Linux would look.
const TICK: Duration = Duration::from_millis(1);

/// One flow at 40 Mb/s and 20 ms: 67 segments of 1500 bytes per round trip.
const ALONE: &str = r#"
    duration = "40s"
    warmup = "5s"
    link = { rate = "40mbit", buffer = "1000p" }
    aqm = "fifo"
    [[group]]
    name = "A"
    cc = "bbr"
    rtt = "20ms"
"#;

/// The decision after an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: Time,
    mode: Mode,
    pacing: Rate,
    cwnd: u32,
}

/// BBR that keeps a log.
#[derive(Debug)]
struct Logged {
    bbr: bbr::Control,
    log: Arc<Mutex<Vec<Step>>>,
}

impl CongestionControl for Logged {
    fn on_established(&mut self, connection: &Connection) {
        self.bbr.on_established(connection);
    }
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let decision = self.bbr.on_ack(ack);
        let pacing = decision.pacing.expect("BBR paces");
        let step = Step { at: ack.now, mode: self.bbr.mode(), pacing, cwnd: decision.window.cwnd };
        self.log.lock().expect("no panic").push(step);
        decision
    }
    fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision {
        self.bbr.on_congestion(congestion, answered, at)
    }
    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        self.bbr.on_recovered(recovery)
    }
    fn on_restart(&mut self, pause: Pause) -> Decision {
        self.bbr.on_restart(pause)
    }
    fn samples_rate(&self) -> bool {
        self.bbr.samples_rate()
    }
    fn sample_rate(&mut self, sample: &RateSample) {
        self.bbr.sample_rate(sample);
    }
    fn limits_itself(&self) -> bool {
        self.bbr.limits_itself()
    }
}

/// Runs a scenario whose first group has one flow of BBR; its decisions, and the summary.
fn logged(mut scenario: Scenario) -> (Vec<Step>, Summary) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&log);
    let make = move |connection: &Connection| -> Box<dyn Control> {
        let bbr = bbr::control(&bbr::Config::default(), connection);
        Box::new(Logged { bbr, log: Arc::clone(&shared) })
    };
    scenario.groups[0].cc = l4s_cc::Config::Foreign(foreign::Config {
        name: "bbr".into(),
        wants: WantedEcn::Off,
        make: Arc::new(make),
    });
    let summary = summary_of(&scenario);
    let steps = log.lock().expect("no panic").clone();
    (steps, summary)
}

/// The first step in each mode, in order.
fn phases(steps: &[Step]) -> Vec<Step> {
    let mut phases: Vec<Step> = Vec::new();
    for step in steps {
        if phases.last().is_none_or(|last| last.mode != step.mode) {
            phases.push(*step);
        }
    }
    phases
}

#[test]
fn startup_drain_and_the_cycle_follow_each_other() {
    let (steps, _) = logged(scenario(ALONE, &["duration=9s"]));
    let phases = phases(&steps);
    let modes: Vec<Mode> = phases.iter().map(|step| step.mode).collect();
    assert_eq!(modes[..2], [Mode::Startup, Mode::Drain]);
    let mut places = modes[2..].iter().map(|mode| match mode {
        Mode::ProbeBw(place) => *place,
        other => panic!("{other:?} in the cycle"),
    });
    let mut place = places.next().expect("a cycle");
    assert_ne!(place, 1, "it does not begin by draining");
    for next in places {
        assert_eq!(next, (place + 1) % 8);
        place = next;
    }
    // A phase lasts a round trip; the one that drains may be shorter.
    for pair in phases[3..].windows(2) {
        let length = pair[1].at.since(pair[0].at);
        assert!(length < RTT * 2, "{length:?} of {:?}", pair[0].mode);
        if pair[0].mode != Mode::ProbeBw(1) {
            assert!(length > RTT, "{length:?} of {:?}", pair[0].mode);
        }
    }
}

/// 1.25, 0.75 and six times 1 of a bandwidth of 40 Mb/s, less a hundredth.
#[test]
fn the_pacing_rate_cycles_around_the_bandwidth() {
    let (steps, _) = logged(scenario(ALONE, &["duration=9s"]));
    for step in steps.iter().filter(|step| step.at > Time::ZERO + Duration::from_secs(2)) {
        let Mode::ProbeBw(place) = step.mode else { panic!("{:?}", step.mode) };
        let gain = [1.25, 0.75, 1.0][usize::from(place.min(2))];
        // The link's rate counts the Ethernet header, and TCP paces payload.
        let bandwidth = 40e6 * 1448.0 / 1514.0;
        let ratio = step.pacing.as_bps() as f64 / (0.99 * bandwidth * gain);
        assert!((0.98..1.02).contains(&ratio), "{ratio} of {gain} at {:?}", step.at);
    }
}

/// The window of startup doubles per round trip, and three round trips without growth end it. It
/// has at most 2.89 bandwidth-delay products in flight, so that the queue is no longer than 1.89.
#[test]
fn startup_fills_the_pipe_within_a_few_round_trips_and_drain_empties_it() {
    let (steps, _) = logged(scenario(ALONE, &["duration=9s"]));
    let phases = phases(&steps);
    let (drain, cycle) = (phases[1].at, phases[2].at);
    // Ten segments double to 67 in three round trips; handshake and request take one and a half, and
    // each of the three without growth is up to 2.89 long, with the queue of startup.
    let rounds = drain.since(Time::ZERO).as_secs_f64() / RTT.as_secs_f64();
    assert!((6.0..17.0).contains(&rounds), "{rounds} round trips of startup");
    let drained = cycle.since(drain);
    assert!(drained < RTT * 6, "{drained:?} to drain");
    // Thereafter: the queue of the phase that looks for more, and bursts.
    let calm = scenario(ALONE, &["duration=9s", "warmup=2s"]);
    let summary = summary_of(&calm);
    let delay = summary.queues[0].delay_ms.expect("delays");
    assert!(summary.link.utilization > 0.97, "{}", summary.link.utilization);
    assert!(delay.p99 < 0.5 * RTT.as_secs_f64() * 1e3, "{delay:?}");
    assert!(delay.mean < 0.2 * RTT.as_secs_f64() * 1e3, "{delay:?}");
    assert_eq!(group(&summary, "A").drop, Some(0.0));
}

/// Ten seconds after the lowest RTT four segments are in flight, for 200 ms and a round trip.
#[test]
fn the_round_trip_is_measured_every_ten_seconds() {
    let (steps, _) = logged(scenario(ALONE, &[]));
    let phases = phases(&steps);
    let probes: Vec<_> = phases.windows(2).filter(|pair| pair[0].mode == Mode::ProbeRtt).collect();
    assert_eq!(probes.len(), 3, "in 40 s");
    for probe in &probes {
        let length = probe[1].at.since(probe[0].at);
        let whole = Duration::from_millis(200) + RTT;
        assert!(length + TICK > whole && length < whole + RTT * 3, "{length:?}");
    }
    for pair in probes.windows(2) {
        let apart = pair[1][0].at.since(pair[0][1].at).as_secs_f64();
        assert!((10.0..10.1).contains(&apart), "{apart} s");
    }
    let probing = steps.iter().filter(|step| step.mode == Mode::ProbeRtt);
    assert!(probing.clone().count() > 100);
    assert!(probing.clone().all(|step| step.cwnd <= 4));
}

/// The reason for BBR: one packet in a hundred is lost at random, and Cubic takes each for
/// congestion.
#[test]
fn random_losses_do_not_slow_it_down() {
    let lossy = |cc: &str| {
        let text = format!("{ALONE}\n[[path]]\nname = \"far\"\nloss = 0.01\n");
        summary_of(&scenario(&text, &[&format!("group.A.cc={cc}")])).link.utilization
    };
    let (bbr, cubic) = (lossy("bbr"), lossy("cubic"));
    println!("{bbr:.2} of the link, Cubic {cubic:.2}");
    assert!(bbr > 0.9, "{bbr}");
    assert!(cubic < 0.4, "{cubic}");
}

#[test]
fn flows_share_a_link_and_differ_in_their_cycles() {
    let two = format!("{ALONE}\n[[group]]\nname = \"B\"\ncc = \"bbr\"\nrtt = \"20ms\"\n");
    let summary = summary_of(&scenario(&two, &["duration=60s", "warmup=20s"]));
    let ratio = mbps(&summary, "A") / mbps(&summary, "B");
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
    // Flows that begin at the same time would always look for bandwidth together.
    let cycle =
        |seed: &str| phases(&logged(scenario(&two, &["duration=2s", "warmup=1s", seed])).0)[2].mode;
    let seeds = ["seed=1", "seed=2", "seed=3", "seed=4", "seed=5", "seed=6"];
    let begins: Vec<Mode> = seeds.map(cycle).to_vec();
    assert!(begins.iter().any(|mode| *mode != begins[0]), "{begins:?}");
}

/// An application that writes less than the path carries, and in bursts: rates are those of the
/// application, and the model keeps the path's.
#[test]
fn an_idle_application_does_not_lower_the_model() {
    let text = format!("{ALONE}\n[[app]]\ngroup = \"A\"\nfps = 2\nrate = \"8mbit\"\n");
    let (steps, _) = logged(scenario(&text, &["group.A.flows=0", "duration=9s"]));
    // Bursts of 500 kB take 100 ms at the link's rate. Between them the pacing rate stays.
    let late = steps.iter().filter(|step| step.at > Time::ZERO + Duration::from_secs(4));
    let slowest = late.map(|step| step.pacing).min().expect("steps");
    assert!(slowest > Rate::from_mbps(20), "{slowest:?}");
}

/// Large buffers: Cubic fills them, and BBR's two bandwidth-delay products are a small share.
/// Shallow ones: BBR does not answer the losses, and Cubic does.
#[test]
fn beside_cubic_the_buffer_decides() {
    let beside = format!("{ALONE}\n[[group]]\nname = \"B\"\ncc = \"cubic\"\nrtt = \"20ms\"\n");
    let share = |buffer: &str| {
        let set = [&*format!("link.buffer={buffer}"), "duration=60s", "warmup=20s"];
        let summary = summary_of(&scenario(&beside, &set));
        mbps(&summary, "A") / (mbps(&summary, "A") + mbps(&summary, "B"))
    };
    let (shallow, deep) = (share("10ms"), share("320ms"));
    println!("{shallow:.2} of 10 ms, {deep:.2} of 320 ms");
    assert!(shallow > 0.7, "{shallow}");
    assert!(deep < 0.4, "{deep}");
}
