//! Random streams by name, so that adding a component never shifts the chances of another.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The generator of every random stream.
pub type Stream = Xoshiro256PlusPlus;

/// The stream `name` of the run with this seed.
pub fn stream(seed: u64, name: &str) -> Stream {
    // FNV-1a of the name distinguishes streams; the generator's own seeding mixes the rest.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Stream::seed_from_u64(seed ^ hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        let first = |seed, name| stream(seed, name).next_u64();
        assert_eq!(first(1, "aqm"), first(1, "aqm"));
        assert_ne!(first(1, "aqm"), first(1, "hash"));
        assert_ne!(first(1, "aqm"), first(2, "aqm"));
    }
}
