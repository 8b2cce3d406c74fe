//! What makes the queue of the link: the kernel's own disciplines below a shaper, or ours.

use l4s_aqm::Config;
use l4s_model::{Link, QdiscOf, Scenario};
use l4s_os::OsError;
use l4s_os::netlink::Netlink;
use l4s_units::Duration;
use netlink_packet_route::tc::TcHandle;

use crate::bpf::{self, Bpf};
use crate::event::{Counters, QueueState};
use crate::qdisc::{self, DROPPED, Qdisc, Shaper, WAITING};

const SHAPER: TcHandle = TcHandle { major: 1, minor: 0 };
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };
/// The first queue discipline. Those that take its place have the numbers after it: what is put
/// in the place of one of the same number would be taken for a change of its settings.
const AQM: TcHandle = TcHandle { major: 2, minor: 0 };

/// The bottleneck of a device.
pub(crate) trait Bottleneck {
    /// Gives it the rate of this link, and its burst. What waits and what is owed to the bucket
    /// stay as they are, the latter as time.
    fn set_link(&mut self, link: &Link) -> Result<(), OsError>;

    /// Gives it another discipline, which may drop all that waits.
    fn replace_aqm(&mut self, aqm: &Config) -> Result<(), OsError>;

    /// What the discipline says of itself; its counters and those of the ones before it.
    fn state(&mut self) -> Result<(QueueState, Counters), OsError>;

    /// Every packet that was dropped here since the start, with those that went with a discipline
    /// that was replaced.
    fn dropped(&mut self) -> Result<u64, OsError>;
}

/// Refuses what no bottleneck of a kernel does. Gives what it has instead of some settings.
pub(crate) fn differences(scenario: &Scenario, jiffy: Duration) -> Result<Vec<String>, OsError> {
    if scenario.kernel.gso {
        return Err(OsError::Unsupported(
            "packets are followed one by one: expected `kernel.gso = false`".to_owned(),
        ));
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

/// The kernel's `htb` with one class, and below it a discipline of the kernel's.
#[derive(Debug)]
struct Htb {
    netlink: Netlink,
    device: u32,
    /// The queue discipline that the bottleneck has.
    aqm: TcHandle,
    /// What those before it had counted.
    past: Counters,
    jiffy: Duration,
}

impl Htb {
    fn new(device: u32, link: &Link, aqm: &Config, jiffy: Duration) -> Result<Htb, OsError> {
        let mut netlink = Netlink::open()?;
        netlink.add_queue(device, TcHandle::ROOT, SHAPER, "htb", &Shaper::new(link).root)?;
        let mut htb = Htb { netlink, device, aqm: AQM, past: Counters::new(), jiffy };
        htb.set_link(link)?;
        htb.set_aqm(aqm)?;
        Ok(htb)
    }

    fn set_aqm(&mut self, aqm: &Config) -> Result<(), OsError> {
        let Qdisc { kind, options, .. } = Qdisc::new(aqm, self.jiffy)?;
        self.netlink.add_queue(self.device, CLASS, self.aqm, kind, &options)
    }
}

impl Bottleneck for Htb {
    fn set_link(&mut self, link: &Link) -> Result<(), OsError> {
        self.netlink.add_class(self.device, SHAPER, CLASS, "htb", &Shaper::new(link).class)
    }

    fn replace_aqm(&mut self, aqm: &Config) -> Result<(), OsError> {
        for (name, count) in self.state()?.1 {
            self.past.insert(name, count);
        }
        self.past.remove(WAITING);
        self.aqm.major += 1;
        self.set_aqm(aqm)
    }

    fn state(&mut self) -> Result<(QueueState, Counters), OsError> {
        let (state, mut counters) = qdisc::state(&self.netlink.queue_state(self.device, self.aqm)?);
        for (name, count) in &self.past {
            *counters.entry(name.clone()).or_default() += count;
        }
        Ok((state, counters))
    }

    /// The shaper counts also what goes with a queue discipline, which that does not count itself.
    fn dropped(&mut self) -> Result<u64, OsError> {
        let (_, counters) = qdisc::state(&self.netlink.queue_state(self.device, SHAPER)?);
        Ok(counters.get(DROPPED).copied().unwrap_or(0))
    }
}
