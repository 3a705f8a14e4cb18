//! What Memcached's commands ask of the server.

use crate::server::Server;
use dolium_commands::host::Host;
use dolium_commands::memcache::census::Census;
use dolium_commands::memcache::classes::CLASSES_MAX;
use dolium_commands::memcache::details::Details;
use dolium_commands::memcache::{
    self, DETAILS_ON, Departed, Process, Reason, Settings, TlsNumbers, Totals,
};
use dolium_engine::{Db, Millis, Session};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

impl memcache::Server for Server {
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool {
        if self.memcached.accounts.is_empty() {
            return Host::check_password(self, user, password);
        }
        self.memcached.accounts.check(user, password)
    }

    fn uptime_s(&self) -> u64 {
        self.started.ms() / 1000
    }

    fn pages_bytes(&self) -> u64 {
        self.note_sizes();
        let peak = self.memcached.counts.pages_peak.load(Relaxed);
        peak.min(self.max_memory()) + self.memcached.settings.fixed.initial_bytes
    }

    fn process(&self) -> Process {
        let (user, system) = self.surroundings.processor_seconds();
        let statistics = &self.statistics;
        let engine = self.engine.statistics();
        let memory = self.engine.memory();
        let counts = &self.memcached.counts;
        self.note_sizes();
        Process {
            pid: std::process::id(),
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
            flushed: counts.flushed.load(Relaxed),
            listen_disabled: 0,
            connection_yields: counts.yields.load(Relaxed),
            idle_kicks: counts.idle_kicks.load(Relaxed),
            response_oom: counts.response_oom.load(Relaxed),
            read_buffer_oom: counts.read_buffer_oom.load(Relaxed),
            read_buffers: self.posts.len() as u64,
            read_buffer_bytes: self.buffers.used(),
            watchers: self.memcached.watchers.len(),
            watcher_skipped: self.memcached.watchers.skipped.load(Relaxed),
            watcher_sent: self.memcached.watchers.sent.load(Relaxed),
            maintenance_rounds: counts.rounds.load(Relaxed),
            crawls: counts.crawls.load(Relaxed),
            slabs_moved: counts.slabs_moved.load(Relaxed),
            moved_blocks: engine.moved - engine.moved_above,
            moved_in_chunks: engine.moved_above,
            reassign_evictions: counts.reassign_evictions.load(Relaxed),
            pool_bytes: self.max_memory().saturating_sub(memory.item_pages),
            hash_power: counts.hash_power.load(Relaxed),
            hash_bytes: memory.index,
            tls: self.tls.as_ref().map(|tls| TlsNumbers {
                new_sessions: tls.caches_sessions().then(|| tls.new_sessions()),
                handshake_errors: tls.counts.handshake_errors.load(Relaxed),
                since_refresh_s: tls.age_s(),
            }),
        }
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.statistics.threads.iter().for_each(|thread| totals.add(&thread.tally));
        totals
    }

    fn reset_statistics(&self) {
        Host::reset_statistics(self);
        self.memcached.departures.reset();
        self.memcached.details.clear();
        let counts = &self.memcached.counts;
        for counter in [&counts.flushed, &counts.yields, &counts.idle_kicks] {
            counter.store(0, Relaxed);
        }
    }

    fn refresh_certificates(&self) -> Result<(), String> {
        match &self.tls {
            Some(tls) => tls.refresh(),
            None => Err("Error TLS not enabled".into()),
        }
    }

    fn settings(&self) -> &Settings {
        &self.memcached.settings
    }

    fn configured(&self) -> Vec<(&'static str, String)> {
        let value = |name: &str| self.config.get(name);
        let fixed = &self.memcached.settings.fixed;
        let backlog = match fixed.is_memcached {
            true => fixed.backlog.to_string(),
            false => value("tcp-backlog"),
        };
        let tcp_port = match fixed.is_memcached {
            true => fixed.tcp_port.to_string(),
            false => value("memcached-port"),
        };
        let evicts = value("maxmemory-policy") != "noeviction";
        let counts_details = self.memcached.watchers.mask() & DETAILS_ON != 0;
        let wants_login = self.memcached_wants_login() && !fixed.sasl;
        vec![
            ("maxbytes", self.max_memory().to_string()),
            ("maxconns", value("maxclients")),
            ("tcpport", tcp_port),
            ("evictions", if evicts { "on" } else { "off" }.into()),
            ("num_threads", self.posts.len().to_string()),
            // Every thread serves datagrams.
            ("num_threads_per_udp", self.posts.len().to_string()),
            ("detail_enabled", if counts_details { "yes" } else { "no" }.into()),
            ("tcp_backlog", backlog),
            ("auth_enabled_ascii", if wants_login { "yes" } else { "no" }.into()),
            ("item_size_max", value("memcached-item-size-max")),
        ]
    }

    fn set_verbosity(&self, level: u32) {
        crate::logging::set_level(match level {
            0 => "notice",
            1 => "verbose",
            _ => "debug",
        });
    }

    fn value_bytes_max(&self) -> usize {
        self.config.live.memcache_value_max.load(Relaxed) as usize
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

    fn census(&self, session: &Session, db: Db, now: Millis) -> Arc<Census> {
        self.memcached.censuses.of(&self.memcached.settings, session, db, now)
    }

    fn departures(&self) -> [Departed; CLASSES_MAX + 1] {
        self.memcached.departures.classes()
    }

    #[inline]
    fn departed_lately(&self, hash: u64) -> Option<Reason> {
        self.memcached.departures.reason(hash)
    }

    fn note_departure(&self, hash: u64, reason: Reason) {
        self.memcached.departures.remember(hash, reason);
    }

    fn note_flushed(&self, items: u64) {
        self.memcached.counts.flushed.fetch_add(items, Relaxed);
    }

    fn note_response_oom(&self) {
        self.memcached.counts.response_oom.fetch_add(1, Relaxed);
    }

    fn details(&self) -> &Details {
        &self.memcached.details
    }

    fn set_details(&self, on: bool) {
        self.memcached.watchers.set_details(on);
    }

    fn watch(&self, client: u64, streams: u32) {
        if let Some(card) = self.clients.find(client) {
            self.memcached.watchers.add(client, card.thread, card.token, streams);
        }
    }

    fn tell(&self, stream: u32, line: &str) {
        let room = self.memcached.settings.fixed.watcher_buffer_bytes;
        self.memcached.watchers.tell(&self.posts, room, stream, line);
    }

    fn apply_live(&self) {
        let live = &self.memcached.settings.live;
        let seconds = match live.temp_lru.load(Relaxed) {
            true => live.temporary_ttl.load(Relaxed),
            false => 0,
        };
        self.engine.spare_short_lived(u64::from(seconds) * 1000);
        self.memcached.censuses.forget();
    }

    fn max_memory(&self) -> u64 {
        match self.config.number("maxmemory").max(0) as u64 {
            0 => self.engine.memory().max,
            bytes => bytes,
        }
    }

    fn spare_pages(&self) -> [u64; CLASSES_MAX + 1] {
        *self.memcached.spare_pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reassign(&self, session: &Session, from: i64, to: usize, now: Millis) -> &'static str {
        self.take_page(session, from, to, now)
    }

    fn crawl(&self) {
        self.memcached.counts.crawls.fetch_add(1, Relaxed);
    }

    fn shutdown(&self, graceful: bool) {
        self.memcached.keep.store(graceful, Relaxed);
        self.stop();
    }

    fn connections(&self, me: u64) -> Vec<(i32, &'static str, String)> {
        self.memcached_connections(me)
    }
}

impl Server {
    /// Does a Memcached client have to log in?
    pub fn memcached_wants_login(&self) -> bool {
        let memcached = &self.memcached;
        memcached.settings.fixed.sasl
            || !memcached.accounts.is_empty()
            || self.config.live.has_password.load(Relaxed)
    }

    /// Notes the most memory that pages have taken, and the size of Memcached's hash table for so
    /// many items, which never shrinks.
    pub fn note_sizes(&self) {
        let counts = &self.memcached.counts;
        counts.pages_peak.fetch_max(self.engine.memory().item_pages, Relaxed);
        let items = self.engine.item_count();
        while counts.hash_power.load(Relaxed) < 32
            && items > 3 * (1 << counts.hash_power.load(Relaxed)) / 2
        {
            counts.hash_power.fetch_add(1, Relaxed);
        }
    }
}
