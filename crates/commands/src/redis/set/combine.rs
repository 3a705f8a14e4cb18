//! SINTER, SUNION, SDIFF and what stores their results: several sets as of one moment.

use super::{hash_in, members, packed};
use crate::context::Context;
use crate::packed::set::{Hashed, Set};
use crate::redis::collection::{self, Tries, of_kind};
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Db, Event, Guard, Key, Kind, Packed, Put, Value};
use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::redis) enum Operation {
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
    let sets = open_all(&mut guard, db, &keys, |found| ctx.session.count_look(found))?;
    let most = if limit == 0 { usize::MAX } else { limit };
    let mut count = 0;
    in_all(ctx, sets, |_| {
        count += 1;
        count < most
    });
    drop(guard);
    ctx.reply().int(count as i64);
    Ok(())
}

fn reply(ctx: &mut Context<'_>, call: &Call<'_>, operation: Operation) -> Outcome {
    let db = ctx.db();
    let keys: Vec<Key<'_>> = call.args.from(1).iter().map(|name| ctx.key(name)).collect();
    let places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
    let mut guard = ctx.session.write_many(&places, ctx.now);
    let sets = open_all(&mut guard, db, &keys, |found| ctx.session.count_look(found))?;
    let result = combine(ctx, sets, operation);
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
    // A large result may be much smaller than its sets: were room made for all of them, much could go
    // for nothing.
    let len = |key: &Key<'_>| collection::len(ctx.session, db, key, ctx.now);
    let most = operation.most_bytes(keys.iter().map(len));
    ctx.make_room(target.bytes().len() + most.min(RESULT_BYTES_EXPECTED))?;
    let mut places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
    places.push((db, target.hash()));
    let mut is_first = true;
    let lock = || ctx.session.write_many(&places, ctx.now);
    let count = Tries::of(ctx).run(lock, |guard| {
        let looked = |found| {
            if is_first {
                ctx.session.count_look(found);
            }
        };
        let sets = open_all(guard, db, &keys, looked)?;
        is_first = false;
        let result = combine(ctx, sets, operation);
        if result.is_empty() {
            // Redis does not ask whether it was over.
            guard.remove_due_too(db, &target, Event::Del);
            return Ok(0);
        }
        let (encoding, bytes) = packed(ctx, &hashed(ctx, &result));
        let value = Value::Packed(Kind::Set, encoding, &bytes);
        collection::store(guard, db, &target, &Put { event, ..Put::plain(value) })?;
        Ok(result.len())
    })?;
    ctx.reply().int(count as i64);
    Ok(())
}

/// The most bytes of a result for which room is made before it is known.
const RESULT_BYTES_EXPECTED: usize = 64 * 1024;

/// Of many small sets, which have no table, a large one takes so many times as much at most: a member of
/// one byte is one of two there, and has up to four slots here.
const TABLE_FACTOR: usize = 12;

impl Operation {
    /// Of a command that stores the result.
    pub(in crate::redis) fn that_stores(name: &str) -> Option<Operation> {
        match name {
            "sunionstore" => Some(Operation::Union),
            "sinterstore" => Some(Operation::Inter),
            "sdiffstore" => Some(Operation::Diff),
            _ => None,
        }
    }

    /// What the result may take, from what its sets take: made anew it has half as much again to spare.
    fn most_bytes(self, mut sets: impl Iterator<Item = usize>) -> usize {
        let most = match self {
            Operation::Union => sets.sum(),
            Operation::Inter => sets.min().unwrap_or(0),
            Operation::Diff => sets.next().unwrap_or(0),
        };
        most / 2 * 3
    }
}

/// What the result of some sets may take at most, told without looking into them.
pub(in crate::redis) fn most_bytes(
    ctx: &Context<'_>,
    operation: Operation,
    db: Db,
    keys: &[Key<'_>],
) -> usize {
    let len = |key: &Key<'_>| collection::len(ctx.session, db, key, ctx.now);
    operation.most_bytes(keys.iter().map(len)) * TABLE_FACTOR
}

/// What it takes: it is made, to know that.
pub(in crate::redis) fn result_bytes(
    ctx: &Context<'_>,
    operation: Operation,
    db: Db,
    keys: &[Key<'_>],
) -> usize {
    let places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
    let mut guard = ctx.session.write_many(&places, ctx.now);
    let sets = open_all(&mut guard, db, keys, |_| ()).unwrap_or_default();
    let result = combine(ctx, sets, operation);
    drop(guard);
    packed(ctx, &hashed(ctx, &result)).1.len()
}

fn hashed<'m>(ctx: &Context<'_>, members: &'m [Vec<u8>]) -> Vec<Hashed<'m>> {
    let hash = hash_in(ctx);
    members.iter().map(|bytes| Hashed { bytes, hash: hash(bytes) }).collect()
}

/// The sets at some keys. Every key is looked at, for none may be of another type; `looked` is told
/// whether it is there, as in Redis before its type is seen.
///
/// A set that is named again is left out, lest a request of a few bytes a key keep the locks for as many
/// walks through a large one. The first key may be named once more: `SDIFF a a` is empty.
fn open_all<'s>(
    guard: &mut Guard<'s>,
    db: Db,
    keys: &[Key<'_>],
    looked: impl Fn(bool),
) -> Result<Vec<Option<Packed<'s>>>, CommandError> {
    let (mut sets, mut named) = (Vec::new(), HashSet::new());
    for (i, key) in keys.iter().enumerate() {
        let seen = guard.packed(db, key);
        looked(seen.is_some());
        let is_set = |(found, packed)| of_kind(found, Kind::Set).map(|_| packed);
        let set = seen.map(is_set).transpose()?;
        if i == 0 || named.insert(key.bytes()) {
            sets.push(set);
        }
    }
    Ok(sets)
}

/// Shows the members that all sets have, until `show` says that it has seen enough.
fn in_all(ctx: &Context<'_>, sets: Vec<Option<Packed<'_>>>, mut show: impl FnMut(&[u8]) -> bool) {
    let Some(mut sets) = sets.into_iter().collect::<Option<Vec<_>>>() else { return };
    sets.sort_by_key(|packed| Set::open(packed).len());
    let Some((first, others)) = sets.split_first() else { return };
    let hash = hash_in(ctx);
    let mut bytes = Vec::new();
    for span in Set::open(first).iter() {
        bytes.clear();
        first.copy(span.at, span.len, &mut bytes);
        let member = Hashed { bytes: &bytes, hash: hash(&bytes) };
        if others.iter().all(|packed| has(packed, member)) && !show(&bytes) {
            return;
        }
    }
}

fn has(packed: &Packed<'_>, member: Hashed<'_>) -> bool {
    Set::open(packed).find(member).is_some()
}

/// The members of the result.
fn combine(ctx: &Context<'_>, sets: Vec<Option<Packed<'_>>>, operation: Operation) -> Vec<Vec<u8>> {
    match operation {
        Operation::Inter => {
            let mut result = Vec::new();
            in_all(ctx, sets, |member| {
                result.push(member.to_vec());
                true
            });
            result
        }
        Operation::Union => {
            let mut seen = HashSet::new();
            let all = sets.iter().flatten().flat_map(members);
            all.filter(|member| seen.insert(member.clone())).collect()
        }
        Operation::Diff => {
            let Some((first, others)) = sets.split_first() else { return Vec::new() };
            let mut result = first.as_ref().map(members).unwrap_or_default();
            let hash = hash_in(ctx);
            result.retain(|bytes| {
                let member = Hashed { bytes, hash: hash(bytes) };
                !others.iter().flatten().any(|packed| has(packed, member))
            });
            result
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dolium_engine::{Encoding, Engine, EngineOptions};

    #[test]
    fn a_set_is_walked_through_twice_at_most_however_often_it_is_named() {
        let options = EngineOptions { max_bytes: 64 << 20, shards: 16, ..Default::default() };
        let engine = Engine::create(options).expect("an arena");
        let session = engine.session().expect("a slot");
        let (db, keys) = (Db(0), [b"a", b"b", b"n"].map(|name| engine.key(name)));
        for key in &keys[..2] {
            let value = Value::Packed(Kind::Set, Encoding::Intset, &[0; 20]);
            session.write(db, key, 1).put(db, key, &Put::plain(value)).expect("room");
        }
        let [a, b, none] = keys;
        let looks = std::cell::Cell::new(0);
        let opened = |keys: &[Key<'_>]| {
            let places: Vec<_> = keys.iter().map(|key| (db, key.hash())).collect();
            let mut guard = session.write_many(&places, 1);
            let sets = open_all(&mut guard, db, keys, |_| looks.set(looks.get() + 1));
            let sets = sets.expect("sets");
            sets.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!(opened(&[a, b, none]), [true, true, false]);
        assert_eq!(opened(&[a; 1000]), [true, true]);
        assert_eq!(opened(&[a, b, b, none, a, b, none]), [true, true, false, true]);
        assert_eq!(looks.get(), 1010, "each one is counted");
    }
}
