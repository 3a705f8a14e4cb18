//! What statistics, dumps and watchers tell of what Memcached's clients do.

mod memcache_harness;

use dolium_commands::memcache::events::stream;
use dolium_commands::memcache::{Count, Totals};
use dolium_engine::{Db, Put, Value};
use memcache_harness::Connection;

fn redis_sets(c: &Connection, key: &[u8]) {
    let key = c.engine.key(key);
    let mut guard = c.session.write(Db(0), &key, c.now);
    guard.put(Db(0), &key, &Put::plain(Value::Bytes(b"x"))).expect("there is room");
}

/// The counts that Memcached 1.6.18 has after the same requests.
#[test]
fn a_new_time_to_live_is_a_touch_and_no_get() {
    let mut c = Connection::new();
    c.expect("set a 0 0 1\r\nx\r\nmg a T30\r\nmg none T30\r\n", "STORED\r\nHD\r\nEN\r\n");
    c.expect("mg new N30 T60\r\nmg made N30\r\n", "HD W\r\nHD W\r\n");
    c.expect("mg a v\r\n", "VA 1\r\nx\r\n");
    let mut totals = Totals::default();
    totals.add(&c.tally);
    for (count, expected) in [
        (Count::Touch, 2),
        (Count::TouchHit, 2),
        (Count::TouchMiss, 0),
        (Count::Get, 3),
        (Count::GetHit, 2),
        (Count::GetMiss, 1),
    ] {
        assert_eq!(totals.of(count), expected, "{count:?}");
    }
}

/// `la=0` is 1970: programs that read dumps took such items for the oldest.
#[test]
fn a_dump_never_says_that_an_item_was_last_used_in_1970() {
    let mut c = Connection::new();
    redis_sets(&c, b"a");
    c.expect("lru_crawler metadump all\r\n", "");
    let mut dump = c.client.dump.take().expect("a dump under way");
    let mut out = Vec::new();
    assert!(dump.step(&c.server.settings, &c.session, Db(0), c.now, &mut out), "one piece");
    let told = String::from_utf8(out).expect("text");
    assert!(told.starts_with("key=a exp=-1 la=1700000000 "), "{told}");
}

/// A key of Redis could end its line and begin another, which looked like an item or the end.
#[test]
fn keys_that_are_no_words_are_not_in_the_cachedump() {
    let mut c = Connection::new();
    for key in [&b"a b"[..], b"a\r\nITEM b [1 b; 0 s]\r\nEND", b"a\x7f", b"a\0", b"", b"word\xff"] {
        redis_sets(&c, key);
    }
    let told = c.send(b"stats cachedump 1 0\r\n");
    assert_eq!(told.escape_ascii().to_string(), r"ITEM word\xff [1 b; 0 s]\r\nEND\r\n");
}

#[test]
fn watchers_of_mutations_are_told_of_what_is_too_large() {
    let mut c = Connection::new();
    c.server.watching.set(stream::MUTATIONS);
    let value = "x".repeat((1 << 20) + 1);
    let len = value.len();
    let refusal = "SERVER_ERROR object too large for cache\r\n";
    c.expect(&format!("set big 0 0 {len}\r\n{value}\r\n"), refusal);
    c.expect(&format!("ms Zm9v {len} b\r\n{value}\r\n"), refusal);
    let told = |key: &str| {
        format!("type=item_store key={key} status=too_large cmd=set ttl=0 clsid=0 cfd=7 size=0")
    };
    assert_eq!(c.server.told.take(), [told("big"), told("foo")]);
}

#[test]
fn watchers_of_mutations_are_told_of_counters_that_are_made() {
    let mut c = Connection::new();
    c.server.watching.set(stream::MUTATIONS);
    c.expect("ma n\r\nma n N30 J13 v\r\nma n v\r\n", "NF\r\nVA 2\r\n13\r\nVA 2\r\n14\r\n");
    let made = "type=item_store key=n status=stored cmd=add ttl=0 clsid=1 cfd=7 size=2";
    assert_eq!(c.server.told.take(), [made]);
}

/// The counts that Memcached 1.6.18 has after the same requests.
#[test]
fn what_is_made_by_counting_is_an_item_and_no_miss() {
    let mut c = Connection::new();
    c.expect("ma n N0\r\nma none\r\nma none MD\r\nma d N0 MD\r\n", "HD\r\nNF\r\nNF\r\nHD\r\n");
    c.expect("mg v N30\r\nset x 0 0 1\r\n9\r\nincr x 1\r\n", "HD W\r\nSTORED\r\n10\r\n");
    let mut totals = Totals::default();
    totals.add(&c.tally);
    for (count, expected) in
        [(Count::IncrMiss, 1), (Count::DecrMiss, 1), (Count::Made, 4), (Count::Set, 1)]
    {
        assert_eq!(totals.of(count), expected, "{count:?}");
    }
}

#[test]
fn details_know_the_commands_of_old_alone() {
    let mut c = Connection::new();
    c.expect(
        "stats detail on\r\nms p:1 1\r\nv\r\nmg p:1 v\r\nmg p:2 v\r\nmd p:1\r\n",
        "OK\r\nHD\r\nVA 1\r\nv\r\nEN\r\nHD\r\n",
    );
    c.expect(
        "set p:2 0 0 1\r\nv\r\nstats detail dump\r\n",
        "STORED\r\nPREFIX p get 0 hit 0 set 1 del 0\r\nEND\r\n",
    );
}

/// Memcached sends at once what a retrieval or `mn` answers, and holds the rest.
#[test]
fn a_watcher_may_have_asked_for_items_before() {
    let mut c = Connection::new();
    c.expect("set k 0 0 1\r\nv\r\nget none\r\nwatch\r\n", "STORED\r\nEND\r\nOK\r\n");
    c.expect("mn\r\nwatch\r\n", "MN\r\nOK\r\n");
    c.expect("gat 0 none\r\nlru_crawler metadump all\r\n", "END\r\n");
    assert!(c.client.dump.take().is_some());
    let refusal = "ERROR cannot pipeline other commands before watch\r\n";
    c.expect("mn\r\nmg none\r\nwatch\r\n", &format!("MN\r\nEN\r\n{refusal}"));
    c.expect("get none\r\nversion\r\nwatch\r\n", &format!("END\r\nVERSION 1.6.18\r\n{refusal}"));
    // As many bytes as went out before are others.
    c.expect("mn\r\n", "MN\r\n");
    c.expect("verbosity 0\r\nwatch\r\n", &format!("OK\r\n{refusal}"));
}

#[test]
fn an_item_that_is_over_at_once_has_had_a_number() {
    let mut c = Connection::new();
    let told = c.send(b"ms o 1 T-1 c\r\nv\r\nmg o\r\n").escape_ascii().to_string();
    assert!(told.starts_with("HD c") && !told.starts_with("HD c0"), "{told}");
    assert!(told.ends_with("\\r\\nEN\\r\\n"), "{told}");
}

#[test]
fn a_flush_at_a_time_that_is_past_keeps_everything() {
    let mut c = Connection::new();
    c.expect(
        "set q 0 0 1\r\nv\r\nflush_all 100000000\r\nget q\r\n",
        "STORED\r\nOK\r\nVALUE q 0 1\r\nv\r\nEND\r\n",
    );
    assert_eq!(c.server.flush_at.take(), Some(None), "none is awaited any more");
    c.expect("flush_all -1\r\nget q\r\n", "OK\r\nEND\r\n");
}
