//! SETBIT and GETBIT: single bits of a string, counted from the highest bit of its first byte.
//!
//! ```text
//!   offset   0 1 2 3 4 5 6 7   8 9 ...
//!   byte     0                 1
//!   mask    80 40 ...     01  80 40
//! ```

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::number::parse_i64;
use crate::redis::row::{Call, Outcome};
use crate::redis::string::change::{Room, change, store_part};
use crate::redis::string::{keeping, string};
use dolium_engine::{Db, Event, Guard, Key, Kind, Patch, Value};

/// Where a bit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bit {
    byte: usize,
    mask: u8,
}

impl Bit {
    /// Of a string that may be so long.
    fn at(offset: &[u8], bytes_max: usize) -> Result<Bit, CommandError> {
        parse_i64(offset)
            .and_then(|offset| usize::try_from(offset).ok())
            .map(|offset| Bit { byte: offset / 8, mask: 0x80 >> (offset % 8) })
            .filter(|bit| bit.byte < bytes_max)
            .ok_or(CommandError::Sentence("bit offset is not an integer or out of range"))
    }
}

pub fn setbit(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let bit = Bit::at(call.args.arg(2), ctx.host.string_bytes_max())?;
    let on = match parse_i64(call.args.arg(3)) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(CommandError::Sentence("bit is not an integer or out of range")),
    };
    let (db, key) = (ctx.db(), call.key());
    let before = ctx.session.peek(db, &key, ctx.now).map_or(0, |found| found.len);
    let was = change(ctx, &key, (bit.byte + 1).saturating_sub(before), |guard, room| {
        if let Some(was) = set_in_bytes(guard, (db, &key), bit, on, room)? {
            return Ok(was);
        }
        let mut bytes = Vec::new();
        if guard.find(db, &key).map(string).transpose()?.is_some() {
            guard.value(db, &key, &mut bytes);
        }
        let len = bytes.len();
        bytes.resize(len.max(bit.byte + 1), 0);
        let was = bytes[bit.byte] & bit.mask != 0;
        // A bit that was so before is no change: nobody is notified, no WATCH is broken.
        if was != on || bytes.len() != len {
            if on {
                bytes[bit.byte] |= bit.mask;
            } else {
                bytes[bit.byte] &= !bit.mask;
            }
            guard.put(db, &key, &keeping(Value::Parts([&bytes, b"", b""]), Event::SetBit))?;
        }
        Ok(was)
    })?;
    ctx.reply().int(i64::from(was));
    Ok(())
}

/// Sets a bit of a string, and says what it was. `None`: nothing was done, because there is no string of bytes.
fn set_in_bytes(
    guard: &mut Guard<'_>,
    (db, key): (Db, &Key<'_>),
    bit: Bit,
    on: bool,
    room: Room<'_>,
) -> Result<Option<bool>, CommandError> {
    let Some((found, bytes)) = guard.packed(db, key) else { return Ok(None) };
    if found.kind != Kind::String {
        return Ok(None);
    }
    // Behind its end there is none. An integer has no bytes to look at; nothing is stored in it below.
    let is_there = bit.byte < bytes.len();
    let old = if is_there { bytes.u8_at(bit.byte) } else { 0 };
    let was = old & bit.mask != 0;
    // As below, a bit that was so before is no change.
    if is_there && was == on {
        return Ok(Some(was));
    }
    let new = [if on { old | bit.mask } else { old & !bit.mask }];
    let part = Patch { at: bit.byte, bytes: &new };
    let is_stored = store_part(guard, (db, key), Event::SetBit, &found, &part, room)?;
    Ok(is_stored.then_some(was))
}

pub fn getbit(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let bit = Bit::at(call.args.arg(2), ctx.host.string_bytes_max())?;
    let (db, key, begin) = (ctx.client.db, call.key(), ctx.out.len());
    // The byte passes through the output, from which it is taken again.
    let found = ctx.session.get_range(db, &key, ctx.now, ctx.out, |found, _| {
        if bit.byte < found.len { (bit.byte, bit.byte + 1) } else { (0, 0) }
    });
    let byte = ctx.out.get(begin).copied().unwrap_or(0);
    ctx.out.truncate(begin);
    found.map(string).transpose()?;
    ctx.reply().int(i64::from(byte & bit.mask != 0));
    Ok(())
}
