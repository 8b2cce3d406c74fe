//! The settings of COBALT.

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile, Value};
use l4s_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

use crate::codel::DELAY;
use crate::{Limit, MTU};

/// The settings of COBALT.
///
/// ```
/// use l4s_aqm::cobalt::Config;
/// use l4s_units::{Duration, Rate};
///
/// // CAKE with `bandwidth 1mbit`: a packet takes 12.112 ms, so a target of 5 ms is out of reach.
/// let config = Config::shaped().at(Rate::from_mbps(1));
/// assert_eq!(config.mtu_time, Duration::from_micros(12_112));
/// assert_eq!(config.target, Duration::from_micros(18_168));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The delay that the queue may have for ever, and the time between two changes of BLUE.
    pub target: Duration,
    /// How long it may be above that before the first signal: a long RTT.
    pub interval: Duration,
    /// Whether it shapes to the rate of its link, as CAKE does with a `bandwidth`. Then the settings
    /// that depend on that rate follow it ([`Config::at`]).
    pub shaped: bool,
    /// The time of a full packet on the link. Up to four of these are no delay.
    pub mtu_time: Duration,
    /// Increment of BLUE's probability at an overflow.
    pub p_inc: f64,
    /// Decrement of BLUE's probability at an empty queue.
    pub p_dec: f64,
    /// CoDel marks ECN-capable packets instead of dropping them; BLUE never does.
    pub ecn: bool,
    /// The maximum backlog.
    pub limit: Limit,
}

impl Config {
    /// The settings of a queue of `sch_cake` without a shaper (`unlimited`).
    ///
    /// Without a rate, CAKE limits memory to the bytes of 10240 full packets. The limit in
    /// packets is ours: packets of more than 640 B fill the memory first.
    pub fn linux() -> Config {
        Config {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            shaped: false,
            mtu_time: Duration::ZERO,
            p_inc: 1.0 / 256.0,
            p_dec: 1.0 / 4096.0,
            ecn: true,
            limit: limit(10_240),
        }
    }

    /// As [`Config::linux`], with a `bandwidth`.
    pub fn shaped() -> Config {
        Config { shaped: true, ..Config::linux() }
    }

    /// The settings of a CAKE with these settings that shapes to `rate` (Linux). The target is at
    /// least one and a half packets. The interval keeps its distance from the target and is at least
    /// two targets. Memory is that of four intervals, but at least 4 MiB and at most that of the packets;
    /// or as given, where that is another than that of the packets.
    pub fn at(&self, rate: Rate) -> Config {
        self.with(rate, MTU)
    }

    /// The same where a full packet is of `mtu`.
    pub(super) fn with(&self, rate: Rate, mtu: Bytes) -> Config {
        const LEAST_MEMORY: Bytes = Bytes::new(4 << 20);
        let mtu_time = rate.time_of(mtu);
        let target = self.target.max(mtu_time * 3 / 2);
        let interval = (self.interval + target.saturating_sub(self.target)).max(target * 2);
        let enough = rate.bytes_in(self.interval * 4).max(LEAST_MEMORY);
        let usual = limit(self.limit.packets).memory;
        // Linux, `cake_reconfigure`: a configured limit is not changed.
        let given = self.limit.memory.filter(|given| Some(*given) != usual);
        let full = Bytes::new(self.limit.packets.saturating_mul(mtu.get()));
        let memory = Some(given.unwrap_or(full.min(enough)));
        let limit = Limit { memory, ..self.limit };
        Config { target, interval, mtu_time, limit, ..self.clone() }
    }
}

/// This number of packets, in the memory of their bytes alone: Linux, `sch->limit * psched_mtu`.
fn limit(packets: u64) -> Limit {
    let memory = Some(Bytes::new(packets.saturating_mul(MTU.get())));
    Limit { memory, ..Limit::packets(packets) }
}

impl Default for Config {
    fn default() -> Self {
        Config::linux()
    }
}

const STEP: Kind = Kind::Number { min: 0.0, max: 1.0, unit: "" };

impl Configurable for Config {
    const KIND: &'static str = "cobalt";
    const ABOUT: &'static str = "CoDel, and BLUE for those that do not listen: the AQM of CAKE";

    const PARAMS: &'static [Param<Self>] = &[
        param!(target, DELAY, "queueing delay that may persist"),
        param!(interval, DELAY, "how long the delay may be above target before the first signal"),
        param!(
            shaped,
            Kind::Bool,
            "shape to the link's rate, and derive mtu_time and the other settings from it"
        ),
        param!(
            mtu_time,
            Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(1) },
            "time of a full packet on the link: delays below four of these are not signalled",
            |c| !c.shaped
        ),
        param!(p_inc, STEP, "increment of the drop probability at an overflow, once per target"),
        param!(p_dec, STEP, "decrement of the drop probability at an empty queue, once per target"),
        param!(ecn, Kind::Bool, "mark ECN-capable packets instead of dropping them"),
        Limit::packets_param(|c| c.limit.packets_value(), |c, v| c.limit = limit(v.packets())),
        Limit::memory_param(
            |c| c.limit.memory.map(Value::Bytes),
            |c, v| c.limit.memory = Some(v.bytes()),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile {
            name: "linux",
            doc: "as CAKE's, one queue, where another shapes: unlimited",
            make: Config::linux,
        },
        Profile {
            name: "shaped",
            doc: "as CAKE's, one queue, which shapes to the rate of the link: bandwidth",
            make: Config::shaped,
        },
    ];
}
