//! A key by chance: iteration from a place by chance to the first key.

use super::{Cursor, visit_places};
use crate::index::read::Contended;
use crate::index::segment::HOME_LINES;
use crate::session::Session;
use crate::verbs::{Db, Millis};

impl Session {
    /// Appends a key chosen by `random` to `out`. False: the database is empty.
    pub fn random_key(&self, db: Db, random: u64, now: Millis, out: &mut Vec<u8>) -> bool {
        let view = self.view();
        let total = self.engine().len(db);
        if total == 0 {
            return false;
        }
        // The shard by its number of items, then a place in it.
        let root = view.root_of(db);
        let mut rest = random % total;
        let mut shard = 0;
        for number in 0..view.shard_count() {
            let items = view.shard_at(root, number).items();
            if rest < items {
                shard = number;
                break;
            }
            rest -= items;
        }
        let spread = random.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = Cursor {
            shard: shard as u64,
            position: spread >> 32,
            line: spread % HOME_LINES as u64,
        };
        // From there on to the first key, once around.
        let mut wrapped = false;
        loop {
            let place = self.place_at(db, at, at.line as usize + 1, now);
            if !place.keys.is_empty() {
                let chosen = (spread >> 20) as usize % place.keys.len();
                out.extend_from_slice(&place.keys[chosen].0);
                return true;
            }
            let next = visit_places(at, 1, view.shard_count(), |at, home| {
                let place = self.place_at(db, at, home, now);
                Ok::<_, Contended>((place.end, place.keys.len()))
            });
            // The step ends behind the place that had a key: look again at each on the way.
            at = match next {
                Ok(Some(next)) => self.first_full(db, at, next, now).unwrap_or(next),
                _ if wrapped => return false,
                _ => {
                    wrapped = true;
                    Cursor { shard: 0, position: 0, line: 0 }
                }
            };
        }
    }

    /// The first place from `from` up to `to` that has a key.
    fn first_full(&self, db: Db, from: Cursor, to: Cursor, now: Millis) -> Option<Cursor> {
        let mut full = None;
        let shards = self.view().shard_count();
        let _ = visit_places(from, usize::MAX / 16, shards, |at, home| {
            if full.is_some() || at.encode() >= to.encode() {
                return Err(Contended);
            }
            let place = self.place_at(db, at, home, now);
            if !place.keys.is_empty() {
                full = Some(at);
            }
            Ok((place.end, place.keys.len()))
        });
        full
    }
}
