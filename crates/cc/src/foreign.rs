//! A congestion control that somebody else wrote: an idea, in another program or language.

use core::fmt;
use std::sync::Arc;

use crate::{CongestionControl, Connection, WantedEcn};

/// The state of one connection with it.
pub trait Control: CongestionControl + fmt::Debug + Send {}

impl<C: CongestionControl + fmt::Debug + Send> Control for C {}

/// Makes the state of a new connection.
pub type Make = dyn Fn(&Connection) -> Box<dyn Control> + Send + Sync;

/// The description of one.
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
