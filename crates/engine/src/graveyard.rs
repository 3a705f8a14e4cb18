//! What FLUSHDB left behind: whole directories of items that nobody can reach any more.
//!
//! Flushing is one store per shard; giving the blocks back is done here, a few segments at a time,
//! by maintenance or by a writer that is out of memory.

use crate::engine::Engine;
use crate::guard::Target;
use crate::index::bucket::SLOTS;
use crate::index::directory::DirectoryWord;
use crate::index::segment::{LINES, SEGMENT_BYTES, Segment};
use crate::index::shard::Shard;
use crate::item::Item;
use crate::session::Session;
use std::sync::TryLockError;

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

impl Engine {
    /// Takes over a directory that no shard names any more.
    pub(crate) fn bury(&self, target: &Target<'_>, directory: DirectoryWord) {
        let buried = Buried { root: target.root, cut: self.running_cut(), directory, next: 0 };
        self.graveyard().lock().expect("no holder panics").push(buried);
    }

    /// Gives back the blocks of up to `segments` segments. True: there are more.
    pub(crate) fn reclaim(&self, session: &Session, segments: usize) -> bool {
        session.free_ended_leases();
        // Somebody else is at it, or a cut reads here: there is nothing to do for this caller.
        let Ok(mut graveyard) = self.graveyard().try_lock() else { return false };
        for _ in 0..segments {
            let Some(buried) = graveyard.last_mut() else { return false };
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
                    session.give_item(reference, item.head.size());
                }
            }
            session.give_index(segment.reference(), SEGMENT_BYTES);
        }
        !graveyard.is_empty()
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

    fn buried_segment(&self, directory: DirectoryWord, index: usize) -> Segment<'_> {
        // The shard's control block takes no part: the directory is given.
        Shard { words: self.mem(), at: 0 }.segment(directory, index)
    }
}
