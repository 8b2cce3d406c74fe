//! UDP: a source of constant bit rate, independent of congestion, and its sink.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};

use l4s_bottleneck::Datagrams;
use l4s_os::{Clock, OsError};
use l4s_units::{Bytes, Rate, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::time::Timespec;

use super::{Host, listen, socket, take_orders};
use crate::lateness::{Stalls, Watchdog};
use crate::message::{Channel, Order, Part, Setup};

/// Packets that are sent before the command is listened to again.
const BURST: u64 = 64;

/// A source before its first packet.
pub(super) struct Source {
    socket: OwnedFd,
    ipv6: bool,
    /// Its first bytes are the number of the packet. Over IPv6 nothing else distinguishes packets for
    /// the follower of a kernel's queue.
    payload: Vec<u8>,
    /// How many were sent.
    sent: u64,
    /// When it sends, as in every substrate.
    datagrams: Datagrams,
    start: Time,
    stop: Time,
}

impl Source {
    pub fn new(setup: &Setup) -> Result<Source, OsError> {
        let Part::UdpServer { name, seed, port, ecn, payload, packet, bps, start_ns, stop_ns } =
            &setup.part
        else {
            return Err(OsError::Run("not a UDP source".to_owned()));
        };
        let socket = socket::udp(SocketAddr::new(setup.address, *port), *ecn)?;
        rustix::net::connect(&socket, &SocketAddr::new(setup.peer, *port))
            .map_err(|error| OsError::machine("UDP", error))?;
        let (start, stop) =
            (Time::from_nanos(*start_ns), stop_ns.map_or(Time::NEVER, Time::from_nanos));
        let (rate, packet) = (Rate::from_bps(*bps), Bytes::new(*packet));
        Ok(Source {
            socket,
            ipv6: setup.address.is_ipv6(),
            payload: vec![0; *payload],
            sent: 0,
            datagrams: Datagrams::new(
                seed.map(|seed| (seed, name.as_str())),
                rate,
                packet,
                (start, stop),
            ),
            start,
            stop,
        })
    }

    /// Sends until the run is over. Every packet has a time of its own, which does not depend on
    /// when those before it left, so that the rate is exact. Says how long it did not advance, if
    /// `watched`.
    pub fn play(
        &mut self,
        control: &mut Channel,
        host: &mut Host<'_>,
        clock: Clock,
        watched: bool,
    ) -> Result<Stalls, OsError> {
        // Sleep no longer than asked: a timer may be late by 50 µs otherwise.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
            .map_err(|error| OsError::machine("precise timers", error))?;
        // Orders that came with the order to start cause no further event.
        if take_orders(control, host, |order| self.obey(order, clock))? {
            return Ok(Stalls::default());
        }
        let mut watchdog = watched.then(|| Watchdog::new(clock.now()));
        loop {
            let mut until = self.datagrams.next();
            if watched {
                until = until.min(clock.now() + Watchdog::PERIOD);
            }
            let called = sleep_until(until, control, clock)?;
            if let Some(watchdog) = &mut watchdog {
                watchdog.look(clock.now(), Watchdog::PERIOD);
            }
            if called && take_orders(control, host, |order| self.obey(order, clock))? {
                return Ok(watchdog.map(|watchdog| watchdog.stalls()).unwrap_or_default());
            }
            for _ in 0..BURST {
                if self.datagrams.next() > clock.now() {
                    break;
                }
                self.send()?;
                self.datagrams.sent();
            }
        }
    }

    /// It is another source from now on.
    fn obey(&mut self, order: Order, clock: Clock) -> Result<(), OsError> {
        if let Order::Send { ecn, payload, packet, bps } = order {
            socket::set_ecn(&self.socket, self.ipv6, ecn)
                .map_err(|error| OsError::run("the ECN of UDP packets", error))?;
            self.payload.resize(payload, 0);
            self.start = self.start.max(clock.now());
            let (rate, packet) = (Rate::from_bps(bps), Bytes::new(packet));
            self.datagrams.restart(rate, packet, (self.start, self.stop));
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), OsError> {
        self.sent += 1;
        self.payload.iter_mut().zip(self.sent.to_be_bytes()).for_each(|(to, from)| *to = from);
        loop {
            match rustix::net::send(&self.socket, &self.payload, SendFlags::NOSIGNAL) {
                // A full device has lost it, as a full network card would.
                Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(OsError::run("sending a UDP packet", error)),
            }
        }
    }
}

/// Waits for a time or a message of the command; returns whether there is one.
fn sleep_until(due: Time, control: &Channel, clock: Clock) -> Result<bool, OsError> {
    // With its clock at zero, a run may yet have to start.
    let now = Clock::from_origin_ns(0).now();
    let due = clock.origin_ns().saturating_add(due.as_nanos());
    let left = due.saturating_sub(now.as_nanos());
    let timeout =
        Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
    match poll(&mut [PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)], Some(&timeout)) {
        Ok(n) => Ok(n > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(OsError::machine("waiting", error)),
    }
}

/// A port for packets to arrive at. Nobody reads them: the kernel discards packets beyond the
/// buffer, and the smallest buffer is enough.
pub(super) struct Sink {
    _socket: OwnedFd,
}

impl Sink {
    pub fn new(setup: &Setup, port: u16) -> Result<Sink, OsError> {
        let socket = socket::udp(SocketAddr::new(setup.address, port), 0)?;
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 0)
            .map_err(|error| OsError::machine("UDP", error))?;
        Ok(Sink { _socket: socket })
    }

    /// Waits for the end of the run.
    pub fn play(&mut self, control: &mut Channel) -> Result<(), OsError> {
        while !matches!(listen(control)?, None | Some(Order::Stop)) {}
        Ok(())
    }
}
