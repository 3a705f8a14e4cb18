//! Blocks of memory in the arena.
use crate::arena::{Arena, Ref};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub mod session {
    //! Session slots.
    pub const COUNTERS_AT: u64 = 0;
    pub const HISTOGRAMS_AT: u64 = 0;
}
#[derive(Debug)]
pub struct SessionSlot;
#[derive(Debug, Clone, Copy)]
pub enum PageKind {
    Item,
    Index,
}
#[derive(Debug)]
pub struct Allocator {
    arena: Arc<Arena>,
    state: Mutex<(u64, u64, HashMap<usize, Vec<Ref>>)>,
}
#[derive(Debug)]
pub struct Usage {
    pub live_bytes: u64,
    pub index_bytes: u64,
}
fn round(bytes: usize) -> usize {
    if bytes > 2048 { bytes.next_multiple_of(4096) } else { bytes.next_multiple_of(16) }
}
impl Allocator {
    pub fn new(arena: Arc<Arena>) -> Allocator {
        let start = arena.layout().data_at;
        Allocator { arena, state: Mutex::new((start, start, HashMap::new())) }
    }
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }
    pub fn claim(&self, _pid: u32) -> Option<SessionSlot> {
        Some(SessionSlot)
    }
    pub fn usage(&self) -> Usage {
        Usage { live_bytes: 0, index_bytes: 0 }
    }
    pub fn alloc(&self, _slot: &SessionSlot, bytes: usize, _kind: PageKind) -> Option<Ref> {
        let bytes = round(bytes);
        let mut state = self.state.lock().expect("no holder panics");
        if let Some(block) = state.2.get_mut(&bytes).and_then(Vec::pop) {
            return Some(block);
        }
        let at = if bytes >= 4096 { state.0.next_multiple_of(4096) } else { state.0 };
        while at + bytes as u64 > state.1 {
            if !self.arena.commit_fixed(state.1, 2 << 20) {
                return None;
            }
            state.1 += 2 << 20;
        }
        state.0 = at + bytes as u64;
        Ref::from_offset(at)
    }
    pub fn free(&self, _slot: &SessionSlot, block: Ref, bytes: usize, _kind: PageKind) {
        let mut state = self.state.lock().expect("no holder panics");
        state.2.entry(round(bytes)).or_default().push(block);
    }
}
