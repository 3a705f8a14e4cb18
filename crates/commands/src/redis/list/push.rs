//! LPUSH, RPUSH, LPUSHX, RPUSHX.

use super::{FORM, push_event};
use crate::context::Context;
use crate::packed::list::{self, End, List};
use crate::redis::collection;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Kind;

pub fn lpush(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    push(ctx, call, End::Front, false)
}

pub fn rpush(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    push(ctx, call, End::Back, false)
}

pub fn lpushx(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    push(ctx, call, End::Front, true)
}

pub fn rpushx(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    push(ctx, call, End::Back, true)
}

fn push(ctx: &mut Context<'_>, call: &Call<'_>, end: End, must_exist: bool) -> Outcome {
    let (db, key, elements) = (ctx.db(), call.key(), call.args.from(2));
    let brings = list::bytes_of(elements.iter());
    let len = collection::change(ctx, &key, brings, |guard| {
        match collection::open(guard, db, &key, Kind::List)? {
            None if must_exist => Ok(0),
            None => {
                let bytes = list::pack(end, elements.iter());
                collection::put(guard, db, &key, FORM, push_event(end), &bytes, elements.len())?;
                Ok(elements.len())
            }
            Some((_, packed)) => {
                let list = List::open(&packed);
                let edit = list.push(end, elements.iter());
                collection::apply(guard, db, &key, FORM, push_event(end), edit, elements.len())?;
                Ok(list.len() + elements.len())
            }
        }
    })?;
    if len > 0 {
        ctx.host.list_grew(db, key.bytes());
    }
    ctx.reply().int(len as i64);
    Ok(())
}
