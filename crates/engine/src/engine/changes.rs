//! Readers of changes, and the memory of the ring that changes are told in.
//!
//! ```text
//! first reader    commit the ring -> count the reader -> writers journal
//! last one ends   writers stop, each when it takes its next lock -> maintenance: has every lock been free since?
//!                                                                -> the ring's memory goes back
//! ```
//! A writer looks whether somebody reads when it has its locks, and may be writing into the ring for as long as it
//! has them: memory that was given back under it would come again, unasked for and counted by nobody.

use super::Engine;
use crate::index::shard::Shard;
use crate::journal::{ChangeReader, Delivery, Wants};
use crate::verbs::StoreError;
use std::sync::Arc;

impl Engine {
    /// A reader of all changes from now on, with values. While one exists, changes are journalled.
    /// Locks everything for a moment if it is lossless. `Full`: no memory for the ring.
    pub fn changes(self: &Arc<Engine>, delivery: Delivery) -> Result<ChangeReader, StoreError> {
        self.read_changes(delivery, Wants::Values)
    }

    /// As `changes`, of names only: values are empty, and so are patches. Unless another reader wants
    /// them they do not come into the journal either, which holds many more changes then.
    pub fn names_of_changes(
        self: &Arc<Engine>,
        delivery: Delivery,
    ) -> Result<ChangeReader, StoreError> {
        self.read_changes(delivery, Wants::Names)
    }

    fn read_changes(
        self: &Arc<Engine>,
        delivery: Delivery,
        wants: Wants,
    ) -> Result<ChangeReader, StoreError> {
        {
            let mut is_committed = self.journal_committed.lock().expect("no holder panics");
            if !*is_committed && !self.arena().commit_journal() {
                return Err(StoreError::Full);
            }
            *is_committed = true;
            // The reader to come may wait for locks whose holders wait for the mutex above, so it is let go first.
            self.journal.hold();
        }
        let reader = ChangeReader::new(self.clone(), delivery, wants);
        self.journal.let_go();
        Ok(reader)
    }

    /// Gives the ring's memory back, if nobody reads changes and nobody can be writing any. It waits for nobody:
    /// false where somebody is at work, or there is nothing to give.
    pub(crate) fn give_back_journal(&self) -> bool {
        if self.journal.is_active() {
            return false;
        }
        let Ok(mut is_committed) = self.journal_committed.try_lock() else { return false };
        if !*is_committed || self.journal.is_active() || !self.has_met_all_locks_free() {
            return false;
        }
        *is_committed = !self.arena().give_back_journal();
        !*is_committed
    }

    /// Whether each lock was free for a moment. Whoever had one before has done what it did under it, and who takes
    /// it afterwards sees what was done before this.
    fn has_met_all_locks_free(&self) -> bool {
        let view = self.view();
        let roots = (0..u32::from(self.databases())).filter(|root| self.is_open(*root));
        roots.flat_map(|root| (0..view.shard_count()).map(move |n| (root, n))).all(|(root, n)| {
            let shard: Shard<'_> = view.shard_at(root, n);
            let was_free = shard.lock().try_acquire();
            if was_free {
                shard.lock().release();
            }
            was_free
        })
    }
}

#[cfg(all(test, not(any(miri, loom, shuttle))))]
mod tests {
    use super::*;
    use crate::engine::EngineOptions;
    use crate::journal::Next;
    use crate::verbs::*;

    const DB: Db = Db(0);

    fn set(engine: &Engine, session: &crate::Session, name: &str) {
        let key = engine.key(name.as_bytes());
        session.write(DB, &key, 1).put(DB, &key, &Put::plain(Value::Bytes(b"value"))).unwrap();
    }

    /// Notifications that were turned off kept their 16 MiB: in a store of 10 every write was refused from then on.
    #[test]
    fn the_rings_memory_goes_back_when_nobody_reads() {
        let engine = Engine::create(EngineOptions::default()).unwrap();
        let session = engine.session().unwrap();
        set(&engine, &session, "before");
        let before = engine.memory().committed;
        for round in 0..3 {
            let mut reader = engine.names_of_changes(Delivery::Lossy).unwrap();
            let with_ring = engine.memory().committed;
            assert!(with_ring >= before + EngineOptions::default().journal_bytes, "{with_ring}");
            set(&engine, &session, "told");
            let Next::Change(change) = reader.next() else { panic!("nothing told, {round}") };
            assert_eq!(change.key, b"told");
            assert!(!engine.give_back_journal(), "somebody reads");
            drop(reader);
            let key = engine.key(b"held");
            let guard = session.write(DB, &key, 1);
            assert!(!engine.give_back_journal(), "somebody may be writing");
            drop(guard);
            assert!(engine.give_back_journal());
            assert!(!engine.give_back_journal(), "it went back already");
            assert!(engine.memory().committed <= before + (1 << 20), "{round}");
            set(&engine, &session, "to nobody");
        }
        engine.verify_at_rest().unwrap();
    }

    #[test]
    fn who_is_short_of_memory_has_that_of_the_ring() {
        let engine = Engine::create(EngineOptions::default()).unwrap();
        let session = engine.session().unwrap();
        set(&engine, &session, "before");
        drop(engine.names_of_changes(Delivery::Lossy).unwrap());
        engine.set_max_memory(10 << 20);
        session.make_room(100, 1).expect("the ring's");
        set(&engine, &session, "after");
    }
}
