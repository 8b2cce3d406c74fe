//! The settings of PIE.

use l4s_units::Duration;
use l4s_units::param::{Configurable, Kind, Param, Profile, Value};

use crate::Limit;

/// Where Linux departs from RFC 8033.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// The probability is held at 1 or below, and the first update comes after `tupdate`.
    Rfc8033,
    /// The probability may wind up to 256 and has to come all the way down again, and the first
    /// update comes after half a second (`sch_pie` since Linux 5.1).
    Linux,
}

/// The settings of PIE.
#[derive(Clone, PartialEq, Debug)]
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
    /// Small packets are dropped less, in proportion to their size.
    pub bytemode: bool,
    /// Where Linux departs from the RFC.
    pub variant: Variant,
    /// What may wait.
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
            variant: Variant::Rfc8033,
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
            ..Config::dctth()
        }
    }

    /// The defaults of `sch_pie`.
    ///
    /// A kernel counts `tupdate` in jiffies, rounds it up and takes one more: its 15 ms are
    /// really 16 ms at 1000 Hz, which this has, 20 ms at 250 Hz and 30 ms at 100 Hz.
    pub fn linux() -> Config {
        Config {
            tupdate: Duration::from_millis(16),
            ecn: false,
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
        Param::new(
            "target",
            "queue delay to hold",
            DELAY,
            |c| Some(Value::Duration(c.target)),
            |c, v| c.target = v.duration(),
        ),
        Param::new(
            "tupdate",
            "time between updates of the probability",
            Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(4) },
            |c| Some(Value::Duration(c.tupdate)),
            |c, v| c.tupdate = v.duration(),
        ),
        Param::new(
            "alpha",
            "integral gain, per update; `alpha 2` of tc is 0.125",
            GAIN,
            |c| Some(Value::Number(c.alpha)),
            |c, v| c.alpha = v.number(),
        ),
        Param::new(
            "beta",
            "proportional gain, per update; `beta 20` of tc is 1.25",
            GAIN,
            |c| Some(Value::Number(c.beta)),
            |c, v| c.beta = v.number(),
        ),
        Param::new(
            "ecn",
            "mark ECN-capable packets instead of dropping them",
            Kind::Bool,
            |c| Some(Value::Bool(c.ecn)),
            |c, v| c.ecn = v.bool(),
        ),
        Param::new(
            "ecn_drop",
            "the probability above which ECN-capable packets are dropped too",
            Kind::Number { min: 0.0, max: 1.0, unit: "" },
            |c| c.ecn.then_some(Value::Number(c.ecn_drop)),
            |c, v| c.ecn_drop = v.number(),
        ),
        Param::new(
            "burst",
            "how long packets may leave after an idle time before the first is dropped",
            DELAY,
            |c| Some(Value::Duration(c.burst)),
            |c, v| c.burst = v.duration(),
        ),
        Param::new(
            "bytemode",
            "drop small packets less, in proportion to their size",
            Kind::Bool,
            |c| Some(Value::Bool(c.bytemode)),
            |c, v| c.bytemode = v.bool(),
        ),
        Param::new(
            "variant",
            "linux: the probability may wind up beyond 1, and the first update is late",
            Kind::Choice(&["rfc8033", "linux"]),
            |c| {
                Some(Value::Word(match c.variant {
                    Variant::Rfc8033 => "rfc8033",
                    Variant::Linux => "linux",
                }))
            },
            |c, v| {
                c.variant = match v.word() {
                    "linux" => Variant::Linux,
                    _ => Variant::Rfc8033,
                }
            },
        ),
        Limit::packets_param(
            |c| Some(Value::Packets(c.limit.packets)),
            |c, v| c.limit.set_packets(v.packets()),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "dctth", doc: "DCttH 2017, Table 1", make: Config::dctth },
        Profile { name: "rfc8033", doc: "RFC 8033, sections 4 and 5", make: Config::rfc8033 },
        Profile { name: "linux", doc: "sch_pie", make: Config::linux },
    ];
}
