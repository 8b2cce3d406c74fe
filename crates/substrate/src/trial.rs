//! Short runs that test the capabilities of this machine, for `l4s doctor`.

use l4s_aqm::Queue;
use l4s_model::{EcnMode, Group, Link, Peer, Scenario};
use l4s_observe::{Observer, Traced};
use l4s_units::{Duration, Ecn, Rate, Time};

use crate::{Error, Kernel, Linux, Programs, Qdisc, Substrate, to_the_end};

/// The rate of a link that every machine carries.
const MODEST: Rate = Rate::from_mbps(20);
/// How long a trial runs.
const MOMENT: Duration = Duration::from_millis(500);

/// One Reno flow through a FIFO for a moment.
pub(crate) fn trial(rate: Rate) -> Scenario {
    let fifo = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
    let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
    let groups = vec![Group::new("A", reno, Duration::from_millis(5))];
    Scenario { groups, ..Scenario::new("trial", MOMENT, Link::new(rate), fifo) }
}

/// Tries whether a lab can be built here, with a short run that needs only features of every kernel.
///
/// # Errors
/// It cannot, and why.
pub fn lab_works() -> Result<(), Error> {
    Kernel::new()?.try_out(&trial(MODEST), &mut Codepoints::default())
}

/// Tries whether all connections of a network namespace can have AccECN (`tcp_ecn = 3`).
///
/// # Errors
/// They cannot, and why.
pub fn accecn_for_all() -> Result<(), Error> {
    let mut scenario = trial(MODEST);
    scenario.groups[0].peer = Peer::AccEcn;
    Kernel::new()?.prepare(&[&scenario]).map(drop)
}

/// How many data packets arrived at their client as ECT(1).
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The congestion control that sent them.
    pub cc: &'static str,
    /// Those with ECT(1) or CE.
    pub ect1: u64,
    /// All.
    pub all: u64,
}

/// Sends data as ECT(1) through a lab: with Prague where that can be loaded, else with Reno whose
/// packets are rewritten.
///
/// # Errors
/// The run failed.
pub fn ect1_arrives(prague: bool) -> Result<Arrival, Error> {
    let mut scenario = trial(MODEST);
    let group = &mut scenario.groups[0];
    group.ecn = EcnMode::L4s;
    if prague {
        group.cc = l4s_cc::Config::Prague(l4s_cc::prague::Config::default());
    }
    let cc = if prague { "prague" } else { "reno" };
    let mut seen = Codepoints::default();
    Kernel::new()?.try_out(&scenario, &mut seen)?;
    Ok(Arrival { cc, ect1: seen.ect1, all: seen.all })
}

/// Tries whether a guest runs here. Returns the kernel's version and place, for people.
///
/// # Errors
/// It does not, and why.
pub fn linux_works() -> Result<String, Error> {
    let linux = Linux::default();
    linux.run(&trial(MODEST), &Programs::default(), &mut (), &mut to_the_end)?;
    linux.kernel()
}

/// The queue disciplines that scenarios can ask a kernel for.
#[derive(Debug, Default)]
pub struct Disciplines {
    /// Those that this machine's kernel has.
    pub has: Vec<String>,
    /// Those that it has not.
    pub lacks: Vec<String>,
}

/// Tries `--on qdisc` with a short run, and which disciplines this kernel has.
///
/// # Errors
/// It does not run here, and why.
pub fn disciplines() -> Result<Disciplines, Error> {
    use l4s_aqm::{Config, cobalt, codel, dualpi2, fifo, fq_codel, pie, red};
    let (qdisc, trial) = (Qdisc::new()?, trial(MODEST));
    qdisc.prepare(&[&trial])?;
    qdisc.run(&trial, &Programs::default(), &mut (), &mut to_the_end)?;
    let aqms = [
        Config::DualPi2(dualpi2::Config::default()),
        Config::Pie(pie::Config::default()),
        Config::Codel(codel::Config::default()),
        Config::FqCodel(fq_codel::Config::default()),
        Config::Cobalt(cobalt::Config::default()),
        Config::Red(red::Config::default()),
        Config::Fifo(fifo::Config::default()),
    ];
    let faults = qdisc.faults(aqms.iter())?;
    let mut found = Disciplines::default();
    for (aqm, fault) in aqms.iter().zip(faults) {
        let list = if fault.is_none() { &mut found.has } else { &mut found.lacks };
        list.push(aqm.kind().to_owned());
    }
    Ok(found)
}

/// Whether this machine's kernel has `fq`, which paces.
///
/// # Errors
/// It cannot be tried here, and why.
pub fn has_fq() -> Result<bool, Error> {
    Qdisc::new()?.has("fq")
}

/// Counts data packets by codepoint.
#[derive(Debug, Default)]
pub(crate) struct Codepoints {
    ect1: u64,
    all: u64,
    /// Bits on the link in the second half of a trial, when slow start is over.
    late_bits: u64,
}

impl Codepoints {
    /// The rate of the second half.
    pub fn rate(&self) -> Rate {
        Rate::from_bps(self.late_bits * 4)
    }
}

impl<P: Traced> Observer<P> for Codepoints {
    fn departed(&mut self, packet: &P, _: Queue, _: Duration, now: Time) {
        if now >= Time::ZERO + MOMENT / 2 {
            self.late_bits += packet.size().get() * 8;
        }
        // A full segment; the handshake has codepoints of its own.
        if packet.ip_length().get() >= 1000 {
            self.all += 1;
            let ecn = packet.ecn();
            self.ect1 += u64::from(matches!(ecn, Ecn::Ect1 | Ecn::Ce));
        }
    }
}
