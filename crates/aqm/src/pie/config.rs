//! The settings of PIE.

use l4s_units::param;
use l4s_units::param::{Configurable, Conflict, Kind, Param, Profile, Value};
use l4s_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

use crate::{Limit, MTU};

l4s_units::words! {
    /// Whose PIE.
    ///
    /// Example: [`Config`].
    Variant {
        /// The probability is held at 1 or below, the first update comes after `tupdate`, and after
        /// each signal the next keeps its distance (RFC 8033 §5.4).
        Rfc8033 = "rfc8033",
        /// The probability may wind up to 256 and has to come all the way down again. The first update
        /// comes after half a second. After a mark that was certain every packet is marked, until a drop
        /// or a probability of 0 (`sch_pie` since Linux 5.1).
        Linux = "linux",
        /// DOCSIS-PIE, of cable modems (RFC 8034): auto-tuning continues above 10 % and above 1, low
        /// delay lets the probability decay even with a backlog, and probability accumulates towards a
        /// drop also while the queue is short. The burst allowance is counted in updates.
        Docsis = "docsis",
    }
}

l4s_units::words! {
    /// When DOCSIS-PIE lets a burst through.
    ///
    /// Example: [`Config`].
    Protection {
        /// For the burst allowance at the beginning and after congestion (RFC 8033 §4.4).
        Burst = "burst",
        /// Until a third of the buffer is filled; then a single drop is given, and the burst allowance
        /// begins with it (RFC 8034 §4.3: INACTIVE, QUIESCENT, ACTIVE).
        States = "states",
    }
}

/// The settings of PIE.
///
/// ```
/// use l4s_aqm::pie::{Config, Protection, Variant};
/// use l4s_units::{Rate, param::Configurable};
///
/// // A cable modem that knows its rate, and lets bursts through for a time as RFC 8033 does.
/// let msr = Some(Rate::from_mbps(20));
/// let modem = Config { msr, protection: Protection::Burst, ..Config::docsis() };
/// assert_eq!(modem.variant, Variant::Docsis);
/// assert_eq!(modem.check(), Ok(()));
/// // Other variants measure the delay by time stamps.
/// let conflict = Config { msr, ..Config::rfc8033() }.check().unwrap_err();
/// assert_eq!(conflict.key, "msr");
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The delay that the controller holds the queue at.
    pub target: Duration,
    /// Time between updates of the probability.
    pub tupdate: Duration,
    /// Integral gain in hertz, before auto-tuning: `alpha 2` of `tc`, in sixteenths, is 0.125.
    pub alpha: f64,
    /// Proportional gain in hertz, before auto-tuning: `beta 20` of `tc` is 1.25.
    pub beta: f64,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// That holds up to this probability; above it they are dropped too.
    pub ecn_drop: f64,
    /// How long packets may leave after an idle time before the first is dropped.
    pub burst: Duration,
    /// Small packets are dropped less, in proportion to their size. With [`Variant::Docsis`] the
    /// measure is 1024 B, larger ones are dropped more, and the probability may exceed 1
    /// (RFC 8034 §4.6).
    pub bytemode: bool,
    /// Beyond this queueing delay the probability rises by 2 % more at each update; `None` for never.
    /// Of Linux (250 ms) and RFC 8034 (200 ms), and not in RFC 8033.
    pub rise_above: Option<Duration>,
    /// Whose PIE.
    pub variant: Variant,
    /// [`Variant::Docsis`]: with two delays in a row below this, the probability decays.
    pub decay_below: Duration,
    /// [`Variant::Docsis`]: when a burst is let through.
    pub protection: Protection,
    /// [`Protection::States`]: the backlog at which the AQM becomes active; `None` for a third of
    /// the limit, in the unit of the limit.
    pub active_at: Option<Bytes>,
    /// [`Variant::Docsis`]: the Maximum Sustained Traffic Rate. At each update the queueing delay is
    /// the backlog over this rate, as in a modem without a burst allowance (RFC 8034 §4.2).
    /// `None`: it is the sojourn time of packets.
    pub msr: Option<Rate>,
    /// The maximum backlog.
    pub limit: Limit,
}

impl Config {
    /// DCttH Table 1.
    pub fn dctth() -> Config {
        Config {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(16),
            alpha: 1.0 / 16.0,
            beta: 10.0 / 16.0,
            ecn: true,
            ecn_drop: 0.25,
            burst: Duration::from_millis(100),
            bytemode: false,
            rise_above: Some(Duration::from_millis(250)),
            variant: Variant::Rfc8033,
            decay_below: Duration::ZERO,
            protection: Protection::Burst,
            active_at: None,
            msr: None,
            limit: Limit::packets(40_000),
        }
    }

    /// RFC 8033 §4 and §5, with ECN.
    pub fn rfc8033() -> Config {
        Config {
            tupdate: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            ecn_drop: 0.1,
            burst: Duration::from_millis(150),
            rise_above: None,
            ..Config::dctth()
        }
    }

    /// DOCSIS-PIE: RFC 8034 §4 and Appendix A.
    ///
    /// A modem computes the queueing delay from its backlog and its shaper (§4.2). Here it is the
    /// sojourn time, as in the other profiles, unless `msr` gives the rate of the shaper.
    /// The RFC gives no size of the buffer: this is 100 ms of 40 Mb/s in full packets.
    pub fn docsis() -> Config {
        Config {
            target: Duration::from_millis(10),
            tupdate: Duration::from_millis(16),
            alpha: 0.25,
            beta: 2.5,
            ecn: false,
            burst: Duration::from_millis(142),
            bytemode: true,
            rise_above: Some(Duration::from_millis(200)),
            variant: Variant::Docsis,
            decay_below: Duration::from_millis(5),
            protection: Protection::States,
            limit: Limit::packets(330),
            ..Config::rfc8033()
        }
    }

    /// The defaults of `sch_pie`.
    ///
    /// A kernel counts `tupdate` in jiffies, rounds it up and adds one. So its 15 ms are 16 ms at
    /// 1000 Hz, the value here, 20 ms at 250 Hz and 30 ms at 100 Hz.
    pub fn linux() -> Config {
        Config {
            tupdate: Duration::from_millis(16),
            ecn: false,
            rise_above: Some(Duration::from_millis(250)),
            variant: Variant::Linux,
            limit: Limit::packets(1000),
            ..Config::rfc8033()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::dctth()
    }
}

const DELAY: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(4) };
const GAIN: Kind = Kind::Number { min: 0.0, max: 1000.0, unit: "Hz" };

impl Configurable for Config {
    const KIND: &'static str = "pie";
    const ABOUT: &'static str = "one queue held at a target delay by random drop";

    const PARAMS: &'static [Param<Self>] = &[
        param!(target, DELAY, "queueing delay to hold"),
        param!(
            tupdate,
            Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(4) },
            "time between updates of the probability"
        ),
        param!(alpha, GAIN, "integral gain, per update; `alpha 2` of tc is 0.125"),
        param!(beta, GAIN, "proportional gain, per update; `beta 20` of tc is 1.25"),
        param!(ecn, Kind::Bool, "mark ECN-capable packets instead of dropping them"),
        param!(
            ecn_drop,
            Kind::Number { min: 0.0, max: 1.0, unit: "" },
            "the probability above which ECN-capable packets are dropped too",
            |c| c.ecn
        ),
        param!(burst, DELAY, "burst allowance: time after an idle period without drops"),
        param!(bytemode, Kind::Bool, "drop small packets less, in proportion to their size"),
        param!(
            variant,
            Variant::KIND,
            "linux: the probability may wind up beyond 1, the first update is late, and after a mark \
             that is certain every packet is marked; docsis: RFC 8034"
        ),
        param!(
            rise_above,
            DELAY,
            "queueing delay beyond which the probability rises by 2 % more at each update"
        ),
        param!(
            decay_below,
            DELAY,
            "docsis: queueing delay below which, twice in a row, the probability decays",
            |c| c.variant == Variant::Docsis
        ),
        param!(
            protection,
            Protection::KIND,
            "docsis: let bursts through for a time, or until a third of the buffer is filled",
            |c| c.variant == Variant::Docsis
        ),
        param!(
            active_at,
            Kind::Bytes { min: MTU, max: Bytes::new(1_000_000_000_000) },
            "states: the backlog from which the AQM acts, instead of a third of the buffer"
        ),
        Param::new(
            "msr",
            "docsis: rate of the shaper; the queueing delay is the backlog over this rate",
            Kind::Number { min: 0.001, max: 1_000_000.0, unit: "Mb/s" },
            |c| c.msr.map(|rate| Value::Number(rate.as_bps() as f64 / 1e6)),
            |c, v| c.msr = Some(Rate::from_bps((v.number() * 1e6).round() as u64)),
        ),
        Limit::packets_param(|c| c.limit.packets_value(), |c, v| c.limit.set_packets(v.packets())),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "dctth", doc: "DCttH 2017, Table 1", make: Config::dctth },
        Profile { name: "rfc8033", doc: "RFC 8033, sections 4 and 5", make: Config::rfc8033 },
        Profile { name: "linux", doc: "sch_pie", make: Config::linux },
        Profile {
            name: "docsis",
            doc: "DOCSIS-PIE of cable modems, RFC 8034, with delay from time stamps",
            make: Config::docsis,
        },
    ];

    fn check(&self) -> Result<(), Conflict> {
        let states = self.variant == Variant::Docsis && self.protection == Protection::States;
        if self.active_at.is_some() && !states {
            let message = "it has an effect only with `variant = \"docsis\"` and \
                           `protection = \"states\"`"
                .to_owned();
            return Err(Conflict { key: "active_at", message });
        }
        if self.msr.is_some() && self.variant != Variant::Docsis {
            let message = "it has an effect only with `variant = \"docsis\"`".to_owned();
            return Err(Conflict { key: "msr", message });
        }
        Ok(())
    }
}
