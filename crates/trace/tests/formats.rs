//! Files of other programs are read, and a trace that is written reads back as the same.

use l4s_trace::{Format, Kind, OPPORTUNITY, Step, Trace};
use l4s_units::{Bytes, Duration, Probability, Rate, Time};
use proptest::prelude::*;

fn read(text: &str) -> Trace {
    Trace::read(text.as_bytes()).unwrap()
}

fn rates(trace: &Trace) -> Vec<(Duration, Rate)> {
    trace.steps().unwrap().map(|step| (step.at, step.rate)).collect()
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The examples of the README of netem-trace 0.4.6, with and without its feature `human`.
#[test]
fn the_examples_of_netem_trace_are_read() {
    for text in [
        r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},"duration":{"secs":1,"nanos":0}}},{"StaticBwConfig":{"bw":{"gbps":0,"bps":24000000},"duration":{"secs":1,"nanos":0}}}],"count":2}}"#,
        r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":"12Mbps","duration":"1s"}},{"StaticBwConfig":{"bw":"24Mbps","duration":"1s"}}],"count":2}}"#,
    ] {
        let trace = read(text);
        assert_eq!(rates(&trace), [(ms(0), Rate::from_mbps(12)), (ms(1_000), Rate::from_mbps(24))]);
        assert_eq!(trace.period(), ms(2_000));
    }
    for text in [
        r#"{"RepeatedBwPatternConfig":{"pattern":[{"TraceBwConfig":{"pattern":[["1ms",["2Mbps","4Mbps"]],["2ms",["1Mbps"]]]}}],"count":0}}"#,
        r#"{"RepeatedBwPatternConfig":{"pattern":[{"TraceBwConfig":{"pattern":[[{"secs":0,"nanos":1000000},[{"gbps":0,"bps":2000000},{"gbps":0,"bps":4000000}]],[{"secs":0,"nanos":2000000},[{"gbps":0,"bps":1000000}]]]}}],"count":0}}"#,
    ] {
        let trace = read(text);
        let expected = [(0, 2), (1, 4), (2, 1)].map(|(at, mbps)| (ms(at), Rate::from_mbps(mbps)));
        assert_eq!(rates(&trace), expected);
        assert_eq!(trace.period(), ms(4));
        // The form without `human` is written.
        let written = String::from_utf8(trace.write(Format::Json).unwrap()).unwrap();
        assert_eq!(
            written,
            "{\"RepeatedBwPatternConfig\":{\"pattern\":[{\"TraceBwConfig\":{\"pattern\":[[{\"secs\":0,\"nanos\":1000000},[{\"gbps\":0,\"bps\":2000000},{\"gbps\":0,\"bps\":4000000}]],[{\"secs\":0,\"nanos\":2000000},[{\"gbps\":0,\"bps\":1000000}]]]}}],\"count\":0}}\n",
        );
    }
}

#[test]
fn repetitions_within_a_pattern_are_written_out_and_the_outermost_is_the_period() {
    let one = r#"{"StaticBwConfig":{"bw":"1Mbps","duration":"1ms"}}"#;
    let twice = format!(r#"{{"RepeatedBwPatternConfig":{{"pattern":[{one}],"count":2}}}}"#);
    let text = format!(
        r#"{{"RepeatedBwPatternConfig":{{"pattern":[{twice},{{"StaticBwConfig":{{"duration":"1ms"}}}}],"count":5}}}}"#
    );
    let trace = read(&text);
    // The default is 12 Mb/s.
    let expected = [(0, 1), (1, 1), (2, 12)].map(|(at, mbps)| (ms(at), Rate::from_mbps(mbps)));
    assert_eq!((rates(&trace), trace.period()), (expected.to_vec(), ms(3)));
    let endless = format!(r#"{{"RepeatedBwPatternConfig":{{"pattern":[{text}],"count":0}}}}"#);
    assert_eq!(read(&endless), trace);
}

#[test]
fn times_of_a_csv_count_from_its_first_row() {
    let relative = read("time_s,rate_kbps\n0,500\n0.25,700\n1,\n");
    assert_eq!(
        read("time_s,rate_kbps\n1690000000.5,500\n1690000000.75,700\n1690000001.5,\n"),
        relative
    );
    assert_eq!(
        rates(&relative),
        [(ms(0), Rate::from_bps(500_000)), (ms(250), Rate::from_bps(700_000))]
    );
    assert_eq!(relative.period(), ms(1_000));
}

#[test]
fn the_last_row_of_a_csv_lasts_as_long_as_the_one_before_it() {
    assert_eq!(read("time_ms,rate_bps\n0,1\n10,2\n30,3\n").period(), ms(50));
    assert_eq!(read("time_ms,rate_bps\n0,1\n10,2\n").period(), ms(20));
    assert_eq!(read("time_ms,rate_bps\n7,1\n").period(), ms(1_000));
}

#[test]
fn delay_and_loss_are_read() {
    let trace = read("loss,time_s,rate_mbps,delay_ms\n0.25,0,5,20.5\n1,1,6,0\n");
    let steps: Vec<Step> = trace.steps().unwrap().collect();
    assert_eq!(steps[0].delay, Some(Duration::from_micros(20_500)));
    assert_eq!(steps[0].loss, Some(Probability::from_f64(0.25)));
    assert_eq!((steps[1].delay, steps[1].loss), (Some(Duration::ZERO), Some(Probability::ONE)));
}

#[test]
fn opportunities_at_time_0_are_written_as_they_were() {
    let text = "0\n0\n1\n5\n5\n";
    let trace = read(text);
    assert_eq!(trace.write(Format::Mahimahi).unwrap(), text.as_bytes());
    let lines: Vec<(Duration, u32)> = trace.opportunities().unwrap().collect();
    assert_eq!(lines, [(ms(0), 2), (ms(1), 1), (ms(5), 2)]);
}

/// From 0 to 59 ms, and at least one above 0.
fn opportunities() -> impl Strategy<Value = Trace> {
    prop::collection::vec(prop_oneof![3 => 0u64..3, 1 => 0u64..200], 1..200).prop_map(|gaps| {
        let mut at = 0;
        let list: Vec<u64> = gaps
            .iter()
            .map(|gap| {
                at += gap;
                at
            })
            .collect();
        Trace::from_opportunities(list.into_iter().chain([at + 1])).unwrap()
    })
}

/// Steps with or without delay and loss, of any lengths or all alike.
fn steps() -> impl Strategy<Value = Trace> {
    let length = prop_oneof![2 => Just(1_000_000u64), 1 => 1u64..3_000_000_000];
    let step = (length, 0u64..=1_000_000_000_000, 0u64..=4_000_000_000, any::<u32>());
    (prop::collection::vec(step, 1..60), any::<(bool, bool)>()).prop_map(
        |(list, (delays, losses))| {
            let mut at = 0;
            let mut steps = Vec::new();
            for (length, rate, delay, loss) in &list {
                steps.push(Step {
                    at: Duration::from_nanos(at),
                    rate: Rate::from_bps(if at == 0 { (*rate).max(1) } else { *rate }),
                    delay: delays.then(|| Duration::from_nanos(*delay)),
                    loss: losses.then(|| Probability::from_raw(*loss)),
                });
                at += length;
            }
            Trace::from_steps(steps, Duration::from_nanos(at)).unwrap()
        },
    )
}

fn bytes(trace: &Trace) -> u64 {
    trace.bytes_between(Time::ZERO, Time::ZERO + trace.period()).get()
}

proptest! {
    #[test]
    fn a_written_mahimahi_trace_reads_back(trace in opportunities()) {
        prop_assert_eq!(Trace::read(&trace.write(Format::Mahimahi).unwrap()).unwrap(), trace);
    }

    #[test]
    fn a_written_csv_reads_back(trace in steps()) {
        prop_assert_eq!(Trace::read(&trace.write(Format::Csv).unwrap()).unwrap(), trace);
    }

    #[test]
    fn a_written_json_reads_back_or_says_what_it_lacks(trace in steps()) {
        let step = trace.steps().unwrap().next().unwrap();
        match trace.write(Format::Json) {
            Ok(json) => prop_assert_eq!(Trace::read(&json).unwrap(), trace),
            Err(error) => {
                prop_assert!(step.delay.is_some() || step.loss.is_some());
                prop_assert!(error.to_string().contains("CSV has both"));
            }
        }
    }

    /// Any bytes are read or refused, and a trace that is read can be written.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(trace) = Trace::read(&bytes) {
            let format = if trace.kind() == Kind::Steps { Format::Csv } else { Format::Mahimahi };
            prop_assert_eq!(Trace::read(&trace.write(format).unwrap()).unwrap(), trace);
        }
    }

    #[test]
    fn any_text_of_a_format_is_read_or_refused(
        text in "(time_s,rate_mbps(,delay_ms)?(,loss)?\n)?([-0-9.,e]{0,9}\n){0,6}",
    ) {
        let _ = Trace::read(text.as_bytes());
    }

    /// A step of t seconds is right to t/16 B, and the sum is rounded down once.
    #[test]
    fn steps_of_opportunities_have_their_bytes(trace in opportunities(), interval in 1u64..500) {
        let steps = trace.to_steps(ms(interval)).unwrap();
        prop_assert_eq!(steps.period(), trace.period());
        let exact = trace.entries() as u64 * OPPORTUNITY.get();
        let bound = trace.period().as_secs_f64() / 16.0 + 1.0;
        prop_assert!((bytes(&steps) as f64 - exact as f64).abs() <= bound, "{} for {}", bytes(&steps), exact);
        // And those of each interval, to the same rounding.
        for end in [interval, 2 * interval, 3 * interval] {
            let until = |trace: &Trace| trace.bytes_between(Time::ZERO, Time::ZERO + ms(end).min(trace.period()));
            let apart = until(&steps).get() as f64 - until(&trace).get() as f64;
            prop_assert!(apart.abs() <= bound, "{apart}");
        }
    }

    /// Half an opportunity for the period, or all of one where the bytes are less than that.
    #[test]
    fn opportunities_of_steps_have_their_bytes(trace in steps(), mbps in 1u64..100) {
        let mean = Rate::from_mbps(mbps);
        // Scaled, so that there are not too many.
        let play = l4s_trace::Play { mean: Some(mean), ..Default::default() };
        let mut link = trace.play(&play).unwrap();
        let l4s_trace::Playback::Steps(rates) = &mut link else { unreachable!() };
        let scaled = trace.steps().unwrap().map(|step| {
            let rate = rates.at(Time::ZERO + step.at).rate;
            Step::new(step.at, rate.min(l4s_trace::MAX_RATE))
        });
        let scaled: Vec<Step> = scaled.collect();
        prop_assume!(scaled.iter().any(|step| step.rate > Rate::ZERO));
        let scaled = Trace::from_steps(scaled, trace.period()).unwrap();
        let found = match scaled.to_opportunities() {
            Ok(found) => found,
            // A period below a millisecond cannot have more than 1 Tb/s of them.
            Err(error) => {
                prop_assert!(matches!(error.problem, l4s_trace::Problem::TooFast { .. }), "{error}");
                return Ok(());
            }
        };
        let (exact, n) = (bytes(&scaled), found.entries() as u64);
        let apart = (n * OPPORTUNITY.get()).abs_diff(exact);
        prop_assert!(apart <= OPPORTUNITY.get() / 2 + 1 || n == 1, "{n} for {exact}");
        let rounded = found.period().as_nanos().abs_diff(scaled.period().as_nanos());
        prop_assert!(rounded <= 500_000 || found.period() == ms(1));
        // Until the end of any millisecond, the bytes are those of the rates to one opportunity, the
        // rounding of their number, and the bytes of a millisecond.
        for part in [1u64, 2, 3, 5, 8] {
            let end = Time::ZERO + ms(found.period().as_nanos() / 1_000_000 * part / 10);
            let exact = scaled.bytes_between(Time::ZERO, end).get() as f64;
            let found = found.bytes_between(Time::ZERO, end).get() as f64;
            let fastest = scaled.steps().unwrap().map(|step| step.rate).max().unwrap();
            let bound = 2.5 * OPPORTUNITY.get() as f64 + fastest.bytes_in(ms(1)).get() as f64;
            prop_assert!((found - exact).abs() <= bound, "{found} for {exact}, bound {bound}");
        }
    }

    /// Rates of whole opportunities come back: for a constant link of n opportunities in every millisecond.
    #[test]
    fn opportunities_and_back(n in 1u64..50, length in 1u64..100) {
        let list = (1..=length).flat_map(|ms| std::iter::repeat_n(ms, n as usize));
        let trace = Trace::from_opportunities(list).unwrap();
        prop_assert_eq!(trace.to_steps(ms(1)).unwrap().to_opportunities().unwrap(), trace);
    }
}

#[test]
fn rates_of_opportunities_are_rounded_to_the_nearest() {
    // 12,032 b in 3 ms are 4,010,666.7 b/s, and in 7 ms 1,718,857.1 b/s.
    let rate =
        |period| rates(&Trace::from_opportunities([period]).unwrap().to_steps(ms(period)).unwrap());
    assert_eq!(rate(3), [(ms(0), Rate::from_bps(4_010_667))]);
    assert_eq!(rate(7), [(ms(0), Rate::from_bps(1_718_857))]);
    // The last interval is shorter: 2 of 5 ms, and the rest.
    let trace = Trace::from_opportunities([1, 3, 5]).unwrap().to_steps(ms(2)).unwrap();
    let expected = [(0, 6_016_000), (2, 6_016_000), (4, 12_032_000)];
    assert_eq!(rates(&trace), expected.map(|(at, bps)| (ms(at), Rate::from_bps(bps))));
}

#[test]
fn a_conversion_to_its_own_form_shares_the_memory() {
    let trace = read("1\n2\n");
    assert_eq!(trace.to_opportunities().unwrap(), trace);
    let steps = trace.to_steps(ms(1)).unwrap();
    assert_eq!(steps.to_steps(ms(500)).unwrap(), steps);
    assert_eq!(steps.bytes_between(Time::ZERO, Time::ZERO + ms(2)), Bytes::new(3_008));
}

proptest! {
    #[test]
    fn a_serialized_trace_is_the_same_trace(trace in prop_oneof![steps(), opportunities()]) {
        let text = serde_json::to_string(&trace).unwrap();
        prop_assert_eq!(serde_json::from_str::<Trace>(&text).unwrap(), trace);
    }
}

#[test]
fn what_is_no_trace_is_no_serialized_one() {
    let error = serde_json::from_str::<Trace>(r#"{"Opportunities":[[2,1],[1,1]]}"#).unwrap_err();
    assert!(error.to_string().contains("1 ms"), "{error}");
}
