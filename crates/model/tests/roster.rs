//! The numbers of sources and flows.

use std::ops::Range;

use l4s_model::{FlowId, FlowKind, Scenario};
use l4s_scenario::Plan;

fn scenario() -> Scenario {
    let text = "link.rate = \"40mbit\"\n\
        [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\nflows = 2\n\
        [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\nflows = 0\n\
        [[group]]\nname = \"C\"\ncc = \"reno\"\nrtt = \"10ms\"\nflows = 1\n\
        [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n\
        [[udp]]\nname = \"V\"\nrate = \"1mbit\"\n\
        [[app]]\ngroup = \"C\"\nrate = \"1mbit\"\nflows = 2\n\
        [[app]]\ngroup = \"A\"\nrate = \"1mbit\"\n";
    Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario.clone()
}

#[test]
fn flows_are_numbered_by_group_then_udp_then_applications_then_downloads() {
    let roster = scenario().roster();
    assert_eq!((roster.groups(), roster.sources(), roster.flows()), (3, 5, 8));
    let range = |flows: Range<u32>| FlowId::new(flows.start)..FlowId::new(flows.end);
    let listed: Vec<_> = (0..3).map(|place| roster.listed(roster.group(place))).collect();
    assert_eq!(listed, [0..2, 2..2, 2..3].map(range));
    assert_eq!([0, 1].map(|place| roster.listed(roster.udp(place))), [3..4, 4..5].map(range));
    assert_eq!((roster.apps(), roster.downloads()), (range(5..8), FlowId::new(8)..));
    let sources: Vec<usize> = roster.sources_of_flows().map(|source| source.index()).collect();
    assert_eq!(sources, [0, 0, 2, 3, 4, 2, 2, 0]);
}

#[test]
fn every_number_has_one_kind() {
    use FlowKind::{App, Download, Long, Udp};
    let roster = scenario().roster();
    let kinds: Vec<FlowKind> = (0..9).map(|flow| roster.kind(FlowId::new(flow))).collect();
    assert_eq!(kinds, [Long, Long, Long, Udp, Udp, App, App, App, Download]);
}

#[test]
fn a_source_behind_the_groups_is_udp() {
    let roster = scenario().roster();
    assert_eq!(roster.place_of_udp(roster.group(2)), None);
    assert_eq!(roster.place_of_udp(roster.udp(1)), Some(1));
}
