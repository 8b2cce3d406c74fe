//! Sets that are parts of the stream (Fallback §5.2).

use super::*;
use l4s_model::Hold;

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
    let middles: Vec<usize> = (0..seen.len()).filter(|n| seen[*n].ecn == Ecn::Ect0).collect();
    assert_eq!(middles.len() as u32, script.answers().sent);
    for n in middles {
        let [first, middle, rear] = [seen[n - 1], seen[n], seen[n + 1]];
        let bytes = |s: Segment| (s.seq, s.seq + u64::from(s.payload));
        let (from, end) = bytes(first);
        let option = u64::from(first.accecn.option_length());
        assert_eq!(option, 12);
        // Fallback §5.2: two bytes, and one, of the front; the middle ends a byte short.
        assert_eq!(bytes(middle), (end - 2, end + TAIL - 1));
        assert_eq!(bytes(rear), (end - 1, end + TAIL));
        assert_eq!([first.ecn, rear.ecn], [Ecn::Ect1; 2]);
        let payload = u64::from(first.payload) + 2 * TRACER;
        assert_eq!(payload + 3 * (HEADER + option), MSS + HEADER);
        // The following data has no gap.
        assert!(seen.get(n + 2).is_none_or(|next| next.seq == end + TAIL));
        assert!(n < 2 || bytes(seen[n - 2]).1 == from);
    }
}

/// A middle is in the queue of other traffic, so its mark does not reduce this window.
#[test]
fn a_marked_middle_changes_nothing_and_a_marked_rear_does() {
    let (_, _, clean) = marked(TracerSet::Split, Of::None);
    let (told, seen, window) = marked(TracerSet::Split, Of::Middle);
    // The marks of a middle and of another packet may be in flight to the sender.
    assert!(seen > 30 && seen - told <= 2, "the receiver counts them: {told} {seen}");
    assert!((window / clean - 1.0).abs() < 0.01, "{window} {clean}");
    let (.., window) = marked(TracerSet::Split, Of::Rear);
    assert!(window < clean * 0.95, "{window} {clean}");
}

/// Sets in the writes of an application: a write is delivered when its bytes have arrived, and the last
/// segment of the stream is pushed.
#[test]
fn each_write_has_its_own_bytes_whatever_is_lost() {
    for seed in 0..100 {
        let mut rng = stream(seed, "writes");
        // The ends of pushed segments, and the number of retransmissions.
        let (mut pushed, mut again) = (std::collections::BTreeSet::new(), 0);
        let fate = |s: &Segment, resent: bool| {
            again += u32::from(resent);
            if s.push {
                pushed.insert(s.seq + u64::from(s.payload));
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
            sender.serve_application(Hold::None);
        });
        let mut sizes = stream(seed, "sizes");
        // The end of each write.
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
            let received = path.receiver.next();
            let undelivered = ends.iter().filter(|end| **end > received).count();
            assert_eq!(path.sender.undelivered_writes(received), undelivered);
        }
        path.run(path.now + Duration::from_secs(600));
        let received = path.receiver.next();
        assert_eq!((path.sender.undelivered_writes(received), received), (0, end), "seed {seed}");
        drop(path);
        assert!(script.answers().sent > 20 && again > 10, "{:?} {again}", script.answers());
        assert!(pushed.contains(&end), "seed {seed}");
    }
}
