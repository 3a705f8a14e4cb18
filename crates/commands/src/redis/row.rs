//! A command is a row: what it is called, what it may touch, what it means.
//!
//! The dispatcher, COMMAND, ACL categories and the command page all read these fields; nothing
//! about a command is said twice.

use crate::arguments::Args;
use crate::context::Context;
use crate::redis::error::CommandError;
use dolium_engine::Key;

#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// In lower case; a subcommand is `container|name`.
    pub name: &'static str,
    /// Number of arguments, the name counted; negative: at least so many.
    pub arity: i8,
    pub flags: u32,
    pub keys: Keys,
    /// ACL categories that the flags do not imply (see `redis::category`).
    pub categories: u32,
    pub group: Group,
    /// Version of Redis in which the command appeared.
    pub since: &'static str,
    pub complexity: &'static str,
    pub summary: &'static str,
    pub run: Run,
    /// Position in `table::ROWS`, filled in when that is built: an index for statistics.
    pub id: u16,
    /// Number of subcommands; their rows follow this one.
    pub subcommands: u16,
}

pub type Outcome = Result<(), CommandError>;
pub type Run = fn(&mut Context<'_>, &Call<'_>) -> Outcome;

/// One request with what the dispatcher knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub row: &'static Row,
    pub args: Args<'a>,
    /// Hash of the first key, if the row declares one.
    pub hash: u64,
}

impl<'a> Call<'a> {
    /// The first key, hashed once when the request was prepared.
    #[inline]
    pub fn key(&self) -> Key<'a> {
        Key::from_parts(self.args.at(usize::from(self.row.keys.first)), self.hash)
    }
}

/// What a command does, as bits; names in COMMAND INFO are in `redis::flag_names`.
pub mod flag {
    pub const WRITE: u32 = 1;
    pub const READONLY: u32 = 1 << 1;
    /// Needs memory: refused when there is none.
    pub const DENYOOM: u32 = 1 << 2;
    pub const ADMIN: u32 = 1 << 3;
    pub const PUBSUB: u32 = 1 << 4;
    pub const NOSCRIPT: u32 = 1 << 5;
    pub const LOADING: u32 = 1 << 6;
    pub const STALE: u32 = 1 << 7;
    pub const SKIP_SLOWLOG: u32 = 1 << 8;
    pub const FAST: u32 = 1 << 9;
    /// May be called before AUTH.
    pub const NO_AUTH: u32 = 1 << 10;
    pub const MAY_REPLICATE: u32 = 1 << 11;
    pub const NO_ASYNC_LOADING: u32 = 1 << 12;
    /// Refused inside MULTI.
    pub const NO_MULTI: u32 = 1 << 13;
    pub const ALLOW_BUSY: u32 = 1 << 14;
    /// Only a container of subcommands: not to be run itself.
    pub const CONTAINER: u32 = 1 << 15;
    /// Runs at once inside MULTI instead of being queued.
    pub const NOT_QUEUED: u32 = 1 << 16;
    /// Allowed on a RESP2 connection with subscriptions.
    pub const IN_SUBSCRIBED: u32 = 1 << 17;
    /// Touches keys that it does not declare: a transaction with it locks every shard.
    pub const WHOLE_STORE: u32 = 1 << 18;
}

/// Where the keys stand among the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Argument number of the first key; 0: no key.
    pub first: u8,
    /// Argument number of the last key; negative: from the end (-1 is the last argument).
    pub last: i8,
    pub step: u8,
    /// What is done with the keys, for COMMAND INFO.
    pub access: &'static [Access],
}

impl Keys {
    pub const NONE: Keys = Keys { first: 0, last: 0, step: 0, access: &[] };

    /// Argument numbers of the keys among `argc` arguments.
    pub fn positions(self, argc: usize) -> impl Iterator<Item = usize> {
        let first = usize::from(self.first);
        let last = if self.last >= 0 {
            self.last as usize
        } else {
            argc.saturating_sub(self.last.unsigned_abs().into())
        };
        let last = last.min(argc.saturating_sub(1));
        let range = if first == 0 { 1..=0 } else { first..=last };
        range.step_by(usize::from(self.step).max(1))
    }
}

/// A key specification of COMMAND INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Argument number where this specification begins.
    pub index: u8,
    /// Last key relative to the first; negative: from the end.
    pub last: i8,
    pub step: u8,
    /// Names as COMMAND INFO prints them: `RO`, `access`, ...
    pub flags: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Generic,
    String,
    Connection,
    Server,
    Transactions,
    PubSub,
}
