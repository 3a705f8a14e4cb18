//! A cut that is begun while the one before it ends.
//!
//! `Cut::drop` says that none runs, and then takes away what it takes to be its own plan: by then it may be that of
//! the next cut, which is left without, and hands over nothing.

use dolium_engine::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

const DB: Db = Db(0);
const ITEMS: usize = 100;

fn store() -> (Arc<Engine>, Session) {
    let options = EngineOptions { shards: 16, databases: 2, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    for number in 0..ITEMS {
        let name = number.to_string();
        let key = engine.key(name.as_bytes());
        let put = Put::plain(Value::Bytes(b"value"));
        session.write(DB, &key, 1).put(DB, &key, &put).expect("memory");
    }
    (engine, session)
}

/// All items of a cut.
fn walk(mut cut: Cut, sink: &CutQueue) -> usize {
    let mut items = Vec::new();
    while cut.step(&mut items) != CutStep::Done {
        items.append(&mut sink.drain());
    }
    items.append(&mut sink.drain());
    items.len()
}

/// Says when it is closed, and waits there.
#[derive(Debug)]
struct Slow(Mutex<(Sender<()>, Receiver<()>)>);

impl CutSink for Slow {
    fn preserve(&self, _: CutItem) {}

    fn close(&self) {
        let held = self.0.lock().expect("no holder panics");
        held.0.send(()).expect("somebody listens");
        held.1.recv().expect("somebody lets it go on");
    }
}

#[test]
fn a_cut_that_begins_while_another_ends_has_all_there_is() {
    let (engine, _session) = store();
    let ((closes, is_closing), (go_on, goes_on)) = (channel(), channel());
    let slow = Arc::new(Slow(Mutex::new((closes, goes_on))));
    let first = engine.begin_cut(slow).expect("no other runs");
    let ends = std::thread::spawn(move || drop(first));
    is_closing.recv().expect("it ends");
    let sink = Arc::new(CutQueue::new(1 << 20));
    // It may be refused, as long as the first is not over.
    let second = engine.begin_cut(sink.clone());
    go_on.send(()).expect("it waits");
    ends.join().expect("it has ended");
    let second = second.or_else(|| engine.begin_cut(sink.clone())).expect("no other runs");
    assert_eq!(walk(second, &sink), ITEMS);
}

/// The same with nothing but threads.
#[test]
fn cuts_one_behind_the_other_by_two_threads_have_all_there_is() {
    let (engine, session) = store();
    let is_over = &AtomicBool::new(false);
    let turns = if cfg!(miri) { 3 } else { 3_000 };
    let (mut short, mut walked) = (0, 0);
    std::thread::scope(|scope| {
        let engine = &engine;
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                drop(engine.begin_cut(Arc::new(CutQueue::new(1 << 20))));
            }
        });
        // Somebody writes now and then, as is to be expected of a store.
        scope.spawn(move || {
            let key = engine.key(b"7");
            while !is_over.load(Relaxed) {
                let put = Put::plain(Value::Bytes(b"other"));
                session.write(DB, &key, 1).put(DB, &key, &put).expect("memory");
            }
        });
        while walked < turns {
            let sink = Arc::new(CutQueue::new(1 << 20));
            if let Some(cut) = engine.begin_cut(sink.clone()) {
                short += usize::from(walk(cut, &sink) != ITEMS);
                walked += 1;
            }
        }
        is_over.store(true, Relaxed);
    });
    assert_eq!(short, 0, "of {walked} cuts so many lacked something");
}
