//! Every congestion control behind one type, for users that choose at run time.

use l4s_units::Duration;
use l4s_units::param::Configurable;

use crate::{
    Ack, Burst, Congestion, CongestionControl, Pause, Window, classic_ecn, cubic, dctcp, prague,
    reno,
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
macro_rules! controls {
    ($($variant:ident => $module:ident, $wants:ident);+ $(;)?) => {
        /// The configuration of any congestion control.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Config {
            $(#[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
            $variant($module::Config),)+
        }

        impl Config {
            /// The name of the congestion control, as in `cc = "dctcp"`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Config::$variant(_) => <$module::Config as Configurable>::KIND,)+
                }
            }

            /// Whether the transport should pace what it sends.
            pub fn paces(&self) -> bool {
                match self {
                    $(Config::$variant(config) => config.pacing,)+
                }
            }

            /// The ECN that it asks for.
            pub fn wants(&self) -> WantedEcn {
                match self {
                    $(Config::$variant(_) => WantedEcn::$wants,)+
                }
            }
        }

        /// Any congestion control.
        #[derive(Clone, Debug)]
        pub enum Cc {
            $(#[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
            $variant($module::Control),)+
        }

        impl Cc {
            /// The state of a new connection.
            pub fn new(config: &Config) -> Self {
                match config {
                    $(Config::$variant(config) => Cc::$variant($module::Control::new(config)),)+
                }
            }
        }

        impl CongestionControl for Cc {
            #[inline]
            fn observe(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Cc::$variant(cc) => cc.observe(window, ack),)+
                }
            }

            #[inline]
            fn grow(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Cc::$variant(cc) => cc.grow(window, ack),)+
                }
            }

            fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
                match self {
                    $(Cc::$variant(cc) => cc.ssthresh(window, congestion),)+
                }
            }

            fn loss_while_reducing(&mut self, window: &Window) -> Option<u32> {
                match self {
                    $(Cc::$variant(cc) => cc.loss_while_reducing(window),)+
                }
            }

            fn alpha(&self) -> Option<f64> {
                match self {
                    $(Cc::$variant(cc) => cc.alpha(),)+
                }
            }

            fn steers_alone(&self) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.steers_alone(),)+
                }
            }

            #[inline]
            fn pushes(&self) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.pushes(),)+
                }
            }

            fn burst(&self) -> Option<Burst> {
                match self {
                    $(Cc::$variant(cc) => cc.burst(),)+
                }
            }

            fn classic_ecn(&self) -> Option<classic_ecn::Report> {
                match self {
                    $(Cc::$variant(cc) => cc.classic_ecn(),)+
                }
            }

            #[inline]
            fn wants_tracers(&mut self, nxt: u64) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.wants_tracers(nxt),)+
                }
            }

            fn traced(&mut self, overtook: bool) {
                match self {
                    $(Cc::$variant(cc) => cc.traced(overtook),)+
                }
            }

            fn restart(&mut self, window: &mut Window, pause: Pause) {
                match self {
                    $(Cc::$variant(cc) => CongestionControl::restart(cc, window, pause),)+
                }
            }

            fn pacing_rate(&self, in_flight: u32, mss: u32, srtt: Duration) -> Option<u64> {
                match self {
                    $(Cc::$variant(cc) => cc.pacing_rate(in_flight, mss, srtt),)+
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

impl Default for Config {
    fn default() -> Self {
        Config::Cubic(cubic::Config::default())
    }
}
