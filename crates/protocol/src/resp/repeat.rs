//! What one request after the other begins with: a client that sends GET sends GET again.
//!
//! ```text
//!   *2\r\n$3\r\nGET\r\n $16\r\n...
//!   `----- head ----'                 at most 16 bytes: one compare
//! ```
//! Equal heads have the same number of arguments and the same command, byte for byte, so that
//! whoever has looked the command up once need not do so again.

use super::args::{ArgRange, ArgVec, Few, SHORT_ARGS_MAX};
use super::parse::short_header;
use std::hint::cold_path;

const HEAD_BYTES_MAX: usize = 16;

/// The head of some request that was parsed before. Empty at first, which is like no request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeat {
    head: u128,
    mask: u128,
    /// Where the argument behind the name begins; 0 = nothing was learnt.
    next: usize,
    count: usize,
    name: ArgRange,
    /// Of the arguments behind the name, the first two.
    headers: [LastHeader; 2],
}

/// The header of an argument of the last such request: most often the next one's is as long.
#[derive(Clone, Copy, Debug)]
struct LastHeader {
    bytes: u64,
    /// Of the bytes those that are the header's.
    mask: u64,
    len: usize,
    header: usize,
}

impl Default for LastHeader {
    /// Like no header: nothing masked is 1.
    fn default() -> LastHeader {
        LastHeader { bytes: 1, mask: 0, len: 0, header: 0 }
    }
}

impl LastHeader {
    /// As `short_header`.
    #[inline(always)]
    fn read(&mut self, input: &[u8], at: usize) -> Option<(usize, usize)> {
        let bytes = u64::from_le_bytes(*input.get(at..)?.first_chunk()?);
        if bytes & self.mask != self.bytes {
            cold_path();
            let (len, header) = short_header(input, at)?;
            // Four digits at most: seven bytes.
            let mask = (1 << (8 * header)) - 1;
            *self = LastHeader { bytes: bytes & mask, mask, len, header };
        }
        Some((self.len, self.header))
    }
}

impl Repeat {
    /// The head of a whole request whose arguments are `args`. Empty if it is too long.
    pub fn of(input: &[u8], args: &ArgVec) -> Repeat {
        let (Some(bytes), Some(name)) = (input.first_chunk::<HEAD_BYTES_MAX>(), args.first_range())
        else {
            return Repeat::default();
        };
        let (start, len) = name.parts();
        let next = start + len + 2;
        let is_short = (1..=SHORT_ARGS_MAX).contains(&args.len()) && next <= HEAD_BYTES_MAX;
        if !is_short || bytes[0] != b'*' {
            return Repeat::default();
        }
        let mask = u128::MAX >> (8 * (HEAD_BYTES_MAX - next));
        let head = u128::from_le_bytes(*bytes) & mask;
        let headers = [LastHeader::default(); 2];
        Repeat { head, mask, next, count: args.len(), name, headers }
    }

    /// Which of four places remembers a request: by a letter of its name, if that is short.
    #[inline(always)]
    pub fn place_of(input: &[u8]) -> usize {
        input.get(8).map_or(0, |byte| usize::from(byte >> 2) & 3)
    }

    /// Whether `input` begins with this head.
    #[inline(always)]
    fn is_of(&self, input: &[u8]) -> bool {
        let Some(bytes) = input.first_chunk::<HEAD_BYTES_MAX>() else { return false };
        self.next != 0 && u128::from_le_bytes(*bytes) & self.mask == self.head
    }

    /// Header of argument `index` behind the name.
    #[inline(always)]
    fn header(&mut self, index: usize, input: &[u8], at: usize) -> Option<(usize, usize)> {
        match self.headers.get_mut(index) {
            Some(last) => last.read(input, at),
            None => short_header(input, at),
        }
    }

    /// The arguments of a request with this head, if it has `N` and is that simple.
    #[inline(always)]
    pub(super) fn few<const N: usize>(&mut self, input: &[u8]) -> Option<Few<N>> {
        if self.count != N || !self.is_of(input) {
            return None;
        }
        let mut ranges = [self.name; N];
        let mut at = self.next;
        for (index, range) in ranges[1..].iter_mut().enumerate() {
            let (len, header) = self.header(index, input, at)?;
            *range = ArgRange::new(at + header, len);
            at += header + len + 2;
        }
        (at <= input.len()).then(|| Few::new(ranges))
    }

    /// As the short path of `parse`, for a request with this head. 0: it has another one, or is not
    /// that simple.
    #[inline(always)]
    pub(super) fn parse(&mut self, input: &[u8], args: &mut ArgVec) -> usize {
        if !self.is_of(input) {
            return 0;
        }
        let mut at = self.next;
        let ranges = &mut args.short()[..self.count];
        let Some((name, others)) = ranges.split_first_mut() else { return 0 };
        *name = self.name;
        for (index, range) in others.iter_mut().enumerate() {
            let Some((len, header)) = self.header(index, input, at) else { return 0 };
            let start = at + header;
            at = start + len + 2;
            *range = ArgRange::new(start, len);
        }
        // Headers were read within the input, so only the last argument can pass its end.
        if at > input.len() {
            return 0;
        }
        args.set_short(self.count);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, ParseState, parse, parse_few, parse_repeat};
    use super::*;
    use crate::Parse;

    fn learn(text: &[u8]) -> Repeat {
        let (mut state, mut args) = (ParseState::new(), ArgVec::new());
        let parsed = parse(text, &Limits::default(), &mut state, &mut args);
        assert_eq!(parsed, Parse::Complete { consumed: text.len() });
        Repeat::of(text, &args)
    }

    fn again(repeat: &Repeat, text: &[u8]) -> Option<Vec<Vec<u8>>> {
        let (mut state, mut args) = (ParseState::new(), ArgVec::new());
        let consumed = parse_repeat(text, &mut state, &mut args, &mut { *repeat });
        (consumed != 0 && consumed == text.len())
            .then(|| args.view(text).iter().map(<[u8]>::to_vec).collect())
    }

    fn few_of<const N: usize>(text: &[u8], repeat: &Repeat) -> Option<Few<N>> {
        parse_few(text, &mut ParseState::new(), &mut { *repeat })
    }

    #[test]
    fn the_same_command_is_read_by_its_head() {
        let get = learn(b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
        let read = again(&get, b"*2\r\n$3\r\nGET\r\n$12\r\nanother key!\r\n");
        assert_eq!(read, Some(vec![b"GET".to_vec(), b"another key!".to_vec()]));
        let set = learn(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n");
        let read = again(&set, b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$2\r\nvw\r\n");
        assert_eq!(read, Some(vec![b"SET".to_vec(), Vec::new(), b"vw".to_vec()]));
        let ping = learn(b"*2\r\n$4\r\nPING\r\n$1\r\nx\r\n");
        assert_eq!(
            again(&ping, b"*2\r\n$4\r\nPING\r\n$2\r\nyz\r\n").map(|args| args.len()),
            Some(2)
        );
    }

    #[test]
    fn requests_of_few_arguments_are_read_one_by_one() {
        let get = learn(b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
        let text = b"*2\r\n$3\r\nGET\r\n$12\r\nanother key!\r\n*2\r\n$3\r\nGET\r\n";
        let few = few_of::<2>(text, &get).expect("it is whole");
        assert_eq!((few.arg(1, text), few.request_len()), (&b"another key!"[..], text.len() - 13));
        let args: Vec<&[u8]> = few.view(text).iter().collect();
        assert_eq!(args, [&b"GET"[..], b"another key!"]);
        for cut in 0..few.request_len() {
            let few = few_of::<2>(&text[..cut], &get);
            assert!(few.is_none(), "the first {cut} bytes were taken for a request");
        }
        let set = learn(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n");
        let text = b"*3\r\n$3\r\nSET\r\n$2\r\nke\r\n$5\r\nvalue\r\n";
        let few = few_of::<3>(text, &set).expect("it is whole");
        assert_eq!((few.arg(1, text), few.arg(2, text)), (&b"ke"[..], &b"value"[..]));
        assert_eq!(few.request_len(), text.len());
        for cut in 0..text.len() {
            let few = few_of::<3>(&text[..cut], &set);
            assert!(few.is_none(), "the first {cut} bytes were taken for a request");
        }
        assert!(few_of::<2>(text, &set).is_none(), "it has a value");
    }

    #[test]
    fn arguments_may_be_as_long_as_the_last_or_not() {
        let mut set = learn(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n");
        let lengths = [3, 3, 1, 16, 16, 116, 1160, 1160, 9999, 3, 0, 0, 11, 1];
        for len in lengths {
            for other in lengths {
                let (key, value) = ("k".repeat(len), "v".repeat(other));
                let text = format!(
                    "*3\r\n$3\r\nSET\r\n${len}\r\n{key}\r\n${other}\r\n{value}\r\n+and more"
                );
                let text = text.as_bytes();
                let few: Few<3> = set.few(text).expect("it is whole");
                assert_eq!(
                    (few.arg(1, text), few.arg(2, text)),
                    (key.as_bytes(), value.as_bytes())
                );
                assert_eq!(few.request_len(), text.len() - 9);
                let (mut state, mut args) = (ParseState::new(), ArgVec::new());
                let consumed = parse_repeat(text, &mut state, &mut args, &mut set);
                assert_eq!((consumed, args.len()), (text.len() - 9, 3));
            }
        }
        let mut get = learn(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
        for header in ["$10000\r\n", "$1\n\n", "$-1\r\n", "$01\r\n", ":1\r\n", "$\r\n"] {
            let text = format!("*2\r\n$3\r\nGET\r\n{header}{:20000}", "");
            assert!(get.few::<2>(text.as_bytes()).is_none(), "{header:?}");
        }
    }

    #[test]
    fn whatever_differs_goes_the_long_way() {
        let get = learn(b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
        for text in [
            &b"*2\r\n$3\r\nget\r\n$3\r\nkey\r\n"[..],
            b"*3\r\n$3\r\nGET\r\n$3\r\nkey\r\n$1\r\nx\r\n",
            b"*2\r\n$4\r\nGETX\r\n$3\r\nkey\r\n",
            b"*2\r\n$3\r\nGET\r\n$3\r\nke",
            b"*2\r\n$3\r\nGET\r\n$03\r\nkey\r\n",
            b"*2\r\n$3\r\nGET\r\n:3\r\nkey\r\n",
            b"*2\r\n$3\r\nG",
            b"GET key and more of it\r\n",
            b"",
        ] {
            assert_eq!(again(&get, text), None, "{}", text.escape_ascii());
            assert!(few_of::<2>(text, &get).is_none());
        }
        assert_eq!(again(&Repeat::default(), &[0; 64]), None);
        let long = learn(b"*2\r\n$8\r\nGETRANGE\r\n$1\r\nx\r\n");
        assert_eq!(
            again(&long, b"*2\r\n$8\r\nGETRANGE\r\n$1\r\nx\r\n"),
            None,
            "its head is too long"
        );
        assert_eq!(
            again(&learn(b"GET a-key-typed-by-hand\r\n"), b"GET a-key-typed-by-hand\r\n"),
            None
        );
    }
}
