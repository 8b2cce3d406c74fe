//! The settings of Prague: each part of it is a switch.

use l4s_units::Duration;
use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile, Setting, Value};
use serde::{Deserialize, Serialize};

use crate::Connection;
use crate::classic_ecn::{self, Clock, Rules};

l4s_units::words! {
    /// Whether it looks for a queue of Classic ECN, and falls back to a Classic response in one.
    ///
    /// Example: [`Config`].
    Fallback {
        /// It does not.
        Off = "off",
        /// By the round trips of its own packets.
        Passive = "passive",
        /// By the round trips, and by tracers where these are not sure.
        Active = "active",
    }

    /// The packets of a set of tracers (Fallback §5.2).
    ///
    /// Example: [`Config`].
    TracerSet {
        /// A full segment of the stream in three packets, the middle one ECT(0).
        Split = "split",
        /// A full segment, and behind it its end twice more, as ECT(0) and as ECT(1).
        Copies = "copies",
    }

    /// The growth of the window in a Classic queue.
    ///
    /// Example: [`Config`].
    ClassicGrowth {
        /// As in an L4S queue.
        Scalable = "scalable",
        /// By a packet per round trip, however short that is.
        Reno = "reno",
        /// As Cubic.
        Cubic = "cubic",
    }

    /// The response to a loss, and the growth from there to the next mark.
    ///
    /// Example: [`Config`].
    LossResponse {
        /// Half the window, and a packet per round trip.
        Reno = "reno",
        /// 0.7 of the window, and the growth of Cubic.
        Cubic = "cubic",
    }

    /// Whether the rate depends on the RTT (RFC 9331 §4.3).
    ///
    /// Example: [`Config`].
    RttIndependence {
        /// One packet per round trip, however short.
        Off = "off",
        /// Below the virtual RTT the rate is that of a path of the virtual RTT.
        Rate = "rate",
        /// Between both: the growth per round trip is in proportion to the RTT.
        Scalable = "scalable",
        /// The rate is that of a path whose RTT is longer by the virtual RTT.
        Additive = "additive",
    }

    /// The growth of the window while there are no marks.
    ///
    /// Example: [`Config`].
    Increase {
        /// By a packet per round trip.
        Additive = "additive",
        /// By steps that double from a millisecond's worth of packets per round trip, after a long
        /// time without marks.
        Fast = "fast",
    }

    /// The growth in slow start, and the condition that ends it.
    ///
    /// Example: [`Config`].
    SlowStart {
        /// As Linux. The first mark halves the window.
        Halve = "halve",
        /// As Linux. It goes on until marks come as often as in the steady state, and ends with the
        /// response to their share.
        Gentle = "gentle",
        /// Faster than Linux (`start.rs`). It goes on until a third of a round trip is marked,
        /// and ends at once with the window that fits on the path.
        Quick = "quick",
    }

    /// The most that leaves at once where packets are paced.
    ///
    /// Example: [`Config`].
    BurstLimit {
        /// The segmentation offload of a stock kernel: a millisecond at the pacing rate.
        Offload = "offload",
        /// 244 us at the pacing rate, and at least one segment.
        Short = "short",
        /// 244 us at the pacing rate, and at least two segments: Linux' `net.ipv4.tcp_min_tso_segs`.
        ShortPairs = "short-pairs",
    }
}

impl BurstLimit {
    /// 1/4096 s, as TCP Prague for Linux: no more than 250 us of queue (RFC 9331 §4.3).
    const SHORT: Duration = Duration::from_micros(244);

    /// The send quantum in segments at `rate` bytes per second.
    #[inline]
    pub(super) fn quantum(self, rate: u64, min_rtt: Duration, connection: &Connection) -> u32 {
        let short = rate.saturating_mul(BurstLimit::SHORT.as_micros()) / 1_000_000;
        match self {
            BurstLimit::Offload => connection.quantum(rate, min_rtt, 1),
            BurstLimit::Short => connection.whole_segments(short, 1),
            BurstLimit::ShortPairs => connection.whole_segments(short, 2),
        }
    }
}

/// The settings of Prague.
///
/// ```
/// use l4s_cc::classic_ecn::Clock;
/// use l4s_cc::prague::{
///     BurstLimit, ClassicGrowth, Config, Fallback, Increase, LossResponse, RttIndependence,
///     SlowStart, TracerSet, kernel,
/// };
///
/// // The best settings, without those that a stock kernel does not support.
/// let kernel = Config {
///     tracer_set: TracerSet::Copies,
///     classic_growth: ClassicGrowth::Reno,
///     loss: LossResponse::Reno,
///     min_window: 2.0,
///     burst: BurstLimit::Offload,
///     ..Config::best()
/// };
/// assert_eq!(kernel, Config::best_linux());
/// assert!(kernel::unable(&kernel).is_empty());
/// assert_eq!(kernel::unable(&Config::best()).len(), 5);
///
/// // Close to DCTCP, for a data centre whose queues are all L4S.
/// let dctcp = Config {
///     fallback: Fallback::Off,
///     rtt_independence: RttIndependence::Off,
///     alpha_clock: Clock::Rtt,
///     increase: Increase::Additive,
///     slow_start: SlowStart::Halve,
///     ..kernel
/// };
/// assert!(kernel::unable(&dctcp).is_empty());
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Whether it looks for a queue of Classic ECN (Fallback).
    pub fallback: Fallback,
    /// The detector of Classic ECN.
    pub detector: classic_ecn::Config,
    /// The form of a set of tracers.
    pub tracer_set: TracerSet,
    /// The growth in a Classic queue.
    pub classic_growth: ClassicGrowth,
    /// The response to a loss.
    pub loss: LossResponse,
    /// Whether the rate depends on the RTT.
    pub rtt_independence: RttIndependence,
    /// The rate depends on the RTT for this many round trips after slow start.
    pub rtt_transition: u32,
    /// The period over which marks are averaged.
    pub alpha_clock: Clock,
    /// `alpha` before the first mark, in 1/1024. 0 to 1024.
    pub alpha_on_init: u32,
    /// The least window in packets, 1/16 to 2. A window below 2 makes the time between packets longer
    /// than the RTT.
    pub min_window: f64,
    /// The growth while there are no marks.
    pub increase: Increase,
    /// Slow start.
    pub slow_start: SlowStart,
    /// Whether the window is spread over the round trip instead of sent in bursts.
    pub pacing: bool,
    /// The most that leaves at once, with pacing.
    pub burst: BurstLimit,
}

impl Config {
    /// The features that a stock Linux 7.3 supports in a BPF program: the profile of the kernel
    /// substrates.
    pub fn linux() -> Self {
        Config {
            fallback: Fallback::Off,
            detector: classic_ecn::Config::paper(),
            tracer_set: TracerSet::Copies,
            classic_growth: ClassicGrowth::Scalable,
            loss: LossResponse::Reno,
            rtt_independence: RttIndependence::Rate,
            rtt_transition: 0,
            alpha_clock: Clock::Virtual,
            alpha_on_init: 0,
            min_window: 2.0,
            increase: Increase::Additive,
            slow_start: SlowStart::Halve,
            pacing: true,
            burst: BurstLimit::Offload,
        }
    }

    /// TCP Prague 0.6 for Linux 5.10 and 5.15, with its fall-back, which is off there by default,
    /// left off.
    pub fn linux_0_6() -> Self {
        Config {
            detector: classic_ecn::Config::linux(),
            tracer_set: TracerSet::Split,
            rtt_transition: 500,
            alpha_on_init: 1 << 10,
            // Inferred from the delay on the authors' testbed, not read in Prague's own hook for the
            // size of bursts.
            burst: BurstLimit::ShortPairs,
            ..Config::linux()
        }
    }

    /// TCP Prague 0.7 for Linux 6.18, which has no fall-back and goes down to 100 kb/s.
    pub fn linux_0_7() -> Self {
        Config {
            tracer_set: TracerSet::Split,
            rtt_transition: 4,
            min_window: 0.25,
            burst: BurstLimit::ShortPairs,
            ..Config::linux()
        }
    }

    /// Fallback, with its defaults: no RTT independence, which its evaluation did not have.
    pub fn paper() -> Self {
        Config {
            fallback: Fallback::Passive,
            detector: classic_ecn::Config::paper(),
            tracer_set: TracerSet::Split,
            rtt_independence: RttIndependence::Off,
            alpha_clock: Clock::Rtt,
            burst: BurstLimit::Short,
            ..Config::linux()
        }
    }

    /// The best settings by measurement.
    pub fn best() -> Self {
        Config {
            fallback: Fallback::Active,
            detector: classic_ecn::Config::best(),
            tracer_set: TracerSet::Split,
            classic_growth: ClassicGrowth::Cubic,
            loss: LossResponse::Cubic,
            rtt_transition: 4,
            min_window: 0.25,
            increase: Increase::Fast,
            slow_start: SlowStart::Gentle,
            burst: BurstLimit::Short,
            ..Config::linux()
        }
    }

    /// The best, with a start as quick as marks allow: for short flows.
    pub fn quick_start() -> Self {
        Config { slow_start: SlowStart::Quick, ..Config::best() }
    }

    /// The best, as far as a stock kernel can ([`super::kernel::unable`]).
    pub fn best_linux() -> Self {
        Config {
            tracer_set: TracerSet::Copies,
            classic_growth: ClassicGrowth::Reno,
            loss: LossResponse::Reno,
            min_window: 2.0,
            burst: BurstLimit::Offload,
            ..Config::best()
        }
    }

    /// Whether there is a detector.
    fn detects(&self) -> bool {
        self.fallback != Fallback::Off
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::linux()
    }
}

impl Config {
    pub(crate) fn paces(&self) -> bool {
        self.pacing
    }
}

impl Configurable for Config {
    const KIND: &'static str = "prague";
    const ABOUT: &'static str = "TCP Prague, the scalable congestion control of L4S (RFC 9331)";

    const PARAMS: &'static [Param<Self>] = &[
        param!(
            fallback,
            Fallback::KIND,
            "detect a Classic ECN queue and fall back: off, passive, active (tracers)"
        ),
        Param::new(
            "detector",
            "the rules that detect a Classic queue: the paper's (also with its filter of re-routes), those of \
             Prague 0.6 for Linux, or the best by measurement",
            Rules::KIND,
            |c| c.detects().then_some(Value::Word(c.detector.rules.word())),
            |c, v| c.detector = classic_ecn::Config::of(Rules::from_value(v)),
        ),
        param!(
            tracer_set,
            TracerSet::KIND,
            "split: a full segment in three packets that overlap; copies: its end sent twice more",
            |c| c.fallback == Fallback::Active
        ),
        param!(
            classic_growth,
            ClassicGrowth::KIND,
            "growth in a Classic queue: scalable (as in an L4S queue), reno, cubic",
            Config::detects
        ),
        param!(
            loss,
            LossResponse::KIND,
            "respond to a loss as reno or as cubic, until the next mark"
        ),
        param!(
            rtt_independence,
            RttIndependence::KIND,
            "rate: paths below 25 ms get the rate of a path of 25 ms; scalable: half way; additive: \
             25 ms are added to every RTT; off: one packet per RTT"
        ),
        param!(
            rtt_transition,
            Kind::Count { min: 0, max: 1_000_000 },
            "round trips after slow start before the rate is independent of the RTT",
            |c| c.rtt_independence != RttIndependence::Off
        ),
        param!(
            alpha_clock,
            Clock::KIND,
            "average marks over the flow's own RTT, or over 25 ms where that is longer (virtual)"
        ),
        param!(
            alpha_on_init,
            Kind::Count { min: 0, max: 1 << 10 },
            "the average of marks before the first one, in 1/1024"
        ),
        param!(
            min_window,
            Kind::Number { min: 0.0625, max: 2.0, unit: "" },
            "minimum window in packets; below 1 the time between packets is longer than the RTT"
        ),
        param!(
            increase,
            Increase::KIND,
            "additive: one packet per RTT; fast: in steps that double, after a time without marks"
        ),
        param!(
            slow_start,
            SlowStart::KIND,
            "halve: until the first mark; gentle: until marks come as often as in the steady state; \
             quick: faster, until a third of a round trip is marked"
        ),
        param!(
            pacing,
            Kind::Bool,
            "spread the window over the round trip, as behind fq, instead of sending in bursts"
        ),
        param!(
            burst,
            BurstLimit::KIND,
            "maximum burst: offload: 1 ms at the pacing rate, as stock Linux; short: 244 us, at least \
             one segment; short-pairs: 244 us, at least two segments",
            |c| c.pacing
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile {
            name: "linux",
            doc: "features that a stock kernel supports by BPF",
            make: Config::linux,
        },
        Profile { name: "best", doc: "the best settings by measurement", make: Config::best },
        Profile {
            name: "quick-start",
            doc: "the best, and quick where flows are short",
            make: Config::quick_start,
        },
        Profile {
            name: "best-linux",
            doc: "the best, as far as a stock kernel can",
            make: Config::best_linux,
        },
        Profile { name: "paper", doc: "Fallback with its defaults", make: Config::paper },
        Profile { name: "linux-0.6", doc: "TCP Prague 0.6 for Linux", make: Config::linux_0_6 },
        Profile { name: "linux-0.7", doc: "TCP Prague 0.7 for Linux", make: Config::linux_0_7 },
    ];

    const REMOVED: &'static [(&'static str, &'static str)] = &[
        ("slow_start_exit", "`slow_start`: \"halve\", \"gentle\", or \"quick\" for \"third\""),
        ("start_growth", QUICK),
        ("start_pacing", QUICK),
        ("start_spread", QUICK),
        ("start_again", QUICK),
        ("start_sure", QUICK),
        ("min_burst", "`burst = \"short\"` has a minimum of one segment, `\"short-pairs\"` of two"),
        ("changeover", "the larger of both responses to a mark counts, as with \"max\""),
        ("rtt_virt", "the virtual RTT is 25 ms"),
        ("beta", RULES),
        ("v", RULES),
        ("d", RULES),
        ("s", RULES),
        ("m", RULES),
        ("v0", RULES),
        ("v_floor", RULES),
        ("d0", RULES),
        ("l_sticky", RULES),
        ("c_sticky", RULES),
        ("score_clock", RULES),
        ("mdev_ratio", RULES),
        ("shift_max", RULES),
        ("spacing", RULES),
        ("prompt", RULES),
        ("hold", RULES),
        (
            "filter",
            "`detector = \"paper-filtered\"` and `\"best\"` keep re-routes out of the averages",
        ),
        ("k2", RULES),
        ("tracers", RULES),
        ("tests_valid", RULES),
    ];
}

const QUICK: &str = "`slow_start = \"quick\"` is the start of the profile `quick-start`";
const RULES: &str = "`detector` chooses the rules with their numbers: see `l4s cc prague`";
