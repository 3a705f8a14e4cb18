//! PUBLISH and PUBSUB.

use crate::context::Context;
use crate::redis::glob::{self, Case};
use crate::redis::help;
use crate::redis::row::{Call, Outcome};
use crate::redis::server::misuse;

pub fn publish(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let receivers = ctx.host.publish(call.args.arg(1), call.args.arg(2));
    ctx.reply().int(receivers as i64);
    Ok(())
}

pub fn channels(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if call.args.len() > 3 {
        return Err(misuse::refused(call));
    }
    let pattern = call.args.get(2);
    let mut chosen: Vec<Vec<u8>> = Vec::new();
    ctx.host.channels(&mut |name| {
        if pattern.is_none_or(|pattern| glob::matches(pattern, name, Case::Sensitive)) {
            chosen.push(name.to_vec());
        }
    });
    let mut reply = ctx.reply();
    reply.array(chosen.len());
    for name in &chosen {
        reply.bulk(name);
    }
    Ok(())
}

pub fn numsub(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let names = call.args.from(2);
    ctx.reply().array(names.len() * 2);
    for name in names.iter() {
        let count = ctx.host.channel_subscribers(name);
        let mut reply = ctx.reply();
        reply.bulk(name);
        reply.int(count as i64);
    }
    Ok(())
}

pub fn numpat(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let count = ctx.host.pattern_count();
    ctx.reply().int(count as i64);
    Ok(())
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "PUBSUB",
        &[
            ("CHANNELS [<pattern>]", "The channels with subscribers, all or those that match."),
            ("NUMPAT", "The number of patterns that are listened to."),
            ("NUMSUB [<channel> ...]", "The number of subscribers of each channel."),
        ],
    )
}
