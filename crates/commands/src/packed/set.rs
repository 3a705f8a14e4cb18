//! A set: its members one after the other, and above a handful a table that finds them.
//!
//! ```text
//!   0 count u32 | 4 slots u32 | 8 filled u32 | 12 end u32 | 16 live u32
//!  20 slots x u32: 0 = free, 1 = its member is gone, else the offset of a member
//!     member | member | ...   | room
//!                             ^end            live: bytes of the members that are not gone
//! ```
//! A member's home slot is given by the top bits of its hash, from where the next free slot is taken
//! (linear probing). So twice the slots split every home in two, in order, and a walk along the
//! hashes keeps its place however large the table becomes (`set_cursor.rs`).

use super::entry::{self, Span};
use super::set_build::MEMBERS_WITHOUT_TABLE;
use super::{Bytes, Edit, Patch, set_build, spare_within};
use dolium_engine::limits::VALUE_BYTES_MAX;
use std::collections::HashSet;

pub(super) const HEADER_BYTES: usize = 20;
pub(super) const FREE: u32 = 0;
pub(super) const GONE: u32 = 1;

/// A set in its bytes.
#[derive(Debug)]
pub struct Set<'b, B> {
    pub(super) bytes: &'b B,
    count: usize,
    slots: usize,
    filled: usize,
    pub(super) end: usize,
    live: usize,
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub span: Span,
    slot: usize,
}

/// A member with its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashed<'m> {
    pub bytes: &'m [u8],
    pub hash: u64,
}

// Derived, they would ask the same of the bytes.
impl<B> Clone for Set<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Set<'_, B> {}

impl<'b, B: Bytes> Set<'b, B> {
    /// Bytes of two moments may say anything: no more members are believed in than have room.
    pub fn open(bytes: &'b B) -> Self {
        let [count, slots, filled, end, live] =
            [0, 4, 8, 12, 16].map(|at| bytes.u32_at(at) as usize);
        let end = end.max(HEADER_BYTES).min(bytes.len());
        let fits = slots.is_power_of_two() && HEADER_BYTES + 4 * slots <= bytes.len();
        let slots = if fits { slots } else { 0 };
        // A member takes a slot, or at least a byte.
        let most = if slots == 0 { end.saturating_sub(HEADER_BYTES) } else { slots };
        Set { bytes, count: count.min(most), slots, filled, end, live }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    pub(super) fn slot(&self, slot: usize) -> u32 {
        self.bytes.u32_at(HEADER_BYTES + 4 * slot)
    }

    pub fn find(&self, member: Hashed<'_>) -> Option<Place> {
        if self.slots == 0 {
            let mut spans = self.iter();
            let span = spans.find(|span| span.is(self.bytes, member.bytes))?;
            return Some(Place { span, slot: 0 });
        }
        let mut slot = home(member.hash, self.slots);
        // Bounded: bytes that make no sense may have no free slot.
        for _ in 0..self.slots {
            match self.slot(slot) {
                FREE => return None,
                GONE => {}
                at => {
                    let span = entry::read(self.bytes, at as usize);
                    if let Some(span) = span.filter(|span| span.is(self.bytes, member.bytes)) {
                        return Some(Place { span, slot });
                    }
                }
            }
            slot = (slot + 1) % self.slots;
        }
        None
    }

    /// Whether these can be added, and so many bytes with them, where the set stands.
    pub fn has_room(&self, members: usize, bytes: usize) -> bool {
        bytes <= self.bytes.len() - self.end
            && match self.slots {
                0 => self.count + members <= MEMBERS_WITHOUT_TABLE,
                slots => !set_build::is_crowded(self.filled + members, slots),
            }
    }

    /// With new members, none of which is there or named twice. `hash` is asked for those that are
    /// there if the set is made anew.
    pub fn add(&self, members: &[Hashed<'_>], hash: impl Fn(&[u8]) -> u64) -> Edit {
        if self.slots == 0 && self.count + members.len() <= MEMBERS_WITHOUT_TABLE {
            return self.append(members);
        }
        let need = members.iter().map(|member| entry_bytes(member.bytes)).sum::<usize>();
        let is_crowded = set_build::is_crowded(self.filled + members.len(), self.slots);
        if self.slots == 0 || is_crowded || need > self.bytes.len() - self.end {
            let all = set_build::members(self, &[]);
            let old = all.iter().map(|bytes| Hashed { bytes, hash: hash(bytes) });
            return Edit::Whole(set_build::pack(old.chain(members.iter().copied())));
        }
        let mut entries = Vec::with_capacity(need);
        let mut patches = Vec::with_capacity(members.len() + 2);
        let mut taken = HashSet::new();
        let mut filled = self.filled;
        for member in members {
            let mut slot = home(member.hash, self.slots);
            while taken.contains(&slot) || !matches!(self.slot(slot), FREE | GONE) {
                slot = (slot + 1) % self.slots;
            }
            filled += usize::from(self.slot(slot) == FREE);
            taken.insert(slot);
            let at = (self.end + entries.len()) as u32;
            patches.push(Patch { at: HEADER_BYTES + 4 * slot, bytes: at.to_le_bytes().to_vec() });
            entry::push_first(member.bytes, &mut entries);
        }
        let end = self.end + entries.len();
        patches.push(Patch { at: self.end, bytes: entries });
        let fields = [self.count + members.len(), self.slots, filled, end, self.live + need];
        patches.push(Patch { at: 0, bytes: header(fields).to_vec() });
        Edit::Patch(patches)
    }

    /// As `add`, to a set without a table: at its end.
    fn append(&self, members: &[Hashed<'_>]) -> Edit {
        let mut entries = Vec::new();
        members.iter().for_each(|member| entry::push_first(member.bytes, &mut entries));
        let (end, live) = (self.end + entries.len(), self.live + entries.len());
        let head = header([self.count + members.len(), 0, 0, end, live]).to_vec();
        if end <= self.bytes.len() {
            let entries = Patch { at: self.end, bytes: entries };
            return Edit::Patch(vec![entries, Patch { at: 0, bytes: head }]);
        }
        let mut bytes = head;
        self.bytes.copy(HEADER_BYTES, self.end - HEADER_BYTES, &mut bytes);
        bytes.extend_from_slice(&entries);
        bytes.resize(end + spare_within(live, end, VALUE_BYTES_MAX), 0);
        Edit::Whole(bytes)
    }

    /// As `without`, of a set without a table, whose members stand one behind the other.
    fn cut_out(&self, gone: &[Place], count: usize, live: usize) -> Edit {
        let mut spans: Vec<Span> = gone.iter().map(|place| place.span).collect();
        spans.sort_unstable_by_key(|span| span.at);
        let mut bytes = header([count, 0, 0, HEADER_BYTES + live, live]).to_vec();
        let mut at = HEADER_BYTES;
        for span in spans {
            self.bytes.copy(at, span.first() - at, &mut bytes);
            at = span.end();
        }
        self.bytes.copy(at, self.end - at, &mut bytes);
        Edit::Whole(bytes)
    }

    /// Without members that were found, each named once.
    pub fn without(&self, gone: &[Place], hash: impl Fn(&[u8]) -> u64) -> Edit {
        let count = self.count.saturating_sub(gone.len());
        if count == 0 {
            return Edit::Empty;
        }
        let bytes = gone.iter().map(|place| place.span.end() - place.span.first()).sum::<usize>();
        let live = self.live.saturating_sub(bytes);
        if self.slots == 0 {
            return self.cut_out(gone, count, live);
        }
        if set_build::is_sparse(count, self.slots, live, self.bytes.len()) {
            let all = set_build::members(self, gone);
            let left = all.iter().map(|bytes| Hashed { bytes, hash: hash(bytes) });
            // No longer than it was: it fits where it stands, if there is no memory.
            return Edit::Whole(set_build::pack_within(left, self.bytes.len()));
        }
        let tombstone = |place: &Place| Patch {
            at: HEADER_BYTES + 4 * place.slot,
            bytes: GONE.to_le_bytes().to_vec(),
        };
        let mut patches: Vec<Patch> = gone.iter().map(tombstone).collect();
        let fields = [count, self.slots, self.filled, self.end, live];
        patches.push(Patch { at: 0, bytes: header(fields).to_vec() });
        Edit::Patch(patches)
    }
}

/// Bytes that a member takes besides its slot.
pub fn entry_bytes(member: &[u8]) -> usize {
    member.len() + entry::length_bytes(member.len())
}

/// The slot at which the search for a member begins.
pub(super) fn home(hash: u64, slots: usize) -> usize {
    match slots.trailing_zeros() {
        0 => 0,
        bits => (hash >> (64 - bits)) as usize,
    }
}

/// Count, slots, filled, end, live.
pub(super) fn header(fields: [usize; 5]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    for (field, value) in header.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
        *field = (value as u32).to_le_bytes();
    }
    header
}
