//! How long a reply will be, as far as the lengths of the request's values tell before it runs.
//!
//! Who hands values over needs memory for them until its peer has taken them. A request that also changes
//! something (GETDEL, LPOP, EXEC) cannot run again when that turns out to be missing, so it is asked before. What is
//! foretold is no promise: another client may change the value in between.

use crate::connection::{ClientState, gate};
use crate::dispatch::Prepared;
use crate::redis::row::Row;
use crate::redis::taken;
use dolium_engine::{Db, Session};
use dolium_protocol::limits::MEMCACHE_KEY_BYTES_MAX;
use dolium_protocol::memcache::{self, binary, meta, text};
use dolium_protocol::resp::Args;

/// The commands that may answer with whole values of their keys, or long parts of them.
const ANSWER_WITH_VALUES: [&str; 10] =
    ["get", "getdel", "getex", "getrange", "getset", "lrange", "mget", "set", "smembers", "substr"];

/// What stands around a value in a reply, at most.
const AROUND_VALUE_BYTES: u64 = 64;

/// Whether it is worth to ask how long the reply to such a request will be before it runs.
pub fn answers_with_values(row: &Row) -> bool {
    ANSWER_WITH_VALUES.contains(&row.name) || taken::takes(row.name)
}

/// Bytes of the reply to a Redis request that is about to run; 0 where its keys do not tell.
pub fn reply_bytes(
    session: &Session,
    client: &ClientState,
    prepared: &Prepared,
    args: &Args<'_>,
    now: u64,
) -> u64 {
    let Some(row) = prepared.row().filter(|_| prepared.is_sound()) else { return 0 };
    match client.gate & gate::MULTI != 0 {
        false if taken::takes(row.name) => of_elements(session, client.db, row, args, now),
        false => of_values(session, client.db, row, args, now),
        true if row.name == "exec" => {
            let queued = client.transaction.queued.iter();
            let each = queued.filter_map(|queued| {
                let row = queued.prepared.row()?;
                let args = queued.args.view(&[]);
                let values = of_values(session, client.db, row, &args, now);
                // What only reads is asked as well: beside the others it cannot run again.
                Some(values + of_elements(session, client.db, row, &args, now))
            });
            each.sum()
        }
        // It is queued now.
        true => 0,
    }
}

fn of_values(session: &Session, db: Db, row: &Row, args: &Args<'_>, now: u64) -> u64 {
    // SET hands over what was there only where it is told to.
    let is_mute =
        row.name == "set" && !(3..args.len()).any(|i| args.arg(i).eq_ignore_ascii_case(b"get"));
    if is_mute || !ANSWER_WITH_VALUES.contains(&row.name) {
        return 0;
    }
    row.keys.positions(args).map(|position| of_key(session, db, args.arg(position), now)).sum()
}

fn of_elements(session: &Session, db: Db, row: &Row, args: &Args<'_>, now: u64) -> u64 {
    match taken::bytes(session, db, row, args, now) {
        0 => 0,
        bytes => bytes as u64 + AROUND_VALUE_BYTES,
    }
}

/// The same of a Memcached request.
pub fn memcache_bytes(session: &Session, db: Db, request: &memcache::Request<'_>, now: u64) -> u64 {
    match request {
        memcache::Request::Text(text::Command::GetAndTouch { keys, .. }) => {
            keys.map(|key| of_key(session, db, key, now)).sum()
        }
        memcache::Request::Meta(command)
            if command.verb == meta::Verb::Get && command.flags.has(b'v') =>
        {
            let mut buffer = [0; MEMCACHE_KEY_BYTES_MAX];
            of_key(session, db, command.key.bytes(&mut buffer), now)
        }
        _ => 0,
    }
}

/// And of a binary one.
pub fn binary_bytes(session: &Session, db: Db, request: &binary::Request<'_>, now: u64) -> u64 {
    match request.operation {
        binary::Operation::Get { value: true, .. } => of_key(session, db, request.key, now),
        _ => 0,
    }
}

fn of_key(session: &Session, db: Db, key: &[u8], now: u64) -> u64 {
    let found = session.peek(db, &session.engine().key(key), now);
    found.map_or(0, |found| found.len as u64 + AROUND_VALUE_BYTES)
}
