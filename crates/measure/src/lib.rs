//! What is observed of a run, whoever runs it, and the files that keep it.

mod observer;
mod summary;

pub use observer::{FlowState, Header, LinkState, Observer, Traced};
pub use summary::*;
