//! One element: its bytes between two lengths, so that a walk can go either way.
//!
//! ```text
//!   up to 253 bytes   len u8 | bytes | len u8
//!   longer            254 u8, len u32 | bytes | len u32, 254 u8
//! ```
//! A set, which is never walked backwards, leaves the second length out.
//!
//! A length is written in one way only. Who reads without a lock and has lost a race may find another:
//! 255, or a long form of what is short. That is no element, lest its two ends be looked for in
//! different places.

use super::Bytes;

const LONG: u8 = 254;
const SHORT_BYTES_MAX: usize = 253;

/// Where an element's bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub at: usize,
    pub len: usize,
}

impl Span {
    pub fn end(&self) -> usize {
        self.at + self.len
    }

    /// Where the entry begins: with its first length.
    pub fn first(&self) -> usize {
        self.at - length_bytes(self.len)
    }

    /// Where the entry ends: behind its second length.
    pub fn last(&self) -> usize {
        self.end() + length_bytes(self.len)
    }

    pub fn is<B: Bytes>(&self, bytes: &B, element: &[u8]) -> bool {
        self.len == element.len() && bytes.has(self.at, element)
    }

    pub fn read<B: Bytes>(&self, bytes: &B) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len);
        bytes.copy(self.at, self.len, &mut out);
        out
    }
}

/// Bytes of one of the lengths of an element.
pub fn length_bytes(len: usize) -> usize {
    if len <= SHORT_BYTES_MAX { 1 } else { 5 }
}

/// Bytes of an entry with both lengths.
pub fn entry_bytes(len: usize) -> usize {
    len + 2 * length_bytes(len)
}

/// Appends an entry with both lengths.
pub fn push(element: &[u8], out: &mut Vec<u8>) {
    push_first(element, out);
    if element.len() <= SHORT_BYTES_MAX {
        out.push(element.len() as u8);
    } else {
        out.extend_from_slice(&(element.len() as u32).to_le_bytes());
        out.push(LONG);
    }
}

/// Appends an entry with the first length only.
pub fn push_first(element: &[u8], out: &mut Vec<u8>) {
    if element.len() <= SHORT_BYTES_MAX {
        out.push(element.len() as u8);
    } else {
        out.push(LONG);
        out.extend_from_slice(&(element.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(element);
}

/// The element whose first length stands at `at`.
#[inline]
pub fn read<B: Bytes>(bytes: &B, at: usize) -> Option<Span> {
    let (lengths, len) = match bytes.u8_at(at) {
        LONG => (5, bytes.u32_at(at + 1) as usize),
        len => (1, usize::from(len)),
    };
    let span = Span { at: at + lengths, len };
    (lengths == length_bytes(len) && span.end() <= bytes.len()).then_some(span)
}

/// The element whose second length ends at `end`.
#[inline]
pub fn read_back<B: Bytes>(bytes: &B, end: usize) -> Option<Span> {
    let (len, lengths) = match bytes.u8_at(end.checked_sub(1)?) {
        LONG => (bytes.u32_at(end.checked_sub(5)?) as usize, 5),
        len => (usize::from(len), 1),
    };
    let at = end.checked_sub(lengths)?.checked_sub(len)?;
    let is_one = lengths == length_bytes(len) && at >= lengths && end <= bytes.len();
    is_one.then_some(Span { at, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_from_either_end() {
        for len in [0, 1, 253, 254, 255, 256, 70_000] {
            let element = vec![b'x'; len];
            let mut bytes = b"before".to_vec();
            push(&element, &mut bytes);
            assert_eq!(bytes.len(), 6 + entry_bytes(len));
            let span = read(&bytes, 6).unwrap();
            assert_eq!((span.first(), span.last()), (6, bytes.len()));
            assert_eq!(read_back(&bytes, bytes.len()), Some(span));
            assert!(span.is(&bytes, &element));
            assert_eq!(span.read(&bytes), element);
        }
    }

    #[test]
    fn nonsense_is_no_element() {
        let bytes = vec![200, 1, 2, 254, 255, 255, 255, 255, 254];
        for at in 0..20 {
            assert!(read(&bytes, at).is_none_or(|span| span.end() <= bytes.len()));
            assert!(read_back(&bytes, at).is_none_or(|span| span.last() <= bytes.len()));
        }
        assert_eq!(read(&bytes, 0), None);
        assert_eq!(read_back(&bytes, 9), None);
    }

    #[test]
    fn a_length_in_another_form_is_no_element() {
        // Where it begins would be reckoned from how long it is, and lie before the bytes.
        let mut bytes = vec![255];
        bytes.resize(400, 255);
        assert_eq!((read(&bytes, 0), read_back(&bytes, 300)), (None, None));
        let short_as_long = [254, 3, 0, 0, 0, b'a', b'b', b'c', 3, 0, 0, 0, 254].to_vec();
        assert_eq!((read(&short_as_long, 0), read_back(&short_as_long, 13)), (None, None));
    }
}
