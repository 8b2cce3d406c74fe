//! Every discipline behind one type, for users that choose at run time.

use l4s_units::param::Configurable;
use l4s_units::{Rate, Time};
use rand_core::Rng;

use crate::waiting::Entry;
use crate::{
    Backlog, Departure, Footprint, Limit, Packet, Qdisc, Queue, Redundancy, Signal, Watch,
};
use crate::{cobalt, codel, curvy_red, dualpi2, fifo, foreign, fq_codel, pi2, pie, red};

/// Declares the disciplines once: their configuration, their state and the dispatch between them.
/// Beside those that a scenario can name is the one that comes from elsewhere.
macro_rules! disciplines {
    ($($variant:ident => $module:ident),+ $(,)?) => {
        /// The configuration of any discipline.
        ///
        /// ```
        /// use l4s_aqm::{Config, Limit, codel};
        ///
        /// let config = Config::Codel(codel::Config::linux());
        /// assert_eq!(config.kind(), "codel");
        /// assert_eq!(config.limit(), Limit::packets(1000));
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
            /// The name of the discipline, as in `kind = "dualpi2"`.
            pub fn kind(&self) -> &str {
                match self {
                    $(Config::$variant(_) => <$module::Config as Configurable>::KIND,)+
                    Config::Foreign(config) => &config.name,
                }
            }

            /// The maximum backlog.
            pub fn limit(&self) -> Limit {
                match self {
                    $(Config::$variant(config) => config.limit,)+
                    Config::Foreign(config) => config.limit,
                }
            }
        }

        /// Any discipline.
        ///
        /// ```
        /// use l4s_aqm::{Aqm, Config, Qdisc, fifo, pie};
        /// # use l4s_aqm::{MTU, Packet};
        /// # use l4s_units::{Bytes, Ecn, Time};
        /// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
        /// # struct Datagram(Ecn);
        /// # impl Packet for Datagram {
        /// #     fn size(&self) -> Bytes { MTU }
        /// #     fn ecn(&self) -> Ecn { self.0 }
        /// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
        /// #     fn flow_hash(&self) -> u32 { 0 }
        /// # }
        /// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        ///
        /// let configs = [Config::Fifo(fifo::Config::linux()), Config::Pie(pie::Config::linux())];
        /// let mut disciplines = configs.map(|config| Aqm::new(&config, &mut rng));
        /// for aqm in &mut disciplines {
        ///     aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut ());
        ///     assert_eq!(aqm.backlog().bytes, MTU);
        /// }
        /// // A FIFO has no timer. PIE of Linux has its first update after half a second.
        /// let ticks = disciplines.each_ref().map(Qdisc::next_tick);
        /// assert_eq!(ticks, [None, Some(Time::from_nanos(500_000_000))]);
        /// ```
        #[derive(Debug)]
        // The variants differ in size; there is one per bottleneck, so that costs nothing.
        #[allow(clippy::large_enum_variant)]
        pub enum Aqm<P> {
            $(#[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
            $variant($module::Discipline<P>),)+
            /// See [`foreign`](crate::foreign).
            Foreign(foreign::Discipline<P>),
        }

        impl<P: Packet> Aqm<P> {
            /// A discipline with empty queues. `rng` serves only choices that are made once, such as
            /// the perturbation of a flow hash.
            pub fn new(config: &Config, rng: &mut impl Rng) -> Self {
                match config {
                    $(Config::$variant(config) => {
                        Aqm::$variant($module::Discipline::new(config.clone(), rng))
                    })+
                    Config::Foreign(config) => {
                        Aqm::Foreign(foreign::Discipline::new(config.clone(), rng))
                    }
                }
            }
        }

        impl<P: Packet> Qdisc<P> for Aqm<P> {
            #[inline(always)]
            fn enqueue(
                &mut self,
                packet: P,
                now: Time,
                rng: &mut impl Rng,
                watch: &mut impl Watch<P>,
            ) {
                match self {
                    $(Aqm::$variant(aqm) => aqm.enqueue(packet, now, rng, watch),)+
                    Aqm::Foreign(aqm) => aqm.enqueue(packet, now, rng, watch),
                }
            }

            // It only leads on to a discipline: a call of its own would copy each packet once more.
            #[inline(always)]
            fn dequeue(
                &mut self,
                now: Time,
                rng: &mut impl Rng,
                watch: &mut impl Watch<P>,
            ) -> Option<Departure<P>> {
                match self {
                    $(Aqm::$variant(aqm) => aqm.dequeue(now, rng, watch),)+
                    Aqm::Foreign(aqm) => aqm.dequeue(now, rng, watch),
                }
            }

            fn evacuate(&mut self) -> Vec<(Time, P)> {
                match self {
                    $(Aqm::$variant(aqm) => aqm.evacuate(),)+
                    Aqm::Foreign(aqm) => aqm.evacuate(),
                }
            }

            fn withdraw(
                &mut self,
                flow_hash: u32,
                redundancy: &mut impl Redundancy<P>,
            ) -> Option<(P, Queue)> {
                match self {
                    $(Aqm::$variant(aqm) => aqm.withdraw(flow_hash, redundancy),)+
                    Aqm::Foreign(aqm) => aqm.withdraw(flow_hash, redundancy),
                }
            }

            fn inherit(&mut self, old: &Self) {
                match (self, old) {
                    $((Aqm::$variant(new), Aqm::$variant(old)) => new.inherit(old),)+
                    (Aqm::Foreign(new), Aqm::Foreign(old)) => new.inherit(old),
                    _ => {}
                }
            }

            fn set_rate(&mut self, rate: Rate) {
                match self {
                    $(Aqm::$variant(aqm) => aqm.set_rate(rate),)+
                    Aqm::Foreign(aqm) => aqm.set_rate(rate),
                }
            }

            fn next_tick(&self) -> Option<Time> {
                match self {
                    $(Aqm::$variant(aqm) => aqm.next_tick(),)+
                    Aqm::Foreign(aqm) => aqm.next_tick(),
                }
            }

            fn tick(&mut self, now: Time) {
                match self {
                    $(Aqm::$variant(aqm) => aqm.tick(now),)+
                    Aqm::Foreign(aqm) => aqm.tick(now),
                }
            }

            #[inline(always)]
            fn backlog(&self) -> Backlog {
                match self {
                    $(Aqm::$variant(aqm) => aqm.backlog(),)+
                    Aqm::Foreign(aqm) => aqm.backlog(),
                }
            }

            #[inline]
            fn head(&self, queue: Queue) -> Option<&P> {
                match self {
                    $(Aqm::$variant(aqm) => aqm.head(queue),)+
                    Aqm::Foreign(aqm) => aqm.head(queue),
                }
            }

            fn signal(&self) -> Option<Signal> {
                match self {
                    $(Aqm::$variant(aqm) => aqm.signal(),)+
                    Aqm::Foreign(aqm) => aqm.signal(),
                }
            }
        }

        /// Calls the macro `$then` with the module and variant of every discipline: for code
        /// that needs each configuration as its own type.
        #[macro_export]
        macro_rules! for_each_discipline {
            ($then:path) => {
                $($then! { $variant, $module })+
            };
        }
    };
}

disciplines! {
    DualPi2 => dualpi2,
    CurvyRed => curvy_red,
    Pi2 => pi2,
    Pie => pie,
    Codel => codel,
    FqCodel => fq_codel,
    Cobalt => cobalt,
    Red => red,
    Fifo => fifo,
}

impl Config {
    /// The memory that a discipline of this configuration takes for packets of this type.
    pub fn footprint<P>(&self) -> Footprint {
        let packet = size_of::<Entry<P>>() as u64;
        let lists = |lists| Footprint { queues: lists, queue: 0, lists, packet };
        match self {
            Config::FqCodel(config) => fq_codel::footprint::<P>(config),
            Config::DualPi2(_) | Config::CurvyRed(_) => lists(2),
            Config::Foreign(config) => lists(if config.dual { 2 } else { 1 }),
            _ => lists(1),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::DualPi2(dualpi2::Config::default())
    }
}
