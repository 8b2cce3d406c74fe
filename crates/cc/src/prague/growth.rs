//! How the window of Prague grows outside of slow start.

use l4s_units::Time;

use super::{
    CWND_BITS, ClassicGrowth, Config, Increase, LossResponse, RTT_VIRT_US, RttIndependence, State,
};
use crate::cubic;

/// R0 of the scalable mode, in microseconds: the window grows by a packet per round trip at an RTT of
/// about R0 + R1 (TCP Prague 0.6 for Linux).
const SCALABLE_R0: u64 = 1 << 14;
/// R1 of the scalable mode, in microseconds (TCP Prague 0.6 for Linux).
const SCALABLE_R1: u64 = 1536;
/// Longer RTTs get no RTT independence, in microseconds (TCP Prague 0.6 for Linux).
const LONG_RTT_US: u64 = 100_000;
/// Rounds without a mark, added to the square root of the window, after which capacity is free. A
/// scalable flow alone in its queue has about √(W/2) rounds between marks (DCTCP, §3.3).
const QUIET_ROUNDS: u16 = 8;
/// A growth of one packet per round trip, in 2^-32.
const ONE: u64 = 1 << 32;

/// How the window grows. Its counters are part of [`State`].
#[derive(Clone, Debug)]
pub(super) struct Growth {
    rtt_independence: RttIndependence,
    fast: bool,
    classic: ClassicGrowth,
    /// Whether the window grows as Cubic's from a loss to the next mark.
    cubic_after_loss: bool,
    /// The curve of Cubic, if the configuration uses it.
    cubic: Option<Box<cubic::Rule>>,
}

impl State {
    /// A mark arrived.
    #[inline]
    pub(super) fn marked(&mut self) {
        (self.quiet, self.looking) = (0, 0);
        self.after_loss = false;
    }

    /// A loss reduced the window.
    pub(super) fn lost(&mut self) {
        (self.quiet, self.looking) = (0, 0);
        self.after_loss = true;
    }

    /// A round of observation ended.
    pub(super) fn end_round(&mut self) {
        if self.frac_cwnd >> CWND_BITS >= self.ssthresh.into() {
            self.transition = self.transition.saturating_sub(1);
        }
        if self.delivered_ce > 0 {
            (self.quiet, self.looking) = (0, 0);
            return;
        }
        self.quiet = self.quiet.saturating_add(1);
        if self.looking > 0 || self.has_room() {
            self.looking = self.looking.saturating_add(1);
        }
    }

    /// Whether no mark arrived for so long that capacity must be free.
    fn has_room(&self) -> bool {
        let beyond = u64::from(self.quiet.saturating_sub(QUIET_ROUNDS));
        beyond * beyond > self.frac_cwnd >> CWND_BITS
    }
}

impl Growth {
    pub fn new(config: &Config) -> Self {
        let uses_cubic =
            config.loss == LossResponse::Cubic || config.classic_growth == ClassicGrowth::Cubic;
        Growth {
            rtt_independence: config.rtt_independence,
            fast: config.increase == Increase::Fast,
            classic: config.classic_growth,
            cubic_after_loss: config.loss == LossResponse::Cubic,
            cubic: uses_cubic.then(|| Box::new(cubic::Rule::new(&cubic::Config::default()))),
        }
    }

    /// Growth depends on the RTT in this way from now on.
    pub fn set_rtt_independence(&mut self, mode: RttIndependence) {
        self.rtt_independence = mode;
    }

    /// A mark reduced the window from `frac_cwnd`.
    pub fn reduced(&mut self, frac_cwnd: u64) {
        if let Some(cubic) = &mut self.cubic {
            cubic.reduced_from((frac_cwnd >> CWND_BITS) as u32);
        }
    }

    /// Grows the window for unmarked packets. `classic` is the score between 0 and 1, in 2^-24.
    #[inline]
    pub fn grow(&mut self, s: &mut State, unmarked: u32, srtt: u64, now: Time, classic: u64) {
        let is_classic = classic == 1 << 24;
        if (s.after_loss && self.cubic_after_loss)
            || (is_classic && self.classic == ClassicGrowth::Cubic)
        {
            return self.grow_cubic(s, unmarked, now);
        }
        let scale = match self.classic {
            ClassicGrowth::Scalable => self.scale(s, srtt),
            _ => blend(self.scale(s, srtt), classic),
        };
        // 2^(20 + 32 + 8), and the credit of an earlier, larger window: 2^39 at most.
        let gained = s.credit + ((u64::from(unmarked) * scale) << 8);
        s.credit = gained % s.frac_cwnd;
        s.frac_cwnd += gained / s.frac_cwnd;
        if self.fast && !s.after_loss && classic == 0 && s.looking > 0 {
            let rtt = srtt.max(RTT_VIRT_US);
            s.frac_cwnd += u64::from(unmarked) * ((step(s.looking, rtt) << CWND_BITS) / rtt);
        }
    }

    /// The growth per window of unmarked packets, in 2^-32 packets: one packet, and less if the RTT is
    /// below the virtual RTT. With the square of their ratio the rate grows as over a path of the
    /// virtual RTT (RFC 9331 §4.3). The remainder of the division is kept, so that no increase is lost.
    fn scale(&self, s: &State, srtt: u64) -> u64 {
        let (rtt, virt) = (srtt.max(1), RTT_VIRT_US);
        if s.transition > 0 {
            return ONE;
        }
        match self.rtt_independence {
            RttIndependence::Off => ONE,
            RttIndependence::Rate if rtt < virt => ((rtt * rtt) << 32) / (virt * virt),
            RttIndependence::Rate => ONE,
            _ if rtt > LONG_RTT_US => ONE,
            RttIndependence::Scalable => {
                // rtt/R0 · (1/8 + min(max(rtt − R1, 0), R0)/R0)
                let above = rtt.saturating_sub(SCALABLE_R1).min(SCALABLE_R0);
                (rtt * (SCALABLE_R0 / 8 + above)) << 4
            }
            RttIndependence::Additive => (((rtt * rtt) << 28) / ((virt + rtt) * (virt + rtt))) << 4,
        }
    }

    #[cold]
    fn grow_cubic(&mut self, s: &mut State, unmarked: u32, now: Time) {
        let Some(cubic) = &mut self.cubic else { return };
        let cwnd = ((s.frac_cwnd >> CWND_BITS) as u32).max(1);
        let per = cubic.acks_per_segment(cwnd, unmarked, now);
        s.frac_cwnd += (u64::from(unmarked) << CWND_BITS) / u64::from(per);
    }
}

/// The growth per RTT, or per virtual RTT, while the flow probes for free capacity, as the time to send
/// it, in microseconds. It is also the delay of the queue that builds up at the end of the probing. So
/// it starts with 1 ms, the step of an L4S queue, and doubles after each round without a mark: otherwise
/// a path of 200 ms would take minutes. The limit is an eighth of the RTT, the rise of the RTT that slow
/// start allows (RFC 9406 §4.2).
fn step(looking: u16, rtt: u64) -> u64 {
    let doublings = (looking - 1).min(16);
    (1000 << doublings).min((rtt / 8).max(1000))
}

/// Interpolates from `scale` at a score of 0 to one packet at a score of 1. `classic` is the score in
/// 2^-24.
fn blend(scale: u64, classic: u64) -> u64 {
    if classic == 0 {
        return scale;
    }
    let above = i128::from(ONE) - i128::from(scale);
    (i128::from(scale) + ((above * i128::from(classic)) >> 24)) as u64
}
