//! Bytes in and out of the arena, eight at a time.
//!
//! The shared side is always a whole aligned word, loaded or stored as a relaxed atomic; the
//! private side is unaligned. A value may begin at any byte of its block:
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
use crate::sync::atomics::Ordering;

/// The low `bytes` bytes set, for 0 to 7.
#[inline]
fn low(bytes: u32) -> u64 {
    (1u64 << (bytes * 8)) - 1
}

impl Words {
    #[inline]
    fn word(&self, at: u64) -> u64 {
        self.load64(at, Ordering::Relaxed).to_le()
    }

    /// Appends `len` bytes that begin at `offset` to `out`.
    #[inline]
    pub fn copy_out(&self, offset: u64, len: usize, out: &mut Vec<u8>) {
        self.check(offset, len);
        out.reserve(len);
        let room = &mut out.spare_capacity_mut()[..len];
        let shift = (offset & 7) as u32 * 8;
        let mut at = offset & !7;
        let mut chunks = room.chunks_exact_mut(8);
        let tail;
        if shift == 0 {
            for chunk in &mut chunks {
                chunk.write_copy_of_slice(&self.word(at).to_le_bytes());
                at += 8;
            }
            let rest = chunks.into_remainder();
            tail = if rest.is_empty() { 0 } else { self.word(at) };
            rest.write_copy_of_slice(&tail.to_le_bytes()[..rest.len()]);
        } else if len > 0 {
            let mut word = self.word(at);
            for chunk in &mut chunks {
                at += 8;
                let next = self.word(at);
                chunk.write_copy_of_slice(&(word >> shift | next << (64 - shift)).to_le_bytes());
                word = next;
            }
            let rest = chunks.into_remainder();
            let has = (64 - shift) / 8;
            tail = if rest.len() as u32 > has {
                word >> shift | self.word(at + 8) << (64 - shift)
            } else {
                word >> shift
            };
            rest.write_copy_of_slice(&tail.to_le_bytes()[..rest.len()]);
        }
        // SAFETY: the `len` bytes after the old length were reserved and written just above.
        unsafe { out.set_len(out.len() + len) };
    }

    /// Whether the bytes at `offset` are these.
    #[inline]
    pub fn bytes_equal(&self, offset: u64, bytes: &[u8]) -> bool {
        self.check(offset, bytes.len());
        let shift = (offset & 7) as u32 * 8;
        let mut at = offset & !7;
        let (chunks, rest) = bytes.as_chunks::<8>();
        if shift == 0 {
            for chunk in chunks {
                if self.word(at) != u64::from_le_bytes(*chunk) {
                    return false;
                }
                at += 8;
            }
            return rest.is_empty() || self.word(at) & low(rest.len() as u32) == read_tail(rest);
        }
        if bytes.is_empty() {
            return true;
        }
        let mut word = self.word(at);
        for chunk in chunks {
            at += 8;
            let next = self.word(at);
            if word >> shift | next << (64 - shift) != u64::from_le_bytes(*chunk) {
                return false;
            }
            word = next;
        }
        if rest.is_empty() {
            return true;
        }
        let mut last = word >> shift;
        if rest.len() as u32 > (64 - shift) / 8 {
            last |= self.word(at + 8) << (64 - shift);
        }
        last & low(rest.len() as u32) == read_tail(rest)
    }

    #[inline]
    fn check(&self, offset: u64, len: usize) {
        let end = offset.checked_add(len as u64);
        assert!(end.is_some_and(|end| end <= self.layout().len), "bytes outside of the arena");
    }

    /// Stores bytes; the caller owns the block they lie in.
    #[inline]
    pub(super) fn store_bytes(&self, offset: u64, bytes: &[u8]) {
        self.check(offset, bytes.len());
        let shift = (offset & 7) as u32;
        let mut at = offset & !7;
        let mut bytes = bytes;
        if shift != 0 {
            let n = bytes.len().min(8 - shift as usize);
            let (first, others) = bytes.split_at(n);
            let mask = low(n as u32) << (shift * 8);
            self.merge(at, mask, read_tail(first) << (shift * 8));
            bytes = others;
            at += 8;
        }
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            self.word64(at).store(u64::from_le_bytes(*chunk).to_le(), Ordering::Relaxed);
            at += 8;
        }
        if !rest.is_empty() {
            self.merge(at, low(rest.len() as u32), read_tail(rest));
        }
    }

    #[inline]
    fn merge(&self, at: u64, mask: u64, bits: u64) {
        let word = self.word64(at);
        let old = word.load(Ordering::Relaxed).to_le();
        word.store((old & !mask | bits & mask).to_le(), Ordering::Relaxed);
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
