//! A run from the side of the command: starts the process whose kernel is the router, follows
//! its file of events, and sees to its end.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use l4s_lab::{AgentCommand, Channel, Frame, Lateness, Ledger, Next, shortest_rtt, slow_source};
use l4s_model::{Direction, FlowId, Scenario, SourceId, UPLINK};
use l4s_observe::{LinkState, Observer};
use l4s_os::OsError;
use l4s_units::{Bytes, Probability, Time};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use serde::Serialize;

use crate::SAMPLE_EVERY;
use crate::console;
use crate::detour::Passages;
use crate::drive::Place;
use crate::event::{Answer, Counters, Ending, Event, QueueState};
use crate::follow::{Counts, Follower};
use crate::qdisc::{DROPPED, WAITING};

/// How often the file of events is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The bytes that are read at once; the same amount is freed after reading.
const CHUNK: usize = 4 << 20;
/// A run in virtual time is given up when that does not advance for so long: a program computes
/// without end, or waits in a loop that neither sleeps nor reads a clock. Looks are counted, and not the time between
/// them, as all of the run may be stopped.
const STANDSTILL: Duration = Duration::from_secs(120);
/// The message of a guest that is short of memory on the host.
const NO_MEMORY: &str = "Kernel mode signal 7";

/// How a run went.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// The outcomes of the packets at the bottleneck, as seen from outside of its queue discipline.
    pub counts: Counts,
    /// The same at the uplink.
    pub uplink: Counts,
    /// The outcomes of the packets on imperfect stretches.
    pub passages: Passages,
    /// Packets that left the bottleneck before the end.
    pub packets: u64,
    /// The counters of the queue disciplines; the names of the uplink's begin with `uplink_`.
    pub counters: Counters,
    /// Settings of the scenario that the kernel does not have, and its replacements.
    pub instead: Vec<String>,
    /// How late departures were, in real time.
    pub lateness: Option<Lateness>,
    /// The flows of programs, by their numbers in the run.
    pub flows: Vec<(FlowId, l4s_flows::Row)>,
    /// Why the run should not be trusted.
    pub unfit: Option<String>,
}

/// Follows a process to its end, and reports every event to `observer`.
pub(crate) fn follow(
    mut scribe: Scribe,
    scenario: &Scenario,
    place: Place,
    instead: Vec<String>,
    observer: &mut dyn Observer<Frame>,
) -> Result<Ran, OsError> {
    let mut telling = Telling::new(scenario, place, observer);
    let mut reader = Reader::new(scribe.events.take());
    let in_virtual_time = place == Place::Guest && !scenario.programs.is_empty();
    let mut waited = Duration::ZERO;
    loop {
        // Data that it wrote before it ended is read after it ended.
        let ended = scribe.ended()?;
        while reader.read()? {
            reader.events(|event| telling.tell(event))?;
            waited = Duration::ZERO;
        }
        match ended {
            None if in_virtual_time && waited > STANDSTILL => {
                return Err(stands_still(scenario));
            }
            None => {
                scribe.wait();
                waited += LOOK_EVERY;
            }
            Some(status) => {
                let Some(ending) = telling.ending.take() else {
                    return Err(scribe.exit_report(status));
                };
                return Ok(telling.conclude(ending, instead));
            }
        }
    }
}

fn stands_still(scenario: &Scenario) -> OsError {
    let names: Vec<_> =
        scenario.programs.iter().map(|program| format!("`{}`", program.name)).collect();
    OsError::Run(format!(
        "virtual time did not advance for {} s: a program computes without end, or waits in a loop that \
         neither sleeps nor reads the clock (programs: {}); `--on kernel` has real time",
        STANDSTILL.as_secs(),
        names.join(", ")
    ))
}

/// A process whose kernel is the router, and which writes down events. It goes with this.
pub(crate) struct Scribe {
    /// Its name, for people.
    who: &'static str,
    child: Child,
    pidfd: OwnedFd,
    console: File,
    events: Option<File>,
}

impl Scribe {
    /// Starts it, and gives it an order. It answers.
    pub fn start(
        who: &'static str,
        command: &AgentCommand,
        order: &impl Serialize,
    ) -> Result<(Scribe, Answer), OsError> {
        let cannot =
            |error: std::io::Error| OsError::machine(format_args!("starting {who}"), error);
        let console: File = memfd_create("console", MemfdFlags::CLOEXEC)
            .map_err(|error| cannot(error.into()))?
            .into();
        let output = || console.try_clone().map(Stdio::from).map_err(cannot);
        let (mut control, theirs) = Channel::pair().map_err(cannot)?;
        let child = Command::new(&command.program)
            .args(&command.args)
            .stdin(Stdio::from(theirs))
            .stdout(output()?)
            .stderr(output()?)
            // A Ctrl-C at the terminal is for the command, with which this one ends.
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
            .map_err(|error| cannot(error.into()))?;
        let mut scribe = Scribe { who, child, pidfd, console, events: None };
        let _ = control.send(order, None);
        let answer = match control.next(true) {
            Ok(Next::Message(Answer::Failed(trouble))) => return Err(trouble.into()),
            Ok(Next::Message(answer)) => answer,
            _ => return Err(scribe.exit_report(None)),
        };
        scribe.events = control.take_file().map(File::from);
        Ok((scribe, answer))
    }

    /// How it ended, if it did.
    fn ended(&mut self) -> Result<Option<Option<ExitStatus>>, OsError> {
        let ended = self.child.try_wait();
        Ok(ended
            .map_err(|error| OsError::machine(format_args!("waiting for {}", self.who), error))?
            .map(Some))
    }

    /// Waits for it to write something, or to end.
    fn wait(&self) {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut end = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let span = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as _ };
        let _ = poll(&mut end, Some(&span));
    }

    /// Why there is no result.
    fn exit_report(&mut self, status: Option<ExitStatus>) -> OsError {
        let status = status.or_else(|| self.child.wait().ok());
        let how = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("ended with exit code {code}"),
            Some((_, Some(signal))) => format!("was killed by signal {signal}"),
            _ => "ended".to_owned(),
        };
        let words = console::tail(&self.console);
        // SIGBUS: a page of the guest that the host could not provide.
        let words = match words.contains(NO_MEMORY) {
            true => format!("this machine had no more memory for it; {words}"),
            false => words,
        };
        OsError::Run(format!("{} {how} before the run was over\n{words}", self.who))
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the file of events while it grows.
struct Reader {
    file: Option<File>,
    bytes: Vec<u8>,
    offset: u64,
}

impl Reader {
    fn new(file: Option<File>) -> Reader {
        Reader { file, bytes: Vec::new(), offset: 0 }
    }

    /// Reads on; false where there is nothing new.
    fn read(&mut self) -> Result<bool, OsError> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let failed = |error| OsError::run("the guest's file of events", error);
        let read = file.take(CHUNK as u64).read_to_end(&mut self.bytes).map_err(failed)?;
        if read == 0 {
            return Ok(false);
        }
        // The machine may have the memory back.
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(&*file, flags, self.offset, read as u64);
        self.offset += read as u64;
        Ok(true)
    }

    /// Passes on every record that is complete.
    fn events(
        &mut self,
        mut take: impl FnMut(Event<'_>) -> Result<(), OsError>,
    ) -> Result<(), OsError> {
        let mut done = 0;
        while let Some((event, length)) = Event::read(&self.bytes[done..])
            .map_err(|error| OsError::run("the guest's file of events", error))?
        {
            take(event)?;
            done += length;
        }
        self.bytes.drain(..done);
        Ok(())
    }
}

/// Reports to an observer.
struct Telling<'a> {
    observer: &'a mut dyn Observer<Frame>,
    follower: Follower,
    ledger: Ledger,
    reports: mpsc::Sender<l4s_lab::Report>,
    samples: bool,
    scenario: &'a Scenario,
    end: Time,
    /// Packets that left before the end, when that is over.
    packets: Option<u64>,
    /// The flows of programs at the end, when that is over.
    flows: Option<Vec<(FlowId, l4s_flows::Row)>>,
    ending: Option<Ending>,
}

impl<'a> Telling<'a> {
    fn new(scenario: &'a Scenario, place: Place, observer: &'a mut dyn Observer<Frame>) -> Self {
        let (reports, told) = mpsc::channel();
        Telling {
            samples: observer.sampling_interval() == Some(SAMPLE_EVERY),
            observer,
            follower: match place {
                Place::Guest => Follower::new(scenario),
                Place::Host => Follower::new(scenario).in_real_time(scenario, place.settle()),
            },
            ledger: Ledger::new(scenario, told),
            reports,
            scenario,
            end: Time::ZERO + scenario.duration,
            packets: None,
            flows: None,
            ending: None,
        }
    }

    fn tell(&mut self, event: Event<'_>) -> Result<(), OsError> {
        match event {
            // Events after the end are only counted.
            Event::Arrived(from, packet) if packet.at > self.end => {
                self.ends();
                self.follower.arrived(from, packet, &mut Nobody);
            }
            Event::Departed(link, packet) if packet.at > self.end => {
                self.ends();
                self.follower.departed(link, packet, &mut Nobody);
            }
            Event::Answered(packet) if packet.at > self.end => {}
            Event::Arrived(from, packet) => self.follower.arrived(from, packet, self.observer),
            Event::Departed(link, packet) => self.follower.departed(link, packet, self.observer),
            Event::Answered(packet) => self.follower.answered(packet, self.observer),
            Event::OnPath(at, ..) if at > self.end => {}
            Event::OnPath(at, path, source, what) => {
                self.observer.at_path(path, SourceId::new(source), what, at);
            }
            Event::Replaced(link, began) => self.follower.replaced(link, began, self.observer),
            Event::Reported(report) => {
                // The ledger has the other end, and lives as long as this.
                let _ = self.reports.send(report);
                self.ledger.pass_on(self.observer);
            }
            Event::Waiting => {}
            Event::Queue(at, link, uplink) => self.sample(at, link, uplink),
            Event::Done(ending) => self.ending = Some(ending),
            Event::Failed(trouble) => return Err(trouble.into()),
        }
        Ok(())
    }

    /// The run has reached its end: keeps the counts of that time.
    fn ends(&mut self) {
        let Telling { follower, packets, flows, .. } = self;
        packets.get_or_insert(follower.counts(Direction::Down).departed);
        flows.get_or_insert_with(|| follower.recognised().collect());
    }

    fn sample(&mut self, at: Time, link: QueueState, uplink: Option<QueueState>) {
        if !self.samples {
            return;
        }
        let state = |state: QueueState| LinkState {
            packets: state.packets,
            bytes: Bytes::new(state.bytes.into()),
            owed: Bytes::ZERO,
            base: state.base.map(Probability::from_f64),
        };
        if let Some(uplink) = uplink {
            self.observer.sample_uplink(state(uplink), at);
        }
        self.observer.sample_link(state(link), at);
        self.ledger.sample(at, self.observer);
    }

    fn conclude(self, ending: Ending, mut instead: Vec<String>) -> Ran {
        self.ledger.conclude(self.end, self.observer);
        let Telling { follower, scenario, .. } = self;
        let Ending { mut counters, uplink, passages, of_servers, unheeded, unfit } = ending;
        instead.extend(unheeded);
        let [counts, counts_up] =
            [Direction::Down, Direction::Up].map(|link| follower.counts(link));
        let of_uplink = |why| format!("uplink: {why}");
        let miscounted_up =
            uplink.as_ref().and_then(|kernel| miscounted(&counts_up, kernel)).map(of_uplink);
        let lateness = follower.lateness(Direction::Down);
        let lateness_up = follower.lateness(Direction::Up);
        let end = Time::ZERO + scenario.duration;
        let slow = || {
            lateness.as_ref()?;
            slow_source(scenario, end, |pair| match of_servers.get(pair) {
                // Of others some are lost before they are seen.
                Some(&came) if came > 0 => came,
                _ => follower.received(pair),
            })
        };
        let late = |lateness: &Option<Lateness>, place: &str| {
            let why = lateness.as_ref()?.unfit(shortest_rtt(scenario))?;
            Some(format!("at the {place}: {why}"))
        };
        let unfit = miscounted(&counts, &counters)
            .or(miscounted_up)
            .or(unfit)
            .or_else(slow)
            .or_else(|| late(&lateness, "bottleneck"))
            .or_else(|| late(&lateness_up, UPLINK));
        let uplink = uplink.into_iter().flatten();
        counters.extend(uplink.map(|(name, count)| (format!("{UPLINK}_{name}"), count)));
        Ran {
            counts,
            uplink: counts_up,
            passages,
            packets: self.packets.unwrap_or(counts.departed),
            instead,
            lateness,
            unfit,
            flows: self.flows.unwrap_or_else(|| follower.recognised().collect()),
            counters,
        }
    }
}

/// How the packets that were seen at a link differ from those that the kernel counted.
fn miscounted(seen: &Counts, counters: &Counters) -> Option<String> {
    let kernel = |name| counters.get(name).copied().unwrap_or(0);
    // Packets that neither were seen to leave nor wait at the end were dropped at the very end.
    let left_over = seen.left_over();
    let dropped = seen.dropped + left_over - kernel(WAITING).min(left_over);
    (dropped != kernel(DROPPED) || seen.unknown > 0).then(|| {
        format!(
            "the kernel counted {} drops where {dropped} were seen, and {} packets left that had \
             not been seen to come",
            kernel(DROPPED),
            seen.unknown
        )
    })
}

/// Listens to nothing.
struct Nobody;

impl Observer<Frame> for Nobody {}
