//! What FLUSHDB left behind: whole directories of items that nobody can reach any more.
//!
//! Flushing is one store per shard; giving the blocks back is done here, a few segments at a time,
//! by maintenance or by a writer that is out of memory. One does it at a time; a writer that cannot
//! do without waits for who is at it, for a while.

use crate::alloc::PageKind;
use crate::engine::Engine;
use crate::guard::Target;
use crate::index::bucket::SLOTS;
use crate::index::directory::DirectoryWord;
use crate::index::segment::{LINES, SEGMENT_BYTES, Segment};
use crate::index::shard::Shard;
use crate::item::Item;
use crate::session::Session;
use crate::sync::atomics::yield_turn;
use std::ops::Range;
use std::sync::TryLockError;

/// Segments that a writer gives back before it looks whether it has room.
const SEGMENTS_A_ROUND: usize = 128;
/// For so many turns one command waits for who gives memory back: ten milliseconds or so.
pub(crate) const BUSY_TURNS_MAX: usize = 20_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Buried {
    root: u32,
    /// The cut that was running when it was buried, or 0: what was flushed before a cut began is
    /// no part of it.
    cut: u64,
    directory: DirectoryWord,
    /// First directory entry whose segment has not been given back.
    next: usize,
}

/// How far giving back has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reclaimed {
    /// Somebody else is at it, or a cut reads here: there may be more.
    Busy,
    More,
    /// Nothing is left.
    Done,
}

impl Engine {
    /// Takes over a directory that no shard names any more.
    pub(crate) fn bury(&self, target: &Target<'_>, directory: DirectoryWord) {
        let buried = Buried { root: target.root, cut: self.running_cut(), directory, next: 0 };
        self.graveyard().lock().expect("no holder panics").push(buried);
    }

    /// Gives back the blocks of up to `segments` segments.
    pub(crate) fn reclaim(&self, session: &Session, segments: usize) -> Reclaimed {
        session.free_ended_leases();
        let mut graveyard = match self.graveyard().try_lock() {
            Ok(graveyard) => graveyard,
            Err(TryLockError::WouldBlock) => return Reclaimed::Busy,
            Err(TryLockError::Poisoned(_)) => panic!("no holder panics"),
        };
        for _ in 0..segments {
            let Some(buried) = graveyard.last_mut() else { return Reclaimed::Done };
            if buried.next >= buried.directory.entries() {
                let directory = buried.directory;
                session.give_index((directory.at() / 8) as u32, directory.bytes());
                graveyard.pop();
                continue;
            }
            let segment = self.buried_segment(buried.directory, buried.next);
            buried.next = segment.span().end_in(buried.directory);
            // No other cut begins meanwhile: it would take what was flushed before for its own.
            if buried.cut != 0 && buried.cut == self.running_cut() {
                self.before_free(buried.root, segment);
            }
            for line in 1..LINES {
                let bucket = segment.line(line);
                let tags = bucket.load();
                for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
                    let reference = bucket.reference(slot);
                    let item = Item::at(self.mem(), reference as usize * 8)
                        .expect("an indexed item lies within the arena");
                    session.give_item(reference, item.head.block_len());
                }
            }
            session.give_index(segment.reference(), SEGMENT_BYTES);
        }
        match graveyard.is_empty() {
            true => Reclaimed::Done,
            false => Reclaimed::More,
        }
    }

    /// Visits the segments that were buried during the running cut until `visit` says false. `None`: somebody is at it;
    /// `Some(true)`: all were visited.
    pub(crate) fn each_buried(
        &self,
        mut visit: impl FnMut(u32, Segment<'_>) -> bool,
    ) -> Option<bool> {
        let graveyard = match self.graveyard().try_lock() {
            Ok(graveyard) => graveyard,
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Poisoned(_)) => panic!("no holder panics"),
        };
        for buried in graveyard.iter().filter(|buried| buried.cut == self.cut_number()) {
            let mut index = buried.next;
            while index < buried.directory.entries() {
                let segment = self.buried_segment(buried.directory, index);
                if !visit(buried.root, segment) {
                    return Some(false);
                }
                index = segment.span().end_in(buried.directory);
            }
        }
        Some(true)
    }

    /// Visits the blocks of a buried directory that have not been given back, itself among them:
    /// place, bytes, kind.
    pub(crate) fn each_block_of(
        &self,
        buried: &Buried,
        mut visit: impl FnMut(usize, usize, PageKind),
    ) {
        visit(buried.directory.at(), buried.directory.bytes(), PageKind::Index);
        let mut index = buried.next;
        while index < buried.directory.entries() {
            let segment = self.buried_segment(buried.directory, index);
            index = segment.span().end_in(buried.directory);
            visit(segment.at, SEGMENT_BYTES, PageKind::Index);
            for line in 1..LINES {
                let bucket = segment.line(line);
                let tags = bucket.load();
                for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
                    let at = bucket.reference(slot) as usize * 8;
                    let item =
                        Item::at(self.mem(), at).expect("an indexed item lies within the arena");
                    visit(at, item.head.block_len(), PageKind::Item);
                }
            }
        }
    }

    fn buried_segment(&self, directory: DirectoryWord, index: usize) -> Segment<'_> {
        // The shard's control block takes no part: the directory is given.
        Shard { words: self.mem(), at: 0 }.segment(directory, index)
    }
}

impl Session {
    /// Gives flushed memory back for who needs `bytes`, or lets others run while one of them does, for as
    /// many `turns` as are left. True: there may be room now.
    pub(crate) fn reclaim_for(&self, bytes: usize, turns: &mut Range<usize>) -> bool {
        let mut has_waited = false;
        loop {
            match self.engine().reclaim(self, SEGMENTS_A_ROUND) {
                Reclaimed::More => return true,
                // Who was at it has made some, or this was the last of it.
                Reclaimed::Done => return has_waited || self.has_room(bytes),
                Reclaimed::Busy if turns.next().is_none() => return false,
                Reclaimed::Busy => yield_turn(),
            }
            has_waited = true;
            if self.has_room(bytes) {
                return true;
            }
        }
    }
}

#[cfg(all(test, not(any(miri, loom, shuttle))))]
mod tests {
    use super::{BUSY_TURNS_MAX, yield_turn};
    use crate::verbs::*;
    use crate::{Engine, EngineOptions, Session};
    use std::sync::Barrier;

    const DB: Db = Db(0);
    const BYTES: usize = (1 << 20) - 250;
    const NOW: Millis = 1;
    const ROUNDS: usize = 20;

    /// Stores until there is no room.
    fn fill(engine: &Engine, session: &Session) {
        for number in 0.. {
            let name = format!("key {number}");
            let key = engine.key(name.as_bytes());
            let put = Put::plain(Value::Bytes(&[7; BYTES]));
            if session.make_room(BYTES, NOW).is_err()
                || session.write(DB, &key, NOW).put(DB, &key, &put).is_err()
            {
                return;
            }
        }
    }

    /// After FLUSHALL of a full store a writer that came while another thread gave the memory back took
    /// that for "there is none", and its value was refused in a store without a single key.
    #[test]
    fn who_needs_flushed_memory_waits_for_who_gives_it_back() {
        for policy in [Policy::NoEviction, Policy::AllKeysLru] {
            let engine = Engine::create(EngineOptions { max_bytes: 1 << 30, ..Default::default() })
                .expect("an arena");
            engine.set_max_memory(66 << 20);
            let session = engine.session().expect("a slot");
            let mut served = 0;
            let is_held = Barrier::new(2);
            for round in 0..ROUNDS {
                engine.set_policy(Policy::NoEviction);
                fill(&engine, &session);
                session.write_all(NOW).flush(DB);
                engine.set_policy(policy);
                if round == 0 {
                    let _held = engine.graveyard().lock().expect("no holder panics");
                    let outcome = session.make_room(BYTES, NOW);
                    assert_eq!(outcome, Err(StoreError::Full), "{policy:?}: the wait has an end");
                }
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let _held = engine.graveyard().lock().expect("no holder panics");
                        is_held.wait();
                        (0..BUSY_TURNS_MAX / 100).for_each(|_| yield_turn());
                    });
                    is_held.wait();
                    served += usize::from(session.make_room(BYTES, NOW).is_ok());
                });
            }
            // How long who gives back takes beside other threads, nobody knows: in most rounds it is less
            // than a writer waits for.
            assert!(served > ROUNDS / 2, "{policy:?}: {served} of {ROUNDS}");
            assert_eq!(engine.verify(), Ok(()));
        }
    }
}
