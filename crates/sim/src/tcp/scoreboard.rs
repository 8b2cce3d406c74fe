//! The segments in flight: when each was sent, and whether it was delivered, lost and sent again.
//!
//! Selective acknowledgements come as ranges (RFC 2018). Losses are found by time (RACK,
//! RFC 8985). A segment is lost when one that was sent later was delivered, and a round trip and a
//! reordering window have passed since it was sent.
//!
//! Segments are numbered as they are cut from the stream, from 0, and windows count them, as in
//! Linux; acknowledgements count bytes. A segment is delivered when all of its bytes are.

use std::collections::VecDeque;

use l4s_units::{Duration, Time};

use super::ranges::Ranges;
use super::rate::Sampler;
use crate::packet::Stamp;
use crate::prefetch::prefetch;

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When it was last sent.
    at: Time,
    /// The number of its first byte, modulo 2³².
    from: u32,
    /// Bytes of payload.
    payload: u16,
    flags: u8,
}

const SACKED: u8 = 1;
const LOST: u8 = 1 << 1;
/// It was sent again, and that transmission is in flight.
const RESENT: u8 = 1 << 2;
/// It was sent more than once: its RTT is ambiguous (Karn's algorithm, RFC 6298 §3).
const AMBIGUOUS: u8 = 1 << 3;

/// The segments that an acknowledgement delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    /// Segments delivered for the first time, cumulatively or selectively.
    pub segments: u32,
    /// Whether any of them was below the cumulative acknowledgement.
    pub cumulative: bool,
    /// Whether any of them was selectively acknowledged.
    pub selective: bool,
    /// RTT of the oldest segment delivered, delayed acknowledgement included: for the timeout.
    pub rtt_oldest: Option<Duration>,
    /// RTT of the newest segment delivered: for the congestion control.
    pub rtt_newest: Option<Duration>,
    /// The lowest of the segments delivered that were sent only once.
    pub original: Option<u64>,
    /// By how many segments that was overtaken (RFC 8985 §6.2 step 3, `tcp_check_sack_reordering`).
    pub overtaken: u32,
}

/// When an acknowledgement arrived, and the time stamp that it echoes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub now: Time,
    /// The time stamp that it echoes.
    pub echo: Stamp,
    /// The lowest RTT before it.
    pub min_rtt: Duration,
}

/// The segments from `una` to `nxt`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// The first segment not cumulatively acknowledged.
    una: u64,
    /// Its first byte.
    una_byte: u64,
    /// The first byte not sent.
    nxt_byte: u64,
    flight: VecDeque<Sent>,
    /// Bytes selectively acknowledged.
    sacked: Ranges,
    /// The end of the highest segment that was selectively acknowledged.
    sacked_end: u64,
    sacked_out: u32,
    lost_out: u32,
    resent_out: u32,
    /// Every lost segment below this has been sent again.
    resend_hint: u64,
    rack: Rack,
    /// First transmissions below this were examined for loss.
    examined: u64,
    /// Retransmissions in flight, in the order in which they were sent.
    resent: VecDeque<(u64, Time)>,
    /// Of the delivery rate, where the congestion control asks for samples.
    pub sampler: Option<Box<Sampler>>,
}

/// The most recently sent segment that was delivered, and the RTT of the last one delivered (RFC 8985
/// §5.2).
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    sent_at: Time,
    seq: u64,
    rtt: Duration,
}

impl Scoreboard {
    /// Nothing was sent yet.
    pub fn new(sampler: Option<Box<Sampler>>) -> Self {
        Scoreboard { sampler, ..Scoreboard::default() }
    }

    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    pub fn nxt(&self) -> u64 {
        self.una + self.flight.len() as u64
    }

    /// The first byte of segment `una`.
    #[inline]
    pub fn una_byte(&self) -> u64 {
        self.una_byte
    }

    /// The first byte of segment `nxt`.
    #[inline]
    pub fn nxt_byte(&self) -> u64 {
        self.nxt_byte
    }

    /// Segments sent and not cumulatively acknowledged.
    pub fn packets_out(&self) -> u32 {
        self.flight.len() as u32
    }

    pub fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    pub fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Whether something that was sent more than once may still be under way.
    pub fn awaits_resent(&self) -> bool {
        self.resent_out > 0 || self.flight.front().is_some_and(|s| s.flags & AMBIGUOUS != 0)
    }

    /// Whether some lost segment has not been sent again.
    pub fn has_to_resend(&self) -> bool {
        self.lost_out > self.resent_out
    }

    /// Retransmissions of lost segments that are in the network.
    pub fn resent_out(&self) -> u32 {
        self.resent_out
    }

    /// Segments in the network, as estimated by the sender.
    pub fn in_flight(&self) -> u32 {
        self.packets_out() - self.sacked_out - self.lost_out + self.resent_out
    }

    /// When the oldest segment in flight was last sent.
    pub fn head_sent_at(&self) -> Option<Time> {
        self.flight.front().map(|s| s.at)
    }

    /// Asks for the memory of the flight: the segments that are acknowledged next, two as a rule, the
    /// one behind them, and the last one.
    #[inline]
    pub fn prefetch(&self) {
        let segments = [self.flight.front(), self.flight.get(2), self.flight.back()];
        segments.into_iter().flatten().for_each(prefetch);
    }

    /// The next segment was sent, with `payload` bytes.
    #[inline(always)]
    pub fn push(&mut self, now: Time, payload: u16) {
        if self.sampler.is_some() {
            self.sample_departure(now);
        }
        self.flight.push_back(Sent { at: now, from: self.nxt_byte as u32, payload, flags: 0 });
        self.nxt_byte += u64::from(payload);
    }

    /// The next segment leaves, as one of those in flight.
    #[inline(never)]
    fn sample_departure(&mut self, now: Time) {
        let in_flight = self.in_flight() + 1;
        if let Some(sampler) = &mut self.sampler {
            sampler.sends(in_flight, now);
        }
    }

    /// Where in the stream a segment in flight is: its first byte and how many.
    #[inline]
    pub fn place(&self, seq: u64) -> (u64, u16) {
        let sent = &self.flight[(seq - self.una) as usize];
        (self.byte(sent), sent.payload)
    }

    #[inline]
    fn byte(&self, sent: &Sent) -> u64 {
        self.una_byte + u64::from(sent.from.wrapping_sub(self.una_byte as u32))
    }

    fn sent(&self, seq: u64) -> &Sent {
        &self.flight[(seq - self.una) as usize]
    }

    fn at(&mut self, seq: u64) -> &mut Sent {
        &mut self.flight[(seq - self.una) as usize]
    }

    /// Takes an acknowledgement of all bytes before `cumulative`. `sacks` are ranges of bytes above it.
    #[inline(always)]
    pub fn acknowledge(
        &mut self,
        cumulative: u64,
        sacks: impl Iterator<Item = (u64, u64)>,
        at: Arrival,
    ) -> Delivered {
        let mut sacks = sacks.peekable();
        let is_plain = sacks.peek().is_none() && cumulative > self.una_byte;
        let run = if is_plain { self.acknowledge_run(cumulative, at) } else { None };
        run.unwrap_or_else(|| self.acknowledge_any(cumulative, sacks, at))
    }

    /// The same, where the acknowledgement has ranges, or segments have flags, or their delivery is sampled.
    #[inline(never)]
    fn acknowledge_any(
        &mut self,
        cumulative: u64,
        sacks: impl Iterator<Item = (u64, u64)>,
        at: Arrival,
    ) -> Delivered {
        let in_flight = self.in_flight();
        if let Some(sampler) = &mut self.sampler {
            sampler.begin(in_flight);
        }
        let mut delivered = Delivered::default();
        let sacked_end = self.sacked_end;
        for (from, to) in sacks {
            self.acknowledge_selectively(from, to, at, &mut delivered);
        }
        if cumulative > self.una_byte {
            self.acknowledge_each(cumulative, at, &mut delivered);
        }
        let original = delivered.original.filter(|seq| *seq < sacked_end);
        delivered.overtaken = original.map_or(0, |seq| self.highest_delivered() - seq) as u32;
        delivered
    }

    fn acknowledge_selectively(
        &mut self,
        from: u64,
        to: u64,
        at: Arrival,
        delivered: &mut Delivered,
    ) {
        let (from, to) = (from.max(self.una_byte), to.min(self.nxt_byte));
        let mut sacked = core::mem::take(&mut self.sacked);
        sacked.insert(from, to, |(from, to), (low, high)| {
            let first = self
                .flight
                .partition_point(|sent| self.byte(sent) + u64::from(sent.payload) <= from);
            for seq in self.una + first as u64..self.nxt() {
                let sent = *self.at(seq);
                let begin = self.byte(&sent);
                if begin >= to {
                    break;
                }
                // Of a segment of which only a part came, nothing is known to be delivered.
                let is_whole = low <= begin && begin + u64::from(sent.payload) <= high;
                if !is_whole || sent.flags & SACKED != 0 {
                    continue;
                }
                self.at(seq).flags = sent.flags & !(LOST | RESENT) | SACKED;
                self.deliver(seq, sent, false, at);
                self.sacked_out += 1;
                self.sacked_end = self.sacked_end.max(seq + 1);
                delivered.segments += 1;
                delivered.selective = true;
                delivered.note(seq, sent, at.now);
            }
        });
        self.sacked = sacked;
    }

    /// The end of the highest segment delivered.
    fn highest_delivered(&self) -> u64 {
        self.sacked_end.max(self.una)
    }

    /// Takes the segments up to `cumulative` at once, where none of them has a flag, as is usual. They were sent once
    /// and in order, so that the RTTs are those of the first and the last one. Samples of the delivery rate need
    /// each segment.
    #[inline(always)]
    fn acknowledge_run(&mut self, cumulative: u64, at: Arrival) -> Option<Delivered> {
        let (first, oldest) = (self.una, self.head_sent_at().unwrap_or(at.now));
        let (mut segments, mut end, mut newest) = (0, self.una_byte, oldest);
        while end < cumulative {
            let sent = self.flight.get(segments).filter(|sent| sent.flags == 0)?;
            (segments, end, newest) = (segments + 1, end + u64::from(sent.payload), sent.at);
        }
        if end > cumulative || self.sampler.is_some() {
            return None;
        }
        for _ in 0..segments {
            self.flight.pop_front();
        }
        (self.una, self.una_byte) = (first + segments as u64, end);
        let rtt = at.now.since(newest);
        self.rack.delivered(self.una - 1, newest, rtt);
        self.advanced(cumulative);
        Some(Delivered {
            segments: segments as u32,
            cumulative: true,
            selective: false,
            rtt_oldest: Some(at.now.since(oldest)),
            rtt_newest: Some(rtt),
            original: Some(first),
            overtaken: if first < self.sacked_end {
                (self.highest_delivered() - first) as u32
            } else {
                0
            },
        })
    }

    /// Takes the segments up to `cumulative` one by one.
    #[inline(never)]
    fn acknowledge_each(&mut self, cumulative: u64, at: Arrival, delivered: &mut Delivered) {
        // Where a segment was delivered in order, only that gives an RTT sample: selectively
        // acknowledged segments gave theirs earlier.
        let mut in_order = Delivered::default();
        let (mut ambiguous, before) = (false, self.una);
        while let Some(&sent) = self.flight.front() {
            let end = self.una_byte + u64::from(sent.payload);
            if end > cumulative {
                break;
            }
            self.flight.pop_front();
            let seq = self.una;
            let is_new = sent.flags & SACKED == 0;
            if is_new {
                self.deliver(seq, sent, true, at);
            }
            if let Some(sampler) = &mut self.sampler {
                sampler.forget_oldest();
            }
            self.una += 1;
            self.una_byte = end;
            ambiguous |= sent.flags & AMBIGUOUS != 0;
            if !is_new {
                self.sacked_out -= 1;
                continue;
            }
            in_order.segments += 1;
            in_order.note(seq, sent, at.now);
        }
        if self.una == before {
            return;
        }
        delivered.segments += in_order.segments;
        delivered.cumulative = true;
        // Selectively acknowledged segments are above it.
        if in_order.original.is_some() {
            delivered.original = in_order.original;
        }
        if ambiguous {
            (in_order.rtt_oldest, in_order.rtt_newest) = (None, None);
        }
        if in_order.rtt_oldest.is_some() {
            delivered.rtt_oldest = in_order.rtt_oldest;
            delivered.rtt_newest = in_order.rtt_newest;
        } else if delivered.rtt_oldest.is_none() {
            // All of it was sent twice: the time stamp shows which transmission arrived, in
            // milliseconds (RFC 7323 §4.1, and Linux' `tcp_ack_update_rtt`).
            let rtt = at.echo.age(at.now);
            (delivered.rtt_oldest, delivered.rtt_newest) = (Some(rtt), Some(rtt));
        }
        self.advanced(cumulative);
    }

    /// Segments before `una` were taken.
    #[inline(always)]
    fn advanced(&mut self, cumulative: u64) {
        if !self.sacked.is_empty() {
            self.sacked.remove_below(cumulative);
        }
        self.examined = self.examined.max(self.una);
        self.resend_hint = self.resend_hint.max(self.una);
    }

    /// Takes a segment out of the lost and the resent, and moves RACK on (RFC 8985 §6.2 step 2).
    #[inline]
    fn deliver(&mut self, seq: u64, sent: Sent, in_order: bool, at: Arrival) {
        if sent.flags & LOST != 0 {
            self.lost_out -= 1;
        }
        if sent.flags & RESENT != 0 {
            self.resent_out -= 1;
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.delivers((seq - self.una) as usize, seq, sent.at);
        }
        let rtt = at.now.since(sent.at);
        // Too fast for a retransmission, or before it: the original was delivered. The time stamp
        // is that of a segment in order.
        let echoes_earlier = || in_order && at.echo.is_before(Stamp::at(sent.at));
        let is_early = || rtt < at.min_rtt || echoes_earlier();
        let spurious = sent.flags & AMBIGUOUS != 0 && is_early();
        if !spurious {
            self.rack.delivered(seq, sent.at, rtt);
        }
    }

    /// Marks lost segments; returns their number, and the time after which to check again. That is when the last one
    /// sent before the newest delivered one is lost too, and not the first: one timer finds all of them (RFC 8985
    /// §6.2 step 5, `tcp_rack_detect_loss`).
    pub fn detect_losses(&mut self, now: Time, reo_wnd: Duration) -> (u32, Option<Duration>) {
        let allowance = self.rack.rtt + reo_wnd;
        let may_arrive = |sent_at| allowance > now.since(sent_at);
        let (mut lost, mut waits) = (0, false);
        // First transmissions were sent in order: as soon as one may still arrive, so may the
        // rest.
        while self.examined < self.nxt() {
            let seq = self.examined;
            if self.is_first(seq) {
                let sent_at = self.at(seq).at;
                if !self.rack.is_after(seq, sent_at) {
                    break;
                }
                if may_arrive(sent_at) {
                    waits = true;
                    break;
                }
                self.mark_lost(seq, now);
                lost += 1;
            }
            self.examined += 1;
        }
        // So were retransmissions and probes.
        while let Some(&(seq, sent_at)) = self.resent.front() {
            if self.is_resent(seq, sent_at) {
                if !self.rack.is_after(seq, sent_at) {
                    break;
                }
                if may_arrive(sent_at) {
                    waits = true;
                    break;
                }
                self.lose_again(seq, now);
                lost += 1;
            }
            self.resent.pop_front();
        }
        let last = if waits { self.last_before_newest() } else { None };
        (lost, last.map(|sent_at| allowance.saturating_sub(now.since(sent_at))))
    }

    /// Whether a segment was sent once, and may still arrive.
    fn is_first(&self, seq: u64) -> bool {
        self.sent(seq).flags & (SACKED | LOST | AMBIGUOUS) == 0
    }

    /// Whether a segment was last sent again at `sent_at`, and may still arrive.
    fn is_resent(&self, seq: u64, sent_at: Time) -> bool {
        seq >= self.una && {
            let sent = self.sent(seq);
            let unanswered = sent.flags & RESENT != 0 || sent.flags & (SACKED | LOST) == 0;
            unanswered && sent.at == sent_at
        }
    }

    /// When the last one was sent of those that may still arrive, and were sent before the newest delivered one.
    #[cold]
    fn last_before_newest(&self) -> Option<Time> {
        let is_before = |&(seq, sent_at): &(u64, Time)| self.rack.is_after(seq, sent_at);
        let resent = self.resent.iter().rev().copied();
        let resent = resent.filter(|(seq, at)| self.is_resent(*seq, *at)).find(is_before);
        let (mut seq, mut first) = (self.nxt(), None);
        while first.is_none() && seq > self.examined {
            seq -= 1;
            let sent = self.sent(seq);
            if sent.flags & SACKED != 0 {
                // So is all of its range, which is skipped.
                let byte = self.byte(sent);
                let from = self.sacked.containing(byte).map_or(byte, |range| range.0);
                let before = self.flight.partition_point(|sent| self.byte(sent) < from);
                seq = self.una + before as u64;
            } else if self.is_first(seq) {
                first = Some((seq, sent.at)).filter(is_before);
            }
        }
        let at = |last: Option<(u64, Time)>| last.map(|(_, at)| at);
        at(first).max(at(resent))
    }

    /// A retransmission or a probe was lost.
    fn lose_again(&mut self, seq: u64, now: Time) {
        if self.at(seq).flags & RESENT != 0 {
            self.at(seq).flags &= !RESENT;
            self.resent_out -= 1;
            self.count_loss(seq, now);
        }
        if self.at(seq).flags & LOST == 0 {
            return self.mark_lost(seq, now);
        }
        self.resend_hint = self.resend_hint.min(seq);
    }

    fn mark_lost(&mut self, seq: u64, now: Time) {
        let sent = self.at(seq);
        debug_assert!(sent.flags & (SACKED | LOST) == 0);
        sent.flags |= LOST;
        self.lost_out += 1;
        self.resend_hint = self.resend_hint.min(seq);
        self.count_loss(seq, now);
    }

    fn count_loss(&mut self, seq: u64, now: Time) {
        let place = (seq - self.una) as usize;
        if let Some(sampler) = &mut self.sampler {
            sampler.loses(place, seq, now);
        }
    }

    /// A timeout: all segments that were not delivered are lost, except those sent within the last round
    /// trip (RFC 8985 §6.3); the oldest segment is always lost.
    pub fn timeout(&mut self, now: Time) {
        for seq in self.una..self.nxt() {
            let Sent { at, flags, .. } = *self.at(seq);
            let may_arrive = seq != self.una && now.since(at) < self.rack.rtt;
            if flags & SACKED != 0 || may_arrive {
                continue;
            }
            self.lose_again(seq, now);
        }
    }

    /// Nothing was lost: takes the losses back.
    pub fn forget_losses(&mut self) {
        self.flight.iter_mut().for_each(|sent| sent.flags &= !LOST);
        self.lost_out = 0;
        self.examined = self.una;
    }

    /// The lowest lost segment that was not sent again; it now is.
    pub fn resend(&mut self, now: Time) -> Option<u64> {
        if !self.has_to_resend() {
            return None;
        }
        for seq in self.resend_hint.max(self.una)..self.nxt() {
            if self.at(seq).flags & (LOST | RESENT) == LOST {
                self.resend_hint = seq + 1;
                self.mark_resent(seq, now);
                return Some(seq);
            }
        }
        None
    }

    /// The newest segment is sent again, as a probe of a silent tail (RFC 8985 §7.3). It counts
    /// as in flight once, as before.
    pub fn probe(&mut self, now: Time) -> Option<u64> {
        let seq = self.nxt().checked_sub(1).filter(|seq| *seq >= self.una)?;
        if self.at(seq).flags & (SACKED | LOST) != 0 {
            return None;
        }
        self.note_resent(seq, now, 0);
        Some(seq)
    }

    fn mark_resent(&mut self, seq: u64, now: Time) {
        self.note_resent(seq, now, RESENT);
        self.resent_out += 1;
    }

    fn note_resent(&mut self, seq: u64, now: Time, flag: u8) {
        let sent = self.at(seq);
        (sent.at, sent.flags) = (now, sent.flags | flag | AMBIGUOUS);
        let place = (seq - self.una) as usize;
        // A probe counts as before.
        let in_flight = self.in_flight() + u32::from(flag & RESENT != 0);
        if let Some(sampler) = &mut self.sampler {
            sampler.sends_again(place, in_flight);
        }
        self.resent.push_back((seq, now));
    }
}

impl Rack {
    /// Whether the newest segment delivered was sent after segment `seq`, which was sent at `at`.
    #[inline]
    fn is_after(&self, seq: u64, at: Time) -> bool {
        (at, seq) < (self.sent_at, self.seq)
    }

    /// A segment was delivered that was sent at `at`, with this RTT.
    #[inline]
    fn delivered(&mut self, seq: u64, at: Time, rtt: Duration) {
        // The RTT is that of the last one, also where it was sent earlier (`tcp_rack_advance`).
        self.rtt = rtt;
        if (at, seq) >= (self.sent_at, self.seq) {
            (self.sent_at, self.seq) = (at, seq);
        }
    }
}

impl Delivered {
    /// Takes the RTT of a segment, where it was sent once.
    #[inline]
    fn note(&mut self, seq: u64, sent: Sent, now: Time) {
        if sent.flags & AMBIGUOUS == 0 {
            if self.original.is_none_or(|lowest| seq < lowest) {
                self.original = Some(seq);
            }
            let rtt = now.since(sent.at);
            self.rtt_oldest = Some(self.rtt_oldest.map_or(rtt, |oldest| oldest.max(rtt)));
            self.rtt_newest = Some(self.rtt_newest.map_or(rtt, |newest| newest.min(rtt)));
        }
    }
}
