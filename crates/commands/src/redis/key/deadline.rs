//! TTL, PTTL, EXPIRETIME, PEXPIRETIME: when a key will be gone.

use crate::context::Context;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Millis, NEVER};

const NO_KEY: i64 = -2;
const NO_DEADLINE: i64 = -1;

pub fn ttl(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    // To the nearest second, as Redis rounds.
    answer(ctx, call, |deadline, now| (deadline.saturating_sub(now) + 500) / 1000)
}

pub fn pttl(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    answer(ctx, call, |deadline, now| deadline.saturating_sub(now))
}

pub fn expiretime(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    answer(ctx, call, |deadline, _| (deadline + 500) / 1000)
}

pub fn pexpiretime(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    answer(ctx, call, |deadline, _| deadline)
}

fn answer(ctx: &mut Context<'_>, call: &Call<'_>, tell: fn(Millis, Millis) -> u64) -> Outcome {
    let answer = match ctx.look(&call.key()) {
        None => NO_KEY,
        Some(found) if found.deadline == NEVER => NO_DEADLINE,
        Some(found) => tell(found.deadline, ctx.now) as i64,
    };
    ctx.reply().int(answer);
    Ok(())
}
