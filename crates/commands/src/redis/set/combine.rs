//! SINTER, SUNION, SDIFF and what stores their results: several sets as of one moment.

use super::{hash_in, members, store};
use crate::context::Context;
use crate::packed::set::{Hashed, Set};
use crate::redis::collection;
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Db, Deadline, Event, Guard, Key, Kind, Packed};
use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Inter,
    Union,
    Diff,
}

pub fn sinter(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    reply(ctx, call, Operation::Inter)
}

pub fn sunion(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    reply(ctx, call, Operation::Union)
}

pub fn sdiff(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    reply(ctx, call, Operation::Diff)
}

pub fn sinterstore(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    store_result(ctx, call, Operation::Inter, Event::SInterStore)
}

pub fn sunionstore(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    store_result(ctx, call, Operation::Union, Event::SUnionStore)
}

pub fn sdiffstore(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    store_result(ctx, call, Operation::Diff, Event::SDiffStore)
}

pub fn sintercard(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let args = call.args;
    let refused = CommandError::Sentence("numkeys should be greater than 0");
    let keys = integer(args.arg(1)).ok().and_then(|n| usize::try_from(n).ok());
    let keys = keys.filter(|keys| *keys > 0).ok_or(refused)?;
    if keys > args.len() - 2 {
        return Err(CommandError::Sentence("Number of keys can't be greater than number of args"));
    }
    let mut limit = 0;
    let mut i = 2 + keys;
    while i < args.len() {
        if !args.arg(i).eq_ignore_ascii_case(b"LIMIT") || i + 1 == args.len() {
            return Err(CommandError::Syntax);
        }
        let refused = CommandError::Sentence("LIMIT can't be negative");
        let number = integer(args.arg(i + 1)).ok().and_then(|n| usize::try_from(n).ok());
        limit = number.ok_or(refused)?;
        i += 2;
    }
    let db = ctx.db();
    let keys: Vec<Key<'_>> = (2..2 + keys).map(|i| ctx.key(args.arg(i))).collect();
    let places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
    let mut guard = ctx.session.write_many(&places, ctx.now);
    let count = combine(ctx, &mut guard, db, &keys, Operation::Inter)?.len();
    drop(guard);
    ctx.reply().int(if limit == 0 { count } else { count.min(limit) } as i64);
    Ok(())
}

fn reply(ctx: &mut Context<'_>, call: &Call<'_>, operation: Operation) -> Outcome {
    let db = ctx.db();
    let keys: Vec<Key<'_>> = call.args.from(1).iter().map(|name| ctx.key(name)).collect();
    let places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
    let mut guard = ctx.session.write_many(&places, ctx.now);
    let result = combine(ctx, &mut guard, db, &keys, operation)?;
    drop(guard);
    let mut reply = ctx.reply();
    reply.set(result.len());
    result.iter().for_each(|member| reply.bulk(member));
    Ok(())
}

fn store_result(
    ctx: &mut Context<'_>,
    call: &Call<'_>,
    operation: Operation,
    event: Event,
) -> Outcome {
    let (db, target) = (ctx.db(), call.key());
    let keys: Vec<Key<'_>> = call.args.from(2).iter().map(|name| ctx.key(name)).collect();
    let len = |key: &Key<'_>| ctx.session.peek(db, key, ctx.now).map_or(0, |found| found.len);
    let most: usize = match operation {
        Operation::Union => keys.iter().map(len).sum(),
        Operation::Inter | Operation::Diff => len(&keys[0]),
    };
    ctx.make_room(target.bytes().len() + most)?;
    let mut places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
    places.push((db, target.hash()));
    let mut guard = ctx.session.write_many(&places, ctx.now);
    let result = combine(ctx, &mut guard, db, &keys, operation)?;
    if result.is_empty() {
        guard.remove(db, &target, Event::Del);
    } else {
        let hash = hash_in(ctx);
        let hashed: Vec<_> =
            result.iter().map(|bytes| Hashed { bytes, hash: hash(bytes) }).collect();
        store(ctx, &mut guard, db, &target, &hashed, (event, Deadline::Never))?;
    }
    drop(guard);
    ctx.reply().int(result.len() as i64);
    Ok(())
}

/// The members of the result. Every key is looked at, for none may be of another type.
fn combine(
    ctx: &Context<'_>,
    guard: &mut Guard<'_>,
    db: Db,
    keys: &[Key<'_>],
    operation: Operation,
) -> Result<Vec<Vec<u8>>, CommandError> {
    let mut sets: Vec<Option<Packed<'_>>> = Vec::with_capacity(keys.len());
    for key in keys {
        let set = collection::open(guard, db, key, Kind::Set)?.map(|(_, packed)| packed);
        ctx.session.count_look(set.is_some());
        sets.push(set);
    }
    let hash = hash_in(ctx);
    let has = |packed: &Packed<'_>, bytes: &[u8]| {
        Set::open(packed).find(Hashed { bytes, hash: hash(bytes) }).is_some()
    };
    match operation {
        Operation::Inter => {
            let Some(mut sets) = sets.into_iter().collect::<Option<Vec<_>>>() else {
                return Ok(Vec::new());
            };
            sets.sort_by_key(|packed| Set::open(packed).len());
            let (first, others) = sets.split_first().expect("arity asks for a key");
            let mut result = members(first);
            result.retain(|member| others.iter().all(|packed| has(packed, member)));
            Ok(result)
        }
        Operation::Union => {
            let mut seen = HashSet::new();
            let all = sets.iter().flatten().flat_map(members);
            Ok(all.filter(|member| seen.insert(member.clone())).collect())
        }
        Operation::Diff => {
            let (first, others) = sets.split_first().expect("arity asks for a key");
            let mut result = first.as_ref().map(members).unwrap_or_default();
            result.retain(|member| !others.iter().flatten().any(|packed| has(packed, member)));
            Ok(result)
        }
    }
}
