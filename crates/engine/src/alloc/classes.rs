//! Size classes: which block size serves a request, and what a page of such blocks looks like.
//!
//! ```text
//! 16 24 32 .. 128                       steps of 8 bytes         15 classes
//! 144 160 .. 256 | 288 .. 512 | .. 32K  8 classes per doubling   64 classes
//! ```
//!
//! Beyond 128 bytes at most one ninth of a block is lost to rounding. Blocks for items and
//! for the index never share a page, so every size class exists once per kind. A block whose size
//! is a multiple of 4096 is aligned to 4096, because pages are and hold nothing but blocks.

use crate::arena::layout::{PAGE_SHIFT, UNIT_SHIFT, WIDE_PAGE_SHIFT};

/// What blocks are used for. Kinds never share a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    Item,
    Index,
}

/// Number of size classes of one kind.
pub const SIZES: usize = 79;
/// Number of classes of all kinds.
pub const CLASSES: usize = 2 * SIZES;
/// The largest block that lies in a page with others; larger ones are runs of units.
pub const BLOCK_MAX: usize = 32 << 10;
/// The largest block of a 64 KiB page.
const NARROW_BLOCK_MAX: u32 = 4096;
/// Most blocks that a magazine of an item class holds.
pub const MAGAZINE_MAX: usize = 30;
/// Most blocks that a magazine of an index class holds.
pub const INDEX_MAGAZINE_MAX: usize = 7;
/// Most bytes that one magazine holds back.
const MAGAZINE_BYTES: u32 = 64 << 10;

/// A size class of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class(u16);

#[derive(Clone, Copy)]
struct Shape {
    size: u32,
    /// Blocks of one page.
    blocks: u32,
    /// Ceiling of 2^32 divided by the size in granules, to divide by multiplying.
    reciprocal: u64,
}

const fn size_of_index(i: usize) -> u32 {
    if i < 15 {
        return 16 + 8 * i as u32;
    }
    let base = 128u32 << ((i - 15) / 8);
    base + ((i - 15) % 8 + 1) as u32 * (base / 8)
}

const SHAPES: [Shape; SIZES] = {
    let mut shapes = [Shape { size: 0, blocks: 0, reciprocal: 0 }; SIZES];
    let mut i = 0;
    while i < SIZES {
        let size = size_of_index(i);
        let shift = if size <= NARROW_BLOCK_MAX { PAGE_SHIFT } else { WIDE_PAGE_SHIFT };
        let reciprocal = (1u64 << 32).div_ceil(size as u64 / 8);
        shapes[i] = Shape { size, blocks: (1 << shift) / size, reciprocal };
        i += 1;
    }
    shapes
};

const CAPACITIES: [u8; CLASSES] = {
    let mut capacities = [0; CLASSES];
    let mut i = 0;
    while i < CLASSES {
        let size = SHAPES[i % SIZES].size;
        let most = if i < SIZES { MAGAZINE_MAX } else { INDEX_MAGAZINE_MAX } as u32;
        let fitting = MAGAZINE_BYTES / size;
        let capacity = if size >= 24 << 10 {
            1
        } else if size >= 8 << 10 {
            2
        } else if fitting < most {
            fitting
        } else {
            most
        };
        capacities[i] = capacity as u8;
        i += 1;
    }
    capacities
};

const _: () = {
    assert!(SHAPES[SIZES - 1].size as usize == BLOCK_MAX);
    assert!(
        CLASSES as u64 * crate::arena::layout::CLASS_CTL_BYTES
            <= crate::arena::layout::CLASSES_BYTES
    );
};

/// The number of the size that serves `bytes`, which must not be above [`BLOCK_MAX`].
#[inline(always)]
pub const fn size_index(bytes: usize) -> usize {
    debug_assert!(bytes <= BLOCK_MAX);
    if bytes <= 128 {
        bytes.saturating_sub(9) / 8
    } else {
        let last = (bytes - 1) as u32;
        let octave = last.ilog2() - 7;
        (15 + octave * 8 + (last >> (octave + 4) & 7)) as usize
    }
}

impl Class {
    /// The class that serves `bytes`, which must not be above [`BLOCK_MAX`].
    #[inline(always)]
    pub fn of(bytes: usize, kind: PageKind) -> Class {
        Class((size_index(bytes) + if kind == PageKind::Index { SIZES } else { 0 }) as u16)
    }

    /// A stored class number; `None` if there is no such class.
    pub fn from_index(index: u32) -> Option<Class> {
        ((index as usize) < CLASSES).then_some(Class(index as u16))
    }

    pub fn all() -> impl Iterator<Item = Class> {
        (0..CLASSES as u16).map(Class)
    }

    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn shape(self) -> &'static Shape {
        &SHAPES[self.0 as usize % SIZES]
    }

    pub fn kind(self) -> PageKind {
        if (self.0 as usize) < SIZES { PageKind::Item } else { PageKind::Index }
    }

    /// Bytes of a block.
    #[inline]
    pub fn size(self) -> u32 {
        self.shape().size
    }

    /// Blocks of a page.
    #[inline]
    pub fn blocks(self) -> u32 {
        self.shape().blocks
    }

    #[inline]
    fn page_shift(self) -> u32 {
        if self.size() <= NARROW_BLOCK_MAX { PAGE_SHIFT } else { WIDE_PAGE_SHIFT }
    }

    /// Units of a page.
    #[inline]
    pub fn page_units(self) -> u32 {
        1 << (self.page_shift() - UNIT_SHIFT)
    }

    /// The first 64 KiB page number of the page that the 64 KiB page number `page` belongs to.
    #[inline]
    pub fn first_page(self, page: u32) -> u32 {
        page & !((1 << (self.page_shift() - PAGE_SHIFT)) - 1)
    }

    /// Which block of its page begins this many bytes after the page's start, if one does.
    #[inline]
    pub fn block_at(self, bytes: u64) -> Option<u32> {
        // Exact, since the distance is below 2^16 granules and a size below 2^13 of them.
        let block = (((bytes >> 3) * self.shape().reciprocal) >> 32) as u32;
        (block as u64 * self.size() as u64 == bytes && block < self.blocks()).then_some(block)
    }

    /// Most blocks of this class that a magazine holds.
    #[inline]
    pub fn magazine_capacity(self) -> usize {
        CAPACITIES[self.0 as usize] as usize
    }
}

/// Units of a block above [`BLOCK_MAX`].
#[inline]
pub fn run_units(bytes: usize) -> u32 {
    (bytes as u64).div_ceil(1 << UNIT_SHIFT) as u32
}

/// The bytes that a request really takes.
#[inline]
pub fn block_bytes(bytes: usize) -> u64 {
    if bytes <= BLOCK_MAX {
        Class::of(bytes, PageKind::Item).size() as u64
    } else {
        (run_units(bytes) as u64) << UNIT_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        for bytes in 0..=BLOCK_MAX {
            let class = Class::of(bytes, PageKind::Item);
            assert!(class.size() as usize >= bytes, "{bytes}");
            if class.index() > 0 {
                assert!((SHAPES[class.index() - 1].size as usize) < bytes, "{bytes}");
            }
            assert_eq!(Class::of(bytes, PageKind::Index).size(), class.size());
        }
    }

    #[test]
    fn blocks_are_found_by_their_offset_and_nothing_else_is() {
        for class in Class::all() {
            for block in 0..class.blocks() {
                let at = block as u64 * class.size() as u64;
                assert_eq!(class.block_at(at), Some(block));
                assert_eq!(class.block_at(at + 8), (class.size() == 8).then_some(block + 1));
            }
        }
    }
}
