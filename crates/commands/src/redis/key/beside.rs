//! DOLIUM: what Memcached clients keep beside a value, seen and set by Redis clients.
//!
//! ```text
//!   DOLIUM FLAGS key                       the client flags
//!   DOLIUM SETFLAGS key flags              other flags; value and time to live stay
//!   DOLIUM CAS key                         the unique number, made if there is none yet
//!   DOLIUM SETCAS key unique value         as Memcached's cas: stored if the number is still the same
//! ```
//! Numbers are those that `gets`, `mg c` and `ETag` tell, so a client may read by one protocol and
//! write by another.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::help;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Deadline, Event, Flags, Kind, Put, Value};
use std::str::FromStr;

pub fn flags(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    match ctx.session.peek(ctx.db(), &call.key(), ctx.now) {
        Some(found) => ctx.reply().int(i64::from(found.flags)),
        None => ctx.reply().null(),
    }
    Ok(())
}

pub fn set_flags(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    let Some(flags) = number::<u32>(call.args.arg(3)) else {
        return Err(CommandError::Sentence("flags are a number below 2^32"));
    };
    let len = ctx.session.peek(db, &key, ctx.now).map_or(0, |found| found.len);
    ctx.make_room(key.bytes().len() + len)?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let Some(found) = guard.find(db, &key) else {
        drop(guard);
        ctx.reply().int(0);
        return Ok(());
    };
    if found.kind != Kind::String {
        return Err(CommandError::WrongType);
    }
    let mut bytes = Vec::new();
    let value = match guard.int(db, &key) {
        Some(int) => Value::Int(int),
        None => {
            guard.value(db, &key, &mut bytes);
            Value::Bytes(&bytes)
        }
    };
    guard.put(db, &key, &stored(value, Deadline::Keep, Flags::Set(flags)))?;
    drop(guard);
    ctx.reply().int(1);
    Ok(())
}

pub fn cas(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    // It may be made now, and takes its room in the item.
    let len = ctx.session.peek(db, &key, ctx.now).map_or(0, |found| found.len);
    ctx.make_room(key.bytes().len() + len)?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let unique = guard.unique(db, &key)?;
    drop(guard);
    match i64::try_from(unique) {
        Ok(0) => ctx.reply().null(),
        Ok(unique) => ctx.reply().int(unique),
        Err(_) => ctx.reply().bulk(unique.to_string().as_bytes()),
    }
    Ok(())
}

pub fn set_cas(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, text) = (ctx.db(), call.key(), call.args.arg(4));
    let Some(wanted) = number::<u64>(call.args.arg(3)) else {
        return Err(CommandError::Sentence("a unique number is what DOLIUM CAS or gets told"));
    };
    ctx.make_room(key.bytes().len() + text.len())?;
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let is_same = guard.find(db, &key).is_some_and(|found| found.unique == wanted && wanted != 0);
    if is_same {
        guard.put(db, &key, &stored(Value::Bytes(text), Deadline::Never, Flags::Keep))?;
    }
    drop(guard);
    match is_same {
        true => ctx.reply().ok(),
        false => ctx.reply().null(),
    }
    Ok(())
}

fn stored(value: Value<'_>, deadline: Deadline, flags: Flags) -> Put<'_> {
    Put { value, deadline, flags, unique: true, marks: 0, event: Event::Set }
}

/// Digits alone: no sign, no blank.
fn number<T: FromStr>(word: &[u8]) -> Option<T> {
    let is_plain = word.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(word).ok().filter(|_| is_plain)?.parse().ok()
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "DOLIUM",
        &[
            ("CAS <key>", "The unique number of <key>, as Memcached's gets tells it."),
            ("FLAGS <key>", "The client flags that Memcached clients see with <key>."),
            (
                "SETCAS <key> <unique> <value>",
                "Stores <value> if the unique number is still <unique>; flags stay.",
            ),
            ("SETFLAGS <key> <flags>", "Other client flags for <key>; its value stays."),
        ],
    )
}
