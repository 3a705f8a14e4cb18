//! A word to threads that go on until they are told: given also when an assertion fails, as a scope
//! waits for all its threads and the failure would be a hang.

use std::sync::atomic::{AtomicBool, Ordering};

pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
