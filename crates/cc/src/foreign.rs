//! A congestion control that somebody else wrote: an idea, in another program or language.

use core::fmt;
use std::sync::Arc;

use crate::{CongestionControl, WantedEcn};

/// The state of one connection with it.
pub trait Control: CongestionControl + fmt::Debug + Send {}

impl<C: CongestionControl + fmt::Debug + Send> Control for C {}

/// Makes the state of a new connection.
pub type Make = dyn Fn() -> Box<dyn Control> + Send + Sync;

/// What there is to know of one.
#[derive(Clone)]
pub struct Config {
    /// What it is called in results.
    pub name: Arc<str>,
    /// The ECN that it asks for.
    pub wants: WantedEcn,
    /// Whether the transport should pace what it sends.
    pub pacing: bool,
    /// Where the state of connections comes from.
    pub make: Arc<Make>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Config { name, wants, pacing, .. } = self;
        write!(f, "foreign::Config({name}, wants: {wants:?}, pacing: {pacing})")
    }
}

/// The same control, under the same terms.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        let terms = |c: &Config| (c.name.clone(), c.wants, c.pacing);
        terms(self) == terms(other) && Arc::ptr_eq(&self.make, &other.make)
    }
}
