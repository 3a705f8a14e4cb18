//! Removing a key, and the steps that every change ends with.

use super::{Guard, Spot, Target};
use crate::index::segment::Segment;
use crate::journal::Entry;
use crate::verbs::*;

impl<'s> Guard<'s> {
    /// True: there was such a key.
    pub fn remove(&mut self, db: Db, key: &Key<'_>, event: Event) -> bool {
        let target = self.target(db, key.hash);
        match self.live(&target, key) {
            Some(spot) => {
                self.take_out(&target, key.bytes, &spot, event);
                true
            }
            None => false,
        }
    }

    /// The same of a key that may be due, too, which is then told as removed and not as expired.
    pub fn remove_due_too(&mut self, db: Db, key: &Key<'_>, event: Event) {
        let target = self.target(db, key.hash);
        if let Some(spot) = self.locate(&target, key) {
            self.take_out(&target, key.bytes, &spot, event);
        }
    }

    /// Empties a key's slot and frees its block.
    pub(crate) fn take_out(
        &mut self,
        target: &Target<'s>,
        key: &[u8],
        spot: &Spot<'s>,
        event: Event,
    ) {
        if matches!(event, Event::Expired | Event::Evicted) {
            self.session.engine().note_departure(target.db, key, spot, event, self.now);
        }
        self.before_change(target, spot.segment, spot.line);
        spot.bucket().clear(spot.slot);
        target.shard.add_items(-1);
        if spot.item.head.has_ttl() {
            self.count_ttl(target, spot.segment, -1);
        }
        self.tell(target, key, event, Entry::Remove);
        // Last: the key may lie in the block that is freed here.
        self.session.give_item((spot.item.at / 8) as u32, spot.item.head.block_len());
        match event {
            Event::Expired => self.session.count_expired(),
            Event::Evicted => self.session.count_evicted(),
            _ => {}
        }
    }

    /// Tells of an event that is not the name of the change that was last made: of one made quietly
    /// before, whose name has to come after that of another change of the same command.
    pub fn announce(&mut self, db: Db, key: &Key<'_>, event: Event) {
        let target = self.target(db, key.hash);
        self.note(&target, key.bytes, event, Entry::Patch(&[]));
    }

    /// As [`Session::count_elements`], of changes made under these locks.
    #[inline]
    pub fn count_elements(&self, elements: usize, changes: usize) {
        self.session.count_elements(elements, changes);
    }

    /// To be called before a line is changed: the running cut gets it first if it has not yet.
    #[inline(always)]
    pub(crate) fn before_change(&self, target: &Target<'s>, segment: Segment<'s>, line: usize) {
        self.session.engine().before_change(target, segment, line);
    }

    /// Whether anybody wants to know of changes: a reader of the journal, or a WATCH.
    #[inline(always)]
    pub(crate) fn is_heard(&self, event: Event) -> bool {
        self.session.engine().is_heard(event)
    }

    /// To be called after a change: journal and watchers.
    #[inline]
    pub(crate) fn tell(&self, target: &Target<'s>, key: &[u8], event: Event, entry: Entry<'_>) {
        self.note(target, key, event, entry);
        self.session.count_change();
    }

    #[inline(always)]
    fn note(&self, target: &Target<'s>, key: &[u8], event: Event, entry: Entry<'_>) {
        self.append(target.db, event, key, &entry);
        if event != Event::Quiet {
            self.session.engine().watches().touch(target.db, key);
        }
    }

    /// Puts a change into the journal, if anybody reads that.
    #[inline(always)]
    pub(super) fn append(&self, db: Db, event: Event, key: &[u8], entry: &Entry<'_>) {
        let engine = self.session.engine();
        if engine.journal().is_active() {
            let session = self.session.slot().index() as usize;
            engine.journal().append(engine.mem(), session, db, event, key, entry);
        }
    }
}
