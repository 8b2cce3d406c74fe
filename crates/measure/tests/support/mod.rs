//! A scenario and packets to measure.
#![allow(dead_code)]

use l4s_aqm::Queue;
use l4s_measure::{EngineSummary, Origin, Recorder};
use l4s_model::{Buffer, FlowId, Group, Link, Scenario, SourceId, Udp};
use l4s_observe::{Contents, Header, Observer, Tcp, Traced};
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};

/// A packet of a substrate.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: u32,
    pub group: u16,
    pub length: u64,
    pub ecn: Ecn,
    pub arrived_ce: bool,
    pub header: Header,
}

impl l4s_aqm::Packet for Packet {
    fn size(&self) -> Bytes {
        Bytes::new(self.length + 14)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow_hash(&self) -> u32 {
        self.flow
    }
}

impl Traced for Packet {
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
        Contents::Headers(self.ecn, self.header)
    }
}

/// A full segment of a flow: 1448 B of payload, 52 B of headers.
pub fn packet(flow: u32, group: u16) -> Packet {
    let stamps = Some((10, 10));
    let header = Header::Tcp(Tcp { seq: 1, ack: Some(1), payload: 1448, stamps, ..Tcp::default() });
    Packet { flow, group, length: 1500, ecn: Ecn::Ect1, arrived_ce: false, header }
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The time `n` milliseconds after the start of the run.
pub fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// Groups A and B with one long flow each, and the source U: 12 Mb/s, 10 ms, two seconds with
/// one second of warm-up.
pub fn scenario() -> Scenario {
    let group = |name| Group::new(name, l4s_cc::Config::default(), ms(10));
    let udp = Udp { ecn: Ecn::Ect0, ..Udp::new("U", Rate::from_mbps(1)) };
    let link = Link { buffer: Buffer::Packets(1000), ..Link::new(Rate::from_mbps(12)) };
    Scenario {
        warmup: ms(1000),
        seed: 7,
        groups: vec![group("A"), group("B")],
        udp: vec![udp],
        ..Scenario::new("test", ms(2000), link, l4s_aqm::Config::default())
    }
}

pub fn origin() -> Origin {
    let mut set = serde_json::Map::new();
    set.insert("link.rate".to_owned(), "12mbit".into());
    set.insert("group.A.flows".to_owned(), 1.into());
    Origin {
        on: "sim".to_owned(),
        version: "0.1.0".to_owned(),
        code: "0123456789abcdef".to_owned(),
        set,
        command: "l4s run test --set link.rate=12mbit".to_owned(),
    }
}

pub fn engine() -> EngineSummary {
    EngineSummary { wall_s: Some(0.1), virtual_s: 2.0, packets: 0, ..Default::default() }
}

/// A recorder whose flows 0 (of A) and 1 (of B) opened at the start.
pub fn recorder(scenario: &Scenario) -> Recorder {
    let mut recorder = Recorder::new(scenario, origin());
    let r: &mut dyn Observer<Packet> = &mut recorder;
    r.opened(FlowId::new(0), SourceId::new(0), None, Time::ZERO);
    r.opened(FlowId::new(1), SourceId::new(1), None, Time::ZERO);
    recorder
}

/// A packet that arrives and leaves.
pub fn forward(r: &mut impl Observer<Packet>, packet: Packet, queue: Queue, ms_in: f64, now: Time) {
    let sojourn = Duration::from_secs_f64(ms_in / 1e3);
    r.arrived(&packet, now.saturating_sub(sojourn));
    r.departed(&packet, queue, sojourn, now);
}
