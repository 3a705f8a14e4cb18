//! The ring under loom: every order of its accesses that the memory model allows.
//!
//! The ring's own sources are compiled here once more, over loom's atomics; the engine's other
//! parts stay as they are, so `cargo test` needs no flags for this.
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
        pub use loom::sync::atomic::{AtomicU64, Ordering, fence};
    }
}

use loom::sync::atomic::AtomicU64;
use loom::sync::{Condvar, Mutex};
use loom::thread;

fn every_order(body: impl Fn() + Send + Sync + 'static) {
    loom::model(body);
}

fn some_orders(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(body);
}
