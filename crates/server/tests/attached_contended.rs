//! Attached reads of keys that are being written, with others, for longer than a reader tries: the
//! server is asked, which waits for its turn.

#[allow(dead_code)]
mod door;

use dolium_attach::{Error, Kind, Store, Ttl, Value};
use door::House;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Far longer than any reader tries.
const HELD: Duration = Duration::from_secs(1);

/// A server, and a store attached to it in which the string `k` expires in 2255.
fn attached(name: &str) -> (House, Store) {
    let path = std::env::temp_dir().join(format!("dolium-{}-{name}", std::process::id()));
    let house = House::open(&[&format!("attach-socket {}", path.display())]);
    let store = Store::attach(&path).unwrap();
    store.execute(&[b"SET", b"k", b"v", b"PXAT", b"9000000000000"]).unwrap();
    (house, store)
}

/// Calls `read` in the midst of a write of several keys that goes on for a while.
fn in_a_long_write(house: &House, read: impl FnOnce()) {
    let (began, begins) = channel();
    let engine = house.running.server.engine.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let session = engine.session().unwrap();
            session.begin_transaction(None, 0);
            began.send(()).unwrap();
            std::thread::sleep(HELD);
            session.end_transaction();
        });
        begins.recv().unwrap();
        read();
    });
}

/// All but `get` failed, and said that there was no server to ask.
#[test]
fn what_is_known_of_a_key_is_asked_of_the_server_at_last() {
    let (house, store) = attached("contended");
    in_a_long_write(&house, || {
        assert!(store.exists(b"k").unwrap());
    });
    in_a_long_write(&house, || {
        assert!(matches!(store.ttl(b"k").unwrap(), Ttl::Millis(1_000_000_000_000..)));
    });
    in_a_long_write(&house, || {
        assert_eq!(store.kind(b"k").unwrap(), Some(Kind::String));
    });
    in_a_long_write(&house, || {
        assert_eq!(store.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    });
    in_a_long_write(&house, || {
        assert!(!store.exists(b"nothing").unwrap());
        assert_eq!(store.ttl(b"nothing").unwrap(), Ttl::NoKey);
        assert_eq!(store.kind(b"nothing").unwrap(), None);
    });
}

/// The question was queued: the reader got no value, and EXEC a command more than its caller had sent.
#[test]
fn a_read_puts_no_question_into_an_open_transaction() {
    let (house, store) = attached("contended-multi");
    store.execute(&[b"MULTI"]).unwrap();
    in_a_long_write(&house, || {
        assert!(matches!(store.get(b"k"), Err(Error::Contended)));
    });
    assert_eq!(store.execute(&[b"EXEC"]).unwrap(), Value::Array(Vec::new()));
    assert_eq!(store.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
}
