//! The scenarios that come with l4s.

use crate::{Faults, Plan};

/// A scenario that comes with l4s.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// The name for `l4s run`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! bundled {
    ($($name:literal),+ $(,)?) => {
        /// All of them, the one to start with first.
        pub const ALL: &[Bundled] = &[$(Bundled {
            name: $name,
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        }),+];
    };
}

bundled! {
    "one-against-one",
    "dctth-4",
    "dctth-5",
    "dctth-6",
    "dctth-all",
    "dctth-9",
    "dctth-10",
    "slides-flows",
    "slides-completion",
    "overload",
    "linux-7.3-grid",
    "linux-7.3-wide",
    "links-grid",
    "bbr-grid",
    "prague",
    "testbed",
    "prague-parts",
    "prague-start",
    "prague-rtts",
    "prague-narrow",
    "prague-detector",
    "tcp-parts",
    "peers",
    "phase",
    "receive-window",
    "send-buffer",
    "rate-limited",
    "quic-endpoint",
    "ack-frequency",
    "small-writes",
    "one-download",
    "web",
    "video",
    "changes",
    "varying-link",
    "wifi",
    "cell",
    "live",
    "fallback-1",
    "fallback-7",
    "fallback-8",
    "fallback-9",
    "fallback-10",
    "fallback-11",
    "fallback-12",
    "fallback-500",
    "fallback-wide",
    "fallback-alone",
    "rrul",
    "asymmetric",
    "bbr",
    "evaluate-alone",
    "evaluate-itself",
    "evaluate-others",
    "evaluate-short",
    "evaluate-app",
    "evaluate-queues",
    "evaluate-paths",
    "evaluate-links",
    "evaluate-changes",
    "evaluate-overload",
    "evaluate-l4s",
    "evaluate-aqm-senders",
    "evaluate-aqm-unresponsive",
    "evaluate-aqm-rtts",
    "evaluate-aqm-bursts",
    "evaluate-aqm-stability",
    "evaluate-aqm-mix",
    "evaluate-aqm-l4s",
    "two-bottlenecks",
    "imperfect-path",
    "core",
    "campus",
    "data-centre",
    "dualpi2-profiles",
    "lab-speed",
}

/// The one of that name.
pub fn find(name: &str) -> Option<Bundled> {
    ALL.iter().find(|bundled| bundled.name == name).copied()
}

impl Bundled {
    /// Its runs.
    pub fn plan(&self, set: &[String]) -> Result<Plan, Faults> {
        Plan::parse(&format!("{}.toml", self.name), self.text, set)
    }
}
