//! `l4s doctor`: features of this machine, missing ones, and how to install them.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::print;

/// Prints the features of this machine.
pub fn doctor() -> Result<(), Failure> {
    let mut page = Page::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    page.line("simulate (--on sim)", &format!("yes, {cores} run{plural} at a time"));
    let tools: [(&str, &[&str], &str); 2] = [
        ("read traces", &["tshark", "wireshark"], "apt-get install tshark"),
        ("show reports", &["chromium", "google-chrome", "firefox", "xdg-open"], "any web browser"),
    ];
    for (what, names, install) in tools {
        match names.iter().find_map(|name| find(name)) {
            Some(path) => page.line(what, &format!("yes, {}", path.display())),
            None => page.line(what, &format!("not found: {install}")),
        }
    }
    #[cfg(kernels)]
    kernel::examine(&mut page, cores);
    #[cfg(not(kernels))]
    for name in ["kernel", "linux", "qdisc"] {
        let failure = crate::failure::Failure::left_out("no");
        page.line(&format!("real TCP (--on {name})"), &failure.to_string());
    }
    print(&page.0)
}

/// The page to print.
#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, what: &str, found: &str) {
        self.0 += &format!("{what:25} {found}\n");
    }

    #[cfg(kernels)]
    fn head(&mut self, text: &str) {
        self.0 += &format!("\n{text}\n");
    }
}

/// The program of that name in `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Real sockets, and the mistakes that L4S on Linux suffers from most.
#[cfg(kernels)]
mod kernel {
    use l4s_bpf::{Finding, Probe};
    use l4s_os::Host;

    use super::Page;
    use l4s_substrate::{
        Arrival, Disciplines, accecn_for_all, disciplines, ect1_arrives, has_fq, lab_works,
        linux_works,
    };

    pub fn examine(page: &mut Page, cores: usize) {
        let works = lab_works();
        match &works {
            Ok(()) => page.line("real TCP (--on kernel)", "yes"),
            Err(why) => page.line("real TCP (--on kernel)", &format!("no: {why}")),
        }
        if cores < 2 {
            page.line("  cores", "1: the data plane needs one for itself, so runs will be unfit");
        }
        let host = Host::look();
        page.line("  the kernel's own", &host.controls.join(" "));
        let probe = l4s_bpf::probe();
        page.line("  our controls by BPF", &bpf(&probe));
        let for_all = works.is_ok().then(|| accecn_for_all().is_ok());
        page.line("  AccECN", &accecn(&probe, &host, for_all));
        let tracers = [&probe.tcx, &probe.tracers].into_iter().find_map(Finding::reason);
        page.line("  shell --internet", &internet());
        page.line("  tracers by BPF", tracers.map_or("yes", first_line));
        page.line("  dualpi2 by BPF", probe.queues.reason().map_or("yes", first_line));
        if works.is_ok() {
            page.line("  ECT(1) to the other end", &ect1(&probe));
        }
        page.line(
            "real TCP (--on linux)",
            &match linux_works() {
                Ok(kernel) => format!("yes, {kernel}"),
                Err(why) => format!("no: {why}"),
            },
        );
        match disciplines() {
            Ok(Disciplines { has, lacks }) => {
                page.line("real TCP (--on qdisc)", "yes");
                page.line("  its disciplines", &has.join(" "));
                if !lacks.is_empty() {
                    page.line("  it has no", &lacks.join(" "));
                }
            }
            Err(why) => page.line("real TCP (--on qdisc)", &format!("no: {why}")),
        }
        network(page, &host, for_all == Some(true));
    }

    /// Whether a client may reach this machine's network.
    fn internet() -> String {
        match l4s_substrate::internet_works() {
            Ok(()) => "yes".to_owned(),
            Err(why) => format!("no: {why}"),
        }
    }

    /// Whether our congestion controls can be loaded.
    fn bpf(probe: &Probe) -> String {
        let steps = [&probe.built, &probe.types, &probe.permission, &probe.struct_ops];
        match steps.into_iter().find_map(Finding::reason) {
            None => "dctcp, prague, bbr3".to_owned(),
            Some(why) => format!("no: {why}"),
        }
    }

    fn first_line(why: &str) -> &str {
        why.lines().next().unwrap_or_default()
    }

    /// How AccECN comes about on this kernel; whether all connections can have it, where that is known.
    fn accecn(probe: &Probe, host: &Host, for_all: Option<bool>) -> String {
        let sysctl = host.setting("net/ipv4/tcp_ecn").unwrap_or("unknown");
        if probe.needs_accecn.works() {
            let all = match for_all {
                Some(false) => format!("; {FOR_ALL}"),
                _ => format!("; tcp_ecn = {sysctl}"),
            };
            format!("yes, where both ends' congestion control asks for it{all}")
        } else {
            let why = probe.needs_accecn.reason().unwrap_or_default();
            let why = why.lines().next().unwrap_or_default();
            format!("not requested by a congestion control ({why}): Prague gets DCTCP's echo")
        }
    }

    /// Sends real packets.
    fn ect1(probe: &Probe) -> String {
        match ect1_arrives(probe.struct_ops.works()) {
            Ok(Arrival { cc, ect1, all }) if ect1 == all => {
                format!("yes: {all} of {all} data packets of {cc}")
            }
            Ok(Arrival { cc, ect1, all }) => {
                format!("no: {ect1} of {all} data packets of {cc}: something on the way clears it")
            }
            Err(why) => format!("not tried: {why}"),
        }
    }

    /// This machine's own way to the Internet.
    fn network(page: &mut Page, host: &Host, accecn_for_all: bool) {
        let Some(interface) = &host.interface else { return };
        page.head("common obstacles to L4S on Linux, on this machine's own network");
        page.line("interface", &format!("{}, of the default route", interface.name));
        let on: Vec<&str> =
            interface.offloads.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
        page.line(
            "offloads",
            &match on.as_slice() {
                [] => "off: queues see packets".to_owned(),
                on => format!(
                    "{}: senders hand down bursts of up to 64 KiB, which is long for a queue of half a \
                     millisecond: ethtool -K {} {}",
                    on.join(" "),
                    interface.name,
                    on.iter().map(|name| format!("{name} off")).collect::<Vec<_>>().join(" ")
                ),
            },
        );
        let qdisc = interface.qdisc.as_deref().unwrap_or("unknown");
        page.line("pacing", &pacing(&interface.name, qdisc, has_fq().ok()));
        page.line(
            "the queue",
            &match qdisc {
                "dualpi2" => "dualpi2".to_owned(),
                _ => format!(
                    "{qdisc}, which marks nothing for L4S. An AQM helps only where the bottleneck \
                     is: shape to slightly below the link's rate, and install it there"
                ),
            },
        );
        let ecn = tcp_ecn(host.setting("net/ipv4/tcp_ecn"), accecn_for_all);
        page.line("tcp_ecn", &ecn);
        if let Some((name, text)) = accecn_option(host.setting("net/ipv4/tcp_ecn_option")) {
            page.line(name, text);
        }
    }

    /// The row about `net.ipv4.tcp_ecn_option`, which came with AccECN itself; `None` where it is no obstacle.
    fn accecn_option(setting: Option<&str>) -> Option<(&'static str, &'static str)> {
        match setting {
            None => Some(("AccECN in this kernel", "no: it came with Linux 6.18")),
            Some("0") => Some((
                "tcp_ecn_option",
                "0: AccECN counts marks in three bits alone. 2, the default, counts their bytes, too: \
                 sysctl -w net.ipv4.tcp_ecn_option=2",
            )),
            Some(_) => None,
        }
    }

    /// Who paces on a device with the discipline `qdisc`, on a kernel that has `fq`, where that is known.
    fn pacing(name: &str, qdisc: &str, has_fq: Option<bool>) -> String {
        if qdisc == "fq" {
            return "by fq".to_owned();
        }
        let better = match has_fq {
            Some(true) => format!(": tc qdisc replace dev {name} root fq"),
            Some(false) => "; this kernel has no fq, which would".to_owned(),
            None => String::new(),
        };
        format!(
            "by TCP itself, if a congestion control asks for it ({qdisc} does not pace){better}"
        )
    }

    /// For a kernel that refuses 3.
    const FOR_ALL: &str = "AccECN for all connections (tcp_ecn = 3) came with Linux 7.0";

    /// The value of `net.ipv4.tcp_ecn`, and a better one, on a kernel that takes 3 or does not.
    fn tcp_ecn(setting: Option<&str>, takes_3: bool) -> String {
        let is = match setting {
            Some("0") => "0: refused",
            Some("1") => "1: asked for and accepted, with the echo of RFC 3168",
            Some("2") => "2: accepted, with the echo of RFC 3168, and not asked for",
            Some(value @ ("3" | "4" | "5")) => return format!("{value}: with AccECN"),
            Some(other) => return other.to_owned(),
            None => return "unknown".to_owned(),
        };
        let better = match (setting, takes_3) {
            (_, true) => {
                return format!(
                    "{is}; 3 asks for AccECN, which L4S needs: sysctl -w net.ipv4.tcp_ecn=3"
                );
            }
            (Some("1"), false) => {
                "That reports one mark per round trip to a sender: enough for Cubic with ECN, too \
                 little for L4S"
            }
            (_, false) => {
                "1 enables it (sysctl -w net.ipv4.tcp_ecn=1): that reports one mark per round trip to \
                 a sender, enough for Cubic with ECN, too little for L4S"
            }
        };
        format!("{is}. {better}. {FOR_ALL}")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn fq_is_advised_where_the_kernel_has_it() {
            assert_eq!(pacing("eth0", "fq", None), "by fq");
            let advised = |has_fq| pacing("eth0", "pfifo_fast", has_fq).contains("tc qdisc");
            assert_eq!([Some(true), Some(false), None].map(advised), [true, false, false]);
        }

        #[test]
        fn the_option_of_accecn_is_named_where_it_is_an_obstacle() {
            for fine in ["1", "2", "3"] {
                assert_eq!(accecn_option(Some(fine)), None);
            }
            let (name, text) = accecn_option(Some("0")).unwrap();
            assert_eq!(name, "tcp_ecn_option");
            assert!(text.ends_with("sysctl -w net.ipv4.tcp_ecn_option=2"), "{text}");
            assert!(accecn_option(None).unwrap().1.contains("Linux 6.18"));
        }

        #[test]
        fn tcp_ecn_is_advised_as_far_as_the_kernel_knows_it() {
            for setting in ["0", "1", "2"] {
                let with = tcp_ecn(Some(setting), true);
                assert!(with.contains("sysctl -w net.ipv4.tcp_ecn=3"), "{with}");
                // A kernel that rejects 3: the text explains 1 and its limit.
                let without = tcp_ecn(Some(setting), false);
                assert_eq!(without.contains("tcp_ecn=1"), setting != "1", "{without}");
                assert!(!without.contains("tcp_ecn=3"), "{without}");
                for word in ["one mark per round trip", "too little for L4S", "Linux 7.0"] {
                    assert!(without.contains(word), "{without}");
                }
            }
            assert_eq!(tcp_ecn(Some("3"), true), "3: with AccECN");
        }
    }
}
