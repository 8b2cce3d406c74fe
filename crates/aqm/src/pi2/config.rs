//! The settings of PI2: those of DualPI2 that do not need two queues.

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile, Value};
use l4s_units::{Bytes, Duration, Probability};
use serde::{Deserialize, Serialize};

use crate::dualpi2::{self, Classify, DropAt, LAqm, Overload};
use crate::{Limit, MTU};

/// The settings of PI2.
///
/// ```
/// use l4s_aqm::{dualpi2::Classify, pi2::Config};
///
/// // RFC 3168 for all, or scalable marks for L4S packets in the same queue.
/// assert_eq!(Config::dctth().marking, Classify::None);
/// let config = Config { k: 4, ..Config::coupled() };
/// assert_eq!(config.marking, Classify::L4s);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The delay that the controller holds the queue at.
    pub target: Duration,
    /// Time between updates of p'.
    pub tupdate: Duration,
    /// Integral gain in hertz.
    pub alpha: f64,
    /// Proportional gain in hertz.
    pub beta: f64,
    /// How many times p' a scalable packet is marked with; and from k·p' = 1, ECN-capable packets
    /// are dropped like others.
    pub k: u32,
    /// Which packets are marked with k·p' instead of p'².
    pub marking: Classify,
    /// ECN-capable packets are marked instead of dropped. Without it `marking` has no effect.
    pub ecn: bool,
    /// Behaviour when marking saturates.
    pub overload: Overload,
    /// Where the signal is applied.
    pub drop_at: DropAt,
    /// With less than this waiting, the signal is withheld.
    pub min_backlog: Bytes,
    /// The maximum backlog.
    pub limit: Limit,
}

impl Config {
    /// A Classic ECN AQM with the constants of DCttH Table 1.
    pub fn dctth() -> Config {
        let dualpi2 = dualpi2::Config::dctth();
        Config {
            target: dualpi2.target,
            tupdate: dualpi2.tupdate,
            alpha: dualpi2.alpha,
            beta: dualpi2.beta,
            k: dualpi2.k,
            marking: Classify::None,
            ecn: true,
            overload: dualpi2.overload,
            drop_at: dualpi2.drop_at,
            min_backlog: Bytes::new(2 * MTU.get()),
            limit: dualpi2.limit,
        }
    }

    /// Coupled marking in the one queue: k·p' for L4S packets.
    pub fn coupled() -> Config {
        Config { marking: Classify::L4s, ..Config::dctth() }
    }

    /// The engine with one queue.
    pub(super) fn engine(&self) -> dualpi2::Config {
        dualpi2::Config {
            target: self.target,
            tupdate: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            k: self.k,
            l_aqm: LAqm::None,
            dualq: Classify::None,
            marking: if self.ecn { self.marking } else { Classify::None },
            classic_ecn: self.ecn,
            overload: self.overload,
            drop_at: self.drop_at,
            min_backlog: self.min_backlog,
            limit: self.limit,
            ..dualpi2::Config::dctth()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::dctth()
    }
}

const HZ: Kind = Kind::Number { min: 0.0, max: 1000.0, unit: "Hz" };

impl Configurable for Config {
    const KIND: &'static str = "pi2";
    const ABOUT: &'static str = "one queue held at a target delay by a squared random signal";

    const PARAMS: &'static [Param<Self>] = &[
        param!(
            target,
            Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(4) },
            "queueing delay to hold"
        ),
        param!(
            tupdate,
            Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(4) },
            "time between updates of p'"
        ),
        param!(alpha, HZ, "integral gain, per update"),
        param!(beta, HZ, "proportional gain, per update"),
        param!(
            k,
            Kind::Count { min: 1, max: 255 },
            "coupling factor: a scalable packet is marked with k times p'"
        ),
        Param::new(
            "marking",
            "packets that are marked scalably: ECT(1) and CE, any ECN-capable, or none",
            Kind::Choice(&["l4s", "dc", "classic"]),
            |c| c.ecn.then_some(Value::Word(c.marking.word("classic"))),
            |c, v| c.marking = Classify::named(v.word()),
        ),
        param!(ecn, Kind::Bool, "mark ECN-capable packets instead of dropping them"),
        Param::new(
            "overload",
            "when k times p' reaches 1: drop ECN-capable packets too, or let the buffer overflow",
            Kind::Choice(&["drop", "overflow"]),
            |c| {
                Some(Value::Word(match c.overload {
                    Overload::Drop(_) => "drop",
                    Overload::Overflow => "overflow",
                }))
            },
            |c, v| {
                c.overload = match v.word() {
                    "overflow" => Overload::Overflow,
                    _ => Overload::Drop(Probability::ONE),
                }
            },
        ),
        param!(drop_at, DropAt::KIND, "where the signal is applied"),
        param!(
            min_backlog,
            Kind::Bytes { min: Bytes::ZERO, max: Bytes::new(1_000_000_000) },
            "no signal with a smaller backlog"
        ),
        Limit::packets_param(|c| c.limit.packets_value(), |c, v| c.limit.set_packets(v.packets())),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile {
            name: "dctth",
            doc: "Classic ECN, with the constants of DCttH 2017, Table 1",
            make: Config::dctth,
        },
        Profile {
            name: "coupled",
            doc: "the same, marking L4S packets with k times p'",
            make: Config::coupled,
        },
    ];
}
