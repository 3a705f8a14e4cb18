//! SRANDMEMBER and SPOP: members by chance, each with the same.

use super::{hash_in, members, remove};
use crate::context::Context;
use crate::limits::RANDOM_MEMBERS_MAX;
use crate::packed::set::{Hashed, Set};
use crate::redis::collection::{self, read, reply_element};
use crate::redis::error::CommandError;
use crate::redis::list::pop::positive;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Event, Kind};
use dolium_protocol::resp::RespWriter;
use std::collections::HashSet;

/// Of a set of so many times as many members, some are drawn until enough are different; of a smaller
/// one all are copied and shuffled.
const DRAWN: usize = 3;

pub fn srandmember(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let count = match call.args.len() {
        2 => None,
        3 => Some(integer(call.args.arg(2))?),
        _ => return Err(CommandError::Syntax),
    };
    if count == Some(i64::MIN) {
        return Err(CommandError::Sentence(
            "value is out of range, value must between -9223372036854775807 and \
             9223372036854775807",
        ));
    }
    if count.is_some_and(|count| count < -RANDOM_MEMBERS_MAX) {
        return Err(CommandError::Sentence("value is out of range"));
    }
    let (version, host) = (ctx.client.resp, ctx.host);
    let mut random = || host.random();
    read(ctx, &call.key(), Kind::Set, |packed, out| {
        let mut reply = RespWriter::new(out, version);
        let set = packed.as_ref().map(Set::open).filter(|set| !set.is_empty());
        let (Some(packed), Some(set)) = (&packed, set) else {
            return if count.is_some() { reply.array(0) } else { reply.null() };
        };
        match count {
            None => match set.random(&mut random) {
                Some(span) => reply_element(packed, span, &mut reply),
                None => reply.null(),
            },
            Some(count) if count < 0 => {
                let count = count.unsigned_abs() as usize;
                reply.array(count);
                for span in (0..count).map_while(|_| set.random(&mut random)) {
                    reply_element(packed, span, &mut reply);
                }
            }
            Some(count) => {
                let spans = draw(&set, count as usize, &mut random);
                reply.array(spans.len());
                spans.iter().for_each(|span| reply_element(packed, *span, &mut reply));
            }
        }
    })?;
    Ok(())
}

/// So many different members (all, if there are no more).
fn draw<B: crate::packed::Bytes>(
    set: &Set<'_, B>,
    count: usize,
    random: &mut impl FnMut() -> u64,
) -> Vec<crate::packed::entry::Span> {
    if count < set.len() / DRAWN {
        let mut drawn = Vec::with_capacity(count);
        let mut seen = HashSet::new();
        // Bounded: bytes that make no sense may always give the same one.
        for _ in 0..count.saturating_mul(100) {
            if drawn.len() == count {
                break;
            }
            let Some(span) = set.random(&mut *random) else { break };
            if seen.insert(span.at) {
                drawn.push(span);
            }
        }
        // By then there is none left but by the worst of luck; the count is kept even so.
        let others = set.iter().filter(|span| seen.insert(span.at));
        let missing = count - drawn.len();
        drawn.extend(others.take(missing));
        return drawn;
    }
    let mut spans: Vec<_> = set.iter().collect();
    let count = count.min(spans.len());
    for i in 0..count {
        let other = i + (random() % (spans.len() - i) as u64) as usize;
        spans.swap(i, other);
    }
    spans.truncate(count);
    spans
}

pub fn spop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let count = match call.args.len() {
        2 => None,
        3 => Some(positive(call.args.arg(2))?),
        _ => return Err(CommandError::Syntax),
    };
    let (db, key, hash) = (ctx.db(), call.key(), hash_in(ctx));
    let host = ctx.host;
    let mut random = || host.random();
    let popped: Option<Vec<Vec<u8>>> = collection::change(ctx, &key, 0, |guard| {
        let Some((found, packed)) = collection::open(guard, db, &key, Kind::Set)? else {
            return Ok(None);
        };
        let set = Set::open(&packed);
        let names: Vec<Vec<u8>> = match count {
            None => set.random(&mut random).iter().map(|span| span.read(&packed)).collect(),
            Some(0) => return Ok(Some(Vec::new())),
            Some(count) if count >= set.len() => members(&packed),
            Some(count) => {
                draw(&set, count, &mut random).iter().map(|span| span.read(&packed)).collect()
            }
        };
        let gone: Vec<_> =
            names.iter().map(|name| Hashed { bytes: name, hash: hash(name) }).collect();
        remove(ctx, guard, db, &key, (found, packed), &gone, Event::SPop)?;
        Ok(Some(names))
    })?;
    let mut reply = ctx.reply();
    match (count, popped) {
        (None, Some(names)) if !names.is_empty() => reply.bulk(&names[0]),
        (None, _) => reply.null(),
        (Some(_), names) => {
            let names = names.unwrap_or_default();
            reply.set(names.len());
            names.iter().for_each(|name| reply.bulk(name));
        }
    }
    Ok(())
}
