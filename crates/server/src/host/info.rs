//! The text of INFO: sections and fields under Redis' names, for the tools that read them.
//!
//! A field of something that Dolium has not (a file of its data, forks, replicas, scripts) says so by the
//! value that it has in a Redis that never used it: who watches the field need not know which server it is.

use super::cpu::cpu;
use super::memory::memory;
use crate::server::Server;
use dolium_commands::connection::ClientState;
use dolium_commands::redis::table::ROWS;
use dolium_engine::Db;
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

type Section = fn(&Server, &mut String);

/// Sections in Redis' order; true: shown when none is asked for.
const SECTIONS: [(&str, bool, Section); 13] = [
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, cpu),
    ("Modules", true, |_, _| {}),
    ("Commandstats", false, commandstats),
    ("Errorstats", true, errorstats),
    ("Latencystats", false, latencystats),
    ("Cluster", true, |_, out| out.push_str("cluster_enabled:0\r\n")),
    ("Keyspace", true, keyspace),
];

/// The version of Redis whose behaviour clients may count on.
const REDIS_VERSION: &str = "7.0.15";

impl Server {
    pub(super) fn info_text(&self, _me: &ClientState, asked: &[&[u8]]) -> String {
        let is_asked = |name: &str| asked.iter().any(|a| a.eq_ignore_ascii_case(name.as_bytes()));
        let everything = is_asked("all") || is_asked("everything");
        let defaults = asked.is_empty() || is_asked("default");
        let mut out = String::new();
        for (name, is_default, write) in SECTIONS {
            let is_wanted = everything || (defaults && is_default) || is_asked(name);
            if !is_wanted {
                continue;
            }
            if !out.is_empty() {
                out.push_str("\r\n");
            }
            let _ = write!(out, "# {name}\r\n");
            write(self, &mut out);
        }
        out
    }
}

/// Writes `name:value` lines. Writing to a string cannot fail.
macro_rules! lines {
    ($out:expr, $($name:literal => $value:expr),+ $(,)?) => {
        $(let _ = write!($out, concat!($name, ":{}\r\n"), $value);)+
    };
}

pub(super) use lines;

fn server(server: &Server, out: &mut String) {
    let uptime_s = server.started.ms() / 1000;
    let config = &server.config;
    lines!(out,
        "redis_version" => REDIS_VERSION,
        "redis_git_sha1" => "00000000",
        "redis_git_dirty" => 0,
        "redis_build_id" => "0",
        "redis_mode" => "standalone",
        "dolium_version" => env!("CARGO_PKG_VERSION"),
        "os" => os_name(),
        "arch_bits" => usize::BITS,
        "monotonic_clock" => "POSIX clock_gettime",
        "multiplexing_api" => "epoll",
        "atomicvar_api" => "rust",
        "gcc_version" => "0.0.0",
        "process_id" => std::process::id(),
        "process_supervised" => config.get("supervised"),
        "run_id" => server.run_id,
        "tcp_port" => server.port.load(Relaxed),
        "server_time_usec" => server.unix_us(),
        "uptime_in_seconds" => uptime_s,
        "uptime_in_days" => uptime_s / 86400,
        "hz" => config.get("hz"),
        "configured_hz" => config.get("hz"),
        "lru_clock" => (server.unix_us() / 1_000_000) & 0xff_ffff,
        "executable" => executable(),
        "config_file" => config.file.as_ref().map_or(String::new(), |f| f.display().to_string()),
        "io_threads_active" => u8::from(server.posts.len() > 1),
    );
}

fn os_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        format!("{} {} {}", text(name.sysname()), text(name.release()), text(name.machine()))
    })
}

fn executable() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        std::env::current_exe().map_or(String::new(), |path| path.display().to_string())
    })
}

fn clients(server: &Server, out: &mut String) {
    let cards = server.clients.all();
    let largest =
        |of: fn(&crate::clients::Card) -> u64| cards.iter().map(|card| of(card)).max().unwrap_or(0);
    lines!(out,
        "connected_clients" => server.clients.len(),
        "cluster_connections" => 0,
        "maxclients" => server.config.live.maxclients.load(Relaxed),
        "client_recent_max_input_buffer" =>
            largest(|c| c.query_bytes.load(Relaxed) + c.query_free.load(Relaxed)),
        "client_recent_max_output_buffer" => largest(|c| c.output_bytes.load(Relaxed)),
        "blocked_clients" => server.pause.held() + server.waiting.count() as u64,
        "tracking_clients" => 0,
        "pubsub_clients" => cards.iter().filter(|c| c.is_subscribed()).count(),
        "watching_clients" => cards.iter().filter(|c| c.watched.load(Relaxed) > 0).count(),
        "clients_in_timeout_table" => 0,
    );
}

fn persistence(server: &Server, out: &mut String) {
    lines!(out,
        "loading" => 0,
        "async_loading" => 0,
        "current_cow_peak" => 0,
        "current_cow_size" => 0,
        "current_cow_size_age" => 0,
        "current_fork_perc" => "0.00",
        "current_save_keys_processed" => 0,
        "current_save_keys_total" => 0,
        "rdb_changes_since_last_save" => server.engine.elements_changed(),
        "rdb_bgsave_in_progress" => 0,
        "rdb_last_save_time" => server.started_unix_s,
        "rdb_last_bgsave_status" => "ok",
        "rdb_last_bgsave_time_sec" => -1,
        "rdb_current_bgsave_time_sec" => -1,
        "rdb_saves" => 0,
        "rdb_last_cow_size" => 0,
        "rdb_last_load_keys_expired" => 0,
        "rdb_last_load_keys_loaded" => 0,
        "aof_enabled" => 0,
        "aof_rewrite_in_progress" => 0,
        "aof_rewrite_scheduled" => 0,
        "aof_last_rewrite_time_sec" => -1,
        "aof_current_rewrite_time_sec" => -1,
        "aof_last_bgrewrite_status" => "ok",
        "aof_rewrites" => 0,
        "aof_rewrites_consecutive_failures" => 0,
        "aof_last_write_status" => "ok",
        "aof_last_cow_size" => 0,
        "module_fork_in_progress" => 0,
        "module_fork_last_cow_size" => 0,
    );
}

fn stats(server: &Server, out: &mut String) {
    let statistics = &server.statistics;
    let engine = server.engine.statistics();
    let sampled = &statistics.sampled;
    let kbps = |bytes: u64| format!("{:.2}", bytes as f64 / 1024.0);
    lines!(out,
        "total_connections_received" => statistics.sum(|t| &t.connections),
        "total_commands_processed" => statistics.sum(|t| &t.commands),
        "instantaneous_ops_per_sec" => sampled.ops_per_s.load(Relaxed),
        "total_net_input_bytes" => statistics.sum(|t| &t.bytes_in),
        "total_net_output_bytes" => statistics.sum(|t| &t.bytes_out),
        "total_net_repl_input_bytes" => 0,
        "total_net_repl_output_bytes" => 0,
        "instantaneous_input_kbps" => kbps(sampled.in_per_s.load(Relaxed)),
        "instantaneous_output_kbps" => kbps(sampled.out_per_s.load(Relaxed)),
        "instantaneous_input_repl_kbps" => "0.00",
        "instantaneous_output_repl_kbps" => "0.00",
        "rejected_connections" => statistics.sum(|t| &t.rejected_connections),
        "sync_full" => 0,
        "sync_partial_ok" => 0,
        "sync_partial_err" => 0,
        "expired_keys" => engine.expired,
        "expired_stale_perc" => "0.00",
        "expired_time_cap_reached_count" => 0,
        // Expiry is a part of maintenance, whose parts are not timed by themselves.
        "expire_cycle_cpu_milliseconds" => 0,
        "evicted_keys" => engine.evicted,
        "evicted_clients" => 0,
        // Room is made before something is stored: there is no time above the limit.
        "total_eviction_exceeded_time" => 0,
        "current_eviction_exceeded_time" => 0,
        "keyspace_hits" => engine.hits,
        "keyspace_misses" => engine.misses,
        "pubsub_channels" => server.pubsub.channel_count(),
        "pubsub_patterns" => server.pubsub.pattern_count(),
        "pubsubshard_channels" => 0,
        "latest_fork_usec" => 0,
        "total_forks" => 0,
        "migrate_cached_sockets" => 0,
        "slave_expires_tracked_keys" => 0,
        "active_defrag_hits" => 0,
        "active_defrag_misses" => 0,
        "active_defrag_key_hits" => 0,
        "active_defrag_key_misses" => 0,
        "total_active_defrag_time" => 0,
        "current_active_defrag_time" => 0,
        "tracking_total_keys" => 0,
        "tracking_total_items" => 0,
        "tracking_total_prefixes" => 0,
        // Redis' replica or file of commands runs into those, of which there is none.
        "unexpected_error_replies" => 0,
        "total_error_replies" => statistics.sum(|t| &t.errors),
        "dump_payload_sanitizations" => 0,
        "total_reads_processed" => statistics.sum(|t| &t.receives),
        "total_writes_processed" => statistics.sum(|t| &t.sends),
        // No thread reads or writes for another one.
        "io_threaded_reads_processed" => 0,
        "io_threaded_writes_processed" => 0,
        "reply_buffer_shrinks" => 0,
        "reply_buffer_expands" => 0,
        "clients_found_busy" => statistics.sum(|t| &t.found_busy),
        "client_query_buffer_limit_disconnections" =>
            statistics.query_limit_disconnections.load(Relaxed),
        "client_output_buffer_limit_disconnections" =>
            statistics.output_limit_disconnections.load(Relaxed),
    );
}

fn replication(server: &Server, out: &mut String) {
    lines!(out,
        "role" => "master",
        "connected_slaves" => 0,
        "master_failover_state" => "no-failover",
        "master_replid" => server.run_id,
        "master_replid2" => "0".repeat(40),
        "master_repl_offset" => 0,
        "second_repl_offset" => -1,
        "repl_backlog_active" => 0,
        "repl_backlog_size" => server.config.get("repl-backlog-size"),
        "repl_backlog_first_byte_offset" => 0,
        "repl_backlog_histlen" => 0,
    );
}

fn commandstats(server: &Server, out: &mut String) {
    for row in &ROWS {
        let totals = server.statistics.row(row);
        if totals.calls == 0 && totals.rejected == 0 {
            continue;
        }
        let per_call = totals.us as f64 / totals.calls.max(1) as f64;
        let _ = write!(
            out,
            "cmdstat_{}:calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},\
             failed_calls={}\r\n",
            row.name, totals.calls, totals.us, totals.rejected, totals.failed
        );
    }
}

fn errorstats(server: &Server, out: &mut String) {
    for (code, count) in server.statistics.errors() {
        let _ = write!(out, "errorstat_{code}:count={count}\r\n");
    }
}

fn latencystats(server: &Server, out: &mut String) {
    let wanted = server.config.get("latency-tracking-info-percentiles");
    for row in ROWS.iter().filter(|row| server.statistics.row(row).calls > 0) {
        let points: Vec<String> = wanted
            .split(' ')
            .filter_map(|p| Some((p, p.parse::<f64>().ok()?)))
            .map(|(text, percent)| format!("p{text}={:.3}", server.percentile(row, percent)))
            .collect();
        let _ = write!(out, "latency_percentiles_usec_{}:{}\r\n", row.name, points.join(","));
    }
}

fn keyspace(server: &Server, out: &mut String) {
    for db in 0..server.engine.databases() {
        let keys = server.engine.len(Db(db));
        if keys > 0 {
            let expires = server.engine.volatile_len(Db(db));
            let _ = write!(out, "db{db}:keys={keys},expires={expires},avg_ttl=0\r\n");
        }
    }
}
