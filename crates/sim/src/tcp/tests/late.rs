//! Time stamps: RTTs of data that was sent twice, and signs that data which was considered lost was only
//! late.

use l4s_model::Hold;

use super::*;
use crate::tcp::handshake::NO_FLAGS;

/// A flow in slow start without end, on a path with this fate, after this time.
fn after(
    ms: u64,
    fate: impl FnMut(&Segment, bool) -> Fate,
) -> Path<impl FnMut(&Segment, bool) -> Fate> {
    let mut path = Path::new(Config::Reno(reno::Config::default()), false, None, fate);
    path.run(at(MS * ms));
    path
}

/// Segments that are sent from 70 ms on arrive half a second after the start.
fn held(s: &Segment) -> Fate {
    let is_held = !s.stamps.sent.is_before(Stamp::at(at(MS * 70)));
    if is_held { Fate::Held(at(MS * 500)) } else { Fate::Arrive }
}

/// RFC 3522 §3.2: the original arrives first, and its time stamp is older than the retransmission.
#[test]
fn a_timeout_for_what_is_late_is_taken_back() {
    let path = after(1200, |s, _| held(s));
    let again = path.retransmissions();
    assert!(!again.is_empty() && again.len() <= 3, "one timeout: {again:?}");
    assert_eq!(path.sender.window().threshold(), None, "nothing was lost");
    assert!(path.sender.window().cwnd > 60, "{}", path.sender.window().cwnd);
}

/// RFC 5682 §3.1: the retransmission arrives first, and so does data that was sent once.
#[test]
fn new_segments_tell_that_a_timeout_was_none() {
    let path = after(1200, |s, again| if again { Fate::Arrive } else { held(s) });
    let again = path.retransmissions();
    assert!(!again.is_empty() && again.len() <= 3, "one timeout: {again:?}");
    assert_eq!(path.sender.window().threshold(), None, "nothing was lost");
}

/// RFC 3708 §3: the segment was sent again at once, and its original arrived after that.
#[test]
fn a_fast_retransmission_of_what_comes_twice_is_taken_back() {
    let by = MS * 25;
    let path = after(
        400,
        |s, again| if s.number() == 60 && !again { Fate::Late(by) } else { Fate::Arrive },
    );
    assert_eq!(path.retransmissions(), [60]);
    assert_eq!(path.sender.window().threshold(), None, "nothing was lost");
}

/// RFC 8985 §7.4.2: the last two of ten segments are late by more than the time until a probe, and their
/// acknowledgements are lost. That of the probe says that it came twice, so that nothing was lost.
#[test]
fn a_probe_that_comes_twice_repaired_no_loss() {
    let fate = |s: &Segment, again| match (s.number(), again) {
        (8 | 9, false) => Fate::Held(at(MS * 100)),
        (9, true) => Fate::Held(at(MS * 101)),
        _ => Fate::Arrive,
    };
    let (reno, application) = (Config::Reno(reno::Config::default()), Hold::None);
    let mut path = Path::with(reno, false, None, fate, |s| s.serve_application(application));
    path.ack_lost = |n| n == 9 || n == 10;
    for (segments, until) in [(10, 200), (2, 300)] {
        let mut sent = Sent::default();
        path.sender.write(segments * MSS, path.now, &mut sent);
        path.pass_on(sent);
        path.run(at(MS * until));
    }
    assert_eq!(path.retransmissions(), [9]);
    assert_eq!(path.sender.window().threshold(), None, "nothing was lost");
}

/// Of a path that duplicates packets, D-SACK says nothing about retransmissions: `tcp_dsack_seen` ignores reports of
/// more segments than were sent again. A loss stays a loss.
#[test]
fn a_path_that_duplicates_takes_no_reduction_back() {
    let path = after(1200, |s, again| match s.number() {
        60 if !again => Fate::Lose,
        seq if seq % 10 == 5 => Fate::Twice,
        _ => Fate::Arrive,
    });
    assert_eq!(path.retransmissions(), [60]);
    assert!(path.sender.window().threshold().is_some());
}

/// RFC 8985 §6.2 step 4: if segments are overtaken, the reordering window grows until it covers them. They
/// are late by seven tenths of an RTT. Later nothing is sent twice.
#[test]
fn what_is_late_again_and_again_is_waited_for() {
    let path = after(3_000, |s, again| match s.number() {
        // This loss ends slow start.
        30 if !again => Fate::Lose,
        seq if seq % 100 == 60 && !again => Fate::Late(RTT * 7 / 10),
        _ => Fate::Arrive,
    });
    let segments = path.log.last().unwrap().1;
    let again = path.retransmissions();
    assert!(segments > 5_000 && (3..20).contains(&again.len()), "{segments}: {again:?}");
    assert!(*again.last().unwrap() < segments / 4, "{segments}: {again:?}");
}

/// `tcp_may_raise_cwnd`: every other segment is overtaken by dozens, so that most acknowledgements are
/// selective. The window grows with each of them, as if nothing were late.
#[test]
fn a_window_grows_with_segments_that_arrive_in_any_order() {
    let window = |late: Duration| {
        let is_late = |s: &Segment| s.number() % 2 == 0 && !late.is_zero();
        let path = after(250, |s, _| if is_late(s) { Fate::Late(late) } else { Fate::Arrive });
        assert_eq!(path.sender.window().threshold(), None);
        path.sender.window().cwnd
    };
    let (in_order, late) = (window(Duration::ZERO), window(MS));
    assert!(late > in_order / 2, "{late}, {in_order} without reordering");
}

#[test]
fn a_loss_is_a_loss() {
    for lost in [vec![60], (40..200).collect()] {
        let path = after(1200, lose_first(&lost));
        assert!(path.retransmissions().len() >= lost.len().min(20));
        assert!(path.sender.window().threshold().is_some(), "{lost:?}");
    }
}

/// Without a receive window a flow with a hole would send new segments without end.
#[test]
fn a_hole_is_as_wide_as_the_receive_window() {
    let is_broken = std::cell::Cell::new(true);
    let mut path = after(60_000, |s, _| match s.number() {
        60 if is_broken.get() => Fate::Lose,
        _ => Fate::Arrive,
    });
    let highest = path.log.iter().map(|(_, seq, _)| *seq).max().unwrap();
    assert!(highest < 60 + 480, "{highest}");
    let attempts = path.retransmissions().len();
    assert!((5..20).contains(&attempts), "it backs off: {attempts}");
    // When it arrives, all other data is there.
    is_broken.set(false);
    path.run(at(Duration::from_secs(200)));
    assert!(path.sender.window().cwnd > 10);
}

/// RFC 7323 §4.3.
#[test]
fn the_echo_is_of_the_first_segment_that_was_not_acknowledged() {
    let mut receiver = Receiver::new(Feedback::None, RTT, FULL, None);
    let mut echoes = Vec::new();
    let mut arrive = |seq: u64, sent_ms: u64, now_ms: u64| {
        let sent = Stamp::at(at(MS * sent_ms));
        let arrived =
            Arrived { stamps: Stamps { sent, echo: Stamp::default() }, ..full(seq, Ecn::NotEct) };
        receiver.on_segment(arrived, at(MS * now_ms), |ack| {
            echoes
                .push((ack.cumulative / MSS, ack.stamps.echo.age(at(MS * now_ms)).as_millis_f64()));
        });
    };
    for seq in 0..ONE_BY_ONE {
        arrive(seq, seq, seq + 10);
    }
    // Two segments and one acknowledgement, with the time stamp of the first.
    arrive(24, 24, 34);
    arrive(25, 27, 37);
    // Above a hole it is still the last one in order, as 26 is late.
    arrive(27, 39, 49);
    arrive(26, 53, 63);
    // An old segment that arrives again is ignored.
    arrive(3, 68, 78);
    let last: Vec<_> = echoes.iter().skip(24).copied().collect();
    assert_eq!(last, [(26, 13.0), (26, 25.0), (28, 10.0), (28, 25.0)]);
}

/// A SYN-ACK that was sent more than once (RFC 6298 §3, RFC 7323 §4.1), and the window after it
/// (`tcp_init_transfer`).
#[test]
fn the_handshake_of_a_long_path_is_measured() {
    let config = SenderConfig {
        cc: Config::Reno(reno::Config::default()),
        ecn: None,
        refuses_rfc3168: false,
        echo: Marks::Latched,
        size: None,
        mss: FULL,
        initial_window: 10,
        rcvbuf: None,
        sndbuf: None,
        seed: 1,
    };
    let syn = Syn { ecn: Ecn::NotEct, flags: NO_FLAGS, sent: Stamp::default() };
    let request = |ms: u64, echo_ms: u64| Request {
        flags: NO_FLAGS,
        option: false,
        stamps: Stamps { sent: Stamp::at(at(MS * ms)), echo: Stamp::at(at(MS * echo_ms)) },
    };
    // The client's second SYN is answered, too; its answer to the first SYN-ACK arrives.
    let mut sender = Sender::new(&config);
    let mut sent = Sent::default();
    sender.on_syn(&syn, at(MS * 1500), &mut sent);
    sender.on_syn(&syn, at(MS * 2500), &mut sent);
    sender.on_request(&request(3000, 1500), at(MS * 3000), &mut sent);
    assert_eq!(sender.srtt(), Some(MS * 1500));
    assert_eq!((sender.window().cwnd, sent.0.len()), (10, 10));
    // The first two SYN-ACKs were lost.
    let mut sender = Sender::new(&config);
    let mut sent = Sent::default();
    sender.on_syn(&syn, at(MS * 20), &mut sent);
    sender.on_timer(at(MS * 1020), &mut sent);
    sender.on_timer(at(MS * 3020), &mut sent);
    sender.on_request(&request(3040, 3020), at(MS * 3040), &mut sent);
    assert_eq!(sender.srtt(), Some(MS * 20));
    assert_eq!((sender.window().cwnd, sent.0.len()), (1, 1));
}
