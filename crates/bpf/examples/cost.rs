//! The cost of the programs in a kernel that supports them: nanoseconds per packet of queue disciplines,
//! and processor time per gigabyte of congestion controls. In the virtual machine, whose clock
//! counts instructions, a nanosecond is an instruction:
//!
//! ```text
//! cargo build --release -p l4s-bpf --example cost
//! l4s vm -- target/release/examples/cost
//! ```

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use l4s_aqm::dualpi2::Config;
use l4s_aqm::dualpi2::kernel::{Link, Settings};
use l4s_bpf::{DualPi2, Loaded};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{AddressFamily, SocketType};
use rustix::thread::{UnshareFlags, unshare_unsafe};

const PACKETS: u32 = 20_000;
const BYTES: usize = 100_000_000;
const FAR: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let _ = Command::new("modprobe").args(["-a", "-q", "dummy", "sch_dualpi2"]).status();
    ip("link add dev cost0 type dummy")?;
    ip("addr add 192.0.2.1/24 dev cost0")?;
    ip("link set cost0 up")?;
    ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev cost0")?;
    ip("link set lo up")?;
    queues()?;
    controls()?;
    bursts()
}

fn ip(arguments: &str) -> Result<()> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &str) -> Result<()> {
    let done = Command::new(program).args(arguments.split(' ')).output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{program} {arguments}: {}", String::from_utf8_lossy(&done.stderr)).into())
}

/// Datagrams to a device that discards them, with each discipline.
fn queues() -> Result<()> {
    let ours = DualPi2::register("l4s_cost", 1)?;
    ours.prepare(&Settings::new(&Config::linux(), Link { rate: None, burst: Default::default() }))?;
    let ifindex = rustix::net::netdevice::name_to_index(UdpSocket::bind("0.0.0.0:0")?, "cost0")?;
    println!("{:14} {:>12} {:>12}   ns per datagram of 1000 bytes", "", "all", "discipline");
    let mut bare = None;
    for kind in ["noqueue", "pfifo", "fq_codel", "dualpi2", "l4s_cost"] {
        if run("tc", &format!("qdisc replace dev cost0 root {kind}")).is_err() {
            println!("{kind:14} this kernel has it not");
            continue;
        }
        // The part of our discipline that runs at the egress of the device.
        let _decides = (kind == ours.name()).then(|| ours.decide(ifindex)).transpose()?;
        let ns = datagrams()?;
        let own = ns.saturating_sub(*bare.get_or_insert(ns));
        println!("{kind:14} {ns:12} {own:12}");
        if kind == ours.name() {
            parts()?;
        }
    }
    run("tc", "qdisc del dev cost0 root")
}

/// The kernel's statistics of each of our programs, in a pass of its own, since they cost time, too.
fn parts() -> Result<()> {
    const MEASURED: &str = "/proc/sys/kernel/bpf_stats_enabled";
    std::fs::write(MEASURED, "1")?;
    let sent = datagrams();
    std::fs::write(MEASURED, "0")?;
    sent?;
    for program in libbpf_rs::query::ProgInfoIter::default().filter(|program| program.run_cnt > 0) {
        let packets = u64::from(3 * PACKETS);
        let (name, ns) = (program.name.to_string_lossy(), program.run_time_ns / packets);
        println!("  {name:12} {:>12} {ns:12}   {} times", "", program.run_cnt / packets);
    }
    Ok(())
}

/// Half of the datagrams go to the L4S queue. The best of three runs counts.
fn datagrams() -> Result<u64> {
    let socket = UdpSocket::bind("192.0.2.1:0")?;
    socket.connect("192.0.2.2:9")?;
    let mut best = u64::MAX;
    for _ in 0..3 {
        let mut total = Duration::ZERO;
        for ecn in [0u32, 1] {
            rustix::net::sockopt::set_ip_tos(&socket, ecn as u8)?;
            let start = Instant::now();
            for _ in 0..PACKETS / 2 {
                let _ = socket.send(&[0; 958]);
            }
            total += start.elapsed();
        }
        best = best.min(total.as_nanos() as u64 / u64::from(PACKETS));
    }
    Ok(best)
}

/// A transfer over the loopback device with each congestion control. Both ends are on this machine,
/// which is always busy, so the time is processor time.
fn controls() -> Result<()> {
    let prague = Loaded::prague("prague_cost", &l4s_cc::prague::Config::paper())?;
    let dctcp = Loaded::dctcp("dctcp_cost")?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    println!("\n{:14} {:>12}   s per gigabyte, both ends", "", "processor");
    for control in ["cubic", "reno", prague.name(), dctcp.name()] {
        let once = |_| transfer(control, &listener, listener.local_addr()?);
        let best = (0..3).map(once).collect::<Result<Vec<_>>>()?;
        let best = best.into_iter().min().unwrap_or_default();
        println!("{control:14} {:12.3}", best.as_secs_f64() * 1e9 / BYTES as f64);
    }
    Ok(())
}

/// The maximum of segments in an aggregate: the device's limit, and the settings of `l4s host` for
/// 1 Gb/s and for 40 Mb/s.
const SEGMENTS: [u32; 3] = [65535, 20, 1];

/// Transfers from one network namespace to another over a pair of devices, with at most this number of
/// segments in an aggregate.
fn bursts() -> Result<()> {
    let prague = Loaded::prague("prague_bursts", &l4s_cc::prague::Config::paper())?;
    let home = File::open("/proc/self/ns/net")?;
    let home = format!("/proc/{}/fd/{}", std::process::id(), home.as_raw_fd());
    // The other namespace exists as long as its socket, the devices as long as both namespaces.
    let far = thread::spawn(move || far_end(&home).map_err(|error| error.to_string()));
    let listener = far.join().map_err(|_| "the far end")??;
    ip("addr add 198.51.100.1/24 dev cost1")?;
    ip("link set cost1 up")?;
    let address = SocketAddr::from((FAR, listener.local_addr()?.port()));
    println!("\n{:14} {:>12} {:>12}   s per gigabyte, both ends", "", "gso_max_segs", "processor");
    for control in ["cubic", prague.name()] {
        for segments in SEGMENTS {
            ip(&format!("link set cost1 gso_max_segs {segments}"))?;
            let once = |_| transfer(control, &listener, address);
            let best = (0..3).map(once).collect::<Result<Vec<_>>>()?;
            let best = best.into_iter().min().unwrap_or_default();
            let per_gigabyte = best.as_secs_f64() * 1e9 / BYTES as f64;
            println!("{control:14} {segments:12} {per_gigabyte:12.3}");
        }
    }
    ip("link del cost1")
}

/// A namespace for this thread, with one end of the pair; the other is in the namespace `home`.
fn far_end(home: &str) -> Result<TcpListener> {
    // SAFETY: a new network namespace has no effect on memory safety.
    #[allow(unsafe_code)]
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    ip("link add cost2 type veth peer name cost1")?;
    ip(&format!("link set cost1 netns {home}"))?;
    ip(&format!("addr add {FAR}/24 dev cost2"))?;
    ip("link set cost2 up")?;
    Ok(TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?)
}

/// A transfer from the end that connects to the end that listens.
fn transfer(control: &str, listener: &TcpListener, address: SocketAddr) -> Result<Duration> {
    set_tcp_congestion(listener, control)?;
    let client = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    set_tcp_congestion(&client, control)?;
    rustix::net::connect(&client, &address)?;
    let mut client = TcpStream::from(client);
    let (mut server, _) = listener.accept()?;
    let start = Instant::now();
    let sender = thread::spawn(move || -> std::io::Result<()> {
        let piece = vec![0x55; 1 << 16];
        for _ in 0..BYTES >> 16 {
            client.write_all(&piece)?;
        }
        Ok(())
    });
    let mut buffer = vec![0; 1 << 16];
    while server.read(&mut buffer)? > 0 {}
    sender.join().map_err(|_| "the sender")??;
    Ok(start.elapsed())
}
