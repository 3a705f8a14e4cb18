//! Many connections over the same keys, and each answer judged.
//!
//! Each key has one connection that writes it, with versions that rise; every connection reads all.
//! `begun` and `done` are the last version that was sent and that was answered. A reader that sends
//! its request when `done` is n may be given version n or later, but nothing later than `begun`
//! when the answer is there; with memory for all, a key whose last version was stored must be found.

use super::pipe::Pipe;
use super::speech::{ALL, Client, Item, Stored, Verb};
use super::{Random, value};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Most requests of one connection that are under way.
const PIPELINE: u64 = 32;
const MANY_KEYS: u64 = 50;
/// The lowest bit of `done`: the version was stored, not deleted.
const IS_STORED: u32 = 1;

pub struct Load {
    pub address: SocketAddr,
    pub connections: usize,
    pub keys: u64,
    /// Memory is large enough for all keys: what was stored must be found.
    pub holds_all: bool,
    pub time: Duration,
    pub seed: u64,
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub stores: u64,
    pub hits: u64,
    pub misses: u64,
    pub bytes_judged: u64,
    /// Stores for which there was no memory.
    pub refused: u64,
}

struct Shared {
    begun: Vec<AtomicU32>,
    done: Vec<AtomicU32>,
    total: [AtomicU64; 5],
}

enum Pending {
    Get {
        key: u64,
        floor: u32,
    },
    Many {
        keys: Vec<(u64, u32)>,
    },
    Set {
        key: u64,
        version: u32,
    },
    Quiet {
        key: u64,
        version: u32,
    },
    /// With a unique number that is right, or one that never was.
    Cas {
        key: u64,
        version: u32,
        is_right: bool,
    },
    Delete {
        key: u64,
        version: u32,
    },
}

struct Worker<'a> {
    load: &'a Load,
    shared: &'a Shared,
    client: Client,
    number: u64,
    random: Random,
    pending: VecDeque<Pending>,
    /// Unique numbers of own keys: the version that had it.
    uniques: HashMap<u64, (u32, u64)>,
    /// Versions whose condition failed.
    refused: HashSet<(u64, u32)>,
    value: Vec<u8>,
    outcome: Outcome,
}

/// Loads for a time; panics at the first answer that is wrong.
pub fn run(load: &Load) -> Outcome {
    let empty = || (0..load.keys).map(|_| AtomicU32::new(0)).collect();
    let shared = Shared { begun: empty(), done: empty(), total: Default::default() };
    std::thread::scope(|scope| {
        for number in 0..load.connections {
            let shared = &shared;
            scope.spawn(move || {
                let mut worker = Worker {
                    load,
                    shared,
                    client: Client {
                        speech: ALL[number % ALL.len()],
                        pipe: Pipe::open(load.address),
                    },
                    number: number as u64,
                    random: Random::new(load.seed, number as u64),
                    pending: VecDeque::new(),
                    uniques: HashMap::new(),
                    refused: HashSet::new(),
                    value: Vec::new(),
                    outcome: Outcome::default(),
                };
                let end = Instant::now() + load.time;
                while Instant::now() < end {
                    worker.batch();
                }
                let Outcome { stores, hits, misses, bytes_judged, refused } = worker.outcome;
                let parts = [stores, hits, misses, bytes_judged, refused];
                for (total, part) in shared.total.iter().zip(parts) {
                    total.fetch_add(part, SeqCst);
                }
            });
        }
    });
    let [stores, hits, misses, bytes_judged, refused] = shared.total.map(AtomicU64::into_inner);
    Outcome { stores, hits, misses, bytes_judged, refused }
}

fn name(key: u64) -> String {
    format!("content:{key:07}")
}

impl Worker<'_> {
    fn batch(&mut self) {
        let requests = 1 + self.random.below(PIPELINE);
        for _ in 0..requests {
            match self.random.below(100) {
                0..50 => {
                    let key = self.any_key();
                    let floor = self.shared.done[key as usize].load(SeqCst);
                    self.client.get(&name(key));
                    self.pending.push_back(Pending::Get { key, floor });
                }
                50..54 => self.get_many(),
                54..86 => {
                    let (key, version) = self.begin();
                    self.client.store(Verb::Set, &name(key), version, &self.value, 0);
                    self.pending.push_back(Pending::Set { key, version });
                }
                86..90 => {
                    let (key, version) = self.begin();
                    self.client.set_quietly(&name(key), version, &self.value);
                    self.pending.push_back(Pending::Quiet { key, version });
                }
                90..97 => self.compare_and_swap(),
                _ => {
                    let (key, version) = self.begin();
                    self.client.delete(&name(key));
                    self.pending.push_back(Pending::Delete { key, version });
                }
            }
        }
        while let Some(pending) = self.pending.pop_front() {
            self.judge(pending);
        }
    }

    /// One in two from a few, so that readers and writers meet.
    fn any_key(&mut self) -> u64 {
        let keys = self.load.keys;
        let among = if self.random.one_in(2) { keys } else { keys.min(128) };
        self.random.below(among)
    }

    /// Begins the next version of a key that is this connection's to write; its value is made.
    fn begin(&mut self) -> (u64, u32) {
        let connections = self.load.connections as u64;
        let key = self.any_key() / connections * connections + self.number;
        let key = if key < self.load.keys { key } else { self.number };
        let version = self.shared.begun[key as usize].fetch_add(1, SeqCst) + 1;
        value::write(key, version, value::len_of(key, version), &mut self.value);
        (key, version)
    }

    fn end(&mut self, key: u64, version: u32, is_stored: bool) {
        let word = version << 1 | if is_stored { IS_STORED } else { 0 };
        self.shared.done[key as usize].store(word, SeqCst);
        self.outcome.stores += 1;
    }

    fn get_many(&mut self) {
        let keys: Vec<(u64, u32)> = (0..1 + self.random.below(MANY_KEYS))
            .map(|_| {
                let key = self.any_key();
                (key, self.shared.done[key as usize].load(SeqCst))
            })
            .collect();
        let names: Vec<String> = keys.iter().map(|(key, _)| name(*key)).collect();
        self.client.get_many(&names.iter().map(String::as_str).collect::<Vec<_>>());
        self.pending.push_back(Pending::Many { keys });
    }

    fn compare_and_swap(&mut self) {
        let Some((&key, &(seen, unique))) = self.uniques.iter().next() else { return };
        self.uniques.remove(&key);
        let is_current = self.shared.begun[key as usize].load(SeqCst) == seen;
        if !is_current {
            return;
        }
        let version = self.shared.begun[key as usize].fetch_add(1, SeqCst) + 1;
        value::write(key, version, value::len_of(key, version), &mut self.value);
        let is_right = !self.random.one_in(3);
        let told = if is_right { unique } else { unique ^ 1 << 40 };
        self.client.store(Verb::Set, &name(key), version, &self.value, told);
        self.pending.push_back(Pending::Cas { key, version, is_right });
    }

    fn judge(&mut self, pending: Pending) {
        match pending {
            Pending::Get { key, floor } => {
                let item = self.client.got(&name(key));
                self.judge_item(key, floor, item);
            }
            Pending::Many { keys } => {
                let names: Vec<String> = keys.iter().map(|(key, _)| name(*key)).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let items = self.client.got_many(&names, true);
                for ((key, floor), item) in keys.into_iter().zip(items) {
                    self.judge_item(key, floor, item);
                }
            }
            Pending::Set { key, version } => {
                let answer = self.client.stored();
                match &answer {
                    Stored::Refused(_) => self.outcome.refused += 1,
                    Stored::Yes(Some(unique)) => drop(self.uniques.insert(key, (version, *unique))),
                    Stored::Yes(None) => {}
                    other => panic!("a set of {key} version {version} is answered {other:?}"),
                }
                // Of a set that fails nothing stays, not even what was there.
                self.end(key, version, matches!(answer, Stored::Yes(_)));
            }
            Pending::Quiet { key, version } => {
                let answer = self.client.was_silent();
                if let Err(said) = &answer {
                    self.outcome.refused += 1;
                    let is_memory = said.contains("emory") || said.ends_with("0x82");
                    assert!(is_memory, "a quiet set of {key} version {version}: {said}");
                    self.client.was_silent().expect("nothing more before the no-op");
                }
                self.end(key, version, answer.is_ok());
            }
            Pending::Cas { key, version, is_right } => {
                let answer = self.client.stored();
                match (&answer, is_right) {
                    (Stored::Yes(_), true) => self.end(key, version, true),
                    // What was there before is there still, and this version never.
                    (Stored::Exists, false) => drop(self.refused.insert((key, version))),
                    (Stored::Refused(_), _) => self.outcome.refused += 1,
                    // Evicted meanwhile.
                    (Stored::Missing, _) if !self.load.holds_all => self.end(key, version, false),
                    _ => panic!("cas of {key}, the right number: {is_right}: {answer:?}"),
                }
            }
            Pending::Delete { key, version } => {
                self.client.was_there();
                self.end(key, version, false);
            }
        }
    }

    fn judge_item(&mut self, key: u64, floor: u32, item: Option<Item>) {
        let newest = self.shared.begun[key as usize].load(SeqCst);
        let Some(item) = item else {
            self.outcome.misses += 1;
            let must_be = floor & IS_STORED != 0 && newest == floor >> 1;
            assert!(!(self.load.holds_all && must_be), "key {key} version {newest} is lost");
            return;
        };
        if let Err(why) = value::judge(key, item.flags, &item.value, &mut self.value) {
            panic!("{why} ({:?})", self.client.speech);
        }
        let oldest = (floor >> 1) + u32::from(floor & IS_STORED == 0 && floor != 0);
        assert!(
            (oldest..=newest).contains(&item.flags),
            "key {key}: version {} where {oldest} to {newest} could be",
            item.flags
        );
        assert!(!self.refused.contains(&(key, item.flags)), "key {key}: a refused store is there");
        self.outcome.hits += 1;
        self.outcome.bytes_judged += item.value.len() as u64;
        if key % self.load.connections as u64 == self.number {
            let known = self.uniques.insert(key, (item.flags, item.unique));
            if let Some((version, unique)) = known {
                let is_same = version == item.flags;
                assert_eq!(is_same, unique == item.unique, "unique numbers of {key}");
            }
        }
    }
}
