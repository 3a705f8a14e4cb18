//! An engine with one writer and some readers, all of them tasks of a model.

use super::history::{Held, History, NOW, Step, make};
use dolium_engine::sync::modelled::quietly;
use dolium_engine::*;
use std::sync::{Arc, OnceLock};

pub fn engine() -> Arc<Engine> {
    let options = EngineOptions {
        max_bytes: 4 << 20,
        shards: 2,
        databases: 2,
        journal_bytes: 4096,
        ..EngineOptions::default()
    };
    Engine::create(options).expect("an arena")
}

/// Keys of the first shard and one home line, which they fill and then its stash line.
fn keys(name: &'static str, count: usize, is_one: impl Fn(u64) -> bool) -> Vec<&'static str> {
    keys_of(2, name, count, is_one)
}

fn keys_of(
    line: u64,
    name: &'static str,
    count: usize,
    is_one: impl Fn(u64) -> bool,
) -> Vec<&'static str> {
    let engine = quietly(engine);
    // A model's segment has four home lines.
    let home = |hash: u64| ((hash & 0xffff_ffff) * 4) >> 32;
    (0..)
        .map(|n| format!("{name}{n:03}"))
        .filter(|name| {
            let hash = engine.key(name.as_bytes()).hash();
            hash >> 63 == 0 && home(hash) == line && is_one(hash)
        })
        .take(count)
        .map(|name| &*name.leak())
        .collect()
}

pub fn crowd() -> &'static [&'static str] {
    static CROWD: OnceLock<Vec<&'static str>> = OnceLock::new();
    CROWD.get_or_init(|| keys("crowd", 24, |_| true))
}

/// Such keys whose next hash bits are 00, and others whose are 11: what tells each kind apart is the third. Those
/// in which it is 0 come first.
pub fn halves() -> (&'static [&'static str], &'static [&'static str]) {
    static HALVES: OnceLock<[Vec<&'static str>; 2]> = OnceLock::new();
    let [low, high] = HALVES.get_or_init(|| {
        [("low", 0b00), ("high", 0b11)].map(|(name, bits)| {
            let of =
                |third: u64, count| keys(name, count, |hash| hash >> 60 & 7 == bits << 1 | third);
            [of(0, 11), of(1, 10)].concat()
        })
    });
    (low, high)
}

/// Such keys whose next hash bits are 01.
pub fn middle() -> &'static [&'static str] {
    static MIDDLE: OnceLock<Vec<&'static str>> = OnceLock::new();
    MIDDLE.get_or_init(|| keys("mid", 11, |hash| hash >> 61 & 3 == 0b01))
}

/// Keys of the last home line, of which one lies in each quarter of the lower half of `halves`' directory, and one above.
pub fn last() -> &'static [&'static str] {
    static LAST: OnceLock<Vec<&'static str>> = OnceLock::new();
    LAST.get_or_init(|| {
        [0b000, 0b001, 0b010, 0b011, 0b110]
            .into_iter()
            .flat_map(|bits| keys_of(3, "last", 1, |hash| hash >> 60 & 7 == bits))
            .collect()
    })
}

/// Makes the steps before anybody else is there.
pub fn prepare(engine: &Arc<Engine>, steps: &[Step]) {
    let session = engine.session().expect("a slot");
    for (number, step) in steps.iter().enumerate() {
        make(&session, step, number);
    }
}

/// Reads of some keys of a database, each as of one moment and held against the history: one in the passes of
/// a batch, if it is a single key, and one without.
pub fn read(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    if let [name] = names {
        let key = session.engine().key(name.as_bytes());
        read_fetched(session, history, floor, db, (name, key));
    }
    read_once(session, history, floor, db, names);
}

/// The read without passes.
fn read_once(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    let keys: Vec<_> = names.iter().map(|name| session.engine().key(name.as_bytes())).collect();
    *floor = history.done().max(*floor);
    let mut seen: Vec<Option<Held>> = vec![None; names.len()];
    if let [key] = keys[..] {
        let mut out = Vec::new();
        let mut found = session.get(db, &key, NOW, &mut out, |_, _| {});
        if found.is_some_and(|found| found.kind != Kind::String) {
            found = session.inspect(db, &key, NOW, |packed| {
                out.clear();
                if let Some((found, packed)) = packed {
                    packed.copy(0, found.len, &mut out);
                }
            });
        }
        seen[0] = found.map(|found| (out, found.deadline));
    } else {
        let mut out = Vec::new();
        let mut places: Vec<Option<(usize, usize, Millis)>> = vec![None; names.len()];
        session.get_many(db, &keys, NOW, &mut out, |index, found, out| {
            places[index] = found.map(|found| (out.len(), found.len, found.deadline));
        });
        for (index, place) in places.iter().enumerate() {
            seen[index] = place.map(|(at, len, deadline)| (out[at..at + len].to_vec(), deadline));
        }
    }
    let seen: Vec<_> = names.iter().zip(seen).map(|(name, held)| ((db.0, *name), held)).collect();
    *floor = history.moment_of(*floor, &seen);
}

/// The same in the passes of a batch. What the first passes saw is older than the floor, and must
/// not count if it is so no more.
fn read_fetched(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    (name, key): (&'static str, Key<'_>),
) {
    let mut fetches = Vec::new();
    // As one of many, and as one that came alone.
    if floor.is_multiple_of(2) {
        session.fetch_line(db, key.hash(), &mut fetches);
    } else {
        session.fetch_in_steps(db, key.hash(), false, &mut fetches);
    }
    session.fetch_items(&mut fetches);
    let fetch = fetches[0];
    *floor = history.done().max(*floor);
    let (mut out, mut deadline) = (Vec::new(), NEVER);
    let note = |found: &Found, _: &mut Vec<u8>| deadline = found.deadline;
    let kind = session.get_fetched(&fetch, db, &key, NOW, &mut out, |_| true, note);
    if kind.is_some_and(|kind| kind != Kind::String) {
        // Of a collection no more is told.
        return;
    }
    let held = kind.map(|_| (out, deadline));
    *floor = history.moment_of(*floor, &[((db.0, name), held)]);
}

/// Such a read of the first key.
fn read_in_passes(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    let key = session.engine().key(names[0].as_bytes());
    read_fetched(session, history, floor, db, (names[0], key));
}

/// A read in the passes of a batch, in which the same key is read without before its turn: what that read saw
/// is the floor.
fn read_in_turn(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    let key = session.engine().key(names[0].as_bytes());
    let mut fetches = Vec::new();
    session.fetch_line(db, key.hash(), &mut fetches);
    session.fetch_items(&mut fetches);
    read_once(session, history, floor, db, &names[..1]);
    let (mut out, mut deadline) = (Vec::new(), NEVER);
    let note = |found: &Found, _: &mut Vec<u8>| deadline = found.deadline;
    let kind = session.get_fetched(&fetches[0], db, &key, NOW, &mut out, |_| true, note);
    let held = kind.map(|_| (out, deadline));
    *floor = history.moment_of(*floor, &[((db.0, names[0]), held)]);
}

/// A read of a key in one database, and then in the other one.
fn read_across(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    read_once(session, history, floor, db, &names[..1]);
    read_once(session, history, floor, Db(1 - db.0), &names[..1]);
}

/// An iteration over a database, which must come by each of these keys: they are there all the time.
fn iterate(session: &Session, _: &History, _: &mut usize, db: Db, names: &'static [&'static str]) {
    let mut met = std::collections::HashSet::new();
    let mut cursor = 0;
    loop {
        cursor = session.scan(db, cursor, 100, NOW, |key, _| {
            met.insert(key.to_vec());
        });
        if cursor == 0 {
            break;
        }
    }
    let missed: Vec<_> = names.iter().filter(|name| !met.contains(name.as_bytes())).collect();
    assert!(missed.is_empty(), "an iteration did not come by {missed:?}");
}

/// Reads of strings by the ways of an attached process: a batch, whose first passes may be older than the
/// floor of any of its keys, and a read of each key.
pub fn read_attached(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    read_together(session, history, floor, db, names);
    read_plain(session, history, floor, db, names);
}

fn read_together(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    *floor = history.done().max(*floor);
    session.get_batch_as_attached(db, names, NOW, |number, read| {
        // Who lost a thousand times asks the server.
        if let Ok(value) = read {
            *floor = history.moment_of_value(*floor, (db.0, names[number]), value);
        }
    });
}

fn read_plain(
    session: &Session,
    history: &History,
    floor: &mut usize,
    db: Db,
    names: &'static [&'static str],
) {
    for name in names {
        *floor = history.done().max(*floor);
        let key = session.engine().key(name.as_bytes());
        if let Some(value) = session.copy_as_attached(db, &key) {
            *floor = history.moment_of_value(*floor, (db.0, name), Some(&value));
        }
    }
}

/// What a model consists of.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Made before anybody reads.
    pub before: Vec<Step>,
    /// Made by the writer while others read.
    pub steps: Vec<Step>,
    /// Each is a task: keys that it reads in each of its turns.
    pub readers: Vec<(Db, &'static [&'static str])>,
    pub turns: usize,
}

/// How a reader reads some keys, by what they were and from which moment on: it moves that on.
type Read = fn(&Session, &History, &mut usize, Db, &'static [&'static str]);

impl Scene {
    /// One schedule of the model.
    pub fn play(&self) {
        self.play_with(read);
    }

    /// The same, read as an attached process reads.
    pub fn play_attached(&self) {
        self.play_with(read_attached);
    }

    /// One read by one of its readers, and nobody else's.
    pub fn play_once(&self, reader: usize) {
        self.of_one(reader).play_with(read_once);
    }

    /// Reads in the passes of a batch by one of its readers, and nobody else's.
    pub fn play_fetched(&self, reader: usize) {
        self.of_one(reader).play_with(read_in_passes);
    }

    /// A batch of an attached process by one of its readers, and nobody else's.
    pub fn play_together(&self, reader: usize) {
        self.of_one(reader).play_with(read_together);
    }

    /// A read of each key by itself, by the short way of an attached process.
    pub fn play_plain(&self, reader: usize) {
        self.of_one(reader).play_with(read_plain);
    }

    /// The same as an attached process reads.
    pub fn play_attached_once(&self, reader: usize) {
        self.of_one(reader).play_with(read_attached);
    }

    /// One read in passes, with another one between them.
    pub fn play_in_turn(&self, reader: usize) {
        self.of_one(reader).play_with(read_in_turn);
    }

    /// A read in either database, one after the other.
    pub fn play_across(&self, reader: usize) {
        self.of_one(reader).play_with(read_across);
    }

    /// Each reader iterates.
    pub fn play_iterations(&self) {
        self.play_with(iterate);
    }

    fn of_one(&self, reader: usize) -> Scene {
        Scene { readers: vec![self.readers[reader]], turns: 1, ..self.clone() }
    }

    fn play_with(&self, read: Read) {
        let (engine, history, sessions) = quietly(|| {
            let engine = engine();
            prepare(&engine, &self.before);
            let history = History::new(&self.before, self.steps.clone());
            let sessions: Vec<_> =
                (0..=self.readers.len()).map(|_| engine.session().expect("a slot")).collect();
            (engine, history, sessions)
        });
        let mut sessions = sessions.into_iter();
        let writer = {
            let (session, history) = (sessions.next().expect("one"), history.clone());
            let first = self.before.len();
            shuttle::thread::spawn(move || {
                history.make(&session, first);
                quietly(|| drop(session));
            })
        };
        let readers: Vec<_> = sessions
            .zip(self.readers.clone())
            .map(|(session, (db, names))| {
                let (history, turns) = (history.clone(), self.turns);
                shuttle::thread::spawn(move || {
                    let mut floor = 0;
                    for _ in 0..turns {
                        read(&session, &history, &mut floor, db, names);
                    }
                    quietly(|| drop(session));
                })
            })
            .collect();
        writer.join().expect("the writer");
        for reader in readers {
            reader.join().expect("a reader");
        }
        quietly(|| {
            engine.verify().expect("a sound index");
            drop(engine);
        });
    }
}
