//! Eviction: S3-FIFO by generations, behind Redis' policy names.
//!
//! The meta byte of a slot says how often an item was used (0 to 3), whether it has proven itself
//! (`main`), and in which generation of its shard it came. A shard's generation ends when a
//! sixteenth of its items has been inserted anew, or when nothing was due on a whole walk. The hand
//! walks a shard's lines in memory order and looks at meta bytes only:
//!
//! * young and not in main: left alone while it is on trial (see `trial.rs`) and on the walk in which it came; then
//!   to main if it was used, to stay there for a walk if it was used once; else evicted, and its hash remembered;
//! * in main: left alone for as many generations as the hand has patience (`hand.rs`); then evicted if unused,
//!   else half of its uses are taken from it and it is renewed;
//! * a key that comes back while its hash is remembered goes to main at once;
//! * a key that is written again, or looked at by who would write it, goes to main and begins anew there: a
//!   counter that nobody reads is in use all the same (decision 157).
//!
//! Source: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023. LRU and LFU
//! both mean this; `random` chooses otherwise, and `ttl` (`soonest.rs`).

pub(crate) mod kept;
mod readiness;
mod soonest;

use crate::engine::Engine;
use crate::guard::{Guard, Spot, Target};
use crate::hand::{Hand, Times, Verdict, judge};
use crate::index::bucket::{META_FREQUENCY, META_MAIN, META_TTL, SLOTS};
use crate::index::segment::{LINES, Segment};
use crate::index::shard::Shard;
use crate::item::Item;
use crate::session::Session;
use crate::trial::Met;
use crate::verbs::{Db, Event, Millis, Policy};

/// Generations in the time in which a shard's content is inserted once.
const GENERATIONS: u64 = 16;
/// A generation is never shorter than this, or an empty shard would age with each insert.
const GENERATION_ITEMS_MIN: u64 = 4;
/// Lines that one call looks at before it takes what it has.
const LINES_A_TURN: usize = 64 * 63;

impl Engine {
    /// Counts an insert towards the shard's generation, which is returned.
    pub(crate) fn note_insert(&self, shard: Shard<'_>) -> u64 {
        let inserted = shard.inserted() + 1;
        if inserted >= (shard.items() / GENERATIONS).max(GENERATION_ITEMS_MIN) {
            shard.set_inserted(0);
            shard.set_generation(shard.generation() + 1);
        } else {
            shard.set_inserted(inserted);
        }
        shard.generation()
    }

    pub(crate) fn was_evicted_lately(&self, shard: Shard<'_>, hash: u64) -> bool {
        self.policy() != Policy::NoEviction && self.ghosts().knows(hash, self.ghost_places(shard))
    }

    /// As many places as the store has items, as far as one shard can tell.
    fn ghost_places(&self, shard: Shard<'_>) -> u64 {
        shard.items() << self.view().shard_bits
    }
}

/// Whether the uses of an item whose time was up tell that its side needs the time. One use on trial is mostly
/// that of who stored it, right when it came, for which the shortest trial would have done.
fn tells_for_its_side(meta: u8) -> bool {
    let least = if meta & META_MAIN == 0 { 2 } else { 1 };
    meta & META_FREQUENCY >= least
}

/// What one call of [`Session::evict`] came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evicted {
    pub items: usize,
    /// A shard that has items which may go, and whose lock somebody held.
    pub met_busy: Option<usize>,
}

impl Session {
    /// Evicts up to `items` items somewhere. Takes no lock that it would have to wait for.
    pub(crate) fn evict(&self, items: usize, now: Millis) -> Evicted {
        let engine = self.engine();
        let policy = engine.policy();
        let mut met_busy = None;
        if policy == Policy::NoEviction || items == 0 {
            return Evicted::default();
        }
        let view = engine.view();
        let shards = view.shard_count();
        let mut evicted = 0;
        let databases = usize::from(engine.databases());
        let round = shards * databases;
        // Without this, where no key has a deadline, each write would look at the whole store.
        let has_any = |shard: Shard<'_>| match policy.only_volatile() {
            true => shard.ttl_items() > 0,
            false => shard.items() > 0,
        };
        // Where nothing may go, each write that is refused asks here. Mostly the first shard has something.
        let has_any_in = |root: u32| {
            engine.is_open(root) && (0..shards).any(|number| has_any(view.shard_at(root, number)))
        };
        if !(0..databases).any(|db| has_any_in(view.root_of(Db(db as u16)))) {
            return Evicted::default();
        }
        let mut is_hopeless = true;
        // Several rounds: S3-FIFO first takes uses away, then evicts.
        for turn_count in 0..4 * round {
            // Two whole rounds in which no shard had anything that may go: nor has one in the next. After
            // one, SWAPDB may have had the hand come to the empty ones alone.
            if turn_count == 2 * round && is_hopeless {
                break;
            }
            // A whole round without enough: then age is no excuse.
            let force = turn_count > 2 * round;
            let turn = self.next_eviction_turn();
            let db = Db((turn / shards % databases) as u16);
            let root = view.root_of(db);
            if !engine.is_open(root) {
                continue;
            }
            let number = turn % shards;
            let shard = view.shard_at(root, number);
            if !has_any(shard) {
                continue;
            }
            is_hopeless = false;
            if !shard.lock().try_acquire() {
                met_busy = Some(shard.at);
                continue;
            }
            let mut guard = Guard::adopt(self, shard, now);
            if view.root_of(db) == root {
                let target = Target { db, root, shard_number: number, shard };
                let items = items - evicted;
                evicted += match policy {
                    Policy::VolatileTtl => self.evict_soonest(&mut guard, &target, items),
                    _ => self.evict_from(&mut guard, &target, policy, force, items),
                };
            }
            if evicted >= items {
                break;
            }
        }
        Evicted { items: evicted, met_busy }
    }

    fn evict_from<'s>(
        &'s self,
        guard: &mut Guard<'s>,
        target: &Target<'s>,
        policy: Policy,
        force: bool,
        items: usize,
    ) -> usize {
        let engine = self.engine();
        let directory = target.shard.directory();
        if directory.is_empty() {
            return 0;
        }
        let mut hand = Hand::of(target.shard.hand());
        let (mut index, mut line) = (hand.index, hand.line);
        let mut generation = target.shard.generation();
        let times = Times { trial: engine.trial().generations(), patience: hand.patience };
        // New items and proven ones whose time was up.
        let mut met = [Met::default(); 2];
        // An eighth of the shard at a time keeps the shards even.
        let share = (target.shard.items() as usize / 8).clamp(1, items);
        let mut evicted = 0;
        let mut has_come_around = false;
        for _ in 0..LINES_A_TURN {
            if evicted >= share {
                break;
            }
            if !(1..LINES).contains(&line) {
                line = 1;
            }
            if index >= directory.entries() {
                // Another shard may have what is due. To go around this one until something is would age the
                // latest of it by some generations in a moment.
                if has_come_around {
                    break;
                }
                has_come_around = true;
                index = 0;
                generation = hand.come_around(generation);
            }
            let segment = target.shard.segment(directory, index);
            // In one stride: where few keys have a deadline, the hand would seldom come to one.
            if policy.only_volatile() && segment.ttl_items() == 0 {
                (index, line) = (segment.span().end_in(directory), 1);
                continue;
            }
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
                    Policy::AllKeysRandom | Policy::VolatileRandom => self.next_eviction_toss(),
                    _ => {
                        // What came since the walk began is for the next one: all before it is older.
                        let trial = times.trial.max(hand.walked(generation));
                        let verdict = judge(meta, generation, Times { trial, ..times }, force);
                        hand.has_met_due |= !matches!(verdict, Verdict::Keep(same) if same == meta);
                        let side = &mut met[usize::from(meta & META_MAIN != 0)];
                        match verdict {
                            Verdict::Evict => side.due += 1,
                            Verdict::Keep(new) if new != meta => {
                                side.due += 1;
                                side.used += u32::from(tells_for_its_side(meta));
                                bucket.set_meta(slot, new);
                            }
                            Verdict::Keep(_) => {}
                        }
                        matches!(verdict, Verdict::Evict)
                    }
                };
                let is_spared = out
                    && meta & META_TTL != 0
                    && !force
                    && self.is_spared_at(segment, line, slot, guard.now);
                let is_kept = || self.is_kept(target.root, || self.hash_in(segment, line, slot));
                if out && !is_spared && !is_kept() {
                    self.evict_slot(guard, target, segment, line, slot);
                    evicted += 1;
                }
            }
            line += 1;
            if line == LINES {
                line = 1;
                index = segment.span().end_in(directory);
            }
        }
        engine.trial().note(met[0], met[1], times.patience, engine.ghost_places(target.shard));
        (hand.index, hand.line) = (index, line);
        target.shard.set_hand(hand.word());
        target.shard.set_generation(generation);
        evicted
    }

    pub(crate) fn hash_in(&self, segment: Segment<'_>, line: usize, slot: usize) -> u64 {
        let mut key = Vec::new();
        self.item_in(segment, line, slot).copy_key(&mut key);
        self.engine().hash(&key)
    }

    pub(crate) fn is_spared_at(
        &self,
        segment: Segment<'_>,
        line: usize,
        slot: usize,
        now: Millis,
    ) -> bool {
        self.engine().is_spared(self.item_in(segment, line, slot).deadline(), now)
    }

    pub(crate) fn item_in<'s>(
        &'s self,
        segment: Segment<'s>,
        line: usize,
        slot: usize,
    ) -> Item<'s> {
        Item::at(segment.words, segment.line(line).reference(slot) as usize * 8)
            .expect("an indexed item lies within the arena")
    }

    pub(crate) fn evict_slot<'s>(
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
        let engine = self.engine();
        engine.ghosts().remember(engine.hash(&key), engine.ghost_places(target.shard));
        let event = if item.is_due(guard.now) { Event::Expired } else { Event::Evicted };
        guard.take_out(target, &key, &Spot { segment, line, slot, item }, event);
    }
}

#[cfg(all(test, not(any(miri, loom, shuttle))))]
mod tests;
