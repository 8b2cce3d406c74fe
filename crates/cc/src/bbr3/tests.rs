//! Version 3 on a path that delivers a segment per millisecond, 20 ms after it was sent.

use l4s_units::{Duration, Time};

use super::{Config, Control, Mode, Phase, control};
use crate::{
    Ack, Congestion, CongestionControl, Connection, Decision, Delivery, LossSample, RateSample,
    Recovery, Repair,
};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);
/// The segments of a round trip.
const FLIGHT: u32 = 20;
const DOWN: Mode = Mode::ProbeBw(Phase::Down);
const REFILL: Mode = Mode::ProbeBw(Phase::Refill);
const UP: Mode = Mode::ProbeBw(Phase::Up);

struct Path {
    bbr: Control,
    now: Time,
    delivered: u64,
    lost: u64,
    repair: Repair,
}

impl Path {
    /// The connection is established.
    fn new() -> Path {
        let mut bbr = control(&Config::default(), &Connection::new(1448));
        let now = Time::ZERO + RTT;
        bbr.on_ack(&Ack { now, srtt: RTT, min_rtt: RTT, ..Ack::default() });
        Path { bbr, now, delivered: 1, lost: 0, repair: Repair::None }
    }

    fn at(&self) -> Ack {
        let (in_flight, limited) = (FLIGHT, true);
        Ack { now: self.now, srtt: RTT, min_rtt: RTT, in_flight, limited, ..Ack::default() }
    }

    /// A segment is delivered, which was sent a round trip ago.
    fn ack(&mut self) -> Decision {
        self.now += MS;
        self.delivered += 1;
        let segments = u64::from(FLIGHT).min(self.delivered - 1);
        self.bbr.sample_rate(&RateSample {
            delivery: Some(Delivery { segments, interval: RTT }),
            delivered: self.delivered,
            delivered_at: self.now,
            prior_delivered: self.delivered - segments,
            lost: self.lost,
            prior_lost: self.lost,
            tx_in_flight: FLIGHT,
            repair: self.repair,
            ..RateSample::default()
        });
        self.bbr.on_ack(&Ack { delivered: 1, advanced: true, rtt: Some(RTT), ..self.at() })
    }

    fn acks(&mut self, segments: u32) {
        for _ in 0..segments {
            self.ack();
        }
    }

    /// How many segments are delivered until it is in this mode.
    fn until(&mut self, mode: Mode) -> u32 {
        for n in 0..10_000 {
            if self.bbr.mode() == mode {
                return n;
            }
            self.ack();
        }
        panic!("no {mode:?}: {:?}", self.bbr.mode());
    }

    /// The transport finds two losses. Of 20 segments in flight one is 5 %.
    fn lose_two(&mut self) {
        self.bbr.on_congestion(Congestion::Loss, false, &self.at());
        self.repair = Repair::Recovery;
        for lost in 1..=2 {
            self.lost += 1;
            self.bbr.sample_loss(&LossSample {
                now: self.now,
                seq: self.delivered + lost,
                lost,
                tx_in_flight: FLIGHT,
                app_limited: false,
                delivered: self.delivered,
            });
        }
    }

    /// It has repaired them.
    fn recover(&mut self) {
        self.repair = Repair::None;
        self.bbr.on_recovered(Recovery::Complete);
    }
}

/// Three round trips without growth after the first that has the whole rate. Drain is over at once: the flight is
/// one product.
#[test]
fn a_constant_rate_ends_startup() {
    let mut path = Path::new();
    let acks = path.until(Mode::ProbeBw(Phase::Cruise));
    assert!((60..=120).contains(&acks), "{acks}");
}

/// Twenty segments are a product: Reno would probe every 20 round trips. One less is by chance.
#[test]
fn small_products_are_probed_as_often_as_by_reno() {
    let mut path = Path::new();
    path.until(UP);
    path.until(DOWN);
    let rounds = path.until(REFILL) / FLIGHT;
    assert!((18..=20).contains(&rounds), "{rounds}");
}

/// The probe that lost too much is followed by one that ends at the bound, and that, as nothing was lost, by one
/// that does not.
#[test]
fn a_probe_after_losses_is_careful() {
    let mut path = Path::new();
    path.until(UP);
    path.lose_two();
    assert_eq!(path.bbr.mode(), DOWN);
    // 19 segments were in flight before the first loss, and 0.02 × 19 / 0.98 of it count as one. 0.7 of the product is
    // less.
    assert_eq!(path.bbr.model().inflight_longterm, Some(20));
    path.recover();
    assert!(path.until(UP) > 18 * FLIGHT);
    path.ack();
    assert_eq!(path.bbr.mode(), DOWN, "20 in flight are the bound");
    assert!(path.until(REFILL) <= FLIGHT + 1);
    assert!(path.until(UP) <= FLIGHT + 1);
    for _ in 0..3 * FLIGHT {
        path.ack();
        assert_eq!(path.bbr.mode(), UP);
    }
    assert!(path.bbr.model().inflight_longterm > Some(20));
}

/// Losses in each round trip outside of a probe: 0.7 of the window, or the flight that was delivered.
#[test]
fn losses_outside_of_a_probe_bound_rate_and_flight_until_the_next_one() {
    let mut path = Path::new();
    path.until(UP);
    path.until(Mode::ProbeBw(Phase::Cruise));
    // The answers to the probe come for another round trip.
    path.acks(FLIGHT + 1);
    assert_eq!(path.bbr.model().inflight_shortterm, None);
    let cwnd = u64::from(path.ack().window.cwnd);
    path.lose_two();
    path.acks(FLIGHT + 1);
    let model = path.bbr.model();
    assert!(model.bw_shortterm.is_some_and(|bound| bound <= model.max_bw));
    assert_eq!(model.inflight_shortterm, Some(cwnd * 7 / 10));
    assert_eq!(model.inflight_longterm, None);
    path.recover();
    path.until(REFILL);
    let model = path.bbr.model();
    assert_eq!((model.bw_shortterm, model.inflight_shortterm), (None, None));
}

/// Both losses were none: the bound is gone, and the probe begins again.
#[test]
fn a_probe_that_a_spurious_recovery_ended_begins_again() {
    let mut path = Path::new();
    path.until(UP);
    path.lose_two();
    path.acks(5);
    path.repair = Repair::None;
    path.bbr.on_recovered(Recovery::Spurious(None));
    assert_eq!(path.bbr.mode(), REFILL);
    assert_eq!(path.bbr.model().inflight_longterm, None);
    assert!(path.until(UP) <= FLIGHT + 1);
}

/// Five seconds without a lower RTT; half of 20 segments are in flight for 200 ms and a round trip.
#[test]
fn the_rtt_is_measured_with_half_a_product_in_flight() {
    let mut path = Path::new();
    let before = path.now;
    path.until(Mode::ProbeRtt);
    assert_eq!(path.now.since(before), MS * 5001);
    assert!(path.bbr.limits_itself());
    assert_eq!(path.ack().window.cwnd, FLIGHT / 2);
}

/// The window after a timeout is a segment more than is in flight, and returns when it is repaired.
#[test]
fn a_timeout_leaves_a_segment_and_the_window_returns() {
    let mut path = Path::new();
    path.until(Mode::ProbeBw(Phase::Cruise));
    let before = path.ack().window.cwnd;
    let at = Ack { in_flight: 0, ..path.at() };
    assert_eq!(path.bbr.on_congestion(Congestion::Timeout, false, &at).window.cwnd, 1);
    path.repair = Repair::Timeout;
    assert_eq!(path.ack().window.cwnd, 4, "the least window");
    path.repair = Repair::None;
    assert_eq!(path.ack().window.cwnd, before);
}
