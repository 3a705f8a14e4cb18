//! What Memcached's commands ask of the server.

use crate::process;
use crate::server::Server;
use dolium_commands::host::Host;
use dolium_commands::memcache::{self, Process, Totals};
use dolium_engine::{Db, Millis};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

impl memcache::Server for Server {
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool {
        Host::check_password(self, user, password)
    }

    fn process(&self) -> Process {
        let (user, system) = process::processor_seconds();
        let statistics = &self.statistics;
        let engine = self.engine.statistics();
        Process {
            pid: std::process::id(),
            uptime_s: self.started.ms() / 1000,
            cpu_user_us: (user * 1e6) as u64,
            cpu_system_us: (system * 1e6) as u64,
            connections_max: self.config.live.maxclients.load(Relaxed),
            connections: self.clients.len(),
            connections_total: statistics.sum(|t| &t.connections),
            connections_rejected: statistics.sum(|t| &t.rejected_connections),
            threads: self.posts.len() as u64,
            bytes_read: statistics.sum(|t| &t.bytes_in),
            bytes_written: statistics.sum(|t| &t.bytes_out),
            evictions: engine.evicted,
            expired: engine.expired,
        }
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.statistics.threads.iter().for_each(|thread| totals.add(&thread.tally));
        totals
    }

    fn reset_statistics(&self) {
        Host::reset_statistics(self);
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let yes = |name: &str| self.config.get(name);
        vec![
            ("maxbytes", self.engine.memory().max.to_string()),
            ("maxconns", yes("maxclients")),
            ("tcpport", yes("memcached-port")),
            ("udpport", "0".into()),
            ("inter", yes("bind")),
            ("verbosity", "0".into()),
            (
                "evictions",
                if yes("maxmemory-policy") == "noeviction" { "off" } else { "on" }.into(),
            ),
            ("num_threads", self.posts.len().to_string()),
            ("item_size_max", yes("memcached-item-size-max")),
            ("cas_enabled", "yes".into()),
            ("auth_enabled_ascii", if self.has_password() { "yes" } else { "no" }.into()),
            ("tcp_backlog", yes("tcp-backlog")),
        ]
    }

    fn set_verbosity(&self, level: u32) {
        crate::logging::set_level(match level {
            0 => "notice",
            1 => "verbose",
            _ => "debug",
        });
    }

    fn set_max_memory(&self, bytes: u64) -> Result<(), String> {
        let value = bytes.to_string();
        match self.config.set(&[("maxmemory", &value)]) {
            Ok(_) => {
                self.apply_config();
                Ok(())
            }
            Err(failure) => Err(format!("{failure:?}")),
        }
    }

    fn schedule_flush(&self, db: Db, at: Option<Millis>) {
        let mut flushes = self.flushes.lock().unwrap_or_else(PoisonError::into_inner);
        flushes.retain(|(other, _)| *other != db);
        flushes.extend(at.map(|at| (db, at)));
    }
}
