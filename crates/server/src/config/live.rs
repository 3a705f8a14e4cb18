//! The values that the loop reads at every turn, as atomics.
//!
//! They are hints of one moment: nothing is published through them, so every access is Relaxed.

use super::output_limits::{self, OutputLimit};
use super::table;
use crate::limits::SLOWLOG_TIMES_ALL_BELOW_US;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub struct Live {
    pub timeout_s: AtomicU64,
    pub tcp_keepalive_s: AtomicU64,
    pub maxclients: AtomicU64,
    pub hz: AtomicU64,
    pub slowlog_slower_than_us: AtomicI64,
    /// The slow log's threshold is so low that short commands must be timed too.
    pub times_all: AtomicBool,
    pub slowlog_max_len: AtomicU64,
    pub latency_threshold_ms: AtomicU64,
    pub latency_tracking: AtomicBool,
    pub bulk_bytes_max: AtomicU64,
    pub memcache_value_max: AtomicU64,
    pub query_buffer_max: AtomicU64,
    pub client_buffers_max: AtomicU64,
    pub intset_members_max: AtomicU64,
    pub has_password: AtomicBool,
    pub protected_mode: AtomicBool,
    /// Raised with every change, so that a thread can keep copies of what it derives.
    pub version: AtomicU64,
    normal: Limit,
    pubsub: Limit,
}

#[derive(Debug, Default)]
struct Limit {
    hard: AtomicU64,
    soft: AtomicU64,
    seconds: AtomicU64,
}

impl Limit {
    fn store(&self, limit: Option<OutputLimit>) {
        let limit = limit.unwrap_or_default();
        self.hard.store(limit.hard, Relaxed);
        self.soft.store(limit.soft, Relaxed);
        self.seconds.store(limit.seconds, Relaxed);
    }

    fn load(&self) -> OutputLimit {
        OutputLimit {
            hard: self.hard.load(Relaxed),
            soft: self.soft.load(Relaxed),
            seconds: self.seconds.load(Relaxed),
        }
    }
}

impl Live {
    pub fn new(values: &[String]) -> Self {
        let live = Live::default();
        live.refresh(values);
        live
    }

    pub fn refresh(&self, values: &[String]) {
        let text = |name: &str| {
            table::position(name).and_then(|at| values.get(at)).map_or("", String::as_str)
        };
        let number = |name: &str| text(name).parse::<i64>().unwrap_or(0);
        let unsigned = |name: &str| number(name).max(0) as u64;
        self.timeout_s.store(unsigned("timeout"), Relaxed);
        self.tcp_keepalive_s.store(unsigned("tcp-keepalive"), Relaxed);
        self.maxclients.store(unsigned("maxclients"), Relaxed);
        self.hz.store(unsigned("hz").max(1), Relaxed);
        let slower_than = number("slowlog-log-slower-than");
        self.slowlog_slower_than_us.store(slower_than, Relaxed);
        self.times_all.store((0..SLOWLOG_TIMES_ALL_BELOW_US).contains(&slower_than), Relaxed);
        self.slowlog_max_len.store(unsigned("slowlog-max-len"), Relaxed);
        self.latency_threshold_ms.store(unsigned("latency-monitor-threshold"), Relaxed);
        self.latency_tracking.store(text("latency-tracking") == "yes", Relaxed);
        self.bulk_bytes_max.store(unsigned("proto-max-bulk-len"), Relaxed);
        self.memcache_value_max.store(unsigned("memcached-item-size-max"), Relaxed);
        self.query_buffer_max.store(unsigned("client-query-buffer-limit"), Relaxed);
        self.client_buffers_max.store(unsigned("client-buffers-max"), Relaxed);
        self.intset_members_max.store(unsigned("set-max-intset-entries"), Relaxed);
        self.has_password.store(!text("requirepass").is_empty(), Relaxed);
        self.protected_mode.store(text("protected-mode") == "yes", Relaxed);
        if let Ok(limits) = output_limits::parse(text("client-output-buffer-limit")) {
            self.normal.store(limits[0]);
            self.pubsub.store(limits[2]);
        }
        self.version.fetch_add(1, Relaxed);
    }

    /// The limit on the unsent output of a client that is subscribed, or is not.
    pub fn output_limit(&self, subscribed: bool) -> OutputLimit {
        if subscribed { self.pubsub.load() } else { self.normal.load() }
    }
}
