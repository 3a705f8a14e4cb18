//! A meta command that finds no memory has changed nothing.
//!
//! An item is one block, and one with a time to live is larger than one without. Memory can end between
//! the two: a command that first stored an item and then gave it its time left one that never expires.

mod memcache_harness;

use dolium_engine::{Db, Put, Value};
use memcache_harness::Connection;

const NO_ROOM: &str = "SERVER_ERROR out of memory storing object\r\n";
const NO_ROOM_TO_COUNT: &str = "SERVER_ERROR out of memory\r\n";

/// Memory that ends: there is no page left for blocks of a size that none was stored of.
fn fill(c: &Connection) {
    for (round, len) in [30_000, 3_000, 30_000, 3_000].into_iter().enumerate() {
        let value = vec![b'x'; len];
        // What compaction can gain is filled, too.
        let _ = c.session.make_room(len, c.now);
        for number in 0.. {
            let name = format!("fill {round} {number}");
            let key = c.engine.key(name.as_bytes());
            let put = Put::plain(Value::Bytes(&value));
            if c.session.write(Db(0), &key, c.now).put(Db(0), &key, &put).is_err() {
                break;
            }
        }
    }
}

fn with_little_memory() -> Connection {
    let c = Connection::new();
    c.engine.set_max_memory(16 << 20);
    c
}

#[test]
fn a_new_item_comes_with_its_time_or_not_at_all() {
    let mut c = with_little_memory();
    // The smallest block is taken, and the rest of its page stays free for others as small.
    c.expect("set small 0 0 1\r\nx\r\n", "STORED\r\n");
    fill(&c);
    let mut refused = 0;
    for number in 0..20_000 {
        let made = c.send(format!("mg k{number} N30 t\r\n").as_bytes());
        if made == b"HD t30 W\r\n" {
            c.expect(&format!("mg k{number} t\r\n"), "HD t30 Z\r\n");
        } else {
            assert_eq!(made, NO_ROOM.as_bytes());
            c.expect(&format!("mg k{number} t\r\n"), "EN\r\n");
            refused += 1;
        }
        let made = c.send(format!("ma c{number} N30 J5 t\r\n").as_bytes());
        if made == b"HD t30\r\n" {
            c.expect(&format!("mg c{number} t v\r\n"), "VA 1 t30\r\n5\r\n");
        } else {
            assert_eq!(made, NO_ROOM_TO_COUNT.as_bytes());
            c.expect(&format!("mg c{number} t v\r\n"), "EN\r\n");
            refused += 1;
        }
        if refused >= 10 {
            break;
        }
    }
    assert!(refused > 0, "memory did not end");
}

#[test]
fn what_is_there_stays_as_it_was() {
    let mut c = with_little_memory();
    c.expect("set n 0 0 1\r\n7\r\n", "STORED\r\n");
    c.expect("ms stale 1\r\nx\r\nmd stale I\r\n", "HD\r\nHD\r\n");
    c.expect("ms fresh 1\r\nx\r\n", "HD\r\n");
    fill(&c);
    // Nobody has won the right to renew it by a request that was refused.
    c.expect("mg stale T30\r\n", NO_ROOM);
    c.expect("mg stale t\r\n", "HD t-1 X W\r\n");
    c.expect("ma n T30\r\n", NO_ROOM_TO_COUNT);
    c.expect("mg n t v\r\n", "VA 1 t-1\r\n7\r\n");
    c.expect("md fresh I T30\r\n", NO_ROOM);
    c.expect("mg fresh t\r\n", "HD t-1\r\n");
}

/// The item's deadline is stored with it, but the reply still tells of it flag by flag.
#[test]
fn with_room_both_come_together() {
    let mut c = Connection::new();
    c.expect("mg a t N30\r\nmg a t\r\n", "HD t-1 W\r\nHD t30 Z\r\n");
    c.expect("mg b N30 T60 t\r\nmg b t\r\n", "HD t60 W\r\nHD t60 Z\r\n");
    c.expect("mg c T60 N30 t\r\nmg c t\r\n", "HD t30 W\r\nHD t30 Z\r\n");
    c.expect("mg d N-1 t\r\nmg d\r\n", "HD t0 W\r\nEN\r\n");
    c.expect("ma e t N30\r\nma e t\r\n", "HD t-1\r\nHD t30\r\n");
    c.expect("ma e t T60 v\r\nma e t v\r\n", "VA 1 t30\r\n2\r\nVA 1 t60\r\n3\r\n");
    c.expect("ma e T-1 v\r\nma e\r\n", "VA 1\r\n4\r\nNF\r\n");
    c.expect("ma f N-1 J9 v\r\nma f\r\n", "VA 1\r\n9\r\nNF\r\n");
}
