//! Torture of a server for Memcached's clients within this process, so that the engine can be asked
//! afterwards whether every block is somebody's and every invariant holds.
//!
//! `DOLIUM_TEST_LOAD_SECONDS` says for how long (4), `DOLIUM_TEST_SEED` what chance begins with.

#[allow(dead_code)]
mod door;
mod load;

use dolium_server::listener::Door;
use dolium_server::memcached::{Place, Setup};
use door::House;
use load::content::{self, Load};
use load::torture::torment;

const MEGABYTES: u64 = 48;

fn open(megabytes: u64) -> House {
    let setup = Setup {
        hosts: vec![Place { host: "127.0.0.1".into(), port: None, is_plain: true }],
        ..Setup::default()
    };
    let memory = format!("maxmemory {}", megabytes << 20);
    House::open_for_memcached(&[&memory, "maxmemory-policy allkeys-lru", "threads 2"], setup)
}

#[test]
fn after_torture_every_block_is_somebodys() {
    let house = open(MEGABYTES);
    let address = house.running.tcp(Door::Memcached).expect("a door");
    let outcome = torment(address, MEGABYTES, load::seconds(4), load::seed());
    assert!(outcome.visits > 10 && outcome.answers > 200, "there was no torture");
    house.running.server.engine.verify().expect("every invariant holds");
}

#[test]
fn after_a_load_that_evicts_every_block_is_somebodys() {
    let house = open(24);
    let address = house.running.tcp(Door::Memcached).expect("a door");
    let (time, seed) = (load::seconds(3), load::seed());
    let load = Load { address, connections: 3, keys: 20_000, holds_all: false, time, seed };
    let outcome = content::run(&load);
    assert!(outcome.stores > 500 && outcome.hits > 200, "there was no load");
    house.running.server.engine.verify().expect("every invariant holds");
}
