//! Slow start: how Prague tries for more before it knows its share, and what ends it.
//!
//! A scalable control learns within a round trip that it is too fast, so it can try more than one
//! that waits for a loss (DCttH §4.5). What it tries is a queue for everybody else, though, and the
//! larger the window the longer. So a quick start tries most while its window is small, and then
//! keeps to what the bottleneck was seen to send.

use super::{ALPHA_BITS, CWND_BITS, Control, INITIAL_WINDOW, SlowStartExit};
use crate::{Ack, Window};

/// Growth is quick up to this part of what fits on the path: three times that is not too much yet.
const QUICK_PART: (u64, u64) = (1, 4);

/// Above this part of what fits on the path no start is sure of its window: the next one could be
/// too much.
const SURE_PART: (u64, u64) = (2, 3);

/// So many marks in a round trip end its growth, which goes on in the next one: twice as many as a
/// steady state has (DCttH §2.1), since others' starts mark some too.
const ENOUGH_TO_WAIT: u32 = 4;

/// Windows per round trip that leave of a large quick start, as of any slow start in Linux.
const LARGE_PACING: u32 = 2;

/// How much of what the bottleneck sends is sent at most, to try for more,
const GROWING: (u64, u64) = (9, 10);
/// and how much where it is the last of a flow.
const LAST: (u64, u64) = (8, 10);

impl Control {
    /// Whether nothing ever told it where to stop. Where the exit is to halve, the first mark does.
    pub(super) fn in_first_slow_start(&self) -> bool {
        self.settings.slow_start_exit != SlowStartExit::Halve
            && self.state.ssthresh == Window::NO_THRESHOLD
    }

    /// Whether that is one in which a third of a round trip has to be marked.
    fn in_quick_start(&self) -> bool {
        self.settings.slow_start_exit == SlowStartExit::Third && self.in_first_slow_start()
    }

    /// Whether marks are left aside, unless they are on all of a round trip: a window as small as
    /// that is over before its answer would be of use to anyone.
    pub(super) fn is_sure(&self, ack: &Ack) -> bool {
        self.state.frac_cwnd <= self.settings.sure
            && self.in_first_slow_start()
            && !self.nears_what_fits(ack, SURE_PART)
    }

    /// Whether a round trip has as many marks as end slow start.
    fn is_enough(&self, ack: &Ack) -> bool {
        // From a shallow queue, where others start too, many come by chance.
        let enough = match self.in_quick_start() {
            false => 0,
            true if self.is_sure(ack) => self.flight,
            true => self.flight.div_ceil(3),
        };
        // In its steady state a scalable control gets two marks per round trip at any window (DCttH
        // §2.1: c = p·W is constant; DCTCP: 2). Fewer come by chance, from a queue that is shared,
        // and halving the window for one of them would leave a flow far below its share, with
        // nothing but additive increase.
        u64::from(self.state.delivered_ce) >= enough.max(2)
    }

    /// Whether a quick start is over before its round trip is: what is sent until then would be a
    /// queue.
    pub(super) fn is_told_to_stop(&self, ack: &Ack) -> bool {
        self.in_quick_start() && self.is_enough(ack)
    }

    /// A round trip of slow start is over, or enough of it, and marks were seen.
    pub(super) fn leave_slow_start(&mut self, ack: &Ack, now: u64) {
        if !self.is_enough(ack) {
            return;
        }
        let quick = self.in_quick_start();
        let delivered = u64::from(self.state.delivered.max(1));
        let marked = u64::from(self.state.delivered_ce);
        // The answer is to as many marks as there were; the average learns of them as of any others.
        // Taken for the average itself they would be answered for many rounds to come.
        self.update_alpha();
        self.reduce((marked.min(delivered) << ALPHA_BITS) / delivered, now);
        if quick {
            self.fit(ack);
        }
    }

    /// Goes down to what fits on the path: what was in flight, less what of it is a queue by now.
    fn fit(&mut self, ack: &Ack) {
        let rtt = ack.rtt.unwrap_or(ack.srtt).as_micros().max(1);
        let packets = (ack.nxt - ack.una) * ack.min_rtt.as_micros() / rtt;
        let window = packets.max(INITIAL_WINDOW) << CWND_BITS;
        if window < self.state.frac_cwnd {
            self.state.frac_cwnd = window;
            self.set_threshold();
        }
    }

    /// A round trip is over. Without a mark in it, those that ended slow start were another flow's
    /// beginning, or chance: there is more to be had. A long flow has used its chances up before it
    /// has its share.
    pub(super) fn start_again(&mut self) {
        let unmarked = self.state.saw_ce && self.state.delivered_ce == 0 && !self.state.in_loss;
        if self.again > 0 && unmarked && !self.in_first_slow_start() {
            self.again -= 1;
            self.state.ssthresh = Window::NO_THRESHOLD;
        }
    }

    /// By how many packets the window grows in slow start for each that is delivered; 0 where it is to
    /// wait for the next round trip.
    pub(super) fn start_growth(&self, ack: &Ack) -> u64 {
        let quick = self.in_quick_start();
        if !quick && self.state.saw_ce {
            return 1;
        }
        if quick && !self.is_sure(ack) {
            if self.state.delivered_ce >= ENOUGH_TO_WAIT {
                return 0;
            }
            if self.nears_what_fits(ack, QUICK_PART) {
                return 1;
            }
        }
        self.settings.startup.growth.into()
    }

    /// Whether the window is a part of what fits on the path, or more, as far as that is known.
    fn nears_what_fits(&self, ack: &Ack, (part, of): (u64, u64)) -> bool {
        let window_us = (self.state.frac_cwnd >> CWND_BITS) * u64::from(self.packet_us());
        window_us * of >= ack.min_rtt.as_micros() * part
    }

    /// How many windows leave in a round trip. A large one that leaves fast is a long queue for
    /// everybody else.
    pub(super) fn start_pacing(&self) -> u64 {
        let pacing = self.settings.startup.pacing;
        let large = self.in_quick_start() && self.state.frac_cwnd > self.settings.sure;
        if large { pacing.min(LARGE_PACING).into() } else { pacing.into() }
    }

    /// The most that a quick start sends, in bytes per second, as far as it is known what the
    /// bottleneck does. More than all of that would be a queue for sure.
    pub(super) fn start_rate(&self, mss: u32) -> Option<u64> {
        self.part_of_the_bottleneck(mss, GROWING)
    }

    /// At which rate a quick start sends what is left, where all of that fits in the window: nearly
    /// as fast as it may, since a flow that is over gains nothing from having been slower.
    pub(super) fn last_rate(&self, in_flight: u32, left: u64, mss: u32) -> Option<u64> {
        let free = (self.state.frac_cwnd >> CWND_BITS).saturating_sub(in_flight.into());
        if left <= free { self.part_of_the_bottleneck(mss, LAST) } else { None }
    }

    /// That part of what the bottleneck sends, in a quick start, in bytes per second.
    fn part_of_the_bottleneck(&self, mss: u32, (part, of): (u64, u64)) -> Option<u64> {
        if !self.in_quick_start() {
            return None;
        }
        (u64::from(mss) * 1_000_000 * part / of).checked_div(self.packet_us().into())
    }

    /// What the bottleneck takes to send a packet, in microseconds; 0 where that is not known.
    fn packet_us(&self) -> u32 {
        self.detector.as_ref().map_or(0, |detector| detector.packet_us())
    }
}
