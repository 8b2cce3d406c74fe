//! Congestion controls as pure state machines.
//!
//! A congestion control is fed with [`Ack`] samples and asked for a window; it knows neither
//! sockets nor packets. Loss detection, recovery and pacing belong to the transport that drives
//! it. Windows are whole segments, as in Linux.

pub mod classic_ecn;
mod config;
pub mod cubic;
pub mod dctcp;
pub mod foreign;
pub mod prague;
pub mod reno;
mod window;

pub use config::{Cc, Config, WantedEcn};
pub use window::Window;

use l4s_units::{Duration, Time};

/// The initial window, in segments (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// The rise of the RTT above its minimum that shows a queue in slow start (RFC 9406 §4.2): an
/// eighth of the minimum, but at least 4 ms and at most 16 ms.
fn hystart_rise(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// What one acknowledgement told the sender.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Segments newly delivered, cumulatively or selectively.
    pub delivered: u32,
    /// How many of them met congestion: counted where the feedback counts (AccECN), and otherwise
    /// all of them if it echoed congestion.
    pub delivered_ce: u32,
    /// Whether it echoed congestion experienced (ECE).
    pub ece: bool,
    /// The round trip of the newest segment it acknowledged, where one could be measured.
    pub rtt: Option<Duration>,
    /// The lowest RTT of the connection.
    pub min_rtt: Duration,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// The first segment not yet acknowledged.
    pub una: u64,
    /// The next segment that will be sent for the first time.
    pub nxt: u64,
    /// Whether the send buffer was empty when it arrived: all that the application wrote so far
    /// had been sent.
    pub app_limited: bool,
}

/// Sending starts again after a time in which nothing was in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// When.
    pub now: Time,
    /// How long ago the last segment was sent.
    pub length: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
}

/// How much may go out at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// As time at the pacing rate.
    pub time: Duration,
    /// But so many segments in any case.
    pub least: u32,
}

/// Why the window must be reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// Segments were lost and will be recovered without a timeout.
    Loss,
    /// A retransmission timeout.
    Timeout,
    /// Congestion experienced was echoed.
    Ecn,
}

/// A congestion control.
pub trait CongestionControl {
    /// Sees every acknowledgement, in every state of the transport.
    fn observe(&mut self, window: &mut Window, ack: &Ack);

    /// Grows the window; called for acknowledgements outside of window reduction.
    fn grow(&mut self, window: &mut Window, ack: &Ack);

    /// The slow-start threshold, in segments, that answers `congestion`; at least 2.
    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32;

    /// A loss is detected while the window is already being reduced for a mark: the threshold
    /// that answers it, where that needs an answer of its own.
    fn loss_while_reducing(&mut self, _window: &Window) -> Option<u32> {
        None
    }

    /// The fraction of marks that it believes in, where it keeps one (DCTCP's alpha).
    fn alpha(&self) -> Option<f64> {
        None
    }

    /// Whether it sets the window by itself in every state, as Linux' `cong_control` does: then
    /// [`CongestionControl::observe`] does all, and the transport must not reduce the window.
    fn steers_alone(&self) -> bool {
        false
    }

    /// Whether each segment should be acknowledged at once: with so few in flight a delayed
    /// acknowledgement would be what the round trip consists of.
    fn pushes(&self) -> bool {
        false
    }

    /// The most that may go out at once, where that is its own choice.
    fn burst(&self) -> Option<Burst> {
        None
    }

    /// What its detector of Classic ECN says, where it has one.
    fn classic_ecn(&self) -> Option<classic_ecn::Report> {
        None
    }

    /// Whether a set of tracers should go out with the next full segment (Fallback §5.2), in the form
    /// of [`Config::tracer_set`]. Asked once before each segment that could; a set for which this
    /// says yes is sent.
    fn wants_tracers(&mut self, _nxt: u64) -> bool {
        false
    }

    /// A set of tracers came back: whether it was in another order than it was sent in, as only a
    /// bottleneck that tells ECT(1) from ECT(0) makes it.
    fn traced(&mut self, _overtook: bool) {}

    /// Sending starts again after a pause. Unless it knows better, a window that was not used for
    /// longer than a retransmission timeout no longer says anything about the path (RFC 5681 §4.1).
    fn restart(&mut self, window: &mut Window, pause: Pause) {
        window.restart(pause);
    }

    /// The last loss was none: what was thought lost was late. The window returns to what it was
    /// before, `prior` segments (RFC 4015 §3.2, `tcp_reno_undo_cwnd`).
    fn undo(&mut self, window: &mut Window, prior: u32) {
        window.cwnd = window.cwnd.max(prior);
    }

    /// The rate in bytes per second at which to spread the window, where that is its own choice.
    /// `left`: how many segments the application has written that were not sent yet.
    fn pacing_rate(&self, _in_flight: u32, _left: u64, _mss: u32, _srtt: Duration) -> Option<u64> {
        None
    }

    /// The same of the first window, one packet at a time; none where it leaves at once.
    fn first_pacing_rate(&self, _mss: u32, _srtt: Duration) -> Option<u64> {
        None
    }
}
