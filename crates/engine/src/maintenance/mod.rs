//! Work that nobody asked for but everybody needs, in small pieces: expiry, eviction and memory ahead of need,
//! compaction. Writers would have to do it themselves otherwise, while their clients wait.

mod compaction;
mod elders;
mod expiry;
mod gather;
mod room;
mod shed;
mod under_locks;

use crate::alloc::Collapse;
use crate::graveyard::Reclaimed;
use crate::session::Session;
use crate::verbs::{Millis, Policy};
use compaction::NoPlace;
use expiry::Expired;
use room::{AMPLE_BYTES, ROUNDS_BEFORE_A_CALL};

pub(crate) use expiry::{ExpiryPlace, SWEEP_EVERY_MS};

/// What maintenance did in one call, so that the caller can pace itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub expired: u64,
    pub evicted: u64,
    pub moved_bytes: u64,
    /// Memory is being used up: call again within a few milliseconds.
    pub committed_bytes: u64,
    /// Call again at once: there is more of it.
    pub more: bool,
}

/// Expiry gets this part of the time while other work may wait, one in so many, and what that leaves.
const EXPIRY_ONE_IN: u64 = 2;
/// Segments of flushed databases given back between two looks at the clock.
const RECLAIM_SEGMENTS: usize = 32;
/// Most memory committed ahead of need.
const AHEAD_BYTES_MAX: u64 = 64 << 20;
/// Least of it worth a system call while something grows.
const AHEAD_BYTES_MIN: u64 = 1 << 20;
/// Nor is more committed ahead than one byte in so many of what is in use: what an item takes would be decided by how
/// fast the last ones came. A small store is allowed more, or it would be given small pages only: those
/// who are short of less than an extent get no huge one before there are 64 MiB.
const AHEAD_ONE_IN: u64 = 20;
const AHEAD_BYTES_SMALL: u64 = 8 << 20;
const SMALL_STORE_BYTES: u64 = (64 << 20) - AHEAD_BYTES_SMALL;
/// Compaction begins when more than this share of the blocks lies unused: one in so many.
const WASTE_ONE_IN: u64 = 12;
/// A larger value stays where it is, unless somebody needs the memory at once.
const MOVED_BYTES_MAX: u64 = 4 << 20;
/// And when it is worth the trouble at all.
const WASTE_BYTES_MIN: u64 = 1 << 20;

impl Session {
    /// Expiry, eviction ahead of need, commit ahead of need, compaction: about `budget_us` of it,
    /// measured by `elapsed_us` (the engine has no clock).
    pub fn maintain(&self, now: Millis, budget_us: u64, elapsed_us: &dyn Fn() -> u64) -> Work {
        let go_on = || elapsed_us() < budget_us;
        let expiry_goes_on = || elapsed_us() < budget_us / EXPIRY_ONE_IN;
        self.slot().poll();
        let mut work = Work::default();
        // First what a writer would otherwise have to do itself.
        let growing = self.commit_ahead(&mut work, &go_on);
        self.engine().give_back_journal();
        let mut expired = self.expire(now, &expiry_goes_on);
        let mut reclaimed = Reclaimed::Done;
        while go_on() {
            reclaimed = self.engine().reclaim(self, RECLAIM_SEGMENTS);
            if reclaimed != Reclaimed::More {
                break;
            }
        }
        work.more = reclaimed != Reclaimed::Done;
        // Not while flushed memory is still coming back: nothing has to go or to move for it.
        if reclaimed != Reclaimed::More {
            self.evict_ahead(now, &mut work, &go_on);
            self.compact(now, growing, &mut work, &go_on);
        }
        if expired.is_cut_short && go_on() {
            let rest = self.expire(now, &go_on);
            expired = Expired { items: expired.items + rest.items, ..rest };
        }
        work.expired = expired.items;
        work.more |= expired.is_cut_short;
        work
    }

    /// Asks the system for one huge page in place of 512 small ones: some milliseconds, in which a
    /// thread on the same core waits. False: there is nothing left to ask for.
    pub fn collapse(&self) -> bool {
        self.engine().allocator().collapse_step() != Collapse::Nothing
    }

    /// Gives free blocks back if compaction has asked for them. Cheap; a thread that serves calls it
    /// whenever it wakes, or a page that it has a block of could never be emptied.
    #[inline]
    pub fn poll(&self) {
        self.slot().poll();
    }

    /// Commits about four times as much as was used up lately, within bounds. True: the store is growing.
    fn commit_ahead(&self, work: &mut Work, go_on: &dyn Fn() -> bool) -> bool {
        let allocator = self.engine().allocator();
        let used = self.engine().arena().limit().saturating_sub(allocator.free_bytes());
        let (before, ahead) = self.growth.get();
        let grown = used.saturating_sub(before);
        let most = match used < SMALL_STORE_BYTES {
            true => AHEAD_BYTES_SMALL,
            false => (used / AHEAD_ONE_IN).min(AHEAD_BYTES_MAX),
        };
        let ahead = (4 * grown).max(ahead - ahead / 8).min(most);
        self.growth.set((used, ahead));
        if ahead < AHEAD_BYTES_MIN {
            self.growth.set((used, ahead & !1023));
            return false;
        }
        // The last of it is left to who writes: what still fits must not depend on whether this
        // thread came by.
        let is_ample = || self.engine().arena().uncommitted() >= AMPLE_BYTES;
        work.committed_bytes = allocator.commit_ahead(ahead, &|| is_ample() && go_on()).max(1);
        true
    }

    /// Keeps a little free, so that writers seldom have to evict themselves.
    fn evict_ahead(&self, now: Millis, work: &mut Work, go_on: &dyn Fn() -> bool) {
        if self.engine().policy() == Policy::NoEviction {
            return;
        }
        // Among large items one that goes without need is missed, and whoever stores one makes room
        // for exactly that. Only what a lowered limit asks for goes now.
        let is_mostly_large = self.is_mostly_large();
        let is_short = || match is_mostly_large {
            true => self.is_above_limit(),
            false => !self.has_room(0),
        };
        let mut rounds = 0;
        while go_on() && is_short() {
            rounds += 1;
            if rounds == ROUNDS_BEFORE_A_CALL {
                self.call_in_blocks();
            }
            if self.keep_to_limit(now) {
                continue;
            }
            if self.shed_index(now) {
                // Maintenance goes on with what was given up before it evicts more.
                work.more = true;
                return;
            }
            // What is short may be whole pages alone. Free blocks in pages of other sizes make
            // some, and evicting one item after the other makes none until a page is gathered.
            if self.compact_for(0, now) {
                continue;
            }
            // One at a time where there are few: they are large.
            let many = (self.engine().item_count() / 1024).clamp(1, 64) as usize;
            let evicted = match many {
                1 if self.evict_large(now) => 1,
                _ => self.evict(many, now).items,
            };
            self.slot().flush();
            work.evicted += evicted as u64;
            if evicted == 0 {
                return;
            }
        }
        // The memory was promised to somebody else.
        work.more |= self.is_above_limit();
    }

    /// Whether so many blocks of pages lie free that emptying some of them is worth the trouble.
    fn is_wasteful(&self) -> bool {
        let usage = self.engine().allocator().usage();
        let blocks = usage.block_bytes();
        let unused = blocks.saturating_sub(usage.live_bytes + usage.magazine_bytes);
        unused >= WASTE_BYTES_MIN && unused >= blocks / WASTE_ONE_IN
    }

    /// Empties pages while too much of them is unused, and gives empty extents back.
    fn compact(&self, now: Millis, growing: bool, work: &mut Work, go_on: &dyn Fn() -> bool) {
        let allocator = self.engine().allocator();
        if growing {
            return;
        }
        while go_on() {
            if !self.is_wasteful() {
                break;
            }
            let before = work.moved_bytes;
            let mut freed = false;
            for candidate in allocator.drain_candidates().into_iter().take(32) {
                if !go_on() {
                    break;
                }
                if let Some(moved) = self.empty(candidate.drain, NoPlace::Stay, now) {
                    work.moved_bytes += moved;
                    freed = true;
                }
            }
            work.more = freed;
            if !freed && work.moved_bytes == before {
                break;
            }
        }
        // Free pages scattered over extents: gather them.
        while go_on() && !work.more {
            let usage = allocator.usage();
            if usage.free_bytes < WASTE_BYTES_MIN
                || usage.free_bytes < usage.committed / WASTE_ONE_IN
            {
                break;
            }
            if allocator.release_empty_extents(WASTE_BYTES_MIN / 2) > 0 {
                continue;
            }
            // Who moves a value holds its shard's lock, for some milliseconds at this size.
            let Some(candidate) = allocator.drain_extent_candidate(MOVED_BYTES_MAX) else { break };
            match self.empty(candidate.drain, NoPlace::Stay, now) {
                Some(moved) => work.moved_bytes += moved,
                None => break,
            }
        }
    }
}

#[cfg(all(test, not(any(miri, loom, shuttle))))]
mod tests {
    use crate::verbs::*;
    use crate::{Engine, EngineOptions};

    const DB: Db = Db(0);
    const NOW: Millis = 1;

    /// A limit that was lowered had no effect on large values until somebody stored another one: those who store make
    /// room for themselves.
    #[test]
    fn a_lowered_limit_is_kept_though_nobody_stores() {
        let options = EngineOptions { policy: Policy::AllKeysLru, ..EngineOptions::default() };
        let engine = Engine::create(options).expect("an arena");
        let session = engine.session().expect("a slot");
        for number in 0..64 {
            let name = format!("key {number}");
            let key = engine.key(name.as_bytes());
            let put = Put::plain(Value::Bytes(&[7; 1 << 20]));
            session.write(DB, &key, NOW).put(DB, &key, &put).expect("memory");
        }
        const LIMIT: u64 = 20 << 20;
        assert!(engine.memory().committed > 64 << 20);
        engine.set_max_memory(LIMIT);
        let turns = (0..1_000).find(|_| {
            session.maintain(NOW, 1_000, &|| 0);
            engine.memory().committed <= LIMIT
        });
        assert!(turns.is_some(), "{} are committed", engine.memory().committed);
        assert!(engine.item_count() >= 12, "{} items are left", engine.item_count());
        session.maintain(NOW, 1_000, &|| 0);
        engine.verify_at_rest().expect("sound");
    }

    /// Four blocks of 26 KiB leave nearly a fifth of their page over. That counted as waste: a store of
    /// such items was compacted for ever, though none of its blocks was free.
    #[test]
    fn what_no_block_fits_into_is_no_waste() {
        let engine = Engine::create(EngineOptions::default()).expect("an arena");
        let session = engine.session().expect("a slot");
        let names: Vec<_> = (0..400).map(|number| format!("key {number}")).collect();
        for name in &names {
            let key = engine.key(name.as_bytes());
            let put = Put::plain(Value::Bytes(&[7; 26_500]));
            session.write(DB, &key, NOW).put(DB, &key, &put).expect("memory");
        }
        assert!(!session.is_wasteful(), "{:?}", engine.allocator().usage());
        for name in names.iter().step_by(2) {
            let key = engine.key(name.as_bytes());
            assert!(session.write(DB, &key, NOW).remove(DB, &key, Event::Del));
        }
        assert!(session.is_wasteful(), "{:?}", engine.allocator().usage());
    }
}
