//! Several stretches, one behind the other.

use l4s_model::{EcnMangling, Jitter, Link, Loss, Reorder};
use l4s_units::{Duration, Rate};
use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Probe {
    source: u16,
    number: u32,
    ecn: Ecn,
    corrupt: bool,
    /// Whether it has feedback.
    feedback: bool,
}

impl Traveller for Probe {
    fn source(&self) -> SourceId {
        SourceId::new(self.source)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn corrupt(&mut self, _: u32) {
        self.corrupt = true;
    }
    fn mangle_accecn(&mut self, _: AccEcnMangling) -> bool {
        std::mem::take(&mut self.feedback)
    }
    fn wash_dscp(&mut self) -> bool {
        false
    }
}

/// All events, and room for a number of copies.
struct Told {
    events: Vec<(u16, u32, PathEvent)>,
    lost: usize,
    room: usize,
}

impl Told {
    fn new() -> Told {
        Told { events: Vec::new(), lost: 0, room: usize::MAX }
    }

    fn count(&self, what: PathEvent) -> usize {
        self.events.iter().filter(|(.., event)| *event == what).count()
    }
}

impl Wayside<Probe> for Told {
    fn happened(&mut self, path: u16, packet: &Probe, what: PathEvent, _: Time) {
        self.events.push((path, packet.number, what));
    }
    fn copy(&mut self, packet: &Probe) -> Option<Probe> {
        self.room = self.room.checked_sub(1)?;
        Some(*packet)
    }
    fn lost(&mut self, _: Probe) {
        self.lost += 1;
    }
}

fn probe(source: u16, number: u32) -> Probe {
    Probe { source, number, ecn: Ecn::Ect1, corrupt: false, feedback: true }
}

fn scenario(paths: Vec<Path>) -> Scenario {
    let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
    let link = Link::new(Rate::from_mbps(40));
    let mut scenario = Scenario::new("t", Duration::from_secs(20), link, aqm);
    for name in ["A", "B"] {
        let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
        scenario.groups.push(l4s_model::Group::new(name, reno, Duration::from_millis(10)));
    }
    Scenario { paths, ..scenario }
}

fn path(name: &str, sources: &[usize]) -> Path {
    Path::new(name, Direction::Down, sources.to_vec())
}

fn us(n: u64) -> Time {
    Time::ZERO + Duration::from_micros(n)
}

#[test]
fn each_source_passes_its_own_stretches_in_the_order_of_the_scenario() {
    let ms = Duration::from_millis(1);
    let always = Reorder { chance: 1.0, by: ms };
    let paths = vec![
        Path { reorder: always, ..path("first", &[0]) },
        Path { side: Side::Before, loss: Loss::Packets(vec![1]), ..path("elsewhere", &[0, 1]) },
        Path { direction: Direction::Up, loss: Loss::Packets(vec![1]), ..path("up", &[0, 1]) },
        Path { reorder: always, ecn: EcnMangling::Bleach, ..path("second", &[0, 1]) },
    ];
    let scenario = scenario(paths);
    let (mut way, mut told) =
        (Stretches::new(&scenario, Direction::Down, Side::Behind), Told::new());
    way.enter(probe(0, 7), us(0), &mut told);
    way.enter(probe(1, 8), us(0), &mut told);
    assert_eq!(way.packets(), 2);
    assert_eq!(way.out(us(999), &mut told), None);
    // Source 1 passes the second one only.
    assert_eq!(way.next(), us(1000));
    assert_eq!(way.out(us(1000), &mut told).map(|packet| packet.number), Some(8));
    assert_eq!(way.out(us(1000), &mut told), None);
    assert_eq!(way.next(), us(2000));
    let out = way.out(us(2000), &mut told).unwrap();
    assert_eq!((out.number, out.ecn), (7, Ecn::NotEct));
    let arrived: Vec<_> =
        told.events.iter().filter(|(.., what)| *what == PathEvent::Arrived).collect();
    assert_eq!(arrived.iter().map(|(path, ..)| *path).collect::<Vec<_>>(), [0, 3, 3]);
    assert!(!way.is_empty() && way.packets() == 0);
    let up = Stretches::<Probe>::new(&scenario, Direction::Up, Side::Before);
    assert!(up.is_empty() && up.next() == Time::NEVER);
}

#[test]
fn every_change_is_one_event() {
    let both = Path {
        ecn: EcnMangling::Bleach,
        accecn: AccEcnMangling::Strip,
        corrupt: 1.0,
        duplicate: 1.0,
        ..path("P", &[0])
    };
    let scenario = scenario(vec![both]);
    let (mut way, mut told) =
        (Stretches::new(&scenario, Direction::Down, Side::Behind), Told::new());
    told.room = 1;
    let all = [PathEvent::Arrived, PathEvent::Mangled, PathEvent::Corrupted, PathEvent::Duplicated];
    // There is room for one copy.
    for (told_then, copies) in [(&all[..], 2), (&all[..3], 1)] {
        way.enter(probe(0, 1), us(1), &mut told);
        let mut out = Vec::new();
        while let Some(packet) = way.out(us(1), &mut told) {
            out.push(packet);
        }
        let changed = Probe { ecn: Ecn::NotEct, corrupt: true, feedback: false, ..probe(0, 1) };
        assert_eq!(out, vec![changed; copies]);
        let events: Vec<_> = told.events.drain(..).map(|(.., what)| what).collect();
        assert_eq!(events, told_then);
    }
}

proptest! {
    /// Packets that enter and copies of them come out, are lost, or are on the way, and those of one
    /// source keep their order where nothing may reorder them.
    #[test]
    fn packets_are_conserved_on_several_stretches(
        losses in prop::collection::vec((0.0..0.5f64, 0.0..0.5f64, 0u64..3000, 0usize..3), 1..5),
        gaps in prop::collection::vec(0u64..500, 1..200),
        seed: u64,
    ) {
        let paths = losses.into_iter().enumerate().map(|(number, (loss, duplicate, jitter, of))| Path {
            loss: Loss::Independent(loss),
            duplicate,
            jitter: Jitter::uniform(Duration::from_micros(jitter)),
            ..path(&number.to_string(), [&[0][..], &[1], &[0, 1]][of])
        });
        let scenario = Scenario { seed, ..scenario(paths.collect()) };
        let (mut way, mut told) = (Stretches::new(&scenario, Direction::Down, Side::Behind), Told::new());
        let (mut now, mut out) = (0, Vec::new());
        for (number, gap) in (0..).zip(&gaps) {
            now += gap;
            while let Some(packet) = way.out(us(now), &mut told) {
                out.push(packet);
            }
            way.enter(probe((number % 2) as u16, number), us(now), &mut told);
        }
        let inside = gaps.len() + told.count(PathEvent::Duplicated) - told.lost;
        prop_assert_eq!(out.len() + way.packets(), inside);
        while let Some(packet) = way.out(Time::NEVER, &mut told) {
            out.push(packet);
        }
        let inside = gaps.len() + told.count(PathEvent::Duplicated) - told.lost;
        prop_assert_eq!((out.len(), way.packets()), (inside, 0));
        prop_assert_eq!(told.count(PathEvent::Lost), told.lost);
        for source in 0..2 {
            let of = out.iter().filter(|packet| packet.source == source);
            prop_assert!(of.map(|packet| packet.number).is_sorted());
        }
    }
}
