//! EXEC: the queue runs as one.
//!
//! ```text
//!   room is made -> shards of all keys, queued and watched, are locked -> watched keys checked
//!                -> commands run in order, each of them told to the server -> locks released
//!                -> was CLIENT PAUSE one of them? -> all that runs beside it ends -> reply
//! ```
//!
//! What is queued is counted and timed here, where it runs: it may never come to that.
//!
//! Watched keys are locked too: were only their flags looked at, two transactions that each watch
//! what the other writes could both succeed.

use crate::connection::{ClientState, ReplyMode, gate};
use crate::context::Context;
use crate::dispatch;
use crate::host::Executed;
use crate::redis::connection::client;
use crate::redis::error::CommandError;
use crate::redis::growth;
use crate::redis::keeping::keep_of_queue;
use crate::redis::number;
use crate::redis::row::{Call, Outcome, Row, flag};
use crate::redis::transaction::{Queued, forget};
use dolium_engine::Db;
use dolium_protocol::resp::Args;

pub fn exec(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    if ctx.client.gate & gate::MULTI == 0 {
        return Err(CommandError::Sentence("EXEC without MULTI"));
    }
    if ctx.client.transaction.broken {
        forget(ctx.client, ctx.session);
        let line = "EXECABORT Transaction discarded because of previous errors.";
        return Err(CommandError::Coded(line));
    }
    let kept = keep_of_queue(ctx);
    growth::make_room(ctx);
    let room = ctx.client.transaction.room.bytes();
    if room > 0 && ctx.session.make_room(room, ctx.now).is_err() {
        forget(ctx.client, ctx.session);
        let line = "EXECABORT Transaction discarded because of: \
                    OOM command not allowed when used memory > 'maxmemory'.";
        return Err(CommandError::Coded(line));
    }
    drop(kept);
    let keys = keys_of(ctx);
    // Nor does what it names go for what it stores itself. Where it locks all, nothing goes.
    let _kept = keys.as_ref().map(|keys| ctx.session.keep(keys.iter().copied()));
    let thread = ctx.host.thread_of(ctx.client);
    let start = ctx.out.len();
    match keys {
        Some(keys) => ctx.session.begin_transaction(Some(&keys), ctx.now),
        None => ctx.session.begin_transaction_of_all(&named_databases(ctx)),
    }
    ctx.client.transaction.running = true;
    let changed = ctx.client.transaction.is_dirty() || watched_key_is_gone(ctx);
    let queued = std::mem::take(&mut ctx.client.transaction.queued);
    if changed {
        ctx.reply().null_array();
    } else {
        // Out of MULTI while they run, so that they are not queued again.
        ctx.client.set_gate(gate::MULTI, false);
        run_all(ctx, &queued, thread);
    }
    ctx.client.transaction.running = false;
    ctx.session.end_transaction();
    forget(ctx.client, ctx.session);
    if std::mem::take(&mut ctx.client.transaction.pauses) && may_wait(ctx.client) {
        client::wait_for_pause(ctx, start);
    }
    Ok(())
}

/// Whether the reply of a transaction that has begun a pause can come later. Not that of a client which is to be
/// closed behind it, nor if there is none: replies that CLIENT REPLY has turned off in the transaction count from
/// the next request on. And messages of channels would pass a reply that says they were subscribed to.
fn may_wait(client: &ClientState) -> bool {
    !client.close && client.reply_mode != ReplyMode::Off && client.subscriptions() == 0
}

/// EXEC itself was refused before it ran: the transaction ends, for a client that took the refusal
/// for its end would have the commands after it queued.
pub fn refused(ctx: &mut Context<'_>, why: CommandError) -> CommandError {
    forget(ctx.client, ctx.session);
    CommandError::Aborted(Box::new(why))
}

fn run_all(ctx: &mut Context<'_>, queued: &[Queued], thread: usize) {
    ctx.reply().array(queued.len());
    // Where one ends the next begins: the clock is read once for each.
    let mut begun = ctx.host.clock_ns();
    for request in queued {
        let Some(row) = request.prepared.row() else { continue };
        let args = request.args.view(&[]);
        let start = ctx.out.len();
        dispatch::call(ctx, &request.prepared.call(row, args));
        let now = ctx.host.clock_ns();
        let reply = &ctx.out[start..];
        let error = reply.starts_with(b"-").then_some(reply);
        let executed = Executed { row, args, ns: now.saturating_sub(begun), error };
        // One by one, not together at the end: INFO and SLOWLOG may stand in the queue themselves.
        ctx.host.count_executed(thread, ctx.client, &executed);
        begun = now;
    }
}

/// Has a watched key come due since it was watched? Nobody need have met it yet.
fn watched_key_is_gone(ctx: &Context<'_>) -> bool {
    let watched = &ctx.client.transaction.watched;
    watched.iter().any(|w| w.present && ctx.session.peek(w.db, &w.key(), ctx.now).is_none())
}

/// The keys to lock, or `None` for all there are.
fn keys_of(ctx: &Context<'_>) -> Option<Vec<(Db, u64)>> {
    let transaction = &ctx.client.transaction;
    let mut keys: Vec<_> = transaction.watched.iter().map(|w| (w.db, w.hash)).collect();
    let mut db = ctx.db();
    for queued in &transaction.queued {
        let args = queued.args.view(&[]);
        let Some(row) = queued.prepared.row() else { continue };
        if needs_all(row, &args) {
            return None;
        }
        if row.name == "select" {
            // What it selects, if it will succeed, is where the following keys are.
            match number::parse_i64(args.arg(1)).map(u16::try_from) {
                Some(Ok(index)) if index < ctx.session.engine().databases() => db = Db(index),
                _ => {}
            }
        }
        let positions = row.keys.positions(&args);
        keys.extend(positions.map(|i| (db, ctx.key(args.arg(i)).hash())));
    }
    Some(keys)
}

/// The databases that the queue may be the first to use. All locks are those of the databases in use.
fn named_databases(ctx: &Context<'_>) -> Vec<Db> {
    let databases = ctx.session.engine().databases();
    let mut named = vec![ctx.db()];
    for queued in &ctx.client.transaction.queued {
        let args = queued.args.view(&[]);
        let names_databases = |row: &Row| matches!(row.name, "select" | "swapdb" | "move" | "copy");
        if queued.prepared.row().is_some_and(names_databases) {
            // Among a command's arguments may be a key that looks like a number; it does no harm.
            named.extend(args.iter().filter_map(|arg| number::database(arg, databases).ok()));
        }
    }
    named
}

/// Commands whose keys are not all declared, or not all in the client's database.
fn needs_all(row: &Row, args: &Args<'_>) -> bool {
    row.has(flag::WHOLE_STORE) || (row.name == "copy" && args.len() > 3) || row.name == "reset"
}
