//! Roots: which set of shards each database stands on, when the shards of one are committed, and how two
//! databases are swapped. A root's number stands in the arena's header, four bytes a database.

use super::{Engine, ROOTS_AT};
use crate::sync::atomics::AtomicU64;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};
use crate::sync::lock::Lock;
use crate::verbs::Db;

impl Engine {
    pub(crate) fn is_open(&self, root: u32) -> bool {
        self.opened.load(Acquire) & 1 << root != 0
    }

    /// Held while databases are opened, and by whom who lets none be opened.
    fn opening(&self) -> Lock<'_> {
        let [word, asleep] = &self.opening;
        Lock { word, asleep }
    }

    /// The bits of the roots in use; none is added until `end_closed_opening`.
    pub(crate) fn close_opening(&self) -> u64 {
        self.opening().acquire();
        self.opened.load(Relaxed)
    }

    pub(crate) fn end_closed_opening(&self) {
        self.opening().release();
    }

    /// The root of a database that is about to be written to. Without any shard's lock: see `lock_all`.
    #[inline(always)]
    pub(crate) fn open_root(&self, db: Db) -> u32 {
        let root = self.view().root_of(db);
        if !self.is_open(root) {
            self.commit_root(root);
        }
        root
    }

    #[cold]
    fn commit_root(&self, root: u32) {
        let _opening = self.opening().hold();
        if !self.is_open(root) {
            // Without memory the control blocks are still mapped, as zero pages on demand: the
            // store stays correct, and the next put is refused for want of a segment.
            self.arena().commit_database(root, 1 << self.shard_bits);
            match self.sequence_floor.load(Relaxed) {
                0 => {}
                floor => {
                    let shards = 0..self.view().shard_count();
                    shards.for_each(|n| self.view().shard_at(root, n).raise_sequence(floor));
                }
            }
            // Pairs with the Acquire in `is_open`.
            self.opened.fetch_or(1 << root, Release);
        }
    }

    pub(crate) fn sequence_floor(&self) -> &AtomicU64 {
        &self.sequence_floor
    }

    /// A seed for the versions of a new segment, as no other one of this store had: blocks pass from shard to
    /// shard, and a reader on its way to one of them must not take another's line for what it was looking for.
    pub(crate) fn segment_seed(&self) -> u32 {
        // Relaxed: a number of its own is all that is wanted. The multiplier, which is odd, leaves them
        // different and spreads them: a line's version goes on from its seed, one by one.
        self.segments.fetch_add(1, Relaxed).wrapping_mul(0x9e37_79b1)
    }

    /// Under the locks of everything.
    pub(crate) fn swap_roots(&self, a: Db, b: Db) {
        let place = |db: Db| self.mem().u32_at(ROOTS_AT + 4 * db.0 as usize);
        // Between the two stores both databases have one root. If that is one in use, its shards are locked, and
        // readers wait; of one that was never opened they would say that both databases are empty.
        let (a, b) = if self.is_open(place(a).load(Relaxed)) { (a, b) } else { (b, a) };
        let (root_a, root_b) = (place(a).load(Relaxed), place(b).load(Relaxed));
        // Readers check the root at their end, and start again.
        place(b).store(root_a, Release);
        place(a).store(root_b, Release);
    }
}
