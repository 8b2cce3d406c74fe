//! The detector of Classic ECN.

use l4s_cc::classic_ecn::reroute::{Alternative, Factor, Filter, Side};
use l4s_cc::classic_ecn::{CarryLog, Round, Smooth, Spacing, State};

use super::tracers::tracers_of;
use super::*;

/// The state of the C detector as a state of l4s_cc.
pub(super) fn state_of(c: &CDetector, settings: &DetectorSettings) -> State {
    let smooth = |a: &CSmooth| {
        let CSmooth { srtt, mdev, shift, ratio } = *a;
        Smooth { srtt, mdev, shift, ratio }
    };
    let log = |carry: u32| CarryLog { carry };
    State {
        score: c.score,
        max: c.max,
        rounds: c.rounds,
        rtt: (c.has_rtt != 0).then(|| Filter {
            original: smooth(&c.original),
            alternative: (c.side != 0).then(|| Alternative {
                averages: smooth(&c.alternative),
                side: if c.side == 1 { Side::Below } else { Side::Above },
                confirmed: c.confirmed != 0,
            }),
            k2: (settings.filters != 0).then_some(Factor::TWO),
        }),
        shift: c.shift,
        depth: c.depth,
        log_mdev: log(c.log_mdev),
        log_depth: log(c.log_depth),
        log_v0: log(c.log_v0),
        log_d0: log(c.log_d0),
        round: Round {
            end: c.end.into(),
            began_us: c.began_us,
            acks: c.acks,
            limited_acks: c.limited_acks,
            delivered: c.delivered,
            marked: c.marked,
            lost: c.lost != 0,
            deep_unmarked: c.deep_unmarked,
            unmarked_above_target: c.unmarked_above_target,
        },
        spacing: Spacing {
            least: c.least,
            immediate_ack_us: (c.has_immediate_ack != 0).then_some(c.immediate_ack_us),
        },
        last_ack_us: c.last_ack_us,
        losses: c.losses,
        unmarked_rounds: c.unmarked_rounds,
        pending_evidence: c.pending_evidence,
        tracers: (settings.traces != 0).then(|| tracers_of(&c.tracers, settings)),
    }
}

pub(super) fn random_detector(r: &mut Random) -> classic_ecn::Config {
    let mut weight = || if r.one_in(4) { 0.0 } else { r.below(4097) as f64 / 256.0 };
    let (v, d, s) = (weight(), weight(), weight());
    classic_ecn::Config {
        rules: r.of(&[Rules::Paper, Rules::Filtered, Rules::Linux, Rules::Best, Rules::Best]),
        v,
        d: if r.one_in(2) { v } else { d },
        s,
        v0: Duration::from_micros(r.any(24)),
        d0: Duration::from_micros(r.any(24)),
        l_sticky: r.any(10).min(1000) as f64 / 2.0,
        c_sticky: 1.0 + r.any(10).min(999) as f64 / 2.0,
        shift_max: 1 + r.below(20) as u32,
    }
}

/// Counts of the states that runs of the detector reached.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) scored: u64,
    pub(super) classic: u64,
    pub(super) between: u64,
    pub(super) l4s: u64,
    pub(super) alternative: u64,
    pub(super) spaced: u64,
    pub(super) droppers: u64,
    /// With evidence that counts at the next mark.
    pub(super) pending_evidence: u64,
    /// With unmarked packets whose delay is longer than in any L4S queue.
    pub(super) far: u64,
    /// With a single queue that tracers found.
    pub(super) single_queue: u64,
    pub(super) dual_queue: u64,
}

impl Judged {
    pub(super) fn count(&mut self, c: &CDetector) {
        self.classic += u64::from(c.score >= 1 << 24);
        self.between += u64::from(c.score > 0 && c.score < 1 << 24);
        self.l4s += u64::from(c.score <= 0);
        self.alternative += u64::from(c.side != 0 && c.confirmed != 0);
        self.spaced += u64::from(c.least != u32::MAX);
        self.droppers += u64::from(c.losses >= 2 && c.unmarked_rounds >= 50);
        self.pending_evidence += u64::from(c.pending_evidence > 0);
        self.far += u64::from(c.unmarked_above_target > 2);
        self.single_queue += u64::from(c.tracers.finding == tracers::SINGLE_QUEUE);
        self.dual_queue += u64::from(c.tracers.finding == tracers::DUAL_QUEUE);
    }

    pub(super) fn assert(&self, least: u64) {
        println!("{self:?}");
        let Judged { scored, classic, between, l4s, alternative, spaced, droppers, .. } = self;
        let Judged { pending_evidence, far, single_queue, dual_queue, .. } = self;
        let judged = [scored, classic, between, l4s, alternative, spaced, droppers];
        for times in judged.into_iter().chain([pending_evidence, far, single_queue, dual_queue]) {
            assert!(*times > least, "{self:?}");
        }
    }
}

pub(super) fn compare_detector(
    seed: u64,
    steps: usize,
    config: &classic_ecn::Config,
    active: bool,
    judged: &mut Judged,
) {
    let mut acks = Acks::new(seed);
    let mut rust = <Detector>::new(config, active);
    let settings = DetectorSettings::new(config, active);
    let mut c = CDetector { tracers: CTracers::USED, ..Default::default() };
    let mut bottleneck = Bottleneck::new(seed);
    l4s_classic_ecn_start(&mut c, &settings, 0);
    for step in 0..steps {
        let ack = acks.next(20);
        let r = &mut acks.random;
        let rtt_us = match r.below(1000) {
            0 => Some(r.below(1 << 26) as u32),
            _ => ack.rtt.map(|rtt| rtt.as_micros() as u32),
        };
        let sample = classic_ecn::Sample {
            now_us: ack.now.as_nanos() / 1000,
            rtt_us,
            min_rtt_us: ack.min_rtt.as_micros() as u32,
            delivered: ack.delivered,
            delivered_ce: ack.delivered_ce,
            una: ack.una,
            nxt: ack.nxt,
            self_limited: ack.unsent == 0,
            pushed: false,
            rtt_virt_us: r.below(60_000),
        };
        rust.on_ack(&sample);
        let c_sample = CSample {
            now_us: sample.now_us,
            rtt_virt_us: sample.rtt_virt_us,
            rtt_us: rtt_us.unwrap_or(NO_RTT),
            min_rtt_us: sample.min_rtt_us,
            delivered: sample.delivered,
            delivered_ce: sample.delivered_ce,
            una: sample.una as u32,
            nxt: sample.nxt as u32,
            acked: sample.una as u32,
            self_limited: sample.self_limited.into(),
        };
        l4s_classic_ecn_on_ack(&mut c, &settings, &c_sample);
        match acks.random.below(1000) {
            0..5 => {
                let ssthresh = acks.random.any(32) as u32;
                rust.on_threshold(ssthresh);
                l4s_classic_ecn_on_threshold(&mut c, &settings, ssthresh);
            }
            5..8 => {
                rust.on_loss();
                l4s_classic_ecn_on_loss(&mut c);
            }
            8 => {
                let timeouts = acks.random.any(8) as u32;
                rust.on_idle(timeouts);
                l4s_classic_ecn_on_idle(&mut c, timeouts);
            }
            _ => {}
        }
        if bottleneck.asks() {
            let sent = rust.wants_tracers();
            let c_sent = l4s_classic_ecn_wants_tracers(&mut c) != 0;
            assert_eq!(sent, c_sent, "seed {seed}, step {step}");
            if sent {
                bottleneck.send();
            }
        }
        if let Some(overtook) = bottleneck.answer() {
            rust.on_traced(overtook);
            l4s_classic_ecn_on_traced(&mut c, &settings, overtook.into());
        }
        let expected = state_of(&c, &settings);
        assert_eq!(rust.state(), expected, "seed {seed}, step {step}: {sample:?} {config:?}");
        if step % 64 == 0 {
            let mut report = CReport::default();
            l4s_classic_ecn_report(&c, &mut report);
            assert_eq!(
                rust.report(),
                prague::kernel::Reading {
                    score: report.score,
                    max: report.max,
                    rounds: report.rounds,
                    srtt_us: report.srtt_us,
                    mdev_us: report.mdev_us,
                    depth_us: report.depth_us,
                }
                .into()
            );
        }
        judged.count(&c);
    }
    judged.scored += u64::from(c.rounds);
}

#[test]
pub(super) fn the_detector_is_the_same_in_c_and_in_rust() {
    let mut judged = Judged::default();
    let mut random = Random(9);
    for seed in 0..200 {
        let config = match seed % 5 {
            0 => classic_ecn::Config::paper(),
            1 => classic_ecn::Config::linux(),
            2 => classic_ecn::Config::best(),
            _ => random_detector(&mut random),
        };
        // The choice is independent of the choice of the configuration.
        compare_detector(seed, STEPS / 400, &config, seed % 3 != 0, &mut judged);
    }
    judged.assert(STEPS as u64 / 1000);
}
