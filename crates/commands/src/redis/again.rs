//! Commands that run once more, because others took the room that was made for them.
//!
//! ```text
//!   thread A   makes room: one item goes  . . . . . . .  locks -> no block: full
//!   thread B       sees that there is room -> locks -> takes it
//! ```
//! Room is made before locks are taken, since eviction has to take some itself, and is nobody's until
//! an item is stored in it. Of large values it is room for one: who comes second finds none, although
//! others could still go. The command then begins anew, and makes room, looks at its conditions and
//! reads old values again.
//!
//! That is for commands which, where memory ends, have changed nothing, or nothing that doing it again
//! would not change in the same way: those of strings, and those that move and date whole values.
//! Those of collections run the part of them that is under locks again by themselves, and know how much
//! room a collection takes that has to be made anew (see [`collection::Tries`](super::collection::Tries)).

use crate::context::{Context, rewritten_bytes};
use crate::limits::ROOM_TRIES;
use crate::redis::error::CommandError;
use crate::redis::row::{Call, Group, Outcome, flag};
use dolium_engine::StoreError;

/// What becomes of a command that has failed so. Whatever it has written to `out` from `start` on counts
/// for nothing if it runs again; if that fails, too, the error is the last one.
pub fn run_again(
    ctx: &mut Context<'_>,
    call: &Call<'_>,
    start: usize,
    mut error: CommandError,
) -> Outcome {
    // EXEC holds locks, under which no room can be made.
    let may_run_again = !ctx.client.transaction.running
        && matches!(call.row.group, Group::String | Group::Bitmap | Group::Generic);
    for _ in 1..ROOM_TRIES {
        if !may_run_again || error != CommandError::Store(StoreError::Full) {
            break;
        }
        ctx.out.truncate(start);
        if !call.row.has(flag::DENYOOM) {
            make_room_to_rewrite(ctx, call)?;
        }
        match (call.row.run)(ctx, call) {
            Ok(()) => return Ok(()),
            Err(again) => error = again,
        }
    }
    Err(error)
}

/// EXPIRE and its like bring nothing, and make no room by themselves; but a first time to live takes
/// another copy of the item.
fn make_room_to_rewrite(ctx: &Context<'_>, call: &Call<'_>) -> Outcome {
    let key = call.key();
    match ctx.session.peek(ctx.db(), &key, ctx.now) {
        Some(found) => ctx.make_room_beside(&key, rewritten_bytes(&key, &found)),
        None => Ok(()),
    }
}
