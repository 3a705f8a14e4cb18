//! `/keys/NAME`: GET, HEAD, PUT, DELETE.
//!
//! A value's ETag is its CAS unique. It is made when a value is first read here or stored under a
//! condition; a plain PUT, which needs none, stores none and stays small.
//!
//! A value may be anything, and whoever put it is not known: `nosniff` keeps a browser from running it as
//! a script of another origin's page.

use super::condition::{Condition, tag};
use super::target::KEY_METHODS;
use super::{HttpContext, refuse, refuse_with, say};
use crate::context::rewritten_bytes;
use crate::limits::{DEADLINE_MAX, ROOM_TRIES};
use dolium_engine::*;
use dolium_protocol::http::policy::*;
use dolium_protocol::http::{Method, Request, Response};
use dolium_protocol::number::parse_digits;
use std::borrow::Cow;

const MISSING: &str = "There is no such key.";
const CHANGED: &str = "The key is not as If-Match or If-None-Match wants it; nothing was changed.";
const BAD_METHOD: &str = "A key can be read by GET or HEAD, stored by PUT and removed by DELETE.";
const BAD_TTL: &str = "Dolium-Ttl-Ms must be one number of milliseconds, 1 or more.";
const TTL_TOO_LONG: &str = "Dolium-Ttl-Ms must end before 2^63 milliseconds since 1970; without \
                            it a value never expires.";
const BAD_TYPE: &str = "Only values of type string can be stored over HTTP.";
const PART: &str = "A part of a value cannot be stored: send all of it, without Content-Range.";
const CODED: &str = "A value is kept as it is sent, and how it is encoded is not remembered: send it \
                     without Content-Encoding.";
const NOT_A_STRING: &str =
    "The key holds a value of the type that Dolium-Type names; only strings can be read over HTTP.";
const FULL: &str = "The server's memory is full and its policy found nothing to evict.";
const KEY_TOO_LONG: &str = "The key is longer than 65535 bytes.";
const VALUE_TOO_LONG: &str = "The value is longer than 512 MB.";

pub(super) fn run(context: &mut HttpContext<'_>, request: &Request<'_>, db: Db, name: &[u8]) {
    match request.method {
        Method::Get | Method::Head => read(context, request, db, name),
        Method::Put => put(context, request, db, name),
        Method::Delete => delete(context, request, db, name),
        _ => {
            refuse_with(context, request, 405, BAD_METHOD, |r| r.header("Allow", KEY_METHODS));
        }
    }
}

fn read(context: &mut HttpContext<'_>, request: &Request<'_>, db: Db, name: &[u8]) {
    let (session, now, start) = (context.session, context.now, context.out.len());
    let key = session.engine().key(name);
    let has_room = give_unique(context, db, &key);
    let condition = Condition::of(request);
    // A value that will not be sent is not copied: who asks whether the one that he keeps is still the key's gets
    // nothing else most often.
    if !condition.is_none()
        && let Some(found) = session.peek(db, &key, now)
        && !(has_room && wants_unique(&found))
        && is_unfit(context, request, &condition, &found)
    {
        session.touch(db, &key, now);
        return;
    }
    let head = |found: &Found, out: &mut Vec<u8>| {
        let mut response = Response::new(out, 200, now)
            .header("Content-Type", "application/octet-stream")
            .header("X-Content-Type-Options", "nosniff")
            .header(POLICY, POLICY_OURS)
            .header(CACHE, CACHE_ASKED)
            .header("Dolium-Type", "string");
        if found.deadline != NEVER {
            response = response.header("Dolium-Ttl-Ms", found.deadline.saturating_sub(now));
        }
        // 0: there was no memory for a number.
        if found.unique != 0 {
            response = response.header("ETag", tag(found.unique));
        }
        response.connection(request).body_of(found.len);
    };
    let is_head = request.method == Method::Head;
    let mut found = match is_head {
        true => session.peek(db, &key, now).inspect(|found| head(found, context.out)),
        false => session.get(db, &key, now, context.out, head),
    };
    if has_room && found.as_ref().is_some_and(wants_unique) {
        // Another value has come since, and may again: from now on others have to wait.
        context.out.truncate(start);
        found = read_locked(context, db, &key, !is_head, head);
    }
    if is_head {
        session.touch(db, &key, now);
    }
    match found {
        None => missing(context, request),
        Some(Found { kind, .. }) if kind != Kind::String => {
            context.out.truncate(start);
            refuse_with(context, request, 409, NOT_A_STRING, |response| {
                response.header("Dolium-Type", kind.name())
            });
        }
        Some(found) if !condition.holds(Some(found.unique)) => {
            context.out.truncate(start);
            is_unfit(context, request, &condition, &found);
        }
        Some(_) => {}
    }
}

/// Answers if the conditions do not want this string sent.
fn is_unfit(
    context: &mut HttpContext<'_>,
    request: &Request<'_>,
    condition: &Condition<'_>,
    found: &Found,
) -> bool {
    if found.kind != Kind::String {
        return false;
    }
    if !condition.match_holds(Some(found.unique)) {
        refuse(context, request, 412, CHANGED);
        return true;
    }
    if condition.none_match_holds(Some(found.unique)) {
        return false;
    }
    let mut response = Response::new(context.out, 304, context.now)
        .header(CACHE, CACHE_ASKED)
        .header(POLICY, POLICY_OURS);
    if found.unique != 0 {
        response = response.header("ETag", tag(found.unique));
    }
    response.connection(request).no_body();
    true
}

/// There is no such key, which a cache may keep as it may keep a value.
fn missing(context: &mut HttpContext<'_>, request: &Request<'_>) {
    say(context, request, 404, MISSING, |response| response.header(CACHE, CACHE_ASKED));
}

/// A string that nobody has asked for its number yet.
fn wants_unique(found: &Found) -> bool {
    found.kind == Kind::String && found.unique == 0
}

/// Gives a string its unique number, if it has none. False: there is no memory for one, and the response has
/// no ETag.
fn give_unique(context: &HttpContext<'_>, db: Db, key: &Key<'_>) -> bool {
    let (session, now) = (context.session, context.now);
    let Some(found) = session.peek(db, key, now).filter(wants_unique) else { return true };
    if session.make_room_beside(db, key, rewritten_bytes(key, &found), now).is_err() {
        return false;
    }
    // What fails here is tried again under the lock that it is read under.
    let _ = session.write(db, key, now).unique(db, key);
    true
}

/// Appends what `head` does and, if it is wanted, the value, with the unique number that is made under the same
/// lock.
fn read_locked(
    context: &mut HttpContext<'_>,
    db: Db,
    key: &Key<'_>,
    with_value: bool,
    head: impl Fn(&Found, &mut Vec<u8>),
) -> Option<Found> {
    let (session, now) = (context.session, context.now);
    let mut tries = 0;
    let (mut guard, found) = loop {
        tries += 1;
        let room = session.peek(db, key, now).map_or(Ok(()), |found| {
            session.make_room_beside(db, key, rewritten_bytes(key, &found), now)
        });
        let mut guard = session.write(db, key, now);
        let found = guard.find(db, key)?;
        if !wants_unique(&found) {
            break (guard, found);
        }
        match guard.unique(db, key) {
            Ok(unique) => break (guard, Found { unique, ..found }),
            // Between the making of room and the lock another thread may have taken it.
            Err(_) if room.is_ok() && tries < ROOM_TRIES => {}
            Err(_) => break (guard, found),
        }
    };
    head(&found, context.out);
    if with_value && found.kind == Kind::String {
        guard.value(db, key, context.out);
    }
    Some(found)
}

/// What a PUT's headers say of its value, which is when it ends. `Err`: they alone refuse it, by a status and a
/// sentence, so that its body is neither asked for nor waited for.
pub(super) fn deadline_of(
    request: &Request<'_>,
    now: Millis,
) -> Result<Deadline, (u16, &'static str)> {
    let mut ttls = request.headers_of("dolium-ttl-ms").map(parse_digits);
    let deadline = match (ttls.next(), ttls.next()) {
        (None, _) => Deadline::Never,
        (Some(Some(ttl @ 1..)), None) => match now.checked_add(ttl) {
            Some(at) if at <= DEADLINE_MAX => Deadline::At(at),
            _ => return Err((400, TTL_TOO_LONG)),
        },
        _ => return Err((400, BAD_TTL)),
    };
    if request.header("content-range").is_some() {
        return Err((400, PART));
    }
    let is_identity = |coding: &[u8]| coding.eq_ignore_ascii_case(b"identity");
    if !request.headers_of("content-encoding").all(is_identity) {
        return Err((415, CODED));
    }
    if request.header("dolium-type").is_some_and(|kind| kind != b"string") {
        return Err((415, BAD_TYPE));
    }
    Ok(deadline)
}

fn put(context: &mut HttpContext<'_>, request: &Request<'_>, db: Db, name: &[u8]) {
    let deadline = match deadline_of(request, context.now) {
        Ok(deadline) => deadline,
        Err((status, sentence)) => return refuse(context, request, status, sentence),
    };
    // A body in chunks lies in pieces.
    let value = match request.body.as_slice() {
        Some(whole) => Cow::Borrowed(whole),
        None => {
            let mut whole = Vec::with_capacity(request.body.len());
            request.body.pieces().for_each(|piece| whole.extend_from_slice(piece));
            Cow::Owned(whole)
        }
    };
    let condition = Condition::of(request);
    let (session, now) = (context.session, context.now);
    let key = session.engine().key(name);
    let put = Put {
        deadline,
        unique: !condition.is_none(),
        event: if deadline == Deadline::Never { Event::Set } else { Event::SetExpire },
        ..Put::plain(Value::Bytes(&value))
    };
    let mut tries = 0;
    let stored = loop {
        tries += 1;
        let room = match condition.is_none() {
            true => session.make_room(name.len() + value.len(), now),
            false => session.make_room_beside(db, &key, name.len() + value.len(), now),
        };
        let mut guard = session.write(db, &key, now);
        if !condition.is_none() && !condition.holds(guard.find(db, &key).map(|found| found.unique))
        {
            return refuse(context, request, 412, CHANGED);
        }
        let stored = room.and_then(|()| guard.put(db, &key, &put));
        // Between the making of room and the lock another thread may have taken it.
        if stored != Err(StoreError::Full) || room.is_err() || tries == ROOM_TRIES {
            break stored;
        }
    };
    let stored = match stored {
        Ok(stored) => stored,
        Err(error) => {
            let (status, sentence) = match error {
                StoreError::Full => (507, FULL),
                StoreError::KeyTooLong => (414, KEY_TOO_LONG),
                StoreError::ValueTooLong => (413, VALUE_TOO_LONG),
            };
            return refuse(context, request, status, sentence);
        }
    };
    let status = if stored.replaced { 204 } else { 201 };
    let mut response = Response::new(context.out, status, now)
        .header(CACHE, CACHE_ASKED)
        .header(POLICY, POLICY_OURS)
        .connection(request);
    if stored.unique != 0 {
        response = response.header("ETag", tag(stored.unique));
    }
    match stored.replaced {
        true => response.no_body(),
        false => response.body_of(0),
    }
}

fn delete(context: &mut HttpContext<'_>, request: &Request<'_>, db: Db, name: &[u8]) {
    let condition = Condition::of(request);
    let key = context.session.engine().key(name);
    let mut guard = context.session.write(db, &key, context.now);
    let Some(found) = guard.find(db, &key) else {
        return missing(context, request);
    };
    if !condition.holds(Some(found.unique)) {
        return refuse(context, request, 412, CHANGED);
    }
    guard.remove(db, &key, Event::Del);
    let response = Response::new(context.out, 204, context.now)
        .header(CACHE, CACHE_ASKED)
        .header(POLICY, POLICY_OURS);
    response.connection(request).no_body();
}
