//! The way back from the clients of a group to its server: a delay, and no queue.
//!
//! While the round trip is constant, messages on the way keep their order. A re-route changes it for
//! those that set out from then on; the others arrive when they would have. So after a change to
//! a shorter path, later messages overtake earlier ones, as on a real re-route, and as with
//! Linux' `netem` when its delay is made shorter.
//!
//! A message leaves its host after a random processing time ([`host_jitter`]), behind the one before
//! it.

use std::collections::VecDeque;

use l4s_bottleneck::{Stream, host_jitter};
use l4s_model::FlowId;
use l4s_units::{Duration, Time};
use rand_core::Rng;

use crate::message::{Message, Return};
use crate::prefetch::prefetch;

/// A return path.
#[derive(Debug)]
pub(crate) struct Line {
    /// From the client to the server, for packets that are sent now.
    delay: Duration,
    /// The time that its hosts take for a message, if they take any.
    hosts: Option<Hosts>,
    /// When the last message left its host.
    left: Time,
    /// Packets on their way, in order of arrival.
    waiting: VecDeque<Return>,
    /// When the first of that arrives; never if there is none.
    first: Time,
    /// When the last one arrives, or arrived.
    last: Time,
    /// Whether messages come to it as they are sent, without a queue or an imperfect stretch in between.
    pub is_straight: bool,
}

/// Hosts that need a random time for each message.
#[derive(Debug)]
struct Hosts {
    longest: Duration,
    chance: Stream,
    /// The rest of the last number drawn: 16 bits for each of `messages` to come.
    drawn: u64,
    messages: u32,
}

impl Hosts {
    /// How long the next message takes.
    #[inline]
    fn draw(&mut self) -> Duration {
        if self.messages == 0 {
            (self.drawn, self.messages) = (self.chance.next_u64(), u64::BITS / u16::BITS);
        }
        let share = self.drawn & u64::from(u16::MAX);
        self.drawn >>= u16::BITS;
        self.messages -= 1;
        Duration::from_nanos((share * self.longest.as_nanos()) >> u16::BITS)
    }
}

impl Line {
    /// A path with this base round trip, whose hosts draw their processing times from `chance`, or
    /// take no time.
    pub fn new(rtt: Duration, chance: Option<Stream>, is_straight: bool) -> Line {
        let longest = host_jitter(rtt);
        let hosts = chance.map(|chance| Hosts { longest, chance, drawn: 0, messages: 0 });
        let (waiting, first, last) = (VecDeque::new(), Time::NEVER, Time::ZERO);
        Line { delay: rtt, hosts, left: Time::ZERO, waiting, first, last, is_straight }
    }

    /// Sets the base round trip to `rtt` for packets that are sent from now on.
    pub fn route(&mut self, rtt: Duration) {
        self.delay = rtt;
        if let Some(hosts) = &mut self.hosts {
            hosts.longest = host_jitter(rtt);
        }
    }

    /// When the next message arrives.
    #[inline]
    pub fn next(&self) -> Time {
        self.first
    }

    /// The sender's place of the message on its way that has `ahead` others before it.
    #[inline]
    pub fn slot(&self, ahead: usize) -> Option<u32> {
        self.waiting.get(ahead).map(|message| message.slot)
    }

    /// Asks for the memory of the message that has `ahead` others before it.
    #[inline]
    pub fn prefetch(&self, ahead: usize) {
        self.waiting.get(ahead).into_iter().for_each(prefetch);
    }

    /// A client sends a message, from the place `slot` of connections.
    #[inline(always)]
    pub fn send(&mut self, flow: FlowId, slot: u32, message: Message, now: Time) {
        let takes = self.hosts.as_mut().map_or(Duration::ZERO, Hosts::draw);
        self.left = self.left.max(now + takes);
        let arrives = self.left + self.delay;
        self.put(Return { arrives, flow, slot, message });
    }

    /// A message is on its way.
    #[inline(always)]
    pub fn put(&mut self, sent: Return) {
        self.first = self.first.min(sent.arrives);
        if sent.arrives < self.last {
            return self.overtake(sent);
        }
        self.last = sent.arrives;
        self.waiting.push_back(sent);
    }

    /// Takes every message that is on its way, in order.
    pub fn take(&mut self) -> impl Iterator<Item = Return> {
        self.first = Time::NEVER;
        self.waiting.drain(..)
    }

    #[cold]
    fn overtake(&mut self, message: Return) {
        let at = self.waiting.partition_point(|other| other.arrives <= message.arrives);
        self.waiting.insert(at, message);
    }

    /// The message that arrives next.
    #[inline]
    pub fn head(&self) -> Option<&Return> {
        self.waiting.front()
    }

    /// The head has arrived.
    #[inline]
    pub fn advance(&mut self) {
        self.waiting.pop_front();
        self.first = self.waiting.front().map_or(Time::NEVER, |next| next.arrives);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Request;
    use crate::packet::Stamps;
    use l4s_bottleneck::stream;
    use l4s_observe::EcnFlags;

    fn send(line: &mut Line, flow: u32, now: Time) {
        let (flags, stamps) = (EcnFlags::default(), Stamps::default());
        let message = Message::Request(Request { flags, option: false, stamps });
        line.send(FlowId::new(flow), 0, message, now);
    }

    fn arrivals(line: &mut Line) -> Vec<(u32, Time)> {
        let mut arrived = Vec::new();
        while let Some(head) = line.head() {
            arrived.push((head.flow.get(), head.arrives));
            line.advance();
        }
        arrived
    }

    #[test]
    fn what_takes_a_shorter_path_overtakes_and_nothing_is_sped_up() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut line = Line::new(Duration::from_millis(50), None, true);
        send(&mut line, 0, at(0));
        send(&mut line, 1, at(10));
        line.route(Duration::from_millis(10));
        send(&mut line, 2, at(20));
        send(&mut line, 3, at(40));
        send(&mut line, 4, at(45));
        // Of those that arrive at one instant the earlier message comes first.
        let order = [(2, at(30)), (0, at(50)), (3, at(50)), (4, at(55)), (1, at(60))];
        assert_eq!(arrivals(&mut line), order);
    }

    /// On a path of 1 us to one of a second: in order, and later by a uniform time.
    #[test]
    fn jitter_is_uniform_and_keeps_the_order() {
        for rtt_us in [1, 40, 100, 10_000, 1_000_000] {
            let rtt = Duration::from_micros(rtt_us);
            let jitter = host_jitter(rtt);
            let mut line = Line::new(rtt, Some(stream(1, "hosts A")), true);
            let sent = |n: u32| Time::ZERO + Duration::from_micros(20) * u64::from(n);
            (0..10_000).for_each(|n| send(&mut line, n, sent(n)));
            let arrived = arrivals(&mut line);
            let mut sum = 0.0;
            for (n, (flow, time)) in (0..).zip(arrived) {
                assert_eq!(n, flow);
                let took = time.since(sent(n));
                assert!(rtt <= took && took <= rtt + jitter, "{took} of {rtt}");
                sum += took.as_secs_f64();
            }
            // The deviation of the mean of 10,000 uniform times is 0.3 % of their width.
            let off = (sum / 1e4 - (rtt + jitter / 2).as_secs_f64()).abs();
            assert!(off <= 0.015 * jitter.as_secs_f64() + 1e-9, "{off} s of {rtt}");
        }
    }
}
