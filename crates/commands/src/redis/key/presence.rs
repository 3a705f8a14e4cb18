//! EXISTS, TOUCH, TYPE.

use crate::context::Context;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Guard, Key};

pub fn exists(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let keys = call.args.from(1);
    let count = match keys.len() {
        1 => usize::from(ctx.look(&ctx.key(keys.arg(0))).is_some()),
        _ => count_as_one(ctx, call, |guard, key| guard.has(ctx.db(), key)),
    };
    ctx.reply().int(count as i64);
    Ok(())
}

pub fn touch(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, now) = (ctx.db(), ctx.now);
    let keys = call.args.from(1);
    let count = match keys.len() {
        1 => usize::from(ctx.session.touch(db, &ctx.key(keys.arg(0)), now)),
        _ => count_as_one(ctx, call, |guard, key| guard.touch(db, key)),
    };
    ctx.reply().int(count as i64);
    Ok(())
}

/// How many of several keys are there, as of one moment: what is renamed from one of them to another meanwhile
/// is there once. Each counts as a hit or a miss.
fn count_as_one(
    ctx: &Context<'_>,
    call: &Call<'_>,
    mut is_there: impl FnMut(&mut Guard<'_>, &Key<'_>) -> bool,
) -> usize {
    let keys: Vec<_> = call.args.from(1).iter().map(|key| ctx.key(key)).collect();
    let places: Vec<_> = keys.iter().map(|key| (ctx.db(), key.hash())).collect();
    let mut guard = ctx.session.write_many(&places, ctx.now);
    let hits = keys.iter().filter(|key| is_there(&mut guard, key)).count();
    (0..keys.len()).for_each(|number| ctx.session.count_look(number < hits));
    hits
}

pub fn type_of(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let found = ctx.look(&call.key());
    ctx.reply().simple(found.map_or("none", |found| found.kind.name()));
    Ok(())
}
