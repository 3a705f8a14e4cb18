//! The arena: one memory file that is the whole store, mapped once by each process that uses it.
//!
//! Nothing in it is a pointer. A reference is a u32 that counts granules of eight bytes from the
//! arena's start, so every process may map it where it likes and a reference from anybody can be
//! checked with one compare.

mod bytes;
pub mod header;
pub mod layout;
#[cfg(not(any(shuttle, miri)))]
mod map;
#[cfg(any(shuttle, miri))]
#[path = "model.rs"]
mod map;
mod mem;
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle))))]
mod unaligned;
mod view;
mod words;

pub use bytes::Frame;
pub(crate) use mem::Mem;
pub use view::ArenaView;
pub use words::Words;

use crate::sync::atomics::{AtomicU32, AtomicU64, Ordering};
use header as h;
use layout::{Layout, SYSTEM_PAGE};
use std::fmt;
use std::io;
use std::ops::Deref;
#[cfg(not(any(shuttle, miri)))]
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

/// A place in the arena: its offset in granules of eight bytes, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Ref(std::num::NonZeroU32);

impl Ref {
    /// A stored reference; 0 means none.
    #[inline]
    pub fn from_raw(raw: u32) -> Option<Ref> {
        std::num::NonZeroU32::new(raw).map(Ref)
    }

    #[inline]
    pub fn raw(self) -> u32 {
        self.0.get()
    }

    #[inline]
    pub fn offset(self) -> u64 {
        (self.0.get() as u64) << layout::GRANULE_SHIFT
    }

    /// The reference to a block at an offset, which must be a multiple of eight within reach.
    #[inline]
    pub fn from_offset(offset: u64) -> Option<Ref> {
        debug_assert!(offset.is_multiple_of(8));
        u32::try_from(offset >> layout::GRANULE_SHIFT).ok().and_then(Ref::from_raw)
    }
}

/// How to create an arena.
#[derive(Clone, Debug)]
pub struct ArenaOptions {
    /// The most that blocks may ever take; address space for it is reserved at once.
    pub max_bytes: u64,
    pub journal_bytes: u64,
    pub shards: u32,
    pub databases: u32,
    pub hash_seed: [u64; 2],
    /// Tells this arena from every other one; the engine has no random numbers of its own.
    pub uuid: [u64; 2],
}

#[derive(Debug)]
pub enum ArenaError {
    /// A step of creating or opening the arena that the system refused.
    System { step: &'static str, error: io::Error },
    /// The system does not let the process have so many addresses, be they ever used or not.
    AddressSpace { bytes: u64, error: io::Error },
    /// The system does not let the process have a file of so many bytes, be they ever used or not.
    FileSize { bytes: u64, error: io::Error },
    /// The descriptor is not an arena that this build can read.
    Foreign(&'static str),
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArenaError::System { step, error } => write!(f, "cannot {step}: {error}"),
            ArenaError::AddressSpace { bytes, error } => write!(
                f,
                "cannot reserve {} GiB of address space, which is no memory and needed however small \
                 the store is: {error}. Raise ulimit -v, or of a unit of systemd LimitAS=",
                bytes.div_ceil(1 << 30)
            ),
            ArenaError::FileSize { bytes, error } => write!(
                f,
                "cannot make a memory file of {} GiB, of which no more is taken than the data needs: \
                 {error}. Raise ulimit -f, or of a unit of systemd LimitFSIZE=",
                bytes.div_ceil(1 << 30)
            ),
            ArenaError::Foreign(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ArenaError {}

impl From<ArenaError> for io::Error {
    fn from(error: ArenaError) -> Self {
        match error {
            ArenaError::System { error: ref source, .. }
            | ArenaError::AddressSpace { error: ref source, .. }
            | ArenaError::FileSize { error: ref source, .. } => {
                io::Error::new(source.kind(), error.to_string())
            }
            ArenaError::Foreign(why) => io::Error::new(io::ErrorKind::InvalidData, why),
        }
    }
}

fn step<T, E: Into<io::Error>>(step: &'static str, outcome: Result<T, E>) -> Result<T, ArenaError> {
    outcome.map_err(|error| ArenaError::System { step, error: error.into() })
}

fn mapped<T>(outcome: io::Result<T>) -> Result<T, ArenaError> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            Err(ArenaError::AddressSpace { bytes: layout::REACH + layout::RUN_MAX, error })
        }
        outcome => step("map the arena", outcome),
    }
}

/// An arena that this process may write to.
#[derive(Debug)]
pub struct Arena {
    words: Words,
    mapping: map::Mapping,
    fd: map::File,
}

impl Deref for Arena {
    type Target = Words;

    #[inline]
    fn deref(&self) -> &Words {
        &self.words
    }
}

impl Arena {
    /// A new, empty arena. Its header, class control blocks, summaries and reaches are committed.
    pub fn create(options: &ArenaOptions) -> Result<Arena, ArenaError> {
        let layout = Layout::new(options.max_bytes, options.journal_bytes);
        let fd = match map::create_file(layout.len) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(ArenaError::FileSize { bytes: layout.len, error });
            }
            made => step("create the arena's memory file", made)?,
        };
        let mapping = mapped(map::Mapping::new(fd.as_fd(), layout.len as usize, true))?;
        // SAFETY: the mapping reserves all that words can reach, is aligned to 2 MiB, and lives in
        // the same `Arena` as the words.
        let words = unsafe { Words::new(mapping.base(), layout) };
        let arena = Arena { words, mapping, fd };
        arena.commit_start(layout::SHARDS_AT)?;
        arena.write_header(options);
        Ok(arena)
    }

    /// Commits the start of the arena up to `end`, before the header can hold the account of it.
    fn commit_start(&self, end: u64) -> Result<(), ArenaError> {
        step("commit the arena's first pages", map::commit(self.fd.as_fd(), 0, end))?;
        self.u64_at(h::COMMITTED_AT).store(end, Ordering::Relaxed);
        Ok(())
    }

    fn write_header(&self, options: &ArenaOptions) {
        let layout = *self.layout();
        let put64 = |at, value| self.u64_at(at).store(value, Ordering::Relaxed);
        let put32 = |at, value| self.u32_at(at).store(value, Ordering::Relaxed);
        put32(h::LAYOUT_VERSION_AT, layout::LAYOUT_VERSION);
        put32(h::SHIFTS_AT, h::SHIFTS);
        put64(h::LAYOUT_HASH_AT, layout::LAYOUT_HASH);
        put64(h::UUID_AT, options.uuid[0]);
        put64(h::UUID_AT + 8, options.uuid[1]);
        put64(h::LENGTH_AT, layout.len);
        put32(h::EXTENTS_COUNT_AT, layout.extents);
        put32(h::DATABASES_AT, options.databases);
        put64(h::JOURNAL_BYTES_AT, layout.journal_bytes);
        put64(h::HASH_SEED_AT, options.hash_seed[0]);
        put64(h::HASH_SEED_AT + 8, options.hash_seed[1]);
        put32(h::SHARD_COUNT_AT, options.shards);
        put64(h::LIMIT_AT, layout.most_committed());
        // Release: pairs with the Acquire fence after the magic's load in `ArenaView::open`, so
        // that whoever sees the magic sees all of the header.
        self.u64_at(h::MAGIC_AT).store(h::MAGIC, Ordering::Release);
    }

    /// A u64 of the arena. A word is either always a u64 or always two u32s.
    #[inline(always)]
    pub fn u64_at(&self, offset: u64) -> &AtomicU64 {
        self.words.word64(offset)
    }

    /// A u32 of the arena.
    #[inline(always)]
    pub fn u32_at(&self, offset: u64) -> &AtomicU32 {
        self.words.word32(offset)
    }

    /// Stores bytes into a block that the caller owns, at any offset; see `bytes.rs`.
    #[inline]
    pub fn copy_in(&self, offset: u64, bytes: &[u8]) {
        self.words.store_bytes(offset, bytes);
    }

    /// A descriptor for a process that attaches. It cannot be written through.
    pub fn read_only_fd(&self) -> io::Result<OwnedFd> {
        map::reopen_read_only(self.fd.as_fd())
    }

    /// Everything the arena takes from the system, fixed areas included.
    #[inline]
    pub fn committed(&self) -> u64 {
        self.load64(h::COMMITTED_AT, Ordering::Relaxed)
    }

    /// What `committed` may grow to.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.load64(h::LIMIT_AT, Ordering::Relaxed)
    }

    /// What may still be committed.
    #[inline]
    pub(crate) fn uncommitted(&self) -> u64 {
        self.limit().saturating_sub(self.committed())
    }

    /// Sets the limit. One below what is committed frees nothing by itself; it refuses growth. One
    /// beyond what extents can hold would never be met: nothing would be evicted, and no block be had.
    pub fn set_limit(&self, bytes: u64) {
        self.u64_at(h::LIMIT_AT)
            .store(bytes.min(self.layout().most_committed()), Ordering::Relaxed);
    }

    /// Takes `bytes` into the account of committed memory, if the limit allows.
    pub(crate) fn charge(&self, bytes: u64) -> bool {
        let limit = self.limit();
        // Relaxed: a counter that orders nothing.
        self.u64_at(h::COMMITTED_AT)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |committed| {
                committed.checked_add(bytes).filter(|sum| *sum <= limit)
            })
            .is_ok()
    }

    pub(crate) fn discharge(&self, bytes: u64) {
        self.u64_at(h::COMMITTED_AT).fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Commits whole system pages that [`Arena::charge`] was already asked for.
    pub(crate) fn commit_charged(&self, offset: u64, len: u64) -> io::Result<()> {
        map::commit(self.fd.as_fd(), offset, len)?;
        self.mapping.populate(offset, len);
        Ok(())
    }

    /// Commits a range that was charged as one huge page, if the system has one. If not, some of it may stay
    /// committed.
    ///
    /// The system makes a huge page of what has a page already, and clears the rest of it: one small page is
    /// set aside first. It must not be mapped: to be taken out of the page tables of a process whose threads run
    /// on other cores it would stop each of them twice.
    pub(crate) fn commit_as_huge_page(&self, offset: u64, len: u64) -> io::Result<()> {
        map::commit(self.fd.as_fd(), offset, SYSTEM_PAGE)?;
        self.mapping.collapse(offset, len)
    }

    /// Charges and commits a range of a fixed area. False: beyond the limit, or no memory.
    pub fn commit_fixed(&self, offset: u64, len: u64) -> bool {
        debug_assert!(offset.is_multiple_of(SYSTEM_PAGE) && len.is_multiple_of(SYSTEM_PAGE));
        if len == 0 {
            return true;
        }
        if !self.charge(len) {
            return false;
        }
        if self.commit_charged(offset, len).is_err() {
            self.discharge(len);
            return false;
        }
        true
    }

    /// Commits the control blocks of a database's shards. To be called once per database.
    pub fn commit_database(&self, database: u32, shards: u32) -> bool {
        let bytes = shards as u64 * layout::SHARD_CTL_BYTES;
        let start = self.layout().shard_ctl(database, 0);
        self.commit_fixed(start, bytes.next_multiple_of(SYSTEM_PAGE))
    }

    /// Commits the journal's ring, which is not.
    pub fn commit_journal(&self) -> bool {
        self.commit_fixed(self.layout().journal_at, self.layout().journal_bytes)
    }

    /// Gives the memory of the journal's ring back, which is committed. False: the system refused.
    pub fn give_back_journal(&self) -> bool {
        let (at, len) = (self.layout().journal_at, self.layout().journal_bytes);
        let is_released = self.release(at, len).is_ok();
        if is_released {
            self.discharge(len);
        }
        is_released
    }

    /// Gives the memory of a range back to the system.
    pub(crate) fn release(&self, offset: u64, len: u64) -> io::Result<()> {
        map::release(self.fd.as_fd(), offset, len)
    }

    pub(crate) fn collapse(&self, offset: u64, len: u64) -> io::Result<()> {
        self.mapping.collapse(offset, len)
    }
}
