//! SLOWLOG.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::help;
use crate::redis::number::parse_i64;
use crate::redis::row::{Call, Outcome};
use crate::redis::server::misuse;

const COUNT_DEFAULT: usize = 10;

pub fn get(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let count = match call.args.get(2) {
        None => COUNT_DEFAULT,
        Some(_) if call.args.len() > 3 => return Err(misuse::refused(call)),
        Some(text) => match parse_i64(text) {
            Some(-1) => usize::MAX,
            Some(count @ 0..) => count as usize,
            _ => {
                return Err(CommandError::Sentence("count should be greater than or equal to -1"));
            }
        },
    };
    let entries = ctx.host.slowlog(count);
    let mut reply = ctx.reply();
    reply.array(entries.len());
    for entry in &entries {
        reply.array(6);
        reply.int(entry.id as i64);
        reply.int(entry.unix_s as i64);
        reply.int(entry.duration_us as i64);
        reply.array(entry.arguments.len());
        for argument in &entry.arguments {
            reply.bulk(argument);
        }
        reply.bulk(entry.addr.as_bytes());
        reply.bulk(&entry.name);
    }
    Ok(())
}

pub fn len(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let len = ctx.host.slowlog_len();
    ctx.reply().int(len as i64);
    Ok(())
}

pub fn reset(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.host.reset_slowlog();
    ctx.reply().ok();
    Ok(())
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "SLOWLOG",
        &[
            (
                "GET [<count>]",
                "The newest <count> entries (10 if not given, -1 for all): number, Unix time, \
             microseconds, arguments, address and name of the client.",
            ),
            ("LEN", "The number of entries."),
            ("RESET", "Empties the log."),
        ],
    )
}
