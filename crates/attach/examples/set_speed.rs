//! What a SET over a value takes in the engine, as a ratio to two cache misses of the same minutes.
//!
//! `cargo run --release -p dolium-attach --example set_speed [-- --items 1000000] [--rounds 5]`
//!
//! Each round measures the floor in its two shapes (`dolium lab misses`: the one that fits items of 16 + 32
//! bytes, and that of whole lines) and then the engine: SETs one at a time, whose keys are at hand and
//! follow from nothing that is read, and batches of 32. All four are the best of the same number of repetitions
//! of the same number of operations, so that an hour in which a host gives its caches to
//! others weighs on both sides. Printed are the medians of all rounds, and of the rounds' ratios the median, the least
//! and the greatest. Floor and store stand on huge pages.
//!
//! It stands here and not in the engine, which may not know of the lab that has the floor.

mod common;

use common::{BATCH, OPERATIONS, SHARDS, best, maintain_until, median, mix};
use dolium_engine::{Db, Engine, EngineOptions, Fetch, Key, Session};
use dolium_lab::misses::{Floor, Pages};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

const DB: Db = Db(0);
const KEY_BYTES: usize = 16;
const VALUE_BYTES: usize = 32;
/// Rounds of maintenance after loading, behind which nothing moves any more.
const ROUNDS_OF_REST: usize = 200;

type Name = [u8; KEY_BYTES];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| {
        let at = words.iter().position(|word| word == name);
        let word = at.and_then(|at| words.get(at + 1));
        word.and_then(|word| word.parse::<usize>().ok()).unwrap_or(default).max(1)
    };
    let (items, rounds) = (number("--items", 1_000_000), number("--rounds", 5));
    let fitting = Floor::prepare(items, KEY_BYTES, VALUE_BYTES, Pages::Huge).expect("a floor");
    let lines = Floor::of_whole_lines(items, Pages::Huge).expect("a floor");
    let mut bench = Bench::load(items);
    let mut figures: [Vec<f64>; 6] = Default::default();
    for _ in 0..rounds {
        let (least, whole) = (fitting.measure(), lines.measure());
        let single = best(|_| bench.single());
        let batch = best(|_| bench.batches());
        let round = [
            least.dependent_ns,
            whole.dependent_ns,
            least.batch32_ns,
            whole.batch32_ns,
            single,
            batch,
        ];
        figures.iter_mut().zip(round).for_each(|(all, one)| all.push(one));
    }
    let [least, whole, least_batch, whole_batch, single, batch] = figures;
    println!("{items} items of {KEY_BYTES} + {VALUE_BYTES} bytes, medians of {rounds} rounds");
    for (name, times) in [
        ("two misses, fitting", &least),
        ("two misses, whole lines", &whole),
        ("fitting, 32 at once", &least_batch),
        ("whole lines, 32 at once", &whole_batch),
        ("SET", &single),
        ("SET, 32 at once", &batch),
    ] {
        println!("  {name:<26}{:>8.1} ns", median(times.clone()));
    }
    println!("as a multiple of two dependent misses: the median (least to greatest)");
    for (name, times) in [("SET", &single), ("SET, 32 at once", &batch)] {
        for (shape, floor) in [("fitting", &least), ("whole lines", &whole)] {
            let mut ratios: Vec<f64> = times.iter().zip(floor).map(|(a, b)| a / b).collect();
            ratios.sort_by(f64::total_cmp);
            let (first, last) = (ratios[0], ratios[ratios.len() - 1]);
            let middle = median(ratios);
            println!("  {name:<16}{shape:<12}{middle:>6.3} ({first:.3} to {last:.3})");
        }
    }
}

#[inline(always)]
fn name(number: u64) -> Name {
    let mut name = [0; KEY_BYTES];
    name[..8].copy_from_slice(&number.to_le_bytes());
    name
}

/// A loaded store, and where in the random sequence of keys it is.
struct Bench {
    engine: Arc<Engine>,
    session: Session,
    items: usize,
    turn: u64,
    value: [u8; VALUE_BYTES],
}

impl Bench {
    /// Loads a store beside a thread that does maintenance, as in a server, and has it stand on huge pages.
    fn load(items: usize) -> Bench {
        let options =
            EngineOptions { max_bytes: 8 << 30, shards: SHARDS, ..EngineOptions::default() };
        let engine = Engine::create(options).expect("memory for an arena");
        let session = engine.session().expect("a session");
        let bench = Bench { engine, session, items, turn: 0, value: [5; VALUE_BYTES] };
        let is_loaded = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| maintain_until(&bench.engine, &is_loaded));
            for number in 0..items as u64 {
                let name = name(number);
                let key = bench.engine.key(&name);
                bench.session.set(DB, &key, &bench.value, 1).expect("it fits");
            }
            is_loaded.store(true, Relaxed);
        });
        // The first calls still see the store grow.
        for _ in 0..ROUNDS_OF_REST {
            bench.session.maintain(1, 1, &|| 0);
        }
        while bench.session.collapse() {}
        bench
    }

    /// The next key of the random sequence.
    #[inline(always)]
    fn next(&mut self) -> Name {
        self.turn += 1;
        let place = (u128::from(mix(self.turn)) * self.items as u128) >> 64;
        name(place as u64)
    }

    /// Nanoseconds of a SET by itself, of keys that the caller has at hand.
    #[inline(never)]
    fn single(&mut self) -> f64 {
        let mut names = [[0; KEY_BYTES]; BATCH];
        let begun = Instant::now();
        for _ in 0..OPERATIONS / BATCH {
            names.fill_with(|| self.next());
            for name in &names {
                let key = self.engine.key(name);
                self.session.set(DB, &key, &self.value, 1).expect("it fits");
            }
        }
        begun.elapsed().as_nanos() as f64 / OPERATIONS as f64
    }

    /// Nanoseconds of a SET of a batch.
    #[inline(never)]
    fn batches(&mut self) -> f64 {
        let mut names = [[0; KEY_BYTES]; BATCH];
        let mut fetches: Vec<Fetch> = Vec::with_capacity(BATCH);
        let begun = Instant::now();
        for _ in 0..OPERATIONS / BATCH {
            fetches.clear();
            names.fill_with(|| self.next());
            for name in &names {
                let hash = self.engine.key(name).hash();
                self.session.fetch_line(DB, hash, &mut fetches);
            }
            self.session.fetch_items(&mut fetches);
            let near = self.session.near();
            for (number, (name, fetch)) in names.iter().zip(&fetches).enumerate() {
                near.fetch(&fetches, number);
                let key = Key::from_parts(name, fetch.hash());
                self.session.set_fetched(DB, &key, fetch, &self.value, 1).expect("it fits");
            }
        }
        begun.elapsed().as_nanos() as f64 / OPERATIONS as f64
    }
}
