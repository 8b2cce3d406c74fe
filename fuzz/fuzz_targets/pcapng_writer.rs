//! Whatever a substrate says of packets, the trace can be read and holds valid packets.
#![no_main]

use etherparse::PacketHeaders;
use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_measure::{PacketTrace, Snap};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{EcnFlags, Header, Observer, Traced};
use l4s_units::{Bytes, Duration, Ecn, Time};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use pcap_file::pcapng::{Block, PcapNgReader};

#[derive(Arbitrary, Clone, Debug)]
struct Event {
    what: u8,
    flow: u32,
    group: u16,
    length: u64,
    ecn: u8,
    arrived_ce: bool,
    tcp: bool,
    seq: u64,
    ack: u64,
    payload: u32,
    flags: [bool; 5],
    stamps: Option<(u32, u32)>,
    now: u64,
    sojourn: u64,
}

impl l4s_aqm::Packet for Event {
    fn size(&self) -> Bytes {
        Bytes::new(self.length)
    }
    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.ecn)
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce.bits();
    }
    fn flow_hash(&self) -> u32 {
        self.flow
    }
}

impl Traced for Event {
    fn flow(&self) -> FlowId {
        FlowId::new(self.flow)
    }
    fn group(&self) -> SourceId {
        SourceId::new(self.group)
    }
    fn ip_length(&self) -> Bytes {
        Bytes::new(self.length)
    }
    fn arrived_ce(&self) -> bool {
        self.arrived_ce
    }
    fn header(&self) -> Header {
        let Event { seq, ack, payload, flags: [syn, fin, ae, cwr, ece], stamps, .. } = *self;
        if self.tcp {
            let flags = EcnFlags { ae, cwr, ece };
            Header::Tcp { seq, ack, payload, syn, fin, flags, stamps }
        } else {
            Header::Udp { payload, number: seq }
        }
    }
}

fuzz_target!(|input: (bool, Vec<Event>)| {
    let (headers_only, events) = input;
    let snap = if headers_only { Snap::Headers } else { Snap::Packet };
    let mut trace = PacketTrace::new(Vec::new(), snap).expect("memory takes everything");
    let mut written = 0;
    for event in &events {
        let now = Time::from_nanos(event.now);
        let queue = Queue::ALL[usize::from(event.what) % 3];
        written += 1;
        match event.what / 3 % 4 {
            0 => trace.arrived(event, now),
            1 => trace.departed(event, queue, Duration::from_nanos(event.sojourn), now),
            2 => trace.dropped(event, queue, DropCause::Memory, now),
            _ => {
                trace.marked(event, queue, MarkCause::Coupled, now);
                written -= 1;
            }
        }
    }
    let bytes = trace.finish().expect("memory takes everything");
    let mut reader = PcapNgReader::new(bytes.as_slice()).expect("a pcapng file");
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            written -= 1;
            assert!(packet.data.len() <= packet.original_len as usize);
            if !headers_only {
                let headers = PacketHeaders::from_ethernet_slice(&packet.data).expect("headers");
                assert!(headers.net.is_some() && headers.transport.is_some());
            }
        }
    }
    assert_eq!(written, 0);
});
