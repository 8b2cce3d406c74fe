//! WiFi: how long frames of IEEE 802.11n, ac and ax take, and the rate of a saturated link.
//!
//! 802.11n is the HT PHY and 802.11ac the VHT PHY of IEEE 802.11-2020 (clauses 19 and 21), 802.11ax the HE PHY of
//! IEEE 802.11ax-2021 (clause 27). All are at 5 GHz, with one PPDU for one station at a time.

use std::collections::VecDeque;

use l4s_units::{Bytes, Duration, ETHERNET, Probability, Rate};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A generation of the PHY.
///
/// Example: [`Wifi`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Standard {
    /// 802.11n, HT: WiFi 4.
    N,
    /// 802.11ac, VHT: WiFi 5.
    Ac,
    /// 802.11ax, HE: WiFi 6.
    Ax,
}

/// A link between a station and its access point.
///
/// ```
/// use l4s_model::{Standard, Wifi};
/// use l4s_units::{Duration, Rate};
///
/// // 802.11ac, 80 MHz, two streams, 256-QAM with rate 3/4 and the short guard interval: 780 Mb/s.
/// let wifi = Wifi { width: 80, streams: 2, mcs: 8, ..Wifi::new(Standard::Ac) };
/// assert_eq!(wifi.phy_rate(), Rate::from_mbps(780));
///
/// // A block acknowledgement of 32 bytes takes 32 us.
/// assert_eq!(wifi.block_ack(), Duration::from_micros(32));
///
/// // Where another station always sends as well, each has a bit less than half.
/// let shared = Wifi { stations: 1, ..wifi.clone() };
/// assert!(2 * shared.rate().as_bps() < wifi.rate().as_bps());
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wifi {
    /// The generation.
    pub standard: Standard,
    /// The width of the channel in MHz: 20 or 40, with ac and ax also 80 or 160.
    pub width: u64,
    /// Spatial streams, from 1 to 4.
    pub streams: u64,
    /// Modulation and coding of each stream: from 0 to 7 with n (where the standard counts on with each stream), to 9
    /// with ac, and to 11 with ax.
    pub mcs: u64,
    /// The guard interval: 400 or 800 ns with n and ac, and 800, 1600 or 3200 ns with ax.
    pub guard: Duration,
    /// The longest PPDU, from [`Wifi::SHORTEST`] to [`Wifi::LONGEST`].
    pub airtime: Duration,
    /// Other stations on the channel, up to 50. Each receives all others, and always has as much to send as a PPDU holds.
    pub stations: u64,
    /// The chance that an MPDU is lost, other than in a collision, from 0 to 0.5.
    pub loss: f64,
}

impl Wifi {
    /// A slot (IEEE 802.11-2020 §17.4.4, OFDM at 20 MHz and more).
    pub const SLOT: Duration = Duration::from_micros(9);
    /// A SIFS, the time between a frame and its acknowledgement (IEEE 802.11-2020 §17.4.4).
    pub const SIFS: Duration = Duration::from_micros(16);
    /// Slots after a SIFS for which the channel is idle before a station counts its backoff down: AIFSN of best effort
    /// (IEEE 802.11-2020 Table 9-155). Of the limit of a TXOP in that table, 2.528 ms, there is none here, as in hostapd and
    /// ns-3: only [`Wifi::LONGEST`] limits a PPDU.
    pub const AIFSN: u64 = 3;
    /// The smallest contention window of best effort (IEEE 802.11-2020 Table 9-155).
    pub const CW_MIN: u32 = 15;
    /// The largest contention window of best effort (IEEE 802.11-2020 Table 9-155).
    pub const CW_MAX: u32 = 1023;
    /// The attempts of an MPDU before it is given up: the default of `dot11ShortRetryLimit` (IEEE 802.11-2020 §C.3). The
    /// standard counts retries only outside an agreement on block acknowledgements (§10.23.2.12.1). A limit for the MPDUs of
    /// an A-MPDU, too, is the choice of this model.
    pub const RETRY_LIMIT: u32 = 7;
    /// The longest PPDU of HT, VHT and HE: aPPDUMaxTime is 5.484 ms (IEEE 802.11-2020 §19.4 and §21.4, IEEE
    /// 802.11ax-2021 §27.4).
    pub const LONGEST: Duration = Duration::from_micros(5_484);
    /// The least that the longest PPDU may be set to.
    pub const SHORTEST: Duration = Duration::from_micros(200);

    /// The most bytes of an IP packet: of the 2304 of an MSDU (IEEE 802.11-2020 §9.2.4.7) LLC and SNAP have 8 (RFC 1042).
    pub const LONGEST_PACKET: Bytes = Bytes::new(2304 - 8);

    /// Bytes that an MPDU has around its IP packet: LLC and SNAP 8 (RFC 1042), MAC header with QoS 26, FCS 4
    /// (IEEE 802.11-2020 §9.3.2), and 16 of CCMP (§12.5.3).
    const MPDU: u64 = 8 + 26 + 4 + 16;
    /// The delimiter before each MPDU of an A-MPDU, which is padded to a multiple of 4 (IEEE 802.11-2020 §9.7).
    const DELIMITER: u64 = 4;
    /// PPDUs over which [`Wifi::rate`] takes a mean.
    const SAMPLE: u32 = 4096;

    /// A link at 80 MHz (40 with n) with two streams, 64-QAM with rate 5/6 (MCS 7) and the shortest guard interval: no
    /// other station, no loss.
    pub fn new(standard: Standard) -> Wifi {
        Wifi {
            standard,
            width: if standard == Standard::N { 40 } else { 80 },
            streams: 2,
            mcs: 7,
            guard: Wifi::guards(standard)[0],
            airtime: Wifi::LONGEST,
            stations: 0,
            loss: 0.0,
        }
    }

    /// The guard intervals of a generation, the shortest one first.
    pub fn guards(standard: Standard) -> &'static [Duration] {
        const OFDM: &[Duration] = &[Duration::from_nanos(400), Duration::from_nanos(800)];
        const HE: &[Duration] =
            &[Duration::from_nanos(800), Duration::from_nanos(1600), Duration::from_nanos(3200)];
        match standard {
            Standard::N | Standard::Ac => OFDM,
            Standard::Ax => HE,
        }
    }

    /// The widths of a generation in MHz.
    pub fn widths(standard: Standard) -> &'static [u64] {
        match standard {
            Standard::N => &[20, 40],
            Standard::Ac | Standard::Ax => &[20, 40, 80, 160],
        }
    }

    /// The highest MCS of a generation.
    pub fn highest_mcs(standard: Standard) -> u64 {
        match standard {
            Standard::N => 7,
            Standard::Ac => 9,
            Standard::Ax => 11,
        }
    }

    /// Whether the standard has this MCS at this width with these streams. VHT leaves out combinations whose bits do not
    /// fill its encoders (IEEE 802.11-2020 §21.5).
    pub fn has_rate(&self) -> bool {
        let left_out = self.standard == Standard::Ac
            && match (self.width, self.mcs) {
                (20, 9) => self.streams != 3,
                (80, 6) | (160, 9) => self.streams == 3,
                _ => false,
            };
        !left_out && self.mcs <= Wifi::highest_mcs(self.standard)
    }

    /// The data bits of an OFDM symbol, N_DBPS = N_SD · N_BPSCS · R · N_SS.
    pub fn symbol_bits(&self) -> u64 {
        // N_SD: data subcarriers (IEEE 802.11-2020 Tables 19-6 and 21-5; IEEE 802.11ax-2021 §27.3, the largest RU).
        let subcarriers = match (self.standard, self.width) {
            (Standard::Ax, 20) => 234,
            (Standard::Ax, 40) => 468,
            (Standard::Ax, 80) => 980,
            (Standard::Ax, _) => 1960,
            (_, 20) => 52,
            (_, 40) => 108,
            (_, 80) => 234,
            _ => 468,
        };
        // N_BPSCS and R: bits per subcarrier and code rate (IEEE 802.11-2020 §19.5 and §21.5; IEEE 802.11ax-2021 §27.5).
        let (bits, numerator, denominator) = match self.mcs {
            0 => (1, 1, 2),
            1 => (2, 1, 2),
            2 => (2, 3, 4),
            3 => (4, 1, 2),
            4 => (4, 3, 4),
            5 => (6, 2, 3),
            6 => (6, 3, 4),
            7 => (6, 5, 6),
            8 => (8, 3, 4),
            9 => (8, 5, 6),
            10 => (10, 3, 4),
            _ => (10, 5, 6),
        };
        subcarriers * bits * self.streams * numerator / denominator
    }

    /// The time of an OFDM symbol, T_DFT + T_GI.
    pub fn symbol(&self) -> Duration {
        let transform = match self.standard {
            Standard::N | Standard::Ac => Duration::from_nanos(3_200),
            Standard::Ax => Duration::from_nanos(12_800),
        };
        transform + self.guard
    }

    /// The rate of the data of a PPDU.
    pub fn phy_rate(&self) -> Rate {
        Rate::from_bps(self.symbol_bits() * 1_000_000_000 / self.symbol().as_nanos())
    }

    /// The preamble of a PPDU with its signalling. HT: HT-mixed format (IEEE 802.11-2020 §19.3.2). VHT: §21.3.2. HE: an
    /// HE SU PPDU without packet extension (IEEE 802.11ax-2021 §27.3.4).
    pub fn preamble(&self) -> Duration {
        // L-STF, L-LTF, L-SIG.
        let legacy = 8_000 + 8_000 + 4_000;
        // As many LTFs as streams, but four for three.
        let ltfs = if self.streams == 3 { 4 } else { self.streams };
        let more = match self.standard {
            // HT-SIG, HT-STF, HT-LTFs.
            Standard::N => 8_000 + 4_000 + 4_000 * ltfs,
            // VHT-SIG-A, VHT-STF, VHT-LTFs, VHT-SIG-B.
            Standard::Ac => 8_000 + 4_000 + 4_000 * ltfs + 4_000,
            // RL-SIG, HE-SIG-A, HE-STF, HE-LTFs: of 6.4 us, or 12.8 us beside the longest guard interval.
            Standard::Ax => {
                let ltf = if self.guard > Duration::from_nanos(1_600) { 12_800 } else { 6_400 };
                4_000 + 8_000 + 4_000 + (ltf + self.guard.as_nanos()) * ltfs
            }
        };
        Duration::from_nanos(legacy + more)
    }

    /// The time of a PPDU with these bytes of an A-MPDU.
    pub fn ppdu(&self, psdu: Bytes) -> Duration {
        // Service field 16 bits, and a tail of 6 bits where the code is convolutional; HE has LDPC.
        let more = if self.standard == Standard::Ax { 16 } else { 16 + 6 };
        let symbols = (psdu.get() * 8 + more).div_ceil(self.symbol_bits());
        self.preamble() + self.symbol() * symbols
    }

    /// The time of a compressed block acknowledgement: 32 bytes with a bitmap of 64 MPDUs, 56 with one of 256 (IEEE
    /// 802.11-2020 §9.3.1, IEEE 802.11ax-2021 §9.3.1). It is sent in OFDM at 24 Mb/s (§17.3: 96 bits in a symbol of 4 us).
    pub fn block_ack(&self) -> Duration {
        let bytes = if self.window() > 64 { 56 } else { 32 };
        Duration::from_micros(20 + 4 * (16 + bytes * 8 + 6_u64).div_ceil(96))
    }

    /// The time of a PPDU with these bytes until its acknowledgement is over.
    pub fn exchange(&self, psdu: Bytes) -> Duration {
        self.ppdu(psdu) + Wifi::SIFS + self.block_ack()
    }

    /// How long the channel is idle before a backoff: AIFS = SIFS + AIFSN · slot (IEEE 802.11-2020 §10.23.2).
    pub fn aifs() -> Duration {
        Wifi::SIFS + Wifi::SLOT * Wifi::AIFSN
    }

    /// The window of a block acknowledgement in MPDUs, the most of an A-MPDU: 64, or 256 with ax.
    pub fn window(&self) -> usize {
        if self.standard == Standard::Ax { 256 } else { 64 }
    }

    /// The most bytes of an A-MPDU: 65,535 with HT and 1,048,575 with VHT (IEEE 802.11-2020 §9.7), and 6,500,631 bytes of
    /// PSDU with HE (IEEE 802.11ax-2021 §27.4).
    pub fn most_bytes(&self) -> Bytes {
        match self.standard {
            Standard::N => Bytes::new(65_535),
            Standard::Ac => Bytes::new(1_048_575),
            Standard::Ax => Bytes::new(6_500_631),
        }
    }

    /// The bytes in an A-MPDU of a packet that has this size with its Ethernet header.
    pub fn subframe(size: Bytes) -> Bytes {
        let ip = size.get().saturating_sub(ETHERNET.get());
        Bytes::new((ip + Wifi::MPDU + Wifi::DELIMITER).next_multiple_of(4))
    }

    /// Whether an A-MPDU may have as many bytes.
    pub fn fits(&self, psdu: Bytes) -> bool {
        psdu <= self.most_bytes() && self.ppdu(psdu) <= self.airtime
    }

    /// Packets of this size (with Ethernet header) in the largest A-MPDU, one at least.
    pub fn most_packets(&self, size: Bytes) -> u64 {
        let each = Wifi::subframe(size).get();
        let window = self.window() as u64;
        (2..=window).take_while(|n| self.fits(Bytes::new(each * n))).last().unwrap_or(1)
    }

    /// The chance that a station transmits in a slot, and that its PPDU collides, where all always send. It is
    /// the fixed point of G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination
    /// function", IEEE JSAC 18(3), 2000, §IV, with the retry limit of the standard in his chain. After as many
    /// failures the window is the smallest one again.
    pub fn contention(&self) -> (f64, f64) {
        let power = |base: f64, times: u64| (0..times).fold(1.0, |product, _| product * base);
        // A station is in stage i in the proportion of p^i, and transmits once in (W_i + 1) / 2 slots there.
        let transmits = |collides: f64| {
            let (mut attempts, mut slots, mut reaches, mut window) =
                (0.0, 0.0, 1.0, Wifi::CW_MIN + 1);
            for _ in 0..Wifi::RETRY_LIMIT {
                attempts += reaches;
                slots += reaches * f64::from(window + 1) / 2.0;
                reaches *= collides;
                window = (window * 2).min(Wifi::CW_MAX + 1);
            }
            attempts / slots
        };
        // p = 1 − (1 − τ)^n: the chance grows with that of the others, which falls with it.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            let collides = 1.0 - power(1.0 - transmits(middle), self.stations);
            if collides > middle { low = middle } else { high = middle }
        }
        (transmits(low), low)
    }

    /// The mean number of MPDUs of a PPDU that does not collide, and the mean seconds of its exchange, where packets of this
    /// size always wait. PPDUs after a loss are shorter: the window of the block acknowledgement stays at the oldest MPDU that was
    /// lost. No formula gives the means. They are those of [`Wifi::SAMPLE`] PPDUs by chance, always the same.
    fn frames(&self, size: Bytes) -> (f64, f64) {
        let (most, window) = (self.most_packets(size) as usize, self.window());
        let exchange = |mpdus: usize| {
            self.exchange(Bytes::new(Wifi::subframe(size).get() * mpdus as u64)).as_secs_f64()
        };
        if self.loss == 0.0 || most * Wifi::RETRY_LIMIT as usize <= window {
            // None waits: an MPDU is received or given up before the window is full.
            return (most as f64, exchange(most));
        }
        let loss = Probability::from_f64(self.loss);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        let mut draw = || {
            let failed = (1..Wifi::RETRY_LIMIT).take_while(|_| loss.hits(rng.next_u32())).count();
            1 + failed
        };
        // The transmissions that each MPDU in the window still takes.
        let mut left: VecDeque<usize> = VecDeque::with_capacity(window);
        let (mut mpdus, mut seconds) = (0, 0.0);
        for _ in 0..Wifi::SAMPLE {
            let again = left.iter().filter(|left| **left > 0).count();
            let new = (most - again).min(window - left.len());
            left.extend((0..new).map(|_| draw()));
            mpdus += again + new;
            seconds += exchange(again + new);
            left.iter_mut().for_each(|left| *left = left.saturating_sub(1));
            while left.front() == Some(&0) {
                left.pop_front();
            }
        }
        let sample = f64::from(Wifi::SAMPLE);
        (mpdus as f64 / sample, seconds / sample)
    }

    /// The rate at which the link carries packets of 1500 bytes of IP when it always has some to send, each with 14 bytes of
    /// Ethernet. It is the packets that arrive with one of its PPDUs over the mean time from one to the next. The time is
    /// Bianchi's, with n stations that transmit in a slot with the chance τ: an idle slot, or an exchange and an AIFS.
    /// After a loss its own PPDUs are shorter, those of the others are not.
    pub fn rate(&self) -> Rate {
        let size = l4s_aqm::MTU;
        let (mpdus, own) = self.frames(size);
        let full = Bytes::new(Wifi::subframe(size).get() * self.most_packets(size));
        let aifs = Wifi::aifs().as_secs_f64();
        let (transmits, collides) = self.contention();
        let idle = (1.0 - transmits) * (1.0 - collides);
        let succeeds = transmits * (1.0 - collides);
        // A PPDU of another station, or a collision with one.
        let other = 1.0 - idle - succeeds;
        let slot = idle * Wifi::SLOT.as_secs_f64()
            + succeeds * (own + aifs)
            + other * (self.exchange(full).as_secs_f64() + aifs);
        let bits = (size.get() * 8) as f64 * mpdus * (1.0 - self.loss);
        Rate::from_bps((succeeds * bits / slot) as u64)
    }
}
