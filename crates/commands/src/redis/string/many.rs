//! MSET and MSETNX: several keys as one change.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::value;
use crate::redis::room::Room;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Guard, Key, Put};

pub fn mset(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (keys, mut guard) = lock_all(ctx, call)?;
    put_all(ctx, call, keys, &mut guard)?;
    drop(guard);
    ctx.reply().ok();
    Ok(())
}

pub fn msetnx(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (keys, mut guard) = lock_all(ctx, call)?;
    let free = keys.iter().all(|key| guard.find(ctx.client.db, key).is_none());
    if free {
        put_all(ctx, call, keys, &mut guard)?;
    }
    drop(guard);
    ctx.reply().int(i64::from(free));
    Ok(())
}

/// The keys, and their shards locked; room for all values is made before.
fn lock_all<'s, 'k>(
    ctx: &Context<'s>,
    call: &Call<'k>,
) -> Result<(Vec<Key<'k>>, Guard<'s>), CommandError> {
    let args = call.args;
    if args.len().is_multiple_of(2) {
        return Err(CommandError::Arity(call.row.name));
    }
    let mut room = Room::default();
    for at in (1..args.len()).step_by(2) {
        room.add(1, args.arg(at).len() + args.arg(at + 1).len());
    }
    ctx.make_room(room.bytes())?;
    let mut keys = Vec::with_capacity(args.len() / 2);
    keys.push(call.key());
    keys.extend((3..args.len()).step_by(2).map(|i| ctx.key(args.arg(i))));
    let places: Vec<_> = keys.iter().map(|key| (ctx.client.db, key.hash())).collect();
    Ok((keys, ctx.session.write_many(&places, ctx.now)))
}

fn put_all(
    ctx: &Context<'_>,
    call: &Call<'_>,
    keys: Vec<Key<'_>>,
    guard: &mut Guard<'_>,
) -> Outcome {
    let values = (2..call.args.len()).step_by(2).map(|at| Put::plain(value(call.args.arg(at))));
    let puts: Vec<_> = keys.into_iter().zip(values).collect();
    guard.put_several(ctx.client.db, &puts)?;
    Ok(())
}
