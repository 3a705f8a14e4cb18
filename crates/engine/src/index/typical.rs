//! How long items are: what a batch asks for before it has seen a header.
//!
//! ```text
//! pass 2    the first `bytes` of each item are asked for
//! pass 2c   the headers are there: what is longer is asked for, and `bytes` is the average anew
//!           was nothing longer, this pass is left out for the next `alike` batches
//! ```

use crate::sync::atomics::AtomicU32;
use crate::sync::atomics::Ordering::Relaxed;

/// How long items have been of late, so that all of them can be asked for at once. Guesses, so every
/// access is Relaxed.
#[derive(Debug, Default)]
pub(crate) struct TypicalBytes {
    bytes: AtomicU32,
    /// Batches to come that are taken to be as the last was: none of its items was longer.
    alike: AtomicU32,
}

impl TypicalBytes {
    /// No more than this is asked for before an item's own header has been seen.
    const MAX: u32 = 1024;
    /// Of a single item: what a read may wait for beyond that is little beside the copy.
    const SAMPLE_MAX: u32 = 256;
    /// So many batches in a row are not looked at: some hundred keys that come a little later, should
    /// their items be longer all at once. An even number: of two sorts of batches that take turns, both
    /// are looked at.
    const ALIKE: u32 = 6;

    #[inline(always)]
    pub fn get(&self) -> usize {
        self.bytes.load(Relaxed) as usize
    }

    /// One item of many has taken so many bytes. Readers of one key go by the last of these: an average would
    /// be a store each time.
    #[inline(always)]
    pub fn sample(&self, bytes: usize) {
        let bytes = (bytes as u32).min(Self::SAMPLE_MAX);
        if self.bytes.load(Relaxed) != bytes {
            self.bytes.store(bytes, Relaxed);
        }
    }

    /// Whether the next batch need not be looked at.
    #[inline(always)]
    pub fn passes_over(&self) -> bool {
        let alike = self.alike.load(Relaxed);
        if alike > 0 {
            self.alike.store(alike - 1, Relaxed);
        }
        alike > 0
    }

    /// The items that a batch has met, so many of them, have taken so many bytes, the longest this many.
    #[inline(always)]
    pub fn note(&self, items: usize, bytes: usize, longest: usize) {
        if items == 0 {
            return;
        }
        let alike = if longest <= self.get() { Self::ALIKE } else { 0 };
        self.alike.store(alike, Relaxed);
        self.bytes.store(((bytes / items) as u32).min(Self::MAX), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_passed_over_only_after_one_without_longer_items() {
        let typical = TypicalBytes::default();
        let looked_at = |longest| {
            let is_looked_at = !typical.passes_over();
            if is_looked_at {
                typical.note(2, 100 + longest, longest);
            }
            is_looked_at
        };
        // Nothing is known at first; and 120 is more than the 110 of the average.
        assert!(looked_at(120) && looked_at(120) && looked_at(120));
        assert_eq!(typical.get(), 110);
        // From here on all are alike.
        assert!(looked_at(100), "the one before had a longer item");
        for _ in 0..TypicalBytes::ALIKE {
            assert!(!looked_at(2000), "the last one that was looked at had none");
        }
        typical.note(0, 0, 0);
        assert_eq!(typical.get(), 100, "a batch without items says nothing");
        assert!(looked_at(2000), "it is looked again");
        assert!(looked_at(100), "and again, since there were longer ones");
        assert_eq!(typical.get(), 100);
    }
}
