//! The settings as a kernel has them: `struct prague_config` of `prague.h`.
//!
//! A kernel has no floating point and computes no logarithms of constants, so all of that is done
//! here. The words go to the BPF program as its constants, and to the kernel of `--on linux` as a
//! row of numbers in a file.

use crate::classic_ecn::tracers::MOST_SETS;
use crate::classic_ecn::{Clock, RTT_MAX, lg};
use crate::prague::{
    Changeover, ClassicGrowth, Config, Fallback, Increase, LossResponse, RttIndependence,
    SlowStartExit, Startup, TracerSet,
};
use l4s_units::Duration;

/// Bits of the score, `CLASSIC_ECN_BITS`.
const SCORE_BITS: u32 = 24;

/// `struct classic_ecn_config`, field by field.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "classic_ecn.h says what each is")]
pub struct DetectorSettings {
    pub v: u64,
    pub d: u64,
    pub s: u64,
    pub m: u64,
    pub v0_us: u64,
    pub v_floor: u64,
    pub d0_us: u64,
    pub lg_v0: u64,
    pub lg_d0: u64,
    pub l_sticky: u64,
    pub c_sticky: u64,
    pub per_virtual: u64,
    pub shift_max: u64,
    pub ratio: u64,
    pub k2: u64,
    pub spacing: u64,
    pub prompt: u64,
    pub hold: u64,
    pub tracers: u64,
    pub tests_valid: u64,
    pub tracer_step: u64,
}

/// `struct prague_config`, field by field.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "prague.h says what each is")]
pub struct Settings {
    pub rtt_independence: u64,
    pub rtt_virt_us: u64,
    pub rtt_transition: u64,
    pub alpha_per_virtual: u64,
    pub alpha_on_init: u64,
    pub fast: u64,
    pub gentle: u64,
    pub detects: u64,
    pub blend: u64,
    pub alpha_classic: u64,
    pub classic_reno: u64,
    pub detector: DetectorSettings,
}

/// How many words [`Settings`] are.
pub const WORDS: usize = size_of::<Settings>() / size_of::<u64>();

impl Settings {
    /// Of a configuration that [`unable`] has nothing against.
    pub fn new(config: &Config) -> Settings {
        Settings {
            rtt_independence: match config.rtt_independence {
                RttIndependence::Off => 0,
                RttIndependence::Rate => 1,
                RttIndependence::Scalable => 2,
                RttIndependence::Additive => 3,
            },
            rtt_virt_us: config.rtt_virt.as_micros().min((1 << 16) - 1),
            rtt_transition: config.rtt_transition.into(),
            alpha_per_virtual: (config.alpha_clock == Clock::Virtual).into(),
            alpha_on_init: config.alpha_on_init.into(),
            fast: (config.increase == Increase::Fast).into(),
            gentle: (config.slow_start_exit == SlowStartExit::Gentle).into(),
            detects: (config.fallback != Fallback::Off).into(),
            blend: (config.changeover == Changeover::Blend).into(),
            alpha_classic: scaled(2.0 * (1.0 - config.beta), SCORE_BITS),
            classic_reno: (config.classic_growth == ClassicGrowth::Reno).into(),
            detector: DetectorSettings::new(&config.detector, config.fallback == Fallback::Active),
        }
    }

    /// In their order in memory.
    pub fn words(&self) -> [u64; WORDS] {
        let d = &self.detector;
        [
            self.rtt_independence,
            self.rtt_virt_us,
            self.rtt_transition,
            self.alpha_per_virtual,
            self.alpha_on_init,
            self.fast,
            self.gentle,
            self.detects,
            self.blend,
            self.alpha_classic,
            self.classic_reno,
            d.v,
            d.d,
            d.s,
            d.m,
            d.v0_us,
            d.v_floor,
            d.d0_us,
            d.lg_v0,
            d.lg_d0,
            d.l_sticky,
            d.c_sticky,
            d.per_virtual,
            d.shift_max,
            d.ratio,
            d.k2,
            d.spacing,
            d.prompt,
            d.hold,
            d.tracers,
            d.tests_valid,
            d.tracer_step,
        ]
    }
}

impl DetectorSettings {
    /// Of a configuration; whether it sends tracers.
    pub fn new(config: &crate::classic_ecn::Config, tracers: bool) -> DetectorSettings {
        let micros = |d: Duration| d.as_micros().clamp(1, RTT_MAX.into());
        let (v0_us, d0_us) = (micros(config.v0), micros(config.d0));
        let l_sticky = scaled(config.l_sticky, SCORE_BITS);
        let sets = if tracers { config.tracers.clamp(1, MOST_SETS) } else { 0 };
        DetectorSettings {
            v: scaled(config.v, 8),
            d: scaled(config.d, 8),
            s: scaled(config.s, 8),
            m: scaled(config.m, 8),
            v0_us,
            v_floor: scaled(config.v_floor, 8),
            d0_us,
            lg_v0: lg(v0_us, SCORE_BITS) as u64,
            lg_d0: lg(d0_us, SCORE_BITS) as u64,
            l_sticky,
            c_sticky: scaled(config.c_sticky, SCORE_BITS),
            per_virtual: (config.clock == Clock::Virtual).into(),
            shift_max: config.shift_max.into(),
            ratio: config.mdev_ratio.ilog2().into(),
            k2: if config.filter { scaled(config.k2, 4).clamp(16, 256) } else { 0 },
            spacing: config.spacing.into(),
            prompt: config.prompt.into(),
            hold: config.hold.into(),
            tracers: sets.into(),
            tests_valid: if tracers { config.tests_valid.into() } else { 0 },
            tracer_step: l_sticky.checked_div(sets.into()).unwrap_or(0),
        }
    }
}

/// A number in 2^-`bits`, rounded to the nearest.
fn scaled(x: f64, bits: u32) -> u64 {
    (x * (1u64 << bits) as f64).round() as u64
}

/// What of a configuration no kernel does: the setting, what was found, and what can be.
pub fn unable(config: &Config) -> Vec<String> {
    let mut faults = Vec::new();
    let mut refuse = |unable: bool, fault: &str| {
        if unable {
            faults.push(fault.to_owned());
        }
    };
    refuse(
        config.fallback == Fallback::Active && config.tracer_set == TracerSet::Split,
        "`tracer_set`: found \"split\", expected \"copies\", as segments that overlap are sent by \
         nothing but a patched TCP",
    );
    refuse(
        config.classic_growth == ClassicGrowth::Cubic,
        "`classic_growth`: found \"cubic\", expected \"scalable\" or \"reno\"",
    );
    refuse(config.loss == LossResponse::Cubic, "`loss`: found \"cubic\", expected \"reno\"");
    if config.min_window < 2.0 {
        let found = config.min_window;
        refuse(true, &format!("`min_window`: found {found}, expected 2, which TCP sends at least"));
    }
    refuse(
        config.slow_start_exit == SlowStartExit::Third,
        "`slow_start_exit`: found \"third\", expected \"halve\" or \"gentle\"",
    );
    refuse(
        config.startup != Startup::LINUX,
        "`start_growth`, `start_pacing`, `start_spread`, `start_again`, `start_sure`: expected 1, 2, 0, 0 \
         and 0, as TCP starts",
    );
    if config.pacing && !config.burst.is_zero() {
        let found = config.burst;
        refuse(
            true,
            &format!("`burst`: found \"{found}\", expected \"0s\", as TCP cuts its own segments"),
        );
    }
    faults
}

/// What the detector of a kernel's socket says, in its own numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// The score in 2^-24.
    pub score: i64,
    /// The highest that it ever was.
    pub max: i64,
    /// Round trips that were scored.
    pub rounds: u32,
    /// The smoothed RTT in microseconds.
    pub srtt_us: u32,
    /// Its mean deviation.
    pub mdev_us: u32,
    /// How far the smoothed RTT is above the lowest one.
    pub depth_us: u32,
}

impl From<Reading> for crate::classic_ecn::Report {
    fn from(r: Reading) -> Self {
        let score = |s: i64| s as f64 / f64::from(1u32 << SCORE_BITS);
        let micros = |us: u32| Duration::from_micros(us.into());
        crate::classic_ecn::Report {
            score: score(r.score),
            max: score(r.max),
            rounds: r.rounds,
            srtt: micros(r.srtt_us),
            mdev: micros(r.mdev_us),
            depth: micros(r.depth_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_the_structure() {
        let settings = Settings::new(&Config::best());
        // By its own order of fields: prints them all, in theirs.
        let printed = format!("{settings:?}");
        let numbers: Vec<u64> =
            printed.split([' ', ',', '}']).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers, settings.words());
    }

    /// Where none are sent, there is nothing of theirs that a kernel could do.
    #[test]
    fn only_active_detection_has_tracers() {
        for fallback in [Fallback::Off, Fallback::Passive, Fallback::Active] {
            let d = Settings::new(&Config { fallback, ..Config::best() }).detector;
            // A score of 8 over four sets.
            let active = [4, 50, 2 << SCORE_BITS];
            let expected = if fallback == Fallback::Active { active } else { [0; 3] };
            assert_eq!([d.tracers, d.tests_valid, d.tracer_step], expected);
        }
    }

    #[test]
    fn what_stock_linux_does_is_a_kernels_and_the_best_is_not() {
        assert_eq!(unable(&Config::linux()), Vec::<String>::new());
        assert_eq!(unable(&Config::best_linux()), Vec::<String>::new());
        let best = unable(&Config::best());
        assert_eq!(best.len(), 5, "{best:?}");
    }

    /// Each names the setting, what was found and what is accepted, and nothing else is refused.
    #[test]
    fn what_no_kernel_does_is_refused_by_name() {
        let linux = Config::linux();
        let burst = Duration::from_micros(244);
        let refused = [
            (
                Config { fallback: Fallback::Active, tracer_set: TracerSet::Split, ..linux },
                "`tracer_set`: found \"split\", expected \"copies\", as segments that overlap are sent \
                 by nothing but a patched TCP",
            ),
            (
                Config { classic_growth: ClassicGrowth::Cubic, ..linux },
                "`classic_growth`: found \"cubic\", expected \"scalable\" or \"reno\"",
            ),
            (
                Config { loss: LossResponse::Cubic, ..linux },
                "`loss`: found \"cubic\", expected \"reno\"",
            ),
            (
                Config { min_window: 0.25, ..linux },
                "`min_window`: found 0.25, expected 2, which TCP sends at least",
            ),
            (
                Config { min_window: 1.9375, ..linux },
                "`min_window`: found 1.9375, expected 2, which TCP sends at least",
            ),
            (
                Config { burst, ..linux },
                "`burst`: found \"244us\", expected \"0s\", as TCP cuts its own segments",
            ),
        ];
        for (config, fault) in refused {
            assert_eq!(unable(&config), [fault]);
        }
        let accepted = [
            Config { fallback: Fallback::Passive, ..linux },
            Config { fallback: Fallback::Active, ..linux },
            // Without a test there is no set to send.
            Config { fallback: Fallback::Passive, tracer_set: TracerSet::Split, ..linux },
            Config { classic_growth: ClassicGrowth::Reno, ..linux },
            Config { changeover: Changeover::Blend, ..linux },
            Config { increase: Increase::Fast, ..linux },
            Config { slow_start_exit: SlowStartExit::Gentle, ..linux },
            Config { rtt_independence: RttIndependence::Additive, ..linux },
            // Bursts are those of pacing: without it there is nothing to cut.
            Config { burst, pacing: false, ..linux },
        ];
        for config in accepted {
            assert_eq!(unable(&config), Vec::<String>::new(), "{config:?}");
        }
    }
}
