//! Room to spare: how long the block is of a string that grows.
//!
//! It follows from the item's length, and one bit of the header says that it does. From one power of two to the
//! next there are four steps:
//! ```text
//!   bytes of the item   ... 512   640   768   896   1024      1280      1536 ...
//!   block               an item of 700 has one of 768: it stays where it is until it is longer
//! ```
//! So a byte of a string that grows by little is copied four to eight times in all, and what lies spare is a quarter
//! at most (decision 174).

use super::head::KEY_ROOM;
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Shorter items have none: copying is as cheap, and there may be millions.
pub(super) const ROOM_ITEM_BYTES_MIN: usize = 512;
/// Sizes from one power of two to the next.
const STEPS: usize = 4;
/// Bytes of a string with all that may stand beside its key and its value, room for another key included.
const HEADER_BYTES_MAX: usize = 32 + KEY_ROOM;
/// Bytes of the longest item: a block for more is never asked for.
const LONGEST: usize = HEADER_BYTES_MAX + KEY_BYTES_MAX + VALUE_BYTES_MAX;

/// Bytes of a block with room to spare for an item of so many.
pub(super) fn with_room(size: usize) -> usize {
    let step = (1 << size.max(ROOM_ITEM_BYTES_MIN).ilog2()) / STEPS;
    size.next_multiple_of(step).min(LONGEST.max(size))
}

/// For how many bytes room is made before a string that has grown is stored anew, key and value together.
pub fn grown_bytes(bytes: usize) -> usize {
    if bytes + HEADER_BYTES_MAX < ROOM_ITEM_BYTES_MIN {
        return bytes;
    }
    // The engine knows what comes on top of key and value.
    with_room(bytes + HEADER_BYTES_MAX) - HEADER_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Head;
    use crate::verbs::Encoding;

    #[test]
    fn it_is_a_quarter_at_most_and_grows_by_steps() {
        let (mut blocks, mut last) = (0, 0);
        for value_len in (0..4_000_000).step_by(100).chain([VALUE_BYTES_MAX]) {
            let mut head = Head::plan(Encoding::Raw, 10, value_len, false, false);
            head.set_room(true);
            let (size, block) = (head.size(), head.block_len());
            assert!(size <= block && block <= size + size / 4 && block >= last, "{size}, {block}");
            assert!(grown_bytes(10 + value_len) + HEADER_BYTES_MAX >= block, "{size}");
            assert_eq!(Head::parse(head.word()), head);
            assert!(size >= ROOM_ITEM_BYTES_MIN || block == size);
            blocks += usize::from(block > last && size >= ROOM_ITEM_BYTES_MIN);
            last = block;
            head.set_room(false);
            assert_eq!(head.block_len(), size);
        }
        assert!(blocks < 60, "{blocks} blocks from 512 bytes to four million");
    }
}
