//! AUTH and HELLO.

use crate::connection::gate;
use crate::context::Context;
use crate::redis::REDIS_VERSION;
use crate::redis::connection::client::checked_name;
use crate::redis::error::{CommandError, quoted};
use crate::redis::number::parse_i64;
use crate::redis::row::{Call, Outcome};
use dolium_protocol::resp::Version;

const WRONG_PASSWORD: CommandError =
    CommandError::Coded("WRONGPASS invalid username-password pair or user is disabled.");

pub fn auth(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (user, password): (&[u8], _) = match call.args.len() {
        2 => (b"default", call.args.arg(1)),
        3 => (call.args.arg(1), call.args.arg(2)),
        _ => return Err(CommandError::Syntax),
    };
    if call.args.len() == 2 && !ctx.host.has_password() {
        return Err(CommandError::Sentence(
            "AUTH <password> called without any password configured for the default user. Are \
             you sure your configuration is correct?",
        ));
    }
    authenticate(ctx, user, password)?;
    ctx.reply().ok();
    Ok(())
}

fn authenticate(ctx: &mut Context<'_>, user: &[u8], password: &[u8]) -> Outcome {
    if !ctx.host.check_password(user, password) {
        return Err(WRONG_PASSWORD);
    }
    ctx.client.set_gate(gate::UNAUTHENTICATED, false);
    Ok(())
}

/// The version that HELLO asks for.
fn asked_version(call: &Call<'_>) -> Result<Option<Version>, CommandError> {
    let Some(version) = call.args.get(1) else { return Ok(None) };
    match parse_i64(version) {
        Some(2) => Ok(Some(Version::V2)),
        Some(3) => Ok(Some(Version::V3)),
        Some(_) => Err(CommandError::Coded("NOPROTO unsupported protocol version")),
        None => Err(CommandError::Sentence("Protocol version is not an integer or out of range")),
    }
}

/// What HELLO is told behind the version. Each option counts when it is met, as in Redis: a client whose
/// login is followed by an option that is refused is logged in.
fn follow_options(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let args = call.args;
    let mut i = 2;
    while i < args.len() {
        let word = args.arg(i);
        if word.eq_ignore_ascii_case(b"AUTH") && i + 2 < args.len() {
            authenticate(ctx, args.arg(i + 1), args.arg(i + 2))?;
            i += 3;
        } else if word.eq_ignore_ascii_case(b"SETNAME") && i + 1 < args.len() {
            ctx.client.rename(checked_name(args.arg(i + 1))?);
            i += 2;
        } else {
            let start = b"Syntax error in HELLO option '";
            return Err(CommandError::quoting(&[start, quoted(word), b"'"]));
        }
    }
    Ok(())
}

pub fn hello(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let version = asked_version(call)?;
    follow_options(ctx, call)?;
    if !ctx.client.authenticated() {
        return Err(CommandError::Coded(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
             HELLO AUTH <user> <pass> option can be used to authenticate the client and select \
             the RESP protocol version at the same time",
        ));
    }
    if let Some(version) = version {
        ctx.client.resp = version;
    }
    let (id, resp) = (ctx.client.id, ctx.client.resp);
    let mut reply = ctx.reply();
    reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.int(if resp == Version::V3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.int(id as i64);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}
