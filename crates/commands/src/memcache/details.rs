//! `stats detail`: counts by the part of the key before a delimiter.
//!
//! ```text
//!   stats detail on         count from now on (also `-D`)
//!   stats detail dump       PREFIX user get 2 hit 1 set 1 del 0\r\n ... END\r\n
//! ```

use super::McContext;
use dolium_protocol::memcache::{Words, write};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Different prefixes that are counted: more come from keys that have none.
const PREFIXES_MAX: usize = 10_000;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    get: u64,
    hit: u64,
    set: u64,
    delete: u64,
}

/// What is counted for a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    Get { hit: bool },
    Set,
    Delete,
}

#[derive(Debug, Default)]
pub struct Details {
    prefixes: Mutex<BTreeMap<Vec<u8>, Counts>>,
}

impl Details {
    pub fn note(&self, delimiter: u8, key: &[u8], did: Did) {
        let Some(end) = key.iter().position(|byte| *byte == delimiter) else { return };
        let mut prefixes = self.lock();
        if prefixes.len() >= PREFIXES_MAX && !prefixes.contains_key(&key[..end]) {
            return;
        }
        let counts = prefixes.entry(key[..end].to_vec()).or_default();
        match did {
            Did::Get { hit } => {
                counts.get += 1;
                counts.hit += u64::from(hit);
            }
            Did::Set => counts.set += 1,
            Did::Delete => counts.delete += 1,
        }
    }

    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Vec<u8>, Counts>> {
        self.prefixes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `stats detail dump` and the binary protocol's `detail dump` show.
    pub fn dump(&self, out: &mut Vec<u8>) {
        for (prefix, counts) in self.lock().iter() {
            let Counts { get, hit, set, delete } = counts;
            out.extend_from_slice(b"PREFIX ");
            out.extend_from_slice(prefix);
            let text = format!(" get {get} hit {hit} set {set} del {delete}\r\n");
            out.extend_from_slice(text.as_bytes());
        }
    }
}

impl McContext<'_> {
    /// Counts for `stats detail`, if that is on.
    #[inline(always)]
    pub(super) fn note_detail(&self, key: &[u8], did: Did) {
        if self.is_watched(super::DETAILS_ON) {
            self.count_detail(key, did);
        }
    }

    #[cold]
    fn count_detail(&self, key: &[u8], did: Did) {
        let delimiter = self.server.settings().fixed.prefix_delimiter;
        self.server.details().note(delimiter, key, did);
    }
}

pub(super) fn command(context: &mut McContext<'_>, mut arguments: Words<'_>) {
    let is_on = match arguments.next() {
        Some(b"on") => true,
        Some(b"off") => false,
        Some(b"dump") => {
            context.server.details().dump(context.out);
            return write::end(context.out);
        }
        _ => return write::line(context.out, "CLIENT_ERROR usage: stats detail on|off|dump"),
    };
    context.server.set_details(is_on);
    write::line(context.out, "OK");
}
