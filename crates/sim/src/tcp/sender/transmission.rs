//! Sending: what may go out, in which bursts.

use l4s_cc::CongestionControl;
use l4s_units::{Duration, Ecn, Time};

use super::{Output, Purpose, Sender, State, Timer};
use crate::packet::{MSS, Part, Segment, Stamp};
use crate::tcp::pace::Pace;

/// The most that one unit of segmentation offload holds.
const GSO_MAX: u64 = 65_536;
/// What counts as just now, or near, where bursts are concerned.
const MILLISECOND: Duration = Duration::from_millis(1);
/// The AccECN option with three counters (RFC 9768 §3.2.3), which is on every segment.
const ACCECN_OPTION: u64 = 12;
/// Segments per buffer that an application's data waits in: as many as offload can take.
pub(super) const CHUNK: u32 = (GSO_MAX / MSS) as u32;

impl Sender {
    pub(super) fn control_ecn(&self) -> Ecn {
        if self.ecn_on_everything { self.ecn.unwrap_or_default() } else { Ecn::NotEct }
    }

    pub(super) fn send_new(&mut self, push: bool, now: Time, out: &mut impl Output) -> u64 {
        let seq = self.board.nxt();
        self.board.push(now, self.short);
        let cwr = core::mem::take(&mut self.cwr_pending);
        let ecn = self.ecn.unwrap_or_default();
        let (payload, pushed, fin) = self.supply.segment(seq);
        self.last_sent = now;
        let (push, part, short) = (push || pushed, Part::Whole, self.short);
        let stamps = self.stamps(now);
        let accurate_ecn = self.accurate_ecn;
        let segment =
            Segment { seq, payload, ecn, cwr, accurate_ecn, push, fin, part, short, stamps };
        out.send(segment, false);
        seq
    }

    pub(super) fn send_again(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        self.last_sent = now;
        let (full, push, fin) = self.supply.segment(seq);
        let (short, payload) = self.board.shape(seq);
        let (payload, ecn) = (payload.unwrap_or(full), self.control_ecn());
        let (part, stamps) = (Part::Whole, self.stamps(now));
        let (cwr, accurate_ecn) = (false, self.accurate_ecn);
        let segment =
            Segment { seq, payload, ecn, cwr, accurate_ecn, push, fin, part, short, stamps };
        out.send(segment, true);
    }

    /// Sends lost segments again, as far as the window allows.
    pub(super) fn retransmit_lost(&mut self, now: Time, out: &mut impl Output) {
        if !self.board.has_to_resend() {
            return;
        }
        while self.board.in_flight() < self.window.cwnd && !self.pace.holds_back(now) {
            let Some(seq) = self.board.resend(now) else { break };
            self.undo.resent(Stamp::at(now));
            self.send_again(seq, now, out);
            self.pace.charge(self.full_payload(), self.pacing_rate, now);
            if self.reducing() {
                self.prr.out += 1;
            }
            if seq == self.board.una() && self.timer.purpose != Purpose::Reordering {
                self.set_retransmit_timer(now);
            }
        }
    }

    /// Sends new segments, as far as the window allows and waiting is not better.
    pub(super) fn transmit(&mut self, now: Time, out: &mut impl Output) {
        let (mut sent, mut limited) = (0, false);
        loop {
            let left = self.supply.left(self.board.nxt());
            let room = self.room_end.saturating_sub(self.board.nxt());
            let quota = self.window.cwnd.saturating_sub(self.board.in_flight());
            let quota = quota.min(u32::try_from(room).unwrap_or(u32::MAX));
            if left == 0 || quota == 0 || self.pace.holds_back(now) {
                break;
            }
            let burst = self.burst_segments();
            // Waiting makes no larger burst of what the application wrote in one piece.
            let rest_fits = left.min(self.chunk_left.into()) <= u64::from(quota);
            if !rest_fits && self.should_defer(quota, burst, now) {
                limited = true;
                break;
            }
            // At least two units in flight, for a smoother return of acknowledgements.
            let unit = quota.min((self.window.cwnd / 2).max(1)).min(burst);
            let first = self.first_rate();
            let unit =
                unit.min(if first.is_some() { 1 } else { u32::try_from(left).unwrap_or(u32::MAX) });
            // What a unit has beyond its chunk it takes from the next one.
            self.chunk_left = match self.chunk_left.checked_sub(unit) {
                Some(0) => CHUNK,
                Some(rest) => rest,
                None => CHUNK + self.chunk_left - unit,
            };
            for n in 1..=unit {
                // The last segment of an offloaded unit says "push", a lone segment does not,
                // unless nothing would follow that lets the receiver acknowledge it at once.
                let push = (unit > 1 && n == unit) || self.cc.pushes();
                if self.wants_tracers() {
                    self.send_tracers(push, now, out);
                } else {
                    self.send_new(push, now, out);
                }
            }
            sent += unit;
            let free = self.board.nxt() <= Pace::FREE_SEGMENTS;
            if let Some(rate) = first.or((!free).then_some(self.pacing_rate)) {
                self.pace.charge(u64::from(unit) * self.full_payload(), rate, now);
            }
        }
        limited |= self.board.in_flight() >= self.window.cwnd;
        if sent > 0 || limited {
            self.usage.update(&self.board, limited);
        }
        if sent > 0 {
            if self.reducing() {
                self.prr.out += sent;
            }
            let since = self.board.head_sent_at().unwrap_or(now);
            if !self.schedule_probe(since, now) && self.timer == Timer::OFF {
                self.set_retransmit_timer(now);
            }
        }
    }

    /// At what rate the rest of the first window leaves, in bytes per second; none where at once.
    fn first_rate(&self) -> Option<u64> {
        if !self.steered || self.board.nxt() >= Pace::FREE_SEGMENTS {
            return None;
        }
        self.cc.first_pacing_rate(MSS as u32, self.rtt.smoothed()?)
    }

    /// Segments per burst: what a millisecond of the window takes, as Linux sizes its units of
    /// segmentation offload; more on short paths.
    fn burst_segments(&self) -> u32 {
        if self.steered
            && let Some(burst) = self.cc.burst()
        {
            let nanos = u128::from(burst.time.as_nanos());
            let bytes = (u128::from(self.pacing_rate) * nanos / 1_000_000_000) as u64;
            return ((bytes.min(GSO_MAX) / self.full_payload()) as u32).max(burst.least);
        }
        let short_path = (self.rtt.min().as_micros() >> 9).min(63) as u32;
        let bytes = (self.pacing_rate >> 10) + (GSO_MAX >> short_path);
        ((bytes.min(GSO_MAX) / self.full_payload()) as u32).max(if self.steered { 1 } else { 2 })
    }

    /// Whether to wait for a larger burst: when the last one just went out, less than a third of
    /// the window is free, and the next acknowledgement is near.
    fn should_defer(&self, quota: u32, burst: u32, now: Time) -> bool {
        if self.state == State::Recovery || self.state == State::Loss {
            return false;
        }
        if now.since(self.last_sent) > MILLISECOND {
            return false;
        }
        if quota >= burst || quota >= self.window.cwnd / 3 {
            return false;
        }
        let Some(head) = self.board.head_sent_at() else { return false };
        let srtt = self.rtt.smoothed().unwrap_or_default();
        let next_ack = (head + srtt).since(now);
        next_ack <= (srtt / 2).min(MILLISECOND)
    }

    /// What pacing and bursts count of a full segment. The pacing rate itself is that of whole
    /// `MSS`, as in Linux, whose `mss_cache` does not know of the option.
    fn full_payload(&self) -> u64 {
        if self.accurate_ecn { MSS - ACCECN_OPTION } else { MSS }
    }

    pub(super) fn update_pacing_rate(&mut self) {
        let Some(srtt) = self.rtt.smoothed() else { return };
        let left = self.supply.left(self.board.nxt());
        if self.steered
            && let Some(rate) = self.cc.pacing_rate(self.board.in_flight(), left, MSS as u32, srtt)
        {
            self.pacing_rate = rate;
            return;
        }
        // Twice the window per RTT early in slow start, 1.2 times later.
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let window = u64::from(self.window.cwnd.max(self.board.packets_out()));
        let (bytes, nanos) = (window * MSS * percent / 100, srtt.as_nanos());
        // 64 bits hold the product up to a window of 18 GB.
        self.pacing_rate = match bytes.checked_mul(1_000_000_000) {
            Some(product) => product / nanos,
            None => (u128::from(bytes) * 1_000_000_000 / u128::from(nanos)) as u64,
        };
    }
}
