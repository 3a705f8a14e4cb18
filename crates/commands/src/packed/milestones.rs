//! Milestones of a long list: where every 128th of its elements lies, so that none is walked to from an end.
//!
//! ```text
//!   12 number u32 | 16 cells u32 | cell u32 | cell | ...        behind the header, before the room
//!
//!   numbers    ... 255 | 256 | 257 ... 383 | 384 | 385 ...      a push at the front has the number before, at the
//!   cells              [2]                 [3]                  back the one behind; a milestone's cell is its
//!                                                               number / 128, modulo the cells
//! ```
//! Elements have numbers, of which the first one's is stored: a pop or a push at the front changes it, and all
//! others stay. A push stores the cells of the milestones among its elements. A list that has more of them
//! than cells is made anew with more, as one without room is. Numbers go round at 2^32, and the cells, which are a
//! power of two, with them.

use super::Bytes;

/// From one milestone to the next. Half as many elements are walked along at most, and a quarter on the mean.
pub const STRIDE: usize = 128;
/// Elements of a list that is given milestones: a shorter one is walked along as fast.
const ELEMENTS_MIN: usize = 2 * STRIDE;

const NUMBER_AT: usize = 12;
const CELLS_AT: usize = 16;
const FIRST_AT: usize = 20;

/// The milestones of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestones {
    /// The first element's number.
    number: u32,
    cells: u32,
}

impl Milestones {
    /// Those that a list's bytes say they have. Bytes of two moments may say anything: cells that are not
    /// there, or not a power of two, are none.
    pub fn open<B: Bytes>(bytes: &B) -> Option<Milestones> {
        let milestones =
            Milestones { number: bytes.u32_at(NUMBER_AT), cells: bytes.u32_at(CELLS_AT) };
        let is_there = milestones.cells.is_power_of_two() && milestones.end() <= bytes.len();
        is_there.then_some(milestones)
    }

    /// For a list of so many elements, in so many bytes at most: with cells for half as many elements again,
    /// or else for what there are. None, where a list is short or has no room for them.
    pub fn of(count: usize, bytes_max: usize) -> Option<Milestones> {
        if count < ELEMENTS_MIN {
            return None;
        }
        [(count + count / 2).div_ceil(STRIDE) + 1, count.div_ceil(STRIDE)]
            .map(|cells| Milestones { number: 0, cells: cells.next_power_of_two() as u32 })
            .into_iter()
            .find(|milestones| milestones.bytes() <= bytes_max)
    }

    /// Bytes that they take.
    pub fn bytes(self) -> usize {
        self.end() - NUMBER_AT
    }

    /// Where they end in a list's bytes.
    pub fn end(self) -> usize {
        FIRST_AT + 4 * self.cells as usize
    }

    /// As they are once the first element is the one so many behind it (or, below 0, before it).
    pub fn moved(self, by: isize) -> Milestones {
        Milestones { number: self.number.wrapping_add(by as u32), ..self }
    }

    /// Whether there are cells for all milestones of a list of so many elements.
    pub fn have_room_for(self, count: usize) -> bool {
        (self.past(0) + count).div_ceil(STRIDE) <= self.cells as usize
    }

    /// By how many elements the one at an index is past a milestone.
    pub fn past(self, index: usize) -> usize {
        (self.number as usize).wrapping_add(index) % STRIDE
    }

    /// Where the cell of the milestone at an index lies.
    pub fn cell_at(self, index: usize) -> usize {
        let number = self.number.wrapping_add(index as u32);
        FIRST_AT + 4 * ((number as usize / STRIDE) & (self.cells as usize - 1))
    }

    /// The indices of a range that are milestones.
    pub fn among(self, range: std::ops::Range<usize>) -> impl Iterator<Item = usize> + Clone {
        let first = range.start + (STRIDE - self.past(range.start)) % STRIDE;
        (first..range.end).step_by(STRIDE)
    }

    /// What is stored before the cells.
    pub fn head(self) -> [u8; FIRST_AT - NUMBER_AT] {
        ((u64::from(self.cells) << 32) | u64::from(self.number)).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_go_round_with_the_numbers() {
        let milestones = Milestones::of(1_000, usize::MAX).unwrap();
        assert_eq!((milestones.cells, milestones.bytes()), (16, 8 + 64));
        assert_eq!(milestones.among(1..400).collect::<Vec<_>>(), [128, 256, 384]);
        // Two pushed at the front: the milestone at 0 is that at 2 now, in the same cell.
        let moved = milestones.moved(-2);
        assert_eq!(moved.among(0..400).collect::<Vec<_>>(), [2, 130, 258, 386]);
        for index in milestones.among(0..1_000) {
            assert_eq!(milestones.cell_at(index), moved.cell_at(index + 2));
        }
        let cells: std::collections::BTreeSet<_> =
            moved.among(0..2_000).map(|index| moved.cell_at(index)).collect();
        assert_eq!(cells.len(), 16);
        assert!(cells.last().unwrap() + 4 <= moved.end());
    }

    #[test]
    fn there_are_cells_for_every_milestone_or_more_are_asked_for() {
        for count in [256, 257, 1_000, 100_000] {
            for by in [0, -1, -127, 1, 300] {
                let milestones = Milestones::of(count, usize::MAX).unwrap().moved(by);
                assert!(milestones.have_room_for(count));
                let most = (count..4 * count).take_while(|&n| milestones.have_room_for(n)).last();
                let cells: std::collections::BTreeSet<_> =
                    milestones.among(0..most.unwrap()).map(|n| milestones.cell_at(n)).collect();
                assert_eq!(cells.len(), milestones.among(0..most.unwrap()).count());
            }
        }
    }

    #[test]
    fn a_short_list_has_none_and_one_without_room_fewer() {
        assert_eq!(Milestones::of(255, usize::MAX), None);
        let (many, few) = (Milestones::of(10_000, 520).unwrap(), Milestones::of(10_000, 519));
        assert_eq!((many.cells, few), (128, None));
        assert_eq!(Milestones::of(13_000, usize::MAX).unwrap().cells, 256);
        assert_eq!(Milestones::of(13_000, 800).unwrap().cells, 128);
    }
}
