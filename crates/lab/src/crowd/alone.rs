//! A crowd with a thread of its own, where nobody measures time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Crowd;

/// The longest that it sleeps before it sees that it is to end.
const NAP: Duration = Duration::from_millis(10);

/// Acts until it is dropped.
pub struct Alone {
    stop: Arc<AtomicBool>,
    acts: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Alone {
    pub fn begin(mut crowd: Crowd) -> Alone {
        let (stop, acts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (stop.clone(), acts.clone());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Relaxed) {
                let now = Instant::now();
                if !crowd.act(now) {
                    let until = crowd.due().unwrap_or(now + NAP);
                    std::thread::sleep((until - now).min(NAP));
                }
                counted.store(crowd.acts(), Relaxed);
            }
        });
        Alone { stop, acts, thread: Some(thread) }
    }

    /// As [`Crowd::acts`].
    pub fn acts(&self) -> u64 {
        self.acts.load(Relaxed)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A crowd that failed has said so by a panic's message.
            let _ = thread.join();
        }
    }
}
