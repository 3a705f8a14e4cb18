//! A hint to the processor about memory that is not the arena's: what will be read soon is asked for now.

/// A cache line of an x86-64.
const LINE_BYTES: usize = 64;

/// Asks for the first `bytes` bytes of a value, in whole cache lines, or for all of it if it has fewer. The value
/// must be of a type that begins with a line: `#[repr(align(64))]`.
#[inline(always)]
pub fn bring_near<T>(value: &T, bytes: usize) {
    const { assert!(align_of::<T>() >= LINE_BYTES, "its last line would be missed") };
    let at = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..bytes.min(size_of::<T>())).step_by(LINE_BYTES) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch is a hint that never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(offset)) };
        }
        #[cfg(any(not(target_arch = "x86_64"), miri))]
        let _ = (at, offset);
    }
}
