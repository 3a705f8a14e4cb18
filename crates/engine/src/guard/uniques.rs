//! CAS uniques: numbers of which no two changes of the store have the same.
//!
//! ```text
//!   unique = sequence of the shard * places + place      place = shard number * roots + root
//! ```
//! A sequence belongs to a shard of a root and only grows. A store that goes on where another one ended has
//! other shards, maybe of another number, and keys are hashed by another seed: its sequences begin above all
//! that the other one has given out.

use super::{Guard, Target};
use crate::engine::Engine;
use crate::limits::DATABASES_MAX;
use crate::sync::atomics::Ordering::Relaxed;

impl Engine {
    /// How many uniques share a sequence number: one for each shard of each root.
    fn places(&self) -> u64 {
        self.view().shard_count() as u64 * u64::from(DATABASES_MAX)
    }
}

impl<'s> Guard<'s> {
    /// A CAS unique greater than all that keys of this shard have had. It tells the root as well: after
    /// SWAPDB a key is in the shard of another root, whose sequence has given the same numbers.
    pub(super) fn new_unique(&self, target: &Target<'s>) -> u64 {
        let roots = u64::from(DATABASES_MAX);
        let place = target.shard_number as u64 * roots + u64::from(target.root);
        target.shard.next_sequence() * self.session.engine().places() + place
    }

    /// No CAS unique that was given out is greater. All shards must be locked (`write_all`).
    pub fn highest_unique(&self) -> u64 {
        let engine = self.session.engine();
        let floor = engine.sequence_floor().load(Relaxed);
        let highest = self.open_shards().map(|shard| shard.sequence()).fold(floor, u64::max);
        match highest {
            0 => 0,
            sequence => sequence * engine.places() + (engine.places() - 1),
        }
    }

    /// Every CAS unique that is given out from now on is greater than this one, in all databases and also
    /// in those that nobody has written to yet. All shards must be locked (`write_all`).
    pub fn raise_uniques(&mut self, above: u64) {
        let engine = self.session.engine();
        let sequence = above / engine.places();
        // Whoever opens a database waits for these locks, and sees it behind them.
        let floor = engine.sequence_floor();
        floor.store(floor.load(Relaxed).max(sequence), Relaxed);
        for shard in self.open_shards() {
            shard.raise_sequence(sequence);
        }
    }

    fn open_shards(&self) -> impl Iterator<Item = crate::index::shard::Shard<'s>> {
        let engine = self.session.engine();
        let view = self.session.view();
        let roots = (0..u32::from(DATABASES_MAX)).filter(|root| engine.is_open(*root));
        roots.flat_map(move |root| (0..view.shard_count()).map(move |n| view.shard_at(root, n)))
    }
}
