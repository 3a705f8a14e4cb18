//! A shard's directory: which segment holds a key. A stretch of entries may name the same one.
//!
//! ```text
//! word, in the shard        reference:32 | shift:6 | cells:4 | change:22          0 = no segments yet
//! block, named by it        0 u64 root << 32 | shard << 16, 8 u64 magic, 16.. u32 x (cells << doublings), room for 15 cells
//! entry of a key            position * cells >> shift           position: 32 hash bits; shift: 32 - doublings
//! ```
//! A directory grows by doubling, and with it, one by one, the segments; those of one shard have as many keys
//! each, so that they are full at about the same time. If all shards had 2^n entries this would be so for the
//! whole store: a wave of splits, each time its keys have doubled. So a directory begins with 8 to 15
//! cells, as its shard has it, and at every number of keys some shards are about to double and others have
//! just done so (decision 138).
//!
//! At first one segment holds all cells. It is split between two of them, and so on; of the last ones, each of one
//! entry, the directory is doubled for.

use crate::arena::Mem;
use crate::sync::atomics::Ordering::Relaxed;

pub(crate) const DIRECTORY_HEADER_BYTES: usize = 16;
const DIRECTORY_MAGIC: u64 = 0x6469_7265_6374_6f72;
/// Bits of a key's position: the hash bits below the shard's.
pub(crate) const POSITION_BITS: u32 = 32;
/// Most doublings: four bits of cells and these are 22 bits of the hash, of which shard and home take 42.
pub(crate) const DOUBLINGS_MAX: u32 = 18;
/// Fewest cells of a directory. A model has one in each: its segments are to be split early, and often.
const CELLS_MIN: u32 = if cfg!(shuttle) { 1 } else { 8 };
const CELLS_MAX: u32 = if cfg!(shuttle) { 1 } else { 15 };

/// How many cells the directory of a shard has: 8 to 15. For every key that is inserted as many segments are
/// split if about as many entries come from shards of one number of cells as of another. Of 8 cells there
/// are fewer shards: their neighbours are those of 9 and, one doubling behind, of 15, which is 7.5 and
/// nearer.
pub(crate) fn cells_of(shard_number: usize, shards: usize) -> u32 {
    if cfg!(shuttle) {
        return CELLS_MIN;
    }
    // The shares, added up, in thousandths. Of segments that are split at 261 keys, give or take 12, so
    // many are at every number of keys, within 1.2 %. That is what they were calculated for; today it is at 254.
    const FROM: [usize; 7] = [134, 311, 441, 583, 694, 817, 911];
    let at = shard_number * 1000 / shards;
    CELLS_MIN + FROM.iter().filter(|&&from| at >= from).count() as u32
}

/// The directory word of a shard, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryWord(pub u64);

impl DirectoryWord {
    #[inline(always)]
    pub fn at(self) -> usize {
        (self.0 as u32) as usize * 8
    }

    #[inline(always)]
    fn shift(self) -> u32 {
        (self.0 >> 32) as u32 & 63
    }

    #[inline(always)]
    pub fn cells(self) -> u32 {
        (self.0 >> 38) as u32 & 15
    }

    pub fn doublings(self) -> u32 {
        POSITION_BITS.wrapping_sub(self.shift()) & 63
    }

    pub fn entries(self) -> usize {
        (self.cells() as usize) << self.doublings()
    }

    pub fn bytes(self) -> usize {
        directory_bytes(self.doublings())
    }

    pub fn is_empty(self) -> bool {
        self.0 as u32 == 0
    }

    /// Another directory, with a change number that makes the word differ.
    pub fn next(self, reference: u32, cells: u32, doublings: u32) -> DirectoryWord {
        let change = (self.0 >> 42).wrapping_add(1) & 0x3f_ffff;
        let shift = POSITION_BITS - doublings;
        let size = u64::from(shift) | u64::from(cells) << 6;
        DirectoryWord(u64::from(reference) | size << 32 | change << 42)
    }

    /// No directory any more.
    pub fn next_empty(self) -> DirectoryWord {
        self.next(0, 0, 0)
    }

    /// The number of the entry for a position. Of a word that is no directory's anything may come out.
    #[inline(always)]
    pub fn entry_of(self, position: u64) -> usize {
        (position.wrapping_mul(u64::from(self.cells())) >> self.shift()) as usize
    }

    /// The place of the entry for a position; a reader's offset is cut to the arena.
    #[inline(always)]
    pub fn entry_at(self, position: u64) -> usize {
        (self.at() + DIRECTORY_HEADER_BYTES).wrapping_add(self.entry_of(position).wrapping_mul(4))
    }

    /// The first position behind a span of this directory: 2^32 behind the last.
    pub fn end_of(self, span: Span) -> u64 {
        let entry = u64::from(span.first) + u64::from(span.count);
        let shift = POSITION_BITS.wrapping_sub(span.doublings) & 63;
        (entry << shift).div_ceil(u64::from(self.cells().max(1)))
    }
}

/// Bytes of a directory that was doubled so often: as many for every number of cells, since each size has
/// pages of its own, which a small store feels.
pub(crate) fn directory_bytes(doublings: u32) -> usize {
    DIRECTORY_HEADER_BYTES + ((4 * CELLS_MAX as usize) << doublings)
}

/// The entries that name a segment, in a directory that was doubled so often. Several, only where that is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub doublings: u32,
    pub first: u32,
    pub count: u32,
}

impl Span {
    /// All of a new directory.
    pub fn whole(cells: u32) -> Span {
        Span { doublings: 0, first: 0, count: cells }
    }

    /// What two segments have that take the place of one.
    pub fn halves(self) -> [Span; 2] {
        let Span { doublings, first, count } = self;
        if count == 1 {
            let half = |first| Span { doublings: doublings + 1, first, count: 1 };
            return [half(2 * first), half(2 * first + 1)];
        }
        let low = Span { count: count / 2, ..self };
        [low, Span { doublings, first: first + low.count, count: count - low.count }]
    }

    /// Whether a position lies in the span or behind it.
    #[inline(always)]
    pub fn is_at_or_behind(self, position: u64, directory: DirectoryWord) -> bool {
        let cells = u64::from(directory.cells());
        (position * cells) >> (POSITION_BITS - self.doublings) >= u64::from(self.first)
    }

    /// The first of its entries in a directory that has since been doubled.
    pub fn first_in(self, directory: DirectoryWord) -> usize {
        (self.first as usize) << (directory.doublings() - self.doublings)
    }

    /// The first entry behind it.
    pub fn end_in(self, directory: DirectoryWord) -> usize {
        (self.first as usize + self.count as usize) << (directory.doublings() - self.doublings)
    }
}

/// Writes the header of a directory block.
pub(crate) fn begin_directory(words: Mem<'_>, at: usize, root: u16, shard: u16) {
    words.u64_at(at).store(u64::from(root) << 32 | u64::from(shard) << 16, Relaxed);
    words.u64_at(at + 8).store(DIRECTORY_MAGIC, Relaxed);
}

/// Whose directory a block is, if it is one: root and shard.
pub(crate) fn directory_owner(words: Mem<'_>, at: usize) -> Option<(u16, u16)> {
    if words.u64_at(at + 8).load(Relaxed) != DIRECTORY_MAGIC {
        return None;
    }
    let owner = words.u64_at(at).load(Relaxed);
    Some(((owner >> 32) as u16, (owner >> 16) as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits the first span again and again, and every other one on the way: of all depths.
    fn spans_of(cells: u32, doublings: u32) -> Vec<Span> {
        let mut spans = vec![Span::whole(cells)];
        let mut at = 0;
        while let Some(span) = spans.get(at).copied() {
            let [low, high] = span.halves();
            if low.doublings <= doublings && !(at % 3 == 1 && span.count == 1) {
                spans.splice(at..=at, [low, high]);
            } else {
                at += 1;
            }
        }
        spans
    }

    #[test]
    fn spans_fill_a_directory_and_every_position_lies_in_its_own() {
        for cells in 8..16 {
            let directory = DirectoryWord(u64::MAX << 42).next(77, cells, 5);
            assert_eq!((directory.at(), directory.cells(), directory.doublings()), (616, cells, 5));
            assert_eq!(directory.entries(), (cells as usize) << 5);
            let (mut entry, mut position) = (0, 0);
            for span in spans_of(cells, 5) {
                assert_eq!(span.first_in(directory), entry);
                let end = directory.end_of(span);
                for (at, is_in) in [(position, true), (end - 1, true), (end, false)] {
                    let number = directory.entry_of(at);
                    assert_eq!((entry..span.end_in(directory)).contains(&number), is_in);
                    assert!(span.is_at_or_behind(at, directory));
                }
                assert!(position == 0 || !span.is_at_or_behind(position - 1, directory));
                (entry, position) = (span.end_in(directory), end);
            }
            assert_eq!((entry, position), (directory.entries(), 1 << POSITION_BITS));
        }
    }

    #[test]
    fn a_word_of_any_bits_leads_somewhere() {
        for word in [0, u64::MAX, 0x5555_5555_5555_5555, 63 << 32, 15 << 38 | 7] {
            let directory = DirectoryWord(word);
            for position in [0, 1, u64::from(u32::MAX)] {
                directory.entry_at(position);
                let span = Span { doublings: word as u8 as u32, first: u32::MAX, count: u32::MAX };
                directory.end_of(span);
            }
        }
    }

    #[test]
    #[cfg(not(shuttle))]
    fn each_number_of_cells_gives_about_as_many_entries() {
        for shards in [256, 1024] {
            let mut entries = [0; 16];
            for number in 0..shards {
                let cells = cells_of(number, shards);
                entries[cells as usize] += cells as usize;
            }
            let mean = entries[9..].iter().sum::<usize>() / 7;
            assert!(entries[9..].iter().all(|&of| of.abs_diff(mean) < mean / 6), "{entries:?}");
            assert!(entries[8].abs_diff(mean * 3 / 4) < mean / 6, "{entries:?}");
        }
    }
}
