//! Who is writing to the ring, so that nobody writes over a record that is still being written.
//!
//! ```text
//!                    position p                          p + the ring's bytes
//!   slow writer      |== reserved, half of it stored ==|      (it stands still)
//!   fast writer                       ... record | record | |== reserved: waits ==|
//!                                                           `- the same bytes of the ring
//! ```
//! A reader that may lose changes keeps no writer from coming round while another one stands still.
//! That one would go on later and store over the record that has taken its place, which the reader
//! then finds torn, or without its commit word for as long as the ring does not come round again.
//! What was stored cannot be taken back, so the fast one has to wait.
//!
//! Each session has a mark: the position of the record that it writes, if it writes one. Waits go from
//! later positions to earlier ones alone, so that never two writers wait for each other, though they
//! hold locks of shards meanwhile. Who is waited for takes none before its record is written: it copies
//! a quarter of the ring at most, and waits itself only for what is earlier, records or a reader that
//! must not lose any. There is no bound in time: who gave up would have to leave its change out.

use crate::sync::atomics::Ordering::{Acquire, Release};
use crate::sync::atomics::{AtomicU64, spin_turn, yield_turn};

/// The mark of a session that writes nothing: behind all records.
const NOTHING: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Writers {
    marks: Vec<Mark>,
    /// All records before this position are written. It spares most writers the look at the marks: who
    /// needs more looks, which happens about once a ring.
    settled: AtomicU64,
}

/// A session's, in cache lines of its own: it is stored to with every record.
#[derive(Debug)]
#[repr(align(128))]
struct Mark(AtomicU64);

/// A session that writes a record. Dropped, it has written it.
#[derive(Debug)]
#[must_use = "the record is taken for written when this is dropped"]
pub(super) struct Writing<'a> {
    mark: &'a AtomicU64,
}

impl Writers {
    pub fn new(sessions: usize) -> Writers {
        let marks = (0..sessions).map(|_| Mark(AtomicU64::new(NOTHING))).collect();
        Writers { marks, settled: AtomicU64::new(0) }
    }

    /// Before a session reserves room, which will not begin before `position`. Whoever reserves after it
    /// sees the mark, by the order of the reservations: see `Journal::reserve`.
    pub fn begin(&self, session: usize, position: u64) -> Writing<'_> {
        let writing = Writing { mark: &self.marks[session].0 };
        writing.begins_at(position);
        writing
    }

    /// Waits until all records before `end` are written. For who has reserved its room, at `position`.
    pub fn wait_until_written(&self, end: u64, position: u64) {
        // Acquire: pairs with the Release below, so that what came before the look at the marks comes
        // before all that follows here.
        if self.settled.load(Acquire) >= end {
            return;
        }
        let mut settled = position;
        for Mark(mark) in &self.marks {
            // Acquire: pairs with the Release in `begins_at` and in `drop`: all stores to records of
            // that session before this position come before what the caller stores.
            let begins_at = wait_until(|| Some(mark.load(Acquire)).filter(|at| *at >= end));
            settled = settled.min(begins_at);
        }
        // Release: pairs with the Acquire above. Another may have stored a later position meanwhile; the
        // earlier one is as true, and costs a look at the marks.
        self.settled.store(settled, Release);
    }
}

impl Writing<'_> {
    /// The record begins there.
    pub fn begins_at(&self, position: u64) {
        // Release: pairs with the Acquire in `wait_until_written`. Who finds this mark did perhaps not
        // see that the session's last record was done, and must find it written all the same.
        self.mark.store(position, Release);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `wait_until_written`: who stores over the record does so
        // after it was stored.
        self.mark.store(NOTHING, Release);
    }
}

/// What there is to be seen, once there is: a few looks in a row, then one whenever others have run.
pub(super) fn wait_until<R>(mut look: impl FnMut() -> Option<R>) -> R {
    let mut turns = 0u32;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        turns = turns.saturating_add(1);
        if turns < 100 {
            spin_turn();
        } else {
            yield_turn();
        }
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use crate::journal::{Change, Delivery, Effect, Next};
    use crate::sync::atomics::Ordering::Relaxed;
    use crate::sync::atomics::yield_turn;
    use crate::verbs::*;
    use crate::{Engine, EngineOptions};

    const RING_BYTES: u64 = 1 << 20;
    /// More than a ring full, and less than two.
    const CHANGES: u64 = 1_200;
    const SLOW_RECORD_BYTES: u64 = 4_096;
    /// The fast writer has a millisecond's work left.
    const TURNS: usize = 20_000;

    /// A value of which every word says which it is.
    fn value(number: u64) -> Vec<u8> {
        number.to_le_bytes().repeat(125)
    }

    /// Which value that is; none that was torn.
    fn number_of(value: &[u8]) -> u64 {
        let (words, rest) = value.as_chunks::<8>();
        assert!(rest.is_empty() && words.iter().all(|word| *word == words[0]), "torn: {value:?}");
        u64::from_le_bytes(words[0])
    }

    /// A writer was interrupted in its first record while another one filled the whole ring and began
    /// anew. It went on, stored over records that had taken the place of its own, and a reader that had
    /// been told of its losses, and was promised whole changes from there on, stopped or read a mixture.
    #[test]
    fn who_comes_round_waits_for_who_stands_still() {
        let options = EngineOptions { journal_bytes: RING_BYTES, ..EngineOptions::default() };
        let engine = &Engine::create(options).expect("an arena");
        let mut reader = engine.changes(Delivery::Lossy).expect("memory for the ring");
        let (slow, fast) = (engine.session().expect("a slot"), engine.session().expect("a slot"));
        let (journal, mem) = (engine.journal(), engine.mem());
        std::thread::scope(|scope| {
            let slow_session = slow.slot().index() as usize;
            let (position, writing) = journal.reserve(mem, slow_session, SLOW_RECORD_BYTES);
            let words = || {
                let places = (position..position + SLOW_RECORD_BYTES).step_by(8);
                places.map(move |at| mem.u64_at(journal.ring().place(at)))
            };
            let fast = scope.spawn(move || {
                let key = engine.key(b"key");
                for number in 0..CHANGES {
                    let value = value(number);
                    let put = Put::plain(Value::Bytes(&value));
                    fast.write(Db(0), &key, 1).put(Db(0), &key, &put).expect("memory");
                }
            });
            while journal.position(mem) <= position + RING_BYTES && !fast.is_finished() {
                yield_turn();
            }
            (0..TURNS).for_each(|_| yield_turn());
            assert!(!fast.is_finished(), "it has overtaken the slow writer by a whole ring");
            assert!(words().all(|word| word.load(Relaxed) == 0), "it has stored over the record");
            assert!(matches!(reader.next(), Next::Lost(_)), "more than a ring is reserved");
            // The slow writer goes on, and is done.
            words().for_each(|word| word.store(u64::MAX, Relaxed));
            drop(writing);
            fast.join().expect("it is let go on");
        });
        let mut numbers = Vec::new();
        loop {
            match reader.next() {
                Next::Change(Change { effect: Effect::Put { value, .. }, .. }) => {
                    numbers.push(number_of(&value));
                }
                Next::Empty => break,
                next => panic!("after {numbers:?}: {next:?}"),
            }
        }
        assert_eq!(reader.position(), journal.position(mem), "it stopped after {numbers:?}");
        let from = numbers[0];
        assert!(numbers.iter().copied().eq(from..CHANGES), "{numbers:?}");
    }

    /// The marks are looked at about once a ring, and what was found then is true of all that came
    /// before: of a session that has written since, and of one that has not.
    #[test]
    fn a_look_at_the_marks_serves_until_it_is_too_old() {
        let writers = super::Writers::new(3);
        let first = writers.begin(0, 100);
        first.begins_at(120);
        let second = writers.begin(1, 200);
        writers.wait_until_written(110, 200);
        assert_eq!(writers.settled.load(Relaxed), 120);
        drop(first);
        writers.wait_until_written(120, 200);
        assert_eq!(writers.settled.load(Relaxed), 120);
        writers.wait_until_written(121, 200);
        assert_eq!(writers.settled.load(Relaxed), 200);
        drop(second);
        writers.wait_until_written(201, 300);
        assert_eq!(writers.settled.load(Relaxed), 300);
    }
}
