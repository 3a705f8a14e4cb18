//! The arguments of one request, as ranges into the bytes it came from.

use crate::limits::ARGS_KEPT;

/// Where one argument lies, from its request's first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArgRange {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// Room for the arguments of one request, to be used again for the next.
///
/// Holds no bytes of multibulk requests; pass the same input to [`view`](ArgVec::view) as was
/// parsed. Any number of connections may share one: an unfinished request is kept elsewhere, in
/// its connection's [`ParseState`](super::ParseState).
#[derive(Debug, Default)]
pub struct ArgVec {
    pub(crate) ranges: Vec<ArgRange>,
    /// The arguments of an inline command, with quotes and escapes resolved.
    pub(crate) unquoted: Vec<u8>,
    /// Whether `ranges` point into `unquoted` and not into the input.
    pub(crate) inline: bool,
}

impl ArgVec {
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy that holds its bytes itself, for a request that outlives its input (MULTI queues
    /// it). Its [`view`](ArgVec::view) needs no input: pass an empty one.
    pub fn copy_of(args: &Args<'_>) -> Self {
        let mut copy = Self { inline: true, ..Self::default() };
        for arg in args.iter() {
            let start = copy.unquoted.len() as u32;
            copy.unquoted.extend_from_slice(arg);
            copy.ranges.push(ArgRange { start, len: arg.len() as u32 });
        }
        copy
    }

    /// Number of arguments, the command's name included. 0 after an empty line, `*0` or `*-1`.
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The arguments themselves. `input` must begin at the byte where the parsed request began.
    #[inline]
    pub fn view<'a>(&'a self, input: &'a [u8]) -> Args<'a> {
        Args { bytes: if self.inline { &self.unquoted } else { input }, ranges: &self.ranges }
    }

    #[inline]
    pub(crate) fn start(&mut self) {
        self.ranges.clear();
        self.inline = false;
    }

    /// Gives back the memory that an unusually long request took.
    pub(crate) fn shrink(&mut self) {
        if self.ranges.capacity() > ARGS_KEPT {
            self.ranges = Vec::new();
        }
        if self.unquoted.capacity() > ARGS_KEPT {
            self.unquoted = Vec::new();
        }
    }
}

/// One request's arguments: cheap to copy, borrows everything.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    bytes: &'a [u8],
    ranges: &'a [ArgRange],
}

impl<'a> Args<'a> {
    /// Number of arguments, the command's name included.
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Argument `index`; the command's name is number 0.
    ///
    /// # Panics
    /// If there is no such argument: arity is checked once, before a command looks at any.
    #[inline]
    pub fn arg(&self, index: usize) -> &'a [u8] {
        let ArgRange { start, len } = self.ranges[index];
        &self.bytes[start as usize..][..len as usize]
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        (index < self.len()).then(|| self.arg(index))
    }

    /// The command's name as the client wrote it.
    #[inline]
    pub fn first(&self) -> Option<&'a [u8]> {
        self.get(0)
    }

    /// The arguments from number `index` on; empty if there are none.
    #[inline]
    pub fn from(&self, index: usize) -> Args<'a> {
        Args { bytes: self.bytes, ranges: self.ranges.get(index..).unwrap_or_default() }
    }

    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.ranges.iter().map(move |range| &bytes[range.start as usize..][..range.len as usize])
    }
}

impl std::fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|arg| arg.escape_ascii().to_string())).finish()
    }
}

impl std::ops::Index<usize> for Args<'_> {
    type Output = [u8];

    #[inline]
    fn index(&self, index: usize) -> &[u8] {
        self.arg(index)
    }
}
