//! The packets in flight: which of them were acknowledged, and which are lost (RFC 9002 §6.1).

use std::collections::VecDeque;

use l4s_units::{Duration, Time};

use super::message::Acknowledgement;
use crate::tcp::rate::Sampler;

/// Number of later packets of which the last one, if it is acknowledged, shows a loss (RFC 9002 §6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// The part of the stream that it carries.
    data: Data,
    /// It was ECN-capable.
    ect: bool,
    acknowledged: bool,
}

/// A part of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Data {
    pub from: u64,
    pub payload: u16,
}

impl Data {
    pub fn end(self) -> u64 {
        self.from + u64::from(self.payload)
    }
}

/// The news of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Packets acknowledged for the first time, and how many of them were ECN-capable.
    pub packets: u32,
    pub ect: u32,
    /// When the largest of them left, where it is the largest that the acknowledgement has.
    pub largest_left: Option<Time>,
    /// Whether it is larger than any before.
    pub advances: bool,
}

/// The packets that were found to be lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    pub packets: u32,
    /// The largest number of them.
    pub newest: Option<u64>,
    /// When the next one will be.
    pub next: Option<Time>,
    /// Persistent congestion (RFC 9002 §7.6).
    pub persistent: bool,
}

/// Packets that were lost with nothing acknowledged in between (RFC 9002 §7.6.2).
#[derive(Clone, Copy, Debug)]
struct Run {
    /// When the first one left.
    first: Time,
    /// The number that would continue it.
    next: u64,
}

/// The packets of a connection from the first one of which the fate is unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    /// The number of the first one.
    base: u64,
    packets: VecDeque<Sent>,
    in_flight: u32,
    largest_acknowledged: Option<u64>,
    run: Option<Run>,
    /// Data that is to be sent again.
    pub lost: VecDeque<Data>,
    /// Of the delivery rate, where the congestion control asks for samples.
    pub sampler: Option<Box<Sampler>>,
}

impl Flight {
    /// Nothing was sent yet.
    pub fn new(sampler: Option<Box<Sampler>>) -> Self {
        Flight { sampler, ..Flight::default() }
    }

    /// The first packet of which the fate is unknown.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The number of the next packet.
    pub fn next(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    /// How many packets are in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// A packet with this part of the stream leaves.
    pub fn send(&mut self, data: Data, ect: bool, now: Time) {
        self.in_flight += 1;
        if let Some(sampler) = &mut self.sampler {
            sampler.sends(self.in_flight, now);
        }
        self.packets.push_back(Sent { at: now, data, ect, acknowledged: false });
    }

    /// The data of the oldest packet in flight, and of the oldest one with other data; twice the same where all have that.
    pub fn two_oldest(&self) -> Option<[Data; 2]> {
        let mut sent = self.packets.iter().filter(|sent| !sent.acknowledged).map(|sent| sent.data);
        let first = sent.next()?;
        Some([first, sent.find(|other| *other != first).unwrap_or(first)])
    }

    /// Takes an acknowledgement; `arrived` gets each part of the stream that it acknowledges.
    pub fn acknowledge(&mut self, ack: &Acknowledgement, mut arrived: impl FnMut(Data)) -> News {
        if let Some(sampler) = &mut self.sampler {
            sampler.begin(self.in_flight);
        }
        let mut news = News::default();
        let next = self.next();
        for (from, to) in ack.ranges() {
            for number in from.max(self.base)..to.min(next) {
                let place = (number - self.base) as usize;
                let Some(sent) = self.packets.get_mut(place) else { break };
                if core::mem::replace(&mut sent.acknowledged, true) {
                    continue;
                }
                arrived(sent.data);
                self.in_flight -= 1;
                news.packets += 1;
                news.ect += u32::from(sent.ect);
                if number == ack.largest {
                    news.largest_left = Some(sent.at);
                }
                let at = sent.at;
                if let Some(sampler) = &mut self.sampler {
                    sampler.delivers(place, number, at);
                }
            }
        }
        news.advances = self.largest_acknowledged.is_none_or(|before| ack.largest > before);
        if news.advances {
            self.largest_acknowledged = Some(ack.largest);
        }
        while self.packets.front().is_some_and(|sent| sent.acknowledged) {
            self.forget_oldest();
        }
        news
    }

    /// Finds the packets that are lost: those that left three packets or `loss_delay` before one that was
    /// acknowledged. With two losses further apart than `persistent` congestion is persistent.
    pub fn detect_losses(
        &mut self,
        loss_delay: Duration,
        persistent: Duration,
        now: Time,
    ) -> Losses {
        let mut losses = Losses::default();
        let Some(largest) = self.largest_acknowledged else { return losses };
        // Packets left in order, so that those before a lost one are lost, too, if they did not arrive.
        while self.base < largest {
            let (number, Some(sent)) = (self.base, self.packets.front()) else { break };
            let Sent { at, data, acknowledged, .. } = *sent;
            if acknowledged {
                self.forget_oldest();
                continue;
            }
            if largest - number < PACKET_THRESHOLD && now < at + loss_delay {
                losses.next = Some(at + loss_delay);
                break;
            }
            self.in_flight -= 1;
            self.lost.push_back(data);
            if let Some(sampler) = &mut self.sampler {
                sampler.loses(0, number, now);
            }
            self.forget_oldest();
            losses.packets += 1;
            losses.newest = Some(number);
            let continued = self.run.filter(|run| run.next == number);
            let first = continued.map_or(at, |run| run.first);
            self.run = Some(Run { first, next: number + 1 });
            if at.since(first) > persistent {
                losses.persistent = true;
                self.run = None;
            }
        }
        losses
    }

    /// The fate of the first packet is known.
    fn forget_oldest(&mut self) {
        self.packets.pop_front();
        self.base += 1;
        if let Some(sampler) = &mut self.sampler {
            sampler.forget_oldest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// A packet per entry, which leaves at that time.
    fn flight(left_ms: &[u64]) -> Flight {
        let mut flight = Flight::new(None);
        for (n, ms) in (0..).zip(left_ms) {
            flight.send(Data { from: 1000 * n, payload: 1000 }, false, at(*ms));
        }
        flight
    }

    /// An acknowledgement of one packet.
    fn ack(largest: u64) -> Acknowledgement {
        Acknowledgement { largest, delay: 0, first: 1, older: Default::default(), counts: None }
    }

    fn lost(flight: &mut Flight, now: Time) -> Losses {
        flight.detect_losses(MS * 90, LONG, now)
    }

    /// RFC 9002 §5.1: the delay in an acknowledgement is that of its largest number.
    #[test]
    fn only_a_new_largest_number_gives_a_round_trip_time() {
        let mut flight = flight(&[0, 10, 20]);
        let mut news = |largest, first| {
            let news = flight.acknowledge(&Acknowledgement { first, ..ack(largest) }, |_| ());
            (news.packets, news.largest_left)
        };
        assert_eq!(news(2, 1), (1, Some(at(20))));
        assert_eq!(news(2, 2), (1, None), "packet 1 is new, and packet 2 is not");
        assert_eq!(news(2, 2), (0, None));
    }

    /// RFC 9002 §6.1.1.
    #[test]
    fn the_third_later_packet_shows_a_loss() {
        let mut flight = flight(&[0; 5]);
        let mut arrived = Vec::new();
        for (largest, packets) in [(1, 0), (2, 0), (3, 1), (4, 0)] {
            let news = flight.acknowledge(&ack(largest), |data| arrived.push(data.from));
            assert!(news.packets == 1 && news.advances);
            assert_eq!(lost(&mut flight, at(80)).packets, packets, "{largest}");
        }
        assert_eq!(arrived, [1000, 2000, 3000, 4000]);
        assert_eq!(flight.lost, [Data { from: 0, payload: 1000 }]);
        assert_eq!((flight.in_flight(), flight.base(), flight.next()), (0, 5, 5));
    }

    /// RFC 9002 §6.1.2: the timer is due when the packet is lost.
    #[test]
    fn a_later_packet_shows_a_loss_in_time() {
        let mut flight = flight(&[0, 10]);
        flight.acknowledge(&ack(1), |_| ());
        let losses = lost(&mut flight, at(85));
        assert_eq!((losses.packets, losses.next), (0, Some(at(90))));
        let losses = lost(&mut flight, at(90));
        assert_eq!((losses.packets, losses.newest, losses.next), (1, Some(0), None));
    }

    /// No later packet arrived.
    #[test]
    fn nothing_is_lost_by_time_alone() {
        let mut flight = flight(&[0, 0]);
        flight.acknowledge(&ack(0), |_| ());
        assert_eq!(lost(&mut flight, at(100_000)).packets, 0);
    }

    /// The example of RFC 9002 §7.6.3, but the first packet has number 0.
    ///
    /// That one is acknowledged at 1.2 s. Packets 1 to 7 are lost, and 8 is acknowledged at 12.2 s.
    /// The first loss left at 1 s and the last one at 8 s. Three timeouts of 2 s are less.
    #[test]
    fn congestion_is_persistent_when_all_of_three_timeouts_is_lost() {
        let left = [0, 1000, 2000, 3000, 4000, 5000, 6000, 8000, 12_000];
        let establish = |acknowledged: &[u64], duration: Duration| {
            let mut flight = flight(&left);
            for largest in acknowledged {
                flight.acknowledge(&ack(*largest), |_| ());
            }
            flight.detect_losses(MS * 90, duration, at(12_200)).persistent
        };
        assert!(establish(&[0, 8], MS * 6000));
        assert!(!establish(&[0, 8], MS * 7000), "8 s − 1 s is no more than 7 s");
        assert!(!establish(&[0, 4, 8], MS * 6000), "one in between was acknowledged");
        assert!(!establish(&[0, 8, 7], MS * 6000), "6 s − 1 s");
    }

    /// Its data left again, and its loss was answered.
    #[test]
    fn a_packet_that_was_lost_is_not_delivered_late() {
        let mut flight = flight(&[0; 6]);
        flight.acknowledge(&ack(5), |_| ());
        assert_eq!(lost(&mut flight, at(80)).packets, 3);
        let mut arrived = Vec::new();
        for number in [2, 3, 3] {
            let news = flight.acknowledge(&ack(number), |data| arrived.push(data.from));
            assert!(!news.advances);
        }
        assert_eq!(arrived, [3000]);
    }
}
