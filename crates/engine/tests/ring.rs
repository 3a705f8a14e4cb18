//! The ring between two threads over its real memory file, and against a hostile peer.
#![cfg(not(miri))]

use dolium_engine::ring::{REPLY_BYTES, REQUEST_BYTES, has_several_cores};
use dolium_engine::ring::{RingEnd, RingMemory, RingPlan, RingWords};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn ends() -> (RingEnd<Arc<RingMemory>>, RingEnd<Arc<RingMemory>>, Arc<RingMemory>) {
    let (server, fd) = RingMemory::create().unwrap();
    let client = Arc::new(RingMemory::open(fd).unwrap());
    let plan = RingPlan::STANDARD;
    let server = RingEnd::server(Arc::new(server), &plan);
    (RingEnd::client(client.clone(), &plan), server, client)
}

/// Bytes that differ at every place, so that a shifted or repeated piece shows.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

#[test]
fn a_megabyte_streams_through_both_mappings() {
    let (mut client, mut server, _) = ends();
    let sent = pattern(1 << 20);
    let expected = sent.clone();
    let sender = std::thread::spawn(move || {
        let mut at = 0;
        // Sizes of all residues, so that every alignment of a piece in a word occurs.
        let mut step = 1;
        while at < sent.len() {
            let end = (at + step).min(sent.len());
            at += client.send(&sent[at..end]).unwrap();
            step = step % 4099 + 1;
            std::hint::spin_loop();
        }
    });
    let mut got = Vec::new();
    let mut limit = 1;
    while got.len() < expected.len() {
        server.receive(&mut got, limit).unwrap();
        limit = limit % 3001 + 7;
    }
    sender.join().unwrap();
    assert!(got == expected, "the bytes arrived changed");
}

#[test]
fn a_full_ring_takes_no_more_and_loses_nothing() {
    let (mut client, mut server, _) = ends();
    let sent = pattern(REQUEST_BYTES + 1);
    assert_eq!(client.send(&sent).unwrap(), REQUEST_BYTES);
    assert_eq!(client.send(&sent).unwrap(), 0);
    assert!(client.prepare_sleep(true).unwrap(), "nothing to do: it may sleep");
    let mut got = Vec::new();
    assert_eq!(server.receive(&mut got, usize::MAX).unwrap(), REQUEST_BYTES);
    assert!(server.bell_needed(), "the client sleeps for space");
    assert!(!server.bell_needed(), "one bell is enough");
    assert_eq!(client.send(&sent[REQUEST_BYTES..]).unwrap(), 1);
    server.receive(&mut got, usize::MAX).unwrap();
    assert!(got == sent);
}

#[test]
fn nobody_rings_for_one_who_is_awake_or_waits_for_something_else() {
    let (mut client, mut server, _) = ends();
    client.send(b"one").unwrap();
    assert!(!client.bell_needed(), "the server is awake");
    assert!(!server.prepare_sleep(false).unwrap(), "there is data: no sleep");
    let mut got = Vec::new();
    server.receive(&mut got, usize::MAX).unwrap();
    assert!(server.prepare_sleep(false).unwrap());
    server.awake();
    server.send(b"reply").unwrap();
    assert!(server.prepare_sleep(false).unwrap());
    client.receive(&mut got, usize::MAX).unwrap();
    assert!(!client.bell_needed(), "space was made, but the server sleeps for data");
    client.send(b"two").unwrap();
    assert!(client.bell_needed());
}

#[test]
fn impossible_positions_are_a_fault_and_never_a_wild_access() {
    let mut seed = 0x1234_5678_9ABC_DEFFu64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let (mut faults, mut garbage) = (0, 0);
    for _ in 0..2_000 {
        let (_client, mut server, raw) = ends();
        for _ in 0..20 {
            let index = match random() % 4 {
                0 => random() as usize % 64,
                _ => random() as usize % 8 * 8,
            };
            let value = match random() % 3 {
                0 => random(),
                1 => random() % (2 * REPLY_BYTES as u64),
                _ => u64::MAX - random() % 16,
            };
            raw.word(index).store(value, Ordering::Relaxed);
            let mut got = Vec::new();
            let outcome = server
                .receive(&mut got, usize::MAX)
                .and_then(|_| server.send(b"+OK\r\n"))
                .and_then(|_| server.prepare_sleep(true));
            assert!(got.len() <= REQUEST_BYTES);
            garbage += usize::from(!got.is_empty());
            if outcome.is_err() {
                faults += 1;
                break;
            }
        }
    }
    assert!(faults > 100 && garbage > 10, "the attack must have reached something");
}

#[test]
fn a_wrong_file_is_refused_with_a_sentence() {
    let fd = rustix::fs::memfd_create("not-a-ring", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    assert!(RingMemory::open(fd).unwrap_err().to_string().contains("size"));
    let bytes = (RingPlan::STANDARD.words() * 8) as u64;
    let fd = rustix::fs::memfd_create("not-a-ring", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&fd, bytes).unwrap();
    assert!(RingMemory::open(fd).unwrap_err().to_string().contains("layout"));
}

/// A server and its client that were kept on a core each never looked for one another: each took the core that it was
/// kept on for the machine's only one.
#[test]
fn who_is_kept_on_one_core_still_knows_of_the_others() {
    let has_several = has_several_cores();
    let kept = std::thread::spawn(|| {
        let all = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..).find(|core| all.is_set(*core)).unwrap();
        let mut one = rustix::thread::CpuSet::new();
        one.set(first);
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        has_several_cores()
    });
    assert_eq!(kept.join().unwrap(), has_several);
}
