//! Blocks: what an item takes, and how a session takes them from its magazines and gives them back.

use super::Session;
use crate::alloc::{PageKind, TopPlace};
use crate::arena::Ref;
use crate::lease::LEASED_BYTES_MIN;
use crate::verbs::{Db, Key, StoreError};

impl Session {
    /// Bytes of the block that a key's item takes, be it over: it takes them until somebody removes it. No use,
    /// and no look at the key.
    pub fn block_bytes(&self, db: Db, key: &Key<'_>) -> Option<usize> {
        self.read(db, key, |hit| {
            hit.map(|hit| hit.item.found(hit.line.meta(hit.slot)).0.block_bytes)
        })
    }

    #[inline(always)]
    pub(crate) fn take_item(&self, bytes: usize) -> Result<u32, StoreError> {
        self.take(bytes, PageKind::Item)
    }

    pub(crate) fn take_index(&self, bytes: usize) -> Result<u32, StoreError> {
        self.take(bytes, PageKind::Index)
    }

    #[inline(always)]
    fn take(&self, bytes: usize, kind: PageKind) -> Result<u32, StoreError> {
        let block = self.engine.allocator().alloc(&self.slot, bytes, kind);
        block.map(Ref::raw).ok_or(StoreError::Full)
    }

    /// A block for an item of `bytes` in exchange for one of as many, which is to be given to
    /// [`Session::end_exchange`] at once. `None`: take and give.
    #[inline(always)]
    pub(crate) fn begin_exchange(&self, bytes: usize) -> Option<(Ref, TopPlace)> {
        self.engine.allocator().begin_exchange(self.mem(), &self.slot, bytes)
    }

    #[inline(always)]
    pub(crate) fn end_exchange(&self, place: TopPlace, block: Ref) {
        self.engine.allocator().end_exchange(self.mem(), &self.slot, place, block);
    }

    /// Frees an item's block of `bytes` (any number of the same class).
    #[inline(always)]
    pub(crate) fn give_item(&self, reference: u32, bytes: usize) {
        if bytes >= LEASED_BYTES_MIN && self.keeps_leased(reference, bytes) {
            return;
        }
        self.free_item(reference, bytes);
    }

    #[inline(always)]
    pub(crate) fn free_item(&self, reference: u32, bytes: usize) {
        self.give(reference, bytes, PageKind::Item);
    }

    /// Frees a segment or a directory.
    pub(crate) fn give_index(&self, reference: u32, bytes: usize) {
        self.give(reference, bytes, PageKind::Index);
    }

    #[inline(always)]
    fn give(&self, reference: u32, bytes: usize, kind: PageKind) {
        let block = Ref::from_raw(reference).expect("a block has a place");
        self.engine.allocator().free(&self.slot, block, bytes, kind);
    }
}
