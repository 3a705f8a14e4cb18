//! The hash index: from a key to its item.
//!
//! Extendible hashing, sharded: hash bits pick the shard, then an entry of its directory, then a
//! home line of the segment that the entry names. A lookup touches at most two lines of it.

pub(crate) mod batch;
pub(crate) mod bucket;
mod candidate;
pub(crate) mod directory;
mod draft;
pub(crate) mod fetch;
mod grow;
pub(crate) mod near;
pub(crate) mod read;
pub(crate) mod segment;
pub(crate) mod shard;
mod sides;
mod split;
mod step;
pub(crate) mod tags;
pub(crate) mod together;
mod trail;
pub(crate) mod typical;
pub(crate) mod way;
