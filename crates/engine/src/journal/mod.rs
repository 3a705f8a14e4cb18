//! The journal: a ring of all changes, with their values, in the order in which they were made.
//!
//! A change is put here while the locks of its shards are held, so that the order of two changes
//! of a key, or of two commands that share a shard, is the order here. Nobody reads: nothing is
//! written, and the ring takes no memory.
//!
//! ```text
//! record, in whole words, wrapping at the end of the ring:
//!   0 u64  commit: (position + 1) ^ secret; stored last
//!   8 u32 bytes of the record | u16 database << 32 | u8 event << 48 | u8 effect << 56
//!  16 u64  deadline, or the other database of SWAPDB
//!  24 u32 key bytes | u32 value bytes << 32
//!  32 u32 client flags | 1 << 33 if more pieces follow | 1 << 34 if new | 1 << 35 if without its value
//!     | u8 kind:4, encoding:4 << 40
//!  40 u64  position of the first piece
//!  48      key, value, zeros up to a word
//! ```
//! The secret keeps a value that a client chose from passing for a record after the ring has
//! wrapped. A value too long for a quarter of the ring comes in pieces.
//!
//! While all readers want no more than names, records come without values, so that the ring holds as many
//! changes of long values as of short ones. A reader that wants values passes those over: they are of
//! before it was registered, or were being made at that moment.

mod reader;
mod writers;

pub use reader::{Change, ChangeReader, Effect, Next};

use crate::arena::Mem;
use crate::limits::SESSIONS_MAX;
use crate::packed::Patch;
use crate::sync::atomics::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::atomics::{AtomicU64, fence};
use crate::sync::blocking::Mutex;
use crate::verbs::{Db, Encoding, Event, Kind, Millis};
use std::sync::Arc;
use writers::{Writers, Writing, wait_until};

pub(crate) const RECORD_HEADER_BYTES: usize = 48;
const MORE_BIT: u64 = 1 << 33;
const CREATED_BIT: u64 = 1 << 34;
const NAMED_BIT: u64 = 1 << 35;
const FORM_SHIFT: u32 = 40;

/// What happens when a reader of changes falls behind by the whole ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Writers go on; the reader is told how many bytes it lost.
    Lossy,
    /// Writers wait for this reader. It must not wait for a lock of the engine.
    Lossless,
}

/// What a reader wants to know of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    Values,
    /// Which key, and what happened to it. Values, and the bytes of patches, may be left out.
    Names,
}

/// A change on its way into the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry<'a> {
    Put {
        int: Option<i64>,
        value: [&'a [u8]; 3],
        deadline: Millis,
        flags: u32,
        kind: Kind,
        encoding: Encoding,
        created: bool,
    },
    /// Bytes stored within a value; a string may go on with them behind its end. See `patch_bytes`.
    Patch(&'a [u8]),
    Deadline(Millis),
    Remove,
    FlushDb,
    SwapDb(Db),
}

/// Patches as a record has them: for each, u32 offset, u32 length, bytes.
pub(crate) fn patch_bytes(patches: &[Patch<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for patch in patches {
        bytes.extend_from_slice(&(patch.at as u32).to_le_bytes());
        bytes.extend_from_slice(&(patch.bytes.len() as u32).to_le_bytes());
        bytes.extend_from_slice(patch.bytes);
    }
    bytes
}

impl Entry<'_> {
    fn code(&self) -> u8 {
        match self {
            Entry::Put { .. } => 1,
            Entry::Deadline(_) => 2,
            Entry::Remove => 3,
            Entry::FlushDb => 4,
            Entry::SwapDb(_) => 5,
            Entry::Patch(_) => 6,
        }
    }
}

/// Where the ring lies in the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub at: usize,
    pub bytes: usize,
    /// Offset of the u64 that counts all bytes ever reserved.
    pub head_at: usize,
    pub secret: u64,
}

#[derive(Debug)]
pub(crate) struct Journal {
    ring: Ring,
    /// Readers there are. Writers look at this before anything else.
    readers: AtomicU64,
    /// Those of them that want values.
    valued: AtomicU64,
    /// How far each lossless reader has come.
    lossless: Mutex<Vec<Arc<AtomicU64>>>,
    writers: Writers,
}

impl Journal {
    pub fn new(ring: Ring) -> Journal {
        let writers = Writers::new(SESSIONS_MAX);
        Journal {
            ring,
            readers: AtomicU64::new(0),
            valued: AtomicU64::new(0),
            lossless: Mutex::default(),
            writers,
        }
    }

    #[inline(always)]
    pub fn is_active(&self) -> bool {
        self.readers.load(Relaxed) != 0
    }

    /// Whether some reader wants values.
    #[inline(always)]
    pub fn tells_values(&self) -> bool {
        self.valued.load(Relaxed) != 0
    }

    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The position that the next change will have. Exact while all shards are locked.
    pub fn position(&self, mem: Mem<'_>) -> u64 {
        mem.u64_at(self.ring.head_at).load(Acquire)
    }

    /// For a lossless reader all shards must be locked, so that no change falls between the position and the count:
    /// what is made after that sees both counts, and has its value.
    pub(super) fn register(
        &self,
        delivery: Delivery,
        wants: Wants,
        position: u64,
    ) -> Option<Arc<AtomicU64>> {
        if wants == Wants::Values {
            self.valued.fetch_add(1, Relaxed);
        }
        self.readers.fetch_add(1, Relaxed);
        if delivery == Delivery::Lossy {
            return None;
        }
        let progress = Arc::new(AtomicU64::new(position));
        self.lossless.lock().expect("no holder panics").push(progress.clone());
        Some(progress)
    }

    /// Counts a reader that is about to come, so that the ring keeps its memory for it.
    pub(super) fn hold(&self) {
        self.readers.fetch_add(1, Relaxed);
    }

    pub(super) fn let_go(&self) {
        self.readers.fetch_sub(1, Relaxed);
    }

    fn unregister(&self, wants: Wants, progress: Option<&Arc<AtomicU64>>) {
        if let Some(progress) = progress {
            let mut readers = self.lossless.lock().expect("no holder panics");
            readers.retain(|r| !Arc::ptr_eq(r, progress));
        }
        self.readers.fetch_sub(1, Relaxed);
        if wants == Wants::Values {
            self.valued.fetch_sub(1, Relaxed);
        }
    }

    /// Puts a change into the ring. Under the locks of its shards. `session`: the slot's number of
    /// the session that makes it.
    pub fn append(
        &self,
        mem: Mem<'_>,
        session: usize,
        db: Db,
        event: Event,
        key: &[u8],
        entry: &Entry<'_>,
    ) {
        let mut text = [0u8; 20];
        // Looked at once, under the locks: all pieces of a value are there, or none.
        let tells_value = self.tells_values();
        let (parts, second, flags) = match entry {
            Entry::Put { int, value, deadline, flags, kind, encoding, created } => {
                let parts = match int {
                    None => *value,
                    Some(int) => {
                        use std::io::Write;
                        let mut rest = &mut text[..];
                        write!(rest, "{int}").expect("an i64 has at most 20 characters");
                        let used = 20 - rest.len();
                        [&text[..used], b"", b""]
                    }
                };
                let form = u64::from(*kind as u8) | u64::from(*encoding as u8) << 4;
                let created = if *created { CREATED_BIT } else { 0 };
                (parts, *deadline, u64::from(*flags) | form << FORM_SHIFT | created)
            }
            Entry::Patch(bytes) => ([*bytes, b"", b""], 0, 0),
            Entry::Deadline(deadline) => ([&b""[..]; 3], *deadline, 0),
            Entry::SwapDb(other) => ([&b""[..]; 3], u64::from(other.0), 0),
            Entry::Remove | Entry::FlushDb => ([&b""[..]; 3], 0, 0),
        };
        let (parts, flags) = match tells_value {
            true => (parts, flags),
            false => ([&b""[..]; 3], flags | NAMED_BIT),
        };
        let kind =
            u64::from(db.0) << 32 | u64::from(event as u8) << 48 | u64::from(entry.code()) << 56;
        let value_len = parts.iter().map(|p| p.len()).sum::<usize>();
        let piece_max = self.ring.bytes / 4 - RECORD_HEADER_BYTES - key.len();
        let mut from = 0;
        let mut first = None;
        loop {
            let len = (value_len - from).min(piece_max);
            let more = if from + len < value_len { MORE_BIT } else { 0 };
            let bytes = (RECORD_HEADER_BYTES + key.len() + len).next_multiple_of(8);
            let (position, writing) = self.reserve(mem, session, bytes as u64);
            let first = *first.get_or_insert(position);
            let mut record =
                RecordWriter { mem, ring: self.ring, position: position + 8, gathered: 0, bits: 0 };
            record.word(bytes as u64 | kind);
            record.word(second);
            record.word(key.len() as u64 | (len as u64) << 32);
            record.word(flags | more);
            record.word(first);
            record.bytes(key);
            let mut skip = from;
            let mut left = len;
            for part in parts {
                let start = skip.min(part.len());
                skip -= start;
                let take = (part.len() - start).min(left);
                record.bytes(&part[start..start + take]);
                left -= take;
            }
            record.finish();
            // Pairs with the Acquire in `ChangeReader::next`: who sees it sees the record.
            mem.u64_at(self.ring.place(position)).store((position + 1) ^ self.ring.secret, Release);
            drop(writing);
            from += len;
            if from >= value_len {
                return;
            }
        }
    }

    /// Where so many bytes go, in the place of some that nobody writes or has to be shown any more; and
    /// what is to live until they are written.
    fn reserve(&self, mem: Mem<'_>, session: usize, bytes: u64) -> (u64, Writing<'_>) {
        let head = mem.u64_at(self.ring.head_at);
        // Relaxed: the head only grows, so that any value it had is none too late for the mark.
        let writing = self.writers.begin(session, head.load(Relaxed));
        // Release and Acquire: whoever reserves later sees this session's mark of before, or a newer
        // one, when it looks in `wait_until_written`.
        let position = head.fetch_add(bytes, AcqRel);
        writing.begins_at(position);
        let reused = (position + bytes).saturating_sub(self.ring.bytes as u64);
        self.writers.wait_until_written(reused, position);
        self.wait_for_readers(reused);
        // A reader that sees a byte stored after this sees that the head has passed it. Pairs
        // with the Acquire fence in `ChangeReader::next`.
        fence(Release);
        (position, writing)
    }

    /// Waits until no lossless reader needs anything before `position`.
    fn wait_for_readers(&self, position: u64) {
        wait_until(|| {
            let readers = self.lossless.lock().expect("no holder panics");
            // Acquire: pairs with the Release with which a reader reports its progress.
            readers.iter().all(|reader| reader.load(Acquire) >= position).then_some(())
        });
    }
}

impl Ring {
    #[inline(always)]
    pub fn place(&self, position: u64) -> usize {
        self.at + (position % self.bytes as u64) as usize
    }
}

struct RecordWriter<'a> {
    mem: Mem<'a>,
    ring: Ring,
    position: u64,
    gathered: u64,
    bits: u32,
}

impl RecordWriter<'_> {
    fn word(&mut self, word: u64) {
        self.mem.u64_at(self.ring.place(self.position)).store(word, Relaxed);
        self.position += 8;
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (8 - self.bits as usize / 8).min(bytes.len());
            let mut next = [0u8; 8];
            next[..room].copy_from_slice(&bytes[..room]);
            self.gathered |= u64::from_le_bytes(next) << self.bits;
            self.bits += 8 * room as u32;
            bytes = &bytes[room..];
            if self.bits == 64 {
                let word = self.gathered;
                self.word(word);
                (self.gathered, self.bits) = (0, 0);
            }
        }
    }

    fn finish(mut self) {
        if self.bits > 0 {
            let word = self.gathered;
            self.word(word);
        }
    }
}
