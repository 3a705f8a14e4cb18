//! An arena as an attached process sees it: the same words, mapped for reading only.
//!
//! The descriptor comes from another process, so everything the header says is checked before it
//! is believed: a wrong file must be an error with a sentence, not a fault.

use super::header as h;
use super::layout::{LAYOUT_HASH, LAYOUT_VERSION, Layout};
use super::words::Words;
use super::{ArenaError, map, mapped, step};
use crate::limits::ARENA_BYTES_MAX;
use crate::sync::atomics::{Ordering, fence};
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};

/// A read-only mapping of somebody's arena.
#[derive(Debug)]
pub struct ArenaView {
    words: Words,
    _mapping: map::Mapping,
    _fd: OwnedFd,
}

impl Deref for ArenaView {
    type Target = Words;

    #[inline]
    fn deref(&self) -> &Words {
        &self.words
    }
}

impl ArenaView {
    /// Maps the arena behind a descriptor, if it is one of this build's layout.
    pub fn open(fd: OwnedFd) -> Result<ArenaView, ArenaError> {
        let size = step("ask for the arena's length", rustix::fs::fstat(&fd))?.st_size as u64;
        let smallest = Layout::of_extents(1, 0);
        if size < smallest.len || size > ARENA_BYTES_MAX {
            return Err(ArenaError::Foreign("this file is not an arena: its length cannot be"));
        }
        let seals = step("ask for the arena's seals", rustix::fs::fcntl_get_seals(&fd))?;
        if !seals.contains(rustix::fs::SealFlags::SHRINK) {
            return Err(ArenaError::Foreign(
                "this file could shrink while it is read, so it is not attached to",
            ));
        }
        let mapping = mapped(map::Mapping::new(fd.as_fd(), size as usize, false))?;
        // The header's length is compared with the file's below, before any word beyond the
        // smallest arena is used; until then the words span the smallest arena only.
        // SAFETY: the mapping reserves all that words can reach and lives as long as these.
        let words = unsafe { Words::new(mapping.base(), smallest) };
        let layout = validate(&words, size)?;
        // SAFETY: the mapping reserves all that words can reach; it lives in the same `ArenaView`
        // as the words.
        let words = unsafe { Words::new(mapping.base(), layout) };
        Ok(ArenaView { words, _mapping: mapping, _fd: fd })
    }
}

fn validate(words: &Words, size: u64) -> Result<Layout, ArenaError> {
    let get64 = |at| words.load64(at, Ordering::Relaxed);
    let get32 = |at| words.load32(at, Ordering::Relaxed);
    if get64(h::MAGIC_AT) != h::MAGIC {
        return Err(ArenaError::Foreign("this file is not an arena: it does not begin as one"));
    }
    // Acquire: pairs with the Release store of the magic in `Arena::write_header`.
    fence(Ordering::Acquire);
    if get32(h::LAYOUT_VERSION_AT) != LAYOUT_VERSION
        || get64(h::LAYOUT_HASH_AT) != LAYOUT_HASH
        || get32(h::SHIFTS_AT) != h::SHIFTS
    {
        return Err(ArenaError::Foreign(
            "this arena belongs to another version of Dolium; use the same version on both sides",
        ));
    }
    let extents = get32(h::EXTENTS_COUNT_AT);
    let journal_bytes = get64(h::JOURNAL_BYTES_AT);
    if extents as u64 > ARENA_BYTES_MAX || journal_bytes > ARENA_BYTES_MAX {
        return Err(ArenaError::Foreign("this arena's header is damaged"));
    }
    let layout = Layout::of_extents(extents, journal_bytes);
    if layout.len != get64(h::LENGTH_AT) || layout.len != size {
        return Err(ArenaError::Foreign("this arena's header is damaged: its length is wrong"));
    }
    Ok(layout)
}
