//! The arguments of one request, borrowed from the bytes they arrived in.
//!
//! A parser records where each argument lies (`start..end` in the input); nothing is copied until
//! a command needs to keep it.

/// Where one argument lies in the input: `start..end`.
pub type Span = (u32, u32);

#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    input: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    /// `spans` must lie within `input`; argument 0 is the command's name.
    pub fn new(input: &'a [u8], spans: &'a [Span]) -> Self {
        Args { input, spans }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The argument at `i`; the dispatcher has checked the arity, so a command may index.
    #[inline]
    pub fn at(&self, i: usize) -> &'a [u8] {
        let (start, end) = self.spans[i];
        &self.input[start as usize..end as usize]
    }

    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        (i < self.spans.len()).then(|| self.at(i))
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let args = *self;
        (0..args.len()).map(move |i| args.at(i))
    }

    /// The arguments from `i` on.
    pub fn from(&self, i: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let args = *self;
        (i..args.len()).map(move |i| args.at(i))
    }

    /// Is argument `i` this word, whatever its case? `word` is in upper case.
    pub fn is(&self, i: usize, word: &str) -> bool {
        self.at(i).eq_ignore_ascii_case(word.as_bytes())
    }
}
