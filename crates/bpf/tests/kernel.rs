//! The programs in a real kernel. A test that cannot run prints the reason and is skipped: the programs
//! need root, and Linux 6.10 or later.
//!
//! Sockets and devices are in network namespaces of their own, so that the host is not affected.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use l4s_bpf::{BpfError, Ect1, Flags, Loaded, Socket, Sockets, probe, sockets};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use rustix::thread::{UnshareFlags, unshare_unsafe};

#[path = "kernel/bbr3.rs"]
mod bbr3;
#[path = "kernel/device.rs"]
mod device;
#[path = "kernel/peer.rs"]
mod peer;
#[path = "kernel/qdisc.rs"]
mod qdisc;
#[path = "kernel/tracers.rs"]
mod tracers;

/// A name that no other test and no other process uses.
fn name(test: &str) -> String {
    format!("{test}{}", std::process::id())
}

/// Prague with a detector.
fn prague(name: &str) -> Result<Loaded, BpfError> {
    Loaded::prague(name, &l4s_cc::prague::Config::paper())
}

/// Unwraps, or prints the right or the feature of the kernel that this machine lacks for the test.
/// `make test-vm` runs these tests too, and its kernels lack none of them.
fn or_skipped<T>(tried: Result<T, BpfError>) -> Option<T> {
    match tried {
        Ok(value) => Some(value),
        Err(
            error @ (BpfError::NotBuilt(_)
            | BpfError::Permission(_)
            | BpfError::NoTypes
            | BpfError::NoQueues
            | BpfError::NoListing),
        ) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Unwraps, or returns from the test.
macro_rules! or_skip {
    ($tried:expr) => {
        match crate::or_skipped($tried) {
            Some(value) => value,
            None => return,
        }
    };
}

/// The verifier follows every path, and gives up after a million instructions. Half of them are reserved
/// for kernels that recognize fewer equal states.
#[test]
fn every_profile_that_a_kernel_can_have_and_active_detection_are_verified() {
    use l4s_cc::prague::{Config, Fallback, kernel};
    use l4s_units::param::Configurable;
    let able = |config: &Config| kernel::unable(config).is_empty();
    let all = Config::PROFILES.iter().map(|profile| (profile.name, (profile.make)()));
    let mut profiles: Vec<_> = all.filter(|(_, config)| able(config)).collect();
    assert!(profiles.iter().any(|(name, _)| *name == "best-linux"), "{profiles:?}");
    let active = Config { fallback: Fallback::Active, ..Config::best_linux() };
    // With the best rules, and with the paper's.
    let mut papers = active;
    papers.detector = l4s_cc::classic_ecn::Config::paper();
    profiles.extend([("active", active), ("active, the paper's", papers)]);
    for (number, (profile, config)) in profiles.iter().enumerate() {
        let start = Instant::now();
        // A name has 15 characters at most.
        let loaded = or_skip!(Loaded::prague(&name(&format!("prof{number}")), config));
        let took = start.elapsed();
        assert!(is_registered(loaded.name()), "{profile}");
        let verified = verified(&loaded);
        println!("{profile}: {verified} instructions verified, loaded in {took:?}");
        assert!((1000..500_000).contains(&verified), "{profile}: {verified}");
    }
}

/// The number of instructions that the verifier processed for the program of acknowledgements.
fn verified(loaded: &Loaded) -> u32 {
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let sockets = loaded.sockets().expect("it shows its sockets");
    let mut mine = ProgInfoIter::with_query_opts(options)
        .filter(|program| program.map_ids.contains(&sockets))
        // The kernel keeps 15 characters of `prague_cong_control`.
        .filter(|program| program.name.to_string_lossy() == "prague_cong_con");
    mine.next().expect("the kernel lists it").verified_insns
}

#[test]
fn bbr3_passes_the_verifier_with_a_margin() {
    let _loaded = or_skip!(Loaded::bbr3(&name("bbr3v")));
    // Any that is loaded: all are the same program.
    let mut all = ProgInfoIter::default()
        .filter(|program| program.name.to_string_lossy() == "bbr3_cong_contr");
    let verified = all.next().expect("the kernel lists it").verified_insns;
    println!("bbr3: {verified} instructions verified");
    assert!((1000..500_000).contains(&verified), "{verified}");
}

/// The verifier gives up when its thread has a pending signal. An example is the signal of a child that
/// ended while the thread that started it had all signals blocked.
#[test]
fn children_of_others_do_not_keep_a_program_out() {
    let name = name("kids");
    or_skip!(prague(&name).map(drop));
    let ended = AtomicBool::new(false);
    let refused = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    Command::new("true").status().unwrap();
                }
            });
        }
        let loads = (0..100).map(|n| prague(&format!("{name}{n}")));
        let refused: Vec<_> = loads.filter_map(|loaded| loaded.err()).collect();
        ended.store(true, Ordering::Relaxed);
        refused
    });
    assert!(refused.is_empty(), "{} of 100: {}", refused.len(), refused[0]);
}

fn is_registered(name: &str) -> bool {
    let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    all.split_whitespace().any(|n| n == name)
}

/// The kernel unregisters a moment after the last descriptor is closed.
fn is_soon_unregistered(name: &str) -> bool {
    let start = Instant::now();
    while is_registered(name) {
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Runs in a thread with a network namespace of its own, whose loopback device is up.
fn in_namespace<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let result = scope.spawn(|| {
            // SAFETY: a new network namespace changes nothing that memory safety rests on.
            #[allow(unsafe_code)]
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("root may unshare");
            ip("link set lo up");
            run()
        });
        result.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `ip` in this thread's namespace.
fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("iproute2");
    assert!(status.success(), "ip {arguments}");
}

/// A client that chose `name` before it connects, so that it requests the features that `name` needs.
fn connect(name: &str, address: SocketAddr) -> TcpStream {
    let (family, kind) = (rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM);
    let client = rustix::net::socket(family, kind, None).unwrap();
    set_tcp_congestion(&client, name).unwrap();
    rustix::net::connect(&client, &address).unwrap();
    TcpStream::from(client)
}

/// Moves `bytes` over the loopback device with `name` at both ends. Returns the time it took, and the
/// kernel's state of the sender at its end, as `ss` prints it.
fn transfer(name: &str, bytes: usize) -> (Duration, String) {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    // The listener decides the features that its connections negotiate.
    set_tcp_congestion(&listener, name).unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = connect(name, address);
    let (mut server, _) = listener.accept().unwrap();
    for end in [server.as_fd(), client.as_fd()] {
        assert_eq!(tcp_congestion(end).unwrap(), name);
    }
    let start = Instant::now();
    let (looked, until_looked) = std::sync::mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            server.write_all(&vec![0x55; bytes]).unwrap();
            // The connection remains open until the test has read its state.
            let _ = until_looked.recv();
        });
        let mut left = vec![0; bytes];
        client.read_exact(&mut left).unwrap();
        let took = start.elapsed();
        let port = format!("( sport = :{} )", address.port());
        let ss = Command::new("ss").args(["-tinH", &port]).output().unwrap();
        drop(looked);
        (took, String::from_utf8_lossy(&ss.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

fn moves_ten_megabytes(load: fn(&str) -> Result<Loaded, BpfError>, name: &str) {
    let loaded = or_skip!(load(name));
    assert!(is_registered(name));
    assert!(matches!(load(name), Err(BpfError::NameTaken(_))));
    in_namespace(|| {
        let (took, state) = transfer(name, 10_000_000);
        println!("{name}, flags {:#x}: 10 MB in {took:?}; {state}", loaded.flags().bits());
        assert!(took < Duration::from_secs(5));
    });
    drop(loaded);
    assert!(is_soon_unregistered(name));
}

#[test]
fn dctcp_moves_ten_megabytes_and_is_gone_after() {
    moves_ten_megabytes(Loaded::dctcp, &name("dctcp"));
}

#[test]
fn prague_moves_ten_megabytes_and_is_gone_after() {
    moves_ten_megabytes(prague, &name("prague"));
}

#[test]
fn bbr3_moves_ten_megabytes_and_is_gone_after() {
    moves_ten_megabytes(Loaded::bbr3, &name("bbr3"));
}

/// A small queue at the egress of the host: TCP is informed of its drops at once, without a mark.
#[test]
fn prague_answers_a_full_queue_of_its_own_host() {
    let name = name("full");
    let _loaded = or_skip!(prague(&name));
    in_namespace(|| {
        ip("link set lo mtu 1500 gso_max_segs 1");
        let buffer = "qdisc add dev lo root tbf rate 200mbit burst 32k limit 64k";
        let tc = Command::new("tc").args(buffer.split(' ')).stderr(Stdio::null()).status();
        if !tc.is_ok_and(|status| status.success()) {
            println!("skipped: this kernel has no tbf");
            return;
        }
        let (took, state) = transfer(&name, 10_000_000);
        println!("{name}: 10 MB through a small buffer at 200 Mb/s in {took:?}; {state}");
        assert!(state.contains("ssthresh:"), "no reduction: {state}");
        // 10 MB take 0.4 s.
        assert!(took < Duration::from_secs(2), "{took:?}");
    });
}

/// The list of allowed congestion controls belongs to the first namespace, and has no effect here.
#[test]
fn root_may_choose_it_in_a_new_namespace() {
    let name = name("choose");
    let _loaded = or_skip!(Loaded::dctcp(&name));
    in_namespace(|| {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        set_tcp_congestion(&listener, &name).unwrap();
    });
}

#[test]
fn names_that_the_kernel_cannot_hold_are_refused() {
    for name in ["", "sixteen_letters_", "with space", "ünlaut"] {
        assert!(matches!(Loaded::dctcp(name), Err(BpfError::Name(_))), "{name}");
    }
}

const HOLD: &str = "L4S_BPF_TEST_HOLD";

/// Not a test: the process that the next test kills.
#[test]
fn hold_until_killed() {
    let Some(name) = std::env::var_os(HOLD) else { return };
    let _loaded = prague(name.to_str().unwrap()).unwrap();
    println!("\nholding");
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn killed_process_leaves_nothing_registered() {
    let name = name("kill");
    drop(or_skip!(prague(&name)));
    assert!(is_soon_unregistered(&name));
    let mut child: Child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_until_killed", "--nocapture"])
        .env(HOLD, &name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "holding"));
    assert!(is_registered(&name));
    // This sends SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_soon_unregistered(&name));
}

#[test]
fn probe_leaves_nothing_behind() {
    let list = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let probed = probe();
    println!("{probed:#?}");
    let mine = format!("l4s{}_", std::process::id());
    let start = Instant::now();
    while fs::read_to_string(list).unwrap().contains(&mine) {
        assert!(start.elapsed() < Duration::from_secs(5));
        thread::sleep(Duration::from_millis(10));
    }
    if probed.struct_ops.works() {
        // Prague gets the flags that the probe found.
        let flags = prague(&name("flags")).unwrap().flags();
        assert_eq!(flags.has(Flags::NEEDS_ACCECN), probed.needs_accecn.works());
    }
}

/// An IPv4 header of `ecn` with its checksum, followed by UDP.
fn ipv4(ecn: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0xb8 | ecn, 0, 32, 0, 1, 0x40, 0, 64, 17, 0, 0];
    packet.extend([10, 1, 0, 1, 10, 1, 0, 2, 0, 9, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
    let sum = device::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn ipv6(ecn: u8) -> Vec<u8> {
    let mut packet = vec![0x6b, 0x8a | ecn << 4, 0xbc, 0xde, 0, 12, 17, 64];
    packet.extend([0xfd; 16]);
    packet.extend([0xfe; 16]);
    packet.extend([0, 9, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
    packet
}

/// With Ethernet headers (TAP) and without (TUN), for every codepoint: only ECT(0) changes, and with it
/// the checksum of IPv4.
#[test]
fn ect0_becomes_ect1_and_nothing_else_changes() {
    or_skip!(Ect1::attach(u32::MAX >> 1).map(drop).or_else(|error| match error {
        BpfError::Refused { .. } => Ok(()),
        error => Err(error),
    }));
    in_namespace(|| {
        for ethernet in [false, true] {
            let mut device = device::Device::open(ethernet).unwrap();
            ip(&format!("link set {} up", device.name()));
            let guard = Ect1::attach(device.index()).unwrap();
            for ecn in 0..4 {
                let expected = if ecn == 2 { 1 } else { ecn };
                assert_eq!(device.pass(&ipv4(ecn)), ipv4(expected), "IPv4, {ethernet}, {ecn}");
                assert_eq!(device.pass(&ipv6(ecn)), ipv6(expected), "IPv6, {ethernet}, {ecn}");
            }
            drop(guard);
            assert_eq!(device.pass(&ipv4(2)), ipv4(2));
        }
    });
}

/// Children that another thread is about to start have copies of all descriptors for a moment.
#[test]
fn ect1_ends_at_once_while_others_fork() {
    or_skip!(Ect1::attach(u32::MAX >> 1).map(drop).or_else(|error| match error {
        BpfError::Refused { .. } => Ok(()),
        error => Err(error),
    }));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    Command::new("true").status().unwrap();
                }
            });
        }
        let changed = in_namespace(|| {
            let mut device = device::Device::open(false).unwrap();
            ip(&format!("link set {} up", device.name()));
            let changed = (0..100).filter(|_| {
                drop(Ect1::attach(device.index()).unwrap());
                device.pass(&ipv4(2)) != ipv4(2)
            });
            changed.count()
        });
        ended.store(true, Ordering::Relaxed);
        assert_eq!(changed, 0);
    });
}

/// Prague's packets are ECT(1).
#[test]
fn prague_and_ect1_go_together() {
    let name = name("both");
    let _loaded = or_skip!(prague(&name));
    in_namespace(|| {
        let _ect1 = Ect1::attach(1).unwrap();
        let mut sniffer = device::Sniffer::open().unwrap();
        let (_, state) = transfer(&name, 1_000_000);
        let seen = sniffer.codepoints();
        println!("{name}: packets by codepoint, payload only: {seen:?}; {state}");
        assert!(seen[1] > 10, "{seen:?}");
        assert_eq!((seen[0], seen[2], seen[3]), (0, 0, 0));
    });
}

/// The state of a socket can be read with its descriptor, and in a list of all sockets.
#[test]
fn sockets_show_what_prague_knows() {
    let name = name("shows");
    let loaded = or_skip!(prague(&name));
    let mine = Sockets::open(loaded.sockets().expect("it shows its sockets")).unwrap();
    let listed = in_namespace(|| {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        set_tcp_congestion(&listener, &name).unwrap();
        assert_eq!(mine.read(listener.as_fd()).unwrap(), None);
        let address = listener.local_addr().unwrap();
        let mut client = connect(&name, address);
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..100 {
            server.write_all(&[0x55; 1000]).unwrap();
            client.read_exact(&mut [0; 1000]).unwrap();
        }
        thread::sleep(Duration::from_millis(100));
        let shown = mine.read(server.as_fd()).unwrap().expect("it has a connection");
        println!("{shown:?}");
        // There was no mark yet: the detector is at rest, and has RTTs.
        assert_eq!((shown.detector.score, shown.detector.rounds), (-8 << 24, 0));
        assert!((1..100_000).contains(&shown.detector.srtt_us));
        let all = match sockets() {
            Err(error @ BpfError::NoListing) => return Err(error),
            all => all.unwrap().expect("Prague is loaded"),
        };
        let of_server = |s: &&Socket| s.local == address && s.peer == client.local_addr().unwrap();
        Ok((all.iter().find(of_server).copied(), shown))
    });
    let (listed, shown) = or_skip!(listed);
    let listed = listed.expect("the connection is in the list");
    assert_eq!(listed.shown, shown);
    assert!(listed.established && listed.cwnd >= 2);
}
