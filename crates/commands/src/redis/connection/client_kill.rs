//! CLIENT KILL, in its old form (an address) and its new one (conditions).

use crate::context::Context;
use crate::redis::connection::client_filter::{ClientFilter, kind};
use crate::redis::error::{CommandError, quoted};
use crate::redis::number::parse_i64;
use crate::redis::row::{Call, Outcome};
use dolium_protocol::resp::Args;

pub fn kill(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if call.args.len() == 3 {
        let filter = ClientFilter { addr: Some(call.args.arg(2)), ..Default::default() };
        if kill_all(ctx, &filter, Me::Included) == 0 {
            return Err(CommandError::Sentence("No such client"));
        }
        ctx.reply().ok();
        return Ok(());
    }
    let (filter, me) = parse(&call.args)?;
    let killed = kill_all(ctx, &filter, me);
    ctx.reply().int(killed as i64);
    Ok(())
}

/// May the connection that asks be closed too?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Me {
    Included,
    Spared,
}

fn parse<'a>(args: &Args<'a>) -> Result<(ClientFilter<'a>, Me), CommandError> {
    let (mut filter, mut me) = (ClientFilter::default(), Me::Spared);
    let mut i = 2;
    while i < args.len() {
        let (word, value) = (args.arg(i), args.get(i + 1).ok_or(CommandError::Syntax)?);
        match word.to_ascii_uppercase().as_slice() {
            b"ID" => {
                let id = parse_i64(value).and_then(|id| u64::try_from(id).ok());
                let id = id.filter(|id| *id > 0);
                let refused = CommandError::Sentence("client-id should be greater than 0");
                filter.ids = vec![id.ok_or(refused)?];
            }
            b"TYPE" => filter.kind = Some(kind(value)?),
            b"ADDR" => filter.addr = Some(value),
            b"LADDR" => filter.laddr = Some(value),
            b"USER" if value == b"default" => filter.user = Some(value),
            b"USER" => {
                return Err(CommandError::quoting(&[b"No such user '", quoted(value), b"'"]));
            }
            b"SKIPME" if value.eq_ignore_ascii_case(b"yes") => me = Me::Spared,
            b"SKIPME" if value.eq_ignore_ascii_case(b"no") => me = Me::Included,
            _ => return Err(CommandError::Syntax),
        }
        i += 2;
    }
    Ok((filter, me))
}

/// Closes all for which the filter holds; its own connection is closed after the reply.
fn kill_all(ctx: &mut Context<'_>, filter: &ClientFilter<'_>, me: Me) -> usize {
    let mut killed = ctx.host.kill_clients(ctx.client, &|client| filter.holds(client));
    let (id, mut chosen) = (ctx.client.id, false);
    ctx.host.clients(ctx.client, &mut |client| {
        chosen |= client.id == id && filter.holds(client);
    });
    if chosen && me == Me::Included {
        ctx.client.close = true;
        killed += 1;
    }
    killed
}
