//! Memory that is in others' hands while room is made.

use std::cell::RefCell;

use super::WAIT_TURNS;
use crate::alloc::Drain;
use crate::verbs::*;
use crate::{Engine, EngineOptions};

const DB: Db = Db(0);
const BYTES: usize = (1 << 20) - 250;
const NOW: Millis = 1;

thread_local! {
    /// What this thread does in each turn that it waits.
    static ON_TURN: RefCell<Box<dyn FnMut()>> = RefCell::new(Box::new(|| ()));
}

pub(super) fn on_turn() {
    ON_TURN.with_borrow_mut(|act| act());
}

/// A writer found no room while compaction had an extent in its hands, and refused a value for
/// which there was a place a moment later: a store of 64 large items held 62, if the thread that
/// compacts was interrupted at that moment. A policy that has nothing to evict did not wait at all.
///
/// The extents come out of the other's hands within a turn of who waits. They once did in a second thread
/// after some turns of its own, which beside other programs took longer than all that the first waits.
#[test]
fn memory_in_other_hands_is_waited_for() {
    for policy in [Policy::NoEviction, Policy::VolatileLru, Policy::VolatileTtl] {
        wait_for_other_hands(policy);
    }
}

fn wait_for_other_hands(policy: Policy) {
    let options = EngineOptions { max_bytes: 1 << 30, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    engine.set_max_memory(66 << 20);
    let session = engine.session().expect("a slot");
    let name = |number: u32| format!("key {number}");
    let full = (0..).find(|number| {
        let name = name(*number);
        let key = engine.key(name.as_bytes());
        let put = Put::plain(Value::Bytes(&[7; BYTES]));
        session.make_room(BYTES, NOW).is_err()
            || session.write(DB, &key, NOW).put(DB, &key, &put).is_err()
    });
    assert!(full > Some(60), "{full:?} items of a megabyte in 66");
    let gone = name(30);
    let key = engine.key(gone.as_bytes());
    assert!(session.write(DB, &key, NOW).remove(DB, &key, Event::Del));
    let allocator = engine.allocator();
    let begun: Vec<_> =
        (0..64).map(Drain::Extent).filter(|drain| allocator.begin_drain(*drain)).collect();
    assert_eq!(session.make_room(BYTES, NOW), Err(StoreError::Full), "the wait has an end");
    let other = engine.clone();
    let mut turn = 0;
    ON_TURN.set(Box::new(move || {
        turn += 1;
        if turn == WAIT_TURNS / 4 {
            for drain in &begun {
                other.allocator().end_drain(*drain);
            }
        }
    }));
    assert_eq!(session.make_room(BYTES, NOW), Ok(()));
    ON_TURN.set(Box::new(|| ()));
}

/// Who empties an extent lets a page in it serve again that another is emptying, and that one took
/// the page for empty.
#[test]
fn a_page_that_another_lets_serve_again_is_not_free() {
    let engine = Engine::create(EngineOptions::default()).expect("an arena");
    let session = engine.session().expect("a slot");
    for number in 0..2000 {
        let name = number.to_string();
        let key = engine.key(name.as_bytes());
        let put = Put::plain(Value::Bytes(&[7; 500]));
        session.write(DB, &key, NOW).put(DB, &key, &put).expect("memory");
    }
    let allocator = engine.allocator();
    let page = allocator.emptiest_page(510).expect("one");
    let (page, extent) = (Drain::Page(page), Drain::Extent(page / 32));
    assert!(allocator.begin_drain(page));
    assert!(allocator.begin_drain(extent));
    assert!(!allocator.end_drain(extent), "nothing was moved");
    assert!(!allocator.end_drain(page), "nothing was moved");
}
