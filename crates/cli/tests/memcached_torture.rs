//! `dolium memcached` under requests that are none, item sizes that drift, and administration
//! without rest, while well-behaved connections look at every byte of theirs.
//!
//! `DOLIUM_TEST_LOAD_SECONDS` says for how long (8), `DOLIUM_TEST_SEED` what chance begins with; the
//! seed of each run is printed.

mod cached;
#[path = "../../server/tests/load/mod.rs"]
mod load;

use cached::Cached;
use load::administrator::Administrator;
use load::torture::torment;

const MEGABYTES: u64 = 64;
/// What the process takes beside its items: program, threads, index, allocator.
const PROCESS: u64 = 32 << 20;
/// `client-buffers-max`: what all input and output that waits may take, by the server's own promise.
const BUFFERS: u64 = 64 << 20;

#[test]
fn it_goes_on_and_gives_no_wrong_byte() {
    let mut server = Cached::start(&["-m", &MEGABYTES.to_string(), "-t", "2", "-c", "200"]);
    let outcome = torment(server.address, MEGABYTES, load::seconds(8), load::seed());
    let (now, most) = server.resident();
    println!("{outcome:?}, resident {} MiB, at most {} MiB", now >> 20, most >> 20);
    server.must_hold_together();
    assert!(outcome.visits > 50 && outcome.answers > 500 && outcome.hits > 100, "no torture");
    assert!(outcome.refused * 200 <= outcome.answers, "{} sets were refused", outcome.refused);
    assert!(most < (MEGABYTES << 20) + PROCESS + BUFFERS, "{} MiB resident", most >> 20);
    let mut administrator = Administrator::new(server.address, 0, MEGABYTES);
    administrator.wait_for_number("curr_connections", 1);
    administrator.ask("flush_all");
    administrator.wait_for_number("curr_items", 0);
    server.must_hold_together();
}
