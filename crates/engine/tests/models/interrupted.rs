//! All schedules in which a reader is interrupted twice by a writer, who goes on to his end the second time.
//!
//! ```text
//! reader    a steps          c steps               the rest
//! writer             b steps          the rest
//! ```
//! Random schedules seldom stop a reader at one of its last steps, having stopped it at one of its first: of
//! half a million, one found that a key may be taken for absent where two splits come in between. Here each
//! a, b and c has its turn, so that the model is exhaustive for what it is about.

use super::run::schedules;
use dolium_engine::sync::modelled::{Fault, begin, leave_out};
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, Runner};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

// In the order in which a scene begins them.
const MAIN: usize = 0;
const WRITER: usize = 1;
const READER: usize = 2;
const TASKS: [usize; 3] = [READER, WRITER, READER];

/// One schedule after the other.
struct Interrupted {
    /// Steps of the reader, of the writer and of the reader again.
    wanted: [usize; 3],
    taken: [usize; 3],
    /// Which of the three is under way; 3: none any more.
    phase: usize,
    is_begun: bool,
    /// From one number of the writer's steps to the next.
    stride: usize,
    places: Arc<Mutex<[usize; 3]>>,
}

impl Interrupted {
    fn new(stride: usize, places: Arc<Mutex<[usize; 3]>>) -> Interrupted {
        Interrupted { wanted: [1; 3], taken: [0; 3], phase: 0, is_begun: false, stride, places }
    }

    /// The next numbers; false: all have had their turn.
    fn advance(&mut self) -> bool {
        let is_short = |part: usize| self.taken[part] < self.wanted[part];
        if is_short(0) {
            return false;
        }
        let [before, between, again] = self.wanted;
        self.wanted = if is_short(1) {
            // Others of the writer's steps than before.
            [before + 1, 1 + (before + 1) * OFFSET % self.stride, 1]
        } else if is_short(2) {
            [before, between + self.stride, 1]
        } else {
            [before, between, again + 1]
        };
        true
    }
}

impl Scheduler for Interrupted {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.is_begun && !self.advance() {
            return None;
        }
        self.is_begun = true;
        (self.taken, self.phase) = ([0; 3], 0);
        *self.places.lock().unwrap_or_else(PoisonError::into_inner) = self.wanted;
        Some(Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let find = |number: usize| {
            runnable.iter().map(|task| task.id()).find(|id| usize::from(*id) == number)
        };
        // It starts the others, and then waits for them.
        if let Some(main) = find(MAIN) {
            return Some(main);
        }
        // Who spins waits for the other one: more steps of his would be more turns of the same.
        if is_yielding && let Some(current) = current {
            if self.phase < 3 && usize::from(current) == TASKS[self.phase] {
                self.phase += 1;
            }
            if let Some(other) = runnable.iter().map(|task| task.id()).find(|id| *id != current) {
                return Some(other);
            }
        }
        while self.phase < 3 {
            let phase = self.phase;
            if self.taken[phase] < self.wanted[phase] {
                if let Some(task) = find(TASKS[phase]) {
                    self.taken[phase] += 1;
                    return Some(task);
                }
            }
            self.phase += 1;
        }
        find(WRITER).or_else(|| find(READER)).or_else(|| runnable.first().map(|task| task.id()))
    }

    fn next_u64(&mut self) -> u64 {
        0
    }
}

/// Every number of the writer's steps has its turn, if models are run as often as that.
const SCHEDULES_FOR_ALL: usize = 1_000_000;
/// One in so many, otherwise, of most scenes.
pub const STRIDE: usize = 32;
/// Where the writer's steps begin, from one number of the reader's to the next.
const OFFSET: usize = 11;
/// One in so many for a control.
const CONTROL_STRIDE: usize = 8;

/// Runs all these schedules, or without `DOLIUM_MODEL_SCHEDULES` those of one number in `stride` of the writer's
/// steps. The body begins a writer and then a reader.
pub fn check_interrupted(stride: usize, body: impl Fn() + Send + Sync + 'static) {
    let stride = if schedules() < SCHEDULES_FOR_ALL { stride } else { 1 };
    let start = Instant::now();
    let count = play(stride, body);
    println!("{count} schedules of every {stride} steps of the writer in {:.1?}", start.elapsed());
}

/// With this change one of them fails.
pub fn must_fail_interrupted(fault: Fault, body: impl Fn() + Send + Sync + 'static) {
    leave_out(Some(fault));
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| play(CONTROL_STRIDE, body)));
    leave_out(None);
    begin();
    if let Ok(count) = outcome {
        panic!("{count} schedules with {fault:?}, and nobody saw it");
    }
}

/// Runs the schedules and says how many there were.
fn play(stride: usize, body: impl Fn() + Send + Sync + 'static) -> usize {
    let places = Arc::new(Mutex::new([0; 3]));
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, scheduler) = (count.clone(), Interrupted::new(stride, places.clone()));
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::None;
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        Runner::new(scheduler, config).run(move || {
            counted.fetch_add(1, Relaxed);
            begin();
            body();
        });
    }));
    let count = count.load(Relaxed);
    if let Err(why) = outcome {
        let [a, b, c] = *places.lock().unwrap_or_else(PoisonError::into_inner);
        println!("schedule {count} failed: {a} steps of the reader, {b} of the writer, {c} again");
        std::panic::resume_unwind(why);
    }
    count
}
