//! Whether two texts are the same, in sixteen digits.

use std::fmt;

/// The FNV-1a hash of the written bytes: the same on every machine and in every version.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    fn add(&mut self, bytes: &[u8]) {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
    }
}

impl fmt::Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Fingerprint {
    /// In sixteen digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The FNV-1a hash of bytes.
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add(bytes);
    fingerprint.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn what_is_written_in_pieces_has_the_fingerprint_of_the_whole() {
        let mut pieces = Fingerprint::default();
        let b = "b";
        write!(pieces, "a{b}c").unwrap();
        assert_eq!(pieces.to_string(), fingerprint(b"abc"));
    }
}
