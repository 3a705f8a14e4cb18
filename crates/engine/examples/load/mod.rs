//! What the measuring examples load a store with: keys that say their number, inserted beside a thread
//! that does maintenance as a server's does.

use dolium_engine::{Db, Engine, EngineOptions, Put, Session, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub const DB: Db = Db(0);
/// Bytes of the longest key.
pub const NAME_MAX: usize = 64;
/// Rounds of maintenance as a server of a growing store makes them.
const ROUND: Duration = Duration::from_millis(5);
const ROUND_BUDGET_US: u64 = 2_000;

/// The argument of this place, or what it is if not given.
pub fn arg(n: usize, default: usize) -> usize {
    std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(default)
}

/// Bytes of a key from the command line.
pub fn key_len(n: usize) -> usize {
    let len = arg(n, 16);
    assert!((8..=NAME_MAX).contains(&len), "keys have 8 to 64 bytes");
    len
}

/// An empty store with room for all that an example may be asked for.
pub fn store() -> Arc<Engine> {
    let options = EngineOptions { max_bytes: 8 << 30, shards: 256, ..EngineOptions::default() };
    Engine::create(options).expect("an arena")
}

/// Keys of equal length that say their number.
#[derive(Clone, Copy)]
pub struct Name {
    pub bytes: [u8; NAME_MAX],
    pub len: usize,
}

impl Name {
    #[inline(always)]
    pub fn of(number: usize, len: usize) -> Name {
        let mut bytes = [0; NAME_MAX];
        bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
        Name { bytes, len }
    }

    #[inline(always)]
    pub fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Stores the keys of these numbers in turn, and calls `behind` after each.
#[inline(always)]
pub fn insert(
    engine: &Engine,
    session: &Session,
    numbers: std::ops::Range<usize>,
    key_len: usize,
    value: &[u8],
    mut behind: impl FnMut(usize),
) {
    let put = Put::plain(Value::Bytes(value));
    for n in numbers {
        let name = Name::of(n, key_len);
        let key = engine.key(name.get());
        session.write(DB, &key, 1).put(DB, &key, &put).expect("memory");
        behind(n);
    }
}

/// Does this beside a thread that does maintenance, as in a server. With `ALONE=1` in the environment there is none,
/// and whoever inserts commits all memory.
pub fn beside_maintenance<T>(engine: &Arc<Engine>, run: impl FnOnce() -> T) -> T {
    if std::env::var("ALONE").is_ok() {
        return run();
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = engine.session().expect("a slot");
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let elapsed_us = || begun.elapsed().as_micros() as u64;
                session.maintain(1, ROUND_BUDGET_US, &elapsed_us);
                std::thread::sleep(ROUND);
            }
        });
        // Also when it panics: the scope waits for the thread.
        let _end = End(&is_over);
        run()
    })
}

/// Tells a thread that it is over when dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
