//! SUBSCRIBE, PSUBSCRIBE and their opposites. The reply is a message for each name.

use crate::connection::{ClientState, ReplyMode, gate, kept_name_bytes};
use crate::context::Context;
use crate::host::{Host, Subscription};
use crate::redis::row::{Call, Outcome};
use dolium_protocol::resp::RespWriter;
use std::collections::BTreeSet;

pub fn subscribe(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    enter(ctx, call, Subscription::Channel, "subscribe")
}

pub fn psubscribe(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    enter(ctx, call, Subscription::Pattern, "psubscribe")
}

pub fn unsubscribe(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    leave(ctx, call, Subscription::Channel, "unsubscribe")
}

pub fn punsubscribe(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    leave(ctx, call, Subscription::Pattern, "punsubscribe")
}

fn names(client: &mut ClientState, kind: Subscription) -> &mut BTreeSet<Vec<u8>> {
    match kind {
        Subscription::Channel => &mut client.channels,
        Subscription::Pattern => &mut client.patterns,
    }
}

fn enter(ctx: &mut Context<'_>, call: &Call<'_>, kind: Subscription, word: &str) -> Outcome {
    for name in call.args.from(1).iter() {
        if names(ctx.client, kind).insert(name.to_vec()) {
            ctx.client.kept_bytes += kept_name_bytes(name);
            ctx.host.subscribe(ctx.client.id, kind, name);
        }
        tell(ctx, word, Some(name));
    }
    ctx.client.set_gate(gate::SUBSCRIBED, true);
    Ok(())
}

fn leave(ctx: &mut Context<'_>, call: &Call<'_>, kind: Subscription, word: &str) -> Outcome {
    let chosen: Vec<Vec<u8>> = if call.args.len() > 1 {
        call.args.from(1).iter().map(<[u8]>::to_vec).collect()
    } else {
        names(ctx.client, kind).iter().cloned().collect()
    };
    for name in &chosen {
        if names(ctx.client, kind).remove(name) {
            ctx.client.kept_bytes -= kept_name_bytes(name);
            ctx.host.unsubscribe(ctx.client.id, kind, name);
        }
        tell(ctx, word, Some(name));
    }
    if chosen.is_empty() {
        tell(ctx, word, None);
    }
    let any = ctx.client.subscriptions() > 0;
    ctx.client.set_gate(gate::SUBSCRIBED, any);
    Ok(())
}

fn tell(ctx: &mut Context<'_>, word: &str, name: Option<&[u8]>) {
    let (count, version) = (ctx.client.subscriptions(), ctx.client.resp);
    // This is a push, not a reply: CLIENT REPLY does not turn it off.
    let is_silent = ctx.client.reply_mode != ReplyMode::On;
    let out = if is_silent { &mut ctx.client.pushes } else { &mut *ctx.out };
    let mut reply = RespWriter::new(out, version);
    reply.push(3);
    reply.bulk(word.as_bytes());
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.int(count as i64);
}

/// Takes a client out of the server's index altogether, without a word to it: RESET, and what
/// the server does when a connection closes.
pub fn leave_all(client: &mut ClientState, host: &dyn Host) {
    let mut given_back = 0;
    for (kind, name) in client.subscribed() {
        host.unsubscribe(client.id, kind, name);
        given_back += kept_name_bytes(name);
    }
    client.kept_bytes -= given_back;
    client.channels.clear();
    client.patterns.clear();
    client.set_gate(gate::SUBSCRIBED, false);
}
