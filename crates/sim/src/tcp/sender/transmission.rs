//! Sending: which segments may go out, and in which bursts.

use l4s_cc::Decision;
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};

use super::{Output, Purpose, Sender, State, Timer};
use crate::packet::{Segment, Stamp};
use crate::tcp::send_buffer::Push;
use crate::tcp::supply::Cut;

/// The most that one unit of segmentation offload holds.
const GSO_MAX: u64 = 65_536;
/// Segments at the start of a connection that are not paced, unless the congestion control has a rate for them.
const FREE_SEGMENTS: u64 = 10;
/// The time that counts as recent, or near, for bursts.
const MILLISECOND: Duration = Duration::from_millis(1);

/// Segments per buffer that an application's data waits in: as many as offload can take.
pub(super) fn chunk(payload: u16) -> u32 {
    (GSO_MAX / u64::from(payload)) as u32
}

impl Sender {
    pub(super) fn retransmission_ecn(&self) -> Ecn {
        if self.ecn_on_everything { self.ecn.unwrap_or_default() } else { Ecn::NotEct }
    }

    /// Sends the next segment; gives its number.
    #[inline(always)]
    pub(super) fn send_new(&mut self, push: bool, now: Time, out: &mut impl Output) -> u64 {
        let seq = self.board.nxt();
        let from = self.board.nxt_byte();
        let Cut { payload, push: ends, fin } = self.supply.cut(from);
        self.board.push(now, payload);
        self.last_sent = now;
        if ends {
            self.supply.sent_last(payload);
        }
        out.send(
            Segment {
                seq: from,
                payload,
                ecn: self.ecn.unwrap_or_default(),
                cwr: core::mem::take(&mut self.cwr_pending),
                accecn: self.accecn_fields,
                push: push || ends,
                fin,
                stamps: self.stamps(now),
            },
            false,
        );
        seq
    }

    pub(super) fn send_again(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        self.last_sent = now;
        self.undo.sends_again();
        let (from, payload) = self.board.place(seq);
        let (push, fin) = self.supply.ends_at(from + u64::from(payload));
        let (ecn, cwr, stamps) = (self.retransmission_ecn(), false, self.stamps(now));
        let accecn = self.accecn_fields;
        out.send(Segment { seq: from, payload, ecn, cwr, accecn, push, fin, stamps }, true);
    }

    /// Sends lost segments again, as far as the window allows.
    pub(super) fn retransmit_lost(&mut self, now: Time, out: &mut impl Output) {
        if !self.board.has_to_resend() {
            return;
        }
        while self.board.in_flight() < self.decision.window.cwnd && !self.pace.holds_back(now) {
            let Some(seq) = self.board.resend(now) else { break };
            self.undo.resent(Stamp::at(now));
            self.send_again(seq, now, out);
            self.sent = self.sent.wrapping_add(1);
            self.charge(1, self.decision.pacing, now);
            if seq == self.board.una() && self.timer.purpose != Purpose::Reordering {
                self.set_retransmit_timer(now);
            }
        }
    }

    /// As [`Sender::transmit_units`], for callers that are rare: their code has no copy of it.
    #[inline(never)]
    pub(super) fn transmit(&mut self, now: Time, out: &mut impl Output) {
        self.transmit_units::<false>(now, out);
    }

    /// Sends new segments, as far as the window allows and waiting is not better: one unit without delay if `ONE`.
    #[inline(always)]
    pub(super) fn transmit_units<const ONE: bool>(&mut self, now: Time, out: &mut impl Output) {
        let Decision { window, quantum, pacing } = self.decision;
        let (mut sent, mut limited) = (0, false);
        loop {
            let left = self.supply.segments_left(self.board.nxt_byte());
            let quota = window.cwnd.saturating_sub(self.board.in_flight());
            let quota = quota.min(self.room_for(quota));
            if left == 0 || quota == 0 || self.pace.holds_back(now) {
                break;
            }
            // Waiting does not merge the application's writes into a larger burst.
            let rest_fits = left.min(self.chunk_left.into()) <= u64::from(quota);
            if !ONE && !rest_fits && self.should_defer(quota, now) {
                limited = true;
                break;
            }
            // At least two units in flight, for a smoother return of acknowledgements.
            let unit = quota.min((window.cwnd / 2).max(1)).min(quantum);
            let initial = self.initial_pacing();
            let most = if initial.is_some() { 1 } else { u32::try_from(left).unwrap_or(u32::MAX) };
            let mut unit = unit.min(most);
            if self.supply.holds(unit, self.board.nxt_byte(), self.board.una_byte()) {
                unit -= 1;
                if unit == 0 {
                    self.wait_for_more(now);
                    break;
                }
            }
            // Bytes of a unit beyond its chunk are taken from the next chunk.
            self.chunk_left = match self.chunk_left.checked_sub(unit) {
                Some(0) => chunk(self.payload),
                Some(rest) => rest,
                None => chunk(self.payload) + self.chunk_left - unit,
            };
            for n in 1..=unit {
                // The last segment of an offloaded unit says "push", a lone segment does not,
                // unless nothing would follow that lets the receiver acknowledge it at once.
                let push = (unit > 1 && n == unit) || self.asks_for_prompt_ack();
                if self.wants_tracers() {
                    self.send_tracers(push, now, out);
                } else {
                    self.send_new(push, now, out);
                }
            }
            self.supply.sent_unit(self.board.nxt_byte());
            sent += unit;
            let free = self.board.nxt() <= FREE_SEGMENTS;
            self.charge(unit, initial.or(if free { None } else { pacing }), now);
            if ONE {
                break;
            }
        }
        limited |= self.board.in_flight() >= window.cwnd;
        if sent > 0 || limited {
            self.usage.update(&self.board, limited);
        }
        if sent > 0 {
            self.sent = self.sent.wrapping_add(sent);
            let since = self.board.head_sent_at().unwrap_or(now);
            let idle = self.timer == Timer::OFF || self.timer.purpose == Purpose::Hold;
            if !self.schedule_probe(since, now) && idle {
                self.set_retransmit_timer(now);
            }
        }
    }

    /// A server with a send buffer of a set size writes until that is full.
    #[cold]
    pub(super) fn refill(&mut self, now: Time, out: &mut impl Output) {
        let window = self.room_end.saturating_sub(self.board.una_byte());
        if !self.supply.is_writable(self.board.una_byte(), self.board.nxt_byte(), window) {
            return;
        }
        while let Some(push) = self.supply.step(self.board.una_byte(), self.board.nxt_byte()) {
            match push {
                Push::None => {}
                Push::Unit => self.transmit_units::<true>(now, out),
                Push::All => self.transmit(now, out),
            }
        }
        self.transmit(now, out);
    }

    /// A segment is held back that is not full. Where nothing is in flight, no acknowledgement will
    /// let it go: a timer does (`tcp_check_probe_timer`).
    #[cold]
    fn wait_for_more(&mut self, now: Time) {
        if self.board.packets_out() == 0 && self.timer == Timer::OFF {
            let due = now + self.rtt.rto(self.backoff);
            self.timer = Timer { due, purpose: Purpose::Hold };
        }
    }

    /// Sends the segment that was held back for too long (`tcp_write_wakeup`).
    #[cold]
    pub(super) fn send_held(&mut self, now: Time, out: &mut impl Output) {
        self.timer = Timer::OFF;
        if self.board.packets_out() == 0 && !self.supply.is_empty(self.board.nxt_byte()) {
            self.send_new(true, now, out);
            self.set_retransmit_timer(now);
        }
    }

    /// The number of segments that the receiver has room for, at most `segments`. The last one of all that is written
    /// may be small (`tcp_snd_wnd_test`).
    #[inline]
    pub(super) fn room_for(&self, segments: u32) -> u32 {
        let room = self.room_end.saturating_sub(self.board.nxt_byte());
        let payload = u64::from(self.payload);
        let fits = room >= u64::from(segments) * payload || self.supply.is_empty(self.room_end);
        if fits { segments } else { (room / payload) as u32 }
    }

    /// The rate at which the initial window leaves, segment by segment; `None` where it leaves at once.
    #[inline]
    fn initial_pacing(&self) -> Option<Rate> {
        if self.board.nxt() >= FREE_SEGMENTS {
            return None;
        }
        self.cc.prague()?.initial_pacing(self.rtt.smoothed()?)
    }

    /// Whether each segment asks for an acknowledgement at once.
    #[inline]
    fn asks_for_prompt_ack(&self) -> bool {
        self.cc.prague().is_some_and(|prague| prague.sets_psh())
    }

    /// Accounts for `segments` that left, paced at `rate`.
    #[inline(always)]
    fn charge(&mut self, segments: u32, rate: Option<Rate>, now: Time) {
        if let Some(rate) = rate {
            let bytes = u64::from(segments) * u64::from(self.payload);
            // `tcp_update_skb_after_send` takes half of a burst's time into account.
            self.pace.charge(Bytes::new(bytes), rate, |span| span / 2, now);
        }
    }

    /// Whether to wait for a larger burst: when the last one just went out, less than a third of
    /// the window is free, and the next acknowledgement is near.
    #[inline(always)]
    fn should_defer(&self, quota: u32, now: Time) -> bool {
        if self.state == State::Recovery || self.state == State::Loss {
            return false;
        }
        if now.since(self.last_sent) > MILLISECOND {
            return false;
        }
        if quota >= self.decision.quantum || quota >= self.decision.window.cwnd / 3 {
            return false;
        }
        let Some(head) = self.board.head_sent_at() else { return false };
        let srtt = self.rtt.smoothed().unwrap_or_default();
        let next_ack = (head + srtt).since(now);
        next_ack <= (srtt / 2).min(MILLISECOND)
    }
}
