//! A change of a part of a string, and the room for it.
//!
//! ```text
//!   room for what it brings -> lock -> in place: no more is needed
//!                                   -> anew: is there room for all of it? -> store
//!                                            else: unlock, make room, lock, from the start
//! ```
//! That what is brought has room is asked of every change, as of a SET: where memory has ended, Redis refuses
//! these commands, whatever they would take. But a string that stays where it is takes no other copy of itself.
//! Were room made for one, five bytes behind ten megabytes would drive out ten megabytes, or be refused.

use crate::context::Context;
use crate::redis::error::CommandError;
use dolium_engine::{Db, Event, Found, Guard, Key, Patch, Session, grown_bytes};

/// So many zeros between a string's end and what is stored behind it are a part of that.
const GAP_BYTES_MAX: usize = 64 << 10;

/// The room that a change has been made.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    session: &'a Session,
    /// Bytes for which it was made.
    made: usize,
}

impl Room<'_> {
    /// Asked before a key and its string, of so many bytes together, are stored anew. The error has `change`
    /// make room and run the change again.
    pub fn is_there_for(&self, bytes: usize) -> Result<(), CommandError> {
        if bytes <= self.made || self.session.has_ample_room(grown_bytes(bytes)) {
            return Ok(());
        }
        Err(CommandError::NoRoomFor(bytes))
    }
}

/// Stores a part of the string that was found at a key: where it stands, or else in a new block. The part may begin
/// behind its end, after zeros. False: nothing was done, for the string is no string of bytes but an integer.
pub(super) fn store_part(
    guard: &mut Guard<'_>,
    (db, key): (Db, &Key<'_>),
    event: Event,
    found: &Found,
    part: &Patch<'_>,
    room: Room<'_>,
) -> Result<bool, CommandError> {
    let is_stored = match part.at.checked_sub(found.len) {
        Some(gap @ 1..=GAP_BYTES_MAX) => {
            let mut bytes = vec![0; gap];
            bytes.extend_from_slice(part.bytes);
            guard.store_part(db, key, event, &Patch { at: found.len, bytes: &bytes })
        }
        _ => guard.store_part(db, key, event, part),
    };
    if is_stored {
        return Ok(true);
    }
    room.is_there_for(key.bytes().len() + found.len.max(part.at + part.bytes.len()))?;
    Ok(guard.grow(db, key, event, part)?)
}

/// Runs a change of a string under its lock, as often as it finds that it needs more room than was made.
pub(super) fn change<R>(
    ctx: &Context<'_>,
    key: &Key<'_>,
    brings: usize,
    mut run: impl FnMut(&mut Guard<'_>, Room<'_>) -> Result<R, CommandError>,
) -> Result<R, CommandError> {
    let mut room = Room { session: ctx.session, made: key.bytes().len() + brings };
    ctx.make_room(room.made)?;
    if ctx.client.transaction.running {
        // EXEC has made room for all that its commands store anew, and none can be made under its locks.
        room.made = usize::MAX;
    }
    loop {
        let outcome = run(&mut ctx.session.write(ctx.db(), key, ctx.now), room);
        match outcome {
            Err(CommandError::NoRoomFor(bytes)) if bytes > room.made => {
                // Room to spare is left out where there is none.
                ctx.make_room(grown_bytes(bytes)).or_else(|_| ctx.make_room(bytes))?;
                room.made = bytes;
            }
            outcome => return outcome,
        }
    }
}
