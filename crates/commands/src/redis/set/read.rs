//! SCARD, SISMEMBER, SMISMEMBER, SMEMBERS, SSCAN: reads, which take no lock.

use super::hash_in;
use crate::context::Context;
use crate::packed::set::{Hashed, Set};
use crate::redis::collection::{of_kind, read, reply_element};
use crate::redis::error::CommandError;
use crate::redis::glob::{self, Case};
use crate::redis::key::iterate::ScanOptions;
use crate::redis::number::cursor;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Kind;
use dolium_protocol::number::Decimal;
use dolium_protocol::resp::RespWriter;

pub fn scard(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let version = ctx.client.resp;
    read(ctx, &call.key(), Kind::Set, |packed, out| {
        let len = packed.map_or(0, |packed| Set::open(&packed).len());
        RespWriter::new(out, version).int(len as i64);
    })?;
    Ok(())
}

pub fn sismember(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (version, bytes) = (ctx.client.resp, call.args.arg(2));
    let member = Hashed { bytes, hash: hash_in(ctx)(bytes) };
    read(ctx, &call.key(), Kind::Set, |packed, out| {
        let is_member = packed.is_some_and(|packed| Set::open(&packed).find(member).is_some());
        RespWriter::new(out, version).int(i64::from(is_member));
    })?;
    Ok(())
}

pub fn smismember(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (version, hash) = (ctx.client.resp, hash_in(ctx));
    let members = call.args.from(2).iter().map(|bytes| Hashed { bytes, hash: hash(bytes) });
    let members: Vec<_> = members.collect();
    read(ctx, &call.key(), Kind::Set, |packed, out| {
        let mut reply = RespWriter::new(out, version);
        reply.array(members.len());
        for member in &members {
            let found = packed.as_ref().and_then(|packed| Set::open(packed).find(*member));
            reply.int(i64::from(found.is_some()));
        }
    })?;
    Ok(())
}

pub fn smembers(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let version = ctx.client.resp;
    read(ctx, &call.key(), Kind::Set, |packed, out| {
        let mut reply = RespWriter::new(out, version);
        let Some(packed) = packed else { return reply.set(0) };
        let set = Set::open(&packed);
        reply.set(set.len());
        set.iter().for_each(|span| reply_element(&packed, span, &mut reply));
    })?;
    Ok(())
}

pub fn sscan(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let invalid = CommandError::Sentence("invalid cursor");
    let cursor = cursor(call.args.arg(2)).ok_or(invalid)?;
    // Of a key that is not there nothing can be wrong but its cursor.
    let found = ctx.session.peek(ctx.db(), &call.key(), ctx.now);
    if found.map(|found| of_kind(found, Kind::Set)).transpose()?.is_none() {
        ctx.session.count_look(false);
        let mut reply = ctx.reply();
        reply.array(2);
        reply.bulk(b"0");
        reply.array(0);
        return Ok(());
    }
    let options = ScanOptions::parse(&call.args, 3)?;
    let (version, hash) = (ctx.client.resp, hash_in(ctx));
    let mut shown = Vec::new();
    read(ctx, &call.key(), Kind::Set, |packed, out| {
        shown.clear();
        let mut reply = RespWriter::new(out, version);
        reply.array(2);
        let Some(packed) = packed else {
            reply.bulk(b"0");
            return reply.array(0);
        };
        let next = Set::open(&packed).scan(cursor, options.count, hash, |span| {
            let matches = |p| glob::matches(p, &span.read(&packed), Case::Sensitive);
            if options.pattern.is_none_or(matches) {
                shown.push(span);
            }
        });
        reply.bulk(Decimal::unsigned(next).as_bytes());
        reply.array(shown.len());
        shown.iter().for_each(|span| reply_element(&packed, *span, &mut reply));
    })?;
    Ok(())
}
