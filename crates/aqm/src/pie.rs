//! PIE: one queue, held at a target delay by a PI controller whose gains follow the probability
//! (RFC 8033), as `sch_pie` in Linux does it with delay from time stamps.
//!
//! Time is counted in ticks of 64 ns and probability in units of 2⁻⁵⁶, as there.
//!
//! The differences of cable modems (RFC 8034) are in `docsis`.

mod config;
mod docsis;

pub use config::{Config, Protection, Variant};

use docsis::Docsis;

use l4s_units::{Duration, Ecn, Probability, Time};
use rand_core::Rng;

use crate::waiting::Fifo;
use crate::watch::mark;
use crate::{
    Backlog, Departure, DropCause, MTU, MarkCause, Packet, Qdisc, Queue, Redundancy, Signal, Watch,
};

/// Probability 1.
const ONE: u64 = u64::MAX >> 8;

/// Ticks of 64 ns in a second.
const TICKS_PER_S: u64 = 1_000_000_000 >> 6;

const fn ticks(ns: u64) -> u64 {
    ns >> 6
}

/// The state of PIE.
///
/// ```
/// use l4s_aqm::{Qdisc, pie};
/// use l4s_units::Probability;
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Duration, Ecn, Time};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
///
/// let mut aqm = pie::Discipline::new(pie::Config::rfc8033(), &mut rng);
/// for _ in 0..100 {
///     aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut ());
/// }
/// // A packet leaves after 40 ms, 25 ms above target.
/// let now = Time::ZERO + Duration::from_millis(40);
/// aqm.dequeue(now, &mut rng, &mut ());
/// assert_eq!(aqm.signal().unwrap().base, Probability::ZERO);
/// aqm.tick(now);
/// // (0.125 Hz · 25 ms + 1.25 Hz · 40 ms) / 2048, as auto-tuning has it below 10⁻⁶.
/// let p = aqm.signal().unwrap().base.as_f64();
/// assert!((p - 0.053125 / 2048.0).abs() < 1e-8, "{p}");
/// ```
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    config: Config,
    queue: Fifo<P>,
    control: Control,
}

impl<P: Packet> Discipline<P> {
    /// An empty queue, and probability 0.
    pub fn new(config: Config, _rng: &mut impl Rng) -> Self {
        Discipline { control: Control::new(&config), queue: Fifo::new(), config }
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut impl Rng, watch: &mut impl Watch<P>) {
        let mut refusal = self.config.limit.refuses(self.backlog(), &packet);
        if refusal.is_none() && self.control.hits(self.backlog(), packet.size().get(), rng) {
            // RFC 8033 §5.1: a mark instead, unless the probability is beyond the range of marks.
            let markable = self.config.ecn && self.control.p <= self.control.ecn_drop;
            if !(markable && mark(&mut packet, MarkCause::Classic, now, watch)) {
                refusal = Some(self.control.cause(packet.ecn(), self.config.ecn));
            }
        }
        match refusal {
            Some(cause) => {
                self.control.accumulated = 0;
                watch.dropped(packet, Queue::Q, cause, now);
            }
            None => self.queue.push(packet, now, false),
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        _: &mut impl Rng,
        _: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        let head = self.queue.pop()?;
        self.control.observe(head.arrival, now, self.queue.is_empty());
        Some(head.depart(now))
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        self.queue.evacuate()
    }

    fn inherit(&mut self, old: &Self) {
        self.control.inherit(&old.control);
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.control.due)
    }

    fn tick(&mut self, now: Time) {
        if let Some(msr) = self.control.docsis.msr {
            // RFC 8034 §4.2, for a token bucket without tokens.
            self.control.q = ticks(msr.time_of(self.backlog().bytes).as_nanos());
        }
        self.control.update(self.queue.is_empty(), now);
    }

    fn withdraw(&mut self, _: u32, redundancy: &mut impl Redundancy<P>) -> Option<(P, Queue)> {
        self.queue.withdraw(redundancy).map(|packet| (packet, Queue::Q))
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    #[inline]
    fn head(&self, _: Queue) -> Option<&P> {
        self.queue.head().map(|head| head.packet)
    }

    fn signal(&self) -> Option<Signal> {
        let p = Probability::from_raw((self.control.p.min(ONE) >> 24) as u32);
        Some(Signal { base: p, scalable: p, classic: p })
    }
}

/// The controller, and the state of its decisions.
#[derive(Clone, Debug)]
struct Control {
    /// The drop probability in 2⁻⁵⁶.
    p: u64,
    /// Probability accumulated since the last signal, likewise.
    accumulated: u64,
    /// The delay of the last packet that left, in ticks; 0 when it left the queue empty.
    q: u64,
    /// The delay at the last update.
    q_prev: u64,
    /// The rest of the burst allowance, in ticks.
    burst: u64,
    /// When the last packet left, in ticks.
    left_at: Option<u64>,
    /// When the next update is due.
    due: Time,

    target: u64,
    max_burst: u64,
    tupdate: Duration,
    /// The gains in 2⁻⁵⁶ per tick.
    gains: (u64, u64),
    /// Marks become drops above this, in 2⁻⁵⁶.
    ecn_drop: u64,
    bytemode: bool,
    /// The longest packet seen, or a full one of Ethernet: the MTU of the device (Linux).
    full: u64,
    /// Beyond this delay in ticks, 2 % more at each update.
    rise_above: u64,
    variant: Variant,
    docsis: Docsis,
}

impl Control {
    fn new(config: &Config) -> Control {
        let gain = |hz: f64| (hz * (ONE / TICKS_PER_S) as f64) as u64;
        let first = match config.variant {
            Variant::Rfc8033 | Variant::Docsis => config.tupdate,
            Variant::Linux => Duration::from_millis(500),
        };
        let max_burst = ticks(config.burst.as_nanos());
        let docsis = Docsis::new(config);
        Control {
            p: 0,
            accumulated: 0,
            q: 0,
            q_prev: 0,
            burst: if docsis.protection == Protection::States { 0 } else { max_burst },
            left_at: None,
            due: Time::ZERO + first,
            target: ticks(config.target.as_nanos()),
            max_burst,
            tupdate: config.tupdate,
            gains: (gain(config.alpha), gain(config.beta)),
            ecn_drop: ((config.ecn_drop * ONE as f64) as u64).min(ONE),
            bytemode: config.bytemode,
            full: MTU.get(),
            rise_above: config.rise_above.map_or(u64::MAX, |delay| ticks(delay.as_nanos())),
            variant: config.variant,
            docsis,
        }
    }

    /// It takes over the state of another controller, and continues at once.
    fn inherit(&mut self, old: &Control) {
        let Control { p, accumulated, q, q_prev, left_at, full, .. } = *old;
        let burst = old.burst.min(self.max_burst);
        let due = Time::ZERO + self.tupdate;
        let docsis = self.docsis.clone();
        *self = Control {
            p,
            accumulated,
            q,
            q_prev,
            burst,
            left_at,
            due,
            full,
            docsis,
            ..self.clone()
        };
    }

    /// Whether an arriving packet gets the signal (RFC 8033 §4.1); `backlog` is without it.
    #[inline]
    fn hits(&mut self, backlog: Backlog, size: u64, rng: &mut impl Rng) -> bool {
        if self.variant == Variant::Docsis {
            return self.hits_docsis(backlog, size, rng);
        }
        // RFC 8033 §4.4: a burst after an idle time is let through.
        let bursting = self.burst > 0;
        // RFC 8033 §4.1: nor does a short queue need a signal, or one of less than two packets.
        let short = self.q < self.target / 2 && self.p < ONE / 5;
        self.full = self.full.max(size);
        if bursting || short || backlog.bytes.get() < 2 * self.full {
            return false;
        }
        // Linux: small packets get it less often.
        let p = match self.bytemode {
            true => size * (self.p / self.full),
            false => self.p,
        };
        // RFC 8033 §5.4: signals keep a distance, neither too short nor too long.
        self.accumulated = if p == 0 { 0 } else { self.accumulated.saturating_add(p) };
        if self.accumulated < ONE / 100 * 85 {
            return false;
        }
        let certain = self.accumulated >= ONE / 2 * 17;
        let hit = certain || rng.next_u64() >> 8 < p;
        // Linux returns before it resets the sum: after a mark that was certain the next is certain
        // too, until a drop.
        if hit && !(certain && self.variant == Variant::Linux) {
            self.accumulated = 0;
        }
        hit
    }

    /// Why a packet is dropped that got the signal.
    fn cause(&self, ecn: Ecn, marking: bool) -> DropCause {
        match marking && ecn.is_capable() {
            true => DropCause::Overload,
            false => DropCause::Aqm,
        }
    }

    /// A packet that arrived at `arrival` leaves.
    #[inline]
    fn observe(&mut self, arrival: Time, now: Time, empty: bool) {
        let now = ticks(now.as_nanos());
        // A packet that leaves the queue empty shows that there is no queue (Linux).
        self.q = if empty { 0 } else { now.saturating_sub(ticks(arrival.as_nanos())) };
        if let Some(left_at) = self.left_at.filter(|_| self.variant != Variant::Docsis) {
            self.burst = self.burst.saturating_sub(now.saturating_sub(left_at));
        }
        self.left_at = Some(now);
    }

    /// The update of the probability (RFC 8033 §4.2).
    fn update(&mut self, empty: bool, now: Time) {
        self.due = now + self.tupdate;
        if self.variant == Variant::Docsis {
            return self.update_docsis();
        }
        let (q, q_prev) = (self.q, self.q_prev);
        let (alpha, beta) = self.tuned_gains();
        let ahead = |gain: u64, a: u64, b: u64| {
            i128::from(gain).saturating_mul(i128::from(a) - i128::from(b))
        };
        let mut delta = ahead(alpha, q, self.target).saturating_add(ahead(beta, q, q_prev));
        // RFC 8033 §5.5: beyond 10 %, not too fast.
        const TWO_PERCENT: i128 = (ONE / 50) as i128;
        if delta > TWO_PERCENT && self.p >= ONE / 10 {
            delta = i128::from(ONE / 100) * 2;
        }
        // Linux: a quarter of a second is too much.
        if q > self.rise_above {
            delta = delta.saturating_add(TWO_PERCENT);
        }
        // Linux notices that the probability is too high only where 64 bits overflow.
        let (highest, when_above) = match self.variant {
            Variant::Rfc8033 | Variant::Docsis => (ONE, ONE),
            Variant::Linux => (u64::MAX, ONE),
        };
        let p = i128::from(self.p).saturating_add(delta).max(0);
        let above = p > i128::from(highest);
        self.p = if above { when_above } else { p as u64 };
        // RFC 8033 §4.2: decay while idle. Zero delay with a backlog is a queue of a packet or so.
        if q == 0 && q_prev == 0 && empty && !above {
            self.p -= self.p / 64;
        }
        // RFC 8033 §4.4: a new burst is allowed once there was no congestion for two updates.
        if q < self.target / 2 && q_prev < self.target / 2 && self.p == 0 {
            self.burst = self.max_burst;
            self.accumulated = 0;
            self.left_at = None;
        }
        self.q_prev = q;
    }

    /// The gains in proportion to the probability (RFC 8033 §4.2): half below 10 %, and a quarter
    /// of that for every further power of ten down to 10⁻⁶.
    fn tuned_gains(&self) -> (u64, u64) {
        let mut shift = 0;
        if self.p < ONE / 10 {
            shift = 1;
            let mut power = 100;
            while self.p < ONE / power && power <= 1_000_000 {
                shift += 2;
                power *= 10;
            }
        }
        (self.gains.0 >> shift, self.gains.1 >> shift)
    }
}

#[cfg(test)]
mod tests;
