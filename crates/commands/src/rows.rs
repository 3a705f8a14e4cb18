//! The shortest way from a request to its reply, for commands that clients ask for in rows.
//!
//! ```text
//! for each connection   is_plain(client)                   -> nothing has a say in its requests
//! for each request      get_plain(...) or set_plain(...)   -> the reply, or false: run it
//! ```

use crate::connection::ClientState;
use crate::dispatch::Prepared;
use crate::redis::number::value;
use crate::redis::row::Row;
use crate::redis::table;
use dolium_engine::{Db, Fetch, Frame, Key, Millis, Put, Session, Value};
use dolium_protocol::resp::{self, RespWriter, Version};

const GET: u16 = table::id_of("get");
const SET: u16 = table::id_of("set");

/// The commands whose requests are answered in rows, if each of a row has as many arguments as here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRows {
    /// Of two arguments: see [`get_plain`].
    Get,
    /// Of three, so that it is a key and a value and nothing else: see [`set_plain`].
    Set,
}

impl InRows {
    #[inline(always)]
    pub fn of(row: &Row) -> Option<InRows> {
        match row.id {
            GET => Some(InRows::Get),
            SET => Some(InRows::Set),
            _ => None,
        }
    }

    #[inline(always)]
    pub fn row(self) -> &'static Row {
        let id = match self {
            InRows::Get => GET,
            InRows::Set => SET,
        };
        &table::ROWS[usize::from(id)]
    }

    /// One of them, of a key with this hash.
    #[inline(always)]
    pub fn prepared(self, hash: u64) -> Prepared {
        Prepared::sound(self.row(), hash)
    }
}

/// Answers a GET as [`dispatch::run`](crate::dispatch::run) does, if the connection's state has no say (see
/// [`is_plain`]) and what the passes have seen of the key is a plain string. False, and `out` as it
/// was: it must be run. The caller counts the hit.
#[inline(always)]
pub fn get_plain(
    session: &Session,
    fetch: &Fetch,
    (db, now): (Db, Millis),
    key: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    let key = Key::from_parts(key, fetch.hash());
    session.get_framed(fetch, db, &key, now, out, |len| {
        let (head, head_len) = resp::bulk_header(len);
        Frame { head, head_len, end: resp::BULK_END }
    })
}

/// Stores and answers as [`dispatch::run`](crate::dispatch::run) does for a SET of a key and a value, if the connection's
/// state has no say and there is ample room, as `has_room` knows of a whole row already. False, nothing
/// stored and `out` as it was: it must be run.
#[inline(always)]
pub fn set_plain(
    session: &Session,
    fetch: &Fetch,
    (db, now): (Db, Millis),
    (key, text): (&[u8], &[u8]),
    has_room: bool,
    out: &mut Vec<u8>,
) -> bool {
    // Where something must go for it, all of that is the command's own to do.
    if !has_room && !session.has_ample_room(key.len() + text.len()) {
        return false;
    }
    let key = Key::from_parts(key, fetch.hash());
    let stored = match value(text) {
        Value::Bytes(bytes) => session.set_fetched(db, &key, fetch, bytes, now),
        value => session.write_fetched(db, &key, fetch, now).put_fetched(
            db,
            &key,
            fetch,
            &Put::plain(value),
        ),
    };
    let is_stored = stored.is_ok();
    if is_stored {
        RespWriter::new(out, Version::V2).ok();
    }
    is_stored
}

/// Whether commands of this connection are run and answered at once, one after the other.
#[inline(always)]
pub fn is_plain(client: &ClientState) -> bool {
    client.gate == 0
}
