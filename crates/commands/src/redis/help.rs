//! The HELP subcommands, in the form that every container shares.

use crate::context::Context;
use crate::redis::row::Outcome;

/// `lines`: how a subcommand is called, and what it does.
pub(crate) fn reply(ctx: &mut Context<'_>, container: &str, lines: &[(&str, &str)]) -> Outcome {
    let mut text =
        vec![format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")];
    for (usage, what) in lines {
        text.push((*usage).to_owned());
        text.push(format!("    {what}"));
    }
    text.push("HELP".to_owned());
    text.push("    Prints this help.".to_owned());
    let mut reply = ctx.reply();
    reply.array(text.len());
    for line in &text {
        reply.simple(line);
    }
    Ok(())
}
