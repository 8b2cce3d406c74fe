//! A real packet as the bottleneck sees it: its bytes, and the fields that queue disciplines and
//! measurement use, read once.

use l4s_bottleneck::Traveller;
use l4s_model::{AccEcnMangling, FlowId, SourceId};
use l4s_observe::{Contents, Traced};
use l4s_os::Offload;
use l4s_units::{Bytes, ETHERNET, Ecn};

use crate::address::End;
use crate::ip::{self, IpPacket, Malformed, Version};
use crate::pool::Buffer;

/// A packet on its way.
#[derive(Debug)]
pub struct Frame {
    buffer: Buffer,
    version: Version,
    ecn: Ecn,
    arrived_ce: bool,
    from: End,
    group: SourceId,
    /// Packets that it becomes on the link: more than one only with segmentation offload.
    segments: u16,
    flow: FlowId,
    /// Bytes in the buffer, the device's header included.
    end: u32,
    /// IP length of all segments.
    ip_length: u32,
}

impl Frame {
    /// Where the IP packet begins in its buffer, behind the device's header.
    pub const START: usize = Offload::LENGTH;

    /// The packet in the first `length` bytes of `buffer`, behind the [`Offload`] of a device. It
    /// belongs to nobody yet. Gives the buffer back if it holds no packet.
    #[inline]
    pub fn read(buffer: Buffer, length: usize) -> Result<Frame, (Buffer, Malformed)> {
        let checked = match buffer.get(Frame::START..length) {
            Some(bytes) => IpPacket::new_checked(bytes),
            None => Err(Malformed::Cut),
        };
        let packet = match checked {
            Ok(packet) => packet,
            Err(error) => return Err((buffer, error)),
        };
        let segments = match packet.headers_length() {
            Some(_) => Offload::of(&buffer[..Frame::START]).segments(packet.payload_length()),
            None => 1,
        };
        let (version, ecn, end) = (packet.version(), packet.ecn(), Frame::START + packet.length());
        Ok(Frame {
            ip_length: packet.wire_length(segments) as u32,
            version,
            ecn,
            arrived_ce: ecn.is_ce(),
            from: End::Server,
            group: SourceId::default(),
            segments,
            flow: FlowId::default(),
            end: end as u32,
            buffer,
        })
    }

    /// Puts a packet of the link into a buffer, about whose checksum nothing is known. Returns how many bytes
    /// [`Frame::read`] then reads.
    ///
    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn put(buffer: &mut Buffer, packet: &[u8]) -> usize {
        let end = Frame::START + packet.len();
        buffer[..Frame::START].copy_from_slice(&Offload::default().to_bytes());
        buffer[Frame::START..end].copy_from_slice(packet);
        end
    }

    /// Says whose it is, and which end sent it.
    #[inline]
    pub fn belongs_to(&mut self, flow: FlowId, group: SourceId, from: End) {
        (self.flow, self.group, self.from) = (flow, group, from);
    }

    /// The end that sent it.
    #[inline]
    pub fn from(&self) -> End {
        self.from
    }

    /// It comes to another queue.
    #[inline]
    pub fn arrive(&mut self) {
        self.arrived_ce = self.ecn.is_ce();
    }

    /// Packets that it becomes on the link.
    #[inline]
    pub fn segments(&self) -> u16 {
        self.segments
    }

    /// Its headers.
    #[inline]
    pub fn ip(&self) -> IpPacket<&[u8]> {
        IpPacket::new_checked(self.packet()).expect("a frame was checked when it was made")
    }

    /// The bytes for a device: its header, and the packet.
    #[inline]
    pub fn for_device(&self) -> &[u8] {
        &self.buffer[..self.end as usize]
    }

    /// The same packet in another buffer of this size.
    pub fn copy_into(&self, mut buffer: Buffer) -> Frame {
        let end = self.end as usize;
        buffer[..end].copy_from_slice(&self.buffer[..end]);
        Frame { buffer, ..*self }
    }

    /// Its headers, to be changed.
    fn ip_mut(&mut self) -> IpPacket<&mut [u8]> {
        let bytes = &mut self.buffer[Frame::START..self.end as usize];
        IpPacket::new_checked(bytes).expect("a frame was checked when it was made")
    }

    /// Its buffer, to be used again.
    #[inline]
    pub fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// The IP packet.
    #[inline]
    pub fn packet(&self) -> &[u8] {
        &self.buffer[Frame::START..self.end as usize]
    }
}

impl l4s_aqm::Packet for Frame {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.ip_length) + ETHERNET.get() * u64::from(self.segments))
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn set_ce(&mut self) {
        Traveller::set_ecn(self, Ecn::Ce);
    }

    #[inline]
    fn flow_hash(&self) -> u32 {
        l4s_bottleneck::flow_hash(self.flow)
    }

    #[inline]
    fn memory(&self) -> Bytes {
        l4s_bottleneck::skb_memory(self.size())
    }
}

impl Traveller for Frame {
    fn source(&self) -> SourceId {
        self.group
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        ip::set_ecn(&mut self.buffer[Frame::START..], self.version, ecn);
        self.ecn = ecn;
    }

    fn corrupt(&mut self, draw: u32) {
        // The receiver's kernel is to look at the checksum, which is that of the packet before.
        self.buffer[..Frame::START].copy_from_slice(&Offload::default().to_bytes());
        self.ip_mut().invert_bit(draw);
    }

    fn mangle_accecn(&mut self, mangling: AccEcnMangling) -> bool {
        match mangling {
            AccEcnMangling::Pass => false,
            AccEcnMangling::Strip => self.ip_mut().strip_accecn(),
            AccEcnMangling::ClearAce => self.ip_mut().clear_ace(),
        }
    }

    fn wash_dscp(&mut self) -> bool {
        self.ip_mut().wash_dscp()
    }
}

impl Traced for Frame {
    #[inline]
    fn flow(&self) -> FlowId {
        self.flow
    }

    #[inline]
    fn group(&self) -> SourceId {
        self.group
    }

    #[inline]
    fn ip_length(&self) -> Bytes {
        Bytes::new(self.ip_length.into())
    }

    #[inline]
    fn arrived_ce(&self) -> bool {
        self.arrived_ce
    }

    #[inline]
    fn contents(&self) -> Contents<'_> {
        Contents::Bytes(self.packet())
    }
}
