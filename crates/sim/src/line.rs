//! The way back from the clients of a group to its server: a delay, and no queue.
//!
//! While the delay is constant, what is on its way keeps its order. A re-route changes it for what
//! sets out from then on; what is on the old path arrives when it would have. So after a change to
//! a shorter path, later messages overtake earlier ones, as on a real re-route, and as with
//! Linux' `netem` when its delay is made shorter.

use std::collections::VecDeque;

use l4s_units::{Duration, Time};

use crate::packet::Return;

/// A return path.
#[derive(Debug)]
pub(crate) struct Line {
    /// From the client to the server, for what sets out now: the whole base round trip.
    pub delay: Duration,
    /// What is on its way, in order of arrival.
    waiting: VecDeque<Return>,
}

impl Line {
    pub fn new(delay: Duration) -> Line {
        Line { delay, waiting: VecDeque::new() }
    }

    /// When the next message arrives.
    #[inline]
    pub fn next(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |head| head.arrives)
    }

    /// A message sets out.
    #[inline]
    pub fn push(&mut self, message: Return) {
        match self.waiting.back() {
            Some(last) if last.arrives > message.arrives => self.overtake(message),
            _ => self.waiting.push_back(message),
        }
    }

    #[cold]
    fn overtake(&mut self, message: Return) {
        let at = self.waiting.partition_point(|other| other.arrives <= message.arrives);
        self.waiting.insert(at, message);
    }

    /// The next message arrives.
    #[inline]
    pub fn pop(&mut self) -> Option<Return> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Message, Request, Stamps};
    use l4s_model::FlowId;
    use l4s_observe::EcnFlags;

    #[test]
    fn what_takes_a_shorter_path_overtakes_and_nothing_is_sped_up() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut line = Line::new(Duration::from_millis(50));
        let send = |line: &mut Line, flow, ms| {
            let (flow, arrives) = (FlowId::new(flow), at(ms) + line.delay);
            let (flags, stamps) = (EcnFlags::default(), Stamps::default());
            let message = Message::Request(Request { flags, option: false, stamps });
            line.push(Return { arrives, flow, slot: 0, message });
        };
        send(&mut line, 0, 0);
        send(&mut line, 1, 10);
        line.delay = Duration::from_millis(10);
        send(&mut line, 2, 20);
        send(&mut line, 3, 40);
        send(&mut line, 4, 45);
        let order: Vec<_> =
            std::iter::from_fn(|| line.pop()).map(|r| (r.flow.get(), r.arrives)).collect();
        // Of those that arrive at one instant the earlier message comes first.
        assert_eq!(order, [(2, at(30)), (0, at(50)), (3, at(50)), (4, at(55)), (1, at(60))]);
    }
}
