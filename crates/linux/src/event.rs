//! The events that the kernel's side reports to this side of a run: a file of records, appended as
//! it goes on.
//!
//! A record is the length of the rest in four bytes, a byte with its
//! type, and its contents. Numbers are in the byte order of the machine, which both sides
//! share.

use std::collections::BTreeMap;
use std::io::{self, Write};

use l4s_lab::{End, Report};
use l4s_model::{Direction, PathEvent};
use l4s_os::OsError;
use l4s_units::Time;
use serde::{Deserialize, Serialize};

use crate::detour::Passages;

/// Records are no longer than this: agents report about thousands of flows one by one.
const LONGEST: usize = 1 << 20;

/// The answer of the process to its order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It runs; the file of events comes along.
    Ready,
    /// The results of a trial: the fault of each requested thing, if it has one.
    Tried(Vec<Option<String>>),
    /// It cannot.
    Failed(Trouble),
}

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Event<'a> {
    /// A packet from an end arrived at the link of its way.
    Arrived(End, Passed<'a>),
    /// A packet's transmission on the link of that direction started.
    Departed(Direction, Passed<'a>),
    /// A packet from a client reached its server.
    Answered(Passed<'a>),
    /// Something happened to a packet of a source on an imperfect path: the places of both in the
    /// scenario.
    OnPath(Time, u16, u16, PathEvent),
    /// The next queue discipline of the link of that direction took the place of the present one, which
    /// began at this time and was over where this record is.
    Replaced(Direction, Time),
    /// An agent's report about a flow.
    Reported(Report),
    /// Time goes on, and the run did not begin yet.
    Waiting,
    /// The bottleneck at an instant, and the uplink, if there is one.
    Queue(Time, QueueState, Option<QueueState>),
    /// The run is over.
    Done(Ending),
    /// The run cannot go on.
    Failed(Trouble),
}

/// A packet that passed an end of a link, or reached its server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed<'a> {
    /// When.
    pub at: Time,
    /// The pair that it is of; a departure does not have it, as all leave by one device.
    pub pair: u16,
    /// Its first bytes, from the IP header on.
    pub bytes: &'a [u8],
}

/// The backlog in the queue discipline.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct QueueState {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u32,
    /// Its base probability, where it has one.
    pub base: Option<f64>,
}

/// The counters of the queue discipline since the start, by name.
pub type Counters = BTreeMap<String, u64>;

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Ending {
    /// The counters of the bottleneck's queue discipline.
    pub counters: Counters,
    /// Those of the uplink's, if there is one.
    pub uplink: Option<Counters>,
    /// The outcomes of the packets on imperfect stretches and in delays, in this process.
    pub passages: Passages,
    /// Packets from the servers of pairs that came to imperfect stretches before the links, where
    /// they do; else zero.
    pub of_servers: Vec<u64>,
    /// Which programs had to be killed, for people.
    pub unheeded: Vec<String>,
    /// Why the run should not be trusted, as far as the kernel's side knows.
    pub unfit: Option<String>,
}

/// An error on its way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trouble {
    /// Whether the machine is to blame.
    pub machine: bool,
    /// Words.
    pub why: String,
}

impl From<&OsError> for Trouble {
    fn from(error: &OsError) -> Trouble {
        Trouble { machine: matches!(error, OsError::Machine(_)), why: error.to_string() }
    }
}

impl From<Trouble> for OsError {
    fn from(trouble: Trouble) -> OsError {
        if trouble.machine { OsError::Machine(trouble.why) } else { OsError::Run(trouble.why) }
    }
}

/// The type of a record.
mod tag {
    pub const ARRIVED: u8 = 1;
    pub const DEPARTED: u8 = 2;
    pub const REPORTED: u8 = 3;
    pub const QUEUE: u8 = 4;
    pub const DONE: u8 = 5;
    pub const FAILED: u8 = 6;
    pub const REPLACED: u8 = 7;
    pub const ANSWERED: u8 = 8;
    pub const WAITING: u8 = 9;
    pub const ARRIVED_OF_CLIENT: u8 = 10;
    pub const DEPARTED_UP: u8 = 11;
    pub const ON_PATH: u8 = 12;
}

/// The events of a path. A record has the place in this list.
const ON_PATH: [PathEvent; 6] = [
    PathEvent::Arrived,
    PathEvent::Lost,
    PathEvent::Mangled,
    PathEvent::Corrupted,
    PathEvent::Duplicated,
    PathEvent::HeldBack,
];

impl Event<'_> {
    /// Appends the record.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        let mut passed = |tag: u8, packet: &Passed<'_>| {
            let length = 1 + 8 + 2 + packet.bytes.len();
            writer.write_all(&(length as u32).to_ne_bytes())?;
            writer.write_all(&[tag])?;
            writer.write_all(&packet.at.as_nanos().to_ne_bytes())?;
            writer.write_all(&packet.pair.to_ne_bytes())?;
            writer.write_all(packet.bytes)
        };
        match self {
            Event::Arrived(End::Server, packet) => passed(tag::ARRIVED, packet),
            Event::Arrived(End::Client, packet) => passed(tag::ARRIVED_OF_CLIENT, packet),
            Event::Departed(Direction::Down, packet) => passed(tag::DEPARTED, packet),
            Event::Departed(Direction::Up, packet) => passed(tag::DEPARTED_UP, packet),
            Event::Answered(packet) => passed(tag::ANSWERED, packet),
            Event::OnPath(at, path, source, what) => {
                const LENGTH: usize = 1 + 8 + 2 + 2 + 1;
                let mut record = [0; 4 + LENGTH];
                let number = ON_PATH.iter().position(|other| other == what).unwrap_or_default();
                record[..4].copy_from_slice(&(LENGTH as u32).to_ne_bytes());
                record[4] = tag::ON_PATH;
                record[5..13].copy_from_slice(&at.as_nanos().to_ne_bytes());
                record[13..15].copy_from_slice(&path.to_ne_bytes());
                record[15..17].copy_from_slice(&source.to_ne_bytes());
                record[17] = number as u8;
                writer.write_all(&record)
            }
            Event::Replaced(link, began) => json(writer, tag::REPLACED, &(link, began.as_nanos())),
            Event::Waiting => json(writer, tag::WAITING, &()),
            Event::Reported(report) => json(writer, tag::REPORTED, report),
            Event::Queue(at, link, uplink) => {
                json(writer, tag::QUEUE, &(at.as_nanos(), link, uplink))
            }
            Event::Done(ending) => json(writer, tag::DONE, ending),
            Event::Failed(trouble) => json(writer, tag::FAILED, trouble),
        }
    }

    /// The first record in `bytes`, and how long it is; `None` while it is not all there.
    pub fn read(bytes: &[u8]) -> io::Result<Option<(Event<'_>, usize)>> {
        let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let length = u32::from_ne_bytes(*length) as usize;
        if length > LONGEST {
            return Err(io::Error::other(format!("a record of {length} bytes")));
        }
        let Some(record) = rest.get(..length) else { return Ok(None) };
        let event = Event::parse(record).ok_or_else(|| io::Error::other("a record of no kind"))?;
        Ok(Some((event, 4 + length)))
    }

    fn parse(record: &[u8]) -> Option<Event<'_>> {
        let (&kind, contents) = record.split_first()?;
        let passed = || {
            let (at, rest) = contents.split_first_chunk()?;
            let (pair, bytes) = rest.split_first_chunk()?;
            let at = Time::from_nanos(u64::from_ne_bytes(*at));
            Some(Passed { at, pair: u16::from_ne_bytes(*pair), bytes })
        };
        match kind {
            tag::ARRIVED => passed().map(|packet| Event::Arrived(End::Server, packet)),
            tag::ARRIVED_OF_CLIENT => passed().map(|packet| Event::Arrived(End::Client, packet)),
            tag::DEPARTED => passed().map(|packet| Event::Departed(Direction::Down, packet)),
            tag::DEPARTED_UP => passed().map(|packet| Event::Departed(Direction::Up, packet)),
            tag::ANSWERED => passed().map(Event::Answered),
            tag::ON_PATH => {
                let (at, rest) = contents.split_first_chunk()?;
                let (path, rest) = rest.split_first_chunk()?;
                let (source, rest) = rest.split_first_chunk()?;
                let what = *ON_PATH.get(usize::from(*rest.first()?))?;
                let at = Time::from_nanos(u64::from_ne_bytes(*at));
                let [path, source] = [*path, *source].map(u16::from_ne_bytes);
                Some(Event::OnPath(at, path, source, what))
            }
            tag::REPLACED => {
                let (link, began) = serde_json::from_slice(contents).ok()?;
                Some(Event::Replaced(link, Time::from_nanos(began)))
            }
            tag::WAITING => Some(Event::Waiting),
            tag::REPORTED => serde_json::from_slice(contents).ok().map(Event::Reported),
            tag::QUEUE => {
                let (at, link, uplink) = serde_json::from_slice(contents).ok()?;
                Some(Event::Queue(Time::from_nanos(at), link, uplink))
            }
            tag::DONE => serde_json::from_slice(contents).ok().map(Event::Done),
            tag::FAILED => serde_json::from_slice(contents).ok().map(Event::Failed),
            _ => None,
        }
    }
}

fn json(writer: &mut impl Write, tag: u8, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    writer.write_all(&(1 + text.len() as u32).to_ne_bytes())?;
    writer.write_all(&[tag])?;
    writer.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_model::FlowId;

    #[test]
    fn what_is_written_is_read() {
        let at = Time::from_nanos(u64::MAX - 7);
        let packet = Passed { at, pair: 258, bytes: &[0x45, 0, 0, 40] };
        let events = [
            Event::Arrived(End::Server, packet),
            Event::Arrived(End::Client, packet),
            Event::Departed(Direction::Down, Passed { bytes: &[], ..packet }),
            Event::Departed(Direction::Up, packet),
            Event::Answered(packet),
            Event::OnPath(at, 3, 258, PathEvent::Lost),
            Event::OnPath(at, 0, 1, PathEvent::HeldBack),
            Event::Replaced(Direction::Up, at),
            Event::Waiting,
            Event::Reported(Report::Opened { flow: FlowId::new(3), at }),
            Event::Queue(at, QueueState { packets: 1, bytes: 1514, base: Some(0.1) }, None),
            Event::Queue(at, QueueState::default(), Some(QueueState::default())),
            Event::Done(Ending {
                counters: Counters::from([("dropped".to_owned(), 3)]),
                uplink: Some(Counters::new()),
                passages: Passages { came: 7, lost: 3, ..Passages::default() },
                of_servers: vec![0, 7],
                unheeded: vec!["the client".to_owned()],
                unfit: Some("late".to_owned()),
            }),
            Event::Failed(Trouble { machine: true, why: "no".to_owned() }),
        ];
        let mut bytes = Vec::new();
        events.iter().for_each(|event| event.write(&mut bytes).unwrap());
        let mut rest = bytes.as_slice();
        for event in &events {
            let (read, length) = Event::read(rest).unwrap().unwrap();
            assert_eq!(read, *event);
            assert_eq!(Event::read(&rest[..length - 1]).unwrap(), None, "not all there");
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Event::read(&[255; 8]).is_err());
        assert!(Event::read(&[1, 0, 0, 0, 99]).is_err());
        assert_eq!(Event::read(&[1, 0]).unwrap(), None);
    }
}
