//! Memcached's changes in place beside other threads in a full store: room that another has taken is made again.
//!
//! Marking an item as stale gives it a unique number and so makes another copy of it, and counting copies the blanks
//! behind a number as well. Room was made once, by `incr` for twenty digits; where it was not enough, or another
//! thread took it, they were told that memory had ended, in a store of which all may go.

mod memcache_harness;

use dolium_engine::{Engine, EngineOptions, Policy};
use memcache_harness::Connection;
use std::sync::Arc;

const THREADS: u64 = 4;
const ROUNDS: u64 = 400;
/// A number with so many blanks behind it is still counted.
const VALUE_BYTES: usize = 500_000;

/// A store of about twenty of the values.
fn small_store() -> Arc<Engine> {
    let policy = Policy::AllKeysLru;
    let options = EngineOptions { max_bytes: 64 << 20, shards: 16, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena of 64 MiB");
    engine.set_max_memory(12 << 20);
    engine
}

#[test]
fn counters_and_stale_marks_get_their_room() {
    let engine = small_store();
    let value = format!("7{}", " ".repeat(VALUE_BYTES - 1));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (engine, value) = (&engine, &value);
            scope.spawn(move || {
                let mut c = Connection::on(engine);
                for round in 0..ROUNDS {
                    let key = format!("{thread} {round}").replace(' ', "_");
                    c.expect(&format!("set {key} 0 0 {VALUE_BYTES}\r\n{value}\r\n"), "STORED\r\n");
                    // It may have gone by now for another thread's, but there is memory for it.
                    let request = match round % 3 {
                        0 => format!("md {key} I\r\n"),
                        1 => format!("ma {key} T100\r\n"),
                        _ => format!("incr {key} 1\r\n"),
                    };
                    let reply = c.send(request.as_bytes());
                    let reply = String::from_utf8_lossy(&reply);
                    let is_right =
                        ["HD\r\n", "NF\r\n", "8\r\n", "NOT_FOUND\r\n"].contains(&&*reply);
                    assert!(is_right, "{request} in round {round}: {reply}");
                }
            });
        }
    });
    assert!(engine.statistics().evicted > 0, "memory has never been full");
    assert_eq!(engine.verify(), Ok(()));
}
