//! Everything that was measured of a run, before it becomes a summary.

use l4s_aqm::{Config, Queue, dualpi2};
use l4s_model::{Direction, Scenario};
use l4s_units::Bytes;
use serde_json::{Map, Value};

use crate::counts::Cells;
use crate::flows::Flows;
use crate::frames::Frames;
use crate::rates::Rates;
use crate::record::SeriesRow;
use crate::{EngineSummary, PathSummary};

/// The origin of a record.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Origin {
    /// The substrate: `sim`, `kernel`, `linux` or `qdisc`.
    pub on: String,
    /// The version of l4s.
    pub version: String,
    /// The fingerprint of the code of that l4s.
    pub code: String,
    /// The settings of the sweep or the command line: key to value, in order.
    pub set: Map<String, Value>,
    /// The command that reproduces just this run.
    pub command: String,
}

/// Everything that was measured of a run that is over.
pub(crate) struct Measured<'a> {
    pub scenario: &'a Scenario,
    pub origin: Origin,
    pub queues: &'a [Queue],
    pub cells: &'a Cells,
    pub straddling: Straddling,
    pub hops: &'a [HopCells],
    /// Of the uplink, if there is one.
    pub uplink: Option<&'a HopCells>,
    pub paths: Vec<PathSummary>,
    pub flows: &'a Flows,
    pub rates: &'a Rates,
    /// Per group, in bytes.
    pub goodput: &'a [u64],
    /// Per group, in nanoseconds.
    pub rtts: &'a [Samples],
    /// Per group, in packets.
    pub cwnds: &'a [Samples],
    /// Per TCP group.
    pub frames: &'a [Frames],
    pub series: Vec<SeriesRow>,
    pub engine: EngineSummary,
}

impl Measured<'_> {
    /// The counts at the link that the data of a source shares, by its place.
    pub fn cells_of(&self, source: usize) -> &Cells {
        match (self.scenario.direction_of(source), self.uplink) {
            (Direction::Up, Some(uplink)) => &uplink.cells,
            _ => self.cells,
        }
    }
}

/// The counts at the links of a hop together, or at the uplink.
#[derive(Debug)]
pub(crate) struct HopCells {
    pub queues: Vec<Queue>,
    /// Of a hop: of one group, which stands for all. Of the uplink: of each source.
    pub cells: Cells,
    pub straddling: Straddling,
}

/// Bytes of packets that count on one side of an edge of the measured time, and were on the link on
/// the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Straddling {
    /// Left before the end of the warm-up.
    pub before: Bytes,
    /// Still on the link at the end.
    pub after: Bytes,
}

/// Samples of a quantity of a group after the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    count: u64,
    sum: u128,
}

impl Samples {
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

impl HopCells {
    /// For a link that has these disciplines, one after the other, whose packets are counted by group.
    pub fn new<'a>(aqms: impl IntoIterator<Item = &'a Config>, groups: usize) -> Self {
        HopCells {
            queues: queues_of(aqms),
            cells: Cells::new(groups),
            straddling: Straddling::default(),
        }
    }
}

/// The queues that these disciplines report, in order.
pub fn queues_of<'a>(aqms: impl IntoIterator<Item = &'a Config>) -> Vec<Queue> {
    let aqms: Vec<_> = aqms.into_iter().collect();
    let is_dual = |aqm: &Config| match aqm {
        Config::DualPi2(config) => config.dualq != dualpi2::Classify::None,
        Config::CurvyRed(config) => config.queues.dualq != dualpi2::Classify::None,
        Config::Foreign(config) => config.dual,
        _ => false,
    };
    let reports = |queue: &Queue| aqms.iter().any(|aqm| is_dual(aqm) == (*queue != Queue::Q));
    Queue::ALL.into_iter().filter(reports).collect()
}
