//! The settings of Curvy RED: its own, and those of the two queues, which DualPI2 declares.

use l4s_units::Duration;
use l4s_units::param;
use l4s_units::param::{Configurable, Conflict, Kind, Param, Profile, Value};
use serde::{Deserialize, Serialize};

use crate::Limit;
use crate::dualpi2::{self, Classify, LAqm, Scheduler, Step};

l4s_units::words! {
    /// Which signals follow the smoothed queueing delay.
    ///
    /// Example: [`Config`].
    Smoothing {
        /// The Classic one; the coupled one follows the delay as it is now (Slides).
        Classic = "classic",
        /// Both (RFC 9332 figure 10).
        Both = "both",
        /// Both, and no more than the delay as it is now (RFC 9332 §B.1 note 4).
        Least = "least",
    }
}

l4s_units::words! {
    /// Whose queueing delay the base probability follows.
    ///
    /// Example: [`Config`].
    SteeredBy {
        /// The Classic queue's, which is sampled when a Classic packet leaves. Once they have stopped
        /// coming, a smoothed coupled signal keeps its value (Slides; RFC 9332 figure 10).
        Classic = "classic",
        /// The longer one of both queues, and an L4S packet is a sample too where no Classic one
        /// waits, so that overload by L4S alone is met (RFC 9332 §A.2, which §B.1 refers to).
        Longest = "longest",
    }
}

/// The settings of Curvy RED.
///
/// ```
/// use l4s_aqm::curvy_red::{Config, Smoothing, SteeredBy};
/// use l4s_units::param::Configurable;
///
/// // The slides smooth the Classic signal only, and L4S packets alone steer nothing.
/// let slides = Config::slides();
/// assert_eq!((slides.smoothing, slides.steered_by), (Smoothing::Classic, SteeredBy::Classic));
/// let rfc = Config::rfc9332();
/// assert_eq!((rfc.smoothing, rfc.steered_by), (Smoothing::Both, SteeredBy::Longest));
/// // Both couple with k = 2^(s_l − s_c) = 2. It cannot be below 1.
/// let conflict = Config { s_l: 0, ..rfc }.check().unwrap_err();
/// assert_eq!(conflict.key, "s_l");
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The Classic slope S_C in bits: the base probability rises by 2^s_c per 2³⁰ ns of queue
    /// delay. RFC 9332 counts it the other way round, as the range of the ramp: its S_C is −s_c.
    /// 0 to 20.
    pub s_c: u32,
    /// The L4S slope S_L in bits, likewise; no less than `s_c`. The coupling factor is
    /// k = 2^(s_l − s_c). 0 to 20.
    pub s_l: u32,
    /// The weight of a new sample in the smoothed delay is 2^-f (EWMA; g_C of RFC 9332). 0 to 16.
    pub f: u32,
    /// The delay up to which the base probability is 0 (`minTh` of RFC 9332).
    pub min_th: Duration,
    /// Which signals follow the smoothed delay.
    pub smoothing: Smoothing,
    /// Whose delay that is.
    pub steered_by: SteeredBy,
    /// The two queues: classification, scheduler, native L4S AQM (the threshold T), overload,
    /// randomness. Its limit, its k and the settings of its controller have no effect.
    pub queues: dualpi2::Config,
    /// The maximum backlog.
    pub limit: Limit,
}

impl Config {
    /// Slides, "Detailed Implementation": strict priority, any ECN-capable packet in the L queue,
    /// a threshold in packets, and no smoothing for L4S. The slides name the four parameters; their
    /// values are the recommendations of RFC 9332 §B.1 from those experiments.
    pub fn slides() -> Config {
        Config {
            s_c: 1,
            s_l: 2,
            f: 5,
            min_th: Duration::ZERO,
            smoothing: Smoothing::Classic,
            steered_by: SteeredBy::Classic,
            queues: dualpi2::Config {
                l_aqm: LAqm::Step(Step::Packets(5)),
                scheduler: Scheduler::Strict,
                dualq: Classify::Dc,
                marking: Classify::Dc,
                ..Config::rfc9332().queues
            },
            limit: Limit::packets(40_000),
        }
    }

    /// RFC 9332 Appendix B, in the integers of its figure 11, with the protection against overload
    /// of §A.2 as §B.1 says.
    ///
    /// Without the `minTh` of figure 9: its 500 ms are beyond the 250 ms of buffer in the same
    /// figure, and figure 11 has none.
    pub fn rfc9332() -> Config {
        Config {
            s_c: 1,
            s_l: 2,
            f: 5,
            min_th: Duration::ZERO,
            smoothing: Smoothing::Both,
            steered_by: SteeredBy::Longest,
            queues: dualpi2::Config {
                // Half of the time shift that a user gets who chooses tsfifo without one.
                target: Duration::from_millis(25),
                l_aqm: LAqm::Step(Step::Time(Duration::from_millis(1))),
                min_qlen_step: 0,
                scheduler: Scheduler::TsFifo { t_shift: Duration::from_millis(50), t_speed: 0 },
                ..dualpi2::Config::dctth()
            },
            limit: Limit::packets(10_000),
        }
    }

    /// The settings of the engine, complete.
    pub(super) fn engine(&self) -> dualpi2::Config {
        let k = 1 << self.s_l.saturating_sub(self.s_c);
        dualpi2::Config { k, limit: self.limit, ..self.queues.clone() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::slides()
    }
}

const SLOPE: Kind = Kind::Count { min: 0, max: 20 };

/// Where `name` is among the settings of DualPI2.
const fn at(name: &str) -> usize {
    let (params, name) = (dualpi2::Config::PARAMS, name.as_bytes());
    let mut i = 0;
    // A name that is not there ends the compilation: the index goes out of bounds.
    loop {
        let other = params[i].name.as_bytes();
        let mut same = other.len() == name.len();
        let mut j = 0;
        while same && j < name.len() {
            same = other[j] == name[j];
            j += 1;
        }
        if same {
            return i;
        }
        i += 1;
    }
}

/// Setting number `AT` of DualPI2, as a setting of the two queues.
const fn shared<const AT: usize>() -> Param<Config> {
    let param = &dualpi2::Config::PARAMS[AT];
    Param::new(
        param.name,
        param.doc,
        param.kind,
        |c| (dualpi2::Config::PARAMS[AT].get)(&c.queues),
        |c, v| (dualpi2::Config::PARAMS[AT].set)(&mut c.queues, v),
    )
}

impl Configurable for Config {
    const KIND: &'static str = "curvy-red";
    const ABOUT: &'static str =
        "two queues, coupled: signals rise with the Classic queueing delay, without a controller";

    const PARAMS: &'static [Param<Self>] = &[
        param!(
            s_c,
            SLOPE,
            "Classic slope: the root of the drop probability rises by 2^s_c per second of delay"
        ),
        param!(
            s_l,
            SLOPE,
            "L4S slope: the coupled probability rises by 2^s_l per second; k is 2^(s_l - s_c)"
        ),
        param!(
            f,
            Kind::Count { min: 0, max: 16 },
            "smoothing of the Classic queueing delay: a new sample weighs 2^-f"
        ),
        param!(
            min_th,
            Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(4) },
            "queueing delay below which only the L queue's own marker signals"
        ),
        param!(
            smoothing,
            Smoothing::KIND,
            "signals that follow the smoothed delay: Classic, both, or both and never above it now"
        ),
        param!(
            steered_by,
            SteeredBy::KIND,
            "the queue whose delay counts: Classic, or the longer one"
        ),
        shared::<{ at("l_aqm") }>(),
        shared::<{ at("step_thresh") }>(),
        shared::<{ at("ramp") }>(),
        shared::<{ at("l_wait") }>(),
        shared::<{ at("min_qlen_step") }>(),
        shared::<{ at("floor_at") }>(),
        shared::<{ at("scheduler") }>(),
        shared::<{ at("t_shift") }>(),
        shared::<{ at("t_speed") }>(),
        shared::<{ at("classic_protection") }>(),
        shared::<{ at("dualq") }>(),
        shared::<{ at("marking") }>(),
        shared::<{ at("classic_ecn") }>(),
        shared::<{ at("overload") }>(),
        shared::<{ at("l_drop") }>(),
        shared::<{ at("drop_at") }>(),
        shared::<{ at("randomness") }>(),
        shared::<{ at("min_backlog") }>(),
        Limit::packets_param(|c| c.limit.packets_value(), |c, v| c.limit.set_packets(v.packets())),
        Limit::memory_param(
            |c| c.limit.memory.map(Value::Bytes),
            |c, v| c.limit.memory = Some(v.bytes()),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile {
            name: "slides",
            doc: "Slides 2015, Detailed Implementation",
            make: Config::slides,
        },
        Profile {
            name: "rfc9332",
            doc: "RFC 9332, Appendix B, without the minTh that no queue reaches",
            make: Config::rfc9332,
        },
    ];

    fn check(&self) -> Result<(), Conflict> {
        if self.s_l < self.s_c {
            let message = format!(
                "{} is less than `s_c`, which is {}: expected {} to 20, or the coupling factor \
                 2^(s_l - s_c) would be below 1",
                self.s_l, self.s_c, self.s_c
            );
            return Err(Conflict { key: "s_l", message });
        }
        self.queues.check()
    }
}
