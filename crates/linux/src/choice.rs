//! The bottleneck that a scenario asks for: the kernel's disciplines, or ours in BPF.

use l4s_aqm::Config;
use l4s_model::{QdiscOf, Scenario};
use l4s_os::OsError;
use l4s_units::{Duration, printable};

use crate::bottleneck::Bottleneck;
use crate::bpf::{self, Bpf};
use crate::htb::Htb;
use crate::qdisc::Qdisc;

/// Refuses features that no bottleneck of a kernel has. Returns its replacements of some settings.
pub(crate) fn differences(scenario: &Scenario, jiffy: Duration) -> Result<Vec<String>, OsError> {
    if scenario.kernel.gso {
        return Err(OsError::Unsupported(
            "packets are followed one by one: expected `kernel.gso = false`".to_owned(),
        ));
    }
    if let Some(uplink) = scenario.uplink.as_ref().filter(|uplink| !uplink.ack_filter.is_off()) {
        return Err(OsError::Unsupported(format!(
            "`uplink.ack_filter`: no discipline that we use of Linux filters acknowledgements: found \"{}\", \
             expected \"off\"; `--on sim` and `--on kernel` have it",
            uplink.ack_filter.name()
        )));
    }
    if let Some(capacity) = &scenario.link.trace {
        return Err(OsError::Unsupported(format!(
            "the shaper of Linux has one rate at a time: found `link.trace = \"{}\"`, expected \
             `link.rate`; `--on sim` and `--on kernel` have it",
            printable(capacity.file())
        )));
    }
    if let Some(radio) = &scenario.link.radio {
        let name = radio.name();
        return Err(OsError::Unsupported(format!(
            "the shaper of Linux has one rate at a time: found `link.{name}`, expected `link.rate`; \
             `--on sim` and `--on kernel` have it"
        )));
    }
    if !scenario.link.aggregation.is_zero() {
        return Err(OsError::Unsupported(format!(
            "the shaper of Linux sends packets one by one: found `link.aggregation = \"{}\"`, \
             expected \"0s\"; `--on sim` and `--on kernel` have it",
            scenario.link.aggregation
        )));
    }
    let changes = scenario.changes.iter().filter_map(|change| Some((change, change.aqm.as_ref()?)));
    let instead = |aqm: &Config| match scenario.kernel.qdisc {
        QdiscOf::Linux => Ok(Qdisc::new(aqm, jiffy)?.differences),
        QdiscOf::Bpf => bpf::instead(aqm),
    };
    let mut differences = instead(&scenario.aqm)?;
    for (change, aqm) in changes {
        let when = format!("from {} on", change.time);
        let instead = instead(aqm).map_err(|error| error.of(&when))?;
        let kind = aqm.kind();
        differences.extend(instead.into_iter().map(|what| format!("{what} ({kind} {when})")));
    }
    Ok(differences)
}

/// Makes device number `device` the bottleneck of a scenario. `jiffy` is the time between two
/// ticks of the kernel.
pub(crate) fn build(
    scenario: &Scenario,
    device: u32,
    jiffy: Duration,
) -> Result<Box<dyn Bottleneck>, OsError> {
    match scenario.kernel.qdisc {
        QdiscOf::Linux => Ok(Box::new(Htb::new(device, &scenario.link, &scenario.aqm, jiffy)?)),
        QdiscOf::Bpf => Ok(Box::new(Bpf::new(device, &scenario.link, &scenario.aqm)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_model::{AckFilter, Link, Uplink};
    use l4s_units::Rate;

    #[test]
    fn a_filter_of_acknowledgements_is_refused_and_none_is_not() {
        let (link, aqm) = (Link::new(Rate::from_mbps(10)), Config::default());
        let second = Duration::from_secs(1);
        let mut scenario = Scenario::new("up", second, link.clone(), aqm.clone());
        let mut with = |ack_filter| {
            scenario.uplink = Some(Uplink { link: link.clone(), aqm: aqm.clone(), ack_filter });
            differences(&scenario, Duration::from_millis(4))
        };
        assert!(with(AckFilter::Off).is_ok());
        match with(AckFilter::Aggressive) {
            Err(OsError::Unsupported(why)) => {
                assert!(why.starts_with("`uplink.ack_filter`: "), "{why}");
                assert!(why.contains("found \"aggressive\", expected \"off\""), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}
