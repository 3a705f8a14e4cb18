//! The binary protocol's lookups: GET, GETK, TOUCH, GAT, GATK.
//!
//! A plain lookup takes no lock, as the text protocol's `get`. What makes a first unique number or gives a new
//! time to live runs under the lock of its shard.

use super::binary::{fail, life, not_a_string};
use super::{Count, McContext};
use crate::limits::ROOM_TRIES;
use dolium_engine::*;
use dolium_protocol::memcache::binary::{Request, Status, header, response};

/// What a GET tells of an item that has no unique number yet where there is no memory to make one. Its client has
/// not asked for a number, and is not to be told of a miss; should it compare with this one, it is told EXISTS.
const FITS_NOTHING: u64 = u64::MAX;

/// GET, GETK, TOUCH, GAT, GATK and their quiet forms.
pub(super) fn get(
    context: &mut McContext<'_>,
    request: &Request<'_>,
    touch: Option<u32>,
    with_value: bool,
    with_key: bool,
) {
    const FLAGS_BYTES: usize = 4;
    let name = context.session.engine().key(request.key);
    let (db, now) = (context.db, context.now);
    let start = context.out.len();
    let key: &[u8] = if with_key { request.key } else { b"" };
    let head = |out: &mut Vec<u8>, found: &Found, unique: u64| {
        let value = if with_value { found.len } else { 0 };
        let lengths = (FLAGS_BYTES as u8, key.len(), FLAGS_BYTES + key.len() + value);
        header(out, request, Status::Ok, lengths, unique);
        out.extend_from_slice(&found.flags.to_be_bytes());
        out.extend_from_slice(key);
    };
    let has_unique = context.server.settings().fixed.unique_enabled;
    if touch.is_none() {
        let copies = context.copies();
        let value_head = |found: &Found, out: &mut Vec<u8>| {
            head(out, found, if has_unique { found.unique } else { 0 });
        };
        let found = context.session.get_if(db, &name, now, context.out, &copies, value_head);
        let suits = |found: &Found| found.unique != 0 || !has_unique;
        let is_sent = found
            .is_some_and(|found| found.kind == Kind::String && !copies(&found) && suits(&found));
        if is_sent && !context.pass(&name, suits, value_head, b"") {
            return get(context, request, touch, with_value, with_key);
        }
        context.tally.add(Count::Get);
        match found {
            Some(found) if found.kind != Kind::String => {
                context.out.truncate(start);
                return not_a_string(context, request);
            }
            Some(found) if suits(&found) => {
                context.tally.add(Count::GetHit);
                return context.note_hit(request.key, &found);
            }
            Some(_) => context.out.truncate(start),
            None => {
                context.miss(request.key, name.hash());
                return missed(context, request, key);
            }
        }
    }
    // Under the lock: a first unique number is made, or the time to live changes.
    let mut tries = 0;
    let (mut guard, unique) = loop {
        tries += 1;
        let _ = context.make_room_to_rewrite(&name);
        let mut guard = context.session.write(db, &name, now);
        let unique = if has_unique { guard.unique(db, &name) } else { Ok(0) };
        if unique.is_ok() || tries == ROOM_TRIES {
            break (guard, unique);
        }
    };
    let Some(found) = guard.find(db, &name) else {
        drop(guard);
        count_found(context, touch, None, request, &name);
        return missed(context, request, key);
    };
    let unique = match unique {
        Ok(unique) => unique,
        Err(_) if touch.is_none() => FITS_NOTHING,
        Err(_) => {
            drop(guard);
            return fail(context, request, Status::NoMemory);
        }
    };
    if with_value && found.kind != Kind::String {
        drop(guard);
        return not_a_string(context, request);
    }
    head(context.out, &found, unique);
    if with_value {
        guard.value(db, &name, context.out);
    }
    guard.touch(db, &name);
    let renewed = match touch.map(|exptime| life(context, exptime).deadline()) {
        None => Ok(true),
        Some(Some(deadline)) => guard.set_deadline(db, &name, deadline, Event::Expire),
        Some(None) => Ok(guard.remove(db, &name, Event::Expired)),
    };
    drop(guard);
    if renewed.is_err() {
        // A client that was shown the item would rely on its new time to live.
        context.out.truncate(start);
        return fail(context, request, Status::NoMemory);
    }
    count_found(context, touch, Some(&found), request, &name);
}

fn count_found(
    context: &McContext<'_>,
    touch: Option<u32>,
    found: Option<&Found>,
    request: &Request<'_>,
    name: &Key<'_>,
) {
    match (touch, found) {
        (Some(_), Some(_)) => {
            context.tally.add(Count::Touch);
            context.tally.add(Count::TouchHit);
        }
        (Some(_), None) => {
            context.tally.add(Count::Touch);
            context.tally.add(Count::TouchMiss);
        }
        (None, Some(found)) => {
            context.tally.add(Count::GetHit);
            context.note_hit(request.key, found);
        }
        (None, None) => context.miss(request.key, name.hash()),
    }
}

/// A miss with the key is answered with the key alone.
fn missed(context: &mut McContext<'_>, request: &Request<'_>, key: &[u8]) {
    if request.quiet {
        return;
    }
    match key {
        b"" => fail(context, request, Status::NotFound),
        key => response(context.out, request, Status::NotFound, key, b"", 0),
    }
}
