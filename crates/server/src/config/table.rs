//! Every directive, one row each.
//!
//! Names, units and defaults are Redis' wherever Redis has the directive. Rows under "thresholds
//! of encodings" and "accepted" hold their value for tools that read or set it; the others act.

use super::directive::{Directive, Kind};

const fn row(name: &'static str, kind: Kind, default: &'static str) -> Directive {
    Directive::new(name, kind, default)
}
const fn int(min: i64, max: i64) -> Kind {
    Kind::Int { min, max }
}
const fn bytes(min: i64, max: i64) -> Kind {
    Kind::Bytes { min, max }
}
const I32: i64 = i32::MAX as i64;
const ANY: i64 = i64::MAX;
const POLICIES: &[&str] = &[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];
const LEVELS: &[&str] = &["debug", "verbose", "notice", "warning", "nothing"];

pub static DIRECTIVES: &[Directive] = &[
    // ---- doors ----
    row("bind", Kind::Words, "127.0.0.1 -::1")
        .fixed()
        .help("Addresses to listen on; a dash before one: go on without it if it is not there."),
    row("port", int(0, 65535), "6379").help("TCP port for Redis clients; 0: none."),
    row("memcached-port", int(0, 65535), "11211")
        .fixed()
        .help("TCP port for Memcached clients; 0: none."),
    row("http-port", int(0, 65535), "8379").fixed().help("TCP port for HTTP; 0: none."),
    row("tls-port", int(0, 65535), "0")
        .fixed()
        .help("TCP port for clients that speak TLS; 0: none."),
    row("tls-cert-file", Kind::Text, "").help("The server's certificate and its chain."),
    row("tls-key-file", Kind::Text, "").help("Its private key."),
    row("tls-ca-cert-file", Kind::Text, "").help("Who may sign clients' certificates."),
    row("tls-ca-cert-dir", Kind::Text, "").help("A folder of such files."),
    row("tls-auth-clients", Kind::Choice(&["yes", "no", "optional"]), "yes")
        .help("Must clients show a certificate?"),
    row("tls-protocols", Kind::Words, "").help("TLSv1.2 TLSv1.3; empty: both."),
    row("tls-ciphers", Kind::Text, ""),
    row("tls-ciphersuites", Kind::Text, ""),
    row("tls-prefer-server-ciphers", Kind::Bool, "no"),
    row("tls-session-caching", Kind::Bool, "yes"),
    row("tls-session-cache-size", int(0, I32), "20480"),
    row("unixsocket", Kind::Text, "").fixed().help("Path of a Unix socket for Redis clients."),
    row("unixsocketperm", Kind::Octal, "0").fixed().help("Permissions of the Unix socket."),
    row("attach-socket", Kind::Text, "auto")
        .fixed()
        .help("Where local processes attach; auto: a path for this user; empty: nowhere."),
    row("attach-socket-perm", Kind::Octal, "600")
        .fixed()
        .help("Permissions of the attach socket: who may connect to it may read everything."),
    row("tcp-backlog", int(0, I32), "511").fixed(),
    row("tcp-keepalive", int(0, I32), "300").help("Seconds between probes of silent clients."),
    row("timeout", int(0, I32), "0").help("Seconds after which an idle client is closed."),
    row("maxclients", int(1, 4_294_967_295), "10000"),
    row("protected-mode", Kind::Bool, "yes")
        .help("Refuse clients of other machines while there is no password."),
    row("requirepass", Kind::Text, "").help("Password of the default user."),
    row("aclfile", Kind::Text, "").fixed(),
    // ---- threads ----
    row("threads", int(0, 48), "0")
        .alias("io-threads")
        .fixed()
        .help("Threads that serve clients; 0: one for each core."),
    row("pin-threads", Kind::Bool, "yes").fixed().help("Keep each thread on its own core."),
    row("hz", int(1, 500), "10").help("How often background work is looked at each second."),
    row("dynamic-hz", Kind::Bool, "yes"),
    // ---- memory ----
    row("maxmemory", bytes(0, ANY), "0").help("Most memory for data; 0: what the machine has."),
    row("maxmemory-policy", Kind::Choice(POLICIES), "noeviction"),
    row("maxmemory-samples", int(1, 64), "5"),
    row("maxmemory-eviction-tenacity", int(0, 100), "10"),
    row("maxmemory-clients", Kind::BytesOrPercent, "0"),
    row("client-buffers-max", bytes(1 << 20, ANY), "64mb")
        .help("Most memory for all clients' buffers; over it the largest client is closed."),
    row("lfu-log-factor", int(0, I32), "10"),
    row("lfu-decay-time", int(0, I32), "1"),
    row("lazyfree-lazy-eviction", Kind::Bool, "no"),
    row("lazyfree-lazy-expire", Kind::Bool, "no"),
    row("lazyfree-lazy-server-del", Kind::Bool, "no"),
    row("lazyfree-lazy-user-del", Kind::Bool, "no"),
    row("lazyfree-lazy-user-flush", Kind::Bool, "no"),
    row("replica-lazy-flush", Kind::Bool, "no").alias("slave-lazy-flush"),
    row("activedefrag", Kind::Bool, "no"),
    row("active-expire-effort", int(1, 10), "1"),
    row("databases", int(1, 64), "16").fixed(),
    row("always-show-logo", Kind::Bool, "no").fixed(),
    // ---- limits of clients ----
    row("proto-max-bulk-len", bytes(1 << 20, 512 << 20), "512mb"),
    row("memcached-item-size-max", bytes(1024, 512 << 20), "1mb")
        .help("Longest value that Memcached clients may store."),
    row("client-query-buffer-limit", bytes(1 << 20, ANY), "1gb"),
    row(
        "client-output-buffer-limit",
        Kind::OutputLimits,
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
    ),
    // ---- what is noted ----
    row("slowlog-log-slower-than", int(-1, ANY), "10000"),
    row("slowlog-max-len", int(0, ANY), "128"),
    row("latency-monitor-threshold", int(0, ANY), "0"),
    row("latency-tracking", Kind::Bool, "yes"),
    row("latency-tracking-info-percentiles", Kind::Words, "50 99 99.9"),
    row("notify-keyspace-events", Kind::Notify, ""),
    row("loglevel", Kind::Choice(LEVELS), "notice"),
    row("logfile", Kind::Text, "").fixed(),
    row("log-format", Kind::Choice(&["text", "json"]), "text").fixed(),
    row("syslog-enabled", Kind::Bool, "no").fixed(),
    row("crash-log-enabled", Kind::Bool, "no"),
    row("crash-memcheck-enabled", Kind::Bool, "no"),
    // ---- process ----
    row("daemonize", Kind::Bool, "no").fixed(),
    row("supervised", Kind::Choice(&["no", "auto", "systemd", "upstart"]), "no").fixed(),
    row("pidfile", Kind::Text, "").fixed(),
    row("dir", Kind::Text, ""),
    row("shutdown-timeout", int(0, I32), "10"),
    row("shutdown-on-sigint", Kind::Words, "default"),
    row("shutdown-on-sigterm", Kind::Words, "default"),
    row("proc-title-template", Kind::Text, "{title} {listen-addr} {server-mode}"),
    row("set-proc-title", Kind::Bool, "yes").fixed(),
    row("enable-debug-command", Kind::Choice(&["no", "yes", "local"]), "no").fixed(),
    row("enable-protected-configs", Kind::Choice(&["no", "yes", "local"]), "no").fixed(),
    row("enable-module-command", Kind::Choice(&["no", "yes", "local"]), "no").fixed(),
    // ---- persistence: none yet, and what would promise it is refused ----
    row("save", Kind::Save, ""),
    row("appendonly", Kind::Bool, "no"),
    row("appendfsync", Kind::Choice(&["always", "everysec", "no"]), "everysec"),
    row("appendfilename", Kind::Text, "appendonly.aof").fixed(),
    row("appenddirname", Kind::Text, "appendonlydir").fixed(),
    row("dbfilename", Kind::Text, "dump.rdb"),
    row("rdbcompression", Kind::Bool, "yes"),
    row("rdbchecksum", Kind::Bool, "yes").fixed(),
    row("stop-writes-on-bgsave-error", Kind::Bool, "yes"),
    row("no-appendfsync-on-rewrite", Kind::Bool, "no"),
    row("auto-aof-rewrite-percentage", int(0, I32), "100"),
    row("auto-aof-rewrite-min-size", bytes(0, ANY), "64mb"),
    row("aof-use-rdb-preamble", Kind::Bool, "yes"),
    row("aof-load-truncated", Kind::Bool, "yes"),
    row("rdb-save-incremental-fsync", Kind::Bool, "yes"),
    row("rdb-key-save-delay", int(i32::MIN as i64, I32), "0"),
    row("key-load-delay", int(i32::MIN as i64, I32), "0"),
    // ---- thresholds of encodings ----
    row("list-max-listpack-size", int(i32::MIN as i64, I32), "-2").alias("list-max-ziplist-size"),
    row("list-compress-depth", int(0, I32), "0"),
    row("hash-max-listpack-entries", int(0, ANY), "128").alias("hash-max-ziplist-entries"),
    row("hash-max-listpack-value", bytes(0, ANY), "64").alias("hash-max-ziplist-value"),
    row("set-max-intset-entries", int(0, ANY), "512"),
    row("set-max-listpack-entries", int(0, ANY), "128"),
    row("set-max-listpack-value", bytes(0, ANY), "64"),
    row("zset-max-listpack-entries", int(0, ANY), "128").alias("zset-max-ziplist-entries"),
    row("zset-max-listpack-value", bytes(0, ANY), "64").alias("zset-max-ziplist-value"),
    row("hll-sparse-max-bytes", bytes(0, ANY), "3000"),
    row("stream-node-max-bytes", bytes(0, ANY), "4096"),
    row("stream-node-max-entries", int(0, ANY), "100"),
    // ---- accepted: tools and tests set or read them ----
    row("activerehashing", Kind::Bool, "yes"),
    row("jemalloc-bg-thread", Kind::Bool, "yes"),
    row("close-on-replica-write", Kind::Bool, "yes"),
    row("lua-time-limit", int(0, ANY), "5000").alias("busy-reply-threshold"),
    row("tracking-table-max-keys", int(0, ANY), "1000000"),
    row("acllog-max-len", int(0, ANY), "128"),
    row("acl-pubsub-default", Kind::Choice(&["allchannels", "resetchannels"]), "resetchannels"),
    row("repl-diskless-sync", Kind::Bool, "yes"),
    row("repl-diskless-sync-delay", int(0, I32), "5"),
    row("repl-backlog-size", bytes(1, ANY), "1mb"),
    row("repl-timeout", int(1, I32), "60"),
    row("repl-ping-replica-period", int(1, I32), "10").alias("repl-ping-slave-period"),
    row("min-replicas-to-write", int(0, I32), "0").alias("min-slaves-to-write"),
    row("min-replicas-max-lag", int(0, I32), "10").alias("min-slaves-max-lag"),
    row("replica-read-only", Kind::Bool, "yes").alias("slave-read-only"),
    row("replica-serve-stale-data", Kind::Bool, "yes").alias("slave-serve-stale-data"),
    row("replica-priority", int(0, I32), "100").alias("slave-priority"),
    row("masterauth", Kind::Text, ""),
    row("masteruser", Kind::Text, ""),
    row("io-threads-do-reads", Kind::Bool, "no").fixed(),
    row("replicaof", Kind::Words, "").alias("slaveof").fixed(),
    row("cluster-enabled", Kind::Bool, "no").fixed(),
    row("oom-score-adj", Kind::Choice(&["no", "yes", "relative", "absolute"]), "no"),
    row("oom-score-adj-values", Kind::Words, "0 200 800"),
    row("disable-thp", Kind::Bool, "yes").fixed(),
    row("slave-ignore-maxmemory", Kind::Bool, "yes").alias("replica-ignore-maxmemory"),
];

/// Fixed directives that Redis has not, or can change while it runs.
pub const HERE_ONLY: [&str; 9] = [
    "bind",
    "memcached-port",
    "http-port",
    "attach-socket",
    "attach-socket-perm",
    "pin-threads",
    "threads",
    "log-format",
    "tls-port",
];

/// The position of a directive by its name or alias, in any case.
pub fn position(name: &str) -> Option<usize> {
    DIRECTIVES.iter().position(|d| d.is_called(name))
}
