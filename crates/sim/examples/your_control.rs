//! A congestion control in 40 lines, run beside others in the simulator.
//!
//! `cargo run -p l4s-sim --example your_control` prints the queueing delay and the rate of one flow
//! at DualPI2, for every control.

use std::sync::Arc;

use l4s_aqm::Queue;
use l4s_cc::{
    Ack, Config, Congestion, CongestionControl, Connection, Decision, Pause, Recovery, WantedEcn,
    Window, cubic, dctcp, foreign, prague,
};
use l4s_model::{Group, Link, Scenario};
use l4s_observe::{Observer, Traced};
use l4s_sim::Packet;
use l4s_units::{Bytes, Duration, Rate, Time};

/// A scalable control without a moving average: each mark takes half a segment at once, so that in
/// equilibrium there are two marks per round trip at any rate (DCttH §2.1).
#[derive(Debug)]
struct Scalable {
    connection: Connection,
    /// The window in segments, with its fraction.
    cwnd: f64,
    slow_start: bool,
    decision: Decision,
}

impl Scalable {
    fn set(&mut self, cwnd: f64) -> Decision {
        self.cwnd = cwnd.max(2.0);
        self.decision.window = Window::new(self.cwnd as u32);
        self.decision
    }
}

impl CongestionControl for Scalable {
    fn on_established(&mut self, connection: &Connection) {
        self.connection = *connection;
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let marked = f64::from(ack.delivered_ce);
        let unmarked = f64::from(ack.delivered) - marked;
        self.slow_start &= marked == 0.0;
        let growth = if self.slow_start { unmarked } else { unmarked / self.cwnd };
        let growth = if ack.limited { growth } else { 0.0 };
        self.set(self.cwnd + growth - marked / 2.0);
        let window = self.decision.window;
        let rate = self.connection.pacing_rate(&window, ack.nxt - ack.una, ack.srtt);
        let quantum = self.connection.quantum(rate, ack.min_rtt, 1);
        self.decision = self.connection.decide(window, rate, true, quantum);
        self.decision
    }

    fn on_congestion(&mut self, congestion: Congestion, answered: bool, _: &Ack) -> Decision {
        self.slow_start = false;
        match congestion {
            // `on_ack` has answered the marks.
            Congestion::Ecn => self.decision,
            Congestion::Handshake | Congestion::Timeout => self.set(2.0),
            Congestion::Loss | Congestion::LossByTimer if answered => self.decision,
            Congestion::Loss | Congestion::LossByTimer => self.set(self.cwnd / 2.0),
        }
    }

    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        match recovery {
            Recovery::Spurious(Some(prior)) => self.set(self.cwnd.max(f64::from(prior.cwnd))),
            Recovery::Complete | Recovery::Spurious(None) => self.decision,
        }
    }

    fn on_restart(&mut self, _: Pause) -> Decision {
        self.decision
    }
}

fn yours() -> Config {
    let make = |connection: &Connection| -> Box<dyn foreign::Control> {
        Box::new(Scalable {
            connection: *connection,
            cwnd: f64::from(connection.initial_window),
            slow_start: true,
            decision: connection.initial(),
        })
    };
    Config::Foreign(foreign::Config {
        name: "yours".into(),
        wants: WantedEcn::L4s,
        make: Arc::new(make),
    })
}

/// What the flow had after the warm-up.
#[derive(Default)]
struct Total {
    from: Time,
    packets: u64,
    bytes: Bytes,
    sojourn: Duration,
}

impl Observer<Packet> for Total {
    fn departed(&mut self, packet: &Packet, _: Queue, sojourn: Duration, now: Time) {
        if now >= self.from {
            self.packets += 1;
            self.bytes += packet.ip_length();
            self.sojourn += sojourn;
        }
    }
}

/// Mean queueing delay in ms and rate in Mb/s.
fn run(cc: Config) -> (f64, f64) {
    let aqm = l4s_aqm::Config::DualPi2(l4s_aqm::dualpi2::Config::dctth());
    let link = Link::new(Rate::from_mbps(40));
    let mut scenario = Scenario::new("your control", Duration::from_secs(12), link, aqm);
    scenario.groups.push(Group::new("A", cc, Duration::from_millis(10)));
    let mut total = Total { from: Time::ZERO + scenario.warmup, ..Total::default() };
    l4s_sim::run(&scenario, &mut total);
    let seconds = scenario.duration.saturating_sub(scenario.warmup).as_secs_f64();
    let delay = total.sojourn.as_millis_f64() / total.packets.max(1) as f64;
    (delay, total.bytes.get() as f64 * 8e-6 / seconds)
}

fn main() {
    println!("{:10} {:>9} {:>9}", "", "delay ms", "Mb/s");
    let others = [
        Config::Cubic(cubic::Config::default()),
        Config::Dctcp(dctcp::Config::default()),
        Config::Prague(prague::Config::default()),
    ];
    for cc in others.into_iter().chain([yours()]) {
        let kind = cc.kind().to_owned();
        let (delay, rate) = run(cc);
        println!("{kind:10} {delay:9.2} {rate:9.1}");
    }
}

#[test]
fn it_fills_the_link_with_a_shorter_queue_than_cubic() {
    let (delay, rate) = run(yours());
    let (cubic, _) = run(Config::Cubic(cubic::Config::default()));
    assert!(rate > 36.0, "{rate} Mb/s");
    assert!(delay < 2.0 && cubic > 3.0 * delay, "{delay} ms, Cubic {cubic} ms");
}
