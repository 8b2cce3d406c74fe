//! A packet trace that Wireshark reads: every packet at the bottleneck and every answer, in pcapng.
//!
//! It is a capture on the servers' side of the bottleneck, so that a reader finds whole connections and
//! their round trips. A packet from a server is on the interface `down` at the time at which it arrived
//! at the bottleneck, and on `drop` if it was dropped. It is written once, as it left: with the mark of
//! the bottleneck, and with a comment on the mark or drop. So it is written when that is known, and
//! all that came later waits for it. A packet from a client is on `up` when it arrives at its server.
//!
//! A group that sends up is the mirror image. A packet from its server is on `up` when it leaves the uplink, or on
//! `drop`. A packet from its client is on `down` when it arrives at its server.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Write};
use std::time::Duration as StdDuration;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_model::{Direction, FlowId, Scenario, SourceId};
use l4s_observe::{Contents, Header, HopEvent, Observer, OnWire, Traced, Wants};
use l4s_units::{Duration, Time};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::wire::{Way, write_frame};

/// How much of each packet is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Snap {
    /// The headers: the payload is zeros anyway. The true length is kept beside them.
    #[default]
    Headers,
    /// All of it, so that a reader can verify TCP checksums.
    Packet,
}

#[derive(Clone, Copy, Default)]
#[repr(u32)]
enum Interface {
    #[default]
    Down,
    Drop,
    Up,
}

/// The identity of packets that are in the queue at the same time: the flow; sequence number,
/// payload and time stamp, or the number of a datagram; or the address of a real packet's bytes.
/// Packets for which all this is the same look the same in a trace, too.
type Identity = (FlowId, u64, u32, u32, usize);

/// `None` for a packet without contents.
fn identity(packet: &impl Traced) -> Option<Identity> {
    let (number, payload, stamp, place) = match packet.contents() {
        Contents::Bytes(bytes) => (0, 0, 0, bytes.as_ptr().addr()),
        Contents::Later => return None,
        Contents::Headers(_, Header::Udp { payload, number }) => (number, payload, 0, 0),
        Contents::Headers(_, Header::Tcp(tcp)) => {
            (tcp.seq, tcp.payload, tcp.stamps.unwrap_or_default().0, 0)
        }
    };
    Some((packet.flow(), number, payload, stamp, place))
}

/// The most bytes of packets that wait to be written. A kernel does not report the outcome of every
/// packet: beyond this, the oldest is written without it.
const MOST_WAITING: usize = 64 << 20;

/// Timestamps count in 10⁻⁹ s (`if_tsresol`).
const NANOSECONDS: u8 = 9;

/// A packet of the trace.
#[derive(Default)]
struct Record {
    time: Time,
    interface: Interface,
    /// The frame, without a payload of zeros.
    bytes: Vec<u8>,
    /// Bytes that are kept, and bytes of the frame.
    kept: usize,
    length: usize,
    comment: Option<String>,
    /// The packet is in the queue.
    waits: bool,
}

/// Writes every packet at the bottleneck and every answer. Errors wait for [`PacketTrace::finish`].
pub struct PacketTrace<W: Write> {
    writer: PcapNgWriter<W>,
    snap: Snap,
    /// Which sources send up, by place; none of those that are not in it.
    is_up: Vec<bool>,
    /// The number of the uplink among the hops.
    uplink: usize,
    /// The records that are not written yet, in order of time, and the number of the first one.
    records: VecDeque<Record>,
    first: u64,
    /// Packets in the queue, with the numbers of their records.
    waiting: BTreeSet<(Identity, u64)>,
    /// Bytes of frames in `records`.
    bytes: usize,
    /// Buffers to use again.
    pool: Vec<Vec<u8>>,
    error: Option<io::Error>,
}

impl<W: Write> PacketTrace<W> {
    /// A trace into `writer`, which should buffer.
    pub fn new(writer: W, snap: Snap) -> io::Result<Self> {
        // The byte order is fixed, so that the same run gives the same bytes on any machine.
        let mut writer =
            PcapNgWriter::with_endianness(writer, Endianness::Little).map_err(io_error)?;
        for (name, what) in [
            ("down", "packets from servers, at their arrival at the bottleneck"),
            ("drop", "packets that the queue discipline dropped, at their arrival"),
            ("up", "packets from clients, at their arrival at the servers"),
        ] {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                    InterfaceDescriptionOption::IfDescription(Cow::Borrowed(what)),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            writer.write_pcapng_block(interface).map_err(io_error)?;
        }
        Ok(PacketTrace {
            writer,
            snap,
            is_up: Vec::new(),
            uplink: 0,
            records: VecDeque::new(),
            first: 0,
            waiting: BTreeSet::new(),
            bytes: 0,
            pool: Vec::new(),
            error: None,
        })
    }

    /// The same for a scenario in which sources may send up.
    pub fn of(self, scenario: &Scenario) -> Self {
        let sources = scenario.source_names().count();
        let is_up = (0..sources).map(|place| scenario.direction_of(place) == Direction::Up);
        PacketTrace { is_up: is_up.collect(), uplink: scenario.hops.len(), ..self }
    }

    /// Whether a source sends up.
    fn is_up(&self, source: SourceId) -> bool {
        self.is_up.get(source.index()).copied().unwrap_or_default()
    }

    /// Completes the trace, with the packets in the queue; gives the first error, if there was any.
    pub fn finish(mut self) -> io::Result<W> {
        self.records.iter_mut().for_each(|record| record.waits = false);
        self.write();
        let mut writer = self.writer.into_inner();
        self.error.map_or(Ok(()), Err)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Adds a packet that was seen at `now`, from a server (`Way::Down`) or from a client.
    fn add(
        &mut self,
        packet: &(impl OnWire + ?Sized),
        way: Way,
        interface: Interface,
        waits: bool,
        now: Time,
    ) {
        let mut record = Record {
            time: now,
            interface,
            bytes: self.pool.pop().unwrap_or_default(),
            waits,
            ..Record::default()
        };
        record.fill(packet, way, self.snap);
        self.bytes += record.bytes.len();
        self.records.push_back(record);
    }

    /// Adds a packet that was dropped at `now` and waited for nothing here.
    fn add_drop(&mut self, packet: &impl OnWire, queue: Queue, cause: DropCause, now: Time) {
        self.add(packet, Way::Down, Interface::Drop, false, now);
        if let Some(record) = self.records.back_mut() {
            record.comment = Some(drop_comment(cause, queue));
        }
    }

    /// The number of the record of a packet in the queue, unless it was written.
    fn find(&self, packet: &impl Traced) -> Option<(Identity, u64)> {
        let identity = identity(packet)?;
        let found = *self.waiting.range((identity, self.first)..).next()?;
        (found.0 == identity).then_some(found)
    }

    /// A packet left the queue, to be forwarded or dropped.
    fn leave(&mut self, packet: &impl Traced, drop: Option<String>) {
        let Some(found) = self.find(packet) else { return };
        self.waiting.remove(&found);
        let record = &mut self.records[(found.1 - self.first) as usize];
        if drop.is_some() {
            (record.interface, record.comment) = (Interface::Drop, drop);
        }
        record.waits = false;
        self.write();
    }

    /// Writes the records that wait for nothing.
    fn write(&mut self) {
        while let Some(record) = self.records.front() {
            if record.waits && self.bytes <= MOST_WAITING {
                break;
            }
            let Some(mut record) = self.records.pop_front() else { return };
            self.first += 1;
            self.bytes -= record.bytes.len();
            record.bytes.resize(record.kept, 0);
            if self.error.is_none() {
                let comment = record.comment.take();
                let block = EnhancedPacketBlock {
                    interface_id: record.interface as u32,
                    timestamp: StdDuration::from_nanos(record.time.as_nanos()),
                    original_len: record.length as u32,
                    data: Cow::Borrowed(&record.bytes),
                    options: comment
                        .map(|comment| EnhancedPacketOption::Comment(comment.into()))
                        .into_iter()
                        .collect(),
                };
                self.error = self.writer.write_pcapng_block(block).map_err(io_error).err();
            }
            self.pool.push(record.bytes);
        }
    }
}

impl Record {
    /// Takes the form of the packet.
    fn fill(&mut self, packet: &(impl OnWire + ?Sized), way: Way, snap: Snap) {
        let lengths = write_frame(&packet.wire(), way, &mut self.bytes);
        self.length = lengths.frame;
        self.kept = match snap {
            Snap::Headers => lengths.headers,
            Snap::Packet => lengths.frame,
        };
        self.bytes.truncate(self.kept);
    }
}

fn drop_comment(cause: DropCause, queue: Queue) -> String {
    let cause = match cause {
        DropCause::Overload => "overload",
        DropCause::Aqm => "aqm",
        DropCause::Limit => "limit",
        DropCause::Memory => "memory",
        DropCause::Radio => "radio",
        DropCause::AckFilter => "ack filter",
    };
    format!("dropped: {cause}, queue {}", queue.name())
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

impl<P: Traced, W: Write> Observer<P> for PacketTrace<W> {
    fn arrived(&mut self, packet: &P, now: Time) {
        // Of a source that sends up it is a client's, which `answered` has.
        let Some(identity) = identity(packet).filter(|_| !self.is_up(packet.group())) else {
            return;
        };
        self.waiting.insert((identity, self.first + self.records.len() as u64));
        self.add(packet, Way::Down, Interface::Down, true, now);
    }

    fn marked(&mut self, packet: &P, queue: Queue, cause: MarkCause, _: Time) {
        let Some((_, number)) = self.find(packet) else { return };
        let cause = match cause {
            MarkCause::Step => "step",
            MarkCause::Coupled => "coupled",
            MarkCause::Classic => "classic",
        };
        let comment = format!("marked: {cause}, queue {}", queue.name());
        let record = &mut self.records[(number - self.first) as usize];
        record.fill(packet, Way::Down, self.snap);
        record.comment = Some(comment);
    }

    fn departed(&mut self, packet: &P, _: Queue, _: Duration, _: Time) {
        self.leave(packet, None);
    }

    fn dropped(&mut self, packet: &P, queue: Queue, cause: DropCause, now: Time) {
        if cause != DropCause::Radio {
            self.leave(packet, Some(drop_comment(cause, queue)));
        } else if !self.is_up(packet.group()) {
            // It had left the queue, and was sent.
            self.add_drop(packet, queue, cause, now);
            self.write();
        }
    }

    fn at_hop(&mut self, hop: u16, packet: &P, queue: Queue, what: HopEvent, now: Time) {
        if usize::from(hop) != self.uplink || !self.is_up(packet.group()) {
            return;
        }
        match what {
            HopEvent::Marked(_) => return,
            HopEvent::Departed(_) => self.add(packet, Way::Down, Interface::Up, false, now),
            HopEvent::Dropped(cause) => self.add_drop(packet, queue, cause, now),
        }
        self.write();
    }

    fn answered(&mut self, packet: &dyn OnWire, now: Time) {
        let interface = match self.is_up(packet.wire().group) {
            true => Interface::Down,
            false => Interface::Up,
        };
        self.add(packet, Way::Up, interface, false, now);
        self.write();
    }

    fn wants(&self) -> Wants {
        Wants { arrivals: true, answers: true, ..Wants::NOTHING }
    }
}
