//! Whether the lab itself can be trusted: its generator beside others, its latencies beside those
//! of the packets, its verdicts where the truth is known.
//!
//! ```text
//! generators.rs   CPU an operation beside redis-benchmark and memtier_benchmark, and whether one
//!                 core of it fills a server
//! latency.rs      percentiles beside those of the packets on the loopback interface
//! capture.rs      the packets: tcpdump's file, requests matched with replies
//! verdicts.rs     a server against itself, and against itself slowed by a known share
//! ```

mod capture;
pub mod generators;
pub mod latency;
pub mod verdicts;

use crate::LabError;
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Distribution, Mix, Operation, Protocol, Sizes, Workload};

/// Keys as redis-benchmark writes them, `key:` and twelve digits, so that all ask for the same.
const KEY_BYTES: usize = 16;
const VALUE_BYTES: usize = 100;
const KEYS: u32 = 100_000;
const CONNECTIONS: usize = 50;

/// Starts a store that is asked for keys of one size.
fn start(
    store: Store,
    around: &Surroundings,
    settings: &[(String, String)],
) -> Result<Running, LabError> {
    let role = Role {
        store,
        operation: Operation::Get,
        key_bytes: KEY_BYTES,
        value_bytes: VALUE_BYTES,
        settings: settings.to_vec(),
    };
    Running::start(role, around)
}

/// What all comparisons ask for.
fn workload(protocol: Protocol, operation: Operation) -> Workload {
    Workload {
        protocol,
        mix: if operation == Operation::Set { Mix::Set } else { Mix::Get },
        keys: KEYS,
        key_bytes: Sizes::Constant(KEY_BYTES),
        value_bytes: Sizes::Constant(VALUE_BYTES),
        distribution: Distribution::Uniform,
        ttl: 0,
        seed: 1,
    }
}
