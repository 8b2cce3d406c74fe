//! Settings that are legal but seldom intended.

use l4s_aqm::dualpi2::Classify;
use l4s_cc::{Endpoint, WantedEcn};

use l4s_model::{Direction, EcnMode, Group, Scenario};
use l4s_units::{Bytes, ETHERNET, Rate};

/// A note that a user of this scenario should read before its results.
pub fn advice(scenario: &Scenario) -> Option<String> {
    classic_in_l4s_queue(scenario).or_else(|| slow_uplink(scenario))
}

/// ECT(0) of a control that answers marks as L4S does.
fn classic_in_l4s_queue(scenario: &Scenario) -> Option<String> {
    let l4s_aqm::Config::DualPi2(dualpi2) = &scenario.aqm else { return None };
    let sends_ect0 = |ecn: EcnMode| matches!(ecn, EcnMode::Auto | EcnMode::Classic);
    let group = scenario.groups.iter().find(|group| {
        group.cc.wants() == WantedEcn::Classic && sends_ect0(group.ecn) && !group.starts.is_empty()
    })?;
    (dualpi2.dualq == Classify::L4s).then(|| {
        format!(
            "group {}: {} sends ECT(0), which this DualPI2 takes for Classic traffic; \
             `dualq = \"dc\"` and `marking = \"dc\"` let it into the L4S queue",
            group.name,
            group.cc.kind(),
        )
    })
}

/// IP and TCP header with time stamps.
pub(crate) const HEADERS: Bytes = Bytes::new(52);

/// IP length of an ACK frame of QUIC with counts of marks, in a packet of its own.
const QUIC_ACKNOWLEDGEMENT: Bytes = Bytes::new(74);

/// An uplink that is slower than the acknowledgements of a full link need. Each has at least 66 B with TCP, and 88 B
/// with QUIC and its counts of marks. It is for two segments (RFC 5681 §4.2), or for as many packets as a QUIC stack asks
/// for. A filter lets TCP do with fewer.
fn slow_uplink(scenario: &Scenario) -> Option<String> {
    let uplink = scenario.uplink.as_ref()?;
    let needs_all = |group: &&Group| uplink.ack_filter.is_off() || group.endpoint == Endpoint::Quic;
    let down = scenario.groups.iter().filter(|group| group.direction == Direction::Down);
    let acknowledges = |group: &Group| match group.endpoint {
        Endpoint::LinuxTcp => (2, HEADERS + ETHERNET),
        Endpoint::Quic => (group.ack_eliciting_threshold + 1, QUIC_ACKNOWLEDGEMENT + ETHERNET),
    };
    let rate = scenario.link.rate;
    let needs = |group: &Group| {
        let (packets, ack) = acknowledges(group);
        let segment = group.mss + HEADERS + ETHERNET;
        let needed = u128::from(rate.as_bps()) * u128::from(ack.get())
            / (u128::from(packets) * u128::from(segment.get()));
        (Rate::from_bps(needed as u64), packets, ack, segment)
    };
    let group = down.filter(needs_all).max_by_key(|group| needs(group).0)?;
    let (needed, packets, ack, segment) = needs(group);
    let uplink = uplink.link.rate;
    let fewer = match group.endpoint {
        Endpoint::LinuxTcp => "`uplink.ack_filter = \"on\"`",
        Endpoint::Quic => "a larger `group.ack_eliciting_threshold`",
    };
    (uplink < needed).then(|| {
        format!(
            "the uplink limits the downloads: at {rate} an acknowledgement of {} B for every \
             {packets} packets of {} B takes {:.2} Mb/s, and the uplink has {uplink}; {fewer} makes fewer do",
            ack.get(),
            segment.get(),
            needed.as_bps() as f64 / 1e6,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn advice_on(aqm: &str) -> Option<String> {
        let text = format!(
            "link.rate = \"40mbit\"\naqm = {aqm}\n[[group]]\nname = \"A\"\ncc = \"dctcp\"\nrtt = \"10ms\"\n"
        );
        advice(&Plan::parse("t.toml", &text, &[]).unwrap().points[0].scenario)
    }

    #[test]
    fn dctcp_in_the_classic_queue_is_worth_a_word() {
        let said = advice_on("{ kind = \"dualpi2\" }").unwrap();
        assert!(said.starts_with("group A: dctcp sends ECT(0)"), "{said}");
        let dc = "{ kind = \"dualpi2\", dualq = \"dc\", marking = \"dc\" }";
        assert_eq!(advice_on(dc), None);
        assert_eq!(advice_on("{ kind = \"pie\" }"), None);
    }

    #[test]
    fn an_uplink_that_is_too_slow_for_acknowledgements_is_worth_a_word() {
        let said_with = |up: &str, more: &str| {
            let text = format!(
                "link.rate = \"100mbit\"\nuplink.rate = \"{up}\"\n\
                 [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n{more}"
            );
            advice(&Plan::parse("t.toml", &text, &[]).unwrap().points[0].scenario)
        };
        let said = |up: &str| said_with(up, "");
        // 100 Mb/s · 66 B / (2 · 1514 B).
        let slow = said("2.1mbit").unwrap();
        assert!(slow.contains("takes 2.18 Mb/s, and the uplink has 2.1mbit"), "{slow}");
        assert_eq!(said("2.2mbit"), None);
        let quic = "endpoint = \"quic\"\nack_eliciting_threshold = 9\n";
        // 100 Mb/s · 88 B / (10 · 1514 B); a filter sees no acknowledgement of QUIC.
        for up in ["580kbit", "580kbit\"\nuplink.ack_filter = \"on"] {
            let slow = said_with(up, quic).unwrap();
            assert!(
                slow.contains("of 88 B for every 10 packets of 1514 B takes 0.58 Mb/s"),
                "{slow}"
            );
        }
        assert_eq!(said_with("590kbit", quic), None);
    }
}
