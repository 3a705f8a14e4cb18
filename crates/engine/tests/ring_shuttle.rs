//! The ring under shuttle: random schedules of cases that are too large for loom.
//!
//! `DOLIUM_SCHEDULES` says how many of each; the bar for a release is a million.
// The checker switches stacks, which Miri does not know.
#![cfg(not(miri))]
#![allow(dead_code)]

#[path = "../src/ring/end.rs"]
mod end;
#[path = "../src/ring/lane.rs"]
mod lane;
#[path = "../src/ring/layout.rs"]
mod layout;
#[path = "ring_models/scenarios.rs"]
mod scenarios;

/// Where the ring's sources take their atomics from.
mod sync {
    pub mod atomics {
        pub use shuttle::sync::atomic::{AtomicU64, Ordering, fence};
    }
}

use layout::RingPlan;
use shuttle::sync::atomic::AtomicU64;
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

const SCHEDULES: usize = 20_000;

fn every_order(body: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("DOLIUM_SCHEDULES").ok().and_then(|n| n.parse().ok());
    shuttle::check_random(body, schedules.unwrap_or(SCHEDULES));
}

fn some_orders(body: impl Fn() + Send + Sync + 'static) {
    every_order(body);
}

/// Requests and replies that both overflow their rings: each side sleeps for data and for space.
#[test]
fn long_requests_and_replies_stream_both_ways() {
    every_order(|| {
        let (mut client, mut server) = scenarios::sides(&RingPlan::of(16, 8));
        let asker = thread::spawn(move || {
            client.send_all(b"the quick brown fox jumps");
            client.receive_all(20)
        });
        assert_eq!(server.receive_all(25), b"the quick brown fox jumps");
        server.send_all(b"over the lazy dog...");
        assert_eq!(asker.join().unwrap(), b"over the lazy dog...");
    });
}
