//! How a list or a set lies in its packed bytes: pure, and told nothing of keys, locks or clients.
//!
//! Each type reads its bytes through [`Bytes`], wherever they are, and answers a change with an
//! [`Edit`]: a few bytes to be stored in place where the collection has room for it, or the whole of
//! it anew. A reader that lost a race may be shown bytes that make no sense: everything here comes
//! to an end with them and follows no offset beyond them.

pub mod entry;
pub mod list;
mod list_anew;
#[cfg(test)]
mod list_long_model;
#[cfg(test)]
mod list_model;
mod list_walk;
mod milestones;
pub mod set;
pub mod set_build;
mod set_cursor;
#[cfg(test)]
mod set_model;
mod set_walk;

/// Bytes of a collection. What lies beyond their end reads as zero.
pub trait Bytes {
    fn len(&self) -> usize;
    fn u8_at(&self, at: usize) -> u8;
    /// Four bytes, the lowest first.
    fn u32_at(&self, at: usize) -> u32;
    /// Whether these bytes stand there.
    fn has(&self, at: usize, bytes: &[u8]) -> bool;
    /// Appends `len` bytes (cut to what there is).
    fn copy(&self, at: usize, len: usize, out: &mut Vec<u8>);
}

impl Bytes for dolium_engine::Packed<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn u8_at(&self, at: usize) -> u8 {
        self.u8_at(at)
    }

    #[inline]
    fn u32_at(&self, at: usize) -> u32 {
        self.u32_at(at)
    }

    #[inline]
    fn has(&self, at: usize, bytes: &[u8]) -> bool {
        self.has(at, bytes)
    }

    #[inline]
    fn copy(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        self.copy(at, len, out);
    }
}

/// Bytes of one's own: a collection that is being made, and those of the tests.
impl Bytes for Vec<u8> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn u8_at(&self, at: usize) -> u8 {
        self.get(at).copied().unwrap_or(0)
    }

    fn u32_at(&self, at: usize) -> u32 {
        let four = self.get(at..).and_then(|rest| rest.first_chunk::<4>());
        four.map_or(0, |four| u32::from_le_bytes(*four))
    }

    fn has(&self, at: usize, bytes: &[u8]) -> bool {
        self.get(at..).is_some_and(|rest| rest.starts_with(bytes))
    }

    fn copy(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let rest = self.get(at..).unwrap_or_default();
        out.extend_from_slice(&rest[..len.min(rest.len())]);
    }
}

/// What a change comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// These bytes are stored in place, as one change.
    Patch(Vec<Patch>),
    /// These are the collection's bytes now.
    Whole(Vec<u8>),
    /// Nothing is left: the key goes.
    Empty,
}

/// Bytes to be stored at an offset of the collection's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub at: usize,
    pub bytes: Vec<u8>,
}

impl Edit {
    /// The bytes that the change makes of `old`. `None`: it was not made for these, which end before
    /// its own do.
    pub fn applied(self, mut old: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Edit::Whole(bytes) => Some(bytes),
            Edit::Empty => Some(Vec::new()),
            Edit::Patch(patches) => {
                for Patch { at, bytes } in patches {
                    old.get_mut(at..)?.get_mut(..bytes.len())?.copy_from_slice(&bytes);
                }
                Some(old)
            }
        }
    }
}

/// Spare room of a collection whose parts take `used` bytes, made anew because it had none left.
/// Half as much again, so that pushes cost the same however long it is; none for the smallest,
/// which are copied as fast as they are found and of which there may be millions.
fn spare(used: usize) -> usize {
    const NONE_BELOW: usize = 128;
    if used < NONE_BELOW { 0 } else { used / 2 }
}

/// As `spare`, of a collection that takes `whole` bytes without it and may take `most` with it.
fn spare_within(used: usize, whole: usize, most: usize) -> usize {
    spare(used).min(most.saturating_sub(whole))
}

#[cfg(test)]
mod tests {
    use super::{Edit, Patch};

    #[test]
    fn a_patch_made_for_longer_bytes_makes_nothing() {
        let patch = |at| Edit::Patch(vec![Patch { at, bytes: b"xy".to_vec() }]);
        assert_eq!(patch(2).applied(b"abcd".to_vec()), Some(b"abxy".to_vec()));
        assert_eq!(patch(3).applied(b"abcd".to_vec()), None);
        assert_eq!(patch(9).applied(b"abcd".to_vec()), None);
    }
}
