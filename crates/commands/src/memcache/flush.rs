//! flush_all: empties the listener's database, now or at a time to come.
//!
//! Memcached's delayed flush invalidates at that time every item stored before it; emptying the
//! database at that time is the same. As there, a later flush_all replaces one that is awaited.

use super::exptime::Life;
use super::{Count, McContext};

pub(super) fn run(context: &mut McContext<'_>, delay: i64) -> &'static str {
    context.tally.add(Count::Flush);
    match context.life(delay) {
        Life::Until(at) => context.server.schedule_flush(context.db, Some(at)),
        Life::Never | Life::Over => {
            context.server.schedule_flush(context.db, None);
            context.session.write_all(context.now).flush(context.db);
        }
    }
    "OK"
}
