//! EXISTS, TOUCH, TYPE.

use crate::context::Context;
use crate::redis::row::{Call, Outcome};

pub fn exists(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let keys = call.args.from(1);
    let count = keys.iter().filter(|key| ctx.look(&ctx.key(key)).is_some()).count();
    ctx.reply().int(count as i64);
    Ok(())
}

pub fn touch(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, now) = (ctx.db(), ctx.now);
    let keys = call.args.from(1);
    let count = keys.iter().filter(|key| ctx.session.touch(db, &ctx.key(key), now)).count();
    ctx.reply().int(count as i64);
    Ok(())
}

pub fn type_of(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let found = ctx.look(&call.key());
    ctx.reply().simple(found.map_or("none", |found| found.kind.name()));
    Ok(())
}
