//! Recognizes flows by the packets that pass the bottleneck, and measures them from their headers.
//!
//! A program that nobody instrumented still sends packets with headers. From these this crate finds
//! the conversation of each packet ([`Key`]), numbers the conversations ([`Flows`]), and measures each
//! of them ([`Row`]). It has no clock, file or socket: the caller reports each packet with its time and
//! direction, and later whether the queue marked, dropped or forwarded it.
//!
//! ```text
//!  server ──▶ observe(Down) ─▶ queue ─▶ marked, dropped, departed ──▶ client
//!     ▲                                                                 │
//!     └────────────────────── observe(Up) ◀─────────────────────────────┘
//! ```
//!
//! Its modules, in the order in which a packet passes them:
//! - [`ip`]: IPv4 and IPv6 with extension headers, checked once.
//! - `key`: addresses, ports and protocol, the same for both directions.
//! - `fragments`: a later fragment belongs to the flow of the first one. If the first one was not seen
//!   before it, it belongs to a flow without ports, identified by addresses and protocol.
//! - `table`: from key to number and state. Flows beyond the cap are measured together, as `others`.
//! - `tcp`: handshake, options, retransmissions (`sequence`), and round trips from sequence numbers and
//!   time stamps.
//! - `udp`: QUIC (`quic`), recognized by its long headers, with round trips from the spin bit; RTP
//!   (`rtp`), recognized by headers that are plausible over several packets.
//! - `delay`: the distribution of the queueing delays of a flow.
//! - [`check`]: how the sender of a flow answers marks, and its bursts; only for those who ask for it.
//!
//! Memory is bounded: a flow has 568 bytes, and a histogram with 4 bytes for each bucket between its
//! shortest and its longest delay, 2 KB at most.
//!
//! ```
//! use l4s_flows::{Direction, Flows, ip::IpPacket};
//! use l4s_units::{Bytes, Duration, Time};
//!
//! // An ICMP echo request of 28 bytes from 10.0.1.1 to 10.0.0.1, and the reply.
//! let mut request = [0; 28];
//! request[..4].copy_from_slice(&[0x45, 0, 0, 28]);
//! request[9] = 1;
//! request[12..20].copy_from_slice(&[10, 0, 1, 1, 10, 0, 0, 1]);
//! request[20] = 8;
//! let mut reply = request;
//! reply[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 1, 1]);
//! reply[20] = 0;
//!
//! let mut flows = Flows::new(Flows::CAP, 1);
//! let request = IpPacket::new_checked(&request)?;
//! let reply = IpPacket::new_checked(&reply)?;
//! let flow = flows.observe(&request, Direction::Up, 1, Time::ZERO);
//! assert_eq!(flows.observe(&reply, Direction::Down, 1, Time::from_nanos(9)), flow);
//! flows.departed(flow, 1, Bytes::new(28), Duration::from_millis(2));
//! let row = flows.rows().next().unwrap();
//! assert_eq!((&*row.protocol, row.delay_max_ms), ("ICMP", Some(2.0)));
//! # Ok::<(), l4s_flows::ip::Malformed>(())
//! ```

pub mod check;
mod delay;
mod flow;
mod fragments;
pub mod ip;
mod key;
mod quic;
mod row;
mod rtp;
mod rtt;
mod sequence;
mod table;
mod tcp;
mod udp;

pub use key::{Direction, Key};
pub use row::{Column, Row};
pub use table::{Flows, MALFORMED, OTHERS};
