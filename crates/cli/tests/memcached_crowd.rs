//! `dolium memcached` with everybody at its door: 10,000 idle and 1,000 active connections, slow
//! readers, unfinished requests, resets and a flood of datagrams at once. Its memory is bounded,
//! well-behaved clients get every byte, the limit of connections holds, and when the crowd has gone
//! nothing of it is left. What it does to latency is measured by `dolium lab crowd`; here no time is
//! looked at.
//!
//! `DOLIUM_TEST_LOAD_SECONDS` says for how long all are there together (4).

mod cached;
#[path = "../../server/tests/load/mod.rs"]
mod load;

use cached::Cached;
use dolium_lab::crowd::alone::Alone;
use dolium_lab::crowd::{ACTIVE, Crowd, HALF_OPEN, IDLE, KINDS, SLOW, raise_descriptors};
use load::administrator::Administrator;
use load::model::Model;
use load::speech::ALL;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const MEGABYTES: u64 = 64;
/// Connections that are let in, and how many more come.
const CONNECTIONS_MAX: usize = IDLE + ACTIVE + SLOW + HALF_OPEN + 200;
const TOO_MANY: usize = 100;
/// What the process takes beside items and connections: program, threads, index, allocator.
const PROCESS: u64 = 32 << 20;
/// What a connection takes that has no input and no output: its state and its place in the registry.
const CONNECTION: u64 = 2 << 10;
/// `client-buffers-max`: what all input and output that waits may take, by the server's own promise.
const BUFFERS: u64 = 64 << 20;
const BOUND: u64 = (MEGABYTES << 20) + PROCESS + CONNECTIONS_MAX as u64 * CONNECTION + BUFFERS;

#[test]
fn a_crowd_takes_neither_memory_nor_service() {
    raise_descriptors().expect("descriptors for the crowd and for the server");
    let (megabytes, most) = (MEGABYTES.to_string(), CONNECTIONS_MAX.to_string());
    let mut server = Cached::start(&["-m", &megabytes, "-c", &most, "-t", "2", "-U", "-1"]);
    let datagrams = server.datagrams.expect("a port for datagrams");
    let mut administrator = Administrator::new(server.address, 0, MEGABYTES);
    let (before, _) = server.resident();
    let crowds: Vec<Alone> = KINDS
        .iter()
        .map(|kind| Crowd::gather(*kind, server.address, datagrams).expect("a crowd"))
        .map(Alone::begin)
        .collect();
    let end = Instant::now() + load::seconds(4);
    let seed = load::seed();
    let answers: u64 = std::thread::scope(|scope| {
        let address = server.address;
        let clients = ALL.map(|speech| {
            scope.spawn(move || {
                let mut model = Model::new(address, speech, seed, speech as u64);
                while Instant::now() < end {
                    model.step();
                }
                model.answers
            })
        });
        clients.into_iter().map(|client| client.join().expect("every answer is right")).sum()
    });
    let with_crowd = administrator.number("curr_connections");
    let buffered = administrator.number("read_buf_bytes");
    let (during, _) = server.resident();
    refuse_too_many(&server, &mut administrator);
    for (kind, crowd) in KINDS.iter().zip(&crowds) {
        println!("{}: {} acts", kind.name(), crowd.acts());
    }
    drop(crowds);
    administrator.wait_for_number("curr_connections", 1);
    administrator.wait_for_number("read_buf_bytes", 0);
    let (after, peak) = server.resident();
    let mib = [before, during, after, peak].map(|bytes| bytes >> 20);
    println!("MiB before, during, after, at most: {mib:?}; buffered {buffered}; {answers} answers");
    // Of those that begin large requests and do not end them, and of slow readers, some are hung
    // up on: theirs are the largest buffers.
    assert!(with_crowd >= (IDLE + ACTIVE) as u64, "{with_crowd} connections");
    assert!(answers > 300, "the well-behaved were hardly served: {answers} answers");
    assert!(buffered <= BUFFERS, "{buffered} bytes of buffers");
    assert!(peak < BOUND, "resident memory reached {} of {} MiB", peak >> 20, BOUND >> 20);
    server.must_hold_together();
}

/// Who comes beyond the limit is refused.
fn refuse_too_many(server: &Cached, administrator: &mut Administrator) {
    let refused = administrator.number("rejected_connections");
    let there = administrator.number("curr_connections") as usize;
    let more = CONNECTIONS_MAX.saturating_sub(there) + TOO_MANY;
    let connections: Vec<TcpStream> = (0..more)
        .map(|_| TcpStream::connect(server.address).expect("a place in the queue"))
        .collect();
    let limit = Instant::now() + Duration::from_secs(30);
    while administrator.number("rejected_connections") < refused + TOO_MANY as u64 / 2 {
        assert!(Instant::now() < limit, "more connections than -c allows are let in");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(administrator.number("curr_connections") <= CONNECTIONS_MAX as u64);
    drop(connections);
}
