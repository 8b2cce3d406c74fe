//! The response to marks.

use l4s_measure::Summary;

use super::watched::*;
use crate::common::{group, scenario, summary_of};

/// Marks above 1 ms, as a shallow threshold. The RTT without a queue is `rtt`.
fn marked(rtt: &str, ecn: bool) -> Summary {
    let set = [
        "aqm={kind=\"dualpi2\",step_thresh=\"1ms\"}".to_owned(),
        "group.A.ecn=l4s".to_owned(),
        "group.A.peer=accecn".to_owned(),
        format!("group.A.rtt={rtt}"),
        format!("group.A.cc={{kind=\"bbr3\",ecn={ecn}}}"),
    ];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let two = format!("{ALONE}\n[[group]]\nname = \"B\"\ncc = \"bbr3\"\nrtt = \"{rtt}\"\n");
    let both: Vec<String> = set
        .iter()
        .filter(|set| set.starts_with("group.A."))
        .map(|set| set.replacen("group.A.", "group.B.", 1))
        .collect();
    let all: Vec<&str> = set.iter().copied().chain(both.iter().map(String::as_str)).collect();
    summary_of(&scenario(&two, &all))
}

/// A third of a flight of 2 ms and 1 ms in the queue is cut where all is marked: the mean is at the threshold, and
/// the link stays full. Above 5 ms marks have no answer: the queue is as long as the window allows.
#[test]
fn marks_keep_the_queue_at_the_threshold_on_short_paths_alone() {
    let delay = |rtt, ecn| {
        let summary = marked(rtt, ecn);
        let queue = summary.queues.iter().find_map(|queue| queue.delay_ms).expect("delays");
        let (used, mark) = (summary.link.utilization, group(&summary, "A").mark);
        println!(
            "{rtt}, ecn {ecn}: {:.2} ms, p99 {:.2}, {used:.3}, {mark:?}",
            queue.mean, queue.p99
        );
        assert!(used > 0.95, "{used}");
        queue.mean
    };
    let (on, off) = (delay("2ms", true), delay("2ms", false));
    assert!((0.5..1.5).contains(&on), "{on}");
    assert!(off > on * 3.0, "{on} {off}");
    let (on, off) = (delay("20ms", true), delay("20ms", false));
    assert!(on > 10.0 && off > 10.0, "{on} {off}");
}

/// A mark is a loss to the model unless the response of Google's code is chosen (draft §3.7): the short-term bounds
/// are set.
#[test]
fn a_mark_sets_the_short_term_bounds_as_a_loss_does() {
    let set = ["aqm={kind=\"codel\"}", "group.A.ecn=classic"];
    let two = format!(
        "{ALONE}\n[[group]]\nname = \"B\"\ncc = \"cubic\"\nrtt = \"20ms\"\necn = \"classic\"\n"
    );
    let mut run = Run::of(&two, &set);
    let bound = run.until("a bound", |step| step.model.bw_shortterm.is_some());
    let steps = run.steps();
    assert!(steps.iter().all(|step| step.lost == 0), "{bound:?}");
    assert!(bound.model.inflight_shortterm.is_some());
}
