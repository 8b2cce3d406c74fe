//! WiFi: a station that always sends, beside another one that does as well.
//!
//! Both contend by EDCA, the channel access of IEEE 802.11-2020 §10.23.2: the station with the shorter random
//! backoff has the channel for a transmission opportunity (TXOP). In its own the link has the rate of the
//! data, and else none. All constants are of the standard: an 802.11ac (VHT) station at 5 GHz in the access
//! category best effort. Of the rates it is the highest that every VHT station must support (§21.1): 80 MHz, one
//! stream, MCS 7 and a guard interval of 800 ns.
//!
//! The standard does not say how many stations there are, or which of them receive each other. Here there are two,
//! and each receives the other. No frame is lost except in a collision, and nobody changes its rate.

use l4s_units::{Bytes, Duration, ETHERNET, Rate};

use crate::Step;
use crate::random::Stream;

/// Microseconds. A slot and a SIFS of OFDM at 20 MHz and more (§17.4.4).
const SLOT: u64 = 9;
const SIFS: u64 = 16;

/// The default EDCA parameter set for best effort, AC_BE (§9.4.2): the TXOP takes at most 2.528 ms.
const AIFSN: u64 = 3;
const CW_MIN: u64 = 15;
const CW_MAX: u64 = 1023;
const TXOP: u64 = 2_528;

/// The attempts of a frame before it is given up, `dot11ShortRetryLimit` (§C.3).
const RETRIES: u32 = 7;

/// The preamble of a VHT PPDU with one stream (§21.3.2): L-STF, L-LTF, L-SIG, VHT-SIG-A, VHT-STF, VHT-LTF, VHT-SIG-B.
const PREAMBLE: u64 = 8 + 8 + 4 + 8 + 4 + 4 + 4;

/// A compressed block acknowledgement (§9.3.1): 32 bytes in OFDM at 24 Mb/s after a preamble of 20 µs (§17.3). A symbol of 4 µs
/// has 96 bits. With 16 service and 6 tail bits these are 3 symbols.
const BLOCK_ACK: u64 = 20 + 3 * 4;

/// Data bits of a symbol of 4 µs at MCS 7: 292.5 Mb/s (§21.5, 80 MHz, one stream).
const SYMBOL_BITS: u64 = 1_170;
const SYMBOL: u64 = 4;

/// A packet of 1500 bytes of IP: LLC and SNAP 8, MAC header 26, FCS 4, delimiter 4, to a multiple of 4 (§9.7).
const PACKET: u64 = (1_500 + 8 + 26 + 4 + 4_u64).next_multiple_of(4);

/// The packets of an aggregate: as many as fit, and at most 64, the window of a block acknowledgement.
const PACKETS: u64 = packets();

const fn packets() -> u64 {
    let symbols = (TXOP - SIFS - BLOCK_ACK - PREAMBLE) / SYMBOL;
    // Less 16 service and 6 tail bits.
    let fit = (symbols * SYMBOL_BITS - 22) / 8 / PACKET;
    if fit < 64 { fit } else { 64 }
}

/// The airtime of these packets: preamble, data, SIFS and block acknowledgement, in microseconds.
const AIRTIME: u64 =
    PREAMBLE + (PACKETS * PACKET * 8 + 22).div_ceil(SYMBOL_BITS) * SYMBOL + SIFS + BLOCK_ACK;

/// The bytes of these packets with an Ethernet header, as rates count them.
const BYTES: Bytes = Bytes::new(PACKETS * (1_500 + ETHERNET.get()));

/// A station that always has an aggregate to send.
struct Station {
    /// Slots until it sends.
    backoff: u64,
    window: u64,
    attempts: u32,
}

impl Station {
    fn new(stream: &mut Stream) -> Station {
        let mut station = Station { backoff: 0, window: CW_MIN, attempts: 0 };
        station.draw(stream);
        station
    }

    fn draw(&mut self, stream: &mut Stream) {
        self.backoff = stream.below(self.window + 1);
    }

    /// The next attempt: from the smallest window after a success or the last retry, from twice the last one
    /// otherwise (§10.23.2.2).
    fn sent(&mut self, collided: bool, stream: &mut Stream) {
        self.attempts = if collided { self.attempts + 1 } else { 0 };
        if self.attempts == 0 || self.attempts == RETRIES {
            (self.window, self.attempts) = (CW_MIN, 0);
        } else {
            self.window = (2 * self.window + 1).min(CW_MAX);
        }
        self.draw(stream);
    }
}

/// The airtimes of the link: each from its start, in microseconds.
struct Airtimes {
    stream: Stream,
    now: u64,
    own: Station,
    other: Station,
}

impl Iterator for Airtimes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let wait = self.own.backoff.min(self.other.backoff);
            let start = self.now + SIFS + (AIFSN + wait) * SLOT;
            self.now = start + AIRTIME;
            self.own.backoff -= wait;
            self.other.backoff -= wait;
            let (own, other) = (self.own.backoff == 0, self.other.backoff == 0);
            if own {
                self.own.sent(other, &mut self.stream);
            }
            if other {
                self.other.sent(own, &mut self.stream);
            }
            if own && !other {
                return Some(start);
            }
        }
    }
}

/// The rates of a trace: that of the data in each airtime of the link, and 0 between them.
pub(super) fn steps(mut stream: Stream, length: Duration) -> impl Iterator<Item = Step> {
    let (own, other) = (Station::new(&mut stream), Station::new(&mut stream));
    let airtimes = Airtimes { stream, now: 0, own, other };
    let end = length.as_nanos();
    let rate = Rate::from_bps(BYTES.get() * 8 * 1_000_000 / AIRTIME);
    // Waiting precedes the first airtime.
    let before = Step::new(Duration::ZERO, Rate::ZERO);
    let airtimes = airtimes.flat_map(move |start| {
        let at = Duration::from_micros;
        [Step::new(at(start), rate), Step::new(at(start + AIRTIME), Rate::ZERO)]
    });
    let steps = core::iter::once(before).chain(airtimes);
    steps.take_while(move |step| step.at.as_nanos() < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aggregate_fills_the_transmission_opportunity() {
        // 2528 − 16 − 32 − 40 = 2440 µs are 610 symbols of 1170 bits: 713,678 bits without service and
        // tail. 57 packets of 1544 B have 704,064 of them, in 602 symbols: 2408 µs.
        assert_eq!((PREAMBLE, PACKET, PACKETS), (40, 1_544, 57));
        assert_eq!(AIRTIME, 40 + 2_408 + 16 + 32);
        assert_eq!(BYTES, Bytes::new(57 * 1_514));
    }

    /// G. Bianchi: "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE Journal on
    /// Selected Areas in Communications 18(3), 2000, equations (7), (9) and (13), for two stations.
    #[test]
    fn the_throughput_is_that_of_bianchi() {
        // τ = 2 (1 − 2p) / ((1 − 2p)(W + 1) + p W (1 − (2p)^m)) with W = 16, m = 6, and p = τ.
        let (w, m) = (16.0f64, 6);
        let mut tau = 0.1f64;
        for _ in 0..1_000 {
            let p = tau;
            let next = 2.0 * (1.0 - 2.0 * p)
                / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(m)));
            tau = (tau + next) / 2.0;
        }
        // The slots with one of the two stations, with both, and with none.
        let (one, both) = (tau * (1.0 - tau), tau * tau);
        let none = 1.0 - 2.0 * one - both;
        // A busy slot takes the airtime, SIFS and three slots of AIFS, which precede the next backoff.
        let busy = (AIRTIME + SIFS + AIFSN * SLOT) as f64;
        let bytes = one * BYTES.get() as f64;
        let expected = bytes * 8.0 / (none * SLOT as f64 + (2.0 * one + both) * busy);

        let length = Duration::from_secs(600);
        let trace =
            crate::Trace::from_steps(steps(Stream::new(1, "wifi"), length), length).unwrap();
        let mean = trace.mean_rate().as_bps() as f64 / 1e6;
        // Bianchi's stations count a slot when the other one sends, as those of EDCA do at the end of the AIFS. Those of this
        // model do not. 600 s have 110,000 airtimes of the link, so that the standard error is below 0.3 %.
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean} Mb/s, expected {expected}");
    }
}
