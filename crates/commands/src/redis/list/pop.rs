//! LPOP and RPOP.

use super::{FORM, pop_event};
use crate::context::Context;
use crate::packed::list::{End, List};
use crate::redis::collection::{self, reply_element};
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Db, Guard, Key, Kind};
use dolium_protocol::resp::{RespWriter, Version};

pub fn lpop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    pop(ctx, call, End::Front)
}

pub fn rpop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    pop(ctx, call, End::Back)
}

fn pop(ctx: &mut Context<'_>, call: &Call<'_>, end: End) -> Outcome {
    let count = match call.args.len() {
        2 => None,
        3 => Some(positive(call.args.arg(2))?),
        _ => return Err(CommandError::Arity(call.row.name)),
    };
    let (db, key, version) = (ctx.client.db, call.key(), ctx.client.resp);
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let Some(len) = collection::open(&mut guard, db, &key, Kind::List)?
        .map(|(_, packed)| List::open(&packed).len())
    else {
        drop(guard);
        match count {
            Some(_) => ctx.reply().null_array(),
            None => ctx.reply().null(),
        }
        return Ok(());
    };
    if let Some(count) = count {
        RespWriter::new(ctx.out, version).array(count.min(len));
    }
    take(&mut guard, db, &key, end, count.unwrap_or(1), version, ctx.out)
}

/// Takes elements from an end of a list, and replies with each.
pub(super) fn take(
    guard: &mut Guard<'_>,
    db: Db,
    key: &Key<'_>,
    end: End,
    count: usize,
    version: Version,
    out: &mut Vec<u8>,
) -> Outcome {
    let Some((_, packed)) = collection::open(guard, db, key, Kind::List)? else { return Ok(()) };
    let list = List::open(&packed);
    let count = count.min(list.len());
    if count == 0 {
        return Ok(());
    }
    let mut reply = RespWriter::new(out, version);
    let edit = match end {
        End::Front => {
            list.iter().take(count).for_each(|span| reply_element(&packed, span, &mut reply));
            list.trim(count, 0)
        }
        End::Back => {
            list.iter_back().take(count).for_each(|span| reply_element(&packed, span, &mut reply));
            list.trim(0, count)
        }
    };
    collection::apply(guard, db, key, FORM, pop_event(end), edit, count)
}

/// A count that may not be negative.
pub(in crate::redis) fn positive(text: &[u8]) -> Result<usize, CommandError> {
    let refused = CommandError::Sentence("value is out of range, must be positive");
    integer(text).ok().and_then(|count| usize::try_from(count).ok()).ok_or(refused)
}
