//! Asks the processor for memory ahead of its use.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Asks for the memory of a value. It changes nothing but time.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    let begin: *const T = value;
    for offset in (0..size_of::<T>()).step_by(LINE) {
        line(begin.cast::<i8>().wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn line(address: *const i8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of SSE, which every x86-64 has. It gives no value, and no address is a fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// Other processors were not measured.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn line(_: *const i8) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of any size and place are asked for, also of none, and do not change. Miri runs it.
    #[test]
    fn values_do_not_change() {
        let bytes: Vec<u8> = (0..=255).collect();
        prefetch(&());
        prefetch(&bytes);
        bytes.iter().for_each(prefetch);
        prefetch(&[7u8; 200]);
        assert!(bytes.iter().copied().eq(0..=255));
    }
}
