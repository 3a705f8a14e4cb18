//! A client of the ring that waits for an element of a list. A test of its own process: it measures the
//! server's thread.

#[allow(dead_code)]
mod door;
mod raw_ring;

use dolium_engine::ring::{RingEnd, RingPlan};
use raw_ring::{attach, house};
use std::io::Write;
use std::time::{Duration, Instant};

/// What it sent behind its request to wait stood in the ring, where nothing reads ahead; the thread
/// looked at it round after round, and had a core to itself until the element came.
#[test]
fn what_stands_in_the_ring_of_who_waits_keeps_nobody_busy() {
    let (house, path) = house("waits");
    let (mut socket, memory) = attach(&path);
    let mut end = RingEnd::client(memory, &RingPlan::STANDARD);
    let mut say = |end: &mut RingEnd<_>, words: &[u8]| {
        assert_eq!(end.send(words).unwrap(), words.len());
        let _ = end.bell_needed();
        // Also where the server needs none: each must be heard.
        socket.write_all(&[1]).unwrap();
    };
    say(&mut end, b"BLPOP k 0\r\n");
    std::thread::sleep(Duration::from_millis(50));
    say(&mut end, b"ECHO behind\r\n");
    say(&mut end, b"ECHO further\r\n");
    std::thread::sleep(Duration::from_millis(50));
    let before = door::cpu_of("dolium-0");
    std::thread::sleep(Duration::from_millis(500));
    // A thread that goes round and round takes all of the half second.
    assert!(door::cpu_of("dolium-0") - before <= 20, "hundredths of a second");

    house.client().ask("RPUSH k v\r\n", ":1\r\n");
    let expected = b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n$6\r\nbehind\r\n$7\r\nfurther\r\n";
    let mut replies = Vec::new();
    let since = Instant::now();
    while replies.len() < expected.len() {
        assert!(since.elapsed() < Duration::from_secs(20), "{}", replies.escape_ascii());
        end.receive(&mut replies, usize::MAX).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(replies.escape_ascii().to_string(), expected.escape_ascii().to_string());
}
