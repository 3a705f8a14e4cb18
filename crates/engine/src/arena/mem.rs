//! A copyable handle on the words of an arena, for the index and the items.
//!
//! It carries the mapping's start by value: behind a reference it would be loaded again for every
//! word, since an acquiring load lets the compiler assume nothing about memory. There is no bounds
//! check: an offset is cut to what the mapping reserves (`layout::REACH`), all of which can be
//! loaded from. A wrong offset is therefore a wrong value, or a fault if it is stored to, never an
//! access to memory that is not the arena's.

use super::bytes::Frame;
#[cfg(not(any(shuttle, loom, miri)))]
use super::layout::INNER_BYTES;
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
use super::layout::RUN_MAX;
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
use super::unaligned::{Destination, Source};
use super::words::Words;
use crate::sync::atomics::{AtomicU32, AtomicU64};
use std::mem::MaybeUninit;

/// Stores through it are for the process that owns the arena: over a read-only mapping they
/// fault, and no path of a reader has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mem<'a> {
    #[cfg(not(any(shuttle, loom, miri)))]
    base: std::ptr::NonNull<u8>,
    words: &'a Words,
}

#[cfg(not(any(shuttle, loom, miri)))]
impl<'a> Mem<'a> {
    #[inline(always)]
    pub fn new(words: &'a Words) -> Mem<'a> {
        Mem { base: words.base(), words }
    }

    #[inline(always)]
    pub fn u64_at(self, at: usize) -> &'a AtomicU64 {
        debug_assert!(at.is_multiple_of(8), "offset {at:#x} is not that of a u64");
        let word = self.place(at & !7).cast::<u64>();
        // SAFETY: all eight bytes lie within the reservation, which lives as long as the words;
        // the address is aligned; all access is atomic.
        unsafe { AtomicU64::from_ptr(word) }
    }

    #[inline(always)]
    pub fn u32_at(self, at: usize) -> &'a AtomicU32 {
        debug_assert!(at.is_multiple_of(4), "offset {at:#x} is not that of a u32");
        let word = self.place(at & !3).cast::<u32>();
        // SAFETY: as in `u64_at`, with four bytes.
        unsafe { AtomicU32::from_ptr(word) }
    }

    /// The word `offset` bytes behind `at`. Of several words of one place only the first pays for the
    /// cut, and a constant offset costs nothing.
    #[inline(always)]
    pub fn u64_in(self, at: usize, offset: usize) -> &'a AtomicU64 {
        debug_assert!((at | offset).is_multiple_of(8) && offset < INNER_BYTES);
        let near = self.place(at & !7);
        let word = near.wrapping_add(offset & (INNER_BYTES - 8)).cast::<u64>();
        // SAFETY: `near` lies within the reach, and behind that the reservation goes on for longer
        // than the offset was cut to, as long as the words live; the address is aligned; all access
        // is atomic.
        unsafe { AtomicU64::from_ptr(word) }
    }

    /// As `u64_in`, of four bytes.
    #[inline(always)]
    pub fn u32_in(self, at: usize, offset: usize) -> &'a AtomicU32 {
        debug_assert!((at | offset).is_multiple_of(4) && offset < INNER_BYTES);
        let near = self.place(at & !3);
        let word = near.wrapping_add(offset & (INNER_BYTES - 4)).cast::<u32>();
        // SAFETY: as in `u64_in`, with four bytes.
        unsafe { AtomicU32::from_ptr(word) }
    }

    #[inline(always)]
    fn place(self, at: usize) -> *mut u8 {
        const MASK: usize = super::layout::REACH as usize - 1;
        self.base.as_ptr().wrapping_add(at & MASK)
    }

    /// Whether these bytes may be loaded: all that a reference can lead to may.
    #[inline(always)]
    pub fn may_load(self, _at: usize, _len: usize) -> bool {
        true
    }
}

/// In a model and under Miri memory is no larger than it must be, and words are asked for one by
/// one.
#[cfg(any(shuttle, loom, miri))]
impl<'a> Mem<'a> {
    pub fn new(words: &'a Words) -> Mem<'a> {
        Mem { words }
    }

    pub fn u64_at(self, at: usize) -> &'a AtomicU64 {
        self.words.word64(at as u64)
    }

    pub fn u32_at(self, at: usize) -> &'a AtomicU32 {
        self.words.word32(at as u64)
    }

    pub fn u64_in(self, at: usize, offset: usize) -> &'a AtomicU64 {
        self.u64_at(at + offset)
    }

    pub fn u32_in(self, at: usize, offset: usize) -> &'a AtomicU32 {
        self.u32_at(at + offset)
    }

    pub fn may_load(self, at: usize, len: usize) -> bool {
        self.contains(at, len)
    }
}

impl<'a> Mem<'a> {
    /// The bytes at `at`, as they lie there.
    ///
    /// # Safety
    /// As for [`Words::lent`].
    pub unsafe fn lent(self, at: usize, len: usize) -> &'a [u8] {
        // SAFETY: the caller promises what `Words::lent` asks for.
        unsafe { self.words.lent(at as u64, len) }
    }

    /// Room for the kernel to store to.
    ///
    /// # Safety
    /// As for [`Words::room`].
    pub unsafe fn room(self, at: usize, len: usize) -> &'a mut [u8] {
        // SAFETY: the caller promises what `Words::room` asks for.
        unsafe { self.words.room(at as u64, len) }
    }
}

impl Mem<'_> {
    /// Whether `len` bytes at `at` lie within the arena (and not in its first page, which holds
    /// no block and no segment).
    pub fn contains(self, at: usize, len: usize) -> bool {
        let limit = self.words.layout().len as usize;
        at >= 4096 && at < limit && len <= limit - at
    }

    /// Whether the bytes at `at` are these.
    #[inline(always)]
    pub fn bytes_equal(self, at: usize, bytes: &[u8]) -> bool {
        self.words.bytes_equal(at as u64, bytes)
    }

    /// Stores bytes at any offset into a block that the caller owns.
    #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
    #[inline(always)]
    pub fn store_unaligned(self, at: usize, bytes: &[u8]) {
        self.words.store_unaligned(at as u64, bytes);
    }

    /// The same, `offset` bytes behind `at`, where the block begins: cut to the reach once for all of
    /// its parts.
    #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
    #[inline(always)]
    pub fn store_unaligned_in(self, at: usize, offset: usize, bytes: &[u8]) {
        assert!(bytes.len() <= INNER_BYTES, "longer items are stored part by part");
        let start = self.place(at).wrapping_add(offset & (INNER_BYTES - 1));
        // SAFETY: `place` lies within the reach, and behind that the reservation goes on for longer than
        // offset and length together, as long as the words live; the caller owns the block.
        let to = unsafe { Destination::new(start, bytes.len()) };
        to.store(bytes);
    }

    /// Stores bytes at any offset into a block whose readers have been told to wait.
    #[inline]
    pub fn store_bytes(self, at: usize, bytes: &[u8]) {
        #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
        self.words.store_unaligned(at as u64, bytes);
        #[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
        self.words.store_bytes(at as u64, bytes);
    }

    /// Stores the bytes at `from` at `to`, in another block, which nobody can see yet. Of the first nobody changes a
    /// byte meanwhile: the caller has the lock of its shard.
    pub fn copy_across(self, from: usize, to: usize, len: usize) {
        #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
        self.words.copy_across(from as u64, to as u64, len);
        #[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
        self.words.copy_across_in_pieces(from as u64, to as u64, len);
    }

    #[inline(always)]
    pub fn copy_out(self, at: usize, len: usize, out: &mut Vec<u8>) {
        self.words.copy_out(at as u64, len, out);
    }
}

/// Bytes of an item: `offset` bytes behind `at`, where the item is.
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
impl<'a> Mem<'a> {
    #[inline(always)]
    fn source_in(self, at: usize, offset: usize, len: usize) -> Source<'a> {
        // All that a header's 32 bits can say may be asked for.
        const LEN_MAX: u64 = RUN_MAX - INNER_BYTES as u64;
        const _: () = assert!(LEN_MAX >= u32::MAX as u64);
        assert!(len as u64 <= LEN_MAX, "more bytes than any value has");
        let start = self.place(at).wrapping_add(offset & (INNER_BYTES - 1));
        // SAFETY: `place` lies within the reach, and behind that the reservation goes on for the
        // longest offset and the longest length together, as long as the words live.
        unsafe { Source::new(start, len) }
    }

    /// Whether these bytes are `bytes`.
    #[inline(always)]
    pub fn bytes_equal_in(self, at: usize, offset: usize, bytes: &[u8]) -> bool {
        self.source_in(at, offset, bytes.len()).is(bytes)
    }

    /// A bit for each of the sixteen bytes at `at` that is `byte`.
    #[inline(always)]
    pub fn equal_bytes(self, at: usize, byte: u8) -> u32 {
        self.source_in(at, 0, 16).equal16(byte)
    }

    #[inline(always)]
    pub fn copy_out_in(self, at: usize, offset: usize, len: usize, out: &mut Vec<u8>) {
        self.source_in(at, offset, len).append_to(out);
    }

    #[inline(always)]
    pub fn copy_to_in(self, at: usize, offset: usize, room: &mut [MaybeUninit<u8>]) {
        self.source_in(at, offset, room.len()).copy_to(room);
    }

    #[inline(always)]
    pub fn copy_framed_in(
        self,
        at: usize,
        offset: usize,
        len: usize,
        frame: &Frame,
        out: &mut Vec<u8>,
    ) {
        self.source_in(at, offset, len).append_framed_to(frame, out);
    }

    /// Asks for a line that is wanted in a while, behind many others: it comes as near as the second cache.
    #[inline(always)]
    pub fn prefetch_far(self, at: usize) {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let at = self.base.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch is a hint that never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
    }

    #[inline(always)]
    pub fn prefetch(self, at: usize) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = self.base.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch is a hint that never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
}

#[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
impl Mem<'_> {
    pub fn bytes_equal_in(self, at: usize, offset: usize, bytes: &[u8]) -> bool {
        self.words.bytes_equal((at + offset) as u64, bytes)
    }

    pub fn copy_out_in(self, at: usize, offset: usize, len: usize, out: &mut Vec<u8>) {
        self.words.copy_out((at + offset) as u64, len, out);
    }

    pub fn copy_to_in(self, at: usize, offset: usize, room: &mut [MaybeUninit<u8>]) {
        self.words.copy_to((at + offset) as u64, room);
    }

    pub fn copy_framed_in(
        self,
        at: usize,
        offset: usize,
        len: usize,
        frame: &Frame,
        out: &mut Vec<u8>,
    ) {
        self.words.copy_framed((at + offset) as u64, len, frame, out);
    }

    #[inline(always)]
    pub fn prefetch(self, at: usize) {
        self.words.prefetch(at as u64);
    }

    pub fn prefetch_far(self, at: usize) {
        self.words.prefetch(at as u64);
    }
}
