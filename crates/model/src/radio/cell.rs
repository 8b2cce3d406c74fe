//! A cell: how much a slot of 5G NR carries, and how long retransmissions take.
//!
//! One terminal has all of a carrier in the frequency range 1, and its channel is constant. A slot carries the rate
//! of 3GPP TS 38.306 §4.1.2 in the time of a slot. HARQ and grants have the times of LTE FDD, in which an answer comes four
//! milliseconds after the question (3GPP TS 36.213): NR leaves them to the network.

use l4s_units::{Bytes, Duration, ETHERNET, Rate};
use serde::{Deserialize, Serialize};

use crate::Direction;

/// A slot of a TDD pattern (3GPP TS 38.213 §11.1).
///
/// Example: [`Cell`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Slot {
    /// Downlink.
    Down,
    /// Downlink in [`Slot::DOWN_SYMBOLS`] of its symbols; the others are for the change of direction.
    Special,
    /// Uplink.
    Up,
}

impl Slot {
    /// Symbols of a slot (3GPP TS 38.211 §4.3.2).
    pub const SYMBOLS: u64 = 14;
    /// Downlink symbols of a special slot: 10, 2 without and 2 uplink, as for cells beside those of LTE.
    pub const DOWN_SYMBOLS: u64 = 10;

    /// The symbols of it that carry data in this direction.
    pub fn symbols(self, direction: Direction) -> u64 {
        match (self, direction) {
            (Slot::Down, Direction::Down) | (Slot::Up, Direction::Up) => Slot::SYMBOLS,
            (Slot::Special, Direction::Down) => Slot::DOWN_SYMBOLS,
            (Slot::Down | Slot::Special, Direction::Up) | (Slot::Up, Direction::Down) => 0,
        }
    }
}

/// A link between a cell and its only terminal.
///
/// ```
/// use l4s_model::{Cell, Direction, Slot};
/// use l4s_units::Duration;
///
/// let cell = Cell::new(Direction::Down);
/// assert_eq!(cell.slot(), Duration::from_micros(500));
/// // 20 MHz with 30 kHz are 51 resource blocks. Of five slots three are downlink, and one is in part.
/// assert_eq!(cell.resource_blocks(), Some(51));
/// let bytes: Vec<u64> = cell.blocks().iter().map(|block| block.get()).collect();
/// assert_eq!(bytes, [9422, 9422, 9422, 6730, 0]);
/// assert_eq!(cell.pattern[3], Slot::Special);
/// // In FDD every slot is.
/// let fdd = Cell { pattern: vec![], ..cell };
/// assert_eq!(fdd.blocks().len(), 1);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The way that data takes.
    pub direction: Direction,
    /// The bandwidth of the channel in MHz, as [`Cell::resource_blocks`] has them.
    pub bandwidth: u64,
    /// The subcarrier spacing in kHz: 15, 30 or 60.
    pub spacing: u64,
    /// The index of modulation and coding, from 0 to [`Cell::HIGHEST_MCS`].
    pub mcs: u64,
    /// MIMO layers, from 1 to 4.
    pub layers: u64,
    /// The slots of a TDD pattern, which repeats from time zero on; none in FDD, where each slot is of this direction.
    pub pattern: Vec<Slot>,
    /// The chance that a transport block is not decoded, of each transmission: from 0 to 0.5.
    pub loss: f64,
    /// How often a terminal may ask for a grant, from a time of the seed on. It has no effect on the way down.
    pub request: Duration,
}

/// Modulation order and 2048 · code rate of each MCS: 3GPP TS 38.214 Table 5.1.3.1-2, up to 256-QAM.
const MCS: [(u64, u64); 28] = [
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 868),
    (4, 980),
    (4, 1106),
    (4, 1232),
    (4, 1316),
    (6, 932),
    (6, 1034),
    (6, 1134),
    (6, 1232),
    (6, 1332),
    (6, 1438),
    (6, 1544),
    (6, 1644),
    (6, 1746),
    (8, 1365),
    (8, 1422),
    (8, 1508),
    (8, 1594),
    (8, 1682),
    (8, 1770),
    (8, 1833),
    (8, 1896),
];

/// Bandwidths in MHz and their resource blocks with 15, 30 and 60 kHz: 3GPP TS 38.101-1 Table 5.3.2-1.
const RESOURCE_BLOCKS: [(u64, [u64; 3]); 13] = [
    (5, [25, 11, 0]),
    (10, [52, 24, 11]),
    (15, [79, 38, 18]),
    (20, [106, 51, 24]),
    (25, [133, 65, 31]),
    (30, [160, 78, 38]),
    (40, [216, 106, 51]),
    (50, [270, 133, 65]),
    (60, [0, 162, 79]),
    (70, [0, 189, 93]),
    (80, [0, 217, 107]),
    (90, [0, 245, 121]),
    (100, [0, 273, 135]),
];

impl Cell {
    /// The highest MCS.
    pub const HIGHEST_MCS: u64 = MCS.len() as u64 - 1;
    /// The subcarrier spacings in kHz.
    pub const SPACINGS: [u64; 3] = [15, 30, 60];
    /// The time from a transmission of a block to the next one: four milliseconds to the answer, and four more, as in the
    /// uplink of LTE FDD (3GPP TS 36.213 §8).
    pub const HARQ: Duration = Duration::from_millis(8);
    /// Transmissions of a block before HARQ gives it up: the usual number of four.
    pub const TRANSMISSIONS: u32 = 4;
    /// How long the receiver waits for a block before it reports it as missing: `t-Reassembly` of 35 ms, the default of
    /// signalling bearers (3GPP TS 38.331 §9.2.1). It is more than the three round trips of HARQ.
    pub const REASSEMBLY: Duration = Duration::from_millis(35);
    /// The time from a scheduling request to the data: four milliseconds to the grant, which is the scheduler's
    /// choice, and four more (3GPP TS 36.213 §8).
    pub const GRANT: Duration = Duration::from_millis(8);

    /// Bytes before a packet, or its first part. MAC has 3 (3GPP TS 38.321 §6.1.2) and RLC 3 (AM with 18 bits, 3GPP TS 38.322
    /// §6.2.2). PDCP has 3 (18 bits, 3GPP TS 38.323 §6.2.2) and SDAP 1 (3GPP TS 37.324 §6.2.2).
    pub const HEADER: u64 = 3 + 3 + 3 + 1;
    /// Bytes before another part of it: MAC 3, and RLC 5 with the offset of the part.
    pub const PART_HEADER: u64 = 3 + 5;

    /// A cell of 20 MHz with 30 kHz, two layers and MCS 19 (64-QAM at 873/1024). Of five slots three are downlink, one is
    /// special and one uplink (`DDDSU`). A block fails with a chance of 10 %, the target of link adaptation (3GPP TS 38.214
    /// §5.2.2.1), and a terminal may ask for a grant every 10 ms.
    pub fn new(direction: Direction) -> Cell {
        Cell {
            direction,
            bandwidth: 20,
            spacing: 30,
            mcs: 19,
            layers: 2,
            pattern: vec![Slot::Down, Slot::Down, Slot::Down, Slot::Special, Slot::Up],
            loss: 0.1,
            request: Duration::from_millis(10),
        }
    }

    /// The bandwidths in MHz that have resource blocks of this spacing.
    pub fn bandwidths(spacing: u64) -> impl Iterator<Item = u64> {
        let column = Cell::SPACINGS.iter().position(|kilohertz| *kilohertz == spacing);
        let has = move |blocks: &[u64; 3]| column.is_some_and(|column| blocks[column] > 0);
        RESOURCE_BLOCKS
            .iter()
            .filter(move |(_, blocks)| has(blocks))
            .map(|(bandwidth, _)| *bandwidth)
    }

    /// The resource blocks of the carrier; `None` for a bandwidth that does not have this spacing.
    pub fn resource_blocks(&self) -> Option<u64> {
        let column = Cell::SPACINGS.iter().position(|spacing| *spacing == self.spacing)?;
        let (_, blocks) =
            RESOURCE_BLOCKS.iter().find(|(bandwidth, _)| *bandwidth == self.bandwidth)?;
        Some(blocks[column]).filter(|blocks| *blocks > 0)
    }

    /// The time of a slot: a millisecond with 15 kHz, half of it with 30 (3GPP TS 38.211 §4.3.2).
    pub fn slot(&self) -> Duration {
        Duration::from_nanos(15_000_000 / self.spacing)
    }

    /// The bytes of the transport block of each slot of the pattern.
    pub fn blocks(&self) -> Vec<Bytes> {
        // 3GPP TS 38.306 §4.1.2: the overhead of frequency range 1 in percent.
        let overhead = if self.direction == Direction::Down { 14 } else { 8 };
        let (order, rate) = MCS[usize::try_from(self.mcs).unwrap_or(0).min(MCS.len() - 1)];
        let blocks = self.resource_blocks().unwrap_or(0);
        let bytes = |symbols: u64| {
            let elements = blocks * 12 * symbols * self.layers;
            Bytes::new(elements * order * rate * (100 - overhead) / (2048 * 100 * 8))
        };
        match self.pattern.is_empty() {
            true => vec![bytes(Slot::SYMBOLS)],
            false => self.pattern.iter().map(|slot| bytes(slot.symbols(self.direction))).collect(),
        }
    }

    /// The rate of the largest block.
    pub fn peak(&self) -> Rate {
        let largest = self.blocks().into_iter().max().unwrap_or(Bytes::ZERO);
        Rate::from_bps(largest.get() * 8 * (1_000_000_000 / self.slot().as_nanos()))
    }

    /// The rate at which the link carries packets of 1500 bytes of IP when it always has some to send, each with 14 bytes of
    /// Ethernet. Each block begins with another part of a packet, and is sent 1 / (1 − loss) times on average.
    pub fn rate(&self) -> Rate {
        let blocks = self.blocks();
        let useful = blocks.iter().map(|block| block.get().saturating_sub(Cell::PART_HEADER));
        let full = l4s_aqm::MTU.get();
        let packets = useful.sum::<u64>() as f64 / (full - ETHERNET.get() + Cell::HEADER) as f64;
        let seconds = self.slot().as_secs_f64() * blocks.len() as f64;
        Rate::from_bps((packets * (full * 8) as f64 * (1.0 - self.loss) / seconds) as u64)
    }
}
