//! What the binary protocol's requests mean.
//!
//! The same stores, counters and lookups as the text protocol's, answered with a status. A quiet
//! request is silent when all is well; a quiet lookup is silent when there is nothing.
//! Lookups are in `binary_get.rs`.

use super::arithmetic::{self, Fault, Step};
use super::details::Did;
use super::exptime::Life;
use super::store::{self, Mode, Order, Outcome};
use super::{Count, McContext, VERSION, binary_get, flush, sasl, stats};
use crate::context::Flow;
use dolium_engine::*;
use dolium_protocol::memcache::binary::{Operation, Request, Status, response};

/// `Arithmetic` with this exptime makes no item.
const NO_INITIAL: u32 = u32::MAX;

/// Runs a request and appends its response to `context.out`.
#[inline]
pub fn run(context: &mut McContext<'_>, request: &Request<'_>) -> Flow {
    if !context.client.authenticated && !sasl::may_run(context, request) {
        return sasl::refuse(context, request);
    }
    match request.operation {
        Operation::Get { touch, value, key } => {
            binary_get::get(context, request, touch, value, key);
        }
        Operation::Set { flags, exptime } => put(context, request, Mode::Set, flags, exptime),
        Operation::Add { flags, exptime } => put(context, request, Mode::Add, flags, exptime),
        Operation::Replace { flags, exptime } => {
            put(context, request, Mode::Replace, flags, exptime);
        }
        Operation::Append => put(context, request, Mode::Append, 0, 0),
        Operation::Prepend => put(context, request, Mode::Prepend, 0, 0),
        Operation::Delete => delete(context, request),
        Operation::Arithmetic { incr, delta, initial, exptime } => {
            count(context, request, (incr, delta, initial, exptime));
        }
        _ => return other(context, request),
    }
    Flow::Continue
}

/// What is not asked for by the million.
fn other(context: &mut McContext<'_>, request: &Request<'_>) -> Flow {
    match request.operation {
        Operation::Flush { delay } => match flush::run(context, i64::from(delay)) {
            "OK" => done(context, request, b""),
            _ => fail(context, request, Status::AuthError),
        },
        Operation::Noop => response(context.out, request, Status::Ok, b"", b"", 0),
        Operation::Version => done(context, request, VERSION.as_bytes()),
        Operation::Stat => stat(context, request),
        Operation::Quit => {
            done(context, request, b"");
            return Flow::Close;
        }
        Operation::SaslMechanisms => sasl::mechanisms(context, request),
        Operation::Sasl { step } => sasl::authenticate(context, request, step),
        Operation::Refused { status, close, .. } => {
            if status == Status::TooLarge {
                too_large(context, request);
            }
            fail(context, request, status);
            if close {
                context.client.close_reason = "error";
                return Flow::Close;
            }
        }
        _ => unreachable!("run by `run`"),
    }
    Flow::Continue
}

/// A response that says only that all is well; nothing from a quiet request.
fn done(context: &mut McContext<'_>, request: &Request<'_>, value: &[u8]) {
    if !request.quiet {
        response(context.out, request, Status::Ok, b"", value, 0);
    }
}

pub(super) fn fail(context: &mut McContext<'_>, request: &Request<'_>, status: Status) {
    response(context.out, request, status, b"", status.text().as_bytes(), 0);
}

/// The key is a list, a set or the like, which Redis clients have made.
pub(super) fn not_a_string(context: &mut McContext<'_>, request: &Request<'_>) {
    const SENTENCE: &[u8] = b"the key holds a value of another type";
    response(context.out, request, Status::Invalid, b"", SENTENCE, 0);
}

/// No stale value may stay where a newer one could not be stored.
fn too_large(context: &mut McContext<'_>, request: &Request<'_>) {
    context.tally.add(Count::TooLarge);
    if matches!(request.opcode, 0x01 | 0x11) {
        context.forget(request.key);
    }
}

pub(super) fn life(context: &McContext<'_>, exptime: u32) -> Life {
    // 32 bits without a sign: what would be negative in text is a moment behind 2038 here.
    context.life(i64::from(exptime))
}

/// SET, ADD, REPLACE, APPEND, PREPEND and their quiet forms.
fn put(context: &mut McContext<'_>, request: &Request<'_>, mode: Mode, flags: u32, exptime: u32) {
    let is_extension = matches!(mode, Mode::Append | Mode::Prepend);
    let has_unique = context.server.settings().fixed.unique_enabled;
    // With a number to compare, every store but an extension is a cas, where items have numbers.
    let is_cas = has_unique && request.unique != 0 && !is_extension;
    let order = Order {
        mode: if is_cas { Mode::Cas } else { mode },
        flags,
        life: life(context, exptime),
        cas: if has_unique { request.unique } else { 0 },
        stale: false,
    };
    // Nobody hears of a quiet store's number: it is made when somebody asks.
    let wants_unique = !request.quiet && has_unique;
    let status = match store::store(context, request.key, &order, request.value, wants_unique) {
        Outcome::Stored(unique) => {
            if !request.quiet {
                response(context.out, request, Status::Ok, b"", b"", unique);
            }
            return;
        }
        Outcome::Exists => Status::Exists,
        Outcome::NotFound => Status::NotFound,
        Outcome::NoMemory => Status::NoMemory,
        Outcome::TooLarge => Status::TooLarge,
        Outcome::NotAString => return not_a_string(context, request),
        Outcome::NotStored => match order.mode {
            Mode::Add => Status::Exists,
            Mode::Replace => Status::NotFound,
            _ => Status::NotStored,
        },
    };
    fail(context, request, status);
}

fn delete(context: &mut McContext<'_>, request: &Request<'_>) {
    let (db, name) = (context.db, context.session.engine().key(request.key));
    // Compared and removed under one lock: a value that came in between would be lost.
    let mut guard = context.session.write(db, &name, context.now);
    let is_another = request.unique != 0
        && guard.find(db, &name).is_some_and(|found| !context.has_unique(&found, request.unique));
    let was_there = !is_another && guard.remove(db, &name, Event::Del);
    drop(guard);
    if is_another {
        context.note_detail(request.key, Did::Delete);
        return fail(context, request, Status::Exists);
    }
    context.count_delete(request.key, was_there);
    match was_there {
        true => done(context, request, b""),
        false => fail(context, request, Status::NotFound),
    }
}

/// Counts under the item's lock, or makes the item: its value and unique number.
fn counted(
    context: &mut McContext<'_>,
    request: &Request<'_>,
    name: &Key<'_>,
    incr: bool,
    delta: u64,
    (initial, exptime): (u64, u32),
) -> Result<(u64, u64), Fault> {
    let db = context.db;
    let unique = context.server.settings().fixed.unique_enabled;
    let step = Step { incr, delta, cas: request.unique, unique, deadline: Deadline::Keep };
    let mut guard = context.session.write(db, name, context.now);
    let counted = arithmetic::count(context, &mut guard, name, step);
    if counted != Err(Fault::Refused(Outcome::NotFound)) || exptime == NO_INITIAL {
        return counted;
    }
    let text = dolium_protocol::number::Decimal::unsigned(initial);
    let put = Put { unique, ..Put::plain(Value::Bytes(text.as_bytes())) };
    let life = life(context, exptime);
    let stored = match life.of_put() {
        // Its number is told all the same, and it takes an item to have one.
        None if !unique => Ok(0),
        deadline => {
            let deadline = deadline.unwrap_or(Deadline::Never);
            guard.put(db, name, &Put { deadline, ..put }).map(|stored| stored.unique)
        }
    };
    if life == Life::Over {
        guard.remove(db, name, Event::Expired);
    }
    if stored.is_ok() {
        context.tally.add(Count::Made);
    }
    stored.map(|unique| (initial, unique)).map_err(|_| Fault::Refused(Outcome::NoMemory))
}

/// INCREMENT and DECREMENT, which make the item that is not there.
fn count(
    context: &mut McContext<'_>,
    request: &Request<'_>,
    (incr, delta, initial, exptime): (bool, u64, u64, u32),
) {
    let name = context.session.engine().key(request.key);
    let counted = arithmetic::with_room(context, &name, |context| {
        counted(context, request, &name, incr, delta, (initial, exptime))
    });
    if matches!(counted, Err(Fault::Refused(Outcome::NotFound))) {
        arithmetic::note_miss(context, incr);
    }
    match counted {
        Ok((value, unique)) => {
            if !request.quiet {
                response(context.out, request, Status::Ok, b"", &value.to_be_bytes(), unique);
            }
        }
        Err(Fault::NonNumeric) => fail(context, request, Status::NonNumeric),
        Err(Fault::Refused(Outcome::NotFound)) => fail(context, request, Status::NotFound),
        Err(Fault::Refused(Outcome::Exists)) => fail(context, request, Status::Exists),
        Err(Fault::Refused(Outcome::NotAString)) => not_a_string(context, request),
        Err(Fault::Refused(_)) => fail(context, request, Status::NoMemory),
    }
}

/// STAT: a response for each statistic, and an empty one at the end.
fn stat(context: &mut McContext<'_>, request: &Request<'_>) {
    match request.key {
        b"reset" => context.server.reset_statistics(),
        b"detail on" => context.server.set_details(true),
        b"detail off" => context.server.set_details(false),
        b"detail dump" => {
            let mut text = Vec::new();
            context.server.details().dump(&mut text);
            text.extend_from_slice(b"END\r\n");
            response(context.out, request, Status::Ok, b"detailed", &text, 0);
        }
        name => {
            let Some(lines) = stats::named(context, name) else {
                return fail(context, request, Status::NotFound);
            };
            for (name, value) in &lines.0 {
                let (name, value) = (name.as_bytes(), value.as_bytes());
                response(context.out, request, Status::Ok, name, value, 0);
            }
        }
    }
    response(context.out, request, Status::Ok, b"", b"", 0);
}
