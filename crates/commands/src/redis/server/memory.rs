//! MEMORY: where it goes.

use crate::context::Context;
use crate::redis::error::CommandError;
use crate::redis::help;
use crate::redis::number::integer;
use crate::redis::row::{Call, Outcome};
use dolium_engine::Db;
use dolium_protocol::resp::RespWriter;

pub fn usage(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let args = call.args;
    let mut i = 3;
    while i < args.len() {
        if !args.arg(i).eq_ignore_ascii_case(b"SAMPLES") || i + 1 >= args.len() {
            return Err(CommandError::Syntax);
        }
        // Nothing is sampled: the size of an item is known. The number is still checked.
        if integer(args.arg(i + 1))? < 0 {
            return Err(CommandError::Syntax);
        }
        i += 2;
    }
    // Of a key that is over as well, as in Redis, while it is there.
    match ctx.session.block_bytes(ctx.db(), &call.key()) {
        Some(bytes) => ctx.reply().int(bytes as i64),
        None => ctx.reply().null(),
    }
    Ok(())
}

/// One line of MEMORY STATS.
enum Field {
    Number(&'static str, u64),
    Difference(&'static str, i64),
    Ratio(&'static str, f64),
    Database(Db, u64),
}

/// All fields that Redis has: monitors ask for them by name. Those that stay 0 are of what there is
/// not here (replicas, a log, scripts) or of what takes no memory of its own (deadlines, which stand
/// in the items).
pub fn stats(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let engine = ctx.session.engine();
    let (store, server) = (engine.memory(), ctx.host.memory());
    let all = server.heap.with_arena(&store);
    let data = store.live.saturating_sub(store.index);
    let total = store.committed + server.startup + server.client_buffers;
    let mut fields = vec![
        Field::Number("peak.allocated", server.peak.max(total)),
        Field::Number("total.allocated", total),
        Field::Number("startup.allocated", server.startup),
        Field::Number("replication.backlog", 0),
        Field::Number("clients.slaves", 0),
        Field::Number("clients.normal", server.client_buffers),
        Field::Number("cluster.links", 0),
        Field::Number("aof.buffer", 0),
        Field::Number("lua.caches", 0),
        Field::Number("functions.caches", 0),
    ];
    for db in (0..engine.databases()).map(Db) {
        if engine.len(db) > 0 {
            // The index is shared by all databases: each has the part of its keys.
            fields.push(Field::Database(db, portion(store.index, engine.len(db), store.items)));
        }
    }
    let overhead = total.saturating_sub(data);
    fields.extend([
        Field::Number("overhead.total", overhead),
        Field::Number("keys.count", store.items),
        Field::Number("keys.bytes-per-key", store.live.checked_div(store.items).unwrap_or(0)),
        Field::Number("dataset.bytes", data),
        Field::Ratio("dataset.percentage", percentage(data, total)),
        Field::Ratio("peak.percentage", percentage(total, server.peak.max(total))),
        Field::Number("allocator.allocated", all.allocated),
        Field::Number("allocator.active", all.active),
        Field::Number("allocator.resident", all.resident),
        Field::Ratio("allocator-fragmentation.ratio", ratio(all.active, all.allocated)),
        Field::Number("allocator-fragmentation.bytes", all.active.saturating_sub(all.allocated)),
        Field::Ratio("allocator-rss.ratio", ratio(all.resident, all.active)),
        Field::Number("allocator-rss.bytes", all.resident.saturating_sub(all.active)),
        Field::Ratio("rss-overhead.ratio", ratio(server.resident, all.resident)),
        Field::Difference("rss-overhead.bytes", server.resident as i64 - all.resident as i64),
        Field::Ratio("fragmentation", ratio(server.resident, total)),
        Field::Number("fragmentation.bytes", server.resident.saturating_sub(total)),
    ]);
    write_fields(&mut ctx.reply(), &fields);
    Ok(())
}

fn write_fields(reply: &mut RespWriter<'_>, fields: &[Field]) {
    reply.map(fields.len());
    for field in fields {
        match field {
            Field::Number(name, value) => {
                reply.bulk(name.as_bytes());
                reply.int(*value as i64);
            }
            Field::Difference(name, value) => {
                reply.bulk(name.as_bytes());
                reply.int(*value);
            }
            Field::Ratio(name, value) => {
                reply.bulk(name.as_bytes());
                reply.double(*value);
            }
            Field::Database(db, index) => {
                reply.bulk(format!("db.{}", db.0).as_bytes());
                reply.map(3);
                for (name, bytes) in [("main", *index), ("expires", 0), ("slot-to-keys", 0)] {
                    reply.bulk(format!("overhead.hashtable.{name}").as_bytes());
                    reply.int(bytes as i64);
                }
            }
        }
    }
}

fn portion(bytes: u64, part: u64, whole: u64) -> u64 {
    (u128::from(bytes) * u128::from(part) / u128::from(whole.max(part).max(1))) as u64
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

fn percentage(a: u64, b: u64) -> f64 {
    ratio(a, b) * 100.0
}

pub fn purge(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    ctx.host.purge_heap();
    ctx.reply().ok();
    Ok(())
}

pub fn malloc_stats(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let report = ctx.host.heap_report();
    let text = report.as_deref().unwrap_or("Stats not supported for the current allocator");
    ctx.reply().verbatim(b"txt", text.as_bytes());
    Ok(())
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "MEMORY",
        &[
            ("MALLOC-STATS", "The report of the heap's allocator. Data are not on the heap."),
            ("PURGE", "Gives what is free in the heap back to the system."),
            ("STATS", "Memory by purpose."),
            (
                "USAGE <key> [SAMPLES <count>]",
                "The bytes that <key> and its value take. Nothing is sampled: <count> is ignored.",
            ),
        ],
    )
}
