//! Public test cases of Linux' TCP as scripts of the simulated sender: its segments at each
//! acknowledgement, its states and its windows.
//!
//! The facts are from google/packetdrill, `gtests/net/tcp`; each test names the file. Segments have
//! 1000 B in both, so that a range of segments stands for their bytes. Connections there have no time
//! stamps. Here each acknowledgement echoes the present time, so that a time stamp gives no sample,
//! or one that equals the RTT.

use super::*;
use l4s_model::Hold;

const SEGMENT: u64 = 1000;

/// A server with Cubic that an application writes to, and the segments sent since the last query.
struct Case {
    sender: Sender,
    now: Time,
    sent: Sent,
    /// The age of the time stamps that acknowledgements echo.
    age: Duration,
}

impl Case {
    /// A connection over a path of this RTT.
    fn connected(rtt_ms: u64, ecn: Option<Ecn>) -> Case {
        Case::holding(Hold::None, rtt_ms, ecn)
    }

    /// The same, with this option of the application.
    fn holding(hold: Hold, rtt_ms: u64, ecn: Option<Ecn>) -> Case {
        let config = SenderConfig {
            cc: Config::Cubic(cubic::Config::default()),
            ecn,
            refuses_rfc3168: false,
            echo: Marks::Latched,
            size: None,
            mss: SEGMENT as u16,
            initial_window: 10,
            rcvbuf: None,
            sndbuf: None,
            seed: 1,
        };
        let (mut sender, mut sent) = (Sender::new(&config), Sent::default());
        sender.serve_application(hold);
        let flags = if ecn.is_some() { Mode::Classic } else { Mode::NotEcn }.syn();
        let syn = Syn { ecn: Ecn::NotEct, flags, sent: Stamp::default() };
        sender.on_syn(&syn, at(MS * 100), &mut sent);
        let now = at(MS * (100 + rtt_ms));
        let request =
            Request { flags: EcnFlags::default(), option: false, stamps: Stamps::default() };
        sender.on_request(&request, now, &mut sent);
        Case { sender, now, sent, age: Duration::ZERO }
    }

    /// Advances the time; timers fire.
    fn wait(&mut self, ms: u64) -> &mut Case {
        let end = self.now + MS * ms;
        while self.sender.deadline() <= end {
            self.now = self.now.max(self.sender.deadline());
            self.sender.on_timer(self.now, &mut self.sent);
        }
        self.now = end;
        self
    }

    /// The application writes segments.
    fn write(&mut self, segments: u64) -> &mut Case {
        self.sender.write(segments * SEGMENT, self.now, &mut self.sent);
        self
    }

    fn acknowledge(&mut self, cumulative: u64, blocks: &[(u64, u64)], ece: bool) -> &mut Case {
        let mut sacks = [(0, 0); 3];
        for (sack, (from, to)) in sacks.iter_mut().zip(blocks) {
            let distance = |segment: u64| ((segment - cumulative) * SEGMENT) as u32;
            *sack = (distance(*from), distance(*to));
        }
        self.acknowledge_bytes(cumulative * SEGMENT, sacks, ece)
    }

    fn acknowledge_bytes(
        &mut self,
        cumulative: u64,
        sacks: [(u32, u32); 3],
        ece: bool,
    ) -> &mut Case {
        let ack = Ack {
            cumulative,
            sacks,
            duplicate: None,
            ece,
            ace: 0,
            option: None,
            window: 320 << 7,
            stamps: Stamps {
                sent: Stamp::at(self.now),
                echo: Stamp::at(self.now.saturating_sub(self.age)),
            },
        };
        self.sender.on_ack(&ack, self.now, &mut self.sent);
        self
    }

    /// All segments before `cumulative` are acknowledged, and those in blocks.
    fn ack(&mut self, cumulative: u64, blocks: &[(u64, u64)]) -> &mut Case {
        self.acknowledge(cumulative, blocks, false)
    }

    /// Asserts that it has sent these segments, in this order, and no others.
    #[track_caller]
    fn sends(&mut self, segments: &[u64]) -> &mut Case {
        let sent = std::mem::take(&mut self.sent.0);
        let sent: Vec<u64> = sent.iter().map(|(segment, _)| segment.seq / SEGMENT).collect();
        assert_eq!(sent, segments);
        self
    }

    #[track_caller]
    fn has_window(&mut self, cwnd: u32) -> &mut Case {
        assert_eq!(self.sender.window().cwnd, cwnd);
        self
    }

    #[track_caller]
    fn has_threshold(&mut self, ssthresh: u32) -> &mut Case {
        assert_eq!(self.sender.window().threshold(), Some(ssthresh));
        self
    }

    #[track_caller]
    fn is_in(&mut self, state: State) -> &mut Case {
        assert_eq!(self.sender.state(), state);
        self
    }
}

const FIRST: [u64; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

// --- Round trips -------------------------------------------------------------------------------------

/// RFC 7323 §4.1: the time stamp says 60 ms, and the two transmissions 450 and 150 ms. 7/8 of the 100 ms of the
/// handshake and 1/8 of these are 95 ms.
#[test]
fn the_round_trip_of_a_segment_that_was_sent_twice_is_that_of_its_time_stamp() {
    let mut case = Case::connected(100, None);
    case.write(1).sends(&[0]);
    case.wait(450).sends(&[0]);
    case.age = MS * 60;
    case.ack(1, &[]);
    assert_eq!(case.sender.srtt(), Some(MS * 95));
}

// --- Fast retransmission -----------------------------------------------------------------------------

/// `fast_retransmit/fr-4pkt-sack`: three segments selectively acknowledged.
#[test]
fn three_later_segments_show_a_loss() {
    let mut case = Case::connected(100, None);
    case.write(4).sends(&[0, 1, 2, 3]);
    case.wait(100).ack(0, &[(1, 2)]).ack(0, &[(1, 3)]).sends(&[]);
    case.ack(0, &[(1, 4)]).sends(&[0]).is_in(State::Recovery);
    case.wait(100).ack(4, &[]).sends(&[]).is_in(State::Open);
}

/// `fast_retransmit/fr-4pkt-fack-last-mss`: RACK waits for a quarter of the round trip.
#[test]
fn one_later_segment_shows_a_loss_after_the_reordering_window() {
    let mut case = Case::connected(100, None);
    case.write(4).sends(&[0, 1, 2, 3]);
    case.wait(100).ack(0, &[(3, 4)]).sends(&[]);
    case.wait(20).sends(&[]);
    case.wait(20);
    assert_eq!(case.sent.0[0].0.seq, 0);
}

/// RFC 8985 §6.2 step 5: the timer waits for the last of those that were sent before the one that arrived, and
/// finds all of them at once (`tcp_rack_detect_loss`).
#[test]
fn the_reordering_window_is_that_of_the_last_segment_before_it() {
    let mut case = Case::connected(100, None);
    for segment in [0, 1, 2] {
        case.write(1).sends(&[segment]).wait(10);
    }
    // Segment 2 arrives after 100 ms. A quarter of that is left to segment 0 until 125 ms, and to 1 until 135 ms.
    case.wait(90).ack(0, &[(2, 3)]);
    case.wait(12).sends(&[]);
    case.wait(8).sends(&[0]).is_in(State::Recovery);
}

/// `limited_transmit/limited-transmit-sack` (RFC 3042).
#[test]
fn the_first_two_duplicates_send_a_new_segment_each() {
    let mut case = Case::connected(100, None);
    case.write(15).sends(&FIRST);
    case.wait(110).ack(0, &[(1, 2)]).sends(&[10]);
    case.wait(10).ack(0, &[(1, 3)]).sends(&[11]);
    // The cause was reordering.
    case.wait(10).ack(3, &[]).sends(&[12, 13]).is_in(State::Open);
    case.wait(20).ack(5, &[]).sends(&[14]);
}

/// `cwnd_moderation/cwnd-moderation-disorder-no-moderation`.
#[test]
fn a_segment_out_of_order_changes_no_window() {
    let mut case = Case::connected(100, None);
    case.write(4).sends(&[0, 1, 2, 3]).has_window(10);
    case.wait(100).ack(0, &[(1, 2)]).has_window(10).is_in(State::Open);
}

/// `sack/sack-shift-sacked-2-6-8-3-9-nofack`: blocks in any order, and the segments left as lost.
#[test]
fn blocks_come_in_any_order() {
    let mut case = Case::connected(100, None);
    case.write(10).sends(&FIRST);
    case.wait(100).ack(0, &[(2, 3)]);
    case.wait(1).ack(0, &[(2, 3), (6, 7)]).sends(&[]);
    case.wait(1).ack(0, &[(2, 3), (6, 7), (8, 9)]).sends(&[0]).is_in(State::Recovery);
    case.wait(7).ack(0, &[(2, 4), (6, 7), (8, 9)]).sends(&[1]);
    case.wait(10).ack(0, &[(2, 4), (6, 7), (8, 10)]);
    case.wait(83).ack(1, &[(2, 4), (6, 7), (8, 10)]);
    case.wait(17).ack(4, &[(6, 7), (8, 10)]);
    case.wait(10).ack(7, &[(8, 10)]).is_in(State::Recovery);
    case.wait(100).ack(10, &[]).is_in(State::Open);
    // Each lost segment is sent once.
    let mut again: Vec<u64> = case.sent.0.iter().map(|(s, _)| s.seq / SEGMENT).collect();
    again.sort_unstable();
    assert_eq!(again, [4, 5, 7]);
}

// --- Proportional rate reduction (RFC 9937) ----------------------------------------------------------

/// `fast_recovery/prr-ss-10pkt-lost-1`: the flight equals the threshold throughout.
#[test]
fn a_reduction_sends_a_segment_for_each_that_arrives() {
    let mut case = Case::connected(100, None);
    case.write(10).sends(&FIRST);
    case.wait(110).ack(0, &[(1, 2)]).wait(10).ack(0, &[(1, 3)]).sends(&[]);
    case.wait(10).ack(0, &[(1, 4)]).sends(&[0]);
    case.wait(10).is_in(State::Recovery).has_window(7).has_threshold(7);
    case.wait(10).write(7).sends(&[]);
    for (to, new) in (5..=10).zip(10..) {
        case.wait(10).ack(0, &[(1, to)]).sends(&[new]);
    }
    case.wait(20).ack(10, &[]).sends(&[16]).is_in(State::Open).has_window(7).has_threshold(7);
}

/// `fast_recovery/prr-ss-30pkt-lost1_4`: the first four are lost. Afterwards a window of the
/// threshold is sent at once.
#[test]
fn a_reduction_ends_with_a_window_of_the_threshold() {
    let mut case = Case::connected(10, None);
    case.write(10).sends(&FIRST);
    case.wait(10).ack(0, &[(4, 5)]).wait(2).ack(0, &[(4, 6)]).sends(&[]);
    for (to, again) in (7..=10).zip(0..) {
        case.ack(0, &[(4, to)]).sends(&[again]);
    }
    case.wait(10).ack(1, &[(4, 10)]).ack(2, &[(4, 10)]).ack(3, &[(4, 10)]).ack(10, &[]).sends(&[]);
    case.wait(10).write(10).sends(&[10, 11, 12, 13, 14, 15, 16]);
}

/// `fast_recovery/prr-ss-30pkt-lost-1_4-11_16`: in proportion, then conservatively, then in slow start.
#[test]
fn a_reduction_grows_back_where_losses_took_more() {
    let mut case = Case::connected(10, None);
    case.write(20).sends(&FIRST);
    case.wait(10).ack(0, &[(4, 5)]).sends(&[10]);
    case.wait(2).ack(0, &[(4, 6)]).sends(&[11]);
    for (to, again) in (7..=10).zip(0..) {
        case.wait(2).ack(0, &[(4, to)]).sends(&[again]);
    }
    case.wait(2).ack(0, &[(4, 11)]).sends(&[12]);
    case.wait(2).ack(0, &[(4, 12)]).sends(&[13]);
    case.wait(10).ack(1, &[(4, 12)]).sends(&[14, 15]);
}

/// `fast_recovery/prr-ss-ack-below-snd_una-cubic`: the blocks of an acknowledgement count even if it was
/// overtaken.
#[test]
fn an_old_acknowledgement_tells_of_blocks() {
    let mut case = Case::connected(10, None);
    case.write(10).sends(&FIRST);
    case.wait(10).ack(0, &[(1, 2)]).ack(0, &[(1, 3)]).ack(0, &[(8, 9), (1, 3)]).sends(&[0]);
    // A lower RTT than the path's would leave no window for reordering.
    case.age = MS * 10;
    case.wait(12).ack(4, &[(8, 9)]).sends(&[4, 5, 6]);
    case.write(10).sends(&[]);
    case.wait(2).ack(3, &[(5, 7)]).sends(&[7, 10]);
}

/// An acknowledgement older than the largest receive window is not part of the connection (RFC 5961 §5.2).
#[test]
fn an_acknowledgement_older_than_the_window_tells_nothing() {
    let mut case = Case::connected(10, None);
    case.write(300);
    let mut una = 0;
    while una < 70 {
        una = case.sent.0.last().unwrap().0.seq / SEGMENT + 1;
        case.wait(10).ack(una, &[]);
    }
    // The window is 320 · 128 B, 40.96 segments.
    case.wait(10).ack(29, &[(71, 74)]).is_in(State::Open);
    case.ack(30, &[(71, 74)]).is_in(State::Recovery);
}

/// `cwnd_moderation/cwnd-moderation-ecn-enter-cwr-no-moderation-700`: a mark while the window is
/// not used. The file has a window of 4: three in flight, and one. It is for kernels without
/// SafeACK, which adds another.
#[test]
fn a_mark_reduces_the_window_to_what_is_in_flight_and_two_more() {
    let mut case = Case::connected(100, Some(Ecn::Ect0));
    case.write(4).sends(&[0, 1, 2, 3]).wait(5).has_window(10);
    case.wait(95).acknowledge(1, &[], true).wait(5).is_in(State::Cwr).has_window(5);
}

/// `ecn/ecn-uses-ect0`.
#[test]
fn data_over_classic_ecn_is_ect0() {
    let mut case = Case::connected(2, Some(Ecn::Ect0));
    case.write(1);
    assert_eq!(case.sent.0[0].0.ecn, Ecn::Ect0);
}

// --- Timeouts ----------------------------------------------------------------------------------------

/// `cubic/cubic-rto-ss-ca-cwnd-bump`: a probe, a timeout, slow start and congestion avoidance.
#[test]
fn after_a_timeout_the_window_doubles_up_to_the_threshold() {
    let mut case = Case::connected(100, None);
    case.write(1).sends(&[0]).wait(100).ack(1, &[]).has_window(10);
    case.write(1).sends(&[1]);
    // The probe is sent at the time of the timeout.
    case.wait(299).sends(&[]).wait(5).sends(&[1]);
    case.wait(290).sends(&[]).wait(10).sends(&[1]).is_in(State::Loss);
    case.wait(100).ack(2, &[]).has_window(2).has_threshold(7);
    case.write(200).sends(&[2, 3]).has_window(2);
    case.wait(100).ack(3, &[]).sends(&[4, 5]).has_window(3);
    case.wait(2).ack(4, &[]).sends(&[6, 7]).has_window(4);
    case.wait(98).ack(5, &[]).sends(&[8, 9]).has_window(5);
    case.wait(2).ack(6, &[]).sends(&[10, 11]).has_window(6);
    case.wait(2).ack(7, &[]).sends(&[12, 13]).has_window(7);
    case.wait(2).ack(8, &[]).sends(&[14]).has_window(7);
}

// --- Slow start --------------------------------------------------------------------------------------

/// `slow_start/slow-start-app-limited`, `slow-start-app-limited-9-packets-out`.
#[test]
fn a_window_that_is_used_by_half_may_double() {
    let mut case = Case::connected(100, None);
    case.write(10).wait(105);
    for n in 1..=5_u32 {
        case.ack(u64::from(2 * n), &[]).has_window(10 + 2 * n).wait(5);
    }
    let mut case = Case::connected(100, None);
    case.write(9).wait(105);
    for n in 1..=4_u32 {
        case.ack(u64::from(2 * n), &[]).has_window(10 + 2 * n).wait(5);
    }
    case.ack(9, &[]).has_window(18);
}

/// `slow_start/slow-start-after-idle`: two seconds.
#[test]
fn after_a_pause_the_window_is_the_initial_one() {
    let mut case = Case::connected(100, None);
    case.write(26).wait(100).ack(10, &[]).has_window(20);
    case.wait(100).ack(26, &[]).has_window(36);
    case.wait(2000).write(20).has_window(10);
}

// --- Segments that are not full ----------------------------------------------------------------------

/// The ends of the segments that it has sent.
fn ends(case: &mut Case) -> Vec<u64> {
    let sent = std::mem::take(&mut case.sent.0);
    sent.iter().map(|(segment, _)| segment.seq + u64::from(segment.payload)).collect()
}

fn write_bytes(case: &mut Case, bytes: u64) {
    case.sender.write(bytes, case.now, &mut case.sent);
}

/// tcp(7), TCP_NODELAY: "segments are always sent as soon as possible".
#[test]
fn with_nodelay_each_write_is_a_segment() {
    let mut case = Case::connected(100, None);
    for end in [100, 200, 300] {
        write_bytes(&mut case, 100);
        assert_eq!(ends(&mut case), [end]);
    }
}

/// RFC 1122 §4.2.3.4: a small segment waits for the acknowledgement of the last one, or for more.
#[test]
fn nagles_algorithm_has_one_small_segment_in_flight() {
    let mut case = Case::holding(Hold::Nagle, 100, None);
    write_bytes(&mut case, 100);
    assert_eq!(ends(&mut case), [100]);
    write_bytes(&mut case, 300);
    write_bytes(&mut case, 500);
    assert_eq!(ends(&mut case), [0; 0]);
    // Full segments are sent at once: 300 + 500 + 400 B are one, and 200 B more.
    write_bytes(&mut case, 400);
    assert_eq!(ends(&mut case), [1100]);
    // The small segment arrived.
    case.wait(100).acknowledge_bytes(100, Default::default(), false);
    assert_eq!(ends(&mut case), [1300]);
}

/// A cork waits for a full segment; or, where nothing is in flight, for a retransmission timeout,
/// here the round trip and 200 ms.
#[test]
fn a_cork_waits_for_a_full_segment_or_a_timeout() {
    let mut case = Case::holding(Hold::Cork, 100, None);
    write_bytes(&mut case, 600);
    assert_eq!(ends(&mut case), [0; 0]);
    write_bytes(&mut case, 600);
    assert_eq!(ends(&mut case), [1000]);
    case.wait(100).ack(1, &[]);
    assert_eq!(ends(&mut case), [0; 0]);
    case.wait(299);
    assert_eq!(ends(&mut case), [0; 0]);
    case.wait(2);
    assert_eq!(ends(&mut case), [1200]);
    // It is sent again as any other.
    case.wait(1000);
    assert_eq!(ends(&mut case)[0], 1200);
}
