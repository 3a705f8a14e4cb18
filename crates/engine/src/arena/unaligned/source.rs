//! Unaligned loads: bytes of the arena compared, or copied to memory of our own.

use super::super::bytes::Frame;
use super::super::words::Words;
use core::arch::asm;
use core::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Bytes that the mapping reserves: see `Words::run` and `Mem::source_in`.
#[derive(Clone, Copy)]
pub(in crate::arena) struct Source<'a> {
    pub(super) at: *mut u8,
    pub(super) len: usize,
    _words: PhantomData<&'a Words>,
}

/// Loads and stores at a constant distance, which is part of the instruction.
impl<'a> Source<'a> {
    /// A bit for each of the first sixteen bytes that is `byte`.
    #[inline(always)]
    pub(in crate::arena) fn equal16(self, byte: u8) -> u32 {
        // SAFETY: it asks for SSE2, which every processor of this architecture has.
        unsafe { equal_bytes(self.load_register_at::<0>(), byte) }
    }

    #[inline(always)]
    fn load16_at<const FROM: usize>(self) -> [u8; 16] {
        // SAFETY: both are sixteen bytes for which every bit pattern is valid.
        unsafe { std::mem::transmute::<__m128i, [u8; 16]>(self.load_register_at::<FROM>()) }
    }

    #[inline(always)]
    pub(super) fn load_register_at<const FROM: usize>(self) -> __m128i {
        debug_assert!(FROM + 16 <= self.len);
        let value: __m128i;
        // SAFETY: reads 16 bytes of the mapping, which reserves them; it writes a
        // register and nothing else.
        unsafe {
            asm!("movdqu {value}, [{at} + {from}]", value = out(xmm_reg) value,
                at = in(reg) self.at, from = const FROM,
                options(readonly, nostack, preserves_flags));
        }
        value
    }

    /// The first 64 bytes.
    #[inline(always)]
    pub(super) fn load_line(self) -> [__m128i; 4] {
        [
            self.load_register_at::<0>(),
            self.load_register_at::<16>(),
            self.load_register_at::<32>(),
            self.load_register_at::<48>(),
        ]
    }

    #[inline(always)]
    fn load8_at<const FROM: usize>(self) -> u64 {
        debug_assert!(FROM + 8 <= self.len);
        let value: u64;
        // SAFETY: reads 8 bytes of the mapping, which reserves them; it writes a
        // register and nothing else.
        unsafe {
            asm!("mov {value}, [{at} + {from}]", value = out(reg) value,
                at = in(reg) self.at, from = const FROM,
                options(readonly, nostack, preserves_flags));
        }
        value
    }

    /// `len` bytes from `from` on.
    #[inline(always)]
    pub(super) fn part(self, from: usize, len: usize) -> Source<'a> {
        debug_assert!(from + len <= self.len);
        Source { at: self.at.wrapping_add(from), len, ..self }
    }
}

/// Loads at a constant distance before the end, which is part of the instruction too.
impl Source<'_> {
    #[inline(always)]
    fn load16_back<const BACK: usize>(self) -> [u8; 16] {
        debug_assert!(BACK >= 16 && BACK <= self.len);
        let value: __m128i;
        // SAFETY: reads 16 bytes of the mapping, which reserves all from the start to the end; it writes a
        // register and nothing else.
        unsafe {
            asm!("movdqu {value}, [{at} + {len} - {back}]", value = out(xmm_reg) value,
                at = in(reg) self.at, len = in(reg) self.len, back = const BACK,
                options(readonly, nostack, preserves_flags));
        }
        // SAFETY: both are sixteen bytes for which every bit pattern is valid.
        unsafe { std::mem::transmute::<__m128i, [u8; 16]>(value) }
    }

    #[inline(always)]
    fn load8_back<const BACK: usize>(self) -> u64 {
        debug_assert!(BACK >= 8 && BACK <= self.len);
        let value: u64;
        // SAFETY: reads 8 bytes of the mapping, which reserves all from the start to the end; it writes a
        // register and nothing else.
        unsafe {
            asm!("mov {value}, [{at} + {len} - {back}]", value = out(reg) value,
                at = in(reg) self.at, len = in(reg) self.len, back = const BACK,
                options(readonly, nostack, preserves_flags));
        }
        value
    }
}

impl Source<'_> {
    #[inline(always)]
    pub(super) fn load8(self, from: usize) -> u64 {
        debug_assert!(from + 8 <= self.len);
        let value: u64;
        // SAFETY: reads 8 bytes of the mapping, which reserves them; it writes a
        // register and nothing else.
        unsafe {
            asm!("mov {value}, [{at} + {from}]", value = out(reg) value,
                at = in(reg) self.at, from = in(reg) from,
                options(readonly, nostack, preserves_flags));
        }
        value
    }

    #[inline(always)]
    pub(super) fn load4(self, from: usize) -> u32 {
        debug_assert!(from + 4 <= self.len);
        let value: u32;
        // SAFETY: reads 4 bytes of the mapping, which reserves them; it writes a
        // register and nothing else.
        unsafe {
            asm!("mov {value:e}, [{at} + {from}]", value = out(reg) value,
                at = in(reg) self.at, from = in(reg) from,
                options(readonly, nostack, preserves_flags));
        }
        value
    }

    #[inline(always)]
    pub(super) fn load1(self, from: usize) -> u8 {
        debug_assert!(from < self.len);
        let value: u32;
        // SAFETY: reads one byte of the mapping, which reserves them; it writes a
        // register and nothing else.
        unsafe {
            asm!("movzx {value:e}, byte ptr [{at} + {from}]", value = out(reg) value,
                at = in(reg) self.at, from = in(reg) from,
                options(readonly, nostack, preserves_flags));
        }
        value as u8
    }
}

impl<'a> Source<'a> {
    /// # Safety
    /// `at` must be the start of `len` bytes that may be loaded for as long as the lifetime.
    #[inline(always)]
    pub(in crate::arena) unsafe fn new(at: *mut u8, len: usize) -> Source<'a> {
        Source { at, len, _words: PhantomData }
    }

    /// Writes all of `room`, which is as long as this.
    #[inline(always)]
    pub(in crate::arena) fn copy_to(self, room: &mut [MaybeUninit<u8>]) {
        copy(self, room);
    }

    #[inline(always)]
    pub(in crate::arena) fn append_to(self, out: &mut Vec<u8>) {
        let len = self.len;
        out.reserve(len);
        copy(self, &mut out.spare_capacity_mut()[..len]);
        // SAFETY: the `len` bytes after the old length were reserved, and `copy` wrote them all.
        unsafe { out.set_len(out.len() + len) };
    }

    /// As `append_to`, in a frame: room is made once, and the head is written with its surplus, which
    /// the value overwrites.
    #[inline(always)]
    pub(in crate::arena) fn append_framed_to(self, frame: &Frame, out: &mut Vec<u8>) {
        let len = self.len;
        let (head, end) = (frame.head.len(), frame.end.len());
        let head_len = frame.head_len.min(head);
        out.reserve(head + len + end);
        let room = &mut out.spare_capacity_mut()[..head + len + end];
        room[..head].write_copy_of_slice(&frame.head);
        let (value, rest) = room[head_len..].split_at_mut(len);
        copy(self, value);
        rest[..end].write_copy_of_slice(&frame.end);
        // SAFETY: room for more was reserved; of the bytes that are added the first `head_len` were
        // written with the head, which is no shorter, the next `len` by `copy`, the last after it.
        unsafe { out.set_len(out.len() + head_len + len + end) };
    }

    /// Whether the bytes are these, of which there are as many.
    #[inline(always)]
    pub(in crate::arena) fn is(self, bytes: &[u8]) -> bool {
        let len = bytes.len();
        if len > 32 {
            return self.is_long(bytes);
        }
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            let ends = (self.load8_at::<0>() ^ u64::from_le_bytes(*first))
                | (self.load8_back::<8>() ^ u64::from_le_bytes(*last));
            if len <= 16 {
                return ends == 0;
            }
            let (second, third) = (&bytes[8..16], &bytes[len - 16..len - 8]);
            let (Some(second), Some(third)) = (second.first_chunk(), third.first_chunk()) else {
                return false;
            };
            let inner = (self.load8_at::<8>() ^ u64::from_le_bytes(*second))
                | (self.load8_back::<16>() ^ u64::from_le_bytes(*third));
            return ends | inner == 0;
        }
        if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            let different = (self.load4(0) ^ u32::from_le_bytes(*first))
                | (self.load4(len - 4) ^ u32::from_le_bytes(*last));
            return different == 0;
        }
        bytes.iter().enumerate().all(|(i, byte)| self.load1(i) == *byte)
    }

    #[inline(never)]
    fn is_long(self, bytes: &[u8]) -> bool {
        let Some(last) = bytes.last_chunk::<8>() else { return false };
        let mut different = self.load8(bytes.len() - 8) ^ u64::from_le_bytes(*last);
        for (i, chunk) in bytes.as_chunks::<8>().0.iter().enumerate() {
            different |= self.load8(i * 8) ^ u64::from_le_bytes(*chunk);
        }
        different == 0
    }
}

#[target_feature(enable = "sse2")]
#[inline]
fn equal_bytes(bytes: __m128i, byte: u8) -> u32 {
    _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))) as u32
}

/// Writes all of `room`, which is as long as the source. Up to 128 bytes there is no loop: as many
/// pieces from the beginning as from the end, which overlap in the middle.
#[inline(always)]
fn copy(source: Source<'_>, room: &mut [MaybeUninit<u8>]) {
    let len = room.len();
    if len >= 16 {
        if len <= 32 {
            copy_ends::<1>(source, room);
        } else if len <= 64 {
            copy_ends::<2>(source, room);
        } else if len <= 128 {
            copy_ends::<4>(source, room);
        } else {
            copy_long(source, room);
        }
    } else if len >= 8 {
        let (first, last) = (source.load8_at::<0>(), source.load8_back::<8>());
        room[..8].write_copy_of_slice(&first.to_le_bytes());
        room[len - 8..].write_copy_of_slice(&last.to_le_bytes());
    } else if len >= 4 {
        let (first, last) = (source.load4(0), source.load4(len - 4));
        room[..4].write_copy_of_slice(&first.to_le_bytes());
        room[len - 4..].write_copy_of_slice(&last.to_le_bytes());
    } else {
        for (i, byte) in room.iter_mut().enumerate() {
            byte.write(source.load1(i));
        }
    }
}

/// A line at a time, and then the last 64 bytes, some of them once more.
#[inline(never)]
fn copy_long(source: Source<'_>, room: &mut [MaybeUninit<u8>]) {
    let lines = room.as_chunks_mut::<64>().0.iter_mut();
    for (number, line) in lines.enumerate() {
        copy_ends::<2>(source.part(64 * number, 64), line);
    }
    let behind = room.len() - 64;
    copy_ends::<2>(source.part(behind, 64), &mut room[behind..]);
}

/// The first and the last `N` sixteens of between 16 and 32 `N` bytes.
#[inline(always)]
fn copy_ends<const N: usize>(source: Source<'_>, room: &mut [MaybeUninit<u8>]) {
    let len = room.len();
    let mut put = |at: usize, bytes: [u8; 16]| {
        room[at..at + 16].write_copy_of_slice(&bytes);
    };
    put(0, source.load16_at::<0>());
    if N >= 2 {
        put(16, source.load16_at::<16>());
    }
    if N >= 4 {
        put(32, source.load16_at::<32>());
        put(48, source.load16_at::<48>());
    }
    if N >= 4 {
        put(len - 64, source.load16_back::<64>());
        put(len - 48, source.load16_back::<48>());
    }
    if N >= 2 {
        put(len - 32, source.load16_back::<32>());
    }
    put(len - 16, source.load16_back::<16>());
}
