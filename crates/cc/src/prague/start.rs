//! Slow start: its growth, its pacing and its end.
//!
//! A scalable control learns within a round trip that it is too fast, so it can try more than a
//! control that waits for a loss (DCttH §4.5). The queue that it causes delays all flows, though, and
//! a larger window causes it for longer. So the quick start is fastest while its window is small, and
//! then paces below the measured rate of the bottleneck.

use l4s_units::{Duration, Rate};

use super::{ALPHA_BITS, CWND_BITS, Control, SlowStart};
use crate::{Ack, INITIAL_WINDOW, Window};

/// The packets that a quick start grows by for each delivered one, up to [`QUICK_PART`] of the path.
const QUICK_GROWTH: u64 = 2;
/// The windows per round trip that a quick start sends, up to [`IGNORE_MARKS_BELOW`].
const QUICK_PACING: u64 = 4;
/// The windows per round trip that any other slow start sends, and a quick start with a larger
/// window (`tcp_pacing_ss_ratio`).
const PACING: u64 = 2;
/// The initial window of a quick start leaves within this fraction of a round trip.
const INITIAL_WINDOW_PART: u64 = 100;
/// The number of times that a quick start may begin again.
const QUICK_RESTARTS: u32 = 4;
/// Up to this window only a round trip that is all marked ends a quick start: twice the initial
/// window, tripled once.
const IGNORE_MARKS_BELOW: u64 = 60 << CWND_BITS;
/// The same holds only below this fraction of the bandwidth-delay product: one more round trip could
/// be too much above it.
const IGNORE_MARKS_BELOW_BDP: (u64, u64) = (2, 3);
/// Growth is quick below this fraction of the bandwidth-delay product. Three times that is not too
/// much yet.
const QUICK_PART: (u64, u64) = (1, 4);
/// The marks that stop growth until the next round trip: twice as many as a steady state has (DCttH
/// §2.1), since others' starts cause some too.
const MARKS_TO_PAUSE: u32 = 4;
/// The fraction of the bottleneck's rate that a quick start paces at.
const PROBE_RATE: (u64, u64) = (9, 10);
/// The same for the last segments of a flow.
const LAST_SEGMENTS_RATE: (u64, u64) = (8, 10);

/// The number of times that this slow start may begin again.
pub(super) fn restarts(slow_start: SlowStart) -> u32 {
    if slow_start == SlowStart::Quick { QUICK_RESTARTS } else { 0 }
}

/// The pacing rate of the initial window of a quick start.
pub(super) fn initial_window_rate(mss: u32, srtt: Duration) -> Rate {
    let bytes = u64::from(INITIAL_WINDOW) * u64::from(mss);
    Rate::from_bps(8 * (bytes * INITIAL_WINDOW_PART * 1_000_000 / srtt.as_micros().max(1)))
}

impl Control {
    /// Whether slow start goes on although there may have been marks: no threshold was ever set. With
    /// [`SlowStart::Halve`] the first mark sets one.
    pub(super) fn in_first_slow_start(&self) -> bool {
        self.settings.slow_start != SlowStart::Halve && self.state.ssthresh == Window::NO_THRESHOLD
    }

    /// Whether that is a quick start.
    fn in_quick_start(&self) -> bool {
        self.settings.slow_start == SlowStart::Quick && self.in_first_slow_start()
    }

    /// Whether a quick start ignores marks, unless all of a round trip is marked: a window this small
    /// is sent before a response would help anyone.
    pub(super) fn ignores_marks(&self, ack: &Ack) -> bool {
        self.in_quick_start()
            && self.state.frac_cwnd <= IGNORE_MARKS_BELOW
            && !self.exceeds_bdp_fraction(ack, IGNORE_MARKS_BELOW_BDP)
    }

    /// Whether a round trip has enough marks to end slow start.
    fn mark_threshold_reached(&self, ack: &Ack) -> bool {
        // From a shallow queue, where others start too, many come by chance.
        let threshold = match self.in_quick_start() {
            false => 0,
            true if self.ignores_marks(ack) => self.flight,
            true => self.flight.div_ceil(3),
        };
        // In its steady state a scalable control gets two marks per round trip at any window (DCttH
        // §2.1: c = p·W is constant; DCTCP: 2). Fewer come by chance, from a queue that is shared,
        // and halving the window for one of them would leave a flow far below its share, with
        // nothing but additive increase.
        u64::from(self.state.delivered_ce) >= threshold.max(2)
    }

    /// Whether a quick start ends before its round trip does: all that it sends until then would
    /// queue.
    pub(super) fn exit_now(&self, ack: &Ack) -> bool {
        self.in_quick_start() && self.mark_threshold_reached(ack)
    }

    /// A round trip of slow start with marks is over, or [`Control::exit_now`].
    pub(super) fn leave_slow_start(&mut self, ack: &Ack, now: u64) {
        if !self.mark_threshold_reached(ack) {
            return;
        }
        let quick = self.in_quick_start();
        let delivered = u64::from(self.state.delivered.max(1));
        let marked = u64::from(self.state.delivered_ce);
        // The response is to the share of marks in this round trip; the average takes them in as any
        // others. As the average itself they would be responded to for many rounds.
        self.update_alpha();
        self.reduce((marked.min(delivered) << ALPHA_BITS) / delivered, now);
        if quick {
            self.clamp_to_bdp(ack);
        }
    }

    /// Reduces the window to the bandwidth-delay product: the packets in flight, less the part of
    /// them that queues.
    fn clamp_to_bdp(&mut self, ack: &Ack) {
        let rtt = ack.rtt.unwrap_or(ack.srtt).as_micros().max(1);
        let packets = (ack.nxt - ack.una) * ack.min_rtt.as_micros() / rtt;
        let window = packets.max(INITIAL_WINDOW.into()) << CWND_BITS;
        if window < self.state.frac_cwnd {
            self.state.frac_cwnd = window;
            self.set_threshold();
        }
    }

    /// A round trip is over. If it had no mark, those that ended slow start came from another flow's
    /// start or by chance, and slow start begins again. A long flow has used up its restarts before
    /// it has its share.
    pub(super) fn restart_slow_start(&mut self) {
        let unmarked = self.state.saw_ce && self.state.delivered_ce == 0 && !self.state.in_loss;
        if self.restarts > 0 && unmarked && !self.in_first_slow_start() {
            self.restarts -= 1;
            self.state.ssthresh = Window::NO_THRESHOLD;
        }
    }

    /// The number of packets that the window grows by in slow start for each delivered one; 0 to wait
    /// for the next round trip.
    pub(super) fn start_growth(&self, ack: &Ack) -> u64 {
        if !self.in_quick_start() {
            return 1;
        }
        if !self.ignores_marks(ack) {
            if self.state.delivered_ce >= MARKS_TO_PAUSE {
                return 0;
            }
            if self.exceeds_bdp_fraction(ack, QUICK_PART) {
                return 1;
            }
        }
        QUICK_GROWTH
    }

    /// Whether the window is this fraction of the bandwidth-delay product or more, as far as that is
    /// known.
    fn exceeds_bdp_fraction(&self, ack: &Ack, (part, of): (u64, u64)) -> bool {
        let window_us = (self.state.frac_cwnd >> CWND_BITS) * u64::from(self.packet_us());
        window_us * of >= ack.min_rtt.as_micros() * part
    }

    /// The number of windows that slow start sends per round trip. A large window that leaves fast
    /// causes a long queue.
    pub(super) fn windows_per_rtt(&self) -> u64 {
        let quick = self.in_quick_start() && self.state.frac_cwnd <= IGNORE_MARKS_BELOW;
        if quick { QUICK_PACING } else { PACING }
    }

    /// The highest pacing rate of a quick start in bytes per second, where the bottleneck's rate is
    /// known.
    pub(super) fn probe_rate(&self, mss: u32) -> Option<u64> {
        self.part_of_the_bottleneck(mss, PROBE_RATE)
    }

    /// The pacing rate of a quick start for the last segments of a flow, in bytes per second, where
    /// all `left` segments fit in the window.
    pub(super) fn last_segments_rate(&self, in_flight: u32, left: u64, mss: u32) -> Option<u64> {
        let free = (self.state.frac_cwnd >> CWND_BITS).saturating_sub(in_flight.into());
        if left <= free { self.part_of_the_bottleneck(mss, LAST_SEGMENTS_RATE) } else { None }
    }

    /// This part of the bottleneck's rate in bytes per second, in a quick start.
    fn part_of_the_bottleneck(&self, mss: u32, (part, of): (u64, u64)) -> Option<u64> {
        if !self.in_quick_start() {
            return None;
        }
        (u64::from(mss) * 1_000_000 * part / of).checked_div(self.packet_us().into())
    }

    /// The time in microseconds that the bottleneck takes to send a packet; 0 where that is not known.
    fn packet_us(&self) -> u32 {
        self.detector.as_ref().map_or(0, |detector| detector.packet_us())
    }
}
