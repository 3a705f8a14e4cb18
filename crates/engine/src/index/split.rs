//! The split of a segment: what is in it is copied to two new ones, and these are published.
//!
//! ```text
//! gather    slots of the old segment: reference, tag, meta byte, line, side
//! draft     of which the side is known: to that child, into the same line                in plain memory
//!           ask for the next 16 others | key -> hash -> which child, which line, of 16
//! write     each line of both children at once                                         nobody sees it yet
//! publish   the directory's entries
//! ```
//! Most of the time would go into waiting for items, whose keys say where they belong: of most it is known
//! without (`sides.rs`).
//!
//! Which home line a key has depends on the low half of its hash only, so that everything in a child
//! fits where it was in the parent. What the parent had in a stash line stands in its home line in the
//! child, if there is room, as there mostly is: a lookup in a stash line waits for memory once more.

use super::grow::publish;
use crate::engine::Engine;
use crate::guard::Target;
use crate::index::bucket::{META_TTL, SLOTS};
use crate::index::directory::{DirectoryWord, Span};
use crate::index::draft::{SegmentDraft, Slot, gather};
use crate::index::segment::{LINES, SEGMENT_BYTES, Segment, home_of};
use crate::index::sides::{Depth, UNKNOWN, child_of};
use crate::index::tags::tag_of;
use crate::item::Item;
use crate::session::Session;
use crate::verbs::StoreError;

/// So many items are asked for in one short loop, while as many before them are read: asked for one by one
/// between reads they take nearly twice as long on some processors (decision 146).
const BURST: usize = 16;
/// So far from an item's beginning a key of 16 bytes ends: in the next line, of one item in three.
const KEY_END: usize = 24;

impl Engine {
    pub(super) fn split(
        &self,
        session: &Session,
        target: &Target<'_>,
        old: Segment<'_>,
    ) -> Result<(), StoreError> {
        (1..LINES).for_each(|line| old.line(line).prefetch());
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
        self.distribute(old, [low, high], spans, directory);
        publish(directory, low, spans[0]);
        publish(directory, high, spans[1]);
        // The old segment may have been put off by a sweep; its children say what is due, and nobody
        // looks at a segment before the shard's word says so.
        let due = low.next_due().min(high.next_due());
        if due < target.shard.next_due() {
            target.shard.set_next_due(due);
        }
        session.give_index(old.reference(), SEGMENT_BYTES);
        session.count_split();
        Ok(())
    }

    /// Copies the slots of `old` to the child that has a key's entry. What stood in a stash line goes home
    /// if there is room by now: home lines come before stash lines.
    fn distribute(
        &self,
        old: Segment<'_>,
        children: [Segment<'_>; 2],
        spans: [Span; 2],
        directory: DirectoryWord,
    ) {
        let mut room = [const { [Slot::NONE; LINES * SLOTS] }; 2];
        let [known, unread] = &mut room;
        let (known, unread) = part(old, known, unread);
        let ask_for = |burst: &[Slot], offset: usize| {
            burst.iter().for_each(|slot| self.mem().prefetch(slot.reference as usize * 8 + offset));
        };
        let mut bursts = unread.chunks(BURST).peekable();
        bursts.peek().into_iter().for_each(|first| ask_for(first, 0));
        let mut drafts = spans.map(|span| SegmentDraft::new(Depth::of(span)));
        for slot in known {
            let alike = Slot { side: UNKNOWN, ..*slot };
            drafts[child_of(slot.side)].take(&alike, usize::from(slot.line));
        }
        let mut key = Vec::with_capacity(64);
        while let Some(burst) = bursts.next() {
            bursts.peek().into_iter().for_each(|next| ask_for(next, 0));
            ask_for(burst, KEY_END - 1);
            for slot in burst {
                let item = Item::at(self.mem(), slot.reference as usize * 8)
                    .expect("an indexed item lies within the arena");
                key.clear();
                item.copy_key(&mut key);
                let hash = self.hash(&key);
                debug_assert_eq!(tag_of(hash), slot.tag);
                let position = self.view().position(hash);
                let child = usize::from(spans[1].is_at_or_behind(position, directory));
                let side = Depth::of(spans[child]).side_of(position, directory);
                let draft = &mut drafts[child];
                draft.take(&Slot { side, ..*slot }, home_of(hash));
                if item.head.has_ttl() {
                    draft.note_deadline(item.deadline());
                }
            }
        }
        for (child, draft) in children.iter().zip(&drafts) {
            draft.write_to(*child);
        }
    }
}

/// The items whose side is known, and those that are to be read: among them all that have a deadline, which is in the item.
fn part<'s>(
    segment: Segment<'_>,
    known: &'s mut [Slot; LINES * SLOTS],
    unread: &'s mut [Slot; LINES * SLOTS],
) -> (&'s [Slot], &'s [Slot]) {
    let (mut known_count, mut unread_count) = (0, 0);
    gather(segment, |slot, is_used| {
        let is_known = slot.side != UNKNOWN && slot.meta & META_TTL == 0;
        known[known_count] = slot;
        unread[unread_count] = slot;
        known_count += usize::from(is_used & is_known);
        unread_count += usize::from(is_used & !is_known);
    });
    (&known[..known_count], &unread[..unread_count])
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;
    use crate::engine::EngineOptions;
    use crate::index::segment::{HOME_LINES, STASH_LINES};
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
