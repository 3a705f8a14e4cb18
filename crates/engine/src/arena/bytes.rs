//! Bytes in and out of the arena, eight at a time.
//!
//! The shared side is a whole aligned word, loaded or stored as a relaxed atomic (on x86-64 loads
//! may be unaligned, see `unaligned/`); the private side is unaligned. A value may begin at any byte of its block:
//!
//! ```text
//! shared   | .....abc | defghijk | lm...... |     shift = 5
//! private  abcdefghijklm
//! ```
//!
//! A word that belongs only in part to a copy is merged: its other bytes are kept. A writer owns
//! the whole block until it publishes it, so nobody else writes to that word meanwhile. Readers
//! may copy while somebody writes; they get some bytes, and find out by the version that they
//! must not use them. No ordering is implied here: whoever publishes and whoever validates says so.

use super::words::Words;
use crate::sync::atomics::{AtomicU64, Ordering};

/// The longest that comes behind a value in a reply (`\r\nEND\r\n`).
const REPLY_END_BYTES: usize = 8;

/// Where a value goes from block to block through a buffer, it does so in pieces of so many bytes.
#[cfg(any(not(target_arch = "x86_64"), miri, shuttle, loom))]
const PIECE_BYTES: usize = 16 << 10;

/// What goes before and behind a value in a reply.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The first `head_len` of these, at most eight.
    pub head: [u8; 8],
    pub head_len: usize,
    pub end: [u8; 2],
}

/// The low `bytes` bytes set, for 0 to 7.
#[inline]
fn low(bytes: usize) -> u64 {
    (1u64 << (bytes * 8)) - 1
}

#[inline]
fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed).to_le()
}

#[inline]
fn store(word: &AtomicU64, value: u64) {
    word.store(value.to_le(), Ordering::Relaxed);
}

#[inline]
fn merge(word: &AtomicU64, mask: u64, bits: u64) {
    store(word, load(word) & !mask | bits & mask);
}

/// Where there is nothing better (see `unaligned/`): aligned words, shifted together.
#[cfg(any(not(target_arch = "x86_64"), miri, shuttle))]
impl Words {
    /// Writes all of `room` with the bytes that begin at `offset`.
    #[inline]
    pub fn copy_to(&self, offset: u64, room: &mut [std::mem::MaybeUninit<u8>]) {
        let words = self.words_of(offset, room.len());
        let (chunks, rest) = room.as_chunks_mut::<8>();
        let shift = (offset & 7) as u32 * 8;
        if shift == 0 {
            for (chunk, word) in chunks.iter_mut().zip(words) {
                chunk.write_copy_of_slice(&load(word).to_le_bytes());
            }
            if let (false, Some(word)) = (rest.is_empty(), words.last()) {
                rest.write_copy_of_slice(&load(word).to_le_bytes()[..rest.len()]);
            }
        } else if let Some((first, others)) = words.split_first() {
            let mut word = load(first);
            for (chunk, next) in chunks.iter_mut().zip(others) {
                let next = load(next);
                chunk.write_copy_of_slice(&(word >> shift | next << (64 - shift)).to_le_bytes());
                word = next;
            }
            let after = others.get(chunks.len()).map_or(0, load);
            let tail = word >> shift | after << (64 - shift);
            rest.write_copy_of_slice(&tail.to_le_bytes()[..rest.len()]);
        }
    }

    /// As `copy_out`, in a frame.
    #[inline]
    pub fn copy_framed(&self, offset: u64, len: usize, frame: &Frame, out: &mut Vec<u8>) {
        out.extend_from_slice(&frame.head[..frame.head_len.min(frame.head.len())]);
        self.copy_out(offset, len, out);
        out.extend_from_slice(&frame.end);
    }

    /// Whether the bytes at `offset` are these.
    #[inline]
    pub fn bytes_equal(&self, offset: u64, bytes: &[u8]) -> bool {
        let words = self.words_of(offset, bytes.len());
        let (chunks, rest) = bytes.as_chunks::<8>();
        let shift = (offset & 7) as u32 * 8;
        let mask = low(rest.len());
        if shift == 0 {
            let same =
                |(chunk, word): (&[u8; 8], &AtomicU64)| load(word) == u64::from_le_bytes(*chunk);
            let whole = chunks.iter().zip(words).all(same);
            let tail = words.get(chunks.len()).map_or(0, load);
            return whole && tail & mask == read_tail(rest);
        }
        let Some((first, others)) = words.split_first() else { return true };
        let mut word = load(first);
        for (chunk, next) in chunks.iter().zip(others) {
            let next = load(next);
            if word >> shift | next << (64 - shift) != u64::from_le_bytes(*chunk) {
                return false;
            }
            word = next;
        }
        let after = others.get(chunks.len()).map_or(0, load);
        (word >> shift | after << (64 - shift)) & mask == read_tail(rest)
    }
}

impl Words {
    /// Appends `len` bytes that begin at `offset` to `out`. There is room then for what ends a reply: a
    /// buffer that the value has just filled would become twice as large for two bytes, and the value
    /// would be copied once more.
    #[inline(always)]
    pub fn copy_out(&self, offset: u64, len: usize, out: &mut Vec<u8>) {
        out.reserve(len + REPLY_END_BYTES);
        self.copy_to(offset, &mut out.spare_capacity_mut()[..len]);
        // SAFETY: the `len` bytes after the old length were reserved, and `copy_to` wrote them all.
        unsafe { out.set_len(out.len() + len) };
    }

    /// Stores bytes; the caller owns the block they lie in.
    #[inline]
    pub(super) fn store_bytes(&self, offset: u64, bytes: &[u8]) {
        let mut words = self.words_of(offset, bytes.len());
        let skipped = (offset & 7) as usize;
        let mut bytes = bytes;
        if skipped != 0
            && let Some((first, others)) = words.split_first()
        {
            let head;
            (head, bytes) = bytes.split_at(bytes.len().min(8 - skipped));
            merge(first, low(head.len()) << (skipped * 8), read_tail(head) << (skipped * 8));
            words = others;
        }
        let (chunks, rest) = bytes.as_chunks::<8>();
        for (chunk, word) in chunks.iter().zip(words) {
            store(word, u64::from_le_bytes(*chunk));
        }
        if let (false, Some(word)) = (rest.is_empty(), words.last()) {
            merge(word, low(rest.len()), read_tail(rest));
        }
    }
}

/// Where there is nothing better (see `unaligned/across.rs`).
#[cfg(any(not(target_arch = "x86_64"), miri, shuttle, loom))]
impl Words {
    /// Stores bytes of one block into another one, which the caller owns.
    pub(super) fn copy_across_in_pieces(&self, from: u64, to: u64, len: usize) {
        let mut piece = Vec::with_capacity(PIECE_BYTES.min(len + REPLY_END_BYTES));
        for begin in (0..len).step_by(PIECE_BYTES) {
            piece.clear();
            self.copy_out(from + begin as u64, PIECE_BYTES.min(len - begin), &mut piece);
            self.store_bytes(to + begin as u64, &piece);
        }
    }
}

/// Up to seven bytes as the low bytes of a word.
#[inline]
fn read_tail(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    if n >= 4 {
        // Two loads that overlap, in place of a loop over single bytes.
        let (Some(head), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) else {
            return 0;
        };
        let (head, last) = (u32::from_le_bytes(*head), u32::from_le_bytes(*last));
        return head as u64 | (last as u64) << ((n - 4) * 8);
    }
    let mut word = 0;
    for (i, byte) in bytes.iter().enumerate() {
        word |= (*byte as u64) << (i * 8);
    }
    word
}
