//! What the Memcached protocols' requests mean, over the engine's verbs.
//!
//! ```text
//!   memcache::parse -> Request -> prepare(session, &request) -> hashes to prefetch
//!                              -> run(&mut context, &request) -> reply bytes in context.out
//! ```
//! Rules and texts are those of Memcached 1.6.18. Where Memcached's world meets that of Redis on
//! one key, the rule is in `docs/protocols.md`.

mod administer;
mod arithmetic;
mod authentication;
mod binary;
mod binary_get;
pub mod census;
pub mod classes;
mod context;
pub mod details;
pub mod dump;
pub mod events;
mod exptime;
mod flush;
pub mod foresee;
mod meta;
mod meta_change;
mod meta_get;
mod retrieve;
mod sasl;
mod server;
pub mod settings;
mod stats;
mod store;
mod tally;
mod touch;
mod unique;

pub use binary::run as run_binary;
use context::Mark;
pub use context::{Client, Left, McContext, Piece};
pub use server::{Departed, Process, Reason, Server, TlsNumbers};
pub use settings::Settings;
pub use tally::{Count, Tally, Totals};

use crate::context::Flow;
use dolium_engine::{Event, Session};
use dolium_protocol::memcache::binary::Request as BinaryRequest;
use dolium_protocol::memcache::meta::{KeyBuffer, Verb};
use dolium_protocol::memcache::text::Command;
use dolium_protocol::memcache::{Refusal, Request, write};

/// The version whose behaviour this is.
pub const VERSION: &str = "1.6.18";
/// Beside the streams in [`McContext::watched`]: items have no unique numbers (`-C`).
pub const UNIQUE_OFF: u32 = 1 << 30;
/// Beside the streams in [`McContext::watched`]: `stats detail` counts.
pub const DETAILS_ON: u32 = 1 << 31;
/// Longest key, also when it was written in base64.
pub(crate) const KEY_BUFFER: KeyBuffer = [0; std::mem::size_of::<KeyBuffer>()];

/// Keys of one request that are looked at before it runs: what a batch has room for.
const PREPARED_KEYS_MAX: usize = 128;

/// Names the hashes of a request's first keys, in order, so that a batch can prefetch them.
#[inline]
pub fn prepare(session: &Session, request: &Request<'_>, mut visit: impl FnMut(u64)) {
    let mut name = |key: &[u8]| visit(session.engine().key(key).hash());
    match request {
        Request::Text(command) => match command {
            Command::Get { keys, .. } | Command::GetAndTouch { keys, .. } => {
                keys.take(PREPARED_KEYS_MAX).for_each(name);
            }
            Command::Store { key, .. }
            | Command::Arithmetic { key, .. }
            | Command::Delete { key, .. }
            | Command::Touch { key, .. } => name(key),
            _ => {}
        },
        Request::Meta(command) => name(command.key.bytes(&mut KEY_BUFFER.clone())),
        _ => {}
    }
}

/// Names the hash of a binary request's key, so that a batch can prefetch it.
#[inline]
pub fn prepare_binary(session: &Session, request: &BinaryRequest<'_>, visit: impl FnOnce(u64)) {
    if !request.key.is_empty() {
        visit(session.engine().key(request.key).hash());
    }
}

/// Runs a request and appends its reply to `context.out`.
#[inline]
pub fn run(context: &mut McContext<'_>, request: &Request<'_>) -> Flow {
    if !context.client.authenticated {
        return authentication::run(context, request);
    }
    if context.out.is_empty() {
        // What `sent_to` counts has gone out.
        context.client.sent_to = 0;
    }
    match *request {
        Request::Text(command) => text(context, command),
        Request::Meta(command) => {
            // `stats detail` knows the commands of old alone.
            let watched = context.watched;
            context.watched &= !DETAILS_ON;
            match command.verb {
                Verb::Get => meta_get::run(context, &command),
                Verb::Set => meta_change::set(context, &command),
                Verb::Delete => meta_change::delete(context, &command),
                Verb::Arithmetic => meta_change::arithmetic(context, &command),
                Verb::Debug => meta::debug(context, &command),
            }
            context.watched = watched;
            Flow::Continue
        }
        Request::MetaNoop => {
            write::line(context.out, "MN");
            context.note_sent();
            Flow::Continue
        }
        Request::Refused { refusal: Refusal::InvalidShutdownMode, .. } => {
            administer::shutdown(context, None)
        }
        Request::Refused { refusal, noreply } => {
            if refusal == Refusal::TooManyKeys {
                context.server.note_response_oom();
            }
            if !noreply {
                refusal.write(context.out);
            }
            Flow::Continue
        }
        Request::TooLarge { set, key, noreply } => {
            context.tally.add(Count::TooLarge);
            // No stale value may stay where a newer one could not be stored. Watchers are told of `set`
            // and `ms` alone: of the others the request does not say which it was.
            if set {
                context.note_store(key, store::Mode::Set, 0, 0, store::Outcome::TooLarge);
                context.forget(key);
            }
            if !noreply {
                Refusal::TooLarge.write(context.out);
            }
            Flow::Continue
        }
        Request::MetaTooLarge { key } => {
            context.tally.add(Count::TooLarge);
            let mut buffer = KEY_BUFFER;
            let key = key.bytes(&mut buffer);
            context.note_store(key, store::Mode::Set, 0, 0, store::Outcome::TooLarge);
            context.forget(key);
            Refusal::TooLarge.write(context.out);
            Flow::Continue
        }
        Request::Nothing => Flow::Continue,
    }
}

/// Goes on with the request of that line, of which this was left over.
pub fn go_on(context: &mut McContext<'_>, line: &[u8], left: Left) -> Flow {
    context.client.left = Some(left);
    if let Err(sentence) = retrieve::get_rest(context, line, left) {
        write::line(context.out, sentence);
    }
    Flow::Continue
}

/// A command of the classic protocol.
#[inline]
fn text(context: &mut McContext<'_>, command: Command<'_>) -> Flow {
    let (reply, noreply) = match command {
        Command::Get { keys, cas } => {
            let (start, goes_on) = (context.mark(), context.client.left.is_some());
            if let Err(sentence) = retrieve::get_all(context, keys, cas, &start) {
                // The items before those that were left have been sent.
                return not_shown(context, (!goes_on).then_some(&start), sentence);
            }
            context.note_sent();
            return Flow::Continue;
        }
        Command::Store { verb, key, flags, exptime, data, noreply } => {
            let life = context.life(exptime);
            let order = store::Order { mode: verb.into(), flags, life, cas: 0, stale: false };
            (store::text(context, key, &order.with_text_cas(verb), data), noreply)
        }
        other => return text_other(context, other),
    };
    if !noreply {
        write::line(context.out, reply);
    }
    Flow::Continue
}

/// One of the keys holds a list or a set, or there is no memory for what has to be told with its item: that is
/// the whole reply, because a client that found its key missing would go and make it anew.
#[cold]
fn not_shown(context: &mut McContext<'_>, start: Option<&Mark>, sentence: &str) -> Flow {
    if let Some(start) = start {
        context.take_back(start);
    }
    write::line(context.out, sentence);
    Flow::Continue
}

/// The commands that are not asked for by the million.
fn text_other(context: &mut McContext<'_>, command: Command<'_>) -> Flow {
    let (reply, noreply) = match command {
        Command::GetAndTouch { exptime, keys, cas } => {
            let life = context.life(exptime);
            let start = context.mark();
            for key in keys {
                if let Err(sentence) = touch::get_and_touch(context, key, cas, life) {
                    return not_shown(context, Some(&start), sentence);
                }
                if context.out.len() > context.reply_bytes_max {
                    break;
                }
            }
            write::end(context.out);
            context.note_sent();
            return Flow::Continue;
        }
        Command::Arithmetic { incr, key, delta, noreply } => {
            return arithmetic::text(context, incr, key, delta, noreply);
        }
        Command::Delete { key, noreply } => match context.delete(key) {
            true => ("DELETED", noreply),
            false => ("NOT_FOUND", noreply),
        },
        Command::Touch { key, exptime, noreply } => {
            let life = context.life(exptime);
            (touch::touch(context, key, life), noreply)
        }
        Command::FlushAll { delay, noreply } => (flush::run(context, delay), noreply),
        Command::Stats { arguments } => {
            stats::run(context, arguments);
            return Flow::Continue;
        }
        Command::Version => {
            context.out.extend_from_slice(b"VERSION ");
            write::line(context.out, VERSION);
            return Flow::Continue;
        }
        Command::Verbosity { level, noreply } => {
            context
                .server
                .settings()
                .live
                .verbosity
                .store(level, std::sync::atomic::Ordering::Relaxed);
            context.server.set_verbosity(level);
            ("OK", noreply)
        }
        Command::MemoryLimit { mebibytes, noreply } => {
            match mebibytes {
                0..8 => ("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m", noreply),
                // So many were meant as bytes.
                1_000_000_001.. => {
                    ("MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes", noreply)
                }
                _ => match context.server.set_max_memory(mebibytes << 20) {
                    Ok(()) => ("OK", noreply),
                    Err(_) => ("MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust", noreply),
                },
            }
        }
        Command::Quit => return Flow::Close,
        Command::Shutdown { graceful } => return administer::shutdown(context, Some(graceful)),
        Command::Administration { name, arguments } => {
            return administer::run(context, name, arguments);
        }
        Command::Get { .. } | Command::Store { .. } => unreachable!("run by `text`"),
    };
    if !noreply {
        write::line(context.out, reply);
    }
    Flow::Continue
}

impl McContext<'_> {
    /// What `delete` does in any protocol.
    pub(crate) fn delete(&mut self, key: &[u8]) -> bool {
        let was_there = self.forget(key);
        self.count_delete(key, was_there);
        was_there
    }

    /// Counts a delete, and tells who watches.
    fn count_delete(&self, key: &[u8], was_there: bool) {
        self.tally.add(if was_there { Count::DeleteHit } else { Count::DeleteMiss });
        self.note_delete(key, was_there);
        self.note_detail(key, details::Did::Delete);
    }

    /// Removes a key. True: there was one.
    fn forget(&mut self, key: &[u8]) -> bool {
        let key = self.session.engine().key(key);
        self.session.write(self.db, &key, self.now).remove(self.db, &key, Event::Del)
    }
}
