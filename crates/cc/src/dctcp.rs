//! DCTCP (RFC 8257): reduces the window in proportion to the fraction of marked segments.
//!
//! Once per window of data the fraction of marks is folded into `alpha`, a moving average; a
//! window with a mark in it ends with the congestion window reduced by `alpha / 2`. Growth and
//! the response to loss are Reno's.

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile};
use serde::{Deserialize, Serialize};

use crate::{Ack, Congestion, Connection, Reducing, Window, WindowRule, reno};

/// The settings of DCTCP.
///
/// Example: [`Rule`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The gain of the moving average is 2^−`shift_g` (RFC 8257 §3.3: g = 1/16).
    pub shift_g: u32,
    /// `alpha` before anything is known, in 1/1024 (RFC 8257 §3.3: 1).
    pub alpha_on_init: u32,
    /// Bits of `alpha`'s fraction. With Linux' 10, less than one mark in 2^(10 − `shift_g`)
    /// segments rounds to none.
    pub alpha_bits: u32,
    /// Spread the window over the round trip instead of sending in bursts.
    pub pacing: bool,
}

impl Config {
    /// As Linux.
    pub fn linux() -> Self {
        Config { shift_g: 4, alpha_on_init: 1 << 10, alpha_bits: 10, pacing: false }
    }

    /// RFC 8257, with an average precise enough for any marking probability.
    pub fn rfc8257() -> Self {
        Config { alpha_bits: 30, ..Config::linux() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::linux()
    }
}

impl Config {
    pub(crate) fn paces(&self) -> bool {
        self.pacing
    }
}

impl Configurable for Config {
    const KIND: &'static str = "dctcp";
    const ABOUT: &'static str =
        "Data Centre TCP (RFC 8257), as in Linux, with Reno's response to loss";

    const PARAMS: &'static [Param<Self>] = &[
        param!(
            shift_g,
            Kind::Count { min: 1, max: 10 },
            "gain of the moving average of marks: 2^-shift_g"
        ),
        param!(
            alpha_on_init,
            Kind::Count { min: 0, max: 1 << 10 },
            "the average before the first window, in 1/1024"
        ),
        param!(
            alpha_bits,
            Kind::Count { min: 10, max: 30 },
            "bits of the average's fraction: 10 in Linux, where rare marks round to none"
        ),
        param!(
            pacing,
            Kind::Bool,
            "spread the window over the round trip, as behind fq, instead of sending in bursts"
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "linux", doc: "as Linux", make: Config::linux },
        Profile { name: "rfc8257", doc: "with a precise average", make: Config::rfc8257 },
    ];
}

/// The state of a connection under DCTCP, named as in `dctcp.h`.
///
/// Example: [`Rule`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// Moving average of the fraction of marked segments, from 0 to 2^`alpha_bits`.
    pub alpha: u32,
    /// The window of observation ends when this segment is acknowledged.
    pub window_end: u64,
    /// Segments delivered in this window of observation.
    pub delivered: u32,
    /// Those of them that were marked; all of an acknowledgement that echoed congestion.
    pub delivered_ce: u32,
}

/// A connection under DCTCP.
///
/// ```
/// use l4s_cc::dctcp::{Config, Rule, State};
/// use l4s_cc::{Ack, Congestion, Window, WindowRule};
///
/// let (mut rule, mut window) = (Rule::new(&Config::linux()), Window::new(100));
/// // A window of data without a mark takes a sixteenth off alpha, which begins at 1024/1024.
/// rule.observe(&mut window, &Ack { delivered: 100, una: 100, nxt: 200, ..Ack::default() });
/// let State { alpha, window_end, .. } = *rule.state();
/// assert_eq!((alpha, window_end), (960, 200));
/// // A mark takes alpha / 2 off the window.
/// assert_eq!(rule.ssthresh(&window, Congestion::Ecn), 100 - 46);
/// ```
#[derive(Clone, Debug)]
pub struct Rule {
    shift_g: u32,
    /// Bits of the fraction of `alpha`.
    bits: u32,
    state: State,
}

impl Rule {
    /// The state of a new connection.
    pub fn new(config: &Config) -> Self {
        Rule {
            shift_g: config.shift_g,
            bits: config.alpha_bits,
            state: State {
                alpha: config.alpha_on_init << (config.alpha_bits - 10),
                window_end: 0,
                delivered: 0,
                delivered_ce: 0,
            },
        }
    }

    /// Its state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Folds the window's fraction of marks into `alpha`.
    fn update_alpha(&mut self) {
        // RFC 8257 §3.3 step 6: alpha = (1 - g)·alpha + g·M. Where the shift would round the
        // decay to nothing, all that is left goes, so that alpha can reach zero.
        let s = &mut self.state;
        let decay = s.alpha >> self.shift_g;
        s.alpha -= if decay == 0 { s.alpha } else { decay };
        if s.delivered_ce > 0 {
            let gained = (u64::from(s.delivered_ce) << (self.bits - self.shift_g))
                / u64::from(s.delivered.max(1));
            s.alpha = (u64::from(s.alpha) + gained).min(1 << self.bits) as u32;
        }
    }
}

/// A connection under DCTCP.
pub type Control = Reducing<Rule>;

/// The state of a new connection.
pub fn control(config: &Config, connection: &Connection) -> Control {
    Reducing::new(Rule::new(config), config.pacing, connection)
}

impl WindowRule for Rule {
    #[inline]
    fn observe(&mut self, _: &mut Window, ack: &Ack) {
        self.state.delivered += ack.delivered;
        self.state.delivered_ce += ack.delivered_ce;
        if ack.una >= self.state.window_end {
            self.update_alpha();
            self.state = State { window_end: ack.nxt, delivered: 0, delivered_ce: 0, ..self.state };
        }
    }

    #[inline]
    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        reno::grow(window, ack.delivered);
    }

    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
        let reduced = match congestion {
            // RFC 8257 §3.3 step 9: cwnd·(1 − alpha/2).
            Congestion::Ecn => {
                let product = u64::from(window.cwnd) * u64::from(self.state.alpha);
                window.cwnd - (product >> (self.bits + 1)) as u32
            }
            // RFC 8257 §3.5: loss is answered as Reno answers it.
            _ => window.cwnd / 2,
        };
        reduced.max(2)
    }

    fn loss_while_reducing(&mut self, window: &Window) -> Option<u32> {
        Some((window.cwnd / 2).max(2))
    }

    fn alpha(&self) -> Option<f64> {
        Some(f64::from(self.state.alpha) / f64::from(1u32 << self.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that has seen windows of 10 segments with these marks.
    fn after(config: &Config, marked: &[u32]) -> Rule {
        let mut rule = Rule::new(config);
        for delivered_ce in marked.iter().copied() {
            let una = rule.state.window_end;
            let ack = Ack { delivered: 10, delivered_ce, una, nxt: una + 10, ..Ack::default() };
            rule.observe(&mut Window::new(100), &ack);
        }
        rule
    }

    /// RFC 8257 §3.3: alpha starts at 1, and g is 1/16. 15/16 after a window without a mark, and
    /// 15/16 of that and 1/32 after one of which half was marked.
    #[test]
    fn alpha_follows_the_fraction_of_marks() {
        let mut rule = after(&Config::rfc8257(), &[0, 5]);
        assert_eq!(rule.alpha(), Some(0.910_156_25));
        // 100 · (1 − 0.455).
        assert_eq!(rule.ssthresh(&Window::new(100), Congestion::Ecn), 55);
    }

    /// RFC 8257 §3.5, RFC 5681 §3.1 equation 4.
    #[test]
    fn loss_halves_the_window_whatever_alpha_is() {
        for alpha_on_init in [0, 1 << 10] {
            let mut rule = Rule::new(&Config { alpha_on_init, ..Config::linux() });
            for loss in [Congestion::Loss, Congestion::LossByTimer, Congestion::Timeout] {
                assert_eq!(rule.ssthresh(&Window::new(100), loss), 50);
                assert_eq!(rule.ssthresh(&Window::new(3), loss), 2);
            }
            assert_eq!(rule.loss_while_reducing(&Window::new(100)), Some(50));
        }
    }

    /// RFC 8257 §4.2: no rounding keeps alpha above 0, and no count of marks takes it above 1.
    #[test]
    fn alpha_reaches_zero_and_no_more_than_one() {
        for config in [Config::linux(), Config::rfc8257()] {
            assert_eq!(after(&config, &[0; 400]).alpha(), Some(0.0));
            assert_eq!(after(&config, &[20; 400]).alpha(), Some(1.0));
        }
    }
}
