//! A scenario with every choice made: the input of a substrate.

use l4s_units::Duration;
use serde::{Deserialize, Serialize};

use crate::{App, Change, Direction, Group, Hop, Link, Path, Program, Side, Udp, Uplink, Web};

/// One run: which flows meet at which bottleneck, for how long.
///
/// ```
/// use l4s_model::{Group, Link, Scenario};
/// use l4s_units::{Duration, Rate, Time};
///
/// // Prague against Cubic, ten flows each, over 120 Mb/s and 10 ms.
/// let aqm = l4s_aqm::Config::DualPi2(l4s_aqm::dualpi2::Config::linux());
/// let link = Link::new(Rate::from_mbps(120));
/// let mut scenario = Scenario::new("ten against ten", Duration::from_secs(60), link, aqm);
/// let prague = l4s_cc::Config::Prague(l4s_cc::prague::Config::default());
/// let cubic = l4s_cc::Config::Cubic(l4s_cc::cubic::Config::default());
/// for (name, cc) in [("prague", prague), ("cubic", cubic)] {
///     let starts = vec![Time::ZERO; 10];
///     scenario.groups.push(Group { starts, ..Group::new(name, cc, Duration::from_millis(10)) });
/// }
/// assert_eq!(scenario.source_names().collect::<Vec<_>>(), ["prague", "cubic"]);
/// assert_eq!(scenario.roster().flows(), 20);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How long it runs, warm-up included.
    pub duration: Duration,
    /// The first part of it, which no statistic counts. Shorter than `duration`.
    pub warmup: Duration,
    /// The seed of every random stream.
    pub seed: u64,
    /// Whether hosts take a random time of some microseconds for each packet that clients send back,
    /// and UDP sources send at random times. In real time the hosts themselves add such a delay.
    pub host_jitter: bool,
    /// The bottleneck.
    pub link: Link,
    /// Its queue discipline, whose packet limit is `link.buffer` unless it sets its own.
    pub aqm: l4s_aqm::Config,
    /// The way up, if that has a queue. A source sends up only if it has.
    pub uplink: Option<Uplink>,
    /// Further links with queues of their own, before or behind the bottleneck. Those on one side
    /// are passed in this order.
    pub hops: Vec<Hop>,
    /// Stretches of the way that are not perfect. Those of one direction and side are passed in this order.
    pub paths: Vec<Path>,
    /// Flows that behave alike.
    pub groups: Vec<Group>,
    /// Unresponsive sources.
    pub udp: Vec<Udp>,
    /// Short flows, which begin at random.
    pub web: Vec<Web>,
    /// Flows of applications that write at a rate of their own.
    pub apps: Vec<App>,
    /// Programs of the user, on the hosts of groups.
    pub programs: Vec<Program>,
    /// The changes of the bottleneck and the paths in mid-run, in order of time.
    pub changes: Vec<Change>,
    /// Settings that only substrates with real sockets use.
    pub kernel: Kernel,
}

/// Choices that only real sockets have.
///
/// ```
/// use l4s_model::{Ip, Kernel, QdiscOf};
///
/// // IPv6 through our own DualPI2, which the kernel runs as BPF programs.
/// let kernel = Kernel { ip: Ip::V6, qdisc: QdiscOf::Bpf, ..Kernel::default() };
/// assert!(!kernel.gso);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// The version of IP between servers and clients.
    pub ip: Ip,
    /// Whether senders hand down bursts, which the queue sees as one packet each (generic
    /// segmentation offload).
    pub gso: bool,
    /// Whose queue discipline the kernel runs, where a kernel is the router.
    pub qdisc: QdiscOf,
}

/// Whose queue discipline the kernel runs.
///
/// Example: [`Kernel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum QdiscOf {
    /// Its own, below a shaper (`htb`).
    #[default]
    Linux,
    /// Ours, as BPF programs, with a shaper of its own.
    Bpf,
}

/// A version of IP.
///
/// Example: [`Kernel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Ip {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

impl Scenario {
    /// A link with a discipline and no traffic yet: seed 1, a quarter of the duration as warm-up.
    pub fn new(name: &str, duration: Duration, link: Link, aqm: l4s_aqm::Config) -> Scenario {
        Scenario {
            name: name.to_owned(),
            duration,
            warmup: duration / 4,
            seed: 1,
            host_jitter: true,
            link,
            aqm,
            uplink: None,
            hops: Vec::new(),
            paths: Vec::new(),
            groups: Vec::new(),
            udp: Vec::new(),
            web: Vec::new(),
            apps: Vec::new(),
            programs: Vec::new(),
            changes: Vec::new(),
            kernel: Kernel::default(),
        }
    }

    /// The mean rate, as of [`Scenario::mean_rate_bps`], of the link that the data of a source shares: the bottleneck
    /// or the uplink. The source is named by its place.
    pub fn mean_rate_of(&self, source: usize) -> f64 {
        let up = self.mean_uplink_bps().filter(|_| self.direction_of(source) == Direction::Up);
        up.unwrap_or_else(|| self.mean_rate_bps())
    }

    /// Which way a source sends, by its place among the groups and then the UDP sources.
    pub fn direction_of(&self, source: usize) -> Direction {
        let udp = || &self.udp[source - self.groups.len()];
        self.groups.get(source).map_or_else(|| udp().direction, |group| group.direction)
    }

    /// The number of flows of all groups.
    pub fn long_flows(&self) -> usize {
        self.groups.iter().map(|group| group.starts.len()).sum()
    }

    /// Whether packets pass further queues behind the bottleneck.
    pub fn has_queues_behind(&self) -> bool {
        self.hops.iter().any(|hop| hop.side == Side::Behind)
    }
}
