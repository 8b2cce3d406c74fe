//! The response of a flow's sender to CE marks, and its bursts, from its packets at the
//! bottleneck alone.
//!
//! Time is divided into rounds of one base round trip. At the end of a round the packets in flight are
//! those that wait in the queue and those that left it during the round: their acknowledgements have not
//! reached the sender. This counts the window of any protocol, encrypted or not.
//!
//! The sender learns of a mark one round trip after it, and may take another one to reduce its window
//! (proportional rate reduction, RFC 9937). So a sample compares the packets in flight at the end of a
//! round with marks to those two round trips later. The reference is a DCTCP sender, which reduces its
//! window by α/2 once per round trip with marks (RFC 8257 §3.3). α is the moving average of the
//! marked share with gain 1/16.
//!
//! - A Classic sender reduces by 30 % (Cubic, RFC 9438 §4.6) to 50 % (Reno, RFC 3168 §6.1.2) even
//!   where α is small.
//! - A Scalable sender reduces little where α is small, and about α/2 where it is large.
//! - A sender that ignores marks does not reduce where α is large.

use l4s_units::{Bytes, Duration, Rate, Time};

/// The most rounds between a round with marks and the sample of its response.
const MOST_LAG: usize = 15;
/// Rounds that are kept: a lag before the marks, and one after them.
const ROUNDS: usize = 2 * MOST_LAG + 2;
/// Gain of the average of the marked share (RFC 8257 §3.3).
const GAIN: f64 = 1.0 / 16.0;
/// α from which it is large. Below it a DCTCP sender reduces by less than 10 %.
const LARGE: f64 = 0.2;
/// A sender whose rate grows faster than this within a lag is in slow start, in which the reduction is
/// hidden by the growth before it.
const GROWTH: f64 = 1.25;
/// With fewer bytes in flight one packet is more than a tenth of the window.
const LEAST_WINDOW: f64 = 10.0 * 1500.0;
/// Packets that follow each other at this many times the rate of the bottleneck are a burst.
/// Senders pace at up to twice the rate of their window (Linux in slow start).
const BURST: u64 = 4;

/// The path of a flow, as far as a check needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// The base round-trip time, not zero.
    pub rtt: Duration,
    /// The rate of the bottleneck.
    pub rate: Rate,
    /// The queueing delay beyond which the AQM marks every packet.
    pub step: Duration,
}

/// A round of one base round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Bytes that arrived at the queue.
    arrived: u64,
    /// Bytes that left the queue.
    departed: u64,
    /// Of them, those that the queue marked.
    marked: u64,
    /// Whether the queue dropped packets.
    dropped: bool,
    /// The sum of the queueing delays, weighted by bytes.
    delay: f64,
    /// Bytes in flight at the end.
    window: f64,
    /// α at the end.
    alpha: f64,
    /// Rounds until the response is complete; 0 for none that can be sampled.
    lag: usize,
}

/// The mean response of several samples.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Responses {
    /// How many samples there are.
    pub samples: u64,
    reduction: f64,
    expected: f64,
}

impl Responses {
    fn add(&mut self, reduction: f64, alpha: f64) {
        self.samples += 1;
        self.reduction += reduction;
        self.expected += alpha / 2.0;
    }

    /// The mean reduction of the packets in flight, as a fraction.
    pub fn reduction(&self) -> f64 {
        self.reduction / self.samples.max(1) as f64
    }

    /// The mean reduction of a DCTCP sender with the same marks.
    pub fn expected(&self) -> f64 {
        self.expected / self.samples.max(1) as f64
    }
}

/// How a sender answers marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Response {
    /// No packet was marked.
    Unmarked,
    /// There are too few samples.
    TooFew,
    /// Roughly in proportion to the marked share.
    Scalable,
    /// By a large fixed fraction.
    Classic,
    /// Not at all.
    Ignored,
    /// There are enough samples, and they fit no kind of sender.
    Unclear,
}

/// The observed bursts of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bursts {
    /// Bytes of all packets.
    pub total: Bytes,
    /// Bytes in bursts that take longer than the step threshold at the rate of the bottleneck.
    pub long: Bytes,
    /// The largest burst.
    pub largest: Bytes,
}

impl Bursts {
    /// These and one more.
    fn and(self, burst: Bytes, path: &Path) -> Bursts {
        let long = if path.rate.time_of(burst) > path.step { burst } else { Bytes::ZERO };
        Bursts {
            total: self.total + burst,
            long: self.long + long,
            largest: self.largest.max(burst),
        }
    }
}

/// The check of one flow. Its memory is constant.
#[derive(Clone, Debug)]
pub struct Check {
    path: Path,
    /// When the present round ends; never before the first packet.
    ends: Time,
    present: Round,
    /// The rounds before, as a ring: round `n` at `n % ROUNDS`.
    rounds: Box<[Round; ROUNDS]>,
    /// How many rounds are over.
    round: usize,
    /// Bytes that wait in the queue.
    queued: u64,
    alpha: f64,
    marked: u64,
    departed: u64,
    small: Responses,
    large: Responses,
    /// When the last packet arrived, and its time on the link.
    last: (Time, Duration),
    /// The present burst.
    burst: Bytes,
    /// Those before it.
    bursts: Bursts,
}

impl Check {
    /// A flow without packets.
    pub fn new(path: Path) -> Check {
        Check {
            path,
            ends: Time::NEVER,
            present: Round::default(),
            rounds: Box::new([Round::default(); ROUNDS]),
            round: 0,
            queued: 0,
            alpha: 0.0,
            marked: 0,
            departed: 0,
            small: Responses::default(),
            large: Responses::default(),
            last: (Time::ZERO, Duration::ZERO),
            burst: Bytes::ZERO,
            bursts: Bursts::default(),
        }
    }

    /// A packet arrives at the queue.
    pub fn arrived(&mut self, length: Bytes, now: Time) {
        if self.ends == Time::NEVER {
            self.ends = now + self.path.rtt;
        }
        self.clock(now);
        self.queued += length.get();
        self.present.arrived += length.get();
        let (last, on_link) = self.last;
        if now.since(last) * BURST >= on_link {
            self.bursts = self.bursts.and(std::mem::take(&mut self.burst), &self.path);
        }
        self.burst += length;
        self.last = (now, self.path.rate.time_of(length));
    }

    /// A packet leaves the queue, `sojourn` after its arrival; `marked` if the queue marked it.
    pub fn departed(&mut self, length: Bytes, sojourn: Duration, marked: bool, now: Time) {
        self.clock(now);
        let length = length.get();
        self.queued = self.queued.saturating_sub(length);
        self.present.departed += length;
        self.present.delay += length as f64 * sojourn.as_secs_f64();
        self.departed += length;
        if marked {
            self.present.marked += length;
            self.marked += length;
        }
    }

    /// The queue drops a packet.
    pub fn dropped(&mut self, length: Bytes, now: Time) {
        self.clock(now);
        self.queued = self.queued.saturating_sub(length.get());
        self.present.dropped = true;
    }

    /// The path of the flow.
    pub fn path(&self) -> Path {
        self.path
    }

    /// The marked share of all bytes.
    pub fn marked(&self) -> f64 {
        self.marked as f64 / self.departed.max(1) as f64
    }

    /// Responses to the first marks after a pause, where α is small.
    pub fn small(&self) -> Responses {
        self.small
    }

    /// Responses to marks where α is large.
    pub fn large(&self) -> Responses {
        self.large
    }

    /// How the sender answers marks.
    ///
    /// Where α is small DCTCP reduces by less than 10 % and Cubic by 30 %: a reduction between 15
    /// and 20 % is unclear, also that of a Classic sender with alternative backoff (RFC 8511 §3.1).
    /// Where α is large, at least half of DCTCP's reduction is proportional, and less than a
    /// quarter of it is none.
    pub fn response(&self) -> Response {
        let (small, large) = (self.small, self.large);
        let ratio = large.reduction() / large.expected().max(f64::MIN_POSITIVE);
        let (some, many) = (small.samples >= 3, large.samples >= 10);
        match () {
            () if self.marked == 0 => Response::Unmarked,
            () if many && ratio < 0.25 => Response::Ignored,
            () if some && small.reduction() >= 0.2 => Response::Classic,
            () if some && many && small.reduction() <= 0.15 && ratio >= 0.5 => Response::Scalable,
            () if some && many => Response::Unclear,
            () => Response::TooFew,
        }
    }

    /// The bursts of the flow, the last one included.
    pub fn bursts(&self) -> Bursts {
        self.bursts.and(self.burst, &self.path)
    }

    #[inline]
    fn clock(&mut self, now: Time) {
        while now >= self.ends {
            self.end_round();
            self.ends += self.path.rtt;
            // After a long silence none of the kept rounds is of use.
            if now.since(self.ends) > self.path.rtt * ROUNDS as u64 {
                *self.rounds = [Round::default(); ROUNDS];
                self.ends = now + self.path.rtt;
            }
        }
    }

    fn end_round(&mut self) {
        let mut round = std::mem::take(&mut self.present);
        let departed = round.departed.max(1) as f64;
        if round.departed > 0 {
            self.alpha += GAIN * (round.marked as f64 / departed - self.alpha);
        }
        let rtt = self.path.rtt.as_secs_f64();
        let lag = (2.0 * (rtt + round.delay / departed) / rtt).ceil() as usize;
        round.lag = if round.marked > 0 && lag <= MOST_LAG { lag } else { 0 };
        round.window = (self.queued + round.departed) as f64;
        round.alpha = self.alpha;
        self.rounds[self.round % ROUNDS] = round;
        for lag in 2..=MOST_LAG.min(self.round) {
            if self.before(lag).lag == lag {
                self.sample(lag);
            }
        }
        self.round += 1;
    }

    /// The round that was this many rounds before the last one.
    fn before(&self, rounds: usize) -> &Round {
        &self.rounds[(self.round + ROUNDS - rounds) % ROUNDS]
    }

    /// The response to the marks of `lag` rounds ago is complete.
    fn sample(&mut self, lag: usize) {
        let (marked, earlier) = (*self.before(lag), self.before(2 * lag));
        let after = self.before(0).window;
        let grows = marked.arrived as f64 > GROWTH * earlier.arrived as f64;
        // A sender that has nothing to send does not answer marks by that.
        let pauses = (0..=2 * lag).any(|rounds| self.before(rounds).arrived == 0);
        if marked.window < LEAST_WINDOW || grows || pauses {
            return;
        }
        let reduction = 1.0 - after / marked.window;
        let dropped = (0..=2 * lag).any(|rounds| self.before(rounds).dropped);
        let first = (lag + 1..=2 * lag).all(|rounds| self.before(rounds).marked == 0);
        if marked.alpha >= LARGE {
            // A reduction after a drop may be the response to the drop.
            if !dropped || reduction < marked.alpha / 8.0 {
                self.large.add(reduction, marked.alpha);
            }
        } else if first && !dropped {
            self.small.add(reduction, marked.alpha);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    const PACKET: u64 = 1500;
    const PATH: Path = Path {
        rtt: Duration::from_millis(20),
        rate: Rate::from_mbps(40),
        step: Duration::from_millis(1),
    };

    /// The longest queue.
    const LIMIT: Duration = Duration::from_millis(100);

    /// How a sender sends.
    #[derive(Clone, Copy)]
    enum Sender {
        /// A window that is reduced by α/2 per round trip with marks.
        Dctcp,
        /// A window that is reduced to this share per round trip with marks.
        Classic(f64),
        /// This many packets at once, this often, with any marks.
        Constant(u64, Duration),
    }

    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Departed(Duration, bool),
        /// The acknowledgement of a packet, by its number, and whether it was marked.
        Acknowledged(u64, bool),
        Send,
    }

    /// A sender, 20 ms from a queue that marks every packet that waits more than `threshold`. The
    /// link has 40 Mb/s in even seconds and 20 Mb/s in odd ones.
    fn play(sender: Sender, threshold: Duration, seconds: u64) -> Check {
        let mut check = Check::new(PATH);
        let (mut free, end) = (Time::ZERO, Time::ZERO + Duration::from_secs(seconds));
        let (mut cwnd, mut alpha, mut sent, mut acked) = (10.0_f64, 0.0_f64, 0_u64, 0_u64);
        // The number after the present round trip, its acknowledgements and marks.
        let (mut round, mut acks, mut marks, mut slow_start) = (0, 0.0, 0.0, true);
        let mut events = BinaryHeap::from([Reverse((Time::ZERO, Event::Send))]);
        while let Some(Reverse((now, event))) = events.pop() {
            let mut send = match event {
                _ if now >= end => return check,
                Event::Departed(sojourn, marked) => {
                    check.departed(Bytes::new(PACKET), sojourn, marked, now);
                    continue;
                }
                Event::Acknowledged(number, marked) => {
                    acked += 1;
                    acks += 1.0;
                    marks += f64::from(u8::from(marked));
                    if number >= round {
                        alpha += (marks / acks - alpha) / 16.0;
                        slow_start &= marks == 0.0;
                        cwnd = match sender {
                            _ if slow_start => 2.0 * cwnd,
                            _ if marks == 0.0 => cwnd + 1.0,
                            Sender::Dctcp => cwnd * (1.0 - alpha / 2.0) + 1.0,
                            Sender::Classic(share) => cwnd * share,
                            Sender::Constant(..) => cwnd,
                        };
                        (round, acks, marks) = (sent, 0.0, 0.0);
                    }
                    (cwnd as u64).saturating_sub(sent - acked)
                }
                Event::Send => match sender {
                    Sender::Constant(packets, interval) => {
                        events.push(Reverse((now + interval, Event::Send)));
                        packets
                    }
                    _ => cwnd as u64,
                },
            };
            if let (Sender::Constant(..), Event::Acknowledged(..)) = (sender, event) {
                send = 0;
            }
            for _ in 0..send {
                check.arrived(Bytes::new(PACKET), now);
                let slow = now.as_nanos() / 1_000_000_000 % 2 == 1;
                let rate = Rate::from_mbps(if slow { 20 } else { 40 });
                let begins = free.max(now);
                let sojourn = begins.since(now);
                if sojourn > LIMIT {
                    check.dropped(Bytes::new(PACKET), now);
                    continue;
                }
                let marked = sojourn > threshold;
                free = begins + rate.time_of(Bytes::new(PACKET));
                events.push(Reverse((begins, Event::Departed(sojourn, marked))));
                let back = free + PATH.rtt;
                events.push(Reverse((back, Event::Acknowledged(sent, marked))));
                sent += 1;
            }
        }
        check
    }

    #[test]
    fn dctcp_is_scalable() {
        let check = play(Sender::Dctcp, PATH.step, 12);
        assert_eq!(check.response(), Response::Scalable, "{:?} {:?}", check.small, check.large);
    }

    #[test]
    fn a_window_that_is_reduced_by_a_fixed_fraction_is_classic() {
        // Cubic and Reno, with the shallow threshold of L4S and with that of a Classic queue.
        for share in [0.5, 0.7] {
            for threshold in [1, 15] {
                let check = play(Sender::Classic(share), Duration::from_millis(threshold), 12);
                let found = check.response();
                assert_eq!(found, Response::Classic, "{share} {threshold} {:?}", check.small);
                assert!(
                    (check.small.reduction() - (1.0 - share)).abs() < 0.12,
                    "{:?}",
                    check.small
                );
            }
        }
    }

    #[test]
    fn a_sender_of_constant_rate_ignores_marks() {
        // A packet of 12,000 b each 0.4 ms: 30 Mb/s, too much in odd seconds.
        let check = play(Sender::Constant(1, Duration::from_micros(400)), PATH.step, 12);
        assert_eq!(check.response(), Response::Ignored, "{:?}", check.large);
    }

    #[test]
    fn without_marks_or_with_few_nothing_is_said() {
        let check = play(Sender::Constant(1, Duration::from_micros(700)), PATH.step, 12);
        assert_eq!((check.response(), check.marked()), (Response::Unmarked, 0.0));
        // One second of which the last 0.1 s may have marks.
        let check = play(Sender::Dctcp, PATH.step, 1);
        assert!(matches!(check.response(), Response::TooFew | Response::Unmarked));
    }

    #[test]
    fn a_burst_is_what_arrives_faster_than_the_link_carries_it() {
        let paced = play(Sender::Constant(1, Duration::from_micros(400)), PATH.step, 2).bursts();
        assert_eq!((paced.largest.get(), paced.long.get()), (PACKET, 0));
        // Three packets are 0.9 ms at 40 Mb/s, four 1.2 ms.
        let three = play(Sender::Constant(3, Duration::from_millis(2)), PATH.step, 2).bursts();
        assert_eq!((three.largest.get(), three.long.get()), (3 * PACKET, 0));
        let four = play(Sender::Constant(4, Duration::from_millis(2)), PATH.step, 2).bursts();
        assert_eq!(four.largest.get(), 4 * PACKET);
        assert_eq!(four.long, four.total);
    }

    #[test]
    fn a_long_silence_is_forgotten() {
        let mut check = play(Sender::Dctcp, PATH.step, 5);
        let (small, large) = (check.small, check.large);
        // The present round may complete one more sample.
        let later = Time::ZERO + Duration::from_secs(1_000_000);
        check.arrived(Bytes::new(PACKET), later);
        assert!(check.ends > later && check.ends <= later + PATH.rtt * 2);
        assert!(check.small == small && check.large.samples <= large.samples + 1);
    }
}
