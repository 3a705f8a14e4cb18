//! A command is a row: what it is called, what it may touch, what it means.
//!
//! The dispatcher, COMMAND, ACL categories and the command page all read these fields; nothing
//! about a command is said twice.

use crate::context::Context;
pub use crate::redis::bits::{category, flag};
use crate::redis::error::CommandError;
use crate::redis::number::leading;
use dolium_engine::Key;
use dolium_protocol::resp::Args;

#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// In lower case; a subcommand is `container|name`.
    pub name: &'static str,
    /// Number of arguments, the name counted; negative: at least so many.
    pub arity: i8,
    pub flags: u32,
    pub keys: Keys,
    /// ACL categories, those that the flags imply included.
    pub categories: u32,
    pub group: Group,
    /// Version of Redis in which the command appeared.
    pub since: &'static str,
    /// The version that deprecated it, and what to use.
    pub replaced_by: Option<(&'static str, &'static str)>,
    pub complexity: &'static str,
    pub summary: &'static str,
    /// What follows the name, in the form that `server::syntax` reads; empty for a container.
    pub syntax: &'static str,
    /// Hints for proxies and cluster clients, as COMMAND INFO prints them.
    pub tips: &'static [&'static str],
    pub run: Run,
    /// Position in `table::ROWS`, filled in when that is built: an index for statistics.
    pub id: u16,
    /// Number of subcommands; their rows follow this one.
    pub subcommands: u16,
}

/// A row with the least it can have; the builders below add the rest.
pub(crate) const fn row(name: &'static str, arity: i8, flags: u32, run: Run) -> Row {
    Row {
        name,
        arity,
        flags,
        keys: Keys::NONE,
        categories: category::implied(flags),
        group: Group::Generic,
        since: "",
        replaced_by: None,
        complexity: "",
        summary: "",
        syntax: "",
        tips: &[],
        run,
        id: 0,
        subcommands: 0,
    }
}

/// What a container itself runs: nothing, because the dispatcher asks for a subcommand first.
pub(crate) fn container(_: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    Err(CommandError::Arity(call.row.name))
}

impl Row {
    pub(crate) const fn keys(
        mut self,
        first: u8,
        last: i8,
        step: u8,
        access: &'static [&'static [&'static str]],
    ) -> Row {
        self.keys = Keys { first, last, step, access, counted: false };
        self
    }

    /// Keys from an argument on, of which there are as many as the argument before it says.
    pub(crate) const fn counted_keys(
        mut self,
        first: u8,
        access: &'static [&'static [&'static str]],
    ) -> Row {
        self.keys = Keys { first, last: -1, step: 1, access, counted: true };
        self.flags |= flag::MOVABLE_KEYS;
        self
    }

    pub(crate) const fn categories(mut self, categories: u32) -> Row {
        self.categories |= categories;
        self
    }

    pub(crate) const fn tips(mut self, tips: &'static [&'static str]) -> Row {
        self.tips = tips;
        self
    }

    pub(crate) const fn syntax(mut self, syntax: &'static str) -> Row {
        self.syntax = syntax;
        self
    }

    pub(crate) const fn replaced_by(mut self, since: &'static str, by: &'static str) -> Row {
        self.replaced_by = Some((since, by));
        self
    }

    pub(crate) const fn about(
        mut self,
        group: Group,
        since: &'static str,
        complexity: &'static str,
        summary: &'static str,
    ) -> Row {
        self.group = group;
        self.since = since;
        self.complexity = complexity;
        self.summary = summary;
        self
    }

    #[inline]
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Does a request of so many arguments, the name counted, fit?
    #[inline]
    pub fn fits(&self, argc: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity >= 0 { argc == arity } else { argc >= arity }
    }
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
        Key::from_parts(self.args.arg(usize::from(self.row.keys.first)), self.hash)
    }
}

/// Where the keys stand among the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Argument number of the first key; 0: no key.
    pub first: u8,
    /// Argument number of the last key; negative: from the end (-1 is the last argument).
    pub last: i8,
    pub step: u8,
    /// What is done with the keys, in COMMAND INFO's words: one list for all of them, or one for
    /// each key, the last one for all that follow.
    pub access: &'static [&'static [&'static str]],
    /// The argument before the first key says how many there are.
    pub counted: bool,
}

impl Keys {
    pub const NONE: Keys = Keys { first: 0, last: 0, step: 0, access: &[], counted: false };

    /// Argument numbers of the keys of a request.
    pub fn positions(self, args: &Args<'_>) -> impl Iterator<Item = usize> + use<> {
        self.among(args.len()).take(self.count(args).unwrap_or(usize::MAX))
    }

    /// Where the keys are counted: there is at least one, and as many as said.
    pub fn are_there(self, args: &Args<'_>) -> bool {
        let is_there = |count| count > 0 && count <= self.among(args.len()).count();
        self.count(args).is_none_or(is_there)
    }

    /// How many keys the request says that it has, read as loosely as Redis does for COMMAND GETKEYS. The
    /// commands read it strictly.
    fn count(self, args: &Args<'_>) -> Option<usize> {
        let count = args.get(usize::from(self.first).saturating_sub(1)).filter(|_| self.counted)?;
        Some(usize::try_from(leading(count)).unwrap_or(0))
    }

    /// Argument numbers that keys can have among `argc` arguments.
    fn among(self, argc: usize) -> impl Iterator<Item = usize> + use<> {
        let first = usize::from(self.first);
        let last = if self.last >= 0 {
            self.last as usize
        } else {
            argc.saturating_sub(self.last.unsigned_abs().into())
        };
        let last = last.min(argc.saturating_sub(1));
        let end = if first == 0 { 0 } else { last + 1 };
        (first..end).step_by(usize::from(self.step).max(1))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Generic,
    String,
    Bitmap,
    List,
    Set,
    Connection,
    Server,
    Transactions,
    PubSub,
    Scripting,
}

impl Group {
    /// As COMMAND DOCS names it.
    pub fn name(self) -> &'static str {
        match self {
            Group::Generic => "generic",
            Group::String => "string",
            Group::Bitmap => "bitmap",
            Group::List => "list",
            Group::Set => "set",
            Group::Connection => "connection",
            Group::Server => "server",
            Group::Transactions => "transactions",
            Group::PubSub => "pubsub",
            Group::Scripting => "scripting",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_keys_from_either_end() {
        let all = Keys { first: 1, last: -1, step: 2, ..Keys::NONE };
        assert_eq!(all.among(5).collect::<Vec<_>>(), [1, 3]);
        let two = Keys { first: 1, last: 2, step: 1, ..Keys::NONE };
        assert_eq!(two.among(6).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(Keys::NONE.among(6).count(), 0);
        let object = Keys { first: 2, last: 2, step: 1, ..Keys::NONE };
        assert_eq!(object.among(3).collect::<Vec<_>>(), [2]);
    }
}
