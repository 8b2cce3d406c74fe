//! The laws of an imperfect stretch.

use l4s_model::{Direction, EcnMangling, Reorder};
use proptest::prelude::*;

use super::*;

fn path() -> Path {
    Path::new("P", Direction::Down, vec![0])
}

fn us(n: u64) -> Time {
    Time::ZERO + Duration::from_micros(n)
}

/// Sends packets at these times, each with its number. Returns those that came out, with the time, and
/// the numbers of those that were lost.
fn run(path: &Path, seed: u64, times: &[Time]) -> (Vec<(usize, Time)>, Vec<usize>) {
    let (mut stretch, mut out, mut lost) = (Stretch::new(path, seed), vec![], vec![]);
    let drain = |stretch: &mut Stretch<usize>, out: &mut Vec<_>, until: Time| {
        while stretch.next() <= until && stretch.next() != Time::NEVER {
            let at = stretch.next();
            out.extend(stretch.pop(at).map(|packet| (packet, at)));
        }
    };
    for (number, now) in times.iter().enumerate() {
        drain(&mut stretch, &mut out, *now);
        let Some(Passage { at, duplicated, .. }) = stretch.meet(Ecn::Ect1, *now) else {
            lost.push(number);
            continue;
        };
        for _ in 0..1 + u8::from(duplicated) {
            out.extend(stretch.pass(number, at, *now).map(|packet| (packet, *now)));
        }
    }
    drain(&mut stretch, &mut out, Time::NEVER);
    assert!(stretch.is_empty());
    (out, lost)
}

fn every_us(packets: u64) -> Vec<Time> {
    (0..packets).map(us).collect()
}

/// The standard deviation of a count of `n` with chance `p` is √(n·p·(1−p)); five of them are allowed.
#[test]
fn each_chance_is_met() {
    for chance in [0.001, 0.02, 0.3, 0.9] {
        let packets = 200_000;
        let most = 5.0 * f64::sqrt(packets as f64 * chance * (1.0 - chance));
        let found = |path: &Path| {
            let mut stretch: Stretch<()> = Stretch::new(path, 7);
            let met = (0..packets).map(|n| stretch.meet(Ecn::NotEct, us(n)));
            met.fold([0; 4], |[lost, corrupted, duplicated, held_back], passage| match passage {
                None => [lost + 1, corrupted, duplicated, held_back],
                Some(passage) => [
                    lost,
                    corrupted + u64::from(passage.corrupted.is_some()),
                    duplicated + u64::from(passage.duplicated),
                    held_back + u64::from(passage.held_back),
                ],
            })
        };
        let by = Duration::from_millis(1);
        let others =
            Path { corrupt: chance, duplicate: chance, reorder: Reorder { chance, by }, ..path() };
        let [lost, ..] = found(&Path { loss: Loss::Independent(chance), ..path() });
        let [none, others @ ..] = found(&others);
        assert_eq!(none, 0);
        for met in others.into_iter().chain([lost]) {
            let off = (met as f64 - packets as f64 * chance).abs();
            assert!(off <= most, "{met} of {packets} at {chance}");
        }
    }
}

/// Gilbert: with h = 0 and k = 1 the losses are the bad state. Its share is p / (p + r), and it lasts for
/// 1 / r packets on average.
#[test]
fn bursts_of_losses_are_those_of_gilbert() {
    let (to_bad, to_good) = (0.01, 0.2);
    let loss = Loss::GilbertElliott { to_bad, to_good, in_bad: 1.0, in_good: 0.0 };
    let expected = loss.ratio(1);
    assert!((expected - 0.01 / 0.21).abs() < 1e-12);
    let packets = 2_000_000;
    let (_, lost) = run(&Path { loss, ..path() }, 3, &every_us(packets));
    let bursts = 1 + lost.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    // Some 19,000 bursts: the mean of 19,000 geometric numbers is within 2 %, and so is their share.
    let (share, length) = (lost.len() as f64 / packets as f64, lost.len() as f64 / bursts as f64);
    assert!((share / expected - 1.0).abs() < 0.03, "{share}");
    assert!((length * to_good - 1.0).abs() < 0.03, "{length}");
}

/// Elliott: the share of losses is (p·(1−h) + r·(1−k)) / (p + r).
#[test]
fn both_states_of_elliott_lose_packets() {
    let loss = Loss::GilbertElliott { to_bad: 0.02, to_good: 0.08, in_bad: 0.5, in_good: 0.1 };
    // 0.2 · 0.5 + 0.8 · 0.1.
    assert!((loss.ratio(1) - 0.18).abs() < 1e-12);
    let packets = 500_000;
    let (_, lost) = run(&Path { loss, ..path() }, 3, &every_us(packets));
    assert!((lost.len() as f64 / packets as f64 - 0.18).abs() < 0.004, "{}", lost.len());
}

#[test]
fn the_packets_of_the_list_are_lost() {
    let loss = Loss::Packets(vec![1, 3, 4, 9]);
    let (out, lost) = run(&Path { loss: loss.clone(), ..path() }, 1, &every_us(6));
    assert_eq!(lost, [0, 2, 3]);
    assert_eq!(out, [1, 4, 5].map(|n| (n, us(n as u64))));
    assert!((loss.ratio(6) - 0.5).abs() < 1e-12);
}

#[test]
fn delays_have_their_mean_and_their_longest() {
    let mean = Duration::from_millis(2);
    for (distribution, deviation) in [
        // 4 ms / √12.
        (Distribution::Uniform, 1.1547),
        (Distribution::Exponential, 2.0),
        (Distribution::Normal(Duration::from_micros(300)), 0.3),
    ] {
        let path = Path { jitter: Jitter { mean, distribution, reordering: true }, ..path() };
        let longest = Stretch::<()>::longest(&path).as_millis_f64();
        let packets = 200_000;
        let (out, _) = run(&path, 5, &every_us(packets));
        let took = |(number, at): &(usize, Time)| at.since(us(*number as u64)).as_millis_f64();
        let (mut sum, mut squares) = (0.0, 0.0);
        for took in out.iter().map(took) {
            assert!(took <= longest, "{took} ms with {distribution:?}");
            (sum, squares) = (sum + took, squares + took * took);
        }
        let n = packets as f64;
        let found = (squares / n - (sum / n) * (sum / n)).sqrt();
        assert!((sum / n / 2.0 - 1.0).abs() < 0.01, "{distribution:?}: {}", sum / n);
        assert!((found / deviation - 1.0).abs() < 0.02, "{distribution:?}: {found}");
    }
    // Where the deviation is as large as the mean, a sixth of the times would be below zero.
    let jitter = Jitter { mean, distribution: Distribution::Normal(mean), reordering: true };
    let (out, _) = run(&Path { jitter, ..path() }, 5, &every_us(100_000));
    let at_once = out.iter().filter(|(number, at)| *at == us(*number as u64)).count();
    assert!((at_once as f64 / 1e5 - 0.1587).abs() < 0.005, "{at_once}");
}

#[test]
fn a_packet_that_is_held_back_is_passed_by_later_ones() {
    let reorder = Reorder { chance: 0.1, by: Duration::from_micros(7) };
    let (out, _) = run(&Path { reorder, ..path() }, 1, &every_us(1000));
    let mut held_back = 0;
    for (number, at) in &out {
        let took = at.since(us(*number as u64));
        assert!(took.is_zero() || took == reorder.by);
        held_back += usize::from(!took.is_zero());
    }
    assert!((60..140).contains(&held_back), "{held_back}");
    // All others keep their order, and 7 packets pass each that is held back. The last one of an instant
    // is the one that was not held back.
    let at_once = out.iter().filter(|(number, at)| *at == us(*number as u64));
    assert!(at_once.is_sorted_by_key(|(number, _)| *number));
    let place = |wanted: usize| out.iter().position(|(number, _)| *number == wanted).unwrap();
    let first = out.iter().find(|(number, at)| *at > us(*number as u64)).unwrap().0;
    assert!(place(first) > place(first + 1));
}

#[test]
fn nothing_set_changes_nothing() {
    let mut stretch = Stretch::new(&path(), 1);
    for n in 0..100 {
        let ecn = Ecn::from_bits(n as u8);
        let passage = stretch.meet(ecn, us(n)).unwrap();
        let same = Passage { at: us(n), ecn, corrupted: None, duplicated: false, held_back: false };
        assert_eq!(passage, same);
        assert_eq!(stretch.pass(n, passage.at, us(n)), Some(n));
    }
    assert_eq!((stretch.next(), stretch.len()), (Time::NEVER, 0));
    assert_eq!(Stretch::<()>::longest(&path()), Duration::ZERO);
}

#[test]
fn paths_of_two_names_are_independent_and_so_are_the_chances_of_one() {
    let loss = Loss::Independent(0.5);
    let one = Path { loss, ..path() };
    let lost = |path: &Path, seed| run(path, seed, &every_us(10_000)).1;
    let other = Path { name: "Q".to_owned(), ..one.clone() };
    // Both lose a packet in a quarter of the cases: 2500 of 10,000, with a deviation of 43.
    let (a, b) = (lost(&one, 1), lost(&other, 1));
    let both = a.iter().filter(|number| b.binary_search(number).is_ok()).count();
    assert!((2300..2700).contains(&both), "{both}");
    assert_ne!(a, lost(&one, 2));
    // One more imperfection does not change which packets are lost.
    let jitter = Jitter::uniform(Duration::from_millis(1));
    let reorder = Reorder { chance: 0.1, by: Duration::from_millis(1) };
    let more = Path { jitter, reorder, duplicate: 0.1, corrupt: 0.1, ..one };
    assert_eq!(lost(&more, 1), a);
}

#[test]
fn a_middlebox_changes_the_codepoint_of_what_passes() {
    let path = Path { ecn: EcnMangling::Ect1ToEct0, ..path() };
    let mut stretch: Stretch<()> = Stretch::new(&path, 1);
    let mut after = |ecn| stretch.meet(ecn, us(0)).map(|passage| passage.ecn);
    assert_eq!(after(Ecn::Ect1), Some(Ecn::Ect0));
    assert_eq!(after(Ecn::Ce), Some(Ecn::Ce));
}

fn distributions() -> impl Strategy<Value = Distribution> {
    prop_oneof![
        Just(Distribution::Uniform),
        Just(Distribution::Exponential),
        (0u64..5_000).prop_map(|us| Distribution::Normal(Duration::from_micros(us))),
    ]
}

prop_compose! {
    fn anything()(
        loss in 0.0..0.9f64,
        bursts: bool,
        mean in 0u64..5_000,
        distribution in distributions(),
        reordering: bool,
        chance in 0.0..0.9f64,
        by in 0u64..5_000,
        duplicate in 0.0..0.9f64,
        corrupt in 0.0..0.9f64,
    ) -> Path {
        let to_good = 1.0 - loss;
        Path {
            loss: match bursts {
                true => Loss::GilbertElliott { to_bad: loss, to_good, in_bad: 1.0, in_good: loss / 2.0 },
                false => Loss::Independent(loss),
            },
            jitter: Jitter { mean: Duration::from_micros(mean), distribution, reordering },
            reorder: Reorder { chance, by: Duration::from_micros(by) },
            duplicate,
            corrupt,
            ..path()
        }
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Time>> {
    prop::collection::vec(0u64..2_000, 1..300).prop_map(|gaps| {
        let mut now = 0;
        gaps.into_iter()
            .map(|gap| {
                // Often several at one instant.
                now += gap.saturating_sub(1_000);
                us(now)
            })
            .collect()
    })
}

proptest! {
    /// In + duplicates = out + lost; nothing is early, nor later than the longest; and the time at which
    /// packets come out never runs backwards.
    #[test]
    fn packets_are_conserved(path in anything(), times in arrivals(), seed: u64) {
        let (out, lost) = run(&path, seed, &times);
        let mut copies = vec![0; times.len()];
        for (number, at) in &out {
            copies[*number] += 1;
            let took = at.since(times[*number]);
            prop_assert!(*at >= times[*number] && took <= Stretch::<()>::longest(&path));
        }
        prop_assert!(out.is_sorted_by_key(|(_, at)| *at));
        for (number, copies) in copies.into_iter().enumerate() {
            let is_lost = lost.binary_search(&number).is_ok();
            let comes_out = if is_lost { 0..1 } else { 1..3 };
            prop_assert!(comes_out.contains(&copies));
        }
    }

    /// Without reordering later packets wait behind earlier ones.
    #[test]
    fn jitter_keeps_the_order(path in anything(), times in arrivals(), seed: u64) {
        let jitter = Jitter { reordering: false, ..path.jitter };
        let path = Path { jitter, reorder: Reorder::default(), ..path };
        let (out, _) = run(&path, seed, &times);
        prop_assert!(out.is_sorted_by_key(|(number, _)| *number));
    }

    /// The same seed and name give the same outcome.
    #[test]
    fn a_seed_repeats(path in anything(), times in arrivals(), seed: u64) {
        prop_assert_eq!(run(&path, seed, &times), run(&path, seed, &times));
    }
}
