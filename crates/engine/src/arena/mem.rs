//! A copyable handle on the words of an arena, for the index and the items.

use super::words::Words;
use crate::sync::atomics::{AtomicU32, AtomicU64};

/// Stores through it are for the process that owns the arena: over a read-only mapping they
/// fault, and no path of a reader has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mem<'a> {
    words: &'a Words,
}

impl<'a> Mem<'a> {
    #[inline(always)]
    pub fn new(words: &'a Words) -> Mem<'a> {
        Mem { words }
    }

    #[inline(always)]
    pub fn u64_at(self, at: usize) -> &'a AtomicU64 {
        self.words.word64(at as u64)
    }

    #[inline(always)]
    pub fn u32_at(self, at: usize) -> &'a AtomicU32 {
        self.words.word32(at as u64)
    }

    /// Whether `len` bytes at `at` lie within the arena (and not in its first page, which holds
    /// no block and no segment).
    #[inline(always)]
    pub fn contains(self, at: usize, len: usize) -> bool {
        let limit = self.words.layout().len as usize;
        at >= 4096 && at < limit && len <= limit - at
    }

    #[inline(always)]
    pub fn copy_out(self, at: usize, len: usize, out: &mut Vec<u8>) {
        self.words.copy_out(at as u64, len, out);
    }

    #[inline(always)]
    pub fn prefetch(self, at: usize) {
        self.words.prefetch(at as u64);
    }
}
