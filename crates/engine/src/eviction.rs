//! Eviction: S3-FIFO by generations, behind Redis' policy names.
//!
//! The meta byte of a slot says how often an item was used (0 to 3), whether it has proven itself
//! (`main`), and in which generation of its shard it came. A shard's generation ends when a
//! sixteenth of its bytes has been inserted anew. The hand walks a shard's lines in memory order
//! and looks at meta bytes only:
//!
//! * young and not in main: left alone until two generations old; then to main if it was used
//!   twice, else evicted, and its hash remembered for a while;
//! * in main: evicted if old and unused, else it loses a use and is young again;
//! * a key that comes back while its hash is remembered goes to main at once.
//!
//! Source: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023. LRU and LFU
//! both mean this; `random` and `ttl` choose otherwise.

use crate::engine::Engine;
use crate::guard::{Guard, Spot, Target};
use crate::index::bucket::{META_FREQUENCY, META_MAIN, META_TTL, SLOTS};
use crate::index::segment::{LINES, Segment};
use crate::index::shard::Shard;
use crate::item::Item;
use crate::session::Session;
use crate::sync::atomics::AtomicU32;
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::lock;
use crate::verbs::{Db, Event, Millis, Policy};

/// Generations in the time in which a shard's content is inserted once.
const GENERATIONS: u64 = 16;
/// A generation is never shorter than this, or an empty shard would age with each insert.
const GENERATION_BYTES_MIN: u64 = 4096;
const GHOSTS: usize = if cfg!(shuttle) { 1 << 4 } else { 1 << 16 };
/// Lines that one call looks at before it takes what it has.
const LINES_A_TURN: usize = 64 * 63;

/// Fingerprints of lately evicted keys: one word a place, the newest wins. 256 KiB in all.
#[derive(Debug)]
pub(crate) struct Ghosts {
    places: Vec<AtomicU32>,
}

impl Default for Ghosts {
    fn default() -> Self {
        Ghosts { places: (0..GHOSTS).map(|_| AtomicU32::new(0)).collect() }
    }
}

impl Ghosts {
    fn place(&self, hash: u64) -> (&AtomicU32, u32) {
        (&self.places[(hash >> 24) as usize % GHOSTS], (hash >> 8) as u32 | 1)
    }

    fn remember(&self, hash: u64) {
        let (place, mark) = self.place(hash);
        place.store(mark, Relaxed);
    }

    fn knows(&self, hash: u64) -> bool {
        let (place, mark) = self.place(hash);
        place.load(Relaxed) == mark
    }
}

impl Engine {
    /// Counts an insert towards the shard's generation, which is returned.
    pub(crate) fn note_insert(&self, shard: Shard<'_>, bytes: usize) -> u64 {
        let inserted = shard.inserted_bytes() + bytes as u64;
        // The bytes of a shard are not known, but its items and the size of this one are.
        let span = (shard.items() * bytes as u64 / GENERATIONS).max(GENERATION_BYTES_MIN);
        if inserted >= span {
            shard.set_inserted_bytes(0);
            shard.set_generation(shard.generation() + 1);
        } else {
            shard.set_inserted_bytes(inserted);
        }
        shard.generation()
    }

    pub(crate) fn was_evicted_lately(&self, hash: u64) -> bool {
        self.policy() != Policy::NoEviction && self.ghosts().knows(hash)
    }
}

impl Session {
    /// Evicts up to `items` items somewhere. Returns how many. Takes no lock that it would have
    /// to wait for.
    pub(crate) fn evict(&self, items: usize, now: Millis) -> usize {
        let engine = self.engine();
        let policy = engine.policy();
        if policy == Policy::NoEviction {
            return 0;
        }
        let view = engine.view();
        let shards = view.shard_count();
        let mut evicted = 0;
        let databases = usize::from(engine.databases());
        // Several rounds: S3-FIFO first takes uses away, then evicts.
        for turn_count in 0..4 * shards * databases {
            // A whole round without enough: then age is no excuse.
            let force = turn_count > 2 * shards * databases;
            let turn = self.next_eviction_turn();
            let db = Db((turn / shards % databases) as u16);
            let root = view.root_of(db);
            if !engine.is_open(root) {
                continue;
            }
            let number = turn % shards;
            let shard = view.shard_at(root, number);
            if shard.items() == 0 || !lock::try_acquire(shard.lock()) {
                continue;
            }
            let mut guard = Guard::adopt(self, shard, now);
            if view.root_of(db) == root {
                let target = Target { db, root, shard_number: number, shard };
                evicted += self.evict_from(&mut guard, &target, policy, force, items - evicted);
            }
            if evicted >= items {
                break;
            }
        }
        evicted
    }

    fn evict_from<'s>(
        &'s self,
        guard: &mut Guard<'s>,
        target: &Target<'s>,
        policy: Policy,
        force: bool,
        items: usize,
    ) -> usize {
        let directory = target.shard.directory();
        if directory.is_empty() {
            return 0;
        }
        let hand = target.shard.hand();
        let (mut index, mut line) = ((hand >> 8) as usize, (hand & 0xff) as usize);
        let generation = target.shard.generation();
        // An eighth of the shard at a time keeps the shards even.
        let share = (target.shard.items() as usize / 8).clamp(1, items);
        let mut evicted = 0;
        let mut soonest: Option<(Millis, Segment<'s>, usize, usize)> = None;
        for looked in 0..LINES_A_TURN {
            if !(1..LINES).contains(&line) {
                line = 1;
            }
            index %= directory.entries();
            let segment = target.shard.segment(directory, index);
            for slot in 0..SLOTS {
                if evicted >= share {
                    break;
                }
                let bucket = segment.line(line);
                if bucket.load().tag(slot) == 0 {
                    continue;
                }
                let meta = bucket.meta(slot);
                if policy.only_volatile() && meta & META_TTL == 0 {
                    continue;
                }
                let out = match policy {
                    Policy::AllKeysRandom | Policy::VolatileRandom => {
                        self.next_eviction_turn() & 3 == 0
                    }
                    Policy::VolatileTtl => {
                        let item = self.item_in(segment, line, slot);
                        let due = item.deadline();
                        if soonest.is_none_or(|(best, ..)| due < best) {
                            soonest = Some((due, segment, line, slot));
                        }
                        false
                    }
                    _ => match judge(meta, generation + if force { 2 } else { 0 }) {
                        Verdict::Evict => true,
                        Verdict::Keep(new) => {
                            if new != meta {
                                bucket.set_meta(slot, new);
                            }
                            false
                        }
                    },
                };
                let is_spared = out
                    && meta & META_TTL != 0
                    && !force
                    && self.is_spared_at(segment, line, slot, guard.now);
                if out && !is_spared {
                    self.evict_slot(guard, target, segment, line, slot);
                    evicted += 1;
                }
            }
            line += 1;
            if line == LINES {
                line = 1;
                let depth = segment.depth().min(directory.depth());
                let span = 1 << (directory.depth() - depth);
                index = (index & !(span - 1)) + span;
            }
            // A sample of 64 lines for the soonest deadline; else until the share is reached.
            if evicted >= share || soonest.is_some() && looked >= 64 {
                break;
            }
        }
        if let Some((_, segment, line, slot)) = soonest {
            self.evict_slot(guard, target, segment, line, slot);
            evicted += 1;
        }
        target.shard.set_hand((index as u64) << 8 | line as u64);
        evicted
    }

    fn is_spared_at(&self, segment: Segment<'_>, line: usize, slot: usize, now: Millis) -> bool {
        self.engine().is_spared(self.item_in(segment, line, slot).deadline(), now)
    }

    fn item_in<'s>(&'s self, segment: Segment<'s>, line: usize, slot: usize) -> Item<'s> {
        Item::at(segment.words, segment.line(line).reference(slot) as usize * 8)
            .expect("an indexed item lies within the arena")
    }

    fn evict_slot<'s>(
        &'s self,
        guard: &mut Guard<'s>,
        target: &Target<'s>,
        segment: Segment<'s>,
        line: usize,
        slot: usize,
    ) {
        let item = self.item_in(segment, line, slot);
        let mut key = Vec::with_capacity(item.head.key_len);
        item.copy_key(&mut key);
        self.engine().ghosts().remember(self.engine().hash(&key));
        let event = if item.is_due(guard.now) { Event::Expired } else { Event::Evicted };
        guard.take_out(target, &key, &Spot { segment, line, slot, item }, event);
    }
}

enum Verdict {
    Evict,
    Keep(u8),
}

/// What the hand does with an item.
fn judge(meta: u8, generation: u64) -> Verdict {
    let age = (generation as u8).wrapping_sub(meta >> 4) & 0x0f;
    let frequency = meta & META_FREQUENCY;
    let renewed = meta & 0x0f & !META_FREQUENCY | (generation as u8 & 0x0f) << 4;
    if meta & META_MAIN == 0 {
        if age < 2 {
            Verdict::Keep(meta)
        } else if frequency >= 2 {
            Verdict::Keep(renewed | META_MAIN)
        } else {
            Verdict::Evict
        }
    } else if frequency > 0 {
        Verdict::Keep(renewed | (frequency - 1))
    } else if age >= 2 {
        Verdict::Evict
    } else {
        Verdict::Keep(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unused_item_goes_when_it_is_two_generations_old() {
        assert!(matches!(judge(0, 1), Verdict::Keep(0)));
        assert!(matches!(judge(0, 2), Verdict::Evict));
    }

    #[test]
    fn a_used_item_goes_to_main_and_must_be_used_again_to_stay() {
        let Verdict::Keep(meta) = judge(3, 2) else { panic!("it was used") };
        assert_eq!(meta & META_MAIN, META_MAIN);
        assert_eq!(meta & META_FREQUENCY, 0);
        assert!(matches!(judge(meta, 4), Verdict::Evict));
        assert!(matches!(judge(meta + 1, 4), Verdict::Keep(_)));
    }
}
