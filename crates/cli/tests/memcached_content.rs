//! `dolium memcached` under load, and every byte of every answer judged: text, meta and binary
//! connections, pipelines, values of 1 byte to a megabyte, with memory for a part of them and for
//! all of them.
//!
//! `DOLIUM_TEST_LOAD_SECONDS` says for how long (6 and 3), `DOLIUM_TEST_SEED` what chance begins
//! with; the seed of each run is printed.

mod cached;
#[path = "../../server/tests/load/mod.rs"]
mod load;

use cached::Cached;
use load::content::{self, Load};

const CONNECTIONS: usize = 6;
/// What the process takes beside its items: program, threads, index, allocator.
const PROCESS: u64 = 32 << 20;
/// `client-buffers-max`: what all input and output that waits may take, by the server's own promise.
const BUFFERS: u64 = 64 << 20;

fn judge(megabytes: u64, keys: u64, holds_all: bool, seconds: u64) -> content::Outcome {
    let mut server = Cached::start(&["-m", &megabytes.to_string(), "-t", "2"]);
    let time = load::seconds(seconds);
    let seed = load::seed();
    let (address, connections) = (server.address, CONNECTIONS);
    let outcome = content::run(&Load { address, connections, keys, holds_all, time, seed });
    let (now, most) = server.resident();
    println!("{outcome:?}, resident {} MiB, at most {} MiB", now >> 20, most >> 20);
    server.must_hold_together();
    let bound = (megabytes << 20) + PROCESS + BUFFERS;
    assert!(most < bound, "resident memory reached {} MiB", most >> 20);
    outcome
}

#[test]
fn what_eviction_leaves_is_right() {
    // 100 MB of values and more.
    let outcome = judge(32, 30_000, false, 6);
    assert!(outcome.stores > 1000 && outcome.hits > 1000, "there was no load");
    assert!(outcome.misses > 0, "nothing was evicted");
    // As few as by Memcached itself: two threads may take the same room, again and again.
    assert!(outcome.refused * 1000 <= outcome.stores, "{} stores were refused", outcome.refused);
}

#[test]
fn with_memory_for_all_nothing_is_lost() {
    let outcome = judge(128, 4000, true, 3);
    assert!(outcome.stores > 1000 && outcome.hits > 1000, "there was no load");
    assert_eq!(outcome.refused, 0);
}
