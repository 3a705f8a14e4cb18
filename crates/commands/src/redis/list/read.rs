//! LLEN, LRANGE, LINDEX: reads, which take no lock.

use super::range;
use crate::context::Context;
use crate::packed::list::List;
use crate::redis::collection::{read, reply_element};
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Kind;
use dolium_protocol::resp::RespWriter;

pub fn llen(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let version = ctx.client.resp;
    read(ctx, &call.key(), Kind::List, |packed, out| {
        let len = packed.map_or(0, |packed| List::open(&packed).len());
        RespWriter::new(out, version).int(len as i64);
    })?;
    Ok(())
}

pub fn lrange(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (start, end) = (integer(call.args.arg(2))?, integer(call.args.arg(3))?);
    let version = ctx.client.resp;
    read(ctx, &call.key(), Kind::List, |packed, out| {
        let mut reply = RespWriter::new(out, version);
        let Some(packed) = packed else { return reply.array(0) };
        let list = List::open(&packed);
        let Some(range) = range(start, end, list.len()) else { return reply.array(0) };
        reply.array(range.len());
        for span in list.iter_from(range.start).take(range.len()) {
            reply_element(&packed, span, &mut reply);
        }
    })?;
    Ok(())
}

pub fn lindex(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let version = ctx.client.resp;
    let index = integer(call.args.arg(2));
    let found = read(ctx, &call.key(), Kind::List, |packed, out| {
        let mut reply = RespWriter::new(out, version);
        let (Some(packed), Ok(index)) = (packed, &index) else { return reply.null() };
        match List::open(&packed).at(*index) {
            Some(span) => reply_element(&packed, span, &mut reply),
            None => reply.null(),
        }
    })?;
    // Of no key the index is not looked at.
    if found.is_some() { index.map(|_| ()) } else { Ok(()) }
}
