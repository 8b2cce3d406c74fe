//! DualPI2 before a link that takes packets in turns: the time until the next turn causes no marks.

mod common;

use common::{Rig, ms};
use l4s_aqm::dualpi2::{Config, LAqm, LWait, Step};
use l4s_units::{Duration, Ecn};

/// A link that takes all queued packets every 4 ms, and packets that arrive 1 ms apart.
fn marked(l_wait: LWait) -> Vec<bool> {
    let l_aqm = LAqm::Step(Step::Time(Duration::from_millis(1)));
    let config = Config { l_aqm, l_wait, k: 0, min_qlen_step: 0, ..Config::dctth() };
    let mut rig = Rig::new(l4s_aqm::Config::DualPi2(config));
    let mut marks = Vec::new();
    for turn in 0..3 {
        (0..4).for_each(|n| rig.fill(1, Ecn::Ect1, ms(4 * turn + n)));
        marks.extend(rig.drain(ms(4 * turn + 4)).iter().map(|out| out.packet.ecn.is_ce()));
    }
    marks
}

#[test]
fn a_wait_for_the_next_turn_is_no_queue() {
    // Delays of 4, 3, 2 and 1 ms.
    assert_eq!(marked(LWait::Sojourn), [true, true, true, false].repeat(3));
    assert_eq!(marked(LWait::Queue)[4..], [false; 8]);
}

#[test]
fn a_turn_that_leaves_packets_behind_has_a_queue() {
    let l_aqm = LAqm::Step(Step::Time(Duration::from_millis(1)));
    let config = Config { l_aqm, l_wait: LWait::Queue, k: 0, min_qlen_step: 0, ..Config::dctth() };
    let mut rig = Rig::new(l4s_aqm::Config::DualPi2(config));
    rig.fill(1, Ecn::Ect1, ms(0));
    rig.take(ms(0));
    // Four packets; a turn takes two of them.
    rig.fill(4, Ecn::Ect1, ms(1));
    let mut turn = |at| {
        let mut take = || rig.take(ms(at)).unwrap().packet.ecn.is_ce();
        [take(), take()]
    };
    assert_eq!(turn(4), [false, false]);
    // They were queued for 3 ms at the end of the turn that left them behind, and then for the pause.
    assert_eq!(turn(8), [true, true]);
}
