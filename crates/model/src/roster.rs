//! The sources of a run and the numbers of their flows. Everything that numbers them does it by a
//! [`Roster`].

use core::ops::{Add, Range, RangeFrom};
use core::{fmt, iter};

use serde::{Deserialize, Serialize};

use crate::{Hop, Per, Scenario};

/// The number of a group or of a UDP source: the groups in the order of the scenario, then the UDP
/// sources.
///
/// Example: [`Roster`].
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct SourceId(u16);

impl SourceId {
    /// The source of this number.
    #[inline]
    pub const fn new(number: u16) -> SourceId {
        SourceId(number)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The number as a place in a list of all sources.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a flow: see [`Roster`].
///
/// Example: [`Roster`].
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct FlowId(u32);

impl FlowId {
    /// The flow of this number.
    #[inline]
    pub const fn new(number: u32) -> FlowId {
        FlowId(number)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as a place in a list of all flows.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// This flow and all later ones.
    pub fn onwards(self) -> impl Iterator<Item = FlowId> {
        (self.0..).map(FlowId)
    }
}

impl Add<u32> for FlowId {
    type Output = FlowId;

    /// The flow that is this number of flows later.
    #[inline]
    fn add(self, flows: u32) -> FlowId {
        FlowId(self.0 + flows)
    }
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The purpose of a flow.
///
/// Example: [`Roster`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowKind {
    /// A flow of a group that is listed in the scenario.
    Long,
    /// A UDP source.
    Udp,
    /// A connection of an application.
    App,
    /// A download, which begins at random or by an order.
    Download,
}

/// The sources of a scenario and the numbers of their flows. From 0 on these are the long flows of the
/// groups, in the order of the groups, then the UDP sources, then the flows of applications, then
/// downloads in the order in which they begin.
///
/// ```
/// use l4s_model::{FlowId, FlowKind, Group, Link, Roster, Scenario, SourceId, Udp};
/// use l4s_units::{Duration, Rate, Time};
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(40));
/// let mut scenario = Scenario::new("two and one", Duration::from_secs(20), link, aqm);
/// let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
/// let mut group = Group::new("A", reno, Duration::from_millis(10));
/// group.starts = vec![Time::ZERO; 2];
/// scenario.groups.push(group);
/// scenario.udp.push(Udp::new("U", Rate::from_mbps(1)));
///
/// let roster: Roster = scenario.roster();
/// assert_eq!(roster.listed(SourceId::new(0)), FlowId::new(0)..FlowId::new(2));
/// assert_eq!(roster.kind(FlowId::new(2)), FlowKind::Udp);
/// assert_eq!(roster.udp(0), SourceId::new(1));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roster {
    /// The first long flow of each group, and the first flow behind all of these.
    long: Vec<FlowId>,
    udp: u32,
    /// The group of each application's flow.
    apps: Vec<SourceId>,
    /// The number of flows of each source, without downloads.
    flows_of: Vec<usize>,
}

impl Roster {
    /// The roster of a scenario.
    pub fn new(scenario: &Scenario) -> Roster {
        let mut long = vec![FlowId(0)];
        for group in &scenario.groups {
            long.push(long[long.len() - 1] + group.starts.len() as u32);
        }
        let mut flows_of: Vec<usize> = scenario.groups.iter().map(|g| g.starts.len()).collect();
        let mut apps = Vec::new();
        for app in &scenario.apps {
            flows_of[app.group] += app.flows as usize;
            apps.resize(apps.len() + app.flows as usize, SourceId(app.group as u16));
        }
        flows_of.resize(flows_of.len() + scenario.udp.len(), 1);
        Roster { long, udp: scenario.udp.len() as u32, apps, flows_of }
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.long.len() - 1
    }

    /// How many groups and UDP sources there are.
    pub fn sources(&self) -> usize {
        self.groups() + self.udp as usize
    }

    /// A group, by its place among the groups.
    pub fn group(&self, place: usize) -> SourceId {
        SourceId(place as u16)
    }

    /// A UDP source, by its place among the UDP sources.
    pub fn udp(&self, place: usize) -> SourceId {
        SourceId((self.groups() + place) as u16)
    }

    /// The place of a source among the UDP sources, where it is one.
    pub fn place_of_udp(&self, source: SourceId) -> Option<usize> {
        source.index().checked_sub(self.groups())
    }

    /// The flows of a source that are listed in the scenario, those of applications aside: the long
    /// flows of a group, or the one of a UDP source.
    pub fn listed(&self, source: SourceId) -> Range<FlowId> {
        match self.place_of_udp(source) {
            None => self.long[source.index()]..self.long[source.index() + 1],
            Some(place) => {
                let flow = self.long[self.groups()] + place as u32;
                flow..flow + 1
            }
        }
    }

    /// The flows of all applications, in the order of the scenario.
    pub fn apps(&self) -> Range<FlowId> {
        let first = self.long[self.groups()] + self.udp;
        first..first + self.apps.len() as u32
    }

    /// The downloads: the numbers behind all other flows.
    pub fn downloads(&self) -> RangeFrom<FlowId> {
        self.apps().end..
    }

    /// The place of a flow among the downloads, from 0; `None` for another kind of flow.
    pub fn nth_download(&self, flow: FlowId) -> Option<usize> {
        flow.index().checked_sub(self.downloads().start.index())
    }

    /// The number of flows without downloads.
    pub fn flows(&self) -> usize {
        self.apps().end.index()
    }

    /// The purpose of a flow.
    pub fn kind(&self, flow: FlowId) -> FlowKind {
        let apps = self.apps();
        match flow {
            _ if flow < self.long[self.groups()] => FlowKind::Long,
            _ if flow < apps.start => FlowKind::Udp,
            _ if flow < apps.end => FlowKind::App,
            _ => FlowKind::Download,
        }
    }

    /// The source of each flow that is no download, by the flow's number.
    pub fn sources_of_flows(&self) -> impl Iterator<Item = SourceId> {
        let all = (0..self.sources() as u16).map(SourceId);
        let flows = |listed: Range<FlowId>| listed.end.index() - listed.start.index();
        all.flat_map(move |source| iter::repeat_n(source, flows(self.listed(source))))
            .chain(self.apps.iter().copied())
    }

    /// How many links a hop is.
    pub fn links_of(&self, hop: &Hop) -> usize {
        match hop.per {
            Per::All => 1,
            Per::Group => hop.sources.len(),
            Per::Flow => hop.sources.iter().map(|source| self.flows_of[*source]).sum(),
        }
    }
}

impl Scenario {
    /// The sources of this scenario and the numbers of their flows.
    pub fn roster(&self) -> Roster {
        Roster::new(self)
    }

    /// The names of all sources, in the order of their numbers.
    pub fn source_names(&self) -> impl Iterator<Item = &str> {
        let groups = self.groups.iter().map(|group| group.name.as_str());
        groups.chain(self.udp.iter().map(|udp| udp.name.as_str()))
    }
}
