//! The settings as a kernel has them: `struct dualpi2_config` of `dualpi2.h`.
//!
//! A kernel has no floating point, so gains become integers here, as they do for the engine.

use l4s_units::{Bytes, Duration, Ecn, Rate};

use super::base::Coupling;
use super::{Classify, Config, DropAt, FloorAt, LAqm, LWait, Randomness, Scheduler, Step};

/// The L4S queue's own AQM: `DUALPI2_NATIVE_*`.
const NATIVE_NONE: u64 = 0;
const NATIVE_WAIT: u64 = 1;
const NATIVE_PACKETS: u64 = 2;
/// The scheduler: `DUALPI2_STRICT` and so on.
const STRICT: u64 = 0;
const WRR: u64 = 1;
const TSFIFO: u64 = 2;

/// A ramp is not longer: its ends are less than 2³² ns apart.
const RAMP_MAX: Duration = Duration::from_secs(4);
/// Times beyond this would overflow a sum of two of them; no link waits for a day.
const TIME_MAX: Duration = Duration::from_secs(86_400);
/// Faster than any link, and slow enough for a packet's bytes times 10⁹ to fit 64 bits.
const SPEED_MAX: u32 = 16;

l4s_units::c_struct! {
    /// `struct dualpi2_config`.
    ///
    /// ```
    /// use l4s_aqm::dualpi2::{Config, kernel::{Link, Settings}};
    /// use l4s_units::{Duration, Rate};
    ///
    /// let link = Link { rate: Some(Rate::from_mbps(40)), burst: Duration::ZERO };
    /// let settings = Settings::new(&Config::linux(), link);
    /// // Nanoseconds, bits per second, and a bit for each codepoint: ECT(1) is 1, CE is 3.
    /// assert_eq!((settings.target, settings.rate), (15_000_000, 40_000_000));
    /// assert_eq!(settings.dualq, 1 << 1 | 1 << 3);
    /// ```
    Settings {
        target: u64,
        tupdate: u64,
        alpha: u64,
        beta: u64,
        gain_shift: u64,
        k: u64,
        cap: u64,
        drop_from: u64,
        native: u64,
        low: u64,
        high: u64,
        min_qlen_step: u64,
        scheduler: u64,
        protection: u64,
        t_shift: u64,
        t_speed: u64,
        dualq: u64,
        marking: u64,
        classic_ecn: u64,
        recur: u64,
        min_backlog: u64,
        limit_packets: u64,
        limit_bytes: u64,
        limit_memory: u64,
        rate: u64,
        burst: u64,
    }
}

/// The configuration as the kernel implements it: equal except for three settings.
///
/// Nothing of a BPF queue discipline can change a packet that leaves, so every signal is given at
/// arrival, and the L queue's own AQM goes by the wait that is foreseen there.
pub fn as_kernel(config: &Config) -> Config {
    Config {
        drop_at: DropAt::Enqueue,
        l_wait: LWait::Sojourn,
        floor_at: FloorAt::Enqueue,
        ..config.clone()
    }
}

/// The link, as far as the discipline is its shaper.
///
/// Example: [`Settings`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The rate to hold; `None` where the device limits itself.
    pub rate: Option<Rate>,
    /// How much time in which packets waited and none was sent may be made up for.
    pub burst: Duration,
}

impl Settings {
    /// The kernel's settings for a configuration and a link.
    ///
    /// They implement [`as_kernel`] of it.
    pub fn new(config: &Config, link: Link) -> Settings {
        let (alpha, beta) = config.effective_gains();
        let coupling = Coupling::new(config);
        let time = |time: Duration| time.min(TIME_MAX).as_nanos();
        let (native, low, high) = match config.l_aqm {
            LAqm::None => (NATIVE_NONE, 0, 0),
            LAqm::Step(Step::Packets(thresh)) => (NATIVE_PACKETS, thresh, thresh),
            LAqm::Step(Step::Time(thresh)) => (NATIVE_WAIT, time(thresh), time(thresh)),
            LAqm::Ramp(low, high) => (NATIVE_WAIT, time(low), time(high.min(low + RAMP_MAX))),
        };
        let (scheduler, protection, t_shift, t_speed) = match config.scheduler {
            Scheduler::Strict => (STRICT, 0, 0, 0),
            Scheduler::Wrr { classic_protection } => (WRR, classic_protection.into(), 0, 0),
            Scheduler::TsFifo { t_shift, t_speed } => {
                (TSFIFO, 0, time(t_shift), t_speed.min(SPEED_MAX).into())
            }
        };
        let bits = |classify: Classify| {
            let codepoints = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
            codepoints
                .into_iter()
                .filter(|ecn| classify.admits(*ecn))
                .map(|ecn| 1 << ecn.bits())
                .sum()
        };
        Settings {
            target: time(config.target),
            tupdate: time(config.tupdate).max(1),
            alpha: alpha.scaled,
            beta: beta.scaled,
            gain_shift: alpha.shift.into(),
            k: config.k.into(),
            cap: coupling.cap.raw().into(),
            drop_from: coupling.drop_from,
            native,
            low,
            high,
            min_qlen_step: config.min_qlen_step,
            scheduler,
            protection,
            t_shift,
            t_speed,
            dualq: bits(config.dualq),
            marking: bits(config.marking),
            classic_ecn: config.classic_ecn.into(),
            recur: (config.randomness == Randomness::Recur).into(),
            min_backlog: config.min_backlog.get(),
            limit_packets: config.limit.packets,
            limit_bytes: config.limit.bytes.get().min(u64::MAX / 2),
            limit_memory: config.limit.memory.map_or(u64::MAX / 2, Bytes::get),
            rate: link.rate.map_or(0, |rate| rate.as_bps()),
            burst: time(link.burst),
        }
    }
}
