//! The bytes of a collection, as its type's own code reads them.
//!
//! The engine does not look into them: the layout is a matter of the type. A reader without a lock
//! may meet bytes of two states at once, or of another item. So every access is bounded by the
//! value's length, what lies beyond reads as zero, and the reader's final check decides whether
//! anything of it counts.

use crate::arena::Mem;
use crate::item::Item;
use crate::sync::atomics::Ordering::Relaxed;

/// A collection's bytes in the arena.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    mem: Mem<'a>,
    at: usize,
    len: usize,
}

/// Bytes to be stored at an offset of a value's own: see [`crate::Guard::patch`] and [`crate::Guard::store_part`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch<'a> {
    pub at: usize,
    pub bytes: &'a [u8],
}

impl<'a> Packed<'a> {
    pub(crate) fn of(item: &Item<'a>) -> Packed<'a> {
        Packed {
            mem: item.words,
            at: item.at + item.head.value_at(),
            len: if item.head.is_int() { 0 } else { item.head.value_len },
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn u8_at(&self, at: usize) -> u8 {
        if at >= self.len {
            return 0;
        }
        let at = self.at + at;
        (self.mem.u64_at(at & !7).load(Relaxed) >> (8 * (at & 7))) as u8
    }

    /// Four bytes, the lowest first.
    #[inline]
    pub fn u32_at(&self, at: usize) -> u32 {
        if at >= self.len || self.len - at < 4 {
            return 0;
        }
        let (word, shift) = ((self.at + at) & !7, 8 * ((self.at + at) & 7));
        let low = self.mem.u64_at(word).load(Relaxed) >> shift;
        if shift <= 32 {
            return low as u32;
        }
        (low | self.mem.u64_at(word + 8).load(Relaxed) << (64 - shift)) as u32
    }

    /// Whether these bytes stand there.
    #[inline]
    pub fn has(&self, at: usize, bytes: &[u8]) -> bool {
        at <= self.len && self.len - at >= bytes.len() && self.mem.bytes_equal(self.at + at, bytes)
    }

    /// Appends `len` bytes (cut to what there is).
    #[inline]
    pub fn copy(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let at = at.min(self.len);
        self.mem.copy_out(self.at + at, len.min(self.len - at), out);
    }
}
