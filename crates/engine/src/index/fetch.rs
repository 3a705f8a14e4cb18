//! What the passes of a batch have seen of a key, carried from one to the next (see `batch.rs`).

use super::trail::offset;

/// A key whose memory is on its way into the cache, and what was seen so far. Places are in granules of
/// eight bytes, as references are: no such place lies beyond what can be loaded, and none is cut to that
/// again each time. Whoever uses one later checks it like any other.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    pub(super) hash: u64,
    pub(super) several: u64,
    pub(super) directory: u64,
    /// An offset, since entries are of four bytes.
    pub(super) entry_at: usize,
    pub(super) shard: u32,
    pub(super) home: u32,
    /// The line with the candidate: the home line, or its stash line.
    pub(super) line: u32,
    /// Where the candidate is; 0 = there is none.
    pub(super) item: u32,
    pub(super) root: u32,
    pub(super) segment: u32,
    pub(super) home_version: u32,
    pub(super) line_version: u32,
    pub(super) slot: u32,
}

impl Fetch {
    /// Nothing was fetched: whoever reads with it goes the long way.
    pub const NONE: Fetch = Fetch {
        hash: 0,
        several: 0,
        directory: 0,
        entry_at: 0,
        shard: 0,
        home: 0,
        line: 0,
        item: 0,
        root: 0,
        segment: 0,
        home_version: 0,
        line_version: 0,
        slot: 0,
    };

    pub(crate) fn has_candidate(&self) -> bool {
        self.item != 0
    }

    /// Where the candidate is; 0 = there is none.
    #[inline(always)]
    pub(crate) fn item_at(&self) -> usize {
        offset(self.item)
    }

    #[inline(always)]
    pub(super) fn shard_at(&self) -> usize {
        offset(self.shard)
    }

    #[inline(always)]
    pub(super) fn home_at(&self) -> usize {
        offset(self.home)
    }

    #[inline(always)]
    pub(super) fn line_at(&self) -> usize {
        offset(self.line)
    }

    /// Pass 2b has something to do.
    #[inline(always)]
    pub(super) fn is_stashed(&self) -> bool {
        self.item == 0 && self.line != 0
    }

    /// The hash that the key was fetched by.
    #[inline(always)]
    pub fn hash(&self) -> u64 {
        self.hash
    }
}
