//! From a parsed request to its reply, in two steps.
//!
//! A server that has several requests at hand calls [`prepare`] for each while parsing, prefetches
//! what they will touch, and then calls [`run`] for each: the cache misses of one request pass
//! while others are parsed.
//!
//! ```text
//! for each request   prepare(engine, &args)     -> row, hash of the first key
//!                    session.fetch_line(db, hash, &mut fetches), then fetch_items(&mut fetches)
//!                    (MGET, MSET, DEL ...: Prepared::other_keys names the rest)
//! for each request   run(&mut context, &prepared, args) -> reply in context.out, and which command ran
//! ```
//! What cannot simply run goes by `dispatch/gated.rs`.

mod gated;

use crate::connection::ClientState;
use crate::context::{Context, Flow};
use crate::redis::again;
use crate::redis::error::CommandError;
use crate::redis::keeping;
use crate::redis::row::{Call, Row, flag};
use crate::redis::string::read;
use crate::redis::table;
use dolium_engine::Engine;
use dolium_protocol::resp::Args;
use gated::run_gated;

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

    /// There is a command of that name, and a subcommand if one was asked for.
    pub fn is_known(&self) -> bool {
        !matches!(self.fault, Fault::UnknownCommand | Fault::UnknownSubcommand)
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
            .flat_map(move |keys| keys.positions(&args).skip(1))
            .map(move |i| args.arg(i))
    }

    /// May it change data, now: what CLIENT PAUSE WRITE holds back.
    pub fn may_write(&self, client: &ClientState) -> bool {
        let Some(row) = self.row.filter(|_| self.is_sound()) else { return false };
        row.has(flag::WRITE | flag::MAY_REPLICATE)
            || (row.name == "exec" && client.transaction.may_write())
    }

    /// A sound request of a row whose first key has this hash.
    #[inline(always)]
    pub(crate) fn sound(row: &'static Row, hash: u64) -> Prepared {
        Prepared { row: Some(row), hash, fault: Fault::None }
    }

    pub(crate) fn call<'a>(&self, row: &'static Row, args: Args<'a>) -> Call<'a> {
        Call { row, args, hash: self.hash }
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Ran {
    pub flow: Flow,
    /// The command, if it ran, be it with an error. What was refused before that, or queued by MULTI,
    /// is no call of its command.
    pub row: Option<&'static Row>,
}

/// Finds the command of a request and hashes its first key. `args` is not empty.
#[inline]
pub fn prepare(engine: &Engine, args: &Args<'_>) -> Prepared {
    let Some(mut row) = table::find(args.arg(0)) else {
        return Prepared { row: None, hash: 0, fault: Fault::UnknownCommand };
    };
    if row.subcommands > 0 && args.len() > 1 {
        match table::subcommand(row, args.arg(1)) {
            Some(sub) => row = sub,
            None => {
                return Prepared { row: Some(row), hash: 0, fault: Fault::UnknownSubcommand };
            }
        }
    }
    if !row.fits(args.len()) {
        return Prepared { row: Some(row), hash: 0, fault: Fault::Arity };
    }
    let first = usize::from(row.keys.first);
    let hash = if first == 0 { 0 } else { engine.key(args.arg(first)).hash() };
    Prepared::sound(row, hash)
}

/// Whether a line of a web request stands in a command's place, as in Redis: what a page makes a browser
/// send to this port would run as commands. There is no such command.
pub fn is_of_web_request(prepared: &Prepared, args: &Args<'_>) -> bool {
    let is_called = |name: &[u8]| args.arg(0).eq_ignore_ascii_case(name);
    prepared.fault == Fault::UnknownCommand && (is_called(b"host:") || is_called(b"post"))
}

/// As [`prepare`], for a request whose row and number of arguments were those of an earlier one
/// that [`is_repeatable`].
#[inline(always)]
pub fn prepare_repeat(engine: &Engine, row: &'static Row, args: &Args<'_>) -> Prepared {
    let first = usize::from(row.keys.first);
    let hash = if first == 0 { 0 } else { engine.key(args.arg(first)).hash() };
    Prepared::sound(row, hash)
}

/// The row, if every request with the same name and number of arguments has it and is sound.
pub fn is_repeatable(prepared: &Prepared) -> Option<&'static Row> {
    prepared
        .row
        .filter(|row| prepared.is_sound() && row.subcommands == 0 && !row.name.contains('|'))
}

/// Runs a request and appends its reply to `context.out`. `args` are those that were prepared.
#[inline]
pub fn run(ctx: &mut Context<'_>, prepared: &Prepared, args: Args<'_>) -> Ran {
    let row = match prepared.row {
        Some(row) if prepared.is_sound() && ctx.client.gate == 0 => {
            ctx.client.last_command = Some(row);
            call(ctx, &prepared.call(row, args));
            Some(row)
        }
        _ => run_gated(ctx, prepared, args),
    };
    let flow = match (ctx.client.close, ctx.client.waits) {
        (false, false) => Flow::Continue,
        (true, _) => Flow::Close,
        (false, true) => Flow::Wait,
    };
    Ran { flow, row }
}

/// Runs one command; its refusal becomes an error reply.
#[inline(always)]
pub(crate) fn call(ctx: &mut Context<'_>, call: &Call<'_>) {
    let start = ctx.out.len();
    // GET is most of what a store does, and short enough for a call through a pointer, with all
    // that is passed along in memory, to be a good part of it.
    let outcome = if call.row.id == GET {
        read::get(ctx, call)
    } else {
        let _kept = keeping::keep(ctx, call);
        (call.row.run)(ctx, call)
    };
    if let Err(error) = outcome {
        fail(ctx, call, start, error);
    }
}

const GET: u16 = table::id_of("get");

/// A command that was only too late for the room made for it runs again; any other error is its reply.
#[cold]
fn fail(ctx: &mut Context<'_>, call: &Call<'_>, start: usize, error: CommandError) {
    let _kept = keeping::keep(ctx, call);
    if let Err(error) = again::run_again(ctx, call, start, error) {
        refuse(ctx, start, &error);
    }
}

#[cold]
fn refuse(ctx: &mut Context<'_>, start: usize, error: &CommandError) {
    // What the command had begun to write is not part of the answer.
    ctx.out.truncate(start);
    ctx.reply().error_bytes(&error.line());
}
