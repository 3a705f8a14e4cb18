//! `-h`, `-i` and `-V`.

use dolium_server::memcached::VERSION;

const USAGE: &str = "\
-p, --port=<num>          TCP port to listen on (default: 11211, -1: any free one, 0: off)
-U, --udp-port=<num>      UDP port to listen on (default: 0, off)
-s, --unix-socket=<file>  UNIX socket to listen on (disables network support)
-a, --unix-mask=<mask>    access mask for UNIX socket, in octal (default: 700)
-A, --enable-shutdown     enable ascii \"shutdown\" command
-l, --listen=<addr>       interface to listen on, host or host:port, several with commas
                          (default: all); notls:<addr> is without TLS
-d, --daemon              run as a daemon
-r, --enable-coredumps    maximize core file limit
-u, --user=<user>         assume identity of <username> (only when run as root)
-m, --memory-limit=<num>  item memory in megabytes (default: 64)
-M, --disable-evictions   return error on memory exhausted instead of evicting
-c, --conn-limit=<num>    max simultaneous connections (default: 1024)
-k, --lock-memory         lock down memory, each page when it is first used
-v, --verbose             verbose (print errors and warnings), -vv and -vvv more
-h, --help                print this help and exit
-i, --license             print the license and exit
-V, --version             print version and exit
-P, --pidfile=<file>      save PID in <file>; with -d it is removed at the end
-f, --slab-growth-factor=<num>  accepted; memory is not kept in slabs
-n, --slab-min-size=<bytes>     accepted; memory is not kept in slabs
-L, --enable-largepages   accepted; large pages are used without being asked
-D <char>                 delimiter between key prefixes and IDs, for per-prefix stats
-t, --threads=<num>       number of threads to use (default: 4)
-R, --max-reqs-per-event  most requests of a connection before others get their turn
-C, --disable-cas         disable use of CAS
-b, --listen-backlog=<num> set the backlog queue limit (default: 1024)
-B, --protocol=<name>     protocol - one of ascii, binary, or auto (default: auto-negotiate)
-I, --max-item-size=<num> adjusts max item size (default: 1m, min: 1k, max: 512m)
-S, --enable-sasl         turn on Sasl authentication (PLAIN, passwords: MEMCACHED_SASL_PWDB)
-F, --disable-flush-all   disable flush_all command
-X, --disable-dumping     disable stats cachedump and lru_crawler metadump
-W  --disable-watch       disable watch commands (live logging)
-Y, --auth-file=<file>    enable ASCII protocol authentication. format:
                          user:pass\\nuser2:pass2\\n
-e, --memory-file=<file>  keep the items in this file over a stop with SIGUSR1
-N, --napi-ids=<num>      accepted; the kernel spreads connections
-Z, --enable-ssl          enable TLS/SSL
-o, --extended            comma separated list of extended options
   - redis_port, http_port:  also serve Redis clients and the web, from the same keys
   - idle_timeout:        timeout for idle connections (default: 0, no timeout)
   - temporary_ttl:       items with less than this left can't be evicted (default: off)
   - ssl_chain_cert, ssl_key, ssl_keyformat, ssl_verify_mode (0 to 3), ssl_ca_cert, ssl_ciphers,
     ssl_wbuf_size, ssl_session_cache, ssl_min_version (2: TLS 1.2, 3: TLS 1.3)
   - hashpower, read_buf_mem_limit, watcher_logbuf_size, track_sizes, modern, no_modern,
     lru_crawler, lru_maintainer, slab_reassign, slab_automove, slab_chunk_max and those that go
     with them: as in Memcached where there is something to act on; see docs/memcached.md
";

pub fn usage() -> String {
    format!("{}{USAGE}", version())
}

pub fn version() -> String {
    format!("memcached {VERSION} (dolium {})\n", env!("CARGO_PKG_VERSION"))
}

pub fn license() -> String {
    "Dolium is licensed under Apache-2.0 OR MIT, at your choice.\n".into()
}
