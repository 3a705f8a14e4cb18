//! A list made anew, because it has no room, is sparse, or changes in the middle.
//!
//! ```text
//!   LINSERT    kept 0..n | new | kept n..        LREM    kept | kept | kept        RPUSH    kept | new
//! ```
//! There is spare room at the end where it is needed, and at the other what there is, so that pushes at both ends
//! in turn do not take it from each other. Milestones take from the spare room. Neither makes a list too long
//! for a value, nor one that shrinks longer than it was: that fits where it stands, if there is no memory.

use super::list::{End, HEADER_BYTES, List, head_bytes, header};
use super::list_walk::Forward;
use super::milestones::Milestones;
use super::{Bytes, Edit, spare_within};
use dolium_engine::limits::VALUE_BYTES_MAX;
use std::ops::Range;

/// A part of the list that is made.
#[derive(Debug)]
pub(super) enum Piece<'p> {
    /// Elements of the list that was, by their indices, and their bytes.
    Kept { elements: Range<usize>, bytes: Range<usize> },
    /// So many that come, and their entries.
    New { count: usize, entries: &'p Vec<u8> },
}

impl Piece<'_> {
    fn count(&self) -> usize {
        match self {
            Piece::Kept { elements, .. } => elements.len(),
            Piece::New { count, .. } => *count,
        }
    }

    fn len(&self) -> usize {
        match self {
            Piece::Kept { bytes, .. } => bytes.len(),
            Piece::New { entries, .. } => entries.len(),
        }
    }
}

impl<B: Bytes> List<'_, B> {
    /// A list of these pieces, with room at an end.
    pub(super) fn anew(&self, pieces: &[Piece<'_>], needed: End) -> Edit {
        let used = pieces.iter().map(Piece::len).sum();
        let count = pieces.iter().map(Piece::count).sum();
        let shrinks = used <= self.end - self.first;
        let most = if shrinks { self.bytes.len() } else { VALUE_BYTES_MAX };
        let [front, back] = self.room();
        let Spare { milestones, front, back } = Spare::of(count, used, [front, back], needed, most);
        let first = head_bytes(milestones) + front;
        let mut bytes = Vec::with_capacity(first + used + back);
        bytes.extend_from_slice(&header(count, first, first + used, milestones));
        bytes.extend(milestones.iter().flat_map(|milestones| milestones.head()));
        bytes.resize(first, 0);
        let (mut index, mut cells) = (0, Vec::new());
        for piece in pieces {
            if let Some(milestones) = milestones {
                let those = milestones.among(index..index + piece.count());
                let cell = |new| milestones.cell_at(new);
                let places = self.places(piece, those.clone().map(|new| new - index));
                cells.extend(those.map(cell).zip(places.into_iter().map(|at| at + bytes.len())));
            }
            match piece {
                Piece::Kept { bytes: kept, .. } => {
                    self.bytes.copy(kept.start, kept.len(), &mut bytes)
                }
                Piece::New { entries, .. } => bytes.extend_from_slice(entries),
            }
            index += piece.count();
        }
        bytes.resize(first + used + back, 0);
        for (cell, at) in cells {
            bytes[cell..cell + 4].copy_from_slice(&(at as u32).to_le_bytes());
        }
        Edit::Whole(bytes)
    }

    /// Where in a piece those of its elements begin. A list without milestones is walked along once for all.
    fn places(&self, piece: &Piece<'_>, wanted: impl Iterator<Item = usize>) -> Vec<usize> {
        match piece {
            Piece::Kept { elements, bytes } if self.milestones.is_some() => {
                let place = |at| self.at((elements.start + at) as i64).map(|span| span.first());
                wanted.filter_map(place).map(|at| at - bytes.start).collect()
            }
            Piece::Kept { bytes, .. } => {
                let all = Forward::new(self.bytes, bytes.start, bytes.end);
                all.places(wanted).map(|at| at - bytes.start).collect()
            }
            Piece::New { entries, .. } => {
                Forward::new(*entries, 0, entries.len()).places(wanted).collect()
            }
        }
    }
}

/// What a list made anew has besides its elements.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spare {
    pub milestones: Option<Milestones>,
    pub front: usize,
    pub back: usize,
}

impl Spare {
    /// For elements that take `used` bytes, at one of whose ends room is needed; of the other `there` is some.
    /// Nothing that would make the list longer than `most`.
    pub fn of(count: usize, used: usize, there: [usize; 2], needed: End, most: usize) -> Spare {
        let spare = spare_within(used, HEADER_BYTES + used, most);
        let milestones = Milestones::of(count, spare);
        let spare = spare - milestones.map_or(0, Milestones::bytes);
        let left = most.saturating_sub(head_bytes(milestones) + used + spare);
        let other = |there: usize| there.min(spare).min(left);
        let (front, back) = match needed {
            End::Front => (spare, other(there[1])),
            End::Back => (other(there[0]), spare),
        };
        Spare { milestones, front, back }
    }
}
