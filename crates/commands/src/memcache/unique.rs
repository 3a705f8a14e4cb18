//! Unique numbers as clients see them: their own, or none where there are none (`-C`).
//!
//! The store makes numbers also under `-C`, because an item with one remembers when it was used.
//! Nobody is told them then, as in Memcached, whose items all have number 0, and none matches.

use super::{McContext, UNIQUE_OFF};
use dolium_engine::Found;
use dolium_protocol::memcache::write;

/// The unique number that items are shown with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// None: `get`.
    Hidden,
    /// Their own: `gets`.
    Own,
    /// 0, for all: `gets` without unique numbers (`-C`).
    Zero,
}

impl Number {
    #[inline(always)]
    pub(super) fn new(context: &McContext<'_>, cas: bool) -> Number {
        match cas {
            false => Number::Hidden,
            true if context.is_watched(UNIQUE_OFF) => Number::Zero,
            true => Number::Own,
        }
    }

    /// Whether an item can be shown as it is: it may have no number of its own yet.
    #[inline(always)]
    pub(super) fn is_there(self, found: &Found) -> bool {
        self != Number::Own || found.unique != 0
    }

    /// The first line of an item in the reply to a retrieval.
    #[inline(always)]
    pub(super) fn header(self, out: &mut Vec<u8>, key: &[u8], found: &Found) {
        let unique = match self {
            Number::Hidden => None,
            Number::Own => Some(found.unique),
            Number::Zero => Some(0),
        };
        write::value_header(out, key, found.flags, found.len, unique);
    }
}

impl McContext<'_> {
    /// A unique number as clients are told it: 0 for all, without unique numbers (`-C`).
    pub(super) fn shown_unique(&self, unique: u64) -> u64 {
        if self.watched & UNIQUE_OFF == 0 { unique } else { 0 }
    }

    /// Whether an item has the unique number that a client gives. One that nobody has asked for its
    /// number has none that a client could have.
    pub(super) fn has_unique(&self, found: &Found, unique: u64) -> bool {
        unique != 0 && self.shown_unique(found.unique) == unique
    }

    /// Whether a deletion by this unique number means the item. Without unique numbers (`-C`) 0, which all
    /// are shown with, does, as in Memcached; what stores takes no number then.
    pub(super) fn is_deleted_by(&self, found: &Found, unique: u64) -> bool {
        self.has_unique(found, unique) || unique == 0 && self.is_watched(UNIQUE_OFF)
    }
}
