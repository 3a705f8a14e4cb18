//! A `maxmemory` of a megabyte is little, and enough to go on: what is old goes for what is new.

#[allow(dead_code)]
mod door;

use door::House;

/// Each of 256 shards kept a segment of the index when its items had gone: after a few hundred keys there was no memory
/// but these segments', each write took half a second and was refused, and so it was after FLUSHALL.
#[test]
fn a_cache_of_a_megabyte_goes_on_taking_what_comes() {
    for len in [10, 1000, 16_000] {
        let house = House::open(&["maxmemory 1mb", "maxmemory-policy allkeys-lru", "threads 2"]);
        let mut client = house.client();
        let value = "v".repeat(len);
        let set = |n: usize| format!("SET key:{n} {value}\r\n");
        for n in 0..4000 {
            client.ask(&set(n), "+OK\r\n");
        }
        client.ask("FLUSHALL\r\n", "+OK\r\n");
        client.ask(&set(0), "+OK\r\n");
    }
}
