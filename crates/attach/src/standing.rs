//! What the server keeps of this client from one command to the next: which database is selected,
//! and whether a transaction is being queued.
//!
//! Handles of all databases share one ring, so a SELECT goes before a command whose handle is of
//! another database than the command before. That must not happen before a login (a server with a
//! password refuses SELECT) nor within MULTI (where it would be queued among the caller's commands).
//! Both are known from the replies alone: what a command asks for is not always what it gets.
//!
//! For that reason a caller's own SELECT is refused: the next command would run where its handle says, and
//! who believes it to be elsewhere writes over other keys. Within MULTI it means what follows there.

use crate::error::Error;
use dolium_protocol::resp::Value;

/// These mean the connection, not a database.
const OF_NO_DATABASE: [&str; 5] = ["AUTH", "HELLO", "RESET", "QUIT", "DISCARD"];
/// These end a transaction and are never queued, so any handle may send them.
const END_A_TRANSACTION: [&str; 3] = ["DISCARD", "RESET", "QUIT"];
/// After these another database may be selected than before: a queued SELECT runs with EXEC.
const FORGET_THE_DATABASE: [&str; 3] = ["RESET", "EXEC", "DISCARD"];

/// What comes behind these waits for their replies, which say where it runs.
const DECIDE: [&str; 7] = ["MULTI", "EXEC", "AUTH", "HELLO", "RESET", "QUIT", "DISCARD"];

/// Is where the next command runs known only from the reply to this one?
pub fn decides(name: &[u8]) -> bool {
    DECIDE.into_iter().any(|other| is(name, other))
}

#[derive(Debug)]
pub struct Standing {
    /// The database that the server has selected for this client, if known.
    selected: Option<u16>,
    /// The database of the handle that sent MULTI, until its transaction has ended.
    multi: Option<u16>,
}

impl Standing {
    /// That of a client which has just come.
    pub fn new() -> Standing {
        Standing { selected: Some(0), multi: None }
    }

    /// What is sent now would be queued, and not answered.
    pub fn is_in_multi(&self) -> bool {
        self.multi.is_some()
    }

    /// Must a SELECT be sent before this command of a handle?
    pub fn needs_select(&self, db: u16, name: &[u8]) -> Result<bool, Error> {
        let is_one_of = |names: &[&str]| names.iter().any(|other| is(name, other));
        match self.multi {
            Some(open) if open != db && !is_one_of(&END_A_TRANSACTION) => {
                Err(Error::OtherTransaction { open, asked: db })
            }
            // The transaction's own commands, in the database that it was begun in or has chosen.
            Some(_) => Ok(false),
            None if is(name, "SELECT") => Err(Error::Selects),
            None => Ok(self.selected != Some(db) && !is_one_of(&OF_NO_DATABASE)),
        }
    }

    /// The reply to a SELECT that a handle needs. Anything but OK selects nothing.
    pub fn note_select(&mut self, db: u16, reply: &Value) -> Result<(), Error> {
        if is_ok(reply) {
            self.selected = Some(db);
            return Ok(());
        }
        self.selected = None;
        let text = reply.as_error().unwrap_or(b"the server's answer to SELECT is not OK");
        Err(Error::Command(String::from_utf8_lossy(text).into_owned()))
    }

    /// The reply to a command of the caller's.
    pub fn note(&mut self, db: u16, name: &[u8], reply: &Value) {
        if FORGET_THE_DATABASE.into_iter().any(|other| is(name, other)) {
            self.selected = None;
        }
        if is(name, "MULTI") && is_ok(reply) {
            self.multi = Some(db);
        }
        let may_end =
            is(name, "EXEC") || END_A_TRANSACTION.into_iter().any(|other| is(name, other));
        if may_end && has_ended(reply) {
            self.multi = None;
        }
    }
}

fn is(name: &[u8], other: &str) -> bool {
    name.eq_ignore_ascii_case(other.as_bytes())
}

fn is_ok(reply: &Value) -> bool {
    matches!(reply, Value::Simple(text) if text == b"OK")
}

/// Is there no transaction any more? It goes on where its end was refused, as DISCARD with a word too many
/// is; an EXEC that is refused ends it, and says so.
fn has_ended(reply: &Value) -> bool {
    reply
        .as_error()
        .is_none_or(|text| text.starts_with(b"EXECABORT") || text.ends_with(b" without MULTI"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple(text: &str) -> Value {
        Value::Simple(text.as_bytes().to_vec())
    }

    fn error(text: &str) -> Value {
        Value::Error(text.as_bytes().to_vec())
    }

    /// A handle of database 1 sent SELECT before its AUTH, and a server with a password refused it.
    #[test]
    fn nothing_goes_before_a_login() {
        let mut standing = Standing::new();
        for name in [&b"AUTH"[..], b"hello", b"RESET", b"quit", b"Discard"] {
            assert!(!standing.needs_select(1, name).unwrap());
        }
        assert!(standing.needs_select(1, b"GET").unwrap());
        let refused = standing.note_select(1, &error("NOAUTH Authentication required."));
        assert!(matches!(refused, Err(Error::Command(text)) if text.starts_with("NOAUTH")));
        standing.note(1, b"AUTH", &simple("OK"));
        assert!(standing.needs_select(1, b"GET").unwrap());
        standing.note_select(1, &simple("OK")).unwrap();
        assert!(!standing.needs_select(1, b"GET").unwrap());
    }

    /// `+QUEUED` was taken for the deed.
    #[test]
    fn a_select_that_is_only_queued_selects_nothing() {
        let mut standing = Standing::new();
        assert!(standing.note_select(3, &simple("QUEUED")).is_err());
        assert!(standing.needs_select(3, b"GET").unwrap());
        assert!(standing.needs_select(0, b"GET").unwrap());
    }

    /// It was answered OK, and the next command ran in database 0.
    #[test]
    fn nothing_is_selected_for_the_caller() {
        let mut standing = Standing::new();
        assert!(matches!(standing.needs_select(0, b"select"), Err(Error::Selects)));
        standing.note(0, b"MULTI", &simple("OK"));
        assert!(!standing.needs_select(0, b"SELECT").unwrap());
        standing.note(0, b"EXEC", &Value::Array(Vec::new()));
        assert!(matches!(standing.needs_select(0, b"SELECT"), Err(Error::Selects)));
    }

    #[test]
    fn a_transaction_is_of_one_database_until_it_ends() {
        let mut standing = Standing::new();
        standing.note(0, b"multi", &simple("OK"));
        assert!(standing.is_in_multi());
        assert!(!standing.needs_select(0, b"SET").unwrap());
        let other = standing.needs_select(1, b"SET");
        assert!(matches!(other, Err(Error::OtherTransaction { open: 0, asked: 1 })));
        // The caller's own SELECT is part of it, and runs with EXEC: nothing is put between.
        standing.note(0, b"SELECT", &simple("QUEUED"));
        assert!(!standing.needs_select(0, b"SET").unwrap());
        standing.note(0, b"DISCARD", &error("ERR wrong number of arguments for 'discard' command"));
        assert!(standing.is_in_multi());
        standing.note(0, b"EXEC", &Value::Array(Vec::new()));
        assert!(!standing.is_in_multi());
        assert!(standing.needs_select(0, b"GET").unwrap());
    }

    #[test]
    fn every_end_of_a_transaction_is_one() {
        for (name, reply) in [
            ("EXEC", Value::Null),
            ("EXEC", error("EXECABORT Transaction discarded because of previous errors.")),
            ("QUIT", simple("OK")),
            ("exec", error("ERR EXEC without MULTI")),
            ("DISCARD", simple("OK")),
            ("reset", simple("RESET")),
        ] {
            let mut standing = Standing::new();
            standing.note(0, b"MULTI", &simple("OK"));
            // From another handle too, unless it would be a command of the transaction.
            let from_other = standing.needs_select(1, name.as_bytes());
            assert_eq!(from_other.is_ok(), !name.eq_ignore_ascii_case("EXEC"));
            standing.note(0, name.as_bytes(), &reply);
            assert!(!standing.is_in_multi(), "{name} {reply:?}");
        }
        let mut standing = Standing::new();
        standing.note(0, b"MULTI", &error("ERR MULTI calls can not be nested"));
        assert!(!standing.is_in_multi());
    }
}
