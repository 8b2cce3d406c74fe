//! Buffers of packets, used again and again.
//!
//! A buffer is allocated when more packets are on their way than ever before, and goes back to the
//! pool when its packet is gone. So after a while nothing is allocated, and memory stays at the size of
//! the longest queue.

use core::ops::{Deref, DerefMut};

/// Room for one packet, and the header that a device may put in front of it.
#[derive(PartialEq, Eq, Debug)]
pub struct Buffer(Box<[u8]>);

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Buffers of one size.
#[derive(Debug)]
pub struct Pool {
    free: Vec<Buffer>,
    size: usize,
    /// How many are out.
    out: usize,
    /// How many may be out at most.
    most: usize,
}

impl Pool {
    /// Buffers of `size` bytes. At most `most` of them hold packets. None is allocated yet.
    pub fn new(size: usize, most: usize) -> Pool {
        Pool { free: Vec::new(), size, out: 0, most }
    }

    /// A buffer to read into. Its bytes are not cleared.
    #[inline]
    pub fn take(&mut self) -> Buffer {
        self.out += 1;
        self.free.pop().unwrap_or_else(|| self.allocate())
    }

    /// Takes a buffer back.
    #[inline]
    pub fn give(&mut self, buffer: Buffer) {
        debug_assert_eq!(buffer.len(), self.size);
        self.out -= 1;
        self.free.push(buffer);
    }

    /// Whether more buffers are out than may hold packets: the last one should come back empty.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.out > self.most
    }

    /// Bytes of each.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many are out.
    pub fn out(&self) -> usize {
        self.out
    }

    #[cold]
    fn allocate(&mut self) -> Buffer {
        // The list must hold every buffer that there is without growing when they come back.
        self.free.reserve(self.out);
        Buffer(vec![0; self.size].into_boxed_slice())
    }
}
