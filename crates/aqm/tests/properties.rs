//! Laws that hold for every discipline, with any packets at any times.

mod common;

use std::collections::HashMap;
use std::sync::Arc;

use common::{Probe, Rig};
use l4s_aqm::dualpi2::{
    self, Classify, DropAt, FloorAt, LAqm, LWait, Overload, Randomness, Scheduler, Step,
};
use l4s_aqm::foreign::{self, Context, Policy, Verdict};
use l4s_aqm::{
    Backlog, Config, Limit, MTU, Qdisc, Queue, Redundancy, cobalt, codel, curvy_red, fifo,
    for_each_discipline, fq_codel, pi2, pie, red,
};
use l4s_units::param::Configurable;
use l4s_units::{Bytes, Duration, Ecn, Probability, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The next event.
#[derive(Clone, Debug)]
enum Event {
    Arrive {
        size: u64,
        ecn: Ecn,
        flow: u32,
    },
    Leave,
    Pass {
        ns: u64,
    },
    /// Something later makes the packet redundant that waits in this place of a queue.
    Withdraw {
        flow: u32,
        place: usize,
    },
}

/// The packet in this place is redundant.
struct At(usize);

impl Redundancy<Probe> for At {
    fn find<'a>(
        &mut self,
        newest: &Probe,
        _: Time,
        mut older: impl Iterator<Item = &'a Probe>,
    ) -> Option<usize> {
        let found = older.nth(self.0)?;
        assert!(found.id < newest.id, "{found:?} came after {newest:?}");
        Some(self.0)
    }
}

fn ecn() -> impl Strategy<Value = Ecn> {
    (0u8..4).prop_map(Ecn::from_bits)
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(MTU.get()), 2 => 60u64..1514, 1 => 1u64..65_536]
}

fn event() -> impl Strategy<Value = Event> {
    let arrive =
        (size(), ecn(), 0u32..6).prop_map(|(size, ecn, flow)| Event::Arrive { size, ecn, flow });
    // Gaps from zero to more than every interval, spread over their orders of magnitude.
    let pass = (0u32..35, 0u64..1024).prop_map(|(log, x)| Event::Pass { ns: (x << log) >> 10 });
    let withdraw = (0u32..6, 0usize..8).prop_map(|(flow, place)| Event::Withdraw { flow, place });
    prop_oneof![12 => arrive, 8 => Just(Event::Leave), 6 => pass, 1 => withdraw]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::packets(40_000)),
        (1u64..60).prop_map(Limit::packets),
        (1u64..100_000).prop_map(|b| Limit::bytes(Bytes::new(b))),
        (1u64..60).prop_map(Limit::linux),
    ]
}

/// Every algorithm of Curvy RED, with every choice of the two queues.
fn any_curvy_red() -> impl Strategy<Value = Config> {
    use curvy_red::{Smoothing, SteeredBy};
    let smoothing =
        prop_oneof![Just(Smoothing::Classic), Just(Smoothing::Both), Just(Smoothing::Least)];
    let curve = (0u32..=20, 0u32..=20, 0u32..=16, 0u64..10_000, smoothing, any::<bool>());
    (curve, any_dualpi2()).prop_map(|((s_c, more, f, min_th, smoothing, longest), queues)| {
        let (min_th, s_l) = (Duration::from_micros(min_th), (s_c + more).min(20));
        let steered_by = if longest { SteeredBy::Longest } else { SteeredBy::Classic };
        let limit = queues.limit;
        Config::CurvyRed(curvy_red::Config {
            s_c,
            s_l,
            f,
            min_th,
            smoothing,
            steered_by,
            queues,
            limit,
        })
    })
}

fn any_dual_queue() -> impl Strategy<Value = Config> {
    prop_oneof![2 => any_dualpi2().prop_map(Config::DualPi2), 1 => any_curvy_red()]
}

/// Every option of DualPI2, in every combination.
fn any_dualpi2() -> impl Strategy<Value = dualpi2::Config> {
    let delay = (0u64..60_000).prop_map(Duration::from_micros);
    let classify = prop_oneof![Just(Classify::L4s), Just(Classify::Dc), Just(Classify::None)];
    let l_aqm = prop_oneof![
        (0u64..5000).prop_map(|t| LAqm::Step(Step::Time(Duration::from_micros(t)))),
        (0u64..10).prop_map(|n| LAqm::Step(Step::Packets(n))),
        (0u64..2000, 0u64..2000).prop_map(|(low, more)| {
            LAqm::Ramp(Duration::from_micros(low), Duration::from_micros(low + more))
        }),
        Just(LAqm::None),
    ];
    let scheduler = prop_oneof![
        (delay.clone(), 0u32..5)
            .prop_map(|(t_shift, t_speed)| Scheduler::TsFifo { t_shift, t_speed }),
        (0u8..=100).prop_map(|classic_protection| Scheduler::Wrr { classic_protection }),
        Just(Scheduler::Strict),
    ];
    let overload = prop_oneof![
        Just(Overload::Drop(Probability::ONE)),
        (0.01..1.0f64).prop_map(|p| Overload::Drop(Probability::from_f64(p))),
        Just(Overload::Overflow),
    ];
    let first = (delay, 1u64..100_000, 0.0..1000.0f64, 0.0..1000.0f64, 0u32..256, l_aqm);
    let second = (0u64..10, any::<bool>(), scheduler, classify.clone(), classify, overload);
    let third = (any::<bool>(), any::<bool>(), any::<bool>(), 0u64..10_000, limit());
    (first, second, third).prop_map(|(first, second, third)| {
        let (target, tupdate, alpha, beta, k, l_aqm) = first;
        let (min_qlen_step, at_enqueue, scheduler, dualq, marking, overload) = second;
        let (drop_early, recur, classic_ecn, min_backlog, limit) = third;
        dualpi2::Config {
            target,
            tupdate: Duration::from_micros(tupdate),
            alpha,
            beta,
            k,
            l_aqm,
            min_qlen_step,
            floor_at: if at_enqueue { FloorAt::Enqueue } else { FloorAt::Dequeue },
            scheduler,
            dualq,
            marking,
            classic_ecn,
            overload,
            drop_at: if drop_early { DropAt::Enqueue } else { DropAt::Dequeue },
            randomness: if recur { Randomness::Recur } else { Randomness::Draw },
            min_backlog: Bytes::new(min_backlog),
            limit,
            l_wait: if recur { LWait::Queue } else { LWait::Sojourn },
            ..dualpi2::Config::dctth()
        }
    })
}

/// Every profile of every discipline, with any limit.
fn any_profile() -> impl Strategy<Value = Config> {
    let profiles = profiles();
    (0..profiles.len(), limit()).prop_map(move |(i, limit)| {
        let mut config = profiles[i].clone();
        *limit_of(&mut config) = limit;
        config
    })
}

fn profiles() -> Vec<Config> {
    let mut all = Vec::new();
    macro_rules! profiles_of {
        ($variant:ident, $module:ident) => {
            for profile in <$module::Config as Configurable>::PROFILES {
                all.push(Config::$variant((profile.make)()));
            }
        };
    }
    for_each_discipline!(profiles_of);
    all
}

fn limit_of(config: &mut Config) -> &mut Limit {
    match config {
        Config::DualPi2(c) => &mut c.limit,
        Config::CurvyRed(c) => &mut c.limit,
        Config::Pi2(c) => &mut c.limit,
        Config::Pie(c) => &mut c.limit,
        Config::Codel(c) => &mut c.limit,
        Config::FqCodel(c) => &mut c.limit,
        Config::Cobalt(c) => &mut c.limit,
        Config::Red(c) => &mut c.limit,
        Config::Fifo(c) => &mut c.limit,
        Config::Foreign(c) => &mut c.limit,
    }
}

/// A policy without laws of its own.
#[derive(Debug)]
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn verdict(&mut self) -> Verdict {
        match self.0.next_u32() % 4 {
            0 => Verdict::Mark,
            1 => Verdict::Drop,
            _ => Verdict::Forward,
        }
    }
}

impl Policy for Dice {
    fn classify(&mut self, context: &Context) -> Queue {
        if context.ecn == Ecn::Ect1 { Queue::L } else { Queue::C }
    }
    fn arrive(&mut self, _: &Context, _: Queue) -> Verdict {
        self.verdict()
    }
    fn l_goes_first(&mut self, _: Duration, _: Duration, _: Time) -> bool {
        self.0.next_u32() % 2 == 0
    }
    fn depart(&mut self, _: &Context, _: Queue) -> Verdict {
        self.verdict()
    }
    fn tick(&mut self, _: [Backlog; 2], _: [Duration; 2], _: Time) {}
}

fn any_foreign() -> impl Strategy<Value = Config> {
    (any::<bool>(), any::<bool>(), limit()).prop_map(|(dual, ticks, limit)| {
        Config::Foreign(foreign::Config {
            name: "dice".into(),
            dual,
            limit,
            tick: ticks.then(|| Duration::from_millis(1)),
            factory: Arc::new(|seed| Box::new(Dice(Xoshiro256PlusPlus::seed_from_u64(seed)))),
        })
    })
}

fn any_config() -> impl Strategy<Value = Config> {
    let ce = fq_codel::Config {
        ce_threshold: Some(Duration::from_millis(1)),
        flows: 3,
        quantum: 300,
        drop_batch: 4,
        ..fq_codel::Config::linux()
    };
    let fq = (any::<bool>(), limit()).prop_map(move |(ce_l4s_only, limit)| {
        Config::FqCodel(fq_codel::Config { ce_l4s_only, limit, ..ce.clone() })
    });
    let pi2 = (any::<bool>(), limit()).prop_map(|(ecn, limit)| {
        Config::Pi2(pi2::Config { ecn, limit, marking: Classify::Dc, ..pi2::Config::dctth() })
    });
    let pie = (any::<bool>(), any::<bool>(), limit()).prop_map(|(ecn, bytemode, limit)| {
        let burst = Duration::from_millis(1);
        Config::Pie(pie::Config { ecn, bytemode, burst, limit, ..pie::Config::linux() })
    });
    // A small buffer, so that a third of it fills soon.
    let docsis = (any::<bool>(), any::<bool>(), limit()).prop_map(|(ecn, states, limit)| {
        let (burst, target) = (Duration::from_millis(1), Duration::from_micros(100));
        let protection = if states { pie::Protection::States } else { pie::Protection::Burst };
        let docsis = pie::Config::docsis();
        Config::Pie(pie::Config { ecn, protection, burst, target, limit, ..docsis })
    });
    let red = (any::<[bool; 3]>(), limit()).prop_map(|([ecn, harddrop, scaled], limit)| {
        let (min, max) = (Bytes::new(3_000), Bytes::new(9_000));
        let few = red::Config { min, max, burst: 5, ..red::Config::slides() };
        Config::Red(red::Config { ecn, harddrop, scaled, limit, ..few })
    });
    let codel = (any::<bool>(), limit()).prop_map(|(ecn, limit)| {
        let interval = Duration::from_millis(2);
        let target = Duration::from_micros(100);
        Config::Codel(codel::Config { ecn, interval, target, limit, ..codel::Config::linux() })
    });
    let cobalt = (any::<bool>(), 0u64..100, limit()).prop_map(|(ecn, mtu_us, limit)| {
        let interval = Duration::from_millis(2);
        let (target, mtu_time) = (Duration::from_micros(100), Duration::from_micros(mtu_us));
        // Large steps, so that BLUE reaches all of its states.
        let (p_inc, p_dec) = (0.3, 0.1);
        Config::Cobalt(cobalt::Config {
            ecn,
            interval,
            target,
            shaped: false,
            mtu_time,
            p_inc,
            p_dec,
            limit,
        })
    });
    let fifo = limit().prop_map(|limit| Config::Fifo(fifo::Config { limit }));
    prop_oneof![4 => any_profile(), 8 => any_dual_queue(), 2 => fq, 1 => pi2, 1 => pie, 1 => docsis, 1 => red, 1 => codel, 2 => cobalt, 1 => fifo, 1 => any_foreign()]
}

/// The packets that arrived, and their outcomes.
#[derive(Default)]
struct Ledger {
    came: HashMap<u64, Probe>,
    left: Vec<(Probe, Queue)>,
    drops_seen: usize,
}

impl Ledger {
    /// No packet is lost, created or changed, except by a mark, and the backlog is the packets inside.
    fn balance(&mut self, rig: &Rig) -> Result<(), TestCaseError> {
        for (packet, _, _) in &rig.events.dropped[self.drops_seen..] {
            let came = self.came.remove(&packet.id);
            prop_assert!(came.is_some(), "{packet:?} was dropped twice, or never came");
        }
        self.drops_seen = rig.events.dropped.len();
        let inside = rig.backlog();
        prop_assert_eq!(inside.packets, self.came.len());
        let bytes: u64 = self.came.values().map(|p| p.size.get()).sum();
        prop_assert_eq!(inside.bytes.get(), bytes);
        prop_assert_eq!(inside.memory.get(), bytes);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn packets_are_conserved_and_served_in_order(
        config in any_config(),
        events in prop::collection::vec(event(), 0..400),
        seed: u64,
    ) {
        let limit = *limit_of(&mut config.clone());
        let batches = matches!(config, Config::FqCodel(_));
        let has_no_heads = matches!(config, Config::FqCodel(_) | Config::Foreign(_));
        let mut rig = Rig::seeded(config, seed);
        let mut ledger = Ledger::default();
        let mut now = Time::ZERO;
        for (id, event) in events.into_iter().enumerate() {
            let id = id as u64;
            match event {
                Event::Withdraw { .. } => {}
                Event::Pass { ns } => {
                    now += Duration::from_nanos(ns);
                    // A timer may be late, but the number of late ticks is limited.
                    for _ in 0..100 {
                        match rig.aqm.next_tick() {
                            Some(due) if due <= now => rig.aqm.tick(due),
                            _ => break,
                        }
                    }
                    if rig.aqm.next_tick().is_some_and(|due| due <= now) {
                        rig.aqm.tick(now);
                    }
                }
                Event::Arrive { size, ecn, flow } => {
                    let packet = Probe { id, size: Bytes::new(size), ecn, flow };
                    ledger.came.insert(id, packet.clone());
                    rig.put(packet, now);
                }
                Event::Leave => {
                    let (before, dropped) = (rig.backlog(), rig.events.dropped.len());
                    let heads = [Queue::Q, Queue::L, Queue::C].map(|queue| {
                        (queue, rig.aqm.head(queue).map(|packet| packet.id))
                    });
                    let out = rig.take(now);
                    if let Some(out) = out {
                        let head = heads.into_iter().find(|(queue, _)| *queue == out.queue);
                        let head = head.and_then(|(_, id)| id);
                        prop_assert_eq!(head.is_none(), has_no_heads);
                        // A head may be dropped, and then another packet leaves.
                        let is_head = head.is_none_or(|id| id == out.packet.id);
                        prop_assert!(is_head || rig.events.dropped.len() > dropped);
                        let came = ledger.came.remove(&out.packet.id);
                        prop_assert!(came.is_some(), "{out:?} left twice, or never came");
                        let came = came.unwrap();
                        prop_assert_eq!((came.size, came.flow), (out.packet.size, out.packet.flow));
                        if came.ecn != out.packet.ecn {
                            prop_assert!(came.ecn.is_capable() && out.packet.ecn.is_ce());
                        }
                        let told = rig.events.marked.iter().filter(|(id, _, _)| *id == came.id);
                        let is_new = came.ecn != out.packet.ecn;
                        prop_assert_eq!(told.count(), usize::from(is_new), "a mark is told once");
                        ledger.left.push((out.packet, out.queue));
                    } else {
                        // Work conservation: if there is nothing to send, the queue is empty.
                        prop_assert_eq!(rig.backlog().packets, 0);
                    }
                    prop_assert!(before.packets == 0 || rig.backlog().packets < before.packets);
                }
            }
            if let Event::Withdraw { flow, place } = event {
                let told = (rig.events.dropped.len(), rig.events.marked.len());
                let gone = rig.aqm.withdraw(flow, &mut At(place));
                prop_assert_eq!((rig.events.dropped.len(), rig.events.marked.len()), told, "no signal");
                if let Some((gone, _)) = gone {
                    let came = ledger.came.remove(&gone.id);
                    prop_assert_eq!(came.map(|came| came.size), Some(gone.size));
                    prop_assert!(rig.backlog().packets > 0, "the newest stays");
                }
            }
            ledger.balance(&rig)?;
            prop_assert!(rig.backlog().packets as u64 <= limit.packets);
            // FQ-CoDel drops a batch of packets, which may be smaller than the new packet.
            prop_assert!(batches || rig.backlog().bytes <= limit.bytes);
            if let Some(signal) = rig.aqm.signal() {
                for p in [signal.base, signal.scalable, signal.classic] {
                    prop_assert!((0.0..=1.0).contains(&p.as_f64()));
                }
            }
        }
        for out in rig.drain(now) {
            ledger.came.remove(&out.packet.id);
            ledger.left.push((out.packet, out.queue));
        }
        ledger.balance(&rig)?;
        prop_assert!(ledger.came.is_empty());
        // FIFO order within a flow of one queue; within the whole queue if flows share one.
        let mut last: HashMap<(Queue, u32), u64> = HashMap::new();
        let separate = matches!(rig.aqm, l4s_aqm::Aqm::FqCodel(_));
        for (packet, queue) in ledger.left {
            let line = (queue, if separate { packet.flow } else { 0 });
            if let Some(earlier) = last.insert(line, packet.id) {
                prop_assert!(earlier < packet.id, "{} after {earlier} in {line:?}", packet.id);
            }
        }
    }

    #[test]
    fn what_is_evacuated_is_what_waits_in_order_of_arrival_and_unharmed(
        config in any_config(),
        arrivals in prop::collection::vec((size(), ecn(), 0u32..6, 0u64..2_000_000), 0..200),
        leave in 0usize..60,
        seed: u64,
    ) {
        let mut rig = Rig::seeded(config, seed);
        let mut now = Time::ZERO;
        let mut came = Vec::new();
        for (id, (size, ecn, flow, gap)) in arrivals.into_iter().enumerate() {
            now += Duration::from_nanos(gap);
            came.push(now);
            rig.put(Probe { id: id as u64, size: Bytes::new(size), ecn, flow }, now);
        }
        let left = std::iter::from_fn(|| rig.take(now)).take(leave).count();
        let (inside, dropped) = (rig.backlog().packets, rig.events.dropped.len());
        let told = (dropped, rig.events.marked.len());
        let out = rig.aqm.evacuate();
        prop_assert_eq!((rig.events.dropped.len(), rig.events.marked.len()), told, "no signal");
        prop_assert_eq!((out.len(), left + inside + dropped), (inside, came.len()));
        prop_assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for (arrival, packet) in &out {
            prop_assert_eq!(*arrival, came[packet.id as usize]);
        }
        let empty = rig.backlog();
        prop_assert_eq!((empty.packets, empty.bytes, empty.memory), Default::default());
        prop_assert!(rig.take(now).is_none());
    }

    #[test]
    fn the_same_seed_gives_the_same_run(
        config in any_config(),
        events in prop::collection::vec(event(), 0..200),
        seed: u64,
    ) {
        let run = || {
            let mut rig = Rig::seeded(config.clone(), seed);
            let (mut now, mut out) = (Time::ZERO, Vec::new());
            for (id, event) in events.iter().enumerate() {
                match *event {
                    Event::Pass { ns } => now += Duration::from_nanos(ns),
                    Event::Arrive { size, ecn, flow } => {
                        let packet = Probe { id: id as u64, size: Bytes::new(size), ecn, flow };
                        rig.put(packet, now);
                    }
                    Event::Leave => out.extend(rig.take(now)),
                    Event::Withdraw { flow, place } => {
                        rig.aqm.withdraw(flow, &mut At(place));
                    }
                }
                rig.aqm.tick(now);
            }
            (out, rig.events.dropped, rig.events.marked)
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn every_profile_passes_its_own_check_and_every_setting_can_be_set_to_what_it_is() {
    macro_rules! check {
        ($variant:ident, $module:ident) => {
            for profile in <$module::Config as Configurable>::PROFILES {
                let config = (profile.make)();
                assert_eq!(config.check(), Ok(()), "{}", profile.name);
                let mut copy = config.clone();
                for param in <$module::Config as Configurable>::PARAMS {
                    if let Some(value) = (param.get)(&config) {
                        (param.set)(&mut copy, value);
                    }
                }
                assert_eq!(config, copy, "{}", profile.name);
            }
            assert_eq!(
                $module::Config::default(),
                (<$module::Config as Configurable>::PROFILES[0].make)(),
                "the first profile is the default"
            );
        };
    }
    for_each_discipline!(check);
}
