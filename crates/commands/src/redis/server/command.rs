//! COMMAND, COMMAND INFO, COUNT, GETKEYS: the table, told to clients.

use crate::context::Context;
use crate::redis::bits::{category, flag};
use crate::redis::error::CommandError;
use crate::redis::help;
use crate::redis::row::{Call, Keys, Outcome, Row};
use crate::redis::table;
use dolium_protocol::resp::{Args, RespWriter};

pub fn all(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let mut reply = ctx.reply();
    reply.array(table::commands().count());
    table::commands().for_each(|row| write_row(&mut reply, row));
    Ok(())
}

pub fn count(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.reply().int(table::commands().count() as i64);
    Ok(())
}

pub fn info(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    if call.args.len() == 2 {
        return all(ctx, call);
    }
    let names = call.args.from(2);
    let mut reply = ctx.reply();
    reply.array(names.len());
    for name in names.iter() {
        match table::find_full(name) {
            Some(row) => write_row(&mut reply, row),
            None => reply.null(),
        }
    }
    Ok(())
}

fn write_row(reply: &mut RespWriter<'_>, row: &Row) {
    reply.array(10);
    reply.bulk(row.name.as_bytes());
    reply.int(i64::from(row.arity));
    write_names(reply, row.flags, &flag::NAMES, "");
    // Of keys that are counted, the old form cannot tell.
    let keys = if row.keys.counted { Keys::NONE } else { row.keys };
    for number in [i64::from(keys.first), keys.last.into(), keys.step.into()] {
        reply.int(number);
    }
    write_names(reply, row.categories, &category::NAMES, "@");
    reply.set(row.tips.len());
    for tip in row.tips {
        reply.bulk(tip.as_bytes());
    }
    write_key_specifications(reply, row);
    let subcommands = table::subcommands(row);
    if subcommands.is_empty() {
        reply.set(0);
    } else {
        reply.array(subcommands.len());
        subcommands.iter().for_each(|sub| write_row(reply, sub));
    }
}

fn write_names(reply: &mut RespWriter<'_>, bits: u32, names: &[(u32, &str)], prefix: &str) {
    let chosen = || names.iter().filter(|(bit, _)| bits & bit != 0);
    reply.set(chosen().count());
    for (_, name) in chosen() {
        reply.simple(&format!("{prefix}{name}"));
    }
}

fn write_key_specifications(reply: &mut RespWriter<'_>, row: &Row) {
    let keys = row.keys;
    reply.set(keys.access.len());
    for (i, access) in keys.access.iter().enumerate() {
        // One specification is for all keys; several are for one key each, but for the last one
        // where the keys go on to the end.
        let is_last = i + 1 == keys.access.len();
        let last = match keys.last {
            last if keys.access.len() > 1 && !(is_last && last < 0) => 0,
            last if last < 0 => last,
            last => last - keys.first as i8,
        };
        reply.map(3);
        reply.bulk(b"flags");
        write_access(reply, access);
        reply.bulk(b"begin_search");
        reply.map(2);
        reply.bulk(b"type");
        reply.bulk(b"index");
        reply.bulk(b"spec");
        reply.map(1);
        reply.bulk(b"index");
        // Keys that are counted are looked for from their number on.
        reply.int(i64::from(keys.first) + i as i64 - i64::from(keys.counted));
        reply.bulk(b"find_keys");
        reply.map(2);
        reply.bulk(b"type");
        reply.bulk(if keys.counted { b"keynum" } else { b"range" });
        reply.bulk(b"spec");
        reply.map(3);
        let step = i64::from(keys.step);
        let numbers = match keys.counted {
            true => [("keynumidx", 0), ("firstkey", 1), ("keystep", step)],
            false => [("lastkey", i64::from(last)), ("keystep", step), ("limit", 0)],
        };
        for (name, value) in numbers {
            reply.bulk(name.as_bytes());
            reply.int(value);
        }
    }
}

fn write_access(reply: &mut RespWriter<'_>, access: &[&str]) {
    reply.set(access.len());
    access.iter().for_each(|word| reply.simple(word));
}

pub fn getkeys(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (args, row) = whole_command(call)?;
    let mut reply = ctx.reply();
    reply.array(row.keys.positions(&args).count());
    for i in row.keys.positions(&args) {
        reply.bulk(args.arg(i));
    }
    Ok(())
}

pub fn getkeysandflags(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let (args, row) = whole_command(call)?;
    let mut reply = ctx.reply();
    reply.array(row.keys.positions(&args).count());
    for (i, position) in row.keys.positions(&args).enumerate() {
        reply.array(2);
        reply.bulk(args.arg(position));
        write_access(&mut reply, access_of(row, &args, i));
    }
    Ok(())
}

/// What a whole command does with its `i`th key. SET alone reads it or not as its options say.
fn access_of(row: &Row, args: &Args<'_>, i: usize) -> &'static [&'static str] {
    if row.name == "set" {
        let reads = args.from(3).iter().any(|word| word.eq_ignore_ascii_case(b"GET"));
        return if reads { &["RW", "access", "update"] } else { &["OW", "update"] };
    }
    let access = row.keys.access;
    access.get(i).or(access.last()).copied().unwrap_or_default()
}

/// The command after `COMMAND GETKEYS`, which must be one that has keys.
fn whole_command<'a>(call: &Call<'a>) -> Result<(Args<'a>, &'static Row), CommandError> {
    let args = call.args.from(2);
    let unknown = CommandError::Sentence("Invalid command specified");
    let mut row = table::find(args.arg(0)).ok_or(unknown.clone())?;
    if row.subcommands > 0 {
        row = args.get(1).and_then(|name| table::subcommand(row, name)).ok_or(unknown)?;
    }
    if row.keys.first == 0 {
        return Err(CommandError::Sentence("The command has no key arguments"));
    }
    if !row.fits(args.len()) {
        return Err(CommandError::Sentence("Invalid number of arguments specified for command"));
    }
    if !row.keys.are_there(&args) {
        return Err(CommandError::Sentence("Invalid arguments specified for command"));
    }
    Ok((args, row))
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "COMMAND",
        &[
            ("(no subcommand)", "The rows of all commands."),
            ("COUNT", "The number of commands."),
            ("DOCS [<command> ...]", "What commands are for."),
            ("GETKEYS <full-command>", "The keys of a whole command."),
            ("GETKEYSANDFLAGS <full-command>", "Its keys and what it does with them."),
            ("INFO [<command> ...]", "The rows of commands."),
            (
                "LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
                "The names of commands.",
            ),
        ],
    )
}
