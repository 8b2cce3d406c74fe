//! A packet trace that Wireshark reads: every packet at the bottleneck, in pcapng.
//!
//! A packet is seen on the interface `in` when it arrives and on `out` when its transmission
//! starts, with its ECN field as it is there; a mark is a comment on the latter. A packet that is
//! dropped is seen on `drop`, with the reason as a comment.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration as StdDuration;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_model::FlowId;
use l4s_observe::{Header, Observer, Traced};
use l4s_units::{Duration, Time};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::wire::write_frame;

/// How much of each packet is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Snap {
    /// The headers: the payload is zeros anyway. The true length is kept beside them.
    #[default]
    Headers,
    /// All of it, so that a reader can verify TCP checksums.
    Packet,
}

#[derive(Clone, Copy)]
#[repr(u32)]
enum Interface {
    In,
    Out,
    Drop,
}

/// What tells packets apart that are under way at the same time: flow and header, and where a real
/// packet's bytes are, as one that was sent again has the same header.
type Identity = (FlowId, Header, usize);

fn identity(packet: &impl Traced) -> Identity {
    let place = packet.bytes().map_or(0, |bytes| bytes.as_ptr().addr());
    (packet.flow(), packet.header(), place)
}

/// Timestamps count in 10⁻⁹ s (`if_tsresol`).
const NANOSECONDS: u8 = 9;

/// Writes every packet at the bottleneck. Errors wait for [`PacketTrace::finish`].
pub struct PacketTrace<W: Write> {
    writer: PcapNgWriter<W>,
    snap: Snap,
    /// Marks of packets that have not left yet.
    marks: HashMap<Identity, MarkCause>,
    frame: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> PacketTrace<W> {
    /// A trace into `writer`, which should buffer.
    pub fn new(writer: W, snap: Snap) -> io::Result<Self> {
        // The byte order is fixed, so that the same run gives the same bytes on any machine.
        let mut writer =
            PcapNgWriter::with_endianness(writer, Endianness::Little).map_err(io_error)?;
        for (name, what) in [
            ("in", "packets as they arrive at the bottleneck"),
            ("out", "packets as their transmission starts"),
            ("drop", "packets that the queue discipline dropped"),
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
        Ok(PacketTrace { writer, snap, marks: HashMap::new(), frame: Vec::new(), error: None })
    }

    /// Completes the trace; gives the first error, if there was any.
    pub fn finish(self) -> io::Result<W> {
        let mut writer = self.writer.into_inner();
        self.error.map_or(Ok(()), Err)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Writes `packet`, which was sent at `sent`, as seen on `interface` at `now`.
    fn write(
        &mut self,
        packet: &impl Traced,
        sent: Time,
        interface: Interface,
        comment: Option<String>,
        now: Time,
    ) {
        if self.error.is_some() {
            return;
        }
        let lengths = write_frame(packet, sent, &mut self.frame);
        let kept = match self.snap {
            Snap::Headers => lengths.headers,
            Snap::Packet => lengths.frame,
        };
        let block = EnhancedPacketBlock {
            interface_id: interface as u32,
            timestamp: StdDuration::from_nanos(now.as_nanos()),
            original_len: lengths.frame as u32,
            data: Cow::Borrowed(&self.frame[..kept]),
            options: comment.map(|c| EnhancedPacketOption::Comment(c.into())).into_iter().collect(),
        };
        self.error = self.writer.write_pcapng_block(block).map_err(io_error).err();
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

impl<P: Traced, W: Write> Observer<P> for PacketTrace<W> {
    fn arrived(&mut self, packet: &P, now: Time) {
        self.write(packet, now, Interface::In, None, now);
    }

    fn marked(&mut self, packet: &P, _: Queue, cause: MarkCause, _: Time) {
        self.marks.insert(identity(packet), cause);
    }

    fn departed(&mut self, packet: &P, queue: Queue, sojourn: Duration, now: Time) {
        let mark = self.marks.remove(&identity(packet));
        let comment = mark.map(|cause| {
            let cause = match cause {
                MarkCause::Step => "step",
                MarkCause::Coupled => "coupled",
                MarkCause::Classic => "classic",
            };
            format!("marked: {cause}, queue {}", queue.name())
        });
        self.write(packet, now.saturating_sub(sojourn), Interface::Out, comment, now);
    }

    fn dropped(&mut self, packet: &P, queue: Queue, cause: DropCause, now: Time) {
        self.marks.remove(&identity(packet));
        let cause = match cause {
            DropCause::Overload => "overload",
            DropCause::Aqm => "aqm",
            DropCause::Limit => "limit",
            DropCause::Memory => "memory",
        };
        let comment = format!("dropped: {cause}, queue {}", queue.name());
        self.write(packet, now, Interface::Drop, Some(comment), now);
    }
}
