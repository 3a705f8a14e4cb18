//! Strings that are read where they lie.

use dolium_engine::*;

const DB: Db = Db(0);
const LARGE: usize = if cfg!(miri) { 20_000 } else { 200_000 };

fn large(first: u32) -> Vec<u8> {
    (first..first + LARGE as u32).map(|n| (n % 253) as u8).collect()
}

fn store(bytes: u64) -> (std::sync::Arc<Engine>, Session) {
    let options = EngineOptions { max_bytes: bytes, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a session");
    (engine, session)
}

fn put(session: &Session, key: &Key<'_>, value: &[u8]) -> Result<Stored, StoreError> {
    session.write(DB, key, 1).put(DB, key, &Put::plain(Value::Bytes(value)))
}

#[test]
fn strings_of_many_bytes_are_leased_and_nothing_else() {
    let (engine, session) = store(64 << 20);
    let [text, number, short, missing] =
        [&b"text"[..], b"number", b"short", b"no"].map(|name| engine.key(name));
    put(&session, &text, &large(0)).expect("room");
    put(&session, &short, &[b'x'; LEASED_BYTES_MIN - 1]).expect("room");
    session.write(DB, &number, 1).put(DB, &number, &Put::plain(Value::Int(12))).expect("room");
    let (found, lease) = session.lease(DB, &text, 1).expect("it is a string");
    assert_eq!((found.kind, found.len), (Kind::String, LARGE));
    assert!(lease.bytes() == large(0));
    for key in [&number, &short, &missing] {
        assert!(session.lease(DB, key, 1).is_none());
    }
    let mut guard = session.write(DB, &text, 1);
    guard.set_deadline(DB, &text, 5, Event::Expire).expect("room");
    drop(guard);
    assert!(session.lease(DB, &text, 6).is_none(), "it is due");
    assert!(lease.bytes() == large(0));
    drop(lease);
    engine.verify_at_rest().expect("sound");
}

#[test]
fn leased_bytes_stay_whatever_happens_to_their_key() {
    let (engine, session) = store(64 << 20);
    let key = engine.key(b"k");
    let lease = || session.lease(DB, &key, 1).expect("there").1;
    let settle = || {
        session.write_all(1).flush(DB);
        // The first round may have freed what the second goes through.
        while session.maintain(1, u64::MAX, &|| 0).more {}
        engine.verify_at_rest().expect("sound");
        let report = engine.memory();
        report.live - report.index
    };
    let before = settle();
    let (rounds, others) = if cfg!(miri) { (4, 2) } else { (50, 20) };
    for round in 0..rounds {
        put(&session, &key, &large(round)).expect("room");
        // Two of one block; the first ends before the block is given back.
        let leases = [lease(), lease()];
        let [first, second] = leases;
        drop(first);
        match round % 4 {
            0 => assert!(put(&session, &key, b"short").is_ok()),
            1 => assert!(session.write(DB, &key, 1).remove(DB, &key, Event::Del)),
            2 => session.write_all(1).flush(DB),
            _ => {}
        }
        // Whoever took its block would have to be one of these.
        for other in 0..others {
            let name = [b'o', other];
            let other = engine.key(&name);
            put(&session, &other, &large(100 + round)).expect("room");
            session.write(DB, &other, 1).remove(DB, &other, Event::Del);
        }
        assert!(second.bytes() == large(round), "round {round}");
        engine.verify_at_rest().expect("sound");
        drop(second);
        assert_eq!(settle(), before, "round {round} lost a block");
    }
}

#[test]
fn what_is_not_wanted_is_found_and_not_copied() {
    let engine = Engine::create(EngineOptions { max_bytes: 64 << 20, ..EngineOptions::default() })
        .expect("an arena");
    let session = engine.session().expect("a session");
    let key = engine.key(b"k");
    session.write(DB, &key, 1).put(DB, &key, &Put::plain(Value::Bytes(b"value"))).expect("room");
    let mut out = b"before ".to_vec();
    let head = |_: &Found, out: &mut Vec<u8>| out.push(b'!');
    let found = session.get_if(DB, &key, 1, &mut out, |found| found.len > 5, head);
    assert_eq!((found.map(|found| found.len), &out[..]), (Some(5), &b"before "[..]));
    session.get_if(DB, &key, 1, &mut out, |found| found.len == 5, head);
    assert_eq!(out, b"before !value");
}
