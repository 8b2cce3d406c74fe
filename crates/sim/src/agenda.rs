//! Scheduled actions of a scenario: flows open, downloads begin, settings change.

use l4s_bottleneck::{Download, Downloads};
use l4s_model::{Change, FlowId, Scenario, Web};
use l4s_units::Time;

use crate::app::Writers;

/// A due action.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Item {
    /// A long flow or an application opens its connection.
    Open {
        /// Where that is kept.
        slot: u32,
        /// Its number.
        flow: FlowId,
    },
    /// A download begins.
    Begin(Download),
    /// The bottleneck or a path becomes different: rarely, and it is the largest of these.
    Change(Box<Change>),
}

/// Everything that is to come. At one instant changes come first, then long flows.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The next one last.
    changes: Vec<Change>,
    /// When, where and which; the next one last.
    openings: Vec<(Time, u32, FlowId)>,
    downloads: Downloads,
}

impl Agenda {
    pub fn new(scenario: &Scenario, writers: &Writers) -> Agenda {
        let starts = scenario.groups.iter().flat_map(|group| &group.starts);
        let long = starts.zip(0..).map(|(start, number)| (*start, number, FlowId::new(number)));
        let apps = writers.all().iter().map(|writer| (writer.opens, writer.slot, writer.flow));
        let mut openings: Vec<_> = long.chain(apps).collect();
        openings.sort_unstable_by(|a, b| b.cmp(a));
        Agenda {
            changes: scenario.changes.iter().rev().cloned().collect(),
            openings,
            downloads: Downloads::new(scenario),
        }
    }

    /// When the next item is due.
    pub fn next(&self) -> Time {
        let [change, opening, download] = self.times();
        change.min(opening).min(download)
    }

    fn times(&self) -> [Time; 3] {
        [
            self.changes.last().map_or(Time::NEVER, |change| change.time),
            self.openings.last().map_or(Time::NEVER, |opening| opening.0),
            self.downloads.next_start(),
        ]
    }

    /// The downloads of this `[[web]]` are others from now on.
    pub fn adapt_web(&mut self, entry: usize, web: &Web, now: Time) {
        self.downloads.adapt(entry, web, now);
    }

    /// The number of a flow that begins in mid-run.
    pub fn next_flow(&mut self) -> FlowId {
        self.downloads.next_flow()
    }

    /// Takes the next item.
    pub fn take(&mut self) -> Option<Item> {
        let [change, opening, download] = self.times();
        if change <= opening && change <= download {
            self.changes.pop().map(Box::new).map(Item::Change)
        } else if opening <= download {
            self.openings.pop().map(|(_, slot, flow)| Item::Open { slot, flow })
        } else {
            self.downloads.next().map(Item::Begin)
        }
    }
}
