//! Nanoseconds per request of each parser, fed as a pipeline of 50 that lies in the cache.
//!
//! `cargo run --release -p dolium-protocol --example parse_speed`

use dolium_protocol::{Parse, http, memcache, resp};
use std::hint::black_box;
use std::time::{Duration, Instant};

const PIPELINE: usize = 50;
const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(40);

fn main() {
    let value = "v".repeat(100);
    let resp_request = |words: &[&str]| {
        let mut out = Vec::new();
        let mut writer = resp::RespWriter::new(&mut out, resp::Version::V2);
        writer.array(words.len());
        words.iter().for_each(|word| writer.bulk(word.as_bytes()));
        out
    };
    let key = |number: usize| format!("memtier-{number:08}");
    report("RESP GET, 16-byte key", pipeline(|n| resp_request(&["GET", &key(n)])), resp_all);
    report(
        "RESP GET, 90-byte key",
        pipeline(|n| resp_request(&["GET", &format!("{n:090}")])),
        resp_all,
    );
    report(
        "RESP GET, key of 1 to 50 bytes",
        pipeline(|n| resp_request(&["GET", &"k".repeat(n * 17 % 50 + 1)])),
        resp_all,
    );
    report(
        "RESP SET, 100-byte value",
        pipeline(|n| resp_request(&["SET", &key(n), &value])),
        resp_all,
    );
    report(
        "RESP SET EX",
        pipeline(|n| resp_request(&["SET", &key(n), &value, "EX", "60"])),
        resp_all,
    );
    report(
        "RESP SET, 16 KiB value",
        pipeline(|n| resp_request(&["SET", &key(n), &"v".repeat(16384)])),
        resp_all,
    );
    report("RESP inline GET", pipeline(|n| format!("GET {}\r\n", key(n)).into_bytes()), resp_all);
    report("Memcached get", pipeline(|n| format!("get {}\r\n", key(n)).into_bytes()), memcache_all);
    report(
        "Memcached set, 100 bytes",
        pipeline(|n| format!("set {} 0 0 100\r\n{value}\r\n", key(n)).into_bytes()),
        memcache_all,
    );
    report(
        "Memcached mg v",
        pipeline(|n| format!("mg {} v\r\n", key(n)).into_bytes()),
        memcache_all,
    );
    report(
        "Memcached ms, 100 bytes",
        pipeline(|n| format!("ms {} 100 T0\r\n{value}\r\n", key(n)).into_bytes()),
        memcache_all,
    );
    report(
        "HTTP GET",
        pipeline(|n| {
            format!("GET /keys/{} HTTP/1.1\r\nHost: localhost:8379\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n", key(n)).into_bytes()
        }),
        http_all,
    );
    let mut out = Vec::with_capacity(1 << 16);
    let bytes = value.as_bytes();
    time("RESP bulk reply of 100 bytes", move || {
        out.clear();
        for _ in 0..PIPELINE {
            resp::RespWriter::new(&mut out, resp::Version::V2).bulk(black_box(bytes));
        }
        black_box(&out);
    });
}

fn pipeline(request: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    (0..PIPELINE).flat_map(request).collect()
}

fn report(name: &str, input: Vec<u8>, mut parse_all: impl FnMut(&[u8])) {
    time(name, move || parse_all(black_box(&input)));
}

/// Prints the best round: others were disturbed.
fn time(name: &str, mut run: impl FnMut()) {
    let best = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            let mut runs = 0;
            while began.elapsed() < ROUND {
                (0..20).for_each(|_| run());
                runs += 20 * PIPELINE;
            }
            began.elapsed().as_secs_f64() * 1e9 / runs as f64
        })
        .fold(f64::INFINITY, f64::min);
    println!("{name:<34} {best:7.1} ns");
}

fn resp_all(input: &[u8]) {
    let limits = resp::Limits::default();
    let (mut state, mut args) = (resp::ParseState::new(), resp::ArgVec::new());
    let mut at = 0;
    while let Parse::Complete { consumed } =
        resp::parse(&input[at..], &limits, &mut state, &mut args)
    {
        black_box(args.view(&input[at..]).arg(1));
        at += consumed;
    }
    assert_eq!(at, input.len());
}

fn memcache_all(input: &[u8]) {
    let limits = memcache::Limits::default();
    let mut state = memcache::ParseState::new();
    let mut at = 0;
    while let memcache::Parsed::Complete { request, consumed } =
        memcache::parse(&input[at..], &limits, &mut state)
    {
        black_box(&request);
        at += consumed;
    }
    assert_eq!(at, input.len());
}

fn http_all(input: &[u8]) {
    let limits = http::Limits::default();
    let mut state = http::ParseState::new();
    let mut at = 0;
    while let http::Parsed::Complete { request, consumed } =
        http::parse(&input[at..], &limits, &mut state)
    {
        black_box(&request);
        at += consumed;
    }
    assert_eq!(at, input.len());
}
