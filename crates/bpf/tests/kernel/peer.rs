//! Prague and a peer through a Classic bottleneck. The peer counts marks exactly (AccECN), has the ECN of
//! RFC 3168, or has no ECN. The test is the bottleneck: no kernel needs a queue discipline for it, and the
//! test sees every packet. It has two TUN devices, each in a network namespace of its own, with CoDel
//! (RFC 8289) at 20 Mb/s between them.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use l4s_cc::prague::Config;
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use rustix::net::{AddressFamily, SocketType};

use l4s_bpf::{Shown, Sockets, Tracers};

use super::device::{Device, checksum};
use super::{BpfError, Flags, Loaded, in_namespace, ip, name};

/// The rate of the bottleneck in bytes per second.
const RATE: u64 = 2_500_000;
/// The delay of the reverse path; the forward path has only queueing delay.
const DELAY: Duration = Duration::from_millis(20);
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
/// The limit in packets: 60 ms.
const LIMIT: usize = 100;
/// If the bottleneck did not run for longer than this, it was not the one that is described here.
const LATE: Duration = Duration::from_millis(5);
const LASTS: Duration = Duration::from_secs(8);
/// A test that waits for something gives up after this time.
const PATIENCE: Duration = Duration::from_secs(60);

const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
const SYN: u8 = 2;

/// CoDel's state (RFC 8289 §5).
#[derive(Default)]
struct CoDel {
    first_above: Option<Instant>,
    next: Option<Instant>,
    count: u32,
}

impl CoDel {
    /// Whether a packet with this delay gets a signal.
    fn signals(&mut self, waited: Duration, now: Instant) -> bool {
        if waited < TARGET {
            self.first_above = None;
            self.next = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + INTERVAL);
        match self.next {
            None if now < first_above => return false,
            None => self.count = 1,
            Some(next) if now < next => return false,
            Some(_) => self.count += 1,
        }
        self.next = Some(now + INTERVAL.div_f64(f64::from(self.count).sqrt()));
        true
    }
}

/// The queue of ECT(0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queues {
    One,
    /// ECT(0) has a separate queue with this delay, as if that queue was full of Classic traffic.
    Two(Duration),
}

/// Observations at the bottleneck and at the sender.
#[derive(Debug, Default)]
pub struct Seen {
    /// Whether this kernel has AccECN.
    pub accecn: bool,
    /// The congestion control at the end.
    control: String,
    /// Data packets that arrived, by codepoint.
    pub codepoints: [u32; 4],
    marked: u32,
    pub dropped: u32,
    /// Acknowledgements with ECE, and data packets with CWR; with AccECN these bits are a counter.
    ece: u32,
    cwr: u32,
    /// Bytes that left per second, as a fraction of the rate.
    pub utilization: f64,
    /// Queueing delays after the first second, in milliseconds.
    pub mean: f64,
    p99: f64,
    /// The reductions of the window by more than a fiftieth: the fraction, and the window before.
    pub falls: Vec<(f64, u32)>,
    /// The longest time in which the bottleneck did not run.
    pub away: Duration,
    /// Each data packet with ECT(0), with the packet before it and the packet behind it.
    pub sets: Vec<[Vec<u8>; 3]>,
    /// The sets whose middle left its separate queue after their front left the common queue, but before
    /// their rear did.
    pub in_order: u32,
    /// The state that the sender's Prague shows at the end.
    pub shown: Option<Shown>,
    /// The counters of `TcpExt` of the sender's kernel: names, and a number for each.
    pub counted: String,
}

impl Seen {
    /// A summary for people.
    fn without_packets(&self) -> String {
        let Seen { control, codepoints, marked, dropped, ece, cwr, .. } = self;
        let Seen { utilization, mean, p99, falls, away, sets, in_order, shown, .. } = self;
        format!(
            "{control}: codepoints {codepoints:?}, {marked} marked, {dropped} dropped, {ece} ECE, \
             {cwr} CWR, {utilization:.3} used, {mean:.2} and {p99:.2} ms, away {away:?}, {} sets, \
             {in_order} of them in order, {shown:?}, falls {falls:?}",
            sets.len()
        )
    }

    /// The sender's counter of this name in `TcpExt`.
    pub fn count(&self, name: &str) -> u64 {
        let mut rows = self.counted.lines().filter(|line| line.starts_with("TcpExt:"));
        let names = rows.next().unwrap().split(' ');
        let mut both = names.zip(rows.next().unwrap().split(' '));
        both.find(|(known, _)| *known == name).unwrap().1.parse().unwrap()
    }
}

pub fn u16_at(packet: &[u8], at: usize) -> usize {
    usize::from(packet[at]) << 8 | usize::from(packet[at + 1])
}

fn u32_at(packet: &[u8], at: usize) -> u32 {
    (u16_at(packet, at) << 16 | u16_at(packet, at + 2)) as u32
}

/// The position behind the TCP header of a packet.
pub fn header(packet: &[u8]) -> usize {
    20 + usize::from(packet[32] >> 4) * 4
}

/// The sequence number behind a packet, which is the same for all packets of a set.
pub fn end_of(packet: &[u8]) -> u32 {
    u32_at(packet, 24).wrapping_add((packet.len() - header(packet)) as u32)
}

/// The flags of TCP and the length of the payload.
fn tcp_of(packet: &[u8]) -> Option<(u8, usize)> {
    if packet.len() < 40 || packet[0] != 0x45 || packet[9] != 6 {
        return None;
    }
    Some((packet[33], u16_at(packet, 2) - header(packet)))
}

fn mark(packet: &mut [u8]) {
    packet[1] |= 3;
    packet[10..12].fill(0);
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The window of a socket.
#[allow(unsafe_code)]
fn window(socket: &TcpStream) -> u32 {
    // SAFETY: all zeros are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the kernel writes no more than `length`.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    assert_eq!(done, 0);
    info.tcpi_snd_cwnd
}

/// How far a test is.
#[derive(Default)]
struct Progress {
    /// It has seen what it waits for.
    enough: AtomicBool,
    stop: AtomicBool,
}

/// Carries packets between the two ends until it has to stop, and reads the window of `sender`.
fn carry(
    [near, far]: [&mut Device; 2],
    queues: Queues,
    sender: &TcpStream,
    progress: &Progress,
    enough: fn(&Seen) -> bool,
) -> Seen {
    let mut seen = Seen::default();
    let mut apart: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut before_it = Vec::new();
    let mut behind_it: Option<[Vec<u8>; 2]> = None;
    let mut queue: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut back: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let (mut aqm, mut waits) = (CoDel::default(), Vec::new());
    let start = Instant::now();
    let (mut free, mut sent, mut before, mut looked) = (start, 0, window(sender), start);
    while !progress.stop.load(Ordering::Relaxed) {
        seen.away = seen.away.max(looked.elapsed());
        looked = Instant::now();
        while let Some(packet) = near.receive_within(0) {
            if let Some((flags, _)) = tcp_of(&packet).filter(|(_, payload)| *payload > 0) {
                seen.codepoints[usize::from(packet[1] & 3)] += 1;
                seen.cwr += u32::from(flags & CWR != 0);
                if let Some([front, middle]) = behind_it.take() {
                    seen.sets.push([front, middle, packet.clone()]);
                }
                let is_last = std::mem::replace(&mut before_it, packet.clone());
                if packet[1] & 3 == 2 {
                    behind_it = Some([is_last, packet.clone()]);
                    if let Queues::Two(wait) = queues {
                        apart.push_back((Instant::now() + wait, packet));
                        continue;
                    }
                }
            }
            match queue.len() < LIMIT {
                true => queue.push_back((Instant::now(), packet)),
                false => seen.dropped += 1,
            }
        }
        while let Some(packet) = far.receive_within(0) {
            let flags = tcp_of(&packet).map_or(0, |(flags, _)| flags);
            seen.ece += u32::from(flags & (ECE | SYN) == ECE);
            back.push_back((Instant::now() + DELAY, packet));
        }
        let now = Instant::now();
        while let Some((arrival, _)) = queue.front() {
            let leaves = free.max(*arrival);
            if leaves > now {
                break;
            }
            let waited = leaves - *arrival;
            let Some((_, mut packet)) = queue.pop_front() else { break };
            if leaves - start > Duration::from_secs(1) {
                waits.push(waited.as_secs_f64() * 1e3);
            }
            if aqm.signals(waited, leaves) {
                if packet[1] & 3 == 0 {
                    seen.dropped += 1;
                    continue;
                }
                seen.marked += 1;
                mark(&mut packet);
            }
            free = leaves + Duration::from_nanos(packet.len() as u64 * 1_000_000_000 / RATE);
            sent += packet.len();
            far.deliver(&packet);
        }
        while apart.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, middle)) = apart.pop_front() else { break };
            // Whether the packet belongs to the set. If only one does, the rear is still missing.
            let is_its = |(_, packet): &&(Instant, Vec<u8>)| {
                tcp_of(packet).is_some() && end_of(packet) == end_of(&middle)
            };
            let wait = queue.iter().filter(is_its).count() + usize::from(behind_it.is_some());
            seen.in_order += u32::from(wait == 1);
            far.deliver(&middle);
        }
        while back.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, packet)) = back.pop_front() else { break };
            near.deliver(&packet);
        }
        let after = window(sender);
        if after * 50 < before * 49 {
            seen.falls.push((1.0 - f64::from(after) / f64::from(before), before));
        }
        before = after;
        progress.enough.store(enough(&seen), Ordering::Relaxed);
        thread::sleep(Duration::from_micros(200));
    }
    seen.utilization = sent as f64 / start.elapsed().as_secs_f64() / RATE as f64;
    waits.sort_by(f64::total_cmp);
    seen.mean = waits.iter().sum::<f64>() / waits.len().max(1) as f64;
    seen.p99 = waits.get(waits.len() * 99 / 100).copied().unwrap_or_default();
    seen
}

/// A placeholder for the name under which the control of a test is loaded.
pub const PRAGUE: &str = "prague";

static ALONE: Mutex<()> = Mutex::new(());

/// The settings of the two ends of a connection.
pub struct Ends {
    /// `tcp_ecn` of the sender and of its peer.
    pub ecn: [&'static str; 2],
    /// The congestion control of the sender when it connects, its later choice, and the peer's.
    pub before: &'static str,
    pub after: Option<&'static str>,
    pub peer: &'static str,
}

/// One end, in the network namespace of this thread.
fn end(address: &str, ecn: &str) -> Device {
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let device = Device::open(false).unwrap();
    ip(&format!("addr add {address}/24 dev tun0"));
    ip("link set tun0 up");
    fs::write("/proc/sys/net/ipv4/tcp_ecn", ecn).unwrap();
    device
}

/// A transfer of unlimited data for some time, and until the test has seen `enough`; with sets of tracers
/// if the queues have to be distinguished.
fn run(ends: &Ends, prague: &Loaded, queues: Option<Queues>, enough: fn(&Seen) -> bool) -> Seen {
    let named = |control: &'static str| match control {
        PRAGUE => prague.name().to_owned(),
        other => other.to_owned(),
    };
    let address = SocketAddr::from((Ipv4Addr::new(10, 9, 0, 2), 5001));
    let (mut far, listener) = in_namespace(|| {
        let device = end("10.9.0.2", ends.ecn[1]);
        let listener = TcpListener::bind(address).unwrap();
        set_tcp_congestion(&listener, &named(ends.peer)).unwrap();
        (device, listener)
    });
    in_namespace(|| {
        let mut near = end("10.9.0.1", ends.ecn[0]);
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        set_tcp_congestion(&socket, &named(ends.before)).unwrap();
        let sender = TcpStream::from(socket);
        let sockets = prague.sockets();
        let tracers = queues.map(|_| {
            let sockets = sockets.expect("Prague shows its sockets");
            Tracers::attach(prague.name(), sockets, near.index())
        });
        let _tracers = tracers.transpose().unwrap();
        let progress = Progress::default();
        let seen = thread::scope(|scope| {
            scope.spawn(|| {
                let (mut receiver, _) = listener.accept().unwrap();
                receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
                let mut buffer = vec![0; 1 << 16];
                while !progress.stop.load(Ordering::Relaxed) {
                    let _ = receiver.read(&mut buffer);
                }
            });
            scope.spawn(|| {
                rustix::net::connect(&sender, &address).unwrap();
                if let Some(after) = ends.after {
                    set_tcp_congestion(&sender, &named(after)).unwrap();
                }
                let start = Instant::now();
                let waits =
                    || !progress.enough.load(Ordering::Relaxed) && start.elapsed() < PATIENCE;
                while start.elapsed() < LASTS || waits() {
                    (&sender).write_all(&[0x55; 1 << 14]).unwrap();
                }
                progress.stop.store(true, Ordering::Relaxed);
                // Nothing carries packets any more, so neither end may wait for the other.
                let _ = rustix::net::sockopt::set_socket_linger(&sender, Some(Duration::ZERO));
            });
            carry([&mut near, &mut far], queues.unwrap_or(Queues::One), &sender, &progress, enough)
        });
        let read = |map| Sockets::open(map).unwrap().read(sender.as_fd()).unwrap();
        let shown = sockets.and_then(read);
        let counted = fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
        Seen { control: tcp_congestion(&sender).unwrap(), shown, counted, ..seen }
    })
}

/// A transfer with this configuration of Prague; `None` if it cannot be loaded.
pub fn with_prague(
    test: &str,
    config: &Config,
    ends: &Ends,
    queues: Option<Queues>,
) -> Option<Seen> {
    with_control(test, |name| Loaded::prague(name, config), ends, queues, |_| true)
}

/// A transfer with one of our controls, until the test has seen `enough`; `None` if it cannot be loaded.
pub fn with_control(
    test: &str,
    load: impl FnOnce(&str) -> Result<Loaded, BpfError>,
    ends: &Ends,
    queues: Option<Queues>,
    enough: fn(&Seen) -> bool,
) -> Option<Seen> {
    // The tests measure time, so they run one at a time.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let name = name(test);
    let loaded = match load(&name) {
        Ok(loaded) => loaded,
        Err(error @ (BpfError::NotBuilt(_) | BpfError::Permission(_) | BpfError::NoTypes)) => {
            println!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let accecn = loaded.flags().has(Flags::NEEDS_ACCECN);
    let seen = Seen { accecn, ..run(ends, &loaded, queues, enough) };
    println!("{test}, flags {:#x}: {}", loaded.flags().bits(), seen.without_packets());
    Some(seen)
}

/// Whether the bottleneck ran without long interruptions. Otherwise its measurements have no meaning.
pub fn had_time(seen: &Seen) -> bool {
    if seen.away > LATE {
        println!("skipped: the machine was busy with something else for {:?}", seen.away);
    }
    seen.away <= LATE
}

/// Packets are Not-ECT, the sender answers losses, and CoDel drops.
fn is_without_ecn(seen: &Seen) {
    assert_eq!(seen.control, "reno");
    assert_eq!((seen.codepoints[1..].iter().sum::<u32>(), seen.marked), (0, 0));
    if had_time(seen) {
        is_sane(seen);
    }
}

/// The sender neither ignores the bottleneck nor leaves it idle.
fn is_sane(seen: &Seen) {
    assert!(seen.utilization > 0.75, "{}", seen.utilization);
    assert!(seen.mean < 10.0 && seen.p99 < 25.0, "{} {}", seen.mean, seen.p99);
}

/// Packets are ECT(0), and every mark halves the window, once per round trip.
fn is_classic(seen: &Seen) {
    assert_eq!(seen.codepoints[0] + seen.codepoints[1] + seen.codepoints[3], 0);
    if !had_time(seen) {
        return;
    }
    // CWR ends the echo: it lasts for a round trip, not for the whole connection.
    assert!(seen.marked > 4 && seen.ece < 150 * seen.marked, "{} {}", seen.ece, seen.marked);
    assert!((seen.marked.saturating_sub(3)..=seen.marked).contains(&seen.cwr), "{}", seen.cwr);
    // Each reduction answers a CWR, or losses at the end of slow start.
    let falls = seen.falls.len() as u32;
    assert!((seen.cwr.saturating_sub(2)..=seen.cwr + 3).contains(&falls), "{falls}");
    // The window is rounded to whole packets, or grew by a packet between two readings.
    let later = &seen.falls[3..];
    assert!(later.iter().all(|(part, _)| (0.45..0.55).contains(part)), "{later:?}");
    is_sane(seen);
}

/// Like a kernel without AccECN, or one with AccECN if Prague was chosen after the handshake.
#[test]
fn a_peer_with_rfc_3168_gets_a_classic_response() {
    // With a detector, which is not needed to recognize it, and without.
    for (test, config) in [("after", Config::linux()), ("detects", Config::paper())] {
        let ends = Ends { ecn: ["1", "1"], before: "reno", after: Some(PRAGUE), peer: "reno" };
        let Some(seen) = with_prague(test, &config, &ends, None) else { return };
        is_classic(&seen);
    }
}

/// By its flags Prague then uses no ECN. If the kernel does not have that flag, the peer refuses: it does not
/// accept ECN of RFC 3168 from a SYN that is ECT itself.
#[test]
fn a_peer_with_rfc_3168_is_as_one_without_where_prague_is_asked_for_first() {
    let ends = Ends { ecn: ["2", "1"], before: PRAGUE, after: None, peer: "reno" };
    let Some(seen) = with_prague("first", &Config::linux(), &ends, None) else { return };
    is_without_ecn(&seen);
}

/// Linux makes the packets of a control that requires ECN ECT, for any answer of the peer.
#[test]
fn a_peer_without_ecn_gets_packets_without() {
    let ends = Ends { ecn: ["2", "0"], before: PRAGUE, after: None, peer: "reno" };
    let Some(seen) = with_prague("none", &Config::linux(), &ends, None) else { return };
    is_without_ecn(&seen);
    let Some(seen) = with_control("dctcp", Loaded::dctcp, &ends, None, |_| true) else { return };
    is_without_ecn(&seen);
    let ends = Ends { ecn: ["0", "0"], before: "reno", after: Some(PRAGUE), peer: "reno" };
    let Some(seen) = with_prague("late", &Config::linux(), &ends, None) else { return };
    is_without_ecn(&seen);
}

/// AccECN, or the echo of a receiver with Prague, which is recognized as exact. The reduction is proportional
/// to the fraction of marks, which is small in CoDel's queue.
#[test]
fn exact_feedback_gets_a_scalable_response() {
    let ends = Ends { ecn: ["1", "1"], before: PRAGUE, after: None, peer: PRAGUE };
    let Some(seen) = with_prague("exact", &Config::linux(), &ends, None) else { return };
    assert_eq!(seen.codepoints[0] + seen.codepoints[1] + seen.codepoints[3], 0);
    if !had_time(&seen) {
        return;
    }
    let later = &seen.falls[5..];
    assert!(later.len() > 5 && later.iter().all(|(part, _)| *part < 0.25), "{later:?}");
    assert!(seen.utilization > 0.9, "{}", seen.utilization);
}
