//! The links that a scenario asks for: the kernel's disciplines, or ours in BPF.

use l4s_aqm::Config;
use l4s_model::{AckFilter, Link, QdiscOf, Scenario, UPLINK};
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
    let down = Asked {
        table: "link",
        link: &scenario.link,
        aqm: &scenario.aqm,
        filter: AckFilter::Off,
        later: scenario.changes.iter().filter_map(|c| Some((c.time, c.aqm.as_ref()?))).collect(),
    };
    let mut differences = down.differences(scenario.kernel.qdisc, jiffy)?;
    if let Some(uplink) = &scenario.uplink {
        can_filter(scenario, uplink.ack_filter)?;
        let changes = scenario.changes.iter();
        let up = Asked {
            table: UPLINK,
            link: &uplink.link,
            aqm: &uplink.aqm,
            filter: uplink.ack_filter,
            later: changes.filter_map(|c| Some((c.time, c.uplink_aqm.as_ref()?))).collect(),
        };
        let of_uplink = up.differences(scenario.kernel.qdisc, jiffy);
        let of_uplink = of_uplink.map_err(|error| error.of("the uplink"))?;
        differences.extend(of_uplink.into_iter().map(|what| format!("{what} in the uplink")));
    }
    Ok(differences)
}

/// Refuses a filter of acknowledgements where the kernel's uplink is, at first or later, another discipline than CAKE.
fn can_filter(scenario: &Scenario, filter: AckFilter) -> Result<(), OsError> {
    let aqms = scenario.uplink_aqms();
    let mut others = aqms.filter(|aqm| !matches!(aqm, Config::Cobalt(_))).map(Config::kind);
    match others.next() {
        Some(other) if !filter.is_off() => Err(OsError::Unsupported(format!(
            "`uplink.ack_filter`: in Linux CAKE alone has a filter: found \"{}\" with `{other}`, expected \"off\" or \
             `uplink.aqm = \"cobalt\"`, which is CAKE there; `--on sim` and `--on kernel` filter with every discipline",
            filter.name()
        ))),
        _ => Ok(()),
    }
}

/// The settings of one link in a scenario.
struct Asked<'a> {
    /// Its table in the scenario.
    table: &'static str,
    link: &'a Link,
    aqm: &'a Config,
    filter: AckFilter,
    /// The disciplines that take the place of that, and when.
    later: Vec<(Time, &'a Config)>,
}

impl Asked<'_> {
    fn differences(&self, of: QdiscOf, jiffy: Duration) -> Result<Vec<String>, OsError> {
        self.refuse()?;
        let instead = |aqm: &Config| match of {
            QdiscOf::Linux => Ok(Qdisc::new(aqm, self.filter, jiffy)?.differences),
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
    filter: AckFilter,
    device: u32,
    jiffy: Duration,
) -> Result<Box<dyn Bottleneck>, OsError> {
    match of {
        QdiscOf::Linux => Ok(Box::new(Htb::new(device, link, aqm, filter, jiffy)?)),
        QdiscOf::Bpf => Ok(Box::new(Bpf::new(device, link, aqm)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_scenario::Plan;

    #[test]
    fn a_filter_of_acknowledgements_needs_cake_all_the_time() {
        let check = |uplink: &str, at: &str| {
            let text = format!(
                "duration = \"9s\"\nlink.rate = \"9mbit\"\naqm = \"fifo\"\nuplink = {{ rate = \"1mbit\", {uplink} }}\n\
                 [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"9ms\"\n{at}"
            );
            let plan = Plan::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
            differences(&plan.points[0].scenario, crate::JIFFY)
        };
        let later = "[[at]]\ntime = \"1s\"\nuplink.aqm = \"codel\"\n";
        assert!(check("ack_filter = \"on\", aqm = \"cobalt\"", "").is_ok());
        assert!(check("ack_filter = \"off\", aqm = \"codel\"", "").is_ok());
        for (uplink, at, filter, with) in [
            ("ack_filter = \"on\", aqm = \"fifo\"", "", "on", "fifo"),
            ("ack_filter = \"aggressive\", aqm = \"cobalt\"", later, "aggressive", "codel"),
        ] {
            let Err(OsError::Unsupported(why)) = check(uplink, at) else { panic!("{uplink}") };
            let found =
                format!("found \"{filter}\" with `{with}`, expected \"off\" or `uplink.aqm");
            assert!(why.starts_with("`uplink.ack_filter`: ") && why.contains(&found), "{why}");
        }
    }
}
