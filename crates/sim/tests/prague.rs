//! Prague through whole bottlenecks: alone, against Cubic, on paths with different RTTs, and with
//! losses only.

use l4s_aqm::{Config, DropCause, MarkCause, Queue, dualpi2, fifo};
use l4s_cc::{cubic, prague};
use l4s_model::{FlowId, Group, Link, Scenario};
use l4s_observe::{Observer, Traced};
use l4s_sim::Packet;
use l4s_units::{Bytes, Duration, Rate, Time};

const MS: Duration = Duration::from_millis(1);
const WARMUP: Time = Time::from_nanos(10_000_000_000);
const END: Duration = Duration::from_secs(40);

/// Packets that left the bottleneck after the warm-up, by group.
#[derive(Default)]
struct Tally {
    bytes: [u64; 4],
    /// Sum and number of sojourn times in the L queue and any other.
    sojourns: [(u64, u64); 2],
    marks: u64,
    drops: u64,
    resent: u64,
    closed: usize,
    /// The longest time without a departure.
    last: Time,
    silence: Duration,
    digest: u64,
}

impl Tally {
    fn mbps(&self, group: usize) -> f64 {
        self.bytes[group] as f64 * 8.0 / (END.as_secs_f64() - 10.0) / 1e6
    }

    fn utilization(&self, rate: Rate) -> f64 {
        (0..4).map(|g| self.mbps(g)).sum::<f64>() * 1e6 / rate.as_bps() as f64
    }

    fn delay_ms(&self, queue: usize) -> f64 {
        let (sum, n) = self.sojourns[queue];
        sum as f64 / n as f64 / 1e6
    }
}

impl Observer<Packet> for Tally {
    fn marked(&mut self, _: &Packet, _: Queue, _: MarkCause, _: Time) {
        self.marks += 1;
    }
    fn departed(&mut self, packet: &Packet, queue: Queue, sojourn: Duration, now: Time) {
        self.digest = (self.digest.rotate_left(5) ^ sojourn.as_nanos() ^ now.as_nanos())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if now >= WARMUP {
            self.bytes[packet.group().index()] += packet.ip_length().get() + 14;
            let sum = &mut self.sojourns[usize::from(queue != Queue::L)];
            *sum = (sum.0 + sojourn.as_nanos(), sum.1 + 1);
            self.silence = self.silence.max(now.since(self.last.max(WARMUP)));
        }
        self.last = now;
    }
    fn dropped(&mut self, _: &Packet, _: Queue, _: DropCause, _: Time) {
        self.drops += 1;
    }
    fn closed(&mut self, _: FlowId, _: Time) {
        self.closed += 1;
    }
    fn retransmitted(&mut self, _: FlowId, _: Time) {
        self.resent += 1;
    }
}

fn prague(name: &str, rtt: Duration) -> Group {
    Group::new(name, l4s_cc::Config::Prague(prague::Config::default()), rtt)
}

fn cubic(name: &str, rtt: Duration) -> Group {
    Group::new(name, l4s_cc::Config::Cubic(cubic::Config::default()), rtt)
}

fn scenario(aqm: Config, groups: Vec<Group>) -> Scenario {
    let warmup = WARMUP.since(Time::ZERO);
    let link = Link::new(Rate::from_mbps(40));
    Scenario { warmup, groups, ..Scenario::new("prague", END, link, aqm) }
}

fn dualpi2() -> Config {
    Config::DualPi2(dualpi2::Config::linux())
}

fn run(scenario: &Scenario) -> Tally {
    let mut tally = Tally::default();
    l4s_sim::run(scenario, &mut tally);
    tally
}

#[test]
fn alone_it_fills_the_link_with_a_short_queue() {
    for ms in [1, 5, 10, 20, 50] {
        let scenario = scenario(dualpi2(), vec![prague("A", MS * ms)]);
        let tally = run(&scenario);
        let (filled, delay) = (tally.utilization(scenario.link.rate), tally.delay_ms(0));
        println!("{ms} ms: {:.1} %, L {delay:.3} ms, {} drops", filled * 100.0, tally.drops);
        assert!(filled > 0.95, "{ms} ms: {filled}");
        assert!(delay < 1.0, "{ms} ms: {delay} ms");
        assert_eq!(tally.drops, 0);
    }
}

/// At 4 Mb/s and 1 ms a packet takes longer than the RTT, and the share of each of eight flows is far
/// below two packets. With a minimum of two packets the flows drive the marking probability to its maximum,
/// and DualPI2 drops (RFC 9332 §2.5.1: overload). With a smaller minimum the only losses are those of the
/// eight simultaneous first flights.
#[test]
fn windows_below_two_packets_need_hardly_a_drop_on_a_slow_link() {
    let eight = |min_window| {
        let config = prague::Config { min_window, ..prague::Config::linux() };
        let mut flows = Group::new("A", l4s_cc::Config::Prague(config), MS);
        flows.starts = vec![Time::ZERO; 8];
        let mut scenario = scenario(dualpi2(), vec![flows]);
        scenario.link.rate = Rate::from_mbps(4);
        let tally = run(&scenario);
        let used = tally.utilization(scenario.link.rate);
        println!("{min_window}: {:.2} ms, {used:.3}, {} drops", tally.delay_ms(0), tally.drops);
        (tally.drops, used)
    };
    let ((many, full), (few, used)) = (eight(2.0), eight(0.25));
    // 17 % of some 13,000 packets.
    assert!(many > 1000 && full > 0.98, "{many} drops, {full}");
    assert!(few < 80 && used > 0.9, "{few} drops, {used}");
}

/// If the RTTs are equal, coupling makes the shares equal (RFC 9332 §2.1). The RTTs include the target of
/// the C queue.
#[test]
fn against_cubic_both_get_a_share() {
    for ms in [5, 10, 20] {
        let scenario = scenario(dualpi2(), vec![prague("A", MS * ms), cubic("B", MS * ms)]);
        let tally = run(&scenario);
        let (a, b) = (tally.mbps(0), tally.mbps(1));
        let (l, c) = (tally.delay_ms(0), tally.delay_ms(1));
        println!("{ms} ms: prague {a:.1}, cubic {b:.1} Mb/s; L {l:.3}, C {c:.1} ms");
        // Linux 7.3 has 1.80, 2.10 and 2.14 at 20 ms, with three seeds.
        assert!((0.5..2.2).contains(&(a / b)), "{ms} ms: {a} {b}");
        assert!(tally.utilization(scenario.link.rate) > 0.95);
        assert!(l < 1.0, "{ms} ms: {l}");
        // The target is 15 ms.
        assert!((7.0..20.0).contains(&c), "{ms} ms: {c}");
    }
}

/// RFC 9331 §4.3: below the virtual RTT of 25 ms the rate does not depend on the RTT.
#[test]
fn short_and_long_paths_get_the_same() {
    let scenario = scenario(dualpi2(), vec![prague("A", MS * 5), prague("B", MS * 20)]);
    let tally = run(&scenario);
    let (a, b) = (tally.mbps(0), tally.mbps(1));
    println!("5 ms {a:.1}, 20 ms {b:.1} Mb/s; L {:.3} ms", tally.delay_ms(0));
    assert!((1.0 / 1.5..1.5).contains(&(a / b)), "{a} {b}");
}

#[test]
fn where_there_is_only_loss_it_halves_and_recovers() {
    for packets in [20, 40] {
        let fifo = Config::Fifo(fifo::Config { limit: l4s_aqm::Limit::packets(packets) });
        let scenario = scenario(fifo, vec![prague("A", MS * 10)]);
        let tally = run(&scenario);
        let filled = tally.utilization(scenario.link.rate);
        let (drops, resent, silence) = (tally.drops, tally.resent, tally.silence);
        println!("{packets}: {:.1} %, {drops} drops, {resent} resent, {silence}", filled * 100.0);
        assert!(filled > 0.7, "{filled}");
        // Only lost packets are sent again, except for a few after the first timeout. The link
        // is never without a departure for the time of a timeout.
        assert!(resent <= drops + 20, "{drops} {resent}");
        assert!(silence < MS * 200, "{silence}");
    }
}

#[test]
fn late_and_short_flows_end() {
    let mut short = prague("A", MS * 10);
    short.size = Some(Bytes::new(300_000));
    short.starts = (0..100).map(|n| Time::ZERO + MS * 200 * n).collect();
    let long = prague("B", MS * 10);
    let tally = run(&scenario(dualpi2(), vec![short, long, cubic("C", MS * 10)]));
    assert_eq!(tally.closed, 100);
}

#[test]
fn a_run_repeats() {
    let mut scenario = scenario(dualpi2(), vec![prague("A", MS * 10), cubic("B", MS * 10)]);
    let digest = run(&scenario).digest;
    assert_eq!(run(&scenario).digest, digest);
    scenario.seed = 2;
    assert_ne!(run(&scenario).digest, digest);
}
