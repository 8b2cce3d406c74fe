//! The messages between the command and its agents.
//!
//! They share a Unix stream socket. A message is one line of JSON; a file descriptor travels with
//! the first byte of its message. The socket is also how each knows that the other lives: where
//! one dies, however it dies, the other reads the end of the stream.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::ops::RangeFrom;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use l4s_cc::prague::kernel::Reading;
use l4s_model::{App, FlowId, Hold};
use l4s_os::OsError;
use l4s_units::{Duration, Rate, Time};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::lateness::Stalls;
use crate::{PragueSample, Report, TcpSample};

/// The first message to an agent: its role and its setup.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// Such as "the server of group `A`".
    pub who: String,
    /// The address of its device.
    pub address: IpAddr,
    /// Further addresses of its device.
    pub more_addresses: Vec<IpAddr>,
    /// The address of its peer, in the same network.
    pub peer: IpAddr,
    /// The length of the prefix that they share.
    pub prefix: u8,
    /// The largest IP packet.
    pub mtu: u32,
    /// Packets that the device holds for the data plane.
    pub device_queue: u32,
    /// The most segments that TCP hands to the device at once; `None` for the kernel's choice.
    pub largest_burst: Option<u32>,
    /// Its device is one end of a cable instead, and the command's namespace has the other.
    pub cable: Option<Cable>,
    /// Settings of its namespace: path below /proc/sys, value.
    pub sysctls: Vec<(String, String)>,
    /// The congestion control that programs of the user get who choose none, where a namespace may
    /// have it.
    pub default_control: Option<String>,
    /// How many files it will have open.
    pub files: u64,
    /// How many more it may come to: downloads, if all were open at a time.
    pub more_files: u64,
    /// Whether it watches itself do not advance. In virtual time that is impossible, and to look often
    /// would cost as many events.
    pub watched: bool,
    /// The program at the device that changes its packets.
    pub device: OnDevice,
    /// Its part in the run.
    pub part: Part,
}

/// The programs at an agent's device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum OnDevice {
    /// There is none.
    Nothing,
    /// ECT(0) becomes ECT(1) in all that is sent.
    Ect1,
    /// It replaces ECT(0) by ECT(1) in Prague's packets, with sets of tracers.
    Tracers {
        /// The kernel's name of the congestion control.
        cc: String,
        /// The number of the map in which it shows its sockets.
        map: u32,
    },
}

/// A pair of virtual Ethernet devices.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Cable {
    /// The name of the other end, and the process in whose network namespace that is. Not the
    /// parent of who makes it: an agent whose parent was killed has another.
    pub other_end: String,
    /// See above.
    pub process: u32,
    /// The delay of the agent's packets.
    pub delay_ns: u64,
    /// By how much longer each packet takes at most.
    pub jitter_ns: u64,
    /// When the delay becomes another one, and which, earliest first.
    pub changes: Vec<(u64, u64)>,
}

/// An agent's part in a run. Times are nanoseconds of the run's clock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Part {
    /// Sends to every client that asks.
    TcpServer {
        /// The kernel's name of the congestion control.
        cc: String,
        /// Whether that may leave a connection to Reno, as it needs ECN and the clients have none.
        leaves: bool,
        /// Whether TCP paces, though the congestion control would not.
        pacing: bool,
        /// Where its Prague exports its state.
        shows: Shows,
        /// SO_SNDBUF of its sockets, where it is set.
        sndbuf: Option<u64>,
        /// How often it looks at its sockets.
        sample_every_ns: u64,
        /// The downloads. It samples the socket of one only when that is over.
        downloads: RangeFrom<FlowId>,
        /// Its writes into the flows of applications.
        apps: Vec<Writes>,
    },
    /// Requests data, and discards it.
    TcpClient {
        /// The kernel's name of the congestion control: it has a receiver's half too.
        cc: String,
        /// SO_RCVBUF of its sockets, where it is set.
        rcvbuf: Option<u64>,
        /// Flow, start, and how much it fetches (`None`: without end), earliest first.
        flows: Vec<(FlowId, u64, Option<u64>)>,
        /// Those of them that are of applications, and how many bytes a frame has.
        frames: Vec<(FlowId, u64)>,
        /// When it reports its reads.
        intervals: Intervals,
    },
    /// Sends at a constant bit rate.
    UdpServer {
        /// Its name.
        name: String,
        /// The seed of its random times, if it has any.
        seed: Option<u64>,
        /// The port, here and there.
        port: u16,
        /// The two bits of ECN.
        ecn: u8,
        /// The length of the payload.
        payload: usize,
        /// The length of a packet, IP header included.
        packet: u64,
        /// Bits per second, IP header included.
        bps: u64,
        /// When it starts.
        start_ns: u64,
        /// When it stops; `None` at the end of the run.
        stop_ns: Option<u64>,
    },
    /// Has a port for it to arrive at.
    UdpClient {
        /// The port.
        port: u16,
    },
}

/// Intervals of equal length, one of which begins when the warm-up ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Intervals {
    /// Their length.
    every_ns: u64,
    /// The end of the first one, which may be shorter.
    first_ns: u64,
}

impl Intervals {
    /// At least a millisecond long.
    pub fn new(every: Duration, warmup: Duration) -> Intervals {
        let every_ns = every.as_nanos().max(1_000_000);
        Intervals { every_ns, first_ns: warmup.as_nanos() % every_ns }
    }

    /// The number of the interval that `at` is in.
    pub fn number(&self, at: Time) -> u64 {
        (at.as_nanos() + self.every_ns - self.first_ns) / self.every_ns
    }

    /// The end of the interval that `at` is in, which is the beginning of the next one.
    pub fn end(&self, at: Time) -> Time {
        Time::from_nanos(self.number(at) * self.every_ns + self.first_ns)
    }
}

/// The writes into a flow of an application.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Writes {
    /// The flow.
    pub flow: FlowId,
    /// Bits per second.
    bps: u64,
    /// Frames per second.
    fps: u64,
    /// Whether it skips frames.
    adapt: bool,
    /// Which segments wait that are not full.
    pub hold: Hold,
    /// When no more frames are due.
    stop_ns: u64,
}

impl Writes {
    /// For a flow of this application in a run that ends at `end`, where a frame may still be due.
    pub fn new(flow: FlowId, app: &App, end: Time) -> Writes {
        let over = end + Duration::from_nanos(1);
        let stop = app.stop.map_or(over, |stop| stop.min(over));
        let App { rate, fps, adapt, hold, .. } = *app;
        Writes { flow, bps: rate.as_bps(), fps, adapt, hold, stop_ns: stop.as_nanos() }
    }

    /// The application, as far as it matters to the writer.
    pub fn app(&self) -> App {
        App {
            group: 0,
            rate: Rate::from_bps(self.bps),
            fps: self.fps,
            flows: 1,
            adapt: self.adapt,
            hold: self.hold,
            start: Time::ZERO,
            stop: Some(Time::from_nanos(self.stop_ns)),
        }
    }
}

/// Where a server finds the state of its sockets' Prague.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Shows {
    /// Nowhere.
    Nowhere,
    /// In a map of BPF, by this number.
    Map(u32),
    /// In the result of TCP_CC_INFO.
    Info,
}

/// The later messages of the command to its agents.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The run starts: its clock reads zero at this instant of CLOCK_MONOTONIC.
    Go {
        /// That instant.
        origin_ns: u64,
    },
    /// To a client: it opens a flow.
    Open(Opens),
    /// To a client: it gives a flow up. Packets on their way to it are dropped.
    GiveUp {
        /// The flow.
        flow: FlowId,
    },
    /// To a server: it writes into a flow of an application, which a client will open.
    Write(Writes),
    /// To a server or a client of TCP: connections from now on are as this setup has them. The agent
    /// applies the settings of the host, the program at the device, the MTU, and of its part those that
    /// do not name flows; then it answers [`Word::Ready`].
    Setup(Box<Setup>),
    /// To a UDP source: it sends otherwise from now on.
    Send {
        /// The two bits of ECN.
        ecn: u8,
        /// The length of the payload.
        payload: usize,
        /// The length of a packet, IP header included.
        packet: u64,
        /// Bits per second, IP header included; 0 to send nothing.
        bps: u64,
    },
    /// The run is over.
    Stop,
}

/// A flow that a client opens.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Opens {
    /// The flow.
    pub flow: FlowId,
    /// When, or at once if that is over.
    pub at_ns: u64,
    /// How much it fetches; `None` without end.
    pub size: Option<u64>,
    /// Bytes of a frame, where an application writes into it.
    pub frame: Option<u64>,
}

/// The messages of an agent to the command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    /// Its device comes along, unless that is a cable; these are its namespace's settings, read
    /// back.
    Ready {
        /// Path below /proc/sys, value.
        settings: Vec<(String, String)>,
    },
    /// The events of its flows.
    Reports(Vec<Row>),
    /// It has said all, and waits for the others.
    Done {
        /// How long it did not advance during the run.
        stalls: Stalls,
    },
    /// It gives up.
    Failed(Fault),
}

/// A [`OsError`] on its way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    /// Whether the machine is to blame.
    machine: bool,
    why: String,
}

impl From<OsError> for Fault {
    fn from(error: OsError) -> Fault {
        Fault { machine: matches!(error, OsError::Machine(_)), why: error.to_string() }
    }
}

impl From<Fault> for OsError {
    fn from(Fault { machine, why }: Fault) -> OsError {
        if machine { OsError::Machine(why) } else { OsError::Run(why) }
    }
}

/// A [`Report`] on its way: arrays, since thousands of flows may report many times a
/// second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Row {
    /// Flow, time.
    #[serde(rename = "o")]
    Opened(FlowId, u64),
    /// Flow, time.
    #[serde(rename = "c")]
    Closed(FlowId, u64),
    /// Flow, time.
    #[serde(rename = "w")]
    Written(FlowId, u64),
    /// Flow, time.
    #[serde(rename = "k")]
    Skipped(FlowId, u64),
    /// Flow, time.
    #[serde(rename = "d")]
    Delivered(FlowId, u64),
    /// Flow, time, bytes.
    #[serde(rename = "r")]
    Read(FlowId, u64, u64),
    /// Flow, time, and the fields of [`TcpSample`] in their order.
    #[serde(rename = "s")]
    Sample(FlowId, u64, u32, Option<u32>, Option<u64>, u64, u64, u64, Option<u64>, Option<Shown>),
}

/// Of a [`PragueSample`](crate::PragueSample): score, its highest, rounds, smoothed RTT, deviation,
/// depth, alpha.
type Shown = (i64, i64, u32, u32, u32, u32, Option<u32>);

impl From<Report> for Row {
    fn from(report: Report) -> Row {
        match report {
            Report::Opened { flow, at } => Row::Opened(flow, at.as_nanos()),
            Report::Closed { flow, at } => Row::Closed(flow, at.as_nanos()),
            Report::Written { flow, at } => Row::Written(flow, at.as_nanos()),
            Report::Skipped { flow, at } => Row::Skipped(flow, at.as_nanos()),
            Report::Delivered { flow, at } => Row::Delivered(flow, at.as_nanos()),
            Report::Read { flow, at, bytes } => Row::Read(flow, at.as_nanos(), bytes),
            Report::Sample { flow, at, sample } => Row::Sample(
                flow,
                at.as_nanos(),
                sample.cwnd,
                sample.ssthresh,
                sample.srtt.map(Duration::as_nanos),
                sample.delivered,
                sample.delivered_ce,
                sample.retransmits,
                sample.pacing_bytes_per_s,
                sample.prague.map(|PragueSample { detector: d, alpha }| {
                    (d.score, d.max, d.rounds, d.srtt_us, d.mdev_us, d.depth_us, alpha)
                }),
            ),
        }
    }
}

impl From<Row> for Report {
    fn from(row: Row) -> Report {
        match row {
            Row::Opened(flow, at) => Report::Opened { flow, at: Time::from_nanos(at) },
            Row::Closed(flow, at) => Report::Closed { flow, at: Time::from_nanos(at) },
            Row::Written(flow, at) => Report::Written { flow, at: Time::from_nanos(at) },
            Row::Skipped(flow, at) => Report::Skipped { flow, at: Time::from_nanos(at) },
            Row::Delivered(flow, at) => Report::Delivered { flow, at: Time::from_nanos(at) },
            Row::Read(flow, at, bytes) => Report::Read { flow, at: Time::from_nanos(at), bytes },
            Row::Sample(
                flow,
                at,
                cwnd,
                ssthresh,
                srtt,
                delivered,
                ce,
                retransmits,
                pacing,
                prague,
            ) => {
                let sample = TcpSample {
                    cwnd,
                    ssthresh,
                    srtt: srtt.map(Duration::from_nanos),
                    delivered,
                    delivered_ce: ce,
                    retransmits,
                    pacing_bytes_per_s: pacing,
                    prague: prague.map(
                        |(score, max, rounds, srtt_us, mdev_us, depth_us, alpha)| PragueSample {
                            detector: Reading { score, max, rounds, srtt_us, mdev_us, depth_us },
                            alpha,
                        },
                    ),
                };
                Report::Sample { flow, at: Time::from_nanos(at), sample }
            }
        }
    }
}

/// One end of a control socket.
pub struct Channel {
    socket: OwnedFd,
    /// The received bytes; the first `taken` of them are processed.
    inbox: Vec<u8>,
    taken: usize,
    /// Number of further bytes that are known to have no end of a message.
    searched: usize,
    /// Files that arrived, oldest first.
    files: VecDeque<OwnedFd>,
}

/// The result of [`Channel::next`].
pub enum Next<T> {
    /// A message.
    Message(T),
    /// Nothing yet.
    Nothing,
    /// The other end is gone.
    Closed,
}

impl Channel {
    /// This end, and the other as it is given to a child.
    pub fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
        let (here, there) = rustix::net::socketpair(family, SocketType::STREAM, flags, None)?;
        Ok((Channel::new(here), there))
    }

    /// The end that is this socket.
    pub fn new(socket: OwnedFd) -> Channel {
        Channel { socket, inbox: Vec::new(), taken: 0, searched: 0, files: VecDeque::new() }
    }

    /// Says it, with a file. Waits while the other end has too much to read.
    pub fn send(&self, message: &impl Serialize, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        let mut sent = 0;
        while sent < line.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if sent == 0 && !files.is_empty() {
                control.push(SendAncillaryMessage::ScmRights(&files));
            }
            let rest = [IoSlice::new(&line[sent..])];
            match rustix::net::sendmsg(&self.socket, &rest, &mut control, SendFlags::NOSIGNAL) {
                Ok(n) => sent += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next message; waits for it where `wait`.
    pub fn next<T: DeserializeOwned>(&mut self, wait: bool) -> io::Result<Next<T>> {
        loop {
            let unread = &self.inbox[self.taken..];
            let end = unread[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| self.searched + end) {
                let message = serde_json::from_slice(&unread[..end])?;
                (self.taken, self.searched) = (self.taken + end + 1, 0);
                return Ok(Next::Message(message));
            }
            self.searched = unread.len();
            self.inbox.drain(..self.taken);
            self.taken = 0;
            match self.receive(wait) {
                Ok(0) => return Ok(Next::Closed),
                Ok(_) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(Next::Nothing),
                // Its process ended with messages of ours unread.
                Err(rustix::io::Errno::CONNRESET) => return Ok(Next::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The oldest file that arrived.
    pub fn take_file(&mut self) -> Option<OwnedFd> {
        self.files.pop_front()
    }

    fn receive(&mut self, wait: bool) -> rustix::io::Result<usize> {
        let old = self.inbox.len();
        self.inbox.resize(old + (64 << 10), 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            let mut rest = [IoSliceMut::new(&mut self.inbox[old..])];
            match rustix::net::recvmsg(&self.socket, &mut rest, &mut control, flags) {
                Err(rustix::io::Errno::INTR) => {}
                received => break received.map(|received| received.bytes),
            }
        };
        self.inbox.truncate(old + received.unwrap_or(0));
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.files.extend(files);
            }
        }
        received
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_way() {
        let sample = TcpSample {
            cwnd: 10,
            ssthresh: Some(7),
            srtt: Some(Duration::from_micros(10_123)),
            delivered: 1 << 40,
            delivered_ce: 3,
            retransmits: 2,
            pacing_bytes_per_s: None,
            prague: Some(PragueSample {
                detector: Reading { score: -8 << 24, max: 9 << 24, ..Reading::default() },
                alpha: Some(1),
            }),
        };
        let at = Time::from_nanos(u64::MAX - 1);
        let (mut here, there) = Channel::pair().unwrap();
        let there = Channel::new(there);
        for report in [
            Report::Opened { flow: FlowId::new(1), at },
            Report::Closed { flow: FlowId::new(u32::MAX), at },
            Report::Written { flow: FlowId::new(2), at },
            Report::Skipped { flow: FlowId::new(3), at },
            Report::Delivered { flow: FlowId::new(4), at },
            Report::Read { flow: FlowId::new(5), at, bytes: u64::MAX },
            Report::Sample { flow: FlowId::new(0), at, sample },
        ] {
            there.send(&Row::from(report), None).unwrap();
            let Next::Message::<Row>(row) = here.next(true).unwrap() else { panic!() };
            assert_eq!(Report::from(row), report);
        }
        assert!(matches!(here.next::<Row>(false).unwrap(), Next::Nothing));
        drop(there);
        assert!(matches!(here.next::<Row>(false).unwrap(), Next::Closed));
    }

    #[test]
    fn an_interval_begins_when_the_warm_up_ends() {
        let ms = Duration::from_millis;
        // The warm-up ends 50 ms after the second multiple of 100 ms.
        let intervals = Intervals::new(ms(100), ms(250));
        let number = |at| intervals.number(Time::ZERO + ms(at));
        assert_eq!([0, 49, 50, 149, 249, 250, 349, 350].map(number), [0, 0, 1, 1, 2, 3, 3, 4]);
        let last = Time::ZERO + ms(250).saturating_sub(Duration::from_nanos(1));
        assert_eq!(intervals.number(last), 2);
        let end = |at| intervals.end(Time::ZERO + ms(at));
        assert_eq!(
            [0, 49, 50, 249, 250].map(end),
            [50, 50, 150, 250, 350].map(|at| Time::ZERO + ms(at))
        );
        // A warm-up of whole intervals, and none.
        for warmup in [ms(200), Duration::ZERO] {
            let intervals = Intervals::new(ms(100), warmup);
            assert_eq!([99, 100].map(|at| intervals.number(Time::ZERO + ms(at))), [1, 2]);
        }
    }

    #[test]
    fn a_message_larger_than_the_socket_arrives_whole_and_with_its_file() {
        let (mut here, there) = Channel::pair().unwrap();
        let long: Vec<u64> = (0..200_000).collect();
        let expected = long.clone();
        let sender = std::thread::spawn(move || {
            let there = Channel::new(there);
            there.send(&long, Some(there.as_fd())).unwrap();
        });
        let Next::Message::<Vec<u64>>(message) = here.next(true).unwrap() else { panic!() };
        assert_eq!(message, expected);
        assert!(here.take_file().is_some() && here.take_file().is_none());
        sender.join().unwrap();
    }
}
