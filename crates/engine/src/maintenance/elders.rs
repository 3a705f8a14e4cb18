//! Who goes in place of an item that has to move and finds no place of its size.
//!
//! ```text
//! stretch being emptied          another page of that size, of its items a sample
//!   | ... | 1.3 KiB, age 0 | ->    | age 9 | age 2 | age 12, asked for | age 11 | ...
//!                                                                        goes; its block takes the one of age 0
//! ```
//!
//! A stretch of pages holds what came last as well as what is old, and places become free in some sizes and not
//! in others. If who finds none went, one in twenty items of a store that takes large values among small ones
//! would go whatever its age (decision 162). So of each size that has no place some items elsewhere are looked
//! at, and the oldest of those go first, as the policy counts age. An item that is as old as they are
//! goes itself.

use crate::alloc::{BLOCK_MAX, block_bytes};
use crate::arena::Ref;
use crate::session::Session;
use crate::verbs::Millis;

/// Items looked at in one page, and those of them that may go: the first quarter.
const SAMPLE: usize = 32;
const TAKEN: usize = SAMPLE / 4;
/// Pages of one size looked at for one item.
const PAGES_A_LOOK: usize = 2;
/// Scatters the pages at which looks begin.
const SCATTER: u32 = 0x9E37_79B1;

/// An item that has to move and has no place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuck {
    pub bytes: usize,
    /// How near it is to its own end; `None`: it may not go.
    pub readiness: Option<u64>,
}

/// Items of one size that were looked at, the readiest last.
struct OfSize {
    block_bytes: u64,
    items: Vec<(u64, Ref)>,
    next_page: u32,
}

/// What has been looked at while something is emptied.
pub(super) struct Elders<'s> {
    session: &'s Session,
    sizes: Vec<OfSize>,
}

impl<'s> Elders<'s> {
    pub fn new(session: &'s Session) -> Elders<'s> {
        Elders { session, sizes: Vec::new() }
    }

    /// Evicts an item of the same size that is nearer to its end. True: one went, and its block is free.
    pub fn give_way(&mut self, stuck: Stuck, now: Millis) -> bool {
        if stuck.bytes > BLOCK_MAX {
            return false;
        }
        let is_nearer = |elder: u64| stuck.readiness.is_none_or(|own| elder > own);
        for _ in 0..PAGES_A_LOOK {
            while let Some((readiness, block)) = self.pop(stuck.bytes) {
                if !is_nearer(readiness) {
                    return false;
                }
                if self.session.evict_if(block, is_nearer, now) {
                    return true;
                }
            }
            if !self.look(stuck.bytes, now) {
                break;
            }
        }
        false
    }

    fn pop(&mut self, bytes: usize) -> Option<(u64, Ref)> {
        let block_bytes = block_bytes(bytes);
        self.sizes.iter_mut().find(|size| size.block_bytes == block_bytes)?.items.pop()
    }

    /// Looks at one more page of a size. False: there is none.
    fn look(&mut self, bytes: usize, now: Millis) -> bool {
        let session = self.session;
        let allocator = session.engine().allocator();
        let block_bytes = block_bytes(bytes);
        let turn = (session.next_eviction_turn() as u32).wrapping_mul(SCATTER);
        let known = self.sizes.iter().position(|size| size.block_bytes == block_bytes);
        let number = known.unwrap_or_else(|| {
            self.sizes.push(OfSize { block_bytes, items: Vec::new(), next_page: turn });
            self.sizes.len() - 1
        });
        let size = &mut self.sizes[number];
        let Some(page) = allocator.next_page(bytes, size.next_page) else { return false };
        size.next_page = page + 1;
        let mut blocks = Vec::new();
        allocator.for_each_block(page, |block, _| blocks.push(block));
        let stride = (blocks.len() / SAMPLE).max(1);
        let sample = blocks.into_iter().skip(turn as usize % stride).step_by(stride);
        let ready = sample.filter_map(|block| {
            let may_go = session.with_item_in(block, now, |_, target, spot, hash| {
                session.readiness_at(target, spot.place(), || hash, now)
            });
            Some((may_go??, block))
        });
        size.items = ready.collect();
        size.items.sort_unstable_by_key(|(readiness, _)| *readiness);
        size.items.drain(..size.items.len().saturating_sub(TAKEN));
        true
    }
}

impl Session {
    /// Evicts the item in a block if it may go and its readiness is as wanted.
    fn evict_if(&self, block: Ref, is_wanted: impl Fn(u64) -> bool, now: Millis) -> bool {
        let gone = self.with_item_in(block, now, |guard, target, spot, hash| {
            let goes = self.readiness_at(target, spot.place(), || hash, now).is_some_and(is_wanted);
            if goes {
                self.evict_slot(guard, target, spot.segment, spot.line, spot.slot);
            }
            goes
        });
        gone == Some(true)
    }
}
