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
