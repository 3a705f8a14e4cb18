//! The members of a set, one after the other or by chance.
//!
//! A reader without a lock may be shown the bytes of two moments, of which a table may name one long
//! member over and over, or that nobody is there. So a walk shows no more bytes than the set has, and
//! a search by chance has an end.

use super::Bytes;
use super::entry::{self, Span};
use super::set::{FREE, GONE, HEADER_BYTES, Set};

impl<'b, B: Bytes> Set<'b, B> {
    /// All members, in no order.
    pub fn iter(&self) -> Members<'b, B> {
        let next = if self.has_table() { 0 } else { HEADER_BYTES };
        Members { set: *self, next, left: self.bytes.len() }
    }

    /// Whether members are found by a table, and not by comparing one after the other.
    pub fn has_table(&self) -> bool {
        self.slots() > 0
    }

    /// The member in a slot chosen by a random number, if there is one: each is as likely as another.
    /// `None` also of a set without a table.
    pub fn pick(&self, random: u64) -> Option<Span> {
        let at = self.slot((random % self.slots().max(1) as u64) as usize);
        let is_taken = self.has_table() && at != FREE && at != GONE;
        is_taken.then(|| entry::read(self.bytes, at as usize)).flatten()
    }

    /// A member chosen by random numbers, each with the same chance.
    pub fn random(&self, mut random: impl FnMut() -> u64) -> Option<Span> {
        if !self.has_table() {
            return self.iter().nth((random() % self.len().max(1) as u64) as usize);
        }
        // One in eight of the slots is taken, or the set is small: so many misses hardly happen.
        const TRIES: usize = 1000;
        let picked = (0..TRIES).find_map(|_| self.pick(random()));
        picked.or_else(|| self.iter().next())
    }
}

/// The members of a set.
#[derive(Debug)]
pub struct Members<'b, B> {
    set: Set<'b, B>,
    /// An offset without a table, else a slot.
    next: usize,
    /// Bytes that members may still take: all of them together are no longer than the set.
    left: usize,
}

impl<B: Bytes> Members<'_, B> {
    fn next_span(&mut self) -> Option<Span> {
        if !self.set.has_table() {
            if self.next >= self.set.end {
                return None;
            }
            let span = entry::read(self.set.bytes, self.next)?;
            self.next = span.end();
            return Some(span);
        }
        while self.next < self.set.slots() {
            let at = self.set.slot(self.next);
            self.next += 1;
            if at != FREE && at != GONE {
                return entry::read(self.set.bytes, at as usize);
            }
        }
        None
    }
}

impl<B: Bytes> Iterator for Members<'_, B> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let span = self.next_span()?;
        self.left = self.left.checked_sub(span.end() - span.first())?;
        Some(span)
    }
}
