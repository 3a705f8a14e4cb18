//! A request of Memcached's protocols meets its command.

use super::Stage;
use crate::connection::{Connection, Hold};
use crate::incoming::Incoming;
use crate::limits::*;
use crate::memcached::writes;
use crate::reactor::batch::Entry;
use dolium_commands::context::Flow;
use dolium_commands::foretold;
use dolium_commands::memcache::{self as memcache_commands, Left, McContext, Piece};
use dolium_commands::outlet::Outlet;
use dolium_protocol::memcache;
use dolium_protocol::memcache::binary::{Announced, Request as BinaryRequest};

impl Stage<'_> {
    #[inline(always)]
    fn memcache_context<'c>(&'c mut self, connection: &'c mut Connection) -> McContext<'c> {
        let may_borrow = connection.may_borrow();
        let portion = self.portion(connection);
        McContext {
            session: self.session,
            server: self.server,
            tally: &self.counters.tally,
            client: &mut connection.memcache,
            watched: self.server.memcached.watchers.mask(),
            db: MEMCACHE_DB,
            now: self.now,
            out: self.out,
            piece: Piece { copied: portion.copied, lent: portion.lent },
            reply_bytes_max: usize::MAX,
            outlet: may_borrow.then_some(&mut self.loans as &mut dyn Outlet),
        }
    }

    pub fn run_memcache(
        &mut self,
        connection: &mut Connection,
        entry: &Entry,
        is_write: bool,
        is_skipped: bool,
    ) {
        let authenticated = connection.memcache.authenticated;
        // As of Redis' requests: CLIENT PAUSE holds back nothing that is refused for want of a login, and a
        // login, which is a `set` that stores nothing, only as it does a read.
        let must_wait = match !authenticated && self.wants_login(entry) {
            true => connection.hold.stops_requests() || connection.is_closing(),
            // What is skipped cannot be kept. It is the first of its batch, and held by nothing.
            false => !is_skipped && self.must_wait(connection, |_| is_write && authenticated),
        };
        if must_wait {
            return self.keep(connection, entry);
        }
        let line = &self.input[entry.start..entry.end];
        let mut state = memcache::ParseState::new();
        let parsed = match authenticated {
            true => memcache::parse(line, self.memcache_limits, &mut state),
            false => memcache::parse_login(line, &mut state),
        };
        let memcache::Parsed::Complete { request, .. } = parsed else { return };
        // Values, and bytes of them, that are lent for the requests before it.
        let mut earlier = (self.loans.count(), self.loans.bytes());
        let left = connection.memcache.left;
        let begins = left.is_none();
        // What is skipped cannot be kept.
        if begins
            && !is_skipped
            && self.is_room_shared(connection)
            && !self.has_room_ahead(connection, |session, _, now| {
                foretold::memcache_bytes(session, MEMCACHE_DB, &request, now)
            })
        {
            return self.hold_back(connection, line);
        }
        let mut before = self.out.len();
        let mut flow = memcache_commands::run(&mut self.memcache_context(connection), &request);
        if line.len() >= LONG_LINE_BYTES && begins && !is_write {
            connection.gets_much = connection.memcache.left.is_some() || self.is_long_end(earlier);
        }
        // Small replies wait for nobody.
        let is_large = self.out.len() >= before + LARGE_REPLY_BYTES_MIN;
        let may_wait = is_large && !is_write && !is_skipped;
        let may_wait = may_wait && !writes::tells_of_a_win(&self.out[before..]);
        if !self.has_room_for_reply(connection, before, may_wait) {
            connection.memcache.left = left;
            return self.hold_back(connection, line);
        }
        loop {
            let left = connection.memcache.left;
            if left.is_none() && !self.is_long_end(earlier) {
                break;
            }
            let (kept, _) = std::mem::take(&mut earlier);
            if let Some(bytes) = self.send_some(connection, kept) {
                let left = Left::again(line, bytes, left);
                connection.memcache.left = Some(left);
                return self.hold_back(connection, &left.request(line));
            }
            let Some(left) = left else { break };
            // It may be any number of keys: others have their turns between.
            if !connection.hold.stops_requests() && connection.moved >= PIECES_TURN_BYTES {
                connection.hold = Hold::Output;
            }
            if connection.hold.stops_requests() || connection.is_closing() {
                return self.hold_back(connection, &left.request(line));
            }
            before = self.out.len();
            flow = memcache_commands::go_on(&mut self.memcache_context(connection), line, left);
            if !self.has_room_for_reply(connection, before, true) {
                // What of these keys has been counted and told is not so again.
                let left = Left::again(line, left.bytes, connection.memcache.left);
                connection.memcache.left = Some(left);
                return self.hold_back(connection, &left.request(line));
            }
        }
        self.finish_memcache(connection, flow, is_write);
    }

    /// Before the login: the request is none.
    #[cold]
    fn wants_login(&self, entry: &Entry) -> bool {
        let line = &self.input[entry.start..entry.end];
        let parsed = memcache::parse_login(line, &mut memcache::ParseState::new());
        matches!(
            parsed,
            memcache::Parsed::Complete { request: memcache::Request::Refused { .. }, .. }
        )
    }

    /// The end of a reply to a `get` for much, behind what is lent for `earlier` requests. It is sent
    /// now: once there are replies behind it, it cannot be asked for again where it finds no room.
    #[inline(always)]
    fn is_long_end(&self, (count, bytes): (usize, usize)) -> bool {
        self.loans.count() > count + 1 && self.loans.bytes() - bytes >= LOANS_SEND_BYTES
    }

    /// A store whose value has been received into its item.
    pub fn run_received(&mut self, connection: &mut Connection, entry: &Entry) {
        let Some(incoming) = connection.incoming.take() else { return };
        let end = &self.input[entry.start..entry.end];
        if self.must_wait(connection, |_| true) {
            self.kept += 1;
            if !connection.is_closing() {
                incoming.copy_to(end, &mut connection.held);
            }
            return;
        }
        let (session, limits) = (self.session, self.memcache_limits);
        let mut context = self.memcache_context(connection);
        let Incoming { line, value, is_binary, .. } = *incoming;
        let flow = session.with_received(value, |value| match is_binary {
            true => {
                let request = match memcache::binary::announced(&line, limits) {
                    Ok(Announced { request, .. }) => BinaryRequest { value, ..request },
                    // The limits have become narrower meanwhile.
                    Err(memcache::binary::Parsed::Complete { request, .. }) => request,
                    Err(_) => return None,
                };
                Some(memcache_commands::run_binary(&mut context, &request))
            }
            false => memcache::received(&line, value, end, limits)
                .map(|request| memcache_commands::run(&mut context, &request)),
        });
        self.finish_memcache(connection, flow.expect("it was a store when it was announced"), true);
    }

    /// As `finish`; the request may have been the last that is read.
    fn finish_memcache(&mut self, connection: &mut Connection, flow: Flow, is_write: bool) {
        if connection.memcache.watching || connection.memcache.dump.is_some() {
            connection.hold = Hold::Feed;
        }
        self.finish(connection, flow, is_write);
    }

    pub fn run_memcache_binary(
        &mut self,
        connection: &mut Connection,
        entry: &Entry,
        is_write: bool,
    ) {
        let refused = match entry.start == entry.end {
            true => std::mem::take(&mut connection.refused),
            false => Box::default(),
        };
        let bytes = match refused.is_empty() {
            // Nothing of it is left in the input to be kept; nothing held it back when it began.
            false => &refused,
            // Before a login there is the login, and what is refused.
            true => {
                let may_write = is_write && connection.memcache.authenticated;
                if self.must_wait(connection, |_| may_write) {
                    return self.keep(connection, entry);
                }
                &self.input[entry.start..entry.end]
            }
        };
        let parsed = memcache::binary::parse(bytes, self.memcache_limits);
        let memcache::binary::Parsed::Complete { request, .. } = parsed else { return };
        let before = self.out.len();
        if refused.is_empty()
            && self.is_room_shared(connection)
            && !self.has_room_ahead(connection, |session, _, now| {
                foretold::binary_bytes(session, MEMCACHE_DB, &request, now)
            })
        {
            return self.keep(connection, entry);
        }
        let may_wait = !is_write && refused.is_empty();
        let mut context = self.memcache_context(connection);
        let flow = memcache_commands::run_binary(&mut context, &request);
        if !self.has_room_for_reply(connection, before, may_wait) {
            return self.keep(connection, entry);
        }
        self.finish(connection, flow, is_write);
    }
}
