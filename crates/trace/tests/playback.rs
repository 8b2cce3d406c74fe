//! The cursors agree with a naive reference, and offset and scale keep their laws.

use l4s_trace::{OPPORTUNITY, Opportunities, Play, Playback, Step, Steps, Trace};
use l4s_units::{Bytes, Duration, Probability, Rate, Time};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

fn opportunities(trace: &Trace, play: &Play) -> Opportunities {
    match trace.play(play).unwrap() {
        Playback::Opportunities(link) => link,
        Playback::Steps(_) => panic!("a trace of opportunities"),
    }
}

fn steps(trace: &Trace, play: &Play) -> Steps {
    match trace.play(play).unwrap() {
        Playback::Steps(link) => link,
        Playback::Opportunities(_) => panic!("a trace of steps"),
    }
}

/// Every opportunity until a time, one after the other, as mahimahi plays a file: the list again and again,
/// each time later by its last entry.
fn every(list: &[u64], until: u64) -> Vec<u64> {
    let period = *list.last().unwrap();
    (0..=until / period)
        .flat_map(|n| list.iter().map(move |ms| n * period + ms))
        .filter(|ms| *ms <= until)
        .collect()
}

/// Those at which ⌊n·f⌋ grows, with f = asked/own.
fn thinned(all: &[u64], asked: u128, own: u128) -> Vec<u64> {
    let upto = |n: usize| n as u128 * asked / own;
    let times = |n: usize| upto(n + 1) - upto(n);
    (0..all.len()).flat_map(|n| (0..times(n)).map(move |_| all[n])).collect()
}

/// A list of opportunities that is a trace.
fn lists() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![3 => 0u64..3, 1 => 0u64..60], 1..40).prop_map(|gaps| {
        let mut at = 0;
        let mut list: Vec<u64> = gaps
            .iter()
            .map(|gap| {
                at += gap;
                at
            })
            .collect();
        list.push(at + 1);
        list
    })
}

/// Steps that are a trace, and their period.
fn tables() -> impl Strategy<Value = (Vec<Step>, Duration)> {
    let length = prop_oneof![Just(1_000_000u64), 1u64..3_000_000_000];
    let rate = prop_oneof![1 => Just(0u64), 3 => 0u64..=1_000_000_000_000];
    (
        prop::collection::vec((length, rate, 0u32..4_000_000, any::<u32>()), 1..40),
        any::<(bool, bool)>(),
    )
        .prop_map(|(steps, (delays, losses))| {
            let mut at = 0;
            let steps: Vec<_> = steps
                .into_iter()
                .enumerate()
                .map(|(n, (length, rate, delay, loss))| {
                    let step = Step {
                        at: Duration::from_nanos(at),
                        rate: Rate::from_bps(if n == 0 { rate.max(1) } else { rate }),
                        delay: delays.then(|| Duration::from_micros(u64::from(delay))),
                        loss: losses.then(|| Probability::from_raw(loss)),
                    };
                    at += length;
                    step
                })
                .collect();
            (steps, Duration::from_nanos(at))
        })
}

proptest! {
    /// Queries in any order give the first instant of the whole list at or after the time.
    #[test]
    fn the_next_opportunity_is_that_of_the_list(
        list in lists(),
        queries in prop::collection::vec(
            prop_oneof![0u64..3_000_000_000, (0u64..3_000).prop_map(|ms| ms * MS)],
            1..50,
        ),
    ) {
        let trace = Trace::from_opportunities(list.clone()).unwrap();
        let mut link = opportunities(&trace, &Play::default());
        let all = every(&list, 6_000);
        for query in queries {
            let first = *all.iter().find(|ms| **ms * MS >= query).unwrap();
            let number = all.iter().filter(|ms| **ms == first).count() as u64;
            let next = link.next(Time::from_nanos(query));
            prop_assert_eq!(next, (ms(first), Bytes::new(number * OPPORTUNITY.get())));
        }
    }

    /// The same of a run through the whole list, at any mean rate.
    #[test]
    fn thinned_and_repeated_opportunities_are_those_of_the_reference(
        list in lists(),
        mean in prop_oneof![1_000u64..1_000_000, 1_000_000u64..1_000_000_000],
    ) {
        let trace = Trace::from_opportunities(list.clone()).unwrap();
        let play = Play { mean: Some(Rate::from_bps(mean)), ..Play::default() };
        let mut link = opportunities(&trace, &play);
        let all = every(&list, 3_000);
        let own = list.len() as u128 * 12_032 * 1_000;
        let asked = u128::from(mean) * u128::from(*list.last().unwrap());
        let left = thinned(&all, asked, own);
        let mut found = Vec::new();
        let mut now = Time::ZERO;
        loop {
            let (at, bytes) = link.next(now);
            if at > ms(3_000) {
                break;
            }
            let number = bytes.get() / OPPORTUNITY.get();
            found.extend((0..number).map(|_| at.as_nanos() / MS));
            now = at + Duration::from_nanos(1);
        }
        prop_assert_eq!(found, left);
    }

    /// As many bytes have passed when the time is over, and not a nanosecond before.
    #[test]
    fn the_time_of_bytes_is_the_least_in_which_they_pass(
        list in lists(),
        (steps, period) in tables(),
        bytes in 1u64..10_000_000,
        from in 0u64..3_000_000_000,
        offset in 0u64..1_000,
    ) {
        let play = Play { mean: None, offset: Duration::from_millis(offset) };
        let traces = [Trace::from_opportunities(list), Trace::from_steps(steps, period)];
        for mut link in traces.map(|trace| trace.unwrap().play(&play).unwrap()) {
            let (bytes, from) = (Bytes::new(bytes), Time::from_nanos(from));
            let time = link.time_of(bytes, from);
            let to = from + time;
            // Some of the traces have a bit in a hundred years.
            if time < Duration::MAX {
                prop_assert!(link.bytes_between(from, to) >= bytes);
            }
            let before = to.saturating_sub(Duration::from_nanos(1));
            prop_assert!(link.bytes_between(from, before) < bytes);
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_opportunities_within(
        list in lists(),
        ends in (0u64..3_000, 0u64..3_000),
        mean in prop::option::of(100_000u64..100_000_000),
        offset in 0u64..1_000,
    ) {
        let (from, to) = (ends.0.min(ends.1), ends.0.max(ends.1));
        let trace = Trace::from_opportunities(list).unwrap();
        let mean = mean.map(Rate::from_bps);
        let play = Play { mean, offset: Duration::from_millis(offset) };
        let mut link = opportunities(&trace, &play);
        let (mut sum, mut now) = (Bytes::ZERO, ms(from) + Duration::from_nanos(1));
        loop {
            let (at, bytes) = link.next(now);
            if at > ms(to) {
                break;
            }
            sum += bytes;
            now = at + Duration::from_nanos(1);
        }
        prop_assert_eq!(trace.play(&play).unwrap().bytes_between(ms(from), ms(to)), sum);
    }

    #[test]
    fn an_offset_moves_opportunities_to_earlier_times(
        list in lists(),
        offset in 0u64..5_000_000_000,
        query in 0u64..5_000_000_000,
        mean in prop::option::of(100_000u64..100_000_000),
    ) {
        let trace = Trace::from_opportunities(list).unwrap();
        let mean = mean.map(Rate::from_bps);
        let shift = Duration::from_nanos(offset);
        let mut moved = opportunities(&trace, &Play { offset: shift, mean });
        let mut still = opportunities(&trace, &Play { mean, ..Play::default() });
        let (at, bytes) = still.next(Time::from_nanos(query + offset));
        prop_assert_eq!(moved.next(Time::from_nanos(query)), (Time::from_nanos(at.as_nanos() - offset), bytes));
    }

    /// Over any number of periods the mean is right to one opportunity.
    #[test]
    fn opportunities_have_the_mean_that_is_asked(
        list in lists(),
        mean in 1_000u64..10_000_000_000,
        periods in 1u64..1_000,
    ) {
        let trace = Trace::from_opportunities(list).unwrap();
        let play = Play { mean: Some(Rate::from_bps(mean)), ..Play::default() };
        let span = trace.period() * periods;
        let bytes = trace.play(&play).unwrap().bytes_between(Time::ZERO, Time::ZERO + span);
        let exact = u128::from(mean) * u128::from(span.as_nanos()) / 8_000_000_000;
        let apart = u128::from(bytes.get()).abs_diff(exact);
        prop_assert!(apart <= u128::from(OPPORTUNITY.get()), "{bytes} for {exact}");
    }

    /// Queries in any order give the step that a search through the whole list finds.
    #[test]
    fn the_step_in_force_is_that_of_the_list(
        (list, period) in tables(),
        queries in prop::collection::vec(0.0..5.0f64, 1..50),
        offset in 0.0..3.0f64,
    ) {
        let trace = Trace::from_steps(list.clone(), period).unwrap();
        let offset = (period.as_nanos() as f64 * offset) as u64;
        let mut link = steps(&trace, &Play { offset: Duration::from_nanos(offset), ..Play::default() });
        for query in queries {
            let now = (period.as_nanos() as f64 * query) as u64;
            let (cycle, within) = ((now + offset) / period.as_nanos(), (now + offset) % period.as_nanos());
            let index = list.iter().rposition(|step| step.at.as_nanos() <= within).unwrap();
            let end = list.get(index + 1).map_or(period, |step| step.at).as_nanos();
            let until = match list.len() {
                1 => Time::NEVER,
                _ => Time::from_nanos(cycle * period.as_nanos() + end - offset),
            };
            let segment = link.at(Time::from_nanos(now));
            let step = list[index];
            prop_assert_eq!((segment.rate, segment.delay, segment.loss), (step.rate, step.delay, step.loss));
            prop_assert_eq!(segment.until, until);
        }
    }

    /// From step to step to the end, the sum of rate times time is the number of bytes.
    #[test]
    fn the_bytes_are_those_of_the_steps_within(
        (list, period) in tables(),
        ends in (0.0..3.0f64, 0.0..3.0f64),
        mean in prop::option::of(1_000u64..1_000_000_000_000),
        offset in 0.0..3.0f64,
    ) {
        let trace = Trace::from_steps(list, period).unwrap();
        let at = |part: f64| (period.as_nanos() as f64 * part) as u64;
        let play = Play { offset: Duration::from_nanos(at(offset)), mean: mean.map(Rate::from_bps) };
        let (from, to) = (at(ends.0.min(ends.1)), at(ends.0.max(ends.1)));
        let mut link = steps(&trace, &play);
        let (mut now, mut sum) = (from, 0u128);
        while now < to {
            let segment = link.at(Time::from_nanos(now));
            let end = segment.until.as_nanos().min(to);
            sum += u128::from(segment.rate.as_bps()) * u128::from(end - now);
            now = end;
        }
        let (from, to) = (Time::from_nanos(from), Time::from_nanos(to));
        prop_assert_eq!(trace.play(&play).unwrap().bytes_between(from, to), Bytes::new((sum / 8_000_000_000) as u64));
    }

    /// The mean is right to the rounding of each rate to a bit per second.
    #[test]
    fn steps_have_the_mean_that_is_asked((list, period) in tables(), mean in 1u64..1_000_000_000_000) {
        let trace = Trace::from_steps(list, period).unwrap();
        let play = Play { mean: Some(Rate::from_bps(mean)), ..Play::default() };
        let bytes = trace.play(&play).unwrap().bytes_between(Time::ZERO, Time::ZERO + period).get();
        let exact = mean as f64 * period.as_secs_f64() / 8.0;
        // Half a bit per second, and a byte that is rounded down; f64 is right to 2⁻⁵² of each.
        let bound = period.as_secs_f64() / 16.0 + 1.0 + exact * 1e-15;
        prop_assert!((bytes as f64 - exact).abs() <= bound, "{bytes} for {exact}");
    }
}

#[test]
fn the_first_and_the_last_instant_of_a_file_add_where_it_repeats() {
    // mahimahi's base time grows by the last entry, 2 ms, so the 0 of the second time is at 2 ms, too.
    let trace = Trace::from_opportunities([0, 0, 1, 2]).unwrap();
    let mut link = opportunities(&trace, &Play::default());
    let found: Vec<_> = (0..5).map(|n| link.next(ms(n)).1.get() / OPPORTUNITY.get()).collect();
    assert_eq!(found, [2, 1, 3, 1, 3]);
    // In each period of 2 ms there are 4 opportunities.
    assert_eq!(trace.mean_rate(), Rate::from_bps(4 * 12_032 * 500));
    let later = Play { offset: Duration::from_millis(2), ..Play::default() };
    assert_eq!(opportunities(&trace, &later).next(Time::ZERO), (Time::ZERO, Bytes::new(3 * 1504)));
}

#[test]
fn a_query_at_an_instant_gives_it_in_any_order() {
    let trace = Trace::from_opportunities([2, 5]).unwrap();
    let mut link = opportunities(&trace, &Play::default());
    for at in [2, 5, 7, 10, 7, 5, 2, 10, 5, 15, 10] {
        assert_eq!(link.next(ms(at)), (ms(at), OPPORTUNITY));
    }
}

#[test]
fn a_third_of_three_opportunities_is_one_and_not_a_little_less() {
    // f = 1/3 has no exact fixed point number: ⌊3 f⌋ must be 1, in the first millisecond and in each.
    let trace = Trace::from_opportunities([1, 1, 1]).unwrap();
    let play = Play { mean: Some(Rate::from_bps(12_032_000)), ..Play::default() };
    let mut link = opportunities(&trace, &play);
    for n in [1, 2, 3, 1_000, 1_000_000_000] {
        assert_eq!(link.next(ms(n)), (ms(n), OPPORTUNITY));
    }
}

#[test]
fn one_opportunity_of_a_million_is_found_without_a_walk() {
    // 83,000 per millisecond are 0.9987 Tb/s; of those one per 1000 s is left.
    let trace = Trace::from_opportunities((1..=100).flat_map(|ms| std::iter::repeat_n(ms, 83_000)))
        .unwrap();
    let mean = Some(Rate::from_bps(1));
    let mut link = opportunities(&trace, &Play { mean, ..Play::default() });
    // 12,032 b at 1 b/s: the first is there after 12,032 s, and each further one after as long again.
    for n in 1..=1_000 {
        let (at, bytes) = link.next(Time::ZERO + Duration::from_secs(12_032 * n - 5));
        assert_eq!(bytes, OPPORTUNITY);
        // Right to a millisecond, and to 2⁻⁶⁴/f with f = 10⁻¹².
        let exact = 12_032.0 * n as f64;
        assert!((at.as_secs_f64() - exact).abs() < 0.001 + exact * 6e-8, "{at}");
    }
}

#[test]
fn the_end_of_time_is_no_edge() {
    let trace = Trace::from_opportunities([7]).unwrap();
    let mut link = opportunities(&trace, &Play::default());
    assert_eq!(link.next(Time::NEVER).0, Time::NEVER);
    let trace = Trace::read(b"time_s,rate_bps\n0,1000000000000\n1,0\n").unwrap();
    let mut link = steps(&trace, &Play { offset: Duration::from_secs(1), ..Play::default() });
    assert_eq!(link.at(Time::NEVER).until, Time::NEVER);
    assert_eq!(link.bytes_between(Time::ZERO, Time::ZERO), Bytes::ZERO);
    assert!(link.bytes_between(Time::ZERO, Time::NEVER) > Bytes::new(1 << 60));
}

#[test]
fn arguments_of_playback_have_their_range() {
    let trace = Trace::from_opportunities([1]).unwrap();
    for mean in [Rate::ZERO, Rate::from_bps(1_000_000_000_001)] {
        let error = trace.play(&Play { mean: Some(mean), ..Play::default() }).unwrap_err();
        assert!(error.to_string().starts_with("the mean rate is "), "{error}");
        assert!(error.to_string().ends_with("accepted is above 0 and at most 1 Tb/s"), "{error}");
    }
    let offset = Duration::from_secs(50 * 86_400);
    let error = trace.play(&Play { offset, ..Play::default() }).unwrap_err();
    assert_eq!(error.to_string(), "the offset is 4320000s; accepted is at most 49 days");
}

/// 2 bit/s in 2 ns of each 3 s: passed period by period, a megabyte took longer than anyone waits.
#[test]
fn the_time_of_bytes_takes_no_longer_where_a_trace_has_hardly_any_capacity() {
    let at = |at, rate| Step::new(Duration::from_nanos(at), Rate::from_bps(rate));
    let trace = Trace::from_steps([at(0, 2), at(2, 0)], Duration::from_secs(3)).unwrap();
    let mut link = trace.play(&Play::default()).unwrap();
    // 4 nanobits per period: the last of 8 bits is in the 2·10⁹th of them, after 190 years.
    let last = Duration::from_secs(3) * 1_999_999_999 + Duration::from_nanos(2);
    assert_eq!(link.time_of(Bytes::new(1), Time::ZERO), last);
    assert_eq!(link.time_of(Bytes::new(1_000_000), Time::ZERO), Duration::MAX);
}
