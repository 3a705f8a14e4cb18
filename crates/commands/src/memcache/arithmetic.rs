//! Counting: incr, decr and `ma`.
//!
//! Memcached counts in text: unsigned 64 bits, `incr` wraps, `decr` stops at 0, and a result
//! shorter than the old value is padded with blanks to its length. A value that Redis stored as an
//! integer stays one, unpadded, so that both go on counting; above 2^63 - 1 it becomes text.

use super::store::Outcome;
use super::{Count, McContext, retrieve};
use crate::context::Flow;
use crate::limits::ROOM_TRIES;
use dolium_engine::{Deadline, Event, Flags, Key, Kind, Put, Value};
use dolium_protocol::memcache::{negated, write};
use dolium_protocol::number::{Decimal, parse_digits};

/// Longest value that is looked at; Memcached too refuses numbers in items of several chunks.
const NUMBER_BYTES_MAX: usize = 512 * 1024;
/// Digits of the largest number.
const NUMBER_DIGITS: usize = 20;

pub(super) const NON_NUMERIC: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value";

/// How to count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub incr: bool,
    pub delta: u64,
    /// The unique number that the item must have, or 0.
    pub cas: u64,
    /// The new unique number is wanted.
    pub unique: bool,
    /// The deadline of what was counted.
    pub deadline: Deadline,
}

/// Why nothing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NonNumeric,
    /// Not found, another unique number, no string, or no memory.
    Refused(Outcome),
}

pub(super) fn text(
    context: &mut McContext<'_>,
    incr: bool,
    key: &[u8],
    delta: u64,
    noreply: bool,
) -> Flow {
    let name = context.session.engine().key(key);
    let step = Step { incr, delta, cas: 0, unique: false, deadline: Deadline::Keep };
    let counted = with_room(context, &name, |context| {
        let mut guard = context.session.write(context.db, &name, context.now);
        count(context, &mut guard, &name, step)
    });
    if matches!(counted, Err(Fault::Refused(Outcome::NotFound))) {
        note_miss(context, incr);
    }
    if noreply {
        return Flow::Continue;
    }
    match counted {
        Ok((value, _)) => write::number(context.out, value),
        Err(Fault::NonNumeric) => write::line(context.out, NON_NUMERIC),
        Err(Fault::Refused(Outcome::NoMemory)) => {
            write::line(context.out, "SERVER_ERROR out of memory");
        }
        Err(Fault::Refused(Outcome::NotAString)) => {
            write::line(context.out, retrieve::NOT_A_STRING);
        }
        Err(Fault::Refused(_)) => write::line(context.out, "NOT_FOUND"),
    }
    Flow::Continue
}

/// Counts once there is room for a number, and for another copy of the item that it is in; again where
/// another thread has taken that before the lock was had. What finds no memory has changed nothing.
pub(super) fn with_room<T>(
    context: &mut McContext<'_>,
    name: &Key<'_>,
    mut counted: impl FnMut(&mut McContext<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let bytes = name.bytes().len() + NUMBER_DIGITS;
    let start = context.out.len();
    for round in 1..ROOM_TRIES {
        // Nobody looks for the item twice where memory is not short. Without room the put says so.
        let room = match round == 1 && context.session.has_ample_room(bytes) {
            true => Ok(()),
            false => context
                .session
                .make_room_beside(context.db, name, bytes, context.now)
                .and_then(|()| context.make_room_to_rewrite(name)),
        };
        let outcome = counted(context);
        if room.is_err() || !matches!(outcome, Err(Fault::Refused(Outcome::NoMemory))) {
            return outcome;
        }
        context.out.truncate(start);
    }
    counted(context)
}

/// There was nothing to count. Where the item is made instead, Memcached calls it no miss.
pub(super) fn note_miss(context: &McContext<'_>, incr: bool) {
    context.tally.add(if incr { Count::IncrMiss } else { Count::DecrMiss });
}

/// Counts; returns the new value and, if wanted, the new unique number.
pub(super) fn count(
    context: &mut McContext<'_>,
    guard: &mut dolium_engine::Guard<'_>,
    name: &Key<'_>,
    step: Step,
) -> Result<(u64, u64), Fault> {
    let db = context.db;
    let Some(found) = guard.find(db, name) else {
        return Err(Fault::Refused(Outcome::NotFound));
    };
    if found.kind != Kind::String {
        return Err(Fault::Refused(Outcome::NotAString));
    }
    if found.len == 0 || found.len > NUMBER_BYTES_MAX {
        return Err(Fault::NonNumeric);
    }
    if step.cas != 0 && !context.has_unique(&found, step.cas) {
        return Err(Fault::Refused(Outcome::Exists));
    }
    let int = guard.int(db, name);
    // The reply buffer's free end holds the old text, then the new one: no allocation.
    let start = context.out.len();
    let old = match int {
        Some(int) => u64::try_from(int).ok(),
        None => {
            guard.value(db, name, context.out);
            number(&context.out[start..])
        }
    };
    let Some(old) = old else {
        context.out.truncate(start);
        return Err(Fault::NonNumeric);
    };
    let new = match step.incr {
        true => old.wrapping_add(step.delta),
        false => old.saturating_sub(step.delta),
    };
    context.out.truncate(start);
    context.out.extend_from_slice(Decimal::unsigned(new).as_bytes());
    let grows = context.out.len() - start > found.len;
    let value = match int.and_then(|_| i64::try_from(new).ok()) {
        Some(new) => Value::Int(new),
        None => {
            let len = (context.out.len() - start).max(found.len);
            context.out.resize(start + len, b' ');
            Value::Bytes(&context.out[start..])
        }
    };
    let put = Put {
        value,
        deadline: step.deadline,
        flags: Flags::Keep,
        unique: step.unique,
        // As in Memcached, where a number that fits its item changes in place.
        marks: if grows { 0 } else { found.marks },
        event: Event::IncrBy,
    };
    let stored = guard.put(db, name, &put);
    context.out.truncate(start);
    match stored {
        Ok(stored) => {
            context.tally.add(if step.incr { Count::IncrHit } else { Count::DecrHit });
            // A longer number is a new item in Memcached.
            if grows {
                context.tally.add(Count::Made);
            }
            Ok((new, stored.unique))
        }
        Err(_) => Err(Fault::Refused(Outcome::NoMemory)),
    }
}

/// Reads a number as C's strtoull does: blanks before it, a sign, and whatever follows a blank or a NUL, with
/// which C programs store their strings.
fn number(text: &[u8]) -> Option<u64> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let text = &text[text.iter().take_while(|byte| is_blank(byte)).count()..];
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let is_end = |byte: &u8| is_blank(byte) || *byte == 0;
    let end = text.iter().position(is_end).unwrap_or(text.len());
    let magnitude = parse_digits(&text[..end])?;
    if is_negative { negated(magnitude) } else { Some(magnitude) }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_read_as_memcached_reads_them() {
        assert_eq!(number(b"10"), Some(10));
        assert_eq!(number(b"9 "), Some(9));
        assert_eq!(number(b" \t+7 apples"), Some(7));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b"-1"), None);
        assert_eq!(number(b"-0"), Some(0));
        assert_eq!(number(b"-18446744073709551615"), Some(1));
        assert_eq!(number(b"7apples"), None);
        assert_eq!(number(b"5\0"), Some(5));
        assert_eq!(number(b"5\0apples"), Some(5));
        assert_eq!(number(b" -0\0\0"), Some(0));
        assert_eq!(number(b"\x005"), None);
        assert_eq!(number(b"-\0"), None);
        assert_eq!(number(b"  "), None);
        assert_eq!(number(b""), None);
    }
}
