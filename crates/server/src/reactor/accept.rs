//! New connections: admitted, counted, registered.

use super::busy::Habit;
use super::{LISTENER, Reactor};
use crate::clients::Card;
use crate::connection::{Appetite, Closing, Connection, Hold};
use crate::limits::*;
use crate::listener::{self, Address, Door, Listener};
use crate::mailbox::Mail;
use crate::transport::Transport;
use dolium_commands::connection::ClientState;
use dolium_commands::memcache::{self, settings::Binding};
use dolium_protocol::detect::Protocol;
use dolium_protocol::resp::ParseState;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const DENIED: &str = "Dolium is running in protected mode because there is no password: clients of \
other machines are refused. Set a password with --requirepass, or --protected-mode no if nobody else \
can reach this port.";

impl Reactor {
    /// Watches the listeners. Level-triggered: what one round leaves is announced again.
    pub(super) fn listen(&mut self) -> std::io::Result<()> {
        for (at, listener) in self.listeners.iter().enumerate() {
            let data = EventData::new_u64((at as u64) << 32 | u64::from(LISTENER));
            epoll::add(&self.epoll, &listener.socket, data, EventFlags::IN)?;
        }
        Ok(())
    }

    pub(super) fn accept_from(&mut self, at: usize) {
        for _ in 0..ACCEPTS_PER_EVENT {
            let Some(listener) = self.listeners.get(at) else { return };
            let keepalive = self.server.config.live.tcp_keepalive_s.load(Relaxed);
            let accepted = match listener::accept(listener, keepalive) {
                Ok(accepted) => accepted,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return self.rest_listeners(error),
            };
            let door = listener.door;
            let is_shared = matches!(listener.address, Address::Unix(_));
            let is_tls = listener.is_tls;
            let mut transport = Transport::Socket(accepted.socket);
            let live = &self.server.config.live;
            if accepted.is_remote
                && live.protected_mode.load(Relaxed)
                && !live.has_password.load(Relaxed)
            {
                // One attempt: whether the refused peer reads it is its own affair. Who expects TLS
                // could not.
                if !is_tls {
                    let _ = transport.send(denial(door).as_bytes());
                }
                self.count_rejected();
                continue;
            }
            if !self.server.clients.admit(live.maxclients.load(Relaxed)) {
                if !is_tls {
                    let _ = transport.send(refusal(door));
                }
                self.count_rejected();
                continue;
            }
            if is_tls {
                let Some(secured) = self.secure(transport) else { continue };
                transport = secured;
            }
            let (addr, laddr) = (accepted.addr, accepted.laddr);
            let threads = self.server.posts.len();
            if is_shared && threads > 1 {
                self.next_thread = (self.next_thread + 1) % threads;
                if self.next_thread != self.thread {
                    let mail = Mail::Adopt { transport, door, addr, laddr };
                    self.server.posts[self.next_thread].post(mail);
                    continue;
                }
            }
            self.adopt(transport, door, addr, laddr);
        }
    }

    /// Puts TLS over an admitted connection.
    fn secure(&self, transport: Transport) -> Option<Transport> {
        let (Transport::Socket(socket), Some(tls)) = (transport, &self.server.tls) else {
            self.server.clients.dismiss();
            return None;
        };
        match tls.accept(socket) {
            Ok(stream) => Some(Transport::Tls(Box::new(stream))),
            Err(error) => {
                tracing::warn!(%error, "a TLS connection cannot be begun");
                self.server.clients.dismiss();
                None
            }
        }
    }

    /// Makes an admitted connection this thread's own.
    pub(super) fn adopt(&mut self, transport: Transport, door: Door, addr: String, laddr: String) {
        let server = &self.server;
        let id = server.clients.next_id();
        let fd = transport.as_fd().as_raw_fd();
        let authenticated = !server.config.live.has_password.load(Relaxed);
        let is_memcached = door == Door::Memcached;
        let may_all = match is_memcached {
            true => !server.memcached_wants_login(),
            false => authenticated,
        };
        let protocol = match server.memcached.settings.fixed.binding {
            Binding::Ascii if is_memcached => Some(Protocol::MemcacheText),
            Binding::Binary if is_memcached => Some(Protocol::MemcacheBinary),
            _ => None,
        };
        let client = ClientState::new(id, addr, laddr, fd, authenticated);
        let token = self.slab.vacancy();
        let card = Arc::new(Card::new(&client, self.thread, token, self.now));
        let watches_room = match self.watch(&transport, token) {
            Ok(watches_room) => watches_room,
            Err(error) => {
                tracing::warn!(%error, "a new connection cannot be watched and is closed");
                self.slab.remove(token);
                server.clients.dismiss();
                return;
            }
        };
        server.statistics.threads[self.thread].connections.add(1);
        server.clients.enter(card.clone());
        server.note_connection(&card, None);
        let habit = Habit::of(&transport, watches_room);
        self.slab.put(Connection {
            token,
            transport,
            door,
            protocol,
            client,
            card,
            parse: ParseState::new(),
            http_parse: Default::default(),
            memcache_parse: Default::default(),
            memcache: memcache::Client { id, fd, authenticated: may_all, ..Default::default() },
            input: Vec::new(),
            incoming: None,
            held: Vec::new(),
            output: Vec::new(),
            sent: 0,
            taken: 0,
            skipping: 0,
            refused: Box::default(),
            yielded: false,
            readable: false,
            expects_large: false,
            hung_up: false,
            at_end: false,
            reply_waits: false,
            is_ready: false,
            is_writable: false,
            watches_room,
            appetite: Appetite::default(),
            gets_much: false,
            moved: LONG_TURN_BYTES,
            hold: Hold::No,
            closing: Closing::No,
            reserved: 0,
            answering: 0,
            wants: 0,
            counted: 0,
            has_read: false,
            over_soft_since: None,
            last_ms: self.now,
            habit,
            waits_until: None,
            is_refused_unread: false,
        });
    }

    fn count_rejected(&self) {
        self.server.statistics.threads[self.thread].rejected_connections.add(1);
    }

    /// The process is out of descriptors or memory: asking again at once would only spin.
    fn rest_listeners(&mut self, error: Errno) {
        tracing::warn!(%error, "no connection can be accepted for a moment");
        self.unlisten();
        self.lingering.close_all();
        self.resting_until = Some(self.now + ACCEPT_REST_MS);
    }

    /// Another port for one door: CONFIG SET port.
    pub(super) fn relisten(&mut self, door: Door, listeners: Vec<Listener>) {
        self.unlisten();
        self.listeners
            .retain(|l| l.door != door || l.is_tls || matches!(l.address, Address::Unix(_)));
        self.listeners.extend(listeners);
        if let Err(error) = self.listen() {
            tracing::error!(%error, "a new port cannot be watched");
        }
    }

    pub(super) fn unlisten(&self) {
        for listener in &self.listeners {
            // It fails for one that is not watched, which is what is wanted.
            let _ = epoll::delete(&self.epoll, &listener.socket);
        }
    }
}

/// Said in what the door is named for: nothing has been read that would tell better.
fn denial(door: Door) -> String {
    match door {
        Door::Redis => format!("-DENIED {DENIED}\r\n"),
        Door::Memcached => format!("SERVER_ERROR {DENIED}\r\n"),
        Door::Http => format!(
            "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Cache-Control: no-store\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{DENIED}\n",
            DENIED.len() + 1
        ),
    }
}

fn refusal(door: Door) -> &'static [u8] {
    match door {
        Door::Redis => b"-ERR max number of clients reached\r\n",
        Door::Memcached => b"ERROR Too many open connections\r\n",
        Door::Http => {
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n\
              Cache-Control: no-store\r\nCross-Origin-Resource-Policy: same-origin\r\n\
              Content-Length: 30\r\nConnection: close\r\n\r\n\
              max number of clients reached\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_is_told_so_in_his_protocol() {
        assert!(denial(Door::Redis).starts_with("-DENIED Dolium"));
        assert!(denial(Door::Memcached).starts_with("SERVER_ERROR Dolium"));
        for door in [Door::Redis, Door::Memcached] {
            let told = denial(door);
            assert_eq!(told.find("\r\n"), Some(told.len() - 2), "one line");
        }
        let refused = String::from_utf8_lossy(refusal(Door::Http)).into_owned();
        for (told, status) in [(denial(Door::Http), "403"), (refused, "503")] {
            let (head, body) = told.split_once("\r\n\r\n").expect("a head");
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
            // A cache could have told of it when the server was open again.
            assert!(head.contains("\r\nCache-Control: no-store\r\n"), "{head}");
        }
    }
}
