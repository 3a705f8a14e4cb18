//! Reading changes in order.

use super::{
    CREATED_BIT, Delivery, FORM_SHIFT, MORE_BIT, NAMED_BIT, RECORD_HEADER_BYTES, Ring, Wants,
};
use crate::arena::Mem;
use crate::engine::Engine;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomics::{AtomicU64, fence};
use crate::verbs::{Db, Encoding, Event, Kind, Millis};
use std::collections::HashMap;
use std::sync::Arc;

/// One change, as it was made under the locks of its shards. `position` orders all changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub position: u64,
    pub db: Db,
    pub event: Event,
    pub key: Vec<u8>,
    pub effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Put {
        value: Vec<u8>,
        deadline: Millis,
        flags: u32,
        kind: Kind,
        encoding: Encoding,
        /// The key was not there before.
        created: bool,
    },
    /// These bytes are stored at these offsets of a value's; the rest stays. A string may go on with them
    /// behind its end, after zeros if they begin there, and its encoding is [`Encoding::Raw`] then.
    Patch(Vec<(usize, Vec<u8>)>),
    Deadline(Millis),
    Remove,
    FlushDb,
    SwapDb(Db),
}

/// What a reader of changes finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Change(Change),
    /// Nothing now.
    Empty,
    /// This many bytes of changes were overwritten before they were read; what follows is whole.
    Lost(u64),
}

/// A reader of all changes since it was made. While one exists, changes are journalled.
#[derive(Debug)]
pub struct ChangeReader {
    engine: Arc<Engine>,
    position: u64,
    wants: Wants,
    progress: Option<Arc<AtomicU64>>,
    /// Pieces of long values, by the position of their first one.
    pieces: HashMap<u64, Vec<u8>>,
}

/// A record as it stands in the ring.
struct Record {
    bytes: u64,
    db: Db,
    event: u8,
    effect: u8,
    second: u64,
    flags: u64,
    first: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl ChangeReader {
    pub(crate) fn new(engine: Arc<Engine>, delivery: Delivery, wants: Wants) -> ChangeReader {
        // Who may lose changes does without those that others are making at this moment, and may be asked for
        // by a transaction, which holds locks.
        let held = (delivery == Delivery::Lossless).then(|| engine.lock_all());
        let position = engine.journal().position(engine.mem());
        let progress = engine.journal().register(delivery, wants, position);
        if let Some(held) = held {
            engine.unlock_several(&held);
        }
        ChangeReader { engine, position, wants, progress, pieces: HashMap::new() }
    }

    /// The position that the next change read will have at least.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next change, if there is one. Never waits.
    // It is no iterator: `Empty` is not the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Next {
        loop {
            let mem = self.engine.mem();
            let ring = self.engine.journal().ring();
            let head = self.engine.journal().position(mem);
            if head == self.position {
                return Next::Empty;
            }
            if self.overrun(head) {
                return self.lose(head);
            }
            let commit = mem.u64_at(ring.place(self.position)).load(Acquire);
            let committed = commit == (self.position + 1) ^ ring.secret;
            let record = committed.then(|| read_record(mem, ring, self.position)).flatten();
            // Pairs with the Release fence in `Journal::reserve`.
            fence(Acquire);
            let head = self.engine.journal().position(mem);
            if self.overrun(head) {
                return self.lose(head);
            }
            // Reserved, but its writer is not ready.
            let Some(record) = record else { return Next::Empty };
            let position = self.position;
            self.position += record.bytes;
            if let Some(progress) = &self.progress {
                // Pairs with the Acquire in `Journal::wait_for_readers`: the writer that goes on
                // overwrites only what was copied out above.
                progress.store(self.position, Release);
            }
            if let Some(change) = self.assemble(position, record) {
                return Next::Change(change);
            }
        }
    }

    /// Whether writers may have overwritten what comes next. For a lossless reader they have not:
    /// they reserve room ahead, and wait for it before they write.
    fn overrun(&self, head: u64) -> bool {
        let ring = self.engine.journal().ring();
        self.progress.is_none() && head - self.position > ring.bytes as u64
    }

    fn lose(&mut self, head: u64) -> Next {
        let lost = head - self.position;
        self.position = head;
        self.pieces.clear();
        Next::Lost(lost)
    }

    fn assemble(&mut self, position: u64, record: Record) -> Option<Change> {
        if self.wants == Wants::Values && record.flags & NAMED_BIT != 0 {
            return None;
        }
        let mut value = record.value;
        if self.wants == Wants::Names {
            // The first piece says all.
            if record.first != position {
                return None;
            }
            value = Vec::new();
        } else if record.flags & MORE_BIT != 0 {
            if record.first == position {
                self.pieces.insert(position, value);
            } else if let Some(begun) = self.pieces.get_mut(&record.first) {
                begun.append(&mut value);
            }
            // Else its first pieces were lost: the others must not pass for the whole.
            return None;
        } else if record.first != position {
            // Pieces lost with the ring's content: the whole change is lost with them.
            let mut whole = self.pieces.remove(&record.first)?;
            whole.append(&mut value);
            value = whole;
        }
        let effect = match record.effect {
            1 => Effect::Put {
                value,
                deadline: record.second,
                flags: record.flags as u32,
                kind: Kind::from_code((record.flags >> FORM_SHIFT) as u8 & 0x0f),
                encoding: Encoding::from_code((record.flags >> (FORM_SHIFT + 4)) as u8 & 0x0f),
                created: record.flags & CREATED_BIT != 0,
            },
            2 => Effect::Deadline(record.second),
            3 => Effect::Remove,
            4 => Effect::FlushDb,
            6 => Effect::Patch(patches(&value)),
            _ => Effect::SwapDb(Db(record.second as u16)),
        };
        let event = Event::from_code(record.event)?;
        Some(Change { position, db: record.db, event, key: record.key, effect })
    }
}

/// See `patch_bytes`, which wrote them.
fn patches(mut bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut patches = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<8>() {
        let head = u64::from_le_bytes(*head);
        let (patch, others) = rest.split_at(((head >> 32) as usize).min(rest.len()));
        patches.push((head as u32 as usize, patch.to_vec()));
        bytes = others;
    }
    patches
}

impl Drop for ChangeReader {
    fn drop(&mut self) {
        self.engine.journal().unregister(self.wants, self.progress.as_ref());
    }
}

/// The record at a position, or `None` if what stands there cannot be one (it is being
/// overwritten, which the caller finds out from the head).
fn read_record(mem: Mem<'_>, ring: Ring, position: u64) -> Option<Record> {
    let word = |at: u64| mem.u64_at(ring.place(position + at)).load(Relaxed);
    let kind = word(8);
    let bytes = u64::from(kind as u32);
    let lengths = word(24);
    let (key_len, value_len) = (lengths as u32 as usize, (lengths >> 32) as usize);
    let used = RECORD_HEADER_BYTES + key_len + value_len;
    if bytes as usize != used.next_multiple_of(8) || used > ring.bytes / 4 + 8 {
        return None;
    }
    let mut body = Vec::with_capacity(key_len + value_len + 8);
    let mut at = RECORD_HEADER_BYTES as u64;
    while body.len() < key_len + value_len {
        body.extend_from_slice(&word(at).to_le_bytes());
        at += 8;
    }
    body.truncate(key_len + value_len);
    let value = body.split_off(key_len);
    Some(Record {
        bytes,
        db: Db((kind >> 32) as u16),
        event: (kind >> 48) as u8,
        effect: (kind >> 56) as u8,
        second: word(16),
        flags: word(32),
        first: word(40),
        key: body,
        value,
    })
}
