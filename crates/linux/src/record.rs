//! Writes down the events at the router, in order of time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::mpsc::Receiver;

use l4s_lab::{End, Report};
use l4s_model::Direction;
use l4s_os::{Clock, OsError, now_ns};
use l4s_units::{Duration, Time};

use crate::detour::Happened;
use crate::event::{Event, Passed};
use crate::router::{Router, Seen, States};

/// Written back for the reader at least after this number of bytes.
const WRITE_BACK: u64 = 8 << 20;

/// The file of events.
pub(crate) struct Log {
    file: BufWriter<File>,
    unsynced: u64,
}

impl Log {
    /// Writes to a file that is open for appending.
    pub fn new(file: File) -> Log {
        Log { file: BufWriter::with_capacity(1 << 16, file), unsynced: 0 }
    }

    /// One record.
    pub fn write(&mut self, event: &Event<'_>) -> Result<(), OsError> {
        event.write(&mut self.file).map_err(full)
    }

    /// Lets the reader see that time goes on before the run begins.
    pub fn waiting(&mut self) -> Result<(), OsError> {
        self.write(&Event::Waiting)?;
        self.finish()
    }

    /// Gives the reader the present data, now and then.
    fn pass_on(&mut self, bytes: u64) -> Result<(), OsError> {
        self.unsynced += bytes;
        if self.unsynced < WRITE_BACK {
            return Ok(());
        }
        self.finish()
    }

    /// Lets the reader have all.
    pub fn finish(&mut self) -> Result<(), OsError> {
        self.unsynced = 0;
        self.file.flush().and_then(|()| self.file.get_ref().sync_data()).map_err(full)
    }
}

fn full(error: std::io::Error) -> OsError {
    OsError::Run(format!("writing down events: {error}"))
}

/// How far CLOCK_REALTIME, the clock of packets' time stamps, is ahead of CLOCK_MONOTONIC, the clock of
/// everything else.
///
/// There is time between two readings: none to speak of in virtual time, a change of threads in
/// real time. Of several readings of the one between two of the other, the closest two are used.
pub(crate) fn ahead_ns(settle: Duration) -> i64 {
    // Where packets are read at once, time is virtual.
    let readings = if settle.is_zero() { 1 } else { 16 };
    let read = |_| {
        let before = now_ns(libc::CLOCK_MONOTONIC);
        let real = now_ns(libc::CLOCK_REALTIME);
        let after = now_ns(libc::CLOCK_MONOTONIC);
        let between = after - before;
        (between, real as i64 - (before + between / 2) as i64)
    };
    (0..readings).map(read).min().map_or(0, |(_, ahead)| ahead)
}

/// Something that was seen; a packet is in a buffer of many.
struct Kept {
    at: Time,
    what: What,
    start: usize,
    end: usize,
}

/// The kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Something to a packet.
    Seen(Seen),
    /// Something to a packet on an imperfect stretch.
    OnPath(Happened),
    /// The queue discipline of a link was replaced, which began at that time.
    Replaced(Direction, Time),
}

impl What {
    /// The place among the events of one instant: the arrival at a server comes before its response,
    /// and a packet's arrival before its departure.
    fn place(self) -> (u8, u16, bool) {
        match self {
            What::Seen(Seen::Answered(pair)) => (0, pair, false),
            // Those of one list are in order.
            What::OnPath(_) => (1, 0, false),
            What::Seen(Seen::Arrived(pair, from)) => (2, pair, from == End::Client),
            What::Seen(Seen::Departed(link)) => (3, 0, link == Direction::Up),
            What::Replaced(link, _) => (4, 0, link == Direction::Up),
        }
    }
}

/// Puts observations in order of time.
pub(crate) struct Recording<'a> {
    /// Where it goes.
    pub log: &'a mut Log,
    clock: Clock,
    ahead_ns: i64,
    /// How long after its stamp a packet may come to be read.
    settle: Duration,
    kept: Vec<Kept>,
    bytes: Vec<u8>,
    /// Room for events on imperfect stretches.
    happened: Vec<Happened>,
    /// Earlier events are written down.
    written: Time,
    /// Events other than packets that wait for earlier ones, with the time at which they were known.
    others: VecDeque<(Time, Event<'static>)>,
}

impl<'a> Recording<'a> {
    /// A recording by this clock.
    pub fn new(clock: Clock, settle: Duration, log: &'a mut Log) -> Self {
        Recording {
            log,
            clock,
            ahead_ns: ahead_ns(settle),
            settle,
            kept: Vec::new(),
            bytes: Vec::new(),
            happened: Vec::new(),
            written: Time::ZERO,
            others: VecDeque::new(),
        }
    }

    /// Writes down the events that are known by `now`, in order. Packets that may still be
    /// overtaken by the reading of earlier ones are kept for the next time.
    pub fn catch_up(&mut self, router: &mut Router, now: Time) -> Result<(), OsError> {
        let settled = Time::from_nanos(now.as_nanos().saturating_sub(self.settle.as_nanos()));
        let settled = if now == Time::NEVER { now } else { settled };
        self.packets(router, settled)?;
        self.others(settled)
    }

    /// Writes down the events other than packets that were known by `until`.
    pub fn others(&mut self, until: Time) -> Result<(), OsError> {
        while self.others.front().is_some_and(|(known, _)| *known <= until) {
            let Some((_, event)) = self.others.pop_front() else { break };
            self.log.write(&event)?;
        }
        Ok(())
    }

    /// Something that is no packet, and known at `now`.
    pub fn keep(&mut self, now: Time, event: Event<'static>) {
        self.others.push_back((now, event));
    }

    /// Keeps the agents' reports since the last time.
    pub fn hear(
        &mut self,
        reports: &Receiver<Result<Report, OsError>>,
        now: Time,
    ) -> Result<(), OsError> {
        for report in reports.try_iter() {
            self.keep(now, Event::Reported(report?));
        }
        Ok(())
    }

    /// Writes down the packets before `until` since the last time, in order.
    fn packets(&mut self, router: &mut Router, until: Time) -> Result<(), OsError> {
        let Recording { log, clock, ahead_ns, kept, bytes, happened, written, .. } = self;
        // The instant of CLOCK_REALTIME at which the run's clock reads zero.
        let origin_ns = clock.origin_ns().saturating_add_signed(*ahead_ns);
        let mut keep = |stamp: u64, packet: &[u8], what: What| {
            let start = bytes.len();
            bytes.extend_from_slice(packet);
            let at = Time::from_nanos(stamp.saturating_sub(origin_ns));
            kept.push(Kept { at, what, start, end: bytes.len() });
        };
        for post in &mut router.posts {
            post.drain(|stamp, seen, packet| keep(stamp, packet, What::Seen(seen)))?;
        }
        router.happened(happened);
        let here = bytes.len();
        kept.extend(happened.drain(..).map(|what| Kept {
            // The clock may have been read by this thread after that one read it.
            at: what.at.max(*written),
            what: What::OnPath(what),
            start: here,
            end: here,
        }));
        kept.sort_by_key(|kept| (kept.at, kept.what.place()));
        *written = until.max(*written);
        let complete = kept.partition_point(|kept| kept.at < until);
        for Kept { at, what, start, end } in kept.drain(..complete) {
            let packet = |pair| Passed { at, pair, bytes: &bytes[start..end] };
            log.write(&match what {
                What::Seen(Seen::Answered(pair)) => Event::Answered(packet(pair)),
                What::Seen(Seen::Arrived(pair, from)) => Event::Arrived(from, packet(pair)),
                What::Seen(Seen::Departed(link)) => Event::Departed(link, packet(0)),
                What::OnPath(Happened { path, source, what, .. }) => {
                    Event::OnPath(at, path, source, what)
                }
                What::Replaced(link, began) => Event::Replaced(link, began),
            })?;
        }
        let written = bytes.len();
        // The kept ones move to the front.
        let mut rest = Vec::new();
        for kept in kept.iter_mut() {
            let start = rest.len();
            rest.extend_from_slice(&bytes[kept.start..kept.end]);
            (kept.start, kept.end) = (start, rest.len());
        }
        *bytes = rest;
        log.pass_on(written as u64)
    }

    /// The queue discipline of a link was replaced, between these two times.
    pub fn replaced(&mut self, link: Direction, began: Time, ended: Time) {
        let here = self.bytes.len();
        let what = What::Replaced(link, began);
        self.kept.push(Kept { at: ended, what, start: here, end: here });
    }

    /// Writes down everything, and returns the states of the kernel's disciplines at that instant:
    /// they counted nothing while the packets were read.
    pub fn finish(&mut self, router: &mut Router) -> Result<States, OsError> {
        let mut before = router.states()?;
        loop {
            self.catch_up(router, Time::NEVER)?;
            let after = router.states()?;
            if after == before {
                return Ok(after);
            }
            before = after;
        }
    }

    /// How far the machine's clock was set since the recording began.
    pub fn clock_was_set(&self) -> Duration {
        Duration::from_nanos(self.ahead_ns.abs_diff(ahead_ns(self.settle)))
    }
}
