//! The way back where the kernel has no `netem`: a thread that delays the clients' packets by their
//! base RTT.
//!
//! The router sends packets from clients to a TUN device, whose other end the thread has, and
//! takes them from there again when they are due. So this process must be that router.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use l4s_model::Scenario;
use l4s_os::netlink::{Netlink, index_of};
use l4s_units::{Duration, Time};
use netlink_packet_route::link::LinkAttribute;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::ip::IpPacket;
use crate::lateness::{Lateness, Meter, Stalls, Watchdog};
use crate::line::Lines;
use crate::pair_of;
use crate::pool::{Buffer, Pool};
use crate::setup::MTU;
use l4s_os::{Advice, Realtime, Rest, processor_time};
use l4s_os::{Clock, OsError};
use l4s_os::{Read, Tun};

/// Packets that may wait in it for the thread.
const QUEUE: u32 = 100_000;
/// How long it waits at most before it looks whether it should stop.
const ATTENTION: Duration = Duration::from_millis(10);
/// So long before something is due it looks again and again instead of sleeping.
const SPIN: Duration = Duration::from_micros(50);

/// Delays on the way back. They go with it.
#[derive(Debug)]
pub struct Delays {
    /// The number of the device.
    pub index: u32,
    tun: Option<Tun>,
    /// Delays of the groups and UDP sources, in their order.
    delays: Vec<Duration>,
    /// Times of changes, the line, and its new delay; the next one last.
    changes: Vec<(Time, usize, Duration)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(Lateness, Stalls), OsError>>>,
}

impl Delays {
    /// Makes the device of that name in this process's network namespace.
    pub fn new(name: &str, scenario: &Scenario, netlink: &mut Netlink) -> Result<Delays, OsError> {
        let tun = Tun::open(name, false)
            .map_err(|error| OsError::machine("a TUN device of /dev/net/tun", error))?;
        let index = index_of(name)?;
        netlink.bring_up(index, vec![LinkAttribute::Mtu(MTU), LinkAttribute::TxQueueLen(QUEUE)])?;
        // This machine's choice for new devices could be one that paces (fq) or drops (fq_codel).
        netlink.remove_queue(index)?;
        let groups = scenario.groups.iter().map(|group| group.rtt);
        let changes =
            scenario.changes.iter().rev().flat_map(|change| {
                change.rtts.iter().map(|&(group, rtt)| (change.time, group, rtt))
            });
        Ok(Delays {
            index,
            tun: Some(tun),
            delays: groups.chain(scenario.udp.iter().map(|_| Duration::ZERO)).collect(),
            changes: changes.collect(),
            stop: Arc::default(),
            thread: None,
        })
    }

    /// Starts, with the clock of the run.
    pub fn start(&mut self, clock: Clock) -> Result<(), OsError> {
        let Some(tun) = self.tun.take() else { return Ok(()) };
        let line = Line {
            tun,
            clock,
            lines: Lines::new(self.delays.iter().copied()),
            changes: std::mem::take(&mut self.changes),
            pool: Pool::new(MTU as usize, usize::MAX),
            late: Meter::new(),
        };
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new()
            .name("l4s-back".to_owned())
            .spawn(move || line.run(&stop))
            .map_err(|error| OsError::machine("a thread", error))?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Ends; returns the lateness of packets and the time for which it did not run.
    pub fn stop(&mut self) -> Result<(Lateness, Stalls), OsError> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(Default::default()) };
        thread.join().unwrap_or_else(|_| {
            Err(OsError::Run("the thread that delays the way back panicked".to_owned()))
        })
    }
}

impl Drop for Delays {
    fn drop(&mut self) {
        // A caller that needs the result has called it before.
        let _ = self.stop();
    }
}

/// The state of the thread.
struct Line {
    tun: Tun,
    clock: Clock,
    lines: Lines<(Buffer, usize)>,
    changes: Vec<(Time, usize, Duration)>,
    pool: Pool,
    late: Meter,
}

impl Line {
    fn run(mut self, stop: &AtomicBool) -> Result<(Lateness, Stalls), OsError> {
        let _realtime = Realtime::enter();
        let failed = |error| OsError::run("the way back", error);
        let mut rest = Rest::new(self.clock.now(), processor_time());
        let mut watchdog = Watchdog::new(self.clock.now());
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.deliver(now).map_err(failed)?;
            while let Some(&(at, pair, delay)) = self.changes.last() {
                if at > now {
                    break;
                }
                self.changes.pop();
                self.lines.set_delay(pair, delay);
            }
            let looked = self.clock.now();
            let left = self.lines.next().since(looked).min(ATTENTION);
            watchdog.look(looked, ATTENTION);
            let wait = match rest.advice(looked, processor_time) {
                Advice::Free => left.saturating_sub(SPIN),
                Advice::Wait => left,
                Advice::Rest(pause) => {
                    std::thread::sleep(core::time::Duration::from_nanos(pause.as_nanos()));
                    Duration::ZERO
                }
            };
            let wait = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as i64 };
            let mut readable = [PollFd::new(&self.tun, PollFlags::IN)];
            match poll(&mut readable, Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => self.take().map_err(failed)?,
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok((self.late.lateness(), watchdog.stalls()))
    }

    /// Reads waiting packets, but not so long that due packets are late.
    fn take(&mut self) -> std::io::Result<()> {
        const BATCH: usize = 32;
        for _ in 0..BATCH {
            let mut buffer = self.pool.take();
            let Read::Packet(length) = self.tun.read(&mut buffer)? else {
                self.pool.give(buffer);
                break;
            };
            let from = IpPacket::new_checked(&buffer[..length]).map(|ip| pair_of(ip.addresses().0));
            match from.map(usize::from) {
                Ok(pair) if pair < self.lines.count() => {
                    self.lines.push(pair, (buffer, length), self.clock.now());
                }
                // Nobody's.
                _ => self.pool.give(buffer),
            }
        }
        Ok(())
    }

    /// Passes on the due packets.
    fn deliver(&mut self, now: Time) -> std::io::Result<()> {
        while self.lines.next() <= now {
            let due = self.lines.next();
            let Some((_, (buffer, length))) = self.lines.pop() else { break };
            self.late.record(self.clock.now().since(due));
            // Packets that the kernel refuses are lost, as in any router.
            self.tun.write(&buffer[..length])?;
            self.pool.give(buffer);
        }
        Ok(())
    }
}
