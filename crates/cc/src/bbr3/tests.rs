//! Version 3 on a path that delivers a segment per millisecond, 20 ms after it was sent.

use l4s_units::{Duration, Time};

use super::{Config, Control, Mode, Phase, control};
use crate::{
    Ack, Congestion, CongestionControl, Connection, Decision, Delivery, Endpoint, LossSample,
    Pause, RateSample, Recovery, Repair,
};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);
/// The segments of a round trip.
const FLIGHT: u32 = 20;
const DOWN: Mode = Mode::ProbeBw(Phase::Down);
const CRUISE: Mode = Mode::ProbeBw(Phase::Cruise);
const REFILL: Mode = Mode::ProbeBw(Phase::Refill);
const UP: Mode = Mode::ProbeBw(Phase::Up);

struct Path {
    bbr: Control,
    now: Time,
    rtt: Duration,
    /// The segments of a round trip.
    flight: u32,
    delivered: u64,
    lost: u64,
    /// Those of the last round trip.
    lost_in_round: u64,
    repair: Repair,
    /// The application holds the sender back.
    app_limited: bool,
}

impl Path {
    /// The connection is established.
    fn new() -> Path {
        Path::with(Endpoint::LinuxTcp, RTT, FLIGHT)
    }

    fn with(endpoint: Endpoint, rtt: Duration, flight: u32) -> Path {
        let connection = Connection { endpoint, ..Connection::new(1448) };
        let mut bbr = control(&Config::default(), &connection);
        let now = Time::ZERO + rtt;
        bbr.on_ack(&Ack { now, srtt: rtt, min_rtt: rtt, ..Ack::default() });
        let (lost, lost_in_round, repair) = (0, 0, Repair::None);
        let (delivered, app_limited) = (1, false);
        Path { bbr, now, rtt, flight, delivered, lost, lost_in_round, repair, app_limited }
    }

    fn at(&self) -> Ack {
        let (now, rtt) = (self.now, self.rtt);
        let (in_flight, limited) = (self.flight, true);
        Ack { now, srtt: rtt, min_rtt: rtt, in_flight, limited, ..Ack::default() }
    }

    /// A segment is delivered, which was sent a round trip ago.
    fn ack(&mut self) -> Decision {
        self.now += self.rtt / u64::from(self.flight);
        self.delivered += 1;
        let segments = u64::from(self.flight).min(self.delivered - 1);
        self.bbr.sample_rate(&RateSample {
            delivery: Some(Delivery { segments, interval: self.rtt }),
            delivered: self.delivered,
            delivered_at: self.now,
            prior_delivered: self.delivered - segments,
            lost: self.lost,
            prior_lost: self.lost - self.lost_in_round,
            tx_in_flight: self.flight,
            repair: self.repair,
            app_limited: self.app_limited,
            ..RateSample::default()
        });
        self.bbr.on_ack(&Ack { delivered: 1, advanced: true, rtt: Some(self.rtt), ..self.at() })
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
        self.lose(2, 1);
    }

    /// The transport finds this many losses, each `apart` segments after the one before it.
    fn lose(&mut self, losses: u64, apart: u64) {
        self.bbr.on_congestion(Congestion::Loss, false, &self.at());
        self.repair = Repair::Recovery;
        for lost in 1..=losses {
            self.lost += 1;
            self.bbr.sample_loss(&LossSample {
                now: self.now,
                seq: self.delivered + lost * apart,
                lost,
                tx_in_flight: self.flight,
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
    let acks = path.until(CRUISE);
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
    path.until(CRUISE);
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

/// The round trip of losses ends with a segment that was sent after they were found: one round trip behind the ten
/// segments of the acknowledgement that showed them.
#[test]
fn a_round_trip_of_losses_begins_with_the_acknowledgement_that_shows_them() {
    let mut path = Path::new();
    path.until(CRUISE);
    path.acks(FLIGHT + 1);
    let loss = LossSample { delivered: path.delivered + 10, ..LossSample::default() };
    path.bbr.on_congestion(Congestion::Loss, false, &path.at());
    path.repair = Repair::Recovery;
    path.bbr.sample_loss(&loss);
    let bounded = (1..).find(|_| {
        path.ack();
        path.bbr.model().bw_shortterm.is_some()
    });
    assert_eq!(bounded, Some(10 + FLIGHT));
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
    path.until(CRUISE);
    let before = path.ack().window.cwnd;
    let at = Ack { in_flight: 0, ..path.at() };
    assert_eq!(path.bbr.on_congestion(Congestion::Timeout, false, &at).window.cwnd, 1);
    path.repair = Repair::Timeout;
    assert_eq!(path.ack().window.cwnd, 4, "the least window");
    path.repair = Repair::None;
    assert_eq!(path.ack().window.cwnd, before);
}

/// Ten segments of 1448 bytes per 20 ms are 5.8 Mb/s: 15.9 Mb/s by the gain of 2.77, less 1 %. Without an RTT it is
/// taken for a millisecond.
#[test]
fn pacing_begins_with_the_initial_window_per_round_trip() {
    let tenths_of_mbps = |srtt| {
        let mut bbr = control(&Config::default(), &Connection::new(1448));
        let now = Time::ZERO + RTT;
        let decision = bbr.on_ack(&Ack { now, srtt, min_rtt: srtt, ..Ack::default() });
        decision.pacing.unwrap().as_bps() / 100_000
    };
    assert_eq!((tenths_of_mbps(RTT), tenths_of_mbps(Duration::ZERO)), (159, 3180));
}

/// In 20 ms: at the gain of startup 10 segments are 1.4 per millisecond, 100 are 13.7, and 1000 are 137. 64 KiB hold 45.
#[test]
fn a_burst_is_a_millisecond_of_the_rate() {
    for (flight, burst) in [(10, 2), (100, 13), (1000, 45)] {
        let mut path = Path::with(Endpoint::LinuxTcp, RTT, flight);
        path.acks(flight - 1);
        assert_eq!(path.ack().quantum, burst, "{flight} in flight");
    }
}

/// Ten segments per millisecond, and a round trip of one: bursts are 9 segments from the end of startup on, where they
/// were 27. Three of them are more than two products of 10 and the aggregation, and QUIC has one.
#[test]
fn the_window_has_three_bursts_of_tcp_and_one_of_quic() {
    for endpoint in [Endpoint::LinuxTcp, Endpoint::Quic] {
        let mut path = Path::with(endpoint, MS, 10);
        let mut decision = path.ack();
        while path.bbr.mode() != CRUISE {
            decision = path.ack();
        }
        let product = 20 + path.bbr.model().extra_acked as u32;
        assert!(product < 27, "{product}");
        let window = if endpoint == Endpoint::LinuxTcp { 27 } else { product };
        assert_eq!((decision.quantum, decision.window.cwnd), (9, window), "{endpoint:?}");
    }
}

/// After a timeout: four segments, and one more for each that is delivered. A window of a probe, of 2.25
/// products and two segments, falls to two products at once.
#[test]
fn the_window_grows_by_what_is_delivered_and_falls_at_once() {
    let mut path = Path::new();
    path.until(CRUISE);
    let at = Ack { in_flight: 0, ..path.at() };
    path.bbr.on_congestion(Congestion::Timeout, false, &at);
    path.repair = Repair::Timeout;
    let windows = [(); 4].map(|()| path.ack().window.cwnd);
    assert_eq!(windows, [4, 5, 6, 7]);
    path.repair = Repair::None;
    path.until(UP);
    path.acks(FLIGHT);
    let extra = path.bbr.model().extra_acked as u32;
    assert_eq!(path.ack().window.cwnd, 45 + 2 + extra);
    let mut decision = path.ack();
    while path.bbr.mode() == UP {
        decision = path.ack();
    }
    assert_eq!(decision.window.cwnd, 40 + extra);
}

/// A probe found a bound of 20 segments: 15 % of it are free while cruising, and none while the path is filled.
#[test]
fn cruising_leaves_a_part_of_the_bound_free() {
    let mut path = Path::new();
    path.until(UP);
    path.lose_two();
    path.recover();
    assert_eq!(path.ack().window.cwnd, 20);
    // The flight is 17 then.
    path.flight = 17;
    path.until(CRUISE);
    assert_eq!(path.ack().window.cwnd, 17);
    path.until(REFILL);
    path.acks(FLIGHT);
    assert_eq!(path.ack().window.cwnd, 20);
}

/// Five seconds at half the rate say nothing where the application limits it, and one round trip at twice the
/// rate does.
#[test]
fn a_limited_application_raises_the_bandwidth_alone() {
    let mut path = Path::new();
    path.until(CRUISE);
    let before = path.bbr.model().max_bw;
    path.app_limited = true;
    path.flight = FLIGHT / 2;
    path.acks(5 * 500);
    assert_eq!(path.bbr.model().max_bw, before);
    path.flight = FLIGHT * 2;
    path.acks(FLIGHT * 2);
    let part = path.bbr.model().max_bw.as_bps() as f64 / before.as_bps() as f64;
    assert!((part - 2.0).abs() < 0.001, "{part}");
}

/// Each of these is more than 2 % of a flight of 20.
#[test]
fn startup_ends_with_six_places_of_loss_in_a_round_trip_of_recovery() {
    for (losses, apart, repair, ends) in [
        (6, 2, Repair::Recovery, true),
        (5, 2, Repair::Recovery, false),
        // One place.
        (6, 1, Repair::Recovery, false),
        (6, 2, Repair::None, false),
    ] {
        let mut path = Path::new();
        path.acks(15);
        path.lose(losses, apart);
        (path.lost_in_round, path.repair) = (losses, repair);
        // The round trip began with the loss.
        path.acks(FLIGHT - 1);
        assert_eq!(path.bbr.mode(), Mode::Startup);
        path.acks(2);
        let model = path.bbr.model();
        assert_eq!(path.bbr.mode() != Mode::Startup, ends, "{losses} losses, {apart} apart");
        assert!(model.full_bw_count < 3);
        assert_eq!(model.inflight_longterm, ends.then_some(FLIGHT.into()));
    }
}

/// The bandwidth less 1 %, without the gain of the phase.
#[test]
fn after_a_pause_it_paces_at_the_bandwidth() {
    for mode in [DOWN, CRUISE, REFILL, UP] {
        let mut path = Path::new();
        path.until(UP);
        path.until(mode);
        let now = path.now + MS * 500;
        let decision = path.bbr.on_restart(Pause { now, length: MS * 500, rto: MS * 200 });
        let model = path.bbr.model();
        let part = decision.pacing.unwrap().as_bps() as f64 / model.max_bw.as_bps() as f64;
        assert!((part - 0.99).abs() < 0.001, "{mode:?}: {part}");
        assert!(model.idle_restart);
        path.ack();
        assert!(!path.bbr.model().idle_restart);
    }
}

/// Half a product is in flight, and a pause lasts longer than the 200 ms.
#[test]
fn a_pause_ends_the_measurement_of_the_rtt() {
    let mut path = Path::new();
    path.until(CRUISE);
    path.until(Mode::ProbeRtt);
    let whole = path.bbr.prior_cwnd;
    assert!(whole >= 2 * FLIGHT);
    path.flight = FLIGHT / 2;
    path.ack();
    let mut restart = |ms| {
        let (now, length) = (path.now + MS * ms, MS * ms);
        let cwnd = path.bbr.on_restart(Pause { now, length, rto: MS * 200 }).window.cwnd;
        (path.bbr.mode(), cwnd)
    };
    assert_eq!(restart(100), (Mode::ProbeRtt, FLIGHT / 2));
    assert_eq!(restart(300), (CRUISE, whole));
}
