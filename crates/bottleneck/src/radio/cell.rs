//! A cellular link: transport blocks in slots, HARQ, and packets that are cut to fit.
//!
//! ```text
//! queue   ▏▏▏▏▏▏
//! slots   │ 1 │ 2x│ 3 │ U │ 4 │ 5 │ … │ 2 │        block 2 fails, and is sent again 8 ms later
//! client      ▏                           ▏▏▏▏▏    what came after it waits for it
//! ```
//!
//! At the start of a slot of the link's direction a block takes packets from the queue. The last one is cut (RLC, 3GPP TS
//! 38.322), and its rest begins the next block. A block that fails is sent again by HARQ, up to four times, in a slot of the
//! same size. Then RLC in acknowledged mode notices that it is missing, and it begins again: no packet is lost. The
//! receiver hands packets over in order (PDCP, 3GPP TS 38.323), so all wait for the oldest block that was not received.
//!
//! On the way up a terminal whose buffer was empty asks for a grant first. As long as its buffer is not empty it has one in
//! every slot.

use std::collections::VecDeque;

use l4s_model::{Cell as Parameters, Direction};
use l4s_units::{Bytes, Duration, ETHERNET, Probability, Time};
use rand_core::Rng;

use crate::Stream;

/// A block that waits to be sent again.
#[derive(Clone, Copy, Debug)]
struct Again {
    due: Time,
    block: Block,
}

/// A transport block.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u64,
    size: Bytes,
    /// The start of its first transmission, since it last began.
    first: Time,
    /// Transmissions since then.
    sent: u32,
}

/// A packet that left the queue and is not handed over.
#[derive(Debug)]
struct Held<P> {
    packet: P,
    size: Bytes,
    /// The block with its last byte; `None` while a part of it is in none.
    last: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing is to be sent.
    Idle,
    /// A block is sent in the slot of this number.
    Waits(u64),
    /// A new block takes packets in this slot.
    Takes(u64),
    /// A block is sent until then.
    Transmits(Time, Block),
}

/// The sender and the receiver of a link.
#[derive(Debug)]
pub(crate) struct Cell<P> {
    direction: Direction,
    request: Duration,
    /// When the terminal may ask for the first time.
    first_request: Duration,
    slot: Duration,
    /// Bytes of the block of each slot of the pattern.
    sizes: Vec<Bytes>,
    loss: Probability,
    rng: Stream,
    state: State,
    /// The first slot that no block was sent in yet.
    free: u64,
    /// When the terminal may send new blocks; `None` while it has no grant.
    granted: Option<Time>,
    /// Blocks to be sent again, in the order in which they are due.
    again: VecDeque<Again>,
    /// The number of the next block, and of the oldest one that was not received.
    next: u64,
    oldest: u64,
    /// Whether each block from the oldest on was received.
    received: VecDeque<bool>,
    packets: VecDeque<Held<P>>,
    /// Bytes of these.
    held: Bytes,
    /// Bytes left in the block that takes packets.
    room: u64,
    /// Bytes of the last packet that are in no block yet.
    rest: u64,
    /// The packet that was taken last, until it comes: its size, and its last block.
    taken: Option<(Bytes, Option<u64>)>,
}

impl<P> Cell<P> {
    /// A link that is idle. Chances are of these two streams: the loss of blocks, and when the terminal may ask for grants.
    pub fn new(parameters: &Parameters, losses: Stream, mut requests: Stream) -> Cell<P> {
        let period = u128::from(parameters.request.as_nanos());
        let offset = (u128::from(requests.next_u64()) * period) >> 64;
        Cell {
            direction: parameters.direction,
            request: parameters.request,
            first_request: Duration::from_nanos(offset as u64),
            slot: parameters.slot(),
            sizes: parameters.blocks(),
            loss: Probability::from_f64(parameters.loss),
            rng: losses,
            state: State::Idle,
            free: 0,
            granted: None,
            again: VecDeque::new(),
            next: 0,
            oldest: 0,
            received: VecDeque::new(),
            packets: VecDeque::new(),
            held: Bytes::ZERO,
            room: 0,
            rest: 0,
            taken: None,
        }
    }

    fn start(&self, slot: u64) -> Time {
        Time::ZERO + self.slot * slot
    }

    fn size(&self, slot: u64) -> Bytes {
        self.sizes[(slot % self.sizes.len() as u64) as usize]
    }

    /// The first slot from `time` on that is free and has a block of such a size.
    fn slot_from(&self, time: Time, fits: impl Fn(Bytes) -> bool) -> u64 {
        let first = time.since(Time::ZERO).as_nanos().div_ceil(self.slot.as_nanos()).max(self.free);
        let mut turns = first..first + self.sizes.len() as u64;
        turns.find(|slot| fits(self.size(*slot))).expect("a slot of the pattern has such a block")
    }

    /// The next slot for new data.
    fn slot_for_new(&self, now: Time) -> Option<u64> {
        let from = self.granted?.max(now);
        Some(self.slot_from(from, |size| size > Bytes::ZERO))
    }

    /// The next slot in which something is sent, where packets are `waiting` or not.
    fn plan(&mut self, waiting: bool, now: Time) -> Option<u64> {
        let new = waiting || self.rest > 0;
        if new && self.granted.is_none() {
            self.granted = Some(match self.direction {
                Direction::Down => now,
                // It waits for its next chance to ask.
                Direction::Up => {
                    let first = Time::ZERO + self.first_request;
                    let period = self.request.as_nanos().max(1);
                    let turn = now.since(first).as_nanos().div_ceil(period);
                    first + self.request * turn + Parameters::GRANT
                }
            });
        }
        let new = new.then(|| self.slot_for_new(now)).flatten();
        let again = self.again.iter();
        let again = again
            .map(|Again { due, block }| self.slot_from((*due).max(now), |size| size == block.size));
        again.chain(new).min()
    }

    /// A packet comes to the queue, in which others wait or not.
    pub fn expect(&mut self, others: bool, now: Time) {
        // Its slot came, and it had nothing to send.
        let has_none = !others && self.rest == 0 && self.again.is_empty();
        match self.state {
            State::Waits(slot) if has_none && self.start(slot) < now => self.state = State::Idle,
            _ => {}
        }
        if !others && self.rest == 0 && !matches!(self.state, State::Takes(_)) {
            self.granted = None;
        }
    }

    /// Whether a packet may be taken from the queue, in which some are `waiting` or not.
    pub fn may_take(&mut self, waiting: bool, now: Time) -> bool {
        loop {
            let planned = match self.state {
                State::Transmits(..) => return false,
                State::Takes(_) => return self.has_room(),
                State::Waits(slot) if self.start(slot) <= now => Some(slot),
                State::Waits(_) | State::Idle => self.plan(waiting, now),
            };
            let Some(slot) = planned else {
                self.state = State::Idle;
                return false;
            };
            self.state = State::Waits(slot);
            if now < self.start(slot) {
                return false;
            }
            self.begin(slot, waiting);
        }
    }

    /// A slot begins: with a block that is sent again, or a new one that takes packets.
    fn begin(&mut self, slot: u64, waiting: bool) {
        let (start, size) = (self.start(slot), self.size(slot));
        let again = |again: &Again| again.due <= start && again.block.size == size;
        if let Some(place) = self.again.iter().position(again) {
            if let Some(Again { block, .. }) = self.again.remove(place) {
                self.transmit(slot, block);
            }
            return;
        }
        if !(waiting || self.rest > 0) || self.granted.is_none_or(|granted| granted > start) {
            // The packets that it was planned for are gone.
            self.free = slot + 1;
            self.state = State::Idle;
            return;
        }
        self.state = State::Takes(slot);
        self.room = size.get();
        if self.rest > 0 {
            // The rest of a packet is the first in a block.
            let carried = self.rest.min(self.room.saturating_sub(Parameters::PART_HEADER));
            self.room -= carried + Parameters::PART_HEADER;
            self.rest -= carried;
            if let (0, Some(packet)) = (self.rest, self.packets.back_mut()) {
                packet.last = Some(self.next);
            }
        }
    }

    /// Whether a packet, or its first part, has room in the block. If not, the block is complete.
    fn has_room(&mut self) -> bool {
        let may = self.rest == 0 && self.room > Parameters::HEADER;
        if !may {
            self.close();
        }
        may
    }

    /// A packet of this size was taken.
    pub fn take(&mut self, size: Bytes) {
        let bytes = size.get().saturating_sub(ETHERNET.get()).max(1);
        let carried = bytes.min(self.room - Parameters::HEADER);
        self.room -= carried + Parameters::HEADER;
        self.rest = bytes - carried;
        self.taken = Some((size, (self.rest == 0).then_some(self.next)));
    }

    /// The packet that was taken last.
    pub fn push(&mut self, packet: P) {
        let Some((size, last)) = self.taken.take() else { unreachable!("it was taken before") };
        self.held += size;
        self.packets.push_back(Held { packet, size, last });
    }

    /// Nothing more is taken: the block is sent in its slot.
    pub fn close(&mut self) {
        let State::Takes(slot) = self.state else { return };
        let size = self.size(slot);
        if self.room == size.get() {
            self.free = slot + 1;
            self.state = State::Idle;
            return;
        }
        let block = Block { number: self.next, size, first: self.start(slot), sent: 0 };
        self.next += 1;
        self.received.push_back(false);
        self.transmit(slot, block);
    }

    fn transmit(&mut self, slot: u64, block: Block) {
        let first = if block.sent == 0 { self.start(slot) } else { block.first };
        let block = Block { first, sent: block.sent + 1, ..block };
        self.free = slot + 1;
        self.state = State::Transmits(self.start(slot + 1), block);
    }

    /// The next packet that the receiver hands over.
    pub fn land(&mut self, now: Time) -> Option<P> {
        if let State::Transmits(end, block) = self.state {
            if now < end {
                return None;
            }
            self.receive(block);
        }
        let is_whole = |last: Option<u64>| last.is_some_and(|last| last < self.oldest);
        if !is_whole(self.packets.front()?.last) {
            return None;
        }
        let Held { packet, size, .. } = self.packets.pop_front()?;
        self.held = self.held.saturating_sub(size);
        Some(packet)
    }

    /// The end of a block's slot.
    fn receive(&mut self, block: Block) {
        self.state = State::Idle;
        if self.loss.hits(self.rng.next_u32()) {
            let start = self.start(self.free - 1);
            let again = match block.sent {
                // RLC reports it as missing, and it begins again.
                Parameters::TRANSMISSIONS => Again {
                    due: (block.first + Parameters::REASSEMBLY).max(start) + Parameters::HARQ,
                    block: Block { sent: 0, ..block },
                },
                _ => Again { due: start + Parameters::HARQ, block },
            };
            let place = self.again.partition_point(|other| other.due <= again.due);
            self.again.insert(place, again);
            return;
        }
        self.received[(block.number - self.oldest) as usize] = true;
        while self.received.front() == Some(&true) {
            self.received.pop_front();
            self.oldest += 1;
        }
    }

    /// When packets may land or be taken next, where some are `waiting` or not.
    pub fn next(&self, waiting: bool) -> Time {
        let new = waiting || self.rest > 0;
        match self.state {
            State::Transmits(end, _) => end,
            State::Waits(slot) | State::Takes(slot) if new || !self.again.is_empty() => {
                self.start(slot)
            }
            State::Idle if new => self.start(self.free),
            State::Idle => self.again.front().map_or(Time::NEVER, |again| again.due),
            State::Waits(_) | State::Takes(_) => Time::NEVER,
        }
    }

    /// Bytes that left the queue and are not handed over.
    pub fn held(&self) -> Bytes {
        self.held
    }
}

#[cfg(test)]
mod tests;
