//! Keys that are stored for the first time: their requests are written as they are asked for, where all others lie
//! in a pool.

use crate::workload::pool::asking;
use crate::workload::{Operation, Workload, wire};

/// Keys that one connection stores for the first time, each once, written as they are asked for:
/// a pool of them would need as much memory as the store.
pub(super) struct Fresh {
    pub next: u32,
    pub step: u32,
    pub end: u32,
    pub bytes: Vec<u8>,
}

impl Fresh {
    pub fn new(next: u32, step: u32, end: u32) -> Self {
        Self { next, step, end, bytes: Vec::new() }
    }

    /// Writes the next requests.
    pub fn fill(&mut self, workload: &Workload, count: usize) {
        self.bytes.clear();
        for _ in 0..count {
            // The last turn may reach past the end; it then repeats the last key of its own.
            let id = if self.next < self.end { self.next } else { self.next - self.step };
            wire::push_request(&mut self.bytes, Operation::Set, asking(workload, id));
            self.next = id + self.step;
        }
    }
}
