//! Requests that cannot simply run: something is wrong with them, or their connection is in a state that has a
//! say (MULTI, replies that are off, a subscription, a password that is still to come).

use super::{Fault, Prepared, call, refuse};
use crate::connection::{ReplyMode, gate};
use crate::context::Context;
use crate::limits::UNKNOWN_ARGUMENTS_PREVIEW_BYTES;
use crate::redis::error::{CommandError, quoted};
use crate::redis::exec;
use crate::redis::keeping;
use crate::redis::room::Room;
use crate::redis::row::{Row, flag};
use crate::redis::transaction::Queued;
use dolium_protocol::resp::{ArgVec, Args, Version};

/// Runs, queues or refuses a request. Returns the command if it ran.
pub(super) fn run_gated(
    ctx: &mut Context<'_>,
    prepared: &Prepared,
    args: Args<'_>,
) -> Option<&'static Row> {
    let start = ctx.out.len();
    // The reply may be dropped, or be part of a larger one.
    ctx.outlet = None;
    let silent = ctx.client.reply_mode != ReplyMode::On;
    if ctx.client.reply_mode == ReplyMode::SkipNext {
        // For this one command; it may ask for more of the same itself.
        ctx.client.reply_mode = ReplyMode::Skipping;
    }
    let ran = match admit(ctx, prepared, &args) {
        Err(error) => {
            // What nobody knows is no command, not even the last one.
            ctx.client.last_command = prepared.row.filter(|_| prepared.is_known());
            if ctx.client.gate & gate::MULTI != 0 {
                ctx.client.transaction.broken = true;
            }
            let is_exec = prepared.row.is_some_and(|row| row.name == "exec");
            let error = if is_exec { exec::refused(ctx, error) } else { error };
            refuse(ctx, start, &error);
            None
        }
        Ok(row) => {
            ctx.client.last_command = Some(row);
            if ctx.client.gate & gate::MULTI != 0 && !row.has(flag::NOT_QUEUED) {
                queue(ctx, prepared, row, &args);
                None
            } else {
                call(ctx, &prepared.call(row, args));
                Some(row)
            }
        }
    };
    // CLIENT REPLY ON answers although replies were off, or its own was to be skipped.
    let turned_on = ctx.client.reply_mode == ReplyMode::On;
    // Who waits for an element is answered later.
    if ctx.client.reply_mode == ReplyMode::Skipping && !ctx.client.waits {
        ctx.client.end_skipping();
    }
    if silent && !turned_on {
        ctx.out.truncate(start);
    }
    ctx.out.append(&mut ctx.client.pushes);
    ran
}

/// The command, if this client may run it now.
fn admit(
    ctx: &Context<'_>,
    prepared: &Prepared,
    args: &Args<'_>,
) -> Result<&'static Row, CommandError> {
    let row = match (prepared.row, prepared.fault) {
        (Some(row), Fault::None) => row,
        (Some(row), Fault::Arity) => return Err(CommandError::Arity(row.name)),
        (Some(row), _) => {
            return Err(CommandError::quoting(&[
                b"unknown subcommand '",
                quoted(clipped(args.arg(1))),
                b"'. Try ",
                row.name.to_uppercase().as_bytes(),
                b" HELP.",
            ]));
        }
        (None, _) => return Err(unknown_command(args)),
    };
    let client = &*ctx.client;
    // There may be no password any more since it came. It keeps its gate: there may be one again.
    if !client.authenticated() && !row.has(flag::NO_AUTH) && ctx.host.has_password() {
        return Err(CommandError::Coded("NOAUTH Authentication required."));
    }
    let in_multi = client.gate & gate::MULTI != 0;
    if client.gate & gate::SUBSCRIBED != 0
        && client.resp == Version::V2
        && !row.has(flag::IN_SUBSCRIBED)
    {
        let rest: &[u8] = b"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET \
            are allowed in this context";
        return Err(CommandError::quoting(&[b"Can't execute '", row.name.as_bytes(), rest]));
    }
    if in_multi && row.has(flag::NO_MULTI) {
        return Err(CommandError::Sentence("Command not allowed inside a transaction"));
    }
    Ok(row)
}

fn queue(ctx: &mut Context<'_>, prepared: &Prepared, row: &'static Row, args: &Args<'_>) {
    let stores = row.has(flag::DENYOOM);
    let (items, bytes) = match stores {
        true => (row.keys.positions(args).count(), args.iter().map(<[u8]>::len).sum::<usize>()),
        false => (0, 0),
    };
    let mut room = Room::default();
    room.add(items, bytes);
    let kept = keeping::keep_of_queued(ctx, row, args);
    let has_room = if stores { ctx.session.make_room(room.bytes(), ctx.now) } else { Ok(()) };
    drop(kept);
    if let Err(full) = has_room {
        ctx.client.transaction.broken = true;
        let start = ctx.out.len();
        return refuse(ctx, start, &full.into());
    }
    // After an error EXEC will abort anyway: nothing more is kept.
    if !ctx.client.transaction.broken {
        let args = ArgVec::copy_of(args);
        let queued = Queued { args, prepared: *prepared };
        ctx.client.kept_bytes += ctx.client.transaction.queue(queued);
        ctx.client.transaction.room.add(items, bytes);
    }
    ctx.reply().simple("QUEUED");
}

/// Repeats the beginning of the arguments, as much as Redis does.
fn unknown_command(args: &Args<'_>) -> CommandError {
    let mut preview = Vec::new();
    for arg in args.from(1).iter() {
        if preview.len() >= UNKNOWN_ARGUMENTS_PREVIEW_BYTES {
            break;
        }
        let room = UNKNOWN_ARGUMENTS_PREVIEW_BYTES - preview.len();
        preview.push(b'\'');
        preview.extend_from_slice(quoted(&arg[..arg.len().min(room)]));
        preview.extend_from_slice(b"' ");
    }
    CommandError::quoting(&[
        b"unknown command '",
        quoted(clipped(args.arg(0))),
        b"', with args beginning with: ",
        &preview,
    ])
}

fn clipped(name: &[u8]) -> &[u8] {
    &name[..name.len().min(UNKNOWN_ARGUMENTS_PREVIEW_BYTES)]
}
