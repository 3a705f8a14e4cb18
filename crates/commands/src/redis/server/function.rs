//! FUNCTION: there is no scripting yet, so only what is true without it.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::help;
use crate::redis::row::{Call, Outcome};
use crate::redis::server::misuse;

/// Deletes all functions, of which there are none. Redis' test suite begins with it.
pub fn flush(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if call.args.len() > 3 {
        return Err(misuse::refused(call));
    }
    let known =
        |mode: &[u8]| mode.eq_ignore_ascii_case(b"ASYNC") || mode.eq_ignore_ascii_case(b"SYNC");
    if call.args.get(2).is_some_and(|mode| !known(mode)) {
        return Err(CommandError::Sentence("FUNCTION FLUSH only supports SYNC|ASYNC option"));
    }
    ctx.reply().ok();
    Ok(())
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "FUNCTION",
        &[(
            "FLUSH [ASYNC|SYNC]",
            "Deletes all functions. There are none: functions cannot be loaded yet.",
        )],
    )
}
