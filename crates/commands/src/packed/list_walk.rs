//! Walking along the elements of a list, from either end.
//!
//! A walk over bytes that make no sense ends with them: each step goes on by at least a byte.

use super::Bytes;
use super::entry::{self, Span};

/// Elements from the front.
#[derive(Debug)]
pub struct Forward<'b, B> {
    bytes: &'b B,
    at: usize,
    end: usize,
}

impl<'b, B> Forward<'b, B> {
    pub(super) fn new(bytes: &'b B, at: usize, end: usize) -> Self {
        Forward { bytes, at, end }
    }
}

impl<'b, B: Bytes> Forward<'b, B> {
    /// Where the elements with those indices begin, which go up.
    pub(super) fn places(
        mut self,
        wanted: impl Iterator<Item = usize>,
    ) -> impl Iterator<Item = usize> {
        let mut passed = 0;
        wanted.map_while(move |index| {
            let span = self.nth(index - passed)?;
            passed = index + 1;
            Some(span.first())
        })
    }
}

impl<B: Bytes> Iterator for Forward<'_, B> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        if self.at >= self.end {
            return None;
        }
        let span = entry::read(self.bytes, self.at)?;
        self.at = span.last();
        Some(span)
    }
}

/// Elements from the back.
#[derive(Debug)]
pub struct Backward<'b, B> {
    bytes: &'b B,
    first: usize,
    end: usize,
}

impl<'b, B> Backward<'b, B> {
    pub(super) fn new(bytes: &'b B, first: usize, end: usize) -> Self {
        Backward { bytes, first, end }
    }
}

impl<B: Bytes> Iterator for Backward<'_, B> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        if self.end <= self.first {
            return None;
        }
        let span = entry::read_back(self.bytes, self.end)?;
        self.end = span.first();
        Some(span)
    }
}

/// The same entries, the last one first.
pub(super) fn reversed(entries: &Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len());
    for span in (Backward { bytes: entries, first: 0, end: entries.len() }) {
        out.extend_from_slice(&entries[span.first()..span.last()]);
    }
    out
}
