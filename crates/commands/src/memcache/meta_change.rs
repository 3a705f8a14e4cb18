//! `ms`, `md` and `ma`.

use super::arithmetic::{self, Fault, Step};
use super::exptime::Life;
use super::meta::{self, View};
use super::meta_get::{life_of_new, put_of_new};
use super::store::{self, Mode, Order, Outcome};
use super::{Count, KEY_BUFFER, McContext, retrieve};
use crate::limits::ROOM_TRIES;
use dolium_engine::*;
use dolium_protocol::memcache::meta::Command;
use dolium_protocol::memcache::write::{self, MetaReply};

/// Stores. The number in front of its flags is its data block's length.
pub(super) fn set(context: &mut McContext<'_>, command: &Command<'_>) {
    let flags = &command.flags;
    let mode = match flags.mode {
        b'E' => Mode::Add,
        b'A' => Mode::Append,
        b'P' => Mode::Prepend,
        // With a number to compare, set and replace are cas.
        _ if flags.has(b'C') => Mode::Cas,
        b'R' => Mode::Replace,
        _ => Mode::Set,
    };
    let order = Order {
        mode,
        flags: flags.client_flags,
        life: context.life(flags.exptime),
        cas: flags.cas,
        stale: flags.has(b'I'),
    };
    let mut buffer = KEY_BUFFER;
    let key = command.key.bytes(&mut buffer);
    // With a unique number an item also remembers when it was last used, which `mg l` may ask.
    // Of one that is over at once there is nothing to remember.
    let unique = order.life != Life::Over || flags.has(b'c');
    let outcome = store::store(context, key, &order, command.data, unique);
    let (status, unique) = match outcome {
        // Only what went well is silent.
        Outcome::Stored(_) if flags.has(b'q') => return,
        Outcome::Stored(unique) => (b"HD", context.shown_unique(unique)),
        Outcome::NotStored => (b"NS", 0),
        Outcome::Exists => (b"EX", 0),
        Outcome::NotFound => (b"NF", 0),
        Outcome::NoMemory => return write::line(context.out, retrieve::NO_MEMORY),
        Outcome::NotAString => return write::line(context.out, retrieve::NOT_A_STRING),
        Outcome::TooLarge => {
            return dolium_protocol::memcache::Refusal::TooLarge.write(context.out);
        }
    };
    let mut reply = MetaReply::status(context.out, status);
    for (letter, token) in flags.iter() {
        if letter == b'c' {
            reply.number(b'c', unique);
        }
        meta::repeat(&mut reply, command, letter, token);
    }
    reply.end();
}

/// Deletes, or with `I` marks the item as stale.
pub(super) fn delete(context: &mut McContext<'_>, command: &Command<'_>) {
    let flags = &command.flags;
    let mut buffer = KEY_BUFFER;
    let key = context.session.engine().key(command.key.bytes(&mut buffer));
    let mut tries = 0;
    let outcome = loop {
        tries += 1;
        let room = match flags.has(b'I') {
            true => context.make_room_to_rewrite(&key),
            false => Ok(()),
        };
        let outcome = deleted(context, command, &key);
        // Between the making of room and the lock another thread may have taken it.
        if outcome.is_ok() || room.is_err() || tries == ROOM_TRIES {
            break outcome;
        }
    };
    let status = match outcome {
        Ok(b"HD") if flags.has(b'q') => return,
        Ok(status) => status,
        Err(_) => return write::line(context.out, retrieve::NO_MEMORY),
    };
    meta::bare(context, command, status);
}

fn deleted(
    context: &mut McContext<'_>,
    command: &Command<'_>,
    key: &Key<'_>,
) -> Result<&'static [u8; 2], StoreError> {
    let (flags, db) = (&command.flags, context.db);
    // Changes of an item one by one are a write of several: nobody sees the new unique number of one that is not
    // yet stale.
    let mut guard = match flags.has(b'I') {
        true => context.session.write_many(&[(db, key.hash())], context.now),
        false => context.session.write(db, key, context.now),
    };
    let Some(found) = guard.find(db, key) else {
        context.tally.add(Count::DeleteMiss);
        return Ok(b"NF");
    };
    if flags.has(b'C') && !context.is_deleted_by(&found, flags.cas) {
        context.tally.add(Count::DeleteMiss);
        return Ok(b"EX");
    }
    if flags.has(b'I') {
        // A new unique number, so that who read the item before cannot take it for fresh; and the
        // next reader is to be told to renew it.
        guard.renew_unique(db, key)?;
        if flags.has(b'T') {
            match Life::new(flags.exptime, context.now).deadline() {
                Some(deadline) => guard.set_deadline(db, key, deadline, Event::Expire)?,
                None => guard.remove(db, key, Event::Expired),
            };
        }
        // Last, because it cannot fail: a client whose request is refused has made nothing stale.
        guard.set_marks(db, key, MARK_STALE);
    } else {
        guard.remove(db, key, Event::Del);
        context.tally.add(Count::DeleteHit);
    }
    Ok(b"HD")
}

/// Counts; with `N` it makes the item that is not there.
pub(super) fn arithmetic(context: &mut McContext<'_>, command: &Command<'_>) {
    let mut buffer = KEY_BUFFER;
    let key = context.session.engine().key(command.key.bytes(&mut buffer));
    let start = context.out.len();
    let counted = arithmetic::with_room(context, &key, |context| counted(context, command, &key));
    let status = match counted {
        Ok(()) => return,
        Err(Fault::NonNumeric) => return write::line(context.out, arithmetic::NON_NUMERIC),
        Err(Fault::Refused(Outcome::NotFound)) => b"NF",
        Err(Fault::Refused(Outcome::Exists)) => b"EX",
        Err(Fault::Refused(Outcome::NotAString)) => {
            return write::line(context.out, retrieve::NOT_A_STRING);
        }
        Err(Fault::Refused(_)) => {
            context.out.truncate(start);
            return write::line(context.out, "SERVER_ERROR out of memory");
        }
    };
    meta::bare(context, command, status);
}

/// Counts and answers. What finds no memory has changed nothing.
fn counted(context: &mut McContext<'_>, command: &Command<'_>, key: &Key<'_>) -> Result<(), Fault> {
    let (flags, db, now) = (&command.flags, context.db, context.now);
    let no_memory = |_: StoreError| Fault::Refused(Outcome::NoMemory);
    let mut guard = context.session.write(db, key, now);
    // With a time to live, too, the number is stored together with it: it would stay counted if there were
    // memory for it alone. One that is over has the item removed below.
    let renewed = flags.has(b'T').then(|| Life::new(flags.exptime, now).of_put()).flatten();
    let step = Step {
        incr: !matches!(flags.mode, b'D' | b'-'),
        delta: flags.delta,
        cas: flags.cas,
        unique: flags.has(b'c'),
        deadline: renewed.unwrap_or(Deadline::Keep),
    };
    let deadline_before = match flags.has(b'T') {
        true => Some(guard.find(db, key).map_or(NEVER, |found| found.deadline)),
        false => None,
    };
    let mut created = false;
    let (value, unique) = match arithmetic::count(context, &mut guard, key, step) {
        Err(Fault::Refused(Outcome::NotFound)) if flags.has(b'N') => {
            created = true;
            let text = dolium_protocol::number::Decimal::unsigned(flags.initial);
            let life = life_of_new(command, now);
            let put = put_of_new(life, Value::Bytes(text.as_bytes()));
            let put = Put { unique: step.unique, ..put };
            let stored = guard.put(db, key, &put).map_err(no_memory)?;
            context.tally.add(Count::Made);
            (flags.initial, stored.unique)
        }
        Err(Fault::Refused(Outcome::NotFound)) => {
            arithmetic::note_miss(context, step.incr);
            return Err(Fault::Refused(Outcome::NotFound));
        }
        counted => counted?,
    };
    let Some(mut found) = guard.find(db, key) else { return Ok(()) };
    if let Some(deadline) = deadline_before.or(created.then_some(NEVER)) {
        // It is told of as it was, until the flag comes by that says when it ends.
        found.deadline = deadline;
    }
    let text = dolium_protocol::number::Decimal::unsigned(value);
    let quiet = flags.has(b'q') && !created;
    let start = context.out.len();
    let mut view = View { found, unique: context.shown_unique(unique), now };
    let mut life = None;
    let mut reply = match flags.has(b'v') {
        true => MetaReply::value(context.out, text.as_bytes().len()),
        false => MetaReply::status(context.out, b"HD"),
    };
    for (letter, token) in flags.iter() {
        match letter {
            b'T' => life = Some(Life::new(flags.exptime, now)),
            b'N' if created => life = Some(Life::new(flags.vivify, now)),
            b'c' | b't' => view.tell(&mut reply, letter),
            _ => meta::repeat(&mut reply, command, letter, token),
        }
        if let (b'T' | b'N', Some(life)) = (letter, life) {
            view.found.deadline = life.deadline().unwrap_or(now);
        }
    }
    reply.end();
    if flags.has(b'v') {
        context.out.extend_from_slice(text.as_bytes());
        write::block_end(context.out);
    }
    if quiet {
        context.out.truncate(start);
    }
    match life.map(Life::deadline) {
        // The item has this deadline already, so there is nothing that could fail: it is told.
        Some(Some(deadline)) if !created => {
            guard.set_deadline(db, key, deadline, Event::Expire).map_err(no_memory)?;
        }
        Some(None) => {
            guard.remove(db, key, Event::Expired);
        }
        _ => {}
    }
    drop(guard);
    if created {
        // Memcached adds the item before it gives it its time to live, and shows that.
        let stored = Outcome::Stored(unique);
        context.note_store(key.bytes(), Mode::Add, 0, text.as_bytes().len(), stored);
    }
    Ok(())
}
