//! Every directive, one row each.
//!
//! Names, units and defaults are Redis' wherever Redis has the directive. Rows with
//! [`Effect::None`] hold their value for tools that read or set it; each of the others has a
//! sentence, from which [`super::page`] makes `docs/configuration.md`.

use super::directive::{Directive, Effect, Kind};

const fn row(name: &'static str, kind: Kind, default: &'static str) -> Directive {
    Directive::new(name, kind, default)
}
const fn kept(name: &'static str, kind: Kind, default: &'static str) -> Directive {
    Directive::new(name, kind, default).of(Effect::None)
}
const fn refused(name: &'static str, kind: Kind, default: &'static str) -> Directive {
    Directive::new(name, kind, default).of(Effect::Refused)
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
    row("bind", Kind::Addresses, "127.0.0.1 -::1")
        .fixed()
        .help("Addresses to listen on; a dash before one: go on without it if it is not there."),
    row("port", int(0, 65535), "6379").help("TCP port for Redis clients; 0: none. It takes Memcached's and HTTP's clients as well, as each of these ports does: what a connection speaks, its first bytes tell, and the port decides where they could be several."),
    row("memcached-port", int(0, 65535), "11211")
        .fixed()
        .help("TCP port for Memcached clients; 0: none of their own, and `port` still understands them."),
    row("http-port", int(0, 65535), "8379").fixed().help("TCP port for HTTP; 0: none of its own, and the others still understand it."),
    row("http-hosts", Kind::Words, "").help("While there is no password, HTTP requests may name in `Host` addresses, `localhost`, the machine's name and these names; `*`: any."),
    row("unixsocket", Kind::Text, "").fixed().help("Path of a Unix socket for Redis clients."),
    row("unixsocketperm", Kind::Octal, "0").fixed().help("Permissions of the Unix socket; 0: as the umask says."),
    row("attach-socket", Kind::Text, "auto")
        .fixed()
        .help("Where local processes attach; auto: dolium.attach in XDG_RUNTIME_DIR, or without that /tmp/dolium-UID.attach (clients without a path look at both); empty: nowhere."),
    row("attach-socket-perm", Kind::Octal, "600")
        .fixed()
        .help("Permissions of the attach socket: who may connect to it may read everything."),
    row("tcp-backlog", int(0, I32), "511").fixed().help("Connections that may wait to be accepted, on each socket."),
    row("tcp-keepalive", int(0, I32), "300").help("Seconds between probes of silent clients."),
    row("timeout", int(0, I32), "0").help("Seconds after which an idle client is closed, unless it is attached, subscribed or waiting."),
    row("maxclients", int(1, 4_294_967_295), "10000").help("Most clients at a time; lowered if the system allows fewer descriptors."),
    row("protected-mode", Kind::Bool, "yes")
        .help("Refuse clients of other machines while there is no password."),
    row("requirepass", Kind::Text, "").help("Password of the default user."),
    // ---- TLS ----
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
    row("tls-ciphers", Kind::Text, "").help("Cipher suites of TLS 1.2 by their OpenSSL names, with colons between; empty: the usual ones."),
    row("tls-ciphersuites", Kind::Text, "").help("The same of TLS 1.3."),
    row("tls-session-caching", Kind::Bool, "yes").help("May clients of TLS take up an earlier session?"),
    row("tls-session-cache-size", int(0, I32), "20480").help("How many sessions are remembered; 0: as many as is usual."),
    // ---- threads ----
    row("threads", int(0, 48), "0")
        .alias("io-threads")
        .fixed()
        .help("Threads that serve clients; 0: one for each core."),
    row("pin-threads", Kind::Bool, "yes").fixed().help("Keep each thread on its own core."),
    row("hz", Kind::Clamped { min: 1, max: 500 }, "10").help("How often background work is looked at each second."),
    // ---- memory ----
    row("maxmemory", bytes(0, ANY), "0").help("Most memory for data, up to 32 GiB; 0: three quarters of the machine's, or of the least limit of the control groups that the server is in. Without a unit it counts bytes."),
    row("maxmemory-policy", Kind::Choice(POLICIES), "noeviction").help("What leaves when `maxmemory` is reached."),
    row("client-buffers-max", bytes(1 << 20, ANY), "64mb")
        .help("Most memory for all clients' buffers and for what is kept for clients (what MULTI has queued, names, subscriptions, watched keys), beside one larger request and one larger reply at a time; over it clients are closed: those that have not read for three seconds, then those that hold most beside their larger request or reply."),
    row("databases", int(1, 64), "16").fixed().help("Logical databases that SELECT knows."),
    row("set-max-intset-entries", int(0, ANY), "512").help("Up to how many members a set of integers is stored as a row of integers."),
    // ---- limits of clients ----
    row("proto-max-bulk-len", bytes(1 << 20, 512 << 20), "512mb").help("Longest argument of a Redis command, and longest string that one may make."),
    row("memcached-item-size-max", bytes(1024, 512 << 20), "1mb")
        .help("Longest value that Memcached clients may store."),
    row("client-query-buffer-limit", bytes(1 << 20, ANY), "1gb").help("Longest unfinished request of a client."),
    row(
        "client-output-buffer-limit",
        Kind::OutputLimits,
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
    ).help("For each class of clients: most unsent output, or so much of it for so many seconds (class, hard limit, soft limit, seconds)."),
    // ---- what is noted ----
    row("slowlog-log-slower-than", int(-1, ANY), "10000").help("Microseconds from which on a command is in SLOWLOG; 0: all, -1: none."),
    row("slowlog-max-len", int(0, ANY), "128").help("Entries that SLOWLOG keeps."),
    row("latency-monitor-threshold", int(0, ANY), "0").help("Milliseconds from which on LATENCY notes an event; 0: none."),
    row("latency-tracking", Kind::Bool, "yes").help("Keep a histogram of latencies for each command?"),
    row("latency-tracking-info-percentiles", Kind::Percentiles, "50 99 99.9").help("Which percentiles of them INFO shows."),
    row("notify-keyspace-events", Kind::Notify, "").help("Which changes are published: letters as in Redis; empty: none."),
    row("loglevel", Kind::Choice(LEVELS), "notice").help("How much is logged."),
    row("logfile", Kind::Text, "").fixed().help("Where it is logged; empty: standard error. A file that was renamed or deleted is opened anew within a second, and at SIGHUP."),
    row("log-format", Kind::Choice(&["text", "json"]), "text").fixed().help("Lines of text, or one JSON object a line."),
    // ---- process ----
    row("pidfile", Kind::Text, "").fixed().help("A file for the process id, there while the server runs; empty: none."),
    row("dir", Kind::Text, "").help("The working directory: relative paths of other directives start there."),
    row("enable-protected-configs", Kind::Choice(&["no", "yes", "local"]), "no")
        .fixed()
        .help("Whether CONFIG SET may change dir and dbfilename; local: for clients on this machine."),
    row("supervised", Kind::Choice(&["no", "auto", "systemd", "upstart"]), "no")
        .fixed()
        .help("`systemd`: tell it when the server is ready and when it stops; `auto`: if it asks for that (NOTIFY_SOCKET is set). `upstart` tells nobody."),
    // ---- refused: only the value that promises nothing is taken ----
    refused("aclfile", Kind::Text, "").fixed(),
    refused("appendonly", Kind::Bool, "no"),
    refused("cluster-enabled", Kind::Bool, "no").fixed(),
    refused("daemonize", Kind::Bool, "no").fixed(),
    refused("replicaof", Kind::Words, "").alias("slaveof").fixed(),
    refused("syslog-enabled", Kind::Bool, "no").fixed(),
    refused("tls-cluster", Kind::Bool, "no"),
    refused("tls-replication", Kind::Bool, "no"),
    // ---- accepted: tools, tests and files written for Redis set or read them ----
    kept("bind-source-addr", Kind::Text, ""),
    kept("socket-mark-id", int(0, 4_294_967_295), "0").fixed(),
    kept("tls-prefer-server-ciphers", Kind::Bool, "no"),
    kept("tls-key-file-pass", Kind::Text, ""),
    kept("tls-dh-params-file", Kind::Text, ""),
    kept("tls-session-cache-timeout", int(0, I32), "300"),
    kept("tls-client-cert-file", Kind::Text, ""),
    kept("tls-client-key-file", Kind::Text, ""),
    kept("tls-client-key-file-pass", Kind::Text, ""),
    kept("server_cpulist", Kind::Text, "").fixed(),
    kept("bio_cpulist", Kind::Text, "").fixed(),
    kept("aof_rewrite_cpulist", Kind::Text, "").fixed(),
    kept("bgsave_cpulist", Kind::Text, "").fixed(),
    kept("dynamic-hz", Kind::Bool, "yes"),
    kept("maxmemory-samples", int(1, I32), "5"),
    kept("maxmemory-eviction-tenacity", int(0, 100), "10"),
    kept("maxmemory-clients", Kind::BytesOrPercent, "0"),
    kept("lfu-log-factor", int(0, I32), "10"),
    kept("lfu-decay-time", int(0, I32), "1"),
    kept("lazyfree-lazy-eviction", Kind::Bool, "no"),
    kept("lazyfree-lazy-expire", Kind::Bool, "no"),
    kept("lazyfree-lazy-server-del", Kind::Bool, "no"),
    kept("lazyfree-lazy-user-del", Kind::Bool, "no"),
    kept("lazyfree-lazy-user-flush", Kind::Bool, "no"),
    kept("replica-lazy-flush", Kind::Bool, "no").alias("slave-lazy-flush"),
    kept("activedefrag", Kind::Bool, "no"),
    kept("active-expire-effort", int(1, 10), "1"),
    kept("always-show-logo", Kind::Bool, "no").fixed(),
    kept("crash-log-enabled", Kind::Bool, "yes"),
    kept("crash-memcheck-enabled", Kind::Bool, "yes"),
    kept("shutdown-timeout", int(0, I32), "10"),
    kept("shutdown-on-sigint", Kind::ShutdownWays, "default"),
    kept("shutdown-on-sigterm", Kind::ShutdownWays, "default"),
    kept("proc-title-template", Kind::Text, "{title} {listen-addr} {server-mode}"),
    kept("set-proc-title", Kind::Bool, "yes").fixed(),
    kept("enable-debug-command", Kind::Choice(&["no", "yes", "local"]), "no").fixed(),
    kept("enable-module-command", Kind::Choice(&["no", "yes", "local"]), "no").fixed(),
    kept("save", Kind::Save, ""),
    kept("appendfsync", Kind::Choice(&["everysec", "always", "no"]), "everysec"),
    kept("appendfilename", Kind::Text, "appendonly.aof").fixed(),
    kept("appenddirname", Kind::Text, "appendonlydir").fixed(),
    kept("dbfilename", Kind::Text, "dump.rdb"),
    kept("rdbcompression", Kind::Bool, "yes"),
    kept("rdbchecksum", Kind::Bool, "yes").fixed(),
    kept("stop-writes-on-bgsave-error", Kind::Bool, "yes"),
    kept("no-appendfsync-on-rewrite", Kind::Bool, "no"),
    kept("auto-aof-rewrite-percentage", int(0, I32), "100"),
    kept("auto-aof-rewrite-min-size", bytes(0, ANY), "64mb"),
    kept("aof-use-rdb-preamble", Kind::Bool, "yes"),
    kept("aof-load-truncated", Kind::Bool, "yes"),
    kept("rdb-save-incremental-fsync", Kind::Bool, "yes"),
    kept("rdb-key-save-delay", int(i32::MIN as i64, I32), "0"),
    kept("key-load-delay", int(i32::MIN as i64, I32), "0"),
    kept("list-max-listpack-size", int(i32::MIN as i64, I32), "-2").alias("list-max-ziplist-size"),
    kept("list-compress-depth", int(0, I32), "0"),
    kept("hash-max-listpack-entries", int(0, ANY), "512").alias("hash-max-ziplist-entries"),
    kept("hash-max-listpack-value", bytes(0, ANY), "64").alias("hash-max-ziplist-value"),
    kept("set-max-listpack-entries", int(0, ANY), "128"),
    kept("set-max-listpack-value", bytes(0, ANY), "64"),
    kept("zset-max-listpack-entries", int(0, ANY), "128").alias("zset-max-ziplist-entries"),
    kept("zset-max-listpack-value", bytes(0, ANY), "64").alias("zset-max-ziplist-value"),
    kept("hll-sparse-max-bytes", bytes(0, ANY), "3000"),
    kept("stream-node-max-bytes", bytes(0, ANY), "4096"),
    kept("stream-node-max-entries", int(0, ANY), "100"),
    kept("activerehashing", Kind::Bool, "yes"),
    kept("jemalloc-bg-thread", Kind::Bool, "yes"),
    kept("close-on-replica-write", Kind::Bool, "yes"),
    kept("lua-time-limit", int(0, ANY), "5000").alias("busy-reply-threshold"),
    kept("tracking-table-max-keys", int(0, ANY), "1000000"),
    kept("acllog-max-len", int(0, ANY), "128"),
    kept("acl-pubsub-default", Kind::Choice(&["allchannels", "resetchannels"]), "resetchannels"),
    kept("repl-diskless-sync", Kind::Bool, "yes"),
    kept("repl-diskless-sync-delay", int(0, I32), "5"),
    kept("repl-backlog-size", bytes(1, ANY), "1mb"),
    kept("repl-timeout", int(1, I32), "60"),
    kept("repl-ping-replica-period", int(1, I32), "10").alias("repl-ping-slave-period"),
    kept("min-replicas-to-write", int(0, I32), "0").alias("min-slaves-to-write"),
    kept("min-replicas-max-lag", int(0, I32), "10").alias("min-slaves-max-lag"),
    kept("replica-read-only", Kind::Bool, "yes").alias("slave-read-only"),
    kept("replica-serve-stale-data", Kind::Bool, "yes").alias("slave-serve-stale-data"),
    kept("replica-priority", int(0, I32), "100").alias("slave-priority"),
    kept("replica-announce-ip", Kind::Text, "").alias("slave-announce-ip"),
    kept("replica-announce-port", int(0, 65535), "0").alias("slave-announce-port"),
    kept("masterauth", Kind::Text, ""),
    kept("masteruser", Kind::Text, ""),
    kept("io-threads-do-reads", Kind::Bool, "no").fixed(),
    kept("oom-score-adj", Kind::Choice(&["no", "yes", "relative", "absolute"]), "no"),
    kept("oom-score-adj-values", Kind::OomScores, "0 200 800"),
    kept("disable-thp", Kind::Bool, "yes").fixed(),
    kept("slave-ignore-maxmemory", Kind::Bool, "yes").alias("replica-ignore-maxmemory"),
    kept("active-defrag-cycle-max", int(1, 99), "25"),
    kept("active-defrag-cycle-min", int(1, 99), "1"),
    kept("active-defrag-ignore-bytes", bytes(1, ANY), "100mb"),
    kept("active-defrag-max-scan-fields", int(1, ANY), "1000"),
    kept("active-defrag-threshold-lower", int(0, 1000), "10"),
    kept("active-defrag-threshold-upper", int(0, 1000), "100"),
    kept("aof-disable-auto-gc", Kind::Bool, "no"),
    kept("aof-rewrite-incremental-fsync", Kind::Bool, "yes"),
    kept("aof-timestamp-enabled", Kind::Bool, "no"),
    kept("ignore-warnings", Kind::Text, ""),
    kept("propagation-error-behavior", Kind::Choice(&["ignore", "panic", "panic-on-replicas"]), "ignore"),
    kept("rdb-del-sync-files", Kind::Bool, "no"),
    kept("repl-backlog-ttl", int(0, ANY), "3600"),
    kept("repl-disable-tcp-nodelay", Kind::Bool, "no"),
    kept("repl-diskless-load", Kind::Choice(&["disabled", "on-empty-db", "swapdb"]), "disabled"),
    kept("repl-diskless-sync-max-replicas", int(0, I32), "0"),
    kept("replica-announced", Kind::Bool, "yes"),
    kept("replica-ignore-disk-write-errors", Kind::Bool, "no"),
    kept("sanitize-dump-payload", Kind::Choice(&["no", "yes", "clients"]), "no"),
    kept("syslog-facility", Kind::Text, "local0").fixed(),
    kept("syslog-ident", Kind::Text, "redis").fixed(),
    kept("cluster-allow-pubsubshard-when-down", Kind::Bool, "yes"),
    kept("cluster-allow-reads-when-down", Kind::Bool, "no"),
    kept("cluster-allow-replica-migration", Kind::Bool, "yes"),
    kept("cluster-announce-bus-port", int(0, 65535), "0"),
    kept("cluster-announce-hostname", Kind::Text, ""),
    kept("cluster-announce-ip", Kind::Text, ""),
    kept("cluster-announce-port", int(0, 65535), "0"),
    kept("cluster-announce-tls-port", int(0, 65535), "0"),
    kept("cluster-config-file", Kind::Text, "nodes.conf").fixed(),
    kept("cluster-link-sendbuf-limit", bytes(0, ANY), "0"),
    kept("cluster-migration-barrier", int(0, I32), "1"),
    kept("cluster-node-timeout", int(0, ANY), "15000"),
    kept("cluster-port", int(0, 65535), "0").fixed(),
    kept("cluster-preferred-endpoint-type", Kind::Choice(&["ip", "hostname", "unknown-endpoint"]), "ip"),
    kept("cluster-replica-no-failover", Kind::Bool, "no").alias("cluster-slave-no-failover"),
    kept("cluster-replica-validity-factor", int(0, I32), "10").alias("cluster-slave-validity-factor"),
    kept("cluster-require-full-coverage", Kind::Bool, "yes"),
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

/// What CONFIG SET changes only if `enable-protected-configs` lets it: paths, by which somebody who can
/// connect could reach files that are not the server's.
pub const PROTECTED: [&str; 2] = ["dbfilename", "dir"];

/// The position of a directive by its name or alias, in any case.
pub fn position(name: &str) -> Option<usize> {
    super::names::find(name.as_bytes()).map(|named| named.place)
}
