//! Every congestion control behind one type, for users that choose at run time.

use l4s_units::param::Configurable;

use crate::{
    Ack, Congestion, CongestionControl, Connection, Decision, LossSample, Pause, RateSample,
    Recovery, bbr, bbr3, cubic, dctcp, foreign, prague, reno,
};

/// The ECN that a congestion control asks for.
///
/// Example: [`Config`].
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
        /// The configuration of any congestion control: a Classic one can always take the place of a
        /// scalable one (RFC 9331 §4.3).
        ///
        /// ```
        /// use l4s_cc::{Config, WantedEcn, cubic, prague};
        ///
        /// let prague = Config::Prague(prague::Config::best());
        /// assert_eq!((prague.kind(), prague.paces(), prague.wants()), ("prague", true, WantedEcn::L4s));
        /// let cubic = Config::Cubic(cubic::Config::default());
        /// assert_eq!((cubic.kind(), cubic.paces(), cubic.wants()), ("cubic", false, WantedEcn::Off));
        /// ```
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

            /// Whether its configuration paces; false for a foreign one, which decides by itself.
            pub fn paces(&self) -> bool {
                match self {
                    $(Config::$variant(config) => config.paces(),)+
                    Config::Foreign(_) => false,
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
        ///
        /// ```
        /// use l4s_cc::{Ack, Cc, Config, CongestionControl, Connection, dctcp, reno};
        /// use l4s_units::{Duration, Time};
        ///
        /// let rtt = Duration::from_millis(10);
        /// let ack = Ack {
        ///     now: Time::ZERO + rtt,
        ///     delivered: 10,
        ///     advanced: true,
        ///     limited: true,
        ///     min_rtt: rtt,
        ///     srtt: rtt,
        ///     una: 10,
        ///     nxt: 10,
        ///     ..Ack::default()
        /// };
        /// // Both start alike. Only DCTCP averages marks, and its average begins at 1.
        /// let reno = Config::Reno(reno::Config::default());
        /// let dctcp = Config::Dctcp(dctcp::Config::default());
        /// for (config, alpha) in [(reno, None), (dctcp, Some(1.0))] {
        ///     let mut cc = Cc::new(&config, &Connection::new(1448));
        ///     assert_eq!(cc.on_ack(&ack).window.cwnd, 20);
        ///     assert_eq!(cc.alpha(), alpha);
        /// }
        /// ```
        #[derive(Debug)]
        pub enum Cc {
            $(#[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
            $variant($module::Control),)+
            /// See [`foreign`](crate::foreign).
            Foreign(Box<dyn foreign::Control>),
        }

        impl Cc {
            /// The state of a new connection.
            pub fn new(config: &Config, connection: &Connection) -> Self {
                match config {
                    $(Config::$variant(config) => {
                        Cc::$variant($module::control(config, connection))
                    })+
                    Config::Foreign(config) => Cc::Foreign((config.make)(connection)),
                }
            }
        }

        impl CongestionControl for Cc {
            fn on_established(&mut self, connection: &Connection) {
                match self {
                    $(Cc::$variant(cc) => cc.on_established(connection),)+
                    Cc::Foreign(cc) => cc.on_established(connection),
                }
            }

            #[inline]
            fn observe(&mut self, ack: &Ack) {
                match self {
                    $(Cc::$variant(cc) => cc.observe(ack),)+
                    Cc::Foreign(cc) => cc.observe(ack),
                }
            }

            #[inline]
            fn on_ack(&mut self, ack: &Ack) -> Decision {
                match self {
                    $(Cc::$variant(cc) => cc.on_ack(ack),)+
                    Cc::Foreign(cc) => cc.on_ack(ack),
                }
            }

            fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision {
                match self {
                    $(Cc::$variant(cc) => cc.on_congestion(congestion, answered, at),)+
                    Cc::Foreign(cc) => cc.on_congestion(congestion, answered, at),
                }
            }

            fn on_recovered(&mut self, recovery: Recovery) -> Decision {
                match self {
                    $(Cc::$variant(cc) => cc.on_recovered(recovery),)+
                    Cc::Foreign(cc) => cc.on_recovered(recovery),
                }
            }

            fn on_restart(&mut self, pause: Pause) -> Decision {
                match self {
                    $(Cc::$variant(cc) => cc.on_restart(pause),)+
                    Cc::Foreign(cc) => cc.on_restart(pause),
                }
            }

            fn samples_rate(&self) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.samples_rate(),)+
                    Cc::Foreign(cc) => cc.samples_rate(),
                }
            }

            fn sample_rate(&mut self, sample: &RateSample) {
                match self {
                    $(Cc::$variant(cc) => cc.sample_rate(sample),)+
                    Cc::Foreign(cc) => cc.sample_rate(sample),
                }
            }

            fn sample_loss(&mut self, loss: &LossSample) {
                match self {
                    $(Cc::$variant(cc) => cc.sample_loss(loss),)+
                    Cc::Foreign(cc) => cc.sample_loss(loss),
                }
            }

            fn limits_itself(&self) -> bool {
                match self {
                    $(Cc::$variant(cc) => cc.limits_itself(),)+
                    Cc::Foreign(cc) => cc.limits_itself(),
                }
            }

            fn alpha(&self) -> Option<f64> {
                match self {
                    $(Cc::$variant(cc) => cc.alpha(),)+
                    Cc::Foreign(cc) => cc.alpha(),
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
    Bbr => bbr, Off;
    Bbr3 => bbr3, Off;
}

impl Cc {
    /// The functions that only Prague has: tracers, prompt acknowledgements, the pace of the
    /// initial window, and the detector of Classic ECN.
    #[inline]
    pub fn prague(&self) -> Option<&prague::Control> {
        match self {
            Cc::Prague(cc) => Some(cc),
            _ => None,
        }
    }

    /// The same, to change it.
    #[inline]
    pub fn prague_mut(&mut self) -> Option<&mut prague::Control> {
        match self {
            Cc::Prague(cc) => Some(cc),
            _ => None,
        }
    }
}

impl Config {
    /// The purpose of a set of tracers that it requests.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;

    #[test]
    fn every_control_takes_acknowledgements_before_the_first_rtt() {
        macro_rules! acknowledged {
            ($variant:ident, $module:ident) => {
                for endpoint in [Endpoint::LinuxTcp, Endpoint::Quic] {
                    let connection = Connection { endpoint, ..Connection::new(1448) };
                    let config = Config::$variant($module::Config::default());
                    let mut cc = Cc::new(&config, &connection);
                    assert!(cc.on_ack(&Ack::default()).window.cwnd >= 10, "{config:?}");
                }
            };
        }
        for_each_control!(acknowledged);
    }
}
