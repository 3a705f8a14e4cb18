//! Room for the values that queued commands store another copy of: strings that they change, values whose blocks
//! have no room for another key, and the lists and sets that they add to and that have to be made anew for it.
//!
//! ```text
//!   RPUSH l x    the list has room: a few bytes    it has none: all of it, half as much again to spare
//!   APPEND s x   the block has room: a few bytes   it has none: all of it, a quarter as much again to spare
//! ```
//! EXEC makes room before it takes its locks, under which none can be made. Were only the arguments
//! counted, a push in a transaction would be refused for as long as its list has no room to spare, in a
//! store full of what could go. Nothing is refused here: a command that finds no memory says so itself.

use crate::context::{Context, rewritten_bytes};
use crate::packed::entry::entry_bytes;
use crate::packed::list::{self, End, List};
use crate::packed::set::Set;
use crate::redis::collection;
use crate::redis::list::relay::{ELEMENT_BYTES_EXPECTED, end};
use crate::redis::number;
use crate::redis::results::Results;
use crate::redis::room::Room;
use crate::redis::row::{Group, flag};
use crate::redis::set::bytes_of;
use crate::redis::set::combine::Operation;
use dolium_engine::{Db, Key, Kind, grown_bytes};
use dolium_protocol::resp::Args;
use std::collections::HashMap;

/// What the queue brings to one key.
#[derive(Clone, Copy, Debug, Default)]
struct Brought {
    front: usize,
    back: usize,
    members: usize,
    /// The list is made anew in any case.
    between: bool,
}

/// What the queue stores in one string.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    /// Bytes that go behind the end, wherever that is.
    tail: usize,
    /// Where the others end.
    end: usize,
    longest: usize,
}

impl Brought {
    fn bytes(&self) -> usize {
        self.front + self.back
    }

    fn join(&mut self, other: Brought) {
        self.front += other.front;
        self.back += other.back;
        self.members += other.members;
        self.between |= other.between;
    }
}

/// Makes room for what is queued, its arguments included, if it can be had.
pub fn make_room(ctx: &Context<'_>) {
    let mut room = ctx.client.transaction.room;
    let mut grown: HashMap<(Db, u64), (Key<'_>, Brought)> = HashMap::new();
    let mut copied: HashMap<(Db, u64), Key<'_>> = HashMap::new();
    let mut changed: HashMap<(Db, u64), (Key<'_>, Parts)> = HashMap::new();
    let mut results = Results::default();
    let mut db = ctx.db();
    for queued in &ctx.client.transaction.queued {
        let args = queued.args.view(&[]);
        let Some(row) = queued.prepared.row() else { continue };
        if row.name == "select" {
            db = number::database(args.arg(1), ctx.session.engine().databases()).unwrap_or(db);
        }
        let key = || ctx.key(args.arg(usize::from(row.keys.first)));
        let is_copied = match row.name {
            "rename" | "renamenx" => ctx.session.bytes_to_copy(db, &key(), args.arg(2).len()) > 0,
            name => copies_the_value(name),
        };
        if is_copied {
            let key = key();
            copied.insert((db, key.hash()), key);
        }
        if let Some((tail, end, longest)) = part(row.name, &args) {
            let key = ctx.key(args.arg(1));
            let parts = &mut changed.entry((db, key.hash())).or_insert((key, Parts::default())).1;
            parts.tail += tail;
            parts.end = parts.end.max(end);
            parts.longest = parts.longest.max(longest);
        }
        if !matches!(row.group, Group::List | Group::Set) || !row.has(flag::WRITE) {
            continue;
        }
        if let Some((name, brought)) = brought(ctx, row.name, db, &args) {
            let key = ctx.key(name);
            grown.entry((db, key.hash())).or_insert((key, Brought::default())).1.join(brought);
        } else if let Some(operation) = Operation::that_stores(row.name) {
            results.push(operation, db, args.arg(1), args.from(2).iter());
        }
    }
    for ((db, _), (key, brought)) in &grown {
        add_if_made_anew(ctx, *db, key, brought, &mut room);
    }
    for ((db, _), (key, parts)) in &changed {
        add_if_stored_anew(ctx, *db, key, parts, &mut room);
    }
    for ((db, _), key) in &copied {
        if let Some(found) = ctx.session.peek(*db, key, ctx.now) {
            room.add(1, rewritten_bytes(key, &found));
        }
    }
    results.add_to(ctx, &mut room);
    if room != ctx.client.transaction.room {
        let _ = ctx.session.make_room(room.bytes(), ctx.now);
    }
}

/// Whether a command stores another copy of what its first key holds: in another place, or with a time to live or
/// a number that it had not.
fn copies_the_value(name: &str) -> bool {
    matches!(
        name,
        "copy"
            | "expire"
            | "pexpire"
            | "expireat"
            | "pexpireat"
            | "getex"
            | "dolium|cas"
            | "dolium|setflags"
    )
}

/// What a command that changes a part of a string stores behind its end, where what it stores elsewhere ends, and
/// how much it is.
fn part(name: &str, args: &Args<'_>) -> Option<(usize, usize, usize)> {
    let offset = || number::parse_i64(args.arg(2)).and_then(|at| usize::try_from(at).ok());
    match name {
        "append" => Some((args.arg(2).len(), 0, args.arg(2).len())),
        "setrange" => {
            let bytes = args.arg(3).len();
            Some((0, offset()?.checked_add(bytes)?, bytes))
        }
        "setbit" => Some((0, offset()? / 8 + 1, 1)),
        _ => None,
    }
}

/// The key that a command adds to, and what it brings.
fn brought<'a>(
    ctx: &Context<'_>,
    name: &str,
    db: Db,
    args: &Args<'a>,
) -> Option<(&'a [u8], Brought)> {
    let at = |side: End, bytes: usize| match side {
        End::Front => Brought { front: bytes, ..Brought::default() },
        End::Back => Brought { back: bytes, ..Brought::default() },
    };
    let elements = || list::bytes_of(args.from(2).iter());
    // Which element it will be is not known yet.
    let moved = || {
        let source = collection::len(ctx.session, db, &ctx.key(args.arg(1)), ctx.now);
        source.min(ELEMENT_BYTES_EXPECTED)
    };
    let between =
        |element: &[u8]| Brought { between: true, ..at(End::Back, entry_bytes(element.len())) };
    Some(match name {
        "lpush" | "lpushx" => (args.arg(1), at(End::Front, elements())),
        "rpush" | "rpushx" => (args.arg(1), at(End::Back, elements())),
        "lset" => (args.arg(1), between(args.arg(3))),
        "linsert" => (args.arg(1), between(args.arg(4))),
        "rpoplpush" | "brpoplpush" => (args.arg(2), at(End::Front, moved())),
        "lmove" | "blmove" => (args.arg(2), at(end(args.arg(4)).ok()?, moved())),
        "sadd" => {
            let members = args.from(2);
            let brought = at(End::Back, bytes_of(members.iter()));
            (args.arg(1), Brought { members: members.len(), ..brought })
        }
        "smove" => {
            let brought = at(End::Back, bytes_of([args.arg(3)].into_iter()));
            (args.arg(2), Brought { members: 1, ..brought })
        }
        _ => return None,
    })
}

/// Adds what a string takes anew, unless its block has room for what comes, or memory is plenty. One that is not
/// there is no longer than the arguments, which are counted.
fn add_if_stored_anew(ctx: &Context<'_>, db: Db, key: &Key<'_>, parts: &Parts, room: &mut Room) {
    let Some(found) = ctx.session.peek(db, key, ctx.now) else { return };
    let end = found.len.max(parts.end).saturating_add(parts.tail);
    // What lies between the end and a part behind it is stored with the part.
    let longest = parts.longest.max(parts.end.saturating_sub(found.len));
    if !ctx.session.takes_parts(db, key, end, longest) {
        room.add(1, grown_bytes(key.bytes().len() + end));
    }
}

/// Adds what a collection takes anew, unless it has room for what comes, or memory is plenty.
fn add_if_made_anew(ctx: &Context<'_>, db: Db, key: &Key<'_>, brought: &Brought, room: &mut Room) {
    let len = collection::len(ctx.session, db, key, ctx.now);
    let most = key.bytes().len() + 2 * (len + brought.bytes());
    if len == 0 || ctx.session.has_ample_room(room.bytes() + most) {
        return;
    }
    let mut guard = ctx.session.write(db, key, ctx.now);
    let Some((found, packed)) = guard.packed(db, key) else { return };
    let has_room = match found.kind {
        Kind::List => {
            let list = List::open(&packed);
            let lacks = |side, bytes| bytes > 0 && list.is_full(side, bytes);
            !(brought.between || lacks(End::Front, brought.front) || lacks(End::Back, brought.back))
        }
        Kind::Set => Set::open(&packed).has_room(brought.members, brought.bytes()),
        Kind::String => true,
    };
    if !has_room {
        room.add(1, key.bytes().len() + (found.len + brought.bytes()) / 2 * 3);
    }
}
