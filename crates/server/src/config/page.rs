//! The page of directives, `docs/configuration.md`, made from the table.

use super::absent::ABSENT;
use super::directive::{Directive, Effect, Kind};
use super::table::DIRECTIVES;
use std::fmt::Write;

/// The first directive of each table, and the table's title.
const SECTIONS: [(&str, &str); 7] = [
    ("bind", "Doors"),
    ("tls-port", "TLS"),
    ("threads", "Threads"),
    ("maxmemory", "Memory"),
    ("proto-max-bulk-len", "Limits of clients"),
    ("slowlog-log-slower-than", "What is noted"),
    ("pidfile", "The process"),
];

/// What directives without an effect are about, and how their names begin; the rest is last.
const TOPICS: [(&str, &[&str]); 9] = [
    (
        "Files of data",
        &[
            "append",
            "aof-",
            "auto-aof",
            "db",
            "key-load",
            "no-append",
            "rdb",
            "save",
            "stop-writes",
        ],
    ),
    (
        "Replication",
        &[
            "close-on-replica",
            "master",
            "min-replicas",
            "repl-",
            "replica-announce",
            "replica-ignore",
            "replica-priority",
            "replica-read",
            "replica-serve",
        ],
    ),
    ("Cluster", &["cluster-"]),
    (
        "Memory, eviction and expiry",
        &[
            "active-defrag",
            "activedefrag",
            "active-expire",
            "disable-thp",
            "jemalloc",
            "lazyfree",
            "lfu-",
            "maxmemory-",
            "replica-lazy",
            "slave-ignore",
        ],
    ),
    (
        "How values are stored",
        &["activerehashing", "hash-", "hll-", "list-", "sanitize", "set-max", "stream-", "zset-"],
    ),
    ("TLS", &["tls-"]),
    ("Users, scripts and modules", &["acl", "enable-", "lua-", "tracking-"]),
    ("The log", &["always-show", "crash-", "ignore-warnings", "syslog-"]),
    ("The process", &[""]),
];

/// The page as it should be.
pub fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         Made from the rows in `crates/server/src/config/table.rs`; \
         `DOLIUM_WRITE_PAGES=1 cargo test -p dolium-server --lib` writes it anew.\n\n\
         A directive stands in a file (`dolium serve dolium.conf`, a line each: `maxmemory 1gb`), on the \
         command line (`dolium --maxmemory 1gb`, which counts after the file), or is changed while the \
         server runs (`CONFIG SET maxmemory 1gb`) if the last column says so; `CONFIG REWRITE` writes what \
         was changed back into the file. Files may `include` others, by name or by pattern \
         (`include conf.d/*.conf`). `dolium memcached` takes Memcached's options: \
         [memcached.md](memcached.md).\n\n\
         Bytes may have a unit: `k`, `m`, `g` count by thousands, `kb`, `mb`, `gb` by 1024.\n\n\
         A directive that promises what the server cannot do is refused, once file and command line have been \
         read. So Debian's file for Redis, which says `daemonize yes`, starts like this: `dolium serve \
         /etc/redis/redis.conf --supervised systemd --daemonize no`. \
         SIGTERM and SIGINT end the server; SIGHUP opens the log file anew and ends nothing, so that a \
         closed terminal does not take the data away.\n\n\
         ## Directives\n",
    );
    for directive in DIRECTIVES.iter().filter(|d| d.effect == Effect::Acts) {
        if let Some((_, title)) = SECTIONS.iter().find(|(first, _)| *first == directive.name) {
            // Writing to a string cannot fail.
            let _ = write!(
                page,
                "\n### {title}\n\n\
                 | Directive | Default | Values | What it does | CONFIG SET |\n\
                 |---|---|---|---|---|\n"
            );
        }
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            names(directive),
            code(directive.default),
            values(directive.kind),
            directive.help,
            if directive.mutable { "yes" } else { "no" },
        );
    }
    page.push_str(
        "\n## Refused\n\n\
         These promise what Dolium does not have yet, and are taken only with the value that promises \
         nothing: ",
    );
    list(&mut page, DIRECTIVES.iter().filter(|d| d.effect == Effect::Refused));
    page.push_str(
        "\n\nThese are directives of Redis 7.0 that Dolium does not take at all; leave them out of a \
         file:\n\n",
    );
    for (name, instead) in ABSENT {
        let _ = writeln!(page, "- {}: {instead}.", code(name));
    }
    page.push_str(
        "\n## Accepted without an effect\n\n\
         Tools, tests and files written for Redis set or read these; Dolium keeps the value and does nothing \
         else. (`save` is one of them: nothing is saved, and the log says so.)\n\n",
    );
    for (number, (topic, _)) in TOPICS.iter().enumerate() {
        let _ = write!(page, "- {topic}: ");
        list(&mut page, DIRECTIVES.iter().filter(|d| topic_of(d) == Some(number)));
        page.push('\n');
    }
    page
}

/// The topic of a directive that has no effect: the first that its name begins like a name of.
fn topic_of(directive: &Directive) -> Option<usize> {
    let begins = |(_, beginnings): &(&str, &[&str])| {
        beginnings.iter().any(|beginning| directive.name.starts_with(beginning))
    };
    (directive.effect == Effect::None).then(|| TOPICS.iter().position(begins))?
}

fn list<'a>(page: &mut String, chosen: impl Iterator<Item = &'a Directive>) {
    page.push_str(&chosen.map(names).collect::<Vec<_>>().join(", "));
    page.push('.');
}

fn names(directive: &Directive) -> String {
    match directive.alias {
        "" => code(directive.name),
        alias => format!("{}, {}", code(directive.name), code(alias)),
    }
}

/// As code; a value that is empty is said to be.
fn code(text: &str) -> String {
    if text.is_empty() { "empty".into() } else { format!("`{text}`") }
}

fn values(kind: Kind) -> String {
    let number = |n: i64| match n {
        i64::MAX => "any".into(),
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n => n.to_string(),
    };
    match kind {
        Kind::Bool => "`yes` or `no`".into(),
        Kind::Int { min, max: i64::MAX } => format!("a number from {}", number(min)),
        Kind::Int { min, max } => format!("a number, {} to {}", number(min), number(max)),
        Kind::Clamped { min, max } => {
            format!("a number from 0, brought into {} to {}", number(min), number(max))
        }
        Kind::Bytes { min: 0, max: i64::MAX } => "bytes".into(),
        Kind::Bytes { min, max: i64::MAX } => format!("bytes, from {}", number(min)),
        Kind::Bytes { min, max } => format!("bytes, {} to {}", number(min), number(max)),
        Kind::BytesOrPercent => "bytes, or a percentage".into(),
        Kind::Text => "text".into(),
        Kind::Choice(words) => words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", "),
        Kind::Octal => "permissions, octal".into(),
        Kind::Words => "words".into(),
        Kind::Addresses => "IP addresses".into(),
        Kind::Percentiles => "numbers, 0 to 100".into(),
        Kind::ShutdownWays => "words".into(),
        Kind::OomScores => "three numbers".into(),
        Kind::Save => "pairs of seconds and changes".into(),
        Kind::OutputLimits => "groups of four".into(),
        Kind::Notify => "letters".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_the_one_the_rows_make() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        if std::env::var_os("DOLIUM_WRITE_PAGES").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == page(), "docs/configuration.md is not up to date: see its head");
    }

    #[test]
    fn whatever_acts_says_what_it_does() {
        for directive in DIRECTIVES {
            let is_told = !directive.help.is_empty();
            assert_eq!(is_told, directive.effect == Effect::Acts, "{}", directive.name);
        }
    }

    #[test]
    fn every_title_and_every_topic_stands_over_something() {
        let page = page();
        for (_, title) in SECTIONS {
            assert_eq!(page.matches(&format!("\n### {title}\n\n|")).count(), 1, "{title}");
        }
        let kept = |number| DIRECTIVES.iter().any(|d| topic_of(d) == Some(number));
        assert!((0..TOPICS.len()).all(kept));
    }
}
