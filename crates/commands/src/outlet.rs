//! The way of a large value to its client: from the store's memory to the socket, not through the
//! buffer of replies.
//!
//! Copying 100 kB into that buffer costs as much as a good part of sending them. So a value of
//! [`LENT_BYTES`] is leased: it stays where it lies until its lease ends, whatever happens to its
//! key, and no lock is taken for that. What carries the replies remembers where in them the value
//! belongs, and sends all of it together. Larger values are copied, as small ones are: they would
//! be kept for too long.
//!
//! ```text
//! out        | replies, the head of this one | \r\n and later replies |
//! the store                                 ^ value
//! ```

use dolium_engine::{Db, Found, Key, LEASED_BYTES_MIN, Millis};
use std::ops::RangeInclusive;

/// Lengths of values that are worth a second look at the index, and are sent quickly enough to hold a lease.
pub const LENT_BYTES: RangeInclusive<usize> = LEASED_BYTES_MIN..=1024 * 1024;

/// What carries replies to a client, when nothing that was to be sent earlier waits in it.
pub trait Outlet {
    /// Whether more may be lent before the next is sent.
    fn has_room(&self) -> bool;

    /// Leases the value of a string. If there is one and `head` says so of it, its bytes come after
    /// those that are in `out` then, and after leases that were given for the same place earlier.
    /// False: nothing is lent.
    fn lend(
        &mut self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        head: &mut dyn FnMut(&Found, &mut Vec<u8>) -> bool,
    ) -> bool;

    /// The value that was lent last may be asked for again instead of being kept, if none of it is
    /// sent: by the key with which the last `bytes` of the request's line begin.
    fn may_ask_again(&mut self, bytes: usize);

    /// Bytes of the values that it has leased.
    fn bytes(&self) -> usize;

    /// How many leases it has.
    fn count(&self) -> usize;

    /// Ends all leases but the first so many: the replies that they belong to are taken back.
    fn take_back(&mut self, count: usize);

    /// Has no room until what it has is sent.
    fn close(&mut self);
}

/// Answers with the value of a string as it lies in the store, between what `head` appends to `out`
/// and `end`. False: it has gone, or is by now something else than what `suits` and is lent, and
/// `out` is as it was.
pub(crate) fn pass(
    outlet: &mut dyn Outlet,
    (db, now): (Db, Millis),
    key: &Key<'_>,
    out: &mut Vec<u8>,
    mut suits: impl FnMut(&Found) -> bool,
    mut head: impl FnMut(&Found, &mut Vec<u8>),
    end: &[u8],
) -> bool {
    let is_lent = outlet.lend(db, key, now, out, &mut |found, out| {
        let is_it = LENT_BYTES.contains(&found.len) && suits(found);
        if is_it {
            head(found, out);
        }
        is_it
    });
    if is_lent {
        out.extend_from_slice(end);
    }
    is_lent
}
