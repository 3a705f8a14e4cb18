//! The classic text commands: from a line's words to what they ask for.

use super::line::{Keys, Split, Words, block_len, signed, unsigned, unsigned_32};
use super::parse::{Limits, Request, StoreLine, Understood};
use super::refusal::Refusal;
use crate::limits::MEMCACHE_KEY_BYTES_MAX;

/// How a value is to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreVerb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// Only if the item still has this unique number.
    Cas(u64),
}

/// A command of the classic protocol. Times are as the client gave them: 0 is never, up to 30 days
/// counts from now, more is a Unix time, negative is at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// `get`, and with `cas` `gets`.
    Get {
        keys: Keys<'a>,
        cas: bool,
    },
    /// `gat`, and with `cas` `gats`.
    GetAndTouch {
        exptime: i64,
        keys: Keys<'a>,
        cas: bool,
    },
    Store {
        verb: StoreVerb,
        key: &'a [u8],
        flags: u32,
        exptime: i64,
        data: &'a [u8],
        noreply: bool,
    },
    /// `incr`, or `decr`.
    Arithmetic {
        incr: bool,
        key: &'a [u8],
        delta: u64,
        noreply: bool,
    },
    Delete {
        key: &'a [u8],
        noreply: bool,
    },
    Touch {
        key: &'a [u8],
        exptime: i64,
        noreply: bool,
    },
    FlushAll {
        delay: i64,
        noreply: bool,
    },
    Stats {
        arguments: Words<'a>,
    },
    Version,
    Verbosity {
        level: u32,
        noreply: bool,
    },
    /// `cache_memlimit`, in MiB.
    MemoryLimit {
        mebibytes: u64,
        noreply: bool,
    },
    Quit,
    Shutdown {
        graceful: bool,
    },
    /// `slabs`, `lru`, `lru_crawler`, `watch`, `extstore`, `refresh_certs`: known by name, their
    /// meaning left to upper layers. `name` and `arguments` as written.
    Administration {
        name: &'a [u8],
        arguments: Words<'a>,
    },
}

/// A retrieval's line, the most frequent one: `get key`, with any number of keys.
///
/// Answers `None` if the line is something else.
#[inline]
pub(crate) fn retrieval<'a>(line: &'a [u8], limits: &Limits) -> Option<Understood<'a>> {
    let mut words = Words::new(line);
    let (touch, cas) = match words.next()? {
        b"get" | b"bget" => (false, false),
        b"gets" => (false, true),
        b"gat" => (true, false),
        b"gats" => (true, true),
        _ => return None,
    };
    let mut keys = words;
    if keys.clone().next().is_none() {
        return Some(Refusal::Unknown.into());
    }
    let mut exptime = 0;
    if touch {
        match keys.next().and_then(signed) {
            Some(time) => exptime = time,
            None => return Some(Refusal::InvalidExptime.into()),
        }
    }
    keys.skip_blanks();
    // Memcached drops the whole reply when any of the keys is too long.
    let short = keys.rest().len() <= MEMCACHE_KEY_BYTES_MAX;
    if !short && keys.clone().any(|key| key.len() > MEMCACHE_KEY_BYTES_MAX) {
        return Some(Refusal::BadLine.into());
    }
    if limits.keys_max != usize::MAX && keys.count() > limits.keys_max {
        return Some(Refusal::TooManyKeys.into());
    }
    Some(Understood::Whole(Request::Text(match touch {
        true => Command::GetAndTouch { exptime, keys, cas },
        false => Command::Get { keys, cas },
    })))
}

/// Any other line of the classic protocol.
pub(crate) fn command<'a>(line: &'a [u8], limits: &Limits) -> Understood<'a> {
    let split = Split::new(line);
    let words = split.words();
    let Some(&name) = words.first() else { return Refusal::Unknown.into() };
    let arguments = || {
        let mut rest = Words::new(line);
        rest.next();
        rest
    };
    let noreply = words.last() == Some(&&b"noreply"[..]);
    // Once a command's form is known, `noreply` silences refusals too, as in Memcached.
    let refuse = |refusal| Understood::Whole(Request::Refused { refusal, noreply });
    match (name, words.len()) {
        (b"set", 5 | 6) => store(words, StoreVerb::Set, noreply, limits),
        (b"add", 5 | 6) => store(words, StoreVerb::Add, noreply, limits),
        (b"replace", 5 | 6) => store(words, StoreVerb::Replace, noreply, limits),
        (b"append", 5 | 6) => store(words, StoreVerb::Append, noreply, limits),
        (b"prepend", 5 | 6) => store(words, StoreVerb::Prepend, noreply, limits),
        (b"cas", 6 | 7) => store(words, StoreVerb::Cas(0), noreply, limits),
        (b"incr" | b"decr", 3 | 4) => {
            let (key, incr) = (words[1], name == b"incr");
            if key.len() > MEMCACHE_KEY_BYTES_MAX {
                return refuse(Refusal::BadLine);
            }
            match unsigned(words[2]) {
                Some(delta) => Command::Arithmetic { incr, key, delta, noreply }.into(),
                None => refuse(Refusal::InvalidDelta),
            }
        }
        (b"delete", 2..=4) => delete(words),
        (b"touch", 3 | 4) => {
            let key = words[1];
            if key.len() > MEMCACHE_KEY_BYTES_MAX {
                return refuse(Refusal::BadLine);
            }
            match signed(words[2]) {
                Some(exptime) => Command::Touch { key, exptime, noreply }.into(),
                None => refuse(Refusal::InvalidExptime),
            }
        }
        (b"flush_all", len @ 1..=3) => {
            if len == if noreply { 2 } else { 1 } {
                return Command::FlushAll { delay: 0, noreply }.into();
            }
            match signed(words[1]) {
                Some(delay) => Command::FlushAll { delay, noreply }.into(),
                None => refuse(Refusal::InvalidExptime),
            }
        }
        (b"verbosity", 2 | 3) => match unsigned_32(words[1]) {
            Some(level) => Command::Verbosity { level, noreply }.into(),
            None => refuse(Refusal::BadLine),
        },
        (b"cache_memlimit", 2 | 3) => match unsigned(words[1]) {
            Some(mebibytes) => Command::MemoryLimit { mebibytes, noreply }.into(),
            None => refuse(Refusal::Unknown),
        },
        (b"stats", _) => Command::Stats { arguments: arguments() }.into(),
        (b"version", _) => Command::Version.into(),
        (b"quit", _) => Command::Quit.into(),
        (b"shutdown", 1) => Command::Shutdown { graceful: false }.into(),
        (b"shutdown", 2) if words[1] == b"graceful" => Command::Shutdown { graceful: true }.into(),
        (b"shutdown", _) => Refusal::InvalidShutdownMode.into(),
        (b"slabs" | b"lru" | b"lru_crawler" | b"watch" | b"extstore" | b"refresh_certs", _) => {
            Command::Administration { name, arguments: arguments() }.into()
        }
        _ => Refusal::Unknown.into(),
    }
}

/// `set key flags exptime length [unique] [noreply]`, whose data block follows the line.
fn store<'a>(
    words: &[&'a [u8]],
    verb: StoreVerb,
    noreply: bool,
    limits: &Limits,
) -> Understood<'a> {
    let bad = Understood::Whole(Request::Refused { refusal: Refusal::BadLine, noreply });
    let key = words[1];
    if key.len() > MEMCACHE_KEY_BYTES_MAX {
        return bad;
    }
    let (Some(flags), Some(exptime), Some(len)) =
        (unsigned_32(words[2]), signed(words[3]), block_len(words[4]))
    else {
        return bad;
    };
    let verb = match verb {
        StoreVerb::Cas(_) => match unsigned(words[5]) {
            Some(unique) => StoreVerb::Cas(unique),
            None => return bad,
        },
        other => other,
    };
    if len > limits.value_bytes_max {
        // Memcached deletes the item that a set could not replace: the caller is told its key.
        let request = Request::TooLarge { set: verb == StoreVerb::Set, key, noreply };
        return Understood::Skip { request, block: len + 2 };
    }
    Understood::Store(StoreLine { verb, key, flags, exptime, len, noreply })
}

/// `delete key [0] [noreply]`: the time argument is legacy and must be 0.
fn delete<'a>(words: &[&'a [u8]]) -> Understood<'a> {
    let key = words[1];
    let noreply = match words[2..] {
        [] => false,
        [b"noreply"] => true,
        [b"0"] => false,
        [b"0", b"noreply"] => true,
        // Even refused, `noreply` in the last place is heeded.
        [.., last] => {
            let refusal = Refusal::BadDeleteLine;
            return Understood::Whole(Request::Refused { refusal, noreply: last == b"noreply" });
        }
    };
    if key.len() > MEMCACHE_KEY_BYTES_MAX {
        return Understood::Whole(Request::Refused { refusal: Refusal::BadLine, noreply });
    }
    Command::Delete { key, noreply }.into()
}

impl<'a> From<Command<'a>> for Understood<'a> {
    fn from(command: Command<'a>) -> Self {
        Self::Whole(Request::Text(command))
    }
}
