//! A congestion control that somebody else wrote: an idea, in another program or language.

use core::fmt;
use std::sync::Arc;

use crate::{CongestionControl, Connection, WantedEcn};

/// The state of one connection with it.
///
/// Example: [`Config`].
pub trait Control: CongestionControl + fmt::Debug + Send {}

impl<C: CongestionControl + fmt::Debug + Send> Control for C {}

/// Makes the state of a new connection.
pub type Make = dyn Fn(&Connection) -> Box<dyn Control> + Send + Sync;

/// The description of one.
///
/// ```
/// use std::sync::Arc;
///
/// use l4s_cc::foreign::{Config, Control};
/// use l4s_cc::{Connection, WantedEcn, reno};
///
/// /// Reno that needs ECN and paces.
/// fn paced_reno(connection: &Connection) -> Box<dyn Control> {
///     let config = reno::Config { pacing: true, ..reno::Config::default() };
///     Box::new(reno::control(&config, connection))
/// }
///
/// let config = l4s_cc::Config::Foreign(Config {
///     name: "paced-reno".into(),
///     wants: WantedEcn::Classic,
///     make: Arc::new(paced_reno),
/// });
/// assert_eq!(config.kind(), "paced-reno");
/// ```
#[derive(Clone)]
pub struct Config {
    /// Its name in results.
    pub name: Arc<str>,
    /// The ECN that it asks for.
    pub wants: WantedEcn,
    /// Where the state of connections comes from.
    pub make: Arc<Make>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Config { name, wants, .. } = self;
        write!(f, "foreign::Config({name}, ecn: {wants:?})")
    }
}

/// The same control, under the same name.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.wants == other.wants && Arc::ptr_eq(&self.make, &other.make)
    }
}
