//! FLUSHDB, FLUSHALL, SWAPDB, DBSIZE: whole databases.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::integer32;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Db, Guard};

pub fn dbsize(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let len = ctx.session.engine().len(ctx.db());
    ctx.reply().int(len as i64);
    Ok(())
}

pub fn flushdb(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    check_mode(call)?;
    let db = ctx.db();
    let mut guard = ctx.session.write_all(ctx.now);
    flush(ctx, &mut guard, db);
    drop(guard);
    ctx.reply().ok();
    Ok(())
}

pub fn flushall(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    check_mode(call)?;
    let engine = ctx.session.engine();
    let mut guard = ctx.session.write_all(ctx.now);
    for db in (0..engine.databases()).map(Db) {
        if engine.len(db) > 0 {
            flush(ctx, &mut guard, db);
        }
    }
    drop(guard);
    ctx.reply().ok();
    Ok(())
}

/// As many changes as there were keys.
fn flush(ctx: &Context<'_>, guard: &mut Guard<'_>, db: Db) {
    guard.count_elements(ctx.session.engine().len(db) as usize, 1);
    guard.flush(db);
}

/// SYNC and ASYNC mean the same here: the keys are gone at once, the memory a little later.
fn check_mode(call: &Call<'_>) -> Outcome {
    match (call.args.len(), call.args.get(1)) {
        (1, _) => Ok(()),
        (2, Some(mode)) if mode.eq_ignore_ascii_case(b"SYNC") => Ok(()),
        (2, Some(mode)) if mode.eq_ignore_ascii_case(b"ASYNC") => Ok(()),
        _ => Err(CommandError::Syntax),
    }
}

pub fn swapdb(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let index = |i: usize, refused: &'static str| {
        integer32(call.args.arg(i)).map_err(|_| CommandError::Sentence(refused))
    };
    let first = index(1, "invalid first DB index")?;
    let second = index(2, "invalid second DB index")?;
    let databases = ctx.session.engine().databases();
    let db = |index: i32| match u16::try_from(index) {
        Ok(index) if index < databases => Ok(Db(index)),
        _ => Err(CommandError::DbIndex),
    };
    let (first, second) = (db(first)?, db(second)?);
    if first != second {
        ctx.session.write_all(ctx.now).swap(first, second);
        ctx.host.databases_swapped(first, second);
    }
    ctx.reply().ok();
    Ok(())
}
