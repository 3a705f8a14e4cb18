//! The headers of short replies: a number below 1024 has its own in a table, as one word.
//!
//! ```text
//!   $42     | kind | 4 | 2 | CR | LF | 0 | 0 | 5 |      the last byte: how many before it count
//! ```
//! A header is written for each reply, so it is stored in one piece and then cut to its length.

/// Of a number below `SHORT_HEADERS`: the bytes, and how many of them count.
#[inline(always)]
pub(super) fn short_header(kind: u8, value: usize) -> ([u8; 8], usize) {
    // As one word throughout: bytes that are stored one by one cannot be loaded together before the
    // stores are done, which took longer than all else here.
    let word = SHORT_HEADER_WORDS[value];
    ((word | u64::from(kind)).to_le_bytes(), (word >> 56) as usize)
}

/// The header of a bulk string of that length, in either version: the bytes, and how many of them
/// count.
///
/// # Panics
/// From 10,000 on: it would have more than eight.
#[inline(always)]
pub fn bulk_header(len: usize) -> ([u8; 8], usize) {
    if len < SHORT_HEADERS { short_header(b'$', len) } else { four_digits(len) }
}

#[cold]
fn four_digits(len: usize) -> ([u8; 8], usize) {
    assert!((1000..10_000).contains(&len), "a header of eight bytes has four digits at most");
    let digit = |unit: usize| b'0' + (len / unit % 10) as u8;
    ([b'$', digit(1000), digit(100), digit(10), digit(1), b'\r', b'\n', 0], 7)
}

/// What ends a bulk string.
pub const BULK_END: [u8; 2] = *b"\r\n";

/// Numbers below this have their header in a table.
pub(super) const SHORT_HEADERS: usize = 1024;

/// `?1023\r\n` for each small number, in the order of the bytes; the first one is left to the kind,
/// the last one, which is never needed, is the length.
static SHORT_HEADER_WORDS: [u64; SHORT_HEADERS] = {
    let mut table = [0; SHORT_HEADERS];
    let mut value = 0;
    while value < SHORT_HEADERS {
        let digits = if value >= 1000 {
            4
        } else if value >= 100 {
            3
        } else if value >= 10 {
            2
        } else {
            1
        };
        let mut bytes = [0; 8];
        let mut rest = value;
        let mut at = digits;
        while at > 0 {
            bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            at -= 1;
        }
        bytes[digits + 1] = b'\r';
        bytes[digits + 2] = b'\n';
        bytes[7] = digits as u8 + 3;
        table[value] = u64::from_le_bytes(bytes);
        value += 1;
    }
    table
};
