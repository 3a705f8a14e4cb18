//! What Memcached's commands do where Memcached has no rule: keys that Redis wrote, unique numbers,
//! time, authentication, statistics.

mod memcache_harness;

use dolium_engine::{Db, Event, Flags, Put, Value};
use memcache_harness::Connection;

fn redis_sets(connection: &Connection, key: &str, value: Value<'_>) {
    let key = connection.engine.key(key.as_bytes());
    let mut guard = connection.session.write(Db(0), &key, connection.now);
    guard.put(Db(0), &key, &Put::plain(value)).expect("there is room");
}

#[test]
fn an_integer_of_redis_is_counted_without_padding() {
    let mut c = Connection::new();
    redis_sets(&c, "n", Value::Int(10));
    c.expect("decr n 1\r\nget n\r\n", "9\r\nVALUE n 0 1\r\n9\r\nEND\r\n");
    let key = c.engine.key(b"n");
    assert_eq!(c.session.write(Db(0), &key, c.now).int(Db(0), &key), Some(9));
    redis_sets(&c, "n", Value::Int(i64::MAX));
    c.expect(
        "incr n 1\r\nget n\r\n",
        "9223372036854775808\r\nVALUE n 0 19\r\n9223372036854775808\r\nEND\r\n",
    );
    redis_sets(&c, "n", Value::Int(-1));
    c.expect("incr n 1\r\n", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
    redis_sets(&c, "n", Value::Int(5));
    c.expect("append n 0 0 1\r\n0\r\nincr n 1\r\n", "STORED\r\n51\r\n");
}

#[test]
fn every_write_changes_the_unique_number() {
    let mut c = Connection::new();
    c.expect("set k 3 0 1\r\na\r\n", "STORED\r\n");
    let unique = |c: &mut Connection| {
        let reply = String::from_utf8(c.send(b"gets k\r\n")).expect("text");
        let head = reply.lines().next().expect("a line").to_owned();
        head.split(' ').nth(4).expect("a unique number").parse::<u64>().expect("a number")
    };
    let first = unique(&mut c);
    assert_eq!(unique(&mut c), first, "reading changes nothing");
    c.expect(&format!("cas k 0 0 1 {first}\r\nb\r\n"), "STORED\r\n");
    c.expect(&format!("cas k 0 0 1 {first}\r\nc\r\n"), "EXISTS\r\n");
    let second = unique(&mut c);
    assert!(second > first);
    let now = c.now;
    redis_sets(&c, "k", Value::Bytes(b"d"));
    c.expect(&format!("cas k 0 0 1 {second}\r\ne\r\n"), "EXISTS\r\n");
    let third = unique(&mut c);
    assert!(third > second);
    c.expect("touch k 100\r\n", "TOUCHED\r\n");
    assert_eq!(unique(&mut c), third, "a time to live is no write of the value");
    c.expect(
        &format!("mg k c\r\nmd k C{second}\r\nmd k C{third}\r\n"),
        &format!("HD c{third}\r\nEX\r\nHD\r\n"),
    );
    assert_eq!(c.now, now);
}

#[test]
fn meta_set_tells_the_new_number() {
    let mut c = Connection::new();
    let reply = String::from_utf8(c.send(b"ms k 1 c\r\na\r\n")).expect("text");
    let number = reply.trim().strip_prefix("HD c").expect("a number").to_owned();
    assert_ne!(number, "0");
    c.expect("mg k c\r\n", &format!("HD c{number}\r\n"));
    c.expect(&format!("ms k 1 I C{number}9\r\nb\r\n"), "EX\r\n");
    c.expect(&format!("ms k 1 C{number}\r\nb\r\nmg k v\r\n"), "HD\r\nVA 1\r\nb\r\n");
}

#[test]
fn flags_survive_a_change_and_not_a_set_of_redis() {
    let mut c = Connection::new();
    c.expect("set k 7 100 1\r\na\r\nappend k 9 0 1\r\nb\r\n", "STORED\r\nSTORED\r\n");
    c.expect("mg k f t v\r\n", "VA 2 f7 t100\r\nab\r\n");
    let key = c.engine.key(b"k");
    let put = Put { flags: Flags::Keep, event: Event::Append, ..Put::plain(Value::Bytes(b"c")) };
    c.session.write(Db(0), &key, c.now).put(Db(0), &key, &put).expect("room");
    c.expect("mg k f\r\n", "HD f7\r\n");
    redis_sets(&c, "k", Value::Bytes(b"d"));
    c.expect("mg k f t\r\n", "HD f0 t-1\r\n");
}

#[test]
fn items_end_with_their_time() {
    let mut c = Connection::new();
    c.expect("set k 0 2 1\r\na\r\n", "STORED\r\n");
    c.now += 1_999;
    c.expect("mg k t\r\n", "HD t1\r\n");
    c.now += 1;
    c.expect("get k\r\nadd k 0 0 1\r\nb\r\n", "END\r\nSTORED\r\n");
    c.expect("gat 5 k\r\n", "VALUE k 0 1\r\nb\r\nEND\r\n");
    c.now += 5_000;
    c.expect("mg k\r\n", "EN\r\n");
}

#[test]
fn a_flush_in_time_to_come_is_left_to_the_server() {
    let mut c = Connection::new();
    c.expect(
        "set k 0 0 1\r\na\r\nflush_all 60\r\nget k\r\n",
        "STORED\r\nOK\r\nVALUE k 0 1\r\na\r\nEND\r\n",
    );
    assert_eq!(c.server.flush_at.take(), Some(Some(c.now + 60_000)));
    c.expect("flush_all\r\nget k\r\n", "OK\r\nEND\r\n");
    assert_eq!(c.server.flush_at.take(), Some(None), "a later flush replaces the awaited one");
}

/// A time that no number of milliseconds holds became one in the past, and the flush was at once.
#[test]
fn a_flush_that_never_comes_takes_nothing() {
    let mut c = Connection::new();
    c.expect("set k 0 9300000000000000 1\r\na\r\nmg k t\r\n", "STORED\r\nHD t-1\r\n");
    c.expect("flush_all 9300000000000000\r\nmg k t\r\n", "OK\r\nHD t-1\r\n");
    assert_eq!(c.server.flush_at.take(), Some(None), "an awaited one is forgotten");
}

#[test]
fn with_a_password_nothing_goes_before_it() {
    let mut c = Connection::new();
    c.client.authenticated = false;
    c.expect("get k\r\nmn\r\n", "CLIENT_ERROR unauthenticated\r\nCLIENT_ERROR unauthenticated\r\n");
    c.expect("set a 0 0 7\r\ndefault\r\n", "CLIENT_ERROR bad authentication token format\r\n");
    c.expect("set a 0 0 13\r\ndefault wrong\r\n", "CLIENT_ERROR authentication failure\r\n");
    c.expect("set a 0 0 14\r\ndefault secret\r\n", "STORED\r\n");
    c.expect("get a\r\n", "END\r\n");
}

#[test]
fn statistics_are_told() {
    let mut c = Connection::new();
    let text = String::from_utf8(c.send(b"set k 0 0 1\r\na\r\nstats\r\n")).expect("text");
    for line in
        ["STAT pid 7", "STAT version 1.6.18", "STAT rusage_user 1.500000", "STAT curr_items 1"]
    {
        assert!(text.contains(&format!("{line}\r\n")), "{line} in {text}");
    }
    assert!(text.ends_with("END\r\n"));
    let text = String::from_utf8(c.send(b"stats settings\r\n")).expect("text");
    assert!(text.starts_with("STAT maxbytes 64\r\n") && text.ends_with("END\r\n"), "{text}");
    assert!(text.contains("STAT slab_chunk_max 524288\r\n"), "{text}");
    c.expect("stats reset\r\nverbosity 2\r\n", "RESET\r\nOK\r\n");
    assert_eq!((c.server.resets.get(), c.server.verbosity.get()), (1, 2));
}

#[test]
fn quit_closes() {
    let mut c = Connection::new();
    c.expect("quit\r\nversion\r\n", "");
    assert!(c.closed);
}
