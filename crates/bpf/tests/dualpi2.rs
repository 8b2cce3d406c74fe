//! Compares DualPI2 in C, which runs in the kernel, with DualPI2 in Rust, which runs in the simulator. A
//! million random packets pass both, with the same random numbers, and each packet has the same fate in
//! both.

use std::collections::VecDeque;
use std::ffi::c_void;

use l4s_aqm::dualpi2::kernel::{Link, Settings, as_kernel};
use l4s_aqm::dualpi2::{Classify, Config, Discipline, LAqm, Overload, Randomness, Scheduler, Step};
use l4s_aqm::{DropCause, Limit, MTU, MarkCause, Packet, Qdisc, Queue, Watch};
// Links the host build of the C headers.
use l4s_bpf as _;
use l4s_units::{Bytes, Duration, Ecn, Probability, Rate, Spacing, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const STEPS: usize = 1_000_000;
const L: u32 = 0;
const C: u32 = 1;

/// `struct dualpi2_queue` of dualpi2.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CQueue {
    packets: u64,
    bytes: u64,
    head: u64,
}

/// `struct dualpi2`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CState {
    queues: [CQueue; 2],
    memory: u64,
    q_prev: u64,
    due: u64,
    credit: i64,
    sums: [u64; 2],
    free_at: u64,
    rest: u64,
    drain: u64,
    measured_from: u64,
    measured: u64,
    p_prime: u32,
}

type Draw = extern "C" fn(*mut c_void) -> u32;

// SAFETY: dualpi2.h declares the same functions, and the structures above have its fields in order.
#[allow(unsafe_code)]
unsafe extern "C" {
    safe fn l4s_dualpi2_start(c: &Settings, s: &mut CState, now: u64);
    safe fn l4s_dualpi2_catch_up(c: &Settings, s: &mut CState, now: u64);
    safe fn l4s_dualpi2_classify(c: &Settings, ecn: u32) -> u32;
    safe fn l4s_dualpi2_admits(c: &Settings, s: &CState, bytes: u64, memory: u64) -> i32;
    fn l4s_dualpi2_decide(
        c: &Settings,
        s: &mut CState,
        queue: u32,
        ecn: u32,
        now: u64,
        random: Draw,
        from: *mut c_void,
    ) -> u32;
    safe fn l4s_dualpi2_foresee(c: &Settings, s: &CState, now: u64) -> u64;
    safe fn l4s_dualpi2_enter(s: &mut CState, queue: u32, bytes: u64, memory: u64, now: u64);
    safe fn l4s_dualpi2_schedule(c: &Settings, s: &mut CState, now: u64) -> u32;
    safe fn l4s_dualpi2_leave(
        c: &Settings,
        s: &mut CState,
        queue: u32,
        bytes: u64,
        memory: u64,
        head: u64,
        now: u64,
    );
    safe fn l4s_dualpi2_send(c: &Settings, s: &mut CState, bytes: u64, now: u64);
    safe fn l4s_dualpi2_free_at(c: &Settings, s: &CState) -> u64;
}

extern "C" fn draw(from: *mut c_void) -> u32 {
    // SAFETY: `Kernel::decide` lends its generator for this call; nothing else uses it meanwhile.
    #[allow(unsafe_code)]
    let chance = unsafe { &mut *from.cast::<Xoshiro256PlusPlus>() };
    chance.next_u32()
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Probe {
    id: u64,
    size: u64,
    ecn: Ecn,
}

impl Packet for Probe {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow_hash(&self) -> u32 {
        0
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Marked(u64, MarkCause),
    Dropped(u64, DropCause),
    Left { id: u64, queue: u32, sojourn: u64 },
}

#[derive(Default)]
struct Fates(Vec<Fate>);

impl Watch<Probe> for Fates {
    fn marked(&mut self, packet: &Probe, _queue: Queue, cause: MarkCause, _now: Time) {
        self.0.push(Fate::Marked(packet.id, cause));
    }
    fn dropped(&mut self, packet: Probe, _queue: Queue, cause: DropCause, _now: Time) {
        self.0.push(Fate::Dropped(packet.id, cause));
    }
}

/// The C functions, in the order in which dualpi2.bpf.c calls them.
struct Kernel {
    config: Settings,
    state: CState,
    waiting: [VecDeque<(Probe, u64)>; 2],
    chance: Xoshiro256PlusPlus,
}

impl Kernel {
    fn new(config: Settings, chance: Xoshiro256PlusPlus) -> Kernel {
        let mut state = CState::default();
        l4s_dualpi2_start(&config, &mut state, 0);
        Kernel { config, state, waiting: Default::default(), chance }
    }

    fn catch_up(&mut self, now: u64) {
        l4s_dualpi2_catch_up(&self.config, &mut self.state, now);
    }

    fn decide(&mut self, queue: u32, ecn: Ecn, now: u64) -> u32 {
        let from = (&raw mut self.chance).cast();
        let ecn = ecn.bits().into();
        // SAFETY: `draw` uses the generator that is lent here only during this call.
        #[allow(unsafe_code)]
        unsafe {
            l4s_dualpi2_decide(&self.config, &mut self.state, queue, ecn, now, draw, from)
        }
    }

    fn arrives(&mut self, mut packet: Probe, now: u64, fates: &mut Fates) {
        self.catch_up(now);
        let Probe { id, size, ecn } = packet;
        let queue = l4s_dualpi2_classify(&self.config, ecn.bits().into());
        if l4s_dualpi2_admits(&self.config, &self.state, size, size) == 0 {
            return fates.0.push(Fate::Dropped(id, DropCause::Limit));
        }
        let cause = match self.decide(queue, ecn, now) {
            0 => None,
            1 => Some(MarkCause::Step),
            2 => Some(MarkCause::Coupled),
            3 => Some(MarkCause::Classic),
            4 => return fates.0.push(Fate::Dropped(id, DropCause::Aqm)),
            5 => return fates.0.push(Fate::Dropped(id, DropCause::Overload)),
            other => panic!("verdict {other}"),
        };
        if let Some(cause) = cause.filter(|_| !ecn.is_ce()) {
            packet.set_ce();
            fates.0.push(Fate::Marked(id, cause));
        }
        l4s_dualpi2_enter(&mut self.state, queue, size, size, now);
        self.waiting[queue as usize].push_back((packet, now));
    }

    fn leaves(&mut self, now: u64, fates: &mut Fates) {
        self.catch_up(now);
        let queue = l4s_dualpi2_schedule(&self.config, &mut self.state, now);
        if queue > C {
            return;
        }
        let waiting = &mut self.waiting[queue as usize];
        let (packet, arrival) = waiting.pop_front().expect("the state says so");
        let head = waiting.front().map_or(0, |(_, arrival)| *arrival);
        let size = packet.size;
        l4s_dualpi2_leave(&self.config, &mut self.state, queue, size, size, head, now);
        l4s_dualpi2_send(&self.config, &mut self.state, size, now);
        fates.0.push(Fate::Left { id: packet.id, queue, sojourn: now - arrival });
    }
}

/// The discipline of the simulator, driven in the same way.
struct Simulator {
    discipline: Discipline<Probe>,
    chance: Xoshiro256PlusPlus,
}

impl Simulator {
    fn catch_up(&mut self, now: u64) {
        while let Some(due) = self.discipline.next_tick().filter(|due| due.as_nanos() <= now) {
            self.discipline.tick(due);
        }
    }

    fn arrives(&mut self, packet: Probe, now: u64, fates: &mut Fates) {
        self.catch_up(now);
        self.discipline.enqueue(packet, Time::from_nanos(now), &mut self.chance, fates);
    }

    fn leaves(&mut self, now: u64, fates: &mut Fates) {
        self.catch_up(now);
        let left = self.discipline.dequeue(Time::from_nanos(now), &mut self.chance, fates);
        if let Some(left) = left {
            let queue = if left.queue == Queue::L { L } else { C };
            let sojourn = left.sojourn.as_nanos();
            fates.0.push(Fate::Left { id: left.packet.id, queue, sojourn });
        }
    }
}

/// Without a native AQM, so that only the state at arrival decides.
fn coupled_only(config: Config) -> Config {
    Config { l_aqm: LAqm::None, ..as_kernel(&config) }
}

const UNLIMITED: Link = Link { rate: None, burst: Duration::ZERO };

/// Drives both with the same packets. The link is first faster than they arrive, then slower.
fn both_agree(name: &str, config: &Config, steps: usize) {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(7);
    let chance = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut kernel = Kernel::new(Settings::new(config, UNLIMITED), chance.clone());
    let discipline = Discipline::new(config.clone(), &mut chance.clone());
    let mut simulator = Simulator { discipline, chance };
    let (mut now, mut seen) = (0, [0u64; 7]);
    for id in 0..steps as u64 {
        let random = world.next_u64();
        // Phases of some seconds: the queues fill, drain, and are idle.
        let phase = (id >> 12) % 5;
        now += match phase {
            0 => random % 300_000,
            1 => random % 200_000,
            2 => random % 2_000_000,
            3 if random % 4096 == 0 => 3_000_000_000,
            _ => random % 400_000,
        };
        let (mut theirs, mut ours) = (Fates::default(), Fates::default());
        let arrives = (random >> 32) % 100 < [60, 55, 40, 30, 50][phase as usize];
        if arrives {
            let size = 60 + (random >> 40) % 1455;
            let packet = Probe { id, size, ecn: Ecn::from_bits((random >> 60) as u8) };
            simulator.arrives(packet.clone(), now, &mut theirs);
            kernel.arrives(packet, now, &mut ours);
        } else {
            simulator.leaves(now, &mut theirs);
            kernel.leaves(now, &mut ours);
        }
        assert_eq!(ours.0, theirs.0, "{name}, step {id}, at {now}: {:?}", kernel.state);
        let signal = simulator.discipline.signal().expect("DualPI2 has one");
        assert_eq!(kernel.state.p_prime, signal.base.raw(), "{name}, step {id}");
        for fate in ours.0 {
            seen[match fate {
                Fate::Left { queue, .. } => queue as usize,
                Fate::Marked(_, MarkCause::Coupled) => 2,
                Fate::Marked(..) => 3,
                Fate::Dropped(_, DropCause::Aqm) => 4,
                Fate::Dropped(_, DropCause::Overload) => 5,
                Fate::Dropped(..) => 6,
            }] += 1;
        }
    }
    println!("{name}: L, C, coupled, classic, drop, overload, limit: {seen:?}");
    let common = [seen[0].max(seen[1]), seen[2] + seen[3], seen[4] + seen[5] + seen[6]];
    assert!(common.iter().all(|n| *n > 100), "{name}: too little was seen: {seen:?}");
}

#[test]
fn a_million_packets_of_linux_dualpi2() {
    both_agree("linux", &coupled_only(Config::linux()), STEPS);
}

#[test]
fn every_profile_and_choice() {
    let linux = Config::linux();
    let with = |change: fn(&mut Config)| {
        let mut config = linux.clone();
        change(&mut config);
        config
    };
    let cases: Vec<(&str, Config)> = vec![
        ("dctth", Config::dctth()),
        ("linux2019", Config::linux2019()),
        ("rfc9332", Config::rfc9332()),
        ("best", Config::best()),
        ("strict", with(|c| c.scheduler = Scheduler::Strict)),
        ("half", with(|c| c.scheduler = Scheduler::Wrr { classic_protection: 50 })),
        (
            "fast time",
            with(|c| {
                let t_shift = Duration::from_millis(5);
                c.scheduler = Scheduler::TsFifo { t_shift, t_speed: 2 };
            }),
        ),
        ("data centre", with(|c| (c.dualq, c.marking) = (Classify::Dc, Classify::Dc))),
        ("one queue", with(|c| (c.dualq, c.marking) = (Classify::None, Classify::L4s))),
        ("overflow", with(|c| c.overload = Overload::Overflow)),
        ("early drop", with(|c| c.overload = Overload::Drop(Probability::from_f64(0.5)))),
        ("recur", with(|c| c.randomness = Randomness::Recur)),
        ("no ECN for Classic", with(|c| c.classic_ecn = false)),
        ("k = 5", with(|c| c.k = 5)),
        ("fast updates", with(|c| c.tupdate = Duration::from_millis(1))),
        ("small buffer", with(|c| c.limit = Limit { memory: None, ..Limit::packets(40) })),
        ("bytes", with(|c| c.limit = Limit::bytes(Bytes::new(40_000)))),
    ];
    for (name, config) in cases {
        both_agree(name, &coupled_only(config), STEPS / 10);
    }
}

/// On a link of known rate the delay of an L4S packet is known when it arrives, to the nanosecond. So the
/// step marks exactly the packets that it would mark when they leave.
#[test]
fn what_is_foreseen_is_what_is_waited() {
    let (rate, thresh) = (Rate::from_bps(40_000_000), Duration::from_millis(1));
    let step = Config { l_aqm: LAqm::Step(Step::Time(thresh)), k: 0, ..Config::linux() };
    let link = Link { rate: Some(rate), burst: Duration::ZERO };
    let chance = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut world = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut kernel = Kernel::new(Settings::new(&step, link), chance.clone());
    let discipline = Discipline::new(step, &mut chance.clone());
    let mut simulator = Simulator { discipline, chance };
    let (mut arrival, mut marked, mut foreseen) = (0, 0, VecDeque::new());
    let (mut ours, mut theirs) = (Fates::default(), Fates::default());
    for id in 0..100_000 {
        arrival += world.next_u64() % 330_000;
        loop {
            let free_at = l4s_dualpi2_free_at(&kernel.config, &kernel.state);
            let Some((_, first)) = kernel.waiting[0].front() else { break };
            let now = free_at.max(*first);
            if now >= arrival {
                break;
            }
            simulator.leaves(now, &mut theirs);
            kernel.leaves(now, &mut ours);
        }
        kernel.catch_up(arrival);
        foreseen.push_back(l4s_dualpi2_foresee(&kernel.config, &kernel.state, arrival));
        let packet = Probe { id, size: 60 + world.next_u64() % 1455, ecn: Ecn::Ect1 };
        simulator.arrives(packet.clone(), arrival, &mut theirs);
        kernel.arrives(packet, arrival, &mut ours);
        for fate in ours.0.drain(..) {
            match fate {
                Fate::Left { sojourn, .. } => {
                    let foreseen = foreseen.pop_front().expect("foreseen");
                    // The division for each packet is rounded separately.
                    assert!(sojourn.abs_diff(foreseen) <= 1, "{id}: {sojourn} {foreseen}");
                }
                Fate::Marked(id, cause) => {
                    assert_eq!(cause, MarkCause::Step);
                    theirs.0.push(Fate::Marked(id, cause));
                    marked += 1;
                }
                Fate::Dropped(..) => panic!("{fate:?}"),
            }
        }
    }
    // Each mark appears twice: at arrival in the kernel, at departure in the simulator. Some packets at the
    // end have not left.
    let mut ids: Vec<u64> = theirs
        .0
        .iter()
        .filter_map(|fate| match fate {
            Fate::Marked(id, _) => Some(*id),
            _ => None,
        })
        .collect();
    ids.sort_unstable();
    let alone = ids.chunk_by(|a, b| a == b).filter(|pair| pair.len() != 2).count();
    println!("{marked} of 100000 marked, {alone} by one of them only");
    assert!(marked > 10_000 && alone < 20, "{marked} {alone}");
}

/// A weighted scheduler serves some Classic packets in between. Few predicted delays are wrong by more than
/// the time of one of them.
#[test]
fn classic_packets_in_between_are_foreseen() {
    let link = Link { rate: Some(Rate::from_bps(40_000_000)), burst: Duration::ZERO };
    let limit = Limit::packets(1_000_000);
    let config = coupled_only(Config { k: 0, limit, ..Config::linux() });
    let chance = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut world = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut kernel = Kernel::new(Settings::new(&config, link), chance);
    let (mut now, mut arrivals) = (0, [0u64; 2]);
    let (mut foreseen, mut errors) = (VecDeque::new(), Vec::new());
    let mut fates = Fates::default();
    for id in 0..200_000 {
        // The next event: a packet of either kind arrives, or the link is free.
        let free_at = l4s_dualpi2_free_at(&kernel.config, &kernel.state).max(now);
        let waits = kernel.waiting.iter().any(|queue| !queue.is_empty());
        let next = arrivals[0].min(arrivals[1]);
        if waits && free_at <= next {
            now = free_at;
            kernel.leaves(now, &mut fates);
        } else {
            now = next;
            let l4s = arrivals[0] <= arrivals[1];
            kernel.catch_up(now);
            if l4s {
                foreseen.push_back(l4s_dualpi2_foresee(&kernel.config, &kernel.state, now));
            }
            // Bursts of L4S packets, and enough Classic packets that their queue is never empty.
            arrivals[usize::from(!l4s)] += match l4s {
                true if world.next_u64() % 8 == 0 => world.next_u64() % 8_000_000,
                true => 10_000,
                false => world.next_u64() % 800_000,
            };
            let ecn = if l4s { Ecn::Ect1 } else { Ecn::Ect0 };
            kernel.arrives(Probe { id, size: MTU.get(), ecn }, now, &mut fates);
        }
        for fate in fates.0.drain(..) {
            if let Fate::Left { queue: L, sojourn, .. } = fate {
                let foreseen = foreseen.pop_front().expect("foreseen");
                errors.push(sojourn.abs_diff(foreseen));
            }
        }
    }
    errors.sort_unstable();
    let packet = Rate::from_bps(40_000_000).time_of(MTU).as_nanos();
    let at = |part: usize| errors[errors.len() * part / 100];
    println!("errors of {} waits in ns: {} {} {}", errors.len(), at(50), at(90), at(99));
    assert!(errors.len() > 10_000);
    assert!(at(90) <= 1 && at(99) <= packet + 1, "{} {}", at(90), at(99));
}

/// The link in C keeps the same time as the simulator's (`l4s_units::Spacing` behind a bucket), to the
/// nanosecond: at any rate, packet by packet, and after any idle time.
#[test]
fn the_link_is_the_simulators_at_any_rate() {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(7);
    for _ in 0..300 {
        // From 1 kb/s to 1 Tb/s, equally often in each magnitude; a bucket of up to a millisecond.
        let bits = 10 + world.next_u64() % 30;
        let bps = (1 << bits) + world.next_u64() % (1 << bits);
        let (rate, burst) = (Rate::from_bps(bps), world.next_u64() % 1_000_000);
        let link = Link { rate: Some(rate), burst: Duration::from_nanos(burst) };
        let config = Settings::new(&Config::linux(), link);
        let mut state = CState::default();
        l4s_dualpi2_start(&config, &mut state, 0);
        let (mut spacing, mut free_at, mut now) = (Spacing::new(rate), Time::ZERO, Time::ZERO);
        let mut size = MTU;
        for _ in 0..1_000 {
            // Most packets have the same size. Sometimes the link was idle for the time of some packets.
            if world.next_u64() % 4 == 0 {
                size = Bytes::new(64 + world.next_u64() % 9_000);
            }
            let idle = world.next_u64() % 8 == 0;
            let gap =
                if idle { world.next_u64() % (1 + 4 * rate.time_of(size).as_nanos()) } else { 0 };
            now = now.max(free_at) + Duration::from_nanos(gap);
            let full = now.saturating_sub(link.burst);
            if free_at < full {
                free_at = full;
                spacing.forget();
            }
            free_at += spacing.next(size);
            l4s_dualpi2_send(&config, &mut state, size.get(), now.as_nanos());
            assert_eq!(l4s_dualpi2_free_at(&config, &state), free_at.as_nanos(), "{rate} {size}");
        }
    }
}
