//! Congestion controls as pure state machines.
//!
//! A [`CongestionControl`] sees [`Ack`]s and other events of a connection, and answers each with a
//! [`Decision`]: the window, the pacing rate and the send quantum. It has no access to sockets or
//! packets. Loss detection and retransmission belong to the transport that drives it.
//!
//! A control that only says how its window grows and to which threshold congestion reduces it, as
//! Reno, Cubic and DCTCP do, implements [`WindowRule`] instead, and [`Reducing`] does the rest as
//! Linux does for such controls. Windows are whole segments, as in Linux.

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bbr;
pub mod bbr3;
pub mod classic_ecn;
mod config;
mod connection;
pub mod cubic;
pub mod dctcp;
pub mod foreign;
mod hystart_plus_plus;
pub mod prague;
mod rate;
mod reducing;
pub mod reno;
mod window;

pub use config::{Cc, Config, WantedEcn};
pub use connection::{Connection, Endpoint, Marks};
pub use rate::{Delivery, LossSample, RateSample, Repair};
pub use reducing::{Reducing, WindowRule};
pub use window::Window;

use l4s_units::{Duration, Rate, Time};

/// The initial window, in segments (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// The rise of the RTT above its minimum that shows a queue in slow start (RFC 9406 §4.2): an
/// eighth of the minimum, but at least 4 ms and at most 16 ms.
fn hystart_rise(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// The news of an acknowledgement for the sender, and the present state of the connection.
///
/// Example: [`CongestionControl`].
#[derive(Clone, Copy, Debug, Default)]
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
    /// Whether it acknowledged segments cumulatively.
    pub advanced: bool,
    /// Segments that it showed to be lost.
    pub lost: u32,
    /// The round trip of the newest segment it acknowledged, where one could be measured.
    pub rtt: Option<Duration>,
    /// The lowest RTT of the connection.
    pub min_rtt: Duration,
    /// Smoothed RTT. Zero: none was measured yet, and pacing rates are those of a millisecond.
    pub srtt: Duration,
    /// The first segment not yet acknowledged.
    pub una: u64,
    /// The next segment that will be sent for the first time.
    pub nxt: u64,
    /// Segments in the network as far as is known (`pipe` of RFC 6675 §2).
    pub in_flight: u32,
    /// Segments sent since the connection began, retransmissions included; wraps.
    pub sent: u32,
    /// Segments that the application has written and that were not sent yet. 0: all that it wrote
    /// so far had been sent when the acknowledgement arrived.
    pub unsent: u64,
    /// Whether the last flight was as large as the window allowed (RFC 7661 §4.1).
    pub limited: bool,
    /// Whether the path reorders much. Then the window grows with each segment delivered, also above a hole
    /// (`tcp_may_raise_cwnd` of Linux).
    pub reordering: bool,
}

/// Sending starts again after a time in which nothing was in flight.
///
/// ```
/// use l4s_cc::{Pause, Window};
/// use l4s_units::{Duration, Time};
///
/// // Three timeouts without a segment: half the window for each after the first (RFC 5681 §4.1).
/// let rto = Duration::from_millis(200);
/// let pause = Pause { now: Time::from_nanos(5_000_000_000), length: rto * 3, rto };
/// let mut window = Window::new(80);
/// window.restart(pause, 10);
/// assert_eq!(window.cwnd, 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// When.
    pub now: Time,
    /// How long ago the last segment was sent.
    pub length: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
}

/// Why the window must be reduced.
///
/// Example: [`Recovery`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// The SYN-ACK was lost: the initial window is one segment (RFC 5681 §3.1).
    Handshake,
    /// Congestion experienced was echoed.
    Ecn,
    /// An acknowledgement showed losses, which will be recovered without a timeout.
    Loss,
    /// The same by a timer (RFC 8985 §6.3): no acknowledgement follows.
    LossByTimer,
    /// A retransmission timeout; for QUIC persistent congestion (RFC 9002 §7.6).
    Timeout,
}

/// How a reduction ended.
///
/// ```
/// use l4s_cc::{Ack, Congestion, CongestionControl, Connection, Recovery, Window, reno};
///
/// let mut control = reno::control(&reno::Config::default(), &Connection::new(1448));
/// let prior = Window::new(10);
/// let at = Ack::default();
/// let window = control.on_congestion(Congestion::Timeout, false, &at).window;
/// assert_eq!((window.cwnd, window.threshold()), (1, Some(5)));
/// // The segments were late, not lost (RFC 5682).
/// let window = control.on_recovered(Recovery::Spurious(Some(prior))).window;
/// assert_eq!((window.cwnd, window.threshold()), (10, None));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Everything in flight when it began is acknowledged.
    Complete,
    /// It answered a loss that was none. The window and threshold to return to, unless a mark
    /// asked for a reduction too.
    Spurious(Option<Window>),
}

/// The limits that a congestion control sets for the transport.
///
/// Example: [`CongestionControl`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// How much may be in flight.
    pub window: Window,
    /// The rate at which it leaves; at once where there is none.
    pub pacing: Option<Rate>,
    /// The most segments that leave together, from 1.
    pub quantum: u32,
}

/// A congestion control.
///
/// A control that sends at a constant rate:
///
/// ```
/// use l4s_cc::{Ack, Congestion, CongestionControl, Decision, Pause, Recovery, Window};
/// use l4s_units::{Bytes, Duration, Rate};
///
/// struct Constant(Rate);
///
/// impl Constant {
///     /// A window of two round trips never holds the rate back.
///     fn decide(&self, srtt: Duration) -> Decision {
///         let segments = self.0.bytes_in(srtt * 2).get() / 1500;
///         Decision { window: Window::new(segments.max(1) as u32), pacing: Some(self.0), quantum: 1 }
///     }
/// }
///
/// impl CongestionControl for Constant {
///     fn on_ack(&mut self, ack: &Ack) -> Decision { self.decide(ack.srtt) }
///     fn on_congestion(&mut self, _: Congestion, _: bool, at: &Ack) -> Decision { self.decide(at.srtt) }
///     fn on_recovered(&mut self, _: Recovery) -> Decision { self.decide(Duration::ZERO) }
///     fn on_restart(&mut self, pause: Pause) -> Decision { self.decide(pause.rto) }
/// }
///
/// let mut control = Constant(Rate::from_mbps(12));
/// let ack = Ack { srtt: Duration::from_millis(10), ..Ack::default() };
/// // 12 Mb/s are a segment of 1500 B per millisecond.
/// assert_eq!(control.on_ack(&ack).window.cwnd, 20);
/// ```
pub trait CongestionControl {
    /// The handshake is over: the negotiated values, if they differ from those at creation.
    fn on_established(&mut self, _connection: &Connection) {}

    /// Sees an acknowledgement before the transport draws conclusions from it (`in_ack_event` of
    /// Linux).
    fn observe(&mut self, _ack: &Ack) {}

    /// Decides after an acknowledgement, in every state of the transport (`cong_control` of Linux).
    /// Events that it led to came before. The first call, with nothing delivered, is at the end of
    /// the handshake.
    fn on_ack(&mut self, ack: &Ack) -> Decision;

    /// Answers congestion. `answered` says that the window is reduced already for this window of
    /// data: for a mark where there is a loss now, or for a loss where there is a timeout.
    /// `at` is the connection without an acknowledgement. The returned decision holds until
    /// [`CongestionControl::on_ack`].
    fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision;

    /// A reduction ends.
    fn on_recovered(&mut self, recovery: Recovery) -> Decision;

    /// Sending starts again after a pause.
    fn on_restart(&mut self, pause: Pause) -> Decision;

    /// Whether the transport samples the delivery rate for it.
    fn samples_rate(&self) -> bool {
        false
    }

    /// Sees the sample of an acknowledgement, before [`CongestionControl::on_ack`], or that of a timeout.
    fn sample_rate(&mut self, _sample: &RateSample) {}

    /// Sees each loss, where the transport samples the delivery rate for it: after
    /// [`CongestionControl::on_congestion`], and before [`CongestionControl::sample_rate`].
    fn sample_loss(&mut self, _loss: &LossSample) {}

    /// Whether it sends less than it could, so that the delivery rate says nothing about the path.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Its estimate of the fraction of marked packets, if it keeps one (DCTCP's alpha).
    fn alpha(&self) -> Option<f64> {
        None
    }
}

/// One that is elsewhere in memory.
impl<C: CongestionControl + ?Sized> CongestionControl for Box<C> {
    fn on_established(&mut self, connection: &Connection) {
        (**self).on_established(connection);
    }

    fn observe(&mut self, ack: &Ack) {
        (**self).observe(ack);
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        (**self).on_ack(ack)
    }

    fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision {
        (**self).on_congestion(congestion, answered, at)
    }

    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        (**self).on_recovered(recovery)
    }

    fn on_restart(&mut self, pause: Pause) -> Decision {
        (**self).on_restart(pause)
    }

    fn samples_rate(&self) -> bool {
        (**self).samples_rate()
    }

    fn sample_rate(&mut self, sample: &RateSample) {
        (**self).sample_rate(sample);
    }

    fn sample_loss(&mut self, loss: &LossSample) {
        (**self).sample_loss(loss);
    }

    fn limits_itself(&self) -> bool {
        (**self).limits_itself()
    }

    fn alpha(&self) -> Option<f64> {
        (**self).alpha()
    }
}
