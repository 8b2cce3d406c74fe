//! Links that are radios. Packets leave the queue together when the radio may send, and arrive together and in order when
//! the data of a transmission is received.

mod cell;
mod contention;
#[cfg(test)]
mod testing;
mod wifi;

use l4s_aqm::Queue;
use l4s_model::Radio;
use l4s_units::{Bytes, Time};

use cell::Cell;
use wifi::Wifi;

use crate::stream;

/// A link over a radio.
#[derive(Debug)]
pub(crate) enum Air<P> {
    Wifi(Wifi<P>),
    Cell(Cell<P>),
}

impl<P> Air<P> {
    /// A link that is idle. Its chances are of streams of the seed, with `name` at the end of their names.
    pub fn new(radio: &Radio, seed: u64, name: &str) -> Air<P> {
        let own = |what| stream(seed, &format!("{what}{name}"));
        match radio {
            Radio::Wifi(wifi) => Air::Wifi(Wifi::new(wifi, own("wifi backoff"), own("wifi loss"))),
            Radio::Cell(cell) => Air::Cell(Cell::new(cell, own("cell loss"), own("cell requests"))),
        }
    }

    /// A packet of this size comes to the queue, in which others wait or not.
    pub fn expect(&mut self, size: Bytes, others: bool, now: Time) {
        match self {
            Air::Wifi(wifi) => wifi.expect(size, others, now),
            Air::Cell(cell) => cell.expect(others, now),
        }
    }

    /// Whether a packet may be taken from the queue, in which some are `waiting` or not.
    pub fn may_take(&mut self, waiting: bool, now: Time) -> bool {
        match self {
            Air::Wifi(wifi) => wifi.may_take(waiting, now),
            Air::Cell(cell) => cell.may_take(waiting, now),
        }
    }

    /// A packet of this size was taken from a queue.
    pub fn take(&mut self, size: Bytes, queue: Queue) {
        match self {
            Air::Wifi(wifi) => wifi.take(size, queue),
            Air::Cell(cell) => cell.take(size),
        }
    }

    /// The packet that was taken last.
    pub fn push(&mut self, packet: P) {
        match self {
            Air::Wifi(wifi) => wifi.push(packet),
            Air::Cell(cell) => cell.push(packet),
        }
    }

    /// Nothing more is taken.
    pub fn close(&mut self, now: Time) {
        match self {
            Air::Wifi(wifi) => wifi.close(now),
            Air::Cell(cell) => cell.close(),
        }
    }

    /// The next packet that the receiver hands over.
    pub fn land(&mut self, now: Time) -> Option<P> {
        match self {
            Air::Wifi(wifi) => wifi.land(now),
            Air::Cell(cell) => cell.land(now),
        }
    }

    /// The next packet that was given up, and the queue that it came from. To be asked when none lands.
    pub fn lose(&mut self) -> Option<(P, Queue)> {
        match self {
            Air::Wifi(wifi) => wifi.lose(),
            Air::Cell(_) => None,
        }
    }

    /// When packets may land or be taken next, where some are `waiting` or not.
    pub fn next(&self, waiting: bool) -> Time {
        match self {
            Air::Wifi(wifi) => wifi.next(waiting),
            Air::Cell(cell) => cell.next(waiting),
        }
    }

    /// Bytes that left the queue and are not handed over.
    pub fn held(&self) -> Bytes {
        match self {
            Air::Wifi(wifi) => wifi.held(),
            Air::Cell(cell) => cell.held(),
        }
    }
}
