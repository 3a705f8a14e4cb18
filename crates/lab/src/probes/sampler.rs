//! Samples a process and the machine in even steps, by a thread that sleeps between them.
//!
//! A window rarely begins at a sample: counters at its ends are interpolated between the two
//! samples around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::machine::Whole;
use super::process::Process;

/// Samples further apart would miss events; closer ones would cost the generator's core.
const STEP: Duration = Duration::from_millis(100);

/// Everything at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub at: Instant,
    pub server: Process,
    pub machine: Whole,
}

/// A sampling thread. Dropping it ends it.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Moment>>>,
}

impl Sampler {
    /// Begins to sample these processes together, or the machine alone.
    pub fn start(pids: Vec<u32>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut moments = vec![moment(&pids)];
            let begun = Instant::now();
            let mut step = 1;
            while !stopped.load(Ordering::Relaxed) {
                let due = STEP * step;
                let wait = due.saturating_sub(begun.elapsed());
                thread::park_timeout(wait);
                if begun.elapsed() >= due || stopped.load(Ordering::Relaxed) {
                    moments.push(moment(&pids));
                    step += 1;
                }
            }
            moments
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends and hands over what was sampled.
    pub fn finish(mut self) -> Vec<Moment> {
        self.halt()
    }

    fn halt(&mut self) -> Vec<Moment> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Vec::new() };
        thread.thread().unpark();
        // A sampler that failed has nothing to say; the measurement itself is sound.
        thread.join().unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Looks once at these processes together and at the machine.
pub fn moment(pids: &[u32]) -> Moment {
    let server = pids
        .iter()
        .filter_map(|&pid| Process::read(pid))
        .fold(Process::default(), |sum, one| sum.plus(&one));
    Moment { at: Instant::now(), server, machine: Whole::read() }
}

/// A counter at `instant`, between the samples around it.
pub fn at(moments: &[Moment], instant: Instant, counter: impl Fn(&Moment) -> f64) -> f64 {
    let after = moments.partition_point(|moment| moment.at <= instant);
    match (after.checked_sub(1).and_then(|before| moments.get(before)), moments.get(after)) {
        (Some(a), Some(b)) => {
            let span = b.at.duration_since(a.at).as_secs_f64();
            let part = instant.duration_since(a.at).as_secs_f64() / span.max(1e-9);
            counter(a) + (counter(b) - counter(a)) * part
        }
        (Some(one), None) | (None, Some(one)) => counter(one),
        (None, None) => f64::NAN,
    }
}

/// Growth of a counter over a window.
pub fn over(
    moments: &[Moment],
    window: (Instant, Instant),
    counter: impl Fn(&Moment) -> f64,
) -> f64 {
    at(moments, window.1, &counter) - at(moments, window.0, &counter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_in_order_and_are_interpolated() {
        let sampler = Sampler::start(vec![std::process::id()]);
        thread::sleep(Duration::from_millis(350));
        // How many there are is the machine's: a busy one wakes the thread late.
        let taken = sampler.finish();
        assert!(taken.len() >= 2 && taken.is_sorted_by_key(|moment| moment.at), "{}", taken.len());
        let begun = Instant::now();
        let moments: Vec<Moment> =
            (0..5).map(|step| Moment { at: begun + STEP * step, ..taken[0] }).collect();
        let counter = |moment: &Moment| moment.at.duration_since(begun).as_secs_f64();
        let whole = over(&moments, (begun + STEP / 2, begun + STEP * 7 / 2), counter);
        assert!((whole - 3.0 * STEP.as_secs_f64()).abs() < 1e-6, "{whole}");
    }
}
