//! A store's life as a list of steps, and the question whether what a reader saw was ever true.
//!
//! One task makes the steps and says before each that it has begun, after each that it is done.
//! The contents after each step are known beforehand. A read that began when `done` steps were
//! made and ended when `begun` had been started must have seen, for all of its keys at once, the
//! contents after one of the steps `done..=begun`, and none older than its reader saw before.
//! This says all at once: no torn value, no other key's value, nothing stale, nothing missed.

use dolium_engine::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// What a key has: value and deadline.
pub type Held = (Vec<u8>, Millis);
pub type Contents = BTreeMap<(u16, &'static str), Held>;

pub const NOW: Millis = 1_000;

/// One change of the store, all of it at one moment.
#[derive(Clone, Debug)]
pub enum Step {
    /// Bytes that name the key and this store of it, `len` of them.
    Put(Db, &'static str, usize),
    /// The bytes of a collection, in two pieces in place if the key has one of that length.
    Packed(Db, &'static str, usize),
    /// Bytes of a string, in place if the key has one whose block they fit into. No key has a deadline then.
    Part(Db, &'static str, usize),
    /// An integer, in place if the key has one.
    Int(Db, &'static str, i64),
    Remove(Db, &'static str),
    /// A value gets another key, in its block if the key is as long and no lease is beside it.
    Carry((Db, &'static str), (Db, &'static str)),
    Deadline(Db, &'static str, Millis),
    /// Stores of several keys under one guard.
    PutAll(Db, &'static [&'static str], usize),
    Flush(Db),
    Swap(Db, Db),
}

/// A value that says whose it is and which: `key number key number ...`, cut to the length.
pub fn value(key: &str, number: usize, len: usize) -> Vec<u8> {
    let unit = format!("{key}.{number};");
    unit.bytes().cycle().take(len).collect()
}

/// The steps and the contents after each; `after[0]` is before the first.
#[derive(Debug)]
pub struct History {
    steps: Vec<Step>,
    after: Vec<Contents>,
    /// How many steps the writer has begun, and has made. Plain atomics: no scheduling points.
    begun: AtomicUsize,
    done: AtomicUsize,
}

impl History {
    /// `before`: steps that are made before anybody reads.
    pub fn new(before: &[Step], steps: Vec<Step>) -> Arc<History> {
        let mut contents = Contents::new();
        for (number, step) in before.iter().enumerate() {
            imagine(&mut contents, step, number);
        }
        let mut after = vec![contents.clone()];
        for (number, step) in steps.iter().enumerate() {
            imagine(&mut contents, step, before.len() + number);
            after.push(contents.clone());
        }
        let (begun, done) = Default::default();
        Arc::new(History { steps, after, begun, done })
    }

    /// Makes all steps. `first` is the number of the first.
    pub fn make(&self, session: &Session, first: usize) {
        for (number, step) in self.steps.iter().enumerate() {
            self.begun.store(number + 1, SeqCst);
            make(session, step, first + number);
            self.done.store(number + 1, SeqCst);
        }
    }

    /// How many steps are made: to be asked before a read.
    pub fn done(&self) -> usize {
        self.done.load(SeqCst)
    }

    /// The first moment from `floor` on at which all of this was true; panics if there is none
    /// until now.
    pub fn moment_of(&self, floor: usize, seen: &[((u16, &'static str), Option<Held>)]) -> usize {
        let begun = self.begun.load(SeqCst);
        let was =
            |at: &usize| seen.iter().all(|(key, held)| self.after[*at].get(key) == held.as_ref());
        let Some(moment) = (floor..=begun).find(was) else {
            let seen: Vec<_> = seen.iter().map(show).collect();
            let ever = (0..self.after.len()).find(was);
            panic!("steps {floor}..={begun}: never were {seen:?} (true after step {ever:?})");
        };
        moment
    }

    /// As `moment_of`, for the value of one key, whatever its deadline.
    pub fn moment_of_value(
        &self,
        floor: usize,
        key: (u16, &'static str),
        seen: Option<&[u8]>,
    ) -> usize {
        let begun = self.begun.load(SeqCst);
        let value_at = |at: &usize| self.after[*at].get(&key).map(|held| &held.0[..]);
        (floor..=begun).find(|at| value_at(at) == seen).unwrap_or_else(|| {
            let seen = seen.map(String::from_utf8_lossy);
            panic!("steps {floor}..={begun}: {key:?} never was {seen:?}")
        })
    }

    /// As `moment_of`, for the whole store.
    pub fn moment_of_all(&self, floor: usize, seen: &Contents) -> usize {
        let begun = self.begun.load(SeqCst);
        (floor..=begun).find(|&at| self.after[at] == *seen).unwrap_or_else(|| {
            let seen: Vec<_> = seen.iter().map(|(k, h)| show(&(*k, Some(h.clone())))).collect();
            panic!("steps {floor}..={begun}: never was all of {seen:?}")
        })
    }

    /// The contents after a number of steps.
    pub fn contents(&self, moment: usize) -> &Contents {
        &self.after[moment]
    }
}

fn show(seen: &((u16, &'static str), Option<Held>)) -> String {
    let ((db, key), held) = seen;
    match held {
        None => format!("{db}:{key} absent"),
        Some((value, deadline)) => {
            format!("{db}:{key} = {:?} until {deadline}", String::from_utf8_lossy(value))
        }
    }
}

/// A step's effect on the expected contents.
pub fn imagine(contents: &mut Contents, step: &Step, number: usize) {
    match step {
        Step::Put(db, key, len) | Step::Packed(db, key, len) | Step::Part(db, key, len) => {
            contents.insert((db.0, key), (value(key, number, *len), NEVER));
        }
        Step::Int(db, key, int) => {
            contents.insert((db.0, key), (int.to_string().into_bytes(), NEVER));
        }
        Step::Remove(db, key) => {
            contents.remove(&(db.0, *key));
        }
        Step::Carry(from, to) => {
            if let Some(held) = contents.remove(&(from.0.0, from.1)) {
                contents.insert((to.0.0, to.1), held);
            }
        }
        Step::Deadline(db, key, deadline) => {
            if let Some(held) = contents.get_mut(&(db.0, *key)) {
                held.1 = *deadline;
            }
        }
        Step::PutAll(db, keys, len) => {
            for key in *keys {
                contents.insert((db.0, key), (value(key, number, *len), NEVER));
            }
        }
        Step::Flush(db) => contents.retain(|(of, _), _| *of != db.0),
        Step::Swap(a, b) => {
            *contents = std::mem::take(contents)
                .into_iter()
                .map(|((db, key), held)| {
                    let db = if db == a.0 {
                        b.0
                    } else if db == b.0 {
                        a.0
                    } else {
                        db
                    };
                    ((db, key), held)
                })
                .collect();
        }
    }
}

/// A step, made.
pub fn make(session: &Session, step: &Step, number: usize) {
    let engine = session.engine();
    match step {
        Step::Put(db, name, len) => {
            let key = engine.key(name.as_bytes());
            let value = value(name, number, *len);
            let put = Put::plain(Value::Bytes(&value));
            let fetch = || {
                let mut fetches = Vec::new();
                if number % 8 >= 4 {
                    session.fetch_in_steps(*db, key.hash(), true, &mut fetches);
                } else {
                    session.fetch_line(*db, key.hash(), &mut fetches);
                }
                session.fetch_items(&mut fetches);
                fetches[0]
            };
            // All ways of a store: by itself and as one of a batch, in one piece and by a guard.
            match number % 4 {
                0 => {
                    session.write(*db, &key, NOW).put(*db, &key, &put).expect("memory");
                }
                1 => {
                    let fetch = fetch();
                    let mut guard = session.write_fetched(*db, &key, &fetch, NOW);
                    guard.put_fetched(*db, &key, &fetch, &put).expect("memory");
                }
                2 => {
                    session.set(*db, &key, &value, NOW).expect("memory");
                }
                _ => {
                    session.set_fetched(*db, &key, &fetch(), &value, NOW).expect("memory");
                }
            }
        }
        Step::Packed(db, name, len) => {
            let key = engine.key(name.as_bytes());
            let value = value(name, number, *len);
            let (front, back) = value.split_at(len / 2);
            let patches = [Patch { at: 0, bytes: front }, Patch { at: len / 2, bytes: back }];
            let mut guard = session.write(*db, &key, NOW);
            if !guard.patch(*db, &key, Event::SAdd, &patches) {
                let put = Put::plain(Value::Packed(Kind::Set, Encoding::Hashtable, &value));
                guard.put(*db, &key, &put).expect("memory");
            }
        }
        Step::Part(db, name, len) => {
            let key = engine.key(name.as_bytes());
            let value = value(name, number, *len);
            let mut guard = session.write(*db, &key, NOW);
            let part = Patch { at: 0, bytes: &value };
            let is_stored = guard.store_part(*db, &key, Event::SetRange, &part)
                || guard.grow(*db, &key, Event::SetRange, &part).expect("memory");
            if !is_stored {
                guard.put(*db, &key, &Put::plain(Value::Bytes(&value))).expect("memory");
            }
        }
        Step::Int(db, name, int) => {
            let key = engine.key(name.as_bytes());
            let put = Put::plain(Value::Int(*int));
            session.write(*db, &key, NOW).put(*db, &key, &put).expect("memory");
        }
        Step::Remove(db, name) => {
            let key = engine.key(name.as_bytes());
            session.write(*db, &key, NOW).remove(*db, &key, Event::Del);
        }
        Step::Carry(from, to) => {
            let [old, new] = [from, to].map(|(db, name)| (*db, engine.key(name.as_bytes())));
            let places = [(old.0, old.1.hash()), (new.0, new.1.hash())];
            let mut guard = session.write_many(&places, NOW);
            let events = [Event::RenameFrom, Event::RenameTo];
            if !guard.carry((old.0, &old.1), (new.0, &new.1), events).expect("memory") {
                let mut value = Vec::new();
                if guard.value(old.0, &old.1, &mut value) {
                    guard.put(new.0, &new.1, &Put::plain(Value::Bytes(&value))).expect("memory");
                    guard.remove(old.0, &old.1, Event::RenameFrom);
                }
            }
        }
        Step::Deadline(db, name, deadline) => {
            let key = engine.key(name.as_bytes());
            let mut guard = session.write(*db, &key, NOW);
            guard.set_deadline(*db, &key, *deadline, Event::Expire).expect("memory");
        }
        Step::PutAll(db, names, len) => {
            let keys: Vec<_> = names.iter().map(|name| engine.key(name.as_bytes())).collect();
            let places: Vec<_> = keys.iter().map(|key| (*db, key.hash())).collect();
            let mut guard = session.write_many(&places, NOW);
            for (name, key) in names.iter().zip(&keys) {
                let value = value(name, number, *len);
                guard.put(*db, key, &Put::plain(Value::Bytes(&value))).expect("memory");
            }
        }
        Step::Flush(db) => session.write_all(NOW).flush(*db),
        Step::Swap(a, b) => session.write_all(NOW).swap(*a, *b),
    }
}
