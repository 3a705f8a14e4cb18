//! The string commands.

pub mod bit;
pub mod count;
pub mod lcs;
pub mod many;
pub mod part;
pub mod read;
pub mod write;

use dolium_engine::{Deadline, Event, Flags, Put, Value};

/// A value stored with whatever deadline and flags the key has.
fn keeping(value: Value<'_>, event: Event) -> Put<'_> {
    Put { value, deadline: Deadline::Keep, flags: Flags::Keep, unique: false, marks: 0, event }
}
