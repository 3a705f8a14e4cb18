//! A reader that meets a due key, which somebody stores anew at that moment.
//!
//! The reader had shown nothing, as of a key that is not there, and then said that it had found one:
//! a Memcached client got the end of a value without its beginning, a Redis client of GETRANGE no
//! reply that it could read, a web request none at all.

use dolium_engine::*;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

const DB: Db = Db(0);
/// By which the deadline below is over.
const NOW: Millis = 10;
const OVER: Millis = 5;
const READS: usize = if cfg!(miri) { 200 } else { 200_000 };
const LENGTH: usize = if cfg!(miri) { 300 } else { 3_000 };
/// For which the reader goes on where it has met only one of the two: a busy machine may start the
/// writer long after it.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn what_is_found_is_shown() {
    let engine = Engine::create(EngineOptions::default()).expect("an arena");
    let is_over = AtomicBool::new(false);
    let value = [b'x'; LENGTH];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = engine.session().expect("a slot");
            let key = engine.key(b"key");
            while !is_over.load(Relaxed) {
                let due = Put { deadline: Deadline::At(OVER), ..Put::plain(Value::Bytes(&value)) };
                session.write(DB, &key, 1).put(DB, &key, &due).expect("memory");
                let lasting = Put::plain(Value::Bytes(&value));
                session.write(DB, &key, 1).put(DB, &key, &lasting).expect("memory");
            }
        });
        let session = engine.session().expect("a slot");
        let key = engine.key(b"key");
        let mut out = Vec::new();
        let (mut found, mut missed) = (0, 0);
        let begun = Instant::now();
        let has_met_both = |found: usize, missed: usize| found > 0 && missed > 0;
        while found + missed < READS || !has_met_both(found, missed) && begun.elapsed() < PATIENCE {
            out.clear();
            match session.get(DB, &key, NOW, &mut out, |_, out| out.push(b'$')) {
                Some(_) if out.len() != 1 + value.len() => {
                    is_over.store(true, Relaxed);
                    panic!("found, and {} bytes of it shown", out.len());
                }
                Some(_) => found += 1,
                None => missed += 1,
            }
        }
        is_over.store(true, Relaxed);
        assert!(has_met_both(found, missed), "{found} found, {missed} not: nothing was tried");
    });
}
