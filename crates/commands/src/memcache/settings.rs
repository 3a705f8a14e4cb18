//! What a Memcached administrator sets: by the command line of `dolium memcached`, and a little of
//! it at run time. `stats settings` repeats all of it.
//!
//! A field here is read by some command or shown by `stats settings`; what is accepted without
//! meaning in this store is kept for being shown, and the command line says so when it is set.

use super::classes::Classes;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Which protocol connections to a Memcached port speak (`-B`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    Auto,
    Ascii,
    Binary,
}

/// The fixed settings, with Memcached's defaults.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The server was started as `dolium memcached`: names and numbers are those of its options.
    pub is_memcached: bool,
    pub tcp_port: u16,
    pub udp_port: u16,
    pub inter: Option<String>,
    pub unix_socket: Option<String>,
    pub unix_mask: u32,
    pub shutdown_enabled: bool,
    pub growth_factor: f64,
    pub chunk_size: usize,
    pub prefix_delimiter: u8,
    pub requests_per_event: u32,
    /// `-R` was given: a connection with more requests than that waits for its next turn.
    pub yields: bool,
    pub unique_enabled: bool,
    pub backlog: u32,
    pub binding: Binding,
    pub sasl: bool,
    pub auth_file: Option<String>,
    pub item_size_max: usize,
    pub hashpower_init: u32,
    pub slab_chunk_max: usize,
    pub flush_enabled: bool,
    pub dump_enabled: bool,
    pub watch_enabled: bool,
    pub slab_reassign: bool,
    pub lru_maintainer: bool,
    pub idle_timeout: u32,
    pub watcher_buffer_bytes: usize,
    pub worker_buffer_bytes: usize,
    pub read_buffer_limit: usize,
    /// At the start.
    pub track_sizes: bool,
    pub tail_repair_time: u32,
    pub hash_algorithm: String,
    pub memory_file: Option<String>,
    /// Bytes of `-m` that count as taken from the start: Memcached's own tests ask for it through
    /// the environment (T_MEMD_INITIAL_MALLOC).
    pub initial_bytes: u64,
    pub slab_automove_window: u32,
    pub tls: TlsShown,
}

/// What `stats settings` shows of `-Z` and `-o ssl_*`.
#[derive(Clone, Debug)]
pub struct TlsShown {
    pub enabled: bool,
    pub chain: Option<String>,
    pub key: Option<String>,
    /// As OpenSSL's bits: 1 request, 2 require, 4 once.
    pub verify_mode: u32,
    pub key_format: u32,
    pub ciphers: Option<String>,
    pub authority: Option<String>,
    pub buffer_bytes: usize,
    pub session_cache: bool,
    pub min_version: &'static str,
}

impl Default for TlsShown {
    fn default() -> Self {
        TlsShown {
            enabled: false,
            chain: None,
            key: None,
            verify_mode: 0,
            key_format: 1,
            ciphers: None,
            authority: None,
            buffer_bytes: 16 << 10,
            session_cache: false,
            min_version: "tlsv1.2",
        }
    }
}

impl Default for Fixed {
    fn default() -> Self {
        Fixed {
            is_memcached: false,
            tcp_port: 11211,
            udp_port: 0,
            inter: None,
            unix_socket: None,
            unix_mask: 0o700,
            shutdown_enabled: false,
            growth_factor: 1.25,
            chunk_size: 48,
            prefix_delimiter: b':',
            requests_per_event: 0,
            yields: false,
            unique_enabled: true,
            backlog: 1024,
            binding: Binding::Auto,
            sasl: false,
            auth_file: None,
            item_size_max: 1 << 20,
            hashpower_init: 0,
            slab_chunk_max: 512 << 10,
            flush_enabled: true,
            dump_enabled: true,
            watch_enabled: true,
            slab_reassign: true,
            lru_maintainer: true,
            idle_timeout: 0,
            watcher_buffer_bytes: 256 << 10,
            worker_buffer_bytes: 64 << 10,
            read_buffer_limit: 0,
            track_sizes: false,
            tail_repair_time: 0,
            hash_algorithm: "murmur3".into(),
            memory_file: None,
            initial_bytes: 0,
            slab_automove_window: 30,
            tls: TlsShown::default(),
        }
    }
}

/// What commands change while the server runs. Each is true by itself: Relaxed everywhere.
#[derive(Debug)]
pub struct Live {
    pub lru_crawler: AtomicBool,
    pub crawler_sleep_us: AtomicU32,
    pub crawler_to_crawl: AtomicU32,
    pub slab_automove: AtomicU32,
    /// In hundredths.
    pub slab_automove_ratio: AtomicU32,
    pub lru_segmented: AtomicBool,
    pub hot_pct: AtomicU32,
    pub warm_pct: AtomicU32,
    /// In hundredths.
    pub hot_factor: AtomicU32,
    pub warm_factor: AtomicU32,
    pub temp_lru: AtomicBool,
    pub temporary_ttl: AtomicU32,
    pub verbosity: AtomicU32,
    /// The Unix second of the last `flush_all`; 0: there was none.
    pub flushed_at: AtomicU64,
    /// `stats sizes` answers: `-o track_sizes` or `stats sizes_enable`.
    pub track_sizes: AtomicBool,
}

impl Default for Live {
    fn default() -> Self {
        Live {
            lru_crawler: AtomicBool::new(true),
            crawler_sleep_us: AtomicU32::new(100),
            crawler_to_crawl: AtomicU32::new(0),
            slab_automove: AtomicU32::new(1),
            slab_automove_ratio: AtomicU32::new(80),
            lru_segmented: AtomicBool::new(true),
            hot_pct: AtomicU32::new(20),
            warm_pct: AtomicU32::new(40),
            hot_factor: AtomicU32::new(20),
            warm_factor: AtomicU32::new(200),
            temp_lru: AtomicBool::new(false),
            temporary_ttl: AtomicU32::new(61),
            verbosity: AtomicU32::new(0),
            flushed_at: AtomicU64::new(0),
            track_sizes: AtomicBool::new(false),
        }
    }
}

/// The moment of the last flush as Memcached's clock shows it, which begins with a minute on it, less the
/// second that is not over; 0: there was none.
fn oldest(flushed_at_s: u64, started_s: u64) -> u64 {
    const CLOCK_BEGINS_S: u64 = 60;
    match flushed_at_s {
        0 => 0,
        at => (at + CLOCK_BEGINS_S - 1).saturating_sub(started_s),
    }
}

/// Both, and the classes that follow from them.
#[derive(Debug)]
pub struct Settings {
    pub fixed: Fixed,
    pub live: Live,
    pub classes: Classes,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new(Fixed::default(), Live::default())
    }
}

impl Settings {
    pub fn new(fixed: Fixed, live: Live) -> Settings {
        let classes = Classes::new(
            fixed.growth_factor,
            fixed.chunk_size,
            fixed.slab_chunk_max.min(fixed.item_size_max),
            fixed.unique_enabled,
        );
        live.track_sizes.store(fixed.track_sizes, Relaxed);
        Settings { fixed, live, classes }
    }

    /// The lines of `stats settings`, in Memcached's order. The first are what the server knows.
    pub fn lines(
        &self,
        server: &[(&'static str, String)],
        started_s: u64,
    ) -> Vec<(&'static str, String)> {
        let (fixed, live) = (&self.fixed, &self.live);
        let yes = |is: bool| String::from(if is { "yes" } else { "no" });
        let null = |text: &Option<String>| text.clone().unwrap_or_else(|| "NULL".into());
        let hundredths = |n: &AtomicU32| format!("{:.2}", f64::from(n.load(Relaxed)) / 100.0);
        let number = |n: &AtomicU32| n.load(Relaxed).to_string();
        let binding = match fixed.binding {
            Binding::Auto => "auto-negotiate",
            Binding::Ascii => "ascii",
            Binding::Binary => "binary",
        };
        let mut lines = server.to_vec();
        lines.extend([
            ("udpport", fixed.udp_port.to_string()),
            ("inter", null(&fixed.inter)),
            ("verbosity", number(&live.verbosity)),
            ("oldest", oldest(live.flushed_at.load(Relaxed), started_s).to_string()),
            ("domain_socket", null(&fixed.unix_socket)),
            ("umask", format!("{:o}", fixed.unix_mask)),
            ("shutdown_command", yes(fixed.shutdown_enabled)),
            ("growth_factor", format!("{:.2}", fixed.growth_factor)),
            ("chunk_size", fixed.chunk_size.to_string()),
            ("stat_key_prefix", char::from(fixed.prefix_delimiter).to_string()),
            ("reqs_per_event", fixed.requests_per_event.to_string()),
            ("cas_enabled", yes(fixed.unique_enabled)),
            ("binding_protocol", binding.into()),
            ("auth_enabled_sasl", yes(fixed.sasl)),
            ("maxconns_fast", yes(true)),
            ("hashpower_init", fixed.hashpower_init.to_string()),
            ("slab_reassign", yes(fixed.slab_reassign)),
            ("slab_automove", number(&live.slab_automove)),
            ("slab_automove_ratio", hundredths(&live.slab_automove_ratio)),
            ("slab_automove_window", fixed.slab_automove_window.to_string()),
            ("slab_chunk_max", fixed.slab_chunk_max.to_string()),
            ("lru_crawler", yes(live.lru_crawler.load(Relaxed))),
            ("lru_crawler_sleep", number(&live.crawler_sleep_us)),
            ("lru_crawler_tocrawl", number(&live.crawler_to_crawl)),
            ("tail_repair_time", fixed.tail_repair_time.to_string()),
            ("flush_enabled", yes(fixed.flush_enabled)),
            ("dump_enabled", yes(fixed.dump_enabled)),
            ("hash_algorithm", fixed.hash_algorithm.clone()),
            ("lru_maintainer_thread", yes(fixed.lru_maintainer)),
            ("lru_segmented", yes(live.lru_segmented.load(Relaxed))),
            ("hot_lru_pct", number(&live.hot_pct)),
            ("warm_lru_pct", number(&live.warm_pct)),
            ("hot_max_factor", hundredths(&live.hot_factor)),
            ("warm_max_factor", hundredths(&live.warm_factor)),
            ("temp_lru", yes(live.temp_lru.load(Relaxed))),
            ("temporary_ttl", number(&live.temporary_ttl)),
            ("idle_timeout", fixed.idle_timeout.to_string()),
            ("watcher_logbuf_size", fixed.watcher_buffer_bytes.to_string()),
            ("worker_logbuf_size", fixed.worker_buffer_bytes.to_string()),
            ("read_buf_mem_limit", fixed.read_buffer_limit.to_string()),
            ("track_sizes", yes(live.track_sizes.load(Relaxed))),
            ("inline_ascii_response", yes(false)),
            ("ssl_enabled", yes(fixed.tls.enabled)),
            ("ssl_chain_cert", fixed.tls.chain.clone().unwrap_or_else(|| "(null)".into())),
            ("ssl_key", fixed.tls.key.clone().unwrap_or_else(|| "(null)".into())),
            ("ssl_verify_mode", fixed.tls.verify_mode.to_string()),
            ("ssl_keyformat", fixed.tls.key_format.to_string()),
            ("ssl_ciphers", null(&fixed.tls.ciphers)),
            ("ssl_ca_cert", null(&fixed.tls.authority)),
            ("ssl_wbuf_size", fixed.tls.buffer_bytes.to_string()),
            ("ssl_session_cache", yes(fixed.tls.session_cache)),
            ("ssl_kernel_tls", yes(false)),
            ("ssl_min_version", fixed.tls.min_version.into()),
            // Connections are not spread by the queues of network cards (`-N`).
            ("num_napi_ids", "(null)".into()),
            ("memory_file", fixed.memory_file.clone().unwrap_or_else(|| "(null)".into())),
        ]);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memcached 1.6.18 shows 65 for a flush in its sixth second.
    #[test]
    fn a_flush_is_told_in_seconds_of_the_servers_clock() {
        assert_eq!(oldest(0, 1_700_000_000), 0);
        assert_eq!(oldest(1_700_000_006, 1_700_000_000), 65);
    }
}
