//! `stats conns`: what listens and who is connected, as Memcached shows it.

use crate::clients::Card;
use crate::clock;
use crate::server::Server;
use dolium_commands::memcache::Server as _;
use dolium_commands::memcache::events::stream;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// A socket that clients come in by.
#[derive(Clone, Debug)]
pub struct Listening {
    pub fd: i32,
    /// `tcp:0.0.0.0:11211`, `udp:...`, `unix:/path`.
    pub name: String,
    pub is_udp: bool,
}

impl Server {
    /// A connection has come, or goes for a reason: `watch connevents` shows it.
    #[inline]
    pub fn note_connection(&self, card: &Card, reason: Option<&str>) {
        if self.memcached.watchers.mask() & stream::CONNECTIONS != 0 {
            self.tell_connection(card, reason);
        }
    }

    #[cold]
    fn tell_connection(&self, card: &Card, reason: Option<&str>) {
        let (ip, port, transport) = match card.addr.rsplit_once(':') {
            Some((path, _)) if path.starts_with('/') => ("unix", "0", "local"),
            Some((ip, port)) => (ip.trim_matches(['[', ']']), port, "tcp"),
            None => ("?", "0", "tcp"),
        };
        let peer = format!("rip={ip} rport={port} transport={transport}");
        let fd = card.fd;
        let line = match reason {
            None => format!("type=conn_new {peer} cfd={fd}"),
            Some(reason) => format!("type=conn_close {peer} reason={reason} cfd={fd}"),
        };
        self.tell(stream::CONNECTIONS, &line);
    }

    pub fn memcached_connections(&self, me: u64) -> Vec<(i32, &'static str, String)> {
        let mut lines = Vec::new();
        let uptime = self.started.ms() / 1000;
        let listening = self.memcached.listening.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in listening.iter() {
            let state = if listener.is_udp { "conn_read" } else { "conn_listening" };
            lines.push((listener.fd, "addr", listener.name.clone()));
            lines.push((listener.fd, "state", state.into()));
            lines.push((listener.fd, "secs_since_last_cmd", uptime.to_string()));
        }
        drop(listening);
        let now = clock::unix_ms();
        for card in self.clients.all() {
            let (kind, peer, own) = match card.addr.strip_suffix(":0") {
                Some(path) if path.starts_with('/') => ("unix", "", path),
                _ if card.addr.starts_with('[') => {
                    ("tcp6", card.addr.as_str(), card.laddr.as_str())
                }
                _ => ("tcp", card.addr.as_str(), card.laddr.as_str()),
            };
            let is_receiving = card.query_bytes.load(Relaxed) > 0;
            let state = if card.id == me {
                "conn_parse_cmd"
            } else if card.output_bytes.load(Relaxed) > 0 {
                "conn_mwrite"
            } else if is_receiving {
                "conn_nread"
            } else {
                "conn_read"
            };
            let idle = now.saturating_sub(card.last_ms.load(Relaxed)) / 1000;
            lines.push((card.fd, "addr", format!("{kind}:{peer}")));
            lines.push((card.fd, "listen_addr", format!("{kind}:{own}")));
            lines.push((card.fd, "state", state.into()));
            lines.push((card.fd, "secs_since_last_cmd", idle.to_string()));
        }
        lines
    }
}
