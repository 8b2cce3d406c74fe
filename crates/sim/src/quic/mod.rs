//! QUIC endpoints, after RFC 9000 and RFC 9002 and not after one stack.
//!
//! A server that sends one stream and a client that receives it. Packets are numbered, and no number is
//! used twice: data that was lost leaves in a new packet. So each acknowledgement says which transmission
//! arrived, and gives an RTT (RFC 9002 §4.2).

mod client;
mod flight;
mod message;
mod received;
mod rtt;
mod sender;

pub(crate) use client::Client;
pub(crate) use message::{Datagram, EcnCounts, Message};
pub(crate) use sender::{Output, Sender};

use l4s_units::Duration;

/// The longest that an acknowledgement is delayed, where the peer says nothing (RFC 9000 §18.2,
/// `max_ack_delay`).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

#[cfg(test)]
mod tests;
