//! COMMAND DOCS: what commands are for and how they are written, told to clients.
//!
//! redis-cli asks for it when it begins to talk, and shows hints and HELP from the answer. The
//! fields are those that it looks for; since when there is an argument, which it does not show, is
//! not kept here.

use crate::context::Context;
use crate::redis::row::{Call, Outcome, Row};
use crate::redis::server::syntax::{self, Argument, Kind};
use crate::redis::table;
use dolium_protocol::resp::RespWriter;

pub fn docs(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let rows: Vec<&Row> = if call.args.len() == 2 {
        table::commands().collect()
    } else {
        call.args.from(2).iter().filter_map(table::find_full).collect()
    };
    let mut reply = ctx.reply();
    reply.map(rows.len());
    rows.iter().for_each(|row| write_docs(&mut reply, row));
    Ok(())
}

fn write_docs(reply: &mut RespWriter<'_>, row: &Row) {
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
        let mut keys = Keys { next: 0, last: row.keys.access.len().saturating_sub(1) };
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
    let more = [is_key, argument.token.is_some(), flags().count() > 0, !argument.parts.is_empty()];
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
    if flags().count() > 0 {
        reply.bulk(b"flags");
        reply.set(flags().count());
        flags().for_each(|(name, _)| reply.simple(name));
    }
    if !argument.parts.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(reply, &argument.parts, keys);
    }
}
