//! Links that are radios: their constant parameters.
//!
//! The parameters are here, and the times and rates that follow from them by the formulas of the standards. The state
//! machines that send packets by these are in `l4s-bottleneck`.

mod cell;
mod wifi;

pub use cell::{Cell, Slot};
pub use wifi::{Standard, Wifi};

use l4s_units::Rate;
use serde::{Deserialize, Serialize};

/// A radio in the place of a rate.
///
/// ```
/// use l4s_model::{Link, Radio, Standard, Wifi};
///
/// let link = Link::over(Radio::Wifi(Wifi::new(Standard::Ax)));
/// // The rate is what a saturated link carries, the fastest that of the data in a frame.
/// assert!(link.rate < link.fastest());
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Radio {
    /// A station of a wireless LAN.
    Wifi(Wifi),
    /// A terminal in a cell.
    Cell(Cell),
}

impl Radio {
    /// The rate at which a link carries packets of 1500 bytes of IP when it always has some to send, with 14 bytes
    /// of Ethernet for each.
    pub fn rate(&self) -> Rate {
        match self {
            Radio::Wifi(wifi) => wifi.rate(),
            Radio::Cell(cell) => cell.rate(),
        }
    }

    /// The rate of the bits on the air while data is transmitted.
    pub fn fastest(&self) -> Rate {
        match self {
            Radio::Wifi(wifi) => wifi.phy_rate(),
            Radio::Cell(cell) => cell.peak(),
        }
    }

    /// The name of its table in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Radio::Wifi(_) => "wifi",
            Radio::Cell(_) => "cell",
        }
    }
}
