//! The constants of a connection that a congestion control uses, and Linux' defaults for a
//! control without a rule of its own: the pacing rate and the send quantum.

use l4s_units::{Duration, Rate};

use serde::{Deserialize, Serialize};

use crate::{Decision, INITIAL_WINDOW, Window};

/// The most bytes that one unit of segmentation offload holds (`GSO_LEGACY_MAX_SIZE`).
pub(crate) const OFFLOAD_BYTES: u64 = 65_536;

/// How a receiver reports marks, as far as a congestion control can use it.
///
/// Example: [`Connection`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    /// Exactly: which segments were marked, or how many.
    Counted,
    /// That there were some, until the sender says that it reduced (RFC 3168 §6.1.3).
    Latched,
}

/// The transport that drives a congestion control, where controls depend on it: how the window is spread over
/// the RTT, and how it is reduced.
///
/// ```
/// use l4s_cc::{Connection, Endpoint, Window};
/// use l4s_units::Duration;
///
/// let rtt = Duration::from_millis(10);
/// let [linux, quic] = [Endpoint::LinuxTcp, Endpoint::Quic]
///     .map(|endpoint| Connection { endpoint, ..Connection::new(1000) });
/// // Early in slow start: two windows per RTT, and five quarters (RFC 9002 §7.7).
/// let window = Window::new(100);
/// assert_eq!(linux.pacing_rate(&window, 0, rtt), 2 * 100 * 1000 * 100);
/// assert_eq!(quic.pacing_rate(&window, 0, rtt), 125 * 1000 * 100);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Endpoint {
    /// Linux' TCP: units of segmentation offload, pacing on request, and proportional rate reduction.
    #[default]
    LinuxTcp,
    /// A QUIC stack (RFC 9002): packets one by one, paced, and a window that is reduced at once.
    Quic,
}

impl Endpoint {
    /// The least window in segments (RFC 9002 §7.2), or that of a connection after a timeout (RFC 5681 §3.1).
    pub const fn least_window(self) -> u32 {
        match self {
            Endpoint::LinuxTcp => 1,
            Endpoint::Quic => 2,
        }
    }
}

/// Values that are fixed before the first segment.
///
/// ```
/// use l4s_cc::{Connection, Marks};
/// use l4s_units::Duration;
///
/// // The receiver knows only RFC 3168.
/// let connection = Connection { marks: Marks::Latched, ..Connection::new(1448) };
/// let window = connection.initial().window;
/// // Slow start: twice the window of ten segments per round trip of 10 ms, in bytes per second.
/// let rate = connection.pacing_rate(&window, 0, Duration::from_millis(10));
/// assert_eq!(rate, 2 * 10 * 1448 * 100);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connection {
    /// The maximum segment size in bytes: the segment size of a pacing rate (`mss_cache`).
    pub mss: u32,
    /// The payload of a full segment in bytes: the same, less TCP options. At least 1.
    pub payload: u32,
    /// The initial window in segments, from 1.
    pub initial_window: u32,
    /// How marks come back, where ECN was negotiated.
    pub marks: Marks,
    /// Where the randomness of a control comes from that needs some.
    pub seed: u64,
    /// The transport that drives the control.
    pub endpoint: Endpoint,
}

impl Connection {
    /// A connection whose segments have no options of their own, with the window of RFC 6928 and
    /// counted marks.
    pub const fn new(mss: u32) -> Connection {
        let (marks, endpoint) = (Marks::Counted, Endpoint::LinuxTcp);
        Connection { mss, payload: mss, initial_window: INITIAL_WINDOW, marks, seed: 0, endpoint }
    }

    /// The decision before the first event.
    pub const fn initial(&self) -> Decision {
        Decision { window: Window::new(self.initial_window), pacing: None, quantum: 1 }
    }

    /// The rate in bytes per second that spreads a window: twice the window per RTT early in slow
    /// start, 1.2 times later (`tcp_update_pacing_rate`); for QUIC always 1.25 times (RFC 9002 §7.7).
    #[inline]
    pub fn pacing_rate(&self, window: &Window, packets_out: u64, srtt: Duration) -> u64 {
        let (percent, packets) = match self.endpoint {
            Endpoint::LinuxTcp => (
                if window.cwnd < window.ssthresh / 2 { 200 } else { 120 },
                u64::from(window.cwnd).max(packets_out),
            ),
            Endpoint::Quic => (125, u64::from(window.cwnd)),
        };
        // As Linux' Prague: a millisecond where nothing is known.
        let srtt = if srtt.is_zero() { Duration::from_millis(1) } else { srtt };
        let (bytes, nanos) = (packets * u64::from(self.mss) * percent / 100, srtt.as_nanos());
        // 64 bits hold the product up to a window of 18 GB.
        match bytes.checked_mul(1_000_000_000) {
            Some(product) => product / nanos,
            None => (u128::from(bytes) * 1_000_000_000 / u128::from(nanos)) as u64,
        }
    }

    /// The segments that leave together at `rate` bytes per second, `least` at least: those of a
    /// millisecond, and more on short paths (`tcp_tso_autosize`). QUIC has no units of offload.
    #[inline]
    pub fn quantum(&self, rate: u64, min_rtt: Duration, least: u32) -> u32 {
        if self.endpoint == Endpoint::Quic {
            return least;
        }
        let short_path = (min_rtt.as_micros() >> 9).min(63) as u32;
        self.whole_segments((rate >> 10) + (OFFLOAD_BYTES >> short_path), least)
    }

    /// The decision on a window that leaves at `rate` bytes per second, paced or in bursts. QUIC always paces.
    #[inline]
    pub fn decide(&self, window: Window, rate: u64, paces: bool, quantum: u32) -> Decision {
        let paces = paces || self.endpoint == Endpoint::Quic;
        let pacing = paces.then(|| Rate::from_bps(rate.saturating_mul(8)));
        Decision { window, pacing, quantum }
    }

    /// The number of whole segments in `bytes`: `least` at least, and no more than offload takes.
    #[inline]
    pub fn whole_segments(&self, bytes: u64, least: u32) -> u32 {
        ((bytes.min(OFFLOAD_BYTES) / u64::from(self.payload)) as u32).max(least)
    }
}
