//! The traces that come with l4s: two of each model.

use l4s_units::Duration;

use crate::{Model, Trace, make};

/// The length of each.
const LENGTH: Duration = Duration::from_secs(120);

/// A trace that comes with l4s: two minutes of a [`Model`].
///
/// ```
/// use l4s_trace::{BUNDLED, Bundled, Model};
///
/// let bundled = Bundled::find("starlink-2").unwrap();
/// assert_eq!((bundled.model, bundled.seed), (Model::Starlink, 2));
/// assert_eq!(bundled.trace(), l4s_trace::make(Model::Starlink, 2, bundled.length()).unwrap());
/// assert!(BUNDLED.iter().all(|bundled| Bundled::find(bundled.name) == Some(*bundled)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// Its model.
    pub model: Model,
    /// The seed of the model.
    pub seed: u64,
}

const fn bundled(name: &'static str, model: Model, seed: u64) -> Bundled {
    Bundled { name, model, seed }
}

/// All of them.
///
/// Example: [`Bundled`].
pub const BUNDLED: &[Bundled] = &[
    bundled("lte-1", Model::Lte, 1),
    bundled("lte-2", Model::Lte, 2),
    bundled("5g-1", Model::FiveG, 1),
    bundled("5g-2", Model::FiveG, 2),
    bundled("wifi-1", Model::Wifi, 1),
    bundled("wifi-2", Model::Wifi, 2),
    bundled("starlink-1", Model::Starlink, 1),
    bundled("starlink-2", Model::Starlink, 2),
    bundled("cable-1", Model::Cable, 1),
    bundled("cable-2", Model::Cable, 2),
];

impl Bundled {
    /// The one of this name.
    pub fn find(name: &str) -> Option<Bundled> {
        BUNDLED.iter().find(|bundled| bundled.name == name).copied()
    }

    /// The trace, which is made at each call.
    pub fn trace(&self) -> Trace {
        make(self.model, self.seed, LENGTH).expect("two minutes of every model are a trace")
    }

    /// Its length.
    pub fn length(&self) -> Duration {
        LENGTH
    }
}
