//! The command line: commands and their options.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use l4s_trace::Model;
use l4s_units::Duration;

use crate::folder::CODE;

/// The version and how it was built, for `--version`.
fn built_with() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let [version, rustc, target, profile] =
            [env!("CARGO_PKG_VERSION"), env!("L4S_RUSTC"), env!("L4S_TARGET"), env!("L4S_PROFILE")];
        let text = format!("{version}\ncode {CODE}\n{rustc}, {target}, {profile}");
        #[cfg(kernels)]
        let text = match l4s_bpf::compiler() {
            Ok(clang) => format!("{text}\nBPF programs by {clang}"),
            Err(why) => format!("{text}\nwithout BPF programs: {why}"),
        };
        #[cfg(not(kernels))]
        let text = text + "\nwithout real TCP, programs, L4S on this machine and the live page";
        text
    });
    &TEXT
}

/// Simulate and measure L4S: DualPI2, TCP Prague and other traffic at a shared bottleneck
#[derive(Debug, Parser)]
#[command(name = "l4s", version, long_version = built_with(), max_term_width = 100)]
pub struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario: a file, or a name from `l4s list`
    Run(Run),
    /// Run a shell, or a command, behind the bottleneck of a scenario
    Shell(Shell),
    /// Serve a page that shows a running scenario and can change it
    Live(Live),
    /// List the bundled scenarios, with the question that each answers
    List,
    /// Print a scenario with every default spelled out, as a file to start from
    Show {
        /// A file, or a name from `l4s list`
        scenario: String,
        /// Set a key, or select one run of a sweep
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Reproduce a figure of the papers, with its numbers beside the paper's
    Paper(Paper),
    /// Evaluate congestion controls by the criteria of RFC 9743, with a verdict on each
    Evaluate(Evaluate),
    /// Evaluate queue disciplines by the criteria of RFC 7928 and RFC 9332, with a verdict on each
    #[command(mut_arg("subjects", |arg| arg.help(DISCIPLINES)))]
    EvaluateAqm(Evaluate),
    /// List queue disciplines: parameters, units, defaults, ranges, gains
    Aqm {
        /// The discipline, for example dualpi2
        kind: Option<String>,
        /// A profile of the discipline, for example dctth
        profile: Option<String>,
    },
    /// List congestion controls: parameters, units, defaults, ranges
    Cc {
        /// The congestion control, for example cubic
        kind: Option<String>,
        /// A profile of the control, for example best
        profile: Option<String>,
    },
    /// Show, convert and make traces of links, which have their capacity over time
    #[command(
        args_conflicts_with_subcommands = true,
        subcommand_negates_reqs = true,
        arg_required_else_help = true
    )]
    Trace {
        /// The command [default: show]
        #[command(subcommand)]
        command: Option<TraceCommand>,
        /// Of `show`
        #[command(flatten)]
        show: TraceShow,
        /// Of `convert`, and so refused
        #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
        to: Vec<String>,
    },
    /// Write a page with charts and figures of one or more result folders
    Report {
        /// Folders that `l4s run --out` wrote
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Folder for the page; required with several result folders [default: DIR]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Open the page in the browser
        #[arg(long)]
        open: bool,
    },
    /// Compare the same runs in two result folders: differences beyond the noise of seeds
    Compare {
        /// A folder that `l4s run --out` wrote
        before: PathBuf,
        /// A second one: of other code, on another substrate, or with another setting
        after: PathBuf,
        /// Write a page with the differences, and both side by side, into this folder
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Print every measurement, with its value in each run, as a line of JSON, and notes on stderr
        #[arg(long)]
        json: bool,
    },
    /// Validate the simulator against Linux
    Validate(Validate),
    /// Report which features this machine supports, and which are missing
    Doctor,
    /// Install, change or remove L4S on this machine, or show its status
    Host {
        /// The command to run
        #[command(subcommand)]
        command: HostCommand,
    },
    /// Run a command in a virtual machine with a Debian kernel, which `make vm` makes in a clone of l4s
    Vm(Vm),
    /// Print completions for a shell, to be sourced
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one per command, into a folder
    Man {
        /// The folder
        dir: PathBuf,
    },
}

/// The commands of `l4s host`.
#[derive(Debug, Subcommand)]
pub enum HostCommand {
    /// Install TCP Prague for connections and DualPI2 for devices, atomically
    Install(HostInstall),
    /// Show installed queues (delay, marks, drops) and every Prague connection
    Status {
        /// Refresh every second until interrupted
        #[arg(long, conflicts_with = "json")]
        watch: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the queue of a device while it is in use
    Set {
        /// The device
        #[arg(long, value_name = "DEV")]
        dev: String,
        /// Settings, for example rate=50mbit, profile=best, target=20ms: see `l4s aqm dualpi2`
        #[arg(required = true, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Uninstall and restore the previous configuration
    Remove {
        /// Remove the queue and ECT(1) from this device only; Prague stays, with ECT(0) by this device
        #[arg(long, value_name = "DEV")]
        dev: Vec<String>,
        /// Keep the systemd unit of --boot (used by its ExecStop)
        #[arg(long, conflicts_with = "dev")]
        keep_boot: bool,
    },
}

/// Options of `l4s host install`.
#[derive(Debug, clap::Args)]
pub struct HostInstall {
    /// Register this congestion control, for sockets that select it (TCP_CONGESTION) [default profile:
    /// best-linux, with tracers]
    #[arg(long, value_name = "prague[:PROFILE]")]
    pub cc: Option<String>,
    /// Also make it the default congestion control
    #[arg(long, requires = "cc")]
    pub default: bool,
    /// Request and accept AccECN feedback on all connections, for programs that select the congestion
    /// control after the handshake: net.ipv4.tcp_ecn = 3 (Linux 7.0 or later)
    #[arg(long, requires = "cc")]
    pub accecn: bool,
    /// The queue discipline for the devices
    #[arg(long, value_name = "dualpi2")]
    pub qdisc: Option<String>,
    /// The devices [default: the device of the default route]
    #[arg(long, value_name = "DEV")]
    pub dev: Vec<String>,
    /// Shaper rate, slightly below the rate of the bottleneck behind the device; without it, the device
    /// itself limits the rate
    #[arg(long, value_name = "RATE", requires = "qdisc")]
    pub rate: Option<String>,
    /// Settings of the queue, for example profile=best or target=20ms: see `l4s aqm dualpi2`
    #[arg(long, value_name = "KEY=VALUE", requires = "qdisc")]
    pub set: Vec<String>,
    /// Replace a queue discipline that was configured on the device; `l4s host remove` restores it
    #[arg(long, requires = "qdisc")]
    pub replace: bool,
    /// Install again at each boot, with a systemd unit
    #[arg(long)]
    pub boot: bool,
}

/// The commands of `l4s trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show statistics of traces, and a picture of the rate over time
    Show(TraceShow),
    /// Write a trace in another format
    Convert(TraceConvert),
    /// Make a trace of a kind of link from published statistics
    Make(TraceMake),
    /// List the models of `make` with their sources, and the bundled traces
    List,
}

/// Options of `l4s trace show`.
#[derive(Debug, clap::Args)]
pub struct TraceShow {
    /// A file, a name from `l4s trace list`, or `-` for standard input; `./NAME` is always a file
    #[arg(required = true, value_name = "FILE|NAME")]
    pub traces: Vec<PathBuf>,
    /// Print one JSON object per trace
    #[arg(long)]
    pub json: bool,
    /// Draw the rate over time [default: as the terminal can, and none elsewhere]
    #[arg(long, value_enum, value_name = "CHARACTERS", conflicts_with = "json")]
    pub picture: Option<Picture>,
}

/// Options of `l4s trace convert`.
#[derive(Debug, clap::Args)]
pub struct TraceConvert {
    /// A file, a name from `l4s trace list`, or `-` for standard input; `./NAME` is always a file
    #[arg(value_name = "FILE|NAME")]
    pub trace: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: TraceFormat,
    /// The length of a step where opportunities become rates [default: 100ms]
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Duration>,
    /// The file to write
    #[command(flatten)]
    pub target: TraceTarget,
}

/// Options of `l4s trace make`.
#[derive(Debug, clap::Args)]
pub struct TraceMake {
    /// The model, from `l4s trace list`
    #[arg(value_parser = model())]
    pub model: Model,
    /// The seed of the random stream
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0, i64::MAX as u64))]
    pub seed: u64,
    /// The length of the trace
    #[arg(long, value_name = "TIME", default_value = "2min")]
    pub length: Duration,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = TraceFormat::Csv)]
    pub to: TraceFormat,
    /// The file to write
    #[command(flatten)]
    pub target: TraceTarget,
}

/// The file that `l4s trace` writes.
#[derive(Debug, clap::Args)]
pub struct TraceTarget {
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file of --out if it exists
    #[arg(long, requires = "out")]
    pub replace: bool,
}

/// The formats of traces of links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TraceFormat {
    /// Delivery opportunities of 1504 bytes, in whole milliseconds
    Mahimahi,
    /// Rates, with delay and loss where the trace has them
    Csv,
    /// Rates, for the crate netem-trace
    Json,
}

/// The characters of a picture in a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Picture {
    /// Unicode blocks
    Unicode,
    /// ASCII
    Ascii,
    /// No picture
    None,
}

/// Reads a model by its name.
fn model() -> impl TypedValueParser<Value = Model> {
    PossibleValuesParser::new(Model::ALL.map(Model::name)).try_map(|name| Model::parse(&name))
}

/// Options of `l4s run`.
#[derive(Debug, clap::Args)]
pub struct Run {
    /// A file, or a name from `l4s list`
    pub scenario: String,
    /// The substrate that runs it
    #[arg(long, value_enum, default_value_t = Substrate::Sim)]
    pub on: Substrate,
    /// With --on qdisc: run in a virtual machine whose kernel has every queue discipline
    #[arg(long)]
    pub vm: bool,
    /// Set a key, for example link.rate=100mbit or group.*.rtt=20ms
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The seed of every random stream
    #[arg(long, value_name = "N", value_parser = whole(0, i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Repeat every run with N consecutive seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, u64::MAX))]
    pub seeds: u64,
    /// Cores to use: one for each of the parallel runs, two for a large one [default: all]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Write tables, time series and the report to this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Complete an interrupted run in the folder of --out, or add runs to a finished one: more --seeds, or more
    /// values of a sweep
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Make every run again, and replace earlier results of l4s in the folder of --out; other files
    /// are not touched
    #[arg(long, requires = "out", conflicts_with = "resume")]
    pub replace: bool,
    /// A condition on the summary of every run, for example 'queues.L.delay_ms.p99 < 2'; exit code
    /// 1 if one does not hold
    #[arg(long, value_name = "ASSERTION")]
    pub assert: Vec<String>,
    /// Print one JSON object per run on stdout, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Write every packet at the bottleneck to the folder of --out
    #[arg(long, value_enum, value_name = "FORMAT", requires = "out")]
    pub trace: Option<Trace>,
    /// Hand the runs to the workers of a Dask scheduler, such as tcp://192.0.2.1:8786; the same command
    /// completes an interrupted sweep. Needs the Python package of l4s
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "out",
        conflicts_with_all = ["vm", "jobs", "resume", "replace", "assert", "json", "trace"]
    )]
    pub cluster: Option<String>,
}

/// Options of `l4s shell`.
#[derive(Debug, clap::Args)]
pub struct Shell {
    /// A file, or a name from `l4s list` [default: an access link of 40 Mb/s with DualPI2]
    pub scenario: Option<String>,
    /// A command to start first on the server's host; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub server: Vec<String>,
    /// The host that runs the shell or command
    #[arg(long, value_enum, default_value_t = At::Client)]
    pub at: At,
    /// Serve the page of `l4s live` for the running bottleneck: link, queue discipline and RTTs can be
    /// changed [default address: 127.0.0.1:4545]
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:4545",
        value_parser = address
    )]
    pub live: Option<SocketAddr>,
    /// Route the client's traffic through the bottleneck to this machine's network and the Internet;
    /// needs root
    #[arg(long)]
    pub internet: bool,
    /// Set a key, for example link.rate=100mbit or group.shell.rtt=50ms
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write tables, time series and the report to this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace earlier results of l4s in the folder of --out; other files are not touched
    #[arg(long, requires = "out")]
    pub replace: bool,
    /// Write every packet at the bottleneck to the folder of --out
    #[arg(long, value_enum, value_name = "FORMAT", requires = "out")]
    pub trace: Option<Trace>,
    /// Report for each larger flow the ECN codepoints that its sender sets, its response to marks, and
    /// whether it paces; without a scenario, the link rate alternates between 40 and 20 Mb/s
    #[arg(long)]
    pub check: bool,
    /// A condition on the summary, for example 'groups.shell.mark > 0'; exit code 1 if it does not hold
    #[arg(long, value_name = "ASSERTION")]
    pub assert: Vec<String>,
    /// The command, after `--` [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// A host of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum At {
    /// The host that downloads through the bottleneck
    Client,
    /// The host that sends through the bottleneck
    Server,
}

/// Options of `l4s live`.
#[derive(Debug, clap::Args)]
pub struct Live {
    /// A file, or a name from `l4s list`; the page offers the runs of its sweep
    #[arg(default_value = "live")]
    pub scenario: String,
    /// The substrate that runs it
    #[arg(long, value_enum, default_value_t = LiveSubstrate::Sim)]
    pub on: LiveSubstrate,
    /// Address to listen on; an address other than loopback, or real sockets, require a token
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4545", value_parser = address)]
    pub listen: SocketAddr,
    /// Token that requests must carry, at least 16 characters; generated if one is required.
    /// Command lines are visible to every user of this machine: prefer --token-file or the
    /// environment variable L4S_LIVE_TOKEN
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// File with the token; `-` reads it from the terminal or standard input
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// Open the page in the browser; a token is passed in a file that only you can read
    #[arg(long)]
    pub open: bool,
    /// Set a key, or select one run of a sweep
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// The substrates of live runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LiveSubstrate {
    /// The simulator, in virtual time at the pace of the wall clock
    Sim,
    /// Real Linux TCP in network namespaces, through a user-space bottleneck
    Kernel,
}

/// Options of `l4s paper`.
#[derive(Debug, clap::Args)]
pub struct Paper {
    /// The figure, for example fallback-7 [default: all figures, and a contact sheet]
    pub figure: Option<String>,
    /// List the figures and exit
    #[arg(long, conflicts_with = "figure")]
    pub list: bool,
    /// Folder for tables, time series and pages; a subfolder for each figure
    /// [default: out/paper, or out/paper-quick; FIGURE below it]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Make every run again, and replace earlier results of l4s; other files are not touched. Without
    /// it, finished runs are kept
    #[arg(long)]
    pub replace: bool,
    /// Parallel runs [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Shorter or fewer runs, for a first look
    #[arg(long)]
    pub quick: bool,
    /// The seed of every random stream
    #[arg(long, value_name = "N", value_parser = whole(0, i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Set a key of the figure's scenario
    #[arg(long, value_name = "KEY=VALUE", requires = "figure")]
    pub set: Vec<String>,
}

/// The subjects of `l4s evaluate-aqm`.
const DISCIPLINES: &str = "Queue disciplines: a kind, for example dualpi2, a profile of it as in dualpi2:linux, \
     or a table as in '{ kind = \"codel\", target = \"10ms\" }'";

/// Options of `l4s evaluate` and `l4s evaluate-aqm`.
#[derive(Debug, clap::Args)]
pub struct Evaluate {
    /// Congestion controls: a kind, for example prague, a profile of it as in prague:best, or a table as in
    /// '{ kind = "cubic", abe = true }'. Behind a control +classic or +l4s is the ECN of its flows, as in
    /// cubic+classic. Instead of a control: FILE.toml with the `[[program]]` of a program
    #[arg(required_unless_present = "list", value_name = "KIND")]
    pub subjects: Vec<String>,
    /// List the criteria and exit
    #[arg(long, conflicts_with = "subjects")]
    pub list: bool,
    /// Judge by this chapter alone; repeatable
    #[arg(long, value_name = "CHAPTER")]
    pub only: Vec<String>,
    /// The substrate; criteria whose runs it cannot make are not measured
    #[arg(long, value_enum, default_value_t = Substrate::Sim)]
    pub on: Substrate,
    /// Shorter and fewer runs, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Folder for the page, the verdicts and the runs [default: out/evaluate or
    /// out/evaluate-aqm, with -quick behind it]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Make every run again, and replace earlier results of l4s; other files are not touched. Without
    /// it, finished runs are kept
    #[arg(long)]
    pub replace: bool,
    /// Parallel runs [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Print the verdicts as JSON on stdout
    #[arg(long)]
    pub json: bool,
}

/// Options of `l4s validate`.
#[derive(Debug, clap::Args)]
pub struct Validate {
    /// The scenario [default: all scenarios with recorded kernel data]
    pub scenario: Option<String>,
    /// The reference: recorded kernel data (sim), this machine's TCP (kernel), a kernel in virtual time
    /// (linux), or this machine's kernel (qdisc)
    #[arg(long, value_enum, default_value_t = Substrate::Sim)]
    pub on: Substrate,
    /// Runs per condition, with seeds from 1; the recorded kernel data has three
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole(1, 1000))]
    pub seeds: u64,
    /// Parallel runs [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Set a key of the scenario, to see its effect on the agreement
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON object per check on stdout
    #[arg(long)]
    pub json: bool,
}

/// Options of `l4s vm`.
#[derive(Debug, clap::Args)]
pub struct Vm {
    /// Kernel series
    #[arg(long, value_name = "SERIES")]
    pub kernel: Option<String>,
    /// Use the host clock and two vCPUs (not deterministic)
    #[arg(long)]
    pub plain: bool,
    /// Stop after this time by the host's clock, for example 600s
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<Duration>,
    /// Memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = whole(256, u64::MAX))]
    pub memory: u64,
    /// The command, run as root; only files in the current directory are kept
    #[arg(required = true, last = true)]
    pub command: Vec<OsString>,
}

/// The substrates.
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
    /// For Wireshark and tshark: packet headers only
    Pcapng,
    /// Whole packets, so that checksums can be verified
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

/// Reads a whole number from `least` to `most`.
fn whole(least: u64, most: u64) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync {
    move |text| match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ if most == u64::MAX => Err(format!("expected a whole number from {least} on")),
        _ => Err(format!("expected a whole number from {least} to {most}")),
    }
}

/// Reads an address to listen on. Of names only that of this machine is known, so that nothing is looked up.
fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => &format!("127.0.0.1:{port}"),
        None => text,
    };
    numeric.parse().map_err(|_| {
        "expected a numeric address or localhost, and a port: 127.0.0.1:4545, [::1]:4545, localhost:4545"
            .to_owned()
    })
}

fn jobs(text: &str) -> Result<usize, String> {
    whole(1, 1024)(text).map(|number| number as usize)
}
