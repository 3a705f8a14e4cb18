//! BLPOP, BRPOP, BRPOPLPUSH, BLMOVE: as LPOP and LMOVE, but an element is waited for.

use super::relay::{end, make_room};
use super::waiting::{Waiting, Wanted, attempt};
use crate::context::Context;
use crate::packed::list::End;
use crate::redis::collection::Tries;
use crate::redis::error::CommandError;
use crate::redis::long_double::LongDouble;
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
        if attempt(Tries::of(ctx), ctx.host, waiting, name, ctx.out)? {
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
    let (tries, host) = (Tries::of(ctx), ctx.host);
    let out = &mut *ctx.out;
    let mut outcome: Result<bool, CommandError> = Ok(false);
    let kept_bytes = waiting.kept_bytes();
    let waits = host.wait_for_list(ctx.client, waiting, &mut |waiting| {
        let mut any = waiting.keys.iter();
        outcome = any.try_fold(false, |found, name| {
            if found { Ok(true) } else { attempt(tries, host, waiting, name, out) }
        });
        !matches!(outcome, Ok(false))
    });
    outcome?;
    if waits {
        ctx.client.begin_wait(kept_bytes);
    }
    Ok(true)
}

/// When a wait of so many seconds is over; 0 is never.
pub(super) fn deadline(text: &[u8], now: Millis) -> Result<Option<Millis>, CommandError> {
    let refused = CommandError::Sentence("timeout is not a float or out of range");
    let seconds = LongDouble::parse(text).ok_or(refused)?;
    let ms = milliseconds(seconds).ok_or(CommandError::Sentence("timeout is negative"))?;
    Ok((ms > 0).then(|| now.saturating_add(ms)))
}

/// Redis multiplies as `long double`, rounds up and converts to an integer of 64 bits with a sign.
/// `None` where that is negative, which it also is where the integer would be too large: the
/// processor has one answer for all that does not fit, and it is the least integer.
fn milliseconds(seconds: LongDouble) -> Option<Millis> {
    let LongDouble::Finite { negative, mantissa, exponent } = seconds else { return None };
    let product = u128::from(mantissa) * 1000;
    // A product of up to 74 bits is rounded to 64, to the nearest, ties to even.
    let excess = (128 - product.leading_zeros()).saturating_sub(64);
    let (unit, kept) = (1u128 << excess, product >> excess);
    let twice = (product & (unit - 1)) * 2;
    let rounded = kept + u128::from(twice > unit || (twice == unit && kept & 1 == 1));
    // Zero has the least exponent; anything else has 64 bits, and is too large without a fraction.
    let fraction_bits = u32::try_from(-(exponent + excess as i32)).ok().filter(|bits| *bits > 0)?;
    let whole = rounded.checked_shr(fraction_bits).unwrap_or(0);
    if negative {
        // Rounded up, a part of a millisecond is none.
        return (whole == 0).then_some(0);
    }
    let is_whole = whole.checked_shl(fraction_bits).unwrap_or(0) == rounded;
    let ms = i64::try_from(whole + u128::from(!is_whole)).ok()?;
    Some(ms.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::deadline;
    use crate::redis::error::CommandError;

    #[test]
    fn a_time_is_in_seconds_and_parts_of_them() {
        assert_eq!(deadline(b"0", 7), Ok(None));
        assert_eq!(deadline(b"1.5", 7), Ok(Some(1507)));
        assert_eq!(deadline(b"0.0001", 7), Ok(Some(8)));
        // As floats of 64 bits, this would be a millisecond more.
        assert_eq!(deadline(b"1.1", 7), Ok(Some(1107)));
        assert_eq!(deadline(b"0x0.1", 7), Ok(Some(70)));
        assert_eq!(deadline(b"-0.0001", 7), Ok(None));
        assert_eq!(deadline(b"0e99", 7), Ok(None));
        assert_eq!(deadline(b"1e-4900", 7), Ok(Some(8)));
    }

    #[test]
    fn a_time_too_long_is_negative() {
        let longest = Ok(Some(i64::MAX as u64));
        for fits in ["9223372036854775.807", "9223372036854775.8071"] {
            assert_eq!(deadline(fits.as_bytes(), 0), longest, "{fits}");
        }
        let refused = Err(CommandError::Sentence("timeout is negative"));
        for too_long in ["9223372036854775.808", "1e30", "inf", "-inf", "-1", "-0.5", "-1e30"] {
            assert_eq!(deadline(too_long.as_bytes(), 7), refused, "{too_long}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let refused = Err(CommandError::Sentence("timeout is not a float or out of range"));
        for wrong in ["x", "", "nan", " 1", "1 ", "0x", "1e5000", "1e-5000"] {
            assert_eq!(deadline(wrong.as_bytes(), 7), refused, "{wrong}");
        }
    }
}
