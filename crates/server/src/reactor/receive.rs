//! One turn of a connection whose large value is received into its item.

use super::Reactor;
use super::gather::Intake;
use super::intake::note_receipt;
use super::request::Request;
use crate::clients::Token;
use crate::connection::{Connection, Hold};
use crate::incoming::Incoming;
use crate::limits::*;
use crate::transport::Transport;
use dolium_commands::memcache::foresee;
use dolium_engine::{Fetch, Form, Session};
use dolium_protocol::detect::Protocol;
use dolium_protocol::memcache::{self, binary};
use std::os::fd::AsFd;

impl Connection {
    /// Its large values can be received into items: they come as they are, with nothing in front of
    /// them that is not known by then.
    pub(super) fn receives_into_items(&self) -> bool {
        let is_memcached =
            matches!(self.protocol, Some(Protocol::MemcacheText | Protocol::MemcacheBinary));
        is_memcached && matches!(self.transport, Transport::Socket(_))
    }
}

impl Reactor {
    /// The request that begins with `rest` needs more bytes than are shared: if it is a store, its
    /// value goes into the item from here on. False: it must be received otherwise.
    pub(super) fn begins_value(&mut self, token: Token, rest: &[u8]) -> bool {
        let Some(connection) = self.slab.get(token) else { return false };
        let is_apt = connection.receives_into_items()
            && connection.memcache.authenticated
            && connection.input.is_empty()
            && connection.hold == Hold::No
            && !connection.is_closing();
        if !is_apt {
            return false;
        }
        let is_binary = connection.protocol == Some(Protocol::MemcacheBinary);
        let (session, now, foreseen) = (&self.session, self.now, &mut self.foreseen);
        let has_unique = self.server.memcached.settings.fixed.unique_enabled;
        let expected = match is_binary {
            false => memcache::announced(rest, &self.memcache_limits, &connection.memcache_parse)
                .and_then(|announced| {
                    foresee::item(&announced, |key, form| expect(session, key, form, now, foreseen))
                        .flatten()
                        .map(|value| (announced.line, value))
                }),
            true => binary::announced(rest, &self.memcache_limits).ok().and_then(|announced| {
                foresee::binary_item(&announced, has_unique, |key, form| {
                    expect(session, key, form, now, foreseen)
                })
                .flatten()
                .map(|value| (announced.fixed, value))
            }),
        };
        let Some((line, mut value)) = expected else { return false };
        let (line, begun) = rest.split_at(line);
        let taken = value.append(begun);
        let end = begun[taken..].to_vec();
        connection.incoming =
            Some(Box::new(Incoming { line: line.to_vec(), value, end, is_binary }));
        connection.memcache_parse = memcache::ParseState::new();
        self.server.buffers.release(std::mem::take(&mut connection.reserved));
        true
    }

    /// As `turn`, for a connection whose value is on its way. The shared buffer is free.
    pub(super) fn turn_incoming(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        let Some(mut incoming) = connection.incoming.take() else { return };
        let mut hot = std::mem::take(&mut self.hot);
        let begun = incoming.end.len();
        hot[..begun].copy_from_slice(&incoming.end);
        let (mut received, mut end) = (0, begun);
        while connection.readable && received < OWN_BUFFER_BYTES_PER_TURN {
            let missing = incoming.value.missing();
            let result = incoming
                .value
                .receive(connection.transport.as_fd(), &mut hot[begun..BEYOND_VALUE_BYTES])
                .map_err(std::io::Error::from);
            let room = missing + BEYOND_VALUE_BYTES - begun;
            let n = note_receipt(connection, result, room);
            received += n;
            if n > missing {
                end += n - missing;
                break;
            }
            if n == 0 {
                break;
            }
        }
        if received > 0 {
            connection.last_ms = self.now;
            self.counters.receives.add(1);
        }
        connection.moved += received;
        self.counters.bytes_in.add(received as u64);
        let value_end = incoming.end_len();
        let is_complete = incoming.value.missing() == 0 && end >= value_end;
        if !is_complete {
            incoming.end = hot[..end].to_vec();
            connection.incoming = Some(incoming);
            self.hot = hot;
            if connection.at_end {
                // Closed in the middle of it: there is nothing to answer.
                return self.batch.end(token, 0);
            }
            return self.go_on(token);
        }
        connection.incoming = Some(incoming);
        self.batch.push(token, Request::Received, 0, value_end);
        self.run_batch_over(&hot);
        let mut intake = Intake::behind_request(token, value_end, end);
        self.parse(&hot, &mut intake);
        self.keep_rest(token, &hot[intake.at..end], intake.need);
        if end == value_end
            && let Some(connection) = self.slab.get(token)
        {
            // As the last request was, the next one is most often.
            connection.expects_large = true;
        }
        self.fill = if self.batch.is_empty() { 0 } else { end };
        self.hot = hot;
    }

    /// Who stores a value looks at the item that it takes the place of, which is far from every
    /// cache. Those of all values whose lines came in this round come together, and before the
    /// values: each alone was waited for as long as a system call takes.
    pub(super) fn foresee(&mut self) {
        self.session.foresee_items(&mut self.foreseen);
        self.foreseen.clear();
    }

    /// Sees to the next turn of a connection whose value is on its way.
    pub(super) fn go_on(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        if connection.readable && !connection.at_end && connection.hold == Hold::No {
            self.make_ready(token);
        }
        self.count_buffers(token);
    }
}

fn expect(
    session: &Session,
    key: &[u8],
    form: &Form,
    now: u64,
    foreseen: &mut Vec<Fetch>,
) -> Option<dolium_engine::Incoming> {
    let key = session.engine().key(key);
    // Before a block is looked for: the index line comes meanwhile.
    let fetch = session.fetch_line_at_once(MEMCACHE_DB, key.hash());
    foreseen.push(fetch);
    session.expect(MEMCACHE_DB, &key, form, now)
}
