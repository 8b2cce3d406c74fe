//! The settings of Prague: each part of it is a switch.

use l4s_units::Duration;
use l4s_units::param::{Configurable, Kind, Param, Profile, Value};

use crate::classic_ecn::{self, Clock};

/// Declares a setting of a few words, once: the type, its words and their order.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident: $($(#[$word_doc:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$word_doc])* $variant,)+
        }

        impl $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn value(self) -> Value {
                Value::Word(match self { $($name::$variant => $word,)+ })
            }

            fn of(value: Value) -> Self {
                let word = value.word();
                $(if word == $word { return $name::$variant; })+
                unreachable!("a word of the setting")
            }
        }
    };
}

words! {
    /// Whether it looks for a Classic queue, and falls back in one.
    Fallback:
    /// It does not look.
    Off = "off",
    /// By what comes back anyway.
    Passive = "passive",
    /// By tracers too, where that is not sure.
    Active = "active",
}

words! {
    /// What a set of tracers is (Fallback §5.2).
    TracerSet:
    /// A full segment's worth of the stream in three packets, the middle one ECT(0).
    Split = "split",
    /// A full segment as any other, and behind it its end twice more, ECT(0) and ECT(1).
    Copies = "copies",
}

words! {
    /// How the answer to marks changes with the score (Fallback §6.1).
    Changeover:
    /// Alternative 1: a part of each answer, by the score.
    Blend = "blend",
    /// Alternative 2: the larger of both answers.
    Max = "max",
}

words! {
    /// How the window grows once the queue is taken for a Classic one.
    ClassicGrowth:
    /// As before.
    Scalable = "scalable",
    /// By a packet per round trip, however short that is.
    Reno = "reno",
    /// As Cubic.
    Cubic = "cubic",
}

words! {
    /// How a loss is answered, until the next mark.
    LossResponse:
    /// Half the window, and a packet per round trip.
    Reno = "reno",
    /// 0.7 of the window, and the growth of Cubic.
    Cubic = "cubic",
}

words! {
    /// Whether the rate depends on the RTT.
    RttIndependence:
    /// One packet per round trip, however short.
    Off = "off",
    /// Below the virtual RTT the rate is that of a path of the virtual RTT.
    Rate = "rate",
    /// Between both: the growth per round trip is in proportion to the RTT.
    Scalable = "scalable",
    /// The rate is that of a path whose RTT is longer by the virtual RTT.
    Additive = "additive",
}

words! {
    /// How it grows where there are no marks.
    Increase:
    /// By a packet per round trip.
    Additive = "additive",
    /// By steps that double, from a millisecond's worth of packets per round trip on, once there
    /// were none for long.
    Fast = "fast",
}

words! {
    /// What the first marks do.
    SlowStartExit:
    /// The first one halves the window.
    Halve = "halve",
    /// Slow start goes on until marks come as often as they do later, and ends with the answer to
    /// as many of them as there were.
    Gentle = "gentle",
    /// Slow start goes on until a third of a round trip is marked, and ends at once, with what of
    /// that fits on the path.
    Third = "third",
}

/// How slow start goes before it found a share. An L4S queue tells within a round trip that it is
/// too fast, so that more can be tried than where the first signal is a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Startup {
    /// How many packets the window grows by for each that is delivered: until the first mark where
    /// the exit is gentle, to a quarter of what fits on the path where a third of a round trip has
    /// to be marked.
    pub growth: u32,
    /// How many windows per round trip the pacing rate is; in the latter case no more than nine
    /// tenths of the bottleneck's rate, where the detector measures that.
    pub pacing: u32,
    /// The first window leaves within this part of a round trip: a hundredth of it with 100. 0: at
    /// once.
    pub spread: u32,
    /// How often it may begin again, after a round trip without a mark behind one with some.
    pub again: u32,
    /// Up to this window, in packets, only a round trip that is marked all through ends it.
    pub sure: u32,
}

impl Startup {
    /// As Linux: RFC 5681 §3.1, and `tcp_pacing_ss_ratio`.
    pub const LINUX: Startup = Startup { growth: 1, pacing: 2, spread: 0, again: 0, sure: 0 };
}

/// The settings of Prague.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Whether it looks for a Classic queue (Fallback).
    pub fallback: Fallback,
    /// How it looks.
    pub detector: classic_ecn::Config,
    /// What it sends to look, where it is active.
    pub tracer_set: TracerSet,
    /// How it falls back.
    pub changeover: Changeover,
    /// What is left of the window after the answer to a mark in a Classic queue (RFC 8511).
    pub beta: f64,
    /// How it grows there.
    pub classic_growth: ClassicGrowth,
    /// How it answers a loss.
    pub loss: LossResponse,
    /// Whether the rate depends on the RTT (RFC 9331 §4.3).
    pub rtt_independence: RttIndependence,
    /// The RTT that shorter ones are taken for.
    pub rtt_virt: Duration,
    /// Round trips after slow start before the rate is independent of the RTT.
    pub rtt_transition: u32,
    /// What the average of marks is clocked by: the flow's own round trips, or virtual ones.
    pub alpha_clock: Clock,
    /// `alpha` before the first mark, in 1/1024.
    pub alpha_on_init: u32,
    /// The least window, in packets. Below 2 the packets are spread further apart.
    pub min_window: f64,
    /// How it grows where there are no marks.
    pub increase: Increase,
    /// How slow start ends.
    pub slow_start_exit: SlowStartExit,
    /// How it goes, where the first mark does not end it.
    pub startup: Startup,
    /// Spread the window over the round trip instead of sending in bursts.
    pub pacing: bool,
    /// The most that goes out at once, as time at the pacing rate; 0 for what the segmentation
    /// offload of a stock kernel takes.
    pub burst: Duration,
    /// But so many segments in any case.
    pub min_burst: u32,
}

impl Config {
    /// What a stock Linux 7.3 lets a BPF program do: what the kernel substrates run.
    pub fn linux() -> Self {
        Config {
            fallback: Fallback::Off,
            detector: classic_ecn::Config::paper(),
            tracer_set: TracerSet::Copies,
            changeover: Changeover::Max,
            beta: 0.7,
            classic_growth: ClassicGrowth::Scalable,
            loss: LossResponse::Reno,
            rtt_independence: RttIndependence::Rate,
            rtt_virt: Duration::from_millis(25),
            rtt_transition: 0,
            alpha_clock: Clock::Virtual,
            alpha_on_init: 0,
            min_window: 2.0,
            increase: Increase::Additive,
            slow_start_exit: SlowStartExit::Halve,
            startup: Startup::LINUX,
            pacing: true,
            burst: Duration::ZERO,
            min_burst: 1,
        }
    }

    /// TCP Prague 0.6 for Linux 5.10 and 5.15, with its fall-back, which is off there by default,
    /// left off.
    pub fn linux_0_6() -> Self {
        Config {
            detector: classic_ecn::Config::linux(),
            tracer_set: TracerSet::Split,
            // 1 − 0.625/2: its 5/8 stand for the 0.6 of Fallback §6.1.
            beta: 0.6875,
            rtt_transition: 500,
            alpha_on_init: 1 << 10,
            burst: Duration::from_micros(244),
            // Linux' net.ipv4.tcp_min_tso_segs. Inferred from the delay on the authors' testbed, not
            // read in Prague's own hook for the size of bursts.
            min_burst: 2,
            ..Config::linux()
        }
    }

    /// TCP Prague 0.7 for Linux 6.18, which has no fall-back and goes down to 100 kb/s.
    pub fn linux_0_7() -> Self {
        Config {
            tracer_set: TracerSet::Split,
            rtt_transition: 4,
            min_window: 0.25,
            burst: Duration::from_micros(244),
            min_burst: 2,
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
            burst: Duration::from_micros(244),
            ..Config::linux()
        }
    }

    /// What measurement shows to be better.
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
            slow_start_exit: SlowStartExit::Gentle,
            burst: Duration::from_micros(244),
            ..Config::linux()
        }
    }

    /// The best, with a start as quick as marks allow: for short flows.
    pub fn quick_start() -> Self {
        Config {
            slow_start_exit: SlowStartExit::Third,
            startup: Startup { growth: 2, pacing: 4, spread: 100, again: 4, sure: 60 },
            ..Config::best()
        }
    }

    /// The best, as far as a stock kernel can ([`super::kernel::unable`]).
    pub fn best_linux() -> Self {
        Config {
            tracer_set: TracerSet::Copies,
            classic_growth: ClassicGrowth::Reno,
            loss: LossResponse::Reno,
            min_window: 2.0,
            burst: Duration::ZERO,
            ..Config::best()
        }
    }

    /// Whether slow start outlives the first mark.
    fn is_gentle(&self) -> bool {
        self.slow_start_exit != SlowStartExit::Halve
    }

    /// Whether there is a detector.
    fn detects(&self) -> bool {
        self.fallback != Fallback::Off
    }

    /// Whether it sends tracers.
    fn traces(&self) -> bool {
        self.fallback == Fallback::Active
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::linux()
    }
}

/// A setting of the detector, where there is one.
macro_rules! of_detector {
    ($name:literal, $doc:literal, $kind:expr, $field:ident: $value:ident, $read:expr, $write:expr) => {
        Param::new(
            $name,
            $doc,
            $kind,
            |c: &Config| c.detects().then_some(Value::$value($read(c.detector.$field))),
            |c: &mut Config, v: Value| c.detector.$field = $write(v),
        )
    };
}

/// A setting that is one of a few words.
macro_rules! word {
    ($name:literal, $doc:literal, $type:ident, $field:ident, $applies:expr) => {
        Param::new(
            $name,
            $doc,
            Kind::Choice($type::WORDS),
            |c: &Config| ($applies)(c).then(|| c.$field.value()),
            |c: &mut Config, v: Value| c.$field = $type::of(v),
        )
    };
}

const CLOCKS: &[&str] = &["rtt", "virtual"];

fn clock_word(clock: Clock) -> &'static str {
    match clock {
        Clock::Rtt => "rtt",
        Clock::Virtual => "virtual",
    }
}

fn clock(value: Value) -> Clock {
    if value.word() == "rtt" { Clock::Rtt } else { Clock::Virtual }
}

const WEIGHT: Kind = Kind::Number { min: 0.0, max: 16.0, unit: "" };
const REFERENCE: Kind =
    Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(16) };

impl Configurable for Config {
    const KIND: &'static str = "prague";
    const ABOUT: &'static str = "TCP Prague, the scalable congestion control of L4S (RFC 9331)";

    const PARAMS: &'static [Param<Self>] = &[
        word!(
            "fallback",
            "look for a queue of Classic ECN and fall back in it: off, passive, active (tracers)",
            Fallback,
            fallback,
            |_: &Config| true
        ),
        word!(
            "rtt_independence",
            "rate: short paths get the rate of a path of rtt_virt; scalable: half way; additive: \
             rtt_virt is added to every RTT; off: one packet per RTT",
            RttIndependence,
            rtt_independence,
            |_: &Config| true
        ),
        Param::new(
            "rtt_virt",
            "the RTT that shorter ones are taken for",
            // Less than 2^16 µs, so that its square fits in 32 bits.
            Kind::Duration { min: Duration::from_millis(1), max: Duration::from_millis(60) },
            |c| {
                let used = c.rtt_independence != RttIndependence::Off;
                used.then_some(Value::Duration(c.rtt_virt))
            },
            |c, v| c.rtt_virt = v.duration(),
        ),
        Param::new(
            "rtt_transition",
            "round trips after slow start before the rate is independent of the RTT",
            Kind::Count { min: 0, max: 1_000_000 },
            |c| {
                let used = c.rtt_independence != RttIndependence::Off;
                used.then_some(Value::Count(c.rtt_transition.into()))
            },
            |c, v| c.rtt_transition = v.count() as u32,
        ),
        Param::new(
            "alpha_clock",
            "average marks over the flow's own RTT, or over rtt_virt where that is longer (virtual)",
            Kind::Choice(CLOCKS),
            |c| Some(Value::Word(clock_word(c.alpha_clock))),
            |c, v| c.alpha_clock = clock(v),
        ),
        Param::new(
            "alpha_on_init",
            "the average of marks before the first one, in 1/1024",
            Kind::Count { min: 0, max: 1 << 10 },
            |c| Some(Value::Count(c.alpha_on_init.into())),
            |c, v| c.alpha_on_init = v.count() as u32,
        ),
        Param::new(
            "min_window",
            "the least window, in packets; below 2 they are spread further apart than the RTT",
            Kind::Number { min: 0.0625, max: 2.0, unit: "" },
            |c| Some(Value::Number(c.min_window)),
            |c, v| c.min_window = v.number(),
        ),
        word!(
            "increase",
            "additive: one packet per RTT; fast: in steps that double, once marks stay away",
            Increase,
            increase,
            |_: &Config| true
        ),
        word!(
            "slow_start_exit",
            "halve: at the first mark; gentle: when marks come as often as they do later; third: once \
             a third of a round trip is marked",
            SlowStartExit,
            slow_start_exit,
            |_: &Config| true
        ),
        Param::new(
            "start_growth",
            "packets that the window grows by for each delivered one, until the first mark (gentle) or \
             a quarter of what fits (third)",
            Kind::Count { min: 1, max: 4 },
            |c| c.is_gentle().then_some(Value::Count(c.startup.growth.into())),
            |c, v| c.startup.growth = v.count() as u32,
        ),
        Param::new(
            "start_pacing",
            "windows per round trip that slow start sends",
            Kind::Count { min: 1, max: 8 },
            |c| (c.pacing && c.is_gentle()).then_some(Value::Count(c.startup.pacing.into())),
            |c, v| c.startup.pacing = v.count() as u32,
        ),
        Param::new(
            "start_spread",
            "which part of a round trip the first window takes to leave: a hundredth with 100; 0: at once",
            Kind::Count { min: 0, max: 1000 },
            |c| (c.pacing && c.is_gentle()).then_some(Value::Count(c.startup.spread.into())),
            |c, v| c.startup.spread = v.count() as u32,
        ),
        Param::new(
            "start_again",
            "how often slow start begins again, after a round trip without a mark",
            Kind::Count { min: 0, max: 1000 },
            |c| c.is_gentle().then_some(Value::Count(c.startup.again.into())),
            |c, v| c.startup.again = v.count() as u32,
        ),
        Param::new(
            "start_sure",
            "packets that slow start goes to, unless all of a round trip is marked",
            Kind::Count { min: 0, max: 1000 },
            |c| {
                let third = c.slow_start_exit == SlowStartExit::Third;
                third.then_some(Value::Count(c.startup.sure.into()))
            },
            |c, v| c.startup.sure = v.count() as u32,
        ),
        word!(
            "loss",
            "answer a loss as reno or as cubic does, until the next mark",
            LossResponse,
            loss,
            |_: &Config| true
        ),
        Param::new(
            "pacing",
            "spread the window over the round trip, as behind fq, instead of sending in bursts",
            Kind::Bool,
            |c| Some(Value::Bool(c.pacing)),
            |c, v| c.pacing = v.bool(),
        ),
        Param::new(
            "burst",
            "the most that goes out at once, as time at the pacing rate; 0s: as stock Linux",
            Kind::Duration { min: Duration::ZERO, max: Duration::from_millis(10) },
            |c| c.pacing.then_some(Value::Duration(c.burst)),
            |c, v| c.burst = v.duration(),
        ),
        Param::new(
            "min_burst",
            "but so many segments in any case",
            Kind::Count { min: 1, max: 64 },
            |c| (c.pacing && !c.burst.is_zero()).then_some(Value::Count(c.min_burst.into())),
            |c, v| c.min_burst = v.count() as u32,
        ),
        word!(
            "changeover",
            "max: the larger of both answers to a mark; blend: a part of each, by the score",
            Changeover,
            changeover,
            Config::detects
        ),
        Param::new(
            "beta",
            "what a mark leaves of the window in a Classic queue",
            Kind::Number { min: 0.5, max: 0.95, unit: "" },
            |c| c.detects().then_some(Value::Number(c.beta)),
            |c, v| c.beta = v.number(),
        ),
        word!(
            "classic_growth",
            "growth in a Classic queue: scalable (as before), reno, cubic",
            ClassicGrowth,
            classic_growth,
            Config::detects
        ),
        of_detector!("v", "weight of variability (V)", WEIGHT, v: Number, |x| x, Value::number),
        of_detector!("d", "weight of depth (D)", WEIGHT, d: Number, |x| x, Value::number),
        of_detector!("s", "weight of self-limitation (S)", WEIGHT, s: Number, |x| x, Value::number),
        of_detector!(
            "m",
            "weight of unmarked packets from a deep queue; if above 0, a round trip of marks only tells nothing",
            WEIGHT, m: Number, |x| x, Value::number
        ),
        of_detector!(
            "v0",
            "mean deviation of the RTT above which the queue looks Classic (V0)",
            REFERENCE, v0: Duration, |x| x, Value::duration
        ),
        of_detector!(
            "v_floor",
            "a deviation below this part of v0 counts as that; 0 in the paper",
            Kind::Number { min: 0.0, max: 1.0, unit: "" }, v_floor: Number, |x| x, Value::number
        ),
        of_detector!(
            "d0",
            "depth of the queue above which it looks Classic (D0)",
            REFERENCE, d0: Duration, |x| x, Value::duration
        ),
        of_detector!(
            "l_sticky",
            "how far below 0 the score starts, and falls at most (L_STICKY)",
            Kind::Number { min: 0.0, max: 1000.0, unit: "" },
            l_sticky: Number, |x| x, Value::number
        ),
        of_detector!(
            "c_sticky",
            "how far above 0 the score rises at most (C_STICKY)",
            Kind::Number { min: 1.0, max: 1000.0, unit: "" },
            c_sticky: Number, |x| x, Value::number
        ),
        of_detector!(
            "score_clock",
            "score per round trip (rtt), or not more often than once per rtt_virt (virtual)",
            Kind::Choice(CLOCKS), clock: Word, clock_word, clock
        ),
        of_detector!(
            "mdev_ratio",
            "how much longer the deviation is smoothed over than the RTT: 1, 2 or 4",
            Kind::Count { min: 1, max: 4 },
            mdev_ratio: Count, u64::from, |v: Value| v.count() as u32
        ),
        of_detector!(
            "shift_max",
            "the RTT is smoothed over 2^shift_max acknowledgements at most",
            Kind::Count { min: 1, max: classic_ecn::SHIFT_MAX as u64 },
            shift_max: Count, u64::from, |v: Value| v.count() as u32
        ),
        of_detector!(
            "spacing",
            "raise the references to what the bottleneck takes to send a packet",
            Kind::Bool, spacing: Bool, |x| x, Value::bool
        ),
        of_detector!(
            "prompt",
            "leave out round trips that the receiver's delay may be part of",
            Kind::Bool, prompt: Bool, |x| x, Value::bool
        ),
        of_detector!(
            "hold",
            "round trips without a mark after which the score only rises; 0, the paper's, for never",
            Kind::Count { min: 0, max: 1000 }, hold: Count, u64::from, |v: Value| v.count() as u32
        ),
        of_detector!(
            "filter",
            "keep re-routes out of the averages",
            Kind::Bool, filter: Bool, |x| x, Value::bool
        ),
        Param::new(
            "k2",
            "how many mean deviations away a sample is that may be a re-route (K2)",
            Kind::Number { min: 1.0, max: 16.0, unit: "" },
            |c| (c.detects() && c.detector.filter).then_some(Value::Number(c.detector.k2)),
            |c, v| c.detector.k2 = v.number(),
        ),
        word!(
            "tracer_set",
            "split: a full segment in three packets that overlap; copies: its end sent twice more",
            TracerSet,
            tracer_set,
            Config::traces
        ),
        Param::new(
            "tracers",
            "how many sets of tracers to send before they are given up (TRACER_NUM)",
            Kind::Count { min: 1, max: 16 },
            |c| c.traces().then_some(Value::Count(c.detector.tracers.into())),
            |c, v| c.detector.tracers = v.count() as u32,
        ),
        Param::new(
            "tests_valid",
            "round trips that a test with tracers is good for, which finds one queue or two; 0: neither",
            Kind::Count { min: 0, max: 1000 },
            |c| c.traces().then_some(Value::Count(c.detector.tests_valid.into())),
            |c, v| c.detector.tests_valid = v.count() as u32,
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "linux", doc: "what a stock kernel can do by BPF", make: Config::linux },
        Profile { name: "best", doc: "what measurement shows to be better", make: Config::best },
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

    fn check(&self) -> Result<(), l4s_units::param::Conflict> {
        if !self.detector.mdev_ratio.is_power_of_two() {
            return Err(l4s_units::param::Conflict {
                key: "mdev_ratio",
                message: format!("found {}, expected 1, 2 or 4", self.detector.mdev_ratio),
            });
        }
        Ok(())
    }
}
