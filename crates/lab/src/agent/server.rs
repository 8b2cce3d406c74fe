//! The TCP server: answers every client that asks with as many bytes as its group sends.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use l4s_units::{Duration, Time};
use mio::{Events, Interest, Token};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketFlags, sockopt};

use super::client::REQUEST;
use super::{CONTROL, FLOWS, LISTENER, Reports, Waiting, is_over, socket};
use crate::message::{Channel, Setup};
use crate::plane::FIRST_PORT;
use crate::setup::SERVER_PORT;
use crate::{Clock, LabError, Report};

/// What is sent, again and again.
static CONTENT: [u8; 256 << 10] = [0; 256 << 10];

/// A listening server.
pub(super) struct Server {
    listener: OwnedFd,
    cc: String,
    pacing: bool,
    size: Option<u64>,
    sample_every: Duration,
    connections: BTreeMap<u32, Connection>,
}

/// A client's connection.
struct Connection {
    socket: OwnedFd,
    flow: u32,
    /// How much of the request is still to come.
    request: usize,
    /// What is still to be sent; `None` without end.
    left: Option<u64>,
}

impl Server {
    pub fn new(
        setup: &Setup,
        cc: &str,
        pacing: bool,
        size: Option<u64>,
        sample_every_ns: u64,
    ) -> Result<Server, LabError> {
        // A connection inherits the congestion control of its listener, which also decides what
        // is negotiated.
        let listener = socket::tcp(SocketAddr::new(setup.address, SERVER_PORT), cc)?;
        if pacing {
            socket::pace(&listener)?;
        }
        rustix::net::listen(&listener, 65_535)
            .map_err(|error| LabError::machine("listening", error))?;
        Ok(Server {
            listener,
            cc: cc.to_owned(),
            pacing,
            size,
            sample_every: Duration::from_nanos(sample_every_ns),
            connections: BTreeMap::new(),
        })
    }

    /// Serves until the run is over.
    pub fn play(&mut self, control: &mut Channel, clock: Clock) -> Result<(), LabError> {
        let mut waiting = Waiting::new(control, clock)?;
        waiting.add(&self.listener, LISTENER, Interest::READABLE)?;
        let mut reports = Reports::default();
        let mut events = Events::with_capacity(1024);
        let mut next_sample = Time::ZERO + self.sample_every;
        waiting.set_timer(next_sample)?;
        loop {
            waiting.wait(&mut events)?;
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(&waiting)?,
                    Token(token) if token >= FLOWS => {
                        let flow = (token - FLOWS) as u32;
                        let Some(connection) = self.connections.get_mut(&flow) else { continue };
                        if connection.advance()? {
                            reports.push(connection.sample(clock, self.pacing)?);
                            self.connections.remove(&flow);
                        }
                    }
                    _ => {}
                }
            }
            let called = events.iter().any(|event| event.token() == CONTROL);
            let over = called && is_over(control)?;
            let now = clock.now();
            if over || now >= next_sample {
                for connection in self.connections.values() {
                    reports.push(connection.sample(clock, self.pacing)?);
                }
                // Late by more than an interval, it leaves out what it missed.
                let every = self.sample_every.as_nanos();
                next_sample = Time::from_nanos((now.as_nanos() / every + 1) * every);
                waiting.set_timer(next_sample)?;
            }
            reports.tell(control)?;
            if over {
                return Ok(());
            }
        }
    }

    /// Takes every connection that waits.
    fn accept(&mut self, waiting: &Waiting) -> Result<(), LabError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(LabError::run("accepting a connection", error)),
            };
            // Gone again already?
            let Ok(Some(client)) = rustix::net::getpeername(&socket) else { continue };
            let port = SocketAddr::try_from(client).map_or(0, |client| client.port());
            let Some(flow) = port.checked_sub(FIRST_PORT) else { continue };
            self.check(&socket)?;
            if self.pacing {
                socket::pace(&socket)?;
            }
            let both = Interest::READABLE | Interest::WRITABLE;
            waiting.add(&socket, Token(FLOWS + usize::from(flow)), both)?;
            let flow = u32::from(flow);
            let connection = Connection { socket, flow, request: REQUEST.len(), left: self.size };
            self.connections.insert(flow, connection);
        }
    }
}

impl Server {
    /// A route or a program of the machine (BPF at a cgroup) may choose another congestion control.
    fn check(&self, socket: &OwnedFd) -> Result<(), LabError> {
        let cc = sockopt::tcp_congestion(socket)
            .map_err(|error| LabError::run("a connection's congestion control", error))?;
        if cc == self.cc {
            return Ok(());
        }
        let asked = &self.cc;
        Err(LabError::Machine(format!("a connection got `{cc}`, where `{asked}` was asked for")))
    }
}

impl Connection {
    /// Does what can be done without waiting; true when both sides have closed.
    fn advance(&mut self) -> Result<bool, LabError> {
        if self.read()? {
            return Ok(true);
        }
        if self.request == 0 {
            self.write()?;
        }
        Ok(false)
    }

    /// Reads what has come; true when the client has closed.
    fn read(&mut self) -> Result<bool, LabError> {
        let mut buffer = [0; 1024];
        loop {
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, 0)) => return Ok(true),
                Ok((_, n)) => self.request = self.request.saturating_sub(n),
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
    }

    /// Sends as much as the socket takes, and says when that was all.
    fn write(&mut self) -> Result<(), LabError> {
        loop {
            let most = match self.left {
                None => CONTENT.len(),
                // Said already.
                Some(0) => return Ok(()),
                Some(left) => left.min(CONTENT.len() as u64) as usize,
            };
            match rustix::net::send(&self.socket, &CONTENT[..most], SendFlags::NOSIGNAL) {
                Ok(n) => {
                    if let Some(left) = &mut self.left {
                        *left -= n as u64;
                        if *left == 0 {
                            return rustix::net::shutdown(&self.socket, Shutdown::Write)
                                .map_err(|error| self.broken(error));
                        }
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
    }

    fn sample(&self, clock: Clock, paced: bool) -> Result<Report, LabError> {
        let sample = socket::sample(&self.socket, paced)?;
        Ok(Report::Sample { flow: self.flow, at: clock.now(), sample })
    }

    fn broken(&self, error: Errno) -> LabError {
        LabError::run(format_args!("flow {}", self.flow), error)
    }
}
