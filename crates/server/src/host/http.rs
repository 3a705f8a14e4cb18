//! What web requests ask of the server: the password, its names, and the numbers of `/metrics`.

use crate::process;
use crate::server::Server;
use dolium_commands::host::Host;
use dolium_commands::http::{self, Metric, MetricKind};
use dolium_commands::redis::table::ROWS;
use dolium_engine::Db;
use std::sync::atomic::Ordering::Relaxed;

impl http::Server for Server {
    fn has_password(&self) -> bool {
        Host::has_password(self)
    }

    fn check_password(&self, user: &[u8], password: &[u8]) -> bool {
        Host::check_password(self, user, password)
    }

    fn has_host(&self, name: &[u8]) -> bool {
        let is_listed = |listed: &str| {
            listed == "*" || name.eq_ignore_ascii_case(name_alone(listed).as_bytes())
        };
        self.config.get("http-hosts").split(' ').any(is_listed)
            || name.eq_ignore_ascii_case(rustix::system::uname().nodename().to_bytes())
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.plain_metrics();
        for db in (0..self.engine.databases()).filter(|db| self.engine.len(Db(*db)) > 0) {
            metrics.push(Metric {
                name: "dolium_keys",
                help: "Keys in a database.",
                kind: MetricKind::Gauge,
                labels: vec![("db", db.to_string())],
                value: self.engine.len(Db(db)) as f64,
            });
        }
        for row in ROWS.iter().filter(|row| self.statistics.row(row).calls > 0) {
            metrics.push(Metric {
                name: "dolium_command_calls_total",
                help: "Calls of a Redis command.",
                kind: MetricKind::Counter,
                labels: vec![("command", row.name.to_string())],
                value: self.statistics.row(row).calls as f64,
            });
        }
        metrics
    }
}

/// A host's name without what `Host` may say beside it and is not compared: a port, and the dot that may
/// end a whole name. An address needs no such entry.
fn name_alone(listed: &str) -> &str {
    let name = listed.split(':').next().unwrap_or_default();
    name.strip_suffix('.').unwrap_or(name)
}

impl Server {
    fn plain_metrics(&self) -> Vec<Metric> {
        let engine = self.engine.statistics();
        let memory = self.engine.memory();
        let statistics = &self.statistics;
        let (user, system) = process::processor_seconds();
        let gauges = [
            ("dolium_uptime_seconds", "Time since the start.", self.started.ms() / 1000),
            ("dolium_connected_clients", "Clients connected now.", self.clients.len()),
            ("dolium_arena_max_bytes", "Most memory for data.", memory.max),
            ("dolium_arena_committed_bytes", "Memory taken for data.", memory.committed),
            ("dolium_arena_live_bytes", "Memory in use by data.", memory.live),
            ("dolium_arena_index_bytes", "Of it, the index's.", memory.index),
            ("dolium_client_buffers_bytes", "Memory of clients' buffers.", self.buffers.used()),
            ("dolium_resident_bytes", "Resident memory.", process::resident_bytes()),
            (
                "dolium_operations_per_second",
                "Commands in the last second.",
                statistics.sampled.ops_per_s.load(Relaxed),
            ),
        ];
        let counters = [
            ("dolium_commands_total", "Commands run.", statistics.sum(|t| &t.commands)),
            ("dolium_connections_total", "Clients accepted.", statistics.sum(|t| &t.connections)),
            (
                "dolium_rejected_connections_total",
                "Clients refused.",
                statistics.sum(|t| &t.rejected_connections),
            ),
            ("dolium_received_bytes_total", "Bytes received.", statistics.sum(|t| &t.bytes_in)),
            ("dolium_sent_bytes_total", "Bytes sent.", statistics.sum(|t| &t.bytes_out)),
            ("dolium_error_replies_total", "Error replies.", statistics.sum(|t| &t.errors)),
            ("dolium_hits_total", "Lookups that found the key.", engine.hits),
            ("dolium_misses_total", "Lookups that found none.", engine.misses),
            ("dolium_changes_total", "Changes to keys.", engine.changes),
            ("dolium_expired_total", "Keys that expired.", engine.expired),
            ("dolium_evicted_total", "Keys evicted.", engine.evicted),
        ];
        let plain = |kind| {
            move |(name, help, value): (&'static str, &'static str, u64)| Metric {
                name,
                help,
                kind,
                labels: Vec::new(),
                value: value as f64,
            }
        };
        let mut metrics: Vec<Metric> = gauges.into_iter().map(plain(MetricKind::Gauge)).collect();
        metrics.extend(counters.into_iter().map(plain(MetricKind::Counter)));
        for (mode, value) in [("user", user), ("system", system)] {
            metrics.push(Metric {
                name: "dolium_cpu_seconds_total",
                help: "Processor time.",
                kind: MetricKind::Counter,
                labels: vec![("mode", mode.to_string())],
                value,
            });
        }
        metrics
    }
}
