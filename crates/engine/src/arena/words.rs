//! Where an offset becomes memory: here, and by the same rules in the copyable handle on it (`mem.rs`).
//!
//! Another process may write to the arena at any moment, so no Rust reference to plain data is
//! ever formed over it: a word is reached as an atomic, and bytes are copied word by word (see
//! `bytes.rs`). Every offset is cut to what the mapping reserves (see `map.rs`; in a model, checked
//! against its length). A wrong offset is therefore a wrong value, a fault or a panic, never an
//! access outside of the arena.
//!
//! [`Words`] is what a reader may do, attached with a read-only mapping or not; the words that may
//! be stored to are reached through [`super::Arena`] alone.

use super::layout::Layout;
#[cfg(not(any(shuttle, loom, miri)))]
use super::layout::REACH;
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
use super::layout::RUN_MAX;
use crate::sync::atomics::{AtomicU32, AtomicU64, Ordering};
use std::ptr::NonNull;

/// The readable words of a mapped arena.
#[derive(Debug)]
pub struct Words {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory behind it is only ever touched by atomics, from any thread.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// # Safety
    /// `base` must be aligned to 4096 and be the start of a mapping that outlives the result, of
    /// `layout::REACH + layout::RUN_MAX` readable bytes (in a model or under Miri: of
    /// `layout.len`).
    pub(super) unsafe fn new(base: NonNull<u8>, layout: Layout) -> Words {
        Words { base, layout }
    }

    #[cfg(not(any(shuttle, loom, miri)))]
    #[inline(always)]
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    #[inline(always)]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The word at an offset, which is rounded down to a multiple of eight.
    #[inline(always)]
    pub(super) fn word64(&self, offset: u64) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8), "offset {offset:#x} is not that of a u64");
        let at = self.place(offset & !7).cast::<u64>();
        // SAFETY: `place` gives an address within the mapping, which ends at a multiple of eight
        // and lives as long as `self`; the address is aligned; all access is atomic.
        unsafe { AtomicU64::from_ptr(at) }
    }

    /// The word at an offset, which is rounded down to a multiple of four.
    #[inline(always)]
    pub(super) fn word32(&self, offset: u64) -> &AtomicU32 {
        debug_assert!(offset.is_multiple_of(4), "offset {offset:#x} is not that of a u32");
        let at = self.place(offset & !3).cast::<u32>();
        // SAFETY: as in `word64`, with four bytes.
        unsafe { AtomicU32::from_ptr(at) }
    }

    /// The address of an offset, cut to what the mapping reserves.
    #[cfg(not(any(shuttle, loom, miri)))]
    #[inline(always)]
    fn place(&self, offset: u64) -> *mut u8 {
        self.base.as_ptr().wrapping_add((offset & (REACH - 1)) as usize)
    }

    /// The address of an offset; memory of a model or under Miri is no larger than it must be.
    #[cfg(any(shuttle, loom, miri))]
    fn place(&self, offset: u64) -> *mut u8 {
        assert!(offset < self.layout.len, "offset outside of the arena");
        self.base.as_ptr().wrapping_add(offset as usize)
    }

    /// The words that `len` bytes at an offset lie in, all of them checked at once.
    #[inline(always)]
    pub(super) fn words_of(&self, offset: u64, len: usize) -> &[AtomicU64] {
        let end = offset.checked_add(len as u64);
        assert!(end.is_some_and(|end| end <= self.layout.len), "bytes outside of the arena");
        let count = if len == 0 { 0 } else { ((offset as usize & 7) + len).div_ceil(8) };
        let at = self.base.as_ptr().wrapping_add(offset as usize & !7).cast::<AtomicU64>();
        // SAFETY: the length of the mapping is a multiple of eight, so with the bytes all of their
        // words lie within it; it lives as long as `self`; `at` is aligned; a slice of atomics
        // promises nothing about who else stores to them.
        unsafe { std::slice::from_raw_parts(at, count) }
    }

    /// The bytes at an offset, as they lie there.
    ///
    /// # Safety
    /// Nobody may store to them while the result lives: they are the value of a string, in a block that
    /// the caller keeps from being changed in place and from being freed. Attached processes map the
    /// arena read-only.
    pub unsafe fn lent(&self, offset: u64, len: usize) -> &[u8] {
        let end = offset.checked_add(len as u64);
        assert!(end.is_some_and(|end| end <= self.layout.len), "bytes outside of the arena");
        let at = self.base.as_ptr().wrapping_add(offset as usize);
        // SAFETY: the bytes lie within the mapping, which lives as long as `self`, and the caller
        // promises that they stay as they are.
        unsafe { std::slice::from_raw_parts(at, len) }
    }

    /// Room of `len` bytes at an offset, for the kernel to store to.
    ///
    /// # Safety
    /// The bytes lie in a block that is the caller's alone while the result lives, which must not
    /// be read: late readers of the block's former item may still load from it.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn room(&self, offset: u64, len: usize) -> &mut [u8] {
        let end = offset.checked_add(len as u64);
        assert!(end.is_some_and(|end| end <= self.layout.len), "bytes outside of the arena");
        let at = self.base.as_ptr().wrapping_add(offset as usize);
        // SAFETY: the bytes lie within the mapping, which lives as long as `self` and is filled
        // with something from the beginning; the caller promises that nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(at, len) }
    }

    /// Where `len` bytes at an offset begin, cut to what the mapping reserves (see `map.rs`).
    #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
    #[inline(always)]
    pub(super) fn run(&self, offset: u64, len: usize) -> *mut u8 {
        assert!(len as u64 <= RUN_MAX, "more bytes than any value has");
        self.place(offset)
    }

    /// Loads a word. Over a read-only mapping Rust promises a meaning to relaxed loads only; a
    /// reader that needs more follows them with a fence.
    #[inline(always)]
    pub fn load64(&self, offset: u64, ordering: Ordering) -> u64 {
        self.word64(offset).load(ordering)
    }

    /// As [`Words::load64`].
    #[inline(always)]
    pub fn load32(&self, offset: u64, ordering: Ordering) -> u32 {
        self.word32(offset).load(ordering)
    }

    /// Tells the processor that the line at an offset is wanted soon. Any offset is harmless.
    #[inline(always)]
    pub fn prefetch(&self, offset: u64) {
        let at = self.base.as_ptr().wrapping_add(offset as usize);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch is a hint that never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
        }
        #[cfg(any(not(target_arch = "x86_64"), miri))]
        let _ = at;
    }
}
