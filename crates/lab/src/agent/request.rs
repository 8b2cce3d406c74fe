//! The request of a client: as long as a short HTTP request, with the size that it fetches.

/// Bytes of a request.
pub(super) const LENGTH: usize = 100;

/// A size without end.
const ENDLESS: u64 = u64::MAX;

/// The request for this number of bytes; `None` without end.
pub(super) fn asking_for(size: Option<u64>) -> [u8; LENGTH] {
    let mut request = [0; LENGTH];
    request[..8].copy_from_slice(&size.unwrap_or(ENDLESS).to_be_bytes());
    request
}

/// A request on its way in.
#[derive(Clone, Debug)]
pub(super) struct Request {
    bytes: [u8; LENGTH],
    read: usize,
}

impl Request {
    /// Before its first byte.
    pub fn new() -> Request {
        Request { bytes: [0; LENGTH], read: 0 }
    }

    /// Takes received bytes; bytes beyond a request are ignored.
    pub fn take(&mut self, bytes: &[u8]) {
        let rest = &mut self.bytes[self.read..];
        let n = rest.len().min(bytes.len());
        rest[..n].copy_from_slice(&bytes[..n]);
        self.read += n;
    }

    /// How much is asked for, once all of it is there; `Some(None)` is without end.
    pub fn size(&self) -> Option<Option<u64>> {
        let size = u64::from_be_bytes(*self.bytes.first_chunk()?);
        (self.read == LENGTH).then(|| Some(size).filter(|size| *size != ENDLESS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_how_much_however_it_is_cut() {
        for size in [None, Some(0), Some(1_000_000)] {
            let sent = asking_for(size);
            for cut in 0..LENGTH {
                let mut request = Request::new();
                request.take(&sent[..cut]);
                assert_eq!(request.size(), None);
                request.take(&sent[cut..]);
                assert_eq!(request.size(), Some(size));
                request.take(&[1; 3]);
                assert_eq!(request.size(), Some(size));
            }
        }
    }
}
