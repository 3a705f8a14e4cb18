//! LATENCY: spikes by event, and how long commands take.

use crate::context::Context;
use crate::redis::help;
use crate::redis::row::{Call, Outcome, Row};
use crate::redis::table;

pub fn latest(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let events = ctx.host.latency_latest();
    let mut reply = ctx.reply();
    reply.array(events.len());
    for event in &events {
        reply.array(4);
        reply.bulk(event.name.as_bytes());
        for number in [event.unix_s, event.latest_ms, event.max_ms] {
            reply.int(number as i64);
        }
    }
    Ok(())
}

pub fn history(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let samples = ctx.host.latency_history(call.args.arg(2));
    let mut reply = ctx.reply();
    reply.array(samples.len());
    for (unix_s, millis) in samples {
        reply.array(2);
        reply.int(unix_s as i64);
        reply.int(millis as i64);
    }
    Ok(())
}

pub fn reset(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let events: Vec<&[u8]> = call.args.from(2).iter().collect();
    let count = ctx.host.reset_latency(&events);
    ctx.reply().int(count as i64);
    Ok(())
}

pub fn histogram(ctx: &mut Context<'_>, call: &Call<'_>) -> Outcome {
    let mut rows: Vec<&'static Row> = Vec::new();
    if call.args.len() == 2 {
        rows.extend(table::ROWS.iter());
    }
    for name in call.args.from(2).iter() {
        // A container stands for its subcommands, which are what is called.
        let Some(row) = table::find_full(name) else { continue };
        rows.push(row);
        rows.extend(table::subcommands(row));
    }
    let known: Vec<_> = rows
        .into_iter()
        .filter_map(|row| ctx.host.latency_histogram(row).map(|histogram| (row, histogram)))
        .collect();
    let mut reply = ctx.reply();
    reply.map(known.len());
    for (row, (calls, buckets)) in &known {
        reply.bulk(row.name.as_bytes());
        reply.map(2);
        reply.bulk(b"calls");
        reply.int(*calls as i64);
        reply.bulk(b"histogram_usec");
        reply.map(buckets.len());
        for (micros, count) in buckets {
            reply.int(*micros as i64);
            reply.int(*count as i64);
        }
    }
    Ok(())
}

pub fn help(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    help::reply(
        ctx,
        "LATENCY",
        &[
            ("HISTOGRAM [<command> ...]", "How long commands took, as a cumulative distribution."),
            ("HISTORY <event>", "The spikes of <event>: Unix time and milliseconds."),
            ("LATEST", "The newest spike of each event, and the longest."),
            ("RESET [<event> ...]", "Forgets the spikes of all events, or of those named."),
        ],
    )
}
