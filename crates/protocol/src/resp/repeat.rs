//! What one request after the other begins with: a client that sends GET sends GET again.
//!
//! ```text
//!   *2\r\n$3\r\nGET\r\n $16\r\n...
//!   `----- head ----'                 at most 16 bytes: one compare
//! ```
//! Equal heads have the same number of arguments and the same command, byte for byte, so that
//! whoever has looked the command up once need not do so again.

use super::args::{ArgRange, ArgVec, SHORT_ARGS_MAX};
use super::parse::short_header;

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
        Repeat { head, mask, next, count: args.len(), name }
    }

    /// Which of four places remembers a request: by a letter of its name, if that is short.
    #[inline(always)]
    pub fn place_of(input: &[u8]) -> usize {
        input.get(8).map_or(0, |byte| usize::from(byte >> 2) & 3)
    }

    /// As the short path of `parse`, for a request with this head. 0: it has another one, or is not
    /// that simple.
    #[inline(always)]
    pub(super) fn parse(&self, input: &[u8], args: &mut ArgVec) -> usize {
        let Some(bytes) = input.first_chunk::<HEAD_BYTES_MAX>() else { return 0 };
        if self.next == 0 || u128::from_le_bytes(*bytes) & self.mask != self.head {
            return 0;
        }
        let mut at = self.next;
        let ranges = &mut args.short()[..self.count];
        let Some((name, others)) = ranges.split_first_mut() else { return 0 };
        *name = self.name;
        for range in others {
            let Some((len, header)) = short_header(input, at) else { return 0 };
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
    use super::super::{Limits, ParseState, parse, parse_repeat};
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
        let consumed = parse_repeat(text, &mut state, &mut args, repeat);
        (consumed != 0 && consumed == text.len())
            .then(|| args.view(text).iter().map(<[u8]>::to_vec).collect())
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
