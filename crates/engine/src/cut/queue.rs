//! A sink with a bound: writers that find it full wait until items are taken out.

use super::{CutItem, CutSink};
use crate::sync::blocking::{Condvar, Mutex};
use std::collections::VecDeque;

/// What an item takes beyond its bytes, for the account.
const ITEM_OVERHEAD_BYTES: usize = std::mem::size_of::<CutItem>() + 32;

/// A queue of preserved items that never holds more than `bytes_max` bytes, save that one item
/// may always enter an empty queue, however large it is.
#[derive(Debug)]
pub struct CutQueue {
    bytes_max: usize,
    state: Mutex<State>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<CutItem>,
    bytes: usize,
    bytes_peak: usize,
    /// Nobody takes anything out any more: what comes is dropped.
    closed: bool,
}

impl CutQueue {
    pub fn new(bytes_max: usize) -> CutQueue {
        CutQueue { bytes_max, state: Mutex::default(), room: Condvar::new() }
    }

    /// Takes out all that there is.
    pub fn drain(&self) -> Vec<CutItem> {
        let mut state = self.state.lock().expect("no holder panics");
        state.bytes = 0;
        self.room.notify_all();
        state.items.drain(..).collect()
    }

    /// The most bytes that it has held.
    pub fn bytes_peak(&self) -> usize {
        self.state.lock().expect("no holder panics").bytes_peak
    }
}

impl CutSink for CutQueue {
    fn preserve(&self, item: CutItem) {
        let bytes = item.key.len() + item.value.len() + ITEM_OVERHEAD_BYTES;
        let mut state = self.state.lock().expect("no holder panics");
        while !state.closed && state.bytes > 0 && state.bytes + bytes > self.bytes_max {
            state = self.room.wait(state).expect("no holder panics");
        }
        if state.closed {
            return;
        }
        state.bytes += bytes;
        state.bytes_peak = state.bytes_peak.max(state.bytes);
        state.items.push_back(item);
    }

    fn close(&self) {
        self.state.lock().expect("no holder panics").closed = true;
        self.room.notify_all();
    }
}
