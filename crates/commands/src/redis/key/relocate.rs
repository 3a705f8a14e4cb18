//! RENAME, RENAMENX, COPY, MOVE: a value gets another key or another database.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::database;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Db, Event, Found, Guard, Key, Kind, StoreError};

/// A key in a database.
type Place<'k> = (Db, Key<'k>);

pub fn rename(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    move_value(ctx, call, Existing::Replaced)?;
    ctx.reply().ok();
    Ok(())
}

pub fn renamenx(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let moved = move_value(ctx, call, Existing::Kept)?;
    ctx.reply().int(i64::from(moved));
    Ok(())
}

/// What becomes of a key that already has the new name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Kept,
    Replaced,
}

fn move_value(
    ctx: &Context<'_>,
    call: &Call<'_>,
    existing: Existing,
) -> Result<bool, CommandError> {
    let db = ctx.db();
    let (from, to) = ((db, call.key()), (db, ctx.key(call.args.arg(2))));
    let (mut guard, found) = lock(ctx, from, to, false)?;
    let found = found.ok_or(CommandError::NoSuchKey)?;
    if from.1.bytes() == to.1.bytes() {
        return Ok(existing == Existing::Replaced);
    }
    if existing == Existing::Kept && guard.find(db, &to.1).is_some() {
        return Ok(false);
    }
    transfer(&mut guard, from, to, [Event::RenameFrom, Event::RenameTo])?;
    drop(guard);
    tell_of_list(ctx, to, &found);
    Ok(true)
}

pub fn move_key(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let target = database(call.args.arg(2), ctx.session.engine().databases())?;
    if target == ctx.db() {
        return Err(CommandError::SameObject);
    }
    let (from, to) = ((ctx.db(), call.key()), (target, call.key()));
    let (mut guard, found) = lock(ctx, from, to, false)?;
    let moved = match found {
        Some(_) if guard.find(to.0, &to.1).is_none() => {
            transfer(&mut guard, from, to, [Event::MoveFrom, Event::MoveTo])?;
            true
        }
        _ => false,
    };
    drop(guard);
    if let Some(found) = found.filter(|_| moved) {
        tell_of_list(ctx, to, &found);
    }
    ctx.reply().int(i64::from(moved));
    Ok(())
}

pub fn copy(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let mut target = ctx.db();
    let mut replace = false;
    let mut i = 3;
    while i < call.args.len() {
        let word = call.args.arg(i);
        if word.eq_ignore_ascii_case(b"REPLACE") {
            replace = true;
        } else if word.eq_ignore_ascii_case(b"DB") && i + 1 < call.args.len() {
            i += 1;
            target = database(call.args.arg(i), ctx.session.engine().databases())?;
        } else {
            return Err(CommandError::Syntax);
        }
        i += 1;
    }
    let (from, to) = ((ctx.db(), call.key()), (target, ctx.key(call.args.arg(2))));
    if from.0 == to.0 && from.1.bytes() == to.1.bytes() {
        return Err(CommandError::SameObject);
    }
    let (mut guard, found) = lock(ctx, from, to, true)?;
    ctx.session.count_look(found.is_some());
    let copied = match found {
        Some(_) if replace || guard.find(to.0, &to.1).is_none() => {
            guard.copy((from.0, &from.1), (to.0, &to.1), Event::CopyTo)?
        }
        _ => false,
    };
    drop(guard);
    if let Some(found) = found.filter(|_| copied) {
        tell_of_list(ctx, to, &found);
    }
    ctx.reply().int(i64::from(copied));
    Ok(())
}

/// Somebody may wait for a list at the key that has got one.
fn tell_of_list(ctx: &Context<'_>, to: Place<'_>, found: &Found) {
    if found.kind == Kind::List {
        ctx.host.list_grew(to.0, to.1.bytes());
    }
}

/// Makes room for a second value, where there will be one, locks both places and finds the first.
fn lock<'s>(
    ctx: &Context<'s>,
    from: Place<'_>,
    to: Place<'_>,
    stays: bool,
) -> Result<(Guard<'s>, Option<Found>), CommandError> {
    let key_len = to.1.bytes().len();
    let len = match stays {
        true => ctx.session.peek(from.0, &from.1, ctx.now).map_or(0, |found| found.len),
        false => ctx.session.bytes_to_copy(from.0, &from.1, key_len),
    };
    let room = ctx.make_room(key_len + len);
    // What leaves its place needs no more memory than it has. If it has to be copied, both blocks are
    // there at the same time for a moment: if there is no memory at all, the put says so.
    if stays {
        room?;
    }
    let places = [(from.0, from.1.hash()), (to.0, to.1.hash())];
    let mut guard = ctx.session.write_many(&places, ctx.now);
    let found = guard.find(from.0, &from.1);
    Ok((guard, found))
}

/// The value leaves one place and arrives at the other, which is told in this order; of the put itself
/// is told that there is a new key. It stays in its block if the new key fits there. Else it is stored
/// before it is removed: where there is no memory for it, it stays.
fn transfer(
    guard: &mut Guard<'_>,
    from: Place<'_>,
    to: Place<'_>,
    events: [Event; 2],
) -> Result<(), StoreError> {
    let [leaves, arrives] = events;
    if !guard.carry((from.0, &from.1), (to.0, &to.1), events)? {
        guard.copy((from.0, &from.1), (to.0, &to.1), arrives)?;
        guard.remove(from.0, &from.1, leaves);
    }
    guard.announce(to.0, &to.1, arrives);
    guard.count_elements(1, 2);
    Ok(())
}
