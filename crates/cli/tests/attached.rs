//! A program attached to a running server: what it reads, what it has executed, what it outlives.

mod served;

use dolium_attach::{Clock, Error, Kind, Store, Ttl, Value};
use served::Served;

fn ok(value: Value) {
    assert_eq!(value, Value::Simple(b"OK".to_vec()));
}

#[test]
fn what_is_written_through_the_ring_is_read_in_the_arena() {
    let served = Served::start(&[]);
    let store = served.attach();
    assert_eq!(store.server_pid(), Some(u64::from(served.child.id())));
    ok(store.execute(&[b"SET", b"greeting", b"salve"]).unwrap());
    assert_eq!(store.get(b"greeting").unwrap().as_deref(), Some(&b"salve"[..]));
    let mut out = b"> ".to_vec();
    assert!(store.get_into(b"greeting", &mut out).unwrap());
    assert!(!store.get_into(b"nothing", &mut out).unwrap());
    assert_eq!(out, b"> salve");
    assert_eq!(store.execute(&[b"INCR", b"n"]).unwrap(), Value::Int(1));
    assert_eq!(store.get(b"n").unwrap().as_deref(), Some(&b"1"[..]));
    assert!(store.exists(b"n").unwrap() && !store.exists(b"nothing").unwrap());
    assert_eq!(store.kind(b"n").unwrap(), Some(Kind::String));
    assert_eq!(store.kind(b"nothing").unwrap(), None);
    assert_eq!(store.len(), 2);
    let reply = store.execute(&[b"NOSUCH"]).unwrap();
    assert!(reply.as_error().is_some_and(|text| text.starts_with(b"ERR unknown command")));
}

#[test]
fn a_list_and_a_set_are_named_and_not_read_as_strings() {
    let served = Served::start(&[]);
    let store = served.attach();
    assert_eq!(store.execute(&[b"RPUSH", b"l", b"a"]).unwrap(), Value::Int(1));
    assert_eq!(store.execute(&[b"SADD", b"s", b"a"]).unwrap(), Value::Int(1));
    ok(store.execute(&[b"SET", b"t", b"text"]).unwrap());
    assert_eq!(store.kind(b"l").unwrap(), Some(Kind::List));
    assert_eq!(store.kind(b"s").unwrap(), Some(Kind::Set));
    assert!(matches!(store.get(b"l"), Err(Error::WrongType)));
    assert!(matches!(store.get(b"s"), Err(Error::WrongType)));
    let many = store.get_many(&["l", "t", "s", "nothing"]).unwrap();
    assert_eq!(many, [None, Some(b"text".to_vec()), None, None]);
    let mut kinds = Vec::new();
    store.scan(0, 1000, |key, found| kinds.push((key.to_vec(), found.kind.name()))).unwrap();
    kinds.sort();
    let expected = [("l", "list"), ("s", "set"), ("t", "string")];
    assert_eq!(kinds, expected.map(|(key, kind)| (key.as_bytes().to_vec(), kind)));
    // To wait in the ring would have all others of this process wait too.
    assert!(matches!(store.execute(&[b"BLPOP", b"m", b"0"]), Err(Error::NotARequest("BLPOP"))));
}

#[test]
fn a_reader_knows_by_its_own_clock_what_is_due() {
    let served = Served::start(&[]);
    let store = served.attach();
    ok(store.execute(&[b"SET", b"k", b"v", b"PXAT", b"9000000000000"]).unwrap());
    let at = |now| store.with_clock(Clock::Fixed(now));
    assert_eq!(at(8_999_999_999_000).ttl(b"k").unwrap(), Ttl::Millis(1000));
    assert!(at(8_999_999_999_999).get(b"k").unwrap().is_some());
    assert!(at(9_000_000_000_001).get(b"k").unwrap().is_none());
    assert_eq!(at(9_000_000_000_001).ttl(b"k").unwrap(), Ttl::NoKey);
    ok(store.execute(&[b"SET", b"k", b"v"]).unwrap());
    assert_eq!(store.ttl(b"k").unwrap(), Ttl::Never);
}

#[test]
fn databases_are_apart() {
    let served = Served::start(&["--databases", "4"]);
    let zero = served.attach();
    let three = zero.db(3).unwrap();
    assert!(matches!(zero.db(4), Err(Error::NoSuchDatabase { asked: 4, databases: 4 })));
    ok(zero.execute(&[b"SET", b"k", b"zero"]).unwrap());
    ok(three.execute(&[b"SET", b"k", b"three"]).unwrap());
    assert!(matches!(zero.execute(&[b"SELECT", b"2"]), Err(Error::Selects)));
    ok(zero.execute(&[b"SET", b"only", b"here"]).unwrap());
    assert_eq!(zero.get(b"k").unwrap().unwrap(), b"zero");
    assert_eq!(three.get(b"k").unwrap().unwrap(), b"three");
    assert_eq!(zero.get(b"only").unwrap().unwrap(), b"here");
    assert_eq!((zero.len(), three.len()), (2, 1));
}

#[test]
fn many_keys_are_read_in_batches_and_all_are_met_by_a_scan() {
    let served = Served::start(&[]);
    let store = served.attach();
    let keys: Vec<String> = (0..5000).map(|n| format!("key:{n}")).collect();
    for chunk in keys.chunks(500) {
        let mut words: Vec<&[u8]> = vec![b"MSET"];
        chunk.iter().for_each(|key| words.extend([key.as_bytes(), key.as_bytes()]));
        ok(store.execute(&words).unwrap());
    }
    let mut asked = keys.clone();
    asked.insert(77, "missing".into());
    let values = store.get_many(&asked).unwrap();
    for (n, (key, value)) in asked.iter().zip(&values).enumerate() {
        let expected = (n != 77).then_some(key.as_bytes());
        assert_eq!(value.as_deref(), expected);
    }
    let mut met = std::collections::HashSet::new();
    let mut cursor = 0;
    loop {
        cursor = store
            .scan(cursor, 100, |key, _| {
                met.insert(key.to_vec());
            })
            .unwrap();
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(met.len(), keys.len());
    assert!(keys.iter().all(|key| met.contains(key.as_bytes())));
}

#[test]
fn requests_and_replies_larger_than_the_ring_stream_through_it() {
    let served = Served::start(&[]);
    let store = served.attach();
    for len in [65_000, 65_536, 70_000, 5_000_000] {
        let value: Vec<u8> = (0..len).map(|n| (n * 7 % 251) as u8).collect();
        ok(store.execute(&[b"SET", b"large", &value]).unwrap());
        assert!(store.execute(&[b"GET", b"large"]).unwrap() == Value::Bulk(value.clone()));
        assert!(store.get(b"large").unwrap().unwrap() == value);
    }
    // The connection is still in step.
    assert_eq!(store.execute(&[b"PING"]).unwrap(), Value::Simple(b"PONG".to_vec()));
}

#[test]
fn reads_go_on_when_the_server_is_stopped_and_when_it_is_killed() {
    let mut served = Served::start(&[]);
    let store = served.attach();
    ok(store.execute(&[b"SET", b"greeting", b"salve"]).unwrap());
    served.stop();
    assert_eq!(store.get(b"greeting").unwrap().unwrap(), b"salve");
    served.go_on();
    assert_eq!(store.execute(&[b"PING"]).unwrap(), Value::Simple(b"PONG".to_vec()));
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    assert_eq!(store.get(b"greeting").unwrap().unwrap(), b"salve");
    assert_eq!(store.get_many(&["greeting"]).unwrap(), [Some(b"salve".to_vec())]);
    assert!(matches!(store.execute(&[b"PING"]), Err(Error::ServerGone)));
    assert!(matches!(store.execute(&[b"PING"]), Err(Error::ServerGone)));
    assert!(matches!(Store::attach(served.attach_path()), Err(Error::Connect { .. })));
}

#[test]
fn counters_and_latencies_are_read_without_asking() {
    let served = Served::start(&[]);
    let store = served.attach();
    for n in 0..200u32 {
        ok(store.execute(&[b"SET", &n.to_le_bytes(), b"v"]).unwrap());
        store.execute(&[b"GET", &n.to_le_bytes()]).unwrap();
    }
    let counters = store.counters();
    assert!(counters.engine.changes >= 200 && counters.engine.hits >= 200, "{counters:?}");
    assert!(counters.committed > 0 && counters.committed <= counters.limit);
    let latencies = store.latencies();
    for sort in ["reads", "writes"] {
        let (_, histogram) = latencies.iter().find(|(name, _)| *name == sort).unwrap();
        assert!(histogram.count() > 0, "{sort}");
        assert!(histogram.quantile(0.5) > 0 && histogram.quantile(0.5) < 1_000_000_000);
    }
    // The server's own are published once a second.
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while store.counters().server.iter().all(|(name, n)| *name != "commands" || *n < 400) {
        assert!(std::time::Instant::now() < limit, "{:?}", store.counters());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn commands_that_do_not_answer_once_are_refused() {
    let served = Served::start(&[]);
    let store = served.attach();
    for words in [&[&b"subscribe"[..], b"c"][..], &[b"client", b"reply", b"off"]] {
        assert!(matches!(store.execute(words), Err(Error::NotARequest(_))));
    }
    assert_eq!(store.execute(&[b"PING"]).unwrap(), Value::Simple(b"PONG".to_vec()));
}

#[test]
fn a_socket_for_redis_clients_is_told_from_one_for_attaching() {
    let served = Served::start(&[]);
    let error = Store::attach(served.redis_path()).unwrap_err();
    assert!(matches!(error, Error::NotDolium { .. }), "{error}");
}
