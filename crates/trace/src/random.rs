//! Random numbers that are the same on every machine, from streams with names.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A random stream.
pub(crate) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream `name` of a seed. Each byte of the name makes a seed of the one before, so streams of
    /// other names or seeds have nothing in common.
    pub fn new(seed: u64, name: &str) -> Stream {
        let seeded = Xoshiro256PlusPlus::seed_from_u64;
        let mixed = name.bytes().fold(seed, |seed, byte| seeded(seed ^ u64::from(byte)).next_u64());
        Stream(seeded(mixed))
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n, for n below 2³²: the high half of a product, whose bias is below n/2⁶⁴.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Of the standard normal distribution (Box and Muller, "A Note on the Generation of Random Normal
    /// Deviates", 1958). `libm` makes it the same on every machine.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        let first = |seed, name| Stream::new(seed, name).0.next_u64();
        assert_eq!(first(1, "lte"), first(1, "lte"));
        assert_ne!(first(1, "lte"), first(2, "lte"));
        assert_ne!(first(1, "lte"), first(1, "etl"));
        assert_ne!(first(1, ""), first(1, "a"));
    }

    #[test]
    fn deviates_have_mean_0_and_variance_1() {
        let mut stream = Stream::new(1, "normal");
        let values: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let square = values.iter().map(|value| value * value).sum::<f64>() / 1e5;
        // The standard errors are 1/√10⁵ = 0.0032 and √(2/10⁵) = 0.0045.
        assert!(mean.abs() < 0.013 && (square - 1.0).abs() < 0.018, "{mean} {square}");
        // 4.55 % are beyond 2, with a standard error of 0.066 %.
        let beyond = values.iter().filter(|value| value.abs() > 2.0).count() as f64 / 1e5;
        assert!((beyond - 0.0455).abs() < 0.0027, "{beyond}");
    }
}
