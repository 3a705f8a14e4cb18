//! A writer that stands still in its record while another one fills the whole ring, in the engine's own
//! code under shuttle.
//!
//! ```text
//!   ring of 4,096 bytes   |slow 0|fast 1|fast 2|fast 3|fast   4|fast 5|fast 6|fast 7|
//!                         `------ first time around ----->`- over `slow 0`: waits until that is written
//!                                                     `- a reader from here on: less than a ring to its end
//! ```
//! The reader looks only when both are done. Whatever the schedule, what it does not find overrun must
//! be whole, up to the end of the stream.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::quietly;
use dolium_engine::*;
use models::history::Step::Put;
use models::history::{make, value};
use models::run::check;
use models::scene::{engine, prepare};
use std::sync::Arc;

const A: Db = Db(0);
const B: Db = Db(1);

/// A value's bytes, and its record's: a header of 48, a key of 3, in whole words. It fits in one piece.
const BYTES: usize = 900;
const RECORD_BYTES: u64 = (48 + 3 + BYTES as u64).next_multiple_of(8);
/// Records of the fast writer, and after how many of them there is a reader.
const RECORDS: usize = 7;
const READER_AFTER: usize = 3;

/// The number of the store that this value is of; panics if it is of none.
fn number_of(name: &str, bytes: &[u8]) -> usize {
    let mut numbers = 0..=RECORDS;
    let found = numbers.find(|number| value(name, *number, BYTES) == bytes);
    found.unwrap_or_else(|| panic!("torn: {:?}", String::from_utf8_lossy(bytes)))
}

fn read_to_the_end(mut reader: ChangeReader) {
    let mut last = None;
    loop {
        match reader.next() {
            Next::Change(Change { key, effect: Effect::Put { value, .. }, db, .. }) => {
                let name = if db == A { "one" } else { "two" };
                assert_eq!(key, name.as_bytes());
                let number = number_of(name, &value);
                if db == B {
                    assert!(last.is_none_or(|last| last + 1 == number), "{number} after {last:?}");
                    last = Some(number);
                }
            }
            Next::Change(change) => panic!("nobody made {change:?}"),
            Next::Lost(bytes) => assert!(bytes > 0),
            Next::Empty => break,
        }
    }
    let end = (1 + RECORDS as u64) * RECORD_BYTES;
    assert_eq!(reader.position(), end, "it stopped before the end");
}

#[test]
fn a_writer_that_stands_still_is_not_overtaken_by_the_whole_ring() {
    check(|| {
        let (engine, first_reader, slow, fast) = quietly(|| {
            let engine = engine();
            prepare(&engine, &[Put(A, "one", BYTES), Put(B, "two", BYTES)]);
            // While there is one, changes are journalled.
            let first_reader = engine.changes(Delivery::Lossy).expect("memory");
            let [slow, fast] = [0, 1].map(|_| engine.session().expect("a slot"));
            (engine, first_reader, slow, fast)
        });
        // In databases of their own: no lock keeps one from going on while the other stands still.
        let slow = shuttle::thread::spawn(move || {
            make(&slow, &Put(A, "one", BYTES), 0);
            quietly(|| drop(slow));
        });
        let fast = shuttle::thread::spawn({
            let engine: Arc<Engine> = engine.clone();
            move || {
                let mut reader = None;
                for number in 1..=RECORDS {
                    make(&fast, &Put(B, "two", BYTES), number);
                    if number == READER_AFTER {
                        reader = Some(engine.changes(Delivery::Lossy).expect("memory"));
                    }
                }
                quietly(|| drop((fast, engine)));
                reader.expect("it has been made")
            }
        });
        slow.join().expect("the slow writer");
        let reader = fast.join().expect("the fast writer");
        quietly(|| {
            read_to_the_end(reader);
            drop(first_reader);
            engine.verify().expect("a sound index");
            drop(engine);
        });
    });
}
