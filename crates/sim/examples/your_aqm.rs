//! An AQM in 40 lines, run beside others in the simulator.
//!
//! `cargo run -p l4s-sim --example your_aqm` prints the queueing delay and the rates of TCP Prague
//! and Cubic, one flow each, at every AQM.

use std::sync::Arc;

use l4s_aqm::foreign::{self, Context, Policy, Verdict};
use l4s_aqm::{Backlog, Config, Limit, Queue, codel, dualpi2, fifo, pi2};
use l4s_model::{Group, Link, Scenario};
use l4s_observe::{Observer, Traced};
use l4s_sim::Packet;
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};

/// One queue with a coupled signal: the probability grows linearly with the sojourn time, L4S
/// packets are marked with it, and Classic packets with the square of its half (RFC 9332 §2.1).
#[derive(Debug, Default)]
struct Ramp {
    /// The sum of the probabilities since the last signal: L4S packets, Classic packets.
    credit: [f64; 2],
}

impl Policy for Ramp {
    fn depart(&mut self, context: &Context, _: Queue) -> Verdict {
        let above = context.sojourn.saturating_sub(Duration::from_millis(1));
        let p_prime = (above.as_millis_f64() / 20.0).min(0.5);
        let l4s = matches!(context.ecn, Ecn::Ect1 | Ecn::Ce);
        let (probability, class) = if l4s { (2.0 * p_prime, 0) } else { (p_prime * p_prime, 1) };
        self.credit[class] += probability;
        if self.credit[class] < 1.0 {
            return Verdict::Forward;
        }
        self.credit[class] -= 1.0;
        Verdict::Mark
    }

    fn arrive(&mut self, _: &Context, _: Queue) -> Verdict {
        Verdict::Forward
    }

    // For two queues, and for a timer: this AQM has neither.
    fn classify(&mut self, _: &Context) -> Queue {
        Queue::Q
    }
    fn l_goes_first(&mut self, _: Duration, _: Duration, _: Time) -> bool {
        true
    }
    fn tick(&mut self, _: [Backlog; 2], _: [Duration; 2], _: Time) {}
}

fn yours() -> Config {
    Config::Foreign(foreign::Config {
        name: "yours".into(),
        dual: false,
        limit: Limit::packets(1000),
        tick: None,
        factory: Arc::new(|_| Box::new(Ramp::default())),
    })
}

/// What one group had after the warm-up.
#[derive(Clone, Copy, Default)]
struct Total {
    packets: u64,
    bytes: Bytes,
    sojourn: Duration,
}

struct Totals {
    from: Time,
    groups: [Total; 2],
}

impl Observer<Packet> for Totals {
    fn departed(&mut self, packet: &Packet, _: Queue, sojourn: Duration, now: Time) {
        if now >= self.from {
            let total = &mut self.groups[packet.group().index()];
            total.packets += 1;
            total.bytes += packet.ip_length();
            total.sojourn += sojourn;
        }
    }
}

/// Mean queueing delay in ms and rate in Mb/s of Prague and of Cubic.
fn run(aqm: Config) -> [(f64, f64); 2] {
    let link = Link::new(Rate::from_mbps(40));
    let mut scenario = Scenario::new("your AQM", Duration::from_secs(20), link, aqm);
    let rtt = Duration::from_millis(10);
    let prague = l4s_cc::Config::Prague(l4s_cc::prague::Config::default());
    let cubic = l4s_cc::Config::Cubic(l4s_cc::cubic::Config::default());
    scenario.groups = vec![Group::new("A", prague, rtt), Group::new("B", cubic, rtt)];
    let from = Time::ZERO + scenario.warmup;
    let mut totals = Totals { from, groups: Default::default() };
    l4s_sim::run(&scenario, &mut totals);
    let seconds = scenario.duration.saturating_sub(scenario.warmup).as_secs_f64();
    totals.groups.map(|total| {
        let delay = total.sojourn.as_millis_f64() / total.packets.max(1) as f64;
        (delay, total.bytes.get() as f64 * 8e-6 / seconds)
    })
}

fn main() {
    println!(
        "{:10} {:>9} {:>9} {:>11} {:>11}",
        "", "Prague ms", "Cubic ms", "Prague Mb/s", "Cubic Mb/s"
    );
    let others = [
        Config::Fifo(fifo::Config { limit: Limit::packets(1000) }),
        Config::Codel(codel::Config::linux()),
        Config::Pi2(pi2::Config::default()),
        Config::DualPi2(dualpi2::Config::dctth()),
    ];
    for aqm in others.into_iter().chain([yours()]) {
        let kind = aqm.kind().to_owned();
        let [(l, l_rate), (c, c_rate)] = run(aqm);
        println!("{kind:10} {l:9.2} {c:9.2} {l_rate:11.1} {c_rate:11.1}");
    }
}

/// A queue of 1000 packets takes 300 ms at this rate.
#[test]
fn it_keeps_the_queue_short_and_the_flows_near_each_other() {
    let [(delay, prague), (_, cubic)] = run(yours());
    let [(fifo, _), _] = run(Config::Fifo(fifo::Config { limit: Limit::packets(1000) }));
    assert!(delay < 20.0 && fifo > 5.0 * delay, "{delay} ms, FIFO {fifo} ms");
    assert!(prague + cubic > 36.0, "{prague} + {cubic} Mb/s");
    assert!((0.25..4.0).contains(&(prague / cubic)), "{prague} and {cubic} Mb/s");
}
