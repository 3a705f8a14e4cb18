//! Reads that the arena did not answer, put to the server. It has locks, and so does not lose against
//! writers.

use crate::error::Error;
use crate::store::Store;
use dolium_engine::{Kind, Millis, NEVER};
use dolium_protocol::resp::Value;

const KINDS: [Kind; 3] = [Kind::String, Kind::List, Kind::Set];

impl Store {
    /// The value of a key.
    #[cold]
    pub(crate) fn asked_for(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.ask(&[b"GET", key])? {
            Value::Null => Ok(None),
            Value::Bulk(bytes) => Ok(Some(bytes)),
            other => Err(no_answer(&other)),
        }
    }

    #[cold]
    pub(crate) fn asked_whether_exists(&self, key: &[u8]) -> Result<bool, Error> {
        match self.ask(&[b"EXISTS", key])? {
            Value::Int(number) => Ok(number != 0),
            other => Err(no_answer(&other)),
        }
    }

    /// The deadline of a key, or [`NEVER`]. Not the time that is left: a store may go by another
    /// clock than the server.
    #[cold]
    pub(crate) fn asked_for_deadline(&self, key: &[u8]) -> Result<Option<Millis>, Error> {
        match self.ask(&[b"PEXPIRETIME", key])? {
            Value::Int(-2) => Ok(None),
            Value::Int(-1) => Ok(Some(NEVER)),
            // A deadline before 1970 is not stored, so nothing is lost here.
            Value::Int(deadline) => Ok(Some(Millis::try_from(deadline).unwrap_or_default())),
            other => Err(no_answer(&other)),
        }
    }

    #[cold]
    pub(crate) fn asked_for_kind(&self, key: &[u8]) -> Result<Option<Kind>, Error> {
        let reply = self.ask(&[b"TYPE", key])?;
        let Value::Simple(name) = &reply else { return Err(no_answer(&reply)) };
        if name == b"none" {
            return Ok(None);
        }
        let kind = KINDS.into_iter().find(|kind| kind.name().as_bytes() == name.as_slice());
        kind.map(Some).ok_or_else(|| no_answer(&reply))
    }

    /// Not while a transaction is being queued: the question would become a part of it.
    fn ask(&self, args: &[&[u8]]) -> Result<Value, Error> {
        let mut channel = self.channel().map_err(as_of_a_read)?;
        if channel.is_in_multi() {
            return Err(Error::Contended);
        }
        channel.execute(self.number(), args, self.time_limit()).map_err(as_of_a_read)
    }
}

/// There is no way to the server, for whatever reason: that is of no concern to one who only reads, in a
/// forked child say, but that the read has not come about. [`Error::TimedOut`] is of this very question.
fn as_of_a_read(error: Error) -> Error {
    match error {
        Error::NoServer | Error::Forked | Error::ServerGone | Error::Closed | Error::OutOfStep => {
            Error::Contended
        }
        error => error,
    }
}

fn no_answer(reply: &Value) -> Error {
    let text = reply.as_error().unwrap_or(b"the server's answer is not one to this question");
    if text.starts_with(b"WRONGTYPE") {
        return Error::WrongType;
    }
    Error::Command(String::from_utf8_lossy(text).into_owned())
}
