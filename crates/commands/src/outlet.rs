//! The way of a large value to its client: from the store's memory to the socket, not through the
//! buffer of replies.
//!
//! Copying 100 kB into that buffer costs as much as a good part of sending them. So a value of
//! [`LENT_BYTES`] is shown to the socket where it lies, under the lock of its shard, which keeps it
//! there: writers of the shard wait for one `sendmsg` that does not wait itself. What the socket
//! has no room for is copied. Larger values are copied without the lock, as small ones are: they
//! would hold it for too long.
//!
//! ```text
//! out        | replies of earlier requests, the head of this one |
//! the store                                                        | value |
//! end                                                                        | \r\n |
//! ```

use dolium_engine::{Db, Found, Key, Millis, Session};
use std::ops::RangeInclusive;

/// Lengths of values that are worth a lock and are sent quickly enough to hold one.
pub const LENT_BYTES: RangeInclusive<usize> = 32 * 1024..=1024 * 1024;

/// What carries replies to a client, when nothing that was to be sent earlier waits in it.
pub trait Outlet {
    /// Sends all that is in `out`, which is empty afterwards, then `value`, then `end`. Keeps a
    /// copy of what there is no room for.
    fn pass(&mut self, out: &mut Vec<u8>, value: &[u8], end: &[u8]);
}

/// Sends the value of a string as it lies in the store, after what `head` appends to `out`.
/// False: it has gone, or is something else by now, and `out` is as it was.
pub(crate) fn pass(
    outlet: &mut dyn Outlet,
    (session, db, now): (&Session, Db, Millis),
    key: &Key<'_>,
    out: &mut Vec<u8>,
    head: impl FnOnce(&Found, &mut Vec<u8>),
    end: &[u8],
) -> bool {
    let mut guard = session.write(db, key, now);
    let Some((found, value)) = guard.lend(db, key) else { return false };
    head(&found, out);
    outlet.pass(out, value, end);
    true
}
