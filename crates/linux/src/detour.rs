//! The part of packets' way that is in this process: the imperfect stretches (`[[path]]`), with the code
//! of the simulator, and the base RTT where the kernel has no `netem`.
//!
//! ```text
//!  router ─▶ before ══ before-end ─▶ thread ─▶ before-end ══ before ─▶ router
//! ```
//!
//! A thread has an end of a cable ([`Wire`]) for each place ([`Stop`]). When a packet has come to the end
//! of a stretch, the thread writes it to the cable that it was read from. A packet comes at the time
//! that the kernel has stamped on it.
//!
//! In virtual time the thread waits for a packet or an absolute time. It neither reads the clock, which
//! would take 256 ns, nor a socket without packets, which would take 1 us. In real time the kernel wakes
//! it some microseconds late. So it looks again and again shortly before something is due, and
//! [`Lateness`] says how late packets were.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use l4s_bottleneck::{Imperfect, Wayside, Where};
use l4s_lab::{
    Buffer, End, Frame, Lateness, Lines, Meter, Pool, Stalls, Watchdog, end_of, pair_of,
};
use l4s_model::{Change, FlowId, Ip, PathEvent, Scenario, SourceId};
use l4s_observe::Traced;
use l4s_os::netlink::Netlink;
use l4s_os::{Clock, OsError, Realtime};
use l4s_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use serde::{Deserialize, Serialize};

use crate::drive::Place;
use crate::record::ahead_ns;
use crate::ways::Stop;
use crate::wire::{BATCH, LONGEST, Wire};

/// How long it waits at most before it looks whether it should stop.
const ATTENTION: Duration = Duration::from_millis(10);

/// Something that happened to a packet on an imperfect stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Happened {
    /// When.
    pub at: Time,
    /// The place of the path in the scenario.
    pub path: u16,
    /// Whose packet it was.
    pub source: u16,
    /// The event.
    pub what: PathEvent,
}

/// The outcomes of the packets that took a detour.
///
/// `came` and `copied` are the sum of the others, and of the packets on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Passages {
    /// Came.
    pub came: u64,
    /// Were made of others by an imperfect stretch.
    pub copied: u64,
    /// Were lost on one.
    pub lost: u64,
    /// Went on.
    pub forwarded: u64,
    /// Were not taken by the kernel.
    pub refused: u64,
    /// Were of no pair.
    pub stray: u64,
}

impl Passages {
    /// Packets on their way.
    pub fn under_way(&self) -> u64 {
        self.came + self.copied - self.lost - self.forwarded - self.refused - self.stray
    }
}

/// How it went.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Detoured {
    /// The outcomes of all packets.
    pub passages: Passages,
    /// Packets from the server of each pair that came to a stretch before the links.
    pub of_servers: Vec<u64>,
    /// How late packets were, and how long nothing happened, in real time.
    pub times: Option<(Lateness, Stalls)>,
}

/// The detours of a run. They go with it.
#[derive(Debug)]
pub(crate) struct Detour {
    line: Option<Line>,
    happened: Arc<Mutex<Vec<Happened>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Detoured, OsError>>>,
}

impl Detour {
    /// Makes the cables to these places in this process's network namespace; `None` where none is a
    /// detour.
    pub fn new(
        scenario: &Scenario,
        stops: &[Stop],
        place: Place,
        netlink: &mut Netlink,
    ) -> Result<Option<Detour>, OsError> {
        let ipv6 = scenario.kernel.ip == Ip::V6;
        let mut wires = Vec::new();
        for stop in stops.iter().filter(|stop| !stop.is_link()) {
            wires.push((*stop, Wire::lay(stop.device(), ipv6, netlink)?));
        }
        if wires.is_empty() {
            return Ok(None);
        }
        let rtts = scenario.groups.iter().map(|group| group.rtt);
        let rtts = rtts.chain(scenario.udp.iter().map(|_| Duration::ZERO));
        let happened = Arc::<Mutex<Vec<Happened>>>::default();
        let line = Line {
            clock: Clock::start(),
            place,
            wires,
            imperfect: Imperfect::new(scenario),
            lines: Lines::new(rtts),
            changes: scenario.changes.iter().rev().cloned().collect(),
            beside: Beside {
                pool: Pool::new(Frame::START + LONGEST, usize::MAX),
                passages: Passages::default(),
                happened: Vec::new(),
            },
            came: Vec::new(),
            of_servers: vec![0; scenario.roster().sources()],
            late: Meter::new(),
            told: Arc::clone(&happened),
        };
        Ok(Some(Detour { line: Some(line), happened, stop: Arc::default(), thread: None }))
    }

    /// Starts, with the clock of the run.
    pub fn start(&mut self, clock: Clock) -> Result<(), OsError> {
        let Some(line) = self.line.take() else { return Ok(()) };
        let line = Line { clock, ..line };
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new()
            .name("l4s-detour".to_owned())
            .spawn(move || line.run(&stop))
            .map_err(|error| OsError::machine("a thread", error))?;
        self.thread = Some(thread);
        Ok(())
    }

    /// The events since the last call, in order, in exchange for an empty list.
    pub fn happened(&self, list: &mut Vec<Happened>) {
        std::mem::swap(&mut *lock(&self.happened), list);
    }

    /// Ends, and says how it went.
    pub fn stop(&mut self) -> Result<Detoured, OsError> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(Detoured::default()) };
        thread.join().unwrap_or_else(|_| {
            Err(OsError::Run("the thread with the imperfect stretches panicked".to_owned()))
        })
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        // A caller that needs the result has called it before.
        let _ = self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the thread.
#[derive(Debug)]
struct Line {
    clock: Clock,
    place: Place,
    wires: Vec<(Stop, Wire)>,
    imperfect: Imperfect<Frame>,
    /// The base RTT of each pair.
    lines: Lines<Frame>,
    /// The next one last.
    changes: Vec<Change>,
    beside: Beside,
    /// Packets that were read, when they came, and where.
    came: Vec<(Time, Stop, Frame)>,
    of_servers: Vec<u64>,
    late: Meter,
    told: Arc<Mutex<Vec<Happened>>>,
}

/// The state of the thread that stretches use.
#[derive(Debug)]
struct Beside {
    pool: Pool,
    passages: Passages,
    /// Events that the router does not have yet.
    happened: Vec<Happened>,
}

impl Beside {
    /// The packet of these bytes at a place, and whose it is.
    fn admit(&mut self, stop: Stop, packet: &[u8], of_servers: &mut [u64]) -> Option<Frame> {
        self.passages.came += 1;
        let mut buffer = self.pool.take();
        let end = Frame::put(&mut buffer, packet);
        let mut frame = match Frame::read(buffer, end) {
            Ok(frame) => frame,
            Err((buffer, _)) => return self.stray(buffer),
        };
        let sender = frame.ip().addresses().0;
        let pair = pair_of(sender);
        let (Some(from), Some(of_server)) = (end_of(sender), of_servers.get_mut(usize::from(pair)))
        else {
            return self.stray(frame.into_buffer());
        };
        let is_before_links = matches!(stop, Stop::Before | Stop::Up);
        *of_server += u64::from(from == End::Server && is_before_links);
        frame.belongs_to(FlowId::default(), SourceId::new(pair), from);
        Some(frame)
    }

    fn stray(&mut self, buffer: Buffer) -> Option<Frame> {
        self.passages.stray += 1;
        self.pool.give(buffer);
        None
    }
}

impl Wayside<Frame> for Beside {
    fn happened(&mut self, path: u16, packet: &Frame, what: PathEvent, now: Time) {
        let source = packet.group().get();
        self.happened.push(Happened { at: now, path, source, what });
    }

    fn copy(&mut self, packet: &Frame) -> Option<Frame> {
        self.passages.copied += 1;
        Some(packet.copy_into(self.pool.take()))
    }

    fn lost(&mut self, packet: Frame) {
        self.passages.lost += 1;
        self.pool.give(packet.into_buffer());
    }
}

impl Line {
    fn run(mut self, stop: &AtomicBool) -> Result<Detoured, OsError> {
        let failed = |error| OsError::run("imperfect stretches", error);
        let mut wait = match self.place {
            Place::Guest => Wait::in_virtual_time().map_err(failed)?,
            Place::Host => Wait::in_real_time(self.clock),
        };
        let ahead_ns = ahead_ns(self.place.settle());
        // The instant of CLOCK_REALTIME at which the run's clock reads zero.
        let origin_ns = self.clock.origin_ns().saturating_add_signed(ahead_ns);
        while !stop.load(Ordering::Relaxed) {
            let (now, readable) =
                wait.until(self.due(), self.clock, &self.wires).map_err(failed)?;
            self.take(readable, origin_ns).map_err(failed)?;
            self.advance(now).map_err(failed)?;
            if !self.beside.happened.is_empty() {
                lock(&self.told).append(&mut self.beside.happened);
            }
        }
        for (_, wire) in &self.wires {
            match wire.overflowed().map_err(failed)? {
                0 => {}
                lost => {
                    let why = format!("{lost} packets found no room before an imperfect stretch");
                    return Err(OsError::Run(why));
                }
            }
        }
        let (under_way, buffers) = (self.beside.passages.under_way(), self.beside.pool.out());
        if under_way != buffers as u64 {
            return Err(OsError::Run(format!(
                "{under_way} packets are on imperfect stretches by their counters, and {buffers} are"
            )));
        }
        let times = wait.stalls().map(|stalls| (self.late.lateness(), stalls));
        let Line { beside, of_servers, .. } = self;
        Ok(Detoured { passages: beside.passages, of_servers, times })
    }

    /// When something is due.
    fn due(&self) -> Time {
        let stretches = Where::ALL.iter().map(|at| self.imperfect.next(*at));
        stretches.fold(self.lines.next().min(self.next_change()), Time::min)
    }

    fn next_change(&self) -> Time {
        self.changes.last().map_or(Time::NEVER, |change| change.time)
    }

    /// Processes due events up to `now`, in order of time.
    fn advance(&mut self, now: Time) -> io::Result<()> {
        loop {
            let due = self.due();
            if due > now {
                return Ok(());
            }
            // The order of the simulator: changes, the lines, and stretches.
            if self.next_change() == due {
                self.change();
            } else if self.lines.next() == due {
                self.back(due)?;
            } else {
                for at in Where::ALL {
                    if self.imperfect.next(at) == due {
                        self.come_out(at, due)?;
                    }
                }
            }
        }
    }

    #[cold]
    fn change(&mut self) {
        let Some(change) = self.changes.pop() else { return };
        for (group, rtt) in &change.rtts {
            self.lines.set_delay(*group, *rtt);
        }
        for (path, change) in &change.paths {
            self.imperfect.change(*path, change);
        }
    }

    /// Reads packets from these wires. It reads few at a time, as packets that are due would be late otherwise.
    /// Events that were due before a packet came happen before it enters.
    fn take(&mut self, readable: [bool; Stop::DETOURS], origin_ns: u64) -> io::Result<()> {
        let mut came = std::mem::take(&mut self.came);
        let most = match self.place {
            // Looking for a second one takes time.
            Place::Guest => 1,
            Place::Host => BATCH,
        };
        let wires = self.wires.iter_mut().zip(readable).filter(|(_, readable)| *readable);
        for ((stop, wire), _) in wires {
            let Line { beside, of_servers, .. } = self;
            wire.read(most, |stamp, packet| {
                let now = Time::from_nanos(stamp.saturating_sub(origin_ns));
                if let Some(frame) = beside.admit(*stop, packet, of_servers) {
                    came.push((now, *stop, frame));
                }
            })?;
        }
        came.sort_by_key(|(now, ..)| *now);
        for (now, stop, frame) in came.drain(..) {
            self.advance(now)?;
            self.enter(stop, frame, now)?;
        }
        self.came = came;
        Ok(())
    }

    /// A packet comes to a place.
    fn enter(&mut self, stop: Stop, frame: Frame, now: Time) -> io::Result<()> {
        let Line { imperfect, lines, beside, .. } = self;
        let at = match stop {
            Stop::Before => Where::Before,
            Stop::Behind => Where::Behind,
            Stop::Up => Where::Up,
            Stop::Back | Stop::Link | Stop::Uplink => {
                lines.push(frame.group().index(), frame, now);
                return Ok(());
            }
        };
        imperfect.enter(at, frame, now, beside);
        // One that is not delayed is through.
        self.come_out(at, now)
    }

    /// Packets that have come to the end of an imperfect place go on.
    fn come_out(&mut self, at: Where, now: Time) -> io::Result<()> {
        loop {
            let Line { imperfect, beside, .. } = self;
            let Some(frame) = imperfect.out(at, now, beside) else { return Ok(()) };
            let stop = match at {
                Where::Before => Stop::Before,
                Where::Behind => Stop::Behind,
                Where::Up => Stop::Up,
            };
            self.forward(stop, frame, now)?;
        }
    }

    /// A packet has its base RTT behind it.
    fn back(&mut self, due: Time) -> io::Result<()> {
        match self.lines.pop() {
            Some((_, frame)) => self.forward(Stop::Back, frame, due),
            None => Ok(()),
        }
    }

    /// A packet that is due then goes on.
    fn forward(&mut self, stop: Stop, frame: Frame, due: Time) -> io::Result<()> {
        if self.place == Place::Host {
            self.late.record(self.clock.now().since(due));
        }
        let wire = self.wires.iter().find(|(other, _)| *other == stop);
        let taken = match wire {
            Some((_, wire)) => wire.write(frame.packet())?,
            None => false,
        };
        let Beside { pool, passages, .. } = &mut self.beside;
        if taken {
            passages.forwarded += 1;
        } else {
            passages.refused += 1;
        }
        pool.give(frame.into_buffer());
        Ok(())
    }
}

/// How the thread waits for packets and times.
enum Wait {
    /// For an absolute time: with a timeout the kernel counts from when it was called.
    Virtual {
        timer: OwnedFd,
        /// The time for which that is set.
        set: Time,
        /// When it looks whether it should stop.
        attention: Time,
    },
    /// In short pieces, and not at all shortly before something is due.
    Real { realtime: Box<Realtime>, watchdog: Watchdog },
}

impl Wait {
    fn in_virtual_time() -> io::Result<Wait> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Wait::Virtual { timer, set: Time::NEVER, attention: Time::ZERO + ATTENTION })
    }

    fn in_real_time(clock: Clock) -> Wait {
        let now = clock.now();
        let realtime = Box::new(Realtime::enter(now));
        Wait::Real { realtime, watchdog: Watchdog::new(now) }
    }

    /// Waits for packets until something is `due`, and for [`ATTENTION`] at most. Returns a time that is
    /// over, up to which things are due, and which wires have packets.
    fn until<'a>(
        &'a mut self,
        due: Time,
        clock: Clock,
        wires: &'a [(Stop, Wire)],
    ) -> io::Result<(Time, [bool; Stop::DETOURS])> {
        // Behind the wires there is room for a timer.
        let files = |last: BorrowedFd<'a>| -> [PollFd<'a>; Stop::DETOURS + 1] {
            core::array::from_fn(|number| {
                let file = wires.get(number).map_or(last, |(_, wire)| wire.as_fd());
                PollFd::from_borrowed_fd(file, PollFlags::IN)
            })
        };
        let readable = |files: &[PollFd<'_>]| {
            let is = |number| files.get(number).is_some_and(is_readable) && number < wires.len();
            core::array::from_fn(is)
        };
        match self {
            Wait::Virtual { timer, set, attention } => {
                let at = due.min(*attention);
                if *set != at {
                    let ns = clock.origin_ns().saturating_add(at.as_nanos());
                    let once = Itimerspec { it_interval: timespec(0), it_value: timespec(ns) };
                    timerfd_settime(&*timer, TimerfdTimerFlags::ABSTIME, &once)?;
                    *set = at;
                }
                let mut files = files(OwnedFd::as_fd(timer));
                wait(&mut files[..=wires.len()], None)?;
                let is_over = is_readable(&files[wires.len()]);
                if is_over && at == *attention {
                    *attention += ATTENTION;
                }
                // Packets have their times with them.
                Ok((if is_over { at } else { Time::ZERO }, readable(&files)))
            }
            Wait::Real { realtime, watchdog } => {
                let now = clock.now();
                watchdog.look(now, ATTENTION);
                realtime.take_turns(now);
                let most = due.since(now).min(ATTENTION).saturating_sub(realtime.spin());
                let mut files = files(wires[0].1.as_fd());
                wait(&mut files[..wires.len()], Some(most))?;
                Ok((clock.now(), readable(&files)))
            }
        }
    }

    /// How long the thread did nothing though it would have, in real time.
    fn stalls(&self) -> Option<Stalls> {
        match self {
            Wait::Virtual { .. } => None,
            Wait::Real { watchdog, .. } => Some(watchdog.stalls()),
        }
    }
}

/// Whether there is something to read; an error is, too.
fn is_readable(file: &PollFd<'_>) -> bool {
    !file.revents().is_empty()
}

/// Waits until one of these is readable, but not longer than that.
fn wait(files: &mut [PollFd<'_>], most: Option<Duration>) -> io::Result<()> {
    let most = most.map(|most| timespec(most.as_nanos()));
    match poll(files, most.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
