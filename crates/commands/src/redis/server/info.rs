//! INFO, TIME, SHUTDOWN.

use crate::context::Context;
use crate::host::Shutdown;
use crate::redis::error::CommandError;
use crate::redis::row::{Call, Outcome};
use dolium_protocol::number::Decimal;

pub fn info(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let sections: Vec<&[u8]> = call.args.from(1).iter().collect();
    let text = ctx.host.info(ctx.client, &sections);
    ctx.reply().verbatim(b"txt", text.as_bytes());
    Ok(())
}

pub fn time(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let micros = ctx.host.unix_us();
    let mut reply = ctx.reply();
    reply.array(2);
    reply.bulk(Decimal::unsigned(micros / 1_000_000).as_bytes());
    reply.bulk(Decimal::unsigned(micros % 1_000_000).as_bytes());
    Ok(())
}

pub fn shutdown(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let mut how = Shutdown::default();
    let mut abort = false;
    for word in call.args.from(1).iter() {
        match word.to_ascii_uppercase().as_slice() {
            b"NOSAVE" if how.save.is_none() => how.save = Some(false),
            b"SAVE" if how.save.is_none() => how.save = Some(true),
            b"NOW" => how.now = true,
            b"FORCE" => how.force = true,
            b"ABORT" => abort = true,
            _ => return Err(CommandError::Syntax),
        }
    }
    if abort {
        if how != Shutdown::default() {
            return Err(CommandError::Syntax);
        }
        if !ctx.host.abort_shutdown() {
            return Err(CommandError::Sentence("No shutdown in progress."));
        }
        ctx.reply().ok();
        return Ok(());
    }
    match ctx.host.shutdown(how) {
        // No reply: the end of the connection is the answer.
        Ok(()) => Ok(()),
        Err(reason) => {
            let start = b"Errors trying to SHUTDOWN. Check logs. ";
            Err(CommandError::quoting(&[start, reason.as_bytes()]))
        }
    }
}
