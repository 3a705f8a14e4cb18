//! What the commands of all collections have in common: looking at one, and changing one.
//!
//! ```text
//!   read    Session::inspect -> the packed bytes, without a lock -> reply
//!   change  lock -> the packed bytes -> an edit -> in place or put anew -> unlock -> reply
//! ```

use crate::context::Context;
use crate::limits::ROOM_TRIES;
use crate::packed::{Bytes, Edit};
use crate::redis::error::CommandError;
use crate::redis::string::keeping;
use dolium_engine::{
    Db, Encoding, Event, Found, Guard, Key, Kind, Packed, Patch, StoreError, Value,
};

/// Shows a collection's bytes to `show`, whose last run makes the reply; `None`: no such key.
pub fn read(
    ctx: &mut Context<'_>,
    key: &Key<'_>,
    kind: Kind,
    mut show: impl FnMut(Option<Packed<'_>>, &mut Vec<u8>),
) -> Result<Option<Found>, CommandError> {
    let (db, start, out) = (ctx.client.db, ctx.out.len(), &mut *ctx.out);
    let found = ctx.session.inspect(db, key, ctx.now, |seen| {
        out.truncate(start);
        match seen {
            Some((found, packed)) if found.kind == kind => show(Some(packed), out),
            Some(_) => {}
            None => show(None, out),
        }
    });
    found.map(|found| of_kind(found, kind)).transpose()
}

pub fn of_kind(found: Found, kind: Kind) -> Result<Found, CommandError> {
    if found.kind == kind { Ok(found) } else { Err(CommandError::WrongType) }
}

/// The collection at a key, under its lock.
pub fn open<'s>(
    guard: &mut Guard<'s>,
    db: Db,
    key: &Key<'_>,
    kind: Kind,
) -> Result<Option<(Found, Packed<'s>)>, CommandError> {
    match guard.packed(db, key) {
        Some((found, _)) if found.kind != kind => Err(CommandError::WrongType),
        seen => Ok(seen),
    }
}

/// Runs a change of a key under its lock. What it brings has room made for it before; if the
/// collection as a whole has to be made anew and finds none, room is made for that, without the lock,
/// and the change runs again, and so on while others take that room.
pub fn change<R>(
    ctx: &Context<'_>,
    key: &Key<'_>,
    brings: usize,
    mut run: impl FnMut(&mut Guard<'_>) -> Result<R, CommandError>,
) -> Result<R, CommandError> {
    ctx.make_room(key.bytes().len() + brings)?;
    let mut guard = ctx.session.write(ctx.client.db, key, ctx.now);
    for _ in 1..ROOM_TRIES {
        match run(&mut guard) {
            // Under the locks of EXEC no room can be made.
            Err(CommandError::Store(StoreError::Full)) if !ctx.client.transaction.running => {}
            done => return done,
        }
        drop(guard);
        let len = ctx.session.peek(ctx.client.db, key, ctx.now).map_or(0, |found| found.len);
        ctx.make_room(key.bytes().len() + 2 * (len + brings))?;
        guard = ctx.session.write(ctx.client.db, key, ctx.now);
    }
    run(&mut guard)
}

/// Makes an edit of the collection at a key.
pub fn apply(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    form: (Kind, Encoding),
    event: Event,
    edit: Edit,
) -> Result<(), StoreError> {
    match edit {
        Edit::Patch(patches) => {
            let borrowed: Vec<Patch<'_>> =
                patches.iter().map(|patch| Patch { at: patch.at, bytes: &patch.bytes }).collect();
            if guard.patch(db, key, event, &borrowed) {
                return Ok(());
            }
            let mut old = Vec::new();
            guard.value(db, key, &mut old);
            put(guard, db, key, form, event, &Edit::Patch(patches).applied(old))
        }
        Edit::Whole(bytes) => match put(guard, db, key, form, event, &bytes) {
            // A collection that has become smaller must not need memory: it stays where it is.
            Err(StoreError::Full) if shrinks(guard, db, key, form, &bytes) => {
                guard.patch(db, key, event, &[Patch { at: 0, bytes: &bytes }]);
                Ok(())
            }
            done => done,
        },
        Edit::Empty => {
            // Two events, as in Redis: what was done, and that the key is gone.
            guard.patch(db, key, event, &[]);
            guard.remove(db, key, Event::Del);
            Ok(())
        }
    }
}

/// Stores a collection anew, with the deadline that the key has.
pub fn put(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    (kind, encoding): (Kind, Encoding),
    event: Event,
    bytes: &[u8],
) -> Result<(), StoreError> {
    guard.put(db, key, &keeping(Value::Packed(kind, encoding, bytes), event)).map(|_| ())
}

fn shrinks(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    form: (Kind, Encoding),
    bytes: &[u8],
) -> bool {
    let found = guard.find(db, key);
    found.is_some_and(|f| (f.kind, f.encoding) == form && f.unique == 0 && bytes.len() <= f.len)
}

/// Appends an element as a bulk string.
pub fn reply_element<B: Bytes>(
    packed: &B,
    span: crate::packed::entry::Span,
    reply: &mut dolium_protocol::resp::RespWriter<'_>,
) {
    reply.bulk_header(span.len);
    packed.copy(span.at, span.len, reply.out());
    reply.bulk_end();
}
