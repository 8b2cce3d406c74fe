//! `l4s shell --live` in a build without the page.

use std::net::SocketAddr;

use l4s_scenario::{Files, Plan};
use l4s_substrate::Programs;

use crate::failure::Failure;

/// A page on a run: there is none.
pub enum Page {}

impl Page {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Plan, _: &Files, _: SocketAddr) -> Result<Page, Failure> {
        Err(Failure::left_out("--live"))
    }

    /// The URL to open.
    pub fn url(&self) -> &str {
        match *self {}
    }

    /// The observer of the run.
    pub fn seat(&self) {
        match *self {}
    }

    /// Lets the page change a run with these programs.
    pub fn control(&self, _: &mut Programs) {
        match *self {}
    }
}
