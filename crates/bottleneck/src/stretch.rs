//! An imperfect stretch of the way: which packets it loses, delays, repeats or changes.
//!
//! ```text
//! packet ─▶ loss ─▶ middlebox ─▶ bit error ─▶ duplicate ─▶ jitter ─▶ held back ─▶ out
//! ```
//!
//! Each of these draws from a random stream of its own, so that one more of them changes no choice of the
//! others. A packet that is not delayed is not queued.

use std::collections::VecDeque;

use l4s_model::{Distribution, Jitter, Loss, Path, PathChange};
use l4s_units::{Duration, Ecn, Probability, Time};
use rand_core::Rng;

use crate::{Stream, stream};

/// The outcome of a packet that is not lost.
///
/// Example: [`Stretch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// When it comes out.
    pub at: Time,
    /// Its codepoint then.
    pub ecn: Ecn,
    /// A bit of it is inverted; any bit has the same chance if this random number chooses it.
    pub corrupted: Option<u32>,
    /// It comes out twice.
    pub duplicated: bool,
    /// It was held back.
    pub held_back: bool,
}

/// The state of a stretch, and the packets on it.
///
/// ```
/// use l4s_bottleneck::{Passage, Stretch};
/// use l4s_model::{Direction, Loss, Path, Reorder};
/// use l4s_units::{Duration, Ecn, Time};
///
/// // The second packet is lost, and every other one is held back for 5 ms.
/// let reorder = Reorder { chance: 1.0, by: Duration::from_millis(5) };
/// let loss = Loss::Packets(vec![2]);
/// let path = Path { loss, reorder, ..Path::new("far", Direction::Down, vec![0]) };
/// let mut stretch: Stretch<&str> = Stretch::new(&path, 1);
///
/// let now = Time::ZERO;
/// let Some(Passage { at, ecn, .. }) = stretch.meet(Ecn::Ect1, now) else { panic!("not lost") };
/// assert_eq!((at, ecn), (now + Duration::from_millis(5), Ecn::Ect1));
/// assert_eq!(stretch.pass("first", at, now), None, "it stays for a while");
/// assert_eq!(stretch.meet(Ecn::Ect1, now), None);
/// assert_eq!(stretch.pop(stretch.next()), Some("first"));
/// ```
#[derive(Debug)]
pub struct Stretch<P> {
    loss: Losses,
    ecn: l4s_model::EcnMangling,
    corrupt: Chance,
    duplicate: Chance,
    jitter: Delays,
    reorder: Chance,
    held_back_by: Duration,
    /// When the last packet that keeps its order comes out.
    last: Time,
    /// Packets on it, in the order in which they come out.
    held: VecDeque<(Time, P)>,
    /// When the first of these comes out; never if there is none.
    first: Time,
}

/// A chance, and its stream.
#[derive(Debug)]
struct Chance {
    chance: Probability,
    rng: Stream,
}

impl Chance {
    fn new(chance: f64, rng: Stream) -> Chance {
        Chance { chance: Probability::from_f64(chance), rng }
    }

    #[inline]
    fn hits(&mut self) -> bool {
        self.chance != Probability::ZERO && self.chance.hits(self.rng.next_u32())
    }
}

/// Which packets are lost, and the stream of their chances.
#[derive(Debug)]
struct Losses {
    rng: Stream,
    which: Which,
}

#[derive(Debug)]
enum Which {
    Independent(Probability),
    GilbertElliott {
        bad: bool,
        to_bad: Probability,
        to_good: Probability,
        in_bad: Probability,
        in_good: Probability,
    },
    /// The numbers that are left, and how many packets came.
    Packets(VecDeque<u64>, u64),
}

impl Which {
    fn new(loss: &Loss) -> Which {
        let chance = Probability::from_f64;
        match loss {
            Loss::Independent(loss) => Which::Independent(chance(*loss)),
            Loss::GilbertElliott { to_bad, to_good, in_bad, in_good } => Which::GilbertElliott {
                bad: false,
                to_bad: chance(*to_bad),
                to_good: chance(*to_good),
                in_bad: chance(*in_bad),
                in_good: chance(*in_good),
            },
            Loss::Packets(numbers) => Which::Packets(numbers.iter().copied().collect(), 0),
        }
    }
}

impl Losses {
    #[inline]
    fn hits(&mut self) -> bool {
        let Losses { rng, which } = self;
        match which {
            Which::Independent(chance) => {
                *chance != Probability::ZERO && chance.hits(rng.next_u32())
            }
            Which::GilbertElliott { bad, to_bad, to_good, in_bad, in_good } => {
                let loss = if *bad { in_bad } else { in_good }.hits(rng.next_u32());
                *bad ^= if *bad { to_good } else { to_bad }.hits(rng.next_u32());
                loss
            }
            Which::Packets(numbers, came) => {
                *came += 1;
                let lost = numbers.front() == Some(came);
                if lost {
                    numbers.pop_front();
                }
                lost
            }
        }
    }
}

/// A random number from above 0 to 1.
fn part(rng: &mut Stream) -> f64 {
    (f64::from(rng.next_u32()) + 1.0) / (f64::from(u32::MAX) + 1.0)
}

/// The times of a jitter, and their stream.
#[derive(Debug)]
struct Delays {
    jitter: Jitter,
    rng: Stream,
}

/// The most of an exponential time with mean 1, and of a normal one with deviation 1, that 32 random
/// bits make: ln 2³² and √(2 ln 2³²).
const MOST_EXPONENTIAL: f64 = 22.181;
const MOST_NORMAL: f64 = 6.661;

impl Delays {
    #[inline]
    fn draw(&mut self) -> Duration {
        let Jitter { mean, distribution, .. } = self.jitter;
        let mean = mean.as_nanos();
        match distribution {
            Distribution::Uniform if mean == 0 => Duration::ZERO,
            Distribution::Uniform => {
                let share = u128::from(self.rng.next_u32()) * u128::from(mean);
                Duration::from_nanos((share >> 31) as u64)
            }
            Distribution::Exponential => {
                let times = -libm::log(part(&mut self.rng));
                Duration::from_nanos((times * mean as f64) as u64)
            }
            // G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958.
            Distribution::Normal(deviation) => {
                let radius = libm::sqrt(-2.0 * libm::log(part(&mut self.rng)));
                let angle = core::f64::consts::TAU * part(&mut self.rng);
                let off = deviation.as_nanos() as f64 * radius * libm::cos(angle);
                // The cast takes a time below zero to zero.
                Duration::from_nanos((mean as f64 + off) as u64)
            }
        }
    }
}

impl<P> Stretch<P> {
    /// An empty stretch of this path, whose chances the seed of the run determines.
    pub fn new(path: &Path, seed: u64) -> Stretch<P> {
        let rng = |what| stream(seed, &format!("path {} {what}", path.name));
        Stretch {
            loss: Losses { rng: rng("loss"), which: Which::new(&path.loss) },
            ecn: path.ecn,
            corrupt: Chance::new(path.corrupt, rng("corrupt")),
            duplicate: Chance::new(path.duplicate, rng("duplicate")),
            jitter: Delays { jitter: path.jitter, rng: rng("jitter") },
            reorder: Chance::new(path.reorder.chance, rng("reorder")),
            held_back_by: path.reorder.by,
            last: Time::ZERO,
            held: VecDeque::new(),
            first: Time::NEVER,
        }
    }

    /// Loses other packets, or delays them otherwise, from now on. Packets that are on it come out when
    /// they would have, and its streams go on.
    pub fn change(&mut self, change: &PathChange) {
        if let Some(loss) = &change.loss {
            self.loss.which = Which::new(loss);
        }
        let Some(jitter) = change.jitter else { return };
        if self.jitter.jitter.reordering && !jitter.reordering {
            // Who keeps the order keeps it behind those that did not.
            self.last = self.held.back().map_or(self.last, |(at, _)| self.last.max(*at));
        }
        self.jitter.jitter = jitter;
    }

    /// The longest time that a packet of this path may take.
    pub fn longest(path: &Path) -> Duration {
        let mean = path.jitter.mean;
        let times = |span: Duration, factor: f64| {
            Duration::from_nanos((span.as_nanos() as f64 * factor).ceil() as u64)
        };
        let jitter = match path.jitter.distribution {
            Distribution::Uniform => mean * 2,
            Distribution::Exponential => times(mean, MOST_EXPONENTIAL),
            Distribution::Normal(deviation) => mean + times(deviation, MOST_NORMAL),
        };
        jitter + path.reorder.by
    }

    /// The outcome of a packet with this codepoint that comes `now`; `None` for one that is lost. The
    /// caller makes the changes, and then calls [`Stretch::pass`].
    #[inline]
    pub fn meet(&mut self, ecn: Ecn, now: Time) -> Option<Passage> {
        if self.loss.hits() {
            return None;
        }
        let corrupted = self.corrupt.hits().then(|| self.corrupt.rng.next_u32());
        let duplicated = self.duplicate.hits();
        let mut at = now + self.jitter.draw();
        let held_back = self.reorder.hits();
        if !self.jitter.jitter.reordering {
            at = at.max(self.last);
            self.last = at;
        }
        if held_back {
            at += self.held_back_by;
        }
        Some(Passage { at, ecn: self.ecn.of(ecn), corrupted, duplicated, held_back })
    }

    /// Takes a packet that comes out `at` a time, or gives it back at once if that is `now`.
    #[inline]
    pub fn pass(&mut self, packet: P, at: Time, now: Time) -> Option<P> {
        if at <= now && self.first > now {
            return Some(packet);
        }
        self.first = self.first.min(at);
        match self.held.back() {
            // Of those that come out at one instant the first one that came is the first.
            Some((last, _)) if at < *last => {
                let place = self.held.partition_point(|(other, _)| *other <= at);
                self.held.insert(place, (at, packet));
            }
            _ => self.held.push_back((at, packet)),
        }
        None
    }

    /// When the next packet comes out; never if none is on the way.
    #[inline]
    pub fn next(&self) -> Time {
        self.first
    }

    /// How many packets are on the way.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether no packet is on the way.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The next packet that has come out by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<P> {
        if self.first > now {
            return None;
        }
        let packet = self.held.pop_front();
        self.first = self.held.front().map_or(Time::NEVER, |(at, _)| *at);
        packet.map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests;
