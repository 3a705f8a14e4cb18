//! What becomes of a new key whose lines are full while memory is: one of the items there makes
//! place, and the segment is not split.
//!
//! Lines fill unevenly, so a segment now and then has a full line long before it is full itself. A
//! store that grows splits it then. A cache at its limit does not grow: it would split one segment
//! after the other as items come and go, until most of the index is empty and takes the room of
//! items. So a segment is split at the limit only when it is really full (items have become
//! smaller, and there are more of them), and otherwise the worst of the up to twenty items leaves
//! that the new one could take the place of. They are few: eviction chooses nearly all the others.
//!
//! Policies that spare what has no deadline split as a store that grows does. Only where there is no memory for
//! that, which is what has to give way under any policy, one with a deadline leaves: to refuse the write would
//! be to say that nothing may go.

use crate::guard::{Guard, Target};
use crate::index::bucket::SLOTS;
use crate::index::segment::{LINES, Segment, home_of, stash_line};
use crate::session::Session;
use crate::verbs::Policy;

/// While this much can still be committed, segments are split.
const AMPLE_BYTES: u64 = 4 << 20;
/// A segment with more than this share of its slots in use is full: so many of so many.
const FULL: (usize, usize) = (4, 5);

impl Session {
    /// Before a new key is inserted: evicts one item if the key would split its segment for no
    /// other reason than that its lines are crowded. With `must`, also if the segment is full.
    pub(crate) fn make_place<'s>(
        &'s self,
        guard: &mut Guard<'s>,
        target: &Target<'s>,
        hash: u64,
        must: bool,
    ) {
        let engine = self.engine();
        let policy = engine.policy();
        let only_volatile = policy.only_volatile();
        if policy == Policy::NoEviction || only_volatile && !must {
            return;
        }
        // A transaction's own keys may lie there: where it has kept them they do not go, and others only where it would
        // fail otherwise.
        let is_free = engine.arena().uncommitted() >= AMPLE_BYTES || self.in_transaction();
        if !must && is_free || self.transaction_holds_all() {
            return;
        }
        let directory = target.shard.directory();
        if directory.is_empty() {
            return;
        }
        let segment = target.shard.segment_of(directory, engine.view().position(hash));
        let home = home_of(hash);
        let tags = segment.line(home).load();
        if tags.first_empty().is_some() {
            return;
        }
        let stash = match tags.stash() {
            0 => None,
            stash => Some(stash_line(stash)),
        };
        if stash.is_some_and(|line| segment.line(line).load().first_empty().is_some())
            || stash.is_none() && has_free_stash(segment)
            || !must && is_full(segment)
        {
            return;
        }
        let worst = [Some(home), stash]
            .into_iter()
            .flatten()
            .flat_map(|line| (0..SLOTS).map(move |slot| (line, slot)))
            .filter_map(|(line, slot)| {
                let hash = || self.hash_in(segment, line, slot);
                let ready = self.readiness_at(target, (segment, line, slot), hash, guard.now)?;
                Some((ready, line, slot))
            })
            .max_by_key(|(ready, ..)| *ready);
        if let Some((_, line, slot)) = worst {
            self.evict_slot(guard, target, segment, line, slot);
        }
    }
}

/// Whether a home line without a stash line would get one with a free slot.
fn has_free_stash(segment: Segment<'_>) -> bool {
    let mut lines = (crate::index::segment::HOME_LINES + 1)..LINES;
    lines.any(|line| segment.line(line).load().first_empty().is_some())
}

fn is_full(segment: Segment<'_>) -> bool {
    let used: usize = (1..LINES).map(|line| segment.line(line).load().used()).sum();
    used * FULL.1 >= (LINES - 1) * SLOTS * FULL.0
}
