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

use crate::connection::{ClientState, ReplyMode, gate};
use crate::context::{Context, Flow};
use crate::limits::UNKNOWN_ARGUMENTS_PREVIEW_BYTES;
use crate::redis::again;
use crate::redis::error::{CommandError, quoted};
use crate::redis::exec;
use crate::redis::keeping;
use crate::redis::room::Room;
use crate::redis::row::{Call, Row, flag};
use crate::redis::string::read;
use crate::redis::table;
use crate::redis::transaction::Queued;
use dolium_engine::Engine;
use dolium_protocol::resp::{ArgVec, Args, Version};

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

/// The request cannot simply run: something is wrong with it, or the connection is in a state
/// that has a say. Returns the command if it ran.
fn run_gated(ctx: &mut Context<'_>, prepared: &Prepared, args: Args<'_>) -> Option<&'static Row> {
    let start = ctx.out.len();
    // The reply may be dropped, or be part of a larger one.
    ctx.outlet = None;
    let silent = ctx.client.reply_mode != ReplyMode::On;
    if ctx.client.reply_mode == ReplyMode::SkipNext {
        // For this one command; it may ask for more of the same itself.
        ctx.client.reply_mode = ReplyMode::Skipping;
    }
    let ran = match admit(ctx, prepared, &args) {
        Err(error) => {
            // What nobody knows is no command, not even the last one.
            ctx.client.last_command = prepared.row.filter(|_| prepared.is_known());
            if ctx.client.gate & gate::MULTI != 0 {
                ctx.client.transaction.broken = true;
            }
            let is_exec = prepared.row.is_some_and(|row| row.name == "exec");
            let error = if is_exec { exec::refused(ctx, error) } else { error };
            refuse(ctx, start, &error);
            None
        }
        Ok(row) => {
            ctx.client.last_command = Some(row);
            if ctx.client.gate & gate::MULTI != 0 && !row.has(flag::NOT_QUEUED) {
                queue(ctx, prepared, row, &args);
                None
            } else {
                call(ctx, &prepared.call(row, args));
                Some(row)
            }
        }
    };
    // CLIENT REPLY ON answers although replies were off, or its own was to be skipped.
    let turned_on = ctx.client.reply_mode == ReplyMode::On;
    // Who waits for an element is answered later.
    if ctx.client.reply_mode == ReplyMode::Skipping && !ctx.client.waits {
        ctx.client.end_skipping();
    }
    if silent && !turned_on {
        ctx.out.truncate(start);
    }
    ctx.out.append(&mut ctx.client.pushes);
    ran
}

/// The command, if this client may run it now.
fn admit(
    ctx: &Context<'_>,
    prepared: &Prepared,
    args: &Args<'_>,
) -> Result<&'static Row, CommandError> {
    let row = match (prepared.row, prepared.fault) {
        (Some(row), Fault::None) => row,
        (Some(row), Fault::Arity) => return Err(CommandError::Arity(row.name)),
        (Some(row), _) => {
            return Err(CommandError::quoting(&[
                b"unknown subcommand '",
                quoted(clipped(args.arg(1))),
                b"'. Try ",
                row.name.to_uppercase().as_bytes(),
                b" HELP.",
            ]));
        }
        (None, _) => return Err(unknown_command(args)),
    };
    let client = &*ctx.client;
    // There may be no password any more since it came. It keeps its gate: there may be one again.
    if !client.authenticated() && !row.has(flag::NO_AUTH) && ctx.host.has_password() {
        return Err(CommandError::Coded("NOAUTH Authentication required."));
    }
    let in_multi = client.gate & gate::MULTI != 0;
    if client.gate & gate::SUBSCRIBED != 0
        && client.resp == Version::V2
        && !row.has(flag::IN_SUBSCRIBED)
    {
        let rest: &[u8] = b"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET \
            are allowed in this context";
        return Err(CommandError::quoting(&[b"Can't execute '", row.name.as_bytes(), rest]));
    }
    if in_multi && row.has(flag::NO_MULTI) {
        return Err(CommandError::Sentence("Command not allowed inside a transaction"));
    }
    Ok(row)
}

fn queue(ctx: &mut Context<'_>, prepared: &Prepared, row: &'static Row, args: &Args<'_>) {
    let stores = row.has(flag::DENYOOM);
    let (items, bytes) = match stores {
        true => (row.keys.positions(args).count(), args.iter().map(<[u8]>::len).sum::<usize>()),
        false => (0, 0),
    };
    let mut room = Room::default();
    room.add(items, bytes);
    let kept = keeping::keep_of_queued(ctx, row, args);
    let has_room = if stores { ctx.session.make_room(room.bytes(), ctx.now) } else { Ok(()) };
    drop(kept);
    if let Err(full) = has_room {
        ctx.client.transaction.broken = true;
        let start = ctx.out.len();
        return refuse(ctx, start, &full.into());
    }
    // After an error EXEC will abort anyway: nothing more is kept.
    if !ctx.client.transaction.broken {
        let args = ArgVec::copy_of(args);
        ctx.client.transaction.queued.push(Queued { args, prepared: *prepared });
        ctx.client.transaction.room.add(items, bytes);
    }
    ctx.reply().simple("QUEUED");
}

/// Repeats the beginning of the arguments, as much as Redis does.
fn unknown_command(args: &Args<'_>) -> CommandError {
    let mut preview = Vec::new();
    for arg in args.from(1).iter() {
        if preview.len() >= UNKNOWN_ARGUMENTS_PREVIEW_BYTES {
            break;
        }
        let room = UNKNOWN_ARGUMENTS_PREVIEW_BYTES - preview.len();
        preview.push(b'\'');
        preview.extend_from_slice(quoted(&arg[..arg.len().min(room)]));
        preview.extend_from_slice(b"' ");
    }
    CommandError::quoting(&[
        b"unknown command '",
        quoted(clipped(args.arg(0))),
        b"', with args beginning with: ",
        &preview,
    ])
}

fn clipped(name: &[u8]) -> &[u8] {
    &name[..name.len().min(UNKNOWN_ARGUMENTS_PREVIEW_BYTES)]
}
