//! A connection alone with its keys: every verb is applied to a map too, and every answer compared.
//!
//! Others may take items away (eviction, `flush_all`), so an item may be missing at any time; but
//! what is there must be what was stored last and not deleted, to the byte.

use super::pipe::Pipe;
use super::speech::{Client, Speech, Stored, Verb};
use super::{Random, value};
use std::collections::HashMap;
use std::net::SocketAddr;

const KEYS: u64 = 200;
/// An item that is appended to until it is longer begins anew.
const APPENDED_MAX: usize = 100_000;
/// Long enough that nothing expires while a test runs.
const TOUCH_SECONDS: u32 = 10_000;

pub struct Model {
    client: Client,
    prefix: String,
    random: Random,
    items: HashMap<u64, (u32, Vec<u8>)>,
    counters: HashMap<u64, u64>,
    version: u32,
    value: Vec<u8>,
    pub answers: u64,
    pub hits: u64,
    /// Sets for which there was no memory.
    pub refused: u64,
}

impl Model {
    pub fn new(address: SocketAddr, speech: Speech, seed: u64, number: u64) -> Model {
        Model {
            client: Client { speech, pipe: Pipe::open(address) },
            prefix: format!("model:{number}:"),
            random: Random::new(seed, 1000 + number),
            items: HashMap::new(),
            counters: HashMap::new(),
            version: 0,
            value: Vec::new(),
            answers: 0,
            hits: 0,
            refused: 0,
        }
    }

    /// One request, or two, with their answers.
    pub fn step(&mut self) {
        let key = self.random.below(KEYS);
        match self.random.below(100) {
            0..40 => self.read(key),
            40..60 => self.store(key, Verb::Set),
            60..64 => self.store(key, Verb::Add),
            64..68 => self.store(key, Verb::Replace),
            68..78 => self.lengthen(key),
            78..82 => self.swap(key),
            82..90 => self.count(key),
            90..95 => self.touch(key),
            _ => self.delete(key),
        }
        self.answers += 1;
    }

    fn name(&self, key: u64) -> String {
        format!("{}{key}", self.prefix)
    }

    fn make(&mut self, key: u64) {
        self.version += 1;
        // Values of 100 kB and more are the other loads' affair.
        let len = value::len_of(key, self.version) % 65_536;
        value::write(key, self.version, len.max(1), &mut self.value);
    }

    fn store(&mut self, key: u64, verb: Verb) {
        self.make(key);
        let (name, flags) = (self.name(key), self.version);
        self.client.store(verb, &name, flags, &self.value, 0);
        let answer = self.client.stored();
        let is_stored = matches!(answer, Stored::Yes(_));
        let known = self.items.contains_key(&key);
        match verb {
            Verb::Set => {
                let is_refused = matches!(answer, Stored::Refused(_));
                assert!(is_stored || is_refused, "a set of {name}: {answer:?}");
                self.refused += u64::from(is_refused);
            }
            // An item that is known may be gone; one that is not known cannot be there.
            Verb::Add => {
                let is_free = matches!(answer, Stored::Yes(_) | Stored::Refused(_));
                assert!(is_free || known, "{name} is there, and was not");
            }
            _ => assert!(known || !is_stored, "{name} was replaced, and was not there"),
        }
        match is_stored {
            true => drop(self.items.insert(key, (flags, self.value.clone()))),
            // Of a set that fails nothing stays, not even what was there.
            false if verb == Verb::Set => drop(self.items.remove(&key)),
            false => {}
        }
    }

    fn lengthen(&mut self, key: u64) {
        if self.items.get(&key).is_none_or(|(_, value)| value.len() > APPENDED_MAX) {
            return self.store(key, Verb::Set);
        }
        self.make(key);
        self.value.truncate(1 + self.random.below(5000) as usize);
        let at_end = self.random.one_in(2);
        let verb = if at_end { Verb::Append } else { Verb::Prepend };
        let name = self.name(key);
        self.client.store(verb, &name, 0, &self.value, 0);
        let is_stored = matches!(self.client.stored(), Stored::Yes(_));
        if let (true, Some((_, value))) = (is_stored, self.items.get_mut(&key)) {
            let at = if at_end { value.len() } else { 0 };
            value.splice(at..at, self.value.iter().copied());
        }
    }

    fn read(&mut self, key: u64) {
        self.client.get(&self.name(key));
        self.compare(key);
    }

    fn touch(&mut self, key: u64) {
        let name = self.name(key);
        if self.random.one_in(2) {
            self.client.get_and_touch(&name, TOUCH_SECONDS);
            self.compare(key);
            return;
        }
        self.client.touch(&name, TOUCH_SECONDS);
        let is_there = self.client.was_there() == Some(true);
        let is_known = self.items.contains_key(&key);
        assert!(!is_there || is_known, "{name} was touched, and was not there");
    }

    /// The answer of a get against the map. The unique number of what is there.
    fn compare(&mut self, key: u64) -> Option<u64> {
        let name = self.name(key);
        let item = self.client.got(&name)?;
        let Some((flags, value)) = self.items.get(&key) else {
            panic!("{name} was deleted, and is there with {} bytes", item.value.len());
        };
        assert_eq!(item.flags, *flags, "flags of {name} ({:?})", self.client.speech);
        assert_eq!(item.value.len(), value.len(), "length of {name} ({:?})", self.client.speech);
        let differs = item.value.iter().zip(value).position(|(a, b)| a != b);
        assert_eq!(differs, None, "the first wrong byte of {name} ({:?})", self.client.speech);
        self.hits += 1;
        Some(item.unique)
    }

    fn swap(&mut self, key: u64) {
        self.client.get(&self.name(key));
        let Some(unique) = self.compare(key) else { return };
        let is_right = !self.random.one_in(3);
        self.make(key);
        let (name, flags) = (self.name(key), self.version);
        let told = if is_right { unique } else { unique ^ 1 << 40 };
        self.client.store(Verb::Set, &name, flags, &self.value, told);
        match (self.client.stored(), is_right) {
            (Stored::Yes(_), true) => {
                self.items.insert(key, (flags, self.value.clone()));
            }
            (Stored::Exists, false) | (Stored::Missing | Stored::Refused(_), _) => {}
            (answer, _) => panic!("cas of {name}, the right number: {is_right}: {answer:?}"),
        }
    }

    fn delete(&mut self, key: u64) {
        let name = self.name(key);
        self.client.delete(&name);
        let known = self.items.remove(&key).is_some();
        let was_there = self.client.was_there() == Some(true);
        assert!(!was_there || known, "{name} was deleted, and was not there");
    }

    /// Counters have names of their own.
    fn count(&mut self, key: u64) {
        let name = format!("{}counter:{key}", self.prefix);
        let Some(old) = self.counters.get(&key).copied() else {
            let start = self.random.next() >> self.random.below(64);
            self.client.store(Verb::Set, &name, 0, start.to_string().as_bytes(), 0);
            if matches!(self.client.stored(), Stored::Yes(_)) {
                self.counters.insert(key, start);
            }
            return;
        };
        let (delta, is_up) = (self.random.next() >> self.random.below(64), self.random.one_in(2));
        self.client.count(&name, delta, is_up);
        let right = if is_up { old.wrapping_add(delta) } else { old.saturating_sub(delta) };
        match self.client.counted() {
            Some(number) => {
                assert_eq!(number, right, "{name} was {old}, up {is_up} by {delta}");
                self.counters.insert(key, number);
            }
            None => drop(self.counters.remove(&key)),
        }
    }
}
