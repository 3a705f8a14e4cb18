//! Requests through rings that come just when the server stops looking for them, and begins to sleep.
//!
//! A server's thread looks into a ring for some microseconds behind a request, and then tells its client to ring. One
//! that came between the last look and the telling must not be left in the ring: its client would wait for ever.

mod served;

use dolium_attach::{Socket, Store, Value};
use served::Served;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 4;
const TIME: Duration = Duration::from_secs(2);
/// A request that is not answered by then has been forgotten.
const LIMIT: Duration = Duration::from_secs(10);
/// Pauses between requests: up to as long, around what the server looks and what it takes to sleep.
const PAUSE_US_MAX: u64 = 60;

/// One after the other, with pauses of changing length between them. How many.
fn ask_with_pauses(store: &Store, mut state: u64) -> i64 {
    let begun = Instant::now();
    let mut asked = 0;
    while begun.elapsed() < TIME {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let random = state >> 33;
        match random % 512 {
            // All are held, and what comes meanwhile is not to be forgotten either.
            0 => {
                let reply = store.execute(&[b"CLIENT", b"PAUSE", b"2"]).unwrap();
                assert_eq!(reply, Value::Simple(b"OK".to_vec()));
            }
            1..8 => std::thread::sleep(Duration::from_millis(2)),
            // Larger than a ring.
            8..16 => {
                let value = vec![b'v'; 200_000];
                let reply = store.execute(&[b"SET", b"large", &value]).unwrap();
                assert_eq!(reply, Value::Simple(b"OK".to_vec()));
            }
            _ => {}
        }
        assert!(matches!(store.execute(&[b"INCR", b"asked"]).unwrap(), Value::Int(_)));
        asked += 1;
        let pause = Duration::from_micros(random / 512 % PAUSE_US_MAX);
        let since = Instant::now();
        while since.elapsed() < pause {
            std::hint::spin_loop();
        }
    }
    asked
}

#[test]
fn no_request_is_left_in_a_ring_whatever_the_pause_before_it() {
    let served = Served::start(&["--threads", "1"]);
    let (asked, heard) = std::thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|number| {
            let store = served.attach().with_time_limit(Some(LIMIT));
            scope.spawn(move || ask_with_pauses(&store, number))
        });
        let clients: Vec<_> = clients.collect();
        // Who asks over a socket has turns meanwhile.
        let mut socket = Socket::unix(served.redis_path()).unwrap();
        let mut heard = 0;
        while clients.iter().any(|client| !client.is_finished()) {
            let begun = Instant::now();
            assert_eq!(socket.execute(&[b"ECHO", b"x"]).unwrap(), Value::Bulk(b"x".to_vec()));
            assert!(begun.elapsed() < LIMIT);
            heard += 1;
            std::thread::sleep(Duration::from_micros(100));
        }
        (clients.into_iter().map(|client| client.join().unwrap()).sum::<i64>(), heard)
    });
    let store = served.attach();
    assert_eq!(store.get(b"asked").unwrap(), Some(asked.to_string().into_bytes()));
    assert!(asked > 1_000 && heard > 100, "{asked} requests through rings, {heard} over a socket");
}
