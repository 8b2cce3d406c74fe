//! Sets of tracers on a path that overtakes, marks and loses packets as a test requires: the common part of
//! both forms, and the parts of each form.

mod copies;
mod split;

use l4s_cc::prague::TracerSet;

use super::*;
use crate::packet::{AccEcn, HEADER};
use crate::tcp::Script;
use crate::tcp::sender::{TRACER, front};

/// Payload of a full segment with the AccECN option.
const PAYLOAD: u16 = FULL - 12;
/// Payload of the segment behind the front of a split set.
const TAIL: u64 = TRACER - 1;

/// The role of a packet in a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    Front,
    Middle,
    Rear,
    /// It belongs to no set.
    None,
}

const FORMS: [TracerSet; 2] = [TracerSet::Split, TracerSet::Copies];

/// A Prague connection that sends a set of this form per round trip. `fate` receives the role of each
/// segment in its set, and whether it is sent again.
fn traced(
    form: TracerSet,
    size: Option<u64>,
    mut fate: impl FnMut(&Segment, Of, bool) -> Fate,
) -> (Path<impl FnMut(&Segment, bool) -> Fate>, Script) {
    let script = Script::new(form);
    let known = script.clone();
    let fate = move |s: &Segment, again: bool| {
        let of = match s.ecn {
            _ if again => Of::None,
            Ecn::Ect0 => Of::Middle,
            _ if is_rear(s) => Of::Rear,
            _ if known.began_with(s.seq) => Of::Front,
            _ => Of::None,
        };
        fate(s, of, again)
    };
    (follow(script.clone(), size, fate), script)
}

/// Whether a segment sent for the first time is the rear of a set: it begins before others ended.
fn is_rear(s: &Segment) -> bool {
    [TRACER, TRACER - 1].contains(&s.payload.into()) && !s.fin && s.ecn == Ecn::Ect1
}

/// A Prague connection that sends sets as the script says.
fn follow(
    script: Script,
    size: Option<u64>,
    mut fate: impl FnMut(&Segment, bool) -> Fate,
) -> Path<impl FnMut(&Segment, bool) -> Fate> {
    // Marks that limit the growth of the window.
    let fate = move |s: &Segment, again: bool| match fate(s, again) {
        Fate::Arrive if s.number() % 100 == 50 && s.payload == PAYLOAD => Fate::Mark,
        fate => fate,
    };
    let config = Config::Prague(prague::Config::default());
    Path::with(config, true, size, fate, |sender| sender.follow(script))
}

/// The number of marks that the sender counted and that the receiver saw, and the mean window, if this
/// packet of each set is marked.
fn marked(form: TracerSet, marked: Of) -> (u32, u32, f64) {
    let (mut path, script) = traced(form, None, move |s, of, _| match of {
        of if of == marked && of != Of::None && s.number() > 100 => Fate::Mark,
        _ => Fate::Arrive,
    });
    path.run(at(RTT * 60));
    assert!(script.answers().sent > 40, "{:?}", script.answers());
    (path.sender.marks(), path.receiver.marks(), path.mean_window(RTT * 10))
}

#[test]
fn a_set_in_order_is_told_from_one_that_was_overtaken() {
    for form in FORMS {
        let (mut path, script) = traced(form, None, |_, _, _| Fate::Arrive);
        path.run(at(RTT * 50));
        let answers = script.answers();
        assert!(answers.sent > 40 && answers.in_order >= answers.sent - 2, "{form:?}: {answers:?}");
        assert_eq!(answers.overtaken, 0);
        // Late by a little, and by more than a round trip.
        for late in [SPACING * 3 / 2, MS, RTT * 2] {
            let (mut path, script) = traced(form, None, move |_, of, _| match of {
                Of::Middle => Fate::Late(late),
                _ => Fate::Arrive,
            });
            path.run(at(RTT * 50));
            let answers = script.answers();
            let told = answers.sent > 40 && answers.overtaken >= answers.sent - 5;
            assert!(told, "{form:?}, {late}: {answers:?}");
            assert_eq!(answers.in_order, 0);
            assert_eq!(path.retransmissions(), Vec::<u64>::new());
        }
    }
}

/// The situation of an empty Classic queue and a longer L4S queue. A front that is later than the rear
/// has the same effect as a lost front.
#[test]
fn a_middle_before_its_front_was_not_in_one_queue_with_it() {
    let cases = [(SPACING * 3 / 2, true), (SPACING * 5 / 2, false)];
    for (form, (late, tells)) in FORMS.into_iter().flat_map(|form| cases.map(|case| (form, case))) {
        let (mut path, script) = traced(form, None, move |_, of, _| match of {
            Of::Front => Fate::Late(late),
            _ => Fate::Arrive,
        });
        path.run(at(RTT * 50));
        let answers = script.answers();
        assert!(answers.sent > 40, "{form:?}, {late}: {answers:?}");
        let told = answers.overtaken >= answers.sent - 2;
        assert_eq!(told, tells, "{form:?}, {late}: {answers:?}");
        assert!(tells || answers.overtaken == 0, "{answers:?}");
        assert_eq!(answers.in_order, 0);
        assert_eq!(path.retransmissions(), Vec::<u64>::new());
    }
}

/// Lost packets of a set and of the stream are sent again, as any segment; the set then has no outcome.
#[test]
fn a_part_that_is_lost_tells_nothing_and_is_repaired_if_anybody_misses_it() {
    for (form, lost, missed) in [
        (TracerSet::Split, Of::Front, Some(front(PAYLOAD, AccEcn::with_option(Ecn::Ect1)))),
        (TracerSet::Split, Of::Middle, None),
        (TracerSet::Split, Of::Rear, Some(TAIL)),
        (TracerSet::Copies, Of::Front, Some(PAYLOAD.into())),
        (TracerSet::Copies, Of::Middle, None),
        (TracerSet::Copies, Of::Rear, None),
    ] {
        let mut again = Vec::new();
        let (mut path, script) = traced(form, None, |s, of, resent| {
            if resent {
                again.push(*s);
            }
            if of == lost { Fate::Lose } else { Fate::Arrive }
        });
        path.run(at(RTT * 60));
        let next = path.receiver.next();
        drop(path);
        let answers = script.answers();
        assert!(answers.sent > 10, "{form:?}: {answers:?}");
        let told = (answers.overtaken, answers.in_order);
        assert_eq!(told, (0, 0), "{form:?}, {lost:?}: {answers:?}");
        assert_eq!(again.is_empty(), missed.is_none(), "{form:?}, {lost:?}: {again:?}");
        assert!(again.last().is_none_or(|s| s.seq < next));
        for s in again {
            assert_eq!((s.payload.into(), s.ecn), (missed.unwrap(), Ecn::Ect1));
        }
    }
}

#[test]
fn a_flow_delivers_its_bytes_whatever_is_lost() {
    let sizes = [100_000, 100_001, 144_800, 200_123].into_iter().cycle();
    for (seed, size) in (0..300).zip(sizes) {
        let form = FORMS[usize::from(seed >= 150)];
        let mut rng = stream(seed, "tracers");
        let mut fin = None;
        let (mut path, script) = traced(form, Some(size), |s, _, _| {
            fin = fin.or(s.fin.then_some(s.seq + u64::from(s.payload)));
            match rng.next_u32() % 10 {
                0 => Fate::Lose,
                1 | 2 => Fate::Late(MS * 7),
                3 => Fate::Mark,
                _ => Fate::Arrive,
            }
        });
        path.ack_lost = |n| n % 7 == 0;
        path.run(at(Duration::from_secs(600)));
        assert_eq!(path.sender.state(), State::Closed, "seed {seed}");
        let next = path.receiver.next();
        drop(path);
        assert!(script.answers().sent > 2);
        assert_eq!((next, fin), (size, Some(size)), "seed {seed}");
    }
}
