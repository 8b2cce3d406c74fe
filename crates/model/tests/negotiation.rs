//! The ECN that connections negotiate.

use l4s_cc::WantedEcn;
use l4s_model::{AccEcn, EcnMode, Feedback, Negotiated};
use l4s_units::Ecn;

#[test]
fn codepoint_and_feedback_follow_from_the_mode_and_the_congestion_control() {
    use WantedEcn::{Classic, L4s, Off};
    let accurate = Feedback::Accurate { option: true };
    for (mode, wants, codepoint, feedback) in [
        (EcnMode::Off, L4s, None, Feedback::None),
        (EcnMode::Auto, Off, None, Feedback::None),
        (EcnMode::Auto, Classic, Some(Ecn::Ect0), Feedback::Dctcp),
        (EcnMode::Auto, L4s, Some(Ecn::Ect1), accurate),
        (EcnMode::Classic, Off, Some(Ecn::Ect0), Feedback::Classic),
        (EcnMode::Classic, Classic, Some(Ecn::Ect0), Feedback::Dctcp),
        (EcnMode::Classic, L4s, Some(Ecn::Ect0), Feedback::Dctcp),
        (EcnMode::L4s, Off, Some(Ecn::Ect1), Feedback::Classic),
        (EcnMode::L4s, Classic, Some(Ecn::Ect1), Feedback::Dctcp),
        (EcnMode::L4s, L4s, Some(Ecn::Ect1), accurate),
    ] {
        let found = mode.negotiate(wants, AccEcn::Option);
        assert_eq!(found, Negotiated { codepoint, feedback }, "{mode:?} {wants:?}");
    }
    let ace = EcnMode::L4s.negotiate(WantedEcn::L4s, AccEcn::Ace);
    assert_eq!(ace.feedback, Feedback::Accurate { option: false });
}
