//! `mg`: what is asked for of an item, in the order asked.
//!
//! An ordinary `mg` reads like `get`: no lock, nothing allocated. What changes the item (`T`, `N`,
//! `R`, a stale item's first reader, a first unique number) runs under its lock. What finds no memory has
//! changed nothing: an item that `N` makes comes with its time to live and its mark, or not at all.

use super::exptime::{Life, seconds_until};
use super::meta::{self, View};
use super::{Count, KEY_BUFFER, McContext, UNIQUE_OFF, retrieve};
use crate::limits::ROOM_TRIES;
use dolium_engine::*;
use dolium_protocol::memcache::meta::Command;
use dolium_protocol::memcache::write::{self, MetaReply};

pub(super) fn run(context: &mut McContext<'_>, command: &Command<'_>) {
    let flags = &command.flags;
    let mut buffer = KEY_BUFFER;
    let key = context.session.engine().key(command.key.bytes(&mut buffer));
    let value = flags.has(b'v');
    // `u` asks that the item's use be not counted; only reads under the lock do not count.
    let changes = flags.has(b'N') || flags.has(b'T') || flags.has(b'R') || value && flags.has(b'u');
    let seen = match changes {
        true => None,
        false => match read(context, command, &key) {
            Look::Answered => return,
            Look::Seen(found) => Some(found),
        },
    };
    let start = context.out.len();
    let mut tries = 0;
    loop {
        tries += 1;
        let _ = context.make_room_to_rewrite(&key);
        if flags.has(b'N') {
            // Without room the put says so.
            let bytes = key.bytes().len() + retrieve::NEW_ITEM_BYTES;
            let _ = context.session.make_room(bytes, context.now);
        }
        match change(context, command, &key, seen.as_ref()) {
            // As in Memcached, what gives a new time to live is a touch and no lookup, if there is an item.
            Ok(true) if flags.has(b'T') => {
                context.tally.add(Count::Touch);
                return context.tally.add(Count::TouchHit);
            }
            Ok(true) => break context.tally.add(Count::GetHit),
            Ok(false) => break miss(context, command, &key),
            Err(_) => context.out.truncate(start),
        }
        if tries == ROOM_TRIES {
            break write::line(context.out, retrieve::NO_MEMORY);
        }
    }
    context.tally.add(Count::Get);
}

fn miss(context: &mut McContext<'_>, command: &Command<'_>, key: &Key<'_>) {
    context.miss(key.bytes(), key.hash());
    if !command.flags.has(b'q') {
        meta::bare(context, command, b"EN");
    }
}

/// A unique number is to be told. Without unique numbers (`-C`) it is 0, for all items.
#[inline]
fn wants_unique(context: &McContext<'_>, command: &Command<'_>) -> bool {
    command.flags.has(b'c') && !context.is_watched(UNIQUE_OFF)
}

/// What a look without a lock has come to.
enum Look {
    Answered,
    /// Nothing is answered: the item must change. It is told as it was before this look, which has
    /// counted as a use.
    Seen(Found),
}

/// Answers without a lock, if that can be.
#[inline]
fn read(context: &mut McContext<'_>, command: &Command<'_>, key: &Key<'_>) -> Look {
    let (flags, now, start) = (&command.flags, context.now, context.out.len());
    let copies = context.copies();
    let numbered = wants_unique(context, command);
    let unique = move |found: &Found| if numbered { found.unique } else { 0 };
    let value_head = |found: &Found, out: &mut Vec<u8>| {
        let view = View { found: *found, unique: unique(found), now };
        head(MetaReply::value(out, found.len), command, &view).end();
    };
    let found = if flags.has(b'v') {
        context.session.get_if(context.db, key, now, context.out, &copies, value_head)
    } else {
        let found = context.session.peek(context.db, key, now);
        if found.is_some() && !flags.has(b'u') {
            context.session.touch(context.db, key, now);
        }
        found
    };
    let Some(found) = found else {
        context.tally.add(Count::Get);
        miss(context, command, key);
        return Look::Answered;
    };
    if flags.has(b'v') && found.kind != Kind::String {
        context.out.truncate(start);
        write::line(context.out, retrieve::NOT_A_STRING);
        return Look::Answered;
    }
    if found.marks != 0 || numbered && found.unique == 0 {
        context.out.truncate(start);
        return Look::Seen(found);
    }
    if flags.has(b'v') && !copies(&found) {
        let suits = |found: &Found| found.marks == 0 && (!numbered || found.unique != 0);
        // The look above has counted as a use, which is not to be told as an earlier one.
        let Found { frequency, last_use_s, .. } = found;
        let head = |found: &Found, out: &mut Vec<u8>| {
            value_head(&Found { frequency, last_use_s, ..*found }, out);
        };
        if !context.pass(key, suits, head, b"\r\n") {
            return read(context, command, key);
        }
    } else if flags.has(b'v') {
        write::block_end(context.out);
    } else {
        let view = View { found, unique: unique(&found), now };
        head(MetaReply::status(context.out, b"HD"), command, &view).end();
    }
    context.tally.add(Count::Get);
    context.tally.add(Count::GetHit);
    context.note_hit(key.bytes(), &found);
    Look::Answered
}

/// The flags of an item that nothing happens to.
#[inline]
fn head<'a>(mut reply: MetaReply<'a>, command: &Command<'_>, view: &View) -> MetaReply<'a> {
    for (letter, token) in command.flags.iter() {
        view.tell(&mut reply, letter);
        meta::repeat(&mut reply, command, letter, token);
    }
    reply
}

/// Answers under the item's lock. `Ok(false)`: there is no item, and nothing was answered. `seen` is
/// the item before this request's own look at it, if there was one.
fn change(
    context: &mut McContext<'_>,
    command: &Command<'_>,
    key: &Key<'_>,
    seen: Option<&Found>,
) -> Result<bool, StoreError> {
    let (flags, db, now) = (&command.flags, context.db, context.now);
    let mut guard = context.session.write(db, key, now);
    let created = guard.find(db, key).is_none();
    if created {
        if !flags.has(b'N') {
            return Ok(false);
        }
        let life = life_of_new(command, now);
        let put = Put {
            unique: wants_unique(context, command),
            marks: MARK_WON,
            ..put_of_new(life, Value::Bytes(b""))
        };
        guard.put(db, key, &put)?;
        context.tally.add(Count::Made);
    }
    let is_string = |found: Found| found.kind == Kind::String;
    if flags.has(b'v') && !guard.find(db, key).is_some_and(is_string) {
        write::line(context.out, retrieve::NOT_A_STRING);
        return Ok(true);
    }
    let unique = if wants_unique(context, command) { guard.unique(db, key)? } else { 0 };
    let Some(mut found) = guard.find(db, key) else { return Ok(false) };
    if created {
        // It is told of as Memcached makes it: bare, until the flags come by that say more.
        (found.marks, found.deadline) = (0, NEVER);
    }
    if let Some(seen) = seen {
        (found.frequency, found.last_use_s) = (seen.frequency, seen.last_use_s);
    }
    let mut view = View { found, unique, now };
    let mut life = None;
    let mut won = false;
    let mut reply = match flags.has(b'v') {
        true => MetaReply::value(context.out, found.len),
        false => MetaReply::status(context.out, b"HD"),
    };
    for (letter, token) in flags.iter() {
        match letter {
            b'T' => life = Some(Life::new(flags.exptime, now)),
            b'N' if created => {
                life = Some(Life::new(flags.vivify, now));
                won = true;
            }
            b'R' if !created && found.marks & MARK_WON == 0 => {
                won |= is_due_before(view.found.deadline, Life::new(flags.recache, now), now);
            }
            _ => {}
        }
        if let (b'T' | b'N', Some(life)) = (letter, life) {
            view.found.deadline = life.deadline().unwrap_or(now);
        }
        view.tell(&mut reply, letter);
        meta::repeat(&mut reply, command, letter, token);
    }
    if found.marks & MARK_WON != 0 {
        reply.flag(b'Z');
    }
    if found.marks & MARK_STALE != 0 {
        reply.flag(b'X');
        won |= found.marks & MARK_WON == 0;
    }
    if won {
        reply.flag(b'W');
    }
    reply.end();
    if flags.has(b'v') {
        guard.value(db, key, context.out);
        write::block_end(context.out);
    }
    // First of all what may fail: nobody is told that he has won if the request is refused.
    match life.map(Life::deadline) {
        Some(Some(deadline)) if !created => {
            guard.set_deadline(db, key, deadline, Event::Expire)?;
        }
        Some(None) => {
            guard.remove(db, key, Event::Expired);
        }
        _ => {}
    }
    // The look before this has counted already.
    if !flags.has(b'u') && seen.is_none() {
        guard.touch(db, key);
    }
    if won && !created {
        guard.set_marks(db, key, found.marks | MARK_WON);
    }
    Ok(true)
}

/// How long an item that `N` makes shall live. Where `T` is given, too, the one that is written last
/// holds, as in Memcached, which goes through the flags in their order.
pub(super) fn life_of_new(command: &Command<'_>, now: Millis) -> Life {
    let flags = &command.flags;
    let mut life = Life::Never;
    for (letter, _) in flags.iter() {
        match letter {
            b'N' => life = Life::new(flags.vivify, now),
            b'T' => life = Life::new(flags.exptime, now),
            _ => {}
        }
    }
    life
}

/// An item that `N` makes, with its time to live, so that there is none without it. One whose life is
/// over is made all the same, because the reply tells of it, and has to be removed behind that.
pub(super) fn put_of_new(life: Life, value: Value<'_>) -> Put<'_> {
    match life.of_put() {
        Some(deadline @ Deadline::At(_)) => {
            Put { deadline, event: Event::SetExpire, ..Put::plain(value) }
        }
        _ => Put::plain(value),
    }
}

/// An item that never expires is not due, and a time that means never comes before nothing. Told by the
/// seconds that `t` shows, begun ones whole: an item that was given 31 a moment ago has not fewer.
fn is_due_before(deadline: Millis, recache: Life, now: Millis) -> bool {
    let left = seconds_until(deadline, now);
    matches!(recache, Life::Until(at) if left.is_some() && left < seconds_until(at, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begun_seconds_are_compared() {
        const NOW: Millis = 1_700_000_000_500;
        let is_due = |left_ms: Millis, recache: i64| {
            is_due_before(NOW + left_ms, Life::new(recache, NOW), NOW)
        };
        assert!(!is_due(31_000, 31));
        assert!(!is_due(30_995, 31), "the 31st second has only begun");
        assert!(is_due(30_000, 31));
        assert!(is_due(30_995, 32));
        assert!(!is_due_before(NEVER, Life::new(31, NOW), NOW));
        assert!(!is_due(1000, 0));
    }
}
