//! The first process of the guest: builds the network of a scenario, runs it, and writes down what
//! happens.
//!
//! It is this program, started by the guest's kernel from the host's files. When it is done it
//! switches the guest off.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::Receiver;

use crate::SAMPLE_EVERY;
use l4s_lab::{AgentCommand, Clock, Lab, LabError, LabOptions, LabPlan, Report, namespace, now_ns};
use l4s_scenario::{Change, Ip, Link, Plan, Scenario};
use l4s_units::{Duration, Time};
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use rustix::time::ClockId;

use crate::boot::{EVENTS, FOLDER, SCENARIO};
use crate::event::{Counters, Event, Passed, Trouble};
use crate::qdisc::{DROPPED, Qdisc, REPLACED};
use crate::router::Router;

/// Between the order to start and the start.
const HEAD_START: Duration = Duration::from_millis(100);
/// How often packets are fetched: soon enough that they take little memory.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Written back to the host at least so often, in bytes.
const WRITE_BACK: u64 = 8 << 20;

/// The life of the guest. It does not return where it is what it should be: the guest's process 1.
pub fn main(agent_args: Vec<std::ffi::OsString>) -> std::process::ExitCode {
    if std::process::id() != 1 {
        eprintln!("error: this is the first process of a guest kernel, which starts it");
        return std::process::ExitCode::from(2);
    }
    if let Err(error) = live(agent_args) {
        // On the guest's console, whose end the host shows.
        eprintln!("l4s: {error}");
    }
    let _ = reboot(RebootCommand::PowerOff);
    std::process::ExitCode::FAILURE
}

fn live(agent_args: Vec<std::ffi::OsString>) -> Result<(), LabError> {
    let mounted = |what: &str, kind: &str, on: &str| {
        mount(what, on, kind, MountFlags::empty(), None)
            .map_err(|error| LabError::Run(format!("mounting {kind} on {on}: {error}")))
    };
    mounted("proc", "proc", "/proc")?;
    mounted("dev", "devtmpfs", "/dev")?;
    // The rest of the host's files cannot be written.
    let folder = std::ffi::CString::new(FOLDER).unwrap_or_default();
    mount(FOLDER, FOLDER, "hostfs", MountFlags::empty(), Some(folder.as_c_str()))
        .map_err(|error| LabError::Run(format!("mounting the folder of the run: {error}")))?;
    let file = OpenOptions::new()
        .append(true)
        .open(Path::new(FOLDER).join(EVENTS))
        .map_err(|error| LabError::Run(format!("the file of events: {error}")))?;
    let mut log = Log { file: BufWriter::with_capacity(1 << 16, file), unsynced: 0 };
    if let Err(error) = run(agent_args, &mut log) {
        let machine = matches!(error, LabError::Machine(_));
        log.write(&Event::Failed(Trouble { machine, why: error.to_string() }))?;
    }
    log.finish()
}

fn run(agent_args: Vec<std::ffi::OsString>, log: &mut Log) -> Result<(), LabError> {
    let path = Path::new(FOLDER).join(SCENARIO);
    let text = std::fs::read_to_string(path)
        .map_err(|error| LabError::Run(format!("the scenario: {error}")))?;
    let plan = Plan::parse(SCENARIO, &text, &[])
        .map_err(|faults| LabError::Run(format!("the scenario as it was handed over: {faults}")))?;
    let scenario = &plan.points[0].scenario;
    seed_chance(scenario.seed)?;
    for kind in scenario.groups.iter().map(|group| group.cc.kind()) {
        if !l4s_lab::has_control(kind) {
            return Err(LabError::Machine(format!(
                "this kernel has no congestion control `{kind}`: `make linux` builds one that has"
            )));
        }
    }

    // Devices copy these when they are made.
    namespace::quieten_ipv6(scenario.kernel.ip == Ip::V6)?;
    let program = std::env::current_exe()
        .map_err(|error| LabError::Run(format!("where this program is: {error}")))?;
    let agent = AgentCommand { program, args: agent_args };
    let plan = plan_of(scenario)?;
    let mut lab = Lab::build(&plan, &agent)?;
    let ipv6 = scenario.kernel.ip == Ip::V6;
    let aqm = Qdisc::new(&scenario.aqm)?;
    let mut router = Router::new(&plan, &scenario.link, &aqm, ipv6)?;
    let reports = lab.take_reports();
    let clock = Clock::starting_in(HEAD_START);
    lab.start(clock);
    // A sleep ends when it is to end, not with the next timer of another within 50 us.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
        .map_err(|error| LabError::Run(format!("precise timers: {error}")))?;
    let mut recording = Recording::new(clock, log);
    let end = Time::ZERO + scenario.duration;
    let mut changes = Changes::new(scenario)?;
    let mut next_sample = Time::ZERO + SAMPLE_EVERY;
    let mut next_look = Time::ZERO;
    loop {
        while changes.next() <= next_look {
            sleep_until(clock, changes.next())?;
            changes.make(&mut router, &mut recording, clock)?;
        }
        sleep_until(clock, next_look)?;
        recording.packets(&mut router, clock.now())?;
        recording.reports(&reports)?;
        if next_look >= next_sample {
            let (state, _) = router.state()?;
            recording.log.write(&Event::Queue(next_sample, state))?;
            next_sample += SAMPLE_EVERY;
        }
        if next_look >= end {
            break;
        }
        next_look = (next_look + LOOK_EVERY).min(end);
    }
    let counters = recording.last_packets(&mut router, &mut changes)?;
    lab.stop();
    recording.reports(&reports)?;
    recording.log.write(&Event::Done(counters))
}

/// What becomes of the bottleneck in mid-run. Paths are their clients' concern.
struct Changes {
    link: Link,
    /// The next one last.
    to_come: Vec<(Change, Option<Qdisc>)>,
    /// Whether a discipline was replaced.
    replaced: bool,
}

impl Changes {
    fn new(scenario: &Scenario) -> Result<Changes, LabError> {
        let with_qdisc = |change: &Change| {
            let aqm = change.aqm.as_ref().map(Qdisc::new).transpose()?;
            Ok::<_, LabError>((change.clone(), aqm))
        };
        let to_come = scenario.changes.iter().rev().map(with_qdisc).collect::<Result<_, _>>()?;
        Ok(Changes { link: scenario.link.clone(), to_come, replaced: false })
    }

    fn next(&self) -> Time {
        self.to_come.last().map_or(Time::NEVER, |(change, _)| change.time)
    }

    /// Makes the next one, at its time.
    fn make(
        &mut self,
        router: &mut Router,
        recording: &mut Recording<'_>,
        clock: Clock,
    ) -> Result<(), LabError> {
        let Some((change, aqm)) = self.to_come.pop() else { return Ok(()) };
        if let Some(rate) = change.rate {
            self.link.rate = rate;
            router.set_link(&self.link)?;
        }
        if let Some(aqm) = aqm {
            let began = clock.now();
            router.replace_aqm(&aqm)?;
            recording.replaced(began, clock.now());
            self.replaced = true;
        }
        Ok(())
    }

    /// What the queue disciplines counted.
    fn counters(&self, router: &mut Router) -> Result<Counters, LabError> {
        let (_, mut counters) = router.state()?;
        if self.replaced {
            let own = counters.get(DROPPED).copied().unwrap_or(0);
            let all = router.dropped()?;
            counters.insert(REPLACED.to_owned(), all.saturating_sub(own));
            counters.insert(DROPPED.to_owned(), all);
        }
        Ok(counters)
    }
}

/// What a scenario means for the agents.
pub(crate) fn plan_of(scenario: &Scenario) -> Result<LabPlan, LabError> {
    let options = LabOptions {
        ipv6: scenario.kernel.ip == Ip::V6,
        cables: true,
        sample_every: SAMPLE_EVERY,
        ..LabOptions::default()
    };
    LabPlan::new(scenario, |group| group.cc.kind().to_owned(), &options)
}

/// Chance comes from the seed alone: the guest's kernel gets none from the machine.
#[allow(unsafe_code)]
fn seed_chance(seed: u64) -> Result<(), LabError> {
    let failed = |error: std::io::Error| LabError::Run(format!("/dev/urandom: {error}"));
    let file = OpenOptions::new().write(true).open("/dev/urandom").map_err(failed)?;
    // `struct rand_pool_info`: bits, bytes, and the bytes.
    let mut info = [256u32.to_ne_bytes(), 32u32.to_ne_bytes()].concat();
    info.extend(seed.to_le_bytes().repeat(4));
    // _IOW('R', 0x03, int[2]) of linux/random.h.
    const RNDADDENTROPY: libc::c_ulong = 0x4008_5203;
    // SAFETY: the call reads the structure, whose bytes follow its two numbers as these say.
    let done = unsafe {
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&file), RNDADDENTROPY as _, info.as_ptr())
    };
    if done == 0 { Ok(()) } else { Err(failed(std::io::Error::last_os_error())) }
}

fn sleep_until(clock: Clock, at: Time) -> Result<(), LabError> {
    let ns = clock.origin_ns() + at.as_nanos();
    let until = rustix::time::Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    };
    loop {
        match rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &until) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(LabError::Run(format!("waiting: {error}"))),
        }
    }
}

/// The file of events.
struct Log {
    file: BufWriter<File>,
    unsynced: u64,
}

impl Log {
    fn write(&mut self, event: &Event<'_>) -> Result<(), LabError> {
        event.write(&mut self.file).map_err(full)
    }

    /// Lets the host have what there is.
    fn pass_on(&mut self, bytes: u64) -> Result<(), LabError> {
        self.unsynced += bytes;
        if self.unsynced < WRITE_BACK {
            return Ok(());
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<(), LabError> {
        self.unsynced = 0;
        self.file.flush().and_then(|()| self.file.get_ref().sync_data()).map_err(full)
    }
}

fn full(error: std::io::Error) -> LabError {
    LabError::Run(format!("writing down what happens: {error}"))
}

/// Something that was seen; a packet is in a buffer of many.
struct Kept {
    at: Time,
    what: What,
    start: usize,
    end: usize,
}

/// What happened. Of one instant, a packet's arrival comes before its departure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A packet of a pair arrived.
    Arrived(u16),
    /// A packet left.
    Departed,
    /// The queue discipline was replaced, which began at that time.
    Replaced(Time),
}

/// Puts what was seen in order of time.
struct Recording<'a> {
    log: &'a mut Log,
    /// The instant of CLOCK_REALTIME at which the run's clock reads zero.
    origin_ns: u64,
    kept: Vec<Kept>,
    bytes: Vec<u8>,
}

impl<'a> Recording<'a> {
    fn new(clock: Clock, log: &'a mut Log) -> Self {
        // Packets are stamped with the one, all else counts by the other; in virtual time there is
        // nothing between two readings.
        let ahead = now_ns(libc::CLOCK_REALTIME) - now_ns(libc::CLOCK_MONOTONIC);
        let origin_ns = clock.origin_ns() + ahead;
        Recording { log, origin_ns, kept: Vec::new(), bytes: Vec::new() }
    }

    /// Writes down the packets since the last time, in order: those before `now`. Later ones, which
    /// came while this one reads, are kept for the next time.
    fn packets(&mut self, router: &mut Router, now: Time) -> Result<(), LabError> {
        let Recording { log, origin_ns, kept, bytes } = self;
        let mut keep = |stamp: u64, packet: &[u8], what: What| {
            let start = bytes.len();
            bytes.extend_from_slice(packet);
            let at = Time::from_nanos(stamp.saturating_sub(*origin_ns));
            kept.push(Kept { at, what, start, end: bytes.len() });
        };
        for (pair, tap) in (0..).zip(&mut router.arrivals) {
            tap.drain(|stamp, packet| keep(stamp, packet, What::Arrived(pair)))?;
        }
        router.departures.drain(|stamp, packet| keep(stamp, packet, What::Departed))?;
        kept.sort_by_key(|kept| (kept.at, kept.what));
        let complete = kept.partition_point(|kept| kept.at < now);
        for Kept { at, what, start, end } in kept.drain(..complete) {
            let packet = |pair| Passed { at, pair, bytes: &bytes[start..end] };
            log.write(&match what {
                What::Arrived(pair) => Event::Arrived(packet(pair)),
                What::Departed => Event::Departed(packet(0)),
                What::Replaced(began) => Event::Replaced(began),
            })?;
        }
        let written = bytes.len();
        // What is kept moves to the front.
        let mut rest = Vec::new();
        for kept in kept.iter_mut() {
            let start = rest.len();
            rest.extend_from_slice(&bytes[kept.start..kept.end]);
            (kept.start, kept.end) = (start, rest.len());
        }
        *bytes = rest;
        log.pass_on(written as u64)
    }

    /// The queue discipline was replaced, between these two times.
    fn replaced(&mut self, began: Time, ended: Time) {
        let here = self.bytes.len();
        let what = What::Replaced(began);
        self.kept.push(Kept { at: ended, what, start: here, end: here });
    }

    /// Writes down all packets, and gives what the queue discipline had counted at that instant:
    /// it counted nothing while they were read.
    fn last_packets(
        &mut self,
        router: &mut Router,
        changes: &mut Changes,
    ) -> Result<Counters, LabError> {
        let mut before = router.state()?;
        loop {
            self.packets(router, Time::NEVER)?;
            let after = router.state()?;
            if after == before {
                return changes.counters(router);
            }
            before = after;
        }
    }

    /// Writes down what agents said since the last time.
    fn reports(&mut self, reports: &Receiver<Result<Report, LabError>>) -> Result<(), LabError> {
        for report in reports.try_iter() {
            self.log.write(&Event::Told(report?))?;
        }
        Ok(())
    }
}
