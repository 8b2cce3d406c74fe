//! Links: the bottleneck, and further ones on the way.

use l4s_trace::{Kind, Play, Playback, TUN, Trace};
use l4s_units::{Bytes, Duration, ETHERNET, Rate, Time};
use serde::{Deserialize, Serialize};

/// The bottleneck link.
///
/// ```
/// use l4s_model::{Buffer, Link};
/// use l4s_units::{Duration, Rate};
///
/// // A home's uplink with a buffer of a quarter of a second.
/// let buffer = Buffer::Time(Duration::from_millis(250));
/// let link = Link { buffer, ..Link::new(Rate::from_mbps(10)) };
/// // The packet that it sends at once after it was idle: 1514 B take 1211.2 us.
/// assert_eq!(link.rate.time_of(link.burst), Duration::from_nanos(1_211_200));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Link {
    /// Its rate, with the [`Link::header`] of each packet. With a trace the mean of that.
    pub rate: Rate,
    /// Its capacity over time, if it is not constant. Then the link does not aggregate, and no
    /// [`Change`](crate::Change) sets its rate.
    pub trace: Option<Capacity>,
    /// The maximum backlog for it.
    pub buffer: Buffer,
    /// Bytes that it may send at once after it was idle: the bucket of the shaper (`htb burst`).
    pub burst: Bytes,
    /// The chance that an acknowledgement is lost on its way back, below 1.
    pub ack_loss: f64,
    /// The longest airtime of an aggregate, for a link that takes packets from the queue and
    /// delivers them in bursts; zero for one that sends them one by one.
    pub aggregation: Duration,
}

/// A capacity over time, from a file.
///
/// ```
/// use l4s_model::{Capacity, Link};
/// use l4s_trace::{Play, Trace};
/// use l4s_units::{Bytes, Rate, Time};
///
/// // An opportunity per millisecond: 1504 B of 8 bits.
/// let trace = Trace::from_opportunities([1]).unwrap();
/// let capacity = Capacity::new("mobile.trace", trace, Play::default()).unwrap();
/// let link = Link::new(capacity.mean()).following(capacity.clone());
/// assert_eq!(link.rate, Rate::from_bps(12_032_000));
/// let second = Time::from_nanos(1_000_000_000);
/// assert_eq!(capacity.bytes_between(Time::ZERO, second), Bytes::new(1_504_000));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Capacity {
    /// The file, as the scenario names it.
    file: String,
    trace: Trace,
    play: Play,
}

impl Capacity {
    /// The trace from `file`, played as `play` says.
    ///
    /// # Errors
    /// It cannot be played so ([`Trace::play`]).
    pub fn new(
        file: impl Into<String>,
        trace: Trace,
        play: Play,
    ) -> Result<Capacity, l4s_trace::TraceError> {
        trace.play(&play)?;
        Ok(Capacity { file: file.into(), trace, play })
    }

    /// The file, as the scenario names it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Where it starts, and its mean rate if it is scaled.
    pub fn play(&self) -> Play {
        self.play
    }

    /// The mean rate.
    pub fn mean(&self) -> Rate {
        self.play.mean.unwrap_or(self.trace.mean_rate())
    }

    /// The trace, from its start.
    pub fn playback(&self) -> Playback {
        self.trace.play(&self.play).expect("it was played by `new`")
    }

    /// The bytes that may pass after `from` and until `to` of a run.
    pub fn bytes_between(&self, from: Time, to: Time) -> Bytes {
        self.playback().bytes_between(from, to)
    }
}

/// A further link that packets pass, with a queue of its own.
///
/// ```
/// use l4s_aqm::fifo;
/// use l4s_model::{Buffer, Hop, Link, Per, Side};
/// use l4s_units::{Duration, Rate};
///
/// // Each of the first two sources has a WiFi of its own behind the bottleneck, which buffers 50 ms.
/// let buffer = Buffer::Time(Duration::from_millis(50));
/// let hop = Hop {
///     name: "wifi".to_owned(),
///     side: Side::Behind,
///     link: Link { buffer, ..Link::new(Rate::from_mbps(100)) },
///     aqm: l4s_aqm::Config::Fifo(fifo::Config::dctth()),
///     sources: vec![0, 1],
///     per: Per::Group,
/// };
/// assert_eq!(hop.link.burst, l4s_aqm::MTU);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hop {
    /// Its name, unique among these links.
    pub name: String,
    /// On which side of the bottleneck it is.
    pub side: Side,
    /// Rate, buffer and burst. It loses no acknowledgements and sends packets one by one.
    pub link: Link,
    /// Its queue discipline, whose packet limit is that of the buffer unless it sets its own.
    pub aqm: l4s_aqm::Config,
    /// Whose packets pass it: places among the groups and then the UDP sources, in order and at
    /// least one.
    pub sources: Vec<usize>,
    /// How many such links there are.
    pub per: Per,
}

/// A side of the bottleneck.
///
/// Example: [`Hop`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Side {
    /// Towards the servers: upstream.
    #[default]
    Before,
    /// Towards the clients: downstream.
    Behind,
}

/// The unit that has a link to itself.
///
/// Example: [`Hop`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Per {
    /// Nothing: there is one.
    #[default]
    All,
    /// Each group and UDP source.
    Group,
    /// Each flow. No group among these has downloads.
    Flow,
}

/// The size of a buffer.
///
/// Example: [`Link`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Buffer {
    /// A number of packets of any size.
    Packets(u64),
    /// A number of bytes on the link.
    Bytes(Bytes),
    /// As many bytes as the link carries in this time.
    Time(Duration),
}

impl Link {
    /// A link of this rate with room for 40,000 packets, the papers' buffer (DCttH Table 1). It sends
    /// one full packet at once after it was idle, loses nothing and does not aggregate.
    pub fn new(rate: Rate) -> Link {
        Link {
            rate,
            trace: None,
            buffer: Buffer::Packets(40_000),
            burst: l4s_aqm::MTU,
            ack_loss: 0.0,
            aggregation: Duration::ZERO,
        }
    }

    /// The same with the capacity of a trace, whose mean is its rate.
    pub fn following(self, capacity: Capacity) -> Link {
        Link { rate: capacity.mean(), trace: Some(capacity), ..self }
    }

    /// The bytes of each packet around its IP packet: 14 of Ethernet, or 4 where opportunities of
    /// mahimahi serve it, whose TUN device adds them.
    pub fn header(&self) -> Bytes {
        match &self.trace {
            Some(capacity) if capacity.trace.kind() == Kind::Opportunities => TUN,
            _ => ETHERNET,
        }
    }

    /// Its trace, from the start, if it follows one.
    pub fn playback(&self) -> Option<Playback> {
        self.trace.as_ref().map(Capacity::playback)
    }
}
