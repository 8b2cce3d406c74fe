//! The way up, from clients to servers.

use serde::{Deserialize, Serialize};

use crate::Link;

/// A direction: of the data of a source, or of the packets that an imperfect stretch has.
///
/// The connection of a group that sends up is the mirror image of one that sends down: its servers are in the
/// clients' place, and its clients in the servers'.
///
/// Example: [`Uplink`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Direction {
    /// Through the bottleneck, as a download.
    #[default]
    Down,
    /// Through the uplink, as an upload.
    Up,
}

impl Direction {
    /// That of the answers to data of this one.
    pub const fn reverse(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }
}

/// The name of the way up among the links that a run reports. No [`Hop`](crate::Hop) has it.
pub const UPLINK: &str = "uplink";

/// The bottleneck of the way up. Acknowledgements of downloads pass it, and data of uploads.
///
/// ```
/// use l4s_cc::{Config, cubic};
/// use l4s_model::{AckFilter, Buffer, Direction, Group, Link, Scenario, Uplink};
/// use l4s_units::{Duration, Rate};
///
/// // An access of 100 Mb/s down and 10 up, where the way up has a buffer of a quarter of a second.
/// let fifo = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let down = Link::new(Rate::from_mbps(100));
/// let buffer = Buffer::Time(Duration::from_millis(250));
/// let up = Link { buffer, ..Link::new(Rate::from_mbps(10)) };
/// let mut scenario = Scenario::new("upload", Duration::from_secs(20), down, fifo.clone());
/// scenario.uplink = Some(Uplink { link: up, aqm: fifo, ack_filter: AckFilter::Off });
/// let cubic = Config::Cubic(cubic::Config::default());
/// let upload = Group::new("upload", cubic, Duration::from_millis(20));
/// scenario.groups.push(Group { direction: Direction::Up, ..upload });
/// assert_eq!(scenario.direction_of(0), Direction::Up);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Uplink {
    /// Rate, buffer, burst and aggregation. It loses no acknowledgements by chance.
    pub link: Link,
    /// Its queue discipline, whose packet limit is that of the buffer unless it sets its own.
    pub aqm: l4s_aqm::Config,
    /// Whether it takes out acknowledgements that wait in its queue when a later one makes them redundant.
    #[serde(default, skip_serializing_if = "AckFilter::is_off")]
    pub ack_filter: AckFilter,
}

/// The filter of redundant acknowledgements in the queue of a link, as that of CAKE (CAKE §III-D; `ack-filter` of
/// tc-cake).
///
/// ```
/// use l4s_model::AckFilter;
///
/// assert!(AckFilter::default().is_off());
/// assert_eq!(AckFilter::Aggressive.name(), "aggressive");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// An acknowledgement goes when two later ones of its flow wait: `ack-filter`.
    On,
    /// It goes when one later one waits right behind it: `ack-filter-aggressive`.
    Aggressive,
}

impl AckFilter {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            AckFilter::Off => "off",
            AckFilter::On => "on",
            AckFilter::Aggressive => "aggressive",
        }
    }

    /// Whether there is none.
    pub const fn is_off(&self) -> bool {
        matches!(self, AckFilter::Off)
    }
}
