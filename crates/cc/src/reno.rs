//! Reno (RFC 5681): one segment more per round trip, half the window on congestion.

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile};
use serde::{Deserialize, Serialize};

use crate::{Ack, Congestion, Connection, Reducing, Window, WindowRule};

/// The settings of Reno.
///
/// Example: [`Rule`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Config {
    /// Reduce by 0.8 rather than by half on ECN (ABE, RFC 8511 §3).
    pub abe: bool,
    /// Let a window that is not used grow (draft-ietf-ccwg-ratelimited-increase).
    pub rate_limited_increase: bool,
    /// Leave the first slow start when the RTT rises and stays there (RFC 9406).
    pub hystart_plus_plus: bool,
    /// Spread the window over the round trip instead of sending in bursts.
    pub pacing: bool,
}

impl Config {
    pub(crate) fn paces(&self) -> bool {
        self.pacing
    }
}

impl Configurable for Config {
    const KIND: &'static str = "reno";
    const ABOUT: &'static str = "TCP Reno (RFC 5681), as in Linux";

    const PARAMS: &'static [Param<Self>] = &[
        param!(abe, Kind::Bool, "on ECN, reduce the window to 0.8 instead of 0.5 (RFC 8511)"),
        param!(
            rate_limited_increase,
            Kind::Bool,
            "let an unused window grow as far as the largest flight allows (IETF draft)"
        ),
        param!(
            hystart_plus_plus,
            Kind::Bool,
            "leave the first slow start as HyStart++ does (RFC 9406)"
        ),
        param!(
            pacing,
            Kind::Bool,
            "spread the window over the round trip, as behind fq, instead of sending in bursts"
        ),
    ];

    const PROFILES: &'static [Profile<Self>] =
        &[Profile { name: "linux", doc: "as Linux", make: Config::default }];
}

/// Reno has no state but the window.
///
/// ```
/// use l4s_cc::reno::{Config, Rule};
/// use l4s_cc::{Congestion, Window, WindowRule};
///
/// let window = Window::new(100);
/// // Half the window, and 0.8 of it on a mark with ABE (RFC 8511).
/// let [mut reno, mut abe] =
///     [false, true].map(|abe| Rule::new(&Config { abe, ..Config::default() }));
/// assert_eq!(reno.ssthresh(&window, Congestion::Ecn), 50);
/// assert_eq!(abe.ssthresh(&window, Congestion::Ecn), 80);
/// ```
#[derive(Clone, Debug)]
pub struct Rule {
    config: Config,
}

impl Rule {
    /// The state of a new connection.
    pub fn new(config: &Config) -> Self {
        Rule { config: *config }
    }
}

/// Reno's growth, which DCTCP shares: slow start, then one segment per window.
#[inline]
pub(crate) fn grow(window: &mut Window, acked: u32) {
    if !window.limited {
        return;
    }
    let mut acked = acked;
    if window.in_slow_start() {
        acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
    }
    window.additive_increase(window.cwnd, acked);
}

/// A connection under Reno.
pub type Control = Reducing<Rule>;

/// The state of a new connection.
pub fn control(config: &Config, connection: &Connection) -> Control {
    Reducing::new(Rule::new(config), config.pacing, connection)
        .rate_limited_increase(config.rate_limited_increase)
        .hystart_plus_plus(config.hystart_plus_plus)
}

impl WindowRule for Rule {
    #[inline]
    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        grow(window, ack.delivered);
    }

    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
        let reduced = match congestion {
            // RFC 8511 §3: beta_ecn = 0.8.
            Congestion::Ecn if self.config.abe => window.cwnd * 4 / 5,
            _ => window.cwnd / 2,
        };
        reduced.max(2)
    }
}
