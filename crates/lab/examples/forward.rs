//! What the data plane can do on this machine: bulk TCP between two network namespaces.
//!
//! ```text
//! forward rate=200mbit seconds=10 flows=2 rtt=10ms batch=16 realtime=true pinned=true
//! ```
//!
//! Every key may be left out; `cc` and `gso` are others. It needs root, for the namespaces, and
//! `ip` and `sysctl`. Agents are this program again, as child processes.

use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_lab::{Device, End, FIRST_PORT, Frame, Ledger, Plane, Port, Settings, pump};
use l4s_model::Scenario;
use l4s_observe::{Observer, Traced};
use l4s_os::{Clock, Tun};
use l4s_scenario::bundled;
use l4s_units::{Duration, Time};
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketType};

type Anything = Box<dyn std::error::Error>;
type Options = HashMap<String, String>;

const SERVER: &str = "10.0.0.1";
const CLIENT: &str = "10.0.1.1";
const SERVICE: u16 = 5001;
/// Not counted.
const WARMUP: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let options: Options = std::env::args()
        .skip(1)
        .filter_map(|a| a.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let result = match options.get("role") {
        Some(role) => agent(role, &options),
        None => measure(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn get<'a>(options: &'a Options, key: &str, default: &'a str) -> &'a str {
    options.get(key).map_or(default, String::as_str)
}

fn scenario(options: &Options) -> Result<Scenario, Anything> {
    let seconds: u64 = get(options, "seconds", "10").parse()?;
    let set = [
        format!("duration={seconds}s"),
        "warmup=1s".to_owned(),
        format!("link.rate={}", get(options, "rate", "200mbit")),
    ];
    let plan = bundled::find("one-against-one").ok_or("no such scenario")?.plan(&set)?;
    let mut scenario = plan.points[0].scenario.clone();
    scenario.groups.truncate(1);
    scenario.udp.clear();
    scenario.aqm = l4s_aqm::Config::default();
    scenario.kernel.gso = get(options, "gso", "false") == "true";
    let rtt: f64 = get(options, "rtt", "10ms").trim_end_matches("ms").parse()?;
    scenario.groups[0].rtt = Duration::from_secs_f64(rtt / 1e3);
    scenario.groups[0].starts = vec![Time::ZERO; get(options, "flows", "2").parse()?];
    scenario.groups[0].size = None;
    Ok(scenario)
}

fn measure(options: &Options) -> Result<(), Anything> {
    let scenario = scenario(options)?;
    let mut agents = [start("server", options)?, start("client", options)?];
    let ports = [Port {
        name: "bulk".to_owned(),
        server: device(&mut agents[0])?,
        client: device(&mut agents[1])?,
    }];
    let mut plane = Plane::new(&scenario);
    let clock = Clock::starting_in(Duration::from_millis(200));
    for agent in &mut agents {
        agent.control.write_all(&clock.origin_ns().to_ne_bytes())?;
    }
    let stop = AtomicBool::new(false);
    let end = Time::ZERO + scenario.duration;
    let mut settings = Settings::new(clock, end, &stop);
    settings.batch = get(options, "batch", "16").parse()?;
    settings.realtime = get(options, "realtime", "true") == "true";
    let (_sender, reports) = mpsc::channel();
    let mut ledger = Ledger::new(&scenario, reports);
    let mut seen = Seen::default();
    let pumped = std::thread::scope(|scope| {
        scope.spawn(|| pump(&ports, &mut plane, settings, &mut ledger, &mut seen)).join()
    })
    .map_err(|_| "the pump panicked")??;
    for agent in &mut agents {
        agent.child.kill()?;
        agent.child.wait()?;
    }

    let counted = scenario.duration.saturating_sub(WARMUP).as_secs_f64();
    let elapsed = pumped.ended.as_secs_f64();
    println!(
        "{:.1} Mb/s (IP), {} packets, {:.2} % marked, {:.2} % dropped, queue {:.2} ms",
        seen.bytes as f64 * 8.0 / counted / 1e6,
        seen.packets,
        100.0 * seen.marks as f64 / seen.packets.max(1) as f64,
        100.0 * seen.drops as f64 / seen.packets.max(1) as f64,
        seen.sojourn as f64 / seen.packets.max(1) as f64 / 1e6,
    );
    println!("departures late: {}", pumped.departures);
    println!("returns late:    {}", pumped.returns);
    println!(
        "{} ns per packet of {}; busy {:.0} %, user {:.0} %, system {:.0} % of {elapsed:.1} s; \
         longest stall {}; core {:?}, fifo {}, locked {}",
        pumped.cost().as_nanos(),
        pumped.packets,
        100.0 * pumped.busy.as_secs_f64() / elapsed,
        100.0 * pumped.user.as_secs_f64() / elapsed,
        100.0 * pumped.system.as_secs_f64() / elapsed,
        pumped.stalls.longest,
        pumped.core,
        pumped.fifo,
        pumped.locked,
    );
    for end in [End::Server, End::Client] {
        println!("{}: {:?}", end.name(), plane.counters(0, end));
    }
    println!("{}", pumped.unfit(scenario.groups[0].rtt).unwrap_or("fit".to_owned()));
    Ok(())
}

// --- Agents ------------------------------------------------------------------------------------

struct Agent {
    child: Child,
    control: UnixStream,
}

fn start(role: &str, options: &Options) -> Result<Agent, Anything> {
    let (control, theirs) = UnixStream::pair()?;
    let child = Command::new(std::env::current_exe()?)
        .arg(format!("role={role}"))
        .args(options.iter().map(|(key, value)| format!("{key}={value}")))
        .stdin(OwnedFd::from(theirs))
        .spawn()?;
    Ok(Agent { child, control })
}

/// The device that an agent opened, as it hands it over.
fn device(agent: &mut Agent) -> Result<Device, Anything> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    recvmsg(&agent.control, &mut parts, &mut ancillary, RecvFlags::empty())?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut files) = message {
            let file = files.next().ok_or("no file came")?;
            let pid = rustix::process::Pid::from_child(&agent.child);
            let agent = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
            return Ok(Device { tun: Tun::from(file), agent: Some(agent) });
        }
    }
    Err("an agent did not get as far as its device".into())
}

/// A child process: opens its device, hands it over, and sends or receives without end.
#[allow(unsafe_code)]
fn agent(role: &str, options: &Options) -> Result<(), Anything> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let control = std::io::stdin();
    // SAFETY: only the flag for descriptors is unsafe, and it is not given.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET)? };
    if get(options, "pinned", "true") == "true" {
        let mut allowed = rustix::thread::sched_getaffinity(None)?;
        if let Some(core) = l4s_os::spare_core() {
            allowed.unset(core);
            rustix::thread::sched_setaffinity(None, &allowed)?;
        }
    }
    let tun = Tun::open("tun0")?;
    let (own, peer) = if role == "server" { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
    run(&format!("ip address add {own} peer {peer} dev tun0"))?;
    run("ip link set tun0 up mtu 1500 txqueuelen 10000")?;
    run("sysctl -qw net.ipv4.tcp_ecn=1")?;
    run("sysctl -qw net.ipv4.tcp_wmem=4096\t131072\t33554432")?;
    run("sysctl -qw net.ipv4.tcp_rmem=4096\t131072\t33554432")?;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [tun.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    // The server must listen before the client may connect.
    let listener = TcpListener::bind((own, SERVICE))?;
    sendmsg(&control, &[IoSlice::new(b"!")], &mut ancillary, SendFlags::empty())?;
    let mut origin = [0; 8];
    control.lock().read_exact(&mut origin)?;
    let clock = Clock::from_origin_ns(u64::from_ne_bytes(origin));
    let flows: u16 = get(options, "flows", "2").parse()?;
    while clock.now() == Time::ZERO {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let cc = get(options, "cc", "cubic");
    std::thread::scope(|scope| {
        for flow in 0..flows {
            let listener = &listener;
            scope.spawn(move || match role {
                "server" => send(listener, cc),
                _ => receive(FIRST_PORT + flow),
            });
        }
    });
    Ok(())
}

fn run(command: &str) -> Result<(), Anything> {
    let mut words = command.split(' ');
    let status = Command::new(words.next().unwrap_or_default()).args(words).status()?;
    if status.success() { Ok(()) } else { Err(format!("`{command}` failed").into()) }
}

fn send(listener: &TcpListener, cc: &str) -> Option<()> {
    let (mut stream, _) = listener.accept().ok()?;
    sockopt::set_tcp_congestion(&stream, cc).ok()?;
    let zeros = vec![0; 1 << 18];
    while stream.write_all(&zeros).is_ok() {}
    None
}

fn receive(port: u16) -> Option<()> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    let own = SocketAddrV4::new(CLIENT.parse().ok()?, port);
    rustix::net::bind(&socket, &own).ok()?;
    rustix::net::connect(&socket, &SocketAddrV4::new(SERVER.parse().ok()?, SERVICE)).ok()?;
    let mut stream = TcpStream::from(socket);
    let mut buffer = vec![0; 1 << 18];
    while stream.read(&mut buffer).ok()? > 0 {}
    None
}

// --- Measurement -------------------------------------------------------------------------------

/// Sums after the warm-up.
#[derive(Default)]
struct Seen {
    packets: u64,
    bytes: u64,
    marks: u64,
    drops: u64,
    sojourn: u128,
}

impl Observer<Frame> for Seen {
    fn marked(&mut self, _: &Frame, _: Queue, _: MarkCause, now: Time) {
        self.marks += u64::from(now >= Time::ZERO + WARMUP);
    }
    fn departed(&mut self, packet: &Frame, _: Queue, sojourn: Duration, now: Time) {
        if now >= Time::ZERO + WARMUP {
            self.packets += 1;
            self.bytes += packet.ip_length().get();
            self.sojourn += u128::from(sojourn.as_nanos());
        }
    }
    fn dropped(&mut self, _: &Frame, _: Queue, _: DropCause, now: Time) {
        self.drops += u64::from(now >= Time::ZERO + WARMUP);
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
}
