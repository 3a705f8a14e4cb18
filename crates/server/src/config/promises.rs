//! Values that promise what is not there: they are refused rather than ignored.

use super::directive::Directive;

/// Says why a directive cannot have this value.
pub fn refuse(name: &str, value: &str) -> Result<(), String> {
    let refuse = |what: &str| Err(what.to_string());
    match (name, value) {
        ("appendonly", "yes") => {
            refuse("Dolium has no append-only file yet: data lives as long as the server")
        }
        ("daemonize", "yes") => refuse(
            "Dolium does not go into the background: run it under a supervisor, or with '&' and nohup",
        ),
        ("cluster-enabled" | "tls-cluster", "yes") => refuse("Dolium has no cluster mode yet"),
        ("tls-replication", "yes") => refuse("Dolium has no replication yet"),
        ("replicaof", v) if !v.is_empty() => refuse("Dolium has no replication yet"),
        ("aclfile", v) if !v.is_empty() => refuse("Dolium has no ACL users yet; use requirepass"),
        ("syslog-enabled", "yes") => {
            refuse("the log goes to standard error: let the supervisor forward it")
        }
        _ => Ok(()),
    }
}

/// What to write in place of a refused value.
pub fn instead(directive: &Directive) -> String {
    match directive.default {
        "" => "Leave it out, or set it to \"\"".into(),
        value => format!("Set it to '{value}'"),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::config::file::{Line, from_arguments, split};

    /// The lines that are no comments in /etc/redis/redis.conf of Debian 12.
    const STOCK: &str = r#"bind 127.0.0.1 -::1
protected-mode yes
port 6379
tcp-backlog 511
timeout 0
tcp-keepalive 300
daemonize yes
pidfile /run/redis/redis-server.pid
loglevel notice
logfile /var/log/redis/redis-server.log
databases 16
always-show-logo no
set-proc-title yes
proc-title-template "{title} {listen-addr} {server-mode}"
stop-writes-on-bgsave-error yes
rdbcompression yes
rdbchecksum yes
dbfilename dump.rdb
rdb-del-sync-files no
dir /var/lib/redis
replica-serve-stale-data yes
replica-read-only yes
repl-diskless-sync yes
repl-diskless-sync-delay 5
repl-diskless-sync-max-replicas 0
repl-diskless-load disabled
repl-disable-tcp-nodelay no
replica-priority 100
acllog-max-len 128
lazyfree-lazy-eviction no
lazyfree-lazy-expire no
lazyfree-lazy-server-del no
replica-lazy-flush no
lazyfree-lazy-user-del no
lazyfree-lazy-user-flush no
oom-score-adj no
oom-score-adj-values 0 200 800
disable-thp yes
appendonly no
appendfilename "appendonly.aof"
appenddirname "appendonlydir"
appendfsync everysec
no-appendfsync-on-rewrite no
auto-aof-rewrite-percentage 100
auto-aof-rewrite-min-size 64mb
aof-load-truncated yes
aof-use-rdb-preamble yes
aof-timestamp-enabled no
slowlog-log-slower-than 10000
slowlog-max-len 128
latency-monitor-threshold 0
notify-keyspace-events ""
hash-max-listpack-entries 512
hash-max-listpack-value 64
list-max-listpack-size -2
list-compress-depth 0
set-max-intset-entries 512
zset-max-listpack-entries 128
zset-max-listpack-value 64
hll-sparse-max-bytes 3000
stream-node-max-bytes 4096
stream-node-max-entries 100
activerehashing yes
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit replica 256mb 64mb 60
client-output-buffer-limit pubsub 32mb 8mb 60
hz 10
dynamic-hz yes
aof-rewrite-incremental-fsync yes
rdb-save-incremental-fsync yes
jemalloc-bg-thread yes
"#;

    fn stock_and(arguments: &str) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for (number, line) in STOCK.lines().enumerate() {
            let words = split(line.as_bytes()).unwrap().into_iter();
            let mut words: Vec<String> =
                words.map(|word| String::from_utf8(word).unwrap()).collect();
            let name = words.remove(0);
            lines.push(Line { name, words, place: format!("redis.conf:{}", number + 1) });
        }
        let words: Vec<String> = arguments.split_whitespace().map(String::from).collect();
        lines.extend(from_arguments(&words).unwrap());
        lines
    }

    /// Debian's unit starts redis-server with its own file, which says `daemonize yes`, and takes
    /// that back on the command line. The line of the file alone was refused, before it could.
    #[test]
    fn debians_file_and_the_arguments_of_its_unit_are_accepted() {
        let config = Config::new();
        config.load(&stock_and("--supervised systemd --daemonize no")).unwrap();
        assert_eq!(config.get("daemonize"), "no");
        assert_eq!(config.get("supervised"), "systemd");
        assert_eq!(config.get("logfile"), "/var/log/redis/redis-server.log");
    }

    #[test]
    fn a_refusal_says_where_the_value_stands_and_what_to_write() {
        let failure = Config::new().load(&stock_and("")).unwrap_err().to_string();
        let start = "redis.conf:7: 'daemonize': Dolium does not go into the background: ";
        assert!(failure.starts_with(start), "{failure}");
        assert!(failure.ends_with(". Set it to 'no'"), "{failure}");
        let failure = Config::new().load(&stock_and("--daemonize yes")).unwrap_err().to_string();
        assert!(failure.starts_with("the command line: 'daemonize': "), "{failure}");
        let failure = Config::new().load(&stock_and("--daemonize no --syslog-enabled yes"));
        let failure = failure.unwrap_err().to_string();
        assert!(failure.contains("the log goes to standard error"), "{failure}");
    }

    #[test]
    fn what_is_not_there_is_not_promised() {
        let config = Config::new();
        assert!(config.set(&[("appendonly", "yes")]).is_err());
        assert!(config.set(&[("appendonly", "no")]).is_ok());
        for name in ["tls-cluster", "tls-replication"] {
            assert!(config.set(&[(name, "yes")]).is_err(), "{name}");
            assert!(config.set(&[(name, "no")]).is_ok(), "{name}");
        }
    }
}
