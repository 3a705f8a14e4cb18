//! Unaligned loads and stores of shared bytes on x86-64, by instructions rather than by Rust's memory model.
//!
//! Rust has no unaligned atomic load, and a plain load of bytes that somebody may be writing has
//! no meaning. An assembly instruction has the processor's: the register gets some mixture of old
//! and new bytes, which the reader throws away when the version says so. The compiler treats each
//! as a read of unknown memory, so none moves across the fences and the atomic loads of the
//! reader's protocol; the processor itself keeps loads in order. Elsewhere, and under Miri,
//! `bytes.rs` does the same word by word.
//!
//! Lengths that are no multiple of the width end with one load that overlaps the one before it:
//!
//! ```text
//! 0123456789abcdef........ 21 bytes: 0 .. 16 and 5 .. 21
//!      56789abcdefghijkl..
//! ```

use super::bytes::Frame;
use super::words::Words;
use core::arch::asm;
use core::arch::x86_64::__m128i;
use std::mem::MaybeUninit;

/// Values from this size on are stored past the cache: that takes two thirds of the time, since no
/// line is read before it is written, and leaves in the cache what is asked for more often.
const STREAM_BYTES_MIN: usize = 32 << 10;

/// Bytes that the mapping reserves, see `Words::run`.
#[derive(Clone, Copy)]
struct Source<'a> {
    at: *mut u8,
    len: usize,
    _words: &'a Words,
}

impl Source<'_> {
    #[inline(always)]
    fn load16(self, from: usize) -> [u8; 16] {
        debug_assert!(from + 16 <= self.len);
        let value: __m128i;
        // SAFETY: reads 16 bytes of the mapping, which reserves them; it writes a
        // register and nothing else.
        unsafe {
            asm!("movdqu {value}, [{at} + {from}]", value = out(xmm_reg) value,
                at = in(reg) self.at, from = in(reg) from,
                options(readonly, nostack, preserves_flags));
        }
        // SAFETY: both are sixteen bytes for which every bit pattern is valid.
        unsafe { std::mem::transmute::<__m128i, [u8; 16]>(value) }
    }

    #[inline(always)]
    fn load8(self, from: usize) -> u64 {
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
    fn load4(self, from: usize) -> u32 {
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
    fn load1(self, from: usize) -> u8 {
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

impl Words {
    #[inline(always)]
    fn source(&self, offset: u64, len: usize) -> Source<'_> {
        Source { at: self.run(offset, len), len, _words: self }
    }

    /// Writes all of `room` with the bytes that begin at `offset`.
    #[inline(always)]
    pub fn copy_to(&self, offset: u64, room: &mut [MaybeUninit<u8>]) {
        copy(self.source(offset, room.len()), room);
    }

    /// As `copy_out`, in a frame: room is made once, and the head is written with its surplus, which
    /// the value overwrites.
    #[inline(always)]
    pub fn copy_framed(&self, offset: u64, len: usize, frame: &Frame, out: &mut Vec<u8>) {
        let source = self.source(offset, len);
        let (head, end) = (frame.head.len(), frame.end.len());
        let head_len = frame.head_len.min(head);
        out.reserve(head + len + end);
        let room = &mut out.spare_capacity_mut()[..head + len + end];
        room[..head].write_copy_of_slice(&frame.head);
        let (value, rest) = room[head_len..].split_at_mut(len);
        copy(source, value);
        rest[..end].write_copy_of_slice(&frame.end);
        // SAFETY: room for more was reserved; of the bytes that are added the first `head_len` were
        // written with the head, which is no shorter, the next `len` by `copy`, the last after it.
        unsafe { out.set_len(out.len() + head_len + len + end) };
    }

    /// Whether the bytes at `offset` are these.
    #[inline(always)]
    pub fn bytes_equal(&self, offset: u64, bytes: &[u8]) -> bool {
        let source = self.source(offset, bytes.len());
        let len = bytes.len();
        if let Some(last) = bytes.last_chunk::<8>() {
            let (chunks, _) = bytes.as_chunks::<8>();
            let mut different = source.load8(len - 8) ^ u64::from_le_bytes(*last);
            for (i, chunk) in chunks.iter().enumerate() {
                different |= source.load8(i * 8) ^ u64::from_le_bytes(*chunk);
            }
            return different == 0;
        }
        if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            let different = (source.load4(0) ^ u32::from_le_bytes(*first))
                | (source.load4(len - 4) ^ u32::from_le_bytes(*last));
            return different == 0;
        }
        bytes.iter().enumerate().all(|(i, byte)| source.load1(i) == *byte)
    }
}

/// A place in the arena that the caller owns.
#[derive(Clone, Copy)]
struct Destination<'a> {
    at: *mut u8,
    len: usize,
    _words: &'a Words,
}

impl Destination<'_> {
    #[inline(always)]
    fn store16(self, to: usize, bytes: &[u8; 16]) {
        debug_assert!(to + 16 <= self.len);
        let value = u128::from_le_bytes(*bytes);
        // SAFETY: both are sixteen bytes for which every bit pattern is valid.
        let value = unsafe { std::mem::transmute::<u128, __m128i>(value) };
        // SAFETY: writes 16 bytes of the mapping, which reserves them; the block they lie in is one that
        // the caller owns.
        unsafe {
            asm!("movdqu [{at} + {to}], {value}", value = in(xmm_reg) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }

    /// Past the cache; `to` is the distance of a place that is aligned. Until [`stored`] is called, later
    /// stores may be seen before this one.
    #[inline(always)]
    fn stream16(self, to: usize, bytes: &[u8; 16]) {
        debug_assert!(to + 16 <= self.len && (self.at as usize + to).is_multiple_of(16));
        let value = u128::from_le_bytes(*bytes);
        // SAFETY: both are sixteen bytes for which every bit pattern is valid.
        let value = unsafe { std::mem::transmute::<u128, __m128i>(value) };
        // SAFETY: writes 16 aligned bytes of the mapping, which reserves them; the block they lie in
        // is one that the caller owns.
        unsafe {
            asm!("movntdq [{at} + {to}], {value}", value = in(xmm_reg) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    fn store8(self, to: usize, value: u64) {
        debug_assert!(to + 8 <= self.len);
        // SAFETY: writes 8 bytes of the mapping, which reserves them; the block they lie in is one that
        // the caller owns.
        unsafe {
            asm!("mov [{at} + {to}], {value}", value = in(reg) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    fn store4(self, to: usize, value: u32) {
        debug_assert!(to + 4 <= self.len);
        // SAFETY: writes 4 bytes of the mapping, which reserves them; the block they lie in is one that
        // the caller owns.
        unsafe {
            asm!("mov [{at} + {to}], {value:e}", value = in(reg) value,
                at = in(reg) self.at, to = in(reg) to, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    fn store1(self, to: usize, value: u8) {
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
    /// Stores all of `bytes`, at least 32 of them, past the cache.
    #[inline(never)]
    fn stream_all(self, bytes: &[u8]) {
        let ends = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>());
        let (Some(first), Some(last)) = ends else { return };
        let head = self.at.align_offset(16);
        // What the ends have in common with what lies between is stored twice, and is the same.
        self.store16(0, first);
        for (i, chunk) in bytes[head..].as_chunks::<16>().0.iter().enumerate() {
            self.stream16(head + i * 16, chunk);
        }
        self.store16(bytes.len() - 16, last);
        stored();
    }
}

/// What was stored past the cache is seen by whoever sees what is stored from now on: without this
/// the Release that publishes the block would not cover it.
fn stored() {
    // SAFETY: waits, and changes nothing.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) };
}

impl Words {
    /// Stores bytes at any offset into a block that the caller owns and nobody can see yet. A late
    /// reader of the block's former content may load them at the same moment, see the top.
    #[inline(always)]
    pub(super) fn store_unaligned(&self, offset: u64, bytes: &[u8]) {
        let to = Destination { at: self.run(offset, bytes.len()), len: bytes.len(), _words: self };
        let len = bytes.len();
        if len >= STREAM_BYTES_MIN {
            to.stream_all(bytes);
        } else if let Some(last) = bytes.last_chunk::<16>() {
            for (i, chunk) in bytes.as_chunks::<16>().0.iter().enumerate() {
                to.store16(i * 16, chunk);
            }
            to.store16(len - 16, last);
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            to.store8(0, u64::from_le_bytes(*first));
            to.store8(len - 8, u64::from_le_bytes(*last));
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            to.store4(0, u32::from_le_bytes(*first));
            to.store4(len - 4, u32::from_le_bytes(*last));
        } else {
            for (i, byte) in bytes.iter().enumerate() {
                to.store1(i, *byte);
            }
        }
    }
}

/// Writes all of `room`, which is as long as the source.
#[inline(always)]
fn copy(source: Source<'_>, room: &mut [MaybeUninit<u8>]) {
    let len = room.len();
    if len >= 16 {
        let (chunks, _) = room.as_chunks_mut::<16>();
        for (i, chunk) in chunks.iter_mut().enumerate() {
            chunk.write_copy_of_slice(&source.load16(i * 16));
        }
        room[len - 16..].write_copy_of_slice(&source.load16(len - 16));
    } else if len >= 8 {
        let (first, last) = (source.load8(0), source.load8(len - 8));
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
