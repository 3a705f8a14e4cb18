//! One turn of a connection: receive, parse, gather into the batch.

use super::Reactor;
use super::request::Request;
use crate::clients::Token;
use crate::connection::{Connection, Hold};
use crate::limits::*;
use dolium_commands::dispatch::{self, Prepared};
use dolium_commands::memcache as memcache_commands;
use dolium_engine::{Db, Session};
use dolium_protocol::Parse;
use dolium_protocol::detect::{Detected, Protocol, detect};
use dolium_protocol::memcache;
use dolium_protocol::resp::{self, Args};
use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;

/// How far parsing came.
struct Progress {
    /// Everything before has become requests.
    at: usize,
    /// Bytes that the unfinished request there needs, at least.
    need: usize,
}

impl Reactor {
    /// Receives once from a connection and gathers its requests.
    pub(super) fn turn(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        connection.is_ready = false;
        if connection.hold != Hold::No || connection.at_end {
            return;
        }
        if connection.input.len() > LEFTOVER_COPY_MAX || connection.reserved > 0 {
            self.run_batch();
            return self.turn_own_buffer(token);
        }
        let mut hot = std::mem::take(&mut self.hot);
        if hot.len() - self.fill < READ_BYTES_MIN + connection.input.len() {
            self.run_batch_over(&hot);
            self.fill = 0;
        }
        if let Some(connection) = self.slab.get(token)
            && connection.hold == Hold::No
            && !connection.at_end
        {
            let start = self.fill;
            let mut end = start + connection.input.len();
            hot[start..end].copy_from_slice(&connection.input);
            connection.input = Vec::new();
            if connection.readable {
                let room_end = hot.len().min(end + READ_BYTES_PER_TURN);
                let result = connection.transport.receive(&mut hot[end..room_end]);
                let n = note_receipt(connection, result, room_end - end);
                self.server.statistics.threads[self.thread].bytes_in.add(n as u64);
                end += n;
            }
            let progress = self.parse(token, &hot, start, end);
            self.keep_rest(token, &hot[progress.at..end], progress.need);
            self.fill = if self.batch.is_empty() { 0 } else { end };
        }
        self.hot = hot;
    }

    /// As `turn`, for a request too large for the shared buffer: received straight into the
    /// connection's own, which has the announced size.
    fn turn_own_buffer(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        let mut input = std::mem::take(&mut connection.input);
        let mut received = 0;
        while connection.readable && received < 16 * READ_BYTES_PER_TURN {
            if input.capacity() - input.len() < READ_BYTES_MIN {
                input.reserve(READ_BYTES_PER_TURN);
            }
            let room = input.capacity() - input.len();
            let result = connection.transport.receive_more(&mut input, READ_BYTES_PER_TURN);
            received += note_receipt(connection, result, room);
        }
        self.server.statistics.threads[self.thread].bytes_in.add(received as u64);
        let progress = self.parse(token, &input, 0, input.len());
        if self.batch.is_empty() {
            // Nothing ran and nothing refers to the buffer: it goes on as it is, uncopied.
            if let Some(connection) = self.slab.get(token) {
                input.drain(..progress.at);
                connection.input = input;
            }
            self.keep_rest(token, &[], progress.need);
        } else {
            self.keep_rest(token, &input[progress.at..], progress.need);
            self.run_batch_over(&input);
        }
    }

    /// Parses requests of one connection into the batch, which runs whenever it is full.
    fn parse(&mut self, token: Token, input: &[u8], start: usize, end: usize) -> Progress {
        let mut at = start;
        let mut need = 0;
        let mut gathered = false;
        while at < end {
            if self.batch.is_full() {
                self.run_batch_over(input);
            }
            let Some(connection) = self.slab.get(token) else { return Progress { at: end, need } };
            if connection.hold != Hold::No || connection.is_closing() {
                break;
            }
            let protocol = match connection.protocol {
                Some(protocol) => protocol,
                None => match detect(&input[at..end], connection.door) {
                    Detected::Is(protocol) => *connection.protocol.insert(protocol),
                    Detected::NeedMore => break,
                },
            };
            match protocol {
                Protocol::Resp => {}
                Protocol::MemcacheText => {
                    let progress = self.parse_memcache(token, input, at, end);
                    gathered |= progress.at > at;
                    (at, need) = (progress.at, progress.need);
                    if need != 0 {
                        break;
                    }
                    continue;
                }
                Protocol::MemcacheBinary | Protocol::Http => {
                    self.batch.push(token, Request::Unsupported, at, end);
                    (at, gathered) = (end, true);
                    break;
                }
            }
            let limits = self.limits.with_authenticated(connection.client.authenticated());
            let db = connection.client.db;
            let engine = self.session.engine();
            while at < end && !self.batch.is_full() {
                let slot = &mut self.batch.slots[self.batch.used];
                match resp::parse(&input[at..end], &limits, &mut connection.parse, slot) {
                    Parse::Complete { consumed } => {
                        if !slot.is_empty() {
                            let args = slot.view(&input[at..end]);
                            let prepared = dispatch::prepare(engine, &args);
                            prefetch(&self.session, db, &prepared, &args, &mut self.batch.keys);
                            let request = Request::Redis(prepared);
                            self.batch.push(token, request, at, at + consumed);
                            gathered = true;
                        }
                        at += consumed;
                    }
                    Parse::Incomplete { need_at_least } => {
                        need = need_at_least;
                        break;
                    }
                    Parse::Error(error) => {
                        self.batch.push(token, Request::Broken(error), at, end);
                        (at, gathered) = (end, true);
                    }
                }
            }
            if need != 0 {
                break;
            }
        }
        let at_end = self.slab.get(token).is_some_and(|connection| connection.at_end);
        if gathered || at_end {
            self.batch.end(token, at);
        }
        Progress { at, need }
    }

    /// Memcached's requests, until the batch is full or the input is used up.
    fn parse_memcache(
        &mut self,
        token: Token,
        input: &[u8],
        mut at: usize,
        end: usize,
    ) -> Progress {
        let Some(connection) = self.slab.get(token) else { return Progress { at: end, need: 0 } };
        while at < end && !self.batch.is_full() {
            let state = &mut connection.memcache_parse;
            match memcache::parse(&input[at..end], &self.memcache_limits, state) {
                memcache::Parsed::Complete { request, consumed } => {
                    if request != memcache::Request::Nothing {
                        memcache_commands::prepare(&self.session, &request, |hash| {
                            if self.batch.keys.len() < BATCH_COMMANDS + BATCH_EXTRA_KEYS {
                                self.session.prefetch_line(MEMCACHE_DB, hash);
                                self.batch.keys.push((MEMCACHE_DB, hash));
                            }
                        });
                        let request = Request::Memcache { is_write: may_write(&request) };
                        self.batch.push(token, request, at, at + consumed);
                    }
                    at += consumed;
                }
                memcache::Parsed::Incomplete { need_at_least } => {
                    return Progress { at, need: need_at_least };
                }
                memcache::Parsed::Close(refusal) => {
                    self.batch.push(token, Request::BrokenMemcache(refusal), at, end);
                    at = end;
                }
            }
        }
        Progress { at, need: 0 }
    }

    /// Keeps what was not parsed until more of it has come, and sees to the connection's next turn.
    fn keep_rest(&mut self, token: Token, rest: &[u8], need: usize) {
        let Some(connection) = self.slab.get(token) else { return };
        connection.input.extend_from_slice(rest);
        connection.restore_held();
        if need > LEFTOVER_COPY_MAX && need > connection.input.capacity() {
            let budget = self.server.config.live.client_buffers_max.load(Relaxed);
            let more = need as u64 - connection.reserved.min(need as u64);
            if self.server.buffers.reserve_more(more, connection.reserved, budget) {
                connection.reserved += more;
                connection.input.reserve_exact(need - connection.input.len());
            } else {
                connection.hold = Hold::Budget;
                self.starved.push(token);
            }
        } else if need == 0 && connection.input.len() <= LEFTOVER_COPY_MAX {
            self.server.buffers.release(std::mem::take(&mut connection.reserved));
        }
        self.count_buffers(token);
        let Some(connection) = self.slab.get(token) else { return };
        if connection.readable && connection.hold == Hold::No && !connection.at_end {
            self.make_ready(token);
        }
    }

    /// Large requests that waited for memory try again when some has come back.
    pub(super) fn feed_starved(&mut self) {
        let releases = self.server.buffers.releases();
        if self.starved.is_empty() || releases == self.releases_seen {
            self.releases_seen = releases;
            return;
        }
        self.releases_seen = releases;
        for token in std::mem::take(&mut self.starved) {
            if let Some(connection) = self.slab.get(token)
                && connection.hold == Hold::Budget
            {
                connection.hold = Hold::No;
                self.make_ready(token);
            }
        }
    }
}

/// Notes what a receive means for the connection; how many bytes came.
fn note_receipt(connection: &mut Connection, result: std::io::Result<usize>, room: usize) -> usize {
    match result {
        Ok(0) => {
            connection.readable = false;
            connection.at_end = true;
            0
        }
        Ok(n) => {
            // After the peer has closed there is one thing more to read: the end.
            connection.readable = n == room || connection.hung_up;
            n
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => 0,
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            connection.readable = false;
            0
        }
        Err(_) => {
            connection.readable = false;
            connection.at_end = true;
            0
        }
    }
}

/// May a request change data: what CLIENT PAUSE WRITE holds back.
fn may_write(request: &memcache::Request<'_>) -> bool {
    use memcache::{meta::Verb, text::Command};
    !matches!(
        request,
        memcache::Request::Text(Command::Get { .. } | Command::Stats { .. } | Command::Version)
            | memcache::Request::MetaNoop
            | memcache::Request::Refused { .. }
    ) && !matches!(request, memcache::Request::Meta(c) if c.verb == Verb::Debug)
}

/// First pass: the index lines of the request's keys are asked for.
#[inline]
fn prefetch(
    session: &Session,
    db: Db,
    prepared: &Prepared,
    args: &Args<'_>,
    keys: &mut Vec<(Db, u64)>,
) {
    let Some(hash) = prepared.key_hash() else { return };
    session.prefetch_line(db, hash);
    keys.push((db, hash));
    if prepared.row().is_some_and(|row| row.keys.last != 1) {
        for key in prepared.other_keys(args) {
            if keys.len() >= BATCH_COMMANDS + BATCH_EXTRA_KEYS {
                return;
            }
            let hash = session.engine().key(key).hash();
            session.prefetch_line(db, hash);
            keys.push((db, hash));
        }
    }
}
