//! A link whose rate is log-normal, with a memory: `lte` and `5g`.
//!
//! The logarithm of the rate is a stationary Gaussian process. A part a of its variance is a Gauss-Markov
//! process of time constant τ, and the rest is independent from step to step. Four published numbers
//! give all its constants: the mean, the coefficient of variation, and the autocorrelation at two lags.
//! With c the coefficient of variation and s² = ln(1 + c²), a log-normal rate has the autocorrelation
//! r = (e^(s²ρ) − 1)/c² where its logarithm has ρ (moments of the log-normal distribution). So
//! ρ = ln(1 + r c²)/s², and a e^(−t/τ) = ρ at both lags gives a and τ.

use l4s_units::Duration;

use super::even;
use crate::Step;
use crate::random::Stream;

/// The statistics that a link has.
pub(super) struct Fading {
    /// The time of a rate.
    step: Duration,
    /// The mean rate in Mb/s.
    mean: f64,
    /// The standard deviation over the mean.
    variation: f64,
    /// The autocorrelation of the rate at two lags in seconds.
    near: (f64, f64),
    far: (f64, f64),
}

/// K. Winstein, A. Sivaraman, H. Balakrishnan: "Stochastic Forecasts Achieve High Throughput and Low Delay over
/// Cellular Networks", NSDI 2013; the trace `traces/TMobile-LTE-driving.down` of github.com/ravinet/mahimahi,
/// 474.6 s at full load. The numbers are its [`crate::Statistics`]: mean, variation and autocorrelation over
/// windows of 100 ms. Its percentiles are nearly log-normal: at 50, 75, 95 and 99 % it has 10.1, 18.2, 33.4 and
/// 53.8 Mb/s, and the model 9.6, 16.0, 33.5 and 56.3 Mb/s. Below 100 ms the model has no variation.
pub(super) const LTE: Fading = Fading {
    step: Duration::from_millis(100),
    mean: 12.80,
    variation: 0.886,
    near: (0.1, 0.832),
    far: (5.0, 0.380),
};

/// B. Hu and others: "LEO Satellite vs. Cellular Networks: Exploring the Potential for Synergistic Integration",
/// CoNEXT Companion 2023, <https://doi.org/10.1145/3624354.3630588>; the file
/// `3-Thrpt-Comp/UDP/Downlink/vz_all.csv` of github.com/Starlink-Project/Satellite-vs-Cellular: 35,425 seconds of
/// UDP downloads over Verizon, in 56 runs of at least 30 consecutive seconds. It does not say when the phone fell back to LTE. Its
/// percentiles are nearly log-normal: at 50, 75 and 95 % it has 82, 169 and 298 Mb/s, and the model 82, 138 and
/// 292 Mb/s. It has a value per second, and so has the model: the sources have no variation below that.
pub(super) const FIVE_G: Fading = Fading {
    step: Duration::from_secs(1),
    mean: 110.9,
    variation: 0.899,
    near: (1.0, 0.956),
    far: (10.0, 0.812),
};

impl Fading {
    /// The variance of the logarithm.
    fn log_variance(&self) -> f64 {
        libm::log(1.0 + self.variation * self.variation)
    }

    /// The correlation of the logarithm where that of the rate is `r`.
    fn log_correlation(&self, r: f64) -> f64 {
        libm::log(1.0 + r * self.variation * self.variation) / self.log_variance()
    }

    /// The part of the variance with a memory, and its time constant in seconds.
    fn memory(&self) -> (f64, f64) {
        let (near, far) = (self.log_correlation(self.near.1), self.log_correlation(self.far.1));
        let tau = (self.far.0 - self.near.0) / libm::log(near / far);
        (near * libm::exp(self.near.0 / tau), tau)
    }

    /// The rates of a trace.
    pub fn steps(
        &self,
        mut stream: Stream,
        length: Duration,
    ) -> impl Iterator<Item = Step> + use<> {
        let variance = self.log_variance();
        let (part, tau) = self.memory();
        let kept = libm::exp(-self.step.as_secs_f64() / tau);
        let (slow, fast) = ((variance * part).sqrt(), (variance * (1.0 - part)).sqrt());
        let middle = libm::log(self.mean) - variance / 2.0;
        let fresh = (1.0 - kept * kept).sqrt();
        let mut state = stream.normal();
        even(self.step, length, move |_| {
            let rate = libm::exp(middle + slow * state + fast * stream.normal());
            state = kept * state + fresh * stream.normal();
            rate
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_of_the_process_follow_from_the_statistics() {
        // LTE: s² = ln(1 + 0.886²) = 0.57942; ρ(0.1 s) = ln(1 + 0.832 · 0.785)/s² = 0.86753 and
        // ρ(5 s) = ln(1 + 0.38 · 0.785)/s² = 0.45055. τ = 4.9/ln(0.86753/0.45055) = 7.479 s,
        // and a = 0.86753 · e^(0.1/7.479) = 0.87921.
        assert!((LTE.log_variance() - 0.57942).abs() < 1e-5);
        let (part, tau) = LTE.memory();
        assert!((part - 0.87921).abs() < 1e-5 && (tau - 7.479).abs() < 1e-3, "{part} {tau}");
        let (part, tau) = FIVE_G.memory();
        assert!(part < 1.0 && tau > 10.0, "{part} {tau}");
    }
}
