//! The substrate in virtual time: user-mode Linux.

use std::fs;

use l4s_bottleneck::Downloads;
use l4s_cc::WantedEcn;
use l4s_lab::{AgentCommand, Frame, Programs, Surroundings, shortened};
use l4s_model::{EcnMode, Group, QdiscOf, Scenario};
use l4s_observe::Observer;
use l4s_os::OsError;

use crate::boot::Order;
use crate::choice;
use crate::cores::Cores;
use crate::drive::{Job, Place};
use crate::kernel::Kernel;
use crate::watch::{Ran, Scribe, follow};

/// Memory of the guest: the kernel, its program, and each flow and each agent.
const MEMORY_MIB: u64 = 1024;
const FLOWS_PER_MIB: u64 = 8;
/// Few of them are open at a time; of each that was, something is left for a minute.
const DOWNLOADS_PER_MIB: u64 = 64;
const MIB_PER_PAIR: u64 = 8;
/// Programs of the user, and the files that they write. The machine gives only used memory.
const MIB_OF_PROGRAMS: u64 = 2048;

/// The substrate: a kernel, and how this program takes part in it.
#[derive(Debug)]
pub struct Virtual {
    /// The kernel.
    pub kernel: Kernel,
    /// Starts this program as [`crate::boot::main`].
    pub boot: AgentCommand,
    /// The arguments with which it is [`crate::guest::main`].
    pub guest: Vec<String>,
    cores: Cores,
}

/// Whether a kernel can run a scenario at all. Returns its replacements of some settings.
pub fn check(scenario: &Scenario) -> Result<Vec<String>, OsError> {
    Place::Guest.plan(scenario, |group| group.cc.kind().to_owned(), true)?;
    if scenario.kernel.qdisc == QdiscOf::Bpf {
        return Err(OsError::Unsupported(
            "this kernel's disciplines are its own: found `kernel.qdisc = \"bpf\"`, expected \
             \"linux\"; `--on qdisc` has it"
                .to_owned(),
        ));
    }
    scenario.groups.iter().try_for_each(sends_as_asked)?;
    choice::differences(scenario, Place::Guest.jiffy())
}

/// ECT(1) is Prague's alone. Linux' TCP has no other way to it, and the program that rewrites
/// ECT(0) on a device requires the kernel's types (BTF), which user-mode Linux does not have.
fn sends_as_asked(group: &Group) -> Result<(), OsError> {
    let l4s = group.cc.wants() == WantedEcn::L4s;
    let expected = match group.ecn {
        EcnMode::L4s if !l4s => "ECT(1): expected `ecn` classic or off, or prague",
        EcnMode::Classic if l4s => "ECT(0): expected `ecn` l4s, or dctcp",
        _ => return Ok(()),
    };
    let (name, kind) = (&group.name, group.cc.kind());
    Err(OsError::Unsupported(format!(
        "group `{name}`: in this kernel {kind} does not send {expected}; `--on sim` and \
         `--on kernel` have it"
    )))
}

impl Virtual {
    /// A substrate that runs nothing yet.
    pub fn new(kernel: Kernel, boot: AgentCommand, guest: Vec<String>) -> Virtual {
        Virtual { kernel, boot, guest, cores: Cores::default() }
    }

    /// Runs `scenario` and reports every event to `observer`. Programs write their output to a
    /// folder of this machine, which is made; their other files stay in the guest.
    pub fn run(
        &self,
        scenario: &Scenario,
        programs: Programs,
        observer: &mut dyn Observer<Frame>,
    ) -> Result<Ran, OsError> {
        let instead = check(scenario)?;
        let core = self.cores.take();
        let mut job = Job::new(scenario, programs.clone(), observer);
        if let Some(programs) = &mut job.programs {
            fs::create_dir_all(&programs.out)
                .and_then(|()| fs::canonicalize(&programs.out))
                .map(|out| programs.out = out)
                .map_err(|error| OsError::machine(programs.out.display(), error))?;
            programs.surroundings = Some(Surroundings::of_this_process()?);
        }
        let order = self.order(job, core.as_ref().map(|core| core.number));
        let (guest, _) = Scribe::start("the guest kernel", &self.boot, &order)?;
        let mut ran = follow(guest, scenario, Place::Guest, instead, observer)?;
        ran.instead.extend(shortened(scenario, &programs));
        Ok(ran)
    }

    fn order(&self, job: Job, core: Option<usize>) -> Order {
        let scenario = &job.scenario;
        let flows =
            scenario.long_flows() as u64 + scenario.apps.iter().map(|app| app.flows).sum::<u64>();
        let downloads = Downloads::new(scenario).count() as u64;
        let roster = scenario.roster();
        Order {
            kernel: self.kernel.path.clone(),
            seed: scenario.seed,
            core,
            memory_mib: MEMORY_MIB
                + MIB_PER_PAIR * roster.sources() as u64
                + if job.programs.is_some() { MIB_OF_PROGRAMS } else { 0 }
                + flows / FLOWS_PER_MIB
                + downloads / DOWNLOADS_PER_MIB,
            guest: self.guest.clone(),
            job,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_scenario::Plan;

    fn refused(link: &str) -> String {
        let text = format!("{link}\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n");
        let plan = Plan::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        match check(&plan.points[0].scenario) {
            Err(OsError::Unsupported(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_kernel_has_no_link_for_is_refused() {
        let why = refused("link = { rate = \"40mbit\", aggregation = \"2ms\" }");
        let expected = "the shaper of Linux sends packets one by one: found `link.aggregation = \
                        \"2ms\"`, expected \"0s\"; `--on sim` and `--on kernel` have it";
        assert_eq!(why, expected);
        let why = refused("link.trace = \"lte-1\"");
        let expected = "the shaper of Linux has one rate at a time: found `link.trace = \"lte-1\"`, \
                        expected `link.rate`; `--on sim` and `--on kernel` have it";
        assert_eq!(why, expected);
        let why = refused("link.wifi.stations = 1");
        let expected = "the shaper of Linux has one rate at a time: found `link.wifi`, expected \
                        `link.rate`; `--on sim` and `--on kernel` have it";
        assert_eq!(why, expected);
    }

    #[test]
    fn the_same_of_the_uplink() {
        let refused = |uplink: &str| refused(&format!("link.rate = \"40mbit\"\n{uplink}"));
        for (key, found) in [
            (
                "uplink = { rate = \"4mbit\", aggregation = \"2ms\" }",
                "`uplink.aggregation = \"2ms\"`",
            ),
            ("uplink.trace = \"lte-1\"", "`uplink.trace = \"lte-1\"`"),
            ("uplink.wifi.stations = 1", "`uplink.wifi`"),
            ("uplink = { rate = \"4mbit\", aqm = \"pi2\" }", "Linux has no `pi2`"),
            (
                "uplink = { rate = \"4mbit\", buffer = \"1s\", aqm = \"pie\" }",
                "a `buffer` such as 1000p",
            ),
        ] {
            let why = refused(key);
            assert!(why.starts_with("the uplink: ") && why.contains(found), "{key}: {why}");
        }
    }

    #[test]
    fn what_the_uplink_has_instead_is_named() {
        let text = "link.rate = \"40mbit\"\naqm = \"fifo\"\n\
                    uplink = { rate = \"4mbit\", aqm = { kind = \"dualpi2\", profile = \"dctth\" } }\n\
                    [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                    [[at]]\ntime = \"5s\"\nuplink.aqm = { kind = \"dualpi2\", profile = \"linux\" }\n\
                    [[at]]\ntime = \"6s\"\nuplink.aqm = { kind = \"dualpi2\", profile = \"dctth\" }\n";
        let plan = Plan::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let instead = check(&plan.points[0].scenario).unwrap();
        let has = |what: &str| instead.iter().any(|instead| instead == what);
        assert!(has("scheduler = wrr in the uplink"), "{instead:?}");
        assert!(has("scheduler = wrr (dualpi2 from 6s on) in the uplink"), "{instead:?}");
        let of_profile = instead.iter().filter(|what| what.contains("from 5s")).count();
        assert_eq!(of_profile, 0, "{instead:?}");
    }
}
