//! Runs a model under many schedules, and controls under as many as it takes to see them fail.

use dolium_engine::sync::modelled::{Fault, begin, leave_out};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

/// Schedules of each model without `DOLIUM_MODEL_SCHEDULES`: half of them random, half PCT.
const SCHEDULES: usize = 2_000;
/// Schedules in which a control must fail. It ends at the first failure.
const CONTROL_SCHEDULES: usize = 200_000;
/// Changes of priority in a PCT schedule.
const PCT_DEPTH: usize = 4;

pub fn schedules() -> usize {
    std::env::var("DOLIUM_MODEL_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(SCHEDULES)
}

/// The same schedules in each run, unless `DOLIUM_MODEL_SEED` says otherwise.
fn seed() -> u64 {
    std::env::var("DOLIUM_MODEL_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0xd011)
}

fn run(scheduler: impl Scheduler + 'static, quiet: bool, body: Arc<dyn Fn() + Send + Sync>) {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.silence_warnings = true;
    if quiet {
        config.failure_persistence = FailurePersistence::None;
    }
    Runner::new(scheduler, config).run(move || {
        begin();
        body();
    });
}

/// The model holds in every schedule tried.
pub fn check(body: impl Fn() + Send + Sync + 'static) {
    let body: Arc<dyn Fn() + Send + Sync> = Arc::new(body);
    let half = schedules().div_ceil(2);
    let start = Instant::now();
    run(RandomScheduler::new_from_seed(seed(), half), false, body.clone());
    let random = start.elapsed();
    run(PctScheduler::new_from_seed(seed(), PCT_DEPTH, half), false, body);
    let all = start.elapsed();
    println!("{half} random schedules in {random:.1?}, as many PCT in {:.1?}", all - random);
}

/// Without this step the same model fails: it would have seen the step missing.
pub fn must_fail(fault: Fault, body: impl Fn() + Send + Sync + 'static) {
    let body: Arc<dyn Fn() + Send + Sync> = Arc::new(body);
    leave_out(Some(fault));
    let tried = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = tried.clone();
    let counted: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        body();
    });
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let half = CONTROL_SCHEDULES / 2;
        run(PctScheduler::new_from_seed(seed(), PCT_DEPTH, half), true, counted.clone());
        run(RandomScheduler::new_from_seed(seed(), half), true, counted);
    }));
    leave_out(None);
    begin();
    let tried = tried.load(std::sync::atomic::Ordering::Relaxed);
    let Err(why) = outcome else {
        panic!("{tried} schedules without {fault:?}, and nobody saw it")
    };
    let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
    println!("without {fault:?} schedule {tried} failed: {why}");
}
