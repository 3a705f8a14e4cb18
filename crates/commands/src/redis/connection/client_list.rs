//! CLIENT LIST and CLIENT INFO.

use crate::context::Context;
use crate::host::ClientView;
use crate::redis::connection::client_filter::{ClientFilter, kind};
use crate::redis::error::CommandError;
use crate::redis::number::parse_i64;
use crate::redis::row::{Call, Outcome};
use std::fmt::Write;

pub fn list(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let args = call.args;
    let mut filter = ClientFilter::default();
    match args.get(2) {
        None => {}
        Some(word) if word.eq_ignore_ascii_case(b"TYPE") && args.len() == 4 => {
            filter.kind = Some(kind(args.arg(3))?);
        }
        Some(word) if word.eq_ignore_ascii_case(b"ID") && args.len() > 3 => {
            for id in args.from(3).iter() {
                let id = parse_i64(id).ok_or(CommandError::Sentence("Invalid client ID"))?;
                // Nobody's: the numbers of connections begin with 1.
                filter.ids.push(u64::try_from(id).unwrap_or_default());
            }
        }
        Some(_) => return Err(CommandError::Syntax),
    }
    let mut lines = String::new();
    ctx.host.clients(ctx.client, &mut |client| {
        if filter.holds(client) {
            write_line(&mut lines, client);
        }
    });
    ctx.reply().verbatim(b"txt", lines.as_bytes());
    Ok(())
}

pub fn info(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let mut line = String::new();
    let me = ctx.client.id;
    ctx.host.clients(ctx.client, &mut |client| {
        if client.id == me {
            write_line(&mut line, client);
        }
    });
    ctx.reply().verbatim(b"txt", line.as_bytes());
    Ok(())
}

/// Field names and order are Redis' own: monitoring tools parse them.
fn write_line(out: &mut String, client: &ClientView<'_>) {
    let ClientView { id, addr, laddr, fd, age_s, idle_s, flags, db, channels, patterns, .. } =
        client;
    let name = String::from_utf8_lossy(client.name);
    let lib_name = String::from_utf8_lossy(client.lib_name);
    let lib_ver = String::from_utf8_lossy(client.lib_ver);
    let user = String::from_utf8_lossy(client.user);
    let ClientView { multi, query_buffer_bytes, query_buffer_free, argument_bytes, .. } = client;
    let ClientView { multi_bytes, reply_buffer_bytes, reply_buffer_peak, .. } = client;
    let ClientView { output_buffer_bytes, output_list_len, output_list_bytes, .. } = client;
    let ClientView { total_bytes, events, command, resp, .. } = client;
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "id={id} addr={addr} laddr={laddr} fd={fd} name={name} age={age_s} idle={idle_s} \
         flags={flags} db={db} sub={channels} psub={patterns} ssub=0 multi={multi} \
         qbuf={query_buffer_bytes} qbuf-free={query_buffer_free} argv-mem={argument_bytes} \
         multi-mem={multi_bytes} rbs={reply_buffer_bytes} rbp={reply_buffer_peak} \
         obl={output_buffer_bytes} oll={output_list_len} omem={output_list_bytes} \
         tot-mem={total_bytes} events={events} cmd={command} user={user} redir=-1 resp={resp} \
         lib-name={lib_name} lib-ver={lib_ver}"
    );
}
