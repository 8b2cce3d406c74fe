//! The client: opens the connection, receives, and sees it close.

use l4s_model::Feedback;
use l4s_observe::EcnFlags;
use l4s_units::{Duration, Ecn, Time};

use super::handshake::{Mode, NO_FLAGS, reflect};
use super::receiver::{Arrived, Receiver};
use crate::message::{Ack, Message, Request, Syn};
use crate::packet::{Packet, Stamp, Stamps};

/// The first wait for an answer to a SYN (RFC 6298 §2.1).
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// Number of retransmissions of a SYN at this interval; from then on it doubles (Linux:
/// `tcp_syn_linear_timeouts`).
const SYN_LINEAR: u32 = 4;
/// Retransmissions after which a connection is given up, as in Linux.
const SYN_RETRIES: u32 = 6 + SYN_LINEAR;

/// The ECN that a client offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offer {
    /// How it would report marks.
    pub feedback: Feedback,
    /// The codepoint of its SYN.
    pub ecn: Ecn,
}

/// The client's side of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    state: State,
    offer: Offer,
    receiver: Receiver,
    /// How many bytes it fetches; known once the segment with FIN arrived.
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
    /// A client that asks for segments of at most `mss` bytes of payload; `rcvbuf` is SO_RCVBUF,
    /// where that is set.
    pub fn new(offer: Offer, mss: u16, rcvbuf: Option<u64>) -> Self {
        Client {
            state: State::Opening { attempts: 0, due: Time::NEVER },
            offer,
            receiver: Receiver::new(offer.feedback, Duration::ZERO, mss, rcvbuf),
            size: u64::MAX,
        }
    }

    /// When its timer is due.
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
        let (ecn, flags) = self.syn(attempts);
        Some(Message::Syn(Syn { ecn, flags, sent: Stamp::at(now) }))
    }

    /// Codepoint and flags of a SYN after `unanswered` others. Something on the path may
    /// drop SYNs with flags: AccECN is offered twice (RFC 9768 §3.1.4.1), the ECN of RFC 3168 once, as
    /// in Linux (`tcp_ecn_clear_syn`; RFC 3168 §6.1.1.1).
    fn syn(&self, unanswered: u32) -> (Ecn, EcnFlags) {
        let mode = Mode::offered(self.offer.feedback);
        if unanswered > u32::from(mode == Mode::Accurate) {
            return (Ecn::NotEct, NO_FLAGS);
        }
        (self.offer.ecn, mode.syn())
    }

    /// The answer to a SYN-ACK. The first one decides the feedback (RFC 9768 §3.1.5), and only its mark
    /// counts, as in Linux: later ones are no part of the connection (`tcp_validate_incoming`).
    fn answer(&mut self, syn_ack: &Packet, now: Time) -> Message {
        let mode = Mode::offered(self.offer.feedback).confirmed(syn_ack.ecn_flags());
        if let State::Opening { attempts, due } = self.state {
            self.state = State::Open;
            // Of a SYN that was sent more than once the time stamp says which one was answered.
            let sent = due.saturating_sub(SYN_TIMEOUT);
            let rtt = if attempts == 1 { now.since(sent) } else { syn_ack.stamps().echo.age(now) };
            let feedback = match (mode, self.offer.feedback) {
                (Mode::NotEcn, _) => Feedback::None,
                (Mode::Classic, Feedback::Accurate { .. }) => Feedback::Classic,
                (_, offered) => offered,
            };
            self.receiver.connected(feedback, syn_ack.ecn(), rtt);
        }
        let (counted, option) = self.receiver.accurate();
        let reflects = counted && mode == Mode::Accurate;
        let ace = EcnFlags::of_ace(self.receiver.ace());
        let flags = if reflects { reflect(syn_ack.ecn()) } else { ace };
        let stamps = Stamps { sent: Stamp::at(now), echo: syn_ack.stamps().sent };
        Message::Request(Request { flags, option, stamps })
    }

    /// A packet arrived.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, packet: &Packet, now: Time, mut send: impl FnMut(Message)) {
        if packet.is_syn() {
            return send(self.answer(packet, now));
        }
        if packet.fin() {
            self.size = packet.seq() + u64::from(packet.payload());
        }
        let arrived = Arrived {
            seq: packet.seq(),
            ecn: packet.ecn(),
            payload: packet.payload(),
            options: packet.accecn().option_length(),
            cwr: packet.cwr(),
            push: packet.push(),
            stamps: packet.stamps(),
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
