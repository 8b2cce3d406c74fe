//! A WiFi link: A-MPDUs that contend for the channel, and MPDUs that are lost and sent again.
//!
//! ```text
//! queue    ▏▏▏▏▏▏▏▏                    ▏▏▏▏▏▏         taken at once, at the turn of the station
//! channel  contention └ PPDU ┘SIFS BlockAck  contention └ PPDU ┘ …
//! client                     ▏▏▏x                            ▏▏▏▏▏▏   x was lost: those after it wait
//! ```
//!
//! An A-MPDU begins with the MPDUs that were not received before, and takes more from the queue. They must fit in the window of
//! the block acknowledgement, in the most bytes, and in the longest PPDU (IEEE 802.11-2020 §10.12 and §10.25). The
//! receiver hands packets over in order. An MPDU that failed as often as it may is lost, and is waited for no longer.

use std::collections::VecDeque;

use l4s_aqm::{MTU, Queue};
use l4s_model::Wifi as Parameters;
use l4s_units::{Bytes, Probability, Time};
use rand_core::Rng;

use super::contention::Contention;
use crate::Stream;

/// Where an MPDU is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// To be sent, for the first time or again.
    Sender,
    /// In the receiver's reordering buffer.
    Receiver,
    /// Given up.
    Nowhere,
}

/// A packet in the window of the block acknowledgement.
#[derive(Debug)]
struct Mpdu<P> {
    packet: P,
    /// With its Ethernet header.
    size: Bytes,
    /// The queue that it came from.
    queue: Queue,
    place: Place,
    /// Transmissions that failed.
    failed: u32,
}

/// The link's part in an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It has nothing to send.
    Idle,
    /// It has, and transmits then.
    Contends(Time),
    /// It transmits now, and takes packets.
    Takes,
    /// The PPDU is received then, or collides.
    Transmits { received: Time, collides: bool },
}

/// The sender and the receiver of a link.
#[derive(Debug)]
pub(crate) struct Wifi<P> {
    parameters: Parameters,
    contention: Contention,
    loss: Probability,
    rng: Stream,
    state: State,
    /// In order of their sequence numbers: from the oldest that its receiver has not handed over.
    window: VecDeque<Mpdu<P>>,
    /// Bytes of these packets.
    held: Bytes,
    /// Bytes of the A-MPDU that takes packets.
    psdu: Bytes,
    /// Packets that were given up, and the queues that they came from.
    lost: VecDeque<(P, Queue)>,
    /// Size and queue of the packet that was taken last, until it comes.
    taken: Option<(Bytes, Queue)>,
    /// The largest packet so far. There must be room for one of this size, since a queue does not reveal
    /// the size of its next packet.
    largest: Bytes,
}

impl<P> Wifi<P> {
    /// A link that is idle. Chances are of these two streams: of backoffs, and of the loss of MPDUs.
    pub fn new(parameters: &Parameters, backoffs: Stream, losses: Stream) -> Wifi<P> {
        let full = Parameters::subframe(MTU).get() * parameters.most_packets(MTU);
        let others = parameters.exchange(Bytes::new(full));
        Wifi {
            contention: Contention::new(parameters.stations, others, backoffs),
            loss: Probability::from_f64(parameters.loss),
            rng: losses,
            state: State::Idle,
            window: VecDeque::with_capacity(parameters.window()),
            held: Bytes::ZERO,
            psdu: Bytes::ZERO,
            lost: VecDeque::new(),
            taken: None,
            largest: MTU,
            parameters: parameters.clone(),
        }
    }

    /// A packet of this size comes to the queue, in which others wait or not.
    pub fn expect(&mut self, size: Bytes, others: bool, now: Time) {
        self.largest = self.largest.max(size);
        // Its turn came, and it had nothing to send.
        if matches!(self.state, State::Contends(turn) if turn < now) && !self.has_work(others) {
            self.state = State::Idle;
        }
    }

    fn has_work(&self, waiting: bool) -> bool {
        waiting || self.window.iter().any(|mpdu| mpdu.place == Place::Sender)
    }

    /// Whether a packet may be taken from the queue, in which some are `waiting` or not.
    pub fn may_take(&mut self, waiting: bool, now: Time) -> bool {
        if self.state == State::Idle && self.has_work(waiting) {
            self.state = State::Contends(self.contention.turn(now));
        }
        match self.state {
            State::Idle | State::Transmits { .. } => return false,
            State::Contends(turn) if now < turn => return false,
            State::Contends(_) => {
                self.state = State::Takes;
                let again = self.window.iter().filter(|mpdu| mpdu.place == Place::Sender);
                let sizes = again.map(|mpdu| Parameters::subframe(mpdu.size));
                self.psdu = sizes.fold(Bytes::ZERO, |sum, size| sum + size);
            }
            State::Takes => {}
        }
        // A packet that is longer than any A-MPDU goes alone.
        let room = self.psdu == Bytes::ZERO
            || self.parameters.fits(self.psdu + Parameters::subframe(self.largest));
        let may = room && self.window.len() < self.parameters.window();
        if !may {
            self.close(now);
        }
        may
    }

    /// A packet of this size was taken from a queue.
    pub fn take(&mut self, size: Bytes, queue: Queue) {
        self.psdu += Parameters::subframe(size);
        self.taken = Some((size, queue));
    }

    /// The packet that was taken last.
    pub fn push(&mut self, packet: P) {
        let Some((size, queue)) = self.taken.take() else { unreachable!("it was taken before") };
        self.held += size;
        self.window.push_back(Mpdu { packet, size, queue, place: Place::Sender, failed: 0 });
    }

    /// Nothing more is taken: the A-MPDU goes on the air.
    pub fn close(&mut self, now: Time) {
        self.state = State::Idle;
        if self.psdu > Bytes::ZERO {
            let collides = self.contention.transmit(self.parameters.exchange(self.psdu));
            let received = now + self.parameters.ppdu(self.psdu);
            self.state = State::Transmits { received, collides };
        }
    }

    /// The next packet that the receiver hands over.
    pub fn land(&mut self, now: Time) -> Option<P> {
        if let State::Transmits { received, collides } = self.state {
            if now < received {
                return None;
            }
            self.receive(collides);
        }
        loop {
            let place = self.window.front()?.place;
            if place == Place::Sender {
                return None;
            }
            let mpdu = self.window.pop_front()?;
            self.held = self.held.saturating_sub(mpdu.size);
            if place == Place::Receiver {
                return Some(mpdu.packet);
            }
            self.lost.push_back((mpdu.packet, mpdu.queue));
        }
    }

    /// The next packet that was given up, and the queue that it came from. To be asked when none lands.
    pub fn lose(&mut self) -> Option<(P, Queue)> {
        self.lost.pop_front()
    }

    /// The end of a PPDU.
    fn receive(&mut self, collides: bool) {
        let mut success = false;
        for mpdu in self.window.iter_mut().filter(|mpdu| mpdu.place == Place::Sender) {
            if !collides && !self.loss.hits(self.rng.next_u32()) {
                mpdu.place = Place::Receiver;
                success = true;
                continue;
            }
            mpdu.failed += 1;
            if mpdu.failed == Parameters::RETRY_LIMIT {
                mpdu.place = Place::Nowhere;
            }
        }
        // Without any MPDU there is no acknowledgement.
        self.contention.exchanged(success);
        self.state = State::Idle;
    }

    /// When packets may land or be taken next, where some are `waiting` or not.
    pub fn next(&self, waiting: bool) -> Time {
        match self.state {
            State::Transmits { received, .. } => received,
            State::Idle | State::Contends(_) if !self.has_work(waiting) => Time::NEVER,
            State::Contends(turn) => turn,
            State::Idle | State::Takes => Time::ZERO,
        }
    }

    /// Bytes that left the queue and are not handed over.
    pub fn held(&self) -> Bytes {
        self.held
    }
}

#[cfg(test)]
mod tests;
