//! The findings of tracers behind each discipline.

use l4s_cc::prague::TracerSet;
use l4s_scenario::Plan;

use super::*;
use crate::tcp::Script;

const FORMS: [TracerSet; 2] = [TracerSet::Split, TracerSet::Copies];

/// A Prague flow that sends a set per round trip; counts the outcomes of these.
fn answers(form: TracerSet, aqm: &str, beside: &str, rate: &str, rtt: &str) -> (u32, u32, u32) {
    let group = |name, cc| format!("[[group]]\nname = \"{name}\"\n{cc}\nrtt = \"{rtt}\"\n");
    let beside = if beside.is_empty() { String::new() } else { group("B", beside) };
    let text = format!(
        "duration = \"20s\"\nlink.rate = \"{rate}\"\naqm = {aqm}\n{}{beside}",
        group("A", "cc = \"prague\"")
    );
    let plan = Plan::parse("tracers.toml", &text, &[]).unwrap();
    let script = Script::new(form);
    let mut observer = ();
    let mut engine: Engine<_> = Engine::new(&plan.points[0].scenario, &mut observer);
    engine.connect(0);
    let Server::Tcp(server) = &mut engine.connections.at(0).unwrap().server else { panic!() };
    server.follow(script.clone());
    engine.advance(Time::ZERO + Duration::from_secs(20));
    let answers = script.answers();
    (answers.sent, answers.overtaken, answers.in_order)
}

const CUBIC: &str = "cc = \"cubic\"\necn = \"classic\"";

const LINKS: [(&str, &str); 3] = [("40mbit", "10ms"), ("10mbit", "40ms"), ("200mbit", "5ms")];

/// Each form of a set on each link.
fn cases() -> impl Iterator<Item = (TracerSet, (&'static str, &'static str))> {
    FORMS.into_iter().flat_map(|form| LINKS.map(|link| (form, link)))
}

/// Every single queue keeps the order, independent of its marking. So does `fq_codel`, where a
/// flow has one.
#[test]
fn no_single_queue_is_taken_for_two() {
    for kind in ["codel", "pie", "pi2", "red", "fifo", "fq_codel"] {
        let limit = if kind == "fifo" { ", limit = \"100p\"" } else { "" };
        for (form, (rate, rtt)) in cases() {
            let aqm = format!("{{ kind = \"{kind}\"{limit} }}");
            let (sent, overtaken, in_order) = answers(form, &aqm, CUBIC, rate, rtt);
            println!(
                "{form:?} {kind} {rate} {rtt}: {sent} sent, {overtaken} overtaken, {in_order} not"
            );
            assert!(sent > 50, "{kind}: {sent}");
            assert_eq!(overtaken, 0, "{kind}");
            assert!(in_order * 100 >= sent * 90, "{kind}: {in_order} of {sent}");
        }
    }
}

/// With Classic traffic nearly every middle waits in its queue. Without, it starts at once where
/// the link is free, so that not every set finds two queues. Below Linux' scheduler fewer do: a
/// credit for Classic stays over idle times, until a middle goes before a packet of L.
#[test]
fn a_dual_queue_lets_the_rear_overtake() {
    for (scheduler, least_alone) in [("tsfifo", 50), ("wrr", 20)] {
        let aqm = format!("{{ kind = \"dualpi2\", scheduler = \"{scheduler}\" }}");
        for (beside, least) in [(CUBIC, 85), ("", least_alone)] {
            for (form, (rate, rtt)) in cases() {
                let (sent, overtaken, in_order) = answers(form, &aqm, beside, rate, rtt);
                println!(
                    "{form:?} {scheduler} {rate} {rtt} {beside:?}: {sent} sent, {overtaken} \
                     overtaken, {in_order} not"
                );
                assert!(overtaken * 100 >= sent * least, "{overtaken} of {sent}");
            }
        }
    }
}

/// Linux' scheduler serves a Classic queue that was empty before an L4S queue that is not, and so a
/// middle before its front.
#[test]
fn a_middle_that_goes_first_tells_two_queues_too() {
    let many = "cc = \"prague\"\nflows = 9";
    for (form, profile) in FORMS.into_iter().flat_map(|form| [(form, "linux"), (form, "best")]) {
        let aqm = format!("{{ kind = \"dualpi2\", profile = \"{profile}\" }}");
        let (sent, overtaken, in_order) = answers(form, &aqm, many, "4mbit", "15ms");
        println!("{form:?} {profile}: {sent} sent, {overtaken} overtaken, {in_order} not");
        assert!(overtaken > 100 && overtaken * 100 >= (overtaken + in_order) * 95, "{in_order}");
    }
}
