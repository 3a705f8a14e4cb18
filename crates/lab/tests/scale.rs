//! The published scale against the memory that it takes: what every store is allowed, and what a machine
//! of 24 GiB without swap holds.
//!
//! The bytes for a key are those that runs of the lab found, rounded up: 1 184 for 16 + 1 000 in
//! Memcached, 1 166 in Redis, 1 140 in Dolium; 102 for 10 + 10.

use dolium_lab::experiment::{Experiment, Kind, Length, catalogue};
use dolium_lab::limits::{POOL_MAX_BYTES, STORE_MIB};

/// What a machine of 24 GiB leaves to the stores and the lab.
const MACHINE: f64 = 23.0 * 1024.0 * 1024.0 * 1024.0;
/// Around a key and a value, and for each byte of them.
const AROUND: f64 = 80.0;
const EACH: f64 = 1.1;
/// A child that saves half of the keys, all of whose pages are copied meanwhile.
const SAVING_HALF: f64 = 1.5;
const SAVING_ALL: f64 = 2.0;
/// The most wasteful of the encodings, for each byte of its elements (published: 7.5).
const ENCODING: f64 = 8.0;

fn bytes_per_key(one: &Experiment) -> f64 {
    let sizes = one.workload.key.sizes().mean() + one.workload.value.sizes().mean();
    EACH * sizes + AROUND
}

/// Bytes that the largest store of an experiment takes at any time.
fn store_bytes(one: &Experiment) -> f64 {
    let of_keys = |one: &Experiment| f64::from(one.workload.keys) * bytes_per_key(one);
    match one.kind {
        Kind::Memory => {
            let is_plain = one.record.iter().all(|record| record.encoding.is_empty());
            let each = if is_plain { EACH + AROUND / 1_000.0 } else { ENCODING };
            one.record.iter().map(|record| record.bytes() * each).fold(0.0, f64::max)
        }
        Kind::Load | Kind::Program => {
            let combinations = one.combinations().unwrap();
            let of = |mut at: Experiment, workload| {
                at.workload = workload;
                of_keys(&at)
            };
            combinations.into_iter().map(|at| of(one.clone(), at.workload)).fold(0.0, f64::max)
        }
        _ => of_keys(one),
    }
}

fn all() -> Vec<Experiment> {
    let all = catalogue::all().unwrap();
    let is_data = |one: &Experiment| {
        matches!(one.kind, Kind::Load | Kind::Program | Kind::Fill | Kind::Memory | Kind::Mixed)
    };
    all.iter().map(|one| one.at(Length::Full, 1.0)).filter(is_data).collect()
}

#[test]
fn every_store_is_allowed_what_the_published_scale_takes() {
    for one in all() {
        let allowed = (one.load.memory_mib.unwrap_or(STORE_MIB) << 20) as f64;
        let taken = store_bytes(&one);
        assert!(taken <= allowed, "{}: {taken:.2e} of {allowed:.2e} bytes", one.name);
    }
}

/// Stores that are not all named in an experiment's bound would be unequal at its end.
#[test]
fn the_experiments_that_fill_a_memory_bound_all_stores_alike() {
    for one in all().iter().filter(|one| store_bytes(one) > 2e9) {
        let in_turns = matches!(one.kind, Kind::Load | Kind::Program);
        assert!(in_turns || one.load.memory_mib.is_some(), "{}", one.name);
    }
}

#[test]
fn the_published_scale_fits_into_a_machine_of_24_gib() {
    for one in all() {
        let (store, stores) = (store_bytes(&one), one.stores.len() as f64);
        let pool = POOL_MAX_BYTES as f64;
        let most = match one.kind {
            // One store at a time; requests are written as they are asked for.
            Kind::Fill if one.fill.iter().any(|case| case.memory_share > 0.0) => continue,
            Kind::Fill => SAVING_HALF * store,
            Kind::Memory => store,
            // Redis saves everything beside the other stores.
            Kind::Mixed => (stores - 1.0 + SAVING_ALL) * store + pool,
            _ => stores * (store + pool.min(store)),
        };
        assert!(most <= MACHINE, "{} takes {:.1} GB", one.name, most / 1e9);
    }
}

/// Beyond memory: the limit leaves room to the system, and limit and swap file together hold the store
/// and what a fork copies of it.
#[test]
fn what_exceeds_the_memory_fits_into_the_limit_and_the_swap_file() {
    // As the lab makes both: see `run/fill.rs`.
    let data = |one: &Experiment| {
        let sizes = one.workload.key.sizes().mean() + one.workload.value.sizes().mean();
        f64::from(one.workload.keys) * (sizes + 90.0)
    };
    let mut seen = 0;
    for one in all() {
        for case in one.fill.iter().filter(|case| case.memory_share > 0.0) {
            let limit = case.memory_share * data(&one);
            assert!(limit <= MACHINE / 2.0, "{} {}", one.name, case.name);
            let held = limit + data(&one);
            assert!(SAVING_HALF * store_bytes(&one) <= held, "{} {}", one.name, case.name);
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen} cases swap");
}
