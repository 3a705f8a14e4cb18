//! Two processes and one memory: a writer replaces, deletes and inserts as fast as the server lets
//! it, and attached readers accept no value that was never written, none of another key, none older
//! than one they have seen, and miss no key that is never deleted.
//!
//! `DOLIUM_TEST_TORTURE_SECONDS` says for how long (5; a release asks for 60). That this test can
//! fail is shown in the engine, by a build of the reader without its final check.

mod served;

use dolium_attach::{Socket, Store};
use served::Served;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const SECONDS: u64 = 5;
/// Keys that are replaced all the time and never deleted.
const HOT: u64 = 256;
/// Keys that come and go, so that segments split and blocks change hands.
const COLD: u64 = 1_000_000;
const PIPELINE: usize = 64;
const HEAD: usize = 24;

/// Key, sequence and a checksum over them and the filling: `key | seq | sum | filling`.
fn image(key: u64, seq: u64, out: &mut Vec<u8>) {
    out.clear();
    // Mostly small; at times beyond a page, and once in a while a long copy.
    let len = match seq % 97 {
        // Many of these are to fit, so that segments split.
        n if key >= HOT => n as usize,
        0 => 9_000,
        1..=3 => 1_500,
        n => n as usize * 3,
    };
    out.extend_from_slice(&key.to_le_bytes());
    out.extend_from_slice(&seq.to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    let mut state = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seq;
    for _ in 0..len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        out.push((state >> 56) as u8);
    }
    let sum = sum(out);
    out[16..HEAD].copy_from_slice(&sum.to_le_bytes());
}

fn sum(image: &[u8]) -> u64 {
    let mut sum = 0xCBF2_9CE4_8422_2325u64 ^ image.len() as u64;
    for (n, byte) in image.iter().enumerate() {
        if !(16..HEAD).contains(&n) {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
        }
    }
    sum
}

fn word(image: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(image[at..at + 8].try_into().unwrap())
}

fn name(key: u64) -> String {
    format!("torture:{key}")
}

#[test]
fn readers_accept_nothing_torn_stale_or_lost() {
    let seconds = std::env::var("DOLIUM_TEST_TORTURE_SECONDS").ok().and_then(|n| n.parse().ok());
    let served = Served::start(&["--maxmemory", "1gb"]);
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["child_that_writes", "--exact", "--ignored", "--nocapture"])
        .env("DOLIUM_TEST_REDIS", served.redis_path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Its first sign of life: all hot keys are there.
    let mut out = writer.stdout.take().unwrap();
    let mut said = Vec::new();
    while !said.windows(5).any(|w| w == b"READY") {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).unwrap(), 1, "the writer ended early");
        said.extend_from_slice(&byte);
    }
    let store = served.attach();
    let before = store.counters().engine;
    let (stop, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| read_singly(&store, &stop, &reads));
        scope.spawn(|| read_in_batches(&store, &stop, &reads));
        std::thread::sleep(Duration::from_secs(seconds.unwrap_or(SECONDS)));
        stop.store(true, Relaxed);
    });
    writer.kill().unwrap();
    writer.wait().unwrap();
    let after = store.counters().engine;
    let (changes, splits) = (after.changes - before.changes, after.splits - before.splits);
    println!("{} reads beside {changes} changes and {splits} splits", reads.load(Relaxed));
    assert!(changes > 1_000 && reads.load(Relaxed) > 10_000, "there was no torture");
    let checked = served.dolium(&["check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

/// What one reader has seen: the newest sequence of each key.
struct Seen(Vec<u64>);

impl Seen {
    fn accept(&mut self, key: u64, image: Option<&[u8]>) {
        let Some(image) = image else {
            assert!(key >= HOT, "key {key} is never deleted, and was not found");
            return;
        };
        assert!(image.len() >= HEAD, "a piece of a value");
        assert_eq!(word(image, 16), sum(image), "torn: bytes of two values");
        assert_eq!(word(image, 0), key, "the value of another key");
        let seq = word(image, 8);
        let last = &mut self.0[key as usize];
        assert!(seq >= *last, "stale: {seq} after {last}");
        *last = seq;
    }
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Three in four of the hot keys.
fn choose(seed: &mut u64) -> u64 {
    match random(seed) % 4 {
        0 => HOT + random(seed) % COLD,
        _ => random(seed) % HOT,
    }
}

fn read_singly(store: &Store, stop: &AtomicBool, reads: &AtomicU64) {
    let mut seen = Seen(vec![0; (HOT + COLD) as usize]);
    let (mut seed, mut value) = (77, Vec::new());
    while !stop.load(Relaxed) {
        let key = choose(&mut seed);
        value.clear();
        let is_there = store.get_into(name(key).as_bytes(), &mut value).unwrap();
        seen.accept(key, is_there.then_some(&value));
        reads.fetch_add(1, Relaxed);
    }
}

fn read_in_batches(store: &Store, stop: &AtomicBool, reads: &AtomicU64) {
    let mut seen = Seen(vec![0; (HOT + COLD) as usize]);
    let mut seed = 99;
    while !stop.load(Relaxed) {
        let keys: Vec<u64> = (0..64).map(|_| choose(&mut seed)).collect();
        let names: Vec<String> = keys.iter().map(|key| name(*key)).collect();
        store.get_many_with(&names, |n, value| seen.accept(keys[n], value)).unwrap();
        reads.fetch_add(64, Relaxed);
    }
}

#[test]
#[ignore = "a child of readers_accept_nothing_torn_stale_or_lost"]
fn child_that_writes() {
    let Some(path) = std::env::var_os("DOLIUM_TEST_REDIS") else { return };
    let mut socket = Socket::unix(path).unwrap();
    let (mut value, mut seed, mut seq) = (Vec::new(), 1234, 1);
    for key in 0..HOT {
        image(key, seq, &mut value);
        socket.execute(&[b"SET", name(key).as_bytes(), &value]).unwrap();
    }
    println!("READY");
    loop {
        for _ in 0..PIPELINE {
            seq += 1;
            let key = choose(&mut seed);
            if key >= HOT && random(&mut seed).is_multiple_of(3) {
                socket.queue(&[b"DEL", name(key).as_bytes()]);
            } else {
                image(key, seq, &mut value);
                socket.queue(&[b"SET", name(key).as_bytes(), &value]);
            }
        }
        socket.flush().unwrap();
        for _ in 0..PIPELINE {
            let reply = socket.reply().unwrap();
            assert!(reply.as_error().is_none(), "{reply:?}");
        }
    }
}
