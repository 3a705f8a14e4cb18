//! `/keys/NAME`: GET, HEAD, PUT, DELETE.
//!
//! A value's ETag is its CAS unique. It is made when a value is first read here or stored under a
//! condition; a plain PUT, which needs none, stores none and stays small.
//!
//! A value may be anything, and whoever put it is not known: `nosniff` keeps a browser from running it as
//! a script of another origin's page.

use super::condition::{Condition, tag};
use super::target::KEY_METHODS;
use super::{CACHE, CACHE_ASKED, HttpContext, POLICY, POLICY_OURS, refuse, refuse_with, say};
use crate::limits::{DEADLINE_MAX, ROOM_TRIES};
use dolium_engine::*;
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
    let kind = session.peek(db, &key, now).map_or(Kind::String, |found| found.kind);
    if kind == Kind::String {
        give_unique(context, db, &key);
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
    let found = match request.method {
        Method::Head => {
            let found = session.peek(db, &key, now).inspect(|found| head(found, context.out));
            session.touch(db, &key, now);
            found
        }
        _ => session.get(db, &key, now, context.out, head),
    };
    let condition = Condition::of(request);
    match found {
        None => missing(context, request),
        Some(Found { kind, .. }) if kind != Kind::String => {
            context.out.truncate(start);
            refuse_with(context, request, 409, NOT_A_STRING, |response| {
                response.header("Dolium-Type", kind.name())
            });
        }
        Some(found) if !condition.match_holds(Some(found.unique)) => {
            context.out.truncate(start);
            refuse(context, request, 412, CHANGED);
        }
        Some(found) if !condition.none_match_holds(Some(found.unique)) => {
            context.out.truncate(start);
            let response = Response::new(context.out, 304, now)
                .header(CACHE, CACHE_ASKED)
                .header(POLICY, POLICY_OURS);
            response.header("ETag", tag(found.unique)).connection(request).no_body();
        }
        Some(_) => {}
    }
}

/// There is no such key, which a cache may keep as it may keep a value.
fn missing(context: &mut HttpContext<'_>, request: &Request<'_>) {
    say(context, request, 404, MISSING, |response| response.header(CACHE, CACHE_ASKED));
}

/// Gives an item its unique number, if it has none and there is memory for it.
fn give_unique(context: &HttpContext<'_>, db: Db, key: &Key<'_>) {
    let (session, now) = (context.session, context.now);
    let Some(found) = session.peek(db, key, now) else { return };
    let bytes = key.bytes().len() + found.len;
    if found.unique == 0 && session.make_room(bytes, now).is_ok() {
        // Without memory the response has no ETag.
        let _ = session.write(db, key, now).unique(db, key);
    }
}

fn put(context: &mut HttpContext<'_>, request: &Request<'_>, db: Db, name: &[u8]) {
    let mut ttls = request.headers_of("dolium-ttl-ms").map(parse_digits);
    let deadline = match (ttls.next(), ttls.next()) {
        (None, _) => Deadline::Never,
        (Some(Some(ttl @ 1..)), None) => match context.now.checked_add(ttl) {
            Some(at) if at <= DEADLINE_MAX => Deadline::At(at),
            _ => return refuse(context, request, 400, TTL_TOO_LONG),
        },
        _ => return refuse(context, request, 400, BAD_TTL),
    };
    if request.header("content-range").is_some() {
        return refuse(context, request, 400, PART);
    }
    let is_identity = |coding: &[u8]| coding.eq_ignore_ascii_case(b"identity");
    if !request.headers_of("content-encoding").all(is_identity) {
        return refuse(context, request, 415, CODED);
    }
    if request.header("dolium-type").is_some_and(|kind| kind != b"string") {
        return refuse(context, request, 415, BAD_TYPE);
    }
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
        let room = session.make_room(name.len() + value.len(), now);
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
