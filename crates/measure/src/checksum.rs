//! Whether bytes are still those that were written.

use std::fmt;

/// The FNV-1a hash, taken as bytes come. It finds damage, not forgery: each step is a bijection of
/// the hash, so that no single byte can change unseen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Checksum(u64);

impl Checksum {
    pub const fn new() -> Self {
        Checksum(0xcbf2_9ce4_8422_2325)
    }

    /// Of all of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = Checksum::new();
        sum.update(bytes);
        sum
    }

    pub fn update(&mut self, bytes: &[u8]) {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_is_fnv_1a() {
        // http://www.isthe.com/chongo/tech/comp/fnv/: the vectors of "" and "foobar".
        assert_eq!(Checksum::of(b"").to_string(), "cbf29ce484222325");
        assert_eq!(Checksum::of(b"foobar").to_string(), "85944171f73967e8");
    }

    proptest! {
        #[test]
        fn any_change_of_a_byte_is_seen(
            mut bytes in prop::collection::vec(any::<u8>(), 1..500), at: prop::sample::Index,
            flip in 1u8..,
        ) {
            let before = Checksum::of(&bytes);
            let at = at.index(bytes.len());
            let mut parts = Checksum::new();
            parts.update(&bytes[..at]);
            parts.update(&bytes[at..]);
            prop_assert_eq!(parts, before);
            bytes[at] ^= flip;
            prop_assert_ne!(Checksum::of(&bytes), before);
        }
    }
}
