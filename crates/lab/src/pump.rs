//! The loop that moves packets between devices and the [`Plane`] in real time.
//!
//! One thread does it all: it processes due events, then the devices, and then waits for
//! whichever comes first. The kernel wakes a thread some microseconds late, so it waits only until
//! shortly before something is due and looks again and again from then on.
//!
//! Writing to a device runs the receiving TCP in this thread, up to and including the ACK that it
//! sends, and so does writing an ACK with the segments that it lets out. So most of the time spent
//! here is the kernel's, and the agents' core has little to do. Segments come from TCP uncut, up to
//! 64 KiB at once, and are cut here, as by a network card; see [`Coalescer`] for the other direction.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use l4s_bottleneck::Successor;
use l4s_model::{Change, Scenario};
use l4s_observe::Observer;
use l4s_units::{Duration, Time};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::address::End;
use crate::coalescing::{Coalescer, Waiting};
use crate::frame::Frame;
use crate::lateness::{Lateness, Meter, Stalls};
use crate::ledger::Ledger;
use crate::plane::{Delivery, LARGE_BUFFER, Plane};
use crate::pool::Buffer;
use l4s_flows::ip::{IpPacket, complete_checksum};
use l4s_os::{Clock, Offload, Read, Realtime, Tun, Usage, Written};

/// How long it waits at most before it looks whether it should stop.
const ATTENTION: Duration = Duration::from_millis(10);

/// How long it waits at a time before the clock of the run starts.
const BEFORE: Duration = Duration::from_millis(1);

/// One end of a pair.
#[derive(Debug)]
pub struct Device {
    /// Our end of its wire.
    pub tun: Tun,
    /// Becomes readable when its agent dies: a process file descriptor (`pidfd_open`). The device
    /// itself does not show it: as long as it is open here, its namespace lives on without the agent.
    pub agent: Option<OwnedFd>,
}

/// The two devices of a group or UDP source.
#[derive(Debug)]
pub struct Port {
    /// The name of the group or source.
    pub name: String,
    /// Of the server.
    pub server: Device,
    /// Of the client.
    pub client: Device,
}

impl Port {
    fn device(&self, end: End) -> &Device {
        match end {
            End::Server => &self.server,
            End::Client => &self.client,
        }
    }
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The time of the run. It should still read zero.
    pub clock: Clock,
    /// When the run is over.
    pub end: Time,
    /// Set by others to end the run before.
    pub stop: &'a AtomicBool,
    /// Packets that it reads from a device before it looks at the others.
    pub batch: usize,
    /// Whether to ask for a core, real-time priority and locked memory.
    pub realtime: bool,
    /// The changes of the run, while it goes on.
    pub turns: Option<&'a Mutex<Vec<Turn>>>,
}

/// A change of the run: the scenario, and the difference for bottleneck and paths.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The difference.
    pub change: Change,
    /// All of it.
    pub scenario: Scenario,
}

impl<'a> Settings<'a> {
    /// The choices that were found to be best.
    pub fn new(clock: Clock, end: Time, stop: &'a AtomicBool) -> Settings<'a> {
        Settings { clock, end, stop, batch: 16, realtime: true, turns: None }
    }
}

/// The result of the pump.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pumped {
    /// When it ended: at the end of the run, or when it was asked to.
    pub ended: Time,
    /// How late departures from the bottleneck were.
    pub departures: Lateness,
    /// How late deliveries from the delay lines were.
    pub returns: Lateness,
    /// Packets read from devices.
    pub packets: u64,
    /// Time that it had work to do.
    pub busy: Duration,
    /// Processor time of its own code, in all of `ended`.
    pub user: Duration,
    /// Processor time of the kernel for it.
    pub system: Duration,
    /// How long it did not look at the devices.
    pub stalls: Stalls,
    /// The core that it was on, if it had one of its own.
    pub core: Option<usize>,
    /// Whether it had real-time priority.
    pub fifo: bool,
    /// Whether its memory was locked.
    pub locked: bool,
}

impl Pumped {
    /// Time per packet that it read.
    pub fn cost(&self) -> Duration {
        self.busy / self.packets.max(1)
    }

    /// Why the run says little, as it did not advance; see [`Stalls::unfit`].
    pub fn stalled(&self) -> Option<String> {
        let why = self.stalls.unfit(self.ended.since(Time::ZERO))?;
        Some(format!("the data plane: {why}"))
    }

    /// Why the run says little, as packets were late; see [`Lateness::unfit`].
    pub fn unfit(&self, base_rtt: Duration) -> Option<String> {
        let of = |what, lateness: &Lateness| {
            lateness.unfit(base_rtt).map(|why| format!("on the {what}: {why}"))
        };
        of("bottleneck", &self.departures).or_else(|| of("way back", &self.returns))
    }
}

/// Why the pump stopped.
#[derive(Debug, thiserror::Error)]
pub enum PumpError {
    /// A device vanished.
    #[error("the {} of `{pair}` lost its network device", end.name())]
    DeviceGone {
        /// Name of the pair.
        pair: String,
        /// Which end.
        end: End,
    },
    /// An agent died.
    #[error("the {} of `{pair}` ended before the run did", end.name())]
    AgentGone {
        /// Name of the pair.
        pair: String,
        /// Which end.
        end: End,
    },
    /// A device cannot be read from or written to.
    #[error("{what} the device of the {} of `{pair}`: {source}", end.name())]
    Device {
        /// The operation.
        what: &'static str,
        /// Name of the pair.
        pair: String,
        /// Which end.
        end: End,
        /// The kernel's error.
        source: io::Error,
    },
    /// Waiting failed.
    #[error("waiting for packets: {0}")]
    Wait(io::Error),
    /// There are more or fewer devices than pairs in the scenario.
    #[error("{ports} pairs of devices for {pairs} groups and UDP sources")]
    Count {
        /// Pairs of devices.
        ports: usize,
        /// Pairs of the scenario.
        pairs: usize,
    },
}

/// Moves packets until the end of the run. Call it on a thread of its own, before the clock
/// starts; packets until then are dropped.
pub fn pump(
    ports: &[Port],
    plane: &mut Plane,
    settings: Settings<'_>,
    ledger: &mut Ledger,
    observer: &mut dyn Observer<Frame>,
) -> Result<Pumped, PumpError> {
    if ports.len() != plane.pairs() {
        return Err(PumpError::Count { ports: ports.len(), pairs: plane.pairs() });
    }
    let watched = Watched::new(ports).map_err(PumpError::Wait)?;
    let mut realtime = settings.realtime.then(|| Realtime::enter(settings.clock.now()));
    let sampling = observer.sampling_interval();
    let interval = sampling.unwrap_or(ATTENTION);
    let mut pump = Pump {
        large: vec![0; LARGE_BUFFER].into_boxed_slice(),
        whole: plane.takes_whole_segments(),
        plane,
        ledger,
        observer,
        clock: settings.clock,
        sampling: sampling.is_some(),
        interval,
        next_sample: Time::ZERO + interval,
        out: Out {
            ports,
            clock: settings.clock,
            departures: Meter::new(),
            returns: Meter::new(),
            coalescer: Coalescer::default(),
            refused: Vec::new(),
            error: None,
        },
        packets: 0,
    };
    let before = Usage::of_thread();
    let times = pump.run(&watched, settings, realtime.as_mut());
    let after = Usage::of_thread();
    let times = times?;
    Ok(Pumped {
        ended: times.ended,
        departures: pump.out.departures.lateness(),
        returns: pump.out.returns.lateness(),
        packets: pump.packets,
        busy: times.busy,
        user: after.user.saturating_sub(before.user),
        system: after.system.saturating_sub(before.system),
        stalls: times.stalls,
        core: realtime.as_ref().and_then(|r| r.core),
        fifo: realtime.as_ref().is_some_and(|r| r.fifo),
        locked: realtime.as_ref().is_some_and(|r| r.locked),
    })
}

struct Pump<'a> {
    plane: &'a mut Plane,
    ledger: &'a mut Ledger,
    observer: &'a mut dyn Observer<Frame>,
    clock: Clock,
    /// Whether the observer takes samples.
    sampling: bool,
    interval: Duration,
    next_sample: Time,
    out: Out<'a>,
    /// The buffer that devices are read into.
    large: Box<[u8]>,
    /// Whether queues see segments uncut, as a device hands them over.
    whole: bool,
    packets: u64,
}

/// The devices, as the plane sees them.
struct Out<'a> {
    ports: &'a [Port],
    clock: Clock,
    departures: Meter,
    returns: Meter,
    coalescer: Coalescer,
    /// Joined packets that a device did not take.
    refused: Vec<(usize, End, u64)>,
    /// The first failure.
    error: Option<PumpError>,
}

struct Times {
    ended: Time,
    busy: Duration,
    stalls: Stalls,
}

impl Out<'_> {
    /// Writes a packet, or lets it wait for others that may follow it.
    #[inline]
    fn deliver(&mut self, delivery: Delivery<'_>) -> bool {
        let mut coalescer = std::mem::take(&mut self.coalescer);
        let waits = coalescer.take(&delivery, |waiting| self.write_joined(waiting));
        self.coalescer = coalescer;
        if waits {
            return true;
        }
        let Delivery { pair, to, due, waited, bytes } = delivery;
        if waited {
            let late = self.clock.now().since(due);
            self.meter(to).record(late);
        }
        self.write(pair, to, |tun| tun.write(bytes))
    }

    /// Writes all that wait.
    #[inline]
    fn flush(&mut self) {
        let mut coalescer = std::mem::take(&mut self.coalescer);
        coalescer.flush(|waiting| self.write_joined(waiting));
        self.coalescer = coalescer;
    }

    fn write_joined(&mut self, waiting: &mut Waiting) {
        let Some((pair, to)) = waiting.place() else { return };
        let now = self.clock.now();
        for due in waiting.due.drain(..) {
            self.meter(to).record(now.since(due));
        }
        let packets = waiting.packets;
        let (bytes, offload) = waiting.finish();
        if !self.write(pair, to, |tun| tun.write_with(offload, bytes)) {
            self.refused.push((pair, to, packets));
        }
    }

    fn meter(&mut self, to: End) -> &mut Meter {
        match to {
            End::Client => &mut self.departures,
            End::Server => &mut self.returns,
        }
    }

    #[inline]
    fn write(
        &mut self,
        pair: usize,
        to: End,
        write: impl FnOnce(&Tun) -> io::Result<Written>,
    ) -> bool {
        let port = &self.ports[pair];
        match write(&port.device(to).tun) {
            Ok(Written::Taken) => true,
            Ok(Written::Refused) => false,
            Err(error) => {
                self.error.get_or_insert_with(|| failure("writing to", port, to, error));
                false
            }
        }
    }
}

impl Pump<'_> {
    fn run(
        &mut self,
        watched: &Watched,
        Settings { clock, end, stop, batch, turns, .. }: Settings<'_>,
        mut realtime: Option<&mut Realtime>,
    ) -> Result<Times, PumpError> {
        let mut events = Vec::with_capacity(64);
        let mut now = clock.now();
        let (mut busy, mut stalls) = (Duration::ZERO, Stalls::default());
        loop {
            self.catch_up(now.min(end));
            if let Some(turns) = turns {
                let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
                turns.drain(..).for_each(|turn| self.turn(&turn, now));
            }
            self.flush();
            if now >= end || stop.load(Ordering::Relaxed) {
                return Ok(Times { ended: now.min(end), busy, stalls });
            }
            let until = self.plane.due().min(self.next_sample).min(end);
            let looked = clock.now();
            // Before the run begins there is nothing to be on time for.
            let left = if looked == Time::ZERO { BEFORE } else { until.since(looked) };
            let mut wait = left.min(ATTENTION);
            if let Some(realtime) = &mut realtime {
                realtime.take_turns(looked);
                wait = wait.saturating_sub(realtime.spin());
            }
            watched.wait(wait, &mut events).map_err(PumpError::Wait)?;
            let woke = clock.now();
            // Waiting is no work, and neither is looking in vain.
            let idle = !wait.is_zero() || events.is_empty();
            for event in &events {
                let source = Source::from(event.data.u64());
                self.attend(source, event.flags, batch)?;
                self.flush();
            }
            if let Some(error) = self.out.error.take() {
                return Err(error);
            }
            let turn = now;
            now = clock.now();
            let waited = if idle { woke.since(looked) } else { Duration::ZERO };
            let worked = now.since(turn).saturating_sub(waited);
            stalls.record(now.since(turn), wait);
            if !events.is_empty() || until <= now {
                busy += worked;
            }
        }
    }

    /// Reads packets of a device, and not many more than a batch.
    fn attend(&mut self, source: Source, flags: EventFlags, batch: usize) -> Result<(), PumpError> {
        let Source { pair, end, agent } = source;
        let port = &self.out.ports[pair];
        if agent {
            return Err(PumpError::AgentGone { pair: port.name.clone(), end });
        }
        let last = self.packets + batch as u64;
        while self.packets < last {
            let length = match port.device(end).tun.read(&mut self.large) {
                Ok(Read::Packet(length)) => length,
                Ok(Read::Empty) => break,
                Err(error) => return Err(failure("reading from", port, end, error)),
            };
            let large = std::mem::take(&mut self.large);
            self.cut(pair, end, &large[..length]);
            self.large = large;
        }
        // A device that is gone, but had packets left.
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            return Err(PumpError::DeviceGone { pair: port.name.clone(), end });
        }
        Ok(())
    }

    /// Takes a packet that a device handed over, or the packets that it is to be cut to.
    fn cut(&mut self, pair: usize, end: End, whole: &[u8]) {
        let now = self.clock.now();
        let (header, bytes) = whole.split_at(whole.len().min(Offload::LENGTH));
        if header.len() == Offload::LENGTH && !self.whole {
            let offload = Offload::of(header);
            if let (Some(size), Ok(packet)) = (offload.segment_size(), IpPacket::new_checked(bytes))
            {
                for number in 0.. {
                    let mut buffer = self.plane.buffer();
                    let Some(length) = packet.segment(size, number, &mut buffer[Offload::LENGTH..])
                    else {
                        self.plane.give_back(buffer);
                        break;
                    };
                    buffer[..Offload::LENGTH].copy_from_slice(&Offload::SOUND.to_bytes());
                    self.receive(pair, end, buffer, Offload::LENGTH + length, now);
                }
                return;
            }
        }
        let mut buffer = self.plane.buffer();
        // The kernel hands over nothing longer than its MTU uncut.
        let length = whole.len().min(buffer.len());
        buffer[..length].copy_from_slice(&whole[..length]);
        if !self.whole && length >= Offload::LENGTH {
            let (header, bytes) = buffer[..length].split_at_mut(Offload::LENGTH);
            if let Some((start, place)) = Offload::of(header).checksum() {
                if complete_checksum(bytes, start, place) {
                    header.copy_from_slice(&Offload::SOUND.to_bytes());
                }
            }
        }
        self.receive(pair, end, buffer, length, now);
    }

    #[inline]
    fn receive(&mut self, pair: usize, end: End, buffer: Buffer, length: usize, now: Time) {
        self.packets += 1;
        if now == Time::ZERO {
            return self.plane.receive_early(pair, end, buffer);
        }
        if now >= self.next_sample {
            self.catch_up(now);
        }
        let Pump { plane, observer, out, .. } = self;
        plane.receive(pair, end, buffer, length, now, *observer, &mut |d| out.deliver(d));
    }

    /// Writes all that wait to be written.
    #[inline]
    fn flush(&mut self) {
        self.out.flush();
        for (pair, to, packets) in self.out.refused.drain(..) {
            self.plane.refused(pair, to, packets);
        }
    }

    /// Processes events that are due by `now`, and samples in between where one is due.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.next_sample <= now {
            let at = self.next_sample;
            self.next_sample = at + self.interval;
            self.advance(at);
            self.sample(at);
        }
        self.advance(now);
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        let Pump { plane, observer, out, .. } = self;
        plane.advance(now, *observer, &mut |d| out.deliver(d));
    }

    #[cold]
    fn turn(&mut self, Turn { change, scenario }: &Turn, now: Time) {
        let Pump { plane, observer, out, .. } = self;
        plane.apply(change, Successor::Inherit, *observer, &mut |d| out.deliver(d));
        self.observer.adapted(scenario, now);
    }

    fn sample(&mut self, now: Time) {
        self.ledger.pass_on(self.observer);
        if self.sampling {
            if let Some(state) = self.plane.uplink_state(now) {
                self.observer.sample_uplink(state, now);
            }
            self.observer.sample_link(self.plane.link_state(now), now);
            self.ledger.sample(now, self.observer);
        }
    }
}

fn failure(what: &'static str, port: &Port, end: End, source: io::Error) -> PumpError {
    let pair = port.name.clone();
    if source.raw_os_error() == Some(Errno::BADFD.raw_os_error()) {
        PumpError::DeviceGone { pair, end }
    } else {
        PumpError::Device { what, pair, end, source }
    }
}

/// The subject of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Source {
    pair: usize,
    end: End,
    /// Of the agent, not of the device.
    agent: bool,
}

impl From<Source> for EventData {
    fn from(Source { pair, end, agent }: Source) -> EventData {
        let bits = u64::from(end == End::Client) << 1 | u64::from(agent);
        EventData::new_u64((pair as u64) << 2 | bits)
    }
}

impl From<u64> for Source {
    fn from(data: u64) -> Source {
        let end = if data & 2 == 0 { End::Server } else { End::Client };
        Source { pair: (data >> 2) as usize, end, agent: data & 1 != 0 }
    }
}

/// A span in the form of the kernel.
fn timespec(span: Duration) -> Timespec {
    Timespec {
        tv_sec: (span.as_nanos() / 1_000_000_000) as i64,
        tv_nsec: (span.as_nanos() % 1_000_000_000) as _,
    }
}

/// All that may wake the pump.
struct Watched {
    epoll: OwnedFd,
}

impl Watched {
    fn new(ports: &[Port]) -> io::Result<Watched> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (pair, port) in ports.iter().enumerate() {
            for end in [End::Server, End::Client] {
                let device = port.device(end);
                let add = |file: &dyn AsFd, agent| {
                    let source = Source { pair, end, agent };
                    epoll::add(&epoll, file.as_fd(), source.into(), EventFlags::IN)
                };
                add(&device.tun, false)?;
                if let Some(agent) = &device.agent {
                    add(agent, true)?;
                }
            }
        }
        Ok(Watched { epoll })
    }

    /// Waits for events, but not longer than `most`. Devices that stay readable take turns.
    fn wait(&self, most: Duration, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        events.clear();
        if !most.is_zero() {
            // Waiting in epoll itself is in whole milliseconds here, so wait for the epoll file.
            let mut files = [PollFd::new(&self.epoll, PollFlags::IN)];
            match rustix::event::poll(&mut files, Some(&timespec(most))) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, room, Some(&timespec(Duration::ZERO))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_says_what_it_is_about() {
        for pair in [0, 1, 70_000] {
            for end in [End::Server, End::Client] {
                for agent in [false, true] {
                    let source = Source { pair, end, agent };
                    assert_eq!(Source::from(EventData::from(source).u64()), source);
                }
            }
        }
    }
}
