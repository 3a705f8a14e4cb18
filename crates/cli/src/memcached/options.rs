//! What each of Memcached's options means here.

use super::{Refused, extended, help};
use dolium_server::memcached::Binding;
use dolium_server::memcached::{Place, Setup};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

pub struct Options {
    pub setup: Setup,
    pub memory_bytes: u64,
    pub evicts: bool,
    pub connections: u32,
    pub threads: u32,
    pub idle_timeout: u32,
    pub daemon: bool,
    pub user: Option<String>,
    pub pid_file: Option<PathBuf>,
    pub core_files: bool,
    pub lock_memory: bool,
    pub slab_chunk_is_set: bool,
    /// Listeners for Redis and web clients of the same keys (`-o redis_port=N,http_port=N`).
    pub redis_port: u16,
    pub http_port: u16,
    /// Sentences about options that have no effect here.
    pub notices: Vec<String>,
    pub(super) tcp_is_set: bool,
    pub(super) udp_is_set: bool,
    pub(super) binding_is_set: bool,
    pub(super) plain_is_named: bool,
    /// `-o ssl_*`, as they become the listeners' settings.
    pub(super) tls: dolium_server::tls::Settings,
}

impl Default for Options {
    fn default() -> Self {
        let mut setup = Setup { tcp_port: 11211, ..Setup::default() };
        setup.fixed.is_memcached = true;
        setup.fixed.requests_per_event = 20;
        Options {
            setup,
            memory_bytes: 64 << 20,
            evicts: true,
            connections: 1024,
            threads: 4,
            idle_timeout: 0,
            daemon: false,
            user: None,
            pid_file: None,
            core_files: false,
            lock_memory: false,
            slab_chunk_is_set: false,
            redis_port: 0,
            http_port: 0,
            notices: Vec::new(),
            tcp_is_set: false,
            udp_is_set: false,
            binding_is_set: false,
            plain_is_named: false,
            tls: Default::default(),
        }
    }
}

/// As C's atoi: what is no number is 0.
pub(super) fn number(text: &str) -> i64 {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    text[..sign + digits].parse().unwrap_or(0)
}

impl Options {
    /// One option. A text that is to be shown instead of serving.
    pub(super) fn take(&mut self, letter: char, value: &str) -> Result<Option<String>, Refused> {
        let fixed = &mut self.setup.fixed;
        match letter {
            'h' => return Ok(Some(help::usage())),
            'i' => return Ok(Some(help::license())),
            'V' => return Ok(Some(help::version())),
            'A' => fixed.shutdown_enabled = true,
            'a' => {
                fixed.unix_mask = u32::from_str_radix(value, 8)
                    .map_err(|_| Refused::usage("-a takes an octal number, such as 700"))?;
            }
            'p' => {
                self.setup.tcp_port = number(value) as i32;
                self.tcp_is_set = true;
            }
            'U' => {
                self.setup.udp_port = number(value) as i32;
                self.udp_is_set = true;
            }
            's' => {
                fixed.unix_socket = Some(value.into());
                self.setup.unix_socket = Some(value.into());
            }
            'm' => self.memory_bytes = (number(value).max(0) as u64) << 20,
            'M' => self.evicts = false,
            'c' => {
                self.connections = u32::try_from(number(value)).unwrap_or(0);
                if self.connections == 0 {
                    return Err(Refused::plain("Maximum connections must be greater than 0"));
                }
            }
            'l' => self.listen(value)?,
            'd' => self.daemon = true,
            'r' => self.core_files = true,
            'k' => self.lock_memory = true,
            'v' => drop(self.setup.live.verbosity.fetch_add(1, Relaxed)),
            'u' => self.user = Some(value.into()),
            'P' => self.pid_file = Some(value.into()),
            'e' => fixed.memory_file = Some(value.into()),
            'f' => {
                fixed.growth_factor = value.parse().unwrap_or(0.0);
                if fixed.growth_factor <= 1.0 {
                    return Err(Refused::plain("Factor must be greater than 1"));
                }
                self.notice(
                    "-f: memory is not kept in slabs; the factor shapes 'stats slabs' only",
                );
            }
            'n' => {
                fixed.chunk_size = usize::try_from(number(value)).unwrap_or(0);
                if fixed.chunk_size == 0 {
                    return Err(Refused::plain("Chunk size must be greater than 0"));
                }
                self.notice("-n: memory is not kept in slabs; the size shapes 'stats slabs' only");
            }
            't' => {
                self.threads = u32::try_from(number(value)).unwrap_or(0);
                if self.threads == 0 {
                    return Err(Refused::plain("Number of threads must be greater than 0"));
                }
            }
            'D' => {
                let Some(delimiter) = value.bytes().next() else {
                    return Err(Refused::plain("No delimiter specified"));
                };
                fixed.prefix_delimiter = delimiter;
                self.setup.details = true;
            }
            'L' => self
                .notice("-L: large pages are used where the system has them, without being asked"),
            'R' => {
                fixed.requests_per_event = u32::try_from(number(value)).unwrap_or(0);
                if fixed.requests_per_event == 0 {
                    let sentence = "Number of requests per event must be greater than 0";
                    return Err(Refused::plain(sentence));
                }
                fixed.yields = true;
            }
            'C' => fixed.unique_enabled = false,
            'b' => fixed.backlog = u32::try_from(number(value)).unwrap_or(0),
            'B' => {
                self.binding_is_set = true;
                fixed.binding = match value {
                    "auto" => Binding::Auto,
                    "ascii" => Binding::Ascii,
                    "binary" => Binding::Binary,
                    other => {
                        return Err(Refused::usage(format!(
                            "Invalid value for binding protocol: {other}\n \
                             -- should be one of auto, binary, or ascii"
                        )));
                    }
                };
            }
            'I' => fixed.item_size_max = size(value),
            'S' => fixed.sasl = true,
            'F' => fixed.flush_enabled = false,
            'X' => fixed.dump_enabled = false,
            'W' => fixed.watch_enabled = false,
            'Y' => fixed.auth_file = Some(value.into()),
            'N' => self.notice("-N: connections are spread by the kernel, not by NAPI ids"),
            'Z' => fixed.tls.enabled = true,
            'o' => extended::take(self, value)?,
            _ => return Err(Refused::plain(format!("Illegal argument \"{letter}\""))),
        }
        Ok(None)
    }

    pub(super) fn notice(&mut self, sentence: &str) {
        self.notices.push(sentence.into());
    }

    /// `-l host`, `-l host:port`, `-l [v6]:port`, several with commas.
    fn listen(&mut self, value: &str) -> Result<(), Refused> {
        for place in value.split([',', ';', ' ']).filter(|place| !place.is_empty()) {
            let (is_plain, place) = match place.strip_prefix("notls:") {
                Some(place) => (true, place),
                None => (false, place),
            };
            self.plain_is_named |= is_plain;
            let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((host, rest)) => (host, rest.strip_prefix(':')),
                None => match place.rsplit_once(':') {
                    Some((host, port)) if !host.contains(':') => (host, Some(port)),
                    _ => (place, None),
                },
            };
            let port = match port.map(str::parse::<u16>) {
                None => None,
                Some(Ok(port)) => Some(port),
                Some(Err(_)) => {
                    return Err(Refused::usage(format!("Invalid port number in -l: \"{place}\"")));
                }
            };
            let host = if host == "*" { "0.0.0.0" } else { host };
            self.setup.hosts.push(Place { host: host.into(), port, is_plain });
        }
        let inter = &mut self.setup.fixed.inter;
        *inter = Some(match inter.take() {
            Some(before) => format!("{before},{value}"),
            None => value.into(),
        });
        Ok(())
    }

    /// The same in the server's own directives.
    pub fn directives(&self) -> Vec<String> {
        let fixed = &self.setup.fixed;
        let policy = if self.evicts { "allkeys-lru" } else { "noeviction" };
        let level = match self.setup.live.verbosity.load(Relaxed) {
            0 => "warning",
            1 => "notice",
            2 => "verbose",
            _ => "debug",
        };
        let backlog = fixed.backlog.min(i32::MAX as u32);
        [
            ("--port", self.redis_port.to_string()),
            ("--memcached-port", "0".into()),
            ("--http-port", self.http_port.to_string()),
            ("--protected-mode", "no".into()),
            ("--threads", self.threads.to_string()),
            // As Memcached's: where other programs share the cores, a thread that may not leave a
            // busy one serves less.
            ("--pin-threads", "no".into()),
            ("--maxclients", self.connections.to_string()),
            ("--maxmemory", self.memory_bytes.to_string()),
            ("--maxmemory-policy", policy.into()),
            ("--memcached-item-size-max", fixed.item_size_max.to_string()),
            ("--tcp-backlog", backlog.to_string()),
            ("--timeout", self.idle_timeout.to_string()),
            ("--loglevel", level.into()),
            ("--tcp-keepalive", "300".into()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_string(), value])
        .collect()
    }
}

/// `-I 1m`: k and m are powers of 1024.
fn size(text: &str) -> usize {
    let unit = match text.bytes().last() {
        Some(b'k' | b'K') => 1 << 10,
        Some(b'm' | b'M') => 1 << 20,
        _ => 1,
    };
    usize::try_from(number(text)).unwrap_or(0).saturating_mul(unit)
}
