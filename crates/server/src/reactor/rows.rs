//! Requests in a row that begin alike: parsed without being looked at one by one.
//!
//! ```text
//!   *2..GET..a  *2..GET..b  *2..GET..c  *3..SET..    input
//!   `---------------- a row ---------'
//!        entry: Gets { first, count }               one in the batch, where the row is to run
//!        gets:  a | b | c      fetches: a | b | c   one each: arguments, and what the passes see
//! ```

use super::batch::{Batch, InRow, What};
use crate::clients::Token;
use dolium_commands::rows::InRows;
use dolium_engine::{Db, Fetch, Session};
use dolium_protocol::resp::{self, ParseState, Repeat};

/// What a row is read from.
pub(super) struct Source<'a> {
    pub input: &'a [u8],
    /// Where the connection's bytes end in the input.
    pub end: usize,
    pub db: Db,
    pub session: &'a Session,
}

/// With how much the batch is full.
struct Room {
    requests: usize,
    /// Where the last of its bytes would be.
    until: usize,
}

impl Source<'_> {
    /// Takes a row of `command` that begins at `at`; where it ends: at `at` if there is none.
    #[inline(always)]
    pub fn take_row(
        &self,
        batch: &mut Batch,
        command: InRows,
        token: Token,
        at: usize,
        state: &mut ParseState,
        repeat: &mut Repeat,
    ) -> usize {
        let room = Room { requests: batch.room(), until: at + batch.room_bytes() };
        let fetches = &mut batch.fetches;
        let (end, count, what) = match command {
            InRows::Get => {
                let first = batch.gets.len();
                let end = self.gather(at, &room, &mut batch.gets, fetches, state, repeat);
                let count = batch.gets.len() - first;
                (end, count, What::Gets { first, count })
            }
            InRows::Set => {
                let first = batch.sets.len();
                let end = self.gather(at, &room, &mut batch.sets, fetches, state, repeat);
                let count = batch.sets.len() - first;
                (end, count, What::Sets { first, count })
            }
        };
        if count > 0 {
            batch.push_row(token, what, count, at, end);
        }
        end
    }

    /// Pushes the requests of a row, and asks for the index lines of their keys.
    #[inline(always)]
    fn gather<const N: usize>(
        &self,
        mut at: usize,
        room: &Room,
        requests: &mut Vec<InRow<N>>,
        fetches: &mut Vec<Fetch>,
        state: &mut ParseState,
        repeat: &mut Repeat,
    ) -> usize {
        let engine = self.session.engine();
        let first = requests.len();
        let most = first + room.requests;
        while requests.len() < most && at < room.until {
            let rest = &self.input[at..self.end];
            let Some(args) = resp::parse_few::<N>(rest, state, repeat) else { break };
            let key = engine.key(args.arg(1, rest));
            let comes_alone = requests.len() == first && args.request_len() == rest.len();
            if comes_alone {
                // SETs have a value.
                let writes = N == 3;
                self.session.fetch_in_steps(self.db, key.hash(), writes, fetches);
            } else {
                self.session.fetch_line(self.db, key.hash(), fetches);
            }
            requests.push(InRow { start: at, args });
            at += args.request_len();
        }
        at
    }
}
