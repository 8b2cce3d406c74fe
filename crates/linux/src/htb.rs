//! The kernel's own disciplines below its shaper, `htb`.

use l4s_aqm::Config;
use l4s_model::{AckFilter, Link};
use l4s_os::OsError;
use l4s_os::netlink::Netlink;
use l4s_units::Duration;
use netlink_packet_route::tc::TcHandle;

use crate::bottleneck::Bottleneck;
use crate::event::{Counters, QueueState};
use crate::qdisc::{self, DROPPED, Qdisc, Shaper, WAITING};

const SHAPER: TcHandle = TcHandle { major: 1, minor: 0 };
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };
/// The first queue discipline. Those that replace it have the numbers after it: a discipline of the
/// same number would be taken for a change of settings.
const AQM: TcHandle = TcHandle { major: 2, minor: 0 };

/// The kernel's `htb` with one class, and below it a discipline of the kernel's.
#[derive(Debug)]
pub(crate) struct Htb {
    netlink: Netlink,
    device: u32,
    /// The queue discipline that the bottleneck has.
    aqm: TcHandle,
    filter: AckFilter,
    /// The counters of earlier ones.
    past: Counters,
    jiffy: Duration,
}

impl Htb {
    pub fn new(
        device: u32,
        link: &Link,
        aqm: &Config,
        filter: AckFilter,
        jiffy: Duration,
    ) -> Result<Htb, OsError> {
        let mut netlink = Netlink::open()?;
        netlink.add_queue(device, TcHandle::ROOT, SHAPER, "htb", &Shaper::new(link).root)?;
        let mut htb = Htb { netlink, device, aqm: AQM, filter, past: Counters::new(), jiffy };
        htb.set_link(link)?;
        htb.set_aqm(aqm)?;
        Ok(htb)
    }

    fn set_aqm(&mut self, aqm: &Config) -> Result<(), OsError> {
        let Qdisc { kind, options, .. } = Qdisc::new(aqm, self.filter, self.jiffy)?;
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

    /// The shaper also counts packets that are dropped with a queue discipline, which that does not
    /// count itself.
    fn dropped(&mut self) -> Result<u64, OsError> {
        let (_, counters) = qdisc::state(&self.netlink.queue_state(self.device, SHAPER)?);
        Ok(counters.get(DROPPED).copied().unwrap_or(0))
    }
}
