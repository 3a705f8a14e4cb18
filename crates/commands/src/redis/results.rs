//! Room for the results that queued commands of sets store.
//!
//! ```text
//!   SUNIONSTORE t a    t is not there     one result
//!   SUNIONSTORE t a    the one before it  two: the old one goes when the new one is there
//!   SUNIONSTORE t b    the one before it  two at a time, however many follow
//! ```
//! EXEC makes room before it takes its locks, under which none can be made. Were the results of one key
//! added up, most of what is in a store could go for a few bytes more in the end.

use crate::context::Context;
use crate::redis::collection;
use crate::redis::room::Room;
use crate::redis::set::combine::{Operation, most_bytes, result_bytes};
use dolium_engine::{Db, Key};
use std::collections::HashMap;

/// What a command makes its result of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Source<'q> {
    operation: Operation,
    db: Db,
    names: Vec<&'q [u8]>,
}

impl<'q> Source<'q> {
    fn keys(&self, ctx: &Context<'_>) -> Vec<Key<'q>> {
        self.names.iter().map(|name| ctx.key(name)).collect()
    }
}

/// What the results of one key take beside what is there now.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Bytes of what is there now, which go with the first result.
    there: usize,
    last: usize,
    /// The most that is there beside it at any time.
    most: usize,
    results: usize,
}

impl Target {
    fn holding(there: usize) -> Target {
        Target { there, last: there, most: 0, results: 0 }
    }

    /// A result comes beside the one before, which goes then.
    fn store(&mut self, bytes: usize) {
        self.most = self.most.max((self.last + bytes).saturating_sub(self.there));
        self.last = bytes;
        self.results += 1;
    }
}

/// The commands of a queue that store a result, in their order.
#[derive(Debug, Default)]
pub struct Results<'q> {
    stores: Vec<(&'q [u8], Source<'q>)>,
}

impl<'q> Results<'q> {
    pub fn push(
        &mut self,
        operation: Operation,
        db: Db,
        target: &'q [u8],
        names: impl Iterator<Item = &'q [u8]>,
    ) {
        self.stores.push((target, Source { operation, db, names: names.collect() }));
    }

    /// Adds what they take, unless memory is plenty beside what is counted already. Else the results are
    /// made, to know how long they are, and each of them once: a queue may name the same sets very often.
    pub fn add_to(&self, ctx: &Context<'_>, room: &mut Room) {
        let most = self.room(ctx, *room, |source| {
            most_bytes(ctx, source.operation, source.db, &source.keys(ctx))
        });
        if ctx.session.has_ample_room(most.bytes()) {
            return;
        }
        let mut made = HashMap::new();
        *room = self.room(ctx, *room, |source| {
            let make = || result_bytes(ctx, source.operation, source.db, &source.keys(ctx));
            *made.entry(source.clone()).or_insert_with(make)
        });
    }

    fn room(
        &self,
        ctx: &Context<'_>,
        mut room: Room,
        mut bytes_of: impl FnMut(&Source<'q>) -> usize,
    ) -> Room {
        let mut targets: HashMap<(Db, &[u8]), Target> = HashMap::new();
        for (name, source) in &self.stores {
            let there = || collection::len(ctx.session, source.db, &ctx.key(name), ctx.now);
            let target = targets.entry((source.db, *name));
            target.or_insert_with(|| Target::holding(there())).store(bytes_of(source));
        }
        // An empty result is not stored.
        for ((_, name), target) in targets.iter().filter(|(_, target)| target.most > 0) {
            let items = target.results.min(2);
            room.add(items, items * name.len() + target.most);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    fn most(there: usize, results: &[usize]) -> usize {
        let mut target = Target::holding(there);
        results.iter().for_each(|bytes| target.store(*bytes));
        target.most
    }

    #[test]
    fn no_more_than_two_results_are_there_at_a_time() {
        assert_eq!(most(0, &[100]), 100);
        assert_eq!(most(0, &[100; 60]), 200);
        assert_eq!(most(0, &[100, 0, 100, 0, 70]), 100);
        assert_eq!(most(0, &[10, 30, 20, 5]), 50);
    }

    #[test]
    fn what_is_there_goes_with_the_first() {
        assert_eq!(most(100, &[100; 60]), 100);
        assert_eq!(most(100, &[10, 20]), 10);
        assert_eq!(most(1000, &[10; 60]), 10);
    }
}
