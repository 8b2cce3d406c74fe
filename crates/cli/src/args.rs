//! What can be asked for.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Parser, Subcommand, ValueEnum};
use l4s_units::Duration;

use crate::folder::CODE;

/// The version and how it was built, for `--version`.
fn built_with() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let [version, rustc, target, profile] = [
            env!("CARGO_PKG_VERSION"),
            env!("L4S_RUSTC"),
            env!("L4S_TARGET"),
            env!("L4S_PROFILE"),
        ];
        let text = format!("{version}\ncode {CODE}\n{rustc}, {target}, {profile}");
        #[cfg(target_os = "linux")]
        let text = match l4s_bpf::compiler() {
            Ok(clang) => format!("{text}\nBPF programs by {clang}"),
            Err(why) => format!("{text}\nwithout BPF programs: {why}"),
        };
        text
    });
    &TEXT
}

/// L4S at the desk: which flows meet at which bottleneck, and what that does to latency.
#[derive(Debug, Parser)]
#[command(name = "l4s", version, long_version = built_with(), max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario: a file, or a name from `l4s list`
    Run(Run),
    /// A shell, or a command, behind the bottleneck of a scenario
    Shell(Shell),
    /// A page that shows a scenario as it runs, and lets you change it meanwhile
    Live(Live),
    /// The bundled scenarios, with the question that each answers
    List,
    /// A scenario with every default spelled out, as a file to start from
    Show {
        /// A file, or a name from `l4s list`
        scenario: String,
        /// Set a key, or choose a run of a sweep
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// A figure of the papers: its scenario, its pictures, and its numbers beside the paper's
    Paper(Paper),
    /// Queue disciplines: parameters, units, defaults, ranges, gains
    Aqm {
        /// Such as dualpi2
        kind: Option<String>,
        /// Such as dctth
        profile: Option<String>,
    },
    /// Congestion controls: parameters, units, defaults, ranges
    Cc {
        /// Such as cubic
        kind: Option<String>,
    },
    /// A page with charts, and figures, of a result folder or of several side by side
    Report {
        /// Folders that `l4s run --out` made
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Where to write it; into DIR itself where there is one only
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Show it in the browser
        #[arg(long)]
        open: bool,
    },
    /// The same runs in two result folders: what differs, beyond the noise of seeds
    Compare {
        /// A folder that `l4s run --out` made
        before: PathBuf,
        /// Another one
        after: PathBuf,
        /// Draw both side by side, in this folder
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Hold the simulator against Linux
    Validate(Validate),
    /// What this machine can do, and what is missing
    Doctor,
    /// L4S on this machine itself
    Host {
        /// What to do
        #[command(subcommand)]
        command: HostCommand,
    },
    /// Run a command in a virtual machine, with a kernel of Debian
    #[command(hide = true)]
    Vm(Vm),
    /// Completions for a shell, to be sourced
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// What `l4s host` does.
#[derive(Debug, Subcommand)]
pub enum HostCommand {
    /// Prague for connections, DualPI2 for devices: all of it is put in place, or nothing is
    Install(HostInstall),
    /// What is in place: queues with their delays, marks and drops; every connection with Prague
    Status {
        /// Look every second, until it is stopped
        #[arg(long, conflicts_with = "json")]
        watch: bool,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the queue of a device while it runs
    Set {
        /// The device
        #[arg(long, value_name = "DEV")]
        dev: String,
        /// Such as rate=50mbit, profile=best, target=20ms: see `l4s aqm dualpi2`
        #[arg(required = true, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Take everything back: all is as it was
    Remove {
        /// Only from this device
        #[arg(long, value_name = "DEV")]
        dev: Vec<String>,
        /// But for what --boot does at the next start: the unit's own way to stop
        #[arg(long, conflicts_with = "dev")]
        keep_boot: bool,
    },
}

/// Options of `l4s host install`.
#[derive(Debug, clap::Args)]
pub struct HostInstall {
    /// A congestion control for connections that ask for it, with a profile of it if wanted
    #[arg(long, value_name = "prague[:PROFILE]")]
    pub cc: Option<String>,
    /// For all connections that ask for no other, too
    #[arg(long, requires = "cc")]
    pub default: bool,
    /// Exact feedback (AccECN) asked for and granted on all connections, for programs that choose
    /// a congestion control when they are connected already: net.ipv4.tcp_ecn = 3
    #[arg(long, requires = "cc")]
    pub accecn: bool,
    /// A queue discipline for the devices
    #[arg(long, value_name = "dualpi2")]
    pub qdisc: Option<String>,
    /// The devices; that of the default route unless set
    #[arg(long, value_name = "DEV")]
    pub dev: Vec<String>,
    /// The rate to hold, a little below that of the bottleneck behind the device; without, the
    /// device limits itself
    #[arg(long, value_name = "RATE", requires = "qdisc")]
    pub rate: Option<String>,
    /// Settings of the queue, such as profile=best or target=20ms: see `l4s aqm dualpi2`
    #[arg(long, value_name = "KEY=VALUE", requires = "qdisc")]
    pub set: Vec<String>,
    /// Take the place of a queue discipline that somebody gave to the device; it is put back by
    /// `l4s host remove`
    #[arg(long, requires = "qdisc")]
    pub replace: bool,
    /// Do it again at each start of the machine, by systemd
    #[arg(long)]
    pub boot: bool,
}

/// Options of `l4s run`.
#[derive(Debug, clap::Args)]
pub struct Run {
    /// A file, or a name from `l4s list`
    pub scenario: String,
    /// What runs it
    #[arg(long, value_enum, default_value_t = Substrate::Sim)]
    pub on: Substrate,
    /// With --on qdisc: in a virtual machine, whose kernel has every queue discipline
    #[arg(long)]
    pub vm: bool,
    /// Set a key, such as link.rate=100mbit or group.*.rtt=20ms
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The seed of every random stream
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Run everything N times, with N seeds counted up
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Runs at a time; as many as there are cores unless set
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Keep tables, time series and the report in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Complete what was interrupted in the folder of --out
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Replace other results that l4s wrote into the folder of --out, and nothing else
    #[arg(long, requires = "out", conflicts_with = "resume")]
    pub replace: bool,
    /// What must hold of the summary of every run, such as 'queues.L.delay_ms.p99 < 2': otherwise the exit
    /// code is 1
    #[arg(long, value_name = "ASSERTION")]
    pub assert: Vec<String>,
    /// Print a JSON object per run on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Write every packet at the bottleneck into the folder of --out
    #[arg(long, value_enum, value_name = "FORMAT", requires = "out")]
    pub trace: Option<Trace>,
}

/// Options of `l4s shell`.
#[derive(Debug, clap::Args)]
pub struct Shell {
    /// A file, or a name from `l4s list`; without one, an access link of 40 Mb/s with DualPI2
    pub scenario: Option<String>,
    /// A command on the server's host, started before; may be given more than once
    #[arg(long, value_name = "COMMAND")]
    pub server: Vec<String>,
    /// The host of the shell or command
    #[arg(long, value_enum, default_value_t = At::Client)]
    pub at: At,
    /// Show the page of `l4s live` on the running bottleneck, whose link, discipline and round trips it
    /// changes; at 127.0.0.1:4545 unless given
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:4545"
    )]
    pub live: Option<SocketAddr>,
    /// The client reaches this machine's own network, and the Internet behind it, through the bottleneck;
    /// as root
    #[arg(long)]
    pub internet: bool,
    /// Set a key, such as link.rate=100mbit or group.shell.rtt=50ms
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Keep tables, time series and the report in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace other results that l4s wrote into the folder of --out, and nothing else
    #[arg(long, requires = "out")]
    pub replace: bool,
    /// Write every packet at the bottleneck into the folder of --out
    #[arg(long, value_enum, value_name = "FORMAT", requires = "out")]
    pub trace: Option<Trace>,
    /// Say of each larger flow which ECN codepoints its sender sets, how it answers marks, and whether it
    /// paces; without a scenario, the rate of the link alternates between 40 and 20 Mb/s
    #[arg(long)]
    pub check: bool,
    /// What the summary must satisfy, such as 'groups.shell.mark > 0'; exit code 1 where it does not
    #[arg(long, value_name = "ASSERTION")]
    pub assert: Vec<String>,
    /// The command, after `--`; your shell unless given
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// A host of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum At {
    /// The one that downloads through the bottleneck
    Client,
    /// The one that sends through it
    Server,
}

/// Options of `l4s live`.
#[derive(Debug, clap::Args)]
pub struct Live {
    /// A file, or a name from `l4s list`; the page offers its runs
    #[arg(default_value = "live")]
    pub scenario: String,
    /// What runs it
    #[arg(long, value_enum, default_value_t = LiveSubstrate::Sim)]
    pub on: LiveSubstrate,
    /// Where to listen; with another address than a loopback one, or real sockets, it asks for a token
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4545")]
    pub listen: SocketAddr,
    /// What requests must show, 16 characters at least; chosen by chance where it is needed. Every
    /// user of this machine can read a command line: --token-file and the variable L4S_LIVE_TOKEN
    /// keep it to you
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// The same from a file; `-` asks for it, or takes it from standard input
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// Show it in the browser, by a file that only you can read where there is a token
    #[arg(long)]
    pub open: bool,
    /// Set a key, or choose a run of a sweep
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// What can run a scenario while it is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LiveSubstrate {
    /// The simulator, in virtual time at the pace of the clock
    Sim,
    /// Real Linux TCP in network namespaces, through a user-space bottleneck
    Kernel,
}

/// Options of `l4s paper`.
#[derive(Debug, clap::Args)]
pub struct Paper {
    /// The figure, such as fallback-7; without one all of them, and a contact sheet
    pub figure: Option<String>,
    /// Say which figures there are, and make none
    #[arg(long, conflicts_with = "figure")]
    pub list: bool,
    /// Keep tables, time series and pages in this folder, of all figures in a folder each
    /// [default: out/paper, or out/paper-quick; there in FIGURE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace other results that l4s wrote into the folder of --out, as is done in the default one
    #[arg(long, requires = "out")]
    pub replace: bool,
    /// Runs at a time; as many as there are cores unless set
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Shorter runs, or fewer, for a first look
    #[arg(long)]
    pub quick: bool,
    /// The seed of every random stream
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Set a key of its scenario, to see what it does to the figure
    #[arg(long, value_name = "KEY=VALUE", requires = "figure")]
    pub set: Vec<String>,
}

/// Options of `l4s validate`.
#[derive(Debug, clap::Args)]
pub struct Validate {
    /// The scenario; without one, those of which a kernel's runs are kept
    pub scenario: Option<String>,
    /// Against what: kept runs of a kernel (sim), this machine's TCP now (kernel), a kernel in
    /// virtual time now (linux), or this machine's kernel now (qdisc)
    #[arg(long, value_enum, default_value_t = Substrate::Sim)]
    pub on: Substrate,
    /// Runs per condition, with seeds counted up from 1; the kernel was measured three times
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Runs at a time; as many as there are cores unless set
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Set a key of the scenario, to see what it does to the agreement
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print a JSON object per check on stdout
    #[arg(long)]
    pub json: bool,
}

/// Options of `l4s vm`.
#[derive(Debug, clap::Args)]
pub struct Vm {
    /// Its kernel: the series
    #[arg(long, value_name = "SERIES")]
    pub kernel: Option<String>,
    /// Its clock is this machine's, and it has two processors
    #[arg(long)]
    pub plain: bool,
    /// End it after so long by this machine's clock, such as 600s
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<Duration>,
    /// Its memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(256..))]
    pub memory: u64,
    /// The command, as root; what it writes is kept in the current directory only
    #[arg(required = true, last = true)]
    pub command: Vec<OsString>,
}

/// What can run a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Substrate {
    /// The simulator, in virtual time
    Sim,
    /// Real Linux TCP in network namespaces, through a user-space bottleneck
    Kernel,
    /// The real kernel in virtual time, as user-mode Linux
    Linux,
    /// Real Linux TCP through a queue discipline of this machine's kernel
    Qdisc,
}

/// Formats of packet traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Trace {
    /// For Wireshark and tshark: headers, which is what differs
    Pcapng,
    /// The same with whole packets, so that checksums can be verified
    PcapngFull,
}

impl Substrate {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Substrate::Sim => "sim",
            Substrate::Kernel => "kernel",
            Substrate::Linux => "linux",
            Substrate::Qdisc => "qdisc",
        }
    }
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("expected a whole number from 1 to 1024".to_owned()),
    }
}
