//! The filter of acknowledgements with real packets: which ones it takes out of the queue of the uplink.

use etherparse::{PacketBuilder, TcpHeader};
use l4s_aqm::{Config, DropCause, Limit, Queue, fifo};
use l4s_lab::{Delivery, End, FIRST_PORT, Frame, Plane};
use l4s_model::{AckFilter, Link, Scenario, Uplink};
use l4s_observe::{HopEvent, Observer, Traced};
use l4s_scenario::bundled;
use l4s_units::{Bytes, Duration, Rate, Time};

/// Two flows, and an uplink of 1 Mb/s.
fn scenario(filter: AckFilter) -> Scenario {
    let plan = bundled::find("one-against-one").unwrap().plan(&[]).unwrap();
    let mut scenario = plan.points[0].scenario.clone();
    scenario.groups.truncate(1);
    scenario.groups[0].starts = vec![Time::ZERO; 2];
    scenario.groups[0].rtt = Duration::from_millis(10);
    let aqm = Config::Fifo(fifo::Config { limit: Limit::packets(1000) });
    let link = Link { burst: Bytes::ZERO, ..Link::new(Rate::from_mbps(1)) };
    scenario.uplink = Some(Uplink { link, aqm, ack_filter: filter });
    scenario
}

/// Acknowledgement numbers that left the uplink, and those that the filter took out.
#[derive(Default)]
struct Fates {
    left: Vec<u32>,
    filtered: Vec<u32>,
}

impl Observer<Frame> for Fates {
    fn at_hop(&mut self, _: u16, packet: &Frame, _: Queue, what: HopEvent, _: Time) {
        let number = packet.ip().tcp().map_or(0, |tcp| tcp.ack_number());
        match what {
            HopEvent::Departed(_) => self.left.push(number),
            HopEvent::Dropped(DropCause::AckFilter) => self.filtered.push(number),
            other => panic!("{other:?} in a queue without an AQM"),
        }
        assert!(packet.ip_length().get() >= 40);
    }
}

/// A packet of a client.
#[derive(Clone)]
struct Sent {
    v6: bool,
    port: u16,
    header: TcpHeader,
    payload: usize,
}

/// A pure acknowledgement without options.
fn ack(number: u32) -> Sent {
    let mut header = TcpHeader { ack: true, acknowledgment_number: number, ..TcpHeader::default() };
    header.window_size = 1000;
    Sent { v6: false, port: FIRST_PORT, header, payload: 0 }
}

impl Sent {
    fn with(mut self, change: impl FnOnce(&mut TcpHeader)) -> Sent {
        change(&mut self.header);
        self
    }

    fn options(self, bytes: &[u8]) -> Sent {
        self.with(|header| header.set_options_raw(bytes).unwrap())
    }

    fn bytes(&self) -> Vec<u8> {
        let builder = if self.v6 {
            let address = |last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
            PacketBuilder::ipv6(address(2), address(1), 64)
        } else {
            PacketBuilder::ipv4([10, 0, 1, 1], [10, 0, 0, 1], 64)
        };
        let mut header = self.header.clone();
        (header.source_port, header.destination_port) = (self.port, 5001);
        let mut bytes = Vec::new();
        builder.tcp_header(header).write(&mut bytes, &vec![0; self.payload]).unwrap();
        bytes
    }
}

/// The acknowledgement numbers that the filter takes out when these packets wait.
fn filtered(filter: AckFilter, packets: &[Sent]) -> Vec<u32> {
    let (mut plane, mut fates) = (Plane::new(&scenario(filter)), Fates::default());
    let mut at_server = Vec::new();
    // 12 ms on the link.
    let first = Sent { payload: 1400, ..ack(0) };
    for (n, packet) in (0..).zip([first].iter().chain(packets)) {
        let (bytes, mut buffer) = (packet.bytes(), plane.buffer());
        let end = Frame::put(&mut buffer, &bytes);
        let now = Time::ZERO + Duration::from_micros(n);
        plane.receive(0, End::Client, buffer, end, now, &mut fates, &mut |_| true);
    }
    plane.advance(Time::ZERO + Duration::from_secs(1), &mut fates, &mut |delivery: Delivery<
        '_,
    >| {
        at_server.push(delivery.bytes[Frame::START..].to_vec());
        true
    });
    // Nothing is lost but those, and their buffers are used again.
    assert_eq!(1 + packets.len(), fates.left.len() + fates.filtered.len());
    let counters = plane.counters(0, End::Client);
    assert_eq!(counters.dropped, fates.filtered.len() as u64);
    assert_eq!((counters.under_way(), plane.buffers_out()), (0, 0));
    // What passes is unchanged and in order.
    let passes = |packet: &&Sent| !fates.filtered.contains(&packet.header.acknowledgment_number);
    let expected: Vec<_> = packets.iter().filter(passes).map(Sent::bytes).collect();
    assert_eq!(at_server[1..], expected);
    fates.filtered
}

/// Whether the first of two packets goes, in aggressive mode.
fn goes(first: Sent, second: Sent) -> bool {
    match filtered(AckFilter::Aggressive, &[first, second])[..] {
        [] => false,
        [1000] => true,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn of_the_acknowledgements_of_a_flow_two_stay_or_one() {
    let acks: Vec<Sent> = (1..=5).map(|n| ack(1000 * n)).collect();
    assert!(filtered(AckFilter::Off, &acks).is_empty());
    assert_eq!(filtered(AckFilter::On, &acks), [1000, 2000, 3000]);
    assert_eq!(filtered(AckFilter::Aggressive, &acks), [1000, 2000, 3000, 4000]);
    let v6: Vec<Sent> = acks.into_iter().map(|ack| Sent { v6: true, ..ack }).collect();
    assert_eq!(filtered(AckFilter::On, &v6), [1000, 2000, 3000]);
}

#[test]
fn packets_of_another_flow_stay() {
    let other = FIRST_PORT + 1;
    assert!(!goes(ack(1000), Sent { port: other, ..ack(2000) }));
    // Neither is a flow of the scenario: both count for the first one of the group.
    let strays = [5900, 5901].map(|port| Sent { port, ..ack(1000) });
    assert!(!goes(strays[0].clone(), Sent { port: 5901, ..ack(2000) }));
    assert!(goes(strays[1].clone(), Sent { port: 5901, ..ack(2000) }));
    assert!(!goes(ack(1000), Sent { v6: true, ..ack(2000) }));
}

#[test]
fn a_packet_with_data_or_another_flag_stays() {
    assert!(!goes(Sent { payload: 1, ..ack(1000) }, ack(2000)));
    let flags: [fn(&mut TcpHeader); 7] = [
        |header| header.fin = true,
        |header| header.rst = true,
        |header| header.psh = true,
        |header| header.urg = true,
        |header| header.syn = true,
        |header| header.ack = false,
        // AE of Accurate ECN (RFC 9768 §3.1).
        |header| header.ns = true,
    ];
    for flag in flags {
        assert!(!goes(ack(1000).with(flag), ack(2000).with(flag)));
    }
    // Data replace an acknowledgement; so does the end of a stream, but not a SYN.
    assert!(goes(ack(1000), Sent { payload: 1, ..ack(2000) }));
    assert!(goes(ack(1000), ack(2000).with(|header| header.fin = true)));
    assert!(!goes(ack(1000), ack(2000).with(|header| header.syn = true)));
}

#[test]
fn the_echo_of_marks_stays() {
    let ece = |sent: Sent| sent.with(|header| header.ece = true);
    let cwr = |sent: Sent| sent.with(|header| header.cwr = true);
    assert!(goes(ece(ack(1000)), ece(ack(2000))));
    assert!(!goes(ece(ack(1000)), ack(2000)));
    assert!(!goes(ack(1000), ece(ack(2000))));
    assert!(!goes(cwr(ack(1000)), ack(2000)));
    assert!(goes(cwr(ece(ack(1000))), cwr(ece(ack(2000)))));
}

/// Time stamps as Linux sends them, behind two bytes of padding (RFC 7323 §A).
fn stamps(sent: u32, echo: u32) -> Vec<u8> {
    [&[1, 1, 8, 10], &sent.to_be_bytes()[..], &echo.to_be_bytes()].concat()
}

/// A SACK option behind two bytes of padding (RFC 2018 §3).
fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut option = vec![1, 1, 5, 2 + 8 * blocks.len() as u8];
    let numbers = blocks.iter().flat_map(|(from, to)| [*from, *to]);
    option.extend(numbers.flat_map(u32::to_be_bytes));
    option
}

#[test]
fn an_option_that_says_more_stays() {
    let with = |number, options: &[u8]| ack(number).options(options);
    assert!(goes(with(1000, &stamps(7, 3)), with(2000, &stamps(8, 3))));
    assert!(!goes(with(1000, &stamps(7, 3)), with(2000, &stamps(6, 3))));
    assert!(!goes(with(1000, &stamps(7, 3)), with(2000, &stamps(8, 2))));
    let growing = [sack(&[(3000, 4000)]), sack(&[(3000, 5000)])];
    assert!(goes(with(1000, &growing[0]), with(1001, &growing[1])));
    assert!(!goes(with(1000, &growing[1]), with(1001, &growing[0])));
    assert!(!goes(with(1000, &growing[0]), ack(2000)));
    assert!(goes(ack(1000), with(2000, &growing[0])));
    let two = sack(&[(6000, 7000), (3000, 4000)]);
    assert!(goes(with(1000, &growing[0]), with(1001, &two)));
    assert!(!goes(with(1000, &two), with(1001, &growing[1])));
    // The signature of RFC 2385 is no news. The counters of AccECN (RFC 9768 §3.2.3) may be, and a maximum segment
    // size does not belong here.
    let md5 = [&[19, 18][..], &[0; 16], &[1, 1]].concat();
    assert!(goes(with(1000, &md5), with(2000, &md5)));
    let accecn = [&[174, 11][..], &[0; 9], &[1]].concat();
    assert!(!goes(with(1000, &accecn), with(2000, &accecn)));
    assert!(goes(ack(1000), with(2000, &accecn)));
    assert!(!goes(with(1000, &[2, 4, 5, 180]), ack(2000)));
    // Time stamps or SACK of another length than they have.
    assert!(!goes(with(1000, &[1, 1, 8, 6, 0, 0, 0, 0]), ack(2000)));
    assert!(!goes(with(1000, &[1, 1, 5, 6, 0, 0, 0, 0]), ack(2000)));
}
