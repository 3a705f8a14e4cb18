//! GET, MGET, STRLEN, GETRANGE: reads, which take no lock.

use crate::context::Context;
use crate::outlet::{self, LENT_BYTES};
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use crate::redis::string::string;
use dolium_engine::{Found, Key, Kind};
use dolium_protocol::resp::RespWriter;

#[inline(always)]
pub fn get(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let version = ctx.client.resp;
    let (db, key) = (ctx.client.db, call.key());
    let start = ctx.out.len();
    let may_pass = ctx.outlet.as_ref().is_some_and(|outlet| outlet.has_room());
    let is_wanted = |found: &Found| !(may_pass && LENT_BYTES.contains(&found.len));
    let head = |found: &Found, out: &mut Vec<u8>| {
        RespWriter::new(out, version).bulk_header(found.len);
    };
    let kind = ctx.session.get_fetched(ctx.fetch, db, &key, ctx.now, ctx.out, is_wanted, head);
    match kind {
        Some(Kind::String) if ctx.out.len() == start => return get_large(ctx, &key),
        Some(Kind::String) => ctx.reply().bulk_end(),
        Some(_) => return Err(CommandError::WrongType),
        None => ctx.reply().null(),
    }
    Ok(())
}

/// Not through the buffer of replies, unless the key has become something else meanwhile.
#[cold]
fn get_large(ctx: &mut Context<'_>, key: &Key<'_>) -> Outcome {
    let (version, db) = (ctx.client.resp, ctx.client.db);
    let head = |found: &Found, out: &mut Vec<u8>| {
        RespWriter::new(out, version).bulk_header(found.len);
    };
    if let Some(outlet) = ctx.outlet.take()
        && outlet::pass(outlet, (db, ctx.now), key, ctx.out, |_| true, head, b"\r\n")
    {
        return Ok(());
    }
    match ctx.session.get(db, key, ctx.now, ctx.out, head) {
        Some(found) if found.kind == Kind::String => ctx.reply().bulk_end(),
        // The head that was written is taken back with the refusal.
        Some(_) => return Err(CommandError::WrongType),
        None => ctx.reply().null(),
    }
    Ok(())
}

pub fn mget(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let engine = ctx.session.engine();
    let mut keys: Vec<Key<'_>> = Vec::with_capacity(call.args.len() - 1);
    keys.push(call.key());
    keys.extend(call.args.from(2).iter().map(|bytes| engine.key(bytes)));
    ctx.reply().array(keys.len());
    let version = ctx.client.resp;
    // A value's end is written with the head of what follows it.
    let mut open = false;
    ctx.session.get_many(ctx.client.db, &keys, ctx.now, ctx.out, |i, found, out| {
        let mut reply = RespWriter::new(out, version);
        if i > 0 && open {
            reply.bulk_end();
        }
        // What is no string is answered like what is not there.
        let found = found.filter(|found| found.kind == Kind::String);
        open = found.is_some();
        match found {
            Some(found) => reply.bulk_header(found.len),
            None => reply.null(),
        }
    });
    if open {
        ctx.reply().bulk_end();
    }
    Ok(())
}

pub fn strlen(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    // A use, as reading the value would be.
    let found = ctx.session.get_if(ctx.db(), &call.key(), ctx.now, ctx.out, |_| false, |_, _| ());
    let found = found.map(string).transpose()?;
    ctx.reply().int(found.map_or(0, |found| found.len) as i64);
    Ok(())
}

pub fn getrange(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (start, end) = (integer(call.args.arg(2))?, integer(call.args.arg(3))?);
    let version = ctx.client.resp;
    let (db, key) = (ctx.client.db, call.key());
    let found = ctx.session.get_range(db, &key, ctx.now, ctx.out, |found, out| {
        let (from, to) = range(start, end, found.len);
        RespWriter::new(out, version).bulk_header(to - from);
        (from, to)
    });
    match found.map(string).transpose()? {
        Some(_) => ctx.reply().bulk_end(),
        None => ctx.reply().bulk(b""),
    }
    Ok(())
}

/// First and last byte, negative from the end, as positions `from..to` within `len`.
fn range(start: i64, end: i64, len: usize) -> (usize, usize) {
    let at = |i: i64| if i < 0 { (len as i64).saturating_add(i).max(0) } else { i };
    // Both before the beginning and crossed: nothing, although clamping would meet at byte 0.
    if start < 0 && end < 0 && start > end {
        return (0, 0);
    }
    let (from, to) = (at(start), at(end).min(len as i64 - 1));
    if len == 0 || from > to { (0, 0) } else { (from as usize, to as usize + 1) }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_are_clamped_as_in_redis() {
        for ((start, end), expected) in [
            ((0, 3), (0, 4)),
            ((0, -1), (0, 11)),
            ((-4, -1), (7, 11)),
            ((5, 3), (0, 0)),
            ((5, 5000), (5, 11)),
            ((-5000, 10_000), (0, 11)),
            ((-1, -5000), (0, 0)),
            ((-5000, -5000), (0, 1)),
            ((11, 12), (0, 0)),
            ((i64::MIN, i64::MAX), (0, 11)),
        ] {
            assert_eq!(range(start, end, 11), expected, "{start} {end}");
        }
        assert_eq!(range(0, -1, 0), (0, 0));
    }
}
