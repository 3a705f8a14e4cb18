//! Times in arguments: seconds or milliseconds, from now or from the Unix epoch.

use crate::redis::error::CommandError;
use crate::redis::number::integer;
use dolium_engine::Millis;
use dolium_protocol::resp::Args;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Now,
    Epoch,
}

/// The words EX, PX, EXAT and PXAT.
pub(crate) fn word(text: &[u8]) -> Option<(Unit, Base)> {
    const WORDS: [(&str, Unit, Base); 4] = [
        ("EX", Unit::Seconds, Base::Now),
        ("PX", Unit::Millis, Base::Now),
        ("EXAT", Unit::Seconds, Base::Epoch),
        ("PXAT", Unit::Millis, Base::Epoch),
    ];
    let found = WORDS.iter().find(|(word, ..)| text.eq_ignore_ascii_case(word.as_bytes()));
    found.map(|&(_, unit, base)| (unit, base))
}

/// A time as SET takes it: greater than zero, and the result must be one that can be told.
pub(crate) fn positive_deadline(
    text: &[u8],
    (unit, base): (Unit, Base),
    now: Millis,
    command: &'static str,
) -> Result<Millis, CommandError> {
    let value = integer(text)?;
    if value <= 0 {
        return Err(CommandError::InvalidExpire(command));
    }
    let deadline = deadline(value, unit, base, now).ok_or(CommandError::InvalidExpire(command))?;
    Ok(deadline as Millis)
}

/// Unix milliseconds, which may be long past; `None` when they do not fit.
pub(crate) fn deadline(value: i64, unit: Unit, base: Base, now: Millis) -> Option<i64> {
    let millis = match unit {
        Unit::Seconds => value.checked_mul(1000)?,
        Unit::Millis => value,
    };
    match base {
        Base::Now => millis.checked_add(now as i64),
        Base::Epoch => Some(millis),
    }
}

/// What SET and GETEX share: at most one of EX, PX, EXAT, PXAT and the word `keeper` (KEEPTTL or
/// PERSIST). The same one may be said again: the last counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expiry<'a> {
    pub at: Option<(&'a [u8], (Unit, Base))>,
    pub keeper: bool,
}

impl<'a> Expiry<'a> {
    /// Takes the option at `i` if it is one of these; how many arguments it took.
    pub fn take(&mut self, args: &Args<'a>, i: usize, keeper: &str) -> Result<usize, CommandError> {
        if args.arg(i).eq_ignore_ascii_case(keeper.as_bytes()) && self.at.is_none() {
            self.keeper = true;
            return Ok(1);
        }
        match (word(args.arg(i)), args.get(i + 1)) {
            (Some(word), Some(value))
                if !self.keeper && self.at.is_none_or(|(_, before)| before == word) =>
            {
                self.at = Some((value, word));
                Ok(2)
            }
            _ => Err(CommandError::Syntax),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_that_do_not_fit_are_refused() {
        let max = i64::MAX.to_string();
        for (unit, base) in [(Unit::Seconds, Base::Now), (Unit::Millis, Base::Now)] {
            let refused = positive_deadline(max.as_bytes(), (unit, base), 1000, "set");
            assert_eq!(refused, Err(CommandError::InvalidExpire("set")));
        }
        let now = positive_deadline(b"10", (Unit::Seconds, Base::Now), 1000, "set");
        assert_eq!(now, Ok(11_000));
        assert_eq!(positive_deadline(b"7", (Unit::Millis, Base::Epoch), 1000, "set"), Ok(7));
        let zero = positive_deadline(b"0", (Unit::Millis, Base::Epoch), 1000, "getex");
        assert_eq!(zero, Err(CommandError::InvalidExpire("getex")));
        assert_eq!(
            deadline(-9_223_372_036_854_775, Unit::Seconds, Base::Now, 1),
            Some(-9_223_372_036_854_774_999)
        );
        assert_eq!(deadline(i64::MIN, Unit::Seconds, Base::Now, 1), None);
    }
}
