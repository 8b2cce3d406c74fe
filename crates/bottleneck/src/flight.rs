//! The way over a link that follows a trace: when its packets arrive, and which of them are lost.

use std::collections::VecDeque;

use l4s_aqm::Queue;
use l4s_trace::{Playback, Segment, Steps};
use l4s_units::{Duration, Probability, Time};
use rand_core::Rng;

use crate::{Stream, stream};

/// Packets that were sent and have not arrived.
#[derive(Debug)]
pub(crate) struct Flight<P> {
    /// None for a trace of capacity alone.
    conditions: Option<Box<Conditions>>,
    /// In order, with the times at which they arrive.
    under_way: VecDeque<(Time, P)>,
    /// When the last one arrives: a link keeps the order, also when its delay falls.
    last: Time,
    /// The queue that the packet which is sent now comes from.
    from: Queue,
    /// Lost, and not reported yet.
    lost: Option<(P, Queue)>,
}

/// Delay and loss over time.
#[derive(Debug)]
struct Conditions {
    steps: Steps,
    /// The step in force when the last packet was sent.
    step: Segment,
    rng: Stream,
}

impl Conditions {
    /// The delay of a packet that is sent now; `None` if it is lost.
    fn meet(&mut self, now: Time) -> Option<Duration> {
        if now >= self.step.until {
            self.step = self.steps.at(now);
        }
        let loss = self.step.loss.unwrap_or(Probability::ZERO);
        let lost = loss != Probability::ZERO && loss.hits(self.rng.next_u32());
        (!lost).then(|| self.step.delay.unwrap_or(Duration::ZERO))
    }
}

impl<P> Flight<P> {
    /// Over a link that follows this trace. Its chances are of a stream of the seed, with `name` at the end
    /// of its name.
    pub fn over(playback: &Playback, seed: u64, name: &str) -> Flight<P> {
        let conditions = match playback {
            Playback::Opportunities(_) => None,
            Playback::Steps(steps) => {
                let mut steps = steps.clone();
                let step = steps.at(Time::ZERO);
                let rng = stream(seed, &format!("trace loss{name}"));
                (step.delay.is_some() || step.loss.is_some())
                    .then(|| Box::new(Conditions { steps, step, rng }))
            }
        };
        let (under_way, last) = (VecDeque::new(), Time::ZERO);
        Flight { conditions, under_way, last, from: Queue::Q, lost: None }
    }

    /// Whether packets may be under way while others are sent.
    #[inline]
    pub fn delays(&self) -> bool {
        self.conditions.is_some()
    }

    /// A packet was taken from a queue.
    #[inline]
    pub fn take(&mut self, from: Queue) {
        self.from = from;
    }

    /// The packet that was taken last is sent, and its last byte leaves at `sent`: gives it back where it
    /// arrives at once.
    #[inline]
    pub fn send(&mut self, packet: P, sent: Time, now: Time) -> Option<P> {
        let delay = match &mut self.conditions {
            None => Duration::ZERO,
            Some(conditions) => match conditions.meet(now) {
                Some(delay) => delay,
                None => {
                    self.lost = Some((packet, self.from));
                    return None;
                }
            },
        };
        self.last = self.last.max(sent + delay);
        if self.last <= now && self.under_way.is_empty() {
            return Some(packet);
        }
        self.under_way.push_back((self.last, packet));
        None
    }

    /// The packet that was lost last, and the queue that it came from. To be asked before the next one is
    /// taken.
    #[inline]
    pub fn lose(&mut self) -> Option<(P, Queue)> {
        self.lost.take()
    }

    /// When the next packet arrives; `None` if none is under way.
    #[inline]
    pub fn arrives(&self) -> Option<Time> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    pub fn land(&mut self, now: Time) -> Option<P> {
        self.arrives().filter(|at| *at <= now)?;
        self.under_way.pop_front().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_trace::{Play, Trace};
    use proptest::prelude::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn flight(trace: &[u8]) -> Flight<u64> {
        let trace = Trace::read(trace).unwrap();
        Flight::over(&trace.play(&Play::default()).unwrap(), 1, "")
    }

    #[test]
    fn a_delay_that_falls_keeps_the_order() {
        let mut flight = flight(b"time_ms,rate_mbps,delay_ms\n0,8,30\n10,8,5\n20,,\n");
        assert_eq!(flight.send(0, ms(1), ms(1)), None);
        // 5 ms from here on, behind the first, and 30 again in the next period.
        assert_eq!(flight.send(1, ms(12), ms(12)), None);
        assert_eq!(flight.send(2, ms(21), ms(21)), None);
        assert_eq!((flight.arrives(), flight.land(ms(30))), (Some(ms(31)), None));
        assert_eq!([0; 3].map(|_| flight.land(ms(31))), [Some(0), Some(1), None]);
        assert_eq!(flight.arrives(), Some(ms(51)));
    }

    #[test]
    fn without_delay_and_loss_packets_arrive_with_their_last_byte() {
        let mut flight = flight(b"5\n");
        assert_eq!(flight.send(0, ms(5), ms(5)), Some(0));
        assert_eq!(flight.send(1, ms(10), ms(5)), None);
        assert_eq!((flight.arrives(), flight.lose()), (Some(ms(10)), None));
    }

    proptest! {
        /// Every packet lands once, in order and not before its time, or is lost; and as many are lost as
        /// the trace says.
        #[test]
        fn packets_land_in_order_or_are_lost(
            delays in proptest::collection::vec(0u64..80, 1..8),
            loss in prop_oneof![Just(0.0), 0.01f64..0.9],
        ) {
            let rows = (0..).zip(&delays).map(|(n, delay)| format!("{},8,{delay},{loss}\n", 10 * n));
            let text = format!(
                "time_ms,rate_mbps,delay_ms,loss\n{}{},,,\n",
                rows.collect::<String>(),
                10 * delays.len()
            );
            let mut flight = flight(text.as_bytes());
            let (mut landed, mut lost) = (Vec::new(), 0);
            for number in 0..4000 {
                let now = ms(number);
                landed.extend(core::iter::from_fn(|| flight.land(now)));
                flight.take(Queue::L);
                landed.extend(flight.send(number, now, now));
                if let Some((packet, queue)) = flight.lose() {
                    prop_assert_eq!((packet, queue), (number, Queue::L));
                    lost += 1;
                }
                let least = delays[(number / 10) as usize % delays.len()];
                let early = landed.last() == Some(&number) && least > 0;
                prop_assert!(!early);
            }
            landed.extend(core::iter::from_fn(|| flight.land(ms(5000))));
            prop_assert!(landed.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(landed.len() + lost, 4000);
            // Five standard deviations.
            let expected = 4000.0 * loss;
            let bound = 5.0 * (expected * (1.0 - loss)).sqrt();
            prop_assert!((lost as f64 - expected).abs() <= bound, "{} of {}", lost, expected);
        }
    }
}
