//! A run from the side of the command: starts the guest, follows what it writes down, and sees to
//! its end.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use l4s_bottleneck::Downloads;
use l4s_cc::WantedEcn;
use l4s_lab::{AgentCommand, Channel, Frame, LabError, Ledger, Next};
use l4s_measure::{LinkState, Observer};
use l4s_scenario::{EcnMode, Group, Point, Scenario, show};
use l4s_units::{Bytes, Probability, Time};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;

use crate::boot::{Answer, Order};
use crate::cores::Cores;
use crate::event::{Counters, Event};
use crate::follow::{Counts, Follower};
use crate::kernel::Kernel;
use crate::qdisc::{DROPPED, Qdisc, WAITING};
use crate::{SAMPLE_EVERY, guest};

/// How often the file of events is looked at.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// What is read at once; as much is given back to the machine when it was read.
const CHUNK: usize = 4 << 20;
/// What a guest says that is short of memory on the host.
const NO_MEMORY: &str = "Kernel mode signal 7";
/// What is shown of the end of the guest's console.
const LAST_WORDS: usize = 2500;
/// Memory of the guest: the kernel, its program, and what each flow and each agent takes.
const MEMORY_MIB: u64 = 1024;
const FLOWS_PER_MIB: u64 = 8;
/// Few of them are open at a time; of each that was, something is left for a minute.
const DOWNLOADS_PER_MIB: u64 = 64;
const MIB_PER_PAIR: u64 = 8;

/// The substrate: a kernel, and how this program takes part in it.
#[derive(Debug)]
pub struct Virtual {
    /// The kernel.
    pub kernel: Kernel,
    /// Starts this program as [`crate::boot::main`].
    pub boot: AgentCommand,
    /// The arguments with which it is [`crate::guest::main`].
    pub guest: Vec<String>,
    cores: Cores,
}

/// How a run went.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// What became of the packets, as seen from outside of the queue discipline.
    pub counts: Counts,
    /// What the queue discipline counted itself.
    pub counters: Counters,
    /// Settings of the scenario that the kernel does not have, and what it has instead.
    pub instead: Vec<String>,
    /// Why the run should not be trusted.
    pub unfit: Option<String>,
}

/// Whether a kernel can run a scenario at all. Gives what it has instead of some settings.
pub fn check(scenario: &Scenario) -> Result<Vec<String>, LabError> {
    guest::plan_of(scenario)?;
    if scenario.kernel.gso {
        return Err(LabError::Scenario(
            "packets are followed one by one: expected `kernel.gso = false`".to_owned(),
        ));
    }
    if !scenario.link.aggregation.is_zero() {
        return Err(LabError::Scenario(format!(
            "the shaper of Linux sends packets one by one: found `link.aggregation = \"{}\"`, \
             expected \"0s\"; `--on sim` and `--on kernel` have it",
            scenario.link.aggregation
        )));
    }
    scenario.groups.iter().try_for_each(sends_as_asked)?;
    let mut differences = Qdisc::new(&scenario.aqm)?.differences;
    for change in &scenario.changes {
        let Some(aqm) = &change.aqm else { continue };
        let when = format!("from {} on", change.time);
        let instead = Qdisc::new(aqm).map_err(|error| error.of(&when))?.differences;
        let kind = aqm.kind();
        differences.extend(instead.into_iter().map(|what| format!("{what} ({kind} {when})")));
    }
    Ok(differences)
}

/// ECT(1) is Prague's alone. Linux' TCP has no other way to it, and the program that rewrites
/// ECT(0) on a device wants to know the kernel's types (BTF), which user-mode Linux cannot tell.
fn sends_as_asked(group: &Group) -> Result<(), LabError> {
    let l4s = group.cc.wants() == WantedEcn::L4s;
    let expected = match group.ecn {
        EcnMode::L4s if !l4s => "ECT(1): expected `ecn` classic or off, or prague",
        EcnMode::Classic if l4s => "ECT(0): expected `ecn` l4s, or dctcp",
        _ => return Ok(()),
    };
    let (name, kind) = (&group.name, group.cc.kind());
    Err(LabError::Scenario(format!(
        "group `{name}`: in this kernel {kind} does not send {expected}; `--on sim` and \
         `--on kernel` have it"
    )))
}

impl Virtual {
    /// A substrate that runs nothing yet.
    pub fn new(kernel: Kernel, boot: AgentCommand, guest: Vec<String>) -> Virtual {
        Virtual { kernel, boot, guest, cores: Cores::default() }
    }

    /// Runs `scenario` and tells `observer` everything that happens.
    pub fn run(
        &self,
        scenario: &Scenario,
        observer: &mut impl Observer<Frame>,
    ) -> Result<Ran, LabError> {
        let instead = check(scenario)?;
        let core = self.cores.take();
        let mut guest = Guest::start(self, scenario, core.as_ref().map(|core| core.number))?;
        let mut telling = Telling::new(scenario, observer);
        let mut reader = Reader::new(guest.events.take());
        loop {
            // What it wrote before it ended is read after it ended.
            let ended = guest.ended()?;
            while reader.read()? {
                reader.events(|event| telling.tell(event))?;
            }
            match ended {
                None => guest.wait(),
                Some(status) => {
                    let Some(counters) = telling.counters.take() else {
                        return Err(guest.obituary(status));
                    };
                    return Ok(telling.conclude(counters, instead));
                }
            }
        }
    }
}

/// The guest's process. It goes with this.
struct Guest {
    child: Child,
    pidfd: OwnedFd,
    console: File,
    events: Option<File>,
}

impl Guest {
    fn start(
        substrate: &Virtual,
        scenario: &Scenario,
        core: Option<usize>,
    ) -> Result<Guest, LabError> {
        let cannot = |error: std::io::Error| LabError::machine("starting a guest", error);
        let console: File = memfd_create("console", MemfdFlags::CLOEXEC)
            .map_err(|error| cannot(error.into()))?
            .into();
        let output = || console.try_clone().map(Stdio::from).map_err(cannot);
        let (mut control, theirs) = Channel::pair().map_err(cannot)?;
        let child = Command::new(&substrate.boot.program)
            .args(&substrate.boot.args)
            .stdin(Stdio::from(theirs))
            .stdout(output()?)
            .stderr(output()?)
            // A Ctrl-C at the terminal is for the command, with which the guest ends.
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
            .map_err(|error| cannot(error.into()))?;
        let mut guest = Guest { child, pidfd, console, events: None };
        let point = Point { set: Vec::new(), pins: Vec::new(), scenario: scenario.clone() };
        let long = scenario.groups.iter().map(|group| group.starts.len()).sum::<usize>() as u64;
        let flows = long + scenario.apps.iter().map(|app| app.flows).sum::<u64>();
        let downloads = Downloads::new(scenario).count() as u64;
        let pairs = (scenario.groups.len() + scenario.udp.len()) as u64;
        let order = Order {
            kernel: substrate.kernel.path.clone(),
            scenario: show(&point, None),
            seed: scenario.seed,
            core,
            memory_mib: MEMORY_MIB
                + MIB_PER_PAIR * pairs
                + flows / FLOWS_PER_MIB
                + downloads / DOWNLOADS_PER_MIB,
            guest: substrate.guest.clone(),
        };
        let _ = control.send(&order, None);
        match control.next(true) {
            Ok(Next::Message(Answer::Ready)) => {}
            Ok(Next::Message(Answer::Failed(trouble))) => return Err(trouble.into()),
            _ => return Err(guest.obituary(None)),
        }
        guest.events = control.take_file().map(File::from);
        Ok(guest)
    }

    /// How it ended, if it did.
    fn ended(&mut self) -> Result<Option<Option<ExitStatus>>, LabError> {
        let ended = self.child.try_wait();
        Ok(ended.map_err(|error| LabError::machine("waiting for a guest", error))?.map(Some))
    }

    /// Waits for it to write something, or to end.
    fn wait(&self) {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut end = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let _ = poll(&mut end, Some(&LOOK_EVERY));
    }

    /// Why there is no result.
    fn obituary(&mut self, status: Option<ExitStatus>) -> LabError {
        let status = status.or_else(|| self.child.wait().ok());
        let how = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("ended with exit code {code}"),
            Some((_, Some(signal))) => format!("was killed by signal {signal}"),
            _ => "ended".to_owned(),
        };
        let words = self.last_words();
        // SIGBUS: a page of the guest that the host could not provide.
        let words = match words.contains(NO_MEMORY) {
            true => format!("this machine had no more memory for it; {words}"),
            false => words,
        };
        LabError::Run(format!("the guest kernel {how} before the run was over\n{words}"))
    }

    /// The end of its console.
    fn last_words(&self) -> String {
        let length = self.console.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = vec![0; length.min(LAST_WORDS as u64) as usize];
        let from = length - bytes.len() as u64;
        let read = self.console.read_at(&mut bytes, from).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..read]).replace('\r', "");
        match text.trim() {
            "" => "its console is empty".to_owned(),
            text => format!("the end of its console:\n{text}"),
        }
    }
}

impl Drop for Guest {
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
    fn read(&mut self) -> Result<bool, LabError> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let failed = |error| LabError::run("what the guest wrote down", error);
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
        mut take: impl FnMut(Event<'_>) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let mut done = 0;
        while let Some((event, length)) = Event::read(&self.bytes[done..])
            .map_err(|error| LabError::run("what the guest wrote down", error))?
        {
            take(event)?;
            done += length;
        }
        self.bytes.drain(..done);
        Ok(())
    }
}

/// Tells an observer.
struct Telling<'a, O> {
    observer: &'a mut O,
    follower: Follower,
    ledger: Ledger,
    reports: mpsc::Sender<l4s_lab::Report>,
    samples: bool,
    end: Time,
    counters: Option<Counters>,
}

impl<'a, O: Observer<Frame>> Telling<'a, O> {
    fn new(scenario: &Scenario, observer: &'a mut O) -> Self {
        let (reports, told) = mpsc::channel();
        Telling {
            samples: observer.sampling_interval() == Some(SAMPLE_EVERY),
            observer,
            follower: Follower::new(scenario),
            ledger: Ledger::new(scenario, told),
            reports,
            end: Time::ZERO + scenario.duration,
            counters: None,
        }
    }

    fn tell(&mut self, event: Event<'_>) -> Result<(), LabError> {
        match event {
            Event::Arrived(packet) => self.follower.arrived(packet, self.observer),
            Event::Departed(packet) => self.follower.departed(packet, self.observer),
            Event::Replaced(began) => self.follower.replaced(began, self.observer),
            Event::Told(report) => {
                // The ledger has the other end, and lives as long as this.
                let _ = self.reports.send(report);
                self.ledger.pass_on(self.observer);
            }
            Event::Queue(at, state) => self.sample(at, state),
            Event::Done(counters) => self.counters = Some(counters),
            Event::Failed(trouble) => return Err(trouble.into()),
        }
        Ok(())
    }

    fn sample(&mut self, at: Time, state: crate::QueueState) {
        if !self.samples {
            return;
        }
        let state = LinkState {
            packets: state.packets,
            bytes: Bytes::new(state.bytes.into()),
            base: state.base.map(Probability::from_f64),
        };
        self.observer.sample_link(state, at);
        self.ledger.sample(at, self.observer);
    }

    fn conclude(self, counters: Counters, instead: Vec<String>) -> Ran {
        self.ledger.conclude(self.end, self.observer);
        let counts = self.follower.counts;
        let kernel = |name| counters.get(name).copied().unwrap_or(0);
        // Whatever was neither seen to leave nor waits at the end was dropped at the very end.
        let dropped = counts.dropped + self.follower.left_over()
            - kernel(WAITING).min(self.follower.left_over());
        let unfit = (dropped != kernel(DROPPED) || counts.unknown > 0).then(|| {
            format!(
                "the kernel counted {} drops where {dropped} were seen, and {} packets left that \
                 had not been seen to come",
                kernel(DROPPED),
                counts.unknown
            )
        });
        Ran { counts, counters, instead, unfit }
    }
}

impl From<crate::event::Trouble> for LabError {
    fn from(trouble: crate::event::Trouble) -> LabError {
        if trouble.machine { LabError::Machine(trouble.why) } else { LabError::Run(trouble.why) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_scenario::Plan;

    fn refused(more: &str) -> String {
        let text = format!(
            "link.rate = \"40mbit\"\n{more}\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n"
        );
        let plan = Plan::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        match check(&plan.points[0].scenario) {
            Err(LabError::Scenario(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_kernel_has_no_link_for_is_refused() {
        let why = refused("link.aggregation = \"2ms\"");
        let expected = "the shaper of Linux sends packets one by one: found `link.aggregation = \
                        \"2ms\"`, expected \"0s\"; `--on sim` and `--on kernel` have it";
        assert_eq!(why, expected);
    }
}
