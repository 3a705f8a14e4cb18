//! All rows in one table, and how a name finds its row.
//!
//! The table is made at compile time: rows of all families one after the other, numbered, each
//! container followed by its subcommands. A name of up to 16 letters is packed into two words
//! (with every letter in lower case), which are hashed and compared instead of the bytes:
//!
//! ```text
//!   "PEXPIRETIME" -> first 8 bytes "pexpiret", last 8 bytes "xpiretime", length 11
//! ```
//!
//! The two words may overlap, and the length tells how far, so that equal words and lengths mean
//! equal names.

mod connection;
mod key;
mod list;
mod observe;
mod pubsub;
mod server;
mod set;
mod string;
mod transaction;

use crate::redis::row::Row;

const FAMILIES: [&[Row]; 9] = [
    string::ROWS,
    list::ROWS,
    set::ROWS,
    key::ROWS,
    connection::ROWS,
    transaction::ROWS,
    pubsub::ROWS,
    server::ROWS,
    observe::ROWS,
];

const COUNT: usize = {
    let mut count = 0;
    let mut family = 0;
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

/// Every command and subcommand. `ROWS[row.id]` is the row.
pub static ROWS: [Row; COUNT] = {
    let mut rows = [FAMILIES[0][0]; COUNT];
    let (mut family, mut at, mut id, mut parent) = (0, 0, 0, 0);
    while family < FAMILIES.len() {
        if at == FAMILIES[family].len() {
            family += 1;
            at = 0;
            continue;
        }
        rows[id] = FAMILIES[family][at];
        rows[id].id = id as u16;
        if has_bar(rows[id].name) {
            rows[parent].subcommands += 1;
        } else {
            parent = id;
        }
        at += 1;
        id += 1;
    }
    rows
};

/// The rows that are not subcommands.
pub fn commands() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| !has_bar(row.name))
}

/// The id of a command, for who wants to know it while compiling.
pub(crate) const fn id_of(name: &str) -> u16 {
    let (mut family, mut at, mut id) = (0, 0, 0);
    while family < FAMILIES.len() {
        if at == FAMILIES[family].len() {
            (family, at) = (family + 1, 0);
            continue;
        }
        if is_same(FAMILIES[family][at].name.as_bytes(), name.as_bytes()) {
            return id;
        }
        (at, id) = (at + 1, id + 1);
    }
    panic!("there is no such command")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The subcommands of a row.
pub fn subcommands(row: &Row) -> &'static [Row] {
    let first = usize::from(row.id) + 1;
    &ROWS[first..first + usize::from(row.subcommands)]
}

/// The row of a subcommand by its own name, whatever its case.
pub fn subcommand(row: &'static Row, name: &[u8]) -> Option<&'static Row> {
    let own = row.name.len() + 1;
    subcommands(row).iter().find(|sub| sub.name.as_bytes()[own..].eq_ignore_ascii_case(name))
}

/// The row of `name` or `container|name`.
pub fn find_full(name: &[u8]) -> Option<&'static Row> {
    match name.iter().position(|&b| b == b'|') {
        Some(bar) => subcommand(find(&name[..bar])?, &name[bar + 1..]),
        None => find(name),
    }
}

/// The row of a command, whatever the case of its name.
#[inline]
pub fn find(name: &[u8]) -> Option<&'static Row> {
    let packed = pack(name)?;
    let mut slot = packed.slot();
    loop {
        let entry = &SLOTS[slot];
        if entry.name.first == packed.first
            && entry.name.last == packed.last
            && entry.name.len == packed.len
        {
            return Some(&ROWS[usize::from(entry.id)]);
        }
        if entry.name.len == 0 {
            return None;
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
}

const NAME_BYTES_MAX: usize = 16;
const SLOT_COUNT: usize = 256;

/// A name's letters as numbers. Setting bit 5 makes every letter lower case, and a byte that is a
/// letter afterwards was one before, so no other name can look like a command's.
#[derive(Clone, Copy)]
struct Packed {
    first: u64,
    last: u64,
    len: u8,
}

const LOWER: u64 = 0x2020_2020_2020_2020;

impl Packed {
    const fn slot(self) -> usize {
        let mixed = (self.first ^ self.last.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 56) as usize
    }
}

#[inline]
const fn pack(name: &[u8]) -> Option<Packed> {
    let len = name.len();
    let (first, last) = match len {
        8..=NAME_BYTES_MAX => (word(name, 0, 8), word(name, len - 8, 8)),
        4..=7 => (word(name, 0, 4), word(name, len - 4, 4)),
        1..=3 => (word(name, 0, 1) | word(name, len / 2, 1) << 8, word(name, len - 1, 1)),
        _ => return None,
    };
    Some(Packed { first: first | LOWER, last: last | LOWER, len: len as u8 })
}

/// `width` bytes at `at`, the first one lowest. Loops of known length become single loads.
#[inline]
const fn word(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut word = 0;
    let mut i = 0;
    while i < width {
        word |= (bytes[at + i] as u64) << (8 * i);
        i += 1;
    }
    word
}

struct Slot {
    name: Packed,
    id: u16,
}

/// Open addressing, at most half full: a wrong name meets an empty slot soon.
static SLOTS: [Slot; SLOT_COUNT] = {
    const EMPTY: Slot = Slot { name: Packed { first: 0, last: 0, len: 0 }, id: 0 };
    let mut slots = [EMPTY; SLOT_COUNT];
    let mut id = 0;
    let mut filled = 0;
    while id < COUNT {
        let name = ROWS[id].name.as_bytes();
        if !has_bar(ROWS[id].name) {
            assert!(letters_only(name), "a command's name is made of small letters");
            let Some(packed) = pack(name) else { panic!("a command's name has 1 to 16 letters") };
            let mut slot = packed.slot();
            while slots[slot].name.len != 0 {
                slot = (slot + 1) % SLOT_COUNT;
            }
            slots[slot] = Slot { name: packed, id: id as u16 };
            filled += 1;
        }
        id += 1;
    }
    assert!(filled * 2 <= SLOT_COUNT);
    slots
};

const fn has_bar(name: &str) -> bool {
    let name = name.as_bytes();
    let mut i = 0;
    while i < name.len() {
        if name[i] == b'|' {
            return true;
        }
        i += 1;
    }
    false
}

const fn letters_only(name: &[u8]) -> bool {
    let mut i = 0;
    while i < name.len() {
        if !name[i].is_ascii_lowercase() {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_in_any_case() {
        for row in commands() {
            for name in [row.name.to_owned(), row.name.to_uppercase()] {
                assert_eq!(find(name.as_bytes()).map(|found| found.id), Some(row.id), "{name}");
            }
            let longer = find(format!("{}x", row.name).as_bytes());
            assert!(longer.is_none_or(|found| found.id != row.id));
            assert!(find(&row.name.as_bytes()[1..]).is_none_or(|found| found.id != row.id));
        }
        for stranger in ["", "g", "gex", "GE\x14", "client|list", "averyverylongcommandname"] {
            assert!(find(stranger.as_bytes()).is_none(), "{stranger:?}");
        }
    }

    #[test]
    fn subcommands_follow_their_container() {
        let client = find(b"client").unwrap();
        assert_eq!(subcommand(client, b"No-Evict").unwrap().name, "client|no-evict");
        assert_eq!(find_full(b"CONFIG|get").unwrap().name, "config|get");
        assert!(find_full(b"client|nothing").is_none());
        for row in &ROWS {
            let sub = subcommands(row);
            assert!(sub.iter().all(|s| s.name.starts_with(&format!("{}|", row.name))));
            assert_eq!(ROWS[usize::from(row.id)].name, row.name);
        }
    }
}
