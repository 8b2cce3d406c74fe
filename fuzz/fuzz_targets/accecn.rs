//! Whatever is marked, lost, late or sent twice, the sender's count of marks obeys the laws of
//! `crates/sim/src/tcp/accecn.rs`: the real receiver encodes, the decoder decodes, and this model
//! knows what happened.
#![no_main]

use std::collections::VecDeque;

use l4s_model::Feedback;
use l4s_sim::Ack;
use l4s_sim::tcp::accecn::Decoder;
use l4s_sim::tcp::{Arrived, Receiver};
use l4s_units::{Duration, Ecn, Time};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

const MSS: u16 = 1448;
/// Segments that may be unacknowledged. From 2^23 marked bytes on, 5793 segments that no
/// acknowledgement tells of, the option's counter looks as if it ran backwards (in Linux too).
const WINDOW: usize = 1 << 12;

#[derive(Arbitrary, Debug)]
struct Input {
    option: bool,
    events: Vec<Event>,
}

#[derive(Arbitrary, Debug)]
enum Event {
    /// New segments arrive in order, marked as the bits say, again and again.
    Flight { segments: u8, marks: u16 },
    /// As many times 64: the counter of bytes is to wrap.
    Stream { segments: u8, marks: u16 },
    /// A new segment that is less than full.
    Short { payload: u16, marked: bool },
    /// New segments that are lost, or late.
    Gap { segments: u8 },
    /// One of those arrives, or one that arrived before does again.
    Late { segment: u16, marked: bool },
    /// Time goes on.
    Wait { us: u16 },
    /// Acknowledgements arrive in order.
    Acks { acks: u8 },
    /// One overtakes others.
    Overtakes { ack: u8 },
    /// Some are lost.
    Lost { acks: u8 },
    /// All but the last one are.
    AllLost,
}

/// An acknowledgement on its way, and what had happened when it was sent.
struct Told {
    ack: Ack,
    marks: u32,
    number: u64,
}

struct Model {
    option: bool,
    receiver: Receiver,
    decoder: Decoder,
    now: Time,
    /// What was sent: whether an acknowledgement told of each segment.
    delivered: Vec<bool>,
    /// Where each segment ends in the stream.
    ends: Vec<u64>,
    una: usize,
    /// What the receiver saw.
    marks: u32,
    sent_acks: u64,
    acks: VecDeque<Told>,
    /// What the sender counted.
    counted: u32,
    /// What it could know: the marks of the last acknowledgement that it took, and its number.
    known: u32,
    last: Option<u64>,
    /// Segments per acknowledgement as in Linux, in 64ths.
    smoothed: u64,
    all_full: bool,
    /// Whether every increment so far was the true one.
    exact: bool,
}

impl Model {
    fn new(option: bool) -> Model {
        Model {
            option,
            receiver: Receiver::new(
                Feedback::Accurate { option },
                Duration::from_millis(20),
                MSS,
                None,
            ),
            decoder: Decoder::new(MSS),
            now: Time::ZERO,
            delivered: Vec::new(),
            ends: Vec::new(),
            una: 0,
            marks: 0,
            sent_acks: 0,
            acks: VecDeque::new(),
            counted: 0,
            known: 0,
            last: None,
            smoothed: 0,
            all_full: true,
            exact: true,
        }
    }

    fn has_room(&self) -> bool {
        self.delivered.len() - self.una < WINDOW
    }

    /// How many segments end at this byte or before it.
    fn ended_at(&self, byte: u64) -> usize {
        self.ends.partition_point(|end| *end <= byte)
    }

    fn arrive(&mut self, segment: usize, marked: bool) {
        let seq = if segment == 0 { 0 } else { self.ends[segment - 1] };
        let payload = (self.ends[segment] - seq) as u16;
        self.marks += u32::from(marked);
        self.all_full &= payload == MSS || !marked;
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect1 };
        let arrived = Arrived { seq, payload, ..Arrived::after(0, MSS, ecn) };
        self.now += Duration::from_micros(12);
        let (acks, number, marks) = (&mut self.acks, &mut self.sent_acks, self.marks);
        self.receiver.on_segment(arrived, self.now, |ack| {
            acks.push_back(Told { ack, marks, number: *number });
            *number += 1;
        });
    }

    fn new_segment(&mut self, payload: u16, marked: bool) {
        if self.has_room() {
            self.push(payload);
            self.arrive(self.delivered.len() - 1, marked);
        }
    }

    /// A segment of the stream, which may arrive or not.
    fn push(&mut self, payload: u16) {
        let begin = self.ends.last().copied().unwrap_or(0);
        self.ends.push(begin + u64::from(payload));
        self.delivered.push(false);
    }

    fn flight(&mut self, segments: usize, marks: u16) {
        for n in 0..segments {
            self.new_segment(MSS, marks >> (n % 16) & 1 == 1);
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        if let Some(ack) = self.receiver.on_timer(self.now) {
            self.acks.push_back(Told { ack, marks: self.marks, number: self.sent_acks });
            self.sent_acks += 1;
        }
    }

    /// The sender gets an acknowledgement (`Sender::on_ack`).
    fn take(&mut self, told: &Told) {
        let ack = &told.ack;
        let (cumulative, before) = (self.ended_at(ack.cumulative), self.una);
        if cumulative < before {
            return;
        }
        let block = |(from, to): &(u32, u32)| {
            let byte = |distance: u32| self.ended_at(ack.cumulative + u64::from(distance));
            byte(*from)..byte(*to)
        };
        let blocks = ack.sacks.iter().take_while(|sack| sack.0 < sack.1);
        let blocks: Vec<_> = blocks.map(block).collect();
        let mut segments = 0;
        let mut deliver = |range: std::ops::Range<usize>| {
            for known in &mut self.delivered[range] {
                segments += u32::from(!std::mem::replace(known, true));
            }
        };
        deliver(before..cumulative);
        blocks.into_iter().for_each(&mut deliver);
        self.una = cumulative;
        let progress = cumulative > before || segments > 0;
        // A receiver that is not heard drops the option, and the sender reads none from then on.
        self.option &= ack.option.is_some();
        let news = self.decoder.take(ack.ace, ack.option, segments, progress);
        self.counted += news.marks;
        self.judge(told, segments, progress, news.marks, news.bytes);
    }

    fn judge(&mut self, told: &Told, segments: u32, progress: bool, marks: u32, bytes: u32) {
        let overtaken = self.last.is_some_and(|last| told.number < last);
        if !progress && (overtaken || !self.option) {
            assert_eq!((marks, bytes), (0, 0), "nothing new");
            return;
        }
        if segments > 0 && !self.option {
            let sample = u64::from(segments) * 64;
            self.smoothed = match self.smoothed {
                0 => sample,
                old => (63 * old + sample) / 64,
            };
        }
        if self.option && overtaken {
            // Its counter of bytes is older. Where nothing was marked since, it is not.
            assert!((marks, bytes) == (0, 0) || told.marks == self.known, "{marks} {bytes}");
            return;
        }
        // Three bits of what was told are always right, whatever was.
        assert_eq!(self.counted % 8, told.marks % 8);
        // No more than one wrap above what can have been marked.
        assert!(marks < 8 || marks <= segments, "{marks} of {segments}");
        let new = told.marks.wrapping_sub(self.known);
        if self.option {
            // Never more than there were, and exactly that where no segment came twice.
            assert!(self.counted <= told.marks, "{} of {}", self.counted, told.marks);
            if self.all_full && new <= segments {
                assert_eq!((marks, bytes), (new, new * u32::from(MSS)));
            }
            self.exact &= self.all_full && new <= segments;
            assert!(!self.exact || self.counted == told.marks);
        } else if segments > 7 {
            // Linux' rule: the least number of those that fit, or the largest.
            if self.smoothed > 4 * 64 {
                assert!(marks < 8, "{marks} where acknowledgements are thinned");
            } else {
                assert!(marks + 8 > segments && marks <= segments, "{marks} of {segments}");
                assert!(overtaken || new > segments || marks >= new, "{marks} of {new}");
            }
        } else if !overtaken && new <= 7 {
            assert_eq!(marks, new);
        }
        self.known = told.marks;
        self.last = Some(self.last.unwrap_or(0).max(told.number));
    }

    fn step(&mut self, event: &Event) {
        match *event {
            Event::Flight { segments, marks } => self.flight(usize::from(segments) % 64, marks),
            Event::Stream { segments, marks } => self.flight(usize::from(segments) * 64, marks),
            Event::Short { payload, marked } => self.new_segment(1 + payload % MSS, marked),
            Event::Gap { segments } => {
                for _ in 0..segments {
                    if self.has_room() {
                        self.push(MSS);
                    }
                }
            }
            Event::Late { segment, marked } => {
                // The newest ones: from what is long acknowledged nothing comes any more.
                let newest = self.delivered.len().min(WINDOW);
                if newest > 0 {
                    let segment = self.delivered.len() - 1 - usize::from(segment) % newest;
                    self.arrive(segment, marked);
                }
            }
            Event::Wait { us } => self.wait(Duration::from_micros(us.into())),
            Event::Acks { acks } => {
                for _ in 0..acks % 32 {
                    let Some(told) = self.acks.pop_front() else { break };
                    self.take(&told);
                }
            }
            Event::Overtakes { ack } => {
                if let Some(told) = self.acks.remove(usize::from(ack) % 16) {
                    self.take(&told);
                }
            }
            Event::Lost { acks } => {
                // Few at a time: it is those between none and eight segments that matter.
                self.acks.drain(..self.acks.len().min(usize::from(acks) % 16));
            }
            Event::AllLost => {
                self.acks.drain(..self.acks.len().saturating_sub(1));
            }
        }
    }
}

fuzz_target!(|input: Input| {
    let mut model = Model::new(input.option);
    for event in &input.events {
        model.step(event);
    }
});
