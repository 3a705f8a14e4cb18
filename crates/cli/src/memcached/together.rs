//! What only all options together can say: which of them exclude one another, and what follows from several.

use super::options::Options;
use super::{Refused, secured};
use dolium_server::memcached::Binding;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

/// Percent that hot and warm items may take together.
const LRU_PERCENT_MAX: u32 = 80;

impl Options {
    /// Refuses what does not go together, and sets what follows from what does.
    pub(super) fn check(&mut self) -> Result<(), Refused> {
        let fixed = &mut self.setup.fixed;
        let refuse = |sentence: String| Err(Refused::usage(sentence));
        if fixed.item_size_max < 1024 {
            return refuse("Item max size cannot be less than 1024 bytes.".into());
        }
        if fixed.item_size_max as u64 > self.memory_bytes / 2 {
            return refuse("Cannot set item size limit higher than 1/2 of memory max.".into());
        }
        if fixed.item_size_max > 512 << 20 {
            return refuse("Cannot set item size limit higher than 512 megabytes.".into());
        }
        let (chunk, item) = (fixed.slab_chunk_max, fixed.item_size_max);
        if chunk > item {
            return refuse(format!(
                "slab_chunk_max (bytes: {chunk}) cannot be larger than -I (item_size_max {item})"
            ));
        }
        if !item.is_multiple_of(chunk) {
            return refuse(format!(
                "-I (item_size_max: {item}) must be evenly divisible by slab_chunk_max (bytes: \
                 {chunk})"
            ));
        }
        let live = &self.setup.live;
        if live.hot_pct.load(Relaxed) + live.warm_pct.load(Relaxed) > LRU_PERCENT_MAX {
            return refuse(format!(
                "hot_lru_pct + warm_lru_pct cannot be more than {LRU_PERCENT_MAX}% combined"
            ));
        }
        if fixed.sasl {
            if self.binding_is_set && fixed.binding != Binding::Binary {
                return refuse(
                    "ERROR: You cannot allow the ASCII protocol while using SASL.".into(),
                );
            }
            fixed.binding = Binding::Binary;
            if self.setup.udp_port != 0 {
                return refuse(
                    "ERROR: Cannot enable UDP while using binary SASL authentication.".into(),
                );
            }
        }
        if fixed.auth_file.is_some() {
            if self.binding_is_set && fixed.binding != Binding::Ascii {
                return refuse(
                    "ERROR: You cannot allow the BINARY protocol while using ascii \
                     authentication tokens."
                        .into(),
                );
            }
            fixed.binding = Binding::Ascii;
        }
        if self.udp_is_set && self.setup.udp_port != 0 && !self.tcp_is_set {
            self.setup.tcp_port = self.setup.udp_port;
        }
        if self.setup.tcp_port > 65535 || self.setup.udp_port > 65535 {
            let port = self.setup.tcp_port.max(self.setup.udp_port);
            return refuse(format!("ERROR: Invalid port number {port}."));
        }
        if fixed.unix_socket.is_some() {
            self.setup.udp_port = 0;
        }
        self.check_ports()?;
        let fixed = &mut self.setup.fixed;
        fixed.udp_port = u16::try_from(self.setup.udp_port.max(0)).unwrap_or(0);
        if self.setup.udp_port < 0 {
            // Any free one; the number is known when it is open.
            fixed.udp_port = u16::MAX;
        }
        secured::check(self)?;
        let fixed = &mut self.setup.fixed;
        fixed.idle_timeout = self.idle_timeout;
        self.setup.ports_file = std::env::var_os("MEMCACHED_PORT_FILENAME").map(PathBuf::from);
        let initial = std::env::var("T_MEMD_INITIAL_MALLOC").ok();
        fixed.initial_bytes = initial.and_then(|text| text.parse().ok()).unwrap_or(0);
        if self.threads > 48 {
            self.threads = 48;
            self.notice("-t: 48 threads are the most");
        }
        Ok(())
    }
    /// Refuses one number for two doors. The second would find it in use, by another program as it seems.
    fn check_ports(&self) -> Result<(), Refused> {
        let (redis, http) = (("-o redis_port", self.redis_port), ("-o http_port", self.http_port));
        let own = self.loopback_ports().filter_map(|port| u16::try_from(port).ok());
        let mut pairs: Vec<_> =
            own.flat_map(|port| [(("-p", port), redis), (("-p", port), http)]).collect();
        pairs.push((redis, http));
        let both = pairs.into_iter().find(|(one, other)| one.1 == other.1 && one.1 != 0);
        let Some(((first, port), (second, _))) = both else { return Ok(()) };
        Err(Refused::usage(format!(
            "{first} and {second} are both {port}: each needs a number of its own, so choose another for \
             one of them, or leave {second} out"
        )))
    }

    /// The TCP ports for Memcached clients at this machine's own addresses, where those for Redis clients and the web
    /// are.
    fn loopback_ports(&self) -> impl Iterator<Item = i32> {
        let fixed = &self.setup.fixed;
        let hosts = &self.setup.hosts;
        let any = hosts.is_empty().then_some(self.setup.tcp_port);
        let named = hosts.iter().filter(|place| is_loopback_too(&place.host));
        let named = named.map(|place| place.port.map_or(self.setup.tcp_port, i32::from));
        let has_tcp = fixed.unix_socket.is_none();
        any.into_iter().chain(named).filter(move |_| has_tcp)
    }
}

/// The rest of 127.0.0.0/8 are other places.
fn is_loopback_too(host: &str) -> bool {
    let here = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let ip = host.parse().map(|ip: IpAddr| here.contains(&ip) || ip.is_unspecified());
    ip.unwrap_or(host == "localhost")
}
