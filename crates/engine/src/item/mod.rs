//! One stored entry: header, key, value in one block of the arena.

mod access;
mod head;
mod room;
mod write;

pub(crate) use access::Item;
pub(crate) use head::{Head, PlainHead};
pub use head::{KEY_ROOM, KEY_ROOM_VALUE_MIN};
pub use room::grown_bytes;
pub(crate) use write::{ItemParts, write_item, write_item_around, write_plain_item};
