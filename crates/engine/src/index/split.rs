//! The split of a segment: what is in it is copied to two new ones, line by line, and these are published.
//!
//! Which home line a key has depends on the low half of its hash only, so that everything in a child
//! fits where it was in the parent. What the parent had in a stash line stands in its home line in the
//! child, if there is room, as there mostly is: a lookup in a stash line waits for memory once more.

use super::grow::publish;
use crate::engine::Engine;
use crate::guard::Target;
use crate::index::bucket::{SLOTS, tag_of};
use crate::index::segment::{HOME_LINES, LINES, SEGMENT_BYTES, Segment, home_of};
use crate::item::Item;
use crate::session::Session;
use crate::verbs::StoreError;

impl Engine {
    pub(super) fn split(
        &self,
        session: &Session,
        target: &Target<'_>,
        old: Segment<'_>,
    ) -> Result<(), StoreError> {
        let spans = old.span().halves();
        if spans[0].doublings > target.shard.directory().doublings() {
            self.double_directory(session, target)?;
        }
        let directory = target.shard.directory();
        self.before_split(target, old);
        let low = self.new_segment(session, target, spans[0])?;
        let high = match self.new_segment(session, target, spans[1]) {
            Ok(high) => high,
            Err(error) => {
                session.give_index(low.reference(), SEGMENT_BYTES);
                return Err(error);
            }
        };
        let is_high = |hash| spans[1].is_at_or_behind(self.view().position(hash), directory);
        self.distribute(old, [low, high], is_high);
        publish(directory, low, spans[0]);
        publish(directory, high, spans[1]);
        session.give_index(old.reference(), SEGMENT_BYTES);
        session.count_split();
        Ok(())
    }

    /// Copies the slots of `old` to the child that has a key's entry, line by line. What stood
    /// in a stash line goes home if there is room by now: home lines come before stash lines.
    fn distribute(
        &self,
        old: Segment<'_>,
        children: [Segment<'_>; 2],
        is_high: impl Fn(u64) -> bool,
    ) {
        let mut key = Vec::with_capacity(64);
        for line in 1..LINES {
            // The keys of the next line are on their way while this one is hashed.
            if line + 1 < LINES {
                let next = old.line(line + 1);
                let tags = next.load();
                for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
                    self.mem().prefetch(next.reference(slot) as usize * 8);
                }
            }
            let from = old.line(line);
            let tags = from.load();
            for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
                let reference = from.reference(slot);
                let item = Item::at(self.mem(), reference as usize * 8)
                    .expect("an indexed item lies within the arena");
                key.clear();
                item.copy_key(&mut key);
                let hash = self.hash(&key);
                debug_assert_eq!(tag_of(hash), tags.tag(slot));
                let child = children[usize::from(is_high(hash))];
                let (line, free) = place_in_child(child, line, home_of(hash));
                child.line(line).fill(free, tags.tag(slot), from.meta(slot), reference);
                if item.head.has_ttl() {
                    child.add_ttl_items(1);
                    child.set_next_due(child.next_due().min(item.deadline()));
                }
            }
        }
    }
}

/// Where an item goes that stood in this line of the parent: line and slot.
fn place_in_child(child: Segment<'_>, line: usize, home: usize) -> (usize, usize) {
    if let Some(slot) = child.line(home).load().first_empty() {
        return (home, slot);
    }
    // Its home line is full, as the parent's was, which had this stash line: in the child no other item
    // goes there than in the parent.
    debug_assert!(line > HOME_LINES, "a home line had more items than slots");
    child.line(home).set_stash(line - HOME_LINES);
    let slot = child.line(line).load().first_empty();
    (line, slot.expect("a child's line has no more items than the parent's"))
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;
    use crate::engine::EngineOptions;
    use crate::index::segment::STASH_LINES;
    use crate::verbs::{Db, Put, Value};

    #[test]
    fn a_split_leaves_in_stash_lines_only_what_has_no_room_at_home() {
        let options = EngineOptions { shards: 16, ..EngineOptions::default() };
        let engine = Engine::create(options).unwrap();
        let session = engine.session().unwrap();
        let shard = || engine.view().shard_at(engine.view().root_of(Db(0)), 0);
        let stashed = |index| {
            let segment = shard().segment(shard().directory(), index);
            (HOME_LINES + 1..LINES).map(|line| segment.line(line).load().used()).sum::<usize>()
        };
        let last = || shard().directory().entries() - 1;
        let is_split = || shard().segment(shard().directory(), 0).span().count <= last() as u32;
        let mut before = 0;
        for number in 0.. {
            let name = number.to_string();
            let key = engine.key(name.as_bytes());
            if engine.view().shard_number(key.hash) != 0 {
                continue;
            }
            session
                .write(Db(0), &key, 1)
                .put(Db(0), &key, &Put::plain(Value::Bytes(b"x")))
                .unwrap();
            if is_split() {
                break;
            }
            before = stashed(0);
        }
        assert!(before > STASH_LINES * SLOTS / 2, "{before}: the segment was split too early");
        // Both halves of a full segment have room for nearly all at home.
        let after = [stashed(0), stashed(last())];
        assert!(after[0] + after[1] < before / 4, "{before} -> {after:?}");
        engine.verify().unwrap();
    }
}
