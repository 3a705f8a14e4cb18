//! Requests of one connection in a row: what has a say in all of them is looked at once.
//!
//! ```text
//! nothing has a say --> GET of a plain string, SET that has room --> answered; counted together
//!        |                   `-- missing, a number, long, a list; no memory --> as any command
//!        `-- paused, held, MULTI, replies off, each command timed ------------> as any command
//! ```
//! What of the connection has a say changes in the midst of a row only where a request runs as any
//! command does, or much is sent; so it is looked at again there. What other threads may decide at any
//! moment, a pause and the timing of each command, is looked at for each request.

use super::Stage;
use crate::connection::Connection;
use crate::reactor::batch::{Entry, InRow};
use crate::statistics::row_trait;
use dolium_commands::rows::{self, InRows};
use dolium_engine::{Db, Fetch, Session};
use dolium_protocol::resp::Few;
use std::hint::cold_path;
use std::sync::atomic::Ordering::Relaxed;

/// What answers a request with: the session, what the passes have seen, where and when, the request
/// with the bytes that it is of, and the output.
struct Plain<'a, const N: usize> {
    session: &'a Session,
    fetch: &'a Fetch,
    place: (Db, u64),
    args: &'a Few<N>,
    input: &'a [u8],
    out: &'a mut Vec<u8>,
}

impl Stage<'_> {
    /// The GETs of an entry, in their order.
    pub fn run_gets(&mut self, connection: &mut Connection, entry: &Entry, gets: &[InRow<2>]) {
        let answered = self.run_row(connection, entry, gets, InRows::Get, |one| {
            let key = one.args.arg(1, one.input);
            rows::get_plain(one.session, one.fetch, one.place, key, one.out)
        });
        if answered > 0 {
            self.session.count_hits(answered);
        }
    }

    /// The SETs of an entry, in their order.
    pub fn run_sets(&mut self, connection: &mut Connection, entry: &Entry, sets: &[InRow<3>]) {
        // What all of them take is less than what asks for it.
        let has_room = self.session.may_grow_by(entry.end - entry.start);
        let answered = self.run_row(connection, entry, sets, InRows::Set, |one| {
            let item = (one.args.arg(1, one.input), one.args.arg(2, one.input));
            rows::set_plain(one.session, one.fetch, one.place, item, has_room, one.out)
        });
        if answered > 0 {
            self.wrote = true;
            self.serve_waiting();
        }
    }

    /// Returns how many were answered by `answer`.
    #[inline(always)]
    fn run_row<const N: usize>(
        &mut self,
        connection: &mut Connection,
        entry: &Entry,
        requests: &[InRow<N>],
        command: InRows,
        answer: impl Fn(Plain<'_, N>) -> bool,
    ) -> u64 {
        let fetches = &self.fetches[entry.key..][..requests.len()];
        let place = (connection.client.db, self.now);
        let mut is_plain = self.is_plain(connection, command);
        let near = self.session.near();
        let mut answered = 0;
        for (number, (InRow { start, args }, fetch)) in requests.iter().zip(fetches).enumerate() {
            near.fetch(self.fetches, entry.key + number);
            let may_be_plain = is_plain && !self.is_watched();
            let input = &self.input[*start..];
            let (session, out) = (self.session, &mut *self.out);
            if may_be_plain && answer(Plain { session, fetch, place, args, input, out }) {
                answered += 1;
                if self.is_much(connection) {
                    cold_path();
                    self.send_early(connection);
                    is_plain = self.is_plain(connection, command);
                }
                continue;
            }
            cold_path();
            let range = *start..*start + args.request_len();
            let args = args.view(&self.input[range.clone()]);
            let prepared = command.prepared(fetch.hash());
            self.run_args(connection, range, &prepared, &args, entry.key + number);
            is_plain = self.is_plain(connection, command);
        }
        if answered > 0 {
            let row = command.row();
            connection.client.last_command = Some(row);
            self.counters.rows[usize::from(row.id)].calls.add(answered);
        }
        answered
    }

    /// Whether nothing of the connection has a say in its requests.
    #[inline(always)]
    fn is_plain(&self, connection: &Connection, command: InRows) -> bool {
        let traits = self.traits[usize::from(command.row().id)];
        rows::is_plain(&connection.client)
            && !connection.hold.stops_requests()
            && !connection.is_closing()
            && traits & (row_trait::TIMED | row_trait::DESCRIBES) == 0
    }

    /// Some client has told the server to pause, or to time each command.
    #[inline(always)]
    fn is_watched(&self) -> bool {
        self.server.pause.is_on() || self.server.config.live.times_all.load(Relaxed)
    }
}
