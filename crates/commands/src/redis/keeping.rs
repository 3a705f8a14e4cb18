//! Keys that do not go for the room that is made for a command.
//!
//! ```text
//!   APPEND k x    room for k's value and one byte: others go, and not k, which would be made anew as "x"
//!   SET k x       room for x: k may go as any other
//! ```

use crate::context::Context;
use crate::redis::number;
use crate::redis::row::{Call, Row, flag};
use crate::redis::table;
use dolium_engine::{Db, Kept};
use dolium_protocol::resp::Args;

/// The writes that need nothing of what their keys hold: it may go like any other value. Of SET that depends on
/// its options, and it sees to that itself.
const REPLACING: [u16; 6] = [
    table::id_of("set"),
    table::id_of("mset"),
    table::id_of("setex"),
    table::id_of("psetex"),
    table::id_of("del"),
    table::id_of("unlink"),
];

/// Whether the command changes what its keys hold, or goes by it. Those do not go for the room that is made
/// for it: it would find nothing, and store it as if nothing had been there.
fn goes_by_its_keys(row: &Row) -> bool {
    row.has(flag::WRITE) && row.keys.first != 0 && !REPLACING.contains(&row.id)
}

/// The same of a command that is queued. A SET may be one that goes by what is there; whether its options say
/// so is not read here.
fn may_go_by_its_keys(row: &Row, args: &Args<'_>) -> bool {
    goes_by_its_keys(row) || row.name == "set" && args.len() > 3
}

/// The command's keys stay while it runs.
#[inline]
pub fn keep<'s>(ctx: &Context<'s>, call: &Call<'_>) -> Option<Kept<'s>> {
    // EXEC has made room before, and has kept them then.
    if !goes_by_its_keys(call.row) || ctx.client.transaction.running {
        return None;
    }
    let db = ctx.client.db;
    if i16::from(call.row.keys.last) == i16::from(call.row.keys.first) {
        return Some(ctx.session.keep([(db, call.hash)]));
    }
    Some(ctx.session.keep(hashes(ctx, call.row, db, &call.args)))
}

fn hashes(
    ctx: &Context<'_>,
    row: &Row,
    db: Db,
    args: &Args<'_>,
) -> impl Iterator<Item = (Db, u64)> {
    row.keys.positions(args).map(move |at| (db, ctx.key(args.arg(at)).hash()))
}

/// The keys of what is to be queued stay while room is made for it.
pub fn keep_of_queued<'s>(ctx: &Context<'s>, row: &Row, args: &Args<'_>) -> Option<Kept<'s>> {
    may_go_by_its_keys(row, args).then(|| ctx.session.keep(hashes(ctx, row, ctx.client.db, args)))
}

/// The keys of all that is queued stay while EXEC makes room for it.
pub fn keep_of_queue<'s>(ctx: &Context<'s>) -> Kept<'s> {
    let mut keys = Vec::new();
    let mut db = ctx.client.db;
    for queued in &ctx.client.transaction.queued {
        let args = queued.args.view(&[]);
        let Some(row) = queued.prepared.row() else { continue };
        if row.name == "select" {
            db = number::database(args.arg(1), ctx.session.engine().databases()).unwrap_or(db);
        }
        if may_go_by_its_keys(row, &args) {
            keys.extend(hashes(ctx, row, db, &args));
        }
    }
    ctx.session.keep(keys)
}
