//! Making a set anew, and when that is due.

use super::entry;
use super::set::{FREE, HEADER_BYTES, Hashed, Place, Set, header, home};
use super::{Bytes, spare_within};
use dolium_engine::limits::VALUE_BYTES_MAX;

/// Members up to which a set has no table: they are compared one by one.
pub(super) const MEMBERS_WITHOUT_TABLE: usize = 16;
/// Of so many slots, so many may be taken.
const CROWDED: (usize, usize) = (4, 3);
/// A table with one member in so many slots is too large.
const SPARSE_SLOTS: usize = 8;
/// A set whose members take less than this part of its bytes gives the rest back.
const SPARSE_BYTES: usize = 4;
/// Bytes below which nothing is given back.
const SPARSE_BYTES_MIN: usize = 1024;

pub(super) fn is_crowded(filled: usize, slots: usize) -> bool {
    filled * CROWDED.0 > slots * CROWDED.1
}

pub(super) fn is_sparse(count: usize, slots: usize, live: usize, bytes: usize) -> bool {
    let needed = HEADER_BYTES + 4 * slots + live;
    bytes > SPARSE_BYTES_MIN && (count * SPARSE_SLOTS < slots || needed * SPARSE_BYTES < bytes)
}

/// Copies of a set's members, but for those that are gone.
pub(super) fn members<B: Bytes>(set: &Set<'_, B>, gone: &[Place]) -> Vec<Vec<u8>> {
    let mut left_out: Vec<usize> = gone.iter().map(|place| place.span.at).collect();
    left_out.sort_unstable();
    let kept = set.iter().filter(|span| left_out.binary_search(&span.at).is_err());
    kept.map(|span| span.read(set.bytes)).collect()
}

/// A set of these members, none of which is named twice.
pub fn pack<'m>(members: impl Iterator<Item = Hashed<'m>>) -> Vec<u8> {
    pack_within(members, VALUE_BYTES_MAX)
}

/// As `pack`, with no room to spare that would make the set longer than `most`.
pub(super) fn pack_within<'m>(members: impl Iterator<Item = Hashed<'m>>, most: usize) -> Vec<u8> {
    let members: Vec<Hashed<'m>> = members.collect();
    let live: usize =
        members.iter().map(|m| m.bytes.len() + entry::length_bytes(m.bytes.len())).sum();
    let count = members.len();
    let slots = if count <= MEMBERS_WITHOUT_TABLE { 0 } else { (count * 2).next_power_of_two() };
    let start = HEADER_BYTES + 4 * slots;
    // Without a table the next member makes it anew in any case.
    let room = if slots == 0 { 0 } else { spare_within(live, start + live, most) };
    let mut bytes = Vec::with_capacity(start + live + room);
    bytes.extend_from_slice(&header([count, slots, count, start + live, live]));
    bytes.resize(start, 0);
    for member in &members {
        if slots > 0 {
            let mut slot = home(member.hash, slots);
            while bytes.u32_at(HEADER_BYTES + 4 * slot) != FREE {
                slot = (slot + 1) % slots;
            }
            let at = bytes.len() as u32;
            bytes[HEADER_BYTES + 4 * slot..][..4].copy_from_slice(&at.to_le_bytes());
        }
        entry::push_first(member.bytes, &mut bytes);
    }
    bytes.resize(start + live + room, 0);
    bytes
}
