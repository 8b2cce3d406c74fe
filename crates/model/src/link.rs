//! Links: the bottleneck, and further ones on the way.

use core::fmt;

use l4s_trace::{Kind, OPPORTUNITY, Play, Playback, TUN, Trace};
use l4s_units::{Bytes, Duration, ETHERNET, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::Radio;

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
    /// Its rate, with the [`Link::header`] of each packet. With a trace the mean of that, and of a radio the one at which
    /// it carries full packets when it always has some to send.
    pub rate: Rate,
    /// Its capacity over time, if it is not constant. Then the link does not aggregate, and no
    /// [`Change`](crate::Change) sets its rate.
    pub trace: Option<Capacity>,
    /// The radio that it is. Then it has neither a trace nor an aggregation, its burst is zero, its rate is
    /// [`Radio::rate`], and no [`Change`](crate::Change) sets that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
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

/// A capacity over time, from a file. Where the trace has delay and loss, packets are delayed and lost behind the queue.
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
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Capacity {
    /// The file, as the scenario names it.
    file: String,
    trace: Trace,
    play: Play,
    #[serde(skip_serializing)]
    digest: u64,
    #[serde(skip_serializing)]
    peak: Rate,
    #[serde(skip_serializing)]
    longest: Duration,
}

/// The parts of a capacity that the others follow from.
#[derive(Deserialize)]
struct Stored {
    file: String,
    trace: Trace,
    play: Play,
}

impl TryFrom<Stored> for Capacity {
    type Error = l4s_trace::TraceError;

    fn try_from(stored: Stored) -> Result<Capacity, Self::Error> {
        Capacity::new(stored.file, stored.trace, stored.play)
    }
}

/// With the digest in the place of up to twenty million steps.
impl fmt::Debug for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capacity")
            .field("file", &self.file)
            .field("digest", &self.digest())
            .field("play", &self.play)
            .finish()
    }
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
        let (digest, peak) = (digest(&trace), peak(&trace, play));
        let delays = trace.steps().into_iter().flatten().filter_map(|step| step.delay);
        let longest = delays.max().unwrap_or(Duration::ZERO);
        Ok(Capacity { file: file.into(), trace, play, digest, peak, longest })
    }

    /// The file, as the scenario names it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The same, from another file with the same trace.
    pub fn called(&self, file: impl Into<String>) -> Capacity {
        Capacity { file: file.into(), ..self.clone() }
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

    /// The highest rate: of a step, or of the opportunities of one millisecond.
    pub fn peak(&self) -> Rate {
        self.peak
    }

    /// The longest one-way delay of the packets that it carries; zero without any.
    pub fn longest_delay(&self) -> Duration {
        self.longest
    }

    /// Sixteen hexadecimal digits that any change of the trace changes, the same on every machine. They are
    /// of its contents and neither of the file's format nor of how it is played.
    pub fn digest(&self) -> String {
        format!("{:016x}", self.digest)
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

/// FNV-1a over 64-bit words.
fn digest(trace: &Trace) -> u64 {
    let add = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3);
    let start = add(0xcbf2_9ce4_8422_2325, trace.period().as_nanos());
    let instants = trace.opportunities().into_iter().flatten();
    let hash =
        instants.fold(start, |hash, (at, number)| add(add(hash, at.as_nanos()), u64::from(number)));
    trace.steps().into_iter().flatten().fold(hash, |hash, step| {
        let delay = step.delay.map_or(u64::MAX, Duration::as_nanos);
        let loss = step.loss.map_or(u64::MAX, |loss| u64::from(loss.raw()));
        [step.at.as_nanos(), step.rate.as_bps(), delay, loss].into_iter().fold(hash, add)
    })
}

fn peak(trace: &Trace, play: Play) -> Rate {
    let instants = trace.opportunities().into_iter().flatten();
    let most = instants.map(|(_, number)| u64::from(number)).max().unwrap_or_default();
    let bps = most.saturating_mul(OPPORTUNITY.get() * 8 * 1000);
    let steps = trace.steps().into_iter().flatten();
    let highest = steps.map(|step| step.rate.as_bps()).fold(bps, u64::max);
    let Some(mean) = play.mean else { return Rate::from_bps(highest) };
    let own = u128::from(trace.mean_rate().as_bps().max(1));
    let scaled = u128::from(highest) * u128::from(mean.as_bps()) / own;
    Rate::from_bps(u64::try_from(scaled).unwrap_or(u64::MAX))
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
            radio: None,
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

    /// A link over a radio, with the buffer of [`Link::new`].
    pub fn over(radio: Radio) -> Link {
        Link { burst: Bytes::ZERO, ..Link::new(radio.rate()) }.by(radio)
    }

    /// The same over a radio, whose rate is its own.
    pub fn by(self, radio: Radio) -> Link {
        Link { rate: radio.rate(), radio: Some(radio), ..self }
    }

    /// The bytes of each packet around its IP packet: 14 of Ethernet, or 4 where opportunities of
    /// mahimahi serve it, whose TUN device adds them.
    pub fn header(&self) -> Bytes {
        match &self.trace {
            Some(capacity) if capacity.trace.kind() == Kind::Opportunities => TUN,
            _ => ETHERNET,
        }
    }

    /// Its rate, or the highest one of its trace or its radio.
    pub fn fastest(&self) -> Rate {
        match (&self.trace, &self.radio) {
            (Some(capacity), _) => capacity.peak(),
            (None, Some(radio)) => radio.fastest().max(self.rate),
            (None, None) => self.rate,
        }
    }

    /// Its trace, from the start, if it follows one.
    pub fn playback(&self) -> Option<Playback> {
        self.trace.as_ref().map(Capacity::playback)
    }
}
