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

mod across;
mod destination;
mod source;

use super::bytes::Frame;
use super::words::Words;
pub(super) use destination::Destination;
pub(super) use source::Source;
use std::mem::MaybeUninit;

impl Words {
    #[inline(always)]
    fn source(&self, offset: u64, len: usize) -> Source<'_> {
        // SAFETY: `run` gives the start of so many bytes of the reservation, which lives as long as
        // the words.
        unsafe { Source::new(self.run(offset, len), len) }
    }

    /// Writes all of `room` with the bytes that begin at `offset`.
    #[inline(always)]
    pub fn copy_to(&self, offset: u64, room: &mut [MaybeUninit<u8>]) {
        self.source(offset, room.len()).copy_to(room);
    }

    /// Whether the bytes at `offset` are these.
    #[inline(always)]
    pub fn bytes_equal(&self, offset: u64, bytes: &[u8]) -> bool {
        self.source(offset, bytes.len()).is(bytes)
    }

    /// As `copy_out`, in a frame.
    #[inline(always)]
    pub fn copy_framed(&self, offset: u64, len: usize, frame: &Frame, out: &mut Vec<u8>) {
        self.source(offset, len).append_framed_to(frame, out);
    }

    /// Stores bytes at any offset into a block that the caller owns and nobody can see yet. A late
    /// reader of the block's former content may load them at the same moment, see the top.
    #[inline(always)]
    pub(super) fn store_unaligned(&self, offset: u64, bytes: &[u8]) {
        // SAFETY: `run` gives the start of so many bytes of the reservation, which lives as long as
        // the words, and the caller owns the block that they are of.
        let to = unsafe { Destination::new(self.run(offset, bytes.len()), bytes.len()) };
        to.store(bytes);
    }

    /// Stores bytes of one block into another one, which the caller owns.
    #[inline]
    pub(super) fn copy_across(&self, from: u64, to: u64, len: usize) {
        // SAFETY: as in `store_unaligned`.
        let to = unsafe { Destination::new(self.run(to, len), len) };
        to.store_from(self.source(from, len));
    }
}
