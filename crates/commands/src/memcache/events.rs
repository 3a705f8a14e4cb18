//! What `watch` shows: one line for each thing that happens, in Memcached's form.
//!
//! ```text
//!   ts=1.000001 gid=7 type=item_get key=k status=found clsid=1 cfd=26 size=5
//!   ts=1.000002 gid=8 type=item_store key=k status=stored cmd=set ttl=0 clsid=1 cfd=26 size=5
//!   ts=1.000003 gid=9 type=eviction key=k fetch=no ttl=-1 la=3 clsid=1 size=5
//!   ts=1.000004 gid=10 type=conn_close rip=127.0.0.1 rport=4 transport=tcp reason=normal cfd=26
//! ```
//! Whether anybody watches is one number that a command looks at; no line is made for nobody.

use super::store::{Mode, Outcome};
use super::{McContext, Settings};
use std::fmt::Write;

/// The streams, as bits.
pub mod stream {
    pub const FETCHERS: u32 = 1;
    pub const MUTATIONS: u32 = 1 << 1;
    pub const EVICTIONS: u32 = 1 << 2;
    pub const CONNECTIONS: u32 = 1 << 3;
    pub const DELETIONS: u32 = 1 << 4;
    pub const SYSTEM: u32 = 1 << 5;
    pub const RAW: u32 = 1 << 6;
}

/// The bit of a stream's name; `None`: there is no such stream.
pub(super) fn stream_of(name: &[u8]) -> Option<u32> {
    Some(match name {
        b"fetchers" => stream::FETCHERS,
        b"mutations" => stream::MUTATIONS,
        b"evictions" => stream::EVICTIONS,
        b"connevents" => stream::CONNECTIONS,
        b"deletions" => stream::DELETIONS,
        b"sysevents" => stream::SYSTEM,
        b"rawcmds" => stream::RAW,
        // Memcached's proxy is not part of this server: its streams stay silent.
        b"proxyreqs" | b"proxyevents" | b"proxyuser" => 0,
        _ => return None,
    })
}

/// Keys are written as in a URI.
pub fn push_key(line: &mut String, key: &[u8]) {
    for byte in key {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                line.push(char::from(*byte));
            }
            // A String takes whatever is written to it.
            _ => drop(write!(line, "%{byte:02X}")),
        }
    }
}

/// What became of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// Length of the value, and whether the item has client flags.
    Found(usize, bool),
    Missed,
}

impl McContext<'_> {
    #[inline(always)]
    pub(super) fn is_watched(&self, streams: u32) -> bool {
        self.watched & streams != 0
    }

    /// A lookup, for `watch fetchers`.
    #[inline(always)]
    pub(super) fn note_fetch(&self, key: &[u8], fetched: Fetched) {
        if self.is_watched(stream::FETCHERS) {
            self.tell_fetch(key, fetched);
        }
    }

    #[cold]
    fn tell_fetch(&self, key: &[u8], fetched: Fetched) {
        let settings = self.server.settings();
        let (status, class, size) = match fetched {
            Fetched::Found(len, flags) => ("found", class(settings, key, len, flags), len),
            Fetched::Missed => ("not_found", 0, 0),
        };
        let mut line = String::from("type=item_get key=");
        push_key(&mut line, key);
        let fd = self.client.fd;
        let _ = write!(line, " status={status} clsid={class} cfd={fd} size={size}");
        self.server.tell(stream::FETCHERS, &line);
    }

    /// A store, for `watch mutations`. Memcached looks before it stores, and shows that too. Of a value
    /// that is too large it shows neither length nor time to live.
    #[inline(always)]
    pub(super) fn note_store(&self, key: &[u8], mode: Mode, ttl: i64, len: usize, out: Outcome) {
        if self.is_watched(stream::MUTATIONS) {
            self.tell_store(key, mode, ttl, len, out);
        }
    }

    #[cold]
    fn tell_store(&self, key: &[u8], mode: Mode, ttl: i64, len: usize, outcome: Outcome) {
        let status = match outcome {
            Outcome::Stored(_) => "stored",
            Outcome::NotStored => "not_stored",
            Outcome::Exists => "exists",
            Outcome::NotFound => "not_found",
            Outcome::NoMemory => "no_memory",
            Outcome::TooLarge => "too_large",
            Outcome::NotAString => "not_stored",
        };
        let command = match mode {
            Mode::Set => "set",
            Mode::Add => "add",
            Mode::Replace => "replace",
            Mode::Append => "append",
            Mode::Prepend => "prepend",
            Mode::Cas => "cas",
        };
        let class = match outcome {
            // None has room for it.
            Outcome::TooLarge => 0,
            _ => class(self.server.settings(), key, len, false),
        };
        let mut line = String::from("type=item_store key=");
        push_key(&mut line, key);
        let (fd, ttl) = (self.client.fd, ttl.max(0));
        let _ = write!(
            line,
            " status={status} cmd={command} ttl={ttl} clsid={class} cfd={fd} size={len}"
        );
        self.server.tell(stream::MUTATIONS, &line);
    }

    /// A delete, for `watch deletions`.
    #[inline(always)]
    pub(super) fn note_delete(&self, key: &[u8], was_there: bool) {
        if self.is_watched(stream::DELETIONS) {
            let mut line = String::from("type=deleted key=");
            push_key(&mut line, key);
            let status = if was_there { "deleted" } else { "not_found" };
            let fd = self.client.fd;
            let _ = write!(line, " cmd=delete status={status} cfd={fd}");
            self.server.tell(stream::DELETIONS, &line);
        }
    }
}

/// The class that Memcached would keep such an item in.
fn class(settings: &Settings, key: &[u8], len: usize, has_flags: bool) -> usize {
    let classes = &settings.classes;
    classes.class_of(classes.item_bytes(key.len(), len, has_flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_escaped_as_in_a_uri() {
        let mut line = String::new();
        push_key(&mut line, b"a-Z_0.~#\xff ");
        assert_eq!(line, "a-Z_0.~%23%FF%20");
    }
}
