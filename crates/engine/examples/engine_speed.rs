//! What one operation of the engine costs, and what an item takes: `engine_speed [items] [key] [value]`.
//!
//! Each figure is the median of five. Keys are asked for in random order, so that at a million
//! items and more every access misses the caches. "dependent" means that the next key depends on
//! the bytes just read; elsewhere keys follow
//! from nothing that is read. Compare with `dolium lab misses`, run within the same minutes.
//!
//! While the items are inserted a second thread does maintenance, as in a server; with `ALONE=1` it
//! does not, and whoever inserts commits all memory. How long single inserts take is measured by
//! `insert_pauses`.
//!
//! Every kind of operation is a function of its own, so that a profiler tells them apart.

mod load;

use dolium_engine::*;
use load::{DB, Name, arg, beside_maintenance, insert, key_len, store};
use std::time::Instant;

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut figures: Vec<f64> = (0..5).map(|_| run()).collect();
    figures.sort_by(f64::total_cmp);
    figures[2]
}

/// A well mixed number below `items`.
#[inline(always)]
fn place(seed: u64, items: usize) -> usize {
    let mixed = (seed ^ seed >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from((mixed ^ mixed >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9)) * items as u128) >> 64)
        as usize
}

/// What all operations are made on.
struct Bench {
    engine: std::sync::Arc<Engine>,
    session: Session,
    items: usize,
    key_len: usize,
    /// Operations of one run.
    operations: usize,
    /// Where in the random sequence the run is.
    turn: u64,
    value: Vec<u8>,
    out: Vec<u8>,
}

impl Bench {
    #[inline(never)]
    fn insert(&mut self) {
        insert(&self.engine, &self.session, 0..self.items, self.key_len, &self.value, |_| ());
    }

    /// The next key of the random sequence.
    #[inline(always)]
    fn next(&mut self) -> Name {
        self.turn += 1;
        Name::of(place(self.turn, self.items), self.key_len)
    }

    #[inline(never)]
    fn get_dependent(&mut self) {
        let mut read = 0;
        for _ in 0..self.operations {
            self.turn += 1;
            let name = Name::of(place(self.turn ^ read, self.items), self.key_len);
            self.out.clear();
            let key = self.engine.key(name.get());
            self.session.get(DB, &key, 1, &mut self.out, |_, _| ()).expect("present");
            read = u64::from(self.out[0]) << 32;
        }
    }

    #[inline(never)]
    fn get_batch(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        let mut fetches = Vec::with_capacity(32);
        let mut names = [Name::of(0, self.key_len); 32];
        for _ in 0..self.operations / 32 {
            self.fetch(&mut names, &mut fetches);
            let near = self.session.near();
            out.clear();
            for (number, (name, fetch)) in names.iter().zip(&fetches).enumerate() {
                near.fetch(&fetches, number);
                let key = Key::from_parts(name.get(), fetch.hash());
                let kind =
                    self.session.get_fetched(fetch, DB, &key, 1, &mut out, |_| true, |_, _| ());
                assert!(kind.is_some());
            }
        }
        self.out = out;
    }

    /// One at a time, of keys that the caller has at hand.
    #[inline(never)]
    fn set_single(&mut self) {
        let value = std::mem::take(&mut self.value);
        let mut names = [Name::of(0, self.key_len); 32];
        for _ in 0..self.operations / 32 {
            for name in &mut names {
                *name = self.next();
            }
            for name in &names {
                let key = self.engine.key(name.get());
                self.session.set(DB, &key, &value, 1).expect("memory");
            }
        }
        self.value = value;
    }

    #[inline(never)]
    fn set_batch(&mut self) {
        let value = std::mem::take(&mut self.value);
        let mut fetches = Vec::with_capacity(32);
        let mut names = [Name::of(0, self.key_len); 32];
        for _ in 0..self.operations / 32 {
            self.fetch(&mut names, &mut fetches);
            let near = self.session.near();
            for (number, (name, fetch)) in names.iter().zip(&fetches).enumerate() {
                near.fetch(&fetches, number);
                let key = Key::from_parts(name.get(), fetch.hash());
                self.session.set_fetched(DB, &key, fetch, &value, 1).expect("memory");
            }
        }
        self.value = value;
    }

    /// The first passes over the next 32 keys.
    #[inline(always)]
    fn fetch(&mut self, names: &mut [Name; 32], fetches: &mut Vec<Fetch>) {
        fetches.clear();
        for name in names.iter_mut() {
            self.turn += 1;
            let number = place(self.turn, self.items) as u64;
            name.bytes[..8].copy_from_slice(&number.to_le_bytes());
            let hash = self.engine.key(name.get()).hash();
            self.session.fetch_line(DB, hash, fetches);
        }
        self.session.fetch_items(fetches);
    }
}

fn main() {
    let (items, key_len, value_len) = (arg(1, 1_000_000), key_len(2), arg(3, 32));
    let huge = std::env::var("HUGE").is_ok();
    let engine = store();
    let session = engine.session().expect("a slot");
    let out = Vec::with_capacity(1 << 20);
    let value = vec![5u8; value_len];
    let operations = 2_000_000.min(items * 4) / 32 * 32;
    let mut bench =
        Bench { engine: engine.clone(), session, items, key_len, operations, turn: 0, value, out };
    let start = Instant::now();
    beside_maintenance(&engine, || bench.insert());
    println!("insert {:.0} ns", start.elapsed().as_nanos() as f64 / items as f64);
    let memory = bench.engine.memory();
    println!(
        "memory: {:.1} bytes an item committed, {:.1} live, {:.1} index",
        memory.committed as f64 / items as f64,
        memory.live as f64 / items as f64,
        memory.index as f64 / items as f64
    );
    if huge {
        // The first calls still see the store grow.
        for _ in 0..200 {
            bench.session.maintain(1, 1, &|| 0);
        }
        while bench.session.collapse() {}
    }
    // Every key used three times: from then on a read writes nothing.
    for _ in 0..3 {
        bench.get_batch();
    }
    report(&mut bench, "GET dependent", Bench::get_dependent);
    report(&mut bench, "GET batch 32", Bench::get_batch);
    report(&mut bench, "SET single", Bench::set_single);
    report(&mut bench, "SET batch 32", Bench::set_batch);
}

/// Prints the median cost of an operation.
fn report(bench: &mut Bench, name: &str, run: impl Fn(&mut Bench)) {
    let operations = bench.operations as f64;
    let cost = median(|| {
        let start = Instant::now();
        run(bench);
        start.elapsed().as_nanos() as f64 / operations
    });
    println!("{name} {cost:.1} ns");
}
