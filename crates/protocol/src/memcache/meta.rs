//! The meta commands: `mg` get, `ms` set, `md` delete, `ma` arithmetic, `mn` no-op, `me` debug.
//!
//! ```text
//!   mg key v t Oabc\r\n                 flags of one letter, some with a token behind it
//!   ms key 5 T60 F7\r\n value\r\n       the data block's length stands before the flags
//!   mg Zm9v b v\r\n                     with b, the key is base64
//! ```
//! A reply repeats what was asked for in the order of the request, so the flags stay readable in
//! that order ([`Flags::iter`]) beside their parsed values.

use super::base64;
use super::line::{Split, Words, block_len, signed, unsigned, unsigned_32};
use super::parse::{Limits, MetaLine, Request, Understood};
use super::refusal::Refusal;
use crate::limits::{MEMCACHE_KEY_BYTES_MAX, META_OPAQUE_BYTES_MAX, META_WORDS_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Get,
    Set,
    Delete,
    Arithmetic,
    Debug,
}

/// One meta command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command<'a> {
    pub verb: Verb,
    pub key: Key<'a>,
    pub flags: Flags<'a>,
    /// The data block of `ms`; empty for the others.
    pub data: &'a [u8],
}

/// A key as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    text: &'a [u8],
    base64: bool,
}

/// Room for a decoded key: three bytes for each four of the longest.
pub type KeyBuffer = [u8; MEMCACHE_KEY_BYTES_MAX];

impl<'a> Key<'a> {
    /// As the client wrote it, to be repeated in the reply.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Whether it was written in base64 (flag `b`, to be repeated behind the key).
    pub fn is_base64(&self) -> bool {
        self.base64
    }

    /// The key itself.
    #[inline]
    pub fn bytes<'b>(&self, buffer: &'b mut KeyBuffer) -> &'b [u8]
    where
        'a: 'b,
    {
        if !self.base64 {
            return self.text;
        }
        let len = base64::decode(self.text, buffer).unwrap_or(0);
        &buffer[..len]
    }
}

/// The flags of a meta command, parsed, and in the order written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags<'a> {
    words: Words<'a>,
    seen: u128,
    /// `T`: time to live.
    pub exptime: i64,
    /// `N`: make the item on a miss, with this time to live.
    pub vivify: i64,
    /// `R`: win the right to recache when less than this is left.
    pub recache: i64,
    /// `F`: client flags.
    pub client_flags: u32,
    /// `C`: compare with this unique number.
    pub cas: u64,
    /// `D`: by how much `ma` counts.
    pub delta: u64,
    /// `J`: what `ma` starts with.
    pub initial: u64,
    /// `M`: the mode's letter, 0 if there is none.
    pub mode: u8,
}

impl<'a> Flags<'a> {
    fn new(words: Words<'a>) -> Self {
        Self {
            words,
            seen: 0,
            exptime: 0,
            vivify: 0,
            recache: 0,
            client_flags: 0,
            cas: 0,
            delta: 1,
            initial: 0,
            mode: 0,
        }
    }

    /// Whether a flag was given.
    #[inline]
    pub fn has(&self, letter: u8) -> bool {
        letter < 127 && self.seen >> letter & 1 == 1
    }

    /// The opaque token to be repeated, without its letter.
    pub fn opaque(&self) -> Option<&'a [u8]> {
        self.iter().find_map(|(letter, token)| (letter == b'O').then_some(token))
    }

    /// Letter and token of each flag, in the order written.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        self.words.filter_map(|word| Some((*word.first()?, &word[1..])))
    }
}

/// A line whose first word is `m` and one more letter.
pub(crate) fn command<'a>(line: &'a [u8], letter: u8, limits: &Limits) -> Understood<'a> {
    let verb = match letter {
        b'g' => Verb::Get,
        b's' => Verb::Set,
        b'd' => Verb::Delete,
        b'a' => Verb::Arithmetic,
        b'e' => Verb::Debug,
        b'n' => return Understood::Whole(Request::MetaNoop),
        _ => return Refusal::Unknown.into(),
    };
    let split = Split::new(line);
    let words = split.words();
    let Some(&text) = words.get(1) else {
        return match verb {
            Verb::Debug => Refusal::BadLine.into(),
            _ => Refusal::Unknown.into(),
        };
    };
    if text.len() > MEMCACHE_KEY_BYTES_MAX {
        return Refusal::BadLine.into();
    }
    match verb {
        Verb::Debug => debug(line, text),
        Verb::Set => set(line, text, words, limits),
        _ => {
            if words.len() > META_WORDS_MAX {
                return match verb {
                    Verb::Get => Refusal::TooManyFlagsGet.into(),
                    _ => Refusal::TooManyFlags.into(),
                };
            }
            let read = flags(after(line, 2), text).map_err(|refusal| match verb {
                Verb::Get => refusal,
                _ => Refusal::InvalidOrDuplicateFlag,
            });
            match read.and_then(|flags| check(verb, flags)) {
                Ok(flags) => Command { verb, key: flags.key(text), flags, data: &[] }.into(),
                Err(refusal) => refusal.into(),
            }
        }
    }
}

/// `me key [b]` looks at nothing else.
fn debug<'a>(line: &'a [u8], text: &'a [u8]) -> Understood<'a> {
    let mut rest = after(line, 2);
    let mut flags = Flags::new(rest);
    if rest.next() == Some(b"b") {
        if base64::decode(text, &mut [0; MEMCACHE_KEY_BYTES_MAX]).is_none() {
            return Refusal::BadLine.into();
        }
        flags.seen |= 1 << b'b';
    }
    Command { verb: Verb::Debug, key: flags.key(text), flags, data: &[] }.into()
}

/// `ms key length flags...`: once the length is known, a refused command's data block is skipped.
fn set<'a>(line: &'a [u8], text: &'a [u8], words: &[&'a [u8]], limits: &Limits) -> Understood<'a> {
    let Some(&len) = words.get(2) else { return Refusal::BadLine.into() };
    if words.len() > META_WORDS_MAX {
        return Refusal::TooManyFlags.into();
    }
    let Some(len) = block_len(len) else { return Refusal::BadLine.into() };
    let skip = |refusal| Understood::Skip {
        request: Request::Refused { refusal, noreply: false },
        block: len + 2,
    };
    let flags = match flags(after(line, 3), text).and_then(|flags| check(Verb::Set, flags)) {
        Ok(flags) => flags,
        Err(refusal) => return skip(refusal),
    };
    if len > limits.value_bytes_max {
        let request = Request::MetaTooLarge { key: flags.key(text) };
        return Understood::Skip { request, block: len + 2 };
    }
    Understood::MetaSet(MetaLine { key: flags.key(text), flags, len })
}

/// The line behind its first `count` words.
fn after(line: &[u8], count: usize) -> Words<'_> {
    let mut words = Words::new(line);
    for _ in 0..count {
        words.next();
    }
    words
}

impl<'a> Flags<'a> {
    fn key(&self, text: &'a [u8]) -> Key<'a> {
        Key { text, base64: self.has(b'b') }
    }
}

/// Reads all flags. An unknown or repeated one ends the reading; of malformed tokens the last
/// gives the reason, as in Memcached.
fn flags<'a>(words: Words<'a>, key: &[u8]) -> Result<Flags<'a>, Refusal> {
    let mut flags = Flags::new(words);
    let mut malformed = None;
    for (letter, token) in flags.iter() {
        if letter >= 127 || flags.has(letter) {
            return Err(Refusal::DuplicateFlag);
        }
        flags.seen |= 1 << letter;
        let mut number = |target: &mut i64| match signed(token) {
            Some(value) => *target = value,
            None => malformed = Some(Refusal::BadToken),
        };
        match letter {
            b'N' => number(&mut flags.vivify),
            b'T' => number(&mut flags.exptime),
            b'R' => number(&mut flags.recache),
            b'b' => {
                if base64::decode(key, &mut [0; MEMCACHE_KEY_BYTES_MAX]).is_none() {
                    malformed = Some(Refusal::KeyEncoding);
                }
            }
            b'F' => match unsigned_32(token) {
                Some(value) => flags.client_flags = value,
                None => malformed = malformed.or(Some(Refusal::BadLine)),
            },
            b'C' => match unsigned(token) {
                Some(value) => flags.cas = value,
                None => malformed = Some(Refusal::BadToken),
            },
            b'M' => match token {
                [mode] => flags.mode = *mode,
                _ => malformed = Some(Refusal::ModeLength),
            },
            b'J' => match unsigned(token) {
                Some(value) => flags.initial = value,
                None => malformed = Some(Refusal::InvalidInitial),
            },
            b'D' => match unsigned(token) {
                Some(value) => flags.delta = value,
                None => malformed = Some(Refusal::InvalidMetaDelta),
            },
            // Nothing to read; O, P and L carry tokens for others.
            b'l' | b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' | b'v' | b'h' | b'u'
            | b'q' | b'I' => {}
            _ => return Err(Refusal::InvalidFlag),
        }
    }
    malformed.map_or(Ok(flags), Err)
}

/// What depends on the command, in the order in which Memcached finds it.
fn check<'a>(verb: Verb, flags: Flags<'a>) -> Result<Flags<'a>, Refusal> {
    let mode_is_known = match verb {
        Verb::Set => matches!(flags.mode, 0 | b'E' | b'A' | b'P' | b'R' | b'S'),
        Verb::Arithmetic => matches!(flags.mode, 0 | b'I' | b'+' | b'D' | b'-'),
        _ => true,
    };
    match verb {
        Verb::Set if !mode_is_known => Err(Refusal::InvalidSetMode),
        Verb::Arithmetic if !mode_is_known => Err(Refusal::InvalidArithmeticMode),
        _ if flags.opaque().is_some_and(|token| token.len() > META_OPAQUE_BYTES_MAX) => {
            Err(Refusal::OpaqueTooLong)
        }
        _ => Ok(flags),
    }
}

impl<'a> From<Command<'a>> for Understood<'a> {
    fn from(command: Command<'a>) -> Self {
        Self::Whole(Request::Meta(command))
    }
}
