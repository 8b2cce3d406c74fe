//! All imperfect stretches of a run.
//!
//! ```text
//! server ─▶ before ─▶ hops ─▶ bottleneck ─▶ hops ─▶ behind ─▶ client
//!    ▲                                                          │
//!    └────────── delay ◀───── uplink ◀───────── up ◀────────────┘
//! ```
//!
//! On the way up a stretch before the bottleneck and one behind it are in one place, before the uplink if there is
//! one: the former first. A source that sends up is the mirror image: its data takes the way up, and the answers of its
//! clients the way down.

use l4s_model::{Direction, Path, PathChange, Scenario, Side};
use l4s_units::{Duration, Time};

use crate::stretch::Stretch;
use crate::stretches::{Stretches, Traveller, Wayside};

/// Where a packet is on an imperfect way. The number of a place is its position in [`Where::ALL`].
///
/// Example: [`Imperfect`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    /// On the way down, before every queue.
    Before,
    /// On the way down, behind every queue.
    Behind,
    /// On the way up, before every queue.
    Up,
}

impl Where {
    /// All of them.
    pub const ALL: [Where; 3] = [Where::Before, Where::Behind, Where::Up];

    /// The place before the first queue of a way.
    #[inline]
    pub const fn first(way: Direction) -> Where {
        match way {
            Direction::Down => Where::Before,
            Direction::Up => Where::Up,
        }
    }

    /// The place behind the last queue of a way, if there is one.
    #[inline]
    pub const fn last(way: Direction) -> Option<Where> {
        match way {
            Direction::Down => Some(Where::Behind),
            Direction::Up => None,
        }
    }
}

/// The stretches of a run.
///
/// ```
/// use l4s_bottleneck::{Imperfect, Where};
/// use l4s_model::{Direction, Jitter, Link, Path, Scenario};
/// use l4s_units::{Duration, Rate, Time};
/// # use l4s_bottleneck::{Traveller, Wayside};
/// # use l4s_model::{AccEcnMangling, Group, PathEvent, SourceId};
/// # use l4s_units::Ecn;
///
/// # #[derive(Clone, Debug, PartialEq)]
/// # struct Datagram;
/// # impl Traveller for Datagram {
/// #     fn source(&self) -> SourceId { SourceId::new(0) }
/// #     fn ecn(&self) -> Ecn { Ecn::NotEct }
/// #     fn set_ecn(&mut self, _: Ecn) {}
/// #     fn corrupt(&mut self, _: u32) {}
/// #     fn mangle_accecn(&mut self, _: AccEcnMangling) -> bool { false }
/// #     fn wash_dscp(&mut self) -> bool { false }
/// # }
/// # struct Nobody;
/// # impl Wayside<Datagram> for Nobody {
/// #     fn happened(&mut self, _: u16, _: &Datagram, _: PathEvent, _: Time) {}
/// #     fn copy(&mut self, packet: &Datagram) -> Option<Datagram> { Some(packet.clone()) }
/// #     fn lost(&mut self, _: Datagram) {}
/// # }
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(40));
/// let mut scenario = Scenario::new("radio", Duration::from_secs(20), link, aqm);
/// # let cubic = l4s_cc::Config::Cubic(l4s_cc::cubic::Config::default());
/// # scenario.groups.push(Group::new("A", cubic, Duration::from_millis(10)));
/// let radio = Path::new("radio", Direction::Up, vec![0]);
/// scenario.paths.push(Path { jitter: Jitter::uniform(Duration::from_millis(2)), ..radio });
///
/// let mut imperfect = Imperfect::new(&scenario);
/// assert!(imperfect.is_perfect(Where::Behind) && !imperfect.is_perfect(Where::Up));
/// imperfect.enter(Where::Up, Datagram, Time::ZERO, &mut Nobody);
/// // It is on its way for at most 2 ms.
/// let due = imperfect.next(Where::Up);
/// assert!(due <= Time::ZERO + Duration::from_millis(2));
/// assert_eq!(imperfect.out(Where::Up, due, &mut Nobody), Some(Datagram));
/// ```
#[derive(Debug)]
pub struct Imperfect<P> {
    before: Stretches<P>,
    behind: Stretches<P>,
    up: [Stretches<P>; 2],
}

impl<P: Traveller> Imperfect<P> {
    /// The stretches of a scenario, with nothing on them.
    pub fn new(scenario: &Scenario) -> Self {
        let up = |side| Stretches::new(scenario, Direction::Up, side);
        Imperfect {
            before: Stretches::new(scenario, Direction::Down, Side::Before),
            behind: Stretches::new(scenario, Direction::Down, Side::Behind),
            up: [up(Side::Before), up(Side::Behind)],
        }
    }

    /// The path in that place of the scenario becomes different.
    pub fn change(&mut self, path: usize, change: &PathChange) {
        self.before.change(path, change);
        self.behind.change(path, change);
        self.up.iter_mut().for_each(|up| up.change(path, change));
    }

    /// Whether packets pass a place as they come.
    #[inline]
    pub fn is_perfect(&self, at: Where) -> bool {
        match at {
            Where::Before => self.before.is_empty(),
            Where::Behind => self.behind.is_empty(),
            Where::Up => self.up[0].is_empty() && self.up[1].is_empty(),
        }
    }

    /// When the next packet comes to the end of a stretch there; never if none is on the way.
    #[inline]
    pub fn next(&self, at: Where) -> Time {
        match at {
            Where::Before => self.before.next(),
            Where::Behind => self.behind.next(),
            Where::Up => self.up[0].next().min(self.up[1].next()),
        }
    }

    /// A packet comes to the beginning of a place.
    pub fn enter(&mut self, at: Where, packet: P, now: Time, wayside: &mut impl Wayside<P>) {
        match at {
            Where::Before => self.before.enter(packet, now, wayside),
            Where::Behind => self.behind.enter(packet, now, wayside),
            Where::Up => {
                self.up[0].enter(packet, now, wayside);
                self.go_on(now, wayside);
            }
        }
    }

    /// The next packet that has come to the end of a place by `now`.
    pub fn out(&mut self, at: Where, now: Time, wayside: &mut impl Wayside<P>) -> Option<P> {
        match at {
            Where::Before => self.before.out(now, wayside),
            Where::Behind => self.behind.out(now, wayside),
            Where::Up => {
                self.go_on(now, wayside);
                self.up[1].out(now, wayside)
            }
        }
    }

    /// Packets go on from the first part of the way up to the second.
    fn go_on(&mut self, now: Time, wayside: &mut impl Wayside<P>) {
        let [first, second] = &mut self.up;
        while let Some(packet) = first.out(now, wayside) {
            second.enter(packet, now, wayside);
        }
    }
}

/// The longest that all imperfect stretches of a run and the delays of its traces together take, with its changes.
///
/// ```
/// use l4s_bottleneck::longest_detour;
/// use l4s_model::{Direction, Jitter, Link, Path, Scenario};
/// use l4s_units::{Duration, Rate};
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(40));
/// let mut scenario = Scenario::new("radio", Duration::from_secs(20), link, aqm);
/// let jitter = Jitter::uniform(Duration::from_millis(2));
/// scenario.paths.push(Path { jitter, ..Path::new("radio", Direction::Up, vec![0]) });
/// assert_eq!(longest_detour(&scenario), Duration::from_millis(2));
/// ```
pub fn longest_detour(scenario: &Scenario) -> Duration {
    let longest = |(number, path): (usize, &Path)| {
        let later = scenario.changes.iter().flat_map(|change| &change.paths);
        let jitters = later.filter(|(path, _)| *path == number).filter_map(|(_, c)| c.jitter);
        let later = jitters.map(|jitter| Path { jitter, ..path.clone() });
        let all = later.chain([path.clone()]).map(|path| Stretch::<()>::longest(&path));
        all.max().unwrap_or_default()
    };
    let links = [&scenario.link].into_iter().chain(scenario.uplink.iter().map(|up| &up.link));
    let links = links.filter_map(|link| Some(link.trace.as_ref()?.longest_delay()));
    let paths = scenario.paths.iter().enumerate().map(longest);
    links.chain(paths).fold(Duration::ZERO, |all, one| all + one)
}
