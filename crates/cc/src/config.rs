//! Every congestion control behind one type, for users that choose at run time.

use l4s_units::Duration;
use l4s_units::param::Configurable;

use crate::{
    Ack, Burst, Congestion, CongestionControl, Pause, Window, classic_ecn, cubic, dctcp, foreign,
    prague, reno,
};

/// The ECN that a congestion control asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WantedEcn {
    /// None, unless the user switches it on.
    Off,
    /// It cannot do without RFC 3168 negotiation and ECT(0) (DCTCP).
    Classic,
    /// It cannot do without ECT(1) (L4S).
    L4s,
}

/// Declares the congestion controls once: configuration, state and the dispatch between them.
/// Beside those that a scenario can name is the one that comes from elsewhere.
macro_rules! controls {
    ($($variant:ident => $module:ident, $wants:ident);+ $(;)?) => {
        /// The configuration of any congestion control.
        #[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
        pub enum Config {
            $(#[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
            $variant($module::Config),)+
            /// See [`foreign`](crate::foreign).
            #[serde(skip)]
            Foreign(foreign::Config),
        }

        impl Config {
            /// The name of the congestion control, as in `cc = "dctcp"`.
            pub fn kind(&self) -> &str {
                match self {
                    $(Config::$variant(_) => <$module::Config as Configurable>::KIND,)+
                    Config::Foreign(config) => &config.name,
                }
            }

            /// Whether the transport should pace what it sends.
            pub fn paces(&self) -> bool {
                match self {
                    $(Config::$variant(config) => config.pacing,)+
                    Config::Foreign(config) => config.pacing,
                }
            }

            /// The ECN that it asks for.
            pub fn wants(&self) -> WantedEcn {
                match self {
                    $(Config::$variant(_) => WantedEcn::$wants,)+
                    Config::Foreign(config) => config.wants,
                }
            }
        }

        /// Any congestion control.
        #[derive(Debug)]
        pub enum Cc {
            $(#[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
            $variant($module::Control),)+
            /// See [`foreign`](crate::foreign).
            Foreign(Box<dyn foreign::Control>),
        }

        impl Cc {
            /// The state of a new connection.
            pub fn new(config: &Config) -> Self {
                match config {
                    $(Config::$variant(config) => Cc::$variant($module::Control::new(config)),)+
                    Config::Foreign(config) => Cc::Foreign((config.make)()),
                }
            }
        }

        impl CongestionControl for Cc {
            #[inline]
            fn observe(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Cc::$variant(cc) => cc.observe(window, ack),)+
                    Cc::Foreign(cc) => cc.observe(window, ack),
                }
            }

            #[inline]
            fn grow(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Cc::$variant(cc) => cc.grow(window, ack),)+
                    Cc::Foreign(cc) => cc.grow(window, ack),
                }
            }

            fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
                match self {
                    $(Cc::$variant(cc) => cc.ssthresh(window, congestion),)+
                    Cc::Foreign(cc) => cc.ssthresh(window, congestion),
                }
            }

            fn loss_while_reducing(&mut self, window: &Window) -> Option<u32> {
                match self {
                    $(Cc::$variant(cc) => cc.loss_while_reducing(window),)+
                    Cc::Foreign(cc) => cc.loss_while_reducing(window),
                }
            }

            fn alpha(&self) -> Option<f64> {
                match self {
                    $(Cc::$variant(cc) => cc.alpha(),)+
                    Cc::Foreign(cc) => cc.alpha(),
                }
            }

            fn steers_alone(&self) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.steers_alone(),)+
                    Cc::Foreign(cc) => cc.steers_alone(),
                }
            }

            #[inline]
            fn pushes(&self) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.pushes(),)+
                    Cc::Foreign(cc) => cc.pushes(),
                }
            }

            fn burst(&self) -> Option<Burst> {
                match self {
                    $(Cc::$variant(cc) => cc.burst(),)+
                    Cc::Foreign(cc) => cc.burst(),
                }
            }

            fn classic_ecn(&self) -> Option<classic_ecn::Report> {
                match self {
                    $(Cc::$variant(cc) => cc.classic_ecn(),)+
                    Cc::Foreign(cc) => cc.classic_ecn(),
                }
            }

            #[inline]
            fn wants_tracers(&mut self, nxt: u64) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.wants_tracers(nxt),)+
                    Cc::Foreign(cc) => cc.wants_tracers(nxt),
                }
            }

            fn traced(&mut self, overtook: bool) {
                match self {
                    $(Cc::$variant(cc) => cc.traced(overtook),)+
                    Cc::Foreign(cc) => cc.traced(overtook),
                }
            }

            fn restart(&mut self, window: &mut Window, pause: Pause) {
                match self {
                    $(Cc::$variant(cc) => CongestionControl::restart(cc, window, pause),)+
                    Cc::Foreign(cc) => CongestionControl::restart(cc.as_mut(), window, pause),
                }
            }

            fn undo(&mut self, window: &mut Window, prior: u32) {
                match self {
                    $(Cc::$variant(cc) => CongestionControl::undo(cc, window, prior),)+
                    Cc::Foreign(cc) => CongestionControl::undo(cc.as_mut(), window, prior),
                }
            }

            fn pacing_rate(&self, in_flight: u32, left: u64, mss: u32, srtt: Duration) -> Option<u64> {
                match self {
                    $(Cc::$variant(cc) => cc.pacing_rate(in_flight, left, mss, srtt),)+
                    Cc::Foreign(cc) => cc.pacing_rate(in_flight, left, mss, srtt),
                }
            }

            fn first_pacing_rate(&self, mss: u32, srtt: Duration) -> Option<u64> {
                match self {
                    $(Cc::$variant(cc) => cc.first_pacing_rate(mss, srtt),)+
                    Cc::Foreign(cc) => cc.first_pacing_rate(mss, srtt),
                }
            }
        }

        /// Calls the macro `$then` with the variant and module of every congestion control.
        #[macro_export]
        macro_rules! for_each_control {
            ($then:path) => {
                $($then! { $variant, $module })+
            };
        }
    };
}

controls! {
    Reno => reno, Off;
    Cubic => cubic, Off;
    Dctcp => dctcp, Classic;
    Prague => prague, L4s;
}

impl Config {
    /// What a set of tracers is for which it asks.
    pub fn tracer_set(&self) -> prague::TracerSet {
        match self {
            Config::Prague(config) => config.tracer_set,
            _ => prague::TracerSet::Split,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::Cubic(cubic::Config::default())
    }
}
