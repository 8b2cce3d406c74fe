//! The gains of the PI controller in fixed point.

use l4s_units::{Duration, Probability};

l4s_units::words! {
    /// How a gain in hertz becomes an integer.
    ///
    /// Example: [`Gain`].
    Arithmetic {
        /// As precisely as 64 bits allow: the error is below 10⁻⁹ of any usable gain.
        Exact = "exact",
        /// As Linux: the user's value is cut to 1/256 Hz and then to 2⁻³² per 64 ns. The default
        /// gains 0.16 and 3.2 become 0.160071 and 3.197783.
        Linux = "linux",
    }
}

/// A gain: how much probability a delay is worth.
///
/// `scaled / 2^shift` units of 2⁻³² per nanosecond.
///
/// ```
/// use l4s_aqm::dualpi2::{Arithmetic, Gain};
///
/// // `alpha 41` of `tc` is 41/256 Hz. In the integers of Linux it applies as a bit less.
/// let [exact, linux] = [Arithmetic::Exact, Arithmetic::Linux].map(|how| Gain::new(41.0 / 256.0, how));
/// assert!((exact.effective_hz() - 0.160156).abs() < 1e-6);
/// assert!((linux.effective_hz() - 0.160071).abs() < 1e-6);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gain {
    pub(super) scaled: u64,
    pub(super) shift: u32,
}

impl Gain {
    /// Linux' unit is 64 ns.
    const LINUX_SHIFT: u32 = 6;
    /// With 32 bits of fraction a gain of 100 kHz is 2⁵¹: a product with an hour in nanoseconds
    /// (2⁴²) fits 128 bits with room for a sum.
    const EXACT_SHIFT: u32 = 32;

    /// The gain of `hz` probability per second of delay and per update.
    pub fn new(hz: f64, arithmetic: Arithmetic) -> Gain {
        match arithmetic {
            Arithmetic::Exact => {
                let per_ns = hz * f64::from(u32::MAX) / 1e9;
                Gain {
                    scaled: (per_ns * (1u64 << Self::EXACT_SHIFT) as f64).round() as u64,
                    shift: Self::EXACT_SHIFT,
                }
            }
            Arithmetic::Linux => {
                // A value meant as a whole 1/256, such as 0.3 / 0.2 Hz, may be a bit short of it.
                let in_256ths = (hz * 256.0 + 1e-6) as u64;
                let scaled = in_256ths * u64::from(u32::MAX >> 2) / 1_000_000_000;
                Gain { scaled, shift: Self::LINUX_SHIFT }
            }
        }
    }

    /// The gain that really applies, in hertz.
    pub fn effective_hz(self) -> f64 {
        self.scaled as f64 / (1u64 << self.shift) as f64 * 1e9 / f64::from(u32::MAX)
    }

    /// The value that `tc qdisc show` prints: scaled back with a second rounding, in 1/256 Hz.
    pub fn tc_hz(self) -> f64 {
        let back = u128::from(self.scaled) * 1_000_000_000 / u128::from(u32::MAX >> 2);
        (back >> (self.shift - Self::LINUX_SHIFT)) as f64 / 256.0
    }

    /// Whether it is too small to have any effect.
    pub fn is_zero(self) -> bool {
        self.scaled == 0
    }
}

/// The change of the probability at a PI update, in units of 2⁻³² (DCttH Algorithm 3):
/// α·(q − target) + β·(q − q_prev).
///
/// Both gains have the same shift. The magnitude is rounded towards zero, as Linux does.
pub(super) fn pi_delta(
    (alpha, beta): (Gain, Gain),
    q: Duration,
    target: Duration,
    q_prev: Duration,
) -> i128 {
    let difference = |a: Duration, b: Duration| i128::from(a.as_nanos()) - i128::from(b.as_nanos());
    // 65 bits of time by 64 bits of gain exceed 128 bits only for delays of centuries.
    let integral = difference(q, target).saturating_mul(i128::from(alpha.scaled));
    let proportional = difference(q, q_prev).saturating_mul(i128::from(beta.scaled));
    integral.saturating_add(proportional) / (1i128 << alpha.shift)
}

/// `max_rtt` and `typical_rtt` as controller settings, as `tc … max_rtt` derives them
/// (RFC 9332 §A.1, iproute2).
pub(super) struct Derived {
    pub target: Duration,
    pub tupdate: Duration,
    pub alpha: f64,
    pub beta: f64,
}

impl Derived {
    /// From one or both: typical = max / 6, max = 6 · typical.
    pub fn from_rtts(max: Option<Duration>, typical: Option<Duration>) -> Option<Derived> {
        let (max, typical) = match (max, typical) {
            (Some(max), Some(typical)) => (max, typical),
            (Some(max), None) => (max, max / 6),
            (None, Some(typical)) => (typical * 6, typical),
            (None, None) => return None,
        };
        let tupdate = typical.min(max / 3);
        let max_s = max.as_secs_f64();
        Some(Derived {
            target: typical,
            tupdate,
            alpha: 0.1 * tupdate.as_secs_f64() / (max_s * max_s),
            beta: 0.3 / max_s,
        })
    }
}

/// `p²`, as the product of two independent draws would have it.
#[inline]
pub(super) const fn squared(p: Probability) -> Probability {
    let p = p.raw() as u64;
    Probability::from_raw(((p * p) >> 32) as u32)
}
