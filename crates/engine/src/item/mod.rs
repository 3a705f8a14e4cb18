//! One stored entry: header, key, value in one block of the arena.

mod access;
mod head;
mod write;

pub(crate) use access::Item;
pub(crate) use head::{Head, PlainHead};
pub(crate) use write::{ItemParts, write_item, write_plain_item};
