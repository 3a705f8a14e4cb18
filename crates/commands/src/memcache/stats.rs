//! stats: what the server and its store can tell about themselves, under Memcached's names.
//!
//! The lines are those of Memcached 1.6.18, so that dashboards find what they look for. Counts of
//! things that do not happen here (a locked LRU tail, say) are 0, which is true; what would have to
//! be counted at each request by class, or at each move within eviction, is left out, as
//! `docs/memcached.md` says.

use super::classes::PAGE_BYTES;
use super::{Count, McContext, VERSION, details, dump};
use dolium_protocol::memcache::{Refusal, Words, write};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn run(context: &mut McContext<'_>, mut arguments: Words<'_>) {
    let mut lines = Lines::default();
    let name = arguments.next();
    match name {
        None => general(context, &mut lines),
        Some(b"reset") => {
            context.server.reset_statistics();
            return write::line(context.out, "RESET");
        }
        Some(b"detail") => return details::command(context, arguments),
        Some(b"cachedump") => return dump::cachedump(context, arguments),
        Some(name) => match named(context, name) {
            Some(named) => lines = named,
            None => return Refusal::Unknown.write(context.out),
        },
    }
    for (name, value) in &lines.0 {
        write::stat(context.out, name, value);
    }
    // These two are answered by one line, as in Memcached.
    if !matches!(name, Some(b"sizes_enable" | b"sizes_disable")) {
        write::end(context.out);
    }
}

/// Name and value of statistics.
#[derive(Default)]
pub(super) struct Lines(pub Vec<(String, String)>);

impl Lines {
    fn add(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        self.0.push((name.into(), value.to_string()));
    }
}

/// The statistics of a name, for either protocol; `None`: there are none.
pub(super) fn named(context: &McContext<'_>, name: &[u8]) -> Option<Lines> {
    let mut lines = Lines::default();
    match name {
        b"" => general(context, &mut lines),
        b"settings" => {
            let started_s = (context.now / 1000).saturating_sub(context.server.uptime_s());
            let settings = context.server.settings();
            for (name, value) in settings.lines(&context.server.configured(), started_s) {
                lines.add(name, value);
            }
        }
        b"items" => items(context, &mut lines),
        b"slabs" => slabs(context, &mut lines),
        b"sizes" if !context.server.settings().live.track_sizes.load(Relaxed) => {
            lines.add("sizes_status", "disabled");
        }
        b"sizes" => {
            let census = context.server.census(context.session, context.db, context.now);
            for (bytes, items) in &census.sizes {
                lines.add(bytes.to_string(), items);
            }
        }
        // Memcached tells by its number whether an item is one that it has counted.
        b"sizes_enable" if !context.server.settings().fixed.unique_enabled => {
            lines.add("sizes_status", "error");
            lines.add("sizes_error", "cas_support_disabled");
        }
        b"sizes_enable" | b"sizes_disable" => {
            let is_on = name == b"sizes_enable";
            context.server.settings().live.track_sizes.store(is_on, Relaxed);
            lines.add("sizes_status", if is_on { "enabled" } else { "disabled" });
        }
        b"conns" => {
            for (fd, field, value) in context.server.connections(context.client.id) {
                lines.add(format!("{fd}:{field}"), value);
            }
        }
        // There is no external storage.
        b"extstore" => {}
        _ => return None,
    }
    Some(lines)
}

fn general(context: &McContext<'_>, lines: &mut Lines) {
    let process = context.server.process();
    let totals = context.server.totals();
    let engine = context.session.engine();
    let memory = engine.memory();
    let fixed = &context.server.settings().fixed;
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    lines.add("pid", process.pid);
    lines.add("uptime", context.server.uptime_s());
    lines.add("time", context.now / 1000);
    lines.add("version", VERSION);
    // The loop is the server's own; the name stays for tools that read it.
    lines.add("libevent", "none");
    lines.add("pointer_size", usize::BITS);
    lines.add("rusage_user", seconds(process.cpu_user_us));
    lines.add("rusage_system", seconds(process.cpu_system_us));
    lines.add("max_connections", process.connections_max);
    lines.add("curr_connections", process.connections);
    lines.add("total_connections", process.connections_total);
    lines.add("rejected_connections", process.connections_rejected);
    lines.add("connection_structures", process.connections);
    lines.add("response_obj_oom", process.response_oom);
    lines.add("response_obj_count", process.threads);
    lines.add("response_obj_bytes", 0);
    lines.add("read_buf_count", process.read_buffers);
    lines.add("read_buf_bytes", process.read_buffer_bytes);
    lines.add("read_buf_bytes_free", 0);
    lines.add("read_buf_oom", process.read_buffer_oom);
    lines.add("reserved_fds", 64);
    const COUNTS: [(&str, Count); 22] = [
        ("cmd_get", Count::Get),
        ("cmd_set", Count::Set),
        ("cmd_flush", Count::Flush),
        ("cmd_touch", Count::Touch),
        ("cmd_meta", Count::Meta),
        ("get_hits", Count::GetHit),
        ("get_misses", Count::GetMiss),
        ("get_expired", Count::GetExpired),
        ("get_flushed", Count::GetFlushed),
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
    ];
    for (name, count) in COUNTS {
        lines.add(name, totals.of(count));
    }
    lines.add("auth_cmds", totals.of(Count::Auth));
    lines.add("auth_errors", totals.of(Count::AuthError));
    if fixed.idle_timeout != 0 {
        lines.add("idle_kicks", process.idle_kicks);
    }
    lines.add("bytes_read", process.bytes_read);
    lines.add("bytes_written", process.bytes_written);
    lines.add("limit_maxbytes", context.server.max_memory());
    lines.add("accepting_conns", 1);
    lines.add("listen_disabled_num", process.listen_disabled);
    lines.add("time_in_listen_disabled_us", 0);
    lines.add("threads", process.threads);
    lines.add("conn_yields", process.connection_yields);
    lines.add("hash_power_level", process.hash_power);
    lines.add("hash_bytes", process.hash_bytes);
    lines.add("hash_is_expanding", 0);
    if fixed.slab_reassign {
        lines.add("slab_reassign_rescues", process.moved_blocks);
        lines.add("slab_reassign_chunk_rescues", process.moved_in_chunks);
        lines.add("slab_reassign_evictions_nomem", process.reassign_evictions);
        lines.add("slab_reassign_inline_reclaim", 0);
        lines.add("slab_reassign_busy_items", 0);
        lines.add("slab_reassign_busy_deletes", 0);
        lines.add("slab_reassign_running", 0);
        lines.add("slabs_moved", process.slabs_moved);
    }
    if context.server.settings().live.lru_crawler.load(Relaxed) {
        lines.add("lru_crawler_running", 0);
        lines.add("lru_crawler_starts", process.crawls);
    }
    if fixed.lru_maintainer {
        lines.add("lru_maintainer_juggles", process.maintenance_rounds);
    }
    lines.add("malloc_fails", 0);
    lines.add("log_worker_dropped", 0);
    lines.add("log_worker_written", process.watcher_sent);
    lines.add("log_watcher_skipped", process.watcher_skipped);
    lines.add("log_watcher_sent", process.watcher_sent);
    lines.add("log_watchers", process.watchers);
    if let Some(tls) = process.tls {
        if let Some(sessions) = tls.new_sessions {
            lines.add("ssl_new_sessions", sessions);
        }
        lines.add("ssl_handshake_errors", tls.handshake_errors);
        lines.add("time_since_server_cert_refresh", tls.since_refresh_s);
    }
    lines.add("unexpected_napi_ids", 0);
    lines.add("round_robin_fallback", 0);
    lines.add("bytes", memory.live);
    lines.add("curr_items", engine.len(context.db));
    lines.add(
        "total_items",
        totals.of(Count::Set).saturating_sub(totals.of(Count::NotStored)) + totals.of(Count::Made),
    );
    lines.add("slab_global_page_pool", process.pool_bytes / PAGE_BYTES);
    let departed = context.server.departures();
    let sum = |of: fn(&super::Departed) -> u64| departed.iter().map(of).sum::<u64>();
    lines.add("expired_unfetched", sum(|class| class.expired_unfetched));
    lines.add("evicted_unfetched", sum(|class| class.evicted_unfetched));
    if fixed.lru_maintainer {
        lines.add(
            "evicted_active",
            process.evictions - sum(|c| c.evicted_unfetched).min(process.evictions),
        );
    }
    lines.add("evictions", process.evictions);
    lines.add("reclaimed", process.expired + process.flushed);
    lines.add("crawler_reclaimed", process.expired);
    lines.add("crawler_items_checked", process.expired);
    lines.add("lrutail_reflocked", 0);
    if context.server.settings().fixed.lru_maintainer {
        // No use is put off, so none is dropped.
        lines.add("lru_bumps_dropped", 0);
    }
}

fn items(context: &McContext<'_>, lines: &mut Lines) {
    let census = context.server.census(context.session, context.db, context.now);
    let departed = context.server.departures();
    let is_segmented = context.server.settings().live.lru_segmented.load(Relaxed);
    let has_temp = context.server.settings().live.temp_lru.load(Relaxed);
    for (class, (count, gone)) in census.classes.iter().zip(&departed).enumerate() {
        if count.items == 0 && gone.evicted + gone.expired + gone.out_of_memory == 0 {
            continue;
        }
        let mut add = |name: &str, value: u64| lines.add(format!("items:{class}:{name}"), value);
        add("number", count.items);
        if is_segmented {
            add("number_hot", count.hot);
            add("number_warm", count.warm);
            add("number_cold", count.cold);
        }
        if has_temp {
            add("number_temp", count.temporary);
        }
        add("mem_requested", count.bytes);
        add("evicted", gone.evicted);
        add("evicted_nonzero", gone.evicted_nonzero);
        add("evicted_time", gone.evicted_time);
        add("outofmemory", gone.out_of_memory);
        add("tailrepairs", 0);
        add("reclaimed", gone.expired);
        add("expired_unfetched", gone.expired_unfetched);
        add("evicted_unfetched", gone.evicted_unfetched);
        add("evicted_active", gone.evicted - gone.evicted_unfetched.min(gone.evicted));
        add("crawler_reclaimed", gone.expired);
        add("crawler_items_checked", gone.expired);
        add("lrutail_reflocked", 0);
    }
}

fn slabs(context: &McContext<'_>, lines: &mut Lines) {
    let census = context.server.census(context.session, context.db, context.now);
    let departed = context.server.departures();
    let classes = &context.server.settings().classes;
    let spare = context.server.spare_pages();
    let mut active = 0;
    for (class, (count, gone)) in census.classes.iter().zip(&departed).enumerate() {
        let Some(chunk) = classes.chunk_bytes(class) else { continue };
        if count.items == 0 && gone.evicted + gone.expired + spare[class] == 0 {
            continue;
        }
        active += 1;
        let per_page = (PAGE_BYTES / chunk).max(1);
        let (used, pages) = classes.chunks(class, count);
        let pages = pages.max(1) + spare[class];
        let mut add = |name: &str, value: u64| lines.add(format!("{class}:{name}"), value);
        add("chunk_size", chunk);
        add("chunks_per_page", per_page);
        add("total_pages", pages);
        add("total_chunks", pages * per_page);
        add("used_chunks", used);
        add("free_chunks", pages * per_page - used);
        add("free_chunks_end", 0);
        add("mem_requested", count.bytes);
    }
    lines.add("active_slabs", active);
    lines.add("total_malloced", context.server.pages_bytes());
}
