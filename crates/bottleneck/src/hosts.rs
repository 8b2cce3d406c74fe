//! The processing time of hosts.
//!
//! Hosts need some microseconds for a packet, and never exactly the same. Without that, sources in step
//! keep their places in a full queue, and one of them may take every loss (S. Floyd, V. Jacobson, "On
//! Traffic Phase Effects in Packet-Switched Gateways", 1992, whose remedy is a random processing time at
//! the hosts). In real time hosts have it of themselves; in virtual time every substrate adds it to the
//! way back:
//!
//! ```text
//!            rtt           rtt + j
//! arrival ────[───────────────)──▶     uniform, in order
//! ```
//!
//! It comes on top of the base round trip, as it does in reality: no packet is faster than its path.

use l4s_units::Duration;

/// The longest processing time on a path with this base round trip: 10 us, and at most a tenth of the
/// base round trip.
pub fn host_jitter(rtt: Duration) -> Duration {
    Duration::from_micros(10).min(rtt / 10)
}
