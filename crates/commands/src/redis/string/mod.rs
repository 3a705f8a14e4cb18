//! The string commands.

pub mod bit;
mod change;
pub mod count;
pub mod lcs;
pub mod many;
pub mod part;
pub mod read;
pub mod write;

use crate::redis::error::CommandError;
use dolium_engine::{Deadline, Event, Flags, Found, Kind, Put, Value};

/// What was found, if it is a string.
#[inline]
fn string(found: Found) -> Result<Found, CommandError> {
    if found.kind == Kind::String { Ok(found) } else { Err(CommandError::WrongType) }
}

/// A value stored with whatever deadline and flags the key has.
pub(in crate::redis) fn keeping(value: Value<'_>, event: Event) -> Put<'_> {
    Put { value, deadline: Deadline::Keep, flags: Flags::Keep, unique: false, marks: 0, event }
}
