//! The settings of the detector.

use l4s_units::Duration;

/// What the score is clocked by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Round trips (Fallback §4.5.1).
    Rtt,
    /// Round trips, but not more often than once per virtual RTT, as in Linux.
    Virtual,
}

/// The settings of a detector of Classic ECN (Fallback §4.2, §4.4).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// V: the weight of variability. 0 to 16.
    pub v: f64,
    /// D: the weight of depth. 0 to 16.
    pub d: f64,
    /// S: the weight of self-limitation. 0 to 16.
    pub s: f64,
    /// The weight of packets that came unmarked from behind a deep queue. Above 0, a round trip in
    /// which all were marked tells nothing. Not in the paper: 0 there.
    pub m: f64,
    /// V0: the mean deviation above which the queue looks Classic. 1 µs to 16 s.
    pub v0: Duration,
    /// A deviation below this part of V0 counts as that, so that a queue which does not vary at
    /// all, as one that is full, cannot outweigh its depth. 0 to 1; not in the paper: 0 there.
    pub v_floor: f64,
    /// D0: the depth above which it does. 1 µs to 16 s.
    pub d0: Duration,
    /// `L_STICKY`: how far below 0 the score starts, and falls at most. 0 to 1000.
    pub l_sticky: f64,
    /// `C_STICKY`: how far above 0 it rises at most. 1 to 1000.
    pub c_sticky: f64,
    /// What the score is clocked by.
    pub clock: Clock,
    /// How much longer the deviation is smoothed over than the RTT: 1, 2 or 4.
    pub mdev_ratio: u32,
    /// The RTT is smoothed over 2^`shift_max` acknowledgements at most. 1 to 20.
    pub shift_max: u32,
    /// Keep re-routes out of the averages (Fallback appendix C).
    pub filter: bool,
    /// K2: how many mean deviations away an outlier is. 1 to 16.
    pub k2: f64,
    /// Raise the references to what the bottleneck takes to send a packet. Not in the paper, which
    /// plans it (§9).
    pub spacing: bool,
    /// Leave out round trips that the receiver's delay may be part of. Not in the paper.
    pub prompt: bool,
    /// Round trips without a mark after which the score only rises: a link that is not full looks
    /// like an L4S queue, and so does a Classic queue while it is empty. 0 to 1000; 0, as in the
    /// paper, for never.
    pub hold: u32,
    /// How many sets of tracers to send before they are given up (`TRACER_NUM`). 1 to 16.
    pub tracers: u32,
    /// For how many round trips at least a test with tracers is good, which then finds one queue or
    /// two. 0 to 1000; 0, as in the paper, to find neither.
    pub tests_valid: u32,
}

impl Config {
    /// As the paper has it.
    pub fn paper() -> Self {
        Config {
            v: 0.5,
            d: 0.5,
            s: 0.25,
            m: 0.0,
            v0: Duration::from_micros(750),
            v_floor: 0.0,
            d0: Duration::from_micros(2000),
            l_sticky: 8.0,
            c_sticky: 8.0,
            clock: Clock::Rtt,
            mdev_ratio: 2,
            shift_max: 19,
            filter: false,
            k2: 2.0,
            spacing: false,
            prompt: false,
            hold: 0,
            tracers: 4,
            tests_valid: 0,
        }
    }

    /// As TCP Prague 0.6 for Linux has it: no self-limitation, scored per virtual RTT. Its score
    /// runs from 0 to 17; ours is the same less 8.
    pub fn linux() -> Self {
        Config { s: 0.0, c_sticky: 9.0, clock: Clock::Virtual, shift_max: 18, ..Config::paper() }
    }

    /// What measurement shows to be better.
    pub fn best() -> Self {
        Config {
            v_floor: 0.5,
            shift_max: 13,
            m: 2.0,
            mdev_ratio: 1,
            filter: true,
            spacing: true,
            prompt: true,
            hold: 8,
            tests_valid: 50,
            ..Config::paper()
        }
    }
}
