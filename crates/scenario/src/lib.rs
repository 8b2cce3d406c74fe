//! Scenario files: which flows meet at which bottleneck.
//!
//! A [`Plan`] is read from TOML and the command line's `--set KEY=VALUE`: every sweep is unfolded
//! into [`Point`]s, each a resolved [`Scenario`](l4s_model::Scenario). Unknown, out-of-range or
//! contradictory settings are refused before anything runs. The [`Faults`] give the place, the
//! value, the accepted values and the nearest spelling.
//!
//! ```
//! let text = r#"
//!     link.rate = "40mbit"
//!     [[group]]
//!     name = "A"
//!     cc   = "dctcp"
//!     rtt  = "10ms"
//!     [sweep]
//!     "link.rate" = ["4mbit", "40mbit"]
//! "#;
//! let plan = l4s_scenario::Plan::parse("mine.toml", text, &[]).unwrap();
//! assert_eq!(plan.points.len(), 2);
//! assert_eq!(plan.points[0].set, [("link.rate".to_owned(), "4mbit".to_owned())]);
//!
//! let faults = l4s_scenario::Plan::parse("mine.toml", "[lnik]", &[]).unwrap_err();
//! assert!(faults.to_string().contains("mine.toml:1:2: `lnik`: unknown key"));
//! assert_eq!(faults.0[1].help.as_deref(), Some("did you mean `link`?"));
//! ```
//!
//! An `[[assert]]` is read with the scenario of its run, so that a path that its summary cannot have is
//! such a fault too.
//!
//! In the order of a file's way in: `tree` (TOML with places), `sweep` (points), `schema` (the allowed
//! contents) with `field` and `settings`, and a [`Scenario`](l4s_model::Scenario) as result; `show`
//! is the way back.

// The random scenarios of the integration tests serve the unit tests too.
#[cfg(test)]
extern crate self as l4s_scenario;
#[cfg(test)]
#[path = "../tests/any/mod.rs"]
mod any;

mod advice;
pub mod bundled;
mod catalog;
mod fault;
mod field;
mod files;
mod fingerprint;
mod keys;
mod open;
mod own_program;
mod plan;
mod record;
mod report;
mod schema;
mod settings;
mod shell;
mod show;
mod spelled;
mod sweep;
mod tree;

pub use advice::advice;
pub use catalog::{Described, Profile, Setting, controls, disciplines};
pub use fault::{Fault, Faults, nearest};
pub use files::Files;
pub use fingerprint::{Fingerprint, fingerprint};
pub use keys::{Key, Keys, keys};
pub use open::{Refused, files, source};
pub use own_program::OwnProgram;
pub use plan::{Budget, MAX_POINTS, Override, Plan, Point, Template, discipline};
pub use record::{copies, record, with_copy};
pub use report::report;
pub use schema::{Assert, group_names, has_name};
pub use shell::shell_word;
pub use show::show;
pub use spelled::Spelled;
pub use sweep::covers;
pub use tree::quoted;
