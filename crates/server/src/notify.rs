//! Keyspace notifications: a reader of the engine's change stream that publishes what changed,
//! in the journal's order.
//!
//! ```text
//!   a batch that wrote -> engine's journal -> Notifier::drain (one thread at a time)
//!     -> __keyspace@0__:key  "set"      (class K)
//!     -> __keyevent@0__:set  "key"      (class E)
//! ```
//! While no class is configured there is no reader and the engine keeps no journal for us.

use dolium_commands::redis::notifications::{Notifications, keyevent_channel, keyspace_channel};
use dolium_engine::{Change, ChangeReader, Delivery, Effect, Engine, Next};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
pub struct Notifier {
    /// A hint: a batch that runs while it changes may or may not be told of.
    is_on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    classes: Notifications,
    reader: Option<ChangeReader>,
}

impl Notifier {
    /// Follows `notify-keyspace-events`: changes made from now on are read, or no longer.
    pub fn configure(&self, engine: &Arc<Engine>, letters: &str) {
        let classes = Notifications::parse(letters).unwrap_or_default();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.classes = classes;
        if !classes.any() {
            state.reader = None;
        } else if state.reader.is_none() {
            // Writers must not wait for subscribers: what falls out of the ring is lost to them.
            match engine.changes(Delivery::Lossy) {
                Ok(reader) => state.reader = Some(reader),
                Err(error) => tracing::warn!(%error, "no memory for keyspace notifications"),
            }
        }
        self.is_on.store(state.reader.is_some(), Relaxed);
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Publishes every change there is. Holding the lock meanwhile keeps the journal's order.
    pub fn drain(&self, publish: &mut dyn FnMut(&[u8], &[u8])) {
        let mut held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { classes, reader } = &mut *held;
        let Some(reader) = reader else { return };
        loop {
            match reader.next() {
                Next::Change(change) => announce(&change, *classes, publish),
                Next::Empty => return,
                Next::Lost(bytes) => {
                    tracing::warn!(bytes, "keyspace notifications were lost: changes came faster");
                }
            }
        }
    }
}

fn announce(change: &Change, classes: Notifications, publish: &mut dyn FnMut(&[u8], &[u8])) {
    let created = matches!(change.effect, Effect::Put { created: true, .. });
    for name in classes.names(change.event, created) {
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
    use dolium_engine::{Db, Event};

    #[test]
    fn a_change_is_told_on_the_channels_of_its_classes() {
        let told = |letters: &str, event| {
            let (db, key, effect) = (Db(9), b"k".to_vec(), Effect::Remove);
            let change = Change { position: 1, db, event, key, effect };
            let mut messages = Vec::new();
            announce(&change, Notifications::parse(letters).unwrap(), &mut |c, m| {
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
