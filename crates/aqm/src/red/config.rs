//! The settings of RED.

use l4s_units::param;
use l4s_units::param::{Configurable, Conflict, Kind, Param, Profile, Value};
use l4s_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

use crate::Limit;

/// The settings of RED.
///
/// ```
/// use l4s_aqm::red::Config;
/// use l4s_units::{Duration, Rate};
///
/// // Thresholds of 24 and 72 ms at any rate.
/// let rate = Rate::from_mbps(100);
/// let config = Config::scaled().at(rate);
/// let thresholds = [config.min, config.max].map(|bytes| rate.time_of(bytes));
/// assert_eq!(thresholds, [24, 72].map(Duration::from_millis));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Below this average queue nothing happens.
    pub min: Bytes,
    /// From this average queue on every packet gets the signal.
    pub max: Bytes,
    /// The size of an average packet.
    pub avpkt: Bytes,
    /// Packets that may arrive at once without raising the average above `min`.
    pub burst: u64,
    /// The probability that `max` is reached with.
    pub probability: f64,
    /// The link rate that the settings are for, where they scale, and for the decay of the average while
    /// the link asks an empty queue.
    pub bandwidth: Rate,
    /// Whether it is set for the rate of its link: `min`, `max` and `burst` hold for `bandwidth`, and scale
    /// with the rate of the link ([`Config::at`]).
    pub scaled: bool,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Above `max` they are dropped all the same.
    pub harddrop: bool,
    /// The maximum backlog, at any rate.
    pub limit: Limit,
}

impl Config {
    /// The configuration of the slides; `probability` is the default of `tc`.
    pub fn slides() -> Config {
        Config {
            min: Bytes::new(120_000),
            max: Bytes::new(360_000),
            avpkt: Bytes::new(1000),
            burst: 220,
            probability: 0.02,
            bandwidth: Rate::from_mbps(40),
            scaled: false,
            ecn: true,
            harddrop: false,
            limit: Limit::bytes(Bytes::new(1_600_000)),
        }
    }

    /// As [`Config::slides`], scaled to the rate of its link: 24 and 72 ms.
    pub fn scaled() -> Config {
        Config { scaled: true, ..Config::slides() }
    }

    /// The same in time on a link of `rate`, if this is for `bandwidth`. The lower threshold is at
    /// least two average packets, since a burst cannot be distinguished from a queue below it.
    pub fn at(&self, rate: Rate) -> Config {
        let bandwidth = u128::from(self.bandwidth.as_bps().max(1));
        let least = bandwidth * 2 * u128::from(self.avpkt.get());
        let slowest = least.div_ceil(u128::from(self.min.get())).min(bandwidth);
        let factor = u128::from(rate.as_bps()).max(slowest);
        let scale = |n: u64| {
            u64::try_from((u128::from(n) * factor).div_ceil(bandwidth)).unwrap_or(u64::MAX)
        };
        let bytes = |n: Bytes| Bytes::new(scale(n.get()));
        Config {
            min: bytes(self.min),
            max: bytes(self.max),
            burst: scale(self.burst),
            bandwidth: rate,
            limit: Limit { bytes: bytes(self.limit.bytes), ..self.limit },
            ..self.clone()
        }
    }

    /// The smallest and the largest burst for which there is a weight, where `min` holds a packet and at
    /// most `MOST_BURST` of them.
    fn bursts(&self) -> (u64, u64) {
        let least = self.min.get().div_ceil(self.avpkt.get());
        let works = |burst| Config { burst, ..self.clone() }.weight_log().is_some();
        // The more packets, the harder to keep below: by halves.
        let (mut most, mut too_many) = (least, MOST_BURST + 1);
        while too_many - most > 1 {
            let half = most + (too_many - most) / 2;
            if works(half) { most = half } else { too_many = half }
        }
        (least, most)
    }

    /// −log₂ of the weight of the average: the largest for which `burst` packets do not lift it
    /// above `min` (as `tc` finds it). `None` when the burst is too small or too large for any.
    pub(super) fn weight_log(&self) -> Option<u32> {
        let excess = self.burst as f64 + 1.0 - self.min.get() as f64 / self.avpkt.get() as f64;
        if excess < 1.0 {
            return None;
        }
        (1..32).find(|log| {
            let weight = 1.0 / f64::from(1u32 << log);
            // By squaring, so that it is the same on every machine.
            let (mut rest, mut factor, mut n) = (1.0, 1.0 - weight, self.burst);
            while n > 0 {
                if n & 1 == 1 {
                    rest *= factor;
                }
                factor *= factor;
                n >>= 1;
            }
            excess <= (1.0 - rest) / weight
        })
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::slides()
    }
}

/// The largest burst there can be.
const MOST_BURST: u64 = 1_000_000;

const SIZE: Kind = Kind::Bytes { min: Bytes::new(1), max: Bytes::new(1_000_000_000) };

impl Configurable for Config {
    const KIND: &'static str = "red";
    const ABOUT: &'static str = "random early detection on the average queue length";

    const PARAMS: &'static [Param<Self>] = &[
        param!(min, SIZE, "average queue below which no packet is signalled"),
        param!(max, SIZE, "average queue from which every packet is marked or dropped"),
        param!(
            avpkt,
            Kind::Bytes { min: Bytes::new(1), max: Bytes::new(1_000_000) },
            "size of an average packet"
        ),
        param!(
            burst,
            Kind::Count { min: 1, max: MOST_BURST },
            "packets that may arrive at once without raising the average above min"
        ),
        param!(
            probability,
            Kind::Number { min: 0.000_001, max: 1.0, unit: "" },
            "the probability with which max is reached"
        ),
        Param::new(
            "bandwidth",
            "link rate that min, max and burst are for; and of the decay while the link asks an empty queue",
            Kind::Number { min: 0.001, max: 1_000_000.0, unit: "Mb/s" },
            |c| Some(Value::Number(c.bandwidth.as_bps() as f64 / 1e6)),
            |c, v| c.bandwidth = Rate::from_bps((v.number() * 1e6).round() as u64),
        ),
        param!(
            scaled,
            Kind::Bool,
            "scale min, max and burst from this bandwidth to the rate of the link"
        ),
        param!(ecn, Kind::Bool, "mark ECN-capable packets instead of dropping them"),
        param!(harddrop, Kind::Bool, "above max, drop ECN-capable packets too"),
        Param::new(
            "limit",
            "maximum backlog in bytes",
            Kind::Bytes { min: Bytes::new(1), max: Bytes::new(1_000_000_000_000) },
            |c| c.limit.bytes_value(),
            |c, v| c.limit = Limit::bytes(v.bytes()),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "slides", doc: "the slides, page on RED", make: Config::slides },
        Profile {
            name: "scaled",
            doc: "as in the slides, for the rate of the link: 24 and 72 ms",
            make: Config::scaled,
        },
    ];

    fn check(&self) -> Result<(), Conflict> {
        // Where they are the same, it is a step.
        if self.max < self.min {
            let message = format!("{} is below `min`, which is {}", self.max, self.min);
            return Err(Conflict { key: "max", message });
        }
        if self.min < self.avpkt {
            let message = format!(
                "{} is less than `avpkt`, {}: one packet would be above it, independent of the burst",
                self.min, self.avpkt
            );
            return Err(Conflict { key: "min", message });
        }
        let most = Bytes::new(self.avpkt.get().saturating_mul(MOST_BURST));
        if self.min > most {
            let message = format!(
                "{} is more than {MOST_BURST} packets of `avpkt`, {}: no burst is as large, \
                 expected at most {most}",
                self.min, self.avpkt
            );
            return Err(Conflict { key: "min", message });
        }
        if self.weight_log().is_none() {
            let (least, most) = self.bursts();
            let message = format!(
                "no weight of the average fits a burst of {} packets: expected from {least} to {most} \
                 packets",
                self.burst
            );
            return Err(Conflict { key: "burst", message });
        }
        Ok(())
    }
}
