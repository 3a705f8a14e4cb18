//! Memory: the limit, eviction, compaction when sizes drift, and what FLUSHDB and expiry give back.

// Megabytes are written in all of these: hours, for an interpreter.
#![cfg(not(miri))]

use dolium_engine::*;
use std::sync::Arc;

const DB: Db = Db(0);

fn engine(max_bytes: u64, policy: Policy) -> (Arc<Engine>, Session) {
    let engine = Engine::create(EngineOptions {
        max_bytes: 4 << 30,
        shards: 64,
        policy,
        ..EngineOptions::default()
    })
    .expect("an arena");
    engine.set_max_memory(max_bytes);
    let session = engine.session().expect("a slot");
    (engine, session)
}

fn put(session: &Session, number: u64, bytes: usize, now: Millis) -> Result<Stored, StoreError> {
    let name = format!("key:{number:012}");
    let key = session.engine().key(name.as_bytes());
    let value = vec![number as u8; bytes];
    session.make_room(name.len() + bytes, now)?;
    session.write(DB, &key, now).put(DB, &key, &Put::plain(Value::Bytes(&value)))
}

fn settle(session: &Session, now: Millis) {
    for _ in 0..2_000 {
        if session.maintain(now, u64::MAX, &|| 0) == Work::default() {
            return;
        }
    }
    panic!("maintenance finds no end: {:?}", session.maintain(now, u64::MAX, &|| 0));
}

#[test]
fn with_eviction_every_write_succeeds_and_the_limit_holds() {
    for policy in [Policy::AllKeysLru, Policy::AllKeysLfu, Policy::AllKeysRandom] {
        const MAX: u64 = 64 << 20;
        let (engine, session) = engine(MAX, policy);
        let mut number = 0;
        let mut written = 0;
        while written < 4 * MAX {
            let bytes = match number % 1000 {
                0 => 1 << 20,
                n if n % 50 == 0 => 20_000,
                n => n as usize % 400,
            };
            // A late refusal may come from a race for the last page; a client would try again.
            let outcome = put(&session, number, bytes, 1);
            assert!(outcome.is_ok(), "{policy:?}: write {number} of {bytes} bytes: {outcome:?}");
            assert!(engine.memory().committed <= MAX);
            written += bytes as u64 + 100;
            number += 1;
        }
        let memory = engine.memory();
        assert!(memory.live > MAX / 2, "{policy:?}: only {} of {MAX} bytes are used", memory.live);
        assert_eq!(engine.verify_at_rest(), Ok(()));
    }
}

/// Pages of 128 KiB hold eleven of these. A store that made a whole one free, by evicting eleven, let
/// the next ten in without evicting any, and who watched for the eviction of each waited for ever.
#[test]
fn an_item_stored_in_a_full_store_of_large_ones_takes_the_place_of_another() {
    let (engine, session) = engine(60 << 20, Policy::AllKeysLru);
    for number in 0..8_000 {
        put(&session, number, 11_000, 1).expect("room is made");
    }
    for number in 8_000..8_100 {
        settle(&session, 1);
        let before = engine.item_count();
        put(&session, number, 11_000, 1).expect("room is made");
        let gone = before + 1 - engine.item_count();
        assert!((1..=4).contains(&gone), "item {number} drove out {gone}");
    }
}

/// A lower limit drives out what no longer fits, and no more: writers and maintenance gave back whole
/// extents alone, and as long as every extent held something they evicted on, down to nothing, and
/// refused what came then.
/// Where maintenance committed memory ahead at that very moment, an item of a megabyte went past it,
/// and what lay between was too small for the next: a store of 64 held 62, one time in ten.
#[test]
fn as_many_large_items_fit_whether_memory_is_committed_ahead_or_not() {
    const BYTES: usize = (1 << 20) - 250;
    let fill = |with_maintenance: bool| {
        let (engine, session) = engine(66 << 20, Policy::NoEviction);
        let is_full = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            if with_maintenance {
                scope.spawn(|| {
                    let session = engine.session().expect("a slot");
                    while !is_full.load(std::sync::atomic::Ordering::Relaxed) {
                        session.maintain(1, 2_000, &|| 0);
                    }
                });
            }
            let stored =
                (0..).take_while(|number| put(&session, *number, BYTES, 1).is_ok()).count();
            is_full.store(true, std::sync::atomic::Ordering::Relaxed);
            stored
        })
    };
    let alone = fill(false);
    assert!(alone > 60, "{alone} items of a megabyte in 66");
    for round in 0..10 {
        assert_eq!(fill(true), alone, "round {round}");
    }
}

#[test]
fn under_a_lowered_limit_the_store_goes_on_with_what_fits() {
    const MAX: u64 = 64 << 20;
    for is_maintained in [false, true] {
        let (engine, session) = engine(MAX, Policy::AllKeysLru);
        let sizes = |number: u64| [100, 700, 5_000, 20_000][number as usize % 4];
        for number in 0..20_000 {
            put(&session, number, sizes(number), 1).expect("room is made");
        }
        for share in [2, 4, 3, 1, 4] {
            let limit = MAX / share;
            engine.set_max_memory(limit);
            if is_maintained {
                settle(&session, 1);
            }
            for number in 0..4_000 {
                let outcome = put(&session, number, sizes(number), 1);
                assert!(outcome.is_ok(), "at {limit} bytes, write {number}: {outcome:?}");
            }
            let memory = engine.memory();
            assert!(memory.committed <= limit, "{} of {limit}", memory.committed);
            assert!(memory.live > limit / 3, "of {limit} bytes {} are used", memory.live);
        }
        assert_eq!(engine.verify_at_rest(), Ok(()));
    }
}

/// Values just below the longest block of a page: whether they take one, or units of their own, is
/// known only when all of the item is. Room was made for the one, and refused for want of the other.
#[test]
fn room_is_made_for_either_side_of_the_longest_block() {
    let (engine, session) = engine(24 << 20, Policy::AllKeysLru);
    for number in 0..20_000u64 {
        let bytes = match number % 4 {
            0 => 32_600 + number as usize % 180,
            1 => 8_000,
            _ => 200,
        };
        let outcome = put(&session, number, bytes, 1);
        assert!(outcome.is_ok(), "write {number} of {bytes} bytes: {outcome:?}");
    }
    assert_eq!(engine.verify_at_rest(), Ok(()));
}

#[test]
fn without_eviction_writes_are_refused_and_reads_go_on() {
    const MAX: u64 = 32 << 20;
    let (engine, session) = engine(MAX, Policy::NoEviction);
    let mut number = 0;
    while put(&session, number, 1000, 1).is_ok() {
        number += 1;
        assert!(number < 100_000);
    }
    assert_eq!(put(&session, number, 1000, 1), Err(StoreError::Full));
    assert!(number > 20_000);
    for n in 0..number {
        let mut out = Vec::new();
        let name = format!("key:{n:012}");
        assert!(session.get(DB, &engine.key(name.as_bytes()), 1, &mut out, |_, _| ()).is_some());
        assert_eq!(out, vec![n as u8; 1000]);
    }
    assert!(engine.memory().committed <= MAX);
    // Room again after some keys are gone.
    for n in 0..1000 {
        let name = format!("key:{n:012}");
        let key = engine.key(name.as_bytes());
        session.write(DB, &key, 1).remove(DB, &key, Event::Del);
    }
    assert!(put(&session, number, 1000, 1).is_ok());
    assert_eq!(engine.verify_at_rest(), Ok(()));
}

#[test]
fn after_sizes_drift_nearly_all_committed_memory_is_live() {
    let (engine, session) = engine(1 << 30, Policy::NoEviction);
    const ITEMS: u64 = 500_000;
    for bytes in [100, 1024, 60] {
        for number in 0..ITEMS {
            put(&session, number, bytes, 1).expect("memory");
        }
        settle(&session, 1);
        assert_eq!(engine.verify_at_rest(), Ok(()));
    }
    let memory = engine.memory();
    let ratio = memory.committed as f64 / memory.live as f64;
    println!("committed {} live {} ratio {ratio:.3}", memory.committed, memory.live);
    assert!(ratio <= 1.15, "committed {} is {ratio:.3} of live {}", memory.committed, memory.live);
    for number in 0..ITEMS {
        let mut out = Vec::new();
        let name = format!("key:{number:012}");
        assert!(session.get(DB, &engine.key(name.as_bytes()), 1, &mut out, |_, _| ()).is_some());
        assert_eq!(out, vec![number as u8; 60]);
    }
}

/// The faster a store grew, the more was committed ahead of it: four times what came between two rounds
/// of maintenance, 75.3 bytes an item where 75 are the most that we mean to take.
#[test]
fn what_is_committed_ahead_is_a_small_part_of_what_is_used() {
    for inserts_a_round in [2_000, 20_000, 50_000, 200_000] {
        let (engine, session) = engine(4 << 30, Policy::NoEviction);
        let others = engine.session().expect("a slot");
        for number in 0..1_000_000 {
            let name = format!("{number:016}");
            let key = engine.key(name.as_bytes());
            let put = Put::plain(Value::Bytes(&[7; 32]));
            session.write(DB, &key, 1).put(DB, &key, &put).expect("room");
            if number % inserts_a_round == inserts_a_round - 1 {
                others.maintain(1, u64::MAX, &|| 0);
            }
        }
        let an_item = engine.memory().committed as f64 / 1e6;
        assert!(an_item <= 75.0, "{an_item} bytes, with {inserts_a_round} inserts a round");
    }
}

#[test]
fn deleting_most_keys_at_random_gives_memory_back() {
    let (engine, session) = engine(1 << 30, Policy::NoEviction);
    for number in 0..200_000 {
        put(&session, number, 200, 1).expect("memory");
    }
    let full = engine.memory().committed;
    for number in (0..200_000).filter(|n| n % 10 != 0) {
        let name = format!("key:{number:012}");
        let key = engine.key(name.as_bytes());
        assert!(session.write(DB, &key, 1).remove(DB, &key, Event::Del));
    }
    settle(&session, 1);
    assert_eq!(engine.verify_at_rest(), Ok(()));
    let left = engine.memory().committed;
    assert!(left < full / 3, "{left} of {full} bytes are still committed");
}

#[test]
fn a_flushed_database_gives_its_memory_back() {
    let (engine, session) = engine(1 << 30, Policy::NoEviction);
    let empty = engine.memory().committed;
    for number in 0..200_000 {
        put(&session, number, 100, 1).expect("memory");
    }
    session.write_all(1).flush(DB);
    assert_eq!(engine.len(DB), 0);
    settle(&session, 1);
    let memory = engine.memory();
    assert!(memory.committed < empty + (8 << 20), "{} bytes are still committed", memory.committed);
    assert_eq!(engine.verify_at_rest(), Ok(()));
}

#[test]
fn what_is_due_goes_without_being_asked_for() {
    let (engine, session) = engine(1 << 30, Policy::NoEviction);
    for number in 0..50_000u64 {
        let name = format!("key:{number}");
        let key = engine.key(name.as_bytes());
        let deadline = if number % 2 == 0 { Deadline::At(1_000 + number) } else { Deadline::Never };
        let put = Put { deadline, ..Put::plain(Value::Bytes(b"value")) };
        session.write(DB, &key, 1).put(DB, &key, &put).expect("memory");
    }
    assert_eq!(engine.volatile_len(DB), 25_000);
    let mut expired = 0;
    for now in (0..60_000).step_by(50) {
        expired += session.maintain(now, u64::MAX, &|| 0).expired;
        // Late by two sweeps at most.
        let due = (0..50_000u64).filter(|n| n % 2 == 0 && 1_000 + n + 200 <= now).count() as u64;
        assert!(expired >= due, "at {now}: {expired} of {due}");
        assert_eq!(engine.volatile_len(DB), 25_000 - expired);
    }
    assert_eq!(expired, 25_000);
    assert_eq!(engine.len(DB), 25_000);
    assert_eq!(engine.verify_at_rest(), Ok(()));
}
