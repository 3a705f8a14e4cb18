//! A list: its elements in order, with room at both ends.
//!
//! ```text
//!   0 count u32 | 4 first u32 | 8 end u32 | room | element | element | ... | room
//!                                         ^first                     ^end
//! ```
//! A push at an end with room stores the new elements and the header; a pop stores the header. What
//! changes the middle, or finds no room, makes the list anew. An index is walked to from the nearer
//! end.

use super::entry::{self, Span};
use super::list_walk::reversed;
pub use super::list_walk::{Backward, Forward};
use super::{Bytes, Edit, Patch, spare_within};
use dolium_engine::limits::VALUE_BYTES_MAX;

const HEADER_BYTES: usize = 12;
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
    bytes: &'b B,
    count: usize,
    first: usize,
    end: usize,
}

impl<'b, B: Bytes> List<'b, B> {
    /// Bytes of two moments may say anything: no more elements are believed in than have room.
    pub fn open(bytes: &'b B) -> Self {
        let [count, first, end] = [0, 4, 8].map(|at| bytes.u32_at(at) as usize);
        let end = end.min(bytes.len());
        let first = first.max(HEADER_BYTES).min(end);
        List { bytes, count: count.min((end - first) / entry::entry_bytes(0)), first, end }
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

    /// The element at an index, counted from the back if it is negative.
    pub fn at(&self, index: i64) -> Option<Span> {
        let count = self.count as i64;
        let index = if index < 0 { index.checked_add(count)? } else { index };
        if index < 0 || index >= count {
            return None;
        }
        if index < count / 2 {
            self.iter().nth(index as usize)
        } else {
            self.iter_back().nth((count - 1 - index) as usize)
        }
    }

    /// The elements from index `start` on, which must be one of the list's.
    pub fn iter_from(&self, start: usize) -> Forward<'b, B> {
        let at = self.at(start as i64).map_or(self.end, |span| span.first());
        Forward::new(self.bytes, at, self.end)
    }

    /// Is there no room for so many bytes of elements at this end?
    pub fn is_full(&self, end: End, bytes: usize) -> bool {
        bytes
            > match end {
                End::Front => self.first.saturating_sub(HEADER_BYTES),
                End::Back => self.bytes.len() - self.end,
            }
    }

    fn patch(&self, count: usize, first: usize, end: usize) -> Patch {
        Patch { at: 0, bytes: header(count, first, end).to_vec() }
    }

    /// Pushes one element after the other.
    pub fn push<'e>(&self, end: End, elements: impl Iterator<Item = &'e [u8]>) -> Edit {
        let mut count = self.count;
        let mut entries = Vec::new();
        for element in elements {
            entry::push(element, &mut entries);
            count += 1;
        }
        if end == End::Front {
            entries = reversed(&entries);
        }
        if self.is_full(end, entries.len()) {
            let (front, back) =
                if end == End::Front { (&entries, &vec![]) } else { (&vec![], &entries) };
            return self.whole(count, front, self.first..self.end, back, end);
        }
        let (at, first, last) = match end {
            End::Front => (self.first - entries.len(), self.first - entries.len(), self.end),
            End::Back => (self.end, self.first, self.end + entries.len()),
        };
        Edit::Patch(vec![Patch { at, bytes: entries }, self.patch(count, first, last)])
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
            return self.whole(count, &[], first..end, &[], End::Back);
        }
        Edit::Patch(vec![self.patch(count, first, end)])
    }

    /// With another element in the place of that one.
    pub fn replace(&self, old: Span, element: &[u8]) -> Edit {
        if old.len == element.len() {
            return Edit::Patch(vec![Patch { at: old.at, bytes: element.to_vec() }]);
        }
        self.splice(old.first()..old.last(), element, self.count)
    }

    /// With an element more, before or behind that one.
    pub fn insert(&self, at: Span, before: bool, element: &[u8]) -> Edit {
        let at = if before { at.first() } else { at.last() };
        self.splice(at..at, element, self.count + 1)
    }

    fn splice(&self, out: std::ops::Range<usize>, element: &[u8], count: usize) -> Edit {
        let mut entries = Vec::new();
        self.bytes.copy(self.first, out.start - self.first, &mut entries);
        entry::push(element, &mut entries);
        self.whole(count, &entries, out.end..self.end, &[], End::Back)
    }

    /// Without those elements, which are in order from the front.
    pub fn without(&self, gone: &[Span]) -> Edit {
        if gone.len() >= self.count {
            return Edit::Empty;
        }
        let mut entries = Vec::new();
        let mut at = self.first;
        for span in gone {
            self.bytes.copy(at, span.first() - at, &mut entries);
            at = span.last();
        }
        self.whole(self.count - gone.len(), &entries, at..self.end, &[], End::Back)
    }

    /// A list made anew: `before`, what stands at `kept`, `behind`; with spare room at the end where
    /// it is needed, and at the other what there is, so that pushes at both ends in turn do not take
    /// it from each other. Room to spare makes no list too long for a value, and none that shrinks
    /// longer than it was: that fits where it stands, if there is no memory.
    fn whole(
        &self,
        count: usize,
        before: &[u8],
        kept: std::ops::Range<usize>,
        behind: &[u8],
        room: End,
    ) -> Edit {
        let used = before.len() + kept.len() + behind.len();
        let shrinks = used <= self.end - self.first;
        let most = if shrinks { self.bytes.len() } else { VALUE_BYTES_MAX };
        let there = [self.first.saturating_sub(HEADER_BYTES), self.bytes.len() - self.end];
        let [front, back] = rooms(used, there, room, most);
        let first = HEADER_BYTES + front;
        let mut bytes = Vec::with_capacity(first + used + back);
        bytes.extend_from_slice(&header(count, first, first + used));
        bytes.resize(first, 0);
        bytes.extend_from_slice(before);
        self.bytes.copy(kept.start, kept.len(), &mut bytes);
        bytes.extend_from_slice(behind);
        bytes.resize(first + used + back, 0);
        Edit::Whole(bytes)
    }
}

/// Room before and behind elements that take `used` bytes, at one of whose ends it is needed; of the
/// other `there` is some. Nothing that would make the list longer than `most`.
pub(super) fn rooms(used: usize, there: [usize; 2], needed: End, most: usize) -> [usize; 2] {
    let spare = spare_within(used, HEADER_BYTES + used, most);
    let left = most.saturating_sub(HEADER_BYTES + used + spare);
    let other = |there: usize| there.min(spare).min(left);
    match needed {
        End::Front => [spare, other(there[1])],
        End::Back => [other(there[0]), spare],
    }
}

/// A list of these elements.
pub fn pack<'e>(end: End, elements: impl Iterator<Item = &'e [u8]>) -> Vec<u8> {
    let empty = header(0, HEADER_BYTES, HEADER_BYTES).to_vec();
    // Of none there is a patch, of its own header.
    List::open(&empty).push(end, elements).applied(empty.clone()).unwrap_or(empty)
}

/// Bytes that elements take.
pub fn bytes_of<'e>(elements: impl Iterator<Item = &'e [u8]>) -> usize {
    elements.map(|element| entry::entry_bytes(element.len())).sum()
}

fn header(count: usize, first: usize, end: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    for (field, value) in header.as_chunks_mut::<4>().0.iter_mut().zip([count, first, end]) {
        *field = (value as u32).to_le_bytes();
    }
    header
}
