//! The client: opens the connection, receives, and acknowledges packets by their numbers.

use l4s_units::{Duration, Ecn, Time};

use super::MAX_ACK_DELAY;
use super::message::{Acknowledgement, EcnCounts, Message};
use super::received::Received;
use super::rtt::Rtt;
use crate::packet::Packet;
use crate::tcp::ranges::Ranges;

/// The longest wait for an answer: the sixth, where no round trip was measured (RFC 9002 §6.2.2). All together are
/// 63 s, as long as a server may be silent to clients of the web. Then it gives up.
const LONGEST_WAIT: Duration = Duration::from_millis(999 << 5);
/// The least number of waits, which are three probe timeouts together (RFC 9000 §10.1).
const LEAST_WAITS: u32 = 2;

/// The client's side of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    state: State,
    /// Packets of the handshake since an answer.
    attempts: u32,
    rtt: Rtt,
    received: Received,
    /// When the largest number arrived.
    largest_at: Time,
    /// Packets that it leaves without an acknowledgement, at most.
    ack_eliciting_threshold: u32,
    /// Packets received and not acknowledged.
    pending: u32,
    /// Whether the last packet was marked.
    was_marked: bool,
    /// When its timer is due: for a packet of the handshake again, or for an acknowledgement that is delayed.
    due: Time,
    /// Packets by codepoint, where it counts them.
    counts: Option<EcnCounts>,
    /// The first byte not received. The application has read those before it.
    next: u64,
    /// Data that was received above it.
    beyond: Ranges,
    /// How many bytes it fetches; known once the packet with the end of the stream arrived.
    size: u64,
    last_arrival: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The server has not answered.
    Opening,
    /// It has, with this packet, and nothing says that it has the request (RFC 9002 §6.2.2.1).
    Asking {
        answers: u64,
    },
    Open,
    /// Everything arrived; or the server never answered.
    Closed,
}

impl Client {
    /// A client that has sent nothing; `counts` says whether it reports ECN. It acknowledges packets once there are
    /// more than the threshold: 1 in RFC 9000 §13.2.2, or that of an ACK_FREQUENCY frame, which comes with the first
    /// packet.
    pub fn new(counts: bool, ack_eliciting_threshold: u32) -> Self {
        Client {
            state: State::Opening,
            attempts: 0,
            rtt: Rtt::new(),
            received: Received::default(),
            largest_at: Time::ZERO,
            ack_eliciting_threshold,
            pending: 0,
            was_marked: false,
            due: Time::NEVER,
            counts: counts.then(EcnCounts::default),
            next: 0,
            beyond: Ranges::default(),
            size: u64::MAX,
            last_arrival: Time::ZERO,
        }
    }

    /// When its timer is due.
    pub fn deadline(&self) -> Time {
        if self.is_closed() { Time::NEVER } else { self.due }
    }

    /// Whether everything arrived.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// When the last packet with new data arrived; time zero where none did.
    pub fn last_arrival(&self) -> Time {
        self.last_arrival
    }

    /// Bytes that the application has read, each once and in order.
    pub fn read(&self) -> u64 {
        self.next
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Time) -> Option<Message> {
        self.attempt(now)
    }

    /// Sends its packet of the handshake, perhaps again, or gives up.
    fn attempt(&mut self, now: Time) -> Option<Message> {
        let message = match self.state {
            State::Opening => Message::Initial { number: now.as_nanos() },
            State::Asking { answers } => Message::Request { answers },
            State::Open | State::Closed => return None,
        };
        let wait = self.rtt.probe_timeout(self.attempts, false);
        if wait > LONGEST_WAIT && self.attempts >= LEAST_WAITS {
            self.state = State::Closed;
            return None;
        }
        self.attempts += 1;
        self.due = now + wait;
        Some(message)
    }

    /// A packet of the handshake arrived.
    fn answer(&mut self, packet: &Packet, now: Time) -> Option<Message> {
        let answers = packet.number();
        match self.state {
            State::Opening => {
                let sent = Time::from_nanos(packet.seq());
                self.rtt.sample(now.since(sent), Duration::ZERO);
                (self.state, self.attempts) = (State::Asking { answers }, 0);
                self.attempt(now)
            }
            // The server sent it again.
            State::Asking { .. } => {
                self.state = State::Asking { answers };
                Some(Message::Request { answers })
            }
            State::Open | State::Closed => None,
        }
    }

    /// The server has the request.
    fn established(&mut self) {
        if let State::Asking { .. } = self.state {
            (self.state, self.due) = (State::Open, Time::NEVER);
        }
    }

    /// A packet arrived; `send` gets the answer, if there is one.
    pub fn on_packet(&mut self, packet: &Packet, now: Time, mut send: impl FnMut(Message)) {
        if packet.handshake_done() {
            return self.established();
        }
        if packet.is_syn() {
            return self.answer(packet, now).into_iter().for_each(send);
        }
        let number = packet.number();
        self.established();
        if packet.fin() {
            self.size = packet.seq() + u64::from(packet.payload());
        }
        let end = self.received.end();
        if !self.received.add(number) {
            return;
        }
        if let Some(counts) = &mut self.counts {
            counts.add(packet.ecn());
        }
        if number >= end {
            self.largest_at = now;
        }
        self.take(packet.seq(), packet.seq() + u64::from(packet.payload()), now);
        self.pending += 1;
        // RFC 9000 §13.2.1: signs of loss, reordering and congestion are not delayed. Where an acknowledgement is for
        // more packets, a mark behind another one is (draft-ietf-quic-ack-frequency section 6.3).
        let is_marked = packet.ecn() == Ecn::Ce;
        let was_marked = std::mem::replace(&mut self.was_marked, is_marked);
        let congestion = is_marked && (self.ack_eliciting_threshold <= 1 || !was_marked);
        let at_once =
            number != end || congestion || packet.immediate_ack() || self.next >= self.size;
        if at_once || self.pending > self.ack_eliciting_threshold {
            send(self.acknowledge(now));
        } else if self.due == Time::NEVER {
            self.due = now + MAX_ACK_DELAY;
        }
        if self.next >= self.size {
            self.state = State::Closed;
        }
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Message> {
        if now < self.due {
            return None;
        }
        match self.state {
            State::Opening | State::Asking { .. } => self.attempt(now),
            State::Open => Some(self.acknowledge(now)),
            State::Closed => None,
        }
    }

    /// A part of the stream arrived.
    fn take(&mut self, from: u64, to: u64, now: Time) {
        if to > self.next {
            self.last_arrival = now;
        }
        if from > self.next {
            return self.beyond.insert(from, to, |_, _| {});
        }
        self.next = self.next.max(to);
        if !self.beyond.is_empty() {
            if let Some((_, end)) = self.beyond.containing(self.next) {
                self.next = end;
            }
            self.beyond.remove_below(self.next);
        }
    }

    fn acknowledge(&mut self, now: Time) -> Message {
        (self.pending, self.due) = (0, Time::NEVER);
        let (first, older) = self.received.fields();
        let delay = Acknowledgement::delay_field(now.since(self.largest_at));
        let largest = self.received.end().saturating_sub(1);
        Message::Ack(Acknowledgement { largest, delay, first, older, counts: self.counts })
    }
}
