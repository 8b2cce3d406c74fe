//! Settings that are legal but seldom intended.

use l4s_aqm::dualpi2::Classify;
use l4s_cc::WantedEcn;

use l4s_model::{EcnMode, Scenario};

/// A note that a user of this scenario should read before its results.
pub fn advice(scenario: &Scenario) -> Option<String> {
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
}
