//! Rate steps in memory: columns. A column exists if the trace has the quantity.
//!
//! A step takes 5 bytes for its rate, and 8 for its start unless all steps are equally long. Delay and loss take 4 each.
//! So a step of a millisecond with delay and loss takes 13 bytes, and an hour of those 46.8 MB.

use std::sync::Arc;

use l4s_units::{Duration, Probability, Rate};

use crate::error::Problem;
use crate::{MAX_DELAY, MAX_ENTRIES, MAX_PERIOD, MAX_RATE, Step};

/// The steps of one period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Table {
    starts: Starts,
    rates: Arc<[Packed]>,
    delays: Option<Arc<[u32]>>,
    losses: Option<Arc<[u32]>>,
    period: u64,
    /// The capacity of a period, in 10⁻⁹ bits.
    total: u128,
}

/// When the steps begin, in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Starts {
    /// Step n at n times this. The last one ends with the period.
    Every(u64),
    /// Step n at the n-th of these.
    At(Arc<[u64]>),
}

/// A rate in 40 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packed([u8; 5]);

impl Packed {
    fn new(rate: Rate) -> Packed {
        let [a, b, c, d, e, ..] = rate.as_bps().to_le_bytes();
        Packed([a, b, c, d, e])
    }

    fn rate(self) -> Rate {
        let [a, b, c, d, e] = self.0;
        Rate::from_bps(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]))
    }
}

/// Collects steps one by one.
#[derive(Default)]
pub(crate) struct Builder {
    /// Empty while every start is a multiple of the first step's length.
    starts: Vec<u64>,
    every: u64,
    last: u64,
    rates: Vec<Packed>,
    delays: Vec<u32>,
    losses: Vec<u32>,
    total: u128,
}

impl Builder {
    /// Adds a step that ends the one before it.
    pub fn push(&mut self, step: Step) -> Result<(), Problem> {
        let (index, start) = (self.rates.len(), step.at.as_nanos());
        if index == MAX_ENTRIES {
            return Err(Problem::TooMany { hint: "cut the trace into parts, or use longer steps" });
        }
        self.check(&step)?;
        match index {
            0 => {}
            1 => self.every = start,
            _ if self.starts.is_empty() && index as u64 * self.every != start => {
                self.starts = (0..index as u64).map(|n| n * self.every).collect();
                self.starts.push(start);
            }
            _ if self.starts.is_empty() => {}
            _ => self.starts.push(start),
        }
        self.account(start);
        self.rates.push(Packed::new(step.rate));
        // Both fit: they were checked, or are 32 bits by type.
        self.delays.extend(step.delay.map(|delay| delay.as_nanos() as u32));
        self.losses.extend(step.loss.map(Probability::raw));
        Ok(())
    }

    fn check(&self, step: &Step) -> Result<(), Problem> {
        let (index, start) = (self.rates.len(), step.at.as_nanos());
        if step.at > MAX_PERIOD {
            return Err(Problem::TooLong { found: step.at.to_string() });
        }
        if index == 0 && start != 0 {
            return Err(Problem::LateStart { found: step.at.to_string() });
        }
        if index > 0 && start < self.last {
            let before = Duration::from_nanos(self.last).to_string();
            return Err(Problem::Decreasing { found: step.at.to_string(), before, help: None });
        }
        if index > 0 && start == self.last {
            return Err(Problem::Twice { found: step.at.to_string() });
        }
        if step.rate > MAX_RATE {
            return Err(Problem::TooFast { found: step.rate.to_string(), help: None });
        }
        if let Some(delay) = step.delay.filter(|delay| *delay > MAX_DELAY) {
            return Err(Problem::TooSlow { found: delay.to_string() });
        }
        let whole = |column: &[u32], value: bool| index == 0 || column.is_empty() != value;
        if !whole(&self.delays, step.delay.is_some()) {
            return Err(Problem::Partial { what: "delay" });
        }
        if !whole(&self.losses, step.loss.is_some()) {
            return Err(Problem::Partial { what: "loss" });
        }
        Ok(())
    }

    /// Ends the last step.
    fn account(&mut self, end: u64) {
        let rate = self.rates.last().map_or(Rate::ZERO, |packed| packed.rate());
        self.total += u128::from(rate.as_bps()) * u128::from(end - self.last);
        self.last = end;
    }

    /// When the last step begins, and how long the one before it takes.
    #[cfg(feature = "files")]
    pub fn last(&self) -> Option<(Duration, Duration)> {
        let before = match self.starts.len() {
            0 if self.rates.len() < 2 => return None,
            0 => self.every,
            n => self.last - self.starts[n - 2],
        };
        Some((Duration::from_nanos(self.last), Duration::from_nanos(before)))
    }

    /// Whether there is no step yet.
    #[cfg(feature = "files")]
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    /// The table, which repeats after `period`.
    pub fn finish(mut self, period: Duration) -> Result<Table, Problem> {
        if self.rates.is_empty() {
            return Err(Problem::Empty);
        }
        if period.is_zero() {
            return Err(Problem::ZeroPeriod);
        }
        if period > MAX_PERIOD {
            return Err(Problem::TooLong { found: period.to_string() });
        }
        let (found, last) = (period, Duration::from_nanos(self.last));
        if found <= last {
            let help = Some("the trace ends after its last step begins".to_owned());
            let (found, before) = (found.to_string(), last.to_string());
            return Err(Problem::Decreasing { found, before, help });
        }
        self.account(period.as_nanos());
        if self.total == 0 {
            return Err(Problem::NoCapacity);
        }
        let column = |values: Vec<u32>| (!values.is_empty()).then(|| values.into());
        Ok(Table {
            starts: match self.starts.is_empty() {
                // One step is as long as the period.
                true if self.rates.len() == 1 => Starts::Every(period.as_nanos()),
                true => Starts::Every(self.every),
                false => Starts::At(self.starts.into()),
            },
            rates: self.rates.into(),
            delays: column(self.delays),
            losses: column(self.losses),
            period: period.as_nanos(),
            total: self.total,
        })
    }
}

impl Table {
    /// From steps in order.
    pub fn new(steps: impl IntoIterator<Item = Step>, period: Duration) -> Result<Table, Problem> {
        let mut builder = Builder::default();
        steps.into_iter().try_for_each(|step| builder.push(step))?;
        builder.finish(period)
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.rates.len()
    }

    /// The period in nanoseconds.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The capacity of a period, in 10⁻⁹ bits: below 2⁹², as a rate is below 2⁴⁰ and a period below 2⁵².
    pub fn total(&self) -> u128 {
        self.total
    }

    /// When a step begins; the one after the last begins with the period's end.
    pub fn start(&self, index: usize) -> u64 {
        match &self.starts {
            _ if index >= self.rates.len() => self.period,
            Starts::Every(length) => index as u64 * length,
            Starts::At(starts) => starts[index],
        }
    }

    /// The step in force at a time within the period.
    pub fn index(&self, at: u64) -> usize {
        match &self.starts {
            Starts::Every(length) => ((at / length) as usize).min(self.rates.len() - 1),
            Starts::At(starts) => starts.partition_point(|start| *start <= at) - 1,
        }
    }

    pub fn rate(&self, index: usize) -> Rate {
        self.rates[index].rate()
    }

    pub fn delay(&self, index: usize) -> Option<Duration> {
        let delays = self.delays.as_ref()?;
        Some(Duration::from_nanos(u64::from(delays[index])))
    }

    pub fn loss(&self, index: usize) -> Option<Probability> {
        Some(Probability::from_raw(self.losses.as_ref()?[index]))
    }

    /// Whether steps have a delay, and whether they have a loss.
    #[cfg(feature = "files")]
    pub fn has(&self) -> (bool, bool) {
        (self.delays.is_some(), self.losses.is_some())
    }

    pub fn step(&self, index: usize) -> Step {
        Step {
            at: Duration::from_nanos(self.start(index)),
            rate: self.rate(index),
            delay: self.delay(index),
            loss: self.loss(index),
        }
    }

    /// The bytes that it occupies.
    pub fn memory(&self) -> usize {
        let starts = match &self.starts {
            Starts::Every(_) => 0,
            Starts::At(starts) => size_of_val(&**starts),
        };
        let columns = [&self.delays, &self.losses].into_iter().flatten();
        starts
            + size_of_val(&*self.rates)
            + columns.map(|column| size_of_val(&**column)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour of steps of a millisecond, each with another rate, delay and loss.
    fn hour(also: bool) -> Table {
        let steps = (0..3_600_000u64).map(|ms| Step {
            at: Duration::from_millis(ms),
            rate: Rate::from_bps(1 + ms * 277_777),
            delay: also.then(|| Duration::from_micros(ms)),
            loss: also.then(|| Probability::from_raw(ms as u32)),
        });
        Table::new(steps, Duration::from_secs(3600)).unwrap()
    }

    #[test]
    fn an_hour_of_milliseconds_takes_less_than_50_megabytes() {
        // 5 B, and with delay and loss 5 + 4 + 4 B, times 3.6 million.
        assert_eq!(hour(false).memory(), 18_000_000);
        assert_eq!(hour(true).memory(), 46_800_000);
        // Of which no two are equally long: 5 + 8 B.
        let steps = (0..3_600_000u64).map(|ms| Step {
            at: Duration::from_nanos(ms * 1_000_000 + ms % 2 * 100),
            ..Step::new(Duration::ZERO, Rate::from_mbps(ms % 100))
        });
        let odd = Table::new(steps, Duration::from_secs(3600)).unwrap();
        assert_eq!(odd.memory(), 46_800_000);
    }

    #[test]
    fn columns_give_back_every_step() {
        let table = hour(true);
        let step = table.step(3_599_999);
        assert_eq!(step.rate, Rate::from_bps(1 + 3_599_999 * 277_777));
        assert_eq!(step.delay, Some(Duration::from_micros(3_599_999)));
        assert_eq!(step.loss, Some(Probability::from_raw(3_599_999)));
        assert_eq!(table.index(3_599_999_999_999), 3_599_999);
        assert_eq!(table.start(3_600_000), 3_600_000_000_000);
    }
}
