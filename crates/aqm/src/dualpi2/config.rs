//! The settings of DualPI2: one engine, orthogonal choices, and the profiles of the documents.

use l4s_units::param;
use l4s_units::param::{Configurable, Conflict, Kind, Param, Profile, Value};
use l4s_units::{Bytes, Duration, Ecn, Probability};
use serde::{Deserialize, Serialize};

use super::gain::{Arithmetic, Derived, Gain};
use crate::{Limit, MTU};

/// Which packets a choice applies to, by codepoint (Qdisc §4).
///
/// ```
/// use l4s_aqm::dualpi2::Classify;
/// use l4s_units::Ecn;
///
/// // DCTCP sends ECT(0): Classic on the Internet, scalable in its data centre.
/// assert!(!Classify::L4s.admits(Ecn::Ect0));
/// assert!(Classify::Dc.admits(Ecn::Ect0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Classify {
    /// ECT(1) and CE: the public Internet (RFC 9331 §5.1).
    L4s,
    /// Every ECN-capable packet: a data centre with unmodified DCTCP.
    Dc,
    /// No packet.
    None,
}

impl Classify {
    /// Whether a packet with codepoint `ecn` belongs to the low-latency side.
    #[inline]
    pub const fn admits(self, ecn: Ecn) -> bool {
        match self {
            // The last bit of the ECN field alone decides (DCttH Algorithm 1).
            Classify::L4s => ecn.bits() & 1 == 1,
            Classify::Dc => ecn.is_capable(),
            Classify::None => false,
        }
    }

    pub(crate) fn word(self, none: &'static str) -> &'static str {
        match self {
            Classify::L4s => "l4s",
            Classify::Dc => "dc",
            Classify::None => none,
        }
    }

    pub(crate) fn named(word: &str) -> Classify {
        match word {
            "l4s" => Classify::L4s,
            "dc" => Classify::Dc,
            _ => Classify::None,
        }
    }
}

/// The native AQM of the L4S queue.
///
/// Example: [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LAqm {
    /// Every packet above a threshold is marked (DCttH §3.3).
    Step(Step),
    /// The probability rises from 0 to 1 between two delays (RFC 9332 §A.1).
    Ramp(Duration, Duration),
    /// None: only the coupled signal marks.
    None,
}

/// A step threshold.
///
/// Example: [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Step {
    /// On the packet's own queueing time.
    Time(Duration),
    /// On the packets left in the L queue behind it.
    Packets(u64),
}

l4s_units::words! {
    /// The delay of a packet as the native L4S AQM measures it.
    ///
    /// Example: [`Config`].
    LWait {
        /// All of its wait.
        Sojourn = "sojourn",
        /// Without the last time that it had to wait for the link to take anything.
        Queue = "queue",
    }
}

l4s_units::words! {
    /// Where the floor of the native L4S AQM counts packets.
    ///
    /// Example: [`Config`].
    FloorAt {
        /// Packets ahead in the L queue when the packet arrived (Linux).
        Enqueue = "enqueue",
        /// Packets behind in the L queue when the packet leaves (RFC 9332 `Th_len`).
        Dequeue = "dequeue",
    }
}

/// How the next queue is chosen.
///
/// ```
/// use l4s_aqm::{Qdisc, Queue, dualpi2::{Config, Discipline, Scheduler}};
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Duration, Ecn, Time};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
///
/// // A Classic packet arrives 40 ms before an L4S packet, and only strict priority serves it second.
/// let ahead = Duration::from_millis(40);
/// let shifted = Scheduler::TsFifo { t_shift: Duration::from_millis(30), t_speed: 0 };
/// for (scheduler, first) in [(shifted, Queue::C), (Scheduler::Strict, Queue::L)] {
///     let mut aqm = Discipline::new(Config { scheduler, ..Config::dctth() }, &mut rng);
///     aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut ());
///     aqm.enqueue(Datagram(Ecn::Ect1), Time::ZERO + ahead, &mut rng, &mut ());
///     let departure = aqm.dequeue(Time::ZERO + ahead, &mut rng, &mut ()).unwrap();
///     assert_eq!(departure.queue, first);
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Scheduler {
    /// Time-shifted FIFO: the packet that waited longest, where L packets count as having waited
    /// `t_shift` longer and their time runs 2^`t_speed` times as fast (DCttH §3.3, Qdisc §3.5).
    TsFifo {
        /// The head start of L.
        t_shift: Duration,
        /// The speed of L's time, as a shift.
        t_speed: u32,
    },
    /// Weighted round robin: Classic is guaranteed this share of the link, in percent.
    Wrr {
        /// 0 to 100; 0 is strict priority for L.
        classic_protection: u8,
    },
    /// L first, always.
    Strict,
}

impl Scheduler {
    /// A Classic share below one half starts with credit for L.
    pub(super) fn initial_credit(self) -> i64 {
        match self {
            Scheduler::Wrr { classic_protection } => {
                MTU.get() as i64 * (2 * i64::from(classic_protection) - 100)
            }
            _ => 0,
        }
    }
}

/// Behaviour when L4S marking saturates.
///
/// Example: [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Overload {
    /// From k·p' ≥ this (1: saturation), both queues get the Classic drop (DCttH §3.4).
    Drop(Probability),
    /// p' is capped at 1/k and the buffer overflows (IETF97 strategy a).
    Overflow,
}

l4s_units::words! {
    /// Where the signal of the controller is applied. The native L4S AQM always acts at dequeue.
    ///
    /// Example: [`Config`].
    DropAt {
        /// At dequeue.
        Dequeue = "dequeue",
        /// At enqueue.
        Enqueue = "enqueue",
    }
}

l4s_units::words! {
    /// Where chance comes from.
    ///
    /// Example: [`Config`].
    Randomness {
        /// Independent draws; two for the square.
        Draw = "draw",
        /// Probability accumulates, and a signal is given for every whole one (RFC 9332 §A.1).
        Recur = "recur",
    }
}

/// The settings of DualPI2.
///
/// ```
/// use l4s_aqm::dualpi2::{Config, DropAt, FloorAt, LAqm, LWait, Overload, Randomness, Step};
/// use l4s_units::{Duration, Probability, param::Configurable};
///
/// // What Linux has of RFC 9332 Appendix A, and what it does otherwise.
/// let (linux, rfc) = (Config::linux(), Config::rfc9332());
/// assert_eq!((linux.k, linux.target, linux.scheduler), (rfc.k, rfc.target, rfc.scheduler));
/// assert_eq!(linux.l_aqm, LAqm::Step(Step::Time(Duration::from_millis(1))));
/// assert_eq!(rfc.l_aqm, LAqm::Ramp(Duration::from_micros(800), Duration::from_micros(1200)));
/// assert_eq!((linux.floor_at, rfc.floor_at), (FloorAt::Enqueue, FloorAt::Dequeue));
/// assert_eq!((linux.randomness, rfc.randomness), (Randomness::Draw, Randomness::Recur));
///
/// // One of your own: signals at arrival, Classic drop for all when half of L4S is marked.
/// let own = Config {
///     l_wait: LWait::Queue,
///     drop_at: DropAt::Enqueue,
///     overload: Overload::Drop(Probability::from_f64(0.5)),
///     ..linux
/// };
/// assert_eq!(own.check(), Ok(()));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The delay that the controller holds the Classic queue at.
    pub target: Duration,
    /// Time between updates of p'.
    pub tupdate: Duration,
    /// Integral gain in hertz.
    pub alpha: f64,
    /// Proportional gain in hertz.
    pub beta: f64,
    /// How the gains become integers.
    pub gains: Arithmetic,
    /// The longest RTT to be stable for, when the controller was derived from it.
    pub max_rtt: Option<Duration>,
    /// The usual RTT, when the controller was derived from it.
    pub typical_rtt: Option<Duration>,
    /// The coupling factor k; 0 leaves the L queue to its own AQM.
    pub k: u32,
    /// The native L4S AQM.
    pub l_aqm: LAqm,
    /// Its measure of a packet's delay.
    pub l_wait: LWait,
    /// It spares packets with fewer others in their queue than this.
    pub min_qlen_step: u64,
    /// Where the others are counted.
    pub floor_at: FloorAt,
    /// How the next queue is chosen.
    pub scheduler: Scheduler,
    /// Which packets wait in the L queue.
    pub dualq: Classify,
    /// Which packets are marked scalably.
    pub marking: Classify,
    /// A Classic signal marks an ECN-capable packet instead of dropping it.
    pub classic_ecn: bool,
    /// Behaviour when marking saturates.
    pub overload: Overload,
    /// Where the controller's signal is applied.
    pub drop_at: DropAt,
    /// Where chance comes from.
    pub randomness: Randomness,
    /// With less than this waiting, the controller's signal is withheld.
    pub min_backlog: Bytes,
    /// The maximum backlog.
    pub limit: Limit,
}

impl Config {
    /// DCttH Table 1, classifying as its Algorithm 1 does.
    pub fn dctth() -> Config {
        Config {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(16),
            alpha: 5.0 / 16.0,
            beta: 50.0 / 16.0,
            gains: Arithmetic::Exact,
            max_rtt: None,
            typical_rtt: None,
            k: 2,
            l_aqm: LAqm::Step(Step::Time(Duration::from_millis(1))),
            l_wait: LWait::Sojourn,
            min_qlen_step: 2,
            floor_at: FloorAt::Enqueue,
            scheduler: Scheduler::TsFifo { t_shift: Duration::from_millis(30), t_speed: 0 },
            dualq: Classify::L4s,
            marking: Classify::L4s,
            classic_ecn: true,
            overload: Overload::Drop(Probability::ONE),
            drop_at: DropAt::Dequeue,
            randomness: Randomness::Draw,
            min_backlog: Bytes::ZERO,
            limit: Limit::packets(40_000),
        }
    }

    /// Qdisc §3.5 and §4.
    pub fn linux2019() -> Config {
        Config {
            target: Duration::from_millis(20),
            scheduler: Scheduler::TsFifo { t_shift: Duration::from_millis(40), t_speed: 0 },
            overload: Overload::Overflow,
            limit: Limit::packets(10_000),
            ..Config::dctth()
        }
    }

    /// The defaults of `sch_dualpi2` in Linux 6.17 and later.
    pub fn linux() -> Config {
        Config {
            alpha: 41.0 / 256.0,
            beta: 819.0 / 256.0,
            gains: Arithmetic::Linux,
            min_qlen_step: 0,
            scheduler: Scheduler::Wrr { classic_protection: 10 },
            min_backlog: Bytes::new(2 * MTU.get()),
            limit: Limit::linux(10_000),
            ..Config::dctth()
        }
    }

    /// RFC 9332 Appendix A, with the weighted scheduler.
    pub fn rfc9332() -> Config {
        Config {
            tupdate: Duration::from_millis(15),
            alpha: 0.15,
            beta: 3.0,
            l_aqm: LAqm::Ramp(Duration::from_micros(800), Duration::from_micros(1200)),
            min_qlen_step: 1,
            floor_at: FloorAt::Dequeue,
            scheduler: Scheduler::Wrr { classic_protection: 10 },
            randomness: Randomness::Recur,
            limit: Limit::packets(10_000),
            ..Config::dctth()
        }
    }

    /// RFC 9332's, without counting the wait for the link itself as queue: of all profiles, the one with
    /// the lowest cost over the links of `l4s paper dualpi2-profiles`.
    pub fn best() -> Config {
        Config { l_wait: LWait::Queue, ..Config::rfc9332() }
    }

    /// α and β as they apply.
    pub fn effective_gains(&self) -> (Gain, Gain) {
        (Gain::new(self.alpha, self.gains), Gain::new(self.beta, self.gains))
    }

    /// Whether there are two queues.
    fn is_dual(&self) -> bool {
        self.dualq != Classify::None
    }

    /// Whether the L queue has an AQM of its own.
    fn has_native(&self) -> bool {
        self.is_dual() && self.l_aqm != LAqm::None
    }

    fn derive_from_rtts(&mut self, max: Option<Duration>, typical: Option<Duration>) {
        self.max_rtt = max;
        self.typical_rtt = typical;
        if let Some(derived) = Derived::from_rtts(max, typical) {
            self.target = derived.target;
            self.tupdate = derived.tupdate;
            self.alpha = derived.alpha;
            self.beta = derived.beta;
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::dctth()
    }
}

/// The longest delay to hold, and time between updates.
const LONGEST: Duration = Duration::from_secs(4);
/// The shortest time between updates.
const SHORTEST: Duration = Duration::from_micros(1);
const DELAY: Kind = Kind::Duration { min: Duration::ZERO, max: LONGEST };
const UPDATE: Kind = Kind::Duration { min: SHORTEST, max: LONGEST };
/// Values derived from RTTs of these ranges are in the range of their own settings: `tupdate` is at
/// least a sixth of `max_rtt`, `target` is `typical_rtt`, and `beta` at most 0.3 / 6 us = 50 kHz.
const MAX_RTT: Kind =
    Kind::Duration { min: Duration::from_micros(6), max: Duration::from_secs(10) };
const TYPICAL_RTT: Kind = UPDATE;
const HZ: Kind = Kind::Number { min: 0.0, max: 100_000.0, unit: "Hz" };
const STEP: Step = Step::Time(Duration::from_millis(1));
const RAMP: (Duration, Duration) = (Duration::from_micros(800), Duration::from_micros(1200));

/// `l_drop` as RFC-style percentages of marking: 1 is saturation.
fn l_drop(c: &Config) -> Option<Value> {
    match c.overload {
        Overload::Drop(from) if c.k > 0 => Some(Value::Number(from.as_f64())),
        _ => None,
    }
}

impl Configurable for Config {
    const KIND: &'static str = "dualpi2";
    const ABOUT: &'static str =
        "two queues, coupled: low delay for L4S, capacity shared with Classic";

    const PARAMS: &'static [Param<Self>] = &[
        Param::new(
            "max_rtt",
            "derive target, tupdate, alpha and beta for RTTs up to this",
            MAX_RTT,
            |c| c.max_rtt.map(Value::Duration),
            |c, v| c.derive_from_rtts(Some(v.duration()), c.typical_rtt),
        ),
        Param::new(
            "typical_rtt",
            "the usual RTT, for the same derivation; without max_rtt that is 6 times this",
            TYPICAL_RTT,
            |c| c.typical_rtt.map(Value::Duration),
            |c, v| c.derive_from_rtts(c.max_rtt, Some(v.duration())),
        ),
        param!(target, DELAY, "Classic queueing delay to hold"),
        param!(tupdate, UPDATE, "time between updates of p'"),
        param!(alpha, HZ, "integral gain, per update"),
        param!(beta, HZ, "proportional gain, per update"),
        param!(
            gains,
            Arithmetic::KIND,
            "fixed-point gains: full precision, or truncated as in Linux"
        ),
        param!(
            k,
            Kind::Count { min: 0, max: 255 },
            "coupling factor: an L4S packet is marked with k times p'; 0 leaves L to its own marker"
        ),
        Param::new(
            "l_aqm",
            "the L queue's own marker",
            Kind::Choice(&["step", "ramp", "none"]),
            |c| {
                let word = match c.l_aqm {
                    LAqm::Step(_) => "step",
                    LAqm::Ramp(..) => "ramp",
                    LAqm::None => "none",
                };
                c.is_dual().then_some(Value::Word(word))
            },
            |c, v| {
                c.l_aqm = match (v.word(), c.l_aqm) {
                    ("step", LAqm::Step(_)) | ("ramp", LAqm::Ramp(..)) => return,
                    ("step", _) => LAqm::Step(STEP),
                    ("ramp", _) => LAqm::Ramp(RAMP.0, RAMP.1),
                    _ => LAqm::None,
                }
            },
        ),
        Param::new(
            "step_thresh",
            "mark every L packet that was queued longer, or leaves a larger backlog",
            Kind::DurationOrPackets { max: Duration::from_secs(4), max_packets: 1_000_000 },
            |c| match c.l_aqm {
                LAqm::Step(Step::Time(d)) if c.is_dual() => Some(Value::Duration(d)),
                LAqm::Step(Step::Packets(n)) if c.is_dual() => Some(Value::Packets(n)),
                _ => None,
            },
            |c, v| {
                c.l_aqm = LAqm::Step(match v {
                    Value::Packets(n) => Step::Packets(n),
                    v => Step::Time(v.duration()),
                })
            },
        ),
        Param::new(
            "ramp",
            "mark L packets with a probability that rises from 0 to 1 between these delays",
            Kind::Durations { min: Duration::ZERO, max: Duration::from_secs(4) },
            |c| match c.l_aqm {
                LAqm::Ramp(low, high) if c.is_dual() => Some(Value::Durations(low, high)),
                _ => None,
            },
            |c, v| {
                let (low, high) = v.durations();
                c.l_aqm = LAqm::Ramp(low, high);
            },
        ),
        param!(
            l_wait,
            LWait::KIND,
            "sojourn time, or sojourn time minus the last pause of the link (idle time or aggregation)",
            |c| c.has_native() && !matches!(c.l_aqm, LAqm::Step(Step::Packets(_)))
        ),
        param!(
            min_qlen_step,
            Kind::Count { min: 0, max: 1_000_000 },
            "no step marking with fewer packets than this in the queue",
            Config::has_native
        ),
        param!(
            floor_at,
            FloorAt::KIND,
            "count the packets ahead of it at enqueue, or behind it at dequeue",
            Config::has_native
        ),
        Param::new(
            "scheduler",
            "time-shifted FIFO, weighted round robin, or strict priority for L",
            Kind::Choice(&["tsfifo", "wrr", "strict"]),
            |c| {
                let word = match c.scheduler {
                    Scheduler::TsFifo { .. } => "tsfifo",
                    Scheduler::Wrr { .. } => "wrr",
                    Scheduler::Strict => "strict",
                };
                c.is_dual().then_some(Value::Word(word))
            },
            |c, v| {
                c.scheduler = match (v.word(), c.scheduler) {
                    ("tsfifo", Scheduler::TsFifo { .. }) | ("wrr", Scheduler::Wrr { .. }) => {
                        return;
                    }
                    // Qdisc §4: a shift of twice the target.
                    ("tsfifo", _) => {
                        Scheduler::TsFifo { t_shift: (c.target * 2).min(LONGEST), t_speed: 0 }
                    }
                    ("wrr", _) => Scheduler::Wrr { classic_protection: 10 },
                    _ => Scheduler::Strict,
                }
            },
        ),
        Param::new(
            "t_shift",
            "tsfifo: time shift in favour of L packets",
            DELAY,
            |c| match c.scheduler {
                Scheduler::TsFifo { t_shift, .. } if c.is_dual() => Some(Value::Duration(t_shift)),
                _ => None,
            },
            |c, v| {
                let t_speed = match c.scheduler {
                    Scheduler::TsFifo { t_speed, .. } => t_speed,
                    _ => 0,
                };
                c.scheduler = Scheduler::TsFifo { t_shift: v.duration(), t_speed };
            },
        ),
        Param::new(
            "t_speed",
            "tsfifo: time runs 2^t_speed times as fast for L packets",
            Kind::Count { min: 0, max: 16 },
            |c| match c.scheduler {
                Scheduler::TsFifo { t_speed, .. } if c.is_dual() => {
                    Some(Value::Count(t_speed.into()))
                }
                _ => None,
            },
            |c, v| {
                if let Scheduler::TsFifo { t_speed, .. } = &mut c.scheduler {
                    *t_speed = v.count() as u32;
                }
            },
        ),
        Param::new(
            "classic_protection",
            "wrr: the share of the link that Classic is guaranteed, in percent",
            Kind::Count { min: 0, max: 100 },
            |c| match c.scheduler {
                Scheduler::Wrr { classic_protection } if c.is_dual() => {
                    Some(Value::Count(classic_protection.into()))
                }
                _ => None,
            },
            |c, v| c.scheduler = Scheduler::Wrr { classic_protection: v.count() as u8 },
        ),
        Param::new(
            "dualq",
            "packets classified into the L queue: ECT(1) and CE, any ECN-capable, or none",
            Kind::Choice(&["l4s", "dc", "none"]),
            |c| Some(Value::Word(c.dualq.word("none"))),
            |c, v| c.dualq = Classify::named(v.word()),
        ),
        Param::new(
            "marking",
            "packets that are marked scalably: ECT(1) and CE, any ECN-capable, or none",
            Kind::Choice(&["l4s", "dc", "classic"]),
            |c| Some(Value::Word(c.marking.word("classic"))),
            |c, v| c.marking = Classify::named(v.word()),
        ),
        param!(
            classic_ecn,
            Kind::Bool,
            "a Classic signal marks ECN-capable packets instead of dropping them"
        ),
        Param::new(
            "overload",
            "when marking saturates: Classic drop in both queues, or let the buffer overflow",
            Kind::Choice(&["drop", "overflow"]),
            |c| {
                let word = match c.overload {
                    Overload::Drop(_) => "drop",
                    Overload::Overflow => "overflow",
                };
                (c.k > 0).then_some(Value::Word(word))
            },
            |c, v| {
                c.overload = match (v.word(), c.overload) {
                    ("drop", Overload::Drop(_)) => return,
                    ("drop", _) => Overload::Drop(Probability::ONE),
                    _ => Overload::Overflow,
                }
            },
        ),
        Param::new(
            "l_drop",
            "the L4S marking probability from which both queues get the Classic drop",
            Kind::Number { min: 0.01, max: 1.0, unit: "" },
            l_drop,
            |c, v| c.overload = Overload::Drop(Probability::from_f64(v.number())),
        ),
        param!(drop_at, DropAt::KIND, "where the controller's signal is applied"),
        param!(
            randomness,
            Randomness::KIND,
            "independent random draws, or the deterministic recurrence of RFC 9332"
        ),
        param!(
            min_backlog,
            Kind::Bytes { min: Bytes::ZERO, max: Bytes::new(1_000_000_000) },
            "no signal of the controller with a smaller backlog"
        ),
        Limit::packets_param(|c| c.limit.packets_value(), |c, v| c.limit.set_packets(v.packets())),
        Limit::memory_param(
            |c| c.limit.memory.map(Value::Bytes),
            |c, v| c.limit.memory = Some(v.bytes()),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "dctth", doc: "DCttH 2017, Table 1", make: Config::dctth },
        Profile {
            name: "linux2019",
            doc: "Qdisc 2019, sections 3.5 and 4",
            make: Config::linux2019,
        },
        Profile { name: "linux", doc: "sch_dualpi2 of Linux 6.17 and later", make: Config::linux },
        Profile { name: "rfc9332", doc: "RFC 9332, Appendix A", make: Config::rfc9332 },
        Profile {
            name: "best",
            doc: "the profile with the lowest cost over steady and bursty links",
            make: Config::best,
        },
    ];

    fn check(&self) -> Result<(), Conflict> {
        if let Some((max, typical)) = self.max_rtt.zip(self.typical_rtt) {
            if typical > max {
                let message = format!("{typical} is more than `max_rtt`, which is {max}");
                return Err(Conflict { key: "typical_rtt", message });
            }
        }
        let (alpha, beta) = self.effective_gains();
        for (key, hz, gain) in [("alpha", self.alpha, alpha), ("beta", self.beta, beta)] {
            if gain.is_zero() && hz > 0.0 {
                let message = format!(
                    "{hz} Hz is below the resolution of `gains = \"linux\"`, 1/256 Hz, and would be 0"
                );
                return Err(Conflict { key, message });
            }
        }
        // Whether packets that are marked scalably have the coupled signal alone.
        let coupled_only = [Ecn::Ect1, Ecn::Ect0, Ecn::Ce]
            .into_iter()
            .any(|ecn| self.marking.admits(ecn) && !(self.dualq.admits(ecn) && self.has_native()));
        if self.k == 0 && coupled_only {
            let message = if self.dualq != Classify::None && self.l_aqm == LAqm::None {
                "with `l_aqm = \"none\"` the L queue would get no signal at all: \
                 expected 1 to 255, or `l_aqm = \"step\"` or \"ramp\""
                    .to_owned()
            } else {
                let (marking, dualq) = (self.marking.word("classic"), self.dualq.word("classic"));
                format!(
                    "with `marking = \"{marking}\"` packets outside the L queue would get no signal at all: \
                     expected 1 to 255, or `marking = \"{dualq}\"`"
                )
            };
            return Err(Conflict { key: "k", message });
        }
        if self.dualq == Classify::Dc && self.marking == Classify::L4s {
            let message = "ECT(0) would wait in the L queue but be marked as Classic: \
                           with `dualq = \"dc\"` use `marking = \"dc\"`"
                .to_owned();
            return Err(Conflict { key: "marking", message });
        }
        if self.marking == Classify::None && self.has_native() {
            let message = "the L queue's own marker marks scalably: with `marking = \"classic\"` \
                           use `l_aqm = \"none\"` or `dualq = \"none\"`"
                .to_owned();
            return Err(Conflict { key: "marking", message });
        }
        Ok(())
    }
}
