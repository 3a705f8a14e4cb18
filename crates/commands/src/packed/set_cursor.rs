//! SSCAN: a walk along the hashes that a changing set does not confuse.
//!
//! The cursor is the hash from which on members are yet to be shown, in its top bits. A member stands
//! at or behind its home, with no free slot between, whatever the table's size; so all members whose
//! homes lie in a stretch of slots are met by walking through the stretch and on to the next free
//! slot. A member that is there during the whole walk is shown at least once.

use super::Bytes;
use super::entry::{self, Span};
use super::set::{FREE, GONE, Set, home};

/// Bits of a hash that a cursor keeps; more slots than that a set does not have.
const CURSOR_BITS: u32 = 40;

impl<B: Bytes> Set<'_, B> {
    /// Shows members from the cursor on, about `count` of them, and returns where to go on; 0 is the
    /// end. A set without a table is shown whole.
    pub fn scan(
        &self,
        cursor: u64,
        count: usize,
        hash: impl Fn(&[u8]) -> u64,
        mut show: impl FnMut(Span),
    ) -> u64 {
        if self.slots() == 0 {
            self.iter().for_each(show);
            return 0;
        }
        let bits = self.slots().trailing_zeros();
        let first = (cursor >> (CURSOR_BITS - bits)) as usize;
        if first >= self.slots() {
            return 0;
        }
        let (mut slot, mut shown) = (first, 0);
        // The stretch: until enough was shown, or slots for ten times as many were empty.
        while slot < self.slots() && shown < count && slot - first < count.saturating_mul(10) {
            shown += usize::from(!matches!(self.slot(slot), FREE | GONE));
            slot += 1;
        }
        let end = slot;
        // As of `Members`: together they are no longer than the set.
        let mut left = self.bytes.len();
        // And on, around the end of the table, to the first free slot.
        for offset in 0..self.slots() {
            let slot = (first + offset) % self.slots();
            let at = self.slot(slot);
            if at == FREE && first + offset >= end {
                break;
            }
            if at == FREE || at == GONE {
                continue;
            }
            let Some(span) = entry::read(self.bytes, at as usize) else { continue };
            left = left.saturating_sub(span.end() - span.first());
            if left == 0 {
                break;
            }
            if (first..end).contains(&home(hash(&span.read(self.bytes)), self.slots())) {
                show(span);
            }
        }
        if end >= self.slots() { 0 } else { (end as u64) << (CURSOR_BITS - bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::Hashed;
    use super::super::set_build::pack;
    use super::*;
    use std::collections::HashSet;

    fn hash(bytes: &[u8]) -> u64 {
        let sum = bytes.iter().fold(3u64, |sum, b| sum.wrapping_mul(33) ^ u64::from(*b));
        sum.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn set_of(numbers: std::ops::Range<u32>) -> Vec<u8> {
        let names: Vec<String> = numbers.map(|n| n.to_string()).collect();
        pack(names.iter().map(|n| Hashed { bytes: n.as_bytes(), hash: hash(n.as_bytes()) }))
    }

    #[test]
    fn a_walk_meets_every_member() {
        for len in [0, 5, 17, 100, 5_000] {
            let bytes = set_of(0..len);
            let (mut cursor, mut met) = (0, Vec::new());
            loop {
                let set = Set::open(&bytes);
                cursor = set.scan(cursor, 10, hash, |span| met.push(span.read(&bytes)));
                if cursor == 0 {
                    break;
                }
            }
            let different: HashSet<_> = met.iter().collect();
            assert_eq!(different.len(), len as usize);
            assert_eq!(met.len(), len as usize, "an unchanged set is shown once");
        }
    }

    #[test]
    fn a_walk_survives_growth_and_shrinking() {
        // 0..500 are there all the time, whatever comes and goes beside them.
        let stages = [600, 5_000, 20_000, 700, 500, 40_000, 501].map(|len| set_of(0..len));
        let (mut cursor, mut met, mut step) = (0, HashSet::new(), 0);
        loop {
            let bytes = &stages[step % stages.len()];
            let set = Set::open(bytes);
            cursor = set.scan(cursor, 7, hash, |span| {
                met.insert(span.read(bytes));
            });
            step += 1;
            if cursor == 0 {
                break;
            }
        }
        assert!(step > 20);
        assert!((0..500).all(|n| met.contains(n.to_string().as_bytes())));
    }
}
