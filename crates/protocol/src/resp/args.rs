//! The arguments of one request, as ranges into the bytes it came from.

use crate::limits::ARGS_KEPT;

/// Where one argument lies, from its request's first byte: start and length, 32 bits each.
///
/// One word and not two fields: written as two and read as one, the read would wait for the writes
/// to leave the processor's store buffer, and a command reads its key at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ArgRange(u64);

impl ArgRange {
    #[inline]
    pub(crate) fn new(start: usize, len: usize) -> Self {
        Self((start as u64) << 32 | len as u64)
    }

    #[inline(always)]
    pub(crate) fn parts(self) -> (usize, usize) {
        ((self.0 >> 32) as usize, self.0 as u32 as usize)
    }

    #[inline]
    fn of(self, bytes: &[u8]) -> &[u8] {
        let (start, len) = self.parts();
        &bytes[start..start + len]
    }
}

/// Arguments of a request that is read by the short path.
pub(crate) const SHORT_ARGS_MAX: usize = 9;

/// Room for the arguments of one request, to be used again for the next.
///
/// Holds no bytes of multibulk requests; pass the same input to [`view`](ArgVec::view) as was
/// parsed. Any number of connections may share one: an unfinished request is kept elsewhere, in
/// its connection's [`ParseState`](super::ParseState).
#[derive(Debug, Default)]
pub struct ArgVec {
    /// The first `count` are the request's; what lies behind is room, so that a short request is
    /// written without growing or measuring the vector.
    ranges: Vec<ArgRange>,
    count: usize,
    /// The arguments of an inline command, with quotes and escapes resolved.
    unquoted: Vec<u8>,
    /// Whether `ranges` point into `unquoted` and not into the input.
    inline: bool,
}

impl ArgVec {
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy that holds its bytes itself, for a request that outlives its input (MULTI queues
    /// it). Its [`view`](ArgVec::view) needs no input: pass an empty one.
    pub fn copy_of(args: &Args<'_>) -> Self {
        let mut copy = Self { inline: true, ..Self::default() };
        copy.ranges.reserve_exact(args.len());
        copy.unquoted.reserve_exact(args.iter().map(<[u8]>::len).sum());
        for arg in args.iter() {
            copy.ranges.push(ArgRange::new(copy.unquoted.len(), arg.len()));
            copy.unquoted.extend_from_slice(arg);
        }
        copy.count = copy.ranges.len();
        copy
    }

    /// Memory that a copy takes beside itself.
    pub fn kept_bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<ArgRange>() + self.unquoted.capacity()
    }

    /// Number of arguments, the command's name included. 0 after an empty line, `*0` or `*-1`.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The arguments themselves. `input` must begin at the byte where the parsed request began.
    #[inline]
    pub fn view<'a>(&'a self, input: &'a [u8]) -> Args<'a> {
        Args {
            bytes: if self.inline { &self.unquoted } else { input },
            ranges: &self.ranges[..self.count],
        }
    }

    /// Where the first argument lies in the input, if there is one and it lies there.
    pub(crate) fn first_range(&self) -> Option<ArgRange> {
        if self.inline { None } else { self.ranges[..self.count].first().copied() }
    }

    /// Room for a short request; what is written there counts after [`set_short`](Self::set_short).
    #[inline(always)]
    pub(crate) fn short(&mut self) -> &mut [ArgRange; SHORT_ARGS_MAX] {
        if self.ranges.len() < SHORT_ARGS_MAX {
            self.make_room();
        }
        match self.ranges.first_chunk_mut() {
            Some(room) => room,
            None => unreachable!("room was just made"),
        }
    }

    #[cold]
    fn make_room(&mut self) {
        self.ranges.resize(SHORT_ARGS_MAX, ArgRange::default());
    }

    /// Declares the first `count` of the short room to be the request's arguments.
    #[inline(always)]
    pub(crate) fn set_short(&mut self, count: usize) {
        self.count = count;
        self.inline = false;
    }

    /// No arguments, and multibulk until said otherwise.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.inline = false;
    }

    /// Takes the vector away, to gather a longer request in.
    pub(crate) fn take(&mut self) -> Vec<ArgRange> {
        self.clear();
        let mut ranges = std::mem::take(&mut self.ranges);
        if ranges.capacity() > ARGS_KEPT {
            ranges = Vec::new();
        }
        ranges.clear();
        ranges
    }

    /// Gives the vector back, full.
    pub(crate) fn put(&mut self, ranges: Vec<ArgRange>) {
        self.count = ranges.len();
        self.ranges = ranges;
    }

    /// Where an inline command's arguments are unquoted to: empty.
    pub(crate) fn unquoted(&mut self) -> &mut Vec<u8> {
        if self.unquoted.capacity() > ARGS_KEPT {
            self.unquoted = Vec::new();
        }
        self.unquoted.clear();
        self.inline = true;
        &mut self.unquoted
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
        self.ranges[index].of(self.bytes)
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
        self.ranges.iter().map(move |range| range.of(bytes))
    }
}

/// The arguments of a request that has just `N` of them, its name included: what is kept of one of
/// many requests.
#[derive(Debug, Clone, Copy)]
pub struct Few<const N: usize>([ArgRange; N]);

impl<const N: usize> Few<N> {
    #[inline(always)]
    pub(crate) fn new(ranges: [ArgRange; N]) -> Self {
        const { assert!(N > 0, "a request has a name") };
        Self(ranges)
    }

    /// Bytes of the request that they are of.
    #[inline(always)]
    pub fn request_len(&self) -> usize {
        let (start, len) = self.0[N - 1].parts();
        start + len + 2
    }

    /// Argument `index`. `input` must begin where the request began.
    #[inline(always)]
    pub fn arg<'a>(&self, index: usize, input: &'a [u8]) -> &'a [u8] {
        self.0[index].of(input)
    }

    /// All of them. `input` must begin where the request began.
    #[inline]
    pub fn view<'a>(&'a self, input: &'a [u8]) -> Args<'a> {
        Args { bytes: input, ranges: &self.0 }
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
