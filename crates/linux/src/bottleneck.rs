//! The queue of the link in a kernel, whichever discipline makes it.

use l4s_aqm::Config;
use l4s_model::Link;
use l4s_os::OsError;

use crate::event::{Counters, QueueState};

/// The bottleneck of a device.
pub(crate) trait Bottleneck {
    /// Gives it the rate of this link, and its burst. The backlog and the debt of the bucket
    /// stay, the latter as time.
    fn set_link(&mut self, link: &Link) -> Result<(), OsError>;

    /// Gives it another discipline, which may drop all that waits.
    fn replace_aqm(&mut self, aqm: &Config) -> Result<(), OsError>;

    /// The state of the discipline; its counters and those of earlier ones.
    fn state(&mut self) -> Result<(QueueState, Counters), OsError>;

    /// Every packet that was dropped here since the start, with those that went with a discipline
    /// that was replaced.
    fn dropped(&mut self) -> Result<u64, OsError>;
}
