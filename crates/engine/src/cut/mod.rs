//! Cuts: the whole store as of one moment, read while writers go on.
//!
//! A cut begins by locking everything for the time of taking a number. From then on, whoever is
//! about to change a line that the cut does not have yet hands the line's items to the cut's sink
//! first (`before_change`); the cut itself walks all segments and takes the rest. Each segment
//! remembers the last cut that knows it and which of its lines that cut has: 16 bytes a segment,
//! nothing per key.
//!
//! Nothing is kept behind for the cut: a line is handed over before it changes, in the writer's
//! own time, and a writer that finds the sink full waits for it. So the cut's extra memory is what
//! the sink holds, and its bound is the sink's (see [`CutQueue`]).

mod queue;

pub use queue::CutQueue;

use crate::engine::Engine;
use crate::guard::Target;
use crate::index::bucket::SLOTS;
use crate::index::directory::POSITION_BITS;
use crate::index::segment::{LINES, Segment};
use crate::item::Item;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomics::{AtomicBool, AtomicU64};
use crate::sync::blocking::RwLock;
use crate::verbs::{Db, Encoding, Kind, Millis};
use std::sync::Arc;

/// All lines that hold items.
const ALL_LINES: u64 = u64::MAX >> (64 - LINES) & !1;
/// Lines taken in one hold of a shard's lock.
const LINES_A_TURN: u32 = 16;
/// Segments of flushed databases taken in one step.
const BURIED_A_TURN: u32 = 4;

/// An item as of the cut. Due ones are included: who reads the cut knows its moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutItem {
    pub db: Db,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub deadline: Millis,
    pub flags: u32,
    pub kind: Kind,
    pub encoding: Encoding,
}

/// Where writers hand over what the cut has not read yet. Called with shard locks held: it may
/// wait for whoever takes items out, and must not call the engine.
pub trait CutSink: Send + Sync + std::fmt::Debug {
    fn preserve(&self, item: CutItem);

    /// The cut is over: nobody takes items out any more, and nobody may wait for that.
    fn close(&self) {}
}

/// The engine's side of cuts.
#[derive(Debug, Default)]
pub(crate) struct CutState {
    /// There is a cut, be it one that is about to end: no other begins, for the plan is this one's until then.
    taken: AtomicBool,
    running: AtomicBool,
    number: AtomicU64,
    plan: RwLock<Option<Arc<Plan>>>,
}

#[derive(Debug)]
struct Plan {
    sink: Arc<dyn CutSink>,
    /// Which database each root was when the cut began.
    databases: Vec<Option<Db>>,
}

impl CutState {
    /// Whether a cut runs. Under the lock of the shard that is to be changed.
    #[inline(always)]
    pub(crate) fn is_running(&self) -> bool {
        // Pairs with the Release in `begin_cut`, through the shard's lock.
        self.running.load(Acquire)
    }
}

/// A running cut. Dropping it ends it.
#[derive(Debug)]
pub struct Cut {
    engine: Arc<Engine>,
    /// The journal's position: what is before it is in the cut, what is not is not.
    position: u64,
    roots: Vec<u32>,
    /// Where the walk is: index into `roots`, shard, and a key's position in it.
    root: usize,
    shard: usize,
    place: u64,
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutStep {
    /// There is more.
    More,
    /// A writer has the lock; it may be waiting for the sink to be emptied.
    Busy,
    /// Every item has been handed over.
    Done,
}

impl Engine {
    /// Begins a cut. One at a time: `None` while another runs. Waits for all locks, and so must
    /// not be called by the thread that a lossless reader of changes depends on.
    pub fn begin_cut(self: &Arc<Engine>, sink: Arc<dyn CutSink>) -> Option<Cut> {
        let state = self.cut_state();
        // Without the locks: a writer that has one may wait for the running cut's sink, and so for
        // the caller. What runs only now is seen below.
        if state.taken.load(Acquire) {
            return None;
        }
        let held = self.lock_all();
        let position = self.journal().position(self.mem());
        let roots: Vec<u32> = (0..64).filter(|&root| self.is_open(root)).collect();
        // Acquire: pairs with the Release at the end of the one before, whose plan is gone by then.
        let cut = if state.taken.load(Acquire) {
            None
        } else {
            let mut databases = vec![None; 64];
            for db in 0..self.databases() {
                databases[self.view().root_of(Db(db)) as usize] = Some(Db(db));
            }
            // Who gives back what was flushed holds no shard's lock; see `Engine::reclaim`.
            let _graveyard = self.graveyard().lock().expect("no holder panics");
            *state.plan.write().expect("no holder panics") =
                Some(Arc::new(Plan { sink, databases }));
            state.taken.store(true, Relaxed);
            state.number.fetch_add(1, Relaxed);
            // Relaxed would do: writers look at it under a lock that is held here.
            state.running.store(true, Release);
            Some(Cut { engine: self.clone(), position, roots, root: 0, shard: 0, place: 0 })
        };
        self.unlock_several(&held);
        cut
    }

    pub(crate) fn cut_number(&self) -> u64 {
        self.cut_state().number.load(Relaxed)
    }

    /// The number of the running cut, or 0.
    pub(crate) fn running_cut(&self) -> u64 {
        if self.cut_state().running.load(Relaxed) { self.cut_number() } else { 0 }
    }

    /// Hands a line to the running cut, if there is one that does not have it. Under the lock.
    #[inline(always)]
    pub(crate) fn before_change(&self, target: &Target<'_>, segment: Segment<'_>, line: usize) {
        if self.cut_state().is_running() {
            self.preserve(target.root, segment, 1 << line, u32::MAX, None);
        }
    }

    /// As `before_change`, for all lines of a segment that goes away.
    pub(crate) fn before_split(&self, target: &Target<'_>, segment: Segment<'_>) {
        self.before_free(target.root, segment);
    }

    pub(crate) fn before_free(&self, root: u32, segment: Segment<'_>) {
        if self.cut_state().is_running() {
            self.preserve(root, segment, ALL_LINES, u32::MAX, None);
        }
    }

    /// Hands over those of `lines` that the cut does not have, at most `most` of them: to `into`
    /// (the cut's own walk) or to the sink. True: the cut has them all now.
    #[cold]
    fn preserve(
        &self,
        root: u32,
        segment: Segment<'_>,
        lines: u64,
        most: u32,
        mut into: Option<&mut Vec<CutItem>>,
    ) -> bool {
        let number = self.cut_number();
        let mut done = if segment.cut_number() == number { segment.cut_lines() } else { 0 };
        let mut missing = lines & !done & ALL_LINES;
        if missing == 0 {
            return true;
        }
        let plan = self.cut_state().plan.read().expect("no holder panics").clone();
        let mut left = most;
        while missing != 0 && left > 0 {
            let line = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            left -= 1;
            done |= 1 << line;
            if let Some(plan) = &plan
                && let Some(db) = plan.databases[root as usize]
            {
                self.each_item(db, segment, line, |item| match &mut into {
                    Some(items) => items.push(item),
                    None => plan.sink.preserve(item),
                });
            }
        }
        segment.set_cut(number, done);
        missing == 0
    }

    fn each_item(&self, db: Db, segment: Segment<'_>, line: usize, mut visit: impl FnMut(CutItem)) {
        debug_assert!(line < LINES);
        let bucket = segment.line(line);
        let tags = bucket.load();
        for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
            let item = Item::at(self.mem(), bucket.reference(slot) as usize * 8)
                .expect("an indexed item lies within the arena");
            let int = if item.head.is_int() { item.int() } else { 0 };
            let (mut key, mut value) = (Vec::new(), Vec::new());
            item.copy_key(&mut key);
            item.copy_value(int, &mut value);
            visit(CutItem {
                db,
                key,
                value,
                deadline: item.deadline(),
                flags: item.client_flags(),
                kind: item.head.kind(),
                encoding: item.head.encoding(),
            });
        }
    }
}

impl Cut {
    /// The journal's position at the cut.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends the items of a few lines more. The caller empties its sink between steps, and
    /// last of all after `Done`.
    pub fn step(&mut self, items: &mut Vec<CutItem>) -> CutStep {
        let engine = &self.engine;
        let view = engine.view();
        while let Some(&root) = self.roots.get(self.root) {
            if self.shard == view.shard_count() {
                (self.root, self.shard, self.place) = (self.root + 1, 0, 0);
                continue;
            }
            let shard = view.shard_at(root, self.shard);
            if !shard.lock().try_acquire() {
                return CutStep::Busy;
            }
            let directory = shard.directory();
            let mut more = false;
            if !directory.is_empty() {
                let segment = shard.segment_of(directory, self.place);
                if engine.preserve(root, segment, ALL_LINES, LINES_A_TURN, Some(items)) {
                    // A split meanwhile gives two segments that are known to be done.
                    self.place = directory.end_of(segment.span());
                    more = self.place < 1 << POSITION_BITS;
                } else {
                    more = true;
                }
            }
            shard.lock().release();
            if !more {
                (self.shard, self.place) = (self.shard + 1, 0);
            }
            if !directory.is_empty() {
                return CutStep::More;
            }
        }
        // What FLUSHDB took away meanwhile. Whoever holds the graveyard may wait for the sink.
        let mut left = BURIED_A_TURN;
        let walked = engine.each_buried(|root, segment| {
            let had =
                segment.cut_number() == engine.cut_number() && segment.cut_lines() == u64::MAX;
            if !had {
                engine.preserve(root, segment, ALL_LINES, u32::MAX, Some(items));
                segment.set_cut(engine.cut_number(), u64::MAX);
                left -= 1;
            }
            left > 0
        });
        match walked {
            None => CutStep::Busy,
            Some(false) => CutStep::More,
            Some(true) => CutStep::Done,
        }
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.engine.cut_state().running.store(false, Release);
        let plan = self.engine.cut_state().plan.read().expect("no holder panics").clone();
        if let Some(plan) = plan {
            plan.sink.close();
        }
        // A writer that saw it running may be in the sink: it holds its lock until it is out.
        for &root in &self.roots {
            for number in 0..self.engine.view().shard_count() {
                let shard = self.engine.view().shard_at(root, number);
                shard.lock().acquire();
                shard.lock().release();
            }
        }
        *self.engine.cut_state().plan.write().expect("no holder panics") = None;
        self.engine.cut_state().taken.store(false, Release);
    }
}
