//! Imperfect stretches of the way: loss, jitter, reordering, duplicates, bit errors, and middleboxes
//! that change the fields of ECN.

use l4s_units::{Duration, Ecn};
use serde::{Deserialize, Serialize};

use crate::{Direction, Side};

/// A stretch of the way of some sources in one direction that is not perfect.
///
/// ```
/// use l4s_model::{Direction, Jitter, Loss, Path};
/// use l4s_units::Duration;
///
/// // The WiFi of the first group: loss in bursts, and up to 2 ms of jitter.
/// let loss = Loss::GilbertElliott { to_bad: 0.001, to_good: 0.1, in_bad: 0.5, in_good: 0.0 };
/// let jitter = Jitter::uniform(Duration::from_millis(2));
/// let wifi = Path { loss, jitter, ..Path::new("wifi", Direction::Down, vec![0]) };
/// // It is bad for 0.001 / (0.001 + 0.1) of the packets, and loses half of these.
/// assert!((wifi.loss.ratio(1_000_000) - 0.00495).abs() < 1e-5);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Path {
    /// Its name, unique among these stretches.
    pub name: String,
    /// The direction of the packets that pass it.
    pub direction: Direction,
    /// On which side of the bottleneck it is, in the order in which packets pass: [`Side::Before`] is
    /// towards their senders.
    pub side: Side,
    /// Whose packets pass it: places among the groups and then the UDP sources, in order and at least
    /// one. A group has packets in both directions, a UDP source in its own alone.
    pub sources: Vec<usize>,
    /// Which packets it loses.
    pub loss: Loss,
    /// Random delay of each packet.
    pub jitter: Jitter,
    /// Packets that are held back while later ones pass.
    pub reorder: Reorder,
    /// The chance that a packet comes out twice, below 1.
    pub duplicate: f64,
    /// The chance that a bit of a packet is inverted, below 1. The receiver's checksum finds it.
    pub corrupt: f64,
    /// The changes of the ECN field.
    pub ecn: EcnMangling,
    /// The changes of the feedback of AccECN.
    pub accecn: AccEcnMangling,
    /// Whether it sets the DSCP to 0. Packets of the simulator, and of the lab's own agents, have no other.
    pub wash_dscp: bool,
}

impl Path {
    /// A stretch behind the bottleneck that passes packets on unchanged, at once.
    pub fn new(name: impl Into<String>, direction: Direction, sources: Vec<usize>) -> Path {
        Path {
            name: name.into(),
            direction,
            side: Side::Behind,
            sources,
            loss: Loss::Independent(0.0),
            jitter: Jitter::uniform(Duration::ZERO),
            reorder: Reorder::default(),
            duplicate: 0.0,
            corrupt: 0.0,
            ecn: EcnMangling::Pass,
            accecn: AccEcnMangling::Pass,
            wash_dscp: false,
        }
    }
}

/// Which packets are lost.
///
/// Example: [`Path`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Loss {
    /// Each with this chance, independently; below 1.
    Independent(f64),
    /// The chance depends on a state, good or bad, which changes after each packet. E. N. Gilbert,
    /// "Capacity of a burst-noise channel", 1960; E. O. Elliott, "Estimates of error rates for codes
    /// on burst-noise channels", 1963. `gemodel` of Linux' `netem` calls these p, r, 1−h and 1−k.
    GilbertElliott {
        /// The chance that a good state becomes bad (p).
        to_bad: f64,
        /// The chance that a bad state becomes good (r), above 0.
        to_good: f64,
        /// The chance of a loss in the bad state (1−h).
        in_bad: f64,
        /// The chance of a loss in the good state (1−k), below 1.
        in_good: f64,
    },
    /// The packets of these numbers on this stretch, from 1 on; ascending, each once.
    Packets(Vec<u64>),
}

impl Loss {
    /// The share of losses that is to be expected among this number of packets, if they are many.
    pub fn ratio(&self, packets: u64) -> f64 {
        match self {
            Loss::Independent(chance) => *chance,
            Loss::GilbertElliott { to_bad, to_good, in_bad, in_good } => {
                let bad = to_bad / (to_bad + to_good);
                bad * in_bad + (1.0 - bad) * in_good
            }
            Loss::Packets(numbers) => {
                let lost = numbers.iter().filter(|number| **number <= packets).count();
                lost as f64 / packets.max(1) as f64
            }
        }
    }
}

/// Random delay.
///
/// ```
/// use l4s_model::{Distribution, Jitter};
/// use l4s_units::Duration;
///
/// let uniform = Jitter::uniform(Duration::from_millis(2));
/// assert_eq!((uniform.mean, uniform.distribution), (Duration::from_millis(1), Distribution::Uniform));
/// assert!(!uniform.reordering);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Jitter {
    /// Its mean; zero for none.
    pub mean: Duration,
    /// Its distribution.
    pub distribution: Distribution,
    /// Whether a packet passes earlier ones that were delayed for longer. If not, it is delayed until
    /// they are through.
    pub reordering: bool,
}

impl Jitter {
    /// Uniform from zero to `most`, in order.
    pub fn uniform(most: Duration) -> Jitter {
        Jitter { mean: most / 2, distribution: Distribution::Uniform, reordering: false }
    }
}

/// The distribution of a random delay with a given mean.
///
/// Example: [`Jitter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Distribution {
    /// From zero to twice the mean.
    Uniform,
    /// Exponential.
    Exponential,
    /// Normal, with this standard deviation. A time below zero is zero.
    Normal(Duration),
}

/// Packets that are held back while later ones pass.
///
/// Example: [`EcnMangling`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Reorder {
    /// The chance of it, below 1.
    pub chance: f64,
    /// For how long, beside the jitter.
    pub by: Duration,
}

/// The changes that a middlebox makes to the ECN field.
///
/// ```
/// use l4s_model::{AccEcnMangling, Direction, EcnMangling, Path, Reorder};
/// use l4s_units::{Duration, Ecn};
///
/// // A router that clears the former TOS byte, after a link that reorders.
/// let reorder = Reorder { chance: 0.01, by: Duration::from_millis(5) };
/// let ecn = EcnMangling::Bleach;
/// let path = Path { reorder, ecn, ..Path::new("old", Direction::Down, vec![0]) };
/// assert_eq!(path.ecn.of(Ecn::Ce), Ecn::NotEct);
/// assert_eq!(EcnMangling::CeToEct1.of(Ecn::Ce), Ecn::Ect1);
/// assert_eq!(path.accecn, AccEcnMangling::Pass);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum EcnMangling {
    /// Nothing.
    #[default]
    Pass,
    /// Every codepoint becomes Not-ECT: a device that takes the field for a part of the former TOS byte.
    Bleach,
    /// ECT(1) becomes ECT(0): L4S traffic becomes Classic.
    Ect1ToEct0,
    /// ECT(0) becomes ECT(1): Classic traffic becomes L4S.
    Ect0ToEct1,
    /// CE becomes ECT(0): the end of a tunnel that discards the outer header, as with Classic traffic.
    CeToEct0,
    /// CE becomes ECT(1): the same with L4S traffic.
    CeToEct1,
    /// ECT(0) and ECT(1) become CE: a device that marks every packet.
    EctToCe,
}

impl EcnMangling {
    /// The codepoint that a packet with this one has then. RFC 9768 §3.2.2.3 lists which of these
    /// changes a sender finds.
    #[inline]
    pub const fn of(self, ecn: Ecn) -> Ecn {
        match (self, ecn) {
            (EcnMangling::Bleach, _) => Ecn::NotEct,
            (EcnMangling::Ect1ToEct0, Ecn::Ect1) | (EcnMangling::CeToEct0, Ecn::Ce) => Ecn::Ect0,
            (EcnMangling::Ect0ToEct1, Ecn::Ect0) | (EcnMangling::CeToEct1, Ecn::Ce) => Ecn::Ect1,
            (EcnMangling::EctToCe, Ecn::Ect0 | Ecn::Ect1) => Ecn::Ce,
            _ => ecn,
        }
    }
}

/// The changes that a middlebox makes to the feedback of AccECN in TCP headers.
///
/// Example: [`EcnMangling`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum AccEcnMangling {
    /// Nothing.
    #[default]
    Pass,
    /// It removes the AccECN option (RFC 9768 §3.2.3.2.3).
    Strip,
    /// It clears the ACE field of packets without SYN (RFC 9768 §3.2.2.4).
    ClearAce,
}

/// An event of a packet on an imperfect stretch. First it arrives; if it is not lost, several of the
/// others may follow.
///
/// ```
/// use l4s_model::PathEvent;
///
/// // A link that lost one packet, and duplicated the other.
/// use PathEvent::{Arrived, Duplicated, Lost};
/// let events = [Arrived, Lost, Arrived, Duplicated];
/// let count = |what| events.iter().filter(|event| **event == what).count();
/// assert_eq!(count(Arrived) + count(Duplicated) - count(Lost), 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathEvent {
    /// It came to the stretch.
    Arrived,
    /// It is lost.
    Lost,
    /// A middlebox changed its ECN field or its feedback of AccECN.
    Mangled,
    /// One of its bits was inverted.
    Corrupted,
    /// It comes out twice.
    Duplicated,
    /// It was held back, so that later ones may pass.
    HeldBack,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

    #[test]
    fn each_mangling_changes_its_codepoints_and_no_other() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (mangling, after) in [
            (EcnMangling::Pass, ALL),
            (EcnMangling::Bleach, [NotEct; 4]),
            (EcnMangling::Ect1ToEct0, [NotEct, Ect0, Ect0, Ce]),
            (EcnMangling::Ect0ToEct1, [NotEct, Ect1, Ect1, Ce]),
            (EcnMangling::CeToEct0, [NotEct, Ect0, Ect1, Ect0]),
            (EcnMangling::CeToEct1, [NotEct, Ect0, Ect1, Ect1]),
            (EcnMangling::EctToCe, [NotEct, Ce, Ce, Ce]),
        ] {
            assert_eq!(ALL.map(|ecn| mangling.of(ecn)), after, "{mangling:?}");
        }
    }
}
