//! The settings of FQ-CoDel.

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile, Value};
use l4s_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use crate::codel::DELAY;
use crate::{Limit, MTU};

/// The settings of FQ-CoDel.
///
/// ```
/// use l4s_aqm::fq_codel::Config;
/// use l4s_units::Duration;
///
/// // `ce_threshold 500us ce_threshold_selector 0x1/0x1` of `tc`.
/// let config = Config { ce_threshold: Some(Duration::from_micros(500)), ..Config::l4s() };
/// assert!(config.ce_l4s_only);
/// assert_eq!((config.flows, config.quantum), (1024, 1514));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The delay that each queue may have for ever.
    pub target: Duration,
    /// How long it may be above that before the first drop: a long RTT.
    pub interval: Duration,
    /// Queues, which flows are hashed to; 1 to 65536.
    pub flows: u32,
    /// Bytes that a flow may send in a round; at least 256.
    pub quantum: u64,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Mark every ECN-capable packet that waited longer.
    pub ce_threshold: Option<Duration>,
    /// That threshold applies to L4S packets only, ECT(1) and CE, from any flow (RFC 9331 §5.3;
    /// `ce_threshold_selector 1/1` of `tc`).
    pub ce_l4s_only: bool,
    /// Packets dropped at most from the longest queue when there is no room.
    pub drop_batch: u32,
    /// The maximum backlog, in all queues together.
    pub limit: Limit,
}

impl Config {
    /// The defaults of `sch_fq_codel`.
    pub fn linux() -> Config {
        Config {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            flows: 1024,
            quantum: MTU.get(),
            ecn: true,
            ce_threshold: None,
            ce_l4s_only: false,
            drop_batch: 64,
            limit: Limit { memory: Some(Bytes::new(32 << 20)), ..Limit::packets(10_240) },
        }
    }

    /// DCttH Table 1.
    pub fn dctth() -> Config {
        Config { limit: Limit::packets(40_000), ..Config::linux() }
    }

    /// The defaults of `sch_fq_codel` with the shallow threshold for L4S packets that Linux 5.16
    /// and later offers: `ce_threshold 1ms ce_threshold_selector 0x1/0x1`, the threshold that
    /// DualPI2 has (DCttH §3.3).
    pub fn l4s() -> Config {
        Config {
            ce_threshold: Some(Duration::from_millis(1)),
            ce_l4s_only: true,
            ..Config::linux()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::dctth()
    }
}

impl Configurable for Config {
    const KIND: &'static str = "fq_codel";
    const ABOUT: &'static str = "a CoDel queue per flow, served in turn, sparse flows first";

    const PARAMS: &'static [Param<Self>] = &[
        param!(target, DELAY, "queueing delay of a flow that may persist"),
        param!(interval, DELAY, "how long the delay may be above target before the first signal"),
        param!(flows, Kind::Count { min: 1, max: 65_536 }, "queues that flows are hashed to"),
        Param::new(
            "quantum",
            "bytes that a flow may send in a round",
            Kind::Bytes { min: Bytes::new(256), max: Bytes::new(1_000_000) },
            |c| Some(Value::Bytes(Bytes::new(c.quantum))),
            |c, v| c.quantum = v.bytes().get(),
        ),
        param!(ecn, Kind::Bool, "mark ECN-capable packets instead of dropping them"),
        param!(ce_threshold, DELAY, "mark every ECN-capable packet that was queued longer"),
        Param::new(
            "ce_threshold_selector",
            "packets that ce_threshold marks: any ECN-capable, or ECT(1) and CE only",
            Kind::Choice(&["any", "l4s"]),
            |c| c.ce_threshold.map(|_| Value::Word(if c.ce_l4s_only { "l4s" } else { "any" })),
            |c, v| c.ce_l4s_only = v.word() == "l4s",
        ),
        param!(
            drop_batch,
            Kind::Count { min: 1, max: 10_000 },
            "packets dropped at most from the longest queue at overflow"
        ),
        Limit::packets_param(
            |c| c.limit.packets_value(),
            // Unlike in DualPI2, the limit of memory does not follow it.
            |c, v| c.limit.packets = v.packets(),
        ),
        Limit::memory_param(
            |c| c.limit.memory.map(Value::Bytes),
            |c, v| c.limit.memory = Some(v.bytes()),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "dctth", doc: "DCttH 2017, Table 1", make: Config::dctth },
        Profile { name: "linux", doc: "sch_fq_codel", make: Config::linux },
        Profile {
            name: "l4s",
            doc: "sch_fq_codel of Linux 5.16 and later, L4S packets marked from 1 ms",
            make: Config::l4s,
        },
    ];
}
