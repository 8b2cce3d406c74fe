//! Sets that are copies of the end of a segment: they are not part of the stream, and the sender's TCP does
//! not see them.

use super::*;
use crate::message::Duplicate;
use crate::tcp::accecn::INITIAL_BYTES;

#[test]
fn a_set_is_a_full_segment_and_its_end_twice() {
    let mut seen = Vec::new();
    let (mut path, script) = traced(TracerSet::Copies, None, |s, _, _| {
        seen.push(*s);
        Fate::Arrive
    });
    path.run(at(RTT * 20));
    drop(path);
    assert!((15..22).contains(&script.answers().sent), "{:?}", script.answers());
    let middles: Vec<usize> = (0..seen.len()).filter(|n| seen[*n].ecn == Ecn::Ect0).collect();
    assert_eq!(middles.len() as u32, script.answers().sent);
    for n in middles {
        let [front, middle, rear] = [seen[n - 1], seen[n], seen[n + 1]];
        assert_eq!([front.payload, middle.payload, rear.payload], [PAYLOAD, 98, 97]);
        assert_eq!([front.ecn, rear.ecn], [Ecn::Ect1; 2]);
        let ends = [front, middle, rear].map(|s| s.seq + u64::from(s.payload));
        assert_eq!(ends, [ends[0]; 3]);
        assert!(!middle.push && !rear.push && !middle.fin && !rear.fin);
    }
    // All other segments are the stream, in order.
    let stream: Vec<_> = seen.iter().filter(|s| s.payload == PAYLOAD).collect();
    assert!(stream.iter().enumerate().all(|(n, s)| s.seq == n as u64 * u64::from(PAYLOAD)));
}

/// A set does not change the stream: the same losses are detected, with the same window. But the receiver
/// acknowledges immediately for some time, so that the next segments are sent a little
/// earlier.
#[test]
fn nothing_of_a_set_changes_the_stream() {
    // One in 200 is lost, and others are marked, fronts or not.
    let run = |sets: bool| {
        let lose = |s: &Segment, again: bool| match s.number() % 200 {
            77 if !again && s.payload == PAYLOAD => Fate::Lose,
            _ => Fate::Arrive,
        };
        let script = Script::new(TracerSet::Copies);
        if !sets {
            script.stop();
        }
        let mut path = follow(script.clone(), None, lose);
        path.run(at(RTT * 100));
        let copies = 2 * script.answers().sent;
        let stream = path.log.len() as u32 - copies;
        (stream, path.retransmissions(), path.mean_window(RTT * 20), copies)
    };
    let (with, without) = (run(true), run(false));
    assert!(with.3 > 100 && without.3 == 0 && without.1.len() > 3);
    assert_eq!(with.1, without.1, "sent again");
    assert!((without.0..without.0 * 101 / 100).contains(&with.0), "{} {}", with.0, without.0);
    assert!((with.2 / without.2 - 1.0).abs() < 0.1, "{} {}", with.2, without.2);
}

/// An answer is a duplicate acknowledgement without a block of the sender's own. It has no effect.
#[test]
fn an_answer_is_nothing_to_the_sender() {
    // The first window is acknowledged, and the next one is in flight.
    let (mut path, _) = traced(TracerSet::Copies, None, |_, _, _| Fate::Arrive);
    path.run(at(RTT * 2 + MS));
    path.now = at(RTT * 2 + MS);
    let cumulative = path.receiver.next();
    assert_eq!((cumulative, path.sender.window().cwnd), (10 * u64::from(PAYLOAD), 20));
    let state = |sender: &Sender| {
        let window = sender.window();
        (window.cwnd, window.ssthresh, sender.state(), sender.deadline())
    };
    let before = state(&path.sender);
    for copy in [TRACER as u16, TRACER as u16 - 1] {
        let mut sent = Sent::default();
        let duplicate = Some(Duplicate { distance: -i32::from(copy), length: copy });
        let sacks = [(0, 0); 3];
        let ack = Ack {
            cumulative,
            sacks,
            duplicate,
            ece: false,
            ace: 0,
            option: Some(INITIAL_BYTES),
            window: u32::MAX,
            stamps: Stamps::default(),
        };
        path.sender.on_ack(&ack, path.now, &mut sent);
        assert!(sent.0.is_empty());
        assert_eq!(state(&path.sender), before);
    }
}

/// The program at the device that sends copies does not change the counts of TCP.
#[test]
fn a_marked_copy_counts_as_any_mark() {
    let (_, _, clean) = marked(TracerSet::Copies, Of::None);
    for copy in [Of::Middle, Of::Rear] {
        let (told, seen, window) = marked(TracerSet::Copies, copy);
        // The last ones are in flight.
        assert!(seen > 30 && told.abs_diff(seen) <= 2, "{copy:?}: {told} {seen}");
        assert!(window < clean * 0.95, "{copy:?}: {window} {clean}");
    }
}
