//! The links that a scenario asks for: the kernel's disciplines, or ours in BPF.

use l4s_aqm::Config;
use l4s_model::{Link, QdiscOf, Scenario, UPLINK};
use l4s_os::OsError;
use l4s_units::{Duration, Time, printable};

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
            "`uplink.ack_filter`: l4s sets no filter of acknowledgements in a discipline of Linux: found \"{}\", \
             expected \"off\"; `--on sim` and `--on kernel` have it",
            uplink.ack_filter.name()
        )));
    }
    let down = Asked {
        table: "link",
        link: &scenario.link,
        aqm: &scenario.aqm,
        later: scenario.changes.iter().filter_map(|c| Some((c.time, c.aqm.as_ref()?))).collect(),
    };
    let mut differences = down.differences(scenario.kernel.qdisc, jiffy)?;
    if let Some(uplink) = &scenario.uplink {
        let changes = scenario.changes.iter();
        let up = Asked {
            table: UPLINK,
            link: &uplink.link,
            aqm: &uplink.aqm,
            later: changes.filter_map(|c| Some((c.time, c.uplink_aqm.as_ref()?))).collect(),
        };
        let of_uplink = up.differences(scenario.kernel.qdisc, jiffy);
        let of_uplink = of_uplink.map_err(|error| error.of("the uplink"))?;
        differences.extend(of_uplink.into_iter().map(|what| format!("uplink: {what}")));
    }
    Ok(differences)
}

/// The settings of one link in a scenario.
struct Asked<'a> {
    /// Its table in the scenario.
    table: &'static str,
    link: &'a Link,
    aqm: &'a Config,
    /// The disciplines that take the place of that, and when.
    later: Vec<(Time, &'a Config)>,
}

impl Asked<'_> {
    fn differences(&self, of: QdiscOf, jiffy: Duration) -> Result<Vec<String>, OsError> {
        self.refuse()?;
        let instead = |aqm: &Config| match of {
            QdiscOf::Linux => Ok(Qdisc::new(aqm, jiffy)?.differences),
            QdiscOf::Bpf => bpf::instead(aqm),
        };
        let mut differences = instead(self.aqm)?;
        for (time, aqm) in &self.later {
            let when = format!("from {time} on");
            let instead = instead(aqm).map_err(|error| error.of(&when))?;
            let kind = aqm.kind();
            differences.extend(instead.into_iter().map(|what| format!("{what} ({kind} {when})")));
        }
        Ok(differences)
    }

    /// Refuses a link that no shaper of a kernel is.
    fn refuse(&self) -> Result<(), OsError> {
        let Asked { table, link, .. } = self;
        if let Some(capacity) = &link.trace {
            return Err(OsError::Unsupported(format!(
                "the shaper of Linux has one rate at a time: found `{table}.trace = \"{}\"`, expected \
                 `{table}.rate`; `--on sim` and `--on kernel` have it",
                printable(capacity.file())
            )));
        }
        if let Some(radio) = &link.radio {
            let name = radio.name();
            return Err(OsError::Unsupported(format!(
                "the shaper of Linux has one rate at a time: found `{table}.{name}`, expected \
                 `{table}.rate`; `--on sim` and `--on kernel` have it"
            )));
        }
        if !link.aggregation.is_zero() {
            return Err(OsError::Unsupported(format!(
                "the shaper of Linux sends packets one by one: found `{table}.aggregation = \"{}\"`, \
                 expected \"0s\"; `--on sim` and `--on kernel` have it",
                link.aggregation
            )));
        }
        Ok(())
    }
}

/// Makes device number `device` a link with this discipline. `jiffy` is the time between two ticks of
/// the kernel.
pub(crate) fn build(
    of: QdiscOf,
    link: &Link,
    aqm: &Config,
    device: u32,
    jiffy: Duration,
) -> Result<Box<dyn Bottleneck>, OsError> {
    match of {
        QdiscOf::Linux => Ok(Box::new(Htb::new(device, link, aqm, jiffy)?)),
        QdiscOf::Bpf => Ok(Box::new(Bpf::new(device, link, aqm)?)),
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
