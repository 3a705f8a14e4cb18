//! One direction of a ring: bytes from a producer to a consumer.
//!
//! ```text
//!      head (consumer's)        tail (producer's)
//!        v                        v
//!  .....|abcdefghijklmnopqrstuvwx|......      tail - head <= bytes of the lane, always
//! ```
//!
//! Each side keeps its own position privately and only publishes it: what the other side might
//! write over it is never read back. The other side's position is checked before it is used, so
//! the worst that a hostile peer achieves is [`RingFault`], or garbage in its own requests.
//!
//! Orderings. The producer's `Release` store of `tail` pairs with the consumer's `Acquire` load of
//! it: who sees the position sees the bytes before it. The consumer's `Release` store of `head`
//! pairs with the producer's `Acquire` load: the bytes had been loaded before they are overwritten.
//! The bytes themselves are relaxed words.

use super::layout::{LanePlan, WORD};
use crate::sync::atomics::{AtomicU64, Ordering};

/// The memory of a ring: words that another process may change at any moment.
pub trait RingWords {
    /// The word of an index within [`super::RingPlan::words`]; panics beyond.
    fn word(&self, index: usize) -> &AtomicU64;
}

impl<M: RingWords + ?Sized> RingWords for std::sync::Arc<M> {
    fn word(&self, index: usize) -> &AtomicU64 {
        (**self).word(index)
    }
}

/// Rings between threads, and in models.
impl RingWords for Box<[AtomicU64]> {
    fn word(&self, index: usize) -> &AtomicU64 {
        &self[index]
    }
}

/// The other side wrote something into the ring that no honest side writes: end the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingFault;

impl std::fmt::Display for RingFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the other side of the ring wrote an impossible position")
    }
}

impl std::error::Error for RingFault {}

/// The writing side of a lane.
#[derive(Debug)]
pub(crate) struct Producer {
    plan: LanePlan,
    tail: u64,
    /// The consumer's position as last seen: often enough, and then its line is left alone.
    head_seen: u64,
}

impl Producer {
    pub fn new(plan: LanePlan) -> Producer {
        Producer { plan, tail: 0, head_seen: 0 }
    }

    /// Room for how many bytes, as of now.
    pub fn space(&mut self, words: &impl RingWords) -> Result<usize, RingFault> {
        // Acquire: pairs with the Release store of `head` in `Consumer::pull`.
        let head = words.word(self.plan.head).load(Ordering::Acquire);
        let used = self.tail.wrapping_sub(head);
        if used > self.plan.bytes as u64 {
            return Err(RingFault);
        }
        self.head_seen = head;
        Ok(self.plan.bytes - used as usize)
    }

    /// Writes as much of `bytes` as there is room for; says how much.
    pub fn push(&mut self, words: &impl RingWords, bytes: &[u8]) -> Result<usize, RingFault> {
        let mut space = self.plan.bytes - self.tail.wrapping_sub(self.head_seen) as usize;
        if space < bytes.len() {
            space = self.space(words)?;
        }
        let bytes = &bytes[..bytes.len().min(space)];
        if bytes.is_empty() {
            return Ok(0);
        }
        let lead = bytes.len().min(before_word(self.tail));
        let (lead, rest) = bytes.split_at(lead);
        let (whole, end) = rest.as_chunks::<WORD>();
        let mut at = self.put_part(words, self.tail, lead);
        for word in whole {
            self.plan.word_of(words, at).store(u64::from_le_bytes(*word), Ordering::Relaxed);
            at = at.wrapping_add(WORD as u64);
        }
        at = self.put_part(words, at, end);
        self.tail = at;
        // Release: pairs with the Acquire load of `tail` in `Consumer::waiting`.
        words.word(self.plan.tail).store(at, Ordering::Release);
        Ok(bytes.len())
    }

    /// Writes less than a word, all of it in the word of `at`; says where that ends.
    fn put_part(&self, words: &impl RingWords, at: u64, piece: &[u8]) -> u64 {
        if !piece.is_empty() {
            let word = self.plan.word_of(words, at);
            // The rest of the word may be bytes that wait to be read, and is stored again as it was.
            // Nobody but this side stores to the lane's bytes.
            let mut image = word.load(Ordering::Relaxed).to_le_bytes();
            let from = at as usize % WORD;
            image[from..from + piece.len()].copy_from_slice(piece);
            word.store(u64::from_le_bytes(image), Ordering::Relaxed);
        }
        at.wrapping_add(piece.len() as u64)
    }
}

/// The reading side of a lane.
#[derive(Debug)]
pub(crate) struct Consumer {
    plan: LanePlan,
    head: u64,
}

impl Consumer {
    pub fn new(plan: LanePlan) -> Consumer {
        Consumer { plan, head: 0 }
    }

    /// How many bytes wait to be read.
    pub fn waiting(&self, words: &impl RingWords) -> Result<usize, RingFault> {
        // Acquire: pairs with the Release store of `tail` in `Producer::push`.
        let tail = words.word(self.plan.tail).load(Ordering::Acquire);
        let waiting = tail.wrapping_sub(self.head);
        if waiting > self.plan.bytes as u64 {
            return Err(RingFault);
        }
        Ok(waiting as usize)
    }

    /// Moves as many bytes as `into` holds or as wait; says how many. The bytes are copied before
    /// anybody looks at them: a peer that changes them later changes nothing here.
    pub fn pull(&mut self, words: &impl RingWords, into: &mut [u8]) -> Result<usize, RingFault> {
        let n = self.waiting(words)?.min(into.len());
        if n == 0 {
            return Ok(0);
        }
        let (lead, rest) = into[..n].split_at_mut(n.min(before_word(self.head)));
        let (whole, end) = rest.as_chunks_mut::<WORD>();
        let mut at = self.take_part(words, self.head, lead);
        for word in whole {
            *word = self.plan.word_of(words, at).load(Ordering::Relaxed).to_le_bytes();
            at = at.wrapping_add(WORD as u64);
        }
        self.head = self.take_part(words, at, end);
        // Release: pairs with the Acquire load of `head` in `Producer::space`.
        words.word(self.plan.head).store(self.head, Ordering::Release);
        Ok(n)
    }

    /// Reads less than a word, all of it of the word of `at`; says where that ends.
    fn take_part(&self, words: &impl RingWords, at: u64, into: &mut [u8]) -> u64 {
        if !into.is_empty() {
            let image = self.plan.word_of(words, at).load(Ordering::Relaxed).to_le_bytes();
            let from = at as usize % WORD;
            into.copy_from_slice(&image[from..from + into.len()]);
        }
        at.wrapping_add(into.len() as u64)
    }
}

/// How many bytes there are from a position to the next that begins a word.
fn before_word(at: u64) -> usize {
    at.wrapping_neg() as usize % WORD
}

impl LanePlan {
    fn word_of<'w>(&self, words: &'w impl RingWords, at: u64) -> &'w AtomicU64 {
        words.word(self.data + (at as usize & (self.bytes - 1)) / WORD)
    }
}
