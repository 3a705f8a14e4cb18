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
    Db, Encoding, Event, Found, Guard, Key, Kind, Millis, Packed, Patch, Put, Session, StoreError,
    Value,
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

/// Runs a change of a key under its lock. What it brings has room made for it before; what brings
/// nothing needs none, as in Redis.
pub fn change<R>(
    ctx: &Context<'_>,
    key: &Key<'_>,
    brings: usize,
    run: impl FnMut(&mut Guard<'_>) -> Result<R, CommandError>,
) -> Result<R, CommandError> {
    let db = ctx.client.db;
    if brings > 0 {
        ctx.make_room(key.bytes().len() + brings)?;
    }
    Tries::of(ctx).run(|| ctx.session.write(db, key, ctx.now), run)
}

/// Bytes of the collection at a key; 0 if there is none.
pub fn len(session: &Session, db: Db, key: &Key<'_>, now: Millis) -> usize {
    session.peek(db, key, now).map_or(0, |found| found.len)
}

/// A change under locks that runs again where it found no memory.
#[derive(Clone, Copy)]
pub struct Tries<'s> {
    pub session: &'s Session,
    pub now: Millis,
    /// Under the locks of EXEC no room can be made.
    pub in_exec: bool,
}

impl<'s> Tries<'s> {
    pub fn of(ctx: &Context<'s>) -> Self {
        let in_exec = ctx.client.transaction.running;
        Tries { session: ctx.session, now: ctx.now, in_exec }
    }

    /// Runs a change, which has changed nothing if there was no memory for it. Then room is made without
    /// the locks, for just as much as it found missing, and it runs again, and so on while others take
    /// that room.
    pub fn run<R>(
        self,
        lock: impl Fn() -> Guard<'s>,
        mut run: impl FnMut(&mut Guard<'s>) -> Result<R, CommandError>,
    ) -> Result<R, CommandError> {
        for _ in 1..ROOM_TRIES {
            let missing = match run(&mut lock()) {
                Err(CommandError::NoRoomFor(bytes)) if !self.in_exec => bytes,
                done => return done,
            };
            self.session.make_room(missing, self.now).map_err(|_| CommandError::NoRoom)?;
        }
        run(&mut lock())
    }
}

/// An edit was made for bytes that are not there any more. It is a mistake in this program, which
/// must neither end it nor change what it was not made for.
pub const NOT_AS_SEEN: CommandError = CommandError::Sentence(
    "the collection is not as this command has seen it; nothing was changed",
);

/// Makes an edit of the collection at a key, which changes so many elements. Where there is no memory
/// for it, nothing was changed; an edit that takes out and brings nothing needs none.
pub fn apply(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    form: (Kind, Encoding),
    event: Event,
    edit: Edit,
    elements: usize,
) -> Result<(), CommandError> {
    let changes = if matches!(edit, Edit::Empty) { 2 } else { 1 };
    match edit {
        Edit::Patch(patches) => {
            let borrowed: Vec<Patch<'_>> =
                patches.iter().map(|patch| Patch { at: patch.at, bytes: &patch.bytes }).collect();
            guard.patch(db, key, event, &borrowed).then_some(()).ok_or(NOT_AS_SEEN)?;
        }
        Edit::Whole(bytes) => {
            let (kind, encoding) = form;
            let value = Value::Packed(kind, encoding, &bytes);
            let put = keeping(value, event);
            // A collection that has become no longer must need no memory, nor cost another key: it stays where it is.
            match guard.put_beside_all(db, key, &put) {
                Ok(_) => {}
                Err(_) if shrinks(guard, db, key, form, &bytes) => {
                    guard.patch(db, key, event, &[Patch { at: 0, bytes: &bytes }]);
                }
                Err(_) => store(guard, db, key, &put)?,
            }
        }
        Edit::Empty => {
            // Two events, as in Redis: what was done, and that the key is gone.
            guard.patch(db, key, event, &[]);
            guard.remove(db, key, Event::Del);
        }
    }
    guard.count_elements(elements, changes);
    Ok(())
}

/// Stores a collection of so many elements anew, with the deadline that the key has.
pub fn put(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    (kind, encoding): (Kind, Encoding),
    event: Event,
    bytes: &[u8],
    elements: usize,
) -> Result<(), CommandError> {
    store(guard, db, key, &keeping(Value::Packed(kind, encoding, bytes), event))?;
    guard.count_elements(elements, 1);
    Ok(())
}

/// Stores a collection anew, or says how much memory is missing.
pub fn store(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    put: &Put<'_>,
) -> Result<(), CommandError> {
    match (guard.put(db, key, put), put.value) {
        (Ok(_), _) => Ok(()),
        (Err(StoreError::Full), Value::Packed(_, _, bytes)) => {
            Err(CommandError::NoRoomFor(key.bytes().len() + bytes.len()))
        }
        (Err(error), _) => Err(error.into()),
    }
}

fn shrinks(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    form: (Kind, Encoding),
    bytes: &[u8],
) -> bool {
    let found = guard.find(db, key);
    found.is_some_and(|f| (f.kind, f.encoding) == form && bytes.len() <= f.len)
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
