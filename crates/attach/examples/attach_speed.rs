//! What a read from attached memory takes, as a ratio to two cache misses of the same minutes.
//!
//! `cargo run --release -p dolium-attach --example attach_speed [-- --items 1000000] [--rounds 5]
//! [--huge] [--writer]`
//!
//! Each round measures the floor in its two shapes (`dolium lab misses`; the first ratio is to the one that
//! fits the items, the second to that of whole lines) and then the store's public API: dependent
//! gets, where the next key follows from the value just read; batches of 32 through
//! `get_many_with`; and dependent gets through the C library. Printed are the medians of all rounds,
//! and of the rounds' ratios. With `--writer` every read is measured alone and beside a thread that
//! overwrites random keys as fast as it can, and so is the writer.
//!
//! The store is loaded beside a thread that does maintenance, as in a server, and stands on the pages that it
//! gives: huge ones for the most part. The floor stands on small pages, as programs do by default, or with
//! `--huge` on huge ones.

mod common;

use common::{BATCH, OPERATIONS, SHARDS, best, maintain_until, median, mix};
use dolium::{dolium_get, dolium_store};
use dolium_attach::Store;
use dolium_engine::{Db, Engine, EngineOptions, Policy, Put, Session, Value};
use dolium_lab::misses::{Floor, Pages};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).and_then(|word| word.parse::<usize>().ok())
    };
    let has = |name: &str| words.iter().any(|word| word == name);
    let rounds = number("--rounds").unwrap_or(5).max(1);
    let items = number("--items").map_or_else(|| vec![1_000_000, 10_000_000], |n| vec![n]);
    println!("nanoseconds a read, and the ratio to two cache misses; medians of {rounds} rounds");
    for items in items {
        measure::<16, 32>(items, rounds, has("--huge"), has("--writer"));
        measure::<24, 100>(items, rounds, has("--huge"), has("--writer"));
    }
}

fn measure<const K: usize, const V: usize>(items: usize, rounds: usize, huge: bool, writer: bool) {
    let house = House::<K, V>::load(items);
    if writer {
        house.beside_a_writer(rounds);
    } else {
        house.against_the_floor(rounds, huge);
    }
}

/// A store of so many items with keys of K and values of V bytes, and an attached view of it through
/// a mapping of its own.
struct House<const K: usize, const V: usize> {
    engine: Arc<Engine>,
    store: Store,
    items: usize,
}

fn name<const K: usize>(number: usize) -> [u8; K] {
    let mut key = [b'k'; K];
    key[..8].copy_from_slice(&(number as u64).to_le_bytes());
    key
}

impl<const K: usize, const V: usize> House<K, V> {
    fn load(items: usize) -> Self {
        let engine = Engine::create(EngineOptions {
            max_bytes: 8 << 30,
            shards: SHARDS,
            databases: 1,
            hash_seed: [1, 2],
            policy: Policy::NoEviction,
            journal_bytes: 1 << 20,
        })
        .expect("memory for an arena");
        let store = Store::open(engine.attach_fd().expect("a descriptor")).expect("an arena");
        let house = House { engine, store, items };
        let is_loaded = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| maintain_until(&house.engine, &is_loaded));
            let session = house.engine.session().expect("a session");
            (0..items).for_each(|number| house.put(&session, number));
            is_loaded.store(true, Relaxed);
        });
        house
    }

    fn put(&self, session: &Session, number: usize) {
        let mut value = [0; V];
        for (word, part) in value.chunks_mut(8).enumerate() {
            let bytes = mix((number as u64) << 8 | word as u64).to_le_bytes();
            part.copy_from_slice(&bytes[..part.len()]);
        }
        let key = name::<K>(number);
        let key = self.engine.key(&key);
        let mut guard = session.write(Db(0), &key, 0);
        guard.put(Db(0), &key, &Put::plain(Value::Bytes(&value))).expect("it fits");
    }

    /// The next item from what was just read.
    fn place(&self, word: u64) -> usize {
        ((u128::from(mix(word)) * self.items as u128) >> 64) as usize
    }

    fn dependent(&self, seed: u64) -> f64 {
        let mut value = Vec::with_capacity(V);
        let mut read = seed;
        let begun = Instant::now();
        for step in 0..OPERATIONS as u64 {
            let key = name::<K>(self.place(read ^ step));
            value.clear();
            assert!(self.store.get_into(&key, &mut value).expect("readable"));
            read = word(&value);
        }
        black_box(read);
        begun.elapsed().as_nanos() as f64 / OPERATIONS as f64
    }

    fn through_c(&self, store: &dolium_store, seed: u64) -> f64 {
        let mut value = [0; V];
        let (mut read, mut length) = (seed, 0);
        let begun = Instant::now();
        for step in 0..OPERATIONS as u64 {
            let key = name::<K>(self.place(read ^ step));
            // SAFETY: a live store, and buffers with their own lengths.
            let status = unsafe {
                dolium_get(
                    store,
                    key.as_ptr(),
                    key.len(),
                    value.as_mut_ptr(),
                    value.len(),
                    &raw mut length,
                )
            };
            assert_eq!(status, dolium::dolium_status::DOLIUM_OK);
            read = word(&value);
        }
        black_box(read);
        begun.elapsed().as_nanos() as f64 / OPERATIONS as f64
    }

    fn batches(&self, seed: u64) -> f64 {
        let mut keys = [[0; K]; BATCH];
        let mut read = seed;
        let begun = Instant::now();
        for batch in 0..(OPERATIONS / BATCH) as u64 {
            for (number, key) in keys.iter_mut().enumerate() {
                *key = name(self.place(read ^ (batch * BATCH as u64 + number as u64)));
            }
            let got = self.store.get_many_with(&keys, |_, value| {
                read ^= word(value.expect("it is there"));
            });
            got.expect("readable");
        }
        black_box(read);
        begun.elapsed().as_nanos() as f64 / OPERATIONS as f64
    }

    fn title(&self) {
        println!("\n{} items of {K} + {V} bytes", self.items);
    }

    fn against_the_floor(&self, rounds: usize, huge: bool) {
        let pages = if huge { Pages::Huge } else { Pages::Small };
        let floor = Floor::prepare(self.items, K, V, pages);
        let floor = floor.expect("memory for the floor");
        let lines = Floor::of_whole_lines(self.items, pages).expect("memory for the floor");
        let c = dolium_store::from(self.store.clone());
        let mut figures: [Vec<f64>; 7] = Default::default();
        for _ in 0..rounds {
            let least = floor.measure();
            let whole = lines.measure();
            figures[5].push(whole.dependent_ns);
            figures[6].push(whole.batch32_ns);
            figures[0].push(least.dependent_ns);
            figures[1].push(best(|seed| self.dependent(seed)));
            figures[2].push(best(|seed| self.through_c(&c, seed)));
            figures[3].push(least.batch32_ns);
            figures[4].push(best(|seed| self.batches(seed)));
        }
        let ratio = |of: usize, to: usize| {
            median(figures[of].iter().zip(&figures[to]).map(|(a, b)| a / b).collect())
        };
        self.title();
        let row = |name: &str, at: usize, to: &[usize]| {
            let ratios: String = to.iter().map(|&to| format!("{:>8.2}", ratio(at, to))).collect();
            println!("  {name:<32}{:>9.1}{ratios}", median(figures[at].clone()));
        };
        row("two misses", 0, &[]);
        row("two misses of whole lines", 5, &[]);
        row("get", 1, &[0, 5]);
        row("get from C (to Rust's)", 2, &[1]);
        row("two misses, 32 at once", 3, &[]);
        row("of whole lines, 32 at once", 6, &[]);
        row("get_many, 32 at once", 4, &[3, 6]);
    }

    fn beside_a_writer(&self, rounds: usize) {
        let mut figures: [Vec<f64>; 5] = Default::default();
        for _ in 0..rounds {
            figures[0].push(best(|seed| self.dependent(seed)));
            figures[1].push(self.with_writer(|| best(|seed| self.dependent(seed))).0);
            figures[2].push(best(|seed| self.batches(seed)));
            let alone = self.with_writer(|| std::thread::sleep(Duration::from_millis(700))).1;
            figures[3].push(alone);
            figures[4].push(self.with_writer(|| best(|seed| self.dependent(seed))).1);
        }
        let of = |at: usize| median(figures[at].clone());
        self.title();
        println!(
            "  get alone, beside a writer  {:>8.1}{:>8.1}{:>8.2}",
            of(0),
            of(1),
            of(1) / of(0)
        );
        println!(
            "  set alone, beside a reader  {:>8.1}{:>8.1}{:>8.2}",
            of(3),
            of(4),
            of(4) / of(3)
        );
        println!("  get_many, 32 at once, alone {:>8.1}", of(2));
    }

    /// Does `work` while a thread overwrites; its result, and nanoseconds of a write.
    fn with_writer<T>(&self, work: impl FnOnce() -> T) -> (T, f64) {
        let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let session = self.engine.session().expect("a session");
                let begun = Instant::now();
                let mut seed = 5;
                while !stop.load(Relaxed) {
                    seed = mix(seed);
                    self.put(&session, self.place(seed));
                    writes.store(writes.load(Relaxed) + 1, Relaxed);
                }
                begun.elapsed().as_nanos() as f64 / writes.load(Relaxed) as f64
            });
            let result = work();
            stop.store(true, Relaxed);
            (result, writer.join().expect("the writer does not panic"))
        })
    }
}

fn word(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
