//! stats: what the server and its store can tell about themselves, under Memcached's names.
//!
//! A line appears only if its number is true here. Slab classes and LRU segments do not exist in
//! this store, so `stats items` and `stats slabs` name one class that holds everything.

use super::{Count, McContext, VERSION};
use dolium_protocol::memcache::{Refusal, Words, write};

pub(super) fn run(context: &mut McContext<'_>, mut arguments: Words<'_>) {
    match arguments.next() {
        None => general(context),
        Some(b"reset") => {
            context.server.reset_statistics();
            return write::line(context.out, "RESET");
        }
        Some(b"settings") => {
            for (name, value) in context.server.settings() {
                write::stat(context.out, name, value);
            }
        }
        Some(b"items") => items(context),
        Some(b"slabs") => slabs(context),
        Some(b"sizes") => write::stat(context.out, "sizes_status", "disabled"),
        Some(b"detail") => {
            let text = match arguments.next() {
                Some(b"on" | b"off" | b"dump") => "CLIENT_ERROR stats detail is not kept",
                _ => "CLIENT_ERROR usage: stats detail on|off|dump",
            };
            return write::line(context.out, text);
        }
        Some(b"cachedump") => {
            return write::line(context.out, "CLIENT_ERROR stats cachedump not allowed");
        }
        Some(_) => return Refusal::Unknown.write(context.out),
    }
    write::end(context.out);
}

fn general(context: &mut McContext<'_>) {
    let process = context.server.process();
    let totals = context.server.totals();
    let engine = context.session.engine();
    let memory = engine.memory();
    let items = engine.len(context.db);
    let out = &mut *context.out;
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    write::stat(out, "pid", process.pid);
    write::stat(out, "uptime", process.uptime_s);
    write::stat(out, "time", context.now / 1000);
    write::stat(out, "version", VERSION);
    write::stat(out, "pointer_size", usize::BITS);
    write::stat(out, "rusage_user", seconds(process.cpu_user_us));
    write::stat(out, "rusage_system", seconds(process.cpu_system_us));
    write::stat(out, "max_connections", process.connections_max);
    write::stat(out, "curr_connections", process.connections);
    write::stat(out, "total_connections", process.connections_total);
    write::stat(out, "rejected_connections", process.connections_rejected);
    const COUNTS: [(&str, Count); 21] = [
        ("cmd_get", Count::Get),
        ("cmd_set", Count::Set),
        ("cmd_flush", Count::Flush),
        ("cmd_touch", Count::Touch),
        ("cmd_meta", Count::Meta),
        ("get_hits", Count::GetHit),
        ("get_misses", Count::GetMiss),
        ("delete_misses", Count::DeleteMiss),
        ("delete_hits", Count::DeleteHit),
        ("incr_misses", Count::IncrMiss),
        ("incr_hits", Count::IncrHit),
        ("decr_misses", Count::DecrMiss),
        ("decr_hits", Count::DecrHit),
        ("cas_misses", Count::CasMiss),
        ("cas_hits", Count::CasHit),
        ("cas_badval", Count::CasBad),
        ("touch_hits", Count::TouchHit),
        ("touch_misses", Count::TouchMiss),
        ("store_too_large", Count::TooLarge),
        ("store_no_memory", Count::NoMemory),
        ("auth_cmds", Count::Auth),
    ];
    for (name, count) in COUNTS {
        write::stat(out, name, totals.of(count));
    }
    write::stat(out, "auth_errors", totals.of(Count::AuthError));
    write::stat(out, "bytes_read", process.bytes_read);
    write::stat(out, "bytes_written", process.bytes_written);
    write::stat(out, "limit_maxbytes", memory.max);
    write::stat(out, "accepting_conns", 1);
    write::stat(out, "threads", process.threads);
    write::stat(out, "bytes", memory.live);
    write::stat(out, "curr_items", items);
    write::stat(out, "evictions", process.evictions);
    write::stat(out, "reclaimed", process.expired);
}

fn items(context: &mut McContext<'_>) {
    let items = context.session.engine().len(context.db);
    if items != 0 {
        write::stat(context.out, "items:1:number", items);
        write::stat(context.out, "items:1:mem_requested", context.session.engine().memory().live);
    }
}

fn slabs(context: &mut McContext<'_>) {
    let memory = context.session.engine().memory();
    let classes = u64::from(memory.items != 0);
    write::stat(context.out, "active_slabs", classes);
    write::stat(context.out, "total_malloced", memory.committed);
}
