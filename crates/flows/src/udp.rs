//! UDP: the protocol that it carries, and the round trips of QUIC.

use l4s_units::Time;

use crate::Direction;
use crate::quic::{self, Long, Spin};
use crate::rtp::Sources;
use crate::rtt::{Handshake, Samples};

/// The protocol of the datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carried {
    /// Not known: possible sources of RTP, down and up.
    Any([Sources; 2]),
    Quic,
    Rtp,
}

/// A conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp {
    carried: Carried,
    /// Whether it had a datagram.
    begun: bool,
    spin: Spin,
    /// The first round trip of QUIC.
    pub handshake: Handshake,
    /// Round trips of QUIC.
    pub round_trips: Samples,
}

impl Udp {
    /// A conversation without datagrams.
    pub fn new() -> Udp {
        Udp {
            carried: Carried::Any([Sources::default(); 2]),
            begun: false,
            spin: Spin::default(),
            handshake: Handshake::Unseen,
            round_trips: Samples::NONE,
        }
    }

    /// The name of its protocol.
    pub fn protocol(&self) -> &'static str {
        match self.carried {
            Carried::Any(_) => "UDP",
            Carried::Quic => "QUIC",
            Carried::Rtp => "RTP",
        }
    }

    /// A datagram passes.
    #[inline]
    pub fn observe(&mut self, direction: Direction, payload: &[u8], now: Time) {
        let first = !std::mem::replace(&mut self.begun, true);
        match &mut self.carried {
            Carried::Rtp => {}
            Carried::Quic => self.observe_quic(direction, payload, now),
            Carried::Any(sources) => {
                if quic::long_header(payload, first).is_some() {
                    self.carried = Carried::Quic;
                    self.observe_quic(direction, payload, now);
                } else if sources[direction as usize].observe(payload) {
                    self.carried = Carried::Rtp;
                }
            }
        }
    }

    #[inline]
    fn observe_quic(&mut self, direction: Direction, payload: &[u8], now: Time) {
        let Some(byte) = payload.first() else { return };
        let may_open = match self.handshake {
            Handshake::Done(_) => {
                if direction == Direction::Down && !quic::is_long(*byte) {
                    self.spin.observe(*byte, self.handshake, now, &mut self.round_trips);
                }
                return;
            }
            Handshake::Unseen => true,
            Handshake::Opened(by, _) => by == direction,
            Handshake::Answered(..) => false,
        };
        // An Initial packet of the other direction is the answer.
        if may_open && quic::long_header(payload, true) == Some(Long::Initial) {
            self.handshake.open(direction, now);
        } else {
            self.handshake.proceed(direction, now);
        }
    }
}
