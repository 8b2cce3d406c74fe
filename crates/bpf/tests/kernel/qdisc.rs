//! The queue discipline in a real kernel with BPF queue disciplines (6.16 and later with
//! CONFIG_NET_SCH_BPF). On others these tests print that and pass. `make test-vm` runs them in such a kernel.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use l4s_aqm::Limit;
use l4s_aqm::dualpi2::kernel::{Link, Settings, as_kernel};
use l4s_aqm::dualpi2::{Config, LAqm, Scheduler, Step};
use l4s_bpf::{BpfError, DualPi2, Instance};
use l4s_units::{Bytes, Duration as Span};

use super::device::{Device, checksum};
use super::{in_namespace, ip, name, or_skipped};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const QINQ: u16 = 0x88a8;
const ARP: u16 = 0x0806;

/// The registered discipline, or `None` if this machine does not support it.
fn registered(test: &str) -> Option<DualPi2> {
    or_skipped(DualPi2::register(&name(test), 4))
}

fn settings(config: &Config, rate: &str) -> Settings {
    let rate = (rate != "device").then(|| rate.parse().expect("a rate"));
    Settings::new(&as_kernel(config), Link { rate, burst: Span::from_micros(500) })
}

fn tc(arguments: &str) -> String {
    let done = Command::new("tc").args(arguments.split(' ')).output().expect("iproute2");
    assert!(done.status.success(), "tc {arguments}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Keeps the kernel from sending packets of its own on the devices of this namespace.
fn be_quiet() {
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

/// A device that has the discipline.
struct Attached<'a> {
    discipline: &'a DualPi2,
    device: Device,
    _decides: std::os::fd::OwnedFd,
}

impl<'a> Attached<'a> {
    fn new(discipline: &'a DualPi2, settings: &Settings) -> Attached<'a> {
        be_quiet();
        let device = Device::open(true).expect("a device");
        discipline.prepare(settings).expect("settings");
        tc(&format!("qdisc replace dev {} root {}", device.name(), discipline.name()));
        let decides = discipline.decide(device.index()).expect("a program");
        ip(&format!("link set {} up", device.name()));
        Attached { discipline, device, _decides: decides }
    }

    fn instance(&self) -> Instance {
        let all = self.discipline.instances().expect("instances");
        all.into_iter().find(|found| found.ifindex == self.device.index()).expect("it is at work")
    }

    fn set(&self, settings: &Settings) {
        self.discipline.set(self.instance().number, settings).expect("settings");
    }

    /// Receives all frames at the far end, until none arrives for some time.
    fn drain(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.device.receive_within(400)).collect()
    }

    fn counted(&self, of: fn(&l4s_bpf::Counts) -> u64) -> [u64; 2] {
        let instance = self.instance();
        [of(&instance.queues[0]), of(&instance.queues[1])]
    }
}

/// A frame with these tags, and a payload that ends with `number`. Every other one is a fragment.
fn frame(tags: &[u16], kind: u16, ecn: u8, length: usize, number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 7]);
    }
    frame.extend(kind.to_be_bytes());
    let start = frame.len();
    match kind {
        IPV4 => {
            let total = (length as u16).to_be_bytes();
            let [part, offset] = if number % 2 == 1 { [0x20, 3] } else { [0, 0] };
            let mut header = vec![0x45, 0xa0 | ecn, total[0], total[1], 0, 9, part, offset];
            header.extend([64, 17, 0, 0]);
            header.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            let sum = checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&sum);
            frame.extend(header);
        }
        IPV6 => {
            let payload = (length as u16 - 40).to_be_bytes();
            // A traffic class whose other bits are set, a flow label, and as the next header hop-by-hop
            // options or a fragment's header.
            let (next, more) =
                if number % 2 == 1 { (44, [17, 0, 0, 9]) } else { (0, [17, 0, 1, 4]) };
            frame.extend([0x6a, 0x05 | ecn << 4, 0xbe, 0xef, payload[0], payload[1], next, 64]);
            frame.extend([0xfd; 32]);
            frame.extend(more);
            frame.extend([0; 4]);
        }
        _ => {}
    }
    frame.resize(start + length - 4, 0xaa);
    frame.extend(number.to_be_bytes());
    frame
}

/// The codepoint of a frame of [`frame`].
fn ecn_of(frame: &[u8]) -> u8 {
    let mut at = 12;
    let kind = loop {
        let kind = u16::from_be_bytes([frame[at], frame[at + 1]]);
        if ![VLAN, QINQ].contains(&kind) {
            break kind;
        }
        at += 4;
    };
    match kind {
        IPV4 => {
            assert_eq!(checksum(&frame[at + 2..at + 22]), 0, "{frame:02x?}");
            frame[at + 3] & 3
        }
        IPV6 => frame[at + 3] >> 4 & 3,
        _ => 0,
    }
}

/// A configuration that marks every queued L4S packet.
fn marks_all() -> Config {
    let l_aqm = LAqm::Step(Step::Time(Span::ZERO));
    Config { l_aqm, min_qlen_step: 0, ..Config::linux() }
}

#[test]
fn the_verifier_accepts_the_queue_discipline() {
    if let Some(discipline) = registered("v") {
        assert!(discipline.instances().expect("instances").is_empty());
        let error = DualPi2::register(discipline.name(), 1).expect_err("it is there");
        assert!(matches!(error, BpfError::NameTaken(_)), "{error}");
    }
}

/// Each kind of packet is in the right queue, and a mark changes only the codepoint.
#[test]
fn packets_of_every_kind_are_classified_and_marked() {
    let Some(discipline) = registered("k") else { return };
    in_namespace(|| {
        let mut link = Attached::new(&discipline, &settings(&marks_all(), "1mbit"));
        for tags in [vec![], vec![VLAN], vec![QINQ, VLAN], vec![QINQ, VLAN, VLAN]] {
            for kind in [IPV4, IPV6, ARP] {
                for ecn in 0..4u8 {
                    let before = link.counted(|queue| queue.sent_packets);
                    let sent: Vec<_> =
                        (0..5).map(|number| frame(&tags, kind, ecn, 200, number)).collect();
                    let outer = tags.first().copied().unwrap_or(kind);
                    assert!(sent.iter().all(|frame| link.device.send(frame, outer)));
                    let seen = link.drain();
                    let what = format!("{tags:04x?} {kind:04x} {ecn:02b}");
                    assert_eq!(seen.len(), 5, "{what}");
                    let is_l4s = kind != ARP && ecn & 1 == 1;
                    let after = link.counted(|queue| queue.sent_packets);
                    let queued = [after[0] - before[0], after[1] - before[1]];
                    assert_eq!(queued, if is_l4s { [5, 0] } else { [0, 5] }, "{what}");
                    for (number, (sent, seen)) in sent.iter().zip(&seen).enumerate() {
                        // The first packet is not queued.
                        let expected = if is_l4s && number > 0 { 3 } else { ecn };
                        let codepoint = if kind == ARP { 0 } else { expected };
                        assert_eq!(ecn_of(seen), codepoint, "{what} {number}");
                        let differ = sent.iter().zip(seen).filter(|(a, b)| a != b).count();
                        let marked = ecn_of(sent) != ecn_of(seen);
                        // The byte with the codepoint, and in IPv4 the two bytes of the checksum.
                        assert!(
                            differ <= if marked { 3 } else { 0 },
                            "{what} {sent:02x?} {seen:02x?}"
                        );
                        assert_eq!(sent.len(), seen.len());
                    }
                }
            }
        }
        // Too short for any header.
        assert!(link.device.send(&frame(&[], ARP, 0, 4, 1)[..16], IPV4));
        assert_eq!(link.drain().len(), 1);
        let strays = link.counted(|queue| queue.strays);
        assert_eq!(strays, [0, 0]);
    });
}

/// The same on a device without Ethernet headers.
#[test]
fn packets_of_a_device_without_ethernet_are_marked() {
    let Some(discipline) = registered("tun") else { return };
    in_namespace(|| {
        be_quiet();
        let mut device = Device::open(false).expect("a device");
        discipline.prepare(&settings(&marks_all(), "1mbit")).expect("settings");
        tc(&format!("qdisc replace dev {} root {}", device.name(), discipline.name()));
        let _decides = discipline.decide(device.index()).expect("a program");
        ip(&format!("link set {} up", device.name()));
        for kind in [IPV4, IPV6] {
            let packet = &frame(&[], kind, 1, 300, 1)[14..];
            assert!(device.send(packet, kind) && device.send(packet, kind));
            let seen: Vec<_> = (0..2).filter_map(|_| device.receive_within(1000)).collect();
            let ecn = |packet: &[u8]| ecn_of(&[&[0; 12][..], &kind.to_be_bytes(), packet].concat());
            assert_eq!(seen.iter().map(|packet| ecn(packet)).collect::<Vec<_>>(), [1, 3]);
            // Wait until the link is free again.
            thread::sleep(Duration::from_millis(100));
        }
    });
}

/// The rate of the link counts frames with their headers. Packets beyond the limit are dropped and counted.
#[test]
fn the_shaper_holds_its_rate_and_the_limits_hold() {
    let Some(discipline) = registered("r") else { return };
    in_namespace(|| {
        let config = Config { limit: Limit::packets(100), ..Config::linux() };
        let mut link = Attached::new(&discipline, &settings(&config, "8mbit"));
        let start = Instant::now();
        // 1000 bytes are a millisecond.
        let sent =
            (0..300).filter(|n| link.device.send(&frame(&[], IPV4, 0, 986, *n), IPV4)).count();
        let seen = link.drain();
        let took = start.elapsed().saturating_sub(Duration::from_millis(400));
        let [l, c] = link.counted(|queue| queue.dropped());
        println!("{sent} sent, {} seen in {took:?}, {c} dropped", seen.len());
        assert_eq!((l, seen.len() as u64 + c), (0, 300));
        assert!((99..=130).contains(&seen.len()), "{}", seen.len());
        assert!(took >= Duration::from_millis(seen.len() as u64 - 3), "{took:?}");
        let shown = tc(&format!("-s qdisc show dev {}", link.device.name()));
        assert!(shown.contains(&format!("dropped {c},")), "{shown}");
        assert!(shown.contains("backlog 0b 0p"), "{shown}");
        // A limit in bytes: room for three packets.
        link.set(&settings(&Config { limit: Limit::bytes(Bytes::new(3000)), ..config }, "8mbit"));
        for number in 0..20 {
            link.device.send(&frame(&[], IPV4, 0, 986, number), IPV4);
        }
        let seen = link.drain().len();
        assert!((3..=7).contains(&seen), "{seen}");
    });
}

/// The weighted scheduler: 10 of 100 packets are Classic while both queues have packets (as in tc-testing for
/// the kernel's own dualpi2, and in WebRTC for its own).
#[test]
fn the_scheduler_gives_classic_its_share() {
    let Some(discipline) = registered("w") else { return };
    in_namespace(|| {
        let config = Config { k: 0, min_backlog: Bytes::new(1 << 30), ..marks_all() };
        let mut link = Attached::new(&discipline, &settings(&config, "1mbit"));
        for number in 0..200 {
            assert!(link.device.send(&frame(&[], IPV4, 2, 186, number), IPV4));
            assert!(link.device.send(&frame(&[], IPV4, 1, 186, number), IPV4));
        }
        let seen = link.drain();
        assert_eq!(seen.len(), 400);
        // The initial credit is worth some packets of L.
        let classic = seen[80..180].iter().filter(|frame| ecn_of(frame) == 2).count();
        assert_eq!(classic, 10);
        link.set(&settings(&Config { scheduler: Scheduler::Strict, ..config }, "1mbit"));
        for number in 0..50 {
            assert!(link.device.send(&frame(&[], IPV4, 2, 186, number), IPV4));
            assert!(link.device.send(&frame(&[], IPV4, 1, 186, number), IPV4));
        }
        let seen = link.drain();
        // The first packet is sent at once; after it all L4S packets.
        let classic = seen[1..50].iter().filter(|frame| ecn_of(frame) == 2).count();
        assert_eq!(classic, 0);
    });
}

/// Sends packets all the time from another thread, while `change` runs.
fn under_load(link: &mut Attached<'_>, change: impl FnOnce(&mut Attached<'_>)) -> u64 {
    let stop = AtomicBool::new(false);
    let other = link.device.sender().expect("a socket");
    thread::scope(|scope| {
        let sent = scope.spawn(|| {
            let mut sent = 0;
            while !stop.load(Ordering::Relaxed) {
                for ecn in 0..4 {
                    sent += u64::from(other.send(&frame(&[], IPV4, ecn, 100, 0), IPV4));
                }
            }
            sent
        });
        change(link);
        stop.store(true, Ordering::Relaxed);
        sent.join().expect("the sender")
    })
}

#[test]
fn every_setting_changes_under_load() {
    let Some(discipline) = registered("c") else { return };
    in_namespace(|| {
        let mut link = Attached::new(&discipline, &settings(&Config::linux(), "20mbit"));
        under_load(&mut link, |link| {
            use l4s_units::param::Configurable;
            for profile in Config::PROFILES {
                for rate in ["1mbit", "100gbit", "device", "40mbit"] {
                    link.set(&settings(&(profile.make)(), rate));
                    let end = Instant::now() + Duration::from_millis(40);
                    while Instant::now() < end {
                        link.device.receive_within(1);
                    }
                }
            }
            // The smallest and the largest value of each setting.
            for word in [0, 1, 1 << 31, u64::MAX >> 1] {
                let mut words = settings(&Config::linux(), "40mbit");
                (words.target, words.tupdate) = (word, word.max(1));
                (words.alpha, words.beta, words.k) = (word, word, word);
                (words.low, words.high, words.min_backlog) = (word, word, word);
                link.set(&words);
                thread::sleep(Duration::from_millis(20));
            }
            link.set(&settings(&Config::linux(), "1gbit"));
        });
        link.drain();
        let instance = link.instance();
        let [l, c] = &instance.queues;
        assert_eq!((l.waiting_packets, l.waiting_bytes, c.waiting_packets), (0, 0, 0));
        assert!(l.sent_packets > 0 && c.sent_packets > 0, "{l:?}");
    });
}

#[test]
fn it_goes_under_load_with_the_device_or_without() {
    let Some(discipline) = registered("g") else { return };
    in_namespace(|| {
        for what in ["qdisc del dev tap0 root", "link set tap0 down", "link del tap0"] {
            let mut link = Attached::new(&discipline, &settings(&Config::linux(), "4mbit"));
            under_load(&mut link, |_| {
                thread::sleep(Duration::from_millis(100));
                if what.starts_with("qdisc") {
                    drop(tc(what))
                } else {
                    ip(what)
                }
                thread::sleep(Duration::from_millis(50));
            });
            drop(link);
            let end = Instant::now() + Duration::from_secs(10);
            while !discipline.instances().expect("instances").is_empty() {
                assert!(Instant::now() < end, "an instance is left after {what}");
                thread::sleep(Duration::from_millis(10));
            }
        }
    });
}

/// Two devices have queues and settings of their own. More devices than instances are refused.
#[test]
fn devices_do_not_share_anything() {
    let Some(discipline) = registered("t") else { return };
    in_namespace(|| {
        ip("link add v0 type veth peer name v1");
        discipline.prepare(&settings(&Config::linux(), "1gbit")).expect("settings");
        tc(&format!("qdisc replace dev v0 root {}", discipline.name()));
        discipline.prepare(&settings(&marks_all(), "4mbit")).expect("settings");
        tc(&format!("qdisc replace dev v1 root {}", discipline.name()));
        assert_eq!(discipline.instances().expect("instances").len(), 2);
        let not_root = Command::new("tc")
            .args(["qdisc", "add", "dev", "lo", "parent", "ffff:fff1", discipline.name()])
            .output()
            .expect("iproute2");
        assert!(!not_root.status.success());
        for device in 0..3 {
            let name = format!("d{device}");
            ip(&format!("link add {name} type veth peer name {name}p"));
            let added = Command::new("tc")
                .args(["qdisc", "replace", "dev", &name, "root", discipline.name()])
                .status()
                .expect("iproute2");
            // There are four instances.
            assert_eq!(added.success(), device < 2, "{name}");
        }
        ip("link del v0");
        ip("link del d0");
        ip("link del d1");
        assert!(discipline.instances().expect("instances").is_empty());
    });
}

/// A million small packets, more than the queues can hold: each one left, or was dropped and
/// counted.
#[test]
fn none_of_a_million_packets_is_lost_without_a_word() {
    let packets: u64 =
        std::env::var("L4S_PACKETS").map_or(20_000, |n| n.parse().expect("a number"));
    let Some(discipline) = registered("m") else { return };
    in_namespace(|| {
        let mut link = Attached::new(&discipline, &settings(&Config::linux(), "10gbit"));
        let other = link.device.sender().expect("a socket");
        let mut seen = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                let frames: Vec<_> = (0..4).map(|ecn| frame(&[], IPV4, ecn, 46, 0)).collect();
                for number in 0..packets {
                    other.send(&frames[number as usize % 4], IPV4);
                }
            });
            while link.device.receive_within(2000).is_some() {
                seen += 1;
            }
        });
        let [sent_l, sent_c] = link.counted(|queue| queue.sent_packets);
        let [dropped_l, dropped_c] = link.counted(|queue| queue.dropped());
        println!(
            "{packets}: {sent_l} and {sent_c} sent, {dropped_l} and {dropped_c} dropped, {seen} seen"
        );
        assert_eq!(sent_l + sent_c + dropped_l + dropped_c, packets);
        assert!(seen > 0);
    });
}

/// UDP segments that the network splits (`UDP_SEGMENT`), as in tc-testing 891f for the kernel's own dualpi2,
/// which splits them itself. Ours keeps an aggregate as one packet, with the bytes of all segments and a
/// header for each. It is at the root, so there is no parent that counts differently. At the end both queues
/// are empty, by the kernel's count and by its own.
#[test]
fn aggregates_of_udp_leave_nothing_behind() {
    const HEADERS: u64 = 14 + 20 + 8;
    const AGGREGATES: u64 = 50;
    let Some(discipline) = registered("u") else { return };
    in_namespace(|| {
        be_quiet();
        ip("link add u0 type veth peer name u1");
        ip("addr add 192.0.2.1/24 dev u0");
        ip("link set u1 up");
        ip("link set u0 up");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev u0");
        // At 20 Mb/s packets are queued; at the last rate there is not enough room for all.
        for (rate, limit) in [("device", 1000), ("100gbit", 1000), ("20mbit", 1000), ("1mbit", 8)] {
            let config = Config { limit: Limit::packets(limit), ..Config::linux() };
            discipline.prepare(&settings(&config, rate)).expect("settings");
            tc(&format!("qdisc replace dev u0 root {}", discipline.name()));
            let socket = UdpSocket::bind("192.0.2.1:0").expect("a socket");
            let ifindex = rustix::net::netdevice::name_to_index(&socket, "u0").expect("u0");
            let _decides = discipline.decide(ifindex).expect("a program");
            socket.connect("192.0.2.2:9").expect("an address");
            segment(&socket, 100);
            let (mut bytes, mut largest) = (0, 0);
            for number in 0..AGGREGATES {
                rustix::net::sockopt::set_ip_tos(&socket, (number % 2) as u8).expect("ECN");
                // Eleven segments, the last one shorter; or one segment, which is no aggregate.
                let (payload, segments) = if number % 5 == 4 { (60, 1) } else { (1060, 11) };
                // The send fails if there is no room.
                let _ = socket.send(&vec![0; payload as usize]);
                let length = payload + segments * HEADERS;
                (bytes, largest) = (bytes + length, largest.max(length));
            }
            let counted = |instance: &Instance, of: fn(&l4s_bpf::Counts) -> u64| {
                instance.queues.iter().map(of).sum::<u64>()
            };
            let end = Instant::now() + Duration::from_secs(5);
            let instance = loop {
                let all = discipline.instances().expect("instances");
                let instance = all.into_iter().find(|found| found.ifindex == ifindex).expect("it");
                if counted(&instance, |queue| queue.waiting_packets) == 0 {
                    break instance;
                }
                assert!(Instant::now() < end, "{instance:?}");
                thread::sleep(Duration::from_millis(10));
            };
            assert_eq!(counted(&instance, |queue| queue.waiting_bytes), 0);
            let shown = tc("-s qdisc show dev u0");
            println!("{rate}: {shown}");
            assert!(shown.contains("backlog 0b 0p"), "{shown}");
            let sent = counted(&instance, |queue| queue.sent_packets);
            let dropped = counted(&instance, |queue| queue.dropped());
            assert_eq!(sent + dropped, AGGREGATES);
            assert_eq!(u64::from(instance.largest), largest);
            let sent_bytes = counted(&instance, |queue| queue.sent_bytes);
            assert!(shown.contains(&format!("Sent {sent_bytes} bytes")), "{shown}");
            if limit == 8 {
                assert!(dropped > 0 && sent_bytes < bytes);
            } else {
                assert_eq!((dropped, sent_bytes), (0, bytes));
                assert_eq!(instance.aggregates, AGGREGATES / 5 * 4);
                // The kernel counts the packets into which the aggregates are split.
                let packets = AGGREGATES / 5 * (4 * 11 + 1);
                assert!(shown.contains(&format!("bytes {packets} pkt")), "{shown}");
            }
            tc("qdisc del dev u0 root");
        }
    });
}

/// Makes the kernel split sent data into datagrams of that payload.
#[allow(unsafe_code)]
fn segment(socket: &UdpSocket, payload: libc::c_int) {
    // SAFETY: the option is an int.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_SEGMENT,
            (&raw const payload).cast(),
            4,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}
