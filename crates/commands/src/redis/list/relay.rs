//! RPOPLPUSH and LMOVE: an element goes from one list to another, or around one.

use super::{FORM, pop_event, push_event};
use crate::context::Context;
use crate::packed::list::{self, End, List};
use crate::redis::collection::{self, Tries};
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
pub(in crate::redis) fn end(word: &[u8]) -> Result<End, CommandError> {
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
    let moved = pass_on(Tries::of(ctx), db, (&source, from), (&target, to))?;
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
    let len = |key: &Key<'_>| collection::len(ctx.session, db, key, ctx.now);
    let element = len(source).min(ELEMENT_BYTES_EXPECTED);
    ctx.make_room(target.bytes().len() + element + len(target).min(ELEMENT_BYTES_EXPECTED))
}

/// What one element is taken to need at most, when room is made before it is known.
pub(in crate::redis) const ELEMENT_BYTES_EXPECTED: usize = 64 * 1024;

/// Moves an element from one list to another, or around one. `None`: the first one is not there.
/// Where the other one has to be made anew and there is no memory for it, room is made, and it is
/// tried again: whoever waits for lists in a full store would else wait for ever.
pub(super) fn pass_on(
    tries: Tries<'_>,
    db: Db,
    (source, from): (&Key<'_>, End),
    (target, to): (&Key<'_>, End),
) -> Result<Option<Vec<u8>>, CommandError> {
    let places = [(db, source.hash()), (db, target.hash())];
    let lock = || tries.session.write_many(&places, tries.now);
    tries.run(lock, |guard| {
        let Some(element) = end_of(guard, db, source, from)? else { return Ok(None) };
        // First into the one and then out of the other: where there is no memory nothing has
        // happened; and in a list that goes around, an element too many is better than none, with
        // which the key would go.
        push_one(guard, db, target, to, &element)?;
        drop_one(guard, db, source, from)?;
        Ok(Some(element))
    })
}

/// The element at an end of a list.
fn end_of(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    end: End,
) -> Result<Option<Vec<u8>>, CommandError> {
    let Some((_, packed)) = collection::open(guard, db, key, Kind::List)? else {
        return Ok(None);
    };
    let span = List::open(&packed).at(if end == End::Front { 0 } else { -1 });
    Ok(span.map(|span| span.read(&packed)))
}

fn push_one(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    end: End,
    element: &[u8],
) -> Result<(), CommandError> {
    let pushed = std::iter::once(element);
    match collection::open(guard, db, key, Kind::List)? {
        Some((_, packed)) => {
            let edit = List::open(&packed).push(end, pushed);
            collection::apply(guard, db, key, FORM, push_event(end), edit, 1)
        }
        None => {
            let bytes = list::pack(end, pushed);
            collection::put(guard, db, key, FORM, push_event(end), &bytes, 1)
        }
    }
}

/// Takes the element at an end away, which needs no memory.
fn drop_one(guard: &mut Guard<'_>, db: Db, key: &Key<'_>, end: End) -> Result<(), CommandError> {
    // Where it stands now: what was put meanwhile may be the same list, and may have moved others.
    let Some((_, packed)) = collection::open(guard, db, key, Kind::List)? else { return Ok(()) };
    let list = List::open(&packed);
    let edit = if end == End::Front { list.trim(1, 0) } else { list.trim(0, 1) };
    // It is the one that was put.
    collection::apply(guard, db, key, FORM, pop_event(end), edit, 0)
}
