//! Fingerprints of lately evicted keys: one byte a place, the newest wins.
//!
//! ```text
//! chunk 0   the first 65,536 places
//! chunk 1   the next 65,536: in use when the store has more items than that
//! chunk 2   the next 131,072 ...    each as large as all before it, made when it is first written
//! ```
//! A store remembers about as many keys as it has items: with fewer a key is forgotten before it
//! comes back, with more it is taken for a good one although it comes back but seldom. One byte
//! is wrong in one case of 255, which costs a place in main now and then.

use crate::sync::atomics::AtomicU32;
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::blocking::OnceLock;

/// Places of the first chunk, and the fewest that are in use.
const FIRST_BITS: u32 = if cfg!(shuttle) { 4 } else { 16 };
const CHUNKS: usize = 9;
const MARKS_A_WORD: u64 = 4;

#[derive(Debug, Default)]
pub(crate) struct Ghosts {
    chunks: [OnceLock<Box<[AtomicU32]>>; CHUNKS],
}

/// Where a key's mark is: its chunk, the word in there, the byte of the word.
struct Place {
    chunk: usize,
    word: usize,
    shift: u32,
    mark: u32,
}

/// `wanted` places, rounded to a power of two that there is.
fn place(hash: u64, wanted: u64) -> Place {
    let bits = wanted.max(1).ilog2().clamp(FIRST_BITS, FIRST_BITS + CHUNKS as u32 - 1);
    // The low byte is the tag, the top bits name the shard: what is between tells keys apart.
    let number = (hash >> 8) & ((1 << bits) - 1);
    let above = number >> FIRST_BITS;
    let chunk = if above == 0 { 0 } else { above.ilog2() as usize + 1 };
    let first = if chunk == 0 { 0 } else { 1 << (FIRST_BITS + chunk as u32 - 1) };
    let within = number - first;
    Place {
        chunk,
        word: (within / MARKS_A_WORD) as usize,
        shift: (within % MARKS_A_WORD) as u32 * 8,
        mark: ((hash >> 40) as u32 & 0xff).max(1),
    }
}

fn words_of(chunk: usize) -> u64 {
    (1 << (FIRST_BITS + chunk.saturating_sub(1) as u32)) / MARKS_A_WORD
}

impl Ghosts {
    pub fn remember(&self, hash: u64, wanted: u64) {
        let place = place(hash, wanted);
        let words = self.chunks[place.chunk]
            .get_or_init(|| (0..words_of(place.chunk)).map(|_| AtomicU32::new(0)).collect());
        let word = &words[place.word];
        // Two at once may lose one of the marks: one ghost less.
        let others = word.load(Relaxed) & !(0xff << place.shift);
        word.store(others | place.mark << place.shift, Relaxed);
    }

    pub fn knows(&self, hash: u64, wanted: u64) -> bool {
        let place = place(hash, wanted);
        let Some(words) = self.chunks[place.chunk].get() else { return false };
        words[place.word].load(Relaxed) >> place.shift & 0xff == place.mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_remembered_is_known_until_another_takes_its_place() {
        // The larger ones are cleared word by word under Miri, which takes longer than anybody waits.
        let sizes = if cfg!(miri) { 1 } else { 3 };
        for wanted in [0, 1 << 17, 1 << 40].into_iter().take(sizes) {
            let ghosts = Ghosts::default();
            let hash = 0x1234_5678_9abc_def0;
            assert!(!ghosts.knows(hash, wanted));
            ghosts.remember(hash, wanted);
            assert!(ghosts.knows(hash, wanted));
            assert!(!ghosts.knows(hash ^ 1 << 45, wanted));
            ghosts.remember(hash ^ 1 << 45, wanted);
            assert!(!ghosts.knows(hash, wanted));
        }
    }

    #[test]
    fn every_place_lies_within_its_chunk() {
        let most = u64::MAX >> 8;
        for bits in FIRST_BITS..FIRST_BITS + CHUNKS as u32 {
            for number in [0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, most] {
                let place = place(number << 8, 1 << bits);
                assert!((place.word as u64) < words_of(place.chunk), "{bits} {number}");
            }
        }
    }
}
