//! The ECN that connections negotiate.

use l4s_cc::{Config, cubic, dctcp, prague};
use l4s_model::{AccEcn, EcnMode, Feedback, Group, Negotiated, Peer};
use l4s_units::{Duration, Ecn};

const ACCURATE: Feedback = Feedback::Accurate { option: true };

fn cubic() -> Config {
    Config::Cubic(cubic::Config::default())
}

fn dctcp() -> Config {
    Config::Dctcp(dctcp::Config::default())
}

fn prague() -> Config {
    Config::Prague(prague::Config::default())
}

fn group(cc: Config, ecn: EcnMode, peer: Peer) -> Group {
    Group { ecn, peer, ..Group::new("A", cc, Duration::from_millis(10)) }
}

fn assert_negotiated(group: &Group, codepoint: Option<Ecn>, feedback: Feedback) {
    assert_eq!(group.negotiated(), Negotiated { codepoint, feedback }, "{group:?}");
}

#[test]
fn codepoint_and_feedback_follow_from_the_mode_and_the_congestion_control() {
    for (ecn, cc, codepoint, feedback) in [
        (EcnMode::Off, prague(), None, Feedback::None),
        (EcnMode::Auto, cubic(), None, Feedback::None),
        (EcnMode::Auto, dctcp(), Some(Ecn::Ect0), Feedback::Dctcp),
        (EcnMode::Auto, prague(), Some(Ecn::Ect1), ACCURATE),
        (EcnMode::Classic, cubic(), Some(Ecn::Ect0), Feedback::Classic),
        (EcnMode::Classic, dctcp(), Some(Ecn::Ect0), Feedback::Dctcp),
        (EcnMode::Classic, prague(), Some(Ecn::Ect0), Feedback::Dctcp),
        (EcnMode::L4s, cubic(), Some(Ecn::Ect1), Feedback::Classic),
        (EcnMode::L4s, dctcp(), Some(Ecn::Ect1), Feedback::Dctcp),
        (EcnMode::L4s, prague(), Some(Ecn::Ect1), ACCURATE),
    ] {
        assert_negotiated(&group(cc, ecn, Peer::Auto), codepoint, feedback);
    }
    let ace = Group { accecn: AccEcn::Ace, ..group(prague(), EcnMode::L4s, Peer::Auto) };
    assert_negotiated(&ace, Some(Ecn::Ect1), Feedback::Accurate { option: false });
}

#[test]
fn a_peer_without_ecn_leaves_every_control_without() {
    for cc in [cubic(), dctcp(), prague()] {
        for ecn in [EcnMode::Auto, EcnMode::Classic, EcnMode::L4s] {
            assert_negotiated(&group(cc.clone(), ecn, Peer::None), None, Feedback::None);
        }
    }
}

/// RFC 9331 §4.2: ECT(1) of a scalable control requires exact feedback.
#[test]
fn a_peer_of_rfc_3168_latches_its_echo_and_leaves_prague_without_ect1() {
    let classic = Feedback::Classic;
    for (ecn, cc, codepoint, feedback) in [
        (EcnMode::Auto, cubic(), None, Feedback::None),
        (EcnMode::Classic, cubic(), Some(Ecn::Ect0), classic),
        (EcnMode::Auto, dctcp(), Some(Ecn::Ect0), classic),
        (EcnMode::Auto, prague(), None, Feedback::None),
        (EcnMode::L4s, prague(), None, Feedback::None),
        (EcnMode::Classic, prague(), Some(Ecn::Ect0), classic),
    ] {
        assert_negotiated(&group(cc, ecn, Peer::Rfc3168), codepoint, feedback);
    }
}

#[test]
fn a_peer_with_accecn_counts_marks_for_every_control_with_ecn() {
    for (ecn, cc, codepoint, feedback) in [
        (EcnMode::Auto, cubic(), None, Feedback::None),
        (EcnMode::Classic, cubic(), Some(Ecn::Ect0), ACCURATE),
        (EcnMode::Auto, dctcp(), Some(Ecn::Ect0), ACCURATE),
        (EcnMode::Auto, prague(), Some(Ecn::Ect1), ACCURATE),
        (EcnMode::Classic, prague(), Some(Ecn::Ect0), ACCURATE),
    ] {
        assert_negotiated(&group(cc, ecn, Peer::AccEcn), codepoint, feedback);
    }
}
