//! Storing: set, add, replace, append, prepend, cas, and `ms` in all its modes.

use super::details::Did;
use super::events::Fetched;
use super::exptime::Life;
use super::{Count, McContext, Reason, flush, retrieve};
use crate::limits::ROOM_TRIES;
use dolium_engine::*;
use dolium_protocol::memcache::text::StoreVerb;

/// What must be there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// The item with this unique number (`Order::cas`).
    Cas,
}

impl From<StoreVerb> for Mode {
    fn from(verb: StoreVerb) -> Mode {
        match verb {
            StoreVerb::Set => Mode::Set,
            StoreVerb::Add => Mode::Add,
            StoreVerb::Replace => Mode::Replace,
            StoreVerb::Append => Mode::Append,
            StoreVerb::Prepend => Mode::Prepend,
            StoreVerb::Cas(_) => Mode::Cas,
        }
    }
}

/// How to store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub mode: Mode,
    pub flags: u32,
    pub life: Life,
    /// The unique number that the item must have; 0: any, but for `Mode::Cas` none.
    pub cas: u64,
    /// `ms I`: an item newer than `cas` is replaced too, and the new one is stale.
    pub stale: bool,
}

impl Order {
    pub(super) fn with_text_cas(mut self, verb: StoreVerb) -> Order {
        if let StoreVerb::Cas(unique) = verb {
            self.cas = unique;
        }
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The new unique number, if one was asked for.
    Stored(u64),
    NotStored,
    Exists,
    NotFound,
    NoMemory,
    TooLarge,
    /// Nothing can be put behind or before a list or a set.
    NotAString,
}

#[inline]
pub(super) fn text(
    context: &mut McContext<'_>,
    key: &[u8],
    order: &Order,
    data: &[u8],
) -> &'static str {
    match store(context, key, order, data, false) {
        Outcome::Stored(_) => "STORED",
        Outcome::NotStored => "NOT_STORED",
        Outcome::Exists => "EXISTS",
        Outcome::NotFound => "NOT_FOUND",
        Outcome::NoMemory => retrieve::NO_MEMORY,
        Outcome::TooLarge => "SERVER_ERROR object too large for cache",
        Outcome::NotAString => retrieve::NOT_A_STRING,
    }
}

/// Stores, and tells who watches. `unique`: the caller wants to know the item's new unique number.
#[inline]
pub(super) fn store(
    context: &mut McContext<'_>,
    key: &[u8],
    order: &Order,
    data: &[u8],
    unique: bool,
) -> Outcome {
    if context.watched != 0 {
        return store_watched(context, key, order, data, unique);
    }
    store_unwatched(context, key, order, data, unique)
}

#[cold]
fn store_watched(
    context: &mut McContext<'_>,
    key: &[u8],
    order: &Order,
    data: &[u8],
    unique: bool,
) -> Outcome {
    let name = context.session.engine().key(key);
    let fetched = match context.session.peek(context.db, &name, context.now) {
        Some(found) => Fetched::Found(found.len, found.flags != 0),
        None => Fetched::Missed,
    };
    context.note_fetch(key, fetched);
    context.note_detail(key, Did::Set);
    let mut order = *order;
    if context.is_watched(super::UNIQUE_OFF) && flush::was_this_second(context) {
        // Without unique numbers Memcached tells old from new by the second.
        order.life = Life::Over;
    }
    let outcome = store_unwatched(context, key, &order, data, unique);
    let ttl = match order.life {
        Life::Until(at) => at.saturating_sub(context.now) / 1000,
        Life::Never | Life::Over => 0,
    };
    context.note_store(key, order.mode, ttl as i64, data.len(), outcome);
    outcome
}

#[inline]
fn store_unwatched(
    context: &mut McContext<'_>,
    key: &[u8],
    order: &Order,
    data: &[u8],
    unique: bool,
) -> Outcome {
    let (session, db, now) = (context.session, context.db, context.now);
    let name = session.engine().key(key);
    context.tally.add(Count::Set);
    let old = match order.mode {
        // What is there is copied, too. It stays where it is if something is put behind it and its block has room:
        // whether that is so is seen under the lock.
        Mode::Prepend => session.peek(db, &name, now).map_or(0, |old| old.len),
        _ => 0,
    };
    let mut bytes = key.len() + old + data.len();
    // What goes by the item that is there finds it: that does not go for the new one.
    let brought = bytes;
    let make_room = |bytes| match order.mode {
        // The item is stored anew, with room to spare if there is some.
        Mode::Append if bytes > brought => session
            .make_room_beside(db, &name, grown_bytes(bytes), now)
            .or_else(|_| session.make_room_beside(db, &name, bytes, now)),
        Mode::Set if order.cas == 0 => session.make_room(bytes, now),
        _ => session.make_room_beside(db, &name, bytes, now),
    };
    let mut room = make_room(bytes);
    let mut guard = session.write(db, &name, now);
    let mut tries = 0;
    let stored = loop {
        tries += 1;
        let stored = match order.mode {
            _ if room.is_err() => Err(StoreError::Full),
            Mode::Set => put(&mut guard, db, &name, order, data, unique, 0),
            _ => match conditional(
                context,
                &mut guard,
                &name,
                order,
                data,
                unique,
                &mut bytes,
                tries == 1,
            ) {
                Ok(stored) => stored,
                Err(refused) => {
                    context.tally.add(Count::NotStored);
                    return refused;
                }
            },
        };
        if stored != Err(StoreError::Full) || room.is_err() || tries == ROOM_TRIES {
            break stored;
        }
        // Between the making of room and the lock another thread has taken it, or it was made for less.
        drop(guard);
        room = make_room(bytes);
        guard = session.write(db, &name, now);
    };
    let error = match stored {
        Ok(unique) => {
            if order.life == Life::Over {
                context.server.note_departure(name.hash(), Reason::Expired);
            }
            return Outcome::Stored(unique);
        }
        Err(error) => error,
    };
    context.tally.add(Count::NotStored);
    // No stale value may stay where a newer one could not be stored.
    if order.mode == Mode::Set {
        guard.remove(db, &name, Event::Del);
    }
    match error {
        StoreError::Full => {
            context.tally.add(Count::NoMemory);
            Outcome::NoMemory
        }
        StoreError::KeyTooLong | StoreError::ValueTooLong => {
            context.tally.add(Count::TooLarge);
            Outcome::TooLarge
        }
    }
}

/// Stores the value as it came. An item whose life is over before it began is not stored, and what
/// was there goes. If its number is to be told, it is there for a moment, since it takes an item to have one.
#[inline]
fn put(
    guard: &mut Guard<'_>,
    db: Db,
    name: &Key<'_>,
    order: &Order,
    data: &[u8],
    unique: bool,
    marks: u8,
) -> Result<u64, StoreError> {
    let is_over = order.life == Life::Over;
    if is_over && !unique {
        guard.remove(db, name, Event::Expired);
        return Ok(0);
    }
    let put = Put {
        value: Value::Bytes(data),
        deadline: order.life.of_put().unwrap_or(Deadline::Never),
        flags: Flags::Set(order.flags),
        unique,
        marks,
        event: Event::Set,
    };
    let stored = guard.put(db, name, &put).map(|stored| stored.unique);
    if is_over && stored.is_ok() {
        guard.remove(db, name, Event::Expired);
    }
    stored
}

/// Stores if what is there allows it. `Err`: it does not. Only the first try of a store is counted. `room` is for
/// how many bytes there is room; full, it may be raised to what is needed.
fn conditional(
    context: &McContext<'_>,
    guard: &mut Guard<'_>,
    name: &Key<'_>,
    order: &Order,
    data: &[u8],
    unique: bool,
    room: &mut usize,
    is_first: bool,
) -> Result<Result<u64, StoreError>, Outcome> {
    let db = context.db;
    let count_hit = || {
        if is_first {
            context.tally.add(Count::CasHit);
        }
    };
    let Some(found) = guard.find(db, name) else {
        return match order.mode {
            Mode::Set | Mode::Add => Ok(put(guard, db, name, order, data, unique, 0)),
            Mode::Cas => {
                context.tally.add(Count::CasMiss);
                Err(Outcome::NotFound)
            }
            Mode::Replace | Mode::Append | Mode::Prepend => Err(Outcome::NotStored),
        };
    };
    let matches = context.has_unique(&found, order.cas);
    match order.mode {
        Mode::Set | Mode::Replace => Ok(put(guard, db, name, order, data, unique, 0)),
        // No use of what is there: nobody was shown it.
        Mode::Add => Err(Outcome::NotStored),
        Mode::Cas if matches => {
            count_hit();
            Ok(put(guard, db, name, order, data, unique, 0))
        }
        // Numbers grow, so an item that has none yet was written after whatever the client read.
        Mode::Cas
            if order.stale
                && order.cas != 0
                && !context.is_watched(super::UNIQUE_OFF)
                && (found.unique == 0 || order.cas < found.unique) =>
        {
            count_hit();
            // The new value is better than none, but was made from what is out of date.
            let put = Put {
                value: Value::Bytes(data),
                deadline: Deadline::Keep,
                flags: Flags::Set(order.flags),
                unique,
                marks: MARK_STALE | found.marks & MARK_WON,
                event: Event::Set,
            };
            Ok(guard.put(db, name, &put).map(|stored| stored.unique))
        }
        Mode::Cas => {
            context.tally.add(Count::CasBad);
            Err(Outcome::Exists)
        }
        Mode::Append | Mode::Prepend if found.kind != Kind::String => Err(Outcome::NotAString),
        // Without unique numbers Memcached looks at none here.
        Mode::Append | Mode::Prepend
            if order.cas != 0 && !matches && !context.is_watched(super::UNIQUE_OFF) =>
        {
            Err(Outcome::Exists)
        }
        // What is too long together is not stored, and what was there stays.
        Mode::Append | Mode::Prepend
            if found.len + data.len() > context.server.value_bytes_max() =>
        {
            Err(Outcome::NotStored)
        }
        Mode::Append if extends_in_place(guard, db, name, &found, data, unique) => {
            Ok(Ok(new_unique(guard, db, name, unique)))
        }
        Mode::Append if is_first && lacks_room(context, name, &found, data, room) => {
            Ok(Err(StoreError::Full))
        }
        Mode::Append if !unique || found.unique != 0 => {
            let part = Patch { at: found.len, bytes: data };
            match guard.grow(db, name, Event::Append, &part) {
                Ok(true) => Ok(Ok(new_unique(guard, db, name, unique))),
                // An integer.
                Ok(false) => Ok(extend(guard, db, name, order, data, unique)),
                Err(error) => Ok(Err(error)),
            }
        }
        Mode::Append | Mode::Prepend => {
            let around = match order.mode {
                Mode::Prepend => [data, b""],
                _ => [b"", data],
            };
            match guard.join(db, name, Event::Append, around, unique) {
                Ok(Some(unique)) => Ok(Ok(unique)),
                // An integer.
                Ok(None) => Ok(extend(guard, db, name, order, data, unique)),
                Err(error) => Ok(Err(error)),
            }
        }
    }
}

/// Puts the data behind what is there, if the item's block has room for them. A first unique number
/// takes an item of another form.
fn extends_in_place(
    guard: &mut Guard<'_>,
    db: Db,
    name: &Key<'_>,
    found: &Found,
    data: &[u8],
    unique: bool,
) -> bool {
    let part = Patch { at: found.len, bytes: data };
    (!unique || found.unique != 0) && guard.store_part(db, name, Event::Append, &part)
}

/// The unique number of an item that has one, if it is asked for.
fn new_unique(guard: &mut Guard<'_>, db: Db, name: &Key<'_>, is_asked: bool) -> u64 {
    if is_asked { guard.find(db, name).map_or(0, |new| new.unique) } else { 0 }
}

/// Whether room has to be made for what is there with the data behind it; then `room` says how much.
fn lacks_room(
    context: &McContext<'_>,
    name: &Key<'_>,
    found: &Found,
    data: &[u8],
    room: &mut usize,
) -> bool {
    *room = name.bytes().len() + found.len + data.len();
    !context.session.has_ample_room(grown_bytes(*room))
}

/// Puts the data behind or before an integer. Flags and time to live stay.
fn extend(
    guard: &mut Guard<'_>,
    db: Db,
    name: &Key<'_>,
    order: &Order,
    data: &[u8],
    unique: bool,
) -> Result<u64, StoreError> {
    let mut old = Vec::new();
    guard.value(db, name, &mut old);
    let parts = match order.mode {
        Mode::Prepend => [data, &old, b""],
        _ => [&old, data, b""],
    };
    let put = Put {
        value: Value::Parts(parts),
        deadline: Deadline::Keep,
        flags: Flags::Keep,
        unique,
        marks: 0,
        event: Event::Append,
    };
    guard.put(db, name, &put).map(|stored| stored.unique)
}
