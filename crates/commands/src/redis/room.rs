//! How much memory several items take, so that room for all is made before the first is stored.
//!
//! ```text
//!   MSET a 1 b 2    arguments: 4 bytes     items: 2 of 24 bytes, and their places in the index
//! ```
//! Were only the arguments counted, memory could end between two keys, and a part of what has to be one
//! change would be stored. The engine itself counts what one item takes beside its bytes; it looks for a
//! block of just that size, and a number that is too high would have it look among larger ones.

use crate::limits::{CLASSED_BYTES_MAX, ITEM_EXTRA_BYTES, ITEM_ROUNDING_ONE_IN, UNIT_BYTES};
use dolium_engine::{KEY_ROOM, KEY_ROOM_VALUE_MIN};

/// What items take that are to be stored together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    items: usize,
    /// Of keys and values.
    bytes: usize,
    /// What they take beside these, at most.
    beside: usize,
}

impl Room {
    /// So many more items, of together so many bytes, which are about alike.
    pub fn add(&mut self, items: usize, bytes: usize) {
        let each = bytes / items.max(1);
        let rounding = match each > CLASSED_BYTES_MAX {
            true => UNIT_BYTES,
            false => each / ITEM_ROUNDING_ONE_IN,
        };
        let key_room = if each < KEY_ROOM_VALUE_MIN { 0 } else { KEY_ROOM };
        self.items += items;
        self.bytes += bytes;
        self.beside += items * (ITEM_EXTRA_BYTES + rounding + key_room);
    }

    /// What room is to be made for; 0 if nothing is stored.
    pub fn bytes(&self) -> usize {
        if self.items > 1 { self.bytes + self.beside } else { self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    fn of(items: &[(usize, usize)]) -> usize {
        let mut room = Room::default();
        items.iter().for_each(|&(items, bytes)| room.add(items, bytes));
        room.bytes()
    }

    #[test]
    fn one_item_is_counted_by_the_engine() {
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[(1, 9)]), 9);
        assert_eq!(of(&[(0, 3), (1, 9)]), 12);
    }

    #[test]
    fn several_take_more_than_their_bytes() {
        assert_eq!(of(&[(1, 4), (1, 4)]), 8 + 2 * 40);
        assert_eq!(of(&[(2, 8)]), of(&[(1, 4), (1, 4)]));
        // Blocks of 1,152 bytes.
        assert!(of(&[(1000, 1_030_000)]) >= 1_152_000);
        // A key's room makes them longer than 16 KiB: blocks of 18.
        assert!(of(&[(10, 162_500)]) >= 10 * 18 * 1024);
        // Three units each.
        assert!(of(&[(10, 330_000)]) >= 10 * 3 * (16 << 10));
    }
}
