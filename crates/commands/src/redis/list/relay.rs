//! RPOPLPUSH and LMOVE: an element goes from one list to another, or around one.

use super::{FORM, pop_event, push_event};
use crate::context::Context;
use crate::packed::list::{self, End, List};
use crate::redis::collection;
use crate::redis::error::CommandError;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Db, Guard, Key, Kind};

pub fn rpoplpush(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    relay(ctx, call, End::Back, End::Front)
}

pub fn lmove(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (from, to) = (end(call.args.arg(3))?, end(call.args.arg(4))?);
    relay(ctx, call, from, to)
}

/// LEFT or RIGHT.
pub(super) fn end(word: &[u8]) -> Result<End, CommandError> {
    if word.eq_ignore_ascii_case(b"LEFT") {
        Ok(End::Front)
    } else if word.eq_ignore_ascii_case(b"RIGHT") {
        Ok(End::Back)
    } else {
        Err(CommandError::Syntax)
    }
}

fn relay(ctx: &mut Context<'_>, call: &Call<'_>, from: End, to: End) -> Outcome {
    let (db, source, target) = (ctx.db(), call.key(), ctx.key(call.args.arg(2)));
    make_room(ctx, db, &source, &target)?;
    let mut guard = ctx.session.write_many(&[(db, source.hash()), (db, target.hash())], ctx.now);
    let moved = pass_on(&mut guard, db, (&source, from), (&target, to))?;
    drop(guard);
    match moved {
        Some(element) => {
            ctx.host.list_grew(db, target.bytes());
            ctx.reply().bulk(&element);
        }
        None => ctx.reply().null(),
    }
    Ok(())
}

/// Room for an element that is not known yet: for as much as a push can take.
pub(super) fn make_room(
    ctx: &Context<'_>,
    db: Db,
    source: &Key<'_>,
    target: &Key<'_>,
) -> Result<(), CommandError> {
    let len = |key: &Key<'_>| ctx.session.peek(db, key, ctx.now).map_or(0, |found| found.len);
    let element = len(source).min(ELEMENT_BYTES_EXPECTED);
    ctx.make_room(target.bytes().len() + element + len(target).min(ELEMENT_BYTES_EXPECTED))
}

/// What one element is taken to need at most, when room is made before it is known.
const ELEMENT_BYTES_EXPECTED: usize = 64 * 1024;

/// Moves an element between lists whose shards are locked. `None`: the first one is not there.
pub(super) fn pass_on(
    guard: &mut Guard<'_>,
    db: Db,
    (source, from): (&Key<'_>, End),
    (target, to): (&Key<'_>, End),
) -> Result<Option<Vec<u8>>, CommandError> {
    let Some((_, packed)) = collection::open(guard, db, source, Kind::List)? else {
        return Ok(None);
    };
    let list = List::open(&packed);
    let span = list.at(if from == End::Front { 0 } else { -1 });
    let Some(element) = span.map(|span| span.read(&packed)) else { return Ok(None) };
    let pushed = || std::iter::once(element.as_slice());
    // First into the one and then out of the other: in a list that goes around, an element too many
    // is better than none, with which the key would go.
    match collection::open(guard, db, target, Kind::List)? {
        Some((_, packed)) => {
            let edit = List::open(&packed).push(to, pushed());
            collection::apply(guard, db, target, FORM, push_event(to), edit)?;
        }
        None => {
            let bytes = list::pack(to, pushed());
            collection::put(guard, db, target, FORM, push_event(to), &bytes)?;
        }
    }
    if let Some((_, packed)) = collection::open(guard, db, source, Kind::List)? {
        let list = List::open(&packed);
        let edit = if from == End::Front { list.trim(1, 0) } else { list.trim(0, 1) };
        collection::apply(guard, db, source, FORM, pop_event(from), edit)?;
    }
    Ok(Some(element))
}
