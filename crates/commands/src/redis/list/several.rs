//! LMPOP and BLMPOP: some elements of the first of several lists that has any.

use super::blocking::{at_once, deadline, wait};
use super::relay::end;
use super::waiting::{Waiting, Wanted};
use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Millis;

pub fn lmpop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let waiting = parse(ctx, call, 1, None)?;
    if !at_once(ctx, &waiting)? {
        ctx.reply().null_array();
    }
    Ok(())
}

pub fn blmpop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    // What is wrong with the other arguments is told first.
    let mut waiting = parse(ctx, call, 2, None)?;
    waiting.until = deadline(call.args.arg(1), ctx.now)?;
    if !wait(ctx, waiting)? {
        ctx.reply().null_array();
    }
    Ok(())
}

/// `numkeys key ... LEFT|RIGHT [COUNT count]`, from the argument `at` on.
fn parse(
    ctx: &Context<'_>,
    call: &Call<'_>,
    at: usize,
    until: Option<Millis>,
) -> Result<Waiting, CommandError> {
    let args = call.args;
    let first = at + 1;
    let keys = at_least_one(args.arg(at), "numkeys should be greater than 0")?;
    let side = first.checked_add(keys).filter(|side| *side < args.len());
    let side = side.ok_or(CommandError::Syntax)?;
    let end = end(args.arg(side))?;
    let count = match args.len() - side {
        1 => 1,
        3.. if args.arg(side + 1).eq_ignore_ascii_case(b"COUNT") => {
            let count = at_least_one(args.arg(side + 2), "count should be greater than 0")?;
            if args.len() - side > 3 {
                return Err(CommandError::Syntax);
            }
            count
        }
        _ => return Err(CommandError::Syntax),
    };
    let keys = (first..side).map(|i| args.arg(i).to_vec()).collect();
    let wanted = Wanted::PopSome(end, count);
    Ok(Waiting { db: ctx.db(), keys, until, version: ctx.client.resp, wanted })
}

fn at_least_one(text: &[u8], refused: &'static str) -> Result<usize, CommandError> {
    let number = integer(text).ok().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| *number > 0).ok_or(CommandError::Sentence(refused))
}
