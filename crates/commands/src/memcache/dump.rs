//! `lru_crawler metadump` and `mgdump`, and `stats cachedump`: what keys there are.
//!
//! ```text
//!   key=a exp=-1 la=1795248262 cas=1 fetch=no cls=1 size=61\n ... END\r\n       metadump
//!   mg a\r\n ... EN\r\n                                                          mgdump
//! ```
//! A dump can be longer than memory: it is made a piece at a time, the next when the client has
//! taken the last. A key that is there all the time appears, maybe twice; others may. Dumps of the crawler
//! write keys as in a URI. `cachedump` writes them as they are, and leaves out those that its reader would
//! take for more than a key.

use super::administer::CRAWLER_DISABLED;
use super::events::push_key;
use super::{McContext, Settings};
use crate::context::Flow;
use dolium_engine::{Db, Found, Millis, NEVER, Session};
use dolium_protocol::memcache::{Words, write};
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of a dump made at a time, about.
const PIECE_BYTES: usize = 64 << 10;
const STEP_KEYS: usize = 128;
/// Longest reply of `stats cachedump`, as in Memcached.
const CACHEDUMP_BYTES_MAX: usize = 2 << 20;
/// Keys that `stats cachedump` looks at for those of its class.
const CACHEDUMP_KEYS_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Meta,
    Get,
}

/// A dump under way.
#[derive(Debug)]
pub struct Dump {
    form: Form,
    /// The classes asked for, as bits; all bits: all.
    classes: u64,
    cursor: u64,
}

impl Dump {
    /// Appends the next piece. True: that was the last.
    pub fn step(
        &mut self,
        settings: &Settings,
        session: &Session,
        db: Db,
        now: Millis,
        out: &mut Vec<u8>,
    ) -> bool {
        let enough = out.len() + PIECE_BYTES;
        let mut line = String::new();
        while out.len() < enough {
            self.cursor = session.scan(db, self.cursor, STEP_KEYS, now, |key, found| {
                let bytes = settings.classes.item_bytes(key.len(), found.len, found.flags != 0);
                let class = settings.classes.class_of(bytes);
                if self.classes >> class & 1 == 1 {
                    line.clear();
                    let unique = if settings.fixed.unique_enabled { found.unique } else { 0 };
                    let last_use_s = match found.last_use_s {
                        // Nothing remembers it: not long ago, as far as is known (see `meta::View`).
                        0 => (now / 1000) as u32,
                        used => used,
                    };
                    let found = Found { unique, last_use_s, ..*found };
                    self.form.push(&mut line, key, &found, class, bytes);
                    out.extend_from_slice(line.as_bytes());
                }
            });
            if self.cursor == 0 {
                write::line(out, if self.form == Form::Meta { "END" } else { "EN" });
                return true;
            }
        }
        false
    }
}

impl Form {
    fn push(self, line: &mut String, key: &[u8], found: &Found, class: usize, bytes: usize) {
        // A String takes whatever is written to it.
        match self {
            Form::Get => {
                line.push_str("mg ");
                push_key(line, key);
                line.push_str("\r\n");
            }
            Form::Meta => {
                line.push_str("key=");
                push_key(line, key);
                let expires = match found.deadline {
                    NEVER => -1,
                    at => (at / 1000) as i64,
                };
                let fetched = if found.frequency > 0 { "yes" } else { "no" };
                let (used, unique) = (found.last_use_s, found.unique);
                let _ = writeln!(
                    line,
                    " exp={expires} la={used} cas={unique} fetch={fetched} cls={class} \
                     size={bytes}"
                );
            }
        }
    }
}

/// `lru_crawler metadump|mgdump all|hash|CLASS,CLASS...`.
pub(super) fn begin(context: &mut McContext<'_>, is_meta: bool, which: &[u8]) -> Flow {
    let settings = context.server.settings();
    // In the order in which Memcached looks; the class it looks at last.
    let refusal = if !settings.live.lru_crawler.load(Relaxed) {
        Some(CRAWLER_DISABLED)
    } else if !settings.fixed.dump_enabled {
        Some("ERROR metadump not allowed")
    } else if context.has_unsent() {
        Some("ERROR cannot pipeline other commands before metadump")
    } else {
        None
    };
    if let Some(refusal) = refusal {
        write::line(context.out, refusal);
        return Flow::Continue;
    }
    let classes = match which {
        b"all" | b"hash" => Some(u64::MAX),
        list => class_bits(settings, list),
    };
    match classes {
        None => write::line(context.out, "BADCLASS invalid class id"),
        Some(0) => write::line(context.out, "NOTSTARTED no items to crawl"),
        Some(classes) => {
            let form = if is_meta { Form::Meta } else { Form::Get };
            context.client.dump = Some(Dump { form, classes, cursor: 0 });
        }
    }
    Flow::Continue
}

/// A list of class numbers, as bits. Nothing between two commas is no class.
pub(super) fn class_bits(settings: &Settings, list: &[u8]) -> Option<u64> {
    let mut bits = 0;
    for word in list.split(|byte| *byte == b',').filter(|word| !word.is_empty()) {
        let class: usize = std::str::from_utf8(word).ok()?.parse().ok()?;
        if !(1..=settings.classes.count()).contains(&class) {
            return None;
        }
        bits |= 1 << class;
    }
    Some(bits)
}

/// `stats cachedump CLASS LIMIT`: up to so many keys of a class; 0 is no limit.
pub(super) fn cachedump(context: &mut McContext<'_>, mut arguments: Words<'_>) {
    let settings = context.server.settings();
    if !settings.fixed.dump_enabled {
        return write::line(context.out, "CLIENT_ERROR stats cachedump not allowed");
    }
    let (Some(class), Some(limit)) = (arguments.next(), arguments.next()) else {
        return write::line(context.out, "CLIENT_ERROR bad command line");
    };
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<usize>().ok();
    let (Some(class), Some(limit)) = (number(class), number(limit)) else {
        return write::line(context.out, "CLIENT_ERROR bad command line format");
    };
    if class > super::classes::CLASSES_MAX {
        return write::line(context.out, "CLIENT_ERROR Illegal slab id");
    }
    let (session, db, now) = (context.session, context.db, context.now);
    let start = context.out.len();
    let (mut cursor, mut shown, mut looked) = (0, 0, 0);
    let out = &mut *context.out;
    loop {
        cursor = session.scan(db, cursor, STEP_KEYS, now, |key, found| {
            looked += 1;
            let bytes = settings.classes.item_bytes(key.len(), found.len, found.flags != 0);
            let is_full = limit != 0 && shown >= limit || out.len() - start > CACHEDUMP_BYTES_MAX;
            let is_shown = settings.classes.class_of(bytes) == class && is_word(key);
            if is_shown && !is_full {
                shown += 1;
                out.extend_from_slice(b"ITEM ");
                out.extend_from_slice(key);
                let expires = found.deadline / 1000;
                out.extend_from_slice(format!(" [{} b; {expires} s]\r\n", found.len).as_bytes());
            }
        });
        let is_full = limit != 0 && shown >= limit || out.len() - start > CACHEDUMP_BYTES_MAX;
        if cursor == 0 || is_full || looked >= CACHEDUMP_KEYS_MAX {
            break;
        }
    }
    write::end(out);
}

/// Whether a key stands in a line as what it is. With blanks or line ends in it, it could look like lines
/// of its own; Memcached leaves out the keys that came in base64.
fn is_word(key: &[u8]) -> bool {
    !key.is_empty() && key.iter().all(|byte| *byte > b' ' && *byte != 0x7f)
}
