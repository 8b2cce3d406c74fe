//! The client: opens the connection, receives, and sees it close.

use l4s_model::Feedback;
use l4s_units::{Duration, Time};

use super::receiver::{Arrived, Receiver};
use crate::packet::{Ack, Message, Packet, Stamp, Stamps};

/// The first wait for an answer to a SYN (RFC 6298 §2.1).
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// So many retransmissions of a SYN follow each other in that time; from then on it doubles (Linux:
/// `tcp_syn_linear_timeouts`).
const SYN_LINEAR: u32 = 4;
/// Retransmissions after which a connection is given up, as in Linux.
const SYN_RETRIES: u32 = 6 + SYN_LINEAR;

/// The client's side of a connection.
#[derive(Clone, Debug)]
pub struct Client {
    state: State,
    receiver: Receiver,
    /// How many bytes it fetches, once the last segment has told.
    size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// SYNs sent, and when the next is due.
    Opening {
        attempts: u32,
        due: Time,
    },
    Open,
    /// Everything arrived and the server closed; or the server never answered.
    Closed,
}

impl Client {
    /// A client over a path of this base round trip, which asks for segments of at most `mss` bytes of
    /// payload.
    pub fn new(feedback: Feedback, rtt: Duration, mss: u16) -> Self {
        Client {
            state: State::Opening { attempts: 0, due: Time::NEVER },
            receiver: Receiver::new(feedback, rtt, mss),
            size: u64::MAX,
        }
    }

    /// When [`Client::on_timer`] is due.
    pub fn deadline(&self) -> Time {
        match self.state {
            State::Opening { due, .. } => due,
            State::Open => self.receiver.deadline(),
            State::Closed => Time::NEVER,
        }
    }

    /// Whether everything arrived.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// When the last segment arrived in order; time zero where none did.
    pub(crate) fn last_arrival(&self) -> Time {
        self.receiver.last_arrival()
    }

    /// Bytes that the application has read, each once and in order.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        self.receiver.next()
    }

    /// Opens the connection, or tries again.
    pub(crate) fn open(&mut self, now: Time) -> Option<Message> {
        let State::Opening { attempts, .. } = self.state else { return None };
        if attempts > SYN_RETRIES {
            self.state = State::Closed;
            return None;
        }
        let due = now + SYN_TIMEOUT * (1 << attempts.saturating_sub(SYN_LINEAR));
        self.state = State::Opening { attempts: attempts + 1, due };
        Some(Message::Syn(Stamp::at(now)))
    }

    /// A packet arrived.
    #[inline]
    pub(crate) fn on_packet(&mut self, packet: &Packet, now: Time, mut send: impl FnMut(Message)) {
        if packet.is_syn() {
            if let State::Opening { .. } = self.state {
                self.state = State::Open;
            }
            let stamps = Stamps { sent: Stamp::at(now), echo: packet.stamps.sent };
            return send(Message::Request(stamps));
        }
        if packet.fin() {
            self.size = packet.seq + u64::from(packet.payload());
        }
        let arrived = Arrived {
            seq: packet.seq,
            ecn: packet.ecn,
            payload: packet.payload(),
            cwr: packet.cwr(),
            push: packet.push(),
            stamps: packet.stamps,
        };
        self.receiver.on_segment(arrived, now, |ack: Ack| {
            send(Message::Ack(ack));
        });
        // The last segment was acknowledged at once: it carries FIN, or it filled the last gap.
        if self.receiver.next() >= self.size {
            self.state = State::Closed;
        }
    }

    /// The timer is due.
    pub(crate) fn on_timer(&mut self, now: Time) -> Option<Message> {
        match self.state {
            State::Opening { .. } => self.open(now),
            State::Open => self.receiver.on_timer(now).map(Message::Ack),
            State::Closed => None,
        }
    }
}
