//! PING, ECHO, SELECT, QUIT, RESET.

use crate::connection::{ReplyMode, gate};
use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::database;
use crate::redis::pubsub::subscribe::leave_all;
use crate::redis::row::{Call, Outcome};
use crate::redis::transaction;
use dolium_engine::Db;
use dolium_protocol::resp::Version;

pub fn ping(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if call.args.len() > 2 {
        return Err(CommandError::Arity(call.row.name));
    }
    if ctx.client.gate & gate::SUBSCRIBED != 0 && ctx.client.resp == Version::V2 {
        // Looks like a message, since nothing else may arrive on such a connection.
        let mut reply = ctx.reply();
        reply.array(2);
        reply.bulk(b"pong");
        reply.bulk(call.args.get(1).unwrap_or_default());
        return Ok(());
    }
    match call.args.get(1) {
        Some(message) => ctx.reply().bulk(message),
        None => ctx.reply().simple("PONG"),
    }
    Ok(())
}

pub fn echo(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    ctx.reply().bulk(call.args.arg(1));
    Ok(())
}

pub fn select(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    ctx.client.db = database(call.args.arg(1), ctx.session.engine().databases())?;
    ctx.reply().ok();
    Ok(())
}

pub fn quit(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.client.close = true;
    ctx.reply().ok();
    Ok(())
}

pub fn reset(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    transaction::forget(ctx.client, ctx.session);
    leave_all(ctx.client, ctx.host);
    ctx.client.db = Db(0);
    ctx.client.resp = Version::V2;
    ctx.client.rename(b"");
    let locked = ctx.host.has_password();
    ctx.client.set_gate(gate::UNAUTHENTICATED, locked);
    if ctx.client.reply_mode == ReplyMode::Off {
        ctx.client.reply_mode = ReplyMode::On;
        ctx.client.set_gate(gate::REPLY, false);
    }
    ctx.reply().simple("RESET");
    Ok(())
}
