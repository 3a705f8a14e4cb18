//! INCR and its relatives: numbers in strings.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::long_double::LongDouble;
use crate::redis::number::{integer, parse_i64};
use crate::redis::row::{Call, Outcome};
use crate::redis::string::{keeping, string};
use dolium_engine::{Db, Event, Guard, Key, Value};

pub fn incr(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    add(ctx, call, 1)
}

pub fn decr(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    add(ctx, call, -1)
}

pub fn incrby(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    add(ctx, call, integer(call.args.arg(2))?)
}

pub fn decrby(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let by = integer(call.args.arg(2))?;
    add(ctx, call, by.checked_neg().ok_or(CommandError::DecrementOverflow)?)
}

fn add(ctx: &mut Context<'_>, call: &Call<'_>, by: i64) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    ctx.make_room(key.bytes().len() + size_of::<i64>())?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    // The ordinary case first: it is an integer already, found in one look.
    let old = match guard.int(db, &key) {
        Some(old) => old,
        None => text_as_integer(&mut guard, db, &key)?,
    };
    let new = old.checked_add(by).ok_or(CommandError::Overflow)?;
    guard.put(db, &key, &keeping(Value::Int(new), Event::IncrBy))?;
    drop(guard);
    ctx.reply().int(new);
    Ok(())
}

/// The integer that a value's text is; no value counts as 0.
fn text_as_integer(guard: &mut Guard<'_>, db: Db, key: &Key<'_>) -> Result<i64, CommandError> {
    if guard.find(db, key).map(string).transpose()?.is_none() {
        return Ok(0);
    }
    let mut text = Vec::new();
    guard.value(db, key, &mut text);
    integer(&text)
}

pub fn incrbyfloat(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    ctx.make_room(key.bytes().len() + call.args.arg(2).len())?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let old = match guard.find(db, &key).map(string).transpose()? {
        None => LongDouble::ZERO,
        Some(_) => {
            let mut text = Vec::new();
            guard.value(db, &key, &mut text);
            parse(&text)?
        }
    };
    let new = old.add(parse(call.args.arg(2))?);
    if !new.is_finite() {
        return Err(CommandError::NotFinite);
    }
    let text = new.to_human();
    // As Redis does: the result is text even where it looks like an integer.
    guard.put(db, &key, &keeping(Value::Bytes(text.as_bytes()), Event::IncrByFloat))?;
    drop(guard);
    ctx.reply().bulk(text.as_bytes());
    Ok(())
}

fn parse(text: &[u8]) -> Result<LongDouble, CommandError> {
    match parse_i64(text) {
        Some(integer) => Ok(LongDouble::from_i64(integer)),
        None => LongDouble::parse(text).ok_or(CommandError::NotFloat),
    }
}
