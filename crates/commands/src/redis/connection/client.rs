//! CLIENT: what concerns this connection alone, and PAUSE.

use crate::connection::{ReplyMode, gate};
use crate::context::Context;
use crate::host::PauseMode;
use crate::redis::error::{CommandError, quoted};
use crate::redis::help;
use crate::redis::number::parse_i64;
use crate::redis::row::{Call, Outcome};
use crate::redis::server::misuse;

pub fn id(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let id = ctx.client.id;
    ctx.reply().int(id as i64);
    Ok(())
}

pub fn getname(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    if ctx.client.name.is_empty() {
        ctx.reply().null();
    } else {
        let name = ctx.client.name.clone();
        ctx.reply().bulk(&name);
    }
    Ok(())
}

pub fn setname(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    ctx.client.rename(checked_name(call.args.arg(2))?);
    ctx.reply().ok();
    Ok(())
}

/// A name that does not break the line of CLIENT LIST it will stand in.
pub fn checked_name(name: &[u8]) -> Result<&[u8], CommandError> {
    if is_one_word(name) {
        return Ok(name);
    }
    Err(CommandError::Sentence(
        "Client names cannot contain spaces, newlines or special characters.",
    ))
}

fn is_one_word(text: &[u8]) -> bool {
    text.iter().all(|b| matches!(b, b'!'..=b'~'))
}

pub fn setinfo(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (option, value) = (call.args.arg(2), call.args.arg(3));
    let (is_name, name) = if option.eq_ignore_ascii_case(b"LIB-NAME") {
        (true, "lib-name")
    } else if option.eq_ignore_ascii_case(b"LIB-VER") {
        (false, "lib-ver")
    } else {
        return Err(CommandError::quoting(&[b"Unrecognized option '", quoted(option), b"'"]));
    };
    if !is_one_word(value) {
        let rest = b" cannot contain spaces, newlines or special characters.";
        return Err(CommandError::quoting(&[name.as_bytes(), rest]));
    }
    match is_name {
        true => ctx.client.rename_lib(value),
        false => ctx.client.set_lib_ver(value),
    }
    ctx.reply().ok();
    Ok(())
}

pub fn no_evict(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    ctx.client.no_evict = on_or_off(call.args.arg(2))?;
    ctx.reply().ok();
    Ok(())
}

fn on_or_off(word: &[u8]) -> Result<bool, CommandError> {
    if word.eq_ignore_ascii_case(b"ON") {
        Ok(true)
    } else if word.eq_ignore_ascii_case(b"OFF") {
        Ok(false)
    } else {
        Err(CommandError::Syntax)
    }
}

pub fn reply(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let word = call.args.arg(2);
    if word.eq_ignore_ascii_case(b"SKIP") {
        // While replies are off, one more makes no difference.
        if ctx.client.reply_mode != ReplyMode::Off {
            ctx.client.reply_mode = ReplyMode::SkipNext;
        }
    } else if on_or_off(word)? {
        ctx.client.reply_mode = ReplyMode::On;
        ctx.reply().ok();
    } else {
        ctx.client.reply_mode = ReplyMode::Off;
    }
    let gated = ctx.client.reply_mode != ReplyMode::On;
    ctx.client.set_gate(gate::REPLY, gated);
    Ok(())
}

pub fn pause(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if call.args.len() > 4 {
        return Err(misuse::refused(call));
    }
    let mode = match call.args.get(3) {
        None => PauseMode::All,
        Some(word) if word.eq_ignore_ascii_case(b"ALL") => PauseMode::All,
        Some(word) if word.eq_ignore_ascii_case(b"WRITE") => PauseMode::Write,
        Some(_) => {
            return Err(CommandError::Sentence("CLIENT PAUSE mode must be WRITE or ALL"));
        }
    };
    let millis = parse_i64(call.args.arg(2))
        .ok_or(CommandError::Sentence("timeout is not an integer or out of range"))?;
    let millis =
        u64::try_from(millis).map_err(|_| CommandError::Sentence("timeout is negative"))?;
    // A later end has no moment that could be told, and would hold back even what could undo it.
    let until = ctx.now.checked_add(millis).filter(|until| *until <= i64::MAX as u64);
    let until = until.ok_or(CommandError::Sentence("timeout is out of range"))?;
    ctx.host.pause(until, mode);
    let start = ctx.out.len();
    ctx.reply().ok();
    match ctx.client.transaction.running {
        true => ctx.client.transaction.pauses = true,
        false => wait_for_pause(ctx, start),
    }
    Ok(())
}

/// What has been answered from there on waits until nothing runs any more that began before the pause.
pub fn wait_for_pause(ctx: &mut Context<'_>, start: usize) {
    ctx.client.waits = ctx.host.confirm_pause(ctx.client, &ctx.out[start..]);
    if ctx.client.waits {
        ctx.out.truncate(start);
    }
}

pub fn unpause(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.host.unpause();
    ctx.reply().ok();
    Ok(())
}

pub fn unblock(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if call.args.len() > 4 {
        return Err(misuse::refused(call));
    }
    let with_error = match call.args.get(3) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case(b"TIMEOUT") => false,
        Some(word) if word.eq_ignore_ascii_case(b"ERROR") => true,
        Some(_) => {
            return Err(CommandError::Sentence("CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
        }
    };
    let id = crate::redis::number::integer(call.args.arg(2))?;
    let was_waiting =
        u64::try_from(id).is_ok_and(|id| ctx.host.unblock(ctx.client, id, with_error));
    ctx.reply().int(i64::from(was_waiting));
    Ok(())
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "CLIENT",
        &[
            ("GETNAME", "The name of this connection."),
            ("ID", "The number of this connection."),
            ("INFO", "This connection, as CLIENT LIST shows it."),
            ("KILL <ip:port>", "Closes the connection from <ip:port>."),
            (
                "KILL <option> <value> [<option> <value> [...]]",
                "Closes connections by ID, ADDR, LADDR, TYPE, USER; SKIPME no closes this one too.",
            ),
            ("LIST [TYPE <type>] [ID <id> [...]]", "One line for each connection."),
            ("NO-EVICT (ON|OFF)", "Protects this connection when buffers are short of memory."),
            ("PAUSE <milliseconds> [WRITE|ALL]", "Holds back all commands, or only writes."),
            ("REPLY (ON|OFF|SKIP)", "Turns replies to this connection on and off."),
            ("SETINFO (LIB-NAME|LIB-VER) <value>", "Names the client's library or its version."),
            ("SETNAME <name>", "Names this connection."),
            ("UNBLOCK <id> [TIMEOUT|ERROR]", "Ends the wait of a connection for a list."),
            ("UNPAUSE", "Ends a pause."),
        ],
    )
}
