//! Programs of the user on the hosts of a group.

use l4s_units::{Duration, Time};
use serde::{Deserialize, Serialize};

/// A program of the user, or a server and its client, on the hosts of a group. Only substrates with
/// real sockets run it.
///
/// ```
/// use l4s_model::{Command, Expect, Program, Ready, Signal};
/// use l4s_units::Time;
///
/// // iperf3 on the hosts of the first group, once the server listens; Ctrl-C ends both.
/// let words = |line: &str| Command::Words(line.split(' ').map(str::to_owned).collect());
/// let iperf = Program {
///     name: "iperf3".to_owned(),
///     group: 0,
///     server: Some(words("iperf3 --server")),
///     client: Some(Command::Line("iperf3 --client $SERVER --reverse >result".to_owned())),
///     ready: Ready::Tcp(5201),
///     start: Time::ZERO,
///     stop: Some(Signal::Int),
///     env: Vec::new(),
///     expect: Expect::Code(0),
/// };
/// assert_eq!(iperf.server, Some(Command::Words(vec!["iperf3".into(), "--server".into()])));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Its name, unique among the programs of a scenario, and a name for a folder.
    pub name: String,
    /// The group whose hosts and path it has: its place among the groups.
    pub group: usize,
    /// The command on the server's host, started before the run begins.
    pub server: Option<Command>,
    /// The command on the client's host.
    pub client: Option<Command>,
    /// When the server is ready. The run begins once every server is.
    pub ready: Ready,
    /// When the client starts.
    pub start: Time,
    /// The signal that ends its client at the end of the run, before SIGKILL; `None` for a client
    /// that must have ended by itself. Its server gets it, too, or SIGTERM.
    pub stop: Option<Signal>,
    /// Variables of its environment, in addition to those of the command l4s.
    pub env: Vec<(String, String)>,
    /// How it succeeds.
    pub expect: Expect,
}

/// How a program succeeds.
///
/// Example: [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Expect {
    /// Where it ends by itself, with this exit code.
    Code(u8),
    /// Its client runs until the end of the run ends it.
    Running,
}

/// A command.
///
/// Example: [`Program`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// A line for `/bin/sh`.
    Line(String),
    /// A program and its arguments, unchanged.
    Words(Vec<String>),
}

/// When a server is ready.
///
/// Example: [`Program`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ready {
    /// This long after its start.
    After(Duration),
    /// Once something in its namespace listens on any TCP port, or is bound to any UDP port.
    Port,
    /// Once something in its namespace listens on this TCP port.
    Tcp(u16),
    /// Once something in its namespace is bound to this UDP port.
    Udp(u16),
    /// Once a line of its output contains this text.
    Line(String),
    /// Once this file exists.
    File(String),
}

/// A signal that asks a process to end.
///
/// Example: [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Signal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT, as Ctrl-C.
    Int,
    /// SIGHUP.
    Hup,
    /// SIGQUIT.
    Quit,
    /// SIGKILL, at once.
    Kill,
}
