//! Memcached's requests, text and binary, to the batch. What is refused before its value has come is skipped while it
//! comes, and cannot be held: so what may hold it back is looked at first.

use super::super::Reactor;
use super::super::request::{Broken, Request};
use super::Progress;
use crate::clients::Token;
use crate::connection::Hold;
use crate::limits::*;
use crate::memcached::writes;
use dolium_commands::memcache as memcache_commands;
use dolium_protocol::memcache;
use dolium_protocol::memcache::binary;
use std::sync::atomic::Ordering::Relaxed;

impl Reactor {
    /// Memcached's requests, until the batch is full or the input is used up.
    pub(in crate::reactor) fn parse_memcache(
        &mut self,
        token: Token,
        input: &[u8],
        mut at: usize,
        end: usize,
    ) -> Progress {
        let Some(connection) = self.slab.get(token) else { return Progress { at: end, need: 0 } };
        connection.look_for_password(&self.server);
        let authenticated = connection.memcache.authenticated;
        while at < end && !self.batch.is_full() {
            if connection.taken == self.requests_a_turn {
                self.server.memcached.counts.yields.fetch_add(1, Relaxed);
                connection.yielded = true;
                break;
            }
            connection.taken += 1;
            if connection.taken > self.memcache_limits.keys_max {
                // More replies than its share of memory holds: the connection goes, as in Memcached.
                self.server.memcached.counts.response_oom.fetch_add(1, Relaxed);
                self.batch.push(token, Request::Broken(Broken::Overflow), at, end);
                return Progress { at: end, need: 0 };
            }
            let state = &mut connection.memcache_parse;
            let parsed = match authenticated {
                true => memcache::parse(&input[at..end], &self.memcache_limits, state),
                false => memcache::parse_login(&input[at..end], state),
            };
            match parsed {
                memcache::Parsed::Complete { request, consumed } => {
                    let mut is_read = false;
                    if request != memcache::Request::Nothing {
                        let is_skipped = state.is_skipping();
                        // It could not be held: its block is gone by then. So what may hold it back
                        // comes first.
                        if is_skipped && self.batch.last_is(token) {
                            *state = memcache::ParseState::new();
                            connection.taken -= 1;
                            self.run_batch_over(input);
                            break;
                        }
                        if is_skipped && self.server.pause.is_on() {
                            connection.pause(&self.server, writes::by_request(&request));
                            if connection.hold != Hold::No {
                                connection.memcache_parse = memcache::ParseState::new();
                                break;
                            }
                        }
                        memcache_commands::prepare(&self.session, &request, |hash| {
                            if self.batch.fetches.len() < BATCH_COMMANDS + BATCH_EXTRA_KEYS {
                                let fetches = &mut self.batch.fetches;
                                self.session.fetch_line(MEMCACHE_DB, hash, fetches);
                            }
                        });
                        let is_write = writes::by_request(&request);
                        is_read = !is_write;
                        let request = Request::Memcache { is_write, is_skipped };
                        self.batch.push(token, request, at, at + consumed);
                    }
                    at += consumed;
                    if !authenticated {
                        // It may be the login, and what follows is read otherwise then.
                        self.run_batch_over(input);
                        break;
                    }
                    if connection.gets_much && is_read && consumed >= LONG_LINE_BYTES && at < end {
                        connection.yielded = true;
                        break;
                    }
                }
                memcache::Parsed::Incomplete { need_at_least } => {
                    return Progress { at, need: need_at_least };
                }
                memcache::Parsed::Close(refusal) => {
                    self.batch.push(token, Request::Broken(Broken::Memcache(refusal)), at, end);
                    at = end;
                }
            }
        }
        Progress { at, need: 0 }
    }

    /// Requests of Memcached's binary protocol, until the batch is full or the input is used up.
    pub(in crate::reactor) fn parse_memcache_binary(
        &mut self,
        token: Token,
        input: &[u8],
        mut at: usize,
        end: usize,
    ) -> Progress {
        let Some(connection) = self.slab.get(token) else { return Progress { at: end, need: 0 } };
        connection.look_for_password(&self.server);
        while at < end && !self.batch.is_full() {
            if connection.skipping > 0 {
                let skipped = connection.skipping.min(end - at);
                connection.skipping -= skipped;
                at += skipped;
                if connection.skipping == 0 && !connection.refused.is_empty() {
                    self.batch.push(token, Request::MemcacheBinary { is_write: true }, at, at);
                }
                continue;
            }
            if connection.taken == self.requests_a_turn {
                self.server.memcached.counts.yields.fetch_add(1, Relaxed);
                connection.yielded = true;
                break;
            }
            connection.taken += 1;
            match binary::parse(&input[at..end], &self.memcache_limits) {
                binary::Parsed::Complete { request, consumed } => {
                    if let binary::Operation::Refused { skip, close: false, .. } = request.operation
                        && skip > 0
                    {
                        if self.batch.last_is(token) {
                            // As in `parse_memcache`.
                            connection.taken -= 1;
                            self.run_batch_over(input);
                            break;
                        }
                        if self.server.pause.is_on() {
                            connection.pause(&self.server, writes::by_opcode(request.opcode));
                            if connection.hold != Hold::No {
                                break;
                            }
                        }
                        // As Memcached, answered when its value has come: some clients are at
                        // a loss with a reply to what they are still sending.
                        connection.skipping = skip;
                        connection.refused = input[at..at + consumed].into();
                        at += consumed;
                        continue;
                    }
                    memcache_commands::prepare_binary(&self.session, &request, |hash| {
                        self.session.fetch_line(MEMCACHE_DB, hash, &mut self.batch.fetches);
                    });
                    let is_write = writes::by_opcode(request.opcode);
                    let request = Request::MemcacheBinary { is_write };
                    self.batch.push(token, request, at, at + consumed);
                    at += consumed;
                }
                binary::Parsed::Incomplete { need_at_least } => {
                    return Progress { at, need: need_at_least };
                }
                binary::Parsed::Close => {
                    self.batch.push(token, Request::Broken(Broken::Memcache(None)), at, end);
                    at = end;
                }
            }
        }
        Progress { at, need: 0 }
    }
}
