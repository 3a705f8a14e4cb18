//! A list: its elements in order, with room at both ends.
//!
//! ```text
//!   0 count u32 | 4 first u32 | 8 end u32 | milestones? | room | element | element | ... | room
//!                                                              ^first                    ^end
//! ```
//! A push at an end with room stores the new elements and the header; a pop stores the header. What
//! changes the middle, or finds no room, makes the list anew (`list_anew.rs`). An index is walked to from the
//! nearest of the ends and the milestones (`milestones.rs`), which long lists have: the top bit of the count
//! says so.

use super::entry::{self, Span};
use super::list_anew::Piece;
use super::list_walk::reversed;
pub use super::list_walk::{Backward, Forward};
use super::milestones::{Milestones, STRIDE};
use super::{Bytes, Edit, Patch};
use std::ops::Range;

pub(super) const HEADER_BYTES: usize = 12;
/// In the count: milestones follow. No list has so many elements.
const HAS_MILESTONES: u32 = 1 << 31;
/// A list that fills less than this part of its bytes gives the rest back.
const SPARSE: usize = 4;
/// Bytes below which nothing is given back.
const SPARSE_BYTES_MIN: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

/// A list in its bytes.
#[derive(Debug)]
pub struct List<'b, B> {
    pub(super) bytes: &'b B,
    pub(super) count: usize,
    pub(super) first: usize,
    pub(super) end: usize,
    pub(super) milestones: Option<Milestones>,
}

impl<'b, B: Bytes> List<'b, B> {
    /// Bytes of two moments may say anything: no more elements are believed in than have room.
    pub fn open(bytes: &'b B) -> Self {
        let [count, first, end] = [0, 4, 8].map(|at| bytes.u32_at(at));
        let is_long = count & HAS_MILESTONES != 0;
        let milestones = if is_long { Milestones::open(bytes) } else { None };
        let end = (end as usize).min(bytes.len());
        let first = (first as usize).max(head_bytes(milestones)).min(end);
        let count = (count & !HAS_MILESTONES) as usize;
        let count = count.min((end - first) / entry::entry_bytes(0));
        List { bytes, count, first, end, milestones }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Elements from the front.
    pub fn iter(&self) -> Forward<'b, B> {
        Forward::new(self.bytes, self.first, self.end)
    }

    /// Elements from the back.
    pub fn iter_back(&self) -> Backward<'b, B> {
        Backward::new(self.bytes, self.first, self.end)
    }

    /// An index from the front, of one that is counted from the back if it is negative.
    fn index(&self, index: i64) -> Option<usize> {
        let count = self.count as i64;
        let index = if index < 0 { index.checked_add(count)? } else { index };
        (0..count).contains(&index).then_some(index as usize)
    }

    /// The element at an index, counted from the back if it is negative.
    pub fn at(&self, index: i64) -> Option<Span> {
        let index = self.index(index)?;
        let back = self.count - 1 - index;
        let Some(milestones) = self.milestones.filter(|_| index.min(back) >= STRIDE / 2) else {
            return if index < back { self.iter().nth(index) } else { self.iter_back().nth(back) };
        };
        let past = milestones.past(index);
        let before = STRIDE - past;
        if past <= index && (past <= before || before > back) {
            Forward::new(self.bytes, self.milestone(milestones, index - past), self.end).nth(past)
        } else if before <= back {
            let from = self.milestone(milestones, index + before);
            Backward::new(self.bytes, self.first, from).nth(before - 1)
        } else {
            self.iter().nth(index)
        }
    }

    /// Where the milestone at an index lies. A cell of another moment may say anything.
    fn milestone(&self, milestones: Milestones, index: usize) -> usize {
        let at = self.bytes.u32_at(milestones.cell_at(index)) as usize;
        at.clamp(self.first, self.end)
    }

    /// The elements from index `start` on, which must be one of the list's.
    pub fn iter_from(&self, start: usize) -> Forward<'b, B> {
        let at = self.at(start as i64).map_or(self.end, |span| span.first());
        Forward::new(self.bytes, at, self.end)
    }

    /// Bytes of the room at the front and at the back.
    pub(super) fn room(&self) -> [usize; 2] {
        [self.first.saturating_sub(head_bytes(self.milestones)), self.bytes.len() - self.end]
    }

    /// Is there no room for so many bytes of elements at this end?
    pub fn is_full(&self, end: End, bytes: usize) -> bool {
        self.lacks_room(end, bytes) || self.lacks_milestones(bytes / entry::entry_bytes(0))
    }

    fn lacks_room(&self, end: End, bytes: usize) -> bool {
        let [front, back] = self.room();
        bytes > if end == End::Front { front } else { back }
    }

    /// Have so many elements more too many milestones?
    fn lacks_milestones(&self, more: usize) -> bool {
        self.milestones.is_some_and(|milestones| !milestones.have_room_for(self.count + more))
    }

    /// The header of the list once it has changed in place.
    fn patch(
        &self,
        count: usize,
        first: usize,
        end: usize,
        milestones: Option<Milestones>,
    ) -> Patch {
        let mut bytes = header(count, first, end, milestones).to_vec();
        bytes.extend(milestones.iter().flat_map(|milestones| milestones.head()));
        Patch { at: 0, bytes }
    }

    /// Pushes one element after the other.
    pub fn push<'e>(&self, end: End, elements: impl Iterator<Item = &'e [u8]>) -> Edit {
        let mut more = 0;
        let mut entries = Vec::new();
        for element in elements {
            entry::push(element, &mut entries);
            more += 1;
        }
        if end == End::Front {
            entries = reversed(&entries);
        }
        if self.lacks_room(end, entries.len()) || self.lacks_milestones(more) {
            let all = Piece::Kept { elements: 0..self.count, bytes: self.first..self.end };
            let new = Piece::New { count: more, entries: &entries };
            return self.anew(&if end == End::Front { [new, all] } else { [all, new] }, end);
        }
        let (at, first, last) = match end {
            End::Front => (self.first - entries.len(), self.first - entries.len(), self.end),
            End::Back => (self.end, self.first, self.end + entries.len()),
        };
        let back = if end == End::Front { -(more as isize) } else { 0 };
        let milestones = self.milestones.map(|milestones| milestones.moved(back));
        let mut patches = vec![self.patch(self.count + more, first, last, milestones)];
        if let Some(milestones) = milestones {
            let index = if end == End::Front { 0 } else { self.count };
            let new = milestones.among(index..index + more);
            let spans = Forward::new(&entries, 0, entries.len());
            for (new, place) in new.clone().zip(spans.places(new.map(|new| new - index))) {
                let bytes = ((at + place) as u32).to_le_bytes().to_vec();
                patches.push(Patch { at: milestones.cell_at(new), bytes });
            }
        }
        patches.push(Patch { at, bytes: entries });
        Edit::Patch(patches)
    }

    /// Without `front` elements at the one end and `back` at the other.
    pub fn trim(&self, front: usize, back: usize) -> Edit {
        let count = self.count.saturating_sub(front).saturating_sub(back);
        if count == 0 {
            return Edit::Empty;
        }
        let first = self.at(front as i64).map_or(self.first, |span| span.first());
        let end = self.at(-1 - back as i64).map_or(self.end, |span| span.last());
        let used = HEADER_BYTES + end.saturating_sub(first);
        if self.bytes.len() > SPARSE_BYTES_MIN && used * SPARSE < self.bytes.len() {
            let kept = Piece::Kept { elements: front..front + count, bytes: first..end };
            return self.anew(&[kept], End::Back);
        }
        let milestones = self.milestones.map(|milestones| milestones.moved(front as isize));
        Edit::Patch(vec![self.patch(count, first, end, milestones)])
    }

    /// With another element at an index, counted as `at` does. `None`: there is none.
    pub fn replace(&self, index: i64, element: &[u8]) -> Option<Edit> {
        let (index, old) = (self.index(index)?, self.at(index)?);
        if old.len == element.len() {
            return Some(Edit::Patch(vec![Patch { at: old.at, bytes: element.to_vec() }]));
        }
        Some(self.splice(index..index + 1, old.first()..old.last(), element))
    }

    /// With an element more, before or behind that one, which is at an index.
    pub fn insert(&self, index: usize, at: Span, before: bool, element: &[u8]) -> Edit {
        let (at, index) = if before { (at.first(), index) } else { (at.last(), index + 1) };
        self.splice(index..index, at..at, element)
    }

    /// With an element in the place of those, by their indices and bytes.
    fn splice(&self, gone: Range<usize>, bytes: Range<usize>, element: &[u8]) -> Edit {
        let mut entries = Vec::new();
        entry::push(element, &mut entries);
        let before = Piece::Kept { elements: 0..gone.start, bytes: self.first..bytes.start };
        let behind = Piece::Kept { elements: gone.end..self.count, bytes: bytes.end..self.end };
        self.anew(&[before, Piece::New { count: 1, entries: &entries }, behind], End::Back)
    }

    /// Without those elements, which are in order from the front, each with its index.
    pub fn without(&self, gone: &[(usize, Span)]) -> Edit {
        if gone.len() >= self.count {
            return Edit::Empty;
        }
        let mut pieces = Vec::with_capacity(gone.len() + 1);
        let (mut index, mut at) = (0, self.first);
        for &(gone, span) in gone {
            pieces.push(Piece::Kept { elements: index..gone, bytes: at..span.first() });
            (index, at) = (gone + 1, span.last());
        }
        pieces.push(Piece::Kept { elements: index..self.count, bytes: at..self.end });
        self.anew(&pieces, End::Back)
    }
}

/// A list of these elements.
pub fn pack<'e>(end: End, elements: impl Iterator<Item = &'e [u8]>) -> Vec<u8> {
    let empty = header(0, HEADER_BYTES, HEADER_BYTES, None).to_vec();
    // Of none there is a patch, of its own header.
    List::open(&empty).push(end, elements).applied(empty.clone()).unwrap_or(empty)
}

/// Bytes that elements take.
pub fn bytes_of<'e>(elements: impl Iterator<Item = &'e [u8]>) -> usize {
    elements.map(|element| entry::entry_bytes(element.len())).sum()
}

/// Bytes before the room at the front.
pub(super) fn head_bytes(milestones: Option<Milestones>) -> usize {
    milestones.map_or(HEADER_BYTES, Milestones::end)
}

pub(super) fn header(
    count: usize,
    first: usize,
    end: usize,
    milestones: Option<Milestones>,
) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let mark = if milestones.is_some() { HAS_MILESTONES } else { 0 };
    let fields = [count as u32 | mark, first as u32, end as u32];
    for (field, value) in header.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
        *field = value.to_le_bytes();
    }
    header
}
