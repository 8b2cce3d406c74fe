//! RED: one queue that signals with a probability that rises with its average length
//! (Floyd and Jacobson 1993), in the arithmetic of `sch_red` and `tc` in Linux.

mod config;

pub use config::Config;

use l4s_units::{Probability, Rate, Time};
use rand_core::Rng;

use crate::waiting::Fifo;
use crate::watch::mark;
use crate::{
    Backlog, Departure, DropCause, MarkCause, Packet, Qdisc, Queue, Redundancy, Signal, Watch,
};

/// The state of RED.
///
/// ```
/// use l4s_aqm::{Counters, Qdisc, Queue, red};
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Ecn, Time};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// # let (mut rng, mut counters) = (Xoshiro256PlusPlus::seed_from_u64(1), Counters::default());
///
/// // 200 packets at once are a burst. They hardly move the average, and none of them is marked.
/// let mut aqm = red::Discipline::new(red::Config::slides(), &mut rng);
/// for _ in 0..200 {
///     aqm.enqueue(Datagram(Ecn::Ect0), Time::ZERO, &mut rng, &mut counters);
/// }
/// assert_eq!(counters.marked(Queue::Q), 0);
/// // A queue that stays is no burst.
/// for _ in 0..1000 {
///     aqm.enqueue(Datagram(Ecn::Ect0), Time::ZERO, &mut rng, &mut counters);
///     aqm.dequeue(Time::ZERO, &mut rng, &mut counters);
/// }
/// assert!(counters.marked(Queue::Q) > 0);
/// ```
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    /// As it was asked for, and as it is at the rate of the link.
    asked: Config,
    config: Config,
    queue: Fifo<P>,
    average: Average,
    chance: Chance,
}

/// The decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Pass,
    /// Between the thresholds, and chance has it.
    Signal,
    /// Above the upper threshold.
    Force,
}

impl<P: Packet> Discipline<P> {
    /// An empty queue.
    pub fn new(config: Config, _rng: &mut impl Rng) -> Self {
        let average = Average::new(&config);
        let chance = Chance::new(&config, average.weight_log);
        Discipline { asked: config.clone(), config, queue: Fifo::new(), average, chance }
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut impl Rng, watch: &mut impl Watch<P>) {
        self.average.update(self.queue.backlog().bytes.get(), now);
        let action = self.chance.action(&self.average, rng);
        if action != Action::Pass {
            let may_mark = self.config.ecn && !(action == Action::Force && self.config.harddrop);
            if !(may_mark && mark(&mut packet, MarkCause::Classic, now, watch)) {
                let capable = self.config.ecn && packet.ecn().is_capable();
                let cause = if capable { DropCause::Overload } else { DropCause::Aqm };
                return watch.dropped(packet, Queue::Q, cause, now);
            }
        }
        match self.config.limit.refuses(self.backlog(), &packet) {
            Some(cause) => watch.dropped(packet, Queue::Q, cause, now),
            None => self.queue.push(packet, now, false),
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        _: &mut impl Rng,
        _: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        let Some(head) = self.queue.pop() else {
            // As in Linux, idle time begins where the link asks and nothing waits. Below `htb` it never asks
            // so, and the average outlasts idle times.
            self.average.idle_since.get_or_insert(now);
            return None;
        };
        Some(head.depart(now))
    }

    fn set_rate(&mut self, rate: Rate) {
        if self.asked.scaled {
            // The limit is a buffer, and that does not grow with the rate.
            self.config = Config { limit: self.asked.limit, ..self.asked.at(rate) };
            self.average = self.average.with(&self.config);
            self.chance = Chance::new(&self.config, self.average.weight_log);
        }
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        self.queue.evacuate()
    }

    fn withdraw(&mut self, _: u32, redundancy: &mut impl Redundancy<P>) -> Option<(P, Queue)> {
        self.queue.withdraw(redundancy).map(|packet| (packet, Queue::Q))
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    #[inline]
    fn head(&self, _: Queue) -> Option<&P> {
        self.queue.head().map(|head| head.packet)
    }

    fn signal(&self) -> Option<Signal> {
        let p = self.chance.probability(&self.average);
        Some(Signal { base: p, scalable: p, classic: p })
    }
}

/// The average length of the queue, as arriving packets find it.
#[derive(Clone, Debug)]
struct Average {
    /// Bytes, times 2^`weight_log`.
    scaled: u64,
    /// −log₂ of the weight of a new sample.
    weight_log: u32,
    /// Since when the link asks an empty queue.
    idle_since: Option<Time>,
    /// How far the average falls in an idle time, as a shift, by time in cells.
    damping: [u8; 256],
    /// The length of a cell: 2^this µs.
    cell_log: u32,
}

impl Config {
    /// The parameters of the average that `tc` gives to the kernel: its weight, and its decay while
    /// the queue is idle. `None` when no weight fits the burst.
    pub fn average(&self) -> Option<Weights> {
        let weight_log = self.weight_log()?;
        let (cell_log, damping) = idle_damping(self, weight_log);
        Some(Weights { weight_log, cell_log, damping })
    }
}

/// How the average moves, as `tc` gives it to the kernel.
///
/// ```
/// use l4s_aqm::red::{Config, Weights};
///
/// // For `tc qdisc add … red`: 220 packets of 1000 B stay below 120 kB with a weight of 2⁻⁷.
/// let Weights { weight_log, .. } = Config::slides().average().unwrap();
/// assert_eq!(weight_log, 7);
/// // No weight keeps two billion packets below the size of one.
/// let small = Config { min: Config::slides().avpkt, burst: 2_000_000_000, ..Config::slides() };
/// assert!(small.average().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    /// −log₂ of the weight of a new sample.
    pub weight_log: u32,
    /// The length of a cell of `damping`: 2^this µs.
    pub cell_log: u32,
    /// How far the average falls in an idle time, as a shift, by time in cells.
    pub damping: [u8; 256],
}

impl Average {
    fn new(config: &Config) -> Average {
        // `check` refuses a burst that has no weight.
        let weight_log = config.weight_log().unwrap_or(31);
        let (cell_log, damping) = idle_damping(config, weight_log);
        Average { scaled: 0, weight_log, idle_since: Some(Time::ZERO), damping, cell_log }
    }

    /// The same average, moving as `config` says from now on.
    fn with(&self, config: &Config) -> Average {
        let next = Average::new(config);
        let scaled = (self.scaled >> self.weight_log) << next.weight_log;
        Average { scaled, idle_since: self.idle_since, ..next }
    }

    /// A packet arrives and finds `backlog` bytes.
    #[inline]
    fn update(&mut self, backlog: u64, now: Time) {
        self.scaled = match self.idle_since.take() {
            Some(since) => self.after_idle(now.since(since).as_micros()),
            None => self.scaled - (self.scaled >> self.weight_log) + backlog,
        };
    }

    /// The average after an idle time: as if packets had kept finding nothing.
    fn after_idle(&self, idle_us: u64) -> u64 {
        let idle = idle_us.min(255 << self.cell_log);
        let shift = self.damping[(idle >> self.cell_log) as usize];
        if shift > 0 {
            return self.scaled >> shift;
        }
        // The table is too coarse for the first halving; a line does.
        let fall = (u128::from(self.scaled) * u128::from(idle)) >> self.cell_log;
        self.scaled - fall.min(u128::from(self.scaled - (self.scaled >> 1))) as u64
    }
}

/// The table of [`Average::damping`] and the size of its cells, as `tc` makes it.
///
/// `tc` counts time in ticks of 64 ns and the kernel reads the table in µs, so that an average
/// decays 15.6 times more slowly than intended. A Linux user gets the same.
fn idle_damping(config: &Config, weight_log: u32) -> (u32, [u8; 256]) {
    const TICKS_PER_US: f64 = 1000.0 / 64.0;
    let us = config.avpkt.get() as f64 * 8e6 / config.bandwidth.as_bps().max(1) as f64;
    let transmission = (us * TICKS_PER_US).ceil();
    let per_tick = -(1.0 - 1.0 / f64::from(1u32 << weight_log)).ln() / transmission;
    // Linux counts halvings but divides by nats.
    let longest = 31.0 / per_tick;
    let cell_log = (0..31).find(|log| longest / f64::from(1u32 << log) < 512.0).unwrap_or(31);
    let mut table = [31; 256];
    for (cell, shift) in table.iter_mut().enumerate().take(255) {
        *shift = ((cell as f64 * f64::from(1u32 << cell_log) * per_tick) as u8).min(31);
    }
    (cell_log, table)
}

/// Which packets get the signal: about one in so many, but spread out evenly.
#[derive(Clone, Debug)]
struct Chance {
    /// The thresholds in the scale of the average.
    min: u64,
    max: u64,
    /// The probability per byte above `min`, in 2⁻³²; at least 1.
    per_byte: u64,
    /// Packets since the last signal; `None` outside the thresholds.
    count: Option<u64>,
    /// Bytes above `min`, summed over packets, at which the next signal is due.
    due: u64,
}

impl Chance {
    fn new(config: &Config, weight_log: u32) -> Chance {
        let (min, max) = (config.min.get(), config.max.get());
        let at_max = (config.probability * (1u64 << 32) as f64) as u32;
        Chance {
            min: min << weight_log,
            max: max << weight_log,
            per_byte: (u64::from(at_max) / max.saturating_sub(min).max(1)).max(1),
            count: None,
            due: 0,
        }
    }

    #[inline]
    fn action(&mut self, average: &Average, rng: &mut impl Rng) -> Action {
        if average.scaled < self.min {
            self.count = None;
            return Action::Pass;
        }
        if average.scaled >= self.max {
            self.count = None;
            return Action::Force;
        }
        let Some(count) = self.count else {
            self.count = Some(0);
            self.due = self.draw(rng);
            return Action::Pass;
        };
        let above = (average.scaled - self.min) >> average.weight_log;
        if above.saturating_mul(count + 1) < self.due {
            self.count = Some(count + 1);
            return Action::Pass;
        }
        self.count = Some(0);
        self.due = self.draw(rng);
        Action::Signal
    }

    /// Uniform from 0 to the sum of bytes above `min` at which the signal is certain.
    fn draw(&self, rng: &mut impl Rng) -> u64 {
        u64::from(rng.next_u32()) / self.per_byte
    }

    /// The probability before it is spread out.
    fn probability(&self, average: &Average) -> Probability {
        match average.scaled {
            scaled if scaled < self.min => Probability::ZERO,
            scaled if scaled >= self.max => Probability::ONE,
            scaled => {
                let p = ((scaled - self.min) >> average.weight_log).saturating_mul(self.per_byte);
                Probability::from_raw(p.min(u64::from(u32::MAX)) as u32)
            }
        }
    }
}

#[cfg(test)]
mod tests;
