//! A client that waits for an element, and what it gets when there is one.
//!
//! ```text
//!   BLPOP: nothing there -> the server's table of waiting clients -> the connection is held
//!   RPUSH by somebody    -> Host::list_grew -> after that command: `serve` for the first who waits
//! ```
//! The server keeps the table (it knows connections and time); what a wait means is here.

use super::pop::take;
use super::relay::pass_on;
use crate::connection::kept_name_bytes;
use crate::host::Host;
use crate::packed::list::{End, List};
use crate::redis::collection::{self, Tries};
use crate::redis::error::CommandError;
use dolium_engine::{Db, Kind, Millis, Session};
use dolium_protocol::resp::{RespWriter, Version};

/// What a client waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub db: Db,
    /// The first that has an element is taken from.
    pub keys: Vec<Vec<u8>>,
    /// When the wait ends without one; `None`: never.
    pub until: Option<Millis>,
    /// The protocol of its replies.
    pub version: Version,
    pub wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An element of the list, with the name of the key.
    Pop(End),
    /// Several elements in an array, with the name of the key.
    PopSome(End, usize),
    /// An element that goes to another list.
    Move { from: End, to: End, target: Vec<u8> },
}

impl Waiting {
    /// What it takes to keep this.
    pub fn kept_bytes(&self) -> usize {
        let target = match &self.wanted {
            Wanted::Move { target, .. } => target.len(),
            _ => 0,
        };
        target + self.keys.iter().map(|key| kept_name_bytes(key)).sum::<usize>()
    }
}

/// Takes an element from one of the keys, if it has one, and replies with it. False: it has none.
pub(super) fn attempt(
    tries: Tries<'_>,
    host: &dyn Host,
    waiting: &Waiting,
    name: &[u8],
    out: &mut Vec<u8>,
) -> Result<bool, CommandError> {
    let Tries { session, now, .. } = tries;
    let (db, key) = (waiting.db, session.engine().key(name));
    match &waiting.wanted {
        Wanted::Pop(end) | Wanted::PopSome(end, _) => {
            let mut guard = session.write(db, &key, now);
            let Some((_, packed)) = collection::open(&mut guard, db, &key, Kind::List)? else {
                return Ok(false);
            };
            let mut reply = RespWriter::new(out, waiting.version);
            reply.array(2);
            reply.bulk(name);
            let mut count = 1;
            if let Wanted::PopSome(_, most) = waiting.wanted {
                count = most.min(List::open(&packed).len());
                reply.array(count);
            }
            take(&mut guard, db, &key, *end, count, waiting.version, out)?;
        }
        Wanted::Move { from, to, target } => {
            let target = session.engine().key(target);
            let _kept = session.keep([(db, key.hash()), (db, target.hash())]);
            let moved = pass_on(tries, db, (&key, *from), (&target, *to))?;
            let Some(element) = moved else { return Ok(false) };
            host.list_grew(db, target.bytes());
            RespWriter::new(out, waiting.version).bulk(&element);
        }
    }
    Ok(true)
}

/// Gives a client that waits what has come to one of its keys. False: it goes on waiting, because
/// what came is gone again or is no list.
pub fn serve(
    session: &Session,
    host: &dyn Host,
    now: Millis,
    waiting: &Waiting,
    name: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    let key = session.engine().key(name);
    let found = session.peek(waiting.db, &key, now);
    if found.is_none_or(|found| found.kind != Kind::List) {
        return false;
    }
    let start = out.len();
    // After a command, and after EXEC: no locks are held, and room can be made.
    match attempt(Tries { session, now, in_exec: false }, host, waiting, name, out) {
        Ok(is_served) => {
            // It has been counted when it was pushed, and goes on at once. (More than one are counted again,
            // as in Redis.)
            if is_served && !matches!(waiting.wanted, Wanted::PopSome(..)) {
                session.count_elements(0, 1);
            }
            is_served
        }
        // It cannot have it: the target is no list, or there is no memory and none can be had. The
        // element stays where it is.
        Err(error) => {
            out.truncate(start);
            RespWriter::new(out, waiting.version).error(&error.to_string());
            true
        }
    }
}

/// What a client gets whose time is over.
pub fn time_is_over(version: Version, out: &mut Vec<u8>) {
    RespWriter::new(out, version).null_array();
}
