//! Our DualPI2 as a BPF queue discipline at the root of a device, its own shaper.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use l4s_aqm::Config;
use l4s_aqm::dualpi2::kernel::{self, Settings, as_kernel};
use l4s_bpf::DualPi2;
use l4s_model::Link;
use l4s_os::OsError;
use l4s_os::netlink::{Netlink, RootQueue};

use crate::bottleneck::Bottleneck;
use crate::event::{Counters, QueueState};
use crate::qdisc::{DROPPED, WAITING, differences};

/// Its differences from a configuration.
pub(crate) fn instead(aqm: &Config) -> Result<Vec<String>, OsError> {
    match aqm {
        Config::DualPi2(config) => Ok(differences(config, &as_kernel(config))),
        other => Err(OsError::Unsupported(format!(
            "our discipline in BPF is dualpi2: found `kernel.qdisc = \"bpf\"` with `{}`, expected \
             \"linux\"",
            other.kind()
        ))),
    }
}

/// The number of the only instance of a discipline.
const INSTANCE: u32 = 0;

/// The bottleneck of a device. It goes with the process, and with the device.
#[derive(Debug)]
pub(crate) struct Bpf {
    discipline: DualPi2,
    _decides: OwnedFd,
    link: Link,
    aqm: Config,
}

impl Bpf {
    pub fn new(device: u32, link: &Link, aqm: &Config) -> Result<Bpf, OsError> {
        let cannot = |error: l4s_bpf::BpfError| OsError::Machine(error.to_string());
        // Kinds of queue disciplines are known to the whole machine.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed) & 0xfff;
        let kind = format!("l4s{}_{count:x}", std::process::id());
        let discipline = DualPi2::register(&kind, 1).map_err(cannot)?;
        discipline.prepare(&settings(link, aqm)).map_err(cannot)?;
        let root = RootQueue { kind, ..RootQueue::default() };
        Netlink::open()?.set_root(device, Some(&root))?;
        let _decides = discipline.decide(device).map_err(cannot)?;
        Ok(Bpf { discipline, _decides, link: link.clone(), aqm: aqm.clone() })
    }

    fn set(&mut self) -> Result<(), OsError> {
        let settings = settings(&self.link, &self.aqm);
        let done = self.discipline.set(INSTANCE, &settings);
        done.map_err(|error| OsError::Run(error.to_string()))
    }
}

fn settings(link: &Link, aqm: &Config) -> Settings {
    let burst = link.rate.time_of(link.burst);
    let link = kernel::Link { rate: Some(link.rate), burst };
    match aqm {
        Config::DualPi2(config) => Settings::new(&as_kernel(config), link),
        other => unreachable!("{} was refused by `instead`", other.kind()),
    }
}

impl Bottleneck for Bpf {
    fn set_link(&mut self, link: &Link) -> Result<(), OsError> {
        self.link = link.clone();
        self.set()
    }

    /// Other settings for the same queues: nothing is dropped, and p' goes on.
    fn replace_aqm(&mut self, aqm: &Config) -> Result<(), OsError> {
        self.aqm = aqm.clone();
        self.set()
    }

    fn state(&mut self) -> Result<(QueueState, Counters), OsError> {
        let found = self.discipline.instance(INSTANCE);
        let found = found.map_err(|error| OsError::Run(error.to_string()))?;
        let found = found.ok_or_else(|| OsError::Run("our discipline is gone".to_owned()))?;
        let sum = |of: fn(&l4s_bpf::Counts) -> u64| found.queues.iter().map(of).sum::<u64>();
        let state = QueueState {
            packets: sum(|queue| queue.waiting_packets) as u32,
            bytes: sum(|queue| queue.waiting_bytes) as u32,
            base: Some(f64::from(found.signals.p_prime) / f64::from(u32::MAX)),
        };
        let counters = [
            ("packets", sum(|queue| queue.sent_packets)),
            ("bytes", sum(|queue| queue.sent_bytes)),
            (DROPPED, sum(l4s_bpf::Counts::dropped)),
            (WAITING, sum(|queue| queue.waiting_packets)),
            ("ecn_mark", sum(|queue| queue.mark_coupled + queue.mark_classic)),
            ("step_mark", sum(|queue| queue.mark_step)),
        ];
        Ok((state, counters.into_iter().map(|(name, n)| (name.to_owned(), n)).collect()))
    }

    fn dropped(&mut self) -> Result<u64, OsError> {
        Ok(self.state()?.1[DROPPED])
    }
}
