//! The counts per packet: plain integers in dense arrays, a cell per group and queue.
//!
//! Counting happens in one place only, `live`. At a sampling instant, at the end of the warm-up
//! and at the end of the run, `live` is settled into the current row of the time series and into
//! the total. So a packet pays for one cell, for any number of derived quantities.

use std::ops::AddAssign;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_units::Duration;

use crate::DelaySummary;
use crate::delay::Delays;

/// Packets of at least this IP length count for the delay: data, not pure ACKs and handshakes. At an uplink
/// every packet does, as most of its packets are acknowledgements.
pub const DATA_LENGTH: u64 = 200;

/// The outcomes of some packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// Forwarded.
    pub packets: u64,
    /// IP bytes of those.
    pub bytes: u64,
    /// Arrived not CE and left CE.
    pub marked: u64,
    /// Delays of forwarded packets that count for the delay.
    pub delays: DelaySums,
    /// IP bytes of those.
    pub delay_bytes: u64,
    /// Marks by cause, at the moment of the mark.
    pub marks: [u64; 3],
    /// Drops by cause.
    pub drops: [u64; DropCause::COUNT],
}

impl Counts {
    /// Dropped, for any cause but that a filter had no need of them.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum::<u64>() - self.filtered()
    }

    /// Acknowledgements that a filter took out.
    pub fn filtered(&self) -> u64 {
        self.drops[DropCause::AckFilter as usize]
    }

    /// Marked packets over forwarded ones.
    pub fn mark_ratio(&self) -> Option<f64> {
        ratio(self.marked, self.packets)
    }

    /// Dropped packets over arrived ones, a packet having arrived when it left or was dropped. Those that a
    /// radio lost did both, the first perhaps in an earlier interval.
    pub fn drop_ratio(&self) -> Option<f64> {
        let dropped = self.dropped();
        let arrived = self.packets + dropped - self.drops[DropCause::Radio as usize];
        ratio(dropped, arrived.max(dropped))
    }
}

/// Delays of some packets.
///
/// Their sum is in 64-bit nanoseconds: 10⁷ packets per second that each wait 100 ms fill it after
/// five hours of virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct DelaySums {
    /// How many packets.
    pub packets: u64,
    /// Sum of their delays in nanoseconds.
    sum: u64,
    /// Longest of their delays in nanoseconds.
    max: u64,
}

impl DelaySums {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, nanoseconds: u64) {
        self.packets += 1;
        self.sum += nanoseconds;
        self.max = self.max.max(nanoseconds);
    }

    /// Mean delay in milliseconds.
    pub fn mean_ms(&self) -> Option<f64> {
        ratio(self.sum, self.packets).map(|ns| ns / 1e6)
    }

    /// Longest delay in milliseconds.
    pub fn max_ms(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.max as f64 / 1e6)
    }
}

impl AddAssign<&DelaySums> for DelaySums {
    fn add_assign(&mut self, other: &DelaySums) {
        self.packets += other.packets;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.marked += other.marked;
        self.delays += &other.delays;
        self.delay_bytes += other.delay_bytes;
        for (sum, n) in self.marks.iter_mut().zip(other.marks) {
            *sum += n;
        }
        for (sum, n) in self.drops.iter_mut().zip(other.drops) {
            *sum += n;
        }
    }
}

/// Counts per cell, for three spans of time: since the last settlement, in the current row of the
/// time series, and since the end of the warm-up.
#[derive(Debug)]
pub(crate) struct Cells {
    live: Vec<Counts>,
    row: Vec<Counts>,
    total: Vec<Counts>,
    delays: Vec<Option<Delays>>,
    /// Whether packets below [`DATA_LENGTH`] count for the delay, too.
    of_all: bool,
    /// Per group, of packets below [`DATA_LENGTH`] since the end of the warm-up.
    small: Vec<Option<SmallDelays>>,
}

/// Delays of packets below [`DATA_LENGTH`].
#[derive(Debug)]
pub(crate) struct SmallDelays {
    sums: DelaySums,
    delays: Delays,
}

impl SmallDelays {
    fn new() -> SmallDelays {
        SmallDelays { sums: DelaySums::default(), delays: Delays::new() }
    }

    fn record(&mut self, nanoseconds: u64) {
        self.sums.add(nanoseconds);
        self.delays.record(nanoseconds);
    }

    fn clear(&mut self) {
        self.sums = DelaySums::default();
        self.delays.clear();
    }

    /// How many packets.
    pub fn packets(&self) -> u64 {
        self.sums.packets
    }

    /// `None` without packets.
    pub fn summary(&self) -> Option<DelaySummary> {
        self.delays.summary(&self.sums)
    }
}

const QUEUES: usize = Queue::ALL.len();

#[inline]
fn cell(group: usize, queue: Queue) -> usize {
    group * QUEUES + queue as usize
}

impl Cells {
    pub fn new(groups: usize) -> Self {
        let empty = vec![Counts::default(); groups * QUEUES];
        let delays = (0..groups * QUEUES).map(|_| None).collect();
        let small = (0..groups).map(|_| None).collect();
        Cells {
            live: empty.clone(),
            row: empty.clone(),
            total: empty,
            delays,
            of_all: false,
            small,
        }
    }

    /// Every packet counts for the delay.
    pub fn with_delays_of_all(self) -> Self {
        Cells { of_all: true, ..self }
    }

    /// A packet of `length` bytes of IP leaves.
    #[inline(always)]
    pub fn forwarded(
        &mut self,
        group: usize,
        queue: Queue,
        length: u64,
        marked: bool,
        sojourn: Duration,
    ) {
        let cell = cell(group, queue);
        let counts = &mut self.live[cell];
        counts.packets += 1;
        counts.bytes += length;
        counts.marked += u64::from(marked);
        let delay = sojourn.as_nanos();
        if length >= DATA_LENGTH {
            self.record(cell, length, delay);
        } else {
            self.forwarded_small(group, cell, length, delay);
        }
    }

    /// Allocates at the first packet, and never again.
    #[inline(always)]
    fn record(&mut self, cell: usize, length: u64, delay: u64) {
        let counts = &mut self.live[cell];
        counts.delays.add(delay);
        counts.delay_bytes += length;
        self.delays[cell].get_or_insert_with(Delays::new).record(delay);
    }

    /// Apart from the rest because most packets are none of these.
    #[inline(never)]
    fn forwarded_small(&mut self, group: usize, cell: usize, length: u64, delay: u64) {
        if self.of_all {
            self.record(cell, length, delay);
        }
        self.small[group].get_or_insert_with(SmallDelays::new).record(delay);
    }

    #[inline]
    pub fn marked(&mut self, group: usize, queue: Queue, cause: MarkCause) {
        self.live[cell(group, queue)].marks[cause as usize] += 1;
    }

    #[inline]
    pub fn dropped(&mut self, group: usize, queue: Queue, cause: DropCause) {
        self.live[cell(group, queue)].drops[cause as usize] += 1;
    }

    /// Brings the row and the total up to date.
    pub fn settle(&mut self) {
        for (i, live) in self.live.iter_mut().enumerate() {
            self.row[i] += live;
            self.total[i] += live;
            *live = Counts::default();
        }
    }

    /// Drops the counts towards the total.
    pub fn end_warmup(&mut self) {
        self.settle();
        self.total.fill(Counts::default());
        self.delays.iter_mut().flatten().for_each(Delays::clear);
        self.small.iter_mut().flatten().for_each(SmallDelays::clear);
    }

    /// Begins the next row of the time series. The present one must be settled.
    pub fn next_row(&mut self) {
        self.row.fill(Counts::default());
    }

    /// The current row.
    pub fn row(&self) -> View<'_> {
        View(&self.row)
    }

    /// Everything since the end of the warm-up.
    pub fn total(&self) -> View<'_> {
        View(&self.total)
    }

    /// The delays of a queue since the end of the warm-up.
    pub fn queue_delays(&self, queue: Queue) -> Delays {
        Delays::merged(self.delays.iter().skip(queue as usize).step_by(QUEUES).flatten())
    }

    /// The delays of a group's packets below [`DATA_LENGTH`] since the end of the warm-up; `None` for a
    /// group that never sent any.
    pub fn small_delays(&self, group: usize) -> Option<&SmallDelays> {
        self.small[group].as_ref()
    }

    /// The delays of a group since the end of the warm-up.
    pub fn group_delays(&self, group: usize) -> Delays {
        Delays::merged(self.delays[group * QUEUES..][..QUEUES].iter().flatten())
    }
}

/// The counts of one span of time, by queue or by group.
#[derive(Clone, Copy)]
pub(crate) struct View<'a>(&'a [Counts]);

impl View<'_> {
    pub fn queue(&self, queue: Queue) -> Counts {
        sum(self.0.iter().skip(queue as usize).step_by(QUEUES))
    }

    pub fn group(&self, group: usize) -> Counts {
        sum(&self.0[group * QUEUES..][..QUEUES])
    }

    pub fn all(&self) -> Counts {
        sum(self.0)
    }
}

fn sum<'a>(counts: impl IntoIterator<Item = &'a Counts>) -> Counts {
    let mut total = Counts::default();
    counts.into_iter().for_each(|c| total += c);
    total
}
