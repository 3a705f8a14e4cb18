//! New times to live: gat, gats, touch.
//!
//! Under the lock of the item's shard. What a new time to live takes may be another copy of the item, for which
//! room is made before; a client is shown no item whose time to live could not be changed.

use super::exptime::Life;
use super::retrieve::{NO_MEMORY, NOT_A_STRING};
use super::unique::Number;
use super::{Count, McContext};
use crate::limits::ROOM_TRIES;
use dolium_engine::{Event, Found, Kind};
use dolium_protocol::memcache::write;

/// Appends the item of a key, if there is one, and gives it a new time to live. `Err`: there is one that cannot
/// be shown, for the reason that the sentence gives.
pub(super) fn get_and_touch(
    context: &mut McContext<'_>,
    key: &[u8],
    cas: bool,
    life: Life,
) -> Result<(), &'static str> {
    let name = context.session.engine().key(key);
    let number = Number::new(context, cas);
    context.tally.add(Count::Touch);
    for _ in 0..ROOM_TRIES {
        let _ = context.make_room_to_rewrite(&name);
        let mut guard = context.session.write(context.db, &name, context.now);
        match guard.find(context.db, &name) {
            None => {
                context.tally.add(Count::TouchMiss);
                return Ok(());
            }
            Some(found) if found.kind != Kind::String => return Err(NOT_A_STRING),
            Some(_) => {}
        }
        let unique = if number == Number::Own { guard.unique(context.db, &name) } else { Ok(0) };
        let (Ok(unique), Some(found)) = (unique, guard.find(context.db, &name)) else { continue };
        let start = context.out.len();
        number.header(context.out, key, &Found { unique, ..found });
        guard.value(context.db, &name, context.out);
        write::block_end(context.out);
        guard.touch(context.db, &name);
        let renewed = match life.deadline() {
            Some(deadline) => guard.set_deadline(context.db, &name, deadline, Event::Expire),
            None => Ok(guard.remove(context.db, &name, Event::Expired)),
        };
        if renewed.is_ok() {
            context.tally.add(Count::TouchHit);
            return Ok(());
        }
        // Not shown: a client that was shown the item would rely on its new time to live.
        context.out.truncate(start);
    }
    Err(NO_MEMORY)
}

/// Gives an item a new time to live.
pub(super) fn touch(context: &mut McContext<'_>, key: &[u8], life: Life) -> &'static str {
    let name = context.session.engine().key(key);
    context.tally.add(Count::Touch);
    for _ in 0..ROOM_TRIES {
        let _ = context.make_room_to_rewrite(&name);
        let mut guard = context.session.write(context.db, &name, context.now);
        let touched = match life.deadline() {
            Some(deadline) => {
                guard.touch(context.db, &name);
                guard.set_deadline(context.db, &name, deadline, Event::Expire)
            }
            None => Ok(guard.remove(context.db, &name, Event::Expired)),
        };
        let Ok(is_there) = touched else { continue };
        context.tally.add(if is_there { Count::TouchHit } else { Count::TouchMiss });
        return if is_there { "TOUCHED" } else { "NOT_FOUND" };
    }
    NO_MEMORY
}
