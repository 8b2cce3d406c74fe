//! The queue disciplines of a scenario, as the kernel has them: `tc` without `tc`.
//!
//! The kernel has its own `dualpi2`, `pie`, `codel`, `fq_codel`, `cake`, `red` and `pfifo`, each with
//! the settings of `linux/pkt_sched.h`. The kernel ignores further settings of a scenario;
//! their names are reported, so that the difference is visible.

use l4s_aqm::dualpi2::{
    Arithmetic, Classify, DropAt, FloorAt, LAqm, LWait, Overload, Randomness, Scheduler, Step,
};
use l4s_aqm::{
    Config, Limit, MTU, MarkCause, Queue, cobalt, codel, dualpi2, fifo, fq_codel, pie, red,
};
use l4s_bottleneck::skb_memory;
use l4s_model::{AckFilter, Link};
use l4s_os::OsError;
use l4s_os::netlink::{attribute, find_attribute};
use l4s_units::param::Configurable;
use l4s_units::{Bytes, Duration, Ecn, Probability};
use netlink_packet_route::tc::{TcAttribute, TcStats2, TcXstats};

use crate::event::{Counters, QueueState};

/// The counter of dropped packets.
pub const DROPPED: &str = "dropped";
/// The counter of the backlog.
pub const WAITING: &str = "waiting";
/// The counter of packets that were dropped because their discipline was replaced.
pub const REPLACED: &str = "dropped_replaced";
/// The counter of acknowledgements that the filter took out, which are dropped ones too.
pub const FILTERED: &str = "dropped_ack_filter";

/// A queue discipline of the kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Qdisc {
    /// The kernel's name of it.
    pub kind: &'static str,
    /// Its options as they go over the wire.
    pub options: Vec<u8>,
    /// Settings of the scenario that the kernel does not have, in words.
    pub differences: Vec<String>,
}

impl Qdisc {
    /// The discipline of a kernel whose clock ticks every `jiffy`. CAKE alone has the filter; the others ignore it.
    pub fn new(aqm: &Config, filter: AckFilter, jiffy: Duration) -> Result<Qdisc, OsError> {
        let limit = match aqm {
            Config::DualPi2(config) => config.limit,
            Config::Pie(config) => config.limit,
            Config::Codel(config) => config.limit,
            Config::FqCodel(config) => config.limit,
            Config::Cobalt(config) => config.limit,
            // Those that count bytes in Linux too, and those that it does not have.
            _ => Limit::packets(1),
        };
        if limit.bytes != Bytes::new(u64::MAX) {
            return Err(OsError::Unsupported(format!(
                "the {} of Linux counts packets, not bytes: expected a `buffer` such as 1000p",
                aqm.kind()
            )));
        }
        match aqm {
            Config::DualPi2(config) => dualpi2(config),
            Config::Pie(config) => Ok(pie(config, jiffy)),
            Config::Codel(config) => Ok(codel(config)),
            Config::FqCodel(config) => Ok(fq_codel(config)),
            Config::Cobalt(config) => cobalt(config, filter),
            Config::Red(config) => red(config),
            Config::Fifo(config) => Ok(fifo(config)),
            Config::CurvyRed(_) | Config::Pi2(_) | Config::Foreign(_) => {
                Err(OsError::Unsupported(format!(
                    "Linux has no `{}`: expected dualpi2, pie, codel, fq_codel, cobalt, red or \
                     fifo; `--on kernel` has ours",
                    aqm.kind()
                )))
            }
        }
    }
}

/// Why the dualpi2 of Linux cannot have a configuration: the setting, the missing feature, and the accepted values.
fn lacks(config: &dualpi2::Config) -> Option<[&'static str; 3]> {
    if config.dualq == Classify::None {
        return Some(["dualq", "single queue", "`l4s` or `dc`"]);
    }
    match config.l_aqm {
        LAqm::Step(_) if config.k == 0 => Some(["k", "queues without a coupling", "1 to 255"]),
        LAqm::Step(_) => None,
        LAqm::Ramp(..) => Some(["l_aqm", "ramp", "`step`"]),
        LAqm::None => Some(["l_aqm", "L queue without a marker of its own", "`step`"]),
    }
}

/// DualPI2 of Linux 6.17 and later.
fn dualpi2(config: &dualpi2::Config) -> Result<Qdisc, OsError> {
    if let Some([key, what, expected]) = lacks(config) {
        let profiles = dualpi2::Config::PROFILES.iter();
        let profiles = profiles.filter(|profile| lacks(&(profile.make)()).is_none());
        let profiles: Vec<_> = profiles.map(|profile| format!("`{}`", profile.name)).collect();
        return Err(OsError::Unsupported(format!(
            "`aqm.{key}`: the dualpi2 of Linux has no {what}, expected {expected}, as in the profiles {}; \
             `--on kernel` has ours",
            profiles.join(", ")
        )));
    }
    let mask = if config.dualq == Classify::Dc { 3u8 } else { 1 };
    let step = match config.l_aqm {
        LAqm::Step(Step::Packets(threshold)) => u32_attribute(7, count(threshold)),
        LAqm::Step(Step::Time(threshold)) => u32_attribute(8, us(threshold)),
        // They were refused.
        LAqm::Ramp(..) | LAqm::None => Vec::new(),
    };
    let protection = match config.scheduler {
        Scheduler::Wrr { classic_protection } => classic_protection,
        Scheduler::Strict => 0,
        Scheduler::TsFifo { .. } => 10,
    };
    let (alpha, beta) = (hertz(config.alpha), hertz(config.beta));
    let mut options = u32_attribute(1, count(config.limit.packets));
    if let Some(memory) = config.limit.memory {
        options.extend(u32_attribute(2, count(memory.get())));
    }
    options.extend(u32_attribute(3, us(config.target)));
    options.extend(u32_attribute(4, us(config.tupdate)));
    options.extend(u32_attribute(5, alpha));
    options.extend(u32_attribute(6, beta));
    options.extend(step);
    options.extend(u32_attribute(9, count(config.min_qlen_step)));
    options.extend(attribute(10, &[config.k.min(255) as u8]));
    options.extend(attribute(11, &[u8::from(config.overload != Overload::Overflow)]));
    options.extend(attribute(12, &[u8::from(config.drop_at == DropAt::Enqueue)]));
    options.extend(attribute(13, &[protection]));
    options.extend(attribute(14, &[mask]));

    // The kernel's behaviour with them.
    let twin = dualpi2::Config {
        alpha: f64::from(alpha) / 256.0,
        beta: f64::from(beta) / 256.0,
        gains: Arithmetic::Linux,
        l_wait: LWait::Sojourn,
        floor_at: FloorAt::Enqueue,
        scheduler: Scheduler::Wrr { classic_protection: protection },
        marking: config.dualq,
        classic_ecn: true,
        overload: match config.overload {
            Overload::Overflow => Overload::Overflow,
            Overload::Drop(_) => Overload::Drop(Probability::ONE),
        },
        randomness: Randomness::Draw,
        min_backlog: dualpi2::Config::linux().min_backlog,
        max_rtt: None,
        typical_rtt: None,
        ..config.clone()
    };
    Ok(Qdisc { kind: "dualpi2", options, differences: differences(config, &twin) })
}

fn pie(config: &pie::Config, jiffy: Duration) -> Qdisc {
    // The kernel counts in ticks, and adds one to the configured number.
    let ticks = (config.tupdate.as_nanos() + jiffy.as_nanos() / 2) / jiffy.as_nanos();
    let told = jiffy * ticks.saturating_sub(1).max(1);
    let (alpha, beta) = (sixteenths(config.alpha), sixteenths(config.beta));
    let options = [
        u32_attribute(1, us(config.target)),
        u32_attribute(2, count(config.limit.packets)),
        u32_attribute(3, us(told)),
        u32_attribute(4, alpha),
        u32_attribute(5, beta),
        u32_attribute(6, config.ecn.into()),
        u32_attribute(7, config.bytemode.into()),
    ];
    let linux = pie::Config::linux();
    let twin = pie::Config {
        tupdate: told + jiffy,
        alpha: f64::from(alpha) / 16.0,
        beta: f64::from(beta) / 16.0,
        ecn_drop: linux.ecn_drop,
        burst: linux.burst,
        rise_above: linux.rise_above,
        variant: linux.variant,
        ..config.clone()
    };
    Qdisc { kind: "pie", options: options.concat(), differences: differences(config, &twin) }
}

fn codel(config: &codel::Config) -> Qdisc {
    let mut options = [
        u32_attribute(1, us(config.target)),
        u32_attribute(2, count(config.limit.packets)),
        u32_attribute(3, us(config.interval)),
        u32_attribute(4, config.ecn.into()),
    ]
    .concat();
    if let Some(threshold) = config.ce_threshold {
        options.extend(u32_attribute(5, us(threshold)));
    }
    Qdisc { kind: "codel", options, differences: Vec::new() }
}

fn fq_codel(config: &fq_codel::Config) -> Qdisc {
    let mut options = [
        u32_attribute(1, us(config.target)),
        u32_attribute(2, count(config.limit.packets)),
        u32_attribute(3, us(config.interval)),
        u32_attribute(4, config.ecn.into()),
        u32_attribute(5, config.flows),
        u32_attribute(6, count(config.quantum)),
        u32_attribute(8, config.drop_batch),
    ]
    .concat();
    if let Some(threshold) = config.ce_threshold {
        options.extend(u32_attribute(7, us(threshold)));
        if config.ce_l4s_only {
            options.extend(attribute(10, &[1]));
            options.extend(attribute(11, &[1]));
        }
    }
    if let Some(memory) = config.limit.memory {
        options.extend(u32_attribute(9, count(memory.get())));
    }
    Qdisc { kind: "fq_codel", options, differences: Vec::new() }
}

/// CAKE of Linux with everything off but COBALT: one queue, one class of traffic and no shaper of
/// its own (`besteffort flowblind unlimited`).
fn cobalt(config: &cobalt::Config, filter: AckFilter) -> Result<Qdisc, OsError> {
    const BEST_EFFORT: u32 = 3;
    const FLOW_BLIND: u32 = 0;
    if !config.ecn {
        return Err(OsError::Unsupported(
            "the cake of Linux has no `ecn = false`: expected `ecn = true`".to_owned(),
        ));
    }
    // CAKE counts memory only.
    let full = skb_memory(MTU).get();
    let packets = config.limit.packets.saturating_mul(full);
    let memory = config.limit.memory.map_or(packets, |memory| memory.get().min(packets));
    let mode = match filter {
        AckFilter::Off => 0,
        AckFilter::On => 1,
        AckFilter::Aggressive => 2,
    };
    let options = [
        attribute(2, &0u64.to_ne_bytes()),
        u32_attribute(3, BEST_EFFORT),
        u32_attribute(5, FLOW_BLIND),
        u32_attribute(7, us(config.interval)),
        u32_attribute(8, us(config.target)),
        u32_attribute(10, count(memory)),
        u32_attribute(16, mode),
    ];
    let twin = cobalt::Config {
        interval: config.interval.max(config.target * 2),
        shaped: false,
        mtu_time: Duration::ZERO,
        p_inc: cobalt::Config::linux().p_inc,
        // CAKE does not look at its queues while all of them are empty, so that with one queue
        // BLUE never comes down.
        p_dec: 0.0,
        ..config.clone()
    };
    let mut differences = differences(config, &twin);
    if packets == memory {
        differences.push(format!("limit = memory of {} full packets", memory / full));
    }
    if filter == AckFilter::Aggressive {
        // It looks at neighbours in a queue of one flow, and here that is of all flows.
        differences.push("ack_filter = on where flows alternate".to_owned());
    }
    Ok(Qdisc { kind: "cake", options: options.concat(), differences })
}

fn red(config: &red::Config) -> Result<Qdisc, OsError> {
    let average = config.average().ok_or_else(|| {
        OsError::Unsupported("RED: no weight fits `burst`, `min` and `avpkt`".to_owned())
    })?;
    // `struct tc_red_qopt`, the table of decay, and the probability in 2^-32.
    let limit = count(config.limit.bytes.get()).min(u32::MAX >> 1);
    let [min, max] = [config.min, config.max].map(|bytes| count(bytes.get()));
    let flags = u8::from(config.ecn) | u8::from(config.harddrop) << 1;
    let mut structure: Vec<u8> = [limit, min, max].into_iter().flat_map(u32::to_ne_bytes).collect();
    structure.extend([average.weight_log as u8, 0, average.cell_log as u8, flags]);
    let probability = (config.probability * f64::from(u32::MAX)).round() as u32;
    let options =
        [attribute(1, &structure), attribute(2, &average.damping), u32_attribute(3, probability)];
    let twin = red::Config { scaled: false, ..config.clone() };
    Ok(Qdisc { kind: "red", options: options.concat(), differences: differences(config, &twin) })
}

fn fifo(config: &fifo::Config) -> Qdisc {
    // `struct tc_fifo_qopt` is all there is, without attributes.
    let (kind, limit) = match config.limit {
        Limit { bytes, .. } if bytes != Bytes::new(u64::MAX) => ("bfifo", bytes.get()),
        Limit { packets, .. } => ("pfifo", packets),
    };
    Qdisc { kind, options: count(limit).to_ne_bytes().to_vec(), differences: Vec::new() }
}

/// The settings of a configuration that the kernel will not follow.
pub(crate) fn differences<C: Configurable>(asked: &C, kernel: &C) -> Vec<String> {
    let differs = C::PARAMS.iter().filter_map(|param| {
        let (asked, has) = ((param.get)(asked), (param.get)(kernel));
        match has {
            Some(has) if asked.as_ref() != Some(&has) => Some(format!("{} = {has}", param.name)),
            _ => None,
        }
    });
    differs.collect()
}

/// The shaper: `htb` with one class.
#[derive(Clone, PartialEq, Debug)]
pub struct Shaper {
    /// Options of the discipline.
    pub root: Vec<u8>,
    /// Options of its class.
    pub class: Vec<u8>,
}

impl Shaper {
    /// `htb` at the rate of a link, with its burst.
    pub fn new(link: &Link) -> Shaper {
        // `struct tc_htb_glob`: version 3, quantum of a tenth, everything into class 1:1.
        let global: Vec<u8> = [3u32, 10, 1, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        let bytes_per_s = link.rate.as_bps() / 8;
        // `struct tc_ratespec`: only the link layer (Ethernet: sizes are not changed) and
        // the rate matter.
        let mut rate = [0u8; 12];
        rate[1] = 1;
        let rate32 = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
        rate[8..].copy_from_slice(&rate32.to_ne_bytes());
        // Buckets are in ticks of 64 ns.
        let bucket = (link.rate.time_of(link.burst).as_nanos() >> 6).clamp(1, u32::MAX.into());
        let quantum = 200_000u32;
        let mut structure = [rate, rate].concat();
        for value in [bucket as u32, bucket as u32, quantum, 0, 0] {
            structure.extend(value.to_ne_bytes());
        }
        let class = [
            attribute(1, &structure),
            attribute(6, &bytes_per_s.to_ne_bytes()),
            attribute(7, &bytes_per_s.to_ne_bytes()),
        ];
        Shaper { root: attribute(2, &global), class: class.concat() }
    }
}

/// The state of a queue discipline: its backlog, and its counters.
pub fn state(attributes: &[TcAttribute]) -> (QueueState, Counters) {
    let mut state = QueueState::default();
    let mut counters = Counters::new();
    let mut kind = "";
    for attribute in attributes {
        match attribute {
            TcAttribute::Kind(name) => kind = name,
            TcAttribute::Stats2(stats) => {
                for stats in stats {
                    match stats {
                        TcStats2::Basic(basic) => {
                            counters.insert("packets".to_owned(), basic.packets.into());
                            counters.insert("bytes".to_owned(), basic.bytes);
                        }
                        TcStats2::Queue(queue) => {
                            (state.packets, state.bytes) = (queue.qlen, queue.backlog);
                            counters.insert(DROPPED.to_owned(), queue.drops.into());
                            counters.insert(WAITING.to_owned(), queue.qlen.into());
                        }
                        TcStats2::App(TcXstats::Other(bytes)) => {
                            own(kind, bytes, &mut state, &mut counters);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    (state, counters)
}

/// A discipline's own counters, from its structure in `linux/pkt_sched.h`.
fn own(kind: &str, bytes: &[u8], state: &mut QueueState, counters: &mut Counters) {
    let word = |n: usize| {
        let bytes = bytes.get(4 * n..4 * n + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let fields: &[(&str, usize)] = match kind {
        "dualpi2" => {
            state.base = word(0).map(|p| f64::from(p) / f64::from(u32::MAX));
            &[("enqueued_c", 3), ("enqueued_l", 4), ("ecn_mark", 6), ("step_mark", 7)]
        }
        "pie" => {
            // A fraction of 2^64: the kernel computes with 56 bits, and shifts them for this.
            let p = word(0).zip(word(1)).map(|(low, high)| u64::from(high) << 32 | u64::from(low));
            state.base = p.map(|p| p as f64 / u64::MAX as f64);
            &[("enqueued", 5), ("dropped_aqm", 6), ("dropped_limit", 7), ("ecn_mark", 9)]
        }
        "codel" => &[("dropped_limit", 5), ("ecn_mark", 6), ("ce_mark", 8)],
        "red" => &[("dropped_aqm", 0), ("dropped_limit", 1), ("ecn_mark", 3)],
        "cake" => {
            if let Some(filtered) = filtered_by_cake(bytes) {
                counters.insert(FILTERED.to_owned(), filtered.into());
            }
            &[]
        }
        _ => &[],
    };
    for (name, n) in fields {
        if let Some(value) = word(*n) {
            counters.insert((*name).to_owned(), value.into());
        }
    }
}

/// The acknowledgements that `cake` took out, from the attributes of its only class of traffic
/// (`TCA_CAKE_STATS_TIN_STATS`, `TCA_CAKE_TIN_STATS_ACKS_DROPPED_PACKETS`).
fn filtered_by_cake(bytes: &[u8]) -> Option<u32> {
    let class = find_attribute(&find_attribute(bytes, 10)?, 1)?;
    Some(u32::from_ne_bytes(find_attribute(&class, 6)?.try_into().ok()?))
}

fn u32_attribute(number: u16, value: u32) -> Vec<u8> {
    attribute(number, &value.to_ne_bytes())
}

fn us(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn count(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A gain in 1/256 Hz, as `dualpi2` takes it.
fn hertz(gain: f64) -> u32 {
    ((gain * 256.0).round() as u32).max(1)
}

/// A gain in 1/16 Hz, as `pie` takes it.
fn sixteenths(gain: f64) -> u32 {
    ((gain * 16.0).round() as u32).max(1)
}

/// The queue that a packet waits in.
pub fn queue_of(aqm: &Config, ecn: Ecn) -> Queue {
    match aqm {
        Config::DualPi2(config) if config.dualq.admits(ecn) => Queue::L,
        Config::DualPi2(_) => Queue::C,
        _ => Queue::Q,
    }
}

/// The most likely cause of a mark. The kernel counts causes, but does not write them on packets:
/// packets that waited longer than the step's threshold were marked by the step.
pub fn cause_of_mark(aqm: &Config, queue: Queue, sojourn: Duration) -> MarkCause {
    match aqm {
        Config::DualPi2(dualpi2::Config { l_aqm: LAqm::Step(Step::Time(threshold)), .. })
            if queue == Queue::L && sojourn > *threshold =>
        {
            MarkCause::Step
        }
        _ if queue == Queue::L => MarkCause::Coupled,
        _ => MarkCause::Classic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JIFFY;
    use l4s_scenario::Plan;

    const OFF: AckFilter = AckFilter::Off;

    fn aqm(text: &str) -> Config {
        let group = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"";
        let text = format!("duration = \"1s\"\nlink.rate = \"40mbit\"\naqm = {text}\n{group}");
        Plan::parse("s", &text, &[]).unwrap().points[0].scenario.aqm.clone()
    }

    /// The attributes: number and value.
    fn attributes(mut options: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut all = Vec::new();
        while let [low, high, number_low, number_high, ..] = *options {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let number = u16::from_ne_bytes([number_low, number_high]);
            all.push((number, options[4..length].to_vec()));
            options = &options[length.next_multiple_of(4)..];
        }
        all
    }

    #[test]
    fn the_linux_profile_is_all_of_the_kernels_defaults() {
        let text = "{ kind = \"dualpi2\", profile = \"linux\", dualq = \"dc\", marking = \"dc\" }";
        let qdisc = Qdisc::new(&aqm(text), OFF, JIFFY).unwrap();
        assert_eq!(qdisc.differences, Vec::<String>::new());
        let word = |value: u32| value.to_ne_bytes().to_vec();
        let expected = [
            (1, word(10_000)),
            (2, word(10_000 * 2 * 1514)),
            (3, word(15_000)),
            (4, word(16_000)),
            (5, word(41)),
            (6, word(819)),
            (8, word(1000)),
            (9, word(0)),
            (10, vec![2]),
            (11, vec![1]),
            (12, vec![0]),
            (13, vec![10]),
            (14, vec![3]),
        ];
        assert_eq!(attributes(&qdisc.options), expected);
    }

    #[test]
    fn what_the_kernel_does_otherwise_is_named() {
        let qdisc =
            Qdisc::new(&aqm("{ kind = \"dualpi2\", profile = \"dctth\" }"), OFF, JIFFY).unwrap();
        let named = |name: &str| qdisc.differences.iter().any(|text| text.starts_with(name));
        assert!(named("scheduler = wrr") && named("gains = linux"), "{:?}", qdisc.differences);
        assert!(!named("alpha") && !named("k "), "{:?}", qdisc.differences);
        let pie = Qdisc::new(&aqm("{ kind = \"pie\", profile = \"linux\" }"), OFF, JIFFY).unwrap();
        assert_eq!(pie.differences, Vec::<String>::new());
        // 16 ms are configured as 15: the kernel's timer takes one tick more.
        assert_eq!(attributes(&pie.options)[2], (3, 15_000u32.to_ne_bytes().to_vec()));
    }

    #[test]
    fn cobalt_is_a_cake_of_one_queue() {
        let cake = Qdisc::new(&aqm("{ kind = \"cobalt\" }"), OFF, JIFFY).unwrap();
        assert_eq!((cake.kind, &cake.differences[..]), ("cake", &["p_dec = 0".to_owned()][..]));
        let word = |value: u32| value.to_ne_bytes().to_vec();
        let expected = [
            (2, vec![0; 8]),
            (3, word(3)),
            (5, word(0)),
            (7, word(100_000)),
            (8, word(5000)),
            (10, word(10_240 * 1514)),
            (16, word(0)),
        ];
        assert_eq!(attributes(&cake.options), expected);
        let cake = Qdisc::new(&aqm("{ kind = \"cobalt\", limit = \"100p\" }"), OFF, JIFFY).unwrap();
        assert_eq!(attributes(&cake.options)[5], (10, word(100 * 1514)));
        // A full packet takes 2304 B.
        let more = "{ kind = \"cobalt\", limit = \"100p\", memlimit = \"1mb\" }";
        let cake = Qdisc::new(&aqm(more), OFF, JIFFY).unwrap();
        assert_eq!(attributes(&cake.options)[5], (10, word(230_400)));
        assert!(cake.differences[1].contains("100 full packets"), "{:?}", cake.differences);
    }

    #[test]
    fn cake_filters_acknowledgements() {
        let cake = aqm("{ kind = \"cobalt\" }");
        for (filter, mode, differences) in
            [(AckFilter::Off, 0u32, 1), (AckFilter::On, 1, 1), (AckFilter::Aggressive, 2, 2)]
        {
            let cake = Qdisc::new(&cake, filter, JIFFY).unwrap();
            assert_eq!(attributes(&cake.options)[6], (16, mode.to_ne_bytes().to_vec()));
            assert_eq!(cake.differences.len(), differences, "{:?}", cake.differences);
        }
    }

    #[test]
    fn cake_counts_the_acknowledgements_that_it_took_out() {
        let class = [u32_attribute(4, 5), u32_attribute(6, 77), u32_attribute(8, 3)].concat();
        let classes = attribute(10 | 1 << 15, &attribute(1 | 1 << 15, &class));
        let cake = [u32_attribute(3, 1 << 20), classes].concat();
        let attributes = [
            TcAttribute::Kind("cake".to_owned()),
            TcAttribute::Stats2(vec![TcStats2::App(TcXstats::Other(cake))]),
        ];
        assert_eq!(state(&attributes).1, Counters::from([(FILTERED.to_owned(), 77)]));
    }

    #[test]
    fn what_the_kernel_does_not_have_is_refused() {
        for (text, expected) in [
            ("{ kind = \"pi2\" }", "Linux has no `pi2`"),
            ("{ kind = \"curvy-red\" }", "Linux has no `curvy-red`"),
            (
                "{ kind = \"dualpi2\", k = 0 }",
                "no queues without a coupling, expected 1 to 255, as",
            ),
            ("{ kind = \"cobalt\", ecn = false }", "no `ecn = false`"),
            (
                "{ kind = \"dualpi2\", l_aqm = \"ramp\" }",
                "no ramp, expected `step`, as in the profiles `dctth`",
            ),
            ("{ kind = \"dualpi2\", l_aqm = \"none\" }", "without a marker of its own"),
        ] {
            match Qdisc::new(&aqm(text), OFF, JIFFY) {
                Err(OsError::Unsupported(why)) => assert!(why.contains(expected), "{why}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_discipline_tells_what_waits_and_what_it_counted() {
        let mut dualpi2 = vec![0u8; 48];
        dualpi2[0..4].copy_from_slice(&(u32::MAX / 2).to_ne_bytes());
        dualpi2[24..28].copy_from_slice(&7u32.to_ne_bytes());
        let attributes = [
            TcAttribute::Kind("dualpi2".to_owned()),
            TcAttribute::Stats2(vec![TcStats2::App(TcXstats::Other(dualpi2))]),
        ];
        let (state, counters) = state(&attributes);
        assert!((state.base.unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(counters["ecn_mark"], 7);
    }

    #[test]
    fn the_probability_of_pie_is_a_fraction_of_64_bits() {
        let mut pie = vec![0u8; 56];
        pie[0..8].copy_from_slice(&(1u64 << 61).to_ne_bytes());
        let attributes = [
            TcAttribute::Kind("pie".to_owned()),
            TcAttribute::Stats2(vec![TcStats2::App(TcXstats::Other(pie))]),
        ];
        assert_eq!(state(&attributes).0.base, Some(0.125));
    }
}
