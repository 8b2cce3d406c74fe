//! Traffic other than the long flows of groups: UDP sources, downloads, applications.

use l4s_units::{Bytes, Duration, Ecn, Frequency, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::Direction;

/// An unresponsive source of constant bit rate.
///
/// ```
/// use l4s_model::Udp;
/// use l4s_units::{Bytes, Duration, Ecn, Rate, Time};
///
/// // A game: 80 packets of 250 B per second in the L4S queue, from second 5 on.
/// let game = Udp {
///     ecn: Ecn::Ect1,
///     packet: Bytes::new(250),
///     start: Time::ZERO + Duration::from_secs(5),
///     ..Udp::new("game", Rate::from_bps(160_000))
/// };
/// assert_eq!(game.rate.bytes_in(Duration::from_secs(1)), Bytes::new(80 * 250));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Udp {
    /// Its name, unique among groups and UDP sources.
    pub name: String,
    /// Which way it sends.
    pub direction: Direction,
    /// Its rate, counted in IP length.
    pub rate: Rate,
    /// The codepoint that its packets carry.
    pub ecn: Ecn,
    /// The IP length of a packet.
    pub packet: Bytes,
    /// When it starts.
    pub start: Time,
    /// When it stops; `None` at the end of the run.
    pub stop: Option<Time>,
}

impl Udp {
    /// Packets of 1500 B without ECN, down, during all of the run.
    pub fn new(name: &str, rate: Rate) -> Udp {
        Udp {
            name: name.to_owned(),
            direction: Direction::Down,
            rate,
            ecn: Ecn::NotEct,
            packet: Bytes::new(1500),
            start: Time::ZERO,
            stop: None,
        }
    }
}

/// Downloads that begin at random, each over a TCP connection of its own: emulated web traffic
/// (DCttH §4.5).
///
/// ```
/// use l4s_model::{Sizes, Web};
/// use l4s_units::{Bytes, Frequency, Time};
///
/// // 100 downloads per second of 1 KB to 1 MB, most of them short.
/// let size = Sizes::Pareto { shape: 0.9, min: Bytes::new(1_000), max: Bytes::new(1_000_000) };
/// let rate: Frequency = "100/s".parse()?;
/// let web = Web { group: 0, rate, size, start: Time::ZERO, stop: None };
/// assert_eq!(web.rate.as_per_second_f64(), 100.0);
/// # Ok::<(), l4s_units::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Web {
    /// The group whose server, client, congestion control, ECN and round trip they have: its place
    /// among the groups.
    pub group: usize,
    /// How many begin per second on average, independently of each other.
    pub rate: Frequency,
    /// How much each of them fetches.
    pub size: Sizes,
    /// When they start to begin.
    pub start: Time,
    /// When no more of them begin; `None` at the end of the run.
    pub stop: Option<Time>,
}

/// The sizes of downloads.
///
/// Example: [`Web`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Sizes {
    /// All alike.
    Fixed(Bytes),
    /// A Pareto distribution truncated at `max`.
    Pareto {
        /// The exponent alpha: the smaller, the heavier the tail.
        shape: f64,
        /// The smallest.
        min: Bytes,
        /// The largest, not less than `min`.
        max: Bytes,
    },
}

/// An application that writes a frame at regular intervals, such as interactive video, into each
/// of some long connections.
///
/// ```
/// use l4s_model::{App, Hold};
/// use l4s_units::{Bytes, Duration, Rate, Time};
///
/// // Video of 2 Mb/s at 25 frames per second, which leaves frames out when the network is slower.
/// let video = App {
///     group: 0,
///     rate: Rate::from_mbps(2),
///     fps: 25,
///     flows: 1,
///     adapt: true,
///     hold: Hold::None,
///     start: Time::ZERO,
///     stop: None,
/// };
/// assert_eq!(video.frame(), Bytes::new(10_000));
/// assert_eq!(video.frames(50), Duration::from_secs(2));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct App {
    /// The group whose server, client, congestion control, ECN and round trip they have: its place
    /// among the groups.
    pub group: usize,
    /// The mean rate of its writes into one connection.
    pub rate: Rate,
    /// Frames per second.
    pub fps: u64,
    /// How many connections there are.
    pub flows: u64,
    /// Whether it skips a frame while more than one waits unsent in the socket.
    pub adapt: bool,
    /// Which segments wait that are not full.
    pub hold: Hold,
    /// When the first connection opens; the others follow evenly within the time of a frame.
    pub start: Time,
    /// When it writes no more; `None` at the end of the run.
    pub stop: Option<Time>,
}

/// When TCP holds a segment back that is not full, because more may be written.
///
/// Example: [`App`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Hold {
    /// Never (TCP_NODELAY).
    #[default]
    None,
    /// While an earlier one that was not full is not acknowledged: Nagle's algorithm (RFC 1122
    /// §4.2.3.4) as Minshall modified it, the default of Linux.
    Nagle,
    /// Until it is full, but no longer than a retransmission timeout after everything else was
    /// acknowledged (TCP_CORK).
    Cork,
}

impl App {
    /// The size of a frame: the rate over the frames per second, to the nearest byte.
    pub fn frame(&self) -> Bytes {
        let per_byte = 8 * self.fps;
        Bytes::new((self.rate.as_bps() + per_byte / 2) / per_byte)
    }

    /// When connection `flow` of it opens.
    pub fn opens(&self, flow: u64) -> Time {
        self.start + self.frames(1) * flow / self.flows.max(1)
    }

    /// The time of `n` frames. It is computed from the first frame, so that rounding does not add up.
    pub fn frames(&self, n: u64) -> Duration {
        let ns = u128::from(n) * 1_000_000_000 / u128::from(self.fps.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
