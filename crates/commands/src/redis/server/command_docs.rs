//! COMMAND DOCS: what commands are for and how they are written, told to clients.
//!
//! redis-cli asks for it when it begins to talk, and shows hints and HELP from the answer. Other
//! tools look at since when there is an argument, too.

use crate::context::Context;
use crate::redis::row::{Call, Outcome, Row};
use crate::redis::server::syntax::{self, Argument, Kind};
use crate::redis::table;
use dolium_protocol::resp::RespWriter;

pub fn docs(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let rows: Vec<&'static Row> = if call.args.len() == 2 {
        table::commands().collect()
    } else {
        call.args.from(2).iter().filter_map(table::find_full).collect()
    };
    let mut reply = ctx.reply();
    reply.map(rows.len());
    rows.iter().for_each(|row| write_docs(&mut reply, row));
    Ok(())
}

fn write_docs(reply: &mut RespWriter<'_>, row: &'static Row) {
    let subcommands = table::subcommands(row);
    let arguments = syntax::parse(row.syntax).unwrap_or_default();
    reply.bulk(row.name.as_bytes());
    let deprecated = if row.replaced_by.is_some() { 3 } else { 0 };
    let lists = usize::from(!arguments.is_empty()) + usize::from(!subcommands.is_empty());
    reply.map(4 + deprecated + lists);
    write_text(reply, "summary", row.summary);
    write_text(reply, "since", row.since);
    write_text(reply, "group", row.group.name());
    write_text(reply, "complexity", row.complexity);
    if let Some((since, by)) = row.replaced_by {
        reply.bulk(b"doc_flags");
        reply.set(1);
        reply.simple("deprecated");
        write_text(reply, "deprecated_since", since);
        write_text(reply, "replaced_by", by);
    }
    if !arguments.is_empty() {
        reply.bulk(b"arguments");
        let last = row.keys.access.len().saturating_sub(1);
        let mut keys = Keys { row: row.name, next: 0, last };
        write_arguments(reply, &arguments, &mut keys);
    }
    if !subcommands.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(subcommands.len());
        subcommands.iter().for_each(|sub| write_docs(reply, sub));
    }
}

fn write_text(reply: &mut RespWriter<'_>, field: &str, text: &str) {
    reply.bulk(field.as_bytes());
    reply.bulk(text.as_bytes());
}

/// Which key specification of COMMAND INFO is about a key: each about one key in turn, and the last
/// one about all that follow.
struct Keys {
    /// The command whose keys they are.
    row: &'static str,
    next: usize,
    last: usize,
}

impl Keys {
    fn specification(&mut self) -> usize {
        let specification = self.next.min(self.last);
        self.next += 1;
        specification
    }
}

fn write_arguments(reply: &mut RespWriter<'_>, arguments: &[Argument<'_>], keys: &mut Keys) {
    reply.array(arguments.len());
    arguments.iter().for_each(|argument| write_argument(reply, argument, keys));
}

fn write_argument(reply: &mut RespWriter<'_>, argument: &Argument<'_>, keys: &mut Keys) {
    let flags = [("optional", argument.optional), ("multiple", argument.multiple)];
    let flags = || flags.iter().filter(|(_, is_set)| *is_set);
    let is_key = argument.kind == Kind::Key;
    let since = since(keys.row, argument.token.unwrap_or(&argument.name));
    let (has_token, has_flags) = (argument.token.is_some(), flags().count() > 0);
    let more = [is_key, has_token, since.is_some(), has_flags, !argument.parts.is_empty()];
    reply.map(2 + more.iter().filter(|is_there| **is_there).count());
    write_text(reply, "name", &argument.name);
    write_text(reply, "type", argument.kind.name());
    if is_key {
        reply.bulk(b"key_spec_index");
        reply.int(keys.specification() as i64);
    }
    if let Some(token) = argument.token {
        write_text(reply, "token", token);
    }
    if let Some(since) = since {
        write_text(reply, "since", since);
    }
    if has_flags {
        reply.bulk(b"flags");
        reply.set(flags().count());
        flags().for_each(|(name, _)| reply.simple(name));
    }
    if !argument.parts.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(reply, &argument.parts, keys);
    }
}

/// The version of Redis that brought an argument, if its command is older: by the argument's token, or
/// its name if it has none.
fn since(row: &str, word: &str) -> Option<&'static str> {
    Some(match (row, word) {
        ("set", "condition" | "EX" | "PX") => "2.6.12",
        ("set", "GET" | "EXAT" | "PXAT") => "6.2.0",
        ("set", "KEEPTTL") => "6.0.0",
        ("expire" | "pexpire" | "expireat" | "pexpireat", "condition") => "7.0.0",
        ("lpop" | "rpop", "count") => "6.2.0",
        ("srandmember", "count") => "2.6.0",
        ("spop", "count") => "3.2.0",
        ("scan", "TYPE") => "6.0.0",
        ("auth", "username") => "6.0.0",
        ("client|kill", "ID" | "TYPE") => "2.8.12",
        ("client|kill", "MASTER") => "3.2.0",
        ("client|kill", "REPLICA") => "5.0.0",
        ("client|kill", "LADDR") => "6.2.0",
        ("client|list", "TYPE") => "5.0.0",
        ("client|list", "ID") => "6.2.0",
        ("client|pause", "mode") => "6.2.0",
        ("flushall" | "flushdb", "ASYNC") => "4.0.0",
        ("flushall" | "flushdb", "SYNC") => "6.2.0",
        ("shutdown", "NOW" | "FORCE" | "ABORT") => "7.0.0",
        _ => return None,
    })
}
