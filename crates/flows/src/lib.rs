//! IP packets as whoever forwards them sees them.

pub mod ip;
