//! SADD, SREM, SMOVE.

use super::{add, bytes_of, distinct, hash_in, remove};
use crate::context::Context;
use crate::packed::set::{Hashed, Set};
use crate::redis::collection::{self, Tries};
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Event, Kind};

pub fn sadd(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key, names) = (ctx.db(), call.key(), call.args.from(2));
    let members = distinct(names.iter(), hash_in(ctx));
    let brings = bytes_of(names.iter());
    let added = collection::change(ctx, &key, brings, |guard| {
        add(ctx, guard, db, &key, &members, Event::SAdd)
    })?;
    ctx.reply().int(added as i64);
    Ok(())
}

pub fn srem(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    let members = distinct(call.args.from(2).iter(), hash_in(ctx));
    let removed = collection::change(ctx, &key, 0, |guard| {
        match collection::open(guard, db, &key, Kind::Set)? {
            Some(set) => remove(ctx, guard, db, &key, set, &members, Event::SRem),
            None => Ok(0),
        }
    })?;
    ctx.reply().int(removed as i64);
    Ok(())
}

pub fn smove(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, source, target) = (ctx.db(), call.key(), ctx.key(call.args.arg(2)));
    let bytes = call.args.arg(3);
    let member = [Hashed { bytes, hash: hash_in(ctx)(bytes) }];
    let places = [(db, source.hash()), (db, target.hash())];
    let lock = || ctx.session.write_many(&places, ctx.now);
    let moved = Tries::of(ctx).run(lock, |guard| {
        let Some((_, packed)) = collection::open(guard, db, &source, Kind::Set)? else {
            return Ok(false);
        };
        collection::open(guard, db, &target, Kind::Set)?;
        let is_there = Set::open(&packed).find(member[0]).is_some();
        if !is_there || source.bytes() == target.bytes() {
            return Ok(is_there);
        }
        // First into the one: where there is no memory, the member stays in the other, which it leaves
        // without. But who listens hears of that after the other.
        let added = add(ctx, guard, db, &target, &member, Event::Quiet)?;
        // Where it stands now: what was stored meanwhile may have moved it.
        if let Some(set) = collection::open(guard, db, &source, Kind::Set)? {
            remove(ctx, guard, db, &source, set, &member, Event::SRem)?;
        }
        if added > 0 {
            guard.announce(db, &target, Event::SAdd);
        }
        Ok(true)
    })?;
    ctx.reply().int(i64::from(moved));
    Ok(())
}
