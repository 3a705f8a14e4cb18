//! flush_all: empties the listener's database, now or at a time to come.
//!
//! Memcached's delayed flush invalidates at that time every item stored before it; emptying the
//! database at that time is the same. As there, a later flush_all replaces one that is awaited.

use super::exptime::Life;
use super::{Count, McContext, Reason};
use std::sync::atomic::Ordering::Relaxed;

/// So many keys at most are remembered as flushed, for `get_flushed`.
const REMEMBERED_MAX: u64 = 4096;

pub(super) fn run(context: &mut McContext<'_>, delay: i64) -> &'static str {
    if !context.server.settings().fixed.flush_enabled {
        return "CLIENT_ERROR flush_all not allowed";
    }
    context.tally.add(Count::Flush);
    match context.life(delay) {
        Life::Until(at) => context.server.schedule_flush(context.db, Some(at)),
        // A moment too far to be told never comes. It takes the place of one that is awaited, as any.
        Life::Never if delay != 0 => context.server.schedule_flush(context.db, None),
        // A Unix time that is past flushes nothing, and nothing is awaited any more. Only a negative one
        // means at once.
        Life::Over if delay > 0 => context.server.schedule_flush(context.db, None),
        Life::Never | Life::Over => {
            context.server.schedule_flush(context.db, None);
            let items = context.session.engine().len(context.db);
            if items <= REMEMBERED_MAX {
                remember(context);
            }
            context.server.note_flushed(items);
            context.server.settings().live.flushed_at.store(context.now / 1000, Relaxed);
            context.session.write_all(context.now).flush(context.db);
        }
    }
    "OK"
}

/// Has a `flush_all` been this very second?
pub(super) fn was_this_second(context: &McContext<'_>) -> bool {
    context.server.settings().live.flushed_at.load(Relaxed) == context.now / 1000
}

fn remember(context: &McContext<'_>) {
    let (session, db, now) = (context.session, context.db, context.now);
    let mut cursor = 0;
    loop {
        cursor = session.scan(db, cursor, 64, now, |key, _| {
            let hash = session.engine().key(key).hash();
            context.server.note_departure(hash, Reason::Flushed);
        });
        if cursor == 0 {
            return;
        }
    }
}
