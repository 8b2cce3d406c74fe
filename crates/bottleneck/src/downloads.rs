//! When downloads begin and how much they fetch: emulated web traffic (DCttH §4.5).
//!
//! The one place where `[[web]]` is expanded, so that every substrate has the very same downloads.
//! They are drawn as they are asked for: a million of them take no memory.

use l4s_model::{FlowId, Scenario, Sizes, SourceId, Web};
use l4s_units::{Bytes, Duration, Time};
use rand_core::Rng;

use crate::{Stream, stream};

/// The downloads of one `[[web]]`: when each begins and its size, in order of time.
///
/// Times between them are exponential, so that they are a Poisson process. Each takes two numbers
/// from the stream, for sizes of any kind: other sizes do not change the times.
///
/// Example: [`Downloads`].
#[derive(Clone, Debug)]
pub struct Arrivals {
    web: Web,
    rng: Stream,
    last: Time,
    end: Time,
}

/// The downloads of `scenario.web[entry]`.
///
/// The name of their random stream has the group and which of the group's entries this is, so that
/// no other entry shifts their chances.
pub fn arrivals(scenario: &Scenario, entry: usize) -> Arrivals {
    let web = &scenario.web[entry];
    let group = &scenario.groups[web.group].name;
    let nth = scenario.web[..entry].iter().filter(|other| other.group == web.group).count();
    let end = Time::ZERO + scenario.duration;
    Arrivals {
        rng: stream(scenario.seed, &format!("web {group}.{nth}")),
        last: web.start,
        end: web.stop.map_or(end, |stop| stop.min(end)),
        web: web.clone(),
    }
}

impl Arrivals {
    fn adapt(&mut self, web: &Web, now: Time) {
        self.last = web.start.max(now);
        self.web = web.clone();
    }
}

impl Iterator for Arrivals {
    type Item = (Time, Bytes);

    fn next(&mut self) -> Option<(Time, Bytes)> {
        let rate = self.web.rate.as_per_second_f64();
        if rate == 0.0 {
            return None;
        }
        let gap = -libm::log(uniform(&mut self.rng)) / rate;
        let size = size(&self.web.size, uniform(&mut self.rng));
        self.last += Duration::from_secs_f64(gap);
        (self.last < self.end).then_some((self.last, size))
    }
}

/// Between 0, exclusive, and 1, inclusive.
fn uniform(rng: &mut Stream) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// The size that a share `u` of all downloads exceeds. The smallest is for 1, the largest for 0.
fn size(sizes: &Sizes, u: f64) -> Bytes {
    match *sizes {
        Sizes::Fixed(size) => size,
        Sizes::Pareto { shape, min, max } => {
            // Without a bound a share (min/x)^shape exceeds x. Of those up to `max`, a share u
            // exceeds x where (min/x)^shape = u + (1 - u)·(min/max)^shape.
            let smallest = min.get() as f64;
            let beyond = libm::pow(smallest / max.get() as f64, shape);
            let x = smallest * libm::pow(u + (1.0 - u) * beyond, -1.0 / shape);
            Bytes::new(x as u64).clamp(min, max)
        }
    }
}

/// A download.
///
/// Example: [`Downloads`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Download {
    /// Its number among all flows of the run ([`Roster`](l4s_model::Roster)).
    pub flow: FlowId,
    /// Its group.
    pub group: SourceId,
    /// When its client opens the connection.
    pub start: Time,
    /// How much it fetches.
    pub size: Bytes,
}

/// All downloads of a scenario, in order of time; of those at one instant, the earlier entry's
/// first.
///
/// ```
/// use l4s_bottleneck::{Arrivals, Download, Downloads, arrivals};
/// use l4s_model::{Group, Link, Scenario, Sizes, Web};
/// use l4s_units::{Bytes, Duration, Rate, Time};
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(10));
/// let mut scenario = Scenario::new("web", Duration::from_secs(20), link, aqm);
/// let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
/// scenario.groups.push(Group::new("A", reno, Duration::from_millis(10)));
/// let (rate, size) = ("10/s".parse()?, Sizes::Fixed(Bytes::new(10_000)));
/// scenario.web.push(Web { group: 0, rate, size, start: Time::ZERO, stop: None });
///
/// // About 200 in 20 s. The long flow has number 0.
/// let all: Vec<Download> = Downloads::new(&scenario).collect();
/// assert!((150..250).contains(&all.len()));
/// assert_eq!(all[0].flow.get(), 1);
/// // With one entry they are the arrivals of that.
/// let only: Arrivals = arrivals(&scenario, 0);
/// assert!(only.eq(all.iter().map(|download| (download.start, download.size))));
/// # Ok::<(), l4s_units::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Downloads {
    entries: Vec<Entry>,
    /// The number of the next one.
    flow: FlowId,
}

/// A `[[web]]`: its group, its next download and the rest.
#[derive(Clone, Debug)]
struct Entry {
    group: SourceId,
    next: Option<(Time, Bytes)>,
    rest: Arrivals,
}

impl Entry {
    fn start(&self) -> Time {
        self.next.map_or(Time::NEVER, |(start, _)| start)
    }
}

impl Downloads {
    /// The downloads that the `[[web]]` of `scenario` begin.
    pub fn new(scenario: &Scenario) -> Downloads {
        let roster = scenario.roster();
        let entries = (0..scenario.web.len()).map(|entry| {
            let mut rest = arrivals(scenario, entry);
            Entry { group: roster.group(scenario.web[entry].group), next: rest.next(), rest }
        });
        Downloads { entries: entries.collect(), flow: roster.downloads().start }
    }

    /// Changes the downloads of one entry from now on. Those drawn for later are discarded; since the
    /// times between Poisson arrivals have no memory, this does not change the process.
    pub fn adapt(&mut self, entry: usize, web: &Web, now: Time) {
        let Entry { next, rest, .. } = &mut self.entries[entry];
        rest.adapt(web, now);
        *next = rest.next();
    }

    /// The number of a flow that is not among them, and begins now: it has a number as theirs.
    pub fn next_flow(&mut self) -> FlowId {
        let flow = self.flow;
        self.flow = flow + 1;
        flow
    }

    /// When the next one begins; never after the last.
    pub fn next_start(&self) -> Time {
        self.entries.iter().map(Entry::start).min().unwrap_or(Time::NEVER)
    }
}

impl Iterator for Downloads {
    type Item = Download;

    fn next(&mut self) -> Option<Download> {
        let entry = self.entries.iter_mut().min_by_key(|entry| entry.start())?;
        let (start, size) = core::mem::replace(&mut entry.next, entry.rest.next())?;
        let group = entry.group;
        Some(Download { flow: self.next_flow(), group, start, size })
    }
}

#[cfg(test)]
mod tests;
