//! The pump with real devices. Each end is a thread in a network namespace of its own. Without the
//! right to create namespaces these tests are skipped, with a message.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration as Wait;

use l4s_lab::{
    Device, End, Ledger, Plane, Port, PumpError, Pumped, Report, Settings, TcpSample, UDP_PORT,
    pump,
};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_os::{Clock, Tun};
use l4s_scenario::bundled;
use l4s_units::{Bytes, Duration, Rate, Time};

const SERVER: &str = "10.0.0.1";
const CLIENT: &str = "10.0.1.1";

/// One UDP source and no group.
fn scenario() -> Scenario {
    let plan = bundled::find("one-against-one").unwrap().plan(&[]).unwrap();
    let mut scenario = plan.points[0].scenario.clone();
    scenario.groups.clear();
    scenario.udp = vec![l4s_model::Udp {
        packet: Bytes::new(528),
        ..l4s_model::Udp::new("u", Rate::from_mbps(1))
    }];
    scenario
}

/// Moves this thread into a namespace with one device, and returns the other end of the device.
#[allow(unsafe_code)]
fn enter(own: &str, peer: &str) -> io::Result<Tun> {
    // SAFETY: only the flag for descriptors is unsafe, and it is not set.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET)? };
    let tun = Tun::open("tun0")?;
    ip(&format!("address add {own} peer {peer} dev tun0"));
    ip("link set tun0 up mtu 1500 txqueuelen 10000");
    Ok(tun)
}

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success());
}

/// The packets that the device of this thread's namespace received and sent, by the kernel's counters.
fn device_counters() -> (u64, u64) {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = table.lines().find_map(|line| line.trim().strip_prefix("tun0:")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().map(|n| n.parse().unwrap()).collect();
    (numbers[1], numbers[9])
}

/// Runs `act` on a thread inside a namespace. The thread first passes on its device, or the reason why
/// it has none.
fn inside<'scope, T: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    own: &'static str,
    peer: &'static str,
    act: impl FnOnce() -> T + Send + 'scope,
) -> (std::thread::ScopedJoinHandle<'scope, Option<T>>, io::Result<Tun>) {
    let (send, tun) = mpsc::channel();
    let thread = scope.spawn(move || match enter(own, peer) {
        Ok(tun) => {
            send.send(Ok(tun)).unwrap();
            Some(act())
        }
        Err(error) => {
            send.send(Err(error)).unwrap();
            None
        }
    });
    let tun = tun.recv().unwrap();
    (thread, tun)
}

fn ports(server: Tun, client: Tun) -> [Port; 1] {
    let device = |tun| Device { tun, agent: None };
    [Port { name: "u".to_owned(), server: device(server), client: device(client) }]
}

fn run(
    ports: &[Port],
    plane: &mut Plane,
    stop: &AtomicBool,
    reports: Receiver<Report>,
) -> Result<Pumped, PumpError> {
    let clock = Clock::starting_in(Duration::from_millis(20));
    let mut settings = Settings::new(clock, Time::ZERO + Duration::from_secs(20), stop);
    // Tests run in parallel.
    settings.realtime = false;
    let mut ledger = Ledger::new(&scenario(), reports);
    pump(ports, plane, settings, &mut ledger, &mut ())
}

#[test]
fn what_one_namespace_sends_the_other_receives() {
    const PACKETS: u64 = 500;
    let stop = AtomicBool::new(false);
    let (go, start): (Sender<()>, Receiver<()>) = mpsc::channel();
    let (done, finished) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (server, server_tun) = inside(scope, SERVER, CLIENT, move || {
            start.recv().unwrap();
            let socket = UdpSocket::bind((SERVER, UDP_PORT)).unwrap();
            for n in 0..PACKETS {
                let mut packet = [0; 500];
                packet[..8].copy_from_slice(&n.to_be_bytes());
                socket.send_to(&packet, (CLIENT, UDP_PORT)).unwrap();
                std::thread::sleep(Wait::from_micros(200));
            }
            // The namespace remains, so that the counters can be read, until the client has everything.
            finished.recv().unwrap();
            device_counters()
        });
        let stop = &stop;
        let (ready, bound) = mpsc::channel();
        let (client, client_tun) = inside(scope, CLIENT, SERVER, move || {
            let socket = UdpSocket::bind((CLIENT, UDP_PORT)).unwrap();
            socket.set_read_timeout(Some(Wait::from_secs(10))).unwrap();
            ready.send(()).unwrap();
            let mut numbers = Vec::new();
            let mut buffer = [0; 2000];
            while numbers.len() < PACKETS as usize {
                let length = socket.recv(&mut buffer).expect("every packet arrives");
                assert_eq!(length, 500);
                numbers.push(u64::from_be_bytes(buffer[..8].try_into().unwrap()));
            }
            stop.store(true, Ordering::Relaxed);
            done.send(()).unwrap();
            (numbers, device_counters())
        });
        let (Ok(server_tun), Ok(client_tun)) = (server_tun, client_tun) else {
            eprintln!("not tested: no right to make network namespaces");
            stop.store(true, Ordering::Relaxed);
            return;
        };
        bound.recv().unwrap();
        let ports = ports(server_tun, client_tun);
        let pumping = scope.spawn(move || {
            let (_reports, told) = mpsc::channel();
            let mut plane = Plane::new(&scenario());
            let pumped = run(&ports, &mut plane, stop, told);
            // The devices remain until their counters were read.
            (pumped.unwrap(), plane, ports)
        });
        // The clock of the run starts a moment later; earlier packets would be dropped.
        std::thread::sleep(Wait::from_millis(100));
        go.send(()).unwrap();
        let (pumped, plane, _ports) = pumping.join().unwrap();
        let (numbers, (client_received, _)) = client.join().unwrap().unwrap();
        let (_, server_sent) = server.join().unwrap().unwrap();

        assert_eq!(numbers, (0..PACKETS).collect::<Vec<_>>());
        let counters = plane.counters(0, End::Server);
        assert_eq!((counters.forwarded, counters.gone()), (PACKETS, counters.received));
        assert_eq!(counters.stray + counters.malformed + counters.refused, 0);
        // The kernel's counters on both sides agree.
        assert_eq!(counters.received, server_sent);
        assert_eq!(counters.forwarded, client_received);
        assert!(pumped.packets >= PACKETS && pumped.ended > Time::ZERO);
    });
}

/// TCP hands over segments of up to 64 KiB, which become packets of the link and arrive as what was sent.
#[test]
fn large_segments_are_cut_and_their_bytes_arrive() {
    const BYTES: usize = 4 << 20;
    let content = || (0u32..).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).take(BYTES);
    let mut scenario = scenario();
    scenario.link.rate = Rate::from_mbps(100);
    scenario.link.buffer = l4s_model::Buffer::Packets(1000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (accept, accepted) = mpsc::channel();
        let (done, finished) = mpsc::channel::<()>();
        let (server, server_tun) = inside(scope, SERVER, CLIENT, move || {
            let listener = TcpListener::bind((SERVER, 5001)).unwrap();
            accept.send(()).unwrap();
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(&content().collect::<Vec<_>>()).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            finished.recv().unwrap();
            device_counters()
        });
        let stop = &stop;
        let (client, client_tun) = inside(scope, CLIENT, SERVER, move || {
            accepted.recv().unwrap();
            // A first SYN that comes before the run begins is repeated after a second.
            let mut stream = TcpStream::connect((SERVER, 5001)).unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            stop.store(true, Ordering::Relaxed);
            done.send(()).unwrap();
            received
        });
        let (Ok(server_tun), Ok(client_tun)) = (server_tun, client_tun) else {
            return eprintln!("not tested: no right to make network namespaces");
        };
        let ports = ports(server_tun, client_tun);
        let (_reports, told) = mpsc::channel();
        let mut plane = Plane::new(&scenario);
        let pumped = run(&ports, &mut plane, stop, told).unwrap();
        let received = client.join().unwrap().unwrap();
        let (_, handed_over) = server.join().unwrap().unwrap();

        assert!(received.into_iter().eq(content()), "other bytes than were sent");
        let counters = plane.counters(0, End::Server);
        println!("{} packets of {handed_over} segments; {pumped:?}", counters.received);
        // 1448 bytes each, with a time stamp in the headers.
        assert!(counters.forwarded >= (BYTES / 1448) as u64, "{counters:?}");
        assert!(handed_over < counters.received / 2, "{handed_over}: {counters:?}");
        assert_eq!(counters.malformed + counters.exhausted, 0);
    });
}

#[test]
fn a_device_that_vanishes_is_named() {
    let stop = AtomicBool::new(false);
    let (go, start) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (_server, server_tun) = inside(scope, SERVER, CLIENT, || ());
        let (client, client_tun) = inside(scope, CLIENT, SERVER, move || {
            start.recv().unwrap();
            ip("link delete tun0");
        });
        let (Ok(server_tun), Ok(client_tun)) = (server_tun, client_tun) else {
            return eprintln!("not tested: no right to make network namespaces");
        };
        let ports = ports(server_tun, client_tun);
        let stop = &stop;
        let pumping = scope.spawn(move || {
            let (_reports, told) = mpsc::channel();
            run(&ports, &mut Plane::new(&scenario()), stop, told)
        });
        go.send(()).unwrap();
        client.join().unwrap();
        let error = pumping.join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the client of `u` lost its network device");
    });
}

#[test]
fn an_agent_that_dies_is_named() {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (_server, server_tun) = inside(scope, SERVER, CLIENT, || ());
        let (_client, client_tun) = inside(scope, CLIENT, SERVER, || ());
        let (Ok(server_tun), Ok(client_tun)) = (server_tun, client_tun) else {
            return eprintln!("not tested: no right to make network namespaces");
        };
        let mut agent = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&agent);
        let flags = rustix::process::PidfdFlags::empty();
        let mut ports = ports(server_tun, client_tun);
        ports[0].server.agent = Some(rustix::process::pidfd_open(pid, flags).unwrap());
        let stop = &stop;
        let pumping = scope.spawn(move || {
            let (_reports, told) = mpsc::channel();
            run(&ports, &mut Plane::new(&scenario()), stop, told)
        });
        std::thread::sleep(Wait::from_millis(100));
        agent.kill().unwrap();
        agent.wait().unwrap();
        let error = pumping.join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the server of `u` ended before the run did");
    });
}

#[test]
fn reports_reach_the_observer_with_their_own_times() {
    use l4s_lab::Frame;
    use l4s_observe::{FlowState, Observer};

    #[derive(Default)]
    struct Heard(Vec<String>);
    impl Observer<Frame> for Heard {
        fn opened(&mut self, flow: FlowId, group: SourceId, size: Option<Bytes>, now: Time) {
            self.0.push(format!("{flow} of {group} opened for {size:?} at {now}"));
        }
        fn closed(&mut self, flow: FlowId, now: Time) {
            self.0.push(format!("{flow} closed at {now}"));
        }
        fn round_trip(&mut self, flow: FlowId, rtt: Duration, now: Time) {
            self.0.push(format!("{flow} took {rtt} at {now}"));
        }
        fn retransmitted(&mut self, flow: FlowId, now: Time) {
            self.0.push(format!("{flow} sent again at {now}"));
        }
        fn sample_flow(&mut self, state: FlowState, now: Time) {
            self.0.push(format!("{} has {} at {now}", state.flow, state.cwnd));
        }
    }

    let plan = bundled::find("one-against-one").unwrap().plan(&[]).unwrap();
    let (tell, reports) = mpsc::channel();
    let mut ledger = Ledger::new(&plan.points[0].scenario, reports);
    let mut heard = Heard::default();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let sample = |retransmits| TcpSample {
        cwnd: 10,
        srtt: Some(Duration::from_millis(11)),
        retransmits,
        ..TcpSample::default()
    };
    tell.send(Report::Opened { flow: FlowId::new(1), at: at(1) }).unwrap();
    tell.send(Report::Sample { flow: FlowId::new(1), at: at(2), sample: sample(2) }).unwrap();
    // A report for a flow that does not exist has no effect.
    tell.send(Report::Opened { flow: FlowId::new(9), at: at(2) }).unwrap();
    ledger.pass_on(&mut heard);
    ledger.sample(at(3), &mut heard);
    tell.send(Report::Closed { flow: FlowId::new(1), at: at(4) }).unwrap();
    tell.send(Report::Sample { flow: FlowId::new(1), at: at(5), sample: sample(2) }).unwrap();
    ledger.pass_on(&mut heard);
    ledger.sample(at(6), &mut heard);
    let expected = [
        "1 of 1 opened for None at 1ms",
        "1 sent again at 2ms",
        "1 sent again at 2ms",
        "1 took 11ms at 2ms",
        "1 has 10 at 3ms",
        "1 closed at 4ms",
        "1 took 11ms at 5ms",
    ];
    assert_eq!(heard.0, expected);
}
