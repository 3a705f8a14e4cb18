//! The engine against a map: the same random operations, the same answers, and `verify()` after
//! every few of them. Seeds are fixed; a failing one is in the message.

use dolium_engine::*;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    value: Vec<u8>,
    deadline: Millis,
    flags: u32,
}

struct Environment {
    engine: Arc<Engine>,
    session: Session,
    model: BTreeMap<(u16, Vec<u8>), Entry>,
    now: Millis,
    random: u64,
}

impl Environment {
    fn new(seed: u64) -> Environment {
        let engine = Engine::create(EngineOptions {
            max_bytes: 256 << 20,
            shards: 16,
            databases: 4,
            ..EngineOptions::default()
        })
        .expect("an arena");
        let session = engine.session().expect("a slot");
        Environment { engine, session, model: BTreeMap::new(), now: 1_000_000, random: seed }
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random ^ self.random >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn any_key(&mut self, keys: u64) -> (Db, Vec<u8>) {
        let db = Db(self.below(3) as u16);
        let number = self.below(keys);
        let mut key = format!("key:{number}").into_bytes();
        if number % 50 == 7 {
            key.resize(300 + number as usize % 90, b'k');
        }
        (db, key)
    }

    fn any_value(&mut self) -> Vec<u8> {
        let len = match self.below(20) {
            0 => 0,
            1 => self.below(3000),
            2 => self.below(LONGEST),
            _ => self.below(120),
        };
        let start = self.next();
        (0..len).map(|i| (start.wrapping_add(i * 7)) as u8).collect()
    }

    fn live(&self, db: Db, key: &[u8]) -> Option<&Entry> {
        let entry = self.model.get(&(db.0, key.to_vec()))?;
        (entry.deadline == NEVER || entry.deadline > self.now).then_some(entry)
    }

    fn step(&mut self, keys: u64) {
        let (db, bytes) = self.any_key(keys);
        let engine = self.engine.clone();
        let key = engine.key(&bytes);
        let place = (db.0, bytes.clone());
        match self.below(100) {
            0..=44 => self.put(db, &key),
            45..=59 => {
                let expected = self.live(db, &bytes).is_some();
                let mut guard = self.session.write(db, &key, self.now);
                assert_eq!(guard.remove(db, &key, Event::Del), expected);
                self.model.remove(&place);
            }
            60..=74 => {
                let mut out = b"before".to_vec();
                let found = self.session.get(db, &key, self.now, &mut out, |found, out| {
                    out.extend_from_slice(format!("<{}>", found.len).as_bytes());
                });
                match self.live(db, &bytes) {
                    None => {
                        assert_eq!(found, None);
                        assert_eq!(out, b"before");
                    }
                    Some(entry) => {
                        let found = found.expect("it is in the model");
                        let head = format!("before<{}>", entry.value.len()).into_bytes();
                        assert_eq!(out, [head, entry.value.clone()].concat());
                        assert_eq!(found.deadline, entry.deadline);
                        assert_eq!(found.flags, entry.flags);
                    }
                }
            }
            75..=84 => {
                let deadline = if self.below(3) == 0 { NEVER } else { self.now + self.below(500) };
                let expected = self.live(db, &bytes).is_some();
                let mut guard = self.session.write(db, &key, self.now);
                let done = guard.set_deadline(db, &key, deadline, Event::Expire);
                assert_eq!(done, Ok(expected));
                drop(guard);
                if let Some(entry) = self.model.get_mut(&place) {
                    if expected {
                        entry.deadline = deadline;
                    } else {
                        self.model.remove(&place);
                    }
                }
            }
            85..=94 => {
                let unique = self.session.write(db, &key, self.now).unique(db, &key);
                assert_eq!(unique.expect("memory") != 0, self.live(db, &bytes).is_some());
            }
            95..=97 => self.now += self.below(100),
            98 => {
                let found = self.session.peek(db, &key, self.now);
                assert_eq!(found.map(|f| f.deadline), self.live(db, &bytes).map(|e| e.deadline));
            }
            _ => {
                if self.below(60) == 0 {
                    self.session.write_all(self.now).flush(db);
                    self.model.retain(|(d, _), _| *d != db.0);
                } else if self.below(20) == 0 {
                    self.session.write_all(self.now).swap(Db(0), Db(1));
                    let swapped = std::mem::take(&mut self.model);
                    self.model = swapped
                        .into_iter()
                        .map(|((d, k), e)| ((if d < 2 { 1 - d } else { d }, k), e))
                        .collect();
                }
            }
        }
    }

    fn put(&mut self, db: Db, key: &Key<'_>) {
        let place = (db.0, key.bytes().to_vec());
        let old = self.live(db, key.bytes()).cloned();
        let text = self.any_value();
        let int = self.next() as i64 >> self.below(60);
        let value = match self.below(4) {
            0 => Value::Int(int),
            1 => Value::Parts([&text[..text.len() / 3], b"", &text[text.len() / 3..]]),
            _ => Value::Bytes(&text),
        };
        let deadline = match self.below(4) {
            0 => Deadline::At(self.now + 1 + self.below(400)),
            1 => Deadline::Keep,
            _ => Deadline::Never,
        };
        let flags = match self.below(6) {
            0 => Flags::Set(self.next() as u32),
            1 => Flags::Keep,
            _ => Flags::Set(0),
        };
        let unique = self.below(10) == 0;
        let put = Put { value, deadline, flags, unique, marks: 0, event: Event::Set };
        let stored = self.session.write(db, key, self.now).put(db, key, &put).expect("memory");
        assert_eq!(stored.replaced, old.is_some());
        assert_eq!(stored.unique != 0, unique);
        let entry = Entry {
            value: match value {
                Value::Int(int) => int.to_string().into_bytes(),
                _ => text.clone(),
            },
            deadline: match deadline {
                Deadline::At(at) => at,
                Deadline::Keep => old.as_ref().map_or(NEVER, |e| e.deadline),
                Deadline::Never => NEVER,
            },
            flags: match flags {
                Flags::Set(flags) => flags,
                Flags::Keep => old.as_ref().map_or(0, |e| e.flags),
            },
        };
        self.model.insert(place, entry);
    }

    /// Everything, by SCAN and by key.
    fn compare(&mut self) {
        for db in (0..3).map(Db) {
            let mut seen = BTreeMap::new();
            let mut cursor = 0;
            loop {
                cursor = self.session.scan(db, cursor, 10, self.now, |key, found| {
                    seen.insert(key.to_vec(), found.len);
                });
                if cursor == 0 {
                    break;
                }
            }
            let expected: BTreeMap<Vec<u8>, usize> = self
                .model
                .iter()
                .filter(|((d, _), e)| *d == db.0 && (e.deadline == NEVER || e.deadline > self.now))
                .map(|((_, k), e)| (k.clone(), e.value.len()))
                .collect();
            assert_eq!(seen, expected, "SCAN of {db:?}");
        }
        let engine = self.engine.clone();
        assert_eq!(engine.verify_at_rest(), Ok(()));
        for ((db, bytes), entry) in self.model.clone() {
            let key = engine.key(&bytes);
            let mut out = Vec::new();
            let found = self.session.get(Db(db), &key, self.now, &mut out, |_, _| ());
            if entry.deadline == NEVER || entry.deadline > self.now {
                assert!(found.is_some(), "{} is lost", String::from_utf8_lossy(&bytes));
                assert_eq!(out, entry.value);
            } else {
                assert_eq!(found, None);
                self.model.remove(&(db, bytes));
            }
        }
        let many: Vec<Vec<u8>> = self.model.keys().take(50).map(|(_, k)| k.clone()).collect();
        let keys: Vec<Key<'_>> = many.iter().map(|k| engine.key(k)).collect();
        let mut out = Vec::new();
        self.session.get_many(Db(0), &keys, self.now, &mut out, |i, found, out| {
            out.extend_from_slice(format!("[{i} {}]", found.is_some()).as_bytes());
        });
        let mut expected = Vec::new();
        for (i, bytes) in many.iter().enumerate() {
            let entry = self.live(Db(0), bytes);
            expected.extend_from_slice(format!("[{i} {}]", entry.is_some()).as_bytes());
            expected.extend_from_slice(entry.map_or(&b""[..], |e| &e.value));
        }
        assert_eq!(out, expected);
    }
}

/// Seeds, operations of each, and operations between two looks at everything: an interpreter takes
/// some ten thousand times as long.
const SEEDS: u64 = if cfg!(miri) { 2 } else { 6 };
const STEPS: u64 = if cfg!(miri) { 200 } else { 40_000 };
const LOOK_EVERY: u64 = STEPS / if cfg!(miri) { 2 } else { 8 };
const LONGEST: u64 = if cfg!(miri) { 20_000 } else { 70_000 };

#[test]
fn random_operations_agree_with_a_map() {
    for seed in 1..=SEEDS {
        let mut environment = Environment::new(seed);
        let keys = [20, 300, 5_000][seed as usize % 3];
        for step in 0..STEPS {
            environment.step(keys);
            if step % LOOK_EVERY == LOOK_EVERY - 1 {
                environment.compare();
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours there")]
fn a_hundred_thousand_keys_are_all_found_and_all_scanned() {
    let engine = Engine::create(EngineOptions {
        max_bytes: 256 << 20,
        shards: 64,
        ..EngineOptions::default()
    })
    .expect("an arena");
    let session = engine.session().expect("a slot");
    let value = [7u8; 32];
    for number in 0..100_000u32 {
        let bytes = format!("{number:016}").into_bytes();
        let key = engine.key(&bytes);
        session
            .write(Db(0), &key, 1)
            .put(Db(0), &key, &Put::plain(Value::Bytes(&value)))
            .expect("memory");
    }
    assert_eq!(engine.len(Db(0)), 100_000);
    for number in 0..100_000u32 {
        let bytes = format!("{number:016}").into_bytes();
        let mut out = Vec::new();
        assert!(session.get(Db(0), &engine.key(&bytes), 1, &mut out, |_, _| ()).is_some());
        assert_eq!(out, value);
    }
    let mut seen = std::collections::HashSet::new();
    let mut cursor = 0;
    loop {
        cursor = session.scan(Db(0), cursor, 100, 1, |key, _| {
            seen.insert(key.to_vec());
        });
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(seen.len(), 100_000);
    for random in 0..1000u64 {
        let mut key = Vec::new();
        assert!(session.random_key(Db(0), random.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1, &mut key));
        assert!(seen.contains(&key));
    }
    // The same through a read-only mapping, as an attached process sees it.
    let reader = Reader::open(engine.attach_fd().expect("a descriptor")).expect("our own arena");
    assert_eq!(reader.len(Db(0)), 100_000);
    let mut again = std::collections::HashSet::new();
    let mut cursor = 0;
    loop {
        let visit = |key: &[u8], _: &Found| {
            again.insert(key.to_vec());
        };
        cursor = reader.scan(Db(0), cursor, 10, 1, visit).expect("nobody writes");
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(again, seen);
    let mut out = Vec::new();
    let key = reader.key(b"0000000000000042");
    assert!(reader.get(Db(0), &key, 1, &mut out, |_, _| ()).expect("nobody writes").is_some());
    assert_eq!(out, value);
}
