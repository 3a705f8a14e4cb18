//! BLPOP, BRPOP, BRPOPLPUSH, BLMOVE: as LPOP and LMOVE, but an element is waited for.

use super::relay::{end, make_room};
use super::waiting::{Waiting, Wanted, attempt};
use crate::context::Context;
use crate::packed::list::End;
use crate::redis::error::CommandError;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Millis;

pub fn blpop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    pop(ctx, call, End::Front)
}

pub fn brpop(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    pop(ctx, call, End::Back)
}

fn pop(ctx: &mut Context<'_>, call: &Call<'_>, end: End) -> Outcome {
    let last = call.args.len() - 1;
    let until = deadline(call.args.arg(last), ctx.now)?;
    let keys = (1..last).map(|i| call.args.arg(i).to_vec()).collect();
    let wanted = Wanted::Pop(end);
    let waiting = Waiting { db: ctx.db(), keys, until, version: ctx.client.resp, wanted };
    if !wait(ctx, waiting)? {
        ctx.reply().null_array();
    }
    Ok(())
}

pub fn brpoplpush(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    relay(ctx, call, End::Back, End::Front, call.args.arg(3))
}

pub fn blmove(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (from, to) = (end(call.args.arg(3))?, end(call.args.arg(4))?);
    relay(ctx, call, from, to, call.args.arg(5))
}

fn relay(ctx: &mut Context<'_>, call: &Call<'_>, from: End, to: End, time: &[u8]) -> Outcome {
    let until = deadline(time, ctx.now)?;
    let (source, target) = (call.key(), ctx.key(call.args.arg(2)));
    make_room(ctx, ctx.db(), &source, &target)?;
    let wanted = Wanted::Move { from, to, target: target.bytes().to_vec() };
    let keys = vec![source.bytes().to_vec()];
    let waiting = Waiting { db: ctx.db(), keys, until, version: ctx.client.resp, wanted };
    if !wait(ctx, waiting)? {
        ctx.reply().null();
    }
    Ok(())
}

/// Answers if one of the keys has an element.
pub(super) fn at_once(ctx: &mut Context<'_>, waiting: &Waiting) -> Result<bool, CommandError> {
    for name in &waiting.keys {
        if attempt(ctx.session, ctx.host, ctx.now, waiting, name, ctx.out)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Answers if there is an element, else has the client wait. False: neither, for within a transaction
/// nobody waits.
pub(super) fn wait(ctx: &mut Context<'_>, waiting: Waiting) -> Result<bool, CommandError> {
    if at_once(ctx, &waiting)? {
        return Ok(true);
    }
    if ctx.client.transaction.running {
        return Ok(false);
    }
    // Once more when everybody who pushes can see that this client is about to wait: what was
    // pushed before that is found now.
    let (session, host, now) = (ctx.session, ctx.host, ctx.now);
    let out = &mut *ctx.out;
    let mut outcome: Result<bool, CommandError> = Ok(false);
    let waits = host.wait_for_list(ctx.client, waiting, &mut |waiting| {
        let mut any = waiting.keys.iter();
        outcome = any.try_fold(false, |found, name| {
            if found { Ok(true) } else { attempt(session, host, now, waiting, name, out) }
        });
        !matches!(outcome, Ok(false))
    });
    outcome?;
    ctx.client.waits = waits;
    Ok(true)
}

/// When a wait of so many seconds is over; 0 is never.
pub(super) fn deadline(text: &[u8], now: Millis) -> Result<Option<Millis>, CommandError> {
    let refused = CommandError::Sentence("timeout is not a float or out of range");
    let seconds = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    let seconds = seconds.filter(|seconds| seconds.is_finite()).ok_or(refused)?;
    let ms = (seconds * 1000.0).ceil();
    if ms < 0.0 {
        return Err(CommandError::Sentence("timeout is negative"));
    }
    Ok((ms > 0.0).then(|| now.saturating_add(ms as Millis)))
}

#[cfg(test)]
mod tests {
    use super::deadline;

    #[test]
    fn a_time_is_in_seconds_and_parts_of_them() {
        assert_eq!(deadline(b"0", 7), Ok(None));
        assert_eq!(deadline(b"1.5", 7), Ok(Some(1507)));
        assert_eq!(deadline(b"0.0001", 7), Ok(Some(8)));
        assert_eq!(deadline(b"1e30", 7), Ok(Some(u64::MAX)));
        for wrong in ["-1", "x", "", "nan", "inf", " 1", "1 "] {
            assert!(deadline(wrong.as_bytes(), 7).is_err(), "{wrong}");
        }
    }
}
