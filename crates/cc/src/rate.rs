//! Samples of the delivery rate: how fast the network delivered, measured over about one round trip
//! (draft-cheng-iccrg-delivery-rate-estimation, `tcp_rate.c` of Linux).

use l4s_units::{Duration, Time};

/// How far the transport is with repairing losses.
///
/// Example: [`RateSample`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Repair {
    /// Nothing is to be repaired.
    #[default]
    None,
    /// Losses were detected, and are sent again.
    Recovery,
    /// A retransmission timeout expired.
    Timeout,
}

/// Segments delivered during an interval: their quotient is the delivery rate.
///
/// Example: [`RateSample`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Segments delivered.
    pub segments: u64,
    /// The time in which they were sent or acknowledged, whichever was longer: acknowledgements
    /// that come in a burst do not raise the rate.
    pub interval: Duration,
}

/// The delivery that an acknowledgement shows, and the totals of the connection.
///
/// ```
/// use l4s_cc::{Delivery, RateSample, Repair};
/// use l4s_units::Duration;
///
/// // Of 110 segments 10 were delivered when the newest of them was sent.
/// let delivery = Delivery { segments: 100, interval: Duration::from_millis(10) };
/// let sample = RateSample {
///     delivery: Some(delivery),
///     delivered: 110,
///     prior_delivered: 10,
///     repair: Repair::Recovery,
///     ..RateSample::default()
/// };
/// assert_eq!(sample.delivered - sample.prior_delivered, delivery.segments);
/// assert!(sample.repair > Repair::None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateSample {
    /// The sample; `None` where the acknowledgement delivered nothing, or where the interval is
    /// shorter than the lowest RTT, so that reordering or a burst of acknowledgements fakes a rate.
    pub delivery: Option<Delivery>,
    /// Segments delivered in total, the SYN-ACK included.
    pub delivered: u64,
    /// When the last of them was delivered.
    pub delivered_at: Time,
    /// [`RateSample::delivered`] when the newest segment of the sample was sent.
    pub prior_delivered: u64,
    /// Whether the application held the sender back when that was sent: the rate may be higher.
    pub app_limited: bool,
    /// Segments in flight before the acknowledgement.
    pub prior_in_flight: u32,
    /// Segments lost in total, retransmissions included.
    pub lost: u64,
    /// [`RateSample::lost`] when the newest segment of the sample was sent.
    pub prior_lost: u64,
    /// Segments delivered that met congestion, in total, as in [`Ack::delivered_ce`](crate::Ack).
    pub delivered_ce: u64,
    /// [`RateSample::delivered_ce`] when the newest segment of the sample was sent.
    pub prior_delivered_ce: u64,
    /// Segments in flight when the newest segment of the sample was sent, itself included; 0 where
    /// the acknowledgement delivered nothing.
    pub tx_in_flight: u32,
    /// When the next segment may leave, by the pacing rate.
    pub next_departure: Time,
    /// The state of the transport.
    pub repair: Repair,
}

/// A segment that was found to be lost, and the flight that it was sent in.
///
/// ```
/// use l4s_cc::LossSample;
///
/// // The third loss since it was sent, as the last one of 100 in flight.
/// let loss = LossSample { lost: 3, tx_in_flight: 100, ..LossSample::default() };
/// assert!(loss.lost * 100 > u64::from(loss.tx_in_flight) * 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossSample {
    /// When it was found.
    pub now: Time,
    /// Its number.
    pub seq: u64,
    /// Segments lost since it was sent, itself included.
    pub lost: u64,
    /// Segments in flight when it was sent, itself included.
    pub tx_in_flight: u32,
    /// Whether the application held the sender back when it was sent.
    pub app_limited: bool,
    /// Segments delivered in total when it was found, as in [`RateSample::delivered`].
    pub delivered: u64,
}
