//! Sets that are parts of the stream (Fallback §5.2).

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::packet::{FRONT, TRACER};

#[test]
fn a_set_is_three_packets_as_long_as_one() {
    let mut seen = Vec::new();
    let (mut path, script) = traced(TracerSet::Split, None, |s, _, _| {
        seen.push(*s);
        Fate::Arrive
    });
    path.run(at(RTT * 20));
    drop(path);
    assert!((15..22).contains(&script.answers().sent), "{:?}", script.answers());
    let middles: Vec<usize> = (0..seen.len()).filter(|n| seen[*n].part == Part::Middle).collect();
    assert_eq!(middles.len() as u32, script.answers().sent);
    for n in middles {
        let [front, middle, rear] = [seen[n - 1], seen[n], seen[n + 1]];
        assert_eq!([front.payload, middle.payload, rear.payload], [FRONT, TRACER, TRACER]);
        assert_eq!([front.ecn, middle.ecn, rear.ecn], [Ecn::Ect1, Ecn::Ect0, Ecn::Ect1]);
        assert_eq!((rear.part, middle.seq, rear.seq), (Part::Rear, front.seq + 1, front.seq + 1));
        assert!(n < 2 || seen[n - 2].part != Part::Middle);
    }
}

/// A middle is in the queue of others: its mark is not for this window.
#[test]
fn a_marked_middle_changes_nothing_and_a_marked_rear_does() {
    let (_, _, clean) = marked(TracerSet::Split, Of::None);
    let (told, seen, window) = marked(TracerSet::Split, Of::Middle);
    assert!(seen > 30 && told.abs_diff(seen) <= 1, "the receiver counts them: {told} {seen}");
    assert!((window / clean - 1.0).abs() < 0.01, "{window} {clean}");
    let (.., window) = marked(TracerSet::Split, Of::Rear);
    assert!(window < clean * 0.95, "{window} {clean}");
}

/// Sets in what an application writes: each write ends with a segment of its own, which is pushed,
/// and is delivered when that is there.
#[test]
fn each_write_has_its_own_bytes_whatever_is_lost() {
    for seed in 0..100 {
        let mut rng = stream(seed, "writes");
        // Payload of each segment that was sent, and whether it was pushed.
        let segments = Rc::new(RefCell::new(Vec::<(u16, bool)>::new()));
        let (sent, mut again) = (segments.clone(), 0);
        let fate = |s: &Segment, resent: bool| {
            let payload = s.payload - u16::from(s.part.lead());
            let mut sent = sent.borrow_mut();
            if resent {
                again += 1;
                assert_eq!(sent[s.seq as usize].0, payload);
            } else if s.part != Part::Middle {
                assert_eq!(sent.len() as u64, s.seq);
                sent.push((payload, s.push));
            }
            match rng.next_u32() % 20 {
                0 => Fate::Lose,
                1 | 2 => Fate::Late(MS * 7),
                3 => Fate::Mark,
                _ => Fate::Arrive,
            }
        };
        let script = Script::new(TracerSet::Split);
        let config = Config::Prague(prague::Config::default());
        let mut path = Path::with(config, true, None, fate, |sender| {
            sender.follow(script.clone());
            sender.serve_application();
        });
        let mut sizes = stream(seed, "sizes");
        // Where each write ends.
        let mut ends = Vec::new();
        let mut end = 0;
        for _ in 0..100 {
            path.run(path.now + MS * 15);
            path.now += MS * 15;
            let size = u64::from(sizes.next_u32() % 20_000 + 1);
            end += size;
            ends.push(end);
            let mut out = Sent::default();
            path.sender.write(size, path.now, &mut out);
            path.pass_on(out);
            let received: u64 = segments.borrow()[..path.receiver.next() as usize]
                .iter()
                .map(|(payload, _)| u64::from(*payload))
                .sum();
            let undelivered = ends.iter().filter(|end| **end > received).count();
            assert_eq!(path.sender.undelivered_writes(path.receiver.next()), undelivered);
        }
        path.run(path.now + Duration::from_secs(600));
        assert_eq!(path.sender.undelivered_writes(path.receiver.next()), 0, "seed {seed}");
        drop(path);
        assert!(script.answers().sent > 20 && again > 10, "{:?} {again}", script.answers());
        let mut at = 0;
        let mut ends = ends.into_iter().peekable();
        for (payload, pushed) in segments.borrow().iter() {
            at += u64::from(*payload);
            if ends.next_if_eq(&at).is_some() {
                assert!(pushed);
            }
        }
        assert_eq!((at, ends.next()), (end, None), "seed {seed}");
    }
}
