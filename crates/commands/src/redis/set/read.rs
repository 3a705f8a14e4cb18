//! SCARD, SISMEMBER, SMISMEMBER, SMEMBERS, SSCAN: reads, which take no lock.

use super::hash_in;
use crate::context::Context;
use crate::packed::entry::Span;
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
    let Some(found) = ctx.session.peek(ctx.db(), &call.key(), ctx.now) else {
        ctx.session.count_look(false);
        reply_scanned(ctx, 0, &Vec::new(), &[]);
        return Ok(());
    };
    let options = of_kind(found, Kind::Set).and_then(|_| ScanOptions::parse(&call.args, 3));
    // A look all the same, as in Redis, which counts before it sees what is wrong.
    let options = options.inspect_err(|_| ctx.session.count_look(true))?;
    let hash = hash_in(ctx);
    let (mut next, mut copy, mut spans) = (0, Vec::new(), Vec::new());
    read(ctx, &call.key(), Kind::Set, |packed, _| {
        (next, copy, spans) = (0, Vec::new(), Vec::new());
        let Some(packed) = packed else { return };
        next = Set::open(&packed).scan(cursor, options.count, hash, |span| {
            spans.push(Span { at: copy.len(), len: span.len });
            packed.copy(span.at, span.len, &mut copy);
        });
    })?;
    // Only now, when nothing is held any more: nothing but the pattern bounds how long it takes.
    if let Some(pattern) = options.pattern {
        spans.retain(|span| glob::matches(pattern, &copy[span.at..span.end()], Case::Sensitive));
    }
    reply_scanned(ctx, next, &copy, &spans);
    Ok(())
}

fn reply_scanned(ctx: &mut Context<'_>, next: u64, members: &Vec<u8>, spans: &[Span]) {
    let mut reply = ctx.reply();
    reply.array(2);
    reply.bulk(Decimal::unsigned(next).as_bytes());
    reply.array(spans.len());
    spans.iter().for_each(|span| reply_element(members, *span, &mut reply));
}
