//! Attached reads of keys that are being written, where the server cannot be asked for them: they say so
//! in one way, whatever has become of the connection. Of a child that was forked, see bindings/c.

#[allow(dead_code)]
mod door;

use dolium_attach::{Error, Store};
use door::House;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn attached(name: &str) -> (House, Store) {
    let path = std::env::temp_dir().join(format!("dolium-{}-{name}", std::process::id()));
    let house = House::open(&[&format!("attach-socket {}", path.display())]);
    let store = Store::attach(&path).unwrap();
    store.execute(&[b"SET", b"k", b"v"]).unwrap();
    (house, store)
}

/// Calls `read` in the midst of a write of several keys, which goes on until it is done.
fn in_a_write(house: &House, read: impl FnOnce()) {
    let (began, begins) = channel();
    let (end, ends) = channel::<()>();
    let engine = house.running.server.engine.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let session = engine.session().unwrap();
            session.begin_transaction(None, 0);
            began.send(()).unwrap();
            // An error: the reader has failed.
            let _ = ends.recv();
            session.end_transaction();
        });
        begins.recv().unwrap();
        let end = end;
        read();
        drop(end);
    });
}

fn no_read_comes_about(store: &Store) {
    assert!(matches!(store.get(b"k"), Err(Error::Contended)));
    assert!(matches!(store.get_many(&["k"]), Err(Error::Contended)));
    assert!(matches!(store.exists(b"k"), Err(Error::Contended)));
    assert!(matches!(store.ttl(b"k"), Err(Error::Contended)));
    assert!(matches!(store.kind(b"k"), Err(Error::Contended)));
}

/// They failed with what is to be said of commands: that the connection is closed, or out of step.
#[test]
fn a_read_whose_connection_was_closed_has_lost_against_writers() {
    let (house, store) = attached("unasked-closed");
    let mut client = house.client();
    client.ask("CLIENT KILL TYPE normal\r\n", ":1\r\n");
    let begun = Instant::now();
    while store.is_served() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the server does not hang up");
        std::thread::sleep(Duration::from_millis(1));
    }
    in_a_write(&house, || no_read_comes_about(&store));
    assert_eq!(store.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert!(matches!(store.execute(&[b"PING"]), Err(Error::Closed)));
}

#[test]
fn a_read_behind_a_command_that_was_given_up_has_lost_against_writers() {
    let (house, store) = attached("unasked-step");
    let limited = store.with_time_limit(Some(Duration::from_millis(50)));
    in_a_write(&house, || {
        let late = limited.execute(&[b"SET", b"k", b"w"]);
        assert!(matches!(late, Err(Error::TimedOut)), "{late:?}");
        no_read_comes_about(&store);
    });
    assert!(store.get(b"k").unwrap().is_some());
    assert!(matches!(store.execute(&[b"PING"]), Err(Error::OutOfStep)));
}
