//! Changes of the bottleneck, the uplink, round trips and imperfect stretches during a run.

use l4s_units::{Duration, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::{Jitter, Loss};

/// A change of the scenario at an instant, for the rest of the run. [`Course`](crate::Course) gives the values over time.
///
/// ```
/// use l4s_model::{Change, Course, Group, Link, Scenario};
/// use l4s_units::{Duration, Rate, Time};
///
/// let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(40));
/// let mut scenario = Scenario::new("re-route", Duration::from_secs(20), link, aqm);
/// let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
/// scenario.groups.push(Group::new("A", reno, Duration::from_millis(10)));
/// // After 12 s half of the rate is left, and the path is longer.
/// let rtts = vec![(0, Duration::from_millis(30))];
/// scenario.changes.push(Change { rate: Some(Rate::from_mbps(20)), rtts, ..Change::at(at(12)) });
///
/// let course: Course = scenario.course();
/// assert_eq!(course.rate_at(at(11)), Rate::from_mbps(40));
/// assert_eq!(course.rtt_at(0, at(12)), Duration::from_millis(30));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// When: after the start of the run and before its end.
    pub time: Time,
    /// The discipline that takes the place of the present one. Its packet limit is `link.buffer`
    /// unless it sets its own.
    pub aqm: Option<l4s_aqm::Config>,
    /// The rate of the link.
    pub rate: Option<Rate>,
    /// The discipline that takes the place of the uplink's, as `aqm`.
    pub uplink_aqm: Option<l4s_aqm::Config>,
    /// The rate of the uplink.
    pub uplink_rate: Option<Rate>,
    /// The base round trip of some groups, by their place among the groups: a re-route.
    pub rtts: Vec<(usize, Duration)>,
    /// Loss and jitter of some imperfect stretches, by their place among these.
    #[serde(default)]
    pub paths: Vec<(usize, PathChange)>,
}

/// Another loss or jitter of an imperfect stretch from an instant on. Its random streams go on; packets that are on it
/// come out when they would have.
///
/// ```
/// use l4s_model::{Change, Loss, PathChange};
/// use l4s_units::{Duration, Time};
///
/// // After 12 s the first stretch loses 1 % of the packets, with the jitter that it has.
/// let worse = PathChange { loss: Some(Loss::Independent(0.01)), ..PathChange::default() };
/// let at = Time::ZERO + Duration::from_secs(12);
/// let change = Change { paths: vec![(0, worse)], ..Change::at(at) };
/// assert_eq!(change.paths[0].1.jitter, None);
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PathChange {
    /// Which packets it loses; numbers count from the change on.
    pub loss: Option<Loss>,
    /// Its random delay.
    pub jitter: Option<Jitter>,
}

impl Change {
    /// A change at this time, of nothing yet.
    pub fn at(time: Time) -> Change {
        Change {
            time,
            aqm: None,
            rate: None,
            uplink_aqm: None,
            uplink_rate: None,
            rtts: Vec::new(),
            paths: Vec::new(),
        }
    }
}
