//! As `keys_stay.rs`, through Memcached's and the web's doors: in a full store under an evicting policy, what
//! goes by an item that is there finds it.

mod http_harness;
mod memcache_harness;

use dolium_engine::{Db, Policy, Put, Session, Value};
use http_harness::{Web, tag_of};
use memcache_harness::Connection;

const SMALL: usize = 20_000;
const LARGE: usize = 900_000;
const DB: Db = Db(0);

fn store(session: &Session, name: &str, bytes: usize, now: u64) {
    let key = session.engine().key(name.as_bytes());
    let value = vec![b'x'; bytes];
    session.make_room(bytes, now).expect("others go");
    session.write(DB, &key, now).put(DB, &key, &Put::plain(Value::Bytes(&value))).expect("room");
}

/// A full store with a large item that is not the newest.
fn fill(session: &Session, now: u64) {
    session.engine().set_policy(Policy::AllKeysLru);
    let mut number = 0;
    while session.engine().statistics().evicted == 0 {
        number += 1;
        store(session, &format!("other {number}"), SMALL, now);
    }
    store(session, "k", LARGE, now);
    (0..50).for_each(|more| store(session, &format!("more {more}"), SMALL, now));
    assert!(session.peek(DB, &session.engine().key(b"k"), now).is_some());
}

#[test]
fn a_memcached_command_finds_its_own_item() {
    // Several stores each, for it depends on where the item lies whether it is the one to go.
    for turn in 0..8 {
        for (request, reply) in [
            ("append k 0 0 2\r\nyy\r\n", "STORED"),
            ("prepend k 0 0 2\r\nyy\r\n", "STORED"),
            ("replace k 0 0 2\r\nyy\r\n", "STORED"),
            ("cas k 0 0 2 UNIQUE\r\nyy\r\n", "STORED"),
            ("add k 0 0 2\r\nyy\r\n", "NOT_STORED"),
            ("ms k 2 MA\r\nyy\r\n", "HD"),
        ] {
            let mut c = Connection::new();
            fill(&c.session, c.now);
            (0..turn).for_each(|one| store(&c.session, &format!("turn {one}"), SMALL, c.now));
            let unique = if request.contains("UNIQUE") {
                let told = String::from_utf8(c.send(b"mg k c\r\n")).expect("text");
                told.trim_end().trim_start_matches("HD c").to_owned()
            } else {
                String::new()
            };
            let request = request.replace("UNIQUE", &unique);
            c.expect(&request, &format!("{reply}\r\n"));
        }
    }
}

#[test]
fn a_conditional_put_finds_its_own_key() {
    for turn in 0..8 {
        let mut web = Web::new();
        fill(&web.session, web.now);
        (0..turn).for_each(|one| store(&web.session, &format!("turn {one}"), SMALL, web.now));
        let tag = tag_of(&web.send("HEAD /keys/k HTTP/1.1\r\nHost: x\r\n\r\n").1);
        let body = "y".repeat(LARGE);
        let (status, _, said) = web.put("/keys/k", &format!("If-Match: {tag}\r\n"), &body);
        assert_eq!(status, 204, "{said}");
    }
}
