//! Unaligned stores: bytes of our own written to a block that the caller owns.

use super::super::words::Words;
use core::arch::asm;
use core::arch::x86_64::__m128i;
use std::marker::PhantomData;

/// Values from this size on are stored past the cache: that takes two thirds of the time, since no
/// line is read before it is written, and leaves in the cache what is asked for more often.
const STREAM_BYTES_MIN: usize = 32 << 10;

/// A place in the arena that the caller owns.
#[derive(Clone, Copy)]
pub(in crate::arena) struct Destination<'a> {
    pub(super) at: *mut u8,
    pub(super) len: usize,
    _words: PhantomData<&'a Words>,
}

impl<'a> Destination<'a> {
    /// # Safety
    /// `at` must be the start of `len` bytes of a block that the caller owns for as long as the lifetime.
    #[inline(always)]
    pub(in crate::arena) unsafe fn new(at: *mut u8, len: usize) -> Destination<'a> {
        Destination { at, len, _words: PhantomData }
    }

    /// Stores all of `bytes`, of which there are as many as there is room. Up to 128 bytes there is
    /// no loop, as in `Source::copy_to`.
    #[inline(always)]
    pub(in crate::arena) fn store(self, bytes: &[u8]) {
        let len = bytes.len();
        if len >= 16 {
            if len <= 32 {
                self.store_ends::<1>(bytes);
            } else if len <= 64 {
                self.store_ends::<2>(bytes);
            } else if len <= 128 {
                self.store_ends::<4>(bytes);
            } else if len < STREAM_BYTES_MIN {
                self.store_long(bytes);
            } else {
                self.stream_all(bytes);
            }
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            self.store8(0, u64::from_le_bytes(*first));
            self.store8(len - 8, u64::from_le_bytes(*last));
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            self.store4(0, u32::from_le_bytes(*first));
            self.store4(len - 4, u32::from_le_bytes(*last));
        } else {
            for (i, byte) in bytes.iter().enumerate() {
                self.store1(i, *byte);
            }
        }
    }

    #[inline(always)]
    fn store16_at<const TO: usize>(self, bytes: &[u8; 16]) {
        self.store_register_at::<TO>(register(bytes));
    }

    #[inline(always)]
    pub(super) fn store_register_at<const TO: usize>(self, value: __m128i) {
        debug_assert!(TO + 16 <= self.len);
        // SAFETY: writes 16 bytes of the mapping, which reserves them; the block they lie in is one that
        // the caller owns.
        unsafe {
            asm!("movdqu [{at} + {to}], {value}", value = in(xmm_reg) value,
                at = in(reg) self.at, to = const TO, options(nostack, preserves_flags));
        }
    }

    /// At a constant distance before the end.
    #[inline(always)]
    fn store16_back<const BACK: usize>(self, bytes: &[u8; 16]) {
        debug_assert!(BACK >= 16 && BACK <= self.len);
        // SAFETY: writes 16 bytes of the mapping, which reserves all from the start to the end; the block they
        // lie in is one that the caller owns.
        unsafe {
            asm!("movdqu [{at} + {len} - {back}], {value}", value = in(xmm_reg) register(bytes),
                at = in(reg) self.at, len = in(reg) self.len, back = const BACK,
                options(nostack, preserves_flags));
        }
    }

    /// Room for `len` bytes from `from` on.
    #[inline(always)]
    pub(super) fn part(self, from: usize, len: usize) -> Destination<'a> {
        debug_assert!(from + len <= self.len);
        Destination { at: self.at.wrapping_add(from), len, ..self }
    }

    /// Room for the last `len` bytes.
    #[inline(always)]
    pub(super) fn last(self, len: usize) -> Destination<'a> {
        self.part(self.len - len, len)
    }
}

impl Destination<'_> {
    /// Past the cache; `to` is the distance of a place that is aligned. Until [`stored`] is called, later
    /// stores may be seen before this one.
    #[inline(always)]
    pub(super) fn stream_register(self, to: usize, value: __m128i) {
        debug_assert!(to + 16 <= self.len && (self.at as usize + to).is_multiple_of(16));
        // SAFETY: writes 16 aligned bytes of the mapping, which reserves them; the block they lie in
        // is one that the caller owns.
        unsafe {
            asm!("movntdq [{at} + {to}], {value}", value = in(xmm_reg) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub(super) fn store8(self, to: usize, value: u64) {
        debug_assert!(to + 8 <= self.len);
        // SAFETY: writes 8 bytes of the mapping, which reserves them; the block they lie in is one that
        // the caller owns.
        unsafe {
            asm!("mov [{at} + {to}], {value}", value = in(reg) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub(super) fn store4(self, to: usize, value: u32) {
        debug_assert!(to + 4 <= self.len);
        // SAFETY: writes 4 bytes of the mapping, which reserves them; the block they lie in is one that
        // the caller owns.
        unsafe {
            asm!("mov [{at} + {to}], {value:e}", value = in(reg) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub(super) fn store1(self, to: usize, value: u8) {
        debug_assert!(to < self.len);
        // SAFETY: writes one byte of the mapping, which reserves them; the block they lie in is one that
        // the caller owns.
        unsafe {
            asm!("mov byte ptr [{at} + {to}], {value}", value = in(reg_byte) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }
}

impl Destination<'_> {
    /// As `copy_ends`: the first and the last `N` sixteens of between 16 and 32 `N` bytes.
    #[inline(always)]
    fn store_ends<const N: usize>(self, bytes: &[u8]) {
        let (first, last) = (&bytes[..16 * N], &bytes[bytes.len() - 16 * N..]);
        let (first, last) = (first.as_chunks::<16>().0, last.as_chunks::<16>().0);
        self.store16_at::<0>(&first[0]);
        if N >= 2 {
            self.store16_at::<16>(&first[1]);
        }
        if N >= 4 {
            self.store16_at::<32>(&first[2]);
            self.store16_at::<48>(&first[3]);
        }
        if N >= 4 {
            self.store16_back::<64>(&last[0]);
            self.store16_back::<48>(&last[1]);
        }
        if N >= 2 {
            self.store16_back::<32>(&last[N - 2]);
        }
        self.store16_back::<16>(&last[N - 1]);
    }

    /// A line at a time, and then the last 64 bytes, some of them once more.
    #[inline(never)]
    fn store_long(self, bytes: &[u8]) {
        for (number, line) in bytes.as_chunks::<64>().0.iter().enumerate() {
            self.part(64 * number, 64).store_ends::<2>(line);
        }
        self.last(64).store_ends::<2>(&bytes[bytes.len() - 64..]);
    }

    /// Stores all of `bytes`, at least 32 of them, past the cache.
    #[inline(never)]
    fn stream_all(self, bytes: &[u8]) {
        let ends = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>());
        let (Some(first), Some(last)) = ends else { return };
        // What goes past the cache may be seen before what was stored until now, too: a patch of a large
        // collection before the mark that hides it.
        stored();
        let head = self.at.align_offset(16);
        // What the ends have in common with what lies between is stored twice, and is the same.
        self.store16_at::<0>(first);
        for (i, chunk) in bytes[head..].as_chunks::<16>().0.iter().enumerate() {
            self.stream_register(head + i * 16, register(chunk));
        }
        self.last(16).store16_at::<0>(last);
        stored();
    }
}

/// What was stored past the cache is seen by whoever sees what is stored from now on: without this
/// the Release that publishes the block would not cover it. And what is stored past the cache from now on
/// is not seen by those who do not see what was stored before.
pub(super) fn stored() {
    // SAFETY: waits, and changes nothing.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) };
}

#[inline(always)]
fn register(bytes: &[u8; 16]) -> __m128i {
    let value = u128::from_le_bytes(*bytes);
    // SAFETY: both are sixteen bytes for which every bit pattern is valid.
    unsafe { std::mem::transmute::<u128, __m128i>(value) }
}
