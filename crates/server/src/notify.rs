//! Keyspace notifications: a reader of the engine's change stream that publishes what changed,
//! in the journal's order. It wants no values, so that large ones take no more of the ring than small ones.
//!
//! ```text
//!   a batch that wrote -> engine's journal -> Notifier::drain (one thread at a time)
//!     -> __keyspace@0__:key  "set"      (class K)
//!     -> __keyevent@0__:set  "key"      (class E)
//! ```
//! While no class is configured there is no reader and the engine keeps no journal for us. The first
//! reader takes memory for it, out of `maxmemory`. Where that is used up and nothing may go for it,
//! CONFIG SET is refused, as it is where all of it would not do; where something may, housekeeping drives
//! it out and tries again, until then without notifications.

use dolium_commands::redis::notifications::{Notifications, keyevent_channel, keyspace_channel};
use dolium_engine::{Change, ChangeReader, Db, Delivery, Effect, Engine, Event, Kind, Next};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub struct Notifier {
    /// A hint: a batch that runs while it changes may or may not be told of.
    is_on: AtomicBool,
    /// Notifications are asked for, and there was no memory for them.
    is_short: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    classes: Notifications,
    reader: Option<ChangeReader>,
    unnamed: Unnamed,
}

/// Keys that were made as a part of a change that has no name yet: `new` is told with that name.
type Unnamed = HashSet<(Db, Vec<u8>)>;

impl Notifier {
    /// Follows `notify-keyspace-events`: changes made from now on are read, or no longer.
    pub fn configure(&self, engine: &Arc<Engine>, letters: &str) {
        let mut state = self.lock();
        state.classes = Notifications::parse(letters).unwrap_or_default();
        if !state.classes.any() {
            state.reader = None;
            state.unnamed.clear();
        }
        let is_short = state.classes.any() && !state.read(engine);
        if is_short && !self.is_short.load(Relaxed) {
            tracing::warn!("no memory for keyspace notifications yet: 16 MiB of maxmemory");
        }
        self.is_short.store(is_short, Relaxed);
        self.is_on.store(state.reader.is_some(), Relaxed);
    }

    /// Whether `configure` with these letters would find the memory that it needs; it is taken.
    pub fn can_follow(&self, engine: &Arc<Engine>, letters: &str) -> bool {
        let classes = Notifications::parse(letters).unwrap_or_default();
        !classes.any() || self.lock().read(engine)
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    #[inline]
    pub fn is_short(&self) -> bool {
        self.is_short.load(Relaxed)
    }

    /// Publishes every change there is. Holding the lock meanwhile keeps the journal's order.
    pub fn drain(&self, publish: &mut dyn FnMut(&[u8], &[u8])) {
        Self::drain_held(self.lock(), publish);
    }

    /// The same for who holds locks of the store, and must not wait: whoever has the lock may be waiting for
    /// those.
    pub fn drain_if_free(&self, publish: &mut dyn FnMut(&[u8], &[u8])) {
        if let Ok(held) = self.state.try_lock() {
            Self::drain_held(held, publish);
        }
    }

    fn drain_held(mut held: MutexGuard<'_, State>, publish: &mut dyn FnMut(&[u8], &[u8])) {
        let State { classes, reader, unnamed } = &mut *held;
        let Some(reader) = reader else { return };
        loop {
            match reader.next() {
                Next::Change(change) => announce(&change, *classes, unnamed, publish),
                Next::Empty => return,
                Next::Lost(bytes) => {
                    unnamed.clear();
                    tracing::warn!(bytes, "keyspace notifications were lost: changes came faster");
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reads changes, if there is memory for that.
    fn read(&mut self, engine: &Arc<Engine>) -> bool {
        if self.reader.is_none() {
            // Writers must not wait for subscribers: what falls out of the ring is lost to them.
            self.reader = engine.names_of_changes(Delivery::Lossy).ok();
        }
        self.reader.is_some()
    }
}

fn announce(
    change: &Change,
    classes: Notifications,
    unnamed: &mut Unnamed,
    publish: &mut dyn FnMut(&[u8], &[u8]),
) {
    let place = || (change.db, change.key.clone());
    let (event, created) = match (&change.effect, change.event) {
        // A value has come from another key, in the place of whatever there was: as in Redis a new key.
        // How it came is told when it has left the other one.
        (Effect::Put { .. }, Event::RenameTo | Event::MoveTo) => (Event::Quiet, true),
        (Effect::Put { .. }, Event::CopyTo) => (Event::CopyTo, true),
        // SMOVE makes a set before the member has left the other one, and is told of it after that.
        (Effect::Put { created: true, kind: Kind::Set, .. }, Event::Quiet) => {
            unnamed.insert(place());
            return;
        }
        (Effect::Put { created, .. }, event) => (event, *created),
        (_, event) => (event, !unnamed.is_empty() && unnamed.remove(&place())),
    };
    for name in classes.names(event, created) {
        if classes.keyspace() {
            publish(&keyspace_channel(change.db, &change.key), name.as_bytes());
        }
        if classes.keyevent() {
            publish(&keyevent_channel(change.db, name), &change.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dolium_engine::{Encoding, NEVER};

    /// What subscribers of all events are told of some changes, in order.
    fn told(changes: &[(&str, Event, Effect)]) -> Vec<String> {
        let (mut unnamed, mut messages) = (Unnamed::new(), Vec::new());
        for (key, event, effect) in changes {
            let (key, effect) = (key.as_bytes().to_vec(), effect.clone());
            let change = Change { position: 1, db: Db(0), event: *event, key, effect };
            let classes = Notifications::parse("KAn").unwrap();
            announce(&change, classes, &mut unnamed, &mut |channel, name| {
                let key = channel.last().copied().unwrap_or(b'?') as char;
                messages.push(format!("{key} {}", name.escape_ascii()));
            });
        }
        assert!(unnamed.is_empty());
        messages
    }

    fn put(kind: Kind, created: bool) -> Effect {
        let (value, encoding) = (Vec::new(), Encoding::Bytes);
        Effect::Put { value, deadline: NEVER, flags: 0, kind, encoding, created }
    }

    /// As Redis 7.0.15 tells of SMOVE, RENAME, MOVE and COPY.
    #[test]
    fn a_key_is_new_where_redis_says_so() {
        let none = || Effect::Patch(Vec::new());
        let smove = [
            ("t", Event::Quiet, put(Kind::Set, true)),
            ("s", Event::SRem, none()),
            ("s", Event::Del, Effect::Remove),
            ("t", Event::SAdd, none()),
            ("t", Event::SAdd, none()),
        ];
        assert_eq!(told(&smove), ["s srem", "s del", "t new", "t sadd", "t sadd"]);
        for created in [false, true] {
            let rename = [
                ("t", Event::RenameTo, put(Kind::String, created)),
                ("s", Event::RenameFrom, Effect::Remove),
                ("t", Event::RenameTo, none()),
            ];
            assert_eq!(told(&rename), ["t new", "s rename_from", "t rename_to"]);
            let copy = [("t", Event::CopyTo, put(Kind::Set, created))];
            assert_eq!(told(&copy), ["t new", "t copy_to"]);
        }
        let moved = [
            ("k", Event::MoveTo, put(Kind::List, true)),
            ("k", Event::MoveFrom, Effect::Remove),
            ("k", Event::MoveTo, none()),
        ];
        assert_eq!(told(&moved), ["k new", "k move_from", "k move_to"]);
        let quiet = [("k", Event::Quiet, put(Kind::String, true))];
        assert_eq!(told(&quiet), ["k new"]);
    }

    #[test]
    fn a_change_is_told_on_the_channels_of_its_classes() {
        let told = |letters: &str, event| {
            let (db, key, effect) = (Db(9), b"k".to_vec(), Effect::Remove);
            let change = Change { position: 1, db, event, key, effect };
            let mut messages = Vec::new();
            let classes = Notifications::parse(letters).unwrap();
            announce(&change, classes, &mut Unnamed::new(), &mut |c, m| {
                messages.push(format!("{} {}", c.escape_ascii(), m.escape_ascii()));
            });
            messages
        };
        assert_eq!(
            told("KEA", Event::Expired),
            ["__keyspace@9__:k expired", "__keyevent@9__:expired k"]
        );
        assert_eq!(told("Kg", Event::Del), ["__keyspace@9__:k del"]);
        assert!(told("Kg", Event::Set).is_empty());
    }
}
