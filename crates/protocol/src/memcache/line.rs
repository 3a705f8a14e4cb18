//! One command line: its end, its words, its numbers.

use memchr::memchr;

/// The words of a line: what lies between blanks (0x20 alone; a tab is part of a word).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// Moves to the next word's first byte.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// What has not been split yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr(b' ', self.rest).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word)
    }
}

/// The keys of a retrieval, each of a length that was checked.
pub type Keys<'a> = Words<'a>;

/// The most words of a line that is not a retrieval, as in Memcached.
pub(crate) const WORDS_MAX: usize = 24;

/// A line split for commands of a fixed form.
#[derive(Debug)]
pub(crate) struct Split<'a> {
    words: [&'a [u8]; WORDS_MAX],
    len: usize,
}

impl<'a> Split<'a> {
    #[inline]
    pub(crate) fn new(line: &'a [u8]) -> Self {
        let mut split = Self { words: [&[]; WORDS_MAX], len: 0 };
        for (slot, word) in split.words.iter_mut().zip(Words::new(line)) {
            *slot = word;
            split.len += 1;
        }
        split
    }

    /// All words; as many as [`WORDS_MAX`] mean that there may be more.
    #[inline]
    pub(crate) fn words(&self) -> &[&'a [u8]] {
        &self.words[..self.len]
    }
}

/// Where the line of a command ends, and where the next begins.
#[inline]
pub(crate) fn strip_return(line: &[u8]) -> &[u8] {
    match line {
        // A lone CR is kept: it is a word of one byte, hence an error, as in Memcached.
        [.., _, b'\r'] => &line[..line.len() - 1],
        _ => line,
    }
}

/// A signed number as C's `strtol` reads it: blanks and one sign before, all digits.
pub(crate) fn signed(word: &[u8]) -> Option<i64> {
    let (negative, magnitude) = sign_and_magnitude(word)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// An unsigned number of 64 bits.
pub(crate) fn unsigned(word: &[u8]) -> Option<u64> {
    match sign_and_magnitude(word)? {
        (true, magnitude) => negated(magnitude),
        (false, magnitude) => Some(magnitude),
    }
}

/// What C's strtoull makes of a number behind a minus: 2^64 less it. Memcached takes that for a number
/// if it is no negative one when it is read as a signed one, as for -0.
pub fn negated(magnitude: u64) -> Option<u64> {
    let number = magnitude.wrapping_neg();
    (number <= i64::MAX as u64).then_some(number)
}

/// An unsigned number of 32 bits.
pub(crate) fn unsigned_32(word: &[u8]) -> Option<u32> {
    u32::try_from(unsigned(word)?).ok()
}

/// The length of a data block.
pub(crate) fn block_len(word: &[u8]) -> Option<usize> {
    const BLOCK_BYTES_MOST: i64 = i32::MAX as i64 - 2;
    match signed(word)? {
        len @ 0..=BLOCK_BYTES_MOST => Some(len as usize),
        _ => None,
    }
}

fn sign_and_magnitude(word: &[u8]) -> Option<(bool, u64)> {
    let blanks = word.iter().take_while(|byte| is_blank(**byte)).count();
    let (negative, digits) = match &word[blanks..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    // What stands behind a blank within the word is not looked at, as in Memcached.
    let end = digits.iter().position(|byte| is_blank(*byte)).unwrap_or(digits.len());
    Some((negative, crate::number::parse_digits(&digits[..end])?))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lie_between_blanks() {
        let words: Vec<&[u8]> = Words::new(b"  get  a\tb c ").collect();
        assert_eq!(words, [&b"get"[..], b"a\tb", b"c"]);
        assert_eq!(Words::new(b"   ").count(), 0);
        assert_eq!(Split::new(&b"x ".repeat(40)).words().len(), WORDS_MAX);
    }

    #[test]
    fn numbers_are_read_as_memcached_reads_them() {
        assert_eq!(signed(b"-1"), Some(-1));
        assert_eq!(signed(b"+007"), Some(7));
        assert_eq!(signed(b"\t7"), Some(7));
        assert_eq!(signed(b"7\rx"), Some(7));
        assert_eq!(signed(b"7x"), None);
        assert_eq!(signed(b""), None);
        assert_eq!(signed(b"-"), None);
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b"-1"), None);
        assert_eq!(unsigned(b"-0"), Some(0));
        assert_eq!(unsigned(b"-18446744073709551615"), Some(1));
        assert_eq!(unsigned(b"-9223372036854775808"), None);
        assert_eq!(unsigned_32(b"4294967295"), Some(u32::MAX));
        assert_eq!(unsigned_32(b"4294967296"), None);
        assert_eq!(block_len(b"2147483645"), Some(2_147_483_645));
        assert_eq!(block_len(b"2147483646"), None);
        assert_eq!(block_len(b"-1"), None);
    }

    #[test]
    fn one_return_belongs_to_the_line_end() {
        assert_eq!(strip_return(b"get a\r"), b"get a");
        assert_eq!(strip_return(b"get a\r\r"), b"get a\r");
        assert_eq!(strip_return(b"\r"), b"\r");
        assert_eq!(strip_return(b""), b"");
    }
}
