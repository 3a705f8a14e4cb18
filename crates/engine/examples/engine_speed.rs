//! What one operation of the engine costs, and what an item takes: `engine_speed [items] [key] [value]`.
//!
//! Each figure is the median of five. Keys are asked for in random order, so that at a million
//! items and more every access misses the caches. "dependent" means that the next key depends on
//! the bytes just read. Compare with `dolium lab misses`, run within the same minutes.

use dolium_engine::*;
use std::time::Instant;

fn arg(n: usize, default: usize) -> usize {
    std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(default)
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut figures: Vec<f64> = (0..5).map(|_| run()).collect();
    figures.sort_by(f64::total_cmp);
    figures[2]
}

struct Keys {
    bytes: Vec<u8>,
    len: usize,
}

impl Keys {
    fn get(&self, n: usize) -> &[u8] {
        &self.bytes[n * self.len..(n + 1) * self.len]
    }
}

fn main() {
    let (items, key_len, value_len) = (arg(1, 1_000_000), arg(2, 16), arg(3, 32));
    let huge = std::env::var("HUGE").is_ok();
    let engine = Engine::create(EngineOptions {
        max_bytes: 8 << 30,
        shards: 256,
        ..EngineOptions::default()
    })
    .expect("an arena");
    let session = engine.session().expect("a slot");
    let mut keys = Keys { bytes: Vec::new(), len: key_len };
    for n in 0..items as u64 {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let text = format!("{:0>w$}", format!("{:x}", mixed ^ mixed >> 31), w = key_len);
        keys.bytes.extend_from_slice(&text.as_bytes()[text.len() - key_len..]);
    }
    let value = vec![5u8; value_len];
    let put = Put::plain(Value::Bytes(&value));
    let mut slow = Vec::with_capacity(items);
    let start = Instant::now();
    let mut last = start;
    for n in 0..items {
        let key = engine.key(keys.get(n));
        session.write(Db(0), &key, 1).put(Db(0), &key, &put).expect("memory");
        let now = Instant::now();
        slow.push((now - last).as_nanos() as u32);
        last = now;
    }
    println!("insert {:.0} ns", start.elapsed().as_nanos() as f64 / items as f64);
    slow.sort_unstable();
    let at = |p: f64| slow[((slow.len() - 1) as f64 * p) as usize] as f64 / 1000.0;
    println!(
        "  latency us: p50 {:.2} p99 {:.2} p99.9 {:.1} p99.99 {:.1} p99.999 {:.1} max {:.1}",
        at(0.5),
        at(0.99),
        at(0.999),
        at(0.9999),
        at(0.99999),
        at(1.0)
    );
    drop(slow);
    let memory = engine.memory();
    println!(
        "memory: {:.1} bytes an item committed, {:.1} live, {:.1} index",
        memory.committed as f64 / items as f64,
        memory.live as f64 / items as f64,
        memory.index as f64 / items as f64
    );
    if huge {
        let work = session.maintain(1, 20_000_000, &|| 0);
        println!("huge pages: {} MiB", work.collapsed_bytes >> 20);
    }
    let rounds = 2_000_000.min(items * 4);
    let mut random = 1u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) as usize % items
    };
    let mut out = Vec::with_capacity(1 << 20);
    let dependent = median(|| {
        let start = Instant::now();
        let mut n = 1usize;
        for _ in 0..rounds {
            out.clear();
            let key = engine.key(keys.get(n));
            session.get(Db(0), &key, 1, &mut out, |_, _| ()).expect("present");
            n = (n.wrapping_mul(6364136223846793005).wrapping_add(out[0] as usize) >> 7) % items;
        }
        start.elapsed().as_nanos() as f64 / rounds as f64
    });
    println!("GET dependent {dependent:.1} ns");
    let batched = median(|| {
        let start = Instant::now();
        for _ in 0..rounds / 32 {
            let batch: [Key<'_>; 32] = std::array::from_fn(|_| engine.key(keys.get(next())));
            for key in &batch {
                session.prefetch_line(Db(0), key.hash());
            }
            let mut stashed = 0u32;
            for (i, key) in batch.iter().enumerate() {
                stashed |= u32::from(session.prefetch_item(Db(0), key.hash())) << i;
            }
            while stashed != 0 {
                session.prefetch_stashed(Db(0), batch[stashed.trailing_zeros() as usize].hash());
                stashed &= stashed - 1;
            }
            out.clear();
            for key in &batch {
                session.get(Db(0), key, 1, &mut out, |_, _| ()).expect("present");
            }
        }
        start.elapsed().as_nanos() as f64 / (rounds / 32 * 32) as f64
    });
    println!("GET batch 32 {batched:.1} ns");
    let single = median(|| {
        let start = Instant::now();
        for _ in 0..rounds {
            let key = engine.key(keys.get(next()));
            session.write(Db(0), &key, 1).put(Db(0), &key, &put).expect("memory");
        }
        start.elapsed().as_nanos() as f64 / rounds as f64
    });
    println!("SET single {single:.1} ns");
    let batched = median(|| {
        let start = Instant::now();
        for _ in 0..rounds / 32 {
            let batch: [Key<'_>; 32] = std::array::from_fn(|_| engine.key(keys.get(next())));
            for key in &batch {
                session.prefetch_line(Db(0), key.hash());
            }
            for key in &batch {
                session.prefetch_item(Db(0), key.hash());
            }
            for key in &batch {
                session.write(Db(0), key, 1).put(Db(0), key, &put).expect("memory");
            }
        }
        start.elapsed().as_nanos() as f64 / (rounds / 32 * 32) as f64
    });
    println!("SET batch 32 {batched:.1} ns");
}
