//! The settings as a kernel has them: `struct prague_config` of `prague.h`.
//!
//! A kernel has no floating point and computes no logarithms of constants, so all of that is done
//! here. The words go to the BPF program as its constants, and to the kernel of `--on linux` as a
//! row of numbers in a file.

use l4s_units::Duration;

use super::{
    BurstLimit, ClassicGrowth, Config, Fallback, Increase, LossResponse, RttIndependence,
    SlowStart, TracerSet, alpha_classic,
};
use crate::classic_ecn::{self, Clock, RTT_MAX, Rules, lg};

/// Bits of the score, `CLASSIC_ECN_BITS`.
const SCORE_BITS: u32 = 24;

l4s_units::c_struct! {
    /// `struct classic_ecn_config`.
    ///
    /// Example: [`Settings`].
    DetectorSettings {
        v: u64,
        d: u64,
        s: u64,
        v0_us: u64,
        d0_us: u64,
        lg_v0: u64,
        lg_d0: u64,
        l_sticky: u64,
        c_sticky: u64,
        per_virtual: u64,
        shift_max: u64,
        filters: u64,
        best: u64,
        traces: u64,
    }
}

l4s_units::c_struct! {
    /// `struct prague_config`.
    ///
    /// ```
    /// use l4s_cc::prague::Config;
    /// use l4s_cc::prague::kernel::{DetectorSettings, Settings};
    ///
    /// let settings = Settings::new(&Config::best_linux());
    /// assert_eq!((settings.detects, settings.fast, settings.gentle), (1, 1, 1));
    /// // Weights are in 2⁻⁸, and times in microseconds.
    /// let DetectorSettings { v, s, v0_us, d0_us, .. } = settings.detector;
    /// assert_eq!((v, s, v0_us, d0_us), (128, 64, 750, 2000));
    /// ```
    Settings {
        rtt_independence: u64,
        rtt_transition: u64,
        alpha_per_virtual: u64,
        alpha_on_init: u64,
        fast: u64,
        gentle: u64,
        detects: u64,
        alpha_classic: u64,
        classic_reno: u64,
        detector: DetectorSettings,
    }
}

impl Settings {
    /// Of a configuration that [`unable`] has nothing against.
    pub fn new(config: &Config) -> Settings {
        let without_detector = Settings {
            rtt_independence: match config.rtt_independence {
                RttIndependence::Off => 0,
                RttIndependence::Rate => 1,
                RttIndependence::Scalable => 2,
                RttIndependence::Additive => 3,
            },
            rtt_transition: config.rtt_transition.into(),
            alpha_per_virtual: (config.alpha_clock == Clock::Virtual).into(),
            alpha_on_init: config.alpha_on_init.into(),
            fast: (config.increase == Increase::Fast).into(),
            gentle: (config.slow_start == SlowStart::Gentle).into(),
            ..Settings::default()
        };
        if config.fallback == Fallback::Off {
            return without_detector;
        }
        Settings {
            detects: 1,
            alpha_classic: alpha_classic(config.detector.rules),
            classic_reno: (config.classic_growth == ClassicGrowth::Reno).into(),
            detector: DetectorSettings::new(&config.detector, config.fallback == Fallback::Active),
            ..without_detector
        }
    }
}

impl DetectorSettings {
    /// Of a configuration; whether it sends tracers.
    pub fn new(config: &classic_ecn::Config, traces: bool) -> DetectorSettings {
        let micros = |d: Duration| d.as_micros().clamp(1, RTT_MAX.into());
        let (v0_us, d0_us) = (micros(config.v0), micros(config.d0));
        DetectorSettings {
            v: scaled(config.v, 8),
            d: scaled(config.d, 8),
            s: scaled(config.s, 8),
            v0_us,
            d0_us,
            lg_v0: lg(v0_us, SCORE_BITS) as u64,
            lg_d0: lg(d0_us, SCORE_BITS) as u64,
            l_sticky: scaled(config.l_sticky, SCORE_BITS),
            c_sticky: scaled(config.c_sticky, SCORE_BITS),
            per_virtual: (config.rules == Rules::Linux).into(),
            shift_max: config.shift_max.into(),
            filters: matches!(config.rules, Rules::Filtered | Rules::Best).into(),
            best: (config.rules == Rules::Best).into(),
            traces: traces.into(),
        }
    }
}

/// A number in 2^-`bits`, rounded to the nearest.
fn scaled(x: f64, bits: u32) -> u64 {
    (x * (1u64 << bits) as f64).round() as u64
}

/// The settings that no kernel supports: the setting, its value, and the supported values.
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
        config.slow_start == SlowStart::Quick,
        "`slow_start`: found \"quick\", expected \"halve\" or \"gentle\"",
    );
    if config.pacing && config.burst != BurstLimit::Offload {
        let found = config.burst.word();
        refuse(
            true,
            &format!(
                "`burst`: found \"{found}\", expected \"offload\", as TCP cuts its own segments"
            ),
        );
    }
    faults
}

/// The detector's state of a kernel's socket, in its own units.
///
/// ```
/// use l4s_cc::classic_ecn::{Report, Verdict};
/// use l4s_cc::prague::kernel::Reading;
/// use l4s_units::Duration;
///
/// let reading = Reading { score: 1 << 24, srtt_us: 30_000, ..Reading::default() };
/// let report = Report::from(reading);
/// assert_eq!(Verdict::of(report.score), Verdict::Classic);
/// assert_eq!(report.srtt, Duration::from_millis(30));
/// ```
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
    fn what_stock_linux_does_is_a_kernels_and_the_best_is_not() {
        assert_eq!(unable(&Config::linux()), Vec::<String>::new());
        assert_eq!(unable(&Config::best_linux()), Vec::<String>::new());
        let best = unable(&Config::best());
        assert_eq!(best.len(), 5, "{best:?}");
        assert_eq!(unable(&Config::quick_start()).len(), 6);
    }

    /// Each names the setting, its value and the accepted ones, and nothing else is refused.
    #[test]
    fn what_no_kernel_does_is_refused_by_name() {
        let linux = Config::linux();
        let burst = BurstLimit::ShortPairs;
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
                "`burst`: found \"short-pairs\", expected \"offload\", as TCP cuts its own segments",
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
            Config { increase: Increase::Fast, ..linux },
            Config { slow_start: SlowStart::Gentle, ..linux },
            Config { rtt_independence: RttIndependence::Additive, ..linux },
            // Bursts are those of pacing: without it there is nothing to cut.
            Config { burst, pacing: false, ..linux },
        ];
        for config in accepted {
            assert_eq!(unable(&config), Vec::<String>::new(), "{config:?}");
        }
    }
}
