//! APPEND and SETRANGE: changes to a part of a value.
//!
//! They are made where the value stands, if its block has room for it: then they cost the same however long it is.
//! Else it is stored anew, with room to spare (`change.rs`).

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::{integer, value};
use crate::redis::row::{Call, Outcome};
use crate::redis::string::change::{change, store_part};
use crate::redis::string::{keeping, string};
use dolium_engine::{Event, Patch, Value};

pub fn append(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, tail) = (ctx.db(), call.key(), call.args.arg(2));
    let len = change(ctx, &key, tail.len(), |guard, room| {
        let mut old = Vec::new();
        let (value, len) = match guard.find(db, &key).map(string).transpose()? {
            // A first APPEND stores what SET would, however long.
            None => (value(tail), tail.len()),
            Some(found) => {
                let len = fits(ctx, found.len, tail.len())?;
                let part = Patch { at: found.len, bytes: tail };
                if store_part(guard, (db, &key), Event::Append, &found, &part, room)? {
                    return Ok(len);
                }
                guard.value(db, &key, &mut old);
                (Value::Parts([&old, tail, b""]), len)
            }
        };
        guard.put(db, &key, &keeping(value, Event::Append))?;
        Ok(len)
    })?;
    ctx.reply().int(len as i64);
    Ok(())
}

pub fn setrange(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, patch) = (ctx.db(), call.key(), call.args.arg(3));
    let offset = integer(call.args.arg(2))?;
    let offset = usize::try_from(offset).map_err(|_| CommandError::OffsetOutOfRange)?;
    let before = ctx.session.peek(db, &key, ctx.now).map(string).transpose()?;
    let before = before.map_or(0, |found| found.len);
    if patch.is_empty() {
        // Nothing to write: not even an empty key is made.
        ctx.reply().int(before as i64);
        return Ok(());
    }
    let end = fits(ctx, offset, patch.len())?;
    let len = change(ctx, &key, end.saturating_sub(before), |guard, room| {
        let mut bytes = Vec::new();
        if let Some(found) = guard.find(db, &key).map(string).transpose()? {
            let len = found.len.max(end);
            let part = Patch { at: offset, bytes: patch };
            if store_part(guard, (db, &key), Event::SetRange, &found, &part, room)? {
                return Ok(len);
            }
            guard.value(db, &key, &mut bytes);
        }
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset..end].copy_from_slice(patch);
        guard.put(db, &key, &keeping(Value::Parts([&bytes, b"", b""]), Event::SetRange))?;
        Ok(bytes.len())
    })?;
    ctx.reply().int(len as i64);
    Ok(())
}

/// The sum, if a string may be so long.
fn fits(ctx: &Context<'_>, before: usize, more: usize) -> Result<usize, CommandError> {
    let len = before.checked_add(more).filter(|len| *len <= ctx.host.string_bytes_max());
    len.ok_or(CommandError::StringTooLong)
}
