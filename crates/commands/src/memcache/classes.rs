//! Memcached's size classes, as a way to look at this store.
//!
//! Memcached keeps items in slabs of chunks of one size, and its statistics, its crawler and its
//! dumps speak of the numbers of these classes. This store has no slabs; an item is shown under the
//! class in which Memcached with the same options would keep it.
//!
//! ```text
//!   item      48 header + 8 unique + key + NUL + flags (4, unless 0) + value + CR LF
//!   class 1   96 bytes, then each larger by the factor, in steps of 8, to the largest chunk
//! ```

use super::census::ClassCount;

/// Bytes of a page of slabs.
pub const PAGE_BYTES: u64 = 1 << 20;
/// Most classes, as in Memcached.
pub const CLASSES_MAX: usize = 63;
const ITEM_HEADER_BYTES: usize = 48;
const UNIQUE_BYTES: usize = 8;
const FLAGS_BYTES: usize = 4;
const STEP: usize = 8;

/// The chunk sizes of all classes, from class 1 on.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    chunks: Vec<u32>,
    has_unique: bool,
}

impl Classes {
    /// As Memcached computes them from `-f`, `-n`, `-o slab_chunk_max` and `-C`.
    pub fn new(factor: f64, least: usize, chunk_max: usize, has_unique: bool) -> Classes {
        let mut chunks = Vec::new();
        let mut size = ITEM_HEADER_BYTES + least;
        while chunks.len() + 1 < CLASSES_MAX && (size as f64) < chunk_max as f64 / factor {
            size = size.next_multiple_of(STEP);
            chunks.push(size as u32);
            size = (size as f64 * factor) as usize;
        }
        chunks.push(chunk_max as u32);
        Classes { chunks, has_unique }
    }

    /// The bytes that Memcached would ask for to keep an item.
    pub fn item_bytes(&self, key: usize, value: usize, has_flags: bool) -> usize {
        let unique = if self.has_unique { UNIQUE_BYTES } else { 0 };
        let flags = if has_flags { FLAGS_BYTES } else { 0 };
        ITEM_HEADER_BYTES + unique + key + 1 + flags + value + 2
    }

    /// The class of an item of so many bytes. What is larger than the largest chunk is in that
    /// class, as several chunks.
    pub fn class_of(&self, bytes: usize) -> usize {
        let at = self.chunks.partition_point(|chunk| (*chunk as usize) < bytes);
        at.min(self.chunks.len() - 1) + 1
    }

    /// The chunk size of a class, if there is such a class.
    pub fn chunk_bytes(&self, class: usize) -> Option<u64> {
        self.chunks.get(class.checked_sub(1)?).map(|chunk| u64::from(*chunk))
    }

    /// Chunks that the items of a class take, and the pages of these.
    pub fn chunks(&self, class: usize, count: &ClassCount) -> (u64, u64) {
        let Some(chunk) = self.chunk_bytes(class) else { return (0, 0) };
        // An item above the largest chunk takes several.
        let used = count.items.max(count.bytes / chunk);
        (used, used.div_ceil((PAGE_BYTES / chunk).max(1)))
    }

    /// How many classes there are; they are numbered from 1.
    pub fn count(&self) -> usize {
        self.chunks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_those_of_memcached() {
        let classes = Classes::new(1.25, 48, 512 << 10, true);
        for (class, chunk) in
            [(1, 96), (2, 120), (3, 152), (10, 752), (25, 21_696), (31, 82_792), (39, 524_288)]
        {
            assert_eq!(classes.chunk_bytes(class), Some(chunk), "class {class}");
        }
        assert_eq!(classes.count(), 39);
        assert_eq!(classes.chunk_bytes(0), None);
        assert_eq!(classes.chunk_bytes(40), None);
    }

    #[test]
    fn items_fall_into_the_class_that_holds_them() {
        let classes = Classes::new(1.25, 48, 512 << 10, true);
        // Memcached's `set a 0 0 1` is an item of 61 bytes.
        assert_eq!(classes.item_bytes(1, 1, false), 61);
        assert_eq!(classes.class_of(61), 1);
        assert_eq!(classes.class_of(96), 1);
        assert_eq!(classes.class_of(97), 2);
        assert_eq!(classes.class_of(classes.item_bytes(4, 66_560, false)), 31);
        assert_eq!(classes.class_of(1 << 20), 39);
    }
}
