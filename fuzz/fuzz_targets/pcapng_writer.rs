//! Whatever a substrate says of packets, the trace can be read and holds valid packets.
#![no_main]

use etherparse::PacketHeaders;
use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_measure::{PacketTrace, Snap};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Contents, EcnFlags, Header, Observer, Tcp, Traced};
use l4s_units::{Bytes, Duration, Ecn, Time};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use pcap_file::pcapng::{Block, PcapNgReader};

#[derive(Arbitrary, Clone, Debug)]
struct Event {
    what: u8,
    other: u8,
    flow: u32,
    group: u16,
    length: u64,
    ecn: u8,
    arrived_ce: bool,
    tcp: bool,
    seq: u64,
    ack: Option<u64>,
    payload: u32,
    flags: [bool; 6],
    window: u64,
    stamps: Option<(u32, u32)>,
    sacks: [(u64, u64); 3],
    accecn: Option<[u32; 3]>,
    mss: Option<u16>,
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
    fn contents(&self) -> Contents<'_> {
        let Event { seq, ack, payload, window, stamps, sacks, accecn, mss, .. } = *self;
        let [syn, fin, push, ae, cwr, ece] = self.flags;
        let header = if self.tcp {
            let flags = EcnFlags { ae, cwr, ece };
            let tcp = Tcp {
                seq,
                ack,
                payload,
                syn,
                fin,
                push,
                flags,
                window,
                stamps,
                sacks,
                accecn,
                mss,
            };
            Header::Tcp(tcp)
        } else {
            Header::Udp { payload, number: seq }
        };
        Contents::Headers(l4s_aqm::Packet::ecn(self), header)
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
        // What leaves need not have arrived.
        let other = &events[usize::from(event.other) % events.len()];
        match event.what / 3 % 5 {
            0 => trace.arrived(event, now),
            1 => trace.departed(other, queue, Duration::from_nanos(event.sojourn), now),
            2 => trace.dropped(other, queue, DropCause::Memory, now),
            3 => trace.marked(other, queue, MarkCause::Coupled, now),
            _ => Observer::<Event>::answered(&mut trace, event, now),
        }
        written += u32::from(matches!(event.what / 3 % 5, 0 | 4));
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
