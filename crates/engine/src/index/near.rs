//! Beside pass 3 of a batch: the item of a key whose turn comes soon is asked for once more.
//!
//! ```text
//! pass 2    items of all keys      -> second cache
//! here      item of key n + 4      -> first cache     while the item of key n is read
//! ```
//! Of so many lines asked for at once, some are not there when they are looked at (decision 122). What is
//! the same for all keys of a row, where memory is and how long items are, is looked up once.

use super::batch::lines_behind_first;
use super::fetch::Fetch;
use super::read::View;
use super::typical::TypicalBytes;
use crate::arena::Mem;

/// How many keys before its turn a key's item is asked for.
const NEAR_KEYS: usize = 4;

/// What asks for items of later keys.
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    words: Mem<'a>,
    /// How long items are; of the short ones only that they are.
    long: Option<usize>,
    /// Of a short item, how far behind its beginning the second line and the last byte are.
    second: usize,
    last: usize,
}

impl<'a> View<'a> {
    #[inline(always)]
    pub fn near(&self, typical: &TypicalBytes) -> Near<'a> {
        let bytes = typical.get();
        // Of 0, which is "not known", as of 64.
        let last = if bytes == 0 { 63 } else { bytes - 1 };
        Near { words: self.words, long: (bytes > 128).then_some(bytes), second: last.min(64), last }
    }
}

impl Near<'_> {
    /// Before the read of the key of this number.
    #[inline(always)]
    pub fn fetch(&self, fetches: &[Fetch], number: usize) {
        let Some(fetch) = fetches.get(number + NEAR_KEYS) else { return };
        let at = fetch.item_at();
        // Of a key without a candidate this is the arena's header: a hint that does no harm.
        self.words.prefetch(at);
        match self.long {
            None => {
                self.words.prefetch(at + self.second);
                self.words.prefetch(at + self.last);
            }
            Some(bytes) => lines_behind_first(at, bytes, |at| self.words.prefetch(at)),
        }
    }
}
