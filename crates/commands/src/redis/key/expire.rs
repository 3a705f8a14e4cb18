//! EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT with their conditions, and PERSIST.

use crate::context::Context;
use crate::redis::error::{CommandError, quoted};
use crate::redis::expiry::{Base, Unit, deadline};
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::{Event, Millis, NEVER};
use dolium_protocol::resp::Args;

pub fn expire(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    set(ctx, call, Unit::Seconds, Base::Now)
}

pub fn pexpire(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    set(ctx, call, Unit::Millis, Base::Now)
}

pub fn expireat(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    set(ctx, call, Unit::Seconds, Base::Epoch)
}

pub fn pexpireat(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    set(ctx, call, Unit::Millis, Base::Epoch)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn parse(args: &Args<'_>) -> Result<Self, CommandError> {
        let mut conditions = Conditions::default();
        for word in args.from(3).iter() {
            match word.to_ascii_uppercase().as_slice() {
                b"NX" => conditions.nx = true,
                b"XX" => conditions.xx = true,
                b"GT" => conditions.gt = true,
                b"LT" => conditions.lt = true,
                _ => {
                    return Err(CommandError::quoting(&[b"Unsupported option ", quoted(word)]));
                }
            }
        }
        let Conditions { nx, xx, gt, lt } = conditions;
        if nx && (xx || gt || lt) {
            return Err(CommandError::Sentence(
                "NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if gt && lt {
            return Err(CommandError::Sentence(
                "GT and LT options at the same time are not compatible",
            ));
        }
        Ok(conditions)
    }

    /// May a key with this deadline get that one? No deadline counts as one in the infinite.
    fn allow(self, current: Millis, wanted: i64) -> bool {
        let current = (current != NEVER).then_some(current as i64);
        !(self.nx && current.is_some()
            || self.xx && current.is_none()
            || self.gt && current.is_none_or(|current| wanted <= current)
            || self.lt && current.is_some_and(|current| wanted >= current))
    }
}

fn set(ctx: &mut Context<'_>, call: &Call<'_>, unit: Unit, base: Base) -> Outcome {
    let conditions = Conditions::parse(&call.args)?;
    let value = integer(call.args.arg(2))?;
    let wanted =
        deadline(value, unit, base, ctx.now).ok_or(CommandError::InvalidExpire(call.row.name))?;
    let (db, key) = (ctx.db(), call.key());
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let done = match guard.find(db, &key) {
        Some(found) if conditions.allow(found.deadline, wanted) => {
            if wanted <= ctx.now as i64 {
                guard.remove(db, &key, Event::Del)
            } else {
                guard.set_deadline(db, &key, wanted as Millis, Event::Expire)?
            }
        }
        _ => false,
    };
    drop(guard);
    ctx.reply().int(i64::from(done));
    Ok(())
}

pub fn persist(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (db, key) = (ctx.db(), call.key());
    let mut guard = ctx.session.write(db, &key, ctx.now);
    let done = match guard.find(db, &key) {
        Some(found) if found.deadline != NEVER => {
            guard.set_deadline(db, &key, NEVER, Event::Persist)?
        }
        _ => false,
    };
    drop(guard);
    ctx.reply().int(i64::from(done));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_with_the_present_deadline() {
        let nx = Conditions { nx: true, ..Default::default() };
        let xx = Conditions { xx: true, ..Default::default() };
        let gt = Conditions { gt: true, ..Default::default() };
        let lt = Conditions { lt: true, ..Default::default() };
        assert!(nx.allow(NEVER, 5) && !nx.allow(9, 5));
        assert!(xx.allow(9, 5) && !xx.allow(NEVER, 5));
        assert!(gt.allow(9, 10) && !gt.allow(9, 9) && !gt.allow(NEVER, 10));
        assert!(lt.allow(9, 8) && !lt.allow(9, 9) && lt.allow(NEVER, 10));
    }
}
